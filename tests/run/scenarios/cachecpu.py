# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""What a server's thread takes of the processor for a key and a command, as mctop says, against
what the kernel counted for that thread; and the sizes of keys and values by command."""
import contextlib
import json
import os
import signal
import subprocess
import sys

from run.scenarios import on_host, shown
from run.scenarios.caches import Server, ended, talk, tool

SPIN = b"local s = 0 for i = 1, tonumber(ARGV[1]) do s = s + i end return s"


def resp(*words):
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words)


def ask(s, f, *words):
    """One command, and the whole of an answer that is a line or an array of strings."""
    s.sendall(resp(*words))
    line = f.readline()
    for _ in range(int(line[1:]) if line[:1] == b"*" else 0):
        f.readline()
        f.readline()
    if line[:1] == b"$" and line != b"$-1\r\n":
        f.readline()


def on_processor(pid):
    """Microseconds so far, of the main thread."""
    with open(f"/proc/{pid}/task/{pid}/schedstat", encoding="utf-8") as f:
        return int(f.read().split()[0]) / 1000


@contextlib.contextmanager
def hogged(pid):
    """Everything of the process on one processor, and another that never gives it up."""
    one = min(os.sched_getaffinity(0))
    with subprocess.Popen([sys.executable, "-c", "print(flush=True)\nwhile True: pass"],
                          stdout=subprocess.PIPE) as hog:
        try:
            hog.stdout.readline()
            for task in [hog.pid, *map(int, os.listdir(f"/proc/{pid}/task"))]:
                os.sched_setscheduler(task, os.SCHED_OTHER, os.sched_param(0))
                os.sched_setaffinity(task, {one})
            yield
        finally:
            hog.kill()


def test_mctop_cpu_of_a_busy_machine(context):
    """The thread runs half of the time that an answer takes: that is its latency, the other half is
    not its use of the processor. A key that is asked for as often takes nothing to speak of."""
    with Server(context, "redis-server") as s, s.connect() as c, c.makefile("rb") as f, \
            tool(context, "mctop", "-p", str(s.pid), "--json", "--commands", "3600") as run:
        ask(c, f, b"EVAL", SPIN, b"1", b"warm", b"1000")
        with hogged(s.pid):
            before = on_processor(s.pid)
            for _ in range(10):
                ask(c, f, b"EVAL", SPIN, b"1", b"busy", b"3000000")
                ask(c, f, b"GET", b"light")
            took = on_processor(s.pid) - before
        out, err, _ = ended(context, run)
    last = json.loads(out)
    keys = {k["key"]: k for k in last["keys"]}
    busy, light = keys["busy"], keys["light"]
    by = {v["command"]: v for v in last["by_command"]}
    problems = []
    if not 0.85 * took <= busy["cpu_us"] <= 1.01 * took or busy["cpu_calls"] != 10:
        problems.append(f"busy: {busy['cpu_us']} of {took} us on the processor")
    if not busy["p50_us"] * 10 > 1.2 * busy["cpu_us"]:
        problems.append(f"busy: an answer takes {busy['p50_us']} us, of {busy['cpu_us']} in all")
    if not 0 < light["cpu_us"] < took / 50:
        problems.append(f"light: {light['cpu_us']} us")
    if by["EVAL"]["cpu_us"] < busy["cpu_us"] or by["GET"]["cpu_us"] != light["cpu_us"]:
        problems.append(f"by command: {by}")
    return shown("\n".join(problems), out, err) if problems else None


def test_mctop_cpu_of_many_clients(context):
    """Redis reads what several clients ask before it answers one of them: what the others' commands
    take is not a client's own. A pipeline is shared out evenly."""
    with Server(context, "redis-server") as s, contextlib.ExitStack() as open_:
        clients = [open_.enter_context(s.connect()) for _ in range(9)]
        busy = clients[4]
        talk(clients[0], (resp(b"SET", b"light", b"x" * 100), b"+OK\r\n"))
        with tool(context, "mctop", "-p", str(s.pid), "--json", "--via", "syscalls",
                  "3600") as run:
            for _ in range(20):
                # Nobody is answered while this runs, and then all are.
                talk(clients[0], (resp(b"EVAL", SPIN, b"1", b"first", b"1000"), b":500500\r\n"))
                s.process.send_signal(signal.SIGSTOP)
                os.waitid(os.P_PID, s.pid, os.WSTOPPED)
                for c in clients:
                    c.sendall(resp(b"EVAL", SPIN, b"1", b"busy", b"500000") if c is busy else
                              resp(b"GET", b"light") * 4)
                s.process.send_signal(signal.SIGCONT)
                for c in (c for c in clients if c is not busy):
                    left = 4 * len(b"$100\r\n\r\n" + b"x" * 100)
                    while left:
                        left -= len(c.recv(left))
                busy.recv(100)
            out, err, _ = ended(context, run)
    keys = {k["key"]: k for k in json.loads(out)["keys"]}
    busy, light = keys["busy"], keys["light"]
    if (light["calls"], busy["calls"]) != (640, 20):
        return shown("calls", out, err)
    # What is read before the busy one waits for it.
    if not light["cpu_us"] / 640 < busy["cpu_us"] / 20 / 10 or light["cpu_calls"] < 600 or \
            light["p99_us"] < busy["cpu_us"] / 20 / 2:
        return shown("the light one has the busy one's time", out, err)
    return None


@on_host
def test_mctop_sizes_by_command(context):
    with Server(context, "redis-server") as s, s.connect() as c, c.makefile("rb") as f, \
            tool(context, "mctop", "-p", str(s.pid), "--json", "--commands", "3600") as run:
        for size in (0, 1, 100, 127, 128, 70000):
            ask(c, f, b"SET", b"k" * 20, b"v" * size)
            ask(c, f, b"GET", b"k" * 20)
        ask(c, f, b"GET", b"none")
        out, err, _ = ended(context, run)
    last = json.loads(out)
    by = {v["command"]: v for v in last["by_command"]}
    classes = [(0, 0, 1), (1, 1, 1), (64, 127, 2), (128, 255, 1), (65536, 131071, 1)]
    for command, calls in (("SET", 6), ("GET", 7)):
        told = [(v["from"], v["to"], v["calls"]) for v in by[command]["value_bytes"]]
        if told != classes or by[command]["calls"] != calls:
            return shown(f"{command}: {told}", out, err)
    told = [(v["from"], v["to"], v["calls"]) for v in last["key_bytes"]]
    return None if told == [(4, 7, 1), (16, 31, 12)] else shown(f"keys: {told}", out, err)
