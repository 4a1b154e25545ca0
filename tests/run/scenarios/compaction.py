# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""memtap compaction beside what the kernel counts itself. All memory of the machine is compacted,
so only of the virtual one."""
import json
import subprocess
import tempfile

from run.scenarios import Skip, shown

# The kernel's counts just before and behind the work, in the command that memtap starts.
WORK = "sh -c 'cat /proc/vmstat; echo 1 >/proc/sys/vm/compact_memory; cat /proc/vmstat'"


def counts(text, name):
    """Both values of a counter of /proc/vmstat."""
    return [int(line.split()[1]) for line in text.split("\n") if line.startswith(name + " ")]


def run(context, *options):
    """The exit code, what the kernel counted, what memtap printed."""
    with tempfile.NamedTemporaryFile("r") as f:
        p = subprocess.run([context.memtap, "-q", "-o", f.name, "compaction", *options, "-c", WORK],
                           capture_output=True, text=True, timeout=20 * context.factor,
                           check=False)
        return p.returncode, p.stdout, f.read() + p.stderr


def test_compaction_moves_what_the_kernel_counts(context):
    if not context.in_vm:
        raise Skip("all memory would be compacted")
    for _ in range(3):  # until nobody else compacts meanwhile, perhaps before the first count
        code, counted, out = run(context, "--json")
        lines = [json.loads(line) for line in out.split("\n") if line.startswith("{")]
        rows = [line["data"] for line in lines if line["type"] == "row"]
        forced = [r for r in rows if r["cause"] == "forced"]
        if len(forced) == len(rows):
            break
    moved = counts(counted, "pgmigrate_success")
    if code or not forced or len(moved) != 2:
        return shown("no compaction that was asked for", counted[-300:], out)
    if sum(r["moved"] for r in rows) != moved[1] - moved[0]:
        return shown(f"the kernel moved {moved[1] - moved[0]} pages", "", out)
    for r in forced:
        if (r["comm"], r["order"], r["gfp"], r["mode"]) != ("sh", -1, 0, "sync") or \
                r["zone"] not in ("DMA", "DMA32", "Normal") or r["node"] != 0 or \
                not r["lat_us"] or r["status"] not in ("complete", "partial", "success"):
            return shown(f"a wrong row: {r}", "", out)
    if not any(line["type"] == "hist" and "forced" in line["data"]["@usecs"] for line in lines):
        return shown("no histogram", "", out)
    return None


def test_compaction_totals_have_the_last_part(context):
    """Of the only interval, which does not end by itself."""
    if not context.in_vm:
        raise Skip("all memory would be compacted")
    code, _, out = run(context, "--json", "100000")
    lines = [json.loads(line) for line in out.split("\n") if line.startswith("{")]
    totals = [line["data"]["@total_us"] for line in lines if "@total_us" in line.get("data", {})]
    drawn = [line["data"]["@usecs"] for line in lines if "@usecs" in line.get("data", {})]
    if code or len(totals) != 1 or len(drawn) != 1 or not any("forced" in key for key in totals[0]):
        return shown("not one table of totals and one of histograms", "", out)
    if sum(v["count"] for v in totals[0].values()) != \
            sum(bar["count"] for bars in drawn[0].values() for bar in bars):
        return shown("not as many in the totals as in the histograms", "", out)
    return None


def test_compaction_of_another_cause_is_left_out(context):
    if not context.in_vm:
        raise Skip("all memory would be compacted")
    code, _, out = run(context, "--cause", "direct", "-K")
    if code or "forced" in out or "LAT(us)" not in out:
        return shown("only what is direct was asked for", "", out)
    return None
