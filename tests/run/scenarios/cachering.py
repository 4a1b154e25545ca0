# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""mctop --via socket over a server that makes no system call for its sockets: ringcache reads and
writes them by io_uring. When that is the way that is taken, and what is said where it sees none."""
import glob
import json
import signal
import tempfile
import time

from run.scenarios import Skip, on_host, shown, until
from run.scenarios.cacherestart import Group
from run.scenarios.caches import Server, compare, ended, load, talk, tool


def ring(context):
    try:
        return Server(context, "ringcache", program=context.progs + "/ringcache")
    except RuntimeError as e:
        raise Skip("no io_uring here") from e


def watched(context, s):
    return tool(context, "mctop", "-p", str(s.pid), "--via", "socket", "--json", "-r", "50", "3600")


def test_mctop_io_uring(context):
    """Multi-gets and pipelines, values that come in several packets, connections that come and go;
    one that was open before."""
    with ring(context) as s, s.connect() as c:
        talk(c, (b"get early\r\n", b"END\r\n"))
        with watched(context, s) as run:
            talk(c, *[(b"get open\r\n", b"END\r\n")] * 20)
            expected = load(context, s, "-n", "1500", "-k", "30", "-v", "40", "-m", "5", "-D", "4",
                            "-x", "97")
            talk(c, (b"set large 0 0 300000\r\n" + b"x" * 300000 + b"\r\n", b"STORED\r\n"))
            out, err, status = ended(context, run)
    expected.update({"open": (20, 0, 20, 0), "large": (0, 0, 0, 1)})
    last = json.loads(out.splitlines()[-1])
    problems = compare(last["keys"], expected)
    sizes = {k["key"]: k["size"] for k in last["keys"] if k["size"] is not None}
    if status or any(last["total"][n] for n in ("lost_events", "lost_commands", "unseen_replies")):
        problems.append(f"status {status}, {last['total']}")
    if sizes.pop("large", 0) != 300000 or set(sizes.values()) != {40}:
        problems.append(f"sizes {sizes}")
    return shown("\n".join(problems), out, err) if problems else None


def test_mctop_io_uring_by_system_calls(context):
    """There are none that move bytes: nothing is seen, and nothing is made up."""
    with ring(context) as s, \
            tool(context, "mctop", "-p", str(s.pid), "--json", "3600") as run:
        load(context, s, "-n", "100", "-k", "5")
        out, err, status = ended(context, run)
    total = json.loads(out.splitlines()[-1])["total"]
    if status or total["calls"] or total["lost_commands"]:
        return shown(f"status {status}, {total}", out, err)
    return None


# ---- the way that is taken when none is named --------------------------------------------------


def told(context, s, *options):
    """What mctop says of 500 calls."""
    with tool(context, "mctop", "-p", str(s.pid), "--json", "-r", "50", *options, "3600") as run:
        expected = load(context, s, "-n", "500", "-k", "10", "-v", "40")
        out, err, status = ended(context, run)
    last = json.loads(out.splitlines()[-1])
    problems = compare(last["keys"], expected)
    if status or last["total"]["lost_events"]:
        problems.append(f"status {status}, {last['total']}")
    return problems, "--via socket is taken" in err, last["total"]["cpu_us"] is not None


@on_host
def test_mctop_way_in(context):
    """Packets where the server has a group of its own, unless what they do not tell is asked for;
    system calls in the root group and where it listens on a unix socket as well."""
    with Group() as group, tempfile.TemporaryDirectory() as d:
        ways = [(group, "memcached", (), (), True), (group, "redis-server", (), (), True),
                (group, "memcached", (), ("--via", "syscalls"), False),
                (group, "memcached", (), ("--sort", "cpu"), False),
                (group, "memcached", (), ("--commands",), False),
                (group, "redis-server", ("--unixsocket", d + "/s"), (), False),
                (None, "memcached", (), (), False)]
        for apart, kind, server, options, packets in ways:
            with Server(context, kind, apart=apart, options=server) as s:
                if kind == "redis-server":
                    with tool(context, "mctop", "-p", str(s.pid), "--json", "3600") as run:
                        _, err, _ = ended(context, run)
                    problems, said, cpu = [], "--via socket is taken" in err, not packets
                else:
                    problems, said, cpu = told(context, s, *options)
            if problems or (said, cpu) != (packets, not packets):
                return f"{kind} {server} {options}: said {said}, cpu {cpu}\n" + "\n".join(problems)
    return None


def is_stopped(pid):
    """All of its threads: the signal is on its way for a while."""
    states = []
    for stat in glob.glob(f"/proc/{pid}/task/*/stat"):
        with open(stat, encoding="utf-8", errors="replace") as f:
            states.append(f.read().rpartition(")")[2].split()[0])
    return set(states) == {"T"}


@on_host
def test_mcsnoop_way_in(context):
    """The same. The time in which a request waits for a stopped server is its own."""
    for apart, packets in ((True, True), (False, False)):
        with Group() as group, Server(context, "memcached", apart=group if apart else None) as s:
            with tool(context, "mcsnoop", "-p", str(s.pid), "--json", "-n", "1") as run:
                with s.connect() as c:
                    s.process.send_signal(signal.SIGSTOP)
                    if not until(lambda: is_stopped(s.pid), 10):
                        return "the server does not stop"
                    c.sendall(b"get snooped\r\n")
                    time.sleep(0.1)
                    s.process.send_signal(signal.SIGCONT)
                    answer = c.recv(100)
                out, err, _ = run.finish(30 * context.factor)
        got = json.loads(out.splitlines()[0])
        said, waited = "--via socket is taken" in err, got["us"] >= 100000
        if answer != b"END\r\n" or got["key"] != "snooped" or got["outcome"] != "miss" or \
                (said, waited) != (packets, packets):
            return f"packets {packets}: {answer} {out}{err}"
    return None


@on_host
def test_mctop_sockets_of_another_group(context):
    """The server was moved: its packets are those of the group in which it began to listen."""
    with Group() as first, Group() as other, Server(context, "memcached", apart=first) as s:
        with open(other.path + "/cgroup.procs", "w", encoding="utf-8") as f:
            f.write(str(s.pid))
        with tool(context, "mctop", "-p", str(s.pid), "--via", "socket", "--json", "3600") as run:
            load(context, s, "-d", "7", "-r", "200", "-k", "10")
            out, err, status = run.finish(20 * context.factor)
    if status != 1 or "its sockets are of another one" not in err:
        return shown(f"status {status}", out, err)
    return None
