# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""memtap serve and the servers of Debian 13: prometheus scrapes it, vmagent does and writes to
victoria-metrics, which takes its OTLP, too; that prometheus was built without it.
`make newer-check` runs this."""
import contextlib
import json
import os
import subprocess
import tempfile
import urllib.parse
import urllib.request

from lib.report import Skip
from run.scenarios import free_port, on_host, require, until
from run.scenarios.serve import read_as, script, serving, up
from run.scenarios.serve_fleet import HISTOGRAMS

CONFIG = """
global: {scrape_interval: 250ms}
scrape_configs:
  - job_name: memtap
    static_configs: [{targets: ["127.0.0.1:%d"]}]
"""


class Program:
    """One of the packages' in that directory, with their loader and libraries."""

    def __init__(self, name, *args):
        d = os.environ["NEWER"]
        self.process = subprocess.Popen(
            [d + "/usr/lib64/ld-linux-x86-64.so.2", "--library-path",
             d + "/usr/lib/x86_64-linux-gnu", f"{d}/usr/bin/{name}", *args],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def ask(port, query):
    """Values; [] when it does not answer."""
    where = f"http://127.0.0.1:{port}/api/v1/query?" + urllib.parse.urlencode({"query": query})
    try:
        with urllib.request.urlopen(where, timeout=30) as r:
            return [float(row["value"][1]) for row in json.load(r)["data"]["result"]]
    except OSError:
        return []


def answers(port, wanted, patience):
    """What is wrong of the answers, None nothing."""
    def right(query, value):
        found = ask(port, query)
        return len(found) == 1 and abs(found[0] - value) < 1e-3
    for query, value in wanted.items():
        if not until(lambda q=query, v=value: right(q, v), patience):
            return f"{query} is {ask(port, query)}, not {value}"
    return None


@contextlib.contextmanager
def prometheus(d, target):
    port = free_port()
    with open(d + "/prometheus.yml", "w") as f:
        f.write(CONFIG % target)
    with Program("prometheus", f"--config.file={d}/prometheus.yml",
                 f"--storage.tsdb.path={d}/data", f"--web.listen-address=127.0.0.1:{port}",
                 "--enable-feature=native-histograms"):
        yield port


@contextlib.contextmanager
def victoria(d, target):
    """Scraped by vmagent, which has an address of its own."""
    port = free_port()
    with open(d + "/vmagent.yml", "w") as f:
        f.write(CONFIG % target)
    with Program("victoria-metrics", f"-storageDataPath={d}/vm",
                 f"-httpListenAddr=127.0.0.1:{port}", "-search.latencyOffset=0s"), \
            Program("vmagent", f"-promscrape.config={d}/vmagent.yml",
                    f"-remoteWrite.url=http://127.0.0.1:{port}/api/v1/write",
                    f"-remoteWrite.tmpDataPath={d}/vmagent",
                    f"-httpListenAddr=127.0.0.1:{free_port()}"):
        yield port


def sent(context, url, path):
    """A second memtap, which sends the same script's maps by OTLP."""
    return serving(context, "--otlp", url, "--otlp-every", "1", path)


@on_host
def test_serve_newer_servers(context):
    """The same reads by all ways: scraped, with native histograms, and sent."""
    require("root")
    if "NEWER" not in os.environ:
        raise Skip("make newer-check runs it")
    name, patience = f"rn{os.getpid()}", 60 * context.factor
    with tempfile.TemporaryDirectory() as d, contextlib.ExitStack() as stack:
        path = stack.enter_context(script(HISTOGRAMS % name))
        s = stack.enter_context(serving(context, path))
        prom = stack.enter_context(prometheus(d, s.port))
        vm = stack.enter_context(victoria(d, s.port))
        to_vm = stack.enter_context(
            sent(context, f"http://127.0.0.1:{vm}/opentelemetry/v1/metrics", path))
        for one in (s, to_vm):
            if not up(one, "reads", patience):
                return "a collector does not answer"
        read_as(name, 100, 60)
        read_as(name, 3000, 20)
        wrong = answers(prom, {
            f'histogram_count(whole{{instance="127.0.0.1:{s.port}"}})': 80,
            f'histogram_fraction(64, 128, whole{{instance="127.0.0.1:{s.port}"}})': 0.75,
            f'histogram_fraction(80, 128, fine{{instance="127.0.0.1:{s.port}"}})': 0.75,
            f'steps_count{{instance="127.0.0.1:{s.port}"}}': 80}, patience)
        if wrong:
            return "prometheus: " + wrong
        wrong = answers(vm, {
            f'sum(whole_count{{instance="127.0.0.1:{s.port}"}})': 80,
            f'sum(steps_bucket{{instance="127.0.0.1:{s.port}",le="999"}})': 60,
            'sum(whole_count{instance=""})': 80,
            'sum(steps_bucket{instance="",le="999"})': 60}, patience)
        return f"victoria-metrics: {wrong}" if wrong else None
