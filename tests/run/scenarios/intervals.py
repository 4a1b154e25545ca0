# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Tables of intervals: print(@m) and clear(@m) in a row lose no event and show none twice, whatever
threads do meanwhile. What all tables of a run show adds up to what a program is known to have
done."""
import collections
import ctypes
import json
import mmap
import os
import pathlib
import re
import struct
import time

from run.cases import Run
from run.scenarios import shown, until

INTERVAL = "interval:ms:20"
LATE = re.compile(r"WARNING: (@\w+): a program that counts in it has not ended yet: .*\n")


def ticks(context, how, threads, n, keys):
    return f"{context.progs}/ticks {how} {threads} {n} {keys}"


def amount(value):
    """How many events an aggregation stands for."""
    if isinstance(value, list):
        return sum(bucket["count"] for bucket in value)
    if isinstance(value, dict):
        return value["count"] if "count" in value else sum(amount(v) for v in value.values())
    return value


def missed_by(row):
    """How many events the kernel did not run the traced program for: Linux 7.0 interrupts it."""
    m = re.match(r"(?!interval).*: (\d+) events? w\w+ missed: ", row.get("msg", ""))
    return int(m[1]) if m else 0


def tables(text):
    """(map, content) of each that was printed and is not empty."""
    for line in text.split("\n"):
        if not line.startswith("{"):
            continue
        row = json.loads(line)
        if missed_by(row):
            yield "missed", missed_by(row)
            continue
        if row["type"] not in ("map", "hist", "stats", "attached_probes", "maps", "stacks"):
            raise RuntimeError(line)
        if row["type"] in ("map", "hist", "stats") and row["data"]:
            yield from row["data"].items()


def run(context, script, command, config):
    r = Run([context.memtap, "-f", "json", "-e", f"config = {{ {config} }} {script}",
             "-c", command])
    out, err, status = r.finish(300 * context.factor)
    if status != 0 or LATE.sub("", err).strip():
        raise RuntimeError(shown(f"status {status}", out, err))
    return out


def total(context, script, how, n, keys, config):
    """What the tables of a run add up to, by map, and how many there were of each; "missed": what
    memtap says of events that the kernel left out."""
    sums, count = collections.Counter(), collections.Counter()
    out = run(context, script, ticks(context, how, 2, n, keys), config)
    for name, content in tables(out):
        sums[name] += amount(content)
        count[name] += 1
    return sums, count


def check(context, body, printed, maps, how="system", n=600000, keys=50000,
          config="max_map_keys = 65536", least=3, interval=INTERVAL):
    """Every map has to add up to all events, over several tables: with more events where memtap is
    given too little time for that."""
    event = (f"uprobe:{context.progs}/ticks:tick " if how == "call" else
             "tracepoint:syscalls:sys_enter_getpriority /pid == cpid/ ")
    script = f"{event} {{ {body} }} {interval} {{ {printed} }}"
    for n in (n, 4 * n, 16 * n):
        sums, count = total(context, script, how, n, keys, config)
        wrong = {m: sums[m] for m in maps if sums[m] + sums["missed"] != 2 * n}
        if wrong:
            return f"not {2 * n} events: {wrong}, {sums['missed']} missed, in {dict(count)} tables"
        few = [m for m in maps if count[m] < least]
        if not few:
            return None
    return f"fewer than {least} tables of {few}"


def test_intervals_of_many_keys_lose_nothing(context):
    return check(context, "@x[args.who] = count();", "print(@x); clear(@x);", ["@x"])


def test_intervals_that_keep_keys_lose_nothing(context):
    return check(context, "@x[args.who] = count(); @v[args.who % 5]++;",
                 "print(@x); zero(@x); print(@v); zero(@v);", ["@x", "@v"], keys=1000)


def test_intervals_that_keep_many_keys_lose_nothing(context):
    """As many as without keeping them. What is printed is large, so there are fewer tables."""
    return check(context, "@x[args.who] = count();", "print(@x); zero(@x);", ["@x"],
                 interval="interval:ms:200", keys=20000)


def test_intervals_of_all_kinds_lose_nothing(context):
    body = ("@sum[args.who % 7] = sum(1); @hist = hist(args.who); @n++; @v[args.who % 5] += 1; "
            "@l[args.who % 3] = lhist(args.who, 0, 50000, 5000); @c = count(); "
            "@st[args.who % 9] = stats(args.who); ")
    printed = ("print(@sum); print(@hist); print(@l); clear(@sum); clear(@hist); clear(@l); "
               "print(@n); clear(@n); print(@v); clear(@v); print(@st); clear(@st); "
               "print(@c); zero(@c);")
    return check(context, body, printed, ["@sum", "@hist", "@l", "@n", "@v", "@st", "@c"],
                 n=400000)


def test_intervals_of_programs_that_sleep_lose_nothing(context):
    """Reading the memory of a process may bring a page in: such a program may sleep."""
    return check(context, "@x[str(arg1)] = count(); @n[arg0 % 3] += 1; @v++;",
                 "print(@x); clear(@x); print(@n); zero(@n); print(@v); clear(@v);",
                 ["@x", "@n", "@v"], how="call", n=40000, keys=1000)


class Sleeper:
    """What a program does that is at a map: it adds to the cells of a processor, here the last that
    there is room for, of both epochs, in memtap's map of turns (unit/unit.h)."""
    CELLS = [8 * (8 + 63 * 8 + epoch) for epoch in (0, 1)]
    PIDFD_GETFD = 438

    def __init__(self, pid):
        for info in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
            said = dict(re.findall(r"^(map_type|value_size|map_flags):\s+(\S+)", info.read_text(),
                                   re.M))
            size = int(said.get("value_size", 0))
            if said.get("map_type") == "2" and said["map_flags"] == "0x400" and \
                    4096 + 64 < size < 8192:
                fd = ctypes.CDLL(None).syscall(self.PIDFD_GETFD, os.pidfd_open(pid), int(info.name),
                                               0)
                self.map = mmap.mmap(fd, size)
                os.close(fd)
                return
        raise RuntimeError("no map of turns")

    def add(self, n):
        for at in self.CELLS:
            struct.pack_into("Q", self.map, at, n + struct.unpack_from("Q", self.map, at)[0])


def test_intervals_wait_for_programs_that_sleep(context):
    """One that does not end for more than a second: tables are empty meanwhile, and what is counted
    is in the next ones."""
    script = (f"uprobe:{context.progs}/ticks:tick {{ @x[str(arg1)] = count(); @n = count(); "
              "@z[arg0 % 3] = count(); @c = count(); @k[arg0 % 5] = count(); } interval:ms:100 "
              "{ print(@n); clear(@n); print(@x); clear(@x); print(@z); zero(@z); clear(@c); "
              "clear(@k); }")
    r = Run([context.memtap, "-f", "json", "-e", script, "-c",
             ticks(context, "call", 2, 300000, "50 1000")])
    counts = until(lambda: len(r.out) > 20, 60 * context.factor)
    sleeper = Sleeper(r.process.pid)
    sleeper.add(1)
    late = until(lambda: len(r.err) > 6, 60 * context.factor)
    time.sleep(0.3)
    sleeper.add(-1)
    out, err, status = r.finish(300 * context.factor)
    sums = collections.Counter()
    for name, content in tables(out):
        sums[name] += amount(content)
    said = set(LATE.findall(err))
    if not counts or not late or status or LATE.sub("", err).strip() or \
            said != {"@n", "@x", "@z"}:
        return shown(f"status {status}, late {said}", out[-2000:], err)
    wrong = [m for m in ("@n", "@x", "@z") if sums[m] + sums["missed"] != 600000]
    return shown(f"not all counted: {wrong} of {sums}", out[-2000:], err) if wrong else None


def test_intervals_of_probes_of_programs_lose_nothing(context):
    return check(context, "@x[arg0] = count();", "print(@x); clear(@x);", ["@x"], how="call",
                 n=100000)


def test_intervals_of_full_maps_lose_nothing(context):
    """What finds no room comes by itself, and the map is emptied before its table is due."""
    return check(context, "@x[arg0] = count(); @h[arg0] = hist(arg0); @s[str(arg1)] = stats(arg0);",
                 "print(@x); clear(@x); print(@h); clear(@h); print(@s); clear(@s);",
                 ["@x", "@h", "@s"], how="call", n=9000, keys=3000,
                 config="max_map_keys = 2000; ring_pages = 4096", least=1)


def test_intervals_of_one_full_map_of_several_lose_nothing(context):
    """Half full it is emptied by itself, and the others are not."""
    return check(context, "@x[args.who] = count(); @n = count(); @k[args.who % 5] = count();",
                 "print(@n); clear(@n); print(@x); clear(@x); print(@k); clear(@k);",
                 ["@x", "@n", "@k"], n=100000, keys=1500, config="max_map_keys = 2000")


def test_intervals_of_extremes(context):
    """Of consecutive numbers each interval has its part. The maps are taken at the same instant,
    but an event that is being counted then may be in the earlier table of one and the later of
    another."""
    n, names = 200000, ("@low", "@high", "@n")
    script = (f"uprobe:{context.progs}/ticks:tick "
              "{ @low = min(arg0); @high = max(arg0); @n = count(); } " + INTERVAL +
              " { print(@low); print(@high); print(@n); clear(@low); clear(@high); clear(@n); }")
    printed = list(tables(run(context, script, ticks(context, "call", 1, n, n), "")))
    parts = list(zip(*[[v for m, v in printed if m == name] for name in names]))
    if sum(count for _, _, count in parts) != n or len(parts) < 3:
        return f"{n} events in {parts}"
    bad = [p for p in parts if abs(p[1] - p[0] + 1 - p[2]) > 1]
    return f"not all numbers between the lowest and the highest: {bad}" if bad else None


def test_intervals_shorter_than_what_a_table_takes(context):
    """For each table the kernel waits some milliseconds. The command comes past its loader and is
    seen to end, though the next table is always due."""
    script = (f"config = {{ ring_pages = 4096 }} uprobe:{context.progs}/ticks:tick "
              "{ @x[ustack(2)] = count(); } interval:ms:1 { print(@x); clear(@x); }")
    r = Run([context.memtap, "-f", "json", "-e", script, "-c", ticks(context, "call", 2, 20000, 7)])
    out, err, status = r.finish(30 * context.factor)
    if status != 0:
        return shown(f"status {status}", out[-2000:], err)
    n = sum(amount(content) for name, content in tables(out) if name in ("@x", "missed"))
    return None if n == 40000 else shown(f"{n} events, not 40000", out, err)


def test_intervals_reach_the_flame_graph(context):
    """What is taken is in the graph of the whole run, too."""
    script = (f"uprobe:{context.progs}/ticks:tick {{ @x[ustack(2)] = count(); }} {INTERVAL} "
              "{ print(@x); clear(@x); }")
    r = Run([context.memtap, "--folded", "-", "-q", "-e", script,
             "-c", ticks(context, "call", 2, 20000, 7)])
    out, err, status = r.finish(300 * context.factor)
    folded = sum(int(line.rsplit(" ", 1)[1]) for line in out.split("\n") if ";" in line)
    ok = status == 0 and folded == 40000
    return None if ok else shown(f"{folded} stacks, not 40000", out, err)
