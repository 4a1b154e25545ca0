# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""A server that is killed and started again while mctop looks at it by probes in its program: they
are in a file, so the same file goes on being seen, and of another one nothing would be."""
import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import time

from run.scenarios import Skip, answers, require, shown
from run.scenarios.caches import Server, ended, load, tool, with_probes


@contextlib.contextmanager
def restarted(context, kind, via, first, second):
    """mctop over a server that was asked 100 times, and over the next one at the same port."""
    if context.in_vm:
        raise Skip("a server's new start is seen in /proc, alike everywhere: on the host")
    protocol = "resp" if kind == "redis-server" else "text"
    with Server(context, kind, program=first) as a, \
            tool(context, "mctop", "-p", str(a.pid), "--json", "--via", via, "3600") as run:
        load(context, a, "-P", protocol, "-n", "100", "-k", "5")
        a.end()
        if not run.wait_for("has ended; waiting", 20 * context.factor):
            raise RuntimeError(shown("the end was not told", "".join(run.out), "".join(run.err)))
        with Server(context, kind, a.port, program=second) as b:
            if not run.wait_for(f"was started again as {b.pid}", 20 * context.factor):
                raise RuntimeError(shown("nor the start", "".join(run.out), "".join(run.err)))
            yield run, b, lambda: load(context, b, "-P", protocol, "-n", "200", "-k", "5")


def goes_on(context, kind, via, program):
    with restarted(context, kind, via, program, program) as (run, server, work):
        work()
        out, err, status = ended(context, run)
    last = json.loads(out)
    seen = (last["total"]["calls"], last["total"]["lost_events"], last["server"]["pid"])
    if status or seen != (300, 0, server.pid) or "another file" in err:
        return shown(f"status {status}, {seen}", out, err)
    return None


def ends(context, kind, via, first, second):
    with restarted(context, kind, via, first, second) as (run, server, _):
        out, err, status = run.finish(60 * context.factor)
    said = f"was started again as {server.pid}; it runs another file than the one\n" \
        "      that was probed, so nothing is seen of it: start this anew\n"
    if status != 1 or said not in err or json.loads(out)["total"]["calls"] != 100:
        return shown(f"status {status}", out, err)
    return None


def test_mctop_usdt_after_a_restart(context):
    return goes_on(context, "memcached", "usdt", with_probes())


def test_mctop_socket_after_a_restart(context):
    return goes_on(context, "memcached", "socket", None)


def test_mctop_waits_without_haste(context):
    """Each look for a server that is gone reads all of /proc: soon they are seldom. With 50 ms
    between two of them there would be 60."""
    if context.in_vm:
        raise Skip("a server's new start is seen in /proc, alike everywhere: on the host")
    with Server(context, "memcached") as server, \
            tool(context, "mctop", "-p", str(server.pid), "--json", "3600") as run:
        server.end()
        if not run.wait_for("has ended; waiting", 20 * context.factor):
            raise RuntimeError("the end was not told")
        time.sleep(4)
        text = f"""tracepoint:syscalls:sys_enter_openat /pid == {run.process.pid} &&
            str(args.filename) == "/proc/{run.process.pid}/comm"/ {{ @ = count(); }}
            interval:s:3 {{ exit(); }}"""
        looks = subprocess.run([context.memtap, "-q", "--json", "-e", text], capture_output=True,
                               text=True, timeout=60 * context.factor, check=False)
        ended(context, run)
    n = [row["data"]["@"] for row in map(json.loads, looks.stdout.splitlines())
         if row["type"] == "map"]
    return None if n and 2 <= n[0] <= 12 else shown(f"{n} looks", looks.stdout, looks.stderr)


class Group:
    """A control group of its own."""

    def __init__(self):
        with open("/proc/mounts", encoding="utf-8") as f:
            mounts = [line.split()[1] for line in f if line.split()[2] == "cgroup2"]
        if not mounts:
            raise Skip("there is no cgroup2")
        self.path = tempfile.mkdtemp(prefix="memtap-", dir=mounts[0])
        self.enter = ["sh", "-c", f'echo $$ > {self.path}/cgroup.procs && exec "$@"', "sh"]

    def make(self):
        os.mkdir(self.path)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.rmdir(self.path)

    @staticmethod
    def answers(server):
        return answers(server.where())


def regrouped(context, first, second):
    """mctop over a server, and over the next one in the group `second`: each call counts once."""
    with Server(context, "memcached", apart=first) as a, \
            tool(context, "mctop", "-p", str(a.pid), "--via", "socket", "--json", "3600") as run:
        load(context, a, "-n", "100", "-k", "5")
        a.end()
        if first:
            os.rmdir(first.path)
            first.make()
        with Server(context, "memcached", a.port, apart=second) as b:
            if not run.wait_for(f"was started again as {b.pid}", 20 * context.factor):
                return shown("the start was not told", "".join(run.out), "".join(run.err))
            load(context, b, "-n", "200", "-k", "5")
            out, err, status = ended(context, run)
    total = json.loads(out)["total"]
    if status or (total["calls"], total["lost_events"], total["unseen_replies"]) != (300, 0, 0):
        return shown(f"status {status}", out, err)
    return None


def test_mctop_socket_in_another_group(context):
    """As systemd starts a service anew, in a group of the same name or of another; and from the
    root, whose programs see the packets of all groups. In a VM the first: what rights a link takes
    is the kernel's business, and the rest is not."""
    with Group() as one, Group() as other:
        wrong = regrouped(context, one, one)
        if wrong or context.in_vm:
            return wrong
        return regrouped(context, one, other) or regrouped(context, None, one)


def test_mctop_uprobe_after_a_restart(context):
    """Each look for a key: one for a GET, and one for a SET."""
    return goes_on(context, "redis-server", "uprobe", None)


def test_mctop_usdt_after_an_upgrade(context):
    """To one without probes would be no different: the file is another."""
    with tempfile.TemporaryDirectory() as d:
        other = shutil.copy(with_probes(), d + "/memcached")
        return ends(context, "memcached", "usdt", with_probes(), other)


def test_mctop_uprobe_after_an_upgrade(context):
    require("cmd:redis-server")
    with tempfile.TemporaryDirectory() as d:
        other = shutil.copy(shutil.which("redis-server"), d + "/redis-server")
        return ends(context, "redis-server", "uprobe", None, other)
