# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""memtap serve --otlp: what an endpoint is sent, read by OpenTelemetry's own decoder; endpoints
that refuse, that are gone, and that come back."""
import gzip
import http.server
import json
import os
import signal
import subprocess
import threading
import time

from lib.report import Skip
from run.scenarios import HERE, children_of, free_port, loads, on_host, require, shown, until
from run.scenarios.serve import files, serving, write

SCRIPT = """BEGIN { @lat_us = hist(100); @lat_us = hist(3000); @steps = lhist(5, 0, 10, 5);
	@bytes[(who="a\\"b")] = sum((uint64)7); @avg = avg(4); @level = 3; }
interval:s:1 { @ticks = count(); }
software:page-faults:10 { @faults[kstack] = count(); }"""
DECODE = """
const T = require('@opentelemetry/otlp-transformer/build/src/generated/root')
	.opentelemetry.proto.collector.metrics.v1.ExportMetricsServiceRequest;
const m = T.toObject(T.decode(require('fs').readFileSync(0)), { longs: Number, enums: String });
console.log(JSON.stringify(m.resourceMetrics[0]));
"""
CUMULATIVE = "AGGREGATION_TEMPORALITY_CUMULATIVE"
OWN = {"collector": "a"}
# Kind, the rest of it, and its one point without the times.
WANTED = {
    "lat_seconds": ("exponentialHistogram", {"aggregationTemporality": CUMULATIVE},
                    {"attributes": OWN, "count": 2, "scale": 0, "zeroCount": 0,
                     "positive": {"offset": -14, "bucketCounts": [1, 0, 0, 0, 0, 1]}}),
    "steps": ("histogram", {"aggregationTemporality": CUMULATIVE},
              {"attributes": OWN, "count": 1, "bucketCounts": [0, 0, 1, 0],
               "explicitBounds": [-1, 4, 9]}),
    "bytes_total": ("sum", {"aggregationTemporality": CUMULATIVE, "isMonotonic": True},
                    {"attributes": {**OWN, "who": 'a"b'}, "asDouble": 7}),
    "avg": ("summary", {}, {"attributes": OWN, "count": 1, "sum": 4}),
    "level": ("gauge", {}, {"attributes": OWN, "asDouble": 3}),
}


class Endpoint:
    """Answers with the codes of a list, then with 200."""

    def __init__(self, port, codes):
        endpoint = self
        self.codes, self.got = list(codes), []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                code = endpoint.codes.pop(0) if endpoint.codes else 200
                endpoint.got.append((code, self.path, self.headers["Content-Type"], body))
                endpoint.headers = dict(self.headers)
                self.send_response(code)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def by_node(code, body):
    """What a package of npm's makes of a body."""
    where = subprocess.run([HERE + "/../../scripts/otlp-decoder", "--look"], check=True,
                           capture_output=True, text=True).stdout.strip()
    if not where:
        raise Skip("the decoders of npm are not there (scripts/otlp-decoder)")
    p = subprocess.run(["node", "-e", code], input=body, check=True, capture_output=True,
                       env={**os.environ, "NODE_PATH": where + "/node_modules"})
    return json.loads(p.stdout)


def labels(attributes):
    return {a["key"]: a["value"]["stringValue"] for a in attributes}


def content_problem(body):
    all_of = by_node(DECODE, body)
    about = labels(all_of["resource"]["attributes"])
    if about["service.name"] != "memtap" or not about["host.name"]:
        return f"the resource is {about}"
    found = {m["name"]: m for m in all_of["scopeMetrics"][0]["metrics"]}
    for name, (kind, rest, point) in WANTED.items():
        data = dict(found[name].get(kind) or {})
        points = data.pop("dataPoints", [])
        for p in points:
            age = time.time() * 1e9 - p.pop("timeUnixNano")
            if not 0 <= age < 300e9 or not p.pop("startTimeUnixNano"):
                return f"{name} is {age} ns old"
            p["attributes"] = labels(p["attributes"])
        if data != rest or points != [point]:
            return shown(f"{name} is not {kind} {rest} {point}", json.dumps(found[name]), "")
    return None


@on_host
def test_serve_sends_otlp(context):
    """Tried again where the protocol says so, dropped and counted where it does not; while the
    endpoint is gone pages wait."""
    require("root", "cmd:node")
    loads(context, "libcurl")
    port = free_port()
    with files(a_bt=SCRIPT) as d, serving(
            context, "--otlp", f"http://127.0.0.1:{port}/v1/metrics", "--otlp-every", "1",
            d + "/a.bt") as s:
        def counts():
            return [s.value("memtap_otlp_" + n) for n in ("sent_total", "dropped_total", "queued")]
        if not until(lambda: counts()[2] >= 2, 30 * context.factor) or counts()[:2] != [0, 0]:
            return f"nobody listens: {counts()}"
        with Endpoint(port, [503, 429, 400]) as e:
            if not until(lambda: counts()[0] >= 3 and counts()[2] == 0, 60 * context.factor):
                return f"they are not sent: {counts()}"
            if counts()[1] != 1 or [g[0] for g in e.got[:4]] != [503, 429, 400, 200] or \
                    len({g[3] for g in e.got[:3]}) != 1:
                return f"{counts()}: {[(g[0], len(g[3])) for g in e.got]}"
            if e.got[0][1:3] != ("/v1/metrics", "application/x-protobuf"):
                return f"{e.got[0][1:3]} is asked"
            wrong = content_problem(e.got[-1][3])
            if wrong:
                return wrong
            sent = counts()[0]
            pids = [p for p in children_of(s.process.pid) if b"--otlp-feed" in
                    open(f"/proc/{p}/cmdline", "rb").read()]
            os.kill(pids[0], 9)
            if not until(lambda: counts()[0] > sent + 1, 30 * context.factor):
                return f"its process is not started again: {counts()}"
    return None


SECRET = "s3cret value"
TO = """collectors: [a.bt]
otlp:
  url: http://127.0.0.1:%d/v1/metrics
  profiles: http://127.0.0.1:%d/v1development/profiles
  every: 1
  compression: gzip
  headers: {Authorization: "Bearer %s", X-Scope: one}
"""


def otlp_problem(s, e, wanted, patience):
    """The endpoint is sent these headers, and what it unpacks is right; none can be read of the
    processes' command lines."""
    def came():
        return e.got and all(e.headers.get(k) == v for k, v in wanted.items())
    if not until(came, patience):
        return f"it is sent {e.got and e.headers}, not {wanted}"
    body = [got for got in e.got if got[1].endswith("/v1/metrics")][-1][3]
    wrong = content_problem(gzip.decompress(body) if "Content-Encoding" in wanted else body)
    lines = [open(f"/proc/{p}/cmdline").read() for p in children_of(s.process.pid)]
    return wrong or (f"the secret is in {lines}" if SECRET in "".join(lines) else None)


@on_host
def test_serve_otlp_headers(context):
    """Of the file, and of the variables of OpenTelemetry's own programs; read again by SIGHUP."""
    require("root", "cmd:node")
    loads(context, "libcurl")
    port, patience = free_port(), 30 * context.factor
    with files(a_bt=SCRIPT, s_yml=TO % (port, port, SECRET)) as d, Endpoint(port, []) as e, \
            serving(context, "--config", d + "/s.yml") as s:
        wrong = otlp_problem(s, e, {"Authorization": "Bearer " + SECRET, "X-Scope": "one",
                                    "Content-Encoding": "gzip"}, patience)
        if wrong:
            return wrong
        if not until(lambda: [g for g in e.got if g[1] == "/v1development/profiles" and
                              gzip.decompress(g[3])], patience):
            return f"profiles are not sent: { {g[1] for g in e.got} }"
        write(d + "/s.yml", (TO % (port, port, "other")).replace("compression: gzip", ""))
        s.process.send_signal(signal.SIGHUP)
        if not until(lambda: e.headers.get("Authorization") == "Bearer other" and
                     "Content-Encoding" not in e.headers, patience):
            return f"after SIGHUP it is sent {e.headers}"
        write(d + "/s.yml", TO % (port, port, "two\\nlines"))
        p = subprocess.run([context.memtap, "serve", "--check", d + "/s.yml"], text=True,
                           capture_output=True)
        if p.returncode != 1 or "7:13: expected a header" not in p.stderr or "two" in p.stderr:
            return shown("a header of two lines", p.stdout, p.stderr)
    variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{port}/base/",
                 "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip",
                 "OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20" +
                                               SECRET.replace(" ", "%20") + ", x-scope = two"}
    with files(a_bt=SCRIPT) as d, Endpoint(port, []) as e, serving(
            context, "--otlp-every", "1", d + "/a.bt",
            enter=["env", *(f"{k}={v}" for k, v in variables.items())]) as s:
        return otlp_problem(s, e, {"authorization": "Bearer " + SECRET, "x-scope": "two",
                                   "Content-Encoding": "gzip"}, patience) or \
            (None if e.got[-1][1] == "/base/v1/metrics" else f"{e.got[-1][1]} is asked")
