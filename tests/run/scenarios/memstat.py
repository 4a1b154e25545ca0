# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""memstat beside the numbers of /proc that were read before and behind it."""
import contextlib
import json
import os
import subprocess
import sys

from run.cases import settles
from run.scenarios import Skip, require, shown, until


def numbers(path):
    with open(path) as f:
        return {line.split()[0].rstrip(":"): int(line.split()[1]) for line in f}


def looks(context, *args):
    """The objects that it prints."""
    p = subprocess.run([context.memtap, "memstat", "--json", *args], capture_output=True,
                       text=True, timeout=120 * context.factor, check=False)
    if p.returncode:
        raise RuntimeError(shown(f"exit status {p.returncode}", p.stdout, p.stderr))
    return [json.loads(line) for line in p.stdout.splitlines()]


def resident(pid):
    with open(f"/proc/{pid}/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def between(problems, what, low, value, high):
    if not low <= value <= high:
        problems.append(f"{what} is {value}, not from {low} to {high}")


@contextlib.contextmanager
def holder(size):
    """A process with that many bytes of its own, touched, and its name changed."""
    code = (f"import ctypes, sys, time; x = bytearray(b'x') * {size}; "
            "ctypes.CDLL(None).prctl(15, b'hold\\x1ber', 0, 0, 0); print(1, flush=True); "
            "time.sleep(600)")
    p = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    try:
        p.stdout.readline()
        settles(p.pid, 60)  # what it still touches on the way to its sleep counts, too
        yield p.pid
    finally:
        p.kill()
        p.wait()


def test_memstat_beside_proc(context):
    problems = []
    with holder(64 << 20) as pid:
        before, mem, held = numbers("/proc/vmstat"), numbers("/proc/meminfo"), resident(pid)
        found = looks(context, "--top", "100000", "--pss", "1", "2")
        after = numbers("/proc/vmstat")
        me = [p for p in found[-1]["processes"] if p["pid"] == pid]
        if len(found) != 2:
            problems.append(f"{len(found)} looks, not 2")
        if len(me) != 1:
            return f"process {pid} is there {len(me)} times"
        # It sleeps: if anything changes, then what the kernel takes from it.
        between(problems, "its RSS", max(resident(pid), 64 << 20), me[0]["rss"], held)
        between(problems, "its PSS", 64 << 20, me[0].get("pss", 0), me[0]["rss"])
        if me[0]["comm"] != r"hold\x1ber":
            problems.append(f"its name is {me[0]['comm']!r}")
    for look in found:
        for name, kernel in (("faults", "pgfault"), ("major_faults", "pgmajfault"),
                             ("oom_kills", "oom_kill")):
            between(problems, kernel, before[kernel], look["since_boot"][name], after[kernel])
        for name, kernel in (("total", "MemTotal"), ("swap_total", "SwapTotal")):
            between(problems, kernel, mem[kernel] * 1024, look["memory"][name],
                    mem[kernel] * 1024)
        between(problems, "seconds", 0.5, look["seconds"], 60 * context.factor)
    rss = [p["rss"] for p in found[-1]["processes"]]
    if rss != sorted(rss, reverse=True):
        problems.append("the processes are not in the order of their memory")
    # The two looks count on from each other: rates are those of the interval.
    counted = found[1]["since_boot"]["faults"] - found[0]["since_boot"]["faults"]
    told = found[1]["per_second"]["faults"] * found[1]["seconds"]
    between(problems, "faults told", counted * 0.98 - 10, told, counted * 1.02 + 10)
    return "\n".join(problems) or None


def kill_in_group():
    """A process that wants 64 MiB in a control group of 16; its pid."""
    group = f"/sys/fs/cgroup/memtap-memstat-{os.getpid()}"
    subprocess.run("echo +memory >/sys/fs/cgroup/cgroup.subtree_control", shell=True, check=True)
    os.mkdir(group)
    try:
        with open(group + "/memory.max", "w") as f:
            f.write("16M")
        script = """echo $$ >"$1/cgroup.procs"; exec "$2" -c "x = bytearray(b'x') * (64 << 20)" """
        p = subprocess.Popen(["/bin/sh", "-c", script, "sh", group, sys.executable],
                             stderr=subprocess.DEVNULL)
        status = p.wait()
        if status != -9:
            raise RuntimeError(f"it ended with {status}")
        return p.pid
    finally:
        until(lambda: not open(group + "/cgroup.procs").read(), 10)
        os.rmdir(group)


def test_memstat_after_an_oom_kill(context):
    if not context.in_vm:
        raise Skip("processes are killed for lack of memory in the virtual machine only")
    require("root")
    pid = kill_in_group()
    look = looks(context)[0]
    last = look["oom_log"]["last"]
    if [(k["cgroup_limit"], "python" in k["comm"]) for k in last if k["pid"] == pid] != \
            [(True, True)]:
        return f"the last kills are {last}, not one of {pid}"
    if look["since_boot"]["oom_kills"] < 1:
        return "no kill is counted"
    if look["next"][0]["command"] != "memtap oomkill":
        return f"it says {look['next']}"
    return None
