# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""swapin and swaptime, on a swap device in compressed memory. Only in the virtual machine: nothing
else swaps there meanwhile, so the tools' numbers have to be the kernel's."""
import contextlib
import json
import os
import re
import subprocess

from run.cases import Run
from run.scenarios import Skip, shown
from run.scenarios.events import TOOLS, group, numbers, put

ZRAM = "/sys/block/zram0"


@contextlib.contextmanager
def swap(context):
    if not context.in_vm:
        raise Skip("the machine gets a swap device: only in the virtual machine")
    if not os.path.exists(ZRAM):
        raise Skip("no module zram is loaded")
    put(ZRAM + "/disksize", "64M")
    for command in (["mkswap", "/dev/zram0"], ["swapon", "/dev/zram0"]):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    try:
        yield
    finally:
        subprocess.run(["swapoff", "/dev/zram0"], check=True)
        put(ZRAM + "/reset", 1)


def watched(context, tool, *args):
    """What the tool says at its end of progs/swapped, what that says itself, and both as text."""
    before = numbers("/proc/vmstat")
    out, err, _ = Run([context.memtap, "-q", "-f", "json", f"{TOOLS}/{tool}.bt", "100000", "--cmd",
                       " ".join([context.progs + "/swapped"] + [str(a) for a in args])]
                      ).finish(60 * context.factor)
    after = numbers("/proc/vmstat")
    text = shown("", out, err)
    said = re.search(r"in (\d+) out (\d+) least (\d+) most (\d+)", out)
    if not said:
        raise RuntimeError("swapped said nothing" + text)
    found = [json.loads(line) for line in out.split("\n") if line.startswith("{")]
    said = dict(zip(("in", "out", "least", "most"), map(int, said.groups())))
    for name in ("in", "out"):
        said["machine_" + name] = after["pswp" + name] - before["pswp" + name]
    return found, said, text


def histogram(found, name):
    """The buckets of a histogram, and the sum of what they count."""
    buckets = [b for m in found if m["type"] == "hist" for b in m["data"].get(name, [])]
    return buckets, sum(b["count"] for b in buckets)


def test_swapin_counts_pages_as_the_kernel_does(context):
    with swap(context), group(context, max="8M") as where:
        found, said, text = watched(context, "swapin", 4096, 10, 0, where)
    rows = [m["data"] for m in found if m["type"] == "row"]
    mine = [r for r in rows if r["comm"] == "swapped"]
    if said["in"] < 2048 or said["out"] < 4096:
        return "nothing much was swapped" + text
    for name in ("in", "out"):
        if sum(r[name] for r in mine) != said[name]:
            return f"{name} is not what the kernel counted in the process" + text
        if sum(r[name] for r in rows) != said["machine_" + name]:
            return f"{name} is not the machine's {said['machine_' + name]}" + text
    # One, on kernels too that leave the bytes behind a process's name as they were.
    if len(mine) != 1 or any(r["zswap"] or r["zero"] for r in rows):
        return "other rows than one of the process and the device" + text
    # The device has no readahead: each fault reads one page.
    faults = histogram(found, "@usecs")[1]
    return None if faults == said["in"] else f"{faults} faults read swap" + text


def test_swaptime_shows_how_long_pages_were_away(context):
    """The kernel may leave some of the 512 pages where they are."""
    with swap(context):
        found, said, text = watched(context, "swaptime", 512, 300, 100)
    for name, want in (("@read_ms", said["in"]), ("@freed_ms", said["out"] - said["in"])):
        buckets, n = histogram(found, name)
        if n != want:
            return f"{name} has {n} pages, not {want}" + text
        if any(b["max"] < said["least"] or b["min"] > said["most"] for b in buckets):
            return f"{name} has other times" + text
    row = [m["data"] for m in found if m["type"] == "row"][-1]
    if said["in"] < 300 or not 0 < said["out"] - said["in"] <= 100 or \
            row != {"written": said["out"], "still_there": 0}:
        return "other pages were written" + text
    return None

