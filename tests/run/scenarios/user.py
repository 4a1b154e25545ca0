# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The tools that show what programs do with their memory, against what the kernel says of the same:
/proc/PID/maps, the results of calls, getrusage."""
import errno
import functools
import json
import mmap
import os
import re
import resource
import signal
import subprocess
import tempfile

from lib import machine
from run.cases import Run
from run.scenarios import TOOLS, require, shown, until


def rows(out):
    """The rows of a tool's JSON."""
    lines = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    return [line["data"] for line in lines if line["type"] == "row"]


def tool(context, name, *options):
    """One that ends by itself: its rows, its messages, its status."""
    run = Run([context.memtap, f"{TOOLS}/{name}.bt", *options, "-q", "-f", "json"])
    out, err, status = run.finish(60 * context.factor)
    return rows(out), out, err, status


class Waiting:
    """A program that says "ready" and goes on after a line on its standard input."""

    def __init__(self, *argv):
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        if self.process.stdout.readline() != "ready\n":
            raise RuntimeError(f"{argv[0]} is not ready")
        self.pid = self.process.pid
        self.settle()

    def settle(self):
        """Until it sleeps in read(2): nothing it does is on its way any more."""
        def sleeps():
            return open(f"/proc/{self.pid}/stat").read().rsplit(")", 1)[1].split()[0] == "S"
        if not until(sleeps, 60):
            raise RuntimeError(f"process {self.pid} does not wait")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    def go(self):
        """Lets it work; the lines it prints until it is done."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        lines = []
        for line in self.process.stdout:
            if line == "done\n":
                break
            lines.append(line.split())
        self.settle()
        return lines

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def on_waiting(context, name, program, *options):
    """The tool on a process that is there already: its run, attached."""
    run = Run([context.memtap, f"{TOOLS}/{name}.bt", *options, "-p", str(program.pid), "-f",
               "json"])
    if not run.wait_for("attached_probes", 30 * context.factor, "out"):
        run.kill()
        raise RuntimeError(shown("it never attached", "".join(run.out), "".join(run.err)))
    return run


def maps(pid):
    """(start, end, permissions, offset, path) of all mappings."""
    found = []
    for line in open(f"/proc/{pid}/maps"):
        fields = line.rstrip("\n").split(None, 5)
        start, end = (int(a, 16) for a in fields[0].split("-"))
        found.append((start, end, fields[1], int(fields[2], 16),
                      fields[5] if len(fields) > 5 else ""))
    return found


# ---- mmapsnoop -------------------------------------------------------------------------------

def maps_path(name):
    """A name as mmapsnoop gives it, as /proc/PID/maps has it."""
    if name.startswith("memfd:"):
        return f"/{name} (deleted)"
    return {"[anon]": "", "[shared]": "/dev/zero (deleted)"}.get(name, name)


def agrees(row, line):
    """A row's mapping and a line of maps that has its start."""
    start, end, permissions, offset, path = line
    known = maps_path(row["file"])
    return permissions == row["prot"] and path == known and \
        row["addr"] + row["size_kb"] * 1024 <= end and \
        (not known or known.startswith("/dev/zero") or
         offset + row["addr"] - start == row["off_kb"] * 1024)


def test_mmapsnoop_shows_what_maps_has(context):
    """Anonymous memory, and files that were open before (error 5 of the originals)."""
    require("btf", "tracefs")
    itself = context.progs + "/mapped"
    with Waiting(itself, itself) as p:
        run = on_waiting(context, "mmapsnoop", p, "-a")
        lines = p.go()
        now = maps(p.pid)
        p.end()
        out, err, status = run.finish(20 * context.factor)
    got = [r for r in rows(out) if r["pid"] == p.pid]
    told = iter(got)
    problems = []
    for call, ret, size in lines:
        row = next((r for r in told if r["call"] == call and
                    r["size_kb"] == (int(size) + 1023) // 1024), None)
        if not row:
            problems.append(f"no row of {call} {ret} {size}")
        elif int(ret) < 0 and row["err"] != errno.errorcode[-int(ret)]:
            problems.append(f"wrong error: {row}")
        elif int(ret) >= 0 and (row["err"] != "0" or call != "munmap" and row["addr"] != int(ret)):
            problems.append(f"wrong result: {row}")
        elif call == "mmap" and int(ret) >= 0 and int(size) != 64 << 10:
            line = next((m for m in now if m[0] <= row["addr"] < m[1]), None)
            if not line or not agrees(row, line):
                problems.append(f"{row}\nmaps: {line}")
    moved = [r for r in got if r["call"] == "mremap"]
    if not moved or moved[0]["from_kb"] != 64 or moved[0]["flags"] != "MAYMOVE":
        problems.append(f"mremap: {moved}")
    named = {r["file"] for r in got if r["call"] == "mmap"}
    if not {"[anon]", "[shared]", "memfd:named", os.path.realpath(itself)} <= named:
        problems.append(f"names: {named}")
    return shown("\n".join(problems), out, err) if problems or status else None


def test_mmapsnoop_without_a_leaves_others_out(context):
    require("btf", "tracefs")
    got, out, err, status = tool(context, "mmapsnoop", "-T", "-c", context.progs + "/sizes")
    ok = status == 0 and got and {r["call"] for r in got} == {"mmap"} and \
        all(re.match(r"\d\d:\d\d:\d\d\.\d{6}$", r["time"]) for r in got)
    return None if ok else shown(f"status {status}", out, err)


# ---- shmsnoop --------------------------------------------------------------------------------

SHMGET = {0o1000: "IPC_CREAT", 0o2000: "IPC_EXCL", 0o4000: "SHM_HUGETLB", 0o10000: "SHM_NORESERVE"}
SHMAT = {0o10000: "SHM_RDONLY", 0o20000: "SHM_RND", 0o40000: "SHM_REMAP", 0o100000: "SHM_EXEC"}
SHMCTL = {0: "IPC_RMID", 1: "IPC_SET", 2: "IPC_STAT", 11: "SHM_LOCK", 12: "SHM_UNLOCK"}
SIZES = {21: "SHM_HUGE_2MB", 30: "SHM_HUGE_1GB"}


def shmget_flags(n):
    words = [name for bit, name in SHMGET.items() if n & bit]
    words += [SIZES[n >> 26]] if n >> 26 else []
    return "|".join(words + [f"0{n & 0o777:o}"])


def shm_problem(row, call, ret, which):
    """What is wrong with the row of a call that returned `ret`, made with `which`."""
    error = errno.errorcode[-ret] if ret < 0 else "0"
    if row["call"] != call or row["err"] != error or ret >= 0 and row["ret"] != ret:
        return f"{call} returned {ret}, wanted {error}: {row}"
    want = {"shmget": lambda: ("flags", shmget_flags(which)),
            "shmat": lambda: ("flags", SHMAT.get(which, "0")),
            "shmctl": lambda: ("cmd", SHMCTL[which]),
            "ftruncate": lambda: ("size", which),
            "memfd_create": lambda: ("flags", "MFD_CLOEXEC|MFD_ALLOW_SEALING" if which == 3
                                     else "MFD_HUGETLB|MFD_HUGE_1GB")}.get(call)
    if want and row[want()[0]] != want()[1]:
        return f"{call} with {which}: wanted {want()}: {row}"
    return None


def test_shmsnoop_every_call_and_flag(context):
    """With it the sizes of huge pages, which share bits (error 14 of the original), and errors by
    their names."""
    require("btf", "tracefs")
    run = Run([context.memtap, f"{TOOLS}/shmsnoop.bt", "-a", "-f", "json", "-q", "-c",
               context.progs + "/shared"])
    out, err, status = run.finish(30 * context.factor)
    lines = [line.split() for line in out.splitlines() if line and line[0].islower()]
    got, problems = rows(out), []
    if len(lines) < 25 or status:
        return shown(f"the program said little, status {status}", out, err)
    told = iter(got)
    for call, ret, which in lines:
        # What get() removes again is not said.
        row = next((r for r in told if r["call"] == call), None)
        problem = shm_problem(row, call, int(ret), int(which)) if row else f"no row of {call}"
        if problem:
            problems.append(problem)
    sizes = {r["size"] for r in got if r["call"] in ("shmget", "shmat", "shmdt")
             and r["err"] == "0"}
    names = {r.get("name") for r in got if r["call"] in ("shm_open", "shm_unlink", "ftruncate")}
    if sizes != {64 << 10}:
        problems.append(f"sizes {sizes}")
    if len(names) != 2 or not all(re.match(r"/dev/shm/memtap-test-\d+$|memfd:some memory$", n)
                                  for n in names):
        problems.append(f"names {names}")
    return shown("\n".join(problems), out, err) if problems else None


def test_shmsnoop_by_name_and_thread(context):
    require("btf", "tracefs")
    target = context.progs + "/shared"
    for options, some in ((["-n", "hare"], True), (["-n", "other"], False), (["-t", "1"], False)):
        got, out, err, status = tool(context, "shmsnoop", *options, "-c", target)
        if status or bool(got) != some or any(r["call"] == "memfd_create" for r in got):
            return shown(f"{options}: status {status}, {len(got)} rows", out, err)
    return None


def test_shmsnoop_ends_after_its_duration(context):
    require("btf", "tracefs")
    _, out, err, status = tool(context, "shmsnoop", "-d", "1")
    return shown(f"status {status}", out, err) if status else None


# ---- brkstack and growth ---------------------------------------------------------------------

KIB = 1024
SMALL, BIG, BACK = 5 * 8 * KIB, 2 * 1024 * KIB, 64 * KIB  # progs/grows.c


def test_brkstack_bytes_and_calls(context):
    """Bytes by stack; questions, failures and what was given back are apart."""
    require("btf", "tracefs")
    got, out, err, status = tool(context, "brkstack", "-c", context.progs + "/grows")
    stacks, end = [r for r in got if "stack" in r], got[-1] if got else {}
    by = {}
    for row in stacks:
        name = next((n for n in ("small_steps", "big_step") if n in json.dumps(row["stack"])), "")
        old = by.get(name, (0, 0))
        by[name] = (old[0] + row["bytes"], old[1] + row["calls"])
    ok = status == 0 and by == {"small_steps": (SMALL, 5), "big_step": (BIG, 2)} and \
        {k: end.get(k) for k in ("grown", "calls", "shrunk", "shrinks", "failed")} == \
        {"grown": SMALL + BIG, "calls": 7, "shrunk": BACK, "shrinks": 1, "failed": 1} and \
        end["asked"] >= 2
    return None if ok else shown(f"status {status}, {by}, {end}", out, err)


def test_brkstack_by_process_and_top(context):
    require("btf", "tracefs")
    got, out, err, status = tool(context, "brkstack", "-P", "-c", context.progs + "/grows")
    one, out1, _, _ = tool(context, "brkstack", "-T", "1", "-c", context.progs + "/grows")
    ok = status == 0 and [(r["bytes"], r["calls"], r["comm"]) for r in got[:-1]] == \
        [(SMALL + BIG, 7, "grows")] and len(one) == 2 and one[0]["bytes"] == BIG // 2
    return None if ok else shown(f"status {status}", out + out1, err)


def test_brkstack_sizes(context):
    """A histogram of single calls."""
    require("btf", "tracefs")
    run = Run([context.memtap, f"{TOOLS}/brkstack.bt", "--sizes", "-q", "-c",
               context.progs + "/grows"])
    out, err, status = run.finish(30 * context.factor)
    ok = status == 0 and re.search(r"^\[8K, 16K\) +5 \|", out, re.M) and \
        re.search(r"^\[1M, 2M\) +2 \|", out, re.M)
    return None if ok else shown(f"status {status}", out, err)


def test_growth_less_what_was_given_back(context):
    """Pieces unmapped from both ends, memory made larger, a heap that shrinks."""
    require("btf", "tracefs")
    all_found = machine.kernel_at_least(5, 13)  # also from the end
    got, out, err, status = tool(context, "growth", "-c", context.progs + "/grows")
    unfound = sum(r.get("unfound", 0) for r in got)
    got = [r for r in got if "kind" in r]
    by = {}
    for row in got:
        for name in ("small_steps", "big_step", "map_some", "map_more"):
            if "stack" in row and name in json.dumps(row["stack"]):
                by[row["kind"], name] = by.get((row["kind"], name), 0) + row["bytes"]
    want = {("brk", "small_steps"): SMALL, ("brk", "big_step"): BIG,
            ("mmap", "map_some"): (512 - 128 - (64 if all_found else 0)) * KIB,
            ("mmap", "map_more"): 400 * KIB}
    total, out2, _, _ = tool(context, "growth", "-P", "-c", context.progs + "/grows")
    brk = [r["bytes"] for r in total if r.get("kind") == "brk" and r["comm"] == "grows"]
    ok = status == 0 and (unfound == 0) == all_found and by == want and \
        brk == [SMALL + BIG - BACK] and \
        not any(r["kind"] == "file" for r in got)
    return None if ok else shown(f"status {status}, {by}, {brk}", out + out2, err)


def test_growth_with_files_is_what_maps_has(context):
    """All address space that a program has mapped since it is looked at."""
    require("btf", "tracefs")
    itself = context.progs + "/mapped"
    with Waiting(itself, itself) as p:
        before = {m[:2] for m in maps(p.pid)}
        run = on_waiting(context, "growth", p, "-a", "-P")
        p.go()
        after = {m[:2] for m in maps(p.pid)}
        run.process.send_signal(signal.SIGINT)
        out, err, status = run.finish(20 * context.factor)
        p.end()
    grown = sum(end - start for start, end in after) - sum(end - start for start, end in before)
    got = sum(r["bytes"] for r in rows(out))
    return None if status == 0 and got == grown else \
        shown(f"status {status}: {got} bytes, maps say {grown}", out, err)


# ---- faults and ffaults ----------------------------------------------------------------------

def fault_counts(pid):
    """(minor, major) as getrusage(2) has them, of a process that waits."""
    fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return int(fields[7]), int(fields[9])


@functools.lru_cache(None)
def faults_after_reading():
    """Faults of a page that is written when it has been read: 1. Some virtual machines say of each
    fault that it is for writing: there a page has its memory at the first, and it is 0."""
    pages = 64
    with mmap.mmap(-1, pages * mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as m:
        m.madvise(mmap.MADV_NOHUGEPAGE)
        sum(m[i * mmap.PAGESIZE] for i in range(pages))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for i in range(pages):
            m[i * mmap.PAGESIZE] = 1
        return (resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) // pages


def touched(context, name, *options):
    """The tool's rows while progs/touches.c works, what the kernel counted, the files' paths."""
    with tempfile.TemporaryDirectory() as d:
        first, second = d + "/written", d + "/read"
        for path in (first, second):
            with open(path, "wb") as f:
                f.write(b"x" * 64 * mmap.PAGESIZE)
        with Waiting(context.progs + "/touches", first, second) as p:
            run = on_waiting(context, name, p, *options)
            before = fault_counts(p.pid)
            p.go()
            minor, major = (b - a for a, b in zip(before, fault_counts(p.pid)))
            run.process.send_signal(signal.SIGINT)
            out, err, status = run.finish(20 * context.factor)
            p.end()
    return rows(out), (minor, major), (first, second), out, err, status


def test_faults_are_those_of_getrusage(context):
    """Minor and major, with a second thread; each kind at least as often as pages were touched."""
    require("btf")
    got, (minor, major), _, out, err, status = touched(context, "faults")
    count = {}
    for row in got:
        for key in (row["fault"], row["kind"]):
            count[key] = count.get(key, 0) + row["faults"]
    problems = []
    if (count.get("minor", 0), count.get("major", 0)) != (minor, major) or status:
        problems.append(f"{count}, the kernel: {minor} minor, {major} major, status {status}")
    again = 15 * faults_after_reading()
    # Before Linux 6.0 the first write to a page of shared memory is tried twice: a major fault.
    shared = "shmem" if machine.kernel_at_least(6, 0) else "swap"
    wanted = {"anon": 100 + 25 + 15 + 7, "copy": again + 12, shared: 20 + 10}
    if machine.missing("tracepoint:exceptions:page_fault_user"): # x86 alone says what is copied
        wanted = {"anon": wanted["anon"] + again, shared: 20 + 10}
    # Without them the files are shared memory, too, where temporary ones are in a tmpfs.
    room = 20 if "copy" in wanted else 20 + 12 + 64
    for kind, least in wanted.items():
        if not least <= count.get(kind, 0) <= least + room:
            problems.append(f"{kind}: {count.get(kind, 0)}, touched {least}")
    writes = sum(r["faults"] for r in got if "write_all" in json.dumps(r["stack"]))
    if writes != 100 + 25 + again + 7 + 20 + 10 + 12:
        problems.append(f"{writes} faults from write_all()")
    if count.get("unknown") or count.get("swap") and shared != "swap":
        problems.append(f"kinds: {count}")
    return shown("\n".join(problems), out, err) if problems else None


def test_faults_by_process(context):
    require("btf")
    got, counts, _, out, err, status = touched(context, "faults", "-P")
    ok = status == 0 and sum(r["faults"] for r in got) == sum(counts) and \
        {r["comm"] for r in got} == {"touches"} and not any("stack" in r for r in got)
    return None if ok else shown(f"status {status}, {counts}", out, err)


def test_ffaults_names_files_and_memory(context):
    """Whole paths, memory by its name, exact counts, and as many as getrusage has."""
    require("btf")
    got, (minor, major), (first, second), out, err, status = touched(context, "ffaults")
    count = {r["file"]: r for r in got}
    problems = []
    if sum(r["faults"] for r in got) != minor + major or \
            sum(r["major"] for r in got) != major or status:
        problems.append(f"the kernel: {minor} minor, {major} major, status {status}")
    for name, pages in (("memfd:touched", 20), ("[shared]", 10), (first, 12), ("[heap]", 7)):
        row = count.get(name, {})
        if row.get("faults") != pages or row.get("kb") != pages * (mmap.PAGESIZE // 1024):
            problems.append(f"{name}: {row}, touched {pages}")
    if not 1 <= count.get(second, {}).get("faults", 0) <= 64:
        problems.append(f"{second}: {count.get(second)}")
    least = 140 + 15 * faults_after_reading()
    if not least <= count.get("[anon]", {}).get("faults", 0) <= least + 20:
        problems.append(f"[anon]: {count.get('[anon]')}")
    return shown("\n".join(problems), out, err) if problems else None


def test_ffaults_by_process_of_a_command(context):
    require("btf")
    got, out, err, status = tool(context, "ffaults", "-P", "-c", context.progs + "/grows")
    names = {r["file"] for r in got}
    ok = status == 0 and context.progs + "/grows" in names and "[stack]" in names and \
        any(n.endswith("/libc.so.6") and n.startswith("/") for n in names) and \
        len({r["pid"] for r in got}) == 1
    return None if ok else shown(f"status {status}, {names}", out, err)
