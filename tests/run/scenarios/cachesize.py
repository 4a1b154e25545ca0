# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""memtap cachesize on programs whose sizes and hits are known."""
import json
import mmap
import os
import re
import signal
import subprocess
import tempfile
import xml.etree.ElementTree

from run.scenarios import Memcached, Skip, shown


def cachesize(context, *args):
    """Its output without that of the traced program, and what it said."""
    p = subprocess.run([context.memtap, "cachesize", *args], capture_output=True, text=True,
                       cwd=context.progs, timeout=60 * context.factor, check=False)
    if p.returncode:
        raise RuntimeError(shown(f"exit status {p.returncode}", p.stdout, p.stderr))
    return p.stdout


def data_of(out):
    return json.loads(re.search(r'^\{"type": "cachesize".*$', out, re.M)[0])["data"]


def as_json(context, *args):
    return data_of(cachesize(context, *args, "--json"))


def glibc(n):
    chunk = max((n + 8 + 15) // 16 * 16, 32)
    page = mmap.PAGESIZE
    return chunk if chunk < 128 * 1024 else (chunk + 8 + page - 1) // page * page


def near(a, b, share):
    return abs(a - b) <= share * b


def itest_of(context):
    return context.build + "/examples/itest"


def itest_sizes(context, n):
    """The sizes that itest stores, from the simplest script there is."""
    itest = itest_of(context)
    script = f"uprobe:{itest}:cache_insert {{ printf(\"size %d\\n\", arg2) }}"
    p = subprocess.run([context.memtap, "-q", "-e", script, "-c", f"{itest} {n}"],
                       capture_output=True, text=True, timeout=60 * context.factor, check=True)
    return sorted(int(line.split()[1]) for line in p.stdout.split("\n") if line.startswith("size "))


def wrong_sizes(data, sizes):
    got, wrong = data["size"], []
    exact = {"min": sizes[0], "max": sizes[-1]}
    close = {"mean": sum(sizes) / len(sizes)}
    for p in (50, 90, 95, 99):
        close[f"p{p}"] = sizes[(len(sizes) * p + 99) // 100 - 1]
    wrong += [f"{k} {got[k]}, not {v}" for k, v in exact.items() if got[k] != v]
    wrong += [f"{k} {got[k]}, not {v}" for k, v in close.items() if not near(got[k], v, 0.008)]
    if data["inserts"] != len(sizes) or data["lost"]:
        wrong.append(f"{data['inserts']} inserts, {data['lost']} lost, of {len(sizes)}")
    for row in data["buckets"]:
        n = sum(row["min"] <= s <= row["max"] for s in sizes)
        if n != row["count"]:
            wrong.append(f"{row}, really {n}")
    if len(data["buckets"]) < 8:
        wrong.append(f"{len(data['buckets'])} rows")
    return wrong


def test_cachesize_sizes_of_a_cache(context):
    """Distribution, table and limit against the sizes themselves."""
    sizes = itest_sizes(context, 700)
    data = as_json(context, f"uprobe:{itest_of(context)}:cache_insert", "--size", "arg2",
                   "--overhead", "100", "--limit", "64M", "--entries", "5000",
                   "-c", f"{itest_of(context)} 700")
    wrong = wrong_sizes(data, sizes)
    mean = sum(glibc(s + 100) for s in sizes) / len(sizes)
    rows = data["memory"]
    if [r["entries"] for r in rows] != [1000, 5000, 10000, 100000, 1000000]:
        wrong.append(f"rows {rows}")
    p99 = sizes[(len(sizes) * 99 + 99) // 100 - 1]
    for r in rows:
        if not near(r["mean"], r["entries"] * mean, 0.01) or \
                not near(r["p99"], r["entries"] * glibc(p99 + 100), 0.01):
            wrong.append(f"{r}, mean {mean}, p99 {p99}")
    limit = data["limit"]
    if limit["bytes"] != 64 << 20 or not near(limit["mean"], limit["bytes"] / mean, 0.01):
        wrong.append(f"limit {limit}")
    return "\n".join(wrong) or None


def test_cachesize_a_field_of_a_struct(context):
    """C by the debug information: a struct passed by value, and a key behind a typed pointer."""
    data = as_json(context, f"uprobe:{itest_of(context)}:cache_insert", "--size", "value.len",
                   "--key", "key", "-c", f"{itest_of(context)} 700")
    wrong = wrong_sizes(data, itest_sizes(context, 700))
    if data["curve"]["keys"] != 700 or data["curve"]["uses"] != 700 or data["curve"]["points"]:
        wrong.append(f"curve {data['curve']}")
    return "\n".join(wrong) or None


def test_cachesize_a_slice_of_go(context):
    n, size, sizes = 300, 1, []
    for _ in range(n):
        size = (size * 1664525 + 1013904223) % 2**32
        sizes.append(1 + (size >> 8) % 16383)
    program = context.progs + "/cache_go"
    data = as_json(context, f'uprobe:{program}:"example.com/path/to/my/pkg.Cache.Insert"',
                   "--size", "value.len", "--key", "key.array,key.len", "-c", f"{program} {n}")
    got, wrong = data["size"], []
    differ = [row for row in data["buckets"]
              if row["count"] != sum(row["min"] <= s <= row["max"] for s in sizes)]
    if differ or data["inserts"] != n or data["lost"]:
        wrong.append(f"{data['inserts']} inserts of {n}: {data['buckets']}")
    if got["min"] != min(sizes) or got["max"] != max(sizes) or \
            not near(got["mean"], sum(sizes) / n, 0.1):
        wrong.append(f"{got}, really {min(sizes)} to {max(sizes)}, mean {sum(sizes) / n}")
    if data["curve"]["keys"] != n:
        wrong.append(f"{data['curve']['keys']} keys, not {n}")
    return "\n".join(wrong) or None


LOOKUPS = ["uprobe:./lookups:cache_put", "--size", "arg4", "--key", "arg1,arg2",
           "--get", "uprobe:./lookups:cache_get", "--get-key", "arg1,100",
           "--evict", "uprobe:./lookups:cache_evict"]


def simulated(out):
    """What the program says that caches of other sizes hit."""
    return {int(a): int(b) for a, b in re.findall(r"^(\d+) (\d+)$", out, re.M)}


def test_cachesize_hits(context):
    """All keys watched: each point of the curve is what a cache of that size hits."""
    uses, capacity = 20000, 500
    run = f"./lookups {uses} 5000 {capacity}"
    data = as_json(context, *LOOKUPS, "-c", run + " 1")
    curve = data["curve"]
    sizes = [p["entries"] for p in curve["points"]]
    out = subprocess.run([*run.split(), *map(str, sizes)], capture_output=True, text=True,
                         cwd=context.progs, check=True).stdout
    hits = simulated(out)
    wrong = [f"{p}: really {hits[p['entries']] / uses}" for p in curve["points"]
             if abs(p["hit_ratio"] - hits[p["entries"]] / uses) > 0.005 or p["error"]]
    if len(sizes) < 8 or curve["uses"] != uses or curve["watched"] != 1 or data["lost"]:
        wrong.append(f"{len(sizes)} points, {curve['uses']} uses, {data['lost']} lost")
    if data["inserts"] - data["evictions"] != capacity or data["lookups"] != uses:
        wrong.append(f"{data['inserts']} inserts, {data['evictions']} evictions")
    return "\n".join(wrong) or None


def test_cachesize_hits_of_some_keys(context):
    """Few keys watched: the kernel's side leaves the others out, and the curve is near."""
    if context.in_vm:
        raise Skip("nothing of the kernel but what the others ask")
    uses, sizes = 40000, [300, 1000, 3000, 6000]
    out = cachesize(context, *LOOKUPS, "--samples", "2048", "--json",
                    "-c", f"./lookups {uses} 20000 500 {' '.join(map(str, sizes))}")
    data = data_of(out)
    hits, points = simulated(out), data["curve"]["points"]
    wrong = []
    for size in sizes:
        below = [p for p in points if p["entries"] <= size]
        above = [p for p in points if p["entries"] >= size]
        real = hits[size] / uses
        if below and real < below[-1]["hit_ratio"] - 0.05:
            wrong.append(f"{size}: really {real}, shown more than {below[-1]}")
        if above and real > above[0]["hit_ratio"] + 0.05:
            wrong.append(f"{size}: really {real}, shown less than {above[0]}")
    if not all(p["error"] > 0 for p in points):
        wrong.append(f"an estimate without an error: {points}")
    if not 0.05 < data["curve"]["watched"] < 0.5 or data["curve"]["uses"] != uses:
        wrong.append(f"{data['curve']['watched']} watched, {data['curve']['uses']} uses")
    return "\n".join(wrong) or None


def next_keys(uses, keys):
    """Always the same keys, low numbers more often."""
    state = 1
    for _ in range(uses):
        least = keys
        for _ in range(4):
            state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
            least = min(least, (state >> 32) * keys >> 32)
        yield least


def fill(server, uses, keys):
    """Gets, and a set of 2000 bytes after each miss. The share of hits, and the items there are."""
    hits = 0
    for k in next_keys(uses, keys):
        server.client.sendall(b"get key%d\r\n" % k)
        if server.file.readline().startswith(b"VALUE"):
            server.file.read(2002)
            server.file.readline()
            hits += 1
        else:
            server.set(f"key{k}", 2000)
    server.client.sendall(b"stats\r\n")
    stats = {}
    for line in iter(server.file.readline, b"END\r\n"):
        _, name, value = line.decode().split(None, 2)
        stats[name] = value.strip()
    if int(stats["get_hits"]) != hits or int(stats["cmd_get"]) != uses:
        raise RuntimeError(f"{hits} hits of {uses}, memcached says {stats}")
    return hits / uses, int(stats["curr_items"])


def hits_at(points, entries):
    points = [{"entries": 0, "hit_ratio": 0}, *points]
    for a, b in zip(points, points[1:]):
        if a["entries"] <= entries < b["entries"]:
            part = (entries - a["entries"]) / (b["entries"] - a["entries"])
            return a["hit_ratio"] + part * (b["hit_ratio"] - a["hit_ratio"])
    return points[-1]["hit_ratio"]


def memcached_of(context, megabytes):
    return Memcached(context.factor, options=("-m", str(megabytes), "-o",
                                              "no_lru_crawler,no_lru_maintainer"))


def test_cachesize_of_memcached(context):
    """From one run of a memcached, what it hits with two and three times the memory."""
    if context.in_vm:
        raise Skip("three runs of a server, a request at a time: on the host")
    uses, keys, said = 8000, 4000, []
    with memcached_of(context, 2) as server:
        probe = f"usdt:{server.path}:memcached:command__"
        tool = subprocess.Popen(
            [context.memtap, "cachesize", "--json", "-p", str(server.pid), probe + "set",
             "--size", "arg3", "--key", "arg1,arg2", "--get", probe + "get", "--get-key",
             "arg1,arg2"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if "Attached" not in tool.stderr.readline():
            return shown("not attached", *tool.communicate())
        real = [fill(server, uses, keys)]
        tool.send_signal(signal.SIGINT)
        out, err = tool.communicate(timeout=60 * context.factor)
    data = data_of(out)
    for megabytes in (4, 6):
        with memcached_of(context, megabytes) as server:
            real.append(fill(server, uses, keys))
    # memcached moves an item to the front once a minute only, so it is not quite an LRU cache.
    for hits, items in real:
        told = hits_at(data["curve"]["points"], items)
        if abs(told - hits) > 0.06:
            said.append(f"{items} items: {hits}, told {told}")
    sets = round(uses * (1 - real[0][0]))
    if data["lost"] or data["curve"]["uses"] != uses or data["inserts"] != sets:
        said.append(f"{data['inserts']} of {sets} sets, {data['curve']['uses']} gets")
    if len({items for _, items in real}) != 3 or data["size"]["min"] != data["size"]["max"]:
        said.append(f"items {real}, sizes {data['size']}")
    return shown("\n".join(said), out, err) if said else None


def test_cachesize_text_and_picture(context):
    if context.in_vm:
        raise Skip("nothing of the kernel but what the others ask")
    with tempfile.TemporaryDirectory() as d:
        svg = os.path.join(d, "hits.svg")
        out = cachesize(context, *LOOKUPS, "--svg", svg, "--limit", "100K", "--alloc", "none",
                        "-c", "./lookups 20000 5000 500 1")
        root = xml.etree.ElementTree.parse(svg).getroot()
    texts = ["".join(t.itertext()) for t in root.iter("{http://www.w3.org/2000/svg}text")]
    wrong = []
    for line in (r"^15,639 entries were put in, 15,139 taken out; 500 more are in it than at the "
                 r"start; 20,000 lookups$", r"^entry size in bytes: mean 149, p50 149, .* max 199$",
                 r"^\[104, 112\) +1219 \|@+ +\|$", r"^ +10,000 +1.4 MiB +1.9 MiB +1.9 MiB$",
                 r"^A limit of 100 KiB holds 687 entries at the mean, ",
                 r"^hits of an LRU cache by its size: 20,000 uses of 3,246 keys$",
                 r"^ +[\d,]+ +\d+ KiB +\d\d\.\d %  \|@+ +\| knee$",
                 r"^95 % of today's hits need 2,[45]\d\d entries, about 3\d\d KiB\.$",
                 r"^With that limit 2\d\.\d % of all uses would be hits\.$"):
        if not re.search(line, out, re.M):
            wrong.append(f"no line {line}")
    for what in ("knee: ", "95 % of the hits: ", "2,000"):
        if not any(t.startswith(what) for t in texts):
            wrong.append(f"no text {what} in the picture: {texts}")
    return shown("\n".join(wrong), out, "") if wrong else None


def test_cachesize_asks_for_what_it_needs(context):
    probe = f"uprobe:{itest_of(context)}:cache_insert"
    wrong = []
    for args, said in (([], "no probe is named"), ([probe], "--size is missing"),
                       ([probe, "--size", "arg2", "--svg", "x"], "--svg needs --key"),
                       ([probe, "--size", "arg2", "--limit", "1Q"], "'1Q' is no number of bytes"),
                       ([probe, "b", "--size", "arg2"], "'b' is another"),
                       ([probe, "--size", "arg2 +"], "ERROR"),
                       ([probe, "--sice", "1"], "--size")):
        p = subprocess.run([context.memtap, "cachesize", *args], capture_output=True, text=True,
                           timeout=60 * context.factor, check=False)
        if p.returncode != 1 or said not in p.stderr:
            wrong.append(shown(f"{args}: exit status {p.returncode}", p.stdout, p.stderr))
    return "\n".join(wrong) or None
