# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Prometheus scrapes three memtaps, each beside a memcached of its own under a known load: what
PromQL says is the truth, also after memtap and Prometheus were killed and started again."""
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import urllib.parse
import urllib.request

from run.scenarios import children_of, free_port, on_host, require, shown, until
from run.scenarios.cachefind import Apart
from run.scenarios.caches import Server
from run.scenarios.serve import DEPLOY, ask_for, read_as, script, serving, up

MACHINES = 3
CONFIG = """
global: {scrape_interval: 250ms, evaluation_interval: 250ms}
rule_files: [memtap.rules.yml]
scrape_configs:
  - job_name: memtap
    static_configs: [{targets: [%s]}]
"""


class Machine:
    """A memtap that sees one memcached only; Prometheus reaches both of all machines."""

    def __init__(self, context, stack):
        self.context = context
        self.apart = stack.enter_context(Apart(context))
        self.server = stack.enter_context(Server(context, "memcached", apart=self.apart))
        self.listening = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        self.port = self.listening.getsockname()[1]
        self.labels = f'collector="memcached:{self.server.port}",instance="127.0.0.1:{self.port}"'
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [*self.apart.enter, "sh", "-c", f'LISTEN_PID=$$ exec "$0" serve 3<&'
             f"{self.listening.fileno()}", self.context.memtap], env={**os.environ,
             "LISTEN_FDS": "1"}, pass_fds=[self.listening.fileno()], stderr=subprocess.DEVNULL)

    def kill(self):
        """Its collectors end with it."""
        memtap = children_of(self.process.pid)[0]
        os.kill(memtap, signal.SIGKILL)
        self.process.wait()


class Prometheus:
    """With native histograms it asks for the protobuf form, else for OpenMetrics."""

    def __init__(self, d, ports, native):
        self.d, self.port = d, free_port()
        with open(d + "/prometheus.yml", "w") as f:
            f.write(CONFIG % ", ".join(f'"127.0.0.1:{port}"' for port in ports))
        shutil.copy(DEPLOY + "memtap.rules.yml", d)
        self.native = native
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={self.d}/prometheus.yml",
             f"--storage.tsdb.path={self.d}/data", f"--web.listen-address=127.0.0.1:{self.port}",
             *(["--enable-feature=native-histograms"] if self.native else [])],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def ask(self, query, fails=False):
        """Label sets as text, and values; {} when it does not answer, with `fails` None."""
        where = f"http://127.0.0.1:{self.port}/api/v1/query?" + \
            urllib.parse.urlencode({"query": query})
        try:
            with urllib.request.urlopen(where, timeout=30) as r:
                rows = json.load(r)["data"]["result"]
        except OSError:
            return None if fails else {}
        return {json.dumps(row["metric"], sort_keys=True): float(row["value"][1]) for row in rows}

    def becomes(self, query, value, seconds):
        return until(lambda: list(self.ask(query).values()) == [value], seconds)


def load_of(i):
    """Keys with their sizes and gets: of the machine and no other."""
    return {"a": (1000, 40 * (i + 1)), "b": (20, 10)}


def problem(p, m, i, times, factor):
    """The machine was given its load so often since its memtap began."""
    keys = load_of(i)
    gets = sum(n for _, n in keys.values())
    want = {f"sum(cache_calls_total{{{m.labels}}})": times * (gets + len(keys) + 1),
            f'sum(cache_lookups_total{{{m.labels},result="hit"}})': times * gets,
            f'sum(cache_key_calls_total{{{m.labels},key="a"}})': times * (keys["a"][1] + 1),
            f"sum(cache_value_bytes_total{{{m.labels}}})":
                times * sum(size * (n + 1) for size, n in keys.values()),
            **{query % m.labels: times * (gets + len(keys) + 1) for query in
               (("histogram_count(cache_service_seconds{%s})",) if p.native else
                ("sum(cache_service_seconds_count{%s})",
                 "sum(cache_service_seconds_bucket{%s,le='+Inf'})"))}}
    for query, value in want.items():
        if not p.becomes(query, value, 30 * factor):
            return f"{query} is {p.ask(query)}, not {value}"
    # The middle answer lies in the bucket that Prometheus names.
    suffix, mean = ("", "histogram_sum(cache_service_seconds{%s}) / "
                    "histogram_count(cache_service_seconds{%s})") if p.native else \
        ("_bucket", "cache_service_seconds_sum{%s} / cache_service_seconds_count{%s}")
    half = p.ask(f"histogram_quantile(0.5, cache_service_seconds{suffix}{{{m.labels}}})")
    mean = p.ask(mean % (m.labels, m.labels))
    if len(half) != 1 or len(mean) != 1 or not 0 < min(*half.values(), *mean.values()) < 1:
        return f"half of the answers took {half}, the mean is {mean}"
    return None


def dashboard_problem(p, factor):
    """Its queries are right, and those about servers and memtap itself have an answer."""
    with open(DEPLOY + "grafana.json", encoding="utf-8") as f:
        dashboard = json.load(f)
    queries = {q["expr"]: panel["title"] for panel in dashboard["panels"]
               for q in panel.get("targets", [])}
    rare = re.compile("major_faults|direct_reclaim")    # where the machine is well there are none
    for expr, title in queries.items():
        for variable, text in (("$__rate_interval", "1m"), ("$instance", ".*"),
                               ("$collector", ".*")):
            expr = expr.replace(variable, text)
        if p.ask(expr, fails=True) is None or \
                not (rare.search(expr) or until(lambda: p.ask(expr), 30 * factor)):
            return f"the dashboard's {title}: {expr} has no answer"
    return None if len(queries) > 15 else f"only {len(queries)} queries"


def all_right(p, machines, times, factor):
    problems = (problem(p, m, i, times[i], factor) for i, m in enumerate(machines))
    return next((text for text in problems if text), None)


# What is read of /dev/zero, by size, in ways that have buckets.
HISTOGRAMS = """
tracepoint:syscalls:sys_enter_read /comm == "%s"/ {
	@whole = hist(args.count);
	@fine[comm] = hist(args.count, 3);
	@took_us = hist(args.count);
	@steps = lhist(args.count, 0, 4000, 1000);
}
"""
# Of 60 reads of 100 bytes and 20 of 3,000. 100 us are in the bucket that is from 2^6 to 2^7 us.
IN_HISTOGRAMS = {
    "histogram_count(whole)": 80, "histogram_fraction(64, 128, whole)": 0.75,
    "histogram_fraction(2048, 4096, whole)": 0.25, "histogram_count(fine)": 80,
    "histogram_fraction(80, 128, fine)": 0.75, "histogram_fraction(2896, 3445, fine)": 0.25,
    "histogram_quantile(0.5, fine) > bool 90": 1, "histogram_quantile(0.5, fine) < bool 108": 1,
    "histogram_fraction(0.0000610, 0.0001221, took_seconds)": 0.75,
    "count(whole_bucket) or vector(0)": 0,
    'sum(steps_bucket{le="999.0"})': 60, 'sum(steps_bucket{le="2999.0"})': 60,
    'sum(steps_bucket{le="+Inf"})': 80, "sum(steps_count)": 80,
}


def histograms_problem(context, p, s, name):
    """hist() as Prometheus takes it in the protobuf form, with its own precision; lhist() and all
    else as in the text."""
    read_as(name, 100, 60)
    read_as(name, 3000, 20)
    p.becomes("sum(steps_count)", 80, 60 * context.factor)
    for query, value in IN_HISTOGRAMS.items():
        found = list(p.ask(query).values())
        if len(found) != 1 or abs(found[0] - value) > 1e-3:
            return shown(f"{query} is {p.ask(query)}, not {value}", s.ask()[2], "")
    return None


def killed_problem(context, machines, text, native):
    """A machine's memtap and a Prometheus are killed at once. The latter takes five seconds until
    it scrapes; the other one sees the end, and what was counted since, meanwhile."""
    native.kill()
    machines[1].kill()
    native.start()
    if not text.becomes("sum(up)", MACHINES, 30 * context.factor):
        return "its end is not seen"
    machines[1].start()
    if not text.becomes("count(cache_up == 1)", MACHINES, 90 * context.factor):
        return shown("not all are scraped again", str(text.ask("up")), str(text.ask("cache_up")))
    for i, m in enumerate(machines):
        ask_for(m.server, load_of(i))
    wrong = all_right(text, machines, [2, 1, 2], context.factor)
    resets = text.ask("max by (instance) (resets(cache_commands_total[10m]))")
    if not wrong and sorted(resets.values()) != [0, 0, 1]:
        wrong = f"counters went back so often: {resets}"
    return wrong or all_right(native, machines, [2, 1, 2], context.factor)


@on_host
def test_serve_by_prometheus(context):
    """By one that asks for the text and by one that takes native histograms."""
    require("root", "cmd:prometheus")
    name = f"rd{os.getpid()}"
    with tempfile.TemporaryDirectory() as d, contextlib.ExitStack() as stack:
        machines = [Machine(context, stack) for _ in range(MACHINES)]
        s = stack.enter_context(serving(context, stack.enter_context(script(HISTOGRAMS % name))))
        both = []
        for native in (False, True):
            os.mkdir(f"{d}/{native}")
            both.append(Prometheus(f"{d}/{native}", [m.port for m in machines] + [s.port], native))
            stack.callback(both[-1].kill)
        for p in both:
            if not p.becomes("count(cache_up == 1)", MACHINES, 90 * context.factor):
                return shown("not all are scraped", str(p.ask("up")), str(p.ask("cache_up")))
        for i, m in enumerate(machines):
            ask_for(m.server, load_of(i))
        for p in both:
            wrong = all_right(p, machines, [1, 1, 1], context.factor) or \
                dashboard_problem(p, context.factor)
            if wrong:
                return wrong
        if not up(s, "reads", 30 * context.factor):
            return "the script's collector does not answer"
        return histograms_problem(context, both[1], s, name) or \
            killed_problem(context, machines, *both)
