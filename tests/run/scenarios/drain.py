# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Maps that a script only counts in are emptied as they fill, and merged: all rows together have
every event, whatever the memory; what there is no memory for is counted and said."""
import json
import os
import shutil
import signal
import subprocess
import tempfile

from lib.report import Skip
from run.cases import Run
from run.scenarios import require, shown

# In maps this small most keys come through the ring. It has room for all of them at once, however
# late memtap gets a processor: half of it is 32 MiB.
# Keys of 256 bytes: of those 1500 fill 1 MiB of a map, and fit what is held.
ROOM = "config = { ring_pages = 16384; max_strlen = 256 } "
SOURCE = "int part{0}(int *p, int n) {{ int s = {0}; while (n--) s += p[n] * {0}; return s; }}\n"


def ticks(context, threads, n, keys):
    """Calls over some tenths of a second: maps fill again and again, not once in one burst."""
    return f"{context.progs}/ticks call {threads} {n} {keys} 500"


def objects(out):
    """Of the output, by type."""
    found = {}
    for line in out.strip().split("\n"):
        row = json.loads(line)
        found.setdefault(row["type"], []).append(row)
    return found


def argv(context, script, *options):
    return [context.memtap, "-f", "json", *options, "-e", ROOM + script]


def run(context, script, *options):
    """Per type the objects of the output; the output, messages, the status."""
    r = Run(argv(context, script, "-q", *options))
    out, err, status = r.finish(300 * context.factor)
    return objects(out), out, err, status


def test_maps_that_fill_are_emptied_and_merged(context):
    n = 30000
    script = f"uprobe:{context.progs}/ticks:tick {{ @x[str(arg1)] = count(); }}"
    found, out, err, status = run(context, script, "--map-memory", "1", "-c",
                                  ticks(context, 2, n, 1500))
    rows = found["map"][0]["data"]["@x"]
    use = found["maps"][0]["data"]
    ok = status == 0 and not err and len(rows) == 1500 and sum(rows.values()) == 2 * n and \
        use["emptied"] >= 3 and use["lost"] == 0 and use["rows"] >= 1000
    return None if ok else shown(f"{len(rows)} rows, {sum(rows.values())} events, {use}", "", err)


def test_several_aggregations_are_emptied_and_merged(context):
    n, keys = 30000, 1500
    script = (f"uprobe:{context.progs}/ticks:tick {{ @x[str(arg1)] = "
              "(n=count(), s=sum(arg0), low=min(arg0), high=max(arg0)); }")
    found, out, err, status = run(context, script, "--map-memory", "1", "-c",
                                  ticks(context, 2, n, keys))
    rows = found["map"][0]["data"]["@x"]
    each = 2 * n // keys
    wrong = {k: v for k, v in rows.items() if v != {
        "n": each, "s": each * int(k[3:]), "low": int(k[3:]), "high": int(k[3:])}}
    ok = status == 0 and len(rows) == keys and not wrong and \
        found["maps"][0]["data"]["emptied"] >= 3
    return None if ok else shown(f"{len(rows)} rows, wrong: {list(wrong.items())[:3]}", "", err)


def test_what_maps_have_no_memory_for_is_counted(context):
    """Keys that are there go on counting."""
    n, keys = 30000, 20000
    script = (f"uprobe:{context.progs}/ticks:tick {{ @all = count(); "
              "@x[str(arg1)] = count(); @first[str(\"the first\"), ustack(1)] = count(); }")
    found, out, err, status = run(context, script, "--map-memory", "1", "-c",
                                  ticks(context, 2, n, keys))
    maps = {k: v for row in found["map"] for k, v in row["data"].items()}
    use = found["maps"][0]["data"]
    counted = sum(maps["@x"].values())
    problems = []
    if status or maps["@all"] != 2 * n or list(maps["@first"].values()) != [2 * n]:
        problems.append(f"status {status}, {maps['@all']} events, first {maps['@first']}")
    if not use["lost"] or counted + use["lost"] != 2 * n:
        problems.append(f"{counted} counted, {use}")
    if use["bytes"] > use["limit"] + (1 << 20):
        problems.append(f"too much: {use}")
    told = sum(row["data"]["events"] for row in found.get("lost_events", []))
    if told != use["lost"]:
        problems.append(f"{told} told of, {use}")
    return shown("\n".join(problems), "", err) if problems else None


def test_what_the_ring_has_no_room_for_is_counted(context):
    """A burst in maps and a ring this small."""
    n = 30000
    script = f"uprobe:{context.progs}/ticks:tick {{ @x[str(arg1)] = count(); }}"
    r = Run([context.memtap, "-q", "-f", "json", "--map-memory", "1", "-e", script, "-c",
             f"{context.progs}/ticks call 2 {n} 20000"])
    out, err, status = r.finish(300 * context.factor)
    found = objects(out)
    counted = sum(found["map"][0]["data"]["@x"].values())
    use = found["maps"][0]["data"]
    ring = sum(row["count"] for row in found.get("helper_error", []))
    told = sum(row["data"]["events"] for row in found.get("lost_events", []))
    ok = status == 0 and ring and counted + use["lost"] == 2 * n and ring + told == use["lost"]
    return None if ok else shown(f"{counted} counted, {ring} and {told} told, {use}", "", err)


def test_lost_rows_name_the_option(context):
    script = (ROOM + f"uprobe:{context.progs}/ticks:tick {{ @x[str(arg1)] = count(); }} "
              "END { clear(@x); }")
    r = Run([context.memtap, "-q", "--map-memory", "1", "-e", script, "-c",
             ticks(context, 2, 20000, 20000)])
    out, err, status = r.finish(300 * context.factor)
    ok = status == 0 and "--map-memory MIB (or the setting map_memory) gives more" in err
    return None if ok else shown(f"status {status}", out, err)


def test_use_of_maps_is_shown(context):
    script = (ROOM + f"uprobe:{context.progs}/ticks:tick {{ @x[str(arg1)] = count(); }} "
              "END { clear(@x); }")
    r = Run([context.memtap, "-v", "--map-memory", "1", "-e", script, "-c",
             ticks(context, 2, 20000, 1500)])
    out, err, status = r.finish(300 * context.factor)
    ok = status == 0 and "of 768 (--map-memory); 0 counts lost" in err
    return None if ok else shown(f"status {status}", out, err)


def test_stacks_of_compilers_are_counted_once(context):
    """Beside short-lived compilers, of a user of their own: the rows together have as many events
    as there were."""
    require("btf")
    if context.in_vm:
        raise Skip("not in the virtual machine: a compiler is slow under emulation")
    if not shutil.which("cc"):
        raise Skip("no C compiler")
    script = ("software:faults:1 /uid == 65534/ "
              "{ @n = count(); @[ustack, comm] = count(); } "
              "END { print(@n); print(@, 0, \"{count}\\n\"); clear(@); clear(@n); }")
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        with open(f"{folder}/a.c", "w") as f:
            f.writelines(SOURCE.format(i) for i in range(40))
        memtap = Run(argv(context, script, "--map-memory", "2"))
        if not memtap.wait_for("attached_probes", 60 * context.factor, "out"):
            return "not attached"
        load = [subprocess.Popen(["sh", "-c", f"for i in 1 2 3 4 5; do cc -O1 -c "
                                  f"{folder}/a.c -o {folder}/{k}; done"], user=65534,
                                 env={"PATH": os.environ["PATH"], "TMPDIR": folder})
                for k in "abcd"]
        codes = [p.wait() for p in load]
        memtap.process.send_signal(signal.SIGINT)
        out, err, status = memtap.finish(60 * context.factor)
    found = objects(out)
    n = found["map"][0]["data"]["@n"]
    counted = sum(row["data"]["count"] for row in found.get("row", []))
    use = found["maps"][0]["data"]
    ok = not status and not any(codes) and counted == n > 20 * 500 and use["emptied"] > 1 and \
        not use["lost"]
    return None if ok else shown(f"status {status}, {counted} of {n}, {use}", out[-1000:], err)


def test_large_tables_are_written_while_they_are_made(context):
    """80 MB of text, of a table that takes a fraction of that."""
    require("kernel:5.17")
    script = ("BEGIN { for ($i : 0..4000) { @x[(k=$i)] = count(); } print(@x, 0, \"" +
              "0123456789" * 2050 + "{k}\\n\"); clear(@x); }")
    # Half of it is read; what the process has needed until then is its own, not its parent's.
    p = subprocess.Popen([context.memtap, "-q", "-e", script], stdout=subprocess.PIPE)
    size = sum(len(p.stdout.readline()) for _ in range(2000))
    with open(f"/proc/{p.pid}/status") as f:
        peak = int(next(line for line in f if line.startswith("VmHWM")).split()[1])
    size += sum(len(line) for line in p.stdout)
    p.stdout.close()
    status = p.wait()
    ok = status == 0 and size > 80_000_000 and peak < 60 * 1024
    return None if ok else f"status {status}, {size} bytes, {peak} KiB"
