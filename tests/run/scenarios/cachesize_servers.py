# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""memtap cachesize memcached|redis on Debian's servers as they are, against what they say."""
import contextlib
import re
import signal
import ssl
import subprocess
import tempfile
import time

from run.scenarios import Skip, on_host, shown
from run.scenarios.cacherestart import Group
from run.scenarios.caches import Server, ended, load, talk, tool
from run.scenarios.cachesize import data_of, fill, hits_at


class Talk(Server):
    """A server with a connection to it."""

    def __init__(self, context, kind, *options):
        super().__init__(context, kind, options=options)
        self.client = self.connect()
        self.file = self.client.makefile("rb")

    def end(self):
        if hasattr(self, "client"):
            self.file.close()
            self.client.close()
        super().end()

    def set(self, key, size):
        self.client.sendall(b"set %s 0 0 %d\r\n%s\r\n" % (key.encode(), size, b"x" * size))
        if self.file.readline() != b"STORED\r\n":
            raise RuntimeError("not stored")

    def stats(self, what=b""):
        self.client.sendall(b"stats " + what + b"\r\n")
        lines = iter(self.file.readline, b"END\r\n")
        return dict(line.decode().split()[1:3] for line in lines)

    def redis(self, *words):
        """A bulk string, or a number."""
        self.client.sendall(b"*%d\r\n" % len(words) +
                            b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
        line = self.file.readline()
        if line[:1] == b"$":
            return self.file.read(int(line[1:]) + 2).decode()
        return int(line[1:]) if line[:1] == b":" else line.decode()

    def info(self, section):
        return dict(line.split(":") for line in self.redis(b"INFO", section).split("\r\n")
                    if ":" in line)


def watched(context, server, preset, work, *options):
    """What cachesize says of that work: JSON, and all it printed."""
    with tool(context, "cachesize", preset, "-p", str(server.pid), "--json",
              *options) as run:
        told = work()
        time.sleep(0.3)  # the client has the last answer before the server's call is over
        out, err, status = ended(context, run)
    if status:
        raise RuntimeError(shown(f"status {status}", out, err))
    return data_of(out), told, out, err


def wrong_counts(data, real):
    """`real`: lookups, hits, inserts."""
    got = (data["lookups"], data["hits"], data["inserts"])
    lost, unseen = data["lost"], data["unseen_replies"]
    problems = [] if got == real and not lost else [f"{got}, lost {lost}, {unseen} unseen; {real}"]
    if data["curve"]["uses"] != data["lookups"]:
        problems.append(f"{data['curve']['uses']} uses")
    return problems


def test_cachesize_memcached_counts(context):
    """Text, pipelined, with multi-gets; what an item takes, by the server's own slabs."""
    with Talk(context, "memcached") as s:
        data, _, out, err = watched(context, s, "memcached", lambda: load(
            context, s, "-n", "4000", "-k", "300", "-v", "500", "-w", "30", "-m", "3", "-D", "4"))
        stats, slabs, items = s.stats(), s.stats(b"slabs"), s.stats(b"items")
    problems = wrong_counts(data, tuple(int(stats[n]) for n in ("cmd_get", "get_hits", "cmd_set")))
    full = [n for n in items if re.fullmatch(r"items:\d+:number", n)]
    chunk = int(slabs[full[0].split(":")[1] + ":chunk_size"])
    row = dict.fromkeys(("mean", "p95", "p99"), 1000 * chunk) | {"entries": 1000}
    if len(full) != 1 or data["memory"][0] != row:
        problems.append(f"chunks of {chunk}, {full}: {data['memory'][0]}")
    # Mostly as large as the value and a key of five to seven bytes.
    if not 505 <= data["size"]["min"] <= data["size"]["max"] <= 507:
        problems.append(f"size {data['size']}")
    return shown("\n".join(problems), out, err) if problems else None


def test_cachesize_redis_counts(context):
    """The load, then keys of their own, whose memory the server tells."""
    if context.in_vm:
        raise Skip("memcached's is run in the virtual machine")
    n, size, key = 2000, 1000, "one:%06d"

    def work():
        load(context, s, "-P", "resp", "-n", "2000", "-k", "200", "-v", "100", "-m", "3")
        return s.info(b"stats")

    def fill_up():
        before = int(s.info(b"memory")["used_memory"])
        for i in range(n):
            s.redis(b"SET", (key % i).encode(), b"x" * size)
        return (int(s.info(b"memory")["used_memory"]) - before) / n

    with Talk(context, "redis-server") as s:
        data, stats, out, err = watched(context, s, "redis", work)
        hits, misses = int(stats["keyspace_hits"]), int(stats["keyspace_misses"])
        problems = wrong_counts(data, (hits + misses, hits, data["inserts"]))
        data, grown, out, err = watched(context, s, "redis", fill_up, "--overhead", "100")
        usage = s.redis(b"MEMORY", b"USAGE", (key % 1).encode())
    mean = data["memory"][0]["mean"] / 1000 - 100
    # MEMORY USAGE leaves out the slot of the table, and the rounding of its entry.
    if data["inserts"] != n or mean != usage + 19 or abs(mean - grown) > mean * 0.05:
        problems.append(f"{data['inserts']} inserts of {mean}; told {usage}, really {grown}")
    return shown("\n".join(problems), out, err) if problems else None


def test_cachesize_memcached_curve(context):
    """From one run of the stock memcached, what it hits with two and three times the memory."""
    if context.in_vm:
        raise Skip("three runs of a server, a request at a time: on the host")
    # In all less than the 8 MiB from which on answers are left out: it may have no processor.
    uses, keys, real, problems = 5000, 4000, [], []
    for megabytes in (2, 4, 6):
        with Talk(context, "memcached", "-m", str(megabytes), "-o",
                  "no_lru_crawler,no_lru_maintainer") as s:
            if real:
                real.append(fill(s, uses, keys))
                continue
            data, told, out, err = watched(context, s, "memcached", lambda: fill(s, uses, keys))
            real.append(told)
    # memcached moves an item to the front once a minute only, so it is not quite an LRU cache.
    for hits, items in real:
        said = hits_at(data["curve"]["points"], items)
        if abs(said - hits) > 0.06:
            problems.append(f"{items} items: {hits}, told {said}")
    hits = round(uses * real[0][0])
    problems += wrong_counts(data, (uses, hits, uses - hits))
    if len({items for _, items in real}) != 3:
        problems.append(f"items {real}")
    return shown("\n".join(problems), out, err) if problems else None


def test_cachesize_unseen_replies(context):
    """Where it can not keep up answers are left out: their lookups are uses, and that is said."""
    uses = 7000  # of 1,000 bytes: more than 4 MiB, and each lane has room for 8
    with Talk(context, "memcached") as s:
        s.set("key", 1000)
        with tool(context, "cachesize", "memcached", "-p", str(s.pid), "--json",
                  "--via", "syscalls") as run:
            run.process.send_signal(signal.SIGSTOP)
            for _ in range(uses):
                s.client.sendall(b"get key\r\n")
                while s.file.readline() != b"END\r\n":
                    pass
            run.process.send_signal(signal.SIGCONT)
            time.sleep(0.3)
            out, err, status = ended(context, run)
    data = data_of(out)
    seen, unseen = data["lookups"], data["unseen_replies"]
    if status or data["lost"] or seen + unseen != uses or not 0 < unseen < uses // 2 or \
            data["hits"] != seen or data["curve"]["uses"] != uses:
        return shown(f"{unseen} unseen of {uses}, status {status}", out, err)
    return None


def test_cachesize_servers_ask(context):
    """A server of the other kind, options that are for probes, and the text for one entry."""
    def refused(*args):
        p = subprocess.run([context.memtap, "cachesize", *args], capture_output=True, text=True,
                           timeout=60 * context.factor, check=False)
        return p.stderr if p.returncode == 1 else shown(f"status {p.returncode}", p.stdout, "")

    with Talk(context, "memcached") as s:
        for args, said in ((("redis", "-p", str(s.pid)), f"process {s.pid} is a memcached"),
                           (("memcached", "--size", "arg2"), "--size is for a program of your own"),
                           (("memcached", "--limit", "x"), "'x' is no number of bytes"),
                           (("uprobe:x:y", "--size", "arg2", "--via", "ssl"),
                            "--via is for memcached and redis")):
            err = refused(*args)
            if said not in err:
                return f"{args}: {err}"
        with tool(context, "cachesize", "memcached", "-p", str(s.pid)) as run:
            s.set("key", 100)
            s.client.sendall(b"get key other\r\n")
            while s.file.readline() != b"END\r\n":
                pass
            s.process.terminate()
            out, err, status = run.finish(60 * context.factor)
    for line in (r"^1 entry was put in; 2 lookups, 50\.0 % hits$",
                 r"^memory, estimated by memcached's slabs$", r"^ +1,000 +188 KiB +188 KiB"):
        if status or not re.search(line, out, re.M):
            return shown(f"status {status}, no line {line}", out, err)
    return None


# Two keys, each put in and found; all are thrown out, looked for in vain, and one is put in and
# found again: seven lookups, of which in a cache of any size three are hits.
EMPTIED = {
    "memcached": ((b"set a 0 0 3\r\nxyz\r\nset b 0 0 3\r\nxyz\r\n", b"STORED\r\nSTORED\r\n"),
                  (b"get a b\r\n", b"VALUE a 0 3\r\nxyz\r\nVALUE b 0 3\r\nxyz\r\nEND\r\n"),
                  (b"flush_all\r\n", b"OK\r\n"),
                  (b"get a b\r\nget a b\r\n", b"END\r\nEND\r\n"),
                  (b"set a 0 0 3\r\nxyz\r\n", b"STORED\r\n"),
                  (b"flush_all 1000\r\n", b"OK\r\n"),
                  (b"get a\r\n", b"VALUE a 0 3\r\nxyz\r\nEND\r\n")),
    "redis": ((b"SET a xyz\r\nSET b xyz\r\n", b"+OK\r\n+OK\r\n"),
              (b"MGET a b\r\n", b"*2\r\n$3\r\nxyz\r\n$3\r\nxyz\r\n"),
              (b"FLUSHALL\r\n", b"+OK\r\n"),
              (b"MGET a b\r\nMGET a b\r\n", b"*2\r\n$-1\r\n$-1\r\n" * 2),
              (b"SET a xyz\r\n", b"+OK\r\n"),
              (b"GET a\r\n", b"$3\r\nxyz\r\n")),
}


def as_resp(lines):
    """Each line, a command for people, as clients send it."""
    return b"".join(b"*%d\r\n" % len(line.split()) + b"".join(
        b"$%d\r\n%s\r\n" % (len(word), word) for word in line.split())
        for line in lines.split(b"\r\n") if line)


@contextlib.contextmanager
def connected(server, tls):
    with server.connect() as plain:
        if not tls:
            yield plain
            return
        trust = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
        with trust.wrap_socket(plain) as c:
            yield c


def emptied(context, preset, *options, tls=None, apart=None):
    said = EMPTIED[preset]
    if preset == "redis":
        said = [(as_resp(lines), answer) for lines, answer in said]
    with Server(context, {"redis": "redis-server"}.get(preset, preset), tls=tls, apart=apart) as s:
        def work():
            with connected(s, tls) as c:
                talk(c, *said)

        data, _, out, err = watched(context, s, preset, work, *options)
    problems = wrong_counts(data, (7, 3, 3))
    if data["curve"]["most"] != round(3 / 7, 4):
        problems.append(f"curve: {data['curve']}")
    if ("--via socket is taken" in err) != bool(apart):
        problems.append("the way in")
    return shown("\n".join(problems), out, err) if problems else None


def test_cachesize_after_flush_all(context):
    return emptied(context, "memcached")


def test_cachesize_after_flushall(context):
    return emptied(context, "redis")


def test_cachesize_socket_memcached(context):
    return emptied(context, "memcached", "--via", "socket")


def test_cachesize_socket_redis(context):
    return emptied(context, "redis", "--via", "socket")


@on_host
def test_cachesize_way_in(context):
    """Packets of the server's own control group."""
    with Group() as group:
        return emptied(context, "memcached", apart=group)


def test_cachesize_ssl_memcached(context):
    with tempfile.TemporaryDirectory() as d:
        return emptied(context, "memcached", "--via", "ssl", tls=d)


def test_cachesize_ssl_redis(context):
    with tempfile.TemporaryDirectory() as d:
        return emptied(context, "redis", "--via", "ssl", tls=d)
