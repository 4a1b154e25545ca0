# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""mctop --alert on a real memcached: a key that becomes hot is told within the second, on a pipe
and on the screen."""
import json
import re
import time

from run.scenarios import Skip, on_host, require, shown
from run.scenarios.caches import Server, ended, tool
from run.scenarios.ui import Terminal


def ask(server, keys, seconds, rate, done=lambda: False):
    """So many gets a second, of each key in turn; [(time, key)] of the answers."""
    calls, due = [], time.time()
    end = due + seconds
    with server.connect() as s, s.makefile("rb") as f:
        while time.time() < end and not done():
            key = keys[len(calls) % len(keys)]
            s.sendall(b"get " + key + b"\r\n")
            f.readline()
            calls.append((time.time(), key))
            due += 1 / rate
            time.sleep(max(0, due - time.time()))
    return calls


def when_hot(calls, is_hot):
    """When k3 was so first, by (its calls, all calls) of the second before; None: never."""
    first = 0
    for i, (at, _) in enumerate(calls):
        while calls[first][0] <= at - 1:
            first += 1
        if is_hot(sum(k == b"k3" for _, k in calls[first:i + 1]), i + 1 - first):
            return at
    return None


def alerts(context, how, is_hot):
    """Ten keys are asked for alike, then one of them mostly: is that told when it is so, and was
    the line there by then?"""
    with Server(context, "memcached") as s, \
            tool(context, "mctop", "-p", str(s.pid), "--json", "--alert", how, "3600") as run:
        calls = ask(s, [b"k%d" % i for i in range(10)], 1.5, 1000)
        early = "".join(run.out)
        began = time.time()
        calls += ask(s, [b"k3"] * 19 + [b"k4"], 20 * context.factor, 1000, lambda: run.out)
        read = time.time()
        out, err, status = ended(context, run)
    lines = [json.loads(line) for line in out.splitlines()]
    # It may be told by a call or two less: shares of slots at the window's edge are guessed.
    nearly = when_hot(calls, lambda own, every: is_hot(own / 0.9, every))
    expected = when_hot(calls, is_hot) or calls[-1][0]
    if early or status != 2 or len(lines) != 1 or lines[0]["hot_key"] != "k3" or not nearly:
        return shown(f"status {status}, {len(calls)} calls", out, err)
    # Ours is later than the server's, by as much as the machine lets us wait.
    if not nearly - 0.3 < lines[0]["time"] < expected + 0.2 or lines[0]["time"] < began or \
            read - lines[0]["time"] > 0.5 * context.factor:
        return shown(f"began {began}, expected {nearly}, {expected}, read {read}", out, err)
    return None


def test_mctop_alert_share(context):
    """30 % of all; each had 10."""
    return alerts(context, "30%", lambda own, every: every >= 100 and own >= 0.3 * every)


def test_mctop_alert_rate(context):
    """Of up to 1000 calls a second; each had up to 100."""
    return alerts(context, "200/s", lambda own, every: own >= 200)


@on_host
def test_mctop_alert_text(context):
    """The line is in a pipe when it is said, though the next interval is an hour off."""
    with Server(context, "memcached") as s, \
            tool(context, "mctop", "-p", str(s.pid), "--alert", "100/s", "3600") as run:
        ask(s, [b"a key\x01"[:1] + b"\x01"], 1, 400)
        said = run.wait_for(r"key a\\x01 is hot: ", 1 * context.factor, "out")
        out, err, status = ended(context, run)
    if not said or status != 2 or not re.fullmatch(
            r"[\d:.]{12} key a\\x01 is hot: \d+ calls within a second, 100\.0 % of all\n", out):
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
            problem = t.matches(r"\d\d:\d\d:\d\d\.\d{3} key one is hot: 1\d\d calls within ")
        if problem:
            return problem
        t.send("j")
        return t.matches(r"of 1  \? help  q quit")
