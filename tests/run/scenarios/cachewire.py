# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""mctop and the places where requests begin: cut at every byte, behind bytes that no server knows,
on connections that were open before, in the middle of values that look like requests."""
import contextlib
import fcntl
import json
import re
import signal
import socket
import ssl
import struct
import subprocess
import tempfile
import termios
import time

from run.scenarios import Skip, require, shown
from run.scenarios.caches import Server, ended, load, talk, tool

# Requests of a connection that has asked nothing yet, for the key %s.
MEMCACHED = [
    b"get %s\r\n", b"gets %s\r\n", b"gat 0 %s\r\n", b"set %s 0 0 3\r\nabc\r\n",
    b"add %s 0 0 1\r\nx\r\n", b"replace %s 0 0 1\r\nx\r\n", b"append %s 0 0 1\r\nx\r\n",
    b"prepend %s 0 0 1\r\nx\r\n", b"cas %s 0 0 1 1\r\nx\r\n", b"incr %s 1\r\n", b"decr %s 1\r\n",
    b"touch %s 0\r\n", b"delete %s\r\n", b"mg %s v\r\n", b"ms %s 2\r\nxy\r\n", b"md %s\r\n",
    b"ma %s\r\n", b"\x80\x00\x00\x06\x00\x00\x00\x00\x00\x00\x00\x06" + bytes(12) + b"%s"]
REDIS = [
    b"*2\r\n$3\r\nGET\r\n$6\r\n%s\r\n", b"*3\r\n$3\r\nSET\r\n$6\r\n%s\r\n$3\r\nabc\r\n",
    b"*2\r\n$3\r\nDEL\r\n$6\r\n%s\r\n", b"*2\r\n$4\r\nINCR\r\n$6\r\n%s\r\n",
    b"*2\r\n$6\r\nEXISTS\r\n$6\r\n%s\r\n", b"*2\r\n$3\r\nTTL\r\n$6\r\n%s\r\n",
    b"*3\r\n$6\r\nAPPEND\r\n$6\r\n%s\r\n$1\r\nx\r\n", b"*2\r\n$6\r\nSTRLEN\r\n$6\r\n%s\r\n",
    b"*3\r\n$5\r\nLPUSH\r\n$6\r\n%s\r\n$1\r\nx\r\n", b"*2\r\n$4\r\nLLEN\r\n$6\r\n%s\r\n",
    b"*3\r\n$4\r\nSADD\r\n$6\r\n%s\r\n$1\r\nx\r\n", b"*2\r\n$5\r\nSCARD\r\n$6\r\n%s\r\n",
    b"*3\r\n$4\r\nHGET\r\n$6\r\n%s\r\n$1\r\nf\r\n", b"*2\r\n$4\r\nMGET\r\n$6\r\n%s\r\n",
    b"GET %s\r\n", b"set %s x\r\n"]


def unread(s):
    """Bytes that were sent and that the server has not read."""
    if s.family == socket.AF_UNIX:
        return struct.unpack("i", fcntl.ioctl(s.fileno(), termios.TIOCOUTQ, bytes(4)))[0]
    ends = [f"0100007F:{end[1]:04X}" for end in (s.getpeername(), s.getsockname())]
    with open("/proc/net/tcp", encoding="ascii") as table:
        return next((int(fields[4].split(":")[1], 16) for fields in map(str.split, table)
                     if fields[1:3] == ends), 1)


def are_read(s):
    while unread(s):
        time.sleep(0.0001)


def trusting():
    trust = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
    return trust


def by(options):
    """System calls, whatever the server's group, unless another way is among the options."""
    return options if "--via" in options else ("--via", "syscalls", *options)


@contextlib.contextmanager
def watched(context, kind, *options, unix=False, **more):
    """A server and mctop over it."""
    if context.in_vm:
        raise Skip("how requests are cut is the same on each kernel: on the host")
    with tempfile.TemporaryDirectory() as d:
        path = d + "/s" if unix else None
        if unix and kind == "redis-server":
            more["options"] = ["--unixsocket", path, "--port", "0"]
        with Server(context, kind, path=path, **more) as s, \
                tool(context, "mctop", "-p", str(s.pid), "--json", "-r", "10000",
                     *by(options), "3600") as run:
            yield s, run


def counted(context, run):
    """{key: calls}, and the totals."""
    out, err, status = ended(context, run)
    last = [json.loads(line) for line in out.splitlines() if line.startswith('{"time"')][-1]
    if status:
        raise RuntimeError(shown(f"status {status}", out, err))
    return {k["key"]: k["calls"] for k in last["keys"]}, last["total"], out, err


def missing(total):
    return [total[k] for k in ("lost_events", "lost_commands", "unseen_replies",
                               "unconfirmed_calls")]


def each_cut(context, s, run, requests, connect):
    """Each request, cut at each byte, on a connection of its own. All must count, once."""
    expected = {}
    for i, request in enumerate(requests):
        for cut in range(1, len(request) - 2 + 6):
            key = b"%02d_%03d" % (i, cut)
            asked = request.replace(b"%s", key)
            with connect(s) as c:
                c.sendall(asked[:cut])
                if not isinstance(c, ssl.SSLSocket):
                    are_read(c)
                c.sendall(asked[cut:])
                c.recv(65536)
            expected[key.decode()] = 1
    found, total, out, err = counted(context, run)
    if found != expected or any(missing(total)):
        wrong = sorted(k for k in found.keys() | expected.keys() if found.get(k) != expected.get(k))
        return shown(f"{len(wrong)} of {len(expected)} keys: {wrong[:20]}, {missing(total)}",
                     out[:1000], err)
    return None


def test_mctop_cut_at_every_byte_memcached(context):
    with watched(context, "memcached", unix=True) as (s, run):
        return each_cut(context, s, run, MEMCACHED, Server.connect)


def test_mctop_cut_at_every_byte_redis(context):
    with watched(context, "redis-server", unix=True) as (s, run):
        return each_cut(context, s, run, REDIS, Server.connect)


def test_mctop_cut_at_every_byte_tcp(context):
    with watched(context, "memcached") as (s, run):
        return each_cut(context, s, run, MEMCACHED[:6] + MEMCACHED[-4:], Server.connect)


def test_mctop_cut_at_every_byte_ssl(context):
    """Each part is a record of TLS, which is read by itself."""
    with tempfile.TemporaryDirectory() as d, \
            watched(context, "redis-server", "--via", "ssl", tls=d) as (s, run):
        return each_cut(context, s, run, REDIS[:3],
                        lambda server: trusting().wrap_socket(server.connect()))


def behind(context, kind, before, firsts, ask, answer, **more):
    """A hundred requests in one write behind something else, of a connection that asked nothing
    yet, and of one that was open, and had asked `before`, before mctop was started."""
    if context.in_vm:
        raise Skip("what comes first is the same on each kernel: on the host")
    with Server(context, kind, **more) as s, contextlib.ExitStack() as open_ones:
        old = [open_ones.enter_context(s.connect()) for _ in firsts]
        for c in old:
            talk(c, before)
        with tool(context, "mctop", "-p", str(s.pid), "--json", "-r", "100", *by(()),
                  "3600") as run:
            for i, (first, its_answer) in enumerate(firsts):
                with s.connect() as new:
                    for c, name in ((old[i], b"o%d" % i), (new, b"n%d" % i)):
                        talk(c, (first + ask.replace(b"%s", name) * 100, its_answer + answer * 100))
            found, total, out, err = counted(context, run)
    expected = {f"{age}{i}": 100 for age in "on" for i in range(len(firsts))}
    if found != expected or any(missing(total)):
        return shown(f"{found}, {missing(total)}", out, err)
    return None


def test_mctop_behind_unknown_bytes_memcached(context):
    return behind(context, "memcached", (b"get x\r\n", b"END\r\n"),
                  [(b"", b""), (b"hello\r\n", b"ERROR\r\n"), (b"\r\n", b"ERROR\r\n"),
                   (b"ge\r\n", b"ERROR\r\n"), (b"*1\r\n", b"ERROR\r\n"),
                   (b"verbosity 1\r\n", b"OK\r\n")],
                  b"get %s\r\n", b"END\r\n")


def test_mctop_behind_unknown_bytes_redis(context):
    unknown = (b"-ERR unknown command 'hello', with args beginning with: 'a' \r\n")
    return behind(context, "redis-server", (b"GET x\r\n", b"$-1\r\n"),
                  [(b"", b""), (b"hello1 a\r\n", unknown.replace(b"hello", b"hello1")),
                   (b"\r\n", b""), (b"PING\r\n", b"+PONG\r\n"),
                   (b"*1\r\n$4\r\nPING\r\n", b"+PONG\r\n"), (b"*0\r\n", b"")],
                  b"*2\r\n$3\r\nGET\r\n$2\r\n%s\r\n", b"$-1\r\n")


def test_mctop_stats_in_a_pipeline(context):
    """What `stats` says is long, and of its buffer the head is seen only."""
    with watched(context, "memcached") as (s, run), s.connect() as c:
        for what in (b"", b" settings", b" items", b" slabs", b" conns", b" reset"):
            c.sendall(b"get a\r\nstats%s\r\nget b\r\nset c 0 0 1\r\nx\r\nget c\r\n" % what)
            got = b""
            while not got.endswith(b"END\r\nSTORED\r\nVALUE c 0 1\r\nx\r\nEND\r\n"):
                got += c.recv(65536)
        found, total, out, err = counted(context, run)
    if found != {"a": 6, "b": 6, "c": 12} or any(missing(total)) or \
            (total["hits"], total["misses"]) != (12, 12):
        return shown(f"{found}, {total}", out, err)
    return None


def within(context, kind, head, line, end, answer, ask, its_answer, *options):
    """mctop is started while a value comes in that looks like requests."""
    if context.in_vm:
        raise Skip("what a value looks like is the same on each kernel: on the host")
    with Server(context, kind) as s, s.connect() as c:
        half = line * (200000 // len(line))
        c.sendall(head % (2 * len(half)) + half[:100000])
        with tool(context, "mctop", "-p", str(s.pid), "--json", *by(options), "3600") as run:
            c.sendall(half[100000:])
            talk(c, (half + end, answer), *[(ask, its_answer)] * 10)
            found, total, out, err = counted(context, run)
    if found != {"real": 10} or missing(total)[:3] != [0, 0, 0]:
        return shown(f"{found}, {missing(total)}", out, err)
    return None


def test_mctop_within_a_value_memcached(context):
    for line in (b"get fake\r\n", b"set fake 0 0 1\r\nx\r\n", b"set fake 0 0 1 noreply\r\nx\r\n"):
        why = within(context, "memcached", b"set v 0 0 %d\r\n", line, b"\r\n", b"STORED\r\n",
                     b"get real\r\n", b"END\r\n")
        if why:
            return why
    return None


def test_mctop_within_a_value_socket(context):
    """By packets: the first that is seen begins anywhere."""
    for line in (b"get fake\r\n", b"set fake 0 0 1 noreply\r\nx\r\n"):
        why = within(context, "memcached", b"set v 0 0 %d\r\n", line, b"\r\n", b"STORED\r\n",
                     b"get real\r\n", b"END\r\n", "--via", "socket")
        if why:
            return why
    return within(context, "redis-server", b"*3\r\n$3\r\nSET\r\n$1\r\nv\r\n$%d\r\n",
                  b"*3\r\n$3\r\nSET\r\n$4\r\nfake\r\n$1\r\nx\r\n", b"\r\n", b"+OK\r\n",
                  b"*2\r\n$3\r\nGET\r\n$4\r\nreal\r\n", b"$-1\r\n", "--via", "socket")


def test_mctop_within_a_value_redis(context):
    for line in (b"GET fake\r\n", b"*3\r\n$3\r\nSET\r\n$4\r\nfake\r\n$1\r\nx\r\n"):
        why = within(context, "redis-server", b"*3\r\n$3\r\nSET\r\n$1\r\nv\r\n$%d\r\n", line,
                     b"\r\n", b"+OK\r\n", b"*2\r\n$3\r\nGET\r\n$4\r\nreal\r\n", b"$-1\r\n")
        if why:
            return why
    return None


def commands(connect):
    """How many the server was given, without these two."""
    with connect() as c:
        c.sendall(b"INFO commandstats\r\nPING end\r\n")
        got = b""
        while not got.endswith(b"\nend\r\n"):
            got += c.recv(65536)
    return sum(map(int, re.findall(rb":calls=(\d+),", got)))


def stopped(context, run, work, before, meanwhile, connect=None):
    """mctop is stopped under load until its ring is full, and others come then. What was asked is
    what it counted and what it says that it lost; where each read was one command, to the last one.
    `connect`: the load asks more than it was told to: redis-benchmark first how Redis is set up."""
    first = commands(connect) if connect else 0
    work(before)
    run.process.send_signal(signal.SIGSTOP)
    work(meanwhile)
    work(before)
    run.process.send_signal(signal.SIGCONT)
    work(before)
    asked = commands(connect) + 2 - first if connect else 3 * before + meanwhile
    _, total, out, err = counted(context, run)
    seen = total["commands"] + total["lost_commands"] + total["unconfirmed_calls"]
    error = 4 * total["lost_commands_error"]
    if total["lost_commands"] < meanwhile // 10 or not total["lost_events"]:
        return shown(f"too few of {asked} are lost: {total}", out, err)
    if abs(asked - seen) > error or error > asked // 50:
        return shown(f"{asked} were asked: {total}", out, err)
    return None


def test_mctop_stopped(context):
    with watched(context, "memcached") as (s, run):
        return stopped(context, run, lambda n: load(context, s, "-n", str(n), "-v", "450"), 2000,
                       40000)


def test_mctop_stopped_pipelines(context):
    """Many commands with a read, of keys and values of different lengths."""
    with watched(context, "memcached") as (s, run):
        return stopped(context, run,
                       lambda n: load(context, s, "-n", str(n), "-v", "450", "-w", "50", "-D", "20",
                                      "-k", "2000"), 20000, 60000)


def test_mctop_stopped_unix(context):
    """A socket that does not count what it moves."""
    with watched(context, "redis-server", unix=True) as (s, run):
        return stopped(context, run, lambda n: benchmark(context, "-s", s.path, "-n", n), 1000,
                       20000, s.connect)


def test_mctop_stopped_ssl(context):
    with tempfile.TemporaryDirectory() as d, \
            watched(context, "redis-server", "--via", "ssl", tls=d) as (s, run):
        return stopped(context, run,
                       lambda n: benchmark(context, "-p", s.port, "--tls", "--insecure", "-n", n),
                       1000, 30000, lambda: trusting().wrap_socket(s.connect()))


def benchmark(context, *options):
    require("cmd:redis-benchmark")
    subprocess.run(["redis-benchmark", "-q", "-c", "8", "-t", "set", "-d", "2000", "-r", "100",
                    *map(str, options)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   timeout=120 * context.factor, check=True)


def replicates(context, late):
    """A replica, whose master says more than its clients do. `late`: it has its master, and heard
    from it, before mctop is started."""
    if context.in_vm:
        raise Skip("what masters say is the same on each kernel: on the host")
    store = b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$100\r\n" + b"v" * 100 + b"\r\n"
    with tempfile.TemporaryDirectory() as d, \
            Server(context, "redis-server", options=["--dir", d]) as master, \
            Server(context, "redis-server", options=["--dir", d]) as s, \
            master.connect() as to_master, s.connect() as c:
        def replicate():
            talk(c, (b"REPLICAOF 127.0.0.1 %d\r\n" % master.port, b"+OK\r\n"))
            answer = b""
            while answer != b":1\r\n":
                to_master.sendall(b"SET k 1\r\nWAIT 1 1000\r\n")
                answer = to_master.recv(100).removeprefix(b"+OK\r\n") or to_master.recv(100)

        if late:
            replicate()
        with tool(context, "mctop", "-p", str(s.pid), "--json", *by(()), "3600") as run:
            if not late:
                replicate()
            for _ in range(20):
                talk(to_master, (store * 50 + b"WAIT 1 0\r\n", b"+OK\r\n" * 50 + b":1\r\n"))
                talk(c, (b"GET k\r\n", b"$100\r\n" + b"v" * 100 + b"\r\n"))
            found, total, out, err = counted(context, run)
    # A master is known as one once its replica has said something, as it does after WAIT.
    least = (19 if late else 20) * 50 * len(store)
    if found != {"k": 20} or missing(total)[:3] != [0, 0, 0] or total["master_bytes"] < least:
        return shown(f"{found}, {total}", out, err)
    return None


def test_mctop_of_a_replica(context):
    return replicates(context, False)


def test_mctop_of_a_replica_already(context):
    return replicates(context, True)
