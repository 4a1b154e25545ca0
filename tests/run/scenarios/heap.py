# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""memtap heap: code put into a program that counts for itself, and taken out again."""
import json
import math
import os
import platform
import re
import signal
import subprocess
import tempfile

from lib.report import Skip
from run.cases import Run
from run.scenarios import on_host, require, shown, until
from run.scenarios.serve import serving, up
from run.scenarios.serve_pprof import get

REQUIRES = ("kernel:5.13",)  # older ones do not say that a thread can be made to make a call

KEPT, GROWN = 20000 * 500, 1000 * 5000  # progs/heaps.c


class Heaps:
    """The program, up to "ready"."""

    def __init__(self, context, env=None, name="heaps"):
        self.process = subprocess.Popen([context.progs + "/" + name], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, **(env or {})})
        if self.process.stdout.readline() != "ready\n":
            raise RuntimeError("heaps is not ready")
        self.pid = self.process.pid

    def go(self):
        """The next step of it; what it says then."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.process.stdout.readline()

    def end(self):
        """Its own result."""
        if self.process.poll() is None:
            self.go()
        self.process.communicate()
        return self.process.returncode


def stays_in_parts():
    """Of files on FUSE, or on what lies over it, older kernels do not join mappings that belong
    together. Their devices have no major number."""
    return os.major(os.stat("/usr/lib").st_dev) == 0


def joined(lines):
    """Mappings that go on where the one before ends, as one."""
    out = []
    for line in lines:
        where, rights, offset, *file = line.split()
        start, end = (int(x, 16) for x in where.split("-"))
        last = out[-1] if out else None
        if last and last[1] == start and last[2] == rights and last[4] == file and \
                last[3] + start - last[0] == int(offset, 16):
            last[1] = end
        else:
            out.append([start, end, rights, int(offset, 16), file])
    return [f"{m}\n" for m in out]


def mappings(pid):
    """Those of files and of the kernel; how much an allocator has is its own matter."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as f:
        lines = [line for line in f if "/" in line and "/dev/zero" not in line or "[v" in line]
    return joined(lines) if stays_in_parts() else lines


def code_of(pid):
    """Its mappings of code."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as f:
        return joined(line for line in f if line.split()[1][2] == "x")


def need():
    require("btf", "tracefs")
    if platform.machine() != "x86_64":
        raise Skip("code is put into processes on x86-64 only")


def near(row, name, want):
    """Five standard errors: one in two million."""
    return abs(row.get(name, 0) - want) <= 5 * row[name + "_error"] + 1


NAMES = ("keeps", "drops", "grows", "cuts", "reserves", "parts", "moves", "fails",
         "zeroes")


def by_function(out):
    """Of a run's JSON the rows of the program's functions, of each the largest, with the sum of
    bytes in use over all of them, and "all"."""
    by, used = {}, {}
    for line in out.splitlines():
        got = json.loads(line) if line.startswith("{") else {}
        row = got.get("data") if got.get("type") == "row" else None
        if row and "samples" in row:
            by["all"] = row
        if row and "stack" in row:
            name = next((n for n in NAMES if n in row["stack"]), "")
            by[name] = max(by.get(name, row), row, key=lambda r: r["allocated"])
            used[name] = used.get(name, 0) + row["in_use"]
    return {name: {**row, "used": used.get(name, row["in_use"])} for name, row in by.items()}


def sample(context, p, *options):
    """One whole run: its rows by function, what was wrong or None."""
    before = mappings(p.pid)
    run = Run([context.memtap, "heap", "-p", str(p.pid), "-f", "json", "-E", "4096", *options])
    attached = run.wait_for("attached_probes", 60 * context.factor, "out")
    said = p.go()
    run.process.send_signal(signal.SIGINT)
    out, err, status = run.finish(60 * context.factor)
    by = by_function(out)
    after = mappings(p.pid)
    if attached and said == "done\n" and status == 0 and after == before:
        return by, None
    changed = [f"- {line}" for line in before if line not in after] + \
        [f"+ {line}" for line in after if line not in before]
    return by, shown(f"status {status}, {said}" + "".join(changed), out, err)


def is_right(by):
    return by.keys() >= {"keeps", "drops", "grows"} and \
        near(by["keeps"], "in_use", KEPT) and near(by["keeps"], "allocated", KEPT) and \
        by["drops"]["in_use"] == 0 and near(by["drops"], "allocated", KEPT) and \
        near(by["grows"], "in_use", GROWN)


def sampled(context, env=None, name="heaps", options=()):
    """What is said of the program, and what is wrong: its own status, too, which is 0."""
    p = Heaps(context, env, name)
    try:
        by, wrong = sample(context, p, *options)
        result = p.end()
    finally:
        p.process.kill()
    return by, wrong or (result and f"the program's own status is {result}")


def check(context, env=None, name="heaps"):
    by, wrong = sampled(context, env, name)
    return wrong or (None if is_right(by) else str(by))


def test_heap_of_the_c_library(context):
    need()
    return check(context)


@on_host
def test_heap_of_musl(context):
    """A static program, so small that it and malloc are in one page, which has a stand-in."""
    need()
    by, wrong = sampled(context, name="heaps_musl")
    whole = not wrong and all("main+" in row["stack"] for row in by.values() if "stack" in row)
    return wrong or (None if whole and is_right(by) else str(by))


MB = 1 << 20
# progs/maps.c, whose mappings are so large that each is sampled, and stands for itself alone: bytes
# in use and allocated by the stack with most of these. What could not be made larger is allocated
# once more, by another stack. Parts of mappings are used by who cut them out or moved them.
MAPPED = {"keeps": (40 * MB, 40 * MB), "drops": (0, 40 * MB), "grows": (0, 5 * MB),
          "cuts": (0, 4 * MB)}
MAPPED_USED = {"keeps": 40 * MB + (128 << 10), "drops": 0, "grows": 5 * MB, "cuts": 3 * MB,
               "parts": 1788 << 10, "moves": 1792 << 10}


def test_heap_of_mappings(context):
    """What a program maps for itself, whatever its allocator is, and without one."""
    need()
    jemalloc = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"
    for name, env in (("maps", {}), ("maps_musl", {}), ("maps", {"LD_PRELOAD": jemalloc})):
        if not all(os.path.exists(path) for path in env.values()):
            continue
        by, wrong = sampled(context, env, name, ("-T", "100"))
        got = {n: (row["in_use"], row["allocated"]) for n, row in by.items() if n in MAPPED}
        used = {n: row["used"] for n, row in by.items() if n in NAMES}
        right = by.get("all", {}).get("in_use") == sum(MAPPED_USED.values()) and \
            got == MAPPED and used == MAPPED_USED
        if wrong or not right:
            return f"{name} {env}: {wrong}, {got}, {used}, {by.get('all')}"
    return None


def test_heap_of_an_allocator_that_says_no(context):
    """What could not be had is not counted, and a block that could not be made larger lives on: of
    progs/refused.c, where each block is sampled and stands for itself alone."""
    need()
    jemalloc = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"
    for env in ({}, {"LD_PRELOAD": jemalloc} if os.path.exists(jemalloc) else {}):
        by, wrong = sampled(context, env, "refused", ("-T", "100"))
        used = {n: row["used"] for n, row in by.items()}
        want = 10 * 80 << 10
        if wrong or used != {"fails": want, "zeroes": 0, "all": want} or \
                by["all"]["samples"] != 30:
            return f"{env}: {wrong}, {used}, {by.get('all')}"
    return None


@on_host
def test_heap_passes_over_what_allocators_map(context):
    """A block so large that malloc maps it is counted once."""
    need()
    for lib in ("", "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"):
        if lib and (context.sanitized or not os.path.exists(lib)):
            continue  # memtap would be given it too
        got = subprocess.run(
            [context.memtap, "heap", "-f", "json", "-E", "4096", "-c",
             "/usr/bin/python3 -S -c 'b = [bytearray(9000000) for i in range(20)]; "
             "import os; os._exit(0)'"],
            text=True, capture_output=True, check=False,
            env={**os.environ, **({"LD_PRELOAD": lib} if lib else {})})
        used = by_function(got.stdout).get("all", {}).get("in_use", 0)
        if got.returncode or not 180e6 < used < 200e6:
            return shown(f"{lib}: {used} bytes", got.stdout, got.stderr)
    return None


def top(path, number):
    """{function: bytes} of a profile, those that are allocated in itself."""
    said = subprocess.run(["go", "tool", "pprof", "-unit=B", "-top", "-" + number, path],
                          capture_output=True, text=True, check=True).stdout
    return {name: float(flat) for flat, name in re.findall(r"^ *([\d.]+)B? .* (\w+)$", said, re.M)}


def test_heap_for_pprof(context):
    """The code that was put in is in no stack: what is innermost is the function that asked."""
    need()
    require("cmd:go")
    p = Heaps(context)
    with tempfile.TemporaryDirectory() as d:
        try:
            by, wrong = sample(context, p, "--pprof", d + "/heap.pb.gz")
            result = p.end()
        finally:
            p.process.kill()
        if wrong or result:
            return wrong or f"the program's own status is {result}"
        used, made = (top(d + "/heap.pb.gz", n) for n in ("inuse_space", "alloc_space"))
    for name in ("keeps", "drops"):  # each of one stack
        if name not in made or abs(made[name] - by[name]["allocated"]) > 1 or \
                abs(used.get(name, 0) - by[name]["in_use"]) > 1:
            return f"{name}: {by.get(name)}, in use {used}, allocated {made}"
        if "sampler" in by[name]["stack"]:
            return by[name]["stack"]
    return None


def test_heap_of_other_allocators(context):
    """Libraries that take malloc's place."""
    need()
    wrong = []
    for name in ("libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libmimalloc.so.2"):
        path = "/usr/lib/x86_64-linux-gnu/" + name
        if os.path.exists(path):
            wrong.append(check(context, {"LD_PRELOAD": path}))
    if not wrong:
        raise Skip("no other allocator is installed")
    return next((w for w in wrong if w), None)


def ended_at_once(context, pid):
    """By a signal that comes as soon as the code is in; what was said."""
    with subprocess.Popen([context.memtap, "heap", "-v", "-p", str(pid), "-E", "4096"],
                          stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as t:
        said = t.stderr.readline()
        while said and "put in" not in said:
            said = t.stderr.readline()
        t.send_signal(signal.SIGINT)
        t.communicate()
    return said


def test_heap_of_an_allocator_in_the_program(context):
    """What goes on in another function is counted once: aligned_alloc, a realloc of no block and
    small alignments by a jump, calloc by a call. Mappings are not counted, which is said."""
    need()
    p = Heaps(context, name="own")
    try:
        said = ended_at_once(context, p.pid)
        by, wrong = sample(context, p)
        result = p.end()
    finally:
        p.process.kill()
    if wrong or result or "mappings (mmap) are not counted" not in said:
        return f"{wrong}, status {result}: {said}"
    right = all(n in by and near({**by[n], "in_use": by[n]["used"]}, "in_use", KEPT)
                for n in ("keeps", "grows", "drops", "cuts"))
    return None if right else str(by)


def test_heap_of_several_allocators(context):
    """Of two that take malloc's place the first is called; one that is loaded later, for itself, is
    not, and that is said."""
    need()
    where = "/usr/lib/x86_64-linux-gnu/"
    two = [where + n for n in ("libjemalloc.so.2", "libtcmalloc_minimal.so.4",
                               "libmimalloc.so.2", "libmimalloc.so.3")
           if os.path.exists(where + n)][:2]
    if len(two) < 2:
        raise Skip("no two other allocators are installed")
    tls = {"GLIBC_TUNABLES": "glibc.rtld.optional_static_tls=20000"}
    for env, left in (({"LD_PRELOAD": " ".join(two)}, two[1]), ({"HEAPS_LOADS": two[1]}, two[1]),
                      ({"LD_PRELOAD": two[0], "HEAPS_LOADS": two[1]}, two[1])):
        p = Heaps(context, {**env, **tls})
        before = mappings(p.pid)
        try:
            said = ended_at_once(context, p.pid)
            if mappings(p.pid) != before:
                return "a signal that comes when the code is in leaves it there"
            by, wrong = sample(context, p)
            result = p.end()
        finally:
            p.process.kill()
        if wrong or result:
            return f"{env}: {wrong or result}"
        if f"malloc of {os.path.realpath(left)} is not counted" not in said or not is_right(by):
            return f"{env}: {said}{by}"
    return None


def test_heap_of_a_command(context):
    """From its first call on; its status and what it prints are its own."""
    need()
    wrong = []
    for command, want in ((context.progs + "/heaps", 0), ("sh -c 'exit 7'", 7),
                          ("sh -c 'kill -9 $$'", 137)):
        got = subprocess.run([context.memtap, "heap", "-c", command, "-f", "json", "-E", "4096"],
                             input="\n\n", text=True, capture_output=True, check=False)
        if got.returncode != want or got.stderr:
            wrong.append(f"{command}: status {got.returncode}\n{got.stderr}")
        elif not want and not ("\ndone\n" in got.stdout and is_right(by_function(got.stdout))):
            wrong.append(shown(command, got.stdout, got.stderr))
    got = subprocess.run([context.memtap, "heap", "-c", "/nowhere"], text=True,
                         capture_output=True, check=False)
    if got.returncode != 1 or "can not run /nowhere" not in got.stderr:
        wrong.append(got.stderr)
    return "\n".join(wrong) or None


def test_heap_for_memleak(context):
    """memleak --in-process has the same figures, and takes its code out again."""
    need()
    p = Heaps(context)
    try:
        before = mappings(p.pid)
        run = Run([context.memtap, "memleak", "--in-process", "-p", str(p.pid), "-f", "json", "-E",
                   "4096", "-o", "0"])
        attached = run.wait_for("attached_probes", 60 * context.factor, "out")
        there = mappings(p.pid) != before
        said = p.go()
        run.process.send_signal(signal.SIGINT)
        out, err, status = run.finish(60 * context.factor)
        after = mappings(p.pid)
        result = p.end()
    finally:
        p.process.kill()
    sums = {name: re.findall(r'"bytes": (\d+), "error": (\d+)', line)
            for line in out.splitlines() for name in ("keeps", "drops", "grows") if name in line}
    ok = attached and there and said == "done\n" and status == 0 and result == 0 and \
        after == before and sums.keys() == {"keeps", "grows"} and \
        all(abs(int(sums[n][-1][0]) - want) <= 5 * int(sums[n][-1][1])
            for n, want in (("keeps", KEPT), ("grows", GROWN)))
    return None if ok else shown(f"{sums}, status {status}, {result}", out, err)


SQL = "with recursive c(x) as (select 1 union all select x + 1 from c where x < 50000) " \
    "select sum(length(s)) from (select group_concat(x) as s from c group by x % 100);"
REAL = (
    ("/usr/bin/python3", "-c",
     "import hashlib, json; d = {str(i): [i] * 9 for i in range(20000)}; "
     "print(hashlib.md5(json.dumps(d).encode()).hexdigest())"),
    ("/usr/bin/node", "-e",
     "let h = 0; for (let i = 0; i < 2e4; i++) { const b = Buffer.alloc(5000 + i % 900, i); "
     "h = (h * 31 + b[9]) % 1e9 } console.log(h)"),
    ("/bin/bash", "-c", "for i in {1..9000}; do x=$x$i; done; echo ${#x} | sha256sum"),
    ("/usr/bin/sqlite3", ":memory:", SQL),
)


def test_heap_of_real_programs(context):
    """What they print is the same, with most calls sampled."""
    need()
    wrong, ran = [], 0
    for command in REAL:
        if not os.path.exists(command[0]):
            continue
        want = subprocess.run(command, text=True, capture_output=True, check=True).stdout
        words = " ".join("'" + word.replace("'", "'\\''") + "'" for word in command)
        with tempfile.NamedTemporaryFile("r") as f:
            got = subprocess.run([context.memtap, "heap", "-c", words, "-E", "2000", "-o", f.name],
                                 text=True, capture_output=True, check=False)
            said = f.read()
        samples = sum(int(n) for n in re.findall(r"by (\d+) samples", said))
        ran += 1
        if got.returncode or got.stdout != want or samples < 100:
            wrong.append(shown(f"{command[0]}: status {got.returncode}, {samples} samples",
                               got.stdout + said, got.stderr))
    if not ran:
        raise Skip("none of the programs is here")
    return "\n".join(wrong) or None


def figures(name, n):
    """A row's, of n samples of blocks that are all as long (progs/producer.c): `name` stands for
    n weights; of each the variance is its weight by what it stands for besides itself."""
    size, weight = 500, int(500 / -math.expm1(-500 / 4096) + 0.5)
    blocks = (weight << 12) // size  # 12 bits of fraction
    return {name: n * weight, name + "_error": math.isqrt(n * weight * (weight - size)),
            name + "_blocks": (n * blocks + 2048) >> 12,
            name + "_blocks_error":
                (math.isqrt(n * (blocks * (blocks - 4096) >> 12)) + 32) >> 6}


def are_exact(by):
    """Its weights and the number of its samples are known."""
    weight = figures("", 1)[""]
    for name in ("keeps", "drops"):
        n = by[name]["allocated"] // weight
        want = {**figures("allocated", n), **figures("in_use", n if name == "keeps" else 0)}
        if not want.items() <= by[name].items():
            return f"{name}: {by[name]}, not {want}"
    want = figures("in_use", by["keeps"]["allocated"] // weight)
    return None if want.items() <= by["all"].items() else f"{by['all']}, not {want}"


def test_heap_of_a_producer(context):
    """A program that fires the probes by itself is used as it is; all figures follow."""
    need()
    p = Heaps(context, name="producer")
    try:
        before = mappings(p.pid)
        run = Run([context.memtap, "heap", "-p", str(p.pid), "-f", "json"])
        attached = run.wait_for("attached_probes", 60 * context.factor, "out")
        same = mappings(p.pid) == before
        said = p.go()
        run.process.send_signal(signal.SIGINT)
        out, err, status = run.finish(60 * context.factor)
        result = p.end()
    finally:
        p.process.kill()
    by = by_function(out)
    ok = attached and same and said == "done\n" and status == 0 and result == 0 and \
        "the process samples by itself: nothing is put in" in err and \
        by.keys() >= {"keeps", "drops"} and near(by["keeps"], "in_use", KEPT) and \
        by["drops"]["in_use"] == 0 and near(by["drops"], "allocated", KEPT)
    if not ok:
        return shown(f"same {same}, status {status}, {result}", out, err)
    return are_exact(by)


# What Parca, Alloy's pyroscope.scrape and Pyroscope ask for unless they are told otherwise, but for
# the time, which is 10 to 15 seconds there.
GO_PROFILES = ("allocs", "heap?seconds=1", "profile?seconds=1", "block", "goroutine", "mutex")


def test_heap_by_a_service(context):
    """The system calls that memtap serve leaves to its collectors are enough; nothing stays, also
    when a thread can not be stopped at once. What pulls profiles of Go's programs finds it where
    it looks."""
    need()
    p = Heaps(context, env={"HEAPS_SLEEPS": "1"})
    before = mappings(p.pid)
    try:
        with serving(context, f"heap -p {p.pid}") as s:
            if not up(s, "heap", 30 * context.factor):
                return shown("the collector does not answer", s.ask()[2], "")
            asked = {n: get(s, n)[0] for n in GO_PROFILES}
            if asked != {n: 404 if n[0] in "bgm" else 200 for n in GO_PROFILES}:
                return f"/debug/pprof/ answers {asked}"
            p.go()
            s.process.terminate()
            s.process.wait(30 * context.factor)
        if not until(lambda: mappings(p.pid) == before, 30 * context.factor):
            return "".join(mappings(p.pid))
        result = p.end()
    finally:
        p.process.kill()
    return f"the program's own status is {result}" if result else None


def test_heap_after_a_memtap_that_was_killed(context):
    """What it leaves works, is not put in twice, and is taken out."""
    need()
    p = Heaps(context)
    try:
        before = mappings(p.pid)
        run = Run([context.memtap, "heap", "-p", str(p.pid), "-f", "json"])
        attached = run.wait_for("attached_probes", 60 * context.factor, "out")
        other = subprocess.run([context.memtap, "heap", "-p", str(p.pid)], text=True,
                               capture_output=True, check=False)
        run.process.kill()
        run.finish(10)
        left = mappings(p.pid) != before and p.go() == "done\n"
        remove = [context.memtap, "heap", "--remove", "-p", str(p.pid)]
        done = subprocess.run(remove, text=True, capture_output=True, check=False)
        again = subprocess.run(remove, text=True, capture_output=True, check=False)
        same = mappings(p.pid) == before
        result = p.end()
    finally:
        p.process.kill()
    ok = attached and left and other.returncode == 1 and \
        f"is sampled by another memtap, process {run.process.pid}" in other.stderr and \
        done.returncode == 0 and again.returncode == 1 and "nothing of memtap" in again.stderr and \
        same and result == 0
    return None if ok else shown(f"left {left}, same {same}, result {result}",
                                 other.stderr + done.stderr, again.stderr)


def test_heap_under_load(context):
    """A program that checks all it does, while threads, children and signals come and go."""
    need()
    p = subprocess.Popen([context.progs + "/churn", "6"], stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE, text=True)
    try:
        p.stdout.readline()
        before = code_of(p.pid)
        got = [subprocess.run([context.memtap, "heap", "-qp", str(p.pid), "-d", "1", "-E", every],
                              text=True, capture_output=True, check=False)
               for every in ("524288", "1", "4096")]
        same = code_of(p.pid) == before
        said = p.communicate("\n", timeout=60 * context.factor)[0]
    finally:
        p.kill()
    ok = same and p.returncode == 0 and \
        all(g.returncode == 0 and not g.stderr and "unit+" in g.stdout for g in got[1:])
    return None if ok else shown(f"same {same}, {said}", *(g.stderr + g.stdout for g in got[1:]))


def test_heap_refuses(context):
    """Each with a sentence, and nothing is put in."""
    need()
    wrong = []
    p = Heaps(context)
    try:
        before = mappings(p.pid)
        for options, why in (((), "to sample a heap needs a process"),
                             (("-p", str(p.pid), "-E", "0"), "--every 0: it must be"),
                             (("-p", str(os.getpid()), "--remove"), "there is nothing of memtap"),
                             (("-p", "99999999"), "99999999")):
            got = subprocess.run([context.memtap, "heap", *options], text=True,
                                 capture_output=True, check=False)
            if got.returncode != 1 or why not in got.stderr or got.stdout:
                wrong.append(f"{options}: {got.stderr}")
        if mappings(p.pid) != before or p.go() != "done\n" or p.end():
            wrong.append("the program is not as before")
    finally:
        p.process.kill()
    return "\n".join(wrong) or None
