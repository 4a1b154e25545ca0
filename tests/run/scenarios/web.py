# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""httptop beside a web server that knows what it was asked and what it answered."""
import collections
import http.client
import http.server
import json
import os
import signal
import threading

from run.cases import Run
from run.scenarios import require, shown


class Answers(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(404 if self.path.startswith("/none") else 200)
        self.send_header("Content-Length", "100")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(b"x" * 100)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = do_PATCH = answer

    def log_message(self, *_):
        pass


def post(c, url, body):
    """The body goes out once the server has asked for it: it is read by itself."""
    c.putrequest("POST", url)
    c.putheader("Content-Length", str(len(body)))
    c.putheader("Expect", "100-continue")
    c.endheaders()
    line = b""
    while not line.endswith(b"\r\n\r\n"):
        got = c.sock.recv(1)
        if not got:
            raise ConnectionError(f"closed after {line}")
        line += got
    c.send(body)


def ask(port, requests):
    """On one connection: (status, method, path) of each, and how often."""
    seen = collections.Counter()
    c = http.client.HTTPConnection("127.0.0.1", port)
    for method, url in requests:
        if method == "POST":
            post(c, url, b"GET /in/a/body HTTP/1.1\r\n")
        else:
            c.request(method, url)
        answer = c.getresponse()
        answer.read()
        seen[answer.status, method, url.split("?")[0][:128]] += 1
    c.close()
    return seen


def test_httptop_counts_what_was_answered(context):
    """All methods, queries, a path that is not there and one that is too long to be kept."""
    require("btf")
    requests = [("GET", f"/a/b?x={i}") for i in range(7)] + [("GET", "/"), ("HEAD", "/a/b")] + \
        [(method, "/thing") for method in ("POST", "PUT", "DELETE", "PATCH")] + \
        [("GET", "/none?a=/b")] * 3 + [("GET", "/" + "long" * 60)]
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        run = Run([context.memtap, "httptop", "-p", str(os.getpid()), "--json", "3600"])
        if not run.wait_for("attached_probes", 60 * context.factor, "out"):
            run.kill()
            return shown("never attached", "".join(run.out), "".join(run.err))
        expected = ask(server.server_port, requests)
        run.process.send_signal(signal.SIGINT)
        out, err, status = run.finish(30 * context.factor)
        server.shutdown()
    rows = [r["data"] for r in map(json.loads, out.splitlines()) if r["type"] == "row"]
    counted = {(r["status"], r["method"], r["path"]): r["calls"] for r in rows}
    if status or counted != expected or not all(0 < r["us"] < 60e6 for r in rows):
        return shown(f"status {status}, {counted}, asked was {dict(expected)}", out, err)
    return None
