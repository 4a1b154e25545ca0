# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Finding servers, where nobody else's are: in namespaces of their own. And servers in a container,
seen from outside of it."""
import json
import os
import re
import socket
import subprocess
import sys
import tempfile

from run.scenarios import Skip, answers, children_of, require, shown
from run.scenarios.caches import CONVERSATION, Server, compare, ended, load, talk, tool

# Keeps the namespaces; their loopback comes up where they have one of their own.
KEEPER = """
import fcntl, signal, socket, struct, sys
if "--net" in sys.argv:
    with socket.socket() as s:
        fcntl.ioctl(s, 0x8914, struct.pack("16sH14x", b"lo", 0x49))
print("ready", flush=True)
signal.pause()
"""


def child_of(pid):
    return children_of(pid)[0]


class Apart:
    """Namespaces of processes and mounts, with --net of networks too; `enter` goes before a command
    to have it run in them. All in them ends with them."""

    def __init__(self, context, *options):
        require("root", "cmd:unshare", "cmd:nsenter")
        if context.in_vm:
            raise Skip("which servers there are is read from /proc, alike everywhere: on the host")
        self.process = subprocess.Popen(
            ["unshare", "--pid", "--mount-proc", "--fork", "--kill-child", *options,
             sys.executable, "-c", KEEPER, *options], stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "ready\n":
            self.__exit__()
            raise Skip("no namespaces of one's own here")
        self.keeper = child_of(self.process.pid)
        self.enter = ["nsenter", "-t", str(self.keeper), "--pid", "--mount", *options]

    def outside(self, path):
        return f"/proc/{self.keeper}/root{path}"

    def answers(self, server):
        if server.path:
            return answers(self.outside(server.path))
        with open(f"/proc/{self.keeper}/net/tcp") as f:
            return f":{server.port:04X} 00000000:0000 0A " in f.read()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def run_in(apart, context, *argv):
    return subprocess.run([*apart.enter, context.memtap, *argv], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=60 * context.factor, check=False)


def test_mctop_finds_the_servers(context):
    """None, one, and several: a message, it starts, they are listed."""
    with Apart(context) as apart:
        p = run_in(apart, context, "mctop")
        if p.returncode != 1 or p.stdout or p.stderr.count("\n") != 2 or not re.match(
                "ERROR: no memcached, Redis or Valkey server listens here\n"
                "HINT: start one, or name the process with -p PID\n", p.stderr):
            return shown(f"none: status {p.returncode}", p.stdout, p.stderr)
        with Server(context, "memcached", apart=apart) as a:
            one = run_in(apart, context, "mctop", "-C", "1", "1")
            redis = run_in(apart, context, "cachesize", "redis")
            with Server(context, "redis-server", apart=apart) as b:
                two = run_in(apart, context, "mctop")
    name = re.search(r"^[\d:]+ memcached (\d+): 0 calls/s", one.stdout, re.M)
    if one.returncode or not name or one.stderr != "Attached 3 probes\n":
        return shown(f"one: status {one.returncode}", one.stdout, one.stderr)
    if redis.returncode != 1 or "no redis server listens here" not in redis.stderr:
        return shown(f"of one kind: status {redis.returncode}", redis.stdout, redis.stderr)
    if two.returncode != 1 or not re.fullmatch(
            r"ERROR: there are 2 cache servers here; say which one:\n"
            rf"HINT: -p {name[1]} is memcached {name[1]} \(port {a.port}\)\n"
            rf"      -p (\d+) is redis-server \1 \(port {b.port}\)\n", two.stderr):
        return shown(f"two: status {two.returncode}", two.stdout, two.stderr)
    return None


def test_mctop_of_a_container(context):
    """A server with processes, mounts and a network of its own, looked at from outside, is counted
    exactly and asked for its counters."""
    with Apart(context, "--net") as apart, Server(context, "memcached", apart=apart) as s:
        pid = child_of(s.pid)  # of nsenter
        with tool(context, "mctop", "-p", str(pid), "--check", "--json", "-r", "50",
                  "3600") as run:
            expected = load(context, s, "-n", "300", "-k", "20", "-v", "40", "-m", "3",
                            enter=apart.enter)
            out, err, status = ended(context, run)
    last, check = [json.loads(line) for line in out.splitlines()]
    problems = compare(last["keys"], expected)
    if status or not check["equal"] or not check["check"]["cmd_get"]["server"]:
        problems.append(f"status {status}, {check}")
    if last["server"] != {"name": "memcached", "pid": pid, "running": True}:
        problems.append(f"server {last['server']}")
    return shown("\n".join(problems), out, err) if problems else None


def check_of_conversation(out, err, status):
    """What --check says of CONVERSATION; memcached has counters for each mode of arithmetic."""
    expected = "".join(f"check: {name}: the server says {n}, seen were {n}\n" for name, n in (
        ("cmd_get", 3), ("get_hits", 2), ("get_misses", 1), ("cmd_set", 2), ("delete_hits", 1),
        ("incr_hits", 1), ("incr_misses", 1), ("decr_hits", 1), ("decr_misses", 1)))
    if status or expected + "check: equal, 0 events lost, 0 commands lost\n" not in out:
        return shown(f"status {status}", out, err)
    return None


def test_mctop_of_a_container_by_socket(context):
    """... at a path that is not there outside."""
    with Apart(context) as apart, tempfile.TemporaryDirectory() as d:
        subprocess.run([*apart.enter, "mount", "-t", "tmpfs", "tmpfs", d], check=True)
        with Server(context, "memcached", path=d + "/s", apart=apart) as s, \
                socket.socket(socket.AF_UNIX) as c, \
                tool(context, "mctop", "-p", str(child_of(s.pid)), "--check", "3600") as run:
            c.connect(apart.outside(s.path))
            talk(c, *CONVERSATION)
            out, err, status = ended(context, run)
        if os.listdir(d):
            return "the socket is outside, too"
    return check_of_conversation(out, err, status)


def has_ipv6():
    """Containers often have it in the kernel but no address."""
    try:
        with socket.socket(socket.AF_INET6) as s:
            s.bind(("::1", 0))
        return True
    except OSError:
        return False


def test_mctop_asks_by_ipv6(context):
    """... and a server that listens there only is asked for its counters."""
    if context.in_vm:
        raise Skip("where a server is asked is read from /proc, alike everywhere: on the host")
    if not has_ipv6():
        raise Skip("no IPv6 here")
    with Server(context, "memcached", host="::1") as s, s.connect() as c, \
            tool(context, "mctop", "-p", str(s.pid), "--check", "3600") as run:
        talk(c, *CONVERSATION)
        out, err, status = ended(context, run)
    return check_of_conversation(out, err, status)
