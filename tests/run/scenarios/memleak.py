# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""memleak beside programs that leak known bytes from known functions (progs/leaks.c), with each
allocator it says it finds."""
import contextlib
import json
import mmap
import os
import re
import shutil
import signal
import subprocess
import tempfile

from lib import machine
from run.cases import Run, settles
from run.scenarios import TOOLS, Skip, require, shown

TOOL = TOOLS + "/memleak.bt"

# Function: (bytes, blocks) that leaks.c loses there.
LEAKS = {
    "leak_malloc": (100000, 100),
    "leak_calloc": (500, 10),
    "leak_realloc": (1000000, 1),
    "leak_failed": (700, 1),
    "leak_aligned": (3 * 256 + 2 * 128 + 10 * 96, 15),
    "leak_string": (18, 1),
    # The middle is given back, which takes a search.
    "leak_mmap": (7 * mmap.PAGESIZE, 2) if machine.kernel_at_least(5, 13) else
                 (10 * mmap.PAGESIZE, 1),
    "leak_mremap": (9 * mmap.PAGESIZE, 1),
}


@contextlib.contextmanager
def leaking(*argv, env=None):
    """The program, waiting for its first line."""
    p = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                         bufsize=1, env={**os.environ, **(env or {})})
    try:
        yield p
    finally:
        p.kill()
        p.wait()
        p.stdin.close()
        p.stdout.close()


def mapped(p, name, factor):
    """Waits until the process waits for its first line, with all that it has loaded; has it that
    library?"""
    if not settles(p.pid, 20 * factor):
        return False
    with open(f"/proc/{p.pid}/maps") as f:
        return name in f.read()


def go(p, word="done"):
    p.stdin.write("\n")
    p.stdin.flush()
    line = p.stdout.readline()
    assert line == word + "\n", line


def rows(out):
    found = []
    for line in out.split("\n"):
        if line.startswith("{"):
            found.append(json.loads(line))
    return [r["data"] for r in found if r["type"] == "row"]


def by_function(out, names):
    """Bytes and blocks by the named function in the stack, stacks added up."""
    sums = {}
    for row in rows(out):
        for name in names:
            if "key" in row and re.search(r"\b%s(\(\))?\+" % name, row["key"]):
                was = sums.get(name, (0, 0))
                sums[name] = (was[0] + row["bytes"], was[1] + row["count"])
    return sums


def watch(context, p, *options, tool=TOOL):
    """memleak beside a process; ends by SIGINT, so what is left is shown whatever its age."""
    given = [*options] + [w for k, v in (("-o", "0"), ("-T", "100")) if k not in options
                          for w in (k, v)]
    run = Run([context.memtap, "-f", "json", tool, "-p", str(p.pid), *given],
              env={"MEMTAP_NOTIFY_PROBES_ATTACHED": "1"})
    if not run.wait_for("PROBES_ATTACHED", 30 * context.factor, "out"):
        run.kill()
        raise RuntimeError(shown("never attached", "".join(run.out), "".join(run.err)))
    return run


def end(run, context):
    run.process.send_signal(signal.SIGINT)
    return run.finish(30 * context.factor)


def differs(want, got, out, err):
    wrong = {k: (v, got.get(k)) for k, v in want.items() if got.get(k) != v}
    return shown(f"wanted and found: {wrong}", out, err) if wrong else None


def watched(context, argv, library, env=None, options=()):
    """(stdout, stderr) of memleak beside a program that leaks while it looks."""
    with leaking(*argv, env=env) as p:
        if not mapped(p, library, context.factor):
            raise Skip(f"{argv[0]} does not map {library}")
        run = watch(context, p, *options)
        go(p)
        out, err, status = end(run, context)
    if status != 0:
        raise RuntimeError(shown(f"ended with {status}", out, err))
    return out, err


def leaks_as_known(context, program, library, env=None, want=None):
    out, err = watched(context, [program, "wait"], library, env)
    want = want or LEAKS
    return differs(want, by_function(out, want), out, err)


def preloaded(context, pattern, program="leaks", want=None):
    path = machine.library(pattern)
    return leaks_as_known(context, f"{context.progs}/{program}",
                          os.path.basename(os.path.realpath(path)), {"LD_PRELOAD": path}, want)


def test_memleak_glibc(context):
    return leaks_as_known(context, context.progs + "/leaks", "libc.so.6")


def test_memleak_musl_static(context):
    program = context.progs + "/leaks_musl"
    require("file:" + program)  # not made for another machine
    out, err = watched(context, [program, "wait"], "leaks_musl")
    # Debian's musl has no call frame information: its functions are walked by their instructions.
    return differs(LEAKS, by_function(out, LEAKS), out, err)


def test_memleak_jemalloc(context):
    return preloaded(context, "libjemalloc.so.2")


def test_memleak_tcmalloc(context):
    return preloaded(context, "libtcmalloc_minimal.so.4")


def test_memleak_mimalloc(context):
    return preloaded(context, "libmimalloc.so.?")


NEW = {"leak_new": (50 * 200 + 20 * 48, 70), "leak_nothrow": (4640, 2)}


def test_memleak_operator_new(context):
    return leaks_as_known(context, context.progs + "/leaks_new", "libstdc++", want=NEW)


def test_memleak_operator_new_of_jemalloc(context):
    return preloaded(context, "libjemalloc.so.2", "leaks_new", NEW)


def test_memleak_operator_new_of_tcmalloc(context):
    return preloaded(context, "libtcmalloc_minimal.so.4", "leaks_new", NEW)


def test_memleak_operator_new_of_mimalloc(context):
    return preloaded(context, "libmimalloc.so.?", "leaks_new", NEW)


def test_memleak_command_with_arguments(context):
    """Traced from its first instruction; what is left at its end is shown whatever its age."""
    run = Run([context.memtap, "-f", "json", TOOL, "-T", "100", "-c",
               f"{context.progs}/leaks 'no wait' \"\""])
    out, err, status = run.finish(60 * context.factor)
    if status != 0:
        return shown(f"ended with {status}", out, err)
    return differs(LEAKS, by_function(out, LEAKS), out, err)


def test_memleak_sampled(context):
    """20000 blocks, 5000000 bytes: right within six times the error it states, and that error is
    what it should be: each block of n bytes adds n * (1000 - n) to the variance."""
    out, err = watched(context, [context.progs + "/leaks", "wait", "many"], "libc.so.6",
                       options=["-s", "1000"])
    found = [row for row in rows(out) if "leak_many+" in row.get("key", "")]
    if len(found) != 1:
        return shown("not one row", out, err)
    row = found[0]
    sizes = [10 + i % 25 * 20 for i in range(20000)]
    error = sum(n * (1000 - n) for n in sizes) ** 0.5
    if abs(row["bytes"] - sum(sizes)) > 6 * error or abs(row["error"] - error) > error / 5:
        return shown(f"{row['bytes']} ± {row['error']}, should be {sum(sizes)} ± {error}", out, err)
    counted = sum(1000 / n - 1 for n in sizes) ** 0.5
    if abs(row["count"] - len(sizes)) > 6 * counted:
        return shown(f"{row['count']} blocks, should be {len(sizes)} ± {counted}", out, err)
    return None


def test_memleak_full_map(context):
    """A copy of the tool with room for 1000 blocks says what it could not keep."""
    with tempfile.TemporaryDirectory(prefix="memtap-case.") as tmp:
        copy = tmp + "/small.bt"
        with open(TOOL) as f, open(copy, "w") as g:
            g.write(f.read().replace("let @allocs = hash(524288)", "let @allocs = hash(1000)"))
        with leaking(context.progs + "/leaks", "wait", "many") as p:
            mapped(p, "libc.so.6", context.factor)
            run = watch(context, p, tool=copy)
            go(p)
            out, err, status = end(run, context)
    full = [json.loads(line) for line in out.split("\n") if '"helper_error"' in line]
    lost = sum(e.get("count", 0) for e in full if "full" in e.get("detail", ""))
    last = out[out.rfind('"type": "time"'):]  # a slow machine has a table of an interval, too
    kept = sum(row["count"] for row in rows(last))
    if status != 0 or kept != 1000 or lost != 19000:
        return shown(f"{kept} kept, {lost} lost", out, err)
    return None


def test_memleak_text_and_trace(context):
    """The original's shape, the addresses, and a line for each allocation and free."""
    run = Run([context.memtap, TOOL, "-t", "-a", "-z", "1000", "-Z", "1000", "-c",
               context.progs + "/leaks"])
    out, err, status = run.finish(60 * context.factor)
    shape = r"\t100000 bytes in 100 allocations from stack\n +leak_malloc\+\d+@\S+\n" \
            r" +main\+\d+@\S+\n"
    if status != 0 or not re.search(shape, out):
        return shown("no such stack", out, err)
    if any(name in out for name in ("leak_mremap", "leak_mmap", "leak_failed")):
        return shown("sizes that were not asked for", out, err)
    listed = set(re.findall(r"^\taddr = (\w+) size = 1000$", out, re.M))
    traced = set(re.findall(r"^alloc +\d+ +\d+ +0x(\w+) +1000$", out, re.M))
    if len(listed) != 100 or listed != traced:
        return shown(f"{len(listed)} listed, {len(traced)} traced", out, err)
    return None


def test_memleak_follows_forks(context):
    """The child begins to leak once memleak says that it is followed."""
    with leaking(context.progs + "/leaks", "wait", "fork") as p:
        mapped(p, "libc.so.6", context.factor)
        run = watch(context, p, "-v")
        p.stdin.write("\n")
        p.stdin.flush()
        if not run.wait_for(r"following process (?!%d\b)\d+" % p.pid, 30 * context.factor):
            run.kill()
            return shown("no child", "".join(run.out), "".join(run.err))
        go(p, "child")
        out, err, status = end(run, context)
        p.stdin.write("\n")
        p.stdin.flush()
    if status != 0:
        return shown(f"ended with {status}", out, err)
    return differs({"leak_child": (3500, 7)}, by_function(out, ["leak_child"]), out, err)


def test_memleak_follows_forks_at_once(context):
    """Of a child that begins to leak with its first step, nothing is missed."""
    if context.in_vm:
        raise Skip("the other processes of the VM would pay for it")
    with leaking(context.progs + "/leaks", "wait", "fork") as p:
        mapped(p, "libc.so.6", context.factor)
        run = watch(context, p, "--at-once")
        p.stdin.write("\n")
        go(p, "child")
        out, err, status = end(run, context)
        p.stdin.write("\n")
        p.stdin.flush()
    if status != 0 or "ms late" in out:
        return shown(f"ended with {status}", out, err)
    return differs({"leak_child": (3500, 7)}, by_function(out, ["leak_child"]), out, err)


def test_memleak_children_that_ended(context):
    """What they left is shown with -c, as what the command left; with -p it is no longer there."""
    if context.in_vm:
        raise Skip("the other processes of the VM would pay for it")
    run = Run([context.memtap, "-f", "json", TOOL, "-z", "500", "-Z", "500", "--at-once", "-c",
               context.progs + "/leaks now fork"])
    out, err, status = run.finish(60 * context.factor)
    # By its size: a process that lives so shortly may have no names.
    if status != 0 or [sum(row[k] for row in rows(out)) for k in ("bytes", "count")] != [3500, 7]:
        return shown(f"ended with {status}", out, err)
    with leaking(context.progs + "/leaks", "wait", "fork") as p:
        mapped(p, "libc.so.6", context.factor)
        run = watch(context, p, "-z", "500", "-Z", "500", "--at-once")
        p.stdin.write("\n")
        go(p, "child")
        p.stdin.write("\n")
        p.stdin.flush()
        out, err, status = run.finish(60 * context.factor)
    if status != 0 or rows(out):
        return shown(f"ended with {status}", out, err)
    return None


def becomes(context, command):
    """A shell that waits for a line becomes another program, with an allocator of its own, which
    begins to leak once memleak says that it is attached to that. Looked at are functions that call
    the allocator themselves: the tables for longer stacks may be read a moment later."""
    with leaking("sh", "-c", f"read x; exec {command}") as p:
        mapped(p, "libc.so.6", context.factor)
        run = watch(context, p, "-v")
        p.stdin.write("\n")
        p.stdin.flush()
        if not run.wait_for(r"following process %d in 1 more file" % p.pid, 30 * context.factor):
            run.kill()
            return shown("not attached", "".join(run.out), "".join(run.err))
        go(p)
        out, err, status = end(run, context)
    if status != 0 or not re.search(r"attached to 0 more processes and 1 more file, up to", out):
        return shown(f"ended with {status}", out, err)
    want = {name: LEAKS[name] for name in ("leak_malloc", "leak_realloc", "leak_failed")}
    return differs(want, by_function(out, want), out, err)


def test_memleak_exec_of_a_static_program(context):
    require(f"file:{context.progs}/leaks_musl")
    return becomes(context, f"{context.progs}/leaks_musl wait")


def test_memleak_exec_with_another_allocator(context):
    if context.in_vm:
        raise Skip("to the kernel it is the case above")
    path = machine.library("libjemalloc.so.2")
    return becomes(context, f"env LD_PRELOAD={path} {context.progs}/leaks wait")


def test_memleak_other_root(context):
    """A static program below a root of its own, as in a container."""
    program = context.progs + "/leaks_musl"
    require("cmd:chroot", "file:" + program)
    with tempfile.TemporaryDirectory(prefix="memtap-case.") as tmp:
        shutil.copy(program, tmp + "/inside")
        out, err = watched(context, ["chroot", tmp, "/inside", "wait"], "/inside")
    want = {"leak_malloc": LEAKS["leak_malloc"]}
    return differs(want, by_function(out, want), out, err)


def test_memleak_without_names(context):
    """Where no allocator can be found, that is all that is said, and nothing runs."""
    program = context.progs + "/leaks_musl"
    require("cmd:strip", "file:" + program)
    with tempfile.TemporaryDirectory(prefix="memtap-case.") as tmp:
        bare = tmp + "/bare"
        subprocess.run(["strip", "-o", bare, program], check=True)
        with leaking(bare, "wait") as p:
            mapped(p, bare, context.factor)
            run = Run([context.memtap, TOOL, "-p", str(p.pid)])
            out, err, status = run.finish(30 * context.factor)
    if status != 1 or err.count("ERROR") != 1 or "there is no malloc() in this process" not in err:
        return shown(f"ended with {status}", out, err)
    return None


def test_memleak_older_and_top(context):
    """What is younger than --older is not shown; --top is how many stacks are."""
    if context.in_vm:
        raise Skip("the kernel has no part in it")
    out, err = watched(context, [context.progs + "/leaks", "wait"], "libc.so.6",
                       options=["-o", "1000000000"])
    if rows(out):
        return shown("something is eleven days old", out, err)
    out, err = watched(context, [context.progs + "/leaks", "wait"], "libc.so.6",
                       options=["-T", "1"])
    if [row["bytes"] for row in rows(out)] != [LEAKS["leak_realloc"][0]]:
        return shown("not the largest alone", out, err)
    return None


def test_memleak_flame(context):
    """The last report as a graph: bytes by stack, the same as the rows."""
    if context.in_vm:
        raise Skip("the kernel has no part in it")
    with tempfile.TemporaryDirectory(prefix="memtap-case.") as tmp:
        run = Run([context.memtap, "--folded", tmp + "/folded", "--flame", tmp + "/flame.svg",
                   TOOL, "-T", "100", "-c", context.progs + "/leaks"])
        out, err, status = run.finish(60 * context.factor)
        with open(tmp + "/folded") as f:
            folded = f.read()
        with open(tmp + "/flame.svg") as f:
            svg = f.read()
    want = {name: n[0] for name, n in LEAKS.items()}
    got = {name: sum(int(line.rsplit(" ", 1)[1]) for line in folded.split("\n")
                     if f";{name};" in line or f";{name} " in line) for name in LEAKS}
    if status != 0 or got != want or "leak_malloc" not in svg:
        return shown(f"wanted {want}, found {got} in\n{folded}", out, err)
    return None


def test_memleak_ages(context):
    out, err = watched(context, [context.progs + "/leaks", "wait"], "libc.so.6",
                       options=["--ages"])
    hists = [json.loads(line)["data"] for line in out.split("\n") if '"type": "hist"' in line]
    total = sum(row["count"] for row in rows(out))
    if not hists or sum(b["count"] for b in hists[-1]["@ages"]) != total:
        return shown(f"ages of {total} blocks", out, err)
    return None


class Kernel:
    """memleak on the kernel, and what it says of allocations below a function."""

    def __init__(self, context, *options):
        require("tracefs")
        self.context = context
        self.run = Run([context.memtap, "-f", "json", TOOL, "-o", "0", "-T", "1000000", *options],
                       env={"MEMTAP_NOTIFY_PROBES_ATTACHED": "1"})
        if not self.run.wait_for("PROBES_ATTACHED", 60 * context.factor, "out"):
            self.run.kill()
            raise RuntimeError(shown("never attached", "".join(self.run.out),
                                     "".join(self.run.err)))

    def report(self):
        """The rows of the report at the end."""
        self.run.process.send_signal(signal.SIGINT)
        out, err, status = self.run.finish(60 * self.context.factor)
        if status != 0:
            raise RuntimeError(shown(f"ended with {status}", out, err))
        last = out[out.rindex('"type": "time"'):]
        return rows(last)

    def count(self, pattern):
        """Blocks below functions that match."""
        return blocks(self.report(), pattern)


def blocks(found, pattern, what="count"):
    return sum(r[what] for r in found if re.search(pattern, r.get("key", "")))


def slab_size(cache):
    """Bytes of an object by the kernel's own list; None when it is in a cache of another name."""
    with open("/proc/slabinfo") as f:
        for line in f:
            words = line.split()
            if words[0] == cache:
                return int(words[3])
    return None


def close_all(pipes):
    for ends in pipes:
        os.close(ends[0])
        os.close(ends[1])


def test_memleak_kernel_objects(context):
    """A pipe is two blocks of its own, of the kernel's slab; those closed again do not count. An
    open file is one of the size that the kernel lists."""
    watching = Kernel(context)
    for _ in range(20):
        close_all([os.pipe() for _ in range(100)])
    pipes = [os.pipe() for _ in range(100)]
    found = watching.report()
    close_all(pipes)
    # Others make pipes meanwhile, but not so many.
    n = blocks(found, r"\balloc_pipe_info\+")
    if not 200 <= n < 2000:
        return f"{n} blocks for 100 pipes, and 2000 that were closed again"
    # On arm64 the kernel's own caller of tracepoints stands above.
    file = (r"^\s*(?:__traceiter_\w+\+\d+\n\s*)*kmem_cache_alloc\w*\+\d+\n"
            r"\s*(__alloc_file|alloc_empty_file)\+")
    n, size = blocks(found, file), slab_size("filp")
    if n < 200 or size and blocks(found, file, "bytes") != n * size:
        return f"{n} open files of {size} bytes are {blocks(found, file, 'bytes')} bytes"
    return None


def test_memleak_kernel_pages(context):
    """A byte in a pipe is a page."""
    watching = Kernel(context, "--pages")
    pipes = [os.pipe() for _ in range(100)]
    for ends in pipes:
        os.write(ends[1], b"x")
    n = watching.count(r"\b(anon_)?pipe_write\+")
    close_all(pipes)
    return None if n >= 100 else f"{n} pages for 100 pipes"


def test_memleak_kernel_percpu(context):
    """A map of another memtap has a cell on each CPU."""
    watching = Kernel(context, "--percpu")
    other = Run([context.memtap, "-e", "interval:s:1000 { @[1] = count(); }"])
    if not other.attached(30 * context.factor):
        other.kill()
        return "the other was not attached"
    n = watching.count(r"\b(bpf_map_alloc|map_create|bpf_prog_alloc|__sys_bpf)")
    other.kill()
    return None if n else "nothing for a map of cells"


def test_memleak_since_a_moment(context):
    """SIGUSR1: only what was allocated later is shown."""
    with leaking(context.progs + "/leaks", "wait") as p:
        mapped(p, "libc.so.6", context.factor)
        run = watch(context, p)
        go(p)
        run.process.send_signal(signal.SIGUSR1)
        out, err, status = end(run, context)
    if status != 0 or by_function(out, LEAKS):
        return shown("something is older than the signal", out, err)
    return None
