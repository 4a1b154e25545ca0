# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""memtap serve: /debug/pprof/ as Go's pprof and npm's pprof-format read it, beside calls that are
known; clients that go, too many of them, collectors that end meanwhile."""
import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from run.scenarios import children_of, on_host, require, shown, until
from run.scenarios.serve import files, serving, up
from run.scenarios.serve_otlp import by_node

SCRIPT = """uprobe:%s/branches:touch {
	@calls[ustack] = (n=count(), some_bytes=sum(100), most=max(7)); }
software:page-faults:10 { @faults[comm] = count(); @faults_by[kstack] = sum(10); }"""
DECODE = """
const { Profile } = require('pprof-format');
const p = Profile.decode(require('zlib').gunzipSync(require('fs').readFileSync(0)));
const text = i => p.stringTable.strings[Number(i)];
const functions = {}, locations = {}, mappings = {};
for (const f of p.function) functions[f.id] = text(f.name);
for (const l of p.location) locations[l.id] = l;
for (const m of p.mapping) mappings[m.id] = m;
console.log(JSON.stringify({
	types: p.sampleType.map(t => text(t.type) + '/' + text(t.unit)),
	period: p.periodType ? [text(p.periodType.type), Number(p.period)] : null,
	comments: p.comment.map(text), seconds: Number(p.durationNanos) / 1e9,
	samples: p.sample.map(s => [s.locationId.map(i => locations[i].line.length ?
		functions[locations[i].line[0].functionId] : '?'), s.value.map(Number),
		locations[s.locationId[0]].address.toString(16),
		text(mappings[locations[s.locationId[0]].mappingId]?.buildId ?? 0)]) }));
"""
CALLS = {"left": 3, "inner": 5, "right": 2}


def decoded(body):
    return by_node(DECODE, body)


def get(s, path):
    c = http.client.HTTPConnection("127.0.0.1", s.port, timeout=60)
    c.request("GET", "/debug/pprof/" + path)
    r = c.getresponse()
    return r.status, r.read()


def callers(samples):
    """Values of all samples by who called touch()."""
    sums = {}
    for names, values, _, _ in samples:
        who = names[1] if len(names) > 1 else names[0]
        had = sums.get(who, [0] * len(values))
        sums[who] = [a + b for a, b in zip(had, values)]
    return sums


def branches(context, times=1):
    for _ in range(times):
        subprocess.run([context.progs + "/branches"], check=True)


def fault_in_kernel():
    """It writes to pages that are not there yet."""
    subprocess.run([sys.executable, "-c", "import mmap, os; m = mmap.mmap(-1, 4000 * 4096); "
                    "m.madvise(15); os.readv(os.open('/dev/zero', 0), [m])"], check=True)


def warm(context, s):
    """Runs it until its stacks are whole: tables to walk them by are read when it was met first.
    How often that was."""
    for n in range(1, 50):
        had = callers(decoded(get(s, "a/calls")[1])["samples"]).get("inner", [0])[0]
        branches(context)
        if callers(decoded(get(s, "a/calls")[1])["samples"]).get("inner", [0])[0] == had + 5:
            return n
    return 0


def by_go(body, *options):
    """{function: [flat, cum]} of go tool pprof, and all that it printed."""
    with tempfile.TemporaryDirectory() as d:
        with open(d + "/p", "wb") as f:
            f.write(body)
        said = subprocess.run(["go", "tool", "pprof", "-unit=B", *options, "-top", d + "/p"],
                              capture_output=True, text=True, check=True).stdout
    rows = re.findall(r"^ *([\d.]+)B? .*? ([\d.]+)B? +[\d.]+% +(\w+)$", said, re.M)
    return {name: [float(flat), float(cum)] for flat, cum, name in rows}, said


def touch_of(context):
    """The address and build id of touch() in branches, as binutils have them."""
    notes = subprocess.run(["readelf", "-n", context.progs + "/branches"], check=True,
                           capture_output=True, text=True).stdout
    nm = subprocess.run(["nm", context.progs + "/branches"], check=True, capture_output=True,
                        text=True).stdout
    return [int(re.search(r"^(\w+) T touch$", nm, re.M)[1], 16),
            re.search(r"Build ID: (\w+)", notes)[1]]


def whole_problem(context, s):
    """Of known calls, read by two decoders."""
    runs = warm(context, s)
    status, body = get(s, "a/calls")
    p = decoded(body)
    calls = sum(values[0] for _, values, _, _ in p["samples"])
    known = callers(p["samples"])["inner"][0] // 5
    found = {who: sums[:2] for who, sums in callers(p["samples"]).items() if who in CALLS}
    if calls != 10 * runs or not known or \
            found != {who: [n * known, 100 * n * known] for who, n in CALLS.items()}:
        return f"{status}: {runs} runs are {found}, {calls} in all"
    place = touch_of(context)
    if any([int(address, 16), build] != place for names, _, address, build in p["samples"]
           if names[0] == "touch"):
        return f"touch() of branches is at {place}, not as in {p['samples']}"
    if p["types"] != ["n/count", "some_bytes/bytes", "most/count"] or p["period"]:
        return f"it is of {p['types']} with a period of {p['period']}"
    rows, said = by_go(body, "-sample_index=some_bytes")
    if rows.get("touch") != [1000 * known] * 2 or rows.get("right") != [0, 700 * known]:
        return shown("go tool pprof has other sums", said, str(rows))
    return None


def part_problem(context, s):
    """Of some seconds there is only what came in them, and others are answered meanwhile."""
    got = []
    t = threading.Thread(target=lambda: got.append(get(s, "calls?seconds=3")))
    began = time.time()
    t.start()
    time.sleep(1)
    branches(context, 2)
    asked = time.time()
    s.ask("/healthz")
    asked = time.time() - asked
    t.join()
    took = time.time() - began
    p = decoded(got[0][1])
    found = callers(p["samples"])
    if found != {who: [2 * n, 200 * n] for who, n in CALLS.items()}:
        return f"of two runs it has {found}"
    if p["types"] != ["n/count", "some_bytes/bytes"]:
        return f"it has {p['types']}: a maximum of a part is not known"
    if not 2.9 < p["seconds"] < 3 + took or took < 3 or asked > 1 * context.factor:
        return f"it is of {p['seconds']} s, took {took} s, and others waited {asked} s"
    return None


@on_host
def test_serve_pprof_is_the_truth(context):
    require("root", "cmd:go", "cmd:node", "kernel:5.17")
    with files(a_bt=SCRIPT % context.progs) as d, serving(context, d + "/a.bt") as s:
        if not up(s, "a", 30 * context.factor):
            return "the collector does not answer"
        names = get(s, "")[1].decode()
        if names != "a/calls\tcalls\na/faults_by\tfaults_by\n":
            return f"the profiles are {names!r}"
        fault_in_kernel()
        p = decoded(get(s, "faults_by")[1])
        if p["period"] != ["page-faults", 10] or \
                "sampled: one of 10 page-faults" not in p["comments"]:
            return f"one of 10 is counted, and it says {p['period']} {p['comments']}"
        with open("/sys/kernel/notes", "rb") as f:
            notes = f.read()
        if {build for names, _, _, build in p["samples"] if names[0] != "[no stack]"} != \
                {notes[(at := notes.index(b"GNU\0") + 4):at + 20].hex()}:
            return f"the kernel is another one: {p['samples'][:2]}"
        return whole_problem(context, s) or part_problem(context, s)


@on_host
def test_serve_pprof_is_bounded(context):
    """Stacks beyond max_series are in one, so that sums stay; of requests that wait there are
    eight, and a client that goes gives its place back."""
    require("root", "cmd:node", "kernel:5.17")
    with files(a_bt=SCRIPT % context.progs) as d, \
            serving(context, "--max-series", "2", d + "/a.bt") as s:
        if not up(s, "a", 30 * context.factor):
            return "the collector does not answer"
        runs = warm(context, s)
        p = decoded(get(s, "calls")[1])
        if sum(v[0] for _, v, _, _ in p["samples"]) != 10 * runs or len(p["samples"]) != 3 or \
                not re.search(r"[34] more stacks are \[others\]", " ".join(p["comments"])):
            return f"with two stacks at most it is {p}"
        clients = []
        for _ in range(8):
            clients.append(socket.create_connection(("127.0.0.1", s.port)))
            clients[-1].sendall(b"GET /debug/pprof/calls?seconds=60 HTTP/1.1\r\nHost: x\r\n\r\n")
        full = until(lambda: get(s, "calls?seconds=1")[0] == 503, 10 * context.factor)
        for c in clients:
            c.close()
        free = until(lambda: get(s, "calls?seconds=1")[0] == 200, 10 * context.factor)
        wrong = [get(s, "calls?seconds=" + n)[0] for n in ("0", "301", "-1", "x", "1x")]
        wrong += [get(s, n)[0] for n in ("none", "a/none", "a/faults", "a/calls/x", "x" * 99)]
        if not full or not free or wrong != [400] * 5 + [404] * 5:
            return f"too many are refused: {full}, places come back: {free}, wrong ones: {wrong}"
    return None


@on_host
def test_serve_pprof_of_a_collector_that_ends(context):
    """Its part is not known then; a server that ends does not wait."""
    require("root", "kernel:5.17")
    with files(a_bt=SCRIPT % context.progs) as d, serving(context, d + "/a.bt") as s:
        if not up(s, "a", 30 * context.factor):
            return "the collector does not answer"
        got = []
        t = threading.Thread(target=lambda: got.append(get(s, "calls?seconds=3")))
        t.start()
        time.sleep(1)
        os.kill(children_of(s.process.pid)[0], signal.SIGKILL)
        t.join()
        if got[0][0] != 503 or b"ended" not in got[0][1]:
            return f"the collector was killed, and the answer is {got[0]}"
        if not up(s, "a", 30 * context.factor):
            return "the collector does not come back"
        with socket.create_connection(("127.0.0.1", s.port)) as c:
            c.sendall(b"GET /debug/pprof/calls?seconds=60 HTTP/1.1\r\nHost: x\r\n\r\n")
            time.sleep(0.5)
            ended = time.time()
            s.process.send_signal(signal.SIGTERM)
            s.process.wait(30)
            ended = time.time() - ended
        return None if ended < 1 * context.factor and s.process.returncode == 0 else \
            f"it took {ended} s to end, with status {s.process.returncode}"


# Touches so many pages under a name of its own.
TOUCH = """import mmap; open('/proc/self/comm', 'w').write('%s')
m = mmap.mmap(-1, %d * 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
m.madvise(15)  # MADV_NOHUGEPAGE
for i in range(0, len(m), 4096): m[i] = 1"""


@on_host
def test_serve_has_profiles_by_itself(context):
    """Of page faults one of 1000 is looked at on each processor, and stands for all of them."""
    require("root", "cmd:node")
    name, pages, period = f"tch{os.getpid()}", 50000, 1000
    with serving(context) as s:
        if not up(s, "machine", 30 * context.factor):
            return "the collector does not answer"
        if get(s, "")[1].decode() != "machine/page_faults\tpage_faults\nmachine/reclaim\treclaim\n":
            return f"the profiles are {get(s, '')[1]}"
        subprocess.run([sys.executable, "-c", TOUCH % (name, pages)], check=True)
        p = decoded(get(s, "page_faults")[1])
        found = sum(v[0] for names, v, _, _ in p["samples"] if names[-1] == name)
        if p["period"] != ["page-faults", period] or \
                abs(found - pages) > period * (os.cpu_count() + 2):
            return f"{found} of {pages} faults, with a period of {p['period']}"
        svg = s.ask("/api/v1/flame/machine/page_faults")
        return None if svg[0] == 200 and name in svg[2] else "the flame graph does not have them"
