# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The tools that show what programs do with their memory, against what the kernel says of the same:
/proc/PID/maps, the results of calls, getrusage."""
import errno
import json
import os
import re
import subprocess

from run.cases import Run
from run.scenarios import HERE, require, shown

TOOLS = os.path.dirname(os.path.dirname(HERE)) + "/tools"


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
    want = row["prot"] + ("s" if "SHARED" in row["flags"] else "p")
    known = maps_path(row["file"])
    return permissions == want and path == known and \
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
        all(re.match(r"\d\d:\d\d:\d\d\.\d{6} $", r["time"]) for r in got)
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
