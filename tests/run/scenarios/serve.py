# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""memtap serve: what it answers beside the truth, collectors that end, requests of all kinds."""
import contextlib
import http.client
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import time

from lib import machine
from run.scenarios import HERE, children_of, on_host, require, shown, until
from run.scenarios.cachefind import Apart
from run.scenarios.caches import Server

# Reads so many times so many bytes; the script below counts them.
READER = "import os; f = os.open('/dev/zero', os.O_RDONLY); [os.read(f, %d) for _ in range(%d)]"
SCRIPT = """
BEGIN { metric(@bytes, "asked", "Asked for.", "bytes"); metric(@by, "calls", "", "", "who"); }
tracepoint:syscalls:sys_enter_read /comm == "%s"/ {
	@reads[(comm=comm, size=args.count)] = count();
	@bytes = sum(args.count);
	@by[comm] = count();
	@size = hist(args.count);
	@began[tid] = nsecs;
}
tracepoint:syscalls:sys_exit_read /@began[tid]/ {
	@wait_ns = stats(nsecs - @began[tid]);
	delete(@began, tid);
}
interval:ms:100 { print(@reads); clear(@reads); print(@bytes); zero(@bytes); clear(@size); }
"""
DEPLOY = HERE + "/../../deploy/"
# Runs its arguments in a process whose memory can not become code (PR_SET_MDWE).
NO_NEW_CODE = "import ctypes, os, sys; ctypes.CDLL(None).prctl(65, 1, 0, 0, 0); " \
              "os.execv(sys.argv[1], sys.argv[1:])"
OPEN = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"


class Serve:
    def __init__(self, context, *args, enter=()):
        self.process = subprocess.Popen(
            [*enter, context.memtap, "serve", "--listen", "127.0.0.1:0", *args], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=1)
        line = self.process.stderr.readline()
        if context.one_file and "no libseccomp" in line:
            line = self.process.stderr.readline()
        self.port = int(re.search(r"https?://127\.0\.0\.1:(\d+)/metrics", line)[1])

    def ask(self, path="/metrics", accept="", method="GET"):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        c.request(method, path, headers={"Accept": accept} if accept else {})
        r = c.getresponse()
        return r.status, r.getheader("Content-Type"), r.read().decode()

    def value(self, sample):
        """Of a sample in the text form, None when it is not there."""
        found = re.search(rf"^{re.escape(sample)} (\S+)$", self.ask()[2], re.M)
        return float(found[1]) if found else None


@contextlib.contextmanager
def serving(context, *args, enter=()):
    s = Serve(context, *args, enter=enter)
    try:
        yield s
    finally:
        s.process.kill()
        s.process.wait()


@contextlib.contextmanager
def files(**texts):
    """Files in a folder of their own, reads_bt being reads.bt."""
    with tempfile.TemporaryDirectory() as d:
        for name, text in texts.items():
            with open(f"{d}/{name.replace('_', '.')}", "wb") as f:
                f.write(text if isinstance(text, bytes) else text.encode())
        yield d


@contextlib.contextmanager
def script(text):
    with files(reads_bt=text) as d:
        yield d + "/reads.bt"


def read_as(name, size, times):
    subprocess.run([sys.executable, "-c", "open('/proc/self/comm', 'w').write(%r); " % name +
                    READER % (size, times)], check=True)


def up(s, name, patience):
    return until(lambda: s.value(f'memtap_collector_up{{collector="{name}"}}') == 1, patience)


def test_serve_counts_what_happened(context):
    """Counters are the truth, though the script prints and clears its maps meanwhile."""
    require("root")
    machine.library("libmicrohttpd.so.*")
    name = f"rd{os.getpid()}"
    key = f'collector="reads",comm="{name}"'
    with script(SCRIPT % name) as path, serving(context, path) as s:
        if not up(s, "reads", 30 * context.factor):
            return "the collector does not answer"
        for _ in range(3):
            read_as(name, 100, 50)
            time.sleep(0.15)
        read_as(name, 3000, 7)
        want = {f'reads_total{{{key},size="100"}}': 150, f'reads_total{{{key},size="3000"}}': 7,
                'size_bucket{collector="reads",le="127"}': 150,
                'size_bucket{collector="reads",le="4095"}': 157,
                'size_count{collector="reads"}': 157, 'wait_seconds_count{collector="reads"}': 157,
                'asked_bytes_total{collector="reads"}': 36000,
                f'calls_total{{collector="reads",who="{name}"}}': 157}
        found = {k: s.value(k) for k in want}
        page = s.ask()[2]
        if found != want:
            return shown(f"{found}, not {want}", page, "")
        if "began" in page:
            return shown("notes of the script are metrics", page, "")
        status, kind, text = s.ask(accept=OPEN)
        if (status, kind.split(";")[0], text[-6:]) != (200, "application/openmetrics-text",
                                                       "# EOF\n"):
            return shown(f"{status} {kind}", text, "")
        older = s.ask(accept="application/openmetrics-text;q=0.1, text/*;q=0.2")[1]
        if not older.startswith("text/plain"):
            return f"{older} is not what was wanted most"
        if "# HELP asked_bytes Asked for.\n# UNIT asked_bytes bytes\n" not in text:
            return shown("metric() is not looked at", text, "")
        if "# TYPE reads counter\n" not in text or 'le="127.0"' not in text:
            return shown("not as OpenMetrics has it", text, "")
    return None


@on_host
def test_serve_starts_a_collector_again(context):
    require("root")
    good = "interval:s:1 { @ticks = count(); }"
    with script(good) as path, serving(context, "--restart", "1", path, path) as s:
        if not up(s, "reads", 30 * context.factor) or not up(s, "reads_2", 30 * context.factor):
            return "the collectors do not answer"
        children = children_of(s.process.pid)
        os.kill(min(children), signal.SIGKILL)
        if not until(lambda: s.ask("/healthz")[0] == 503, 10 * context.factor):
            return "it is not said that a collector ended"
        if s.value('memtap_collector_up{collector="reads_2"}') != 1:
            return "the other one does not answer any more"
        if not up(s, "reads", 60 * context.factor) or s.ask("/healthz")[0] != 200:
            return "it was not started again"
        if s.value('memtap_collector_starts_total{collector="reads"}') != 2:
            return "its starts are not counted"
        children = children_of(s.process.pid)
        began = time.monotonic()
        s.process.send_signal(signal.SIGTERM)
        status = s.process.wait(60 * context.factor)
        if status or time.monotonic() - began > 2 * context.factor:
            return f"it ended with {status} in {time.monotonic() - began:.1f} s"
        left = [c for c in children if os.path.exists(f"/proc/{c}")]
        return f"collectors are left: {left}" if left else None


@on_host
def test_serve_keeps_the_number_of_series(context):
    """What is beyond is one series, and all together is the truth."""
    require("root")
    text = """BEGIN { $i = 0; while ($i < 500) { @n[$i] = sum((uint64)$i); $i++; } }
        interval:s:1 { @ticks = count(); }"""
    with script(text) as path, serving(context, "--max-series", "10", path) as s:
        if not up(s, "reads", 30 * context.factor):
            return "the collector does not answer"
        page = s.ask()[2]
        own = [int(n) for n in re.findall(r'^n_total\{.*key="\d+"\} (\d+)$', page, re.M)]
        rest = [int(n) for n in re.findall(r'^n_total\{.*other="true"\} (\d+)$', page, re.M)]
        left = s.value('memtap_collector_series_left_out{collector="reads"}')
        if sorted(own) != list(range(490, 500)) or sum(own + rest) != sum(range(500)) or \
                left != 490:
            return shown(f"{own} {rest} {left}", page, "")
    return None


@on_host
def test_serve_ends_series(context):
    """A key that comes no more leaves the page and the map, which then has room for others; one
    that returns begins at 0. In a map that programs read all stay."""
    require("root")
    name = f"rd{os.getpid()}"
    text = """config = { max_map_keys = 8; }
        tracepoint:syscalls:sys_enter_read /comm == "%s"/ {
            @n[args.count] = count(); @asked[args.count] = sum((uint64)2);
            if (@asked[args.count] > 1000) { exit(); } }
        interval:ms:100 { @ticks = count(); }""" % name
    labels = 'collector="reads"'
    with script(text) as path, serving(context, "--idle", "1", path) as s:
        if not up(s, "reads", 30 * context.factor):
            return "the collector does not answer"
        def reads_then_ends(sizes):
            for size in sizes:
                read_as(name, size, 3)
            until(lambda: s.value(f'n_total{{{labels},key="{sizes[-1]}"}}') == 3, 5)
            page = s.ask()[2]
            seen = re.findall(r'^n_total\{.*key="(\d+)"\} 3$', page, re.M)
            return seen if not until(lambda: "\nn_total{" not in s.ask()[2], 20 * context.factor) \
                else len(seen)
        first = reads_then_ends(range(11, 15))
        second = reads_then_ends(range(21, 25))
        third = reads_then_ends(range(31, 35))
        if [first, second, third] != [4, 4, 4]:
            return shown(f"series: {first}, {second}, {third}", s.ask()[2], "")
        ended = s.value(f"memtap_collector_series_ended_total{{{labels}}}")
        if ended != 12 or s.value(f"ticks_total{{{labels}}}") is None:
            return shown(f"{ended} series ended", s.ask()[2], "")
        if s.value(f'asked_total{{{labels},key="11"}}') != 6:
            return shown("what programs read has ended, too", s.ask()[2], "")
        read_as(name, 11, 5)
        again = [s.value(f'n_total{{{labels},key="11"}}') for _ in range(2)]
        return None if again == [0, 5] else f"one that returns is {again}"


@on_host
def test_serve_requests(context):
    """No request but GET and HEAD of what is there; junk ends its own connection only."""
    require("root")
    with script("interval:s:1 { @ticks = count(); }") as path, serving(context, path) as s:
        wrong = {(method, where): s.ask(where, method=method)[0]
                 for method, where in (("GET", "/"), ("HEAD", "/metrics"), ("GET", "/nothing"),
                                       ("GET", "/../etc/passwd"), ("DELETE", "/metrics"))}
        if list(wrong.values()) != [200, 200, 404, 404, 405]:
            return f"{wrong}"
        for junk in (b"\0\xff" * 5000, b"GET /" + b"x" * 100000, b"GET / HTTP/1.1\r\n" * 3000,
                     b"POST /metrics HTTP/1.1\r\nContent-Length: 9999999999\r\n\r\nabc"):
            with socket.create_connection(("127.0.0.1", s.port), 60) as c:
                with contextlib.suppress(OSError):
                    c.sendall(junk)
        if s.ask("/metrics")[0] != 200 or s.process.poll() is not None:
            return "it does not answer after junk"
    return None


def proc(path, name):
    """A number of a file of /proc."""
    found = re.search(rf"^{name}:?\s+(\d+)", open(path).read(), re.M)
    return int(found[1])


@on_host
def test_serve_shows_the_machine(context):
    """Without a collector named; beside /proc before and after."""
    require("root")
    def look():
        pressure = open("/proc/pressure/memory").read()
        return {"memory_total_bytes": proc("/proc/meminfo", "MemTotal") * 1024,
                "memory_faults_total": proc("/proc/vmstat", "pgfault"),
                'memory_pressure_seconds_total{kind="some"}':
                    int(re.search(r"^some .*total=(\d+)", pressure, re.M)[1]) / 1e6}
    with serving(context) as s:
        if not up(s, "machine", 30 * context.factor):
            return "the collector does not answer"
        before = look()
        page = s.ask()[2]
        after = look()
        for name in before:
            value = re.search(rf"^{re.escape(name)} (\S+)$", page, re.M)
            if not value or not before[name] <= float(value[1]) <= after[name]:
                return shown(f"{name}: {before[name]} {value} {after[name]}", page, "")
        helps = re.findall("^# HELP (.*)", page, re.M)
        unsaid = [h for h in helps if "The map @" in h or not h.endswith(".")]
    return f"what it is in a sentence: {unsaid} of {len(helps)}" if unsaid or not helps else None


@on_host
def test_serve_collector_ends_though_nobody_reads(context):
    """What it answers waits in a full socket when the signal comes."""
    require("root")
    ours, its = socket.socketpair()
    text = "BEGIN { $i = 0; while ($i < 4000) { @n[$i] = sum((uint64)$i); $i++; } }"
    with ours, its, subprocess.Popen(
            [context.memtap, "--feed", f"{its.fileno()},5000,0,x", "-q", "-e", text +
             " interval:s:1 { @ticks = count(); }"], pass_fds=[its.fileno()],
            stdout=subprocess.DEVNULL) as p:
        ours.send(b"a" * 200)
        if not ours.recv(1):
            return "it does not answer"
        time.sleep(1)
        p.send_signal(signal.SIGTERM)
        try:
            status = p.wait(10 * context.factor)
        except subprocess.TimeoutExpired:
            p.kill()
            return "it goes on waiting for its reader"
        return f"it ended with {status}" if status else None


MISTAKES = """\
listen: 127.0.0.1:9470
max_serie: 100
max_series: "7"
defaults: maybe
collectors:
  - vmscn
  - name: reads
  - run: bad.bt
    name: [x]
    max_series: 0
  - {run: vmscan, run: faults}
"""
# Files, and the places and beginnings of what is said of each.
CHECKED = (
    (MISTAKES, ("2:1: there is no key 'max_serie'", "3:13: expected a number",
                "4:11: expected true or false", "6:5: there is no tool",
                "7:5: expected the key 'run'", "9:11: expected a text",
                "10:17: expected a number", "11:19: the key 'run' is there twice")),
    ("collectors:\n  - \"vmscan\n", ("3:1: found unexpected end of stream",)),
    (b"listen: a\ncollectors: \xff\n", ("2:13: invalid leading UTF-8",)),
    ("listen: a\n---\nlisten: b\n", ("3:1: there is a second document",)),
    ("- vmscan\n", ("1:1: expected a map",)),
    ("collectors: &a\n  - *a\n  - run: 'x \"'\n", ("1:13: expected a collector",
                                                 "3:10: a collector has a \"")),
    ("", ()),
    ("collectors: [vmscan, {run: good.bt, name: b, max_series: 3}]\n", ()),
)


@on_host
def test_serve_check(context):
    """Each mistake with its place, scripts compiled, nothing run."""
    for text, wanted in CHECKED:
        with files(s_yml=text, good_bt="BEGIN { @x = 1; }", bad_bt="BEGIN { @x = ; }") as d:
            p = subprocess.run([context.memtap, "serve", "--check", d + "/s.yml"], text=True,
                               capture_output=True)
            errors = [e.removeprefix(f"ERROR: {d}/s.yml:") for e in p.stderr.splitlines()
                      if not e.startswith("HINT")]
            if p.returncode != bool(wanted) or len(errors) != len(wanted) or \
                    not all(e.startswith(w) for e, w in zip(errors, wanted)):
                return shown(f"status {p.returncode}, not {wanted}", p.stdout, p.stderr)
    with files(s_yml="collectors: [good.bt, bad.bt]", good_bt="BEGIN { @x = 1; }",
               bad_bt="BEGIN { @x = ; }") as d:
        p = subprocess.run([context.memtap, "serve", "--check", d + "/s.yml"], text=True,
                           capture_output=True)
        if p.returncode != 1 or f"{d}/bad.bt:1:14-15: ERROR: syntax" not in p.stderr:
            return shown("the script's mistake is not said", p.stdout, p.stderr)
    return None


@on_host
def test_serve_documented_file(context):
    """The file that docs/serve.md shows is right."""
    text = open(HERE + "/../../docs/serve.md").read()
    block = re.search(r"\n\n((?:    listen: .*\n)(?:(?:    .*)?\n)*)", text)[1]
    with files(s_yml=textwrap.dedent(block), reads_bt="BEGIN { @x = 1; }") as d:
        p = subprocess.run([context.memtap, "serve", "--check", d + "/s.yml"], text=True,
                           capture_output=True)
        return shown("it has mistakes", block, p.stderr) if p.returncode else None


def write(path, text):
    with open(path, "w") as f:
        f.write(text)


@on_host
def test_serve_reads_its_file_again(context):
    """What did not change keeps its counts; a mistake changes nothing."""
    require("root")
    ticks = "BEGIN { @n = count(); } interval:s:1 { @ticks = count(); }"
    with files(a_bt=ticks, b_bt=ticks, c_bt=ticks, s_yml="collectors: [a.bt, b.bt]") as d, \
            serving(context, "--config", d + "/s.yml") as s:
        def starts():
            found = re.findall(r'^memtap_collector_starts_total\{collector="(\w+)"\} (\d+)',
                               s.ask()[2], re.M)
            return {name: int(n) for name, n in found}
        def again(text, right):
            write(d + "/s.yml", text)
            s.process.send_signal(signal.SIGHUP)
            return until(lambda: s.value("memtap_config_last_reload_successful") == right,
                         10 * context.factor)
        if not up(s, "a", 30 * context.factor) or not up(s, "b", 30 * context.factor):
            return "the collectors do not answer"
        before = children_of(s.process.pid)
        if not again("collectors: [a.bt, nothing.bt]", 0) or starts() != {"a": 1, "b": 1}:
            return f"a mistake changed something: {starts()}"
        os.utime(d + "/b.bt", (1, 1))
        if not again("collectors: [c.bt, a.bt, b.bt]", 1) or not up(s, "c", 30 * context.factor):
            return "the new collector does not answer"
        after = children_of(s.process.pid)
        if starts() != {"a": 1, "b": 1, "c": 1} or len(after) != 3 or \
                len(set(before) & set(after)) != 1:
            return f"{starts()}, {before} became {after}"
        for one, stay in (("{run: a.bt, max_series: 5}", 2), ("{run: a.bt, max_series: 5}", 3),
                          ("{run: a.bt 7, max_series: 5}", 2), ("{run: a.bt 8, max_series: 5}", 2)):
            before = children_of(s.process.pid)
            again("collectors: [nothing.bt]", 0)
            if not again(f"collectors: [c.bt, b.bt, {one}]", 1) or \
                    not up(s, "a", 30 * context.factor):
                return f"{one} does not answer"
            after = children_of(s.process.pid)
            if len(after) != 3 or len(set(before) & set(after)) != stay:
                return f"{one}: {before} became {after}"
        if not again("collectors: []", 1) or not until(
                lambda: not children_of(s.process.pid), 10 * context.factor) or starts():
            return f"what is not in the file any more runs: {starts()}"
        s.process.send_signal(signal.SIGTERM)
        return None if s.process.wait(60 * context.factor) == 0 else "it did not end well"


def apart_end(apart, name):
    """Ends what is called so in the namespace: the process started is only what entered it."""
    subprocess.run([*apart.enter, "sh", "-c", 'for p in /proc/[0-9]*; do if [ "$(cat $p/comm)" = '
                    '"$0" ]; then kill -9 "${p#/proc/}"; fi; done', name], check=True)


def page_problem(page):
    """What promtool says of it, and what the rules in deploy/ want and it does not have."""
    text = open(DEPLOY + "memtap.rules.yml").read() + \
        "".join(re.findall('"expr": .*', open(DEPLOY + "grafana.json").read()))
    rules = re.sub(r"#.*|\w+:cache\w*:\w+|(?:summary|run):.*", "", text)
    wanted = set(re.findall(r"\b(?:cache|memory|memtap)_\w+", rules))
    # A native histogram is in this form its buckets.
    lacking = [name for name in wanted if not re.search(rf"^{name}(_bucket)?[{{ ]", page, re.M)]
    if lacking or len(wanted) < 5:
        return shown(f"the rules want {sorted(wanted)}, which are not there: {lacking}", page, "")
    if not shutil.which("promtool"):
        return None
    p = subprocess.run(["promtool", "check", "metrics"], input=page, text=True,
                       capture_output=True, check=False)
    return shown("promtool:", p.stdout, p.stderr) if p.returncode or p.stderr else None


@on_host
def test_serve_rules(context):
    """Those of deploy/ are right and do what their tests say."""
    require("cmd:promtool")
    for argv in (["check", "config", "prometheus.yml"], ["test", "rules", "memtap.rules.test.yml"]):
        p = subprocess.run(["promtool", *argv[:2], DEPLOY + argv[2]], text=True,
                           capture_output=True, check=False)
        if p.returncode:
            return shown(" ".join(argv), p.stdout, p.stderr)
    return None


@on_host
def test_serve_as_a_service(context):
    """It tells its manager when it listens, lives, reads its file again and ends; the socket is the
    manager's."""
    with files(a_bt="interval:s:1 { @ticks = count(); }", s_yml="collectors: []") as d, \
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told, \
            socket.create_server(("127.0.0.1", 0)) as listening:
        told.bind(d + "/notify")
        told.settimeout(30 * context.factor)
        process = subprocess.Popen(
            ["sh", "-c", f'LISTEN_PID=$$ exec "$0" "$@" 3<&{listening.fileno()}', context.memtap,
             "serve", "--listen", "127.0.0.1:1", "--config", d + "/s.yml"], text=True,
            pass_fds=[listening.fileno()], stderr=subprocess.PIPE,
            env={**os.environ, "NOTIFY_SOCKET": d + "/notify", "LISTEN_FDS": "1",
                 "WATCHDOG_USEC": "400000"})
        def told_until(state):
            """All messages up to that one, which must come."""
            seen = []
            while not seen or seen[-1] != state:
                seen.append(told.recv(4096).decode())
            return seen
        try:
            told_until("READY=1")
            port = listening.getsockname()[1]
            with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as c:
                c.request("GET", "/healthz")
                if c.getresponse().read() != b"ok\n":
                    return "it does not answer on the socket that was handed over"
            if told_until("WATCHDOG=1") != ["WATCHDOG=1"]:
                return "something else is told"
            told_until("WATCHDOG=1")
            process.send_signal(signal.SIGHUP)
            seen = [m.split("\n")[0] for m in told_until("READY=1") if m != "WATCHDOG=1"]
            if seen != ["RELOADING=1", "READY=1"]:
                return f"it reads its file again: {seen}"
            process.send_signal(signal.SIGTERM)
            told_until("STOPPING=1")
            return None if process.wait(30 * context.factor) == 0 else "it did not end well"
        finally:
            process.kill()
            process.wait()
            process.stderr.close()


@on_host
def test_serve_as_a_service_without_a_file(context):
    """What its manager wants read again, as `systemctl reload` does, does not end it."""
    with files(a_bt="interval:s:1 { @ticks = count(); }") as d, \
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
        told.bind(d + "/notify")
        told.settimeout(30 * context.factor)
        with serving(context, d + "/a.bt", enter=["env", f"NOTIFY_SOCKET={d}/notify"]) as s:
            said = [told.recv(4096)]
            s.process.send_signal(signal.SIGHUP)
            said += [told.recv(4096).split(b"\n")[0] for _ in range(2)]
            s.process.send_signal(signal.SIGTERM)
            said.append(told.recv(4096))
    return None if said == [b"READY=1", b"RELOADING=1", b"READY=1", b"STOPPING=1"] else f"{said}"


@on_host
def test_serve_with_the_unit_s_rights(context):
    """Collectors attach with what deploy/memtap.service leaves of root's rights, in memory that is
    not made executable; systemd itself does not run here."""
    unit = open(DEPLOY + "memtap.service").read()
    rights = re.search(r"^CapabilityBoundingSet=(.*)", unit, re.M)[1].lower().split()
    bound = ",".join(["-all"] + ["+" + r.removeprefix("cap_") for r in rights])
    enter = ["setpriv", "--bounding-set=" + bound, "--inh-caps=-all", "--no-new-privs",
             sys.executable, "-c", NO_NEW_CODE]
    require("root", "cmd:setpriv")
    with Apart(context) as apart, Server(context, "memcached", apart=apart) as server, \
            serving(context, enter=[*apart.enter, *enter]) as s:
        name = f"memcached:{server.port}"
        if not up(s, "machine", 30 * context.factor) or not up(s, name, 60 * context.factor):
            return shown("collectors do not attach", s.ask()[2], "")
    return None


@on_host
def test_serve_shows_keys_that_are_hot_now(context):
    """One that was asked for more, but earlier, gives way, and comes back with all its calls."""
    require("root")
    with Apart(context) as apart, Server(context, "memcached", apart=apart) as server, \
            serving(context, "mctop --rows 1 --half-life 2",
                    enter=apart.enter) as s:
        def shows(key, calls):
            value = f'cache_key_calls_total{{collector="mctop",key="{key}"}}'
            return until(lambda: s.value(value) == calls, 30 * context.factor)
        if not up(s, "mctop", 30 * context.factor):
            return "the collector does not answer"
        for key, gets, calls in (("old", 60, 61), ("new", 20, 21), ("old", 60, 122)):
            ask_for(server, {key: (10, gets)})
            if not shows(key, calls):
                return shown(f"{key} has {calls} calls", s.ask()[2], "")
            time.sleep(4)
    return None


@contextlib.contextmanager
def in_container(port):
    """Puts the memcached of that port into a control group as Docker's; its id, None where there
    can be none."""
    ident = "%064x" % os.getpid()
    root = next((r for r in ("/sys/fs/cgroup/freezer", "/sys/fs/cgroup")
                 if os.path.exists(r + "/cgroup.procs")), None)
    group = f"{root}/docker-{ident}.scope"
    pids = [p for p in os.listdir("/proc") if p.isdigit() and
            f"-p\0{port}\0" in read_text(f"/proc/{p}/cmdline") and
            read_text(f"/proc/{p}/comm") == "memcached\n"]
    try:
        os.mkdir(group)
    except OSError:
        yield None
        return
    try:
        for p in pids:
            write_text(group + "/cgroup.procs", p)
        yield ident
    finally:
        for p in pids:
            write_text(root + "/cgroup.procs", p)
        os.rmdir(group)


def read_text(path):
    try:
        with open(path) as f:
            return f.read()
    except OSError:
        return ""


def write_text(path, text):
    with contextlib.suppress(OSError), open(path, "w") as f:
        f.write(text)


def ask_for(server, keys):
    """Sets each key to so many bytes, then gets it so many times, and one that is not there."""
    with server.connect() as c, c.makefile("rb") as answers:
        for key, (size, gets) in keys.items():
            c.sendall(b"set %s 0 0 %d\r\n%s\r\n" % (key.encode(), size, b"x" * size))
            answers.readline()
            for _ in range(gets):
                c.sendall(b"get %s\r\n" % key.encode())
                while answers.readline() != b"END\r\n":
                    pass
        c.sendall(b"get absent\r\n")
        answers.readline()


@on_host
def test_serve_finds_cache_servers(context):
    """One that begins later is found, and followed when it is started again; what it was asked is
    the truth, both times together."""
    with Apart(context) as apart, serving(context, "--look", "1", enter=apart.enter) as s:
        keys = {"a": (1000, 50), "b": (300, 20), "c": (10, 3)}
        with Server(context, "memcached", apart=apart) as server:
            port = server.port
            labels = f'collector="memcached:{port}"'
            if not up(s, f"memcached:{port}", 60 * context.factor):
                return shown("it is not found", s.ask()[2], "")
            ask_for(server, keys)
        apart_end(apart, "memcached")
        if not until(lambda: s.value(f"cache_up{{{labels}}}") == 0, 20 * context.factor):
            return "its end is not seen"
        with Server(context, "memcached") as stranger:
            ask_for(stranger, {"stranger": (10, 20)})
        with Server(context, "memcached", port=port, apart=apart) as server:
            if not until(lambda: s.value(f"cache_up{{{labels}}}") == 1, 30 * context.factor):
                return "it is not found again"
            ask_for(server, keys)
            want = {f'cache_calls_total{{{labels},op="get"}}': 148,
                    f'cache_calls_total{{{labels},op="set"}}': 6,
                    f'cache_lookups_total{{{labels},result="hit"}}': 146,
                    f'cache_lookups_total{{{labels},result="miss"}}': 2,
                    f'cache_value_bytes_total{{{labels}}}': 2 * (51000 + 6300 + 40),
                    f'cache_service_seconds_count{{{labels}}}': 154,
                    f'cache_key_calls_total{{{labels},key="a"}}': 102,
                    f'cache_key_size_bytes{{{labels},key="b"}}': 300,
                    f'cache_key_misses_total{{{labels},key="absent"}}': 2,
                    f'memtap_collector_starts_total{{{labels}}}': 1}
            until(lambda: s.value(f'cache_lookups_total{{{labels},result="miss"}}') == 2,
                  20 * context.factor)
            found = {k: s.value(k) for k in want}
            if found != want:
                return shown(f"{found}, not {want}", s.ask()[2], "")
            every = s.value(f"cache_cpu_seconds_total{{{labels}}}")
            if not 0 < s.value(f'cache_key_cpu_seconds_total{{{labels},key="a"}}') < every < 1:
                return shown("time of the processor", s.ask()[2], "")
            with in_container(port) as ident:
                info = f'cache_server_info{{{labels},server="memcached",container="{ident}"}}'
                if ident and s.value(info) != 1:
                    return shown("the container is not said", s.ask()[2], "")
            return page_problem(s.ask()[2])
