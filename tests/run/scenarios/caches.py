# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""mctop and mcsnoop on real servers: Debian's memcached as it is and Redis, under a load that knows
what it asked and was told, key by key."""
import contextlib
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import tempfile

from lib import machine
from run.cases import Run
from run.scenarios import (TOOLS, Skip, answers, family_of, free_port, on_host, probes_of, require,
                           shown, started)


PROCESSORS = os.sched_getaffinity(0)
MISSED = re.compile(r'^\{"type": "runtime_error", "msg": "[^"]*: \d+ events? w\w+ missed: .*\n',
                    re.M)


class Server:
    """memcached or redis-server on a loopback port, or a unix socket, of its own; with `apart` in
    namespaces of its own (cachefind.py). Or the test program ringcache."""

    def __init__(self, context, kind, port=None, path=None, program=None, tls=None, options=(),
                 apart=None, host="127.0.0.1"):
        require("kernel:5.17", *(() if program else ("cmd:" + kind,)))
        self.kind, self.path, self.host = kind, path, host
        if tls:
            self.certify(tls)
        # A free port may be another's before the server has it: then the server ends.
        for _ in range(5):
            self.port = port or free_port()
            argv = self.command(program) + (self.tls_options(tls) if tls else [])
            self.process = subprocess.Popen([*(apart.enter if apart else ()), *argv, *options],
                                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                            stderr=subprocess.DEVNULL)
            self.pid = self.process.pid
            if started(self.process, lambda: apart.answers(self) if apart else
                       answers(self.where()), 20 * context.factor):
                self.keep_apart()
                return
        raise RuntimeError(f"{kind} does not answer")

    def keep_apart(self):
        """Since Linux 7.0 a task may have to wait in the middle of a program, and what others do on
        its processor meanwhile is missed. So that this is not what the server does it has one for
        itself, which each of its threads keeps until it waits; then all has to be seen."""
        if not machine.kernel_at_least(7, 0) or len(PROCESSORS) < 2:
            return
        own = {min(PROCESSORS)}
        os.sched_setaffinity(0, PROCESSORS - own)
        for task in map(int, os.listdir(f"/proc/{self.pid}/task")):
            os.sched_setaffinity(task, own)
            os.sched_setscheduler(task, os.SCHED_FIFO, os.sched_param(1))

    def where(self):
        return self.path or (self.host, self.port)

    def command(self, program):
        listen = ["-s", self.path] if self.path else ["-l", self.host, "-p", str(self.port)]
        argv = {"memcached": ["memcached", "-u", "root", "-U", "0", "-t", "2"] + listen,
                "ringcache": ["ringcache", "-l", self.host, "-p", str(self.port)],
                "redis-server": ["redis-server", "--port", str(self.port), "--bind", self.host,
                                 "--save", "", "--appendonly", "no"]}[self.kind]
        return [program or argv[0], *argv[1:]]

    @staticmethod
    def certify(d):
        """A certificate and its key in a directory."""
        require("cmd:openssl")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", d + "/key", "-out",
                        d + "/cert", "-subj", "/CN=localhost"], capture_output=True, check=True)

    def tls_options(self, d):
        if self.kind == "memcached":
            return ["-Z", "-o", f"ssl_chain_cert={d}/cert,ssl_key={d}/key"]
        return ["--port", "0", "--tls-port", str(self.port), "--tls-cert-file", d + "/cert",
                "--tls-key-file", d + "/key", "--tls-ca-cert-file", d + "/cert",
                "--tls-auth-clients", "no"]

    def end(self):
        self.process.kill()
        self.process.wait()
        os.sched_setaffinity(0, PROCESSORS)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def connect(self):
        s = socket.socket(family_of(self.where()))
        s.connect(self.where())
        return s


def load(context, server, *options, enter=()):
    """{key: (gets, hits, misses, sets)} as the load generator counted them."""
    p = subprocess.run([*enter, context.progs + "/cacheload", "-p", str(server.port), *options],
                       capture_output=True, text=True, timeout=120 * context.factor, check=True)
    rows = [line.split() for line in p.stdout.splitlines()]
    return {r[0]: tuple(int(n) for n in r[1:]) for r in rows if r[0] != "total"}


@contextlib.contextmanager
def tool(context, *argv):
    run = Run([context.memtap, *argv])
    try:
        if not run.attached(60 * context.factor):
            raise RuntimeError(shown("it never attached", "".join(run.out), "".join(run.err)))
        yield run
    finally:
        run.kill()


def ended(context, run):
    """It is interrupted; its output, messages and status. That the kernel missed events is said for
    those of all processes: a line of its own in JSON, which is left out here."""
    run.process.send_signal(signal.SIGINT)
    out, err, status = run.finish(60 * context.factor)
    return MISSED.sub("", out), err, status


def compare(keys, expected, timed=True):
    """What mctop says of keys and what the load says. Timed: latencies are known."""
    problems = []
    found = {k["key"]: k for k in keys}
    if set(found) != set(expected):
        problems.append(f"keys: {sorted(set(found) ^ set(expected))} on one side only")
    for key, (gets, hits, misses, sets) in expected.items():
        k = found.get(key)
        if not k:
            continue
        commands = k["commands"]
        # A store that is done counts as found.
        told = (k["calls"], commands.get("get", 0), k["hits"], k["misses"], commands.get("set", 0))
        if told != (gets + sets, gets, hits + sets, misses, sets):
            problems.append(f"{key}: {told}, the load says {(gets, hits, misses, sets)}")
        if gets and timed is not None and bool(k["p99_us"]) != timed:
            problems.append(f"{key}: latency {k['p99_us']}")
        if k["error"]:
            problems.append(f"{key}: error {k['error']}")
    return problems


def counts(context, kind, protocol, *options, program=None, via="syscalls"):
    with Server(context, kind, program=program) as s, \
            tool(context, "mctop", "-p", str(s.pid), "--check", "--json", "-r", "50", "--via", via,
                 "3600") as run:
        expected = load(context, s, "-P", protocol, "-n", "1500", "-k", "30", "-v", "40", *options)
        out, err, status = ended(context, run)
    lines = [json.loads(line) for line in out.splitlines()]
    if status or len(lines) != 2:
        return shown(f"status {status}, {len(lines)} objects", out, err)
    last, check = lines
    problems = compare(last["keys"], expected, via in ("syscalls", "socket"))
    total = last["total"]
    if total["lost_events"] or total["lost_commands"]:
        problems.append("something was lost")
    if total["calls"] != sum(e[0] + e[3] for e in expected.values()):
        problems.append(f"{total['calls']} calls in all")
    if not total["exact"] or total["keys"] != len(expected) or total["covered"] != 1:
        problems.append(f"total: {total}")
    if not check["equal"] or not any(v["server"] for v in check["check"].values()):
        problems.append(f"check: {check}")
    sized = [k["size"] for k in last["keys"] if k["size"] is not None]
    if set(sized) != {40}:
        problems.append(f"sizes {set(sized)}")
    clients = {c["client"] for k in last["keys"] for c in k["clients"]}
    if clients != {"127.0.0.1"}:
        problems.append(f"clients {clients}")
    return shown("\n".join(problems), out, err) if problems else None


def test_mctop_text(context):
    """Multi-gets, pipelines, connections that come and go."""
    return counts(context, "memcached", "text", "-m", "5", "-D", "4", "-x", "97")


def test_mctop_sample(context):
    """All calls are counted, and of one key in three the rest is kept: all of it or nothing."""
    with Server(context, "memcached") as s, \
            tool(context, "mctop", "-p", str(s.pid), "--sample", "3", "--json", "-r", "50",
                 "3600") as run:
        expected = load(context, s, "-P", "text", "-n", "1500", "-k", "30", "-v", "40")
        out, err, status = ended(context, run)
    last = json.loads(out.splitlines()[-1])
    problems = compare(last["keys"], expected, None)
    kept = {(k["size"] if k["hits"] else 40, bool(k["p50_us"]), bool(k["clients"]))
            for k in last["keys"] if k["hits"] or k["p50_us"]}
    if status or last["total"]["sample"] != 3 or kept != {(40, True, True), (None, False, False)}:
        problems.append(f"status {status}, {last['total']}, {kept}")
    return shown("\n".join(problems), out, err) if problems else None


def test_mctop_meta(context):
    return counts(context, "memcached", "meta", "-D", "3")


def test_mctop_binary(context):
    return counts(context, "memcached", "binary", "-c", "2")


def test_mctop_redis(context):
    return counts(context, "redis-server", "resp", "-m", "3", "-D", "2", "-x", "50")


def test_mctop_large_values(context):
    """Of these the heads are captured only, once that has been seen. All together are less than
    what memtap may be behind by before answers are left out: it may get no processor for long."""
    with Server(context, "memcached") as s, \
            tool(context, "mctop", "-p", str(s.pid), "--json", "3600") as run:
        expected = load(context, s, "-n", "250", "-k", "5", "-v", "30000", "-w", "50", "-c", "2")
        out, err, status = ended(context, run)
    last = json.loads(out)
    problems = compare(last["keys"], expected)
    if status or last["total"]["lost_commands"] or {k["size"] for k in last["keys"]} != {30000}:
        problems.append(f"status {status}, total {last['total']}")
    return shown("\n".join(problems), out, err) if problems else None


def pipeline(server, questions, end):
    """Sends them in one piece; reads until the last answer has come."""
    with server.connect() as c:
        c.sendall(questions)
        got = b""
        while not got.endswith(end):
            got += c.recv(1 << 20)


def many_answers(context, kind, setup, questions, end):
    """mctop's total of a server whose answers go out in few calls, many in each."""
    with Server(context, kind) as s:
        pipeline(s, *setup)
        with tool(context, "mctop", "-p", str(s.pid), "--json", "3600") as run:
            for question in questions:
                pipeline(s, question, end)
            out, err, _ = ended(context, run)
    return json.loads(out)["total"], out, err


def test_mctop_many_answers(context):
    """In one call of the server: multi-gets whose answers have hundreds of pieces, and a pipeline
    whose answers do not fit into one buffer of Redis."""
    if context.in_vm:
        raise Skip("what is captured is the same there, and slow")
    value = b"v" * 1000
    stores = b"".join(b"set k%d 0 0 100 noreply\r\n%s\r\n" % (i, value[:100]) for i in range(200))
    gets = [b"get " + b" ".join(b"k%d" % i for i in range(n)) + b" none\r\n" for n in (60, 200)]
    total, out, err = many_answers(context, "memcached", (stores + b"get k199\r\n", b"END\r\n"),
                                   gets, b"END\r\n")
    if (total["hits"], total["misses"], total["unseen_replies"]) != (260, 2, 0):
        return shown("memcached", out, err)
    total, out, err = many_answers(
        context, "redis-server", (b"SET k %s\r\nSET last x\r\n" % value, b"+OK\r\n+OK\r\n"),
        [(b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n" * n + b"*2\r\n$3\r\nGET\r\n$4\r\nlast\r\n")
         for n in (100, 10, 60)], b"$1\r\nx\r\n")
    if (total["hits"], total["unseen_replies"], total["lost_commands"]) != (173, 0, 0):
        return shown("redis", out, err)
    return None


def test_mctop_follows_a_restart(context):
    with Server(context, "memcached") as first, \
            tool(context, "mctop", "-p", str(first.pid), "--json", "-r", "50", "1") as run:
        first.end()
        if not run.wait_for(r"has ended", 20 * context.factor, "err"):
            return shown("the end was not told", "".join(run.out), "".join(run.err))
        if not run.wait_for(r'"running":false', 20 * context.factor, "out"):
            return shown("the table does not say it", "".join(run.out), "".join(run.err))
        with Server(context, "memcached", first.port) as second:
            if not run.wait_for(f"was started again as {second.pid}", 20 * context.factor, "err"):
                return shown("the start was not told", "".join(run.out), "".join(run.err))
            expected = load(context, second, "-n", "200", "-k", "10")
            out, err, _ = ended(context, run)
    last = json.loads(out.splitlines()[-1])
    problems = compare(last["keys"], expected)
    if last["server"] != {"name": "memcached", "pid": second.pid, "running": True}:
        problems.append(f"the server is {last['server']}")
    return shown("\n".join(problems), out, err) if problems else None


def test_mctop_names_the_servers(context):
    """With several servers none is taken."""
    with Server(context, "memcached") as a, Server(context, "redis-server") as b:
        p = subprocess.run([context.memtap, "mctop"], capture_output=True, text=True,
                           timeout=60 * context.factor, check=False)
    for s in (a, b):
        if f"-p {s.pid} is {s.kind} {s.pid} (port {s.port})" not in p.stderr:
            return shown(f"{s.kind} {s.pid} is not named", p.stdout, p.stderr)
    return None if p.returncode == 1 else shown(f"status {p.returncode}", p.stdout, p.stderr)


def test_mctop_dump(context):
    """All keys go to a new file; one that is there, or a link, is not touched."""
    with Server(context, "memcached") as s, tempfile.TemporaryDirectory() as d:
        there, link, new = d + "/there", d + "/link", d + "/new"
        with open(there, "w", encoding="utf-8") as f:
            f.write("mine")
        os.symlink(d + "/nowhere", link)
        for path in (there, link):
            p = subprocess.run([context.memtap, "mctop", "-p", str(s.pid), "-o", path],
                               capture_output=True, text=True, timeout=60 * context.factor,
                               check=False)
            if p.returncode != 1 or "can not make" not in p.stderr:
                return shown(f"{path}: status {p.returncode}", p.stdout, p.stderr)
        if open(there, encoding="utf-8").read() != "mine" or os.path.exists(d + "/nowhere"):
            return "a file was written to"
        with tool(context, "mctop", "-p", str(s.pid), "-o", new, "-r", "1", "3600") as run:
            expected = load(context, s, "-n", "300", "-k", "12")
            out, err, status = ended(context, run)
        problems = compare(json.load(open(new, encoding="utf-8"))["keys"], expected)
        if status or os.stat(new).st_mode & 0o777 != 0o600:
            problems.append(f"status {status}, mode {os.stat(new).st_mode:o}")
    return shown("\n".join(problems), out, err) if problems else None


def test_mctop_forms(context):
    """Text and CSV of folded and of hidden keys."""
    with Server(context, "memcached") as s, \
            tool(context, "mctop", "-p", str(s.pid), "--prefix", ":", "3600") as text, \
            tool(context, "mctop", "-p", str(s.pid), "--hash-keys", "--csv", "3600") as csv:
        load(context, s, "-n", "400", "-k", "9")
        out, err, _ = ended(context, text)
        rows, csv_err, _ = ended(context, csv)
    if not re.search(r"^key:\* +400 ", out, re.M) or "these 1 are 100.0 % of 400 calls" not in out:
        return shown("no row of all keys", out, err)
    lines = rows.splitlines()
    if not lines[0].startswith("time,key,calls,") or len(lines) != 10 or "key:" in rows or \
            not all(re.match(r'[\d.]+,"[0-9a-f]{16}",\d+,0,', line) for line in lines[1:]):
        return shown("the CSV is not as it should be", rows, csv_err)
    if sum(int(line.split(",")[2]) for line in lines[1:]) != 400:
        return shown("calls are missing", rows, csv_err)
    return None


def talk(s, *turns):
    """Sends each question and waits for the whole of its answer."""
    for question, answer in turns:
        s.sendall(question)
        got = b""
        while len(got) < len(answer):
            got += s.recv(65536)
        if got != answer:
            raise RuntimeError(f"{question}: {got}")


CONVERSATION = ((b"set a 0 0 3\r\nxyz\r\n", b"STORED\r\n"),
                (b"get a nothing\r\n", b"VALUE a 0 3\r\nxyz\r\nEND\r\n"),
                (b"incr n 1\r\n", b"NOT_FOUND\r\n"),
                (b"ma n MD\r\n", b"NF\r\n"),
                (b"ms n 1\r\n5\r\nma n\r\nma n MD v\r\n", b"HD\r\nHD\r\nVA 1\r\n5\r\n"),
                (b"mg a v\r\n", b"VA 3\r\nxyz\r\n"),
                (b"delete a\r\n", b"DELETED\r\n"))


def test_mcsnoop_lines(context):
    with Server(context, "memcached") as s, s.connect() as c, \
            tool(context, "mcsnoop", "-p", str(s.pid), "-n", "10", "--json") as run:
        talk(c, *CONVERSATION)
        client = "127.0.0.1:%d" % c.getsockname()[1]
        out, err, status = run.finish(30 * context.factor)
    lines = [json.loads(line) for line in out.splitlines()]
    told = [(n["command"], n["key"], n["outcome"], n["size"]) for n in lines]
    expected = [("set", "a", "hit", 3), ("get", "a", "hit", 3), ("get", "nothing", "miss", None),
                ("incr", "n", "miss", None), ("ma", "n", "miss", None), ("ms", "n", "hit", 1),
                ("ma", "n", "hit", None), ("ma", "n", "hit", None), ("mg", "a", "hit", 3),
                ("delete", "a", "hit", None)]
    if status or told != expected or {n["client"] for n in lines} != {client} or \
            not all(n["us"] > 0 for n in lines):
        return shown(f"status {status}, {told}", out, err)
    return None


def resp(*words):
    """A command as clients write it."""
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words)


def commandstats(s):
    """{"GET": calls, ...} of the commands that have a key, by the server itself."""
    with s.connect() as c:
        c.sendall(b"INFO commandstats\r\nPING end\r\n")
        text = b""
        while not text.endswith(b"$3\r\nend\r\n"):
            text += c.recv(65536)
    stats = re.findall(r"cmdstat_([a-z]+):calls=(\d+)", text.decode())
    keyless = {"info", "ping", "echo", "hello", "debug", "subscribe", "unsubscribe", "publish"}
    return {name.upper(): int(n) for name, n in stats if name not in keyless}


def test_mcsnoop_resp3(context):
    """Lines typed by hand, and every type of reply that Redis has, with pushes between them: each
    command with a key is told as often as the server counts it, with what became of it."""
    if context.in_vm:
        raise Skip("the parser is the same there")
    types = (b"string integer double null array set map attrib push verbatim true false "
             b"bignum").split()
    said = [b"SET \"a b\" 'x\\'y'\r\n", resp(b"HELLO", b"3"), b"get \"a b\"\r\n",
            resp(b"CLIENT", b"TRACKING", b"ON"), b"GET none\r\n", b"\r\nMGET none \"a b\"\r\n",
            b"SET none 1\r\n", resp(b"HSET", b"h", b"f", b"v"), b"HGETALL h\r\n",
            b"SADD s 1 2\r\nSMEMBERS s\r\n", resp(b"ZADD", b"z", b"1.5", b"m"),
            b"ZSCORE z m\r\nZSCORE z none\r\n", resp(b"SUBSCRIBE", b"c", b"d"),
            b"PUBLISH c hello\r\n", b"GET h\r\n", resp(b"UNSUBSCRIBE", b"c")]
    said += [resp(b"DEBUG", b"PROTOCOL", t) + resp(b"INCR", b"n") for t in types]
    expected = [("SET", "a b", "hit", 3), ("get", "a b", "hit", 3), ("GET", "none", "miss", None),
                ("MGET", "none", "miss", None), ("MGET", "a b", "hit", 3),
                ("SET", "none", "hit", 1), ("HSET", "h", "hit", None),
                ("HGETALL", "h", "hit", None),
                ("SADD", "s", "hit", None), ("SMEMBERS", "s", "hit", None),
                ("ZADD", "z", "hit", None), ("ZSCORE", "z", "hit", None),
                ("ZSCORE", "z", "miss", None), ("GET", "h", "error", None)]
    expected = [(verb.upper(), *more) for verb, *more in expected]
    # The first may have begun with 0 as well as without n.
    expected += [("INCR", "n", None, None)] + [("INCR", "n", "hit", None)] * (len(types) - 1)
    with Server(context, "redis-server", options=("--enable-debug-command", "yes")) as s, \
            s.connect() as c, \
            tool(context, "mcsnoop", "-p", str(s.pid), "--json", "--key", "?*") as run:
        for turn in said + [b"ECHO the-end\r\n"]:
            c.sendall(turn)
        got = b""
        while not got.endswith(b"$7\r\nthe-end\r\n"):
            got += c.recv(65536)
        out, err, _ = ended(context, run)
        stats = commandstats(s)
    told = [json.loads(line) for line in out.splitlines()]
    told = [(n["command"], n["key"], n["outcome"], n["size"]) for n in told]
    counted = {v: sum(t[0] == v for t in told) // (2 if v == "MGET" else 1) for v in stats}
    if told != expected or "missing" in err or counted != stats:
        return shown(f"{told}\n{counted}\n{stats}\n{got}", out, err)
    return None


def test_mcsnoop_filters(context):
    """A client behind a unix socket; each filter leaves a few lines of ten."""
    if context.in_vm:
        raise Skip("seven tools at once: on the host")
    cases = ((("--miss",), ["nothing", "n", "n"]), (("--key", "no*"), ["nothing"]),
             (("--key", "/^n/", "--command", "incr"), ["n", "n"]),
             (("--command", "set"), ["a", "n"]),
             (("--client", f"unix:{os.getpid()}", "--command", "delete"), ["a"]),
             (("--client", "10.0.0.1"), []), (("--min-latency", "100000000"), []))
    with tempfile.TemporaryDirectory() as d, Server(context, "memcached", path=d + "/s") as s, \
            s.connect() as c, contextlib.ExitStack() as stack:
        runs = [stack.enter_context(tool(context, "mcsnoop", "-p", str(s.pid), *options))
                for options, _ in cases]
        talk(c, *CONVERSATION)
        for run, (options, expected) in zip(runs, cases):
            out, err, _ = ended(context, run)
            keys = [line.split()[-1] for line in out.splitlines()[1:]]
            if keys != expected:
                return shown(f"{options}: {keys}, not {expected}", out, err)
    return None


@on_host
def test_demo_cache(context):
    """What `make demo` shows of mctop: the hot keys of a server that is gone afterwards."""
    require("cmd:memcached", "kernel:5.17")
    script = TOOLS + "/../scripts/demo-cache"
    p = subprocess.run([script, context.memtap, context.progs + "/cacheload", "1"],
                       stdin=subprocess.DEVNULL, capture_output=True, text=True,
                       timeout=120 * context.factor, check=False)
    head = re.search(r"^[\d:]+ memcached (\d+): ", p.stdout, re.M)
    if p.returncode or not head or not re.search(r"^key:0 +\d+ ", p.stdout, re.M):
        return shown(f"status {p.returncode}", p.stdout, p.stderr)
    return "the server is still there" if os.path.exists("/proc/" + head[1]) else None


# A server that answers each request by other system calls than the one before: reads of both kinds
# by one piece and by two, and writes.
EVERY_CALL = """
import os, socket, sys
s = socket.socket(socket.AF_INET6)
s.bind(("::1", 0))
s.listen()
print(s.getsockname()[1], flush=True)
c = s.accept()[0]
stored = b"STORED\\r\\n"

def pieces(read):
    room = [bytearray(9), bytearray(4096)]
    read(room)

pairs = [(lambda: os.read(c.fileno(), 4096), lambda b: os.write(c.fileno(), b)),
         (lambda: c.recv(4096), c.send),
         (lambda: c.recv(4096), lambda b: c.sendto(b, s.getsockname())),
         (lambda: c.recvmsg(4096), lambda b: c.sendmsg([b])),
         (lambda: pieces(c.recvmsg_into), lambda b: c.sendmsg([b[:3], b[3:]])),
         (lambda: pieces(lambda room: os.readv(c.fileno(), room)),
          lambda b: os.writev(c.fileno(), [b[:1], b[1:5], b[5:]])),
         (lambda: (c.recv(4096, socket.MSG_PEEK), c.recv(4096)), c.send)]
for read, write in pairs:
    read()
    write(stored)
c.recv(1)
"""


def test_mcsnoop_every_system_call(context):
    """Those a server may read and write by, on a socket of IPv6; what is only peeked at is no
    request."""
    if context.in_vm:
        raise Skip("which calls there are is no matter of the kernel's version: on the host")
    with subprocess.Popen([sys.executable, "-c", EVERY_CALL], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True) as server, \
            contextlib.ExitStack() as stack:
        stack.callback(server.kill)
        port = server.stdout.readline()
        if not port:
            raise Skip("no IPv6 here")
        c = stack.enter_context(socket.create_connection(("::1", int(port))))
        run = stack.enter_context(tool(context, "mcsnoop", "-p", str(server.pid), "-n", "7",
                                       "--json"))
        for i in range(7):
            talk(c, (b"set key%d 0 0 %d\r\n%s\r\n" % (i, 10 + i, b"x" * (10 + i)), b"STORED\r\n"))
        client = "[::1]:%d" % c.getsockname()[1]
        out, err, status = run.finish(30 * context.factor)
    lines = [json.loads(line) for line in out.splitlines()]
    told = [(n["command"], n["key"], n["outcome"], n["size"]) for n in lines]
    if status or told != [("set", f"key{i}", "hit", 10 + i) for i in range(7)] or \
            {n["client"] for n in lines} != {client} or not all(n["us"] > 0 for n in lines):
        return shown(f"status {status}, {told}", out, err)
    return None


# ---- other ways than system calls ------------------------------------------------------------


def test_mctop_socket_text(context):
    """By the packets of its control group; values that come in several, and of more than 28 KiB."""
    return counts(context, "memcached", "text", "-m", "5", "-D", "4", "-x", "97", via="socket")


def test_mctop_socket_meta(context):
    return counts(context, "memcached", "meta", "-D", "3", via="socket")


def test_mctop_socket_binary(context):
    return counts(context, "memcached", "binary", "-c", "2", via="socket")


def test_mctop_socket_redis(context):
    return counts(context, "redis-server", "resp", "-m", "3", "-D", "2", "-x", "50", via="socket")


def test_mctop_socket_large_values(context):
    """Segments of up to 64 KiB, and a listener with two addresses' families."""
    with Server(context, "memcached", options=("-I", "2m"), host="::1") as s, s.connect() as c, \
            tool(context, "mctop", "-p", str(s.pid), "--check", "--json", "-r", "50", "--via",
                 "socket", "3600") as run:
        for size in (1, 28671, 28672, 28673, 65536, 200000, 1000000):
            value = b"x" * size
            talk(c, (b"set k%d 0 0 %d\r\n%s\r\n" % (size, size, value), b"STORED\r\n"),
                 (b"get k%d\r\n" % size, b"VALUE k%d 0 %d\r\n%s\r\nEND\r\n" % (size, size, value)))
        out, err, status = ended(context, run)
    last, check = (json.loads(line) for line in out.splitlines())
    told = {k["key"]: (k["calls"], k["hits"], k["size"]) for k in last["keys"]}
    wanted = {f"k{n}": (2, 2, n) for n in (1, 28671, 28672, 28673, 65536, 200000, 1000000)}
    if status or told != wanted or not check["equal"] or last["total"]["lost_commands"]:
        return shown(f"status {status}, {told}, {check}", out, err)
    return None


def test_mctop_socket_udp(context):
    """A datagram is asked, several answer."""
    port = free_port()
    with Server(context, "memcached", port=port, options=("-U", str(port))) as s, \
            s.connect() as c, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as u, \
            tool(context, "mctop", "-p", str(s.pid), "--check", "--json", "-r", "50", "--via",
                 "socket", "3600") as run:
        talk(c, (b"set big 0 0 5000\r\n" + b"x" * 5000 + b"\r\n", b"STORED\r\n"))
        u.settimeout(20 * context.factor)
        for request in range(50):
            for key, parts in ((b"big", 4), (b"none", 1)):
                u.sendto(request.to_bytes(2, "big") + b"\0\0\0\1\0\0get " + key + b"\r\n",
                         s.where())
                for _ in range(parts):
                    u.recv(65536)
        out, err, status = ended(context, run)
    last, check = (json.loads(line) for line in out.splitlines())
    told = {k["key"]: (k["calls"], k["hits"], k["misses"]) for k in last["keys"]}
    if status or told != {"big": (51, 51, 0), "none": (50, 0, 50)} or not check["equal"] or \
            not all(k["p99_us"] for k in last["keys"]):
        return shown(f"status {status}, {told}, {check}", out, err)
    return None


def test_mctop_socket_of_a_unix_socket(context):
    """There are no packets."""
    with tempfile.TemporaryDirectory() as d, Server(context, "memcached", path=d + "/s") as s:
        p = subprocess.run([context.memtap, "mctop", "-p", str(s.pid), "--via", "socket"],
                           capture_output=True, text=True, timeout=60 * context.factor, check=False)
    if p.returncode != 1 or "listens on no port" not in p.stderr:
        return shown(f"status {p.returncode}", p.stdout, p.stderr)
    return None


def with_probes():
    require("memcached-usdt")
    return machine.memcached_usdt()


def test_mctop_usdt(context):
    """Multi-gets of a server with probes, and its own counters."""
    return counts(context, "memcached", "text", "-m", "5", "-x", "97", program=with_probes(),
                  via="usdt")


def test_mctop_usdt_binary(context):
    return counts(context, "memcached", "binary", program=with_probes(), via="usdt")


def test_mcsnoop_usdt(context):
    """Each probe that this version has, whatever its arguments are in; what it does not tell is
    not made up."""
    said = ((b"set a 0 0 3\r\nxyz\r\n", b"STORED\r\n"),
            (b"add a 0 0 1\r\nx\r\n", b"NOT_STORED\r\n"),
            (b"add n 0 0 1\r\n7\r\n", b"STORED\r\n"),
            (b"replace a 0 0 2\r\nxy\r\n", b"STORED\r\n"),
            (b"append a 0 0 1\r\nz\r\n", b"STORED\r\n"),
            (b"prepend none 0 0 1\r\nz\r\n", b"NOT_STORED\r\n"),
            (b"get a nothing\r\n", b"VALUE a 0 3\r\nxyz\r\nEND\r\n"),
            (b"incr n 1\r\n", b"8\r\n"), (b"decr n 2\r\n", b"6\r\n"),
            (b"gat 0 n\r\n", b"VALUE n 0 1\r\n6\r\nEND\r\n"),
            (b"ms m 2\r\nhi\r\n", b"HD\r\n"), (b"md m\r\n", b"HD\r\n"),
            (b"delete a\r\n", b"DELETED\r\n"), (b"delete a\r\n", b"NOT_FOUND\r\n"),
            (b"set end 0 0 0\r\n\r\n", b"STORED\r\n"))
    expected = [("set", "a", "hit", 3), ("add", "a", "miss", None), ("add", "n", "hit", 1),
                ("replace", "a", "hit", 2), ("append", "a", "hit", 1),
                ("prepend", "none", "miss", None), ("get", "a", "hit", 3),
                ("get", "nothing", "miss", None), ("incr", "n", "hit", None),
                ("decr", "n", "hit", None), ("get", "n", "hit", 1), ("set", "m", "hit", 2),
                ("delete", "m", "hit", None), ("delete", "a", "hit", None),
                ("set", "end", "hit", 0)]
    # memcached 1.6.38 has no probes of arithmetic any more.
    counted = "command__incr" in probes_of(with_probes())
    expected = [e for e in expected if counted or e[0] not in ("incr", "decr")]
    with Server(context, "memcached", program=with_probes()) as s, s.connect() as c, \
            tool(context, "mcsnoop", "-p", str(s.pid), "--via", "usdt", "-n", str(len(expected)),
                 "--json") as run:
        talk(c, *said)
        client = "127.0.0.1:%d" % c.getsockname()[1]
        out, err, status = run.finish(30 * context.factor)
    lines = [json.loads(line) for line in out.splitlines()]
    told = [(n["command"], n["key"], n["outcome"], n["size"]) for n in lines]
    if status or told != expected or {n["client"] for n in lines} != {client} or \
            any(n["us"] is not None for n in lines) or "latencies are not known" not in err or \
            counted == ("no probes of increments" in err):
        return shown(f"status {status}, {told}", out, err)
    return None


def encrypted(context, kind, said, expected, program=None):
    """A conversation over TLS, and what mcsnoop makes of it."""
    trust = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
    with tempfile.TemporaryDirectory() as d, \
            Server(context, kind, tls=d, program=program) as s, \
            tool(context, "mcsnoop", "-p", str(s.pid), "--via", "ssl", "-n", str(len(expected)),
                 "--json") as run, s.connect() as plain, trust.wrap_socket(plain) as c:
        talk(c, *said)
        client = "127.0.0.1:%d" % c.getsockname()[1]
        out, err, status = run.finish(30 * context.factor)
    lines = [json.loads(line) for line in out.splitlines()]
    told = [(n["command"], n["key"], n["outcome"], n["size"]) for n in lines]
    if status or told != expected or {n["client"] for n in lines} != {client} or \
            not all(n["us"] > 0 for n in lines):
        return shown(f"status {status}, {told}", out, err)
    return None


def test_mcsnoop_ssl_memcached(context):
    large = b"v" * 30000
    return encrypted(context, "memcached",
                     CONVERSATION[:2] +
                     ((b"set large 0 0 30000\r\n" + large + b"\r\n", b"STORED\r\n"),
                      (b"mg a v\r\ndelete a\r\n", b"VA 3\r\nxyz\r\nDELETED\r\n")),
                     [("set", "a", "hit", 3), ("get", "a", "hit", 3),
                      ("get", "nothing", "miss", None), ("set", "large", "hit", 30000),
                      ("mg", "a", "hit", 3), ("delete", "a", "hit", None)])


def test_mcsnoop_ssl_redis(context):
    return encrypted(context, "redis-server",
                     ((b"*3\r\n$3\r\nSET\r\n$1\r\na\r\n$3\r\nxyz\r\n", b"+OK\r\n"),
                      (b"*3\r\n$4\r\nMGET\r\n$1\r\na\r\n$7\r\nnothing\r\n",
                       b"*2\r\n$3\r\nxyz\r\n$-1\r\n")),
                     [("SET", "a", "hit", 3), ("MGET", "a", "hit", 3),
                      ("MGET", "nothing", "miss", None)])


def test_mcsnoop_uprobe(context):
    """Every look for a key, by Redis itself; keys of each length that it keeps differently."""
    keys = [b"a", b"b" * 60, b"c" * 240, b"d" * 300]
    asked = b"".join(b"$%d\r\n%s\r\n" % (len(k), k) for k in keys)
    with Server(context, "redis-server") as s, s.connect() as c:
        talk(c, (b"*3\r\n$3\r\nSET\r\n$1\r\na\r\n$3\r\nxyz\r\n", b"+OK\r\n"))
        with tool(context, "mcsnoop", "-p", str(s.pid), "--via", "uprobe", "-n", "4",
                  "--json") as run:
            talk(c, (b"*5\r\n$4\r\nMGET\r\n" + asked, b"*4\r\n$3\r\nxyz\r\n" + b"$-1\r\n" * 3))
            out, err, status = run.finish(30 * context.factor)
    lines = [json.loads(line) for line in out.splitlines()]
    told = [(n["command"], n["key"], n["outcome"], n["size"], n["us"]) for n in lines]
    expected = [("lookup", k[:250].decode(), "miss" if i else "hit", None, None)
                for i, k in enumerate(keys)]
    if status or told != expected or "latencies, sizes" not in err:
        return shown(f"status {status}, {told}", out, err)
    return None


@on_host
def test_mctop_of_what_is_no_cache(context):
    """A process that does not listen, and one of a name that says nothing."""
    p = subprocess.run([context.memtap, "mctop", "-p", str(os.getpid())], capture_output=True,
                       text=True, timeout=60 * context.factor, check=False)
    if p.returncode != 1 or not re.match(r"ERROR: \S+ \d+ is no cache server: it listens on no port"
                                         r" and on no unix socket\nHINT: .*\n$", p.stderr):
        return shown(f"it does not listen: status {p.returncode}", p.stdout, p.stderr)
    with socket.create_server(("127.0.0.1", 0)):
        p = subprocess.run([context.memtap, "mctop", "-p", str(os.getpid()), "1", "1"],
                           capture_output=True, text=True, timeout=60 * context.factor, check=False)
    if p.returncode or " is no server that memtap knows by name; keys are" not in p.stderr:
        return shown(f"it listens: status {p.returncode}", p.stdout, p.stderr)
    return None


def test_mctop_via_what_is_not_there(context):
    """Debian's memcached has no probes; and a number that means nothing."""
    with Server(context, "memcached") as s:
        for option, via, message in (("--via", "usdt", "has no USDT probes"),
                                     ("--via", "uprobe", "no function lookupKey"),
                                     ("--via", "magic", "can not be taken by 'magic'"),
                                     ("--half-life", "-1", "not below 0"),
                                     ("--sample", "0", "from 1 to 1000000")):
            p = subprocess.run([context.memtap, "mctop", "-p", str(s.pid), option, via],
                               capture_output=True, text=True, timeout=60 * context.factor,
                               check=False)
            if p.returncode != 1 or message not in p.stderr or p.stderr.count("ERROR") != 1:
                return shown(f"{via}: status {p.returncode}", p.stdout, p.stderr)
    return None
