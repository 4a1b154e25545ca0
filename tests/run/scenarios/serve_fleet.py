# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Prometheus scrapes three memtaps, each beside a memcached of its own under a known load: what
PromQL says is the truth, also after memtap and Prometheus were killed and started again."""
import contextlib
import json
import os
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
from run.scenarios.serve import DEPLOY, ask_for

MACHINES = 3
CONFIG = """
global: {scrape_interval: 1s, evaluation_interval: 1s}
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
    def __init__(self, d, machines):
        self.d, self.port = d, free_port()
        with open(d + "/prometheus.yml", "w") as f:
            f.write(CONFIG % ", ".join(f'"127.0.0.1:{m.port}"' for m in machines))
        shutil.copy(DEPLOY + "memtap.rules.yml", d)
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={self.d}/prometheus.yml",
             f"--storage.tsdb.path={self.d}/data", f"--web.listen-address=127.0.0.1:{self.port}",
             "--enable-feature=native-histograms"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def ask(self, query):
        """Label sets as text, and values; {} when it does not answer."""
        where = f"http://127.0.0.1:{self.port}/api/v1/query?" + \
            urllib.parse.urlencode({"query": query})
        try:
            with urllib.request.urlopen(where, timeout=30) as r:
                rows = json.load(r)["data"]["result"]
        except OSError:
            return {}
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
            f"sum(cache_service_seconds_count{{{m.labels}}})": times * (gets + len(keys) + 1),
            f"sum(cache_service_seconds_bucket{{{m.labels},le='+Inf'}})":
                times * (gets + len(keys) + 1)}
    for query, value in want.items():
        if not p.becomes(query, value, 30 * factor):
            return f"{query} is {p.ask(query)}, not {value}"
    # The middle answer lies in the bucket that Prometheus names.
    half = p.ask(f"histogram_quantile(0.5, cache_service_seconds_bucket{{{m.labels}}})")
    mean = p.ask(f"cache_service_seconds_sum{{{m.labels}}} / cache_service_seconds_count"
                 f"{{{m.labels}}}")
    if len(half) != 1 or len(mean) != 1 or not 0 < min(*half.values(), *mean.values()) < 1:
        return f"half of the answers took {half}, the mean is {mean}"
    return None


def all_right(p, machines, times, factor):
    problems = (problem(p, m, i, times[i], factor) for i, m in enumerate(machines))
    return next((text for text in problems if text), None)


@on_host
def test_serve_by_prometheus(context):
    require("root", "cmd:prometheus")
    with tempfile.TemporaryDirectory() as d, contextlib.ExitStack() as stack:
        machines = [Machine(context, stack) for _ in range(MACHINES)]
        p = Prometheus(d, machines)
        stack.callback(p.kill)
        factor = context.factor
        if not p.becomes("count(cache_up == 1)", MACHINES, 90 * factor):
            return shown("not all are scraped", str(p.ask("up")), str(p.ask("cache_up")))
        for i, m in enumerate(machines):
            ask_for(m.server, load_of(i))
        wrong = all_right(p, machines, [1, 1, 1], factor)
        if wrong:
            return wrong
        machines[1].kill()
        if not p.becomes("sum(up)", MACHINES - 1, 30 * factor):
            return "its end is not seen"
        machines[1].start()
        p.kill()
        p.start()
        if not p.becomes("count(cache_up == 1)", MACHINES, 90 * factor):
            return shown("not all are scraped again", str(p.ask("up")), str(p.ask("cache_up")))
        for i, m in enumerate(machines):
            ask_for(m.server, load_of(i))
        wrong = all_right(p, machines, [2, 1, 2], factor)
        resets = p.ask("max by (instance) (resets(cache_commands_total[10m]))")
        if not wrong and sorted(resets.values()) != [0, 0, 1]:
            wrong = f"counters went back so often: {resets}"
        return wrong
