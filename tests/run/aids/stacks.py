# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Stacks of stock programs beside gdb's at the same calls.

The program runs under gdb. A probe counts the stacks of all its calls, and at every so many of them
also prints the stack and stops the thread by SIGUSR2: then gdb, which sees the signal, walks the
very same stack. What a stack ends in is judged by the address: the entry point of the program, or
the function a thread begins in.
"""
import bisect
import functools
import json
import os
import re
import signal
import socket
import statistics
import subprocess
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(os.path.dirname(HERE))
SPARSE = 7 # of so many calls one is looked at by gdb, more and more apart


# ---- the programs ----------------------------------------------------------------------------

PYTHON = r"""
import json, re
class Tree:
    def __init__(self, depth):
        self.kids = [Tree(depth - 1) for _ in range(2)] if depth else []
        self.name = "node %d" % depth + "x" * 600
    def walk(self):
        return [self.name] + sum((k.walk() for k in self.kids), [])
for i in range(2):
    names = Tree(5).walk()
    text = json.dumps({"names": names, "n": [str(k) * 90 for k in range(400)]})
    again = json.loads(text)
    words = re.findall(r"n(o)de (\d)", text)
    table = sorted(((w, "y" * 700 + str(w)) for w in words), key=lambda w: w[0])
    kept = [Tree(1).walk() + [str(k) * 300] for k in range(3000 * (i + 1))]
"""

PERL = r"""
sub kids { my $n = shift; return [map { tree($n - 1) } 1 .. ($n ? 2 : 0)] }
sub tree { my $n = shift; return { name => "x" x 50, kids => kids($n) } }
sub names { my $t = shift; return ($t->{name}, map { names($_) } @{$t->{kids}}) }
for my $i (1 .. 5) {
    my @n = names(tree(6));
    my %h; $h{$_ . $i}++ for (1 .. 500);
    my $s = join(",", sort { $b cmp $a } keys %h);
    $s =~ s/(\d)(\d)/$2$1/g; my @w = split(/,/, $s);
    eval "my \$x = $i; \$x + 1";
}
"""

SQLITE = """
create table t(a integer primary key, b text, c real);
create index i on t(b, c);
with recursive n(x) as (select 1 union all select x + 1 from n where x < 400)
insert into t select x, hex(x * 7919) || 'text', x / 3.0 from n;
select count(*), max(b), sum(c) from t where b like '%3%' group by a % 7 order by 2;
select t.a, u.b from t join t as u on t.a = u.a + 1 where u.b > '5' order by u.b limit 5;
"""

BASH = r"""
walk() {
    local n=$1
    if ((n)); then walk $((n - 1)); walk $((n - 1)); else s+="${n}x${RANDOM:0:1}"; fi
}
declare -A h
for i in {1..30}; do
    s=; walk 5; h[$i]=${s//x/yy}; a=(${h[@]^^}); case $s in *q*) : ;; *) b=${s%%x*} ;; esac
done
"""

NODE = r"""
function tree(n) {
  return n ? { name: 'x'.repeat(n), kids: [tree(n - 1), tree(n - 1)] } : { kids: [] };
}
function names(t) { return t.kids.reduce((a, k) => a.concat(names(k)), [t.name]); }
for (let i = 0; i < 20; i++) {
  const s = JSON.stringify(names(tree(8))); JSON.parse(s);
  Buffer.from(s).toString('base64'); new Map(Object.entries({ a: s }));
  require('zlib').deflateSync(s); require('crypto').createHash('md5').update(s).digest('hex');
}
"""


class Program:
    """argv: the command; malloc: the probe that stands for its allocator; start: where to let it
    come before the probes are placed; serve: what a client sends to its port."""

    def __init__(self, name, argv, malloc="uprobe:libc:malloc", start="__libc_start_main",
                 brk=True, env=None, serve=None):
        self.name, self.argv, self.malloc, self.start = name, argv, malloc, start
        self.brk, self.env, self.serve = brk, env or {}, serve

    def missing(self):
        """A file that it needs and that is not there, or None."""
        for path in (self.argv[0], self.env.get("LD_PRELOAD", "/")):
            if not os.path.exists(path):
                return path
        return None

    def events(self):
        """(probe, what it is called)"""
        yield self.malloc, self.malloc.rsplit(":", 1)[1]
        if self.brk:
            yield "tracepoint:syscalls:sys_enter_brk", "sys_enter_brk"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def redis_talk(i):
    value = "v" * (i % 3000)
    return (f"SET key:{i} {value}\r\nGET key:{i}\r\nLPUSH list {i} {i + 1}\r\n"
            f"HSET h f{i} {value}\r\nSORT list LIMIT 0 10\r\n"
            f"EVAL \"return redis.call('get', 'key:{i}')\" 0\r\n").encode()


def memcached_talk(i):
    return (f"set key{i} 0 0 5\r\nhello\r\nget key{i} none\r\nstats\r\nincr n 1\r\n"
            f"get {' '.join('k%d' % k for k in range(200))}\r\n").encode()


def programs(build):
    """Every program of the table."""
    redis, memcached = free_port(), free_port()
    python = os.path.realpath("/usr/bin/python3")
    jemalloc = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"
    return [
        Program(os.path.basename(python), [python, "-c", PYTHON], env={"PYTHONHASHSEED": "0"}),
        Program("perl", ["/usr/bin/perl", "-e", PERL]),
        Program("sqlite3", ["/usr/bin/sqlite3", ":memory:", SQLITE]),
        Program("bash", ["/usr/bin/bash", "-c", BASH]),
        Program("redis-server", ["/usr/bin/redis-server", "--port", str(redis), "--save", "",
                                 "--bind", "127.0.0.1"],
                malloc=f"uprobe:{jemalloc}:malloc", serve=(redis, redis_talk)),
        Program("memcached", ["/usr/bin/memcached", "-u", "root", "-l", "127.0.0.1", "-U", "0",
                              "-p", str(memcached)], serve=(memcached, memcached_talk)),
        Program("node", ["/usr/bin/node", "-e", NODE]),
        Program("a Go program", [build + "/tests/progs/cache_go"],
                malloc=f"uprobe:{build}/tests/progs/cache_go:runtime.mallocgc",
                start="main.main", brk=False),
        Program("a Rust program (ripgrep)",
                ["/usr/bin/rg", "-j2", "--no-config", "(a|struct)[a-z]+_t", TESTS]),
        Program("a C++ program with jemalloc", [build + "/tests/progs/blocks"],
                malloc=f"uprobe:{jemalloc}:malloc", env={"LD_PRELOAD": jemalloc}),
    ]


def output(*argv):
    return subprocess.run(argv, capture_output=True, text=True, check=False,
                          errors="replace").stdout


# ---- where addresses belong ------------------------------------------------------------------

@functools.lru_cache(maxsize=None)
def entries(path):
    """[first, last) of the code of a file that nothing called, as addresses in it: the entry point,
    what the C library's call frame information says has no caller (where threads begin), and where
    Go's goroutines and threads begin."""
    head = output("readelf", "-hW", path)
    m = re.search(r"Entry point address:\s+0x([0-9a-f]+)", head)
    entry = int(m[1], 16) if m else 0
    found = [(entry, entry + 64)] if entry else []
    if os.path.basename(path).startswith(("libc.so", "ld-linux")):
        fde = None
        for line in output("readelf", "--debug-dump=frames-interp", path).split("\n"):
            m = re.search(r" FDE .* pc=([0-9a-f]+)\.\.([0-9a-f]+)", line)
            if m:
                fde = int(m[1], 16), int(m[2], 16) + 1
            elif fde and re.match(r"[0-9a-f]+ \S+ +(?:\S+ +)*u +$", line):
                found.append(fde)
    if b".gopclntab" in open(path, "rb").read():
        for m in re.finditer(r"^([0-9a-f]+) ([0-9a-f]+) \w runtime\.(?:goexit|mstart|rt0_go|mcall)"
                             r"(?:\.abi0)?$", output("nm", "-S", path), re.M):
            found.append((int(m[1], 16), int(m[1], 16) + int(m[2], 16)))
    return found


@functools.lru_cache(maxsize=None)
def segments(path):
    rows = [l.split() for l in output("readelf", "-lW", path).split("\n")]
    return [(int(r[1], 16), int(r[2], 16), int(r[4], 16)) for r in rows if r and r[0] == "LOAD"]


class Maps:
    """Mappings of a process, as seen at several times."""

    def __init__(self):
        self.rows = {}
        self.starts = None

    def add(self, text):
        for line in text.split("\n"):
            f = line.split(None, 5)
            if len(f) == 6 and f[5].startswith("/"):
                start, end = (int(x, 16) for x in f[0].split("-"))
                self.rows[start] = (end, int(f[2], 16), f[5])
        self.starts = None

    def locate(self, pc):
        """(file, address in the file) or None."""
        if self.starts is None:
            self.starts = sorted(self.rows)
        i = bisect.bisect_right(self.starts, pc) - 1
        if i < 0:
            return None
        end, offset, path = self.rows[self.starts[i]]
        if pc >= end:
            return None
        at = pc - self.starts[i] + offset
        for off, address, size in segments(path):
            if off <= at < off + size:
                return path, at - off + address
        return None

    def is_root(self, pc):
        where = self.locate(pc)
        return bool(where) and any(a <= where[1] < b for a, b in entries(where[0]))


# ---- one run ---------------------------------------------------------------------------------

SCRIPT = """
config = {{ max_map_keys = 65536; }}
{probe} {{
    @all[ustack(raw)] = count();
    @n++;
    if (@n >= @next && @s < {samples}) {{
        @s++;
        @next = @n + {sparse} * @s;
        printf("S %d\\n%s\\nE\\n", tid, ustack(raw));
        signal_thread("SIGUSR2");
    }}
}}
BEGIN {{ @next = (uint64)1; @s = (uint64)0; @n = (uint64)0; }}
END {{ clear(@next); clear(@s); clear(@n); }}
"""


class Result:
    def __init__(self):
        self.pairs = []  # (frames of memtap, frames of gdb) of the same call
        self.all = []    # (frames, how often)
        self.maps = Maps()
        self.problem = None

    def calls(self):
        return sum(n for _, n in self.all)

    def rootless(self):
        """Stacks that do not end where something begins, with how often."""
        return [(f, n) for f, n in self.all if not f or not self.maps.is_root(f[-1])]

    def share_of_roots(self):
        calls = self.calls()
        return 1 - sum(n for _, n in self.rootless()) / calls if calls else 0

    def whole(self):
        """The pairs in which gdb came to a root: in JIT code it has nothing to go by."""
        return [(a, b) for a, b in self.pairs if b and self.maps.is_root(b[-1])]

    def medians(self):
        """Depths at the same calls: memtap's, gdb's."""
        return (statistics.median(len(a) for a, _ in self.whole()),
                statistics.median(len(b) for _, b in self.whole()))

    def differing(self):
        """Pairs that are not the same from the first caller on."""
        return [(a, b) for a, b in self.whole() if a[1:] != b[1:]]

    def shortcomings(self):
        if self.problem:
            return [self.problem]
        if not self.whole():
            return []
        short = []
        if self.share_of_roots() < 0.95:
            short.append(f"{100 * self.share_of_roots():.1f} % reach a root")
        if self.medians()[0] != self.medians()[1]:
            short.append(f"median depth {self.medians()[0]}, gdb's {self.medians()[1]}")
        return short

    def cells(self):
        if self.problem or not self.whole():
            return [str(self.calls()), "-", "-", "-", self.problem or "-", "-"]
        ours, gdbs = self.medians()
        same = sum(a[1:] == b[1:] for a, b in self.whole())
        return [str(self.calls()), f"{100 * self.share_of_roots():.1f} %", f"{ours:g}", f"{gdbs:g}",
                f"{same} of {len(self.whole())}", f"{len(self.whole())} of {len(self.pairs)}"]


def parse_frames(lines):
    return [int(l, 16) for l in lines.split() if re.fullmatch(r"[0-9a-f]+", l)]


def wait_for(path, seconds, process):
    end = time.monotonic() + seconds
    while not os.path.exists(path):
        if time.monotonic() > end or process.poll() is not None:
            raise RuntimeError("the program did not start under gdb")
        time.sleep(0.01)
    return open(path).read()


def talk(port, what, stop):
    """Requests, one after the other, until told to stop; a stopped server is waited for."""
    i = 0
    while not stop.is_set():
        try:
            with socket.create_connection(("127.0.0.1", port), 0.2) as s:
                s.settimeout(0.2)
                while not stop.is_set():
                    s.sendall(what(i))
                    s.recv(1 << 20)
                    i += 1
        except OSError:
            stop.wait(0.02)


def run(memtap, program, probe, samples, seconds):
    """A Result; its problem says why there is none."""
    r = Result()
    with tempfile.TemporaryDirectory(prefix="memtap-stacks.") as d:
        env = {**os.environ, "STACKS_DIR": d, "STACKS_SECONDS": str(seconds),
               "STACKS_START": program.start}
        sets = [x for k, v in program.env.items() for x in ("-ex", f"set environment {k}={v}")]
        gdb = subprocess.Popen(["gdb", "-nx", "-batch", *sets, "-x", HERE + "/stacks_gdb.py",
                                "--args", *program.argv], env=env, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        stop = threading.Event()
        tracer = None
        try:
            pid = wait_for(d + "/pid", seconds, gdb)
            with open(d + "/script.bt", "w") as f:
                f.write(SCRIPT.format(probe=probe, samples=samples, sparse=SPARSE))
            tracer = subprocess.Popen([memtap, "--unsafe", "-p", pid, "-o", d + "/traced",
                                       d + "/script.bt"], stdin=subprocess.DEVNULL,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            said = ""
            while "Attached" not in said:
                line = tracer.stderr.readline()
                said += line
                if not line:
                    raise RuntimeError("memtap: " + said)
            open(d + "/go", "w").close()
            if program.serve:
                serve(program, d, samples, stop, seconds)
            gdb.wait(seconds)
            r.problem = None
            tracer.wait(seconds)
        except (RuntimeError, subprocess.TimeoutExpired) as e:
            r.problem = str(e)
        finally:
            stop.set()
            for p in (gdb, tracer):
                if p and p.poll() is None:
                    p.kill()
                    p.wait()
            if tracer:
                tracer.stderr.close()
        if not r.problem:
            collect(r, d)
    return r


def serve(program, d, samples, stop, seconds):
    """A client until gdb has seen enough, then the server is ended."""
    client = threading.Thread(target=talk, args=(*program.serve, stop), daemon=True)
    client.start()
    end, seen, since = time.monotonic() + seconds / 2, -1, time.monotonic()
    while time.monotonic() < min(end, since + 4) and seen < samples:
        n = count_lines(d + "/out")
        if n != seen:
            seen, since = n, time.monotonic()
        time.sleep(0.05)
    open(d + "/end", "w").close()
    # gdb looks for that file when the program stops next.
    os.kill(int(open(d + "/pid").read()), signal.SIGUSR2)


def count_lines(path):
    try:
        with open(path) as f:
            return sum(1 for _ in f)
    except OSError:
        return 0


def collect(r, d):
    stops = {}
    if os.path.exists(d + "/out"):
        for line in open(d + "/out"):
            stop = json.loads(line)
            stops.setdefault(stop["tid"], []).append(stop["frames"])
            r.maps.add(stop["maps"])
    text = open(d + "/traced").read()
    for tid, frames in re.findall(r"^S (\d+)\n(.*?)^E$", text, re.M | re.S):
        seen = stops.get(int(tid))
        if seen:
            r.pairs.append((parse_frames(frames), seen.pop(0)))
    for frames, n in re.findall(r"^@all\[\n(.*?)\]: (\d+)$", text, re.M | re.S):
        r.all.append((parse_frames(frames), int(n)))
