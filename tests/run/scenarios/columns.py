# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Titles of the tools' columns on a terminal of 80, and no titles of what is empty."""
import os
import re
import signal
import subprocess
import tempfile

from lib import machine
from run.cases import Run
from run.scenarios import on_host, require, shown, side_by_side, until

# What tools have to be given; the others run by themselves. mctop has tests of its own,
# heap has stacks and no columns.
NEEDED = {"argdist": ["-C", "t:syscalls:sys_enter_syslog():u64:args->type"],
          "funccount": ["t:syscalls:sys_enter_syslog"],
          "stackcount": ["t:syscalls:sys_enter_syslog"], "trace": ["t:syscalls:sys_enter_syslog"]}
# For a whole interval, so that what is printed then is seen too.
TIMED = ("brkstack", "compaction", "drsnoop", "faults", "ffaults", "growth", "hfaults", "httptop",
         "oomkill", "swapin", "vmscan")


def titles(text):
    """Lines of words in capitals, such as PID, LAT(ms), EFF%."""
    return [line for line in text.split("\n") if re.match(r"\s*[A-Z]", line) and
            all(re.fullmatch(r"[A-Z][A-Za-z/%()_-]*|\(KB\)", word) for word in line.split())]


def ended(context, name, *args):
    """stdout of a tool that was interrupted a while after it was attached. A file, which takes it
    at once: memtap waits for a reader less than a second then, and some tools print much."""
    with tempfile.TemporaryFile("w+", errors="backslashreplace") as file:
        run = Run([context.memtap, name, *args], stdout=file)
        if not run.attached(60 * context.factor):
            run.kill()
            return None, shown(f"{name} never attached", "", "".join(run.err))
        if args and args[-1] == "1":
            until(lambda: os.fstat(file.fileno()).st_size, 5)
        run.process.send_signal(signal.SIGINT)
        _, err, status = run.finish(60 * context.factor)
        file.seek(0)
        out = file.read()
    return out, shown(f"{name}: status {status}", out, err) if status != 0 else None


def without_rows(text):
    """Titles behind which there is no row of theirs."""
    lines = [line for line in text.split("\n") if line.strip() and not line.startswith("Detach")]
    known = set(titles(text))
    return [line for line, following in zip(lines, lines[1:] + [""])
            if line in known and (not following or following in known)]


def test_titles_fit_into_80_columns(context):
    require("btf", "tracefs")
    listed = subprocess.run([context.memtap, "tools"], capture_output=True, text=True,
                            check=True).stdout
    runs = []
    for name in (line.split()[0] for line in listed.split("\n") if line):
        if name in ("heap", "mctop", "mcsnoop") or \
                (name == "swaptime" and machine.missing("kprobe")) or \
                (name == "hfaults" and machine.missing("hfaults")):
            continue
        runs += [(context, name, *NEEDED.get(name, []))]
        runs += [(context, name, "1")] if name in TIMED else []
    problems, seen = [], 0
    for run, (out, problem) in zip(runs, side_by_side(ended, runs)):
        if problem:
            return problem
        seen += len(titles(out))
        problems += [f"{run[1]}: {line}" for line in titles(out) if len(line) > 80]
    if seen < 8:
        problems.append(f"only {seen} titles were seen")
    return "\n".join(problems) or None


@on_host
def test_what_is_empty_has_no_title(context):
    """Of an event that nobody causes, and of intervals, whether or not somebody causes some."""
    require("btf", "tracefs")
    runs = [(context, "funccount", *NEEDED["funccount"]),
            (context, "argdist", *NEEDED["argdist"]), (context, "hfaults"),
            (context, "hfaults", "1"), (context, "drsnoop", "1")]
    for run, (out, problem) in zip(runs, side_by_side(ended, runs)):
        if problem or without_rows(out):
            return problem or shown(f"{run[1:]}: {without_rows(out)}", out, "")
    return None
