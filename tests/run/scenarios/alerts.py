# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""mctop --alert on a real memcached: a key that becomes hot is told within the second, on a pipe and on
the screen."""
import json
import re
import time

from run.scenarios import Skip, on_host, require, shown
from run.scenarios.caches import Server, ended, tool
from run.scenarios.ui import Terminal


def ask(server, keys, seconds, rate):
    """So many gets a second, of each key in turn."""
    end = time.monotonic() + seconds
    with server.connect() as s, s.makefile("rb") as f:
        i, due = 0, time.monotonic()
        while time.monotonic() < end:
            s.sendall(b"get " + keys[i % len(keys)] + b"\r\n")
            f.readline()
            i += 1
            due += 1 / rate
            time.sleep(max(0, due - time.monotonic()))


def becomes_hot(context, run, server, where="out"):
    """Ten keys are asked for alike, then one of them mostly; seconds until it is told, by the clock
    of the one who reads. None: not at all."""
    alike = [b"k%d" % i for i in range(10)]
    ask(server, alike, 1.5, 1000)
    if "".join(run.out):
        raise RuntimeError(shown("told too early", "".join(run.out), ""))
    began = time.time()
    ask(server, [b"k3"] * 19 + [b"k4"], 1, 1000)
    if not run.wait_for("k3", 10 * context.factor, where):
        return None, began
    return json.loads(run.out[0])["time"] - began, began


def alerts(context, how):
    with Server(context, "memcached") as s, \
            tool(context, "mctop", "-p", str(s.pid), "--json", "--alert", how, "3600") as run:
        took, began = becomes_hot(context, run, s)
        out, err, status = ended(context, run)
    lines = [json.loads(line) for line in out.splitlines()]
    if took is None or not 0 < took < 1.05 or status != 2 or len(lines) != 1 or \
            lines[0]["hot_key"] != "k3" or not 0.1 < lines[0]["share"] < 1:
        return shown(f"status {status}, told {took} s after {began}", out, err)
    return None


def test_mctop_alert_share(context):
    """30 % of all; each had 10."""
    return alerts(context, "30%")


def test_mctop_alert_rate(context):
    """Of up to 1000 calls a second; each had up to 100."""
    return alerts(context, "200/s")


@on_host
def test_mctop_alert_text(context):
    """The line is in a pipe when it is said, though the next interval is an hour off."""
    with Server(context, "memcached") as s, \
            tool(context, "mctop", "-p", str(s.pid), "--alert", "100/s", "3600") as run:
        ask(s, [b"a key\x01"[:1] + b"\x01"], 1, 400)
        said = run.wait_for(r"key a\\x01 is hot: ", 1 * context.factor, "out")
        out, err, status = ended(context, run)
    if not said or status != 2 or not re.fullmatch(
            r"\d\d:\d\d:\d\d\.\d{3} key a\\x01 is hot: \d+ calls within a second, 100\.0 % of all\n",
            out):
        return shown(f"status {status}", out, err)
    return None


@on_host
def test_mctop_alert_none(context):
    """Nothing becomes hot: nothing is printed, and it ends by its count with 0."""
    with Server(context, "memcached") as s, \
            tool(context, "mctop", "-p", str(s.pid), "--alert", "900/s", "1", "2") as run:
        ask(s, [b"a", b"b"], 1, 200)
        out, err, status = run.finish(20 * context.factor)
    return shown(f"status {status}", out, err) if status or out else None


@on_host
def test_mctop_alert_screen(context):
    """At the foot of the screen, until a key is pressed."""
    require("root", "cmd:tmux")
    if context.in_vm:
        raise Skip("drawing is the same on each kernel: on the host")
    with Server(context, "memcached") as s, \
            Terminal(context, f"{context.memtap} mctop -p {s.pid} --alert 100/s") as t:
        problem = t.shows("nothing yet")
        if not problem:
            ask(s, [b"one"], 1, 400)
            problem = t.matches(r"\d\d:\d\d:\d\d\.\d{3} key one is hot: 1\d\d calls within a second")
        if problem:
            return problem
        t.send("j")
        return t.matches(r"of 1  \? help  q quit")
