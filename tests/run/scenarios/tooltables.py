# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The tables of tools that print one each interval. What a program is known to have done is in
them exactly once, and the last part is there however a tool ends: Ctrl-C, the end of the program,
so many tables. No tool prints a table and empties it apart, which would lose what comes between."""
import json
import os
import re
import signal
import subprocess
import time

from run.cases import Run
from run.scenarios import TOOLS, require, shown, side_by_side
from run.scenarios.columns import NEEDED, TIMED
from run.scenarios.intervals import amount, ticks

MILLION = 1000000


def added_up(text):
    """(events in all rows and histograms, how many tables had some) of JSON."""
    sums, tables = [], 0
    for line in text.split("\n"):
        found = json.loads(line) if line.startswith("{") else {"type": ""}
        if found["type"] == "row":
            sums.append(found["data"]["count"])
        elif found["type"] == "hist":
            sums.append(sum(amount(v) for v in found["data"].values()))
            tables += sums[-1] > 0
    return sum(sums), tables


def exact(context, *args):
    """Two threads make a million calls while a tool prints each second; more where that is done
    within two seconds."""
    for n in (MILLION, 4 * MILLION, 16 * MILLION):
        r = Run([context.memtap, "-q", "--json", *args, "--cmd",
                 ticks(context, "call", 2, n // 2, 1000)])
        out, err, status = r.finish(300 * context.factor)
        if status != 0 or err.strip():
            return shown(f"{args}: status {status}", out[-2000:], err)
        got, tables = added_up(out)
        if got != n:
            return f"{args}: {got} of {n} calls"
        if seconds(out, tables) >= 2:
            return None
    return f"{args}: {n} calls within one interval"


def seconds(out, tables):
    """Tables: of rows each event's row is there once in each."""
    rows = [json.loads(line)["data"] for line in out.split("\n") if '"row"' in line]
    keys = [json.dumps({k: v for k, v in row.items() if k != "count"}) for row in rows]
    return max([tables] + [keys.count(key) for key in set(keys)])


def tick(context):
    return context.progs + "/ticks:tick"


def test_argdist_counts_each_call(context):
    return exact(context, "argdist", "-C", f"p:{tick(context)}(u64 key):u64:key")


def test_argdist_draws_each_call(context):
    return exact(context, "argdist", "-H", f"p:{tick(context)}(u64 key):u64:key")


def test_funccount_counts_each_call(context):
    return exact(context, "funccount", "-i", "1", tick(context))


def test_stackcount_counts_each_call(context):
    return exact(context, "stackcount", "-i", "1", "-U", tick(context))


# ---- how it ends -------------------------------------------------------------------------------


def ended(context, argv, by_signal):
    """Text of a tool while a program makes events, ended by Ctrl-C or by itself."""
    busy = subprocess.Popen([context.progs + "/ticks", "call", "1", str(10 ** 12), "10"])
    try:
        r = Run([context.memtap, *argv])
        if by_signal:
            r.attached(60 * context.factor)
            time.sleep(1)
            r.process.send_signal(signal.SIGINT)
        return r.finish(60 * context.factor)
    finally:
        busy.kill()
        busy.wait()


def titles(text):
    return len(re.findall(r"EVENT +COUNT|COUNT +EVENT", text))


def test_tables_end_with_the_last_part(context):
    """By Ctrl-C, or a time that is no multiple of the interval, what came since the last table is
    one more; after so many tables there is none."""
    count = ["funccount", tick(context)]
    values = ["argdist", "-C", f"p:{tick(context)}(u64 key):u64:key"]
    runs = [(count, True, 1), (count + ["-i", "1000"], True, 1), (count + ["-d", "1"], False, 1),
            (count + ["-i", "1", "-d", "2"], False, 2), (count + ["-i", "2", "-d", "3"], False, 2),
            (values + ["-i", "1000"], True, 1), (values + ["-n", "2"], False, 2),
            (values + ["-i", "2", "-d", "3"], False, 2)]
    ends = side_by_side(ended, [(context, argv, by_signal) for argv, by_signal, _ in runs])
    for (argv, _, wanted), (out, err, status) in zip(runs, ends):
        if status != 0 or titles(out) != wanted:
            return shown(f"{argv}: {titles(out)} tables, not {wanted}", out, err)
    return None


# ---- what tools are made of --------------------------------------------------------------------

AGGREGATED = re.compile(r"value (?:count|sum|min|max|avg|stats|hist|lhist|tseries)_t|"
                        r"value \([^)]*=(?:count|sum|min|max|avg)_t")


def beginning(text):
    """Numbers of the lines in BEGIN blocks: what is emptied there has not been counted in yet."""
    inside, found = False, set()
    for number, line in enumerate(text.split("\n"), 1):
        inside = inside or re.match(r"BEGIN\b", line) is not None
        if inside:
            found.add(number)
        if re.match(r"(BEGIN\b.*)?\}", line):
            inside = False
    return found


def emptied_apart(dump, text):
    """Of `memtap -d unit`: what loses events. clear() and zero() that are not one with a print(),
    outside of BEGIN, and delete() in maps that count."""
    started, wrong = beginning(text), []
    counting = [m[1] for m in re.finditer(r"^map \d+ (@\w*): (.*)", dump, re.M)
                if AGGREGATED.search(m[2])]
    for m in re.finditer(r"^record \d+ (clear|zero): .*, map (@\w*) at (\d+):", dump, re.M):
        if int(m[3]) not in started:
            wrong.append(f"{m[1]}({m[2]}) in line {m[3]} is apart from its print()")
    for m in re.finditer(r"^error \d+ delete \((@\w*)\) at (\d+):", dump, re.M):
        if m[1] in counting and int(m[2]) not in started:
            wrong.append(f"delete of {m[1]}, which counts, in line {m[2]}")
    return wrong


def dump(context, *args):
    p = subprocess.run([context.memtap, "-d", "unit", *args], capture_output=True, text=True,
                       timeout=60 * context.factor, check=False)
    return p.stdout if p.returncode == 0 else None


def test_no_tool_empties_a_table_apart(context):
    require("btf", "tracefs")
    problems, checked, taken = [], [], set()
    for name in sorted(n[:-3] for n in os.listdir(TOOLS) if n.endswith(".bt")):
        with open(f"{TOOLS}/{name}.bt") as f:
            text = f.read()
        timed = name in TIMED or name in ("memleak", "swaptime")
        for args in [NEEDED.get(name, [])] + ([["1"], ["1", "2"]] if timed else []):
            unit = dump(context, name, *args)
            if unit is None:  # this kernel has not what it needs
                continue
            checked.append(name)
            problems += [f"{name}.bt: {p}" for p in emptied_apart(unit, text)]
            if ", taken" in unit:
                taken.add(name)
    for name in ("argdist", "compaction", "drsnoop", "funccount", "hfaults", "oomkill",
                 "stackcount"):
        if name in checked and name not in taken:
            problems.append(f"{name}: no table is taken")
    if len(set(checked)) < 12:
        problems.append(f"only {sorted(set(checked))} were looked at")
    return "\n".join(sorted(set(problems))) or None


def test_a_table_that_is_emptied_apart_is_found(context):
    for body, wanted in (("print(@a); clear(@a);", 0), ("print(@a); zero(@a);", 0),
                         ("for ($kv : @a) { print($kv); } clear(@a);", 1),
                         ("print(@a); if (pid) { exit(); } clear(@a); zero(@b);", 2),
                         ("for ($kv : @a) { print($kv); delete(@a, $kv.0); }", 1),
                         ("for ($kv : @b) { print($kv); delete(@b, $kv.0); }", 0)):
        script = "BEGIN { clear(@a); @b[1] = 2; }\nself:signal:SIGUSR1 { @a[1] = count(); }\n" \
                 f"interval:s:1 {{ {body} }}"
        found = emptied_apart(dump(context, "-e", script), script)
        if len(found) != wanted:
            return f"{body}: {found}"
    return None
