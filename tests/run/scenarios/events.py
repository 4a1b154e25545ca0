# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The tools over memory events of the kernel: oomkill, vmscan, drsnoop, hfaults. Each makes its
event happen in a memory control group of its own and compares with the kernel's numbers. Only in
the virtual machine: a whole machine short of memory is no place for other tests."""
import collections
import contextlib
import fcntl
import json
import mmap
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

from lib import machine
from run.cases import Run
from run.scenarios import TOOLS, Skip, require, shown, until

ROOT = "/sys/fs/cgroup"
HUGE = mmap.PAGESIZE ** 2 // 8  # bytes: what one table of pages has


def put(path, text):
    with open(path, "w") as f:
        f.write(str(text))


def get(path):
    with open(path) as f:
        return f.read()


def numbers(path):
    """A file of lines `name number`."""
    return {k: int(v) for k, v in (line.split() for line in get(path).split("\n") if line)}


def kill_all(path):
    """Before Linux 5.14 a group is not killed as a whole."""
    if os.path.exists(path + "/cgroup.kill"):
        put(path + "/cgroup.kill", 1)
        return
    for pid in get(path + "/cgroup.procs").split():
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)


@contextlib.contextmanager
def group(context, **limits):
    """A memory control group, as its path below the root; whoever is still in it is killed."""
    if not context.in_vm:
        raise Skip("runs the machine short of memory: only in the virtual machine")
    put(ROOT + "/cgroup.subtree_control", "+memory")
    path = tempfile.mkdtemp(prefix="memtap-", dir=ROOT)
    try:
        for name, value in limits.items():
            put(f"{path}/memory.{name.replace('_', '.')}", value)
        yield path
    finally:
        kill_all(path)
        until(lambda: not get(path + "/cgroup.procs"), 20 * context.factor)
        os.rmdir(path)


def start(where, *argv):
    """A process that begins its life in a control group."""
    return subprocess.Popen(["sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', where] +
                            list(argv), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, text=True)


def tool(context, name, *args):
    if name == "hfaults":
        require("hfaults")
    run = Run([context.memtap, "-f", "json", f"{TOOLS}/{name}.bt"] + list(args))
    if not run.wait_for(r'"type": "attached_probes"', 20 * context.factor, "out"):
        out, err, _ = run.finish(1)
        raise RuntimeError(shown("it never attached", out, err))
    return run


def rows(text):
    for line in text.split("\n"):
        with contextlib.suppress(ValueError):
            row = json.loads(line)
            if row["type"] == "row":
                yield row["data"]


def end(context, run):
    """(rows, stdout, stderr) of a tool stopped as by Ctrl-C."""
    run.process.send_signal(signal.SIGINT)
    out, err, status = run.finish(20 * context.factor)
    if status != 0:
        raise RuntimeError(shown(f"status {status}", out, err))
    return list(rows(out)), out, err


# ---- oomkill ---------------------------------------------------------------------------------

KILLED = (r"Killed process (\d+) \((\S+)\) total-vm:(\d+)kB, anon-rss:(\d+)kB, file-rss:(\d+)kB, "
          r"shmem-rss:(\d+)kB, UID:(\d+) pgtables:(\d+)kB oom_score_adj:(-?\d+)")


class KernelLog:
    """What the kernel logs from now on (Documentation/ABI/testing/dev-kmsg)."""

    def __init__(self):
        self.file = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
        os.lseek(self.file, 0, os.SEEK_END)

    def text(self):
        """All of it so far; once."""
        lines = []
        try:
            while True:
                with contextlib.suppress(BrokenPipeError):  # older ones were overwritten
                    lines.append(os.read(self.file, 8192).decode(errors="replace"))
        except BlockingIOError:
            os.close(self.file)
        return "".join(lines)


def as_logged(row):
    """What the kernel's line about a victim has."""
    names = ("pid", "comm", "vm_kb", "anon_kb", "file_kb", "shmem_kb", "uid", "pagetables_kb",
             "adj")
    return tuple(str(row[k]) for k in names)


def killed(context, where, run, victims):
    """Has a process of a group ask for more than there is: (rows, text, lines of the log, it). Rows
    and lines of other groups are left out."""
    log, own = KernelLog(), where[len(ROOT):]
    eater = start(where, "sh", "-c", 'echo 300 >/proc/self/oom_score_adj; exec "$0" touch 64',
                  context.progs + "/memory")
    eater.wait(60 * context.factor)
    if not run.wait_for(r'(?s)("limit_cgroup": "%s".*){%d}' % (own, victims), 20 * context.factor,
                        "out"):
        pass # the rows, or their absence, say more
    found, out, err = end(context, run)
    found = [r for r in found if r.get("limit_cgroup") == own]
    logged = [line for line in re.findall(KILLED, log.text())
              if int(line[0]) in [r["pid"] for r in found]]
    return found, shown("", out, err), logged, eater


def check_one(row, where, eater):
    wanted = {"trigger_pid": eater.pid, "pid": eater.pid, "comm": "memory", "trigger": "memory",
              "cgroup": where[len(ROOT):], "limit_cgroup": where[len(ROOT):], "limit_kb": 16384,
              "constraint": "memcg", "order": 0, "adj": 300, "uid": 0}
    return [f"{k} is {row[k]}, not {v}" for k, v in wanted.items() if row[k] != v]


def test_oomkill_says_what_the_kernel_log_says(context):
    with group(context, max="16M") as where:
        found, text, log, eater = killed(context, where, tool(context, "oomkill"), 1)
    if len(found) != 1 or [as_logged(r) for r in found] != log:
        return f"{found}\nthe kernel log: {log}" + text
    row = found[0]
    wrong = check_one(row, where, eater)
    if row["kill"] != "single":
        wrong.append(f"kill is {row['kill']}")
    if not 0 <= row["limit_kb"] - row["used_kb"] <= 512:
        wrong.append(f"used {row['used_kb']}")
    pages = (row["anon_kb"] + row["file_kb"] + row["shmem_kb"] + row["swap_kb"] +
             row["pagetables_kb"]) // (mmap.PAGESIZE // 1024)
    # The limit counts for the score: pages of 16 MiB by thousandths of the adjustment.
    if row["score"] != pages + 300 * ((16 << 20) // mmap.PAGESIZE // 1000):
        wrong.append(f"score {row['score']} of {pages} pages")
    if row["anon_kb"] > 16384:
        wrong.append("the victim has more than the limit allows: the size of something else")
    return "\n".join(wrong) + text if wrong else None


def test_oomkill_shows_all_of_a_group(context):
    with group(context, max="16M", oom_group=1) as where:
        holders = [start(where, context.progs + "/memory", "hold", "1000") for _ in range(2)]
        for h in holders:
            h.stdout.readline()
        found, text, log, eater = killed(context, where, tool(context, "oomkill", "1000"), 3)
        for h in holders:
            h.wait(20 * context.factor)
    if text.count('{"kills": %d, "cgroup": "%s"}' % (len(found), where[len(ROOT):])) != 1:
        return f"at the end {len(found)} kills are not counted once" + text
    # The log has the chosen one twice. The others may be on their way out when it is written.
    pids = sorted([eater.pid] + [h.pid for h in holders])
    if sorted(r["pid"] for r in found) != pids or as_logged(found[0]) not in log or \
       {int(line[0]) for line in log} != set(pids):
        return f"{found}\nthe kernel log: {log}" + text
    wrong = [r["pid"] for r in found if r["kill"] != "group" or r["trigger_pid"] != eater.pid]
    return f"not of a group: {wrong}" + text if wrong else None


# ---- reclaim ---------------------------------------------------------------------------------

def read_files(context, where):
    """File pages that nobody has in memory yet, four times what the group may have."""
    put("/proc/sys/vm/drop_caches", 1)
    reader = start(where, "sh", "-c",
                   "cat /usr/lib/*-linux-gnu/*.so* | head -c 67108864 >/dev/null")
    reader.wait(120 * context.factor)


def summed(found, name):
    return sum(row[name] for row in found)


def test_reclaim_tools_count_what_the_kernel_counts(context):
    """vmscan's sums and drsnoop's lines against memory.stat, which the kernel brings up to date
    within seconds."""
    for _ in range(3):  # until nobody else reclaims meanwhile, which vmscan would count as well
        before = reclaimed()
        problem = reclaim_in_a_group(context)
        if reclaimed() == before:
            return problem
    raise Skip("others reclaim memory all the time")


def reclaimed():
    """Pages that were looked at for lack of memory in all of the machine."""
    stat = numbers("/proc/vmstat")
    return [stat["pgscan_kswapd"], stat["pgscan_direct"]]


def in_stat(figures, wanted):
    """Are these of a memory.stat those? Before Linux 5.13 each processor keeps up to 32 events of a
    group to itself, for ever."""
    late = 0 if machine.kernel_at_least(5, 13) else 32 * os.cpu_count()
    return all(w - late <= f <= w for f, w in zip(figures, wanted, strict=True))


def reclaim_in_a_group(context):
    with group(context, max="16M") as where:
        lines, sums = tool(context, "drsnoop", "-eU"), tool(context, "vmscan", "--shrinkers")
        read_files(context, where)
        found, out, err = end(context, lines)
        rows_, out_, err_ = end(context, sums)
        wanted = [summed(found, "scanned"), summed(rows_, "scanned"), summed(rows_, "reclaimed")]

        def counted():
            stat = numbers(where + "/memory.stat")
            return [stat["pgscan"], stat["pgscan"], stat["pgsteal"]]
        until(lambda: in_stat(counted(), wanted), 10 * context.factor)
        stat = counted()
    text = shown(shown("", out, err), out_, err_)
    if not in_stat(stat, wanted) or not stat[2]:
        return f"pgscan, pgscan, pgsteal are {stat}, not {wanted}" + text
    others = [r for r in found if r["kind"] != "memcg" or r["cgroup"] != where[len(ROOT):] or
              r["comm"] not in ("sh", "cat", "head") or r["order"] != 0 or r["uid"] != 0 or
              not r["gfp"].startswith("GFP_") or r["free_kb"] <= 0]
    if others:
        return f"of whom? {others}" + text
    if summed(found, "pages") < stat[2]:
        return "fewer pages than were taken" + text
    calls = sum(bar["count"] for line in out_.split("\n") if '"@memcg_reclaim_ns"' in line
                for bar in json.loads(line)["data"]["@memcg_reclaim_ns"])
    return None if calls == len(found) else f"{calls} calls and {len(found)} lines" + text


def test_vmscan_rows_add_up_to_the_totals(context):
    """Also of times that are no whole milliseconds in any row."""
    totals = "".join(f"total_{name}=(uint64)@{name} / 1000000, " for name in
                     ("slab", "direct", "memcg"))
    with group(context, max="16M") as where, tempfile.TemporaryDirectory() as own:
        put(own + "/vmscan.bt", get(TOOLS + "/vmscan.bt") +
            f'END {{ printf("%d %d %d %d\\n", ({totals}end=1)); }}\n')
        run = Run([context.memtap, "-f", "json", own + "/vmscan.bt", "1"])
        run.wait_for(r'"type": "attached_probes"', 20 * context.factor, "out")
        for _ in range(6):
            read_files(context, where)
            time.sleep(1)
        found, out, err = end(context, run)
    at_end = [r for r in found if "end" in r]
    found = [r for r in found if "slab_ms" in r]
    if len(at_end) != 1 or len([r for r in found if r["memcg_ms"]]) < 2:
        return shown("not several rows and their totals", out, err)
    wrong = [name for name in ("slab", "direct", "memcg")
             if summed(found, name + "_ms") != at_end[0]["total_" + name]]
    return shown(f"other totals of {wrong}", out, err) if wrong else None


def test_drsnoop_finds_the_group_of_a_call_that_it_did_not_see(context):
    """As while probes are closed together: the call that tells the group is seen by nobody, here
    of all of them. It is the nearest full one above the process."""
    seen = "/is_wanted()/\n{\n\t@group[tid] = arg0;"
    script = get(TOOLS + "/drsnoop.bt")
    if script.count(seen) != 1:
        return "drsnoop's probe of try_to_free_mem_cgroup_pages is another one"
    with group(context, max="16M") as where, tempfile.TemporaryDirectory() as own:
        put(own + "/drsnoop.bt", script.replace(seen, seen.replace("is_wanted()", "false")))
        shutil.copytree(TOOLS + "/lib", own + "/lib")
        run = Run([context.memtap, "-f", "json", own + "/drsnoop.bt"])
        run.wait_for(r'"type": "attached_probes"', 20 * context.factor, "out")
        read_files(context, where)
        found, out, err = end(context, run)
    found = [r for r in found if r["comm"] in ("sh", "cat", "head")]
    wrong = [r for r in found if r["kind"] != "memcg" or r["cgroup"] != where[len(ROOT):]]
    if wrong or not found or err or "runtime_error" in out:
        return shown(f"{len(found)} rows, wrong are {wrong[:3]}", out[-500:], err)
    return None


def test_drsnoop_sums_and_filters(context):
    with group(context, max="16M") as where:
        by_process = tool(context, "drsnoop", "1")
        at_end = tool(context, "drsnoop", "1000")
        nobody = tool(context, "drsnoop", "-u", "0", "-n", "nobody of that name")
        read_files(context, where)
        by_process.wait_for(r'"calls"', 20 * context.factor, "out")
        found, out, err = end(context, by_process)
        whole, out_, err_ = end(context, at_end)
        none = end(context, nobody)
    if none[0]:
        return shown("a filter lets all through", *none[1:])
    found, whole = ([r for r in rows_ if r["comm"] in ("sh", "cat", "head")]
                    for rows_ in (found, whole))
    for name in ("calls", "pages", "scanned"):
        if summed(found, name) != summed(whole, name):
            return shown(f"other {name} by the second than in one:\n{out_}", out, err + err_)
    wrong = [r for r in found + whole
             if r["kind"] != "memcg" or not r["calls"] or r["max_us"] > r["sum_us"]]
    return shown(f"{wrong}", out, err) if wrong or not found else None


# ---- huge pages ------------------------------------------------------------------------------

@contextlib.contextmanager
def setting(path, value):
    """A file of /proc or /sys with a value for a while, in which no other run of these tests
    changes it."""
    with open(path) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        before = get(path)
        put(path, value)
        try:
            yield
        finally:
            put(path, (re.findall(r"\[(\w+)\]", before) or [before.strip()])[0])


def by_result(found, pid):
    sums = collections.Counter()
    for r in found:
        if r["pid"] == pid and r["comm"] == "memory":  # it began as a shell
            sums[r["kind"], r["result"]] += r["faults"]
    return sums


def test_hfaults_of_the_pool(context):
    if not context.in_vm:
        raise Skip("takes huge pages from the machine: only in the virtual machine")
    # Transparent ones come to any program, where its mappings happen to lie.
    with setting("/proc/sys/vm/nr_hugepages", 3), \
         setting("/sys/kernel/mm/transparent_hugepage/enabled", "never"):
        if int(get("/proc/sys/vm/nr_hugepages")) != 3:
            raise Skip("memory is in pieces too small for a pool of huge pages")
        run = tool(context, "hfaults")
        all_there = start(ROOT, context.progs + "/memory", "hugetlb", "3")
        all_there.wait(20 * context.factor)
        too_many = start(ROOT, context.progs + "/memory", "noreserve", "4")
        too_many.wait(20 * context.factor)
        found, out, err = end(context, run)
    if by_result(found, all_there.pid) != {("hugetlb", "ok"): 3} or \
       by_result(found, too_many.pid) != {("hugetlb", "ok"): 3, ("hugetlb", "no page"): 1}:
        return shown(f"3, and 3 and 1 more, of {all_there.pid} and {too_many.pid}", out, err)
    ours = [r for r in found if r["pid"] in (all_there.pid, too_many.pid)]
    ok = all(r["size_kb"] == HUGE >> 10 for r in ours)
    return None if ok else shown("of what size?", out, err)


def test_hfaults_of_transparent_huge_pages(context):
    """Beside what the kernel counts in each group; that a group's limit was in the way is counted
    of the whole machine only, so there others may add to it."""
    name = "thp_fault_fallback_charge"

    def taken(where):
        return numbers(where + "/memory.stat")["thp_fault_alloc"]

    with group(context, max="max") as where, group(context, max=f"{3 * HUGE >> 10}K") as small, \
         setting("/sys/kernel/mm/transparent_hugepage/enabled", "madvise"):
        run = tool(context, "hfaults")
        before = numbers("/proc/vmstat")[name]
        free = start(where, context.progs + "/memory", "thp", "8")
        free.wait(20 * context.factor)
        tight = start(small, context.progs + "/memory", "thp", "8")
        tight.wait(20 * context.factor)
        refused = numbers("/proc/vmstat")[name] - before
        made = start(where, context.progs + "/memory", "collapse", "2")
        made.wait(20 * context.factor)
        found, out, err = end(context, run)
        results = by_result(found, tight.pid)
        # memory.stat is brought up to date within seconds.
        wanted = [8, results.get(("thp", "ok"), 0)]
        until(lambda: in_stat([taken(where), taken(small)], wanted),
              10 * context.factor)
        counted = [taken(where), taken(small)]
    if by_result(found, free.pid) != {("thp", "ok"): 8}:
        return shown(f"8 of {free.pid}", out, err)
    if made.returncode == 0 and by_result(found, made.pid).get(("collapse", "ok")) != 2:
        return shown(f"2 made by {made.pid}", out, err)
    if not in_stat(counted, wanted) or not 0 < results.get(("thp", "limit"), 0) <= refused or \
       sum(results.values()) != 8:
        return shown(f"{results} of {tight.pid}; the kernel has {counted}, {refused}", out, err)
    return None


def places(found, pid):
    """(address, file) of each huge page that a process got."""
    return [(r.get("address"), r.get("file")) for r in found
            if r["pid"] == pid and r["comm"] == "memory" and r["result"] == "ok"]


def test_hfaults_shows_each_with_its_address(context):
    """What a program touches, what a system call touches for it, and what one fills by itself: then
    the address is known only where functions can be probed."""
    if not context.in_vm and "[never]" in get("/sys/kernel/mm/transparent_hugepage/enabled"):
        raise Skip("huge pages are switched off")
    require("btf")
    with contextlib.ExitStack() as stack:
        if context.in_vm:
            stack.enter_context(setting("/sys/kernel/mm/transparent_hugepage/enabled", "madvise"))
            stack.enter_context(setting("/proc/sys/vm/nr_hugepages", 3))
        run = tool(context, "hfaults", "-e")
        made = {}
        for what, file in (("thp", "[anon]"), ("read", "[anon]"), ("populate", "[anon]"),
                           ("hugetlb", "anon_hugepage")):
            if what == "hugetlb" and not context.in_vm:
                continue
            p = subprocess.Popen([context.progs + "/memory", what, "3"], stdout=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL, text=True)
            at = int(p.communicate(timeout=20 * context.factor)[0] or "0", 0)
            wanted = [(at + i * HUGE + (mmap.PAGESIZE if what == "read" else 0), file)
                      for i in range(3)]
            if what == "populate" and machine.missing("kprobe"):
                wanted = [(None, None)] * 3
            made[p.pid] = (what, wanted, p.returncode)
        found, out, err = end(context, run)
    for pid, (what, wanted, status) in made.items():
        if status == 0 and places(found, pid) != wanted:
            return shown(f"{what} of {pid}: {places(found, pid)}, not {wanted}", out, err)
        if status != 0:
            raise Skip(f"this kernel can not do what {what} wants")
    return None


def test_hfaults_of_sizes_between(context):
    require("kernel:6.8")
    size = "/sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled"
    if not os.path.exists(size):
        raise Skip("this kernel has no huge pages of 64 KiB")
    require("btf")
    with setting(size, "madvise"):
        run = tool(context, "hfaults")
        some = subprocess.Popen([context.progs + "/memory", "between", "12"])
        some.wait(20 * context.factor)
        found, out, err = end(context, run)
    of_it = [r for r in found if r["pid"] == some.pid and r["size_kb"] == 64]
    if [(r["kind"], r["result"], r["faults"]) for r in of_it] != [("thp", "ok", 12)]:
        return shown(f"12 of 64 KiB by {some.pid}", out, err)
    return None


def test_hfaults_of_pages_put_together(context):
    if context.in_vm:
        raise Skip("the one before has it")
    require("btf")
    # The third in the last part of an interval; by the second all tables together have it once.
    runs = [tool(context, "hfaults", *args) for args in ([], ["1"], ["1000"])]
    made = subprocess.Popen([context.progs + "/memory", "collapse", "2"])
    made.wait(20 * context.factor)
    for run in runs:
        found, out, err = end(context, run)
        if made.returncode == 0 and by_result(found, made.pid).get(("collapse", "ok")) != 2:
            return shown(f"2 made by {made.pid}", out, err)
    if made.returncode != 0:
        raise Skip("this kernel does not put pages together when asked")
    return None


# ---- anywhere --------------------------------------------------------------------------------

def test_event_tools_attach(context):
    require("btf")
    for name in ("oomkill", "vmscan", "drsnoop", "hfaults"):
        if name == "hfaults" and machine.missing("hfaults"):
            continue
        run = Run([context.memtap, "--dry-run", f"{TOOLS}/{name}.bt"])
        out, err, status = run.finish(20 * context.factor)
        if status != 0 or "Attached" not in err:
            return shown(name, out, err)
    return None


def test_vmscan_by_interval_and_count(context):
    require("btf")
    run = Run([context.memtap, "-f", "json", TOOLS + "/vmscan.bt", "1", "2"])
    out, err, status = run.finish(20 * context.factor)
    found = [r for r in rows(out) if "slab_ms" in r]
    return None if status == 0 and len(found) == 3 else shown("two rows and the rest", out, err)
