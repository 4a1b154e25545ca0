# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""What a server speaks: TLS by an OpenSSL that is inside of its program, no TLS where it was asked
for, nothing that a cache speaks. And what becomes of mctop then."""
import json
import shutil
import ssl
import subprocess
import sys
import tempfile
import time

from lib import machine
from run.scenarios import free_port, on_host, require, shown, started, answers
from run.scenarios.caches import CONVERSATION, Server, encrypted, ended, load, talk, tool


def test_mcsnoop_ssl_inside(context):
    """Its program has SSL_read, and no library of OpenSSL."""
    require("memcached-tls")
    return encrypted(context, "memcached", CONVERSATION[:2],
                     [("set", "a", "hit", 3), ("get", "a", "hit", 3),
                      ("get", "nothing", "miss", None)], machine.memcached_tls())


@on_host
def test_mctop_ssl_inside_stripped(context):
    """Nothing says where it is."""
    require("memcached-tls", "cmd:strip")
    with tempfile.TemporaryDirectory() as d:
        program = d + "/memcached"
        subprocess.run(["strip", "-o", program, machine.memcached_tls()], check=True)
        with Server(context, "memcached", program=program, tls=d) as s:
            p = subprocess.run([context.memtap, "mctop", "-p", str(s.pid), "--via", "ssl"],
                               capture_output=True, text=True, timeout=60 * context.factor,
                               check=False)
    if p.returncode != 1 or not p.stderr.startswith("ERROR: ") or \
            "no symbol SSL_read" not in p.stderr and "has no SSL_read" not in p.stderr:
        return shown(f"status {p.returncode}", p.stdout, p.stderr)
    return None


def plain(context, kind, *options, tls=None):
    """mctop --via ssl, while somebody asks without."""
    with Server(context, kind, options=options, tls=tls) as s, \
            tool(context, "mctop", "-p", str(s.pid), "--via", "ssl", "--json", "3600") as run, \
            s.connect() as c:
        began = time.monotonic()
        while run.process.poll() is None and time.monotonic() - began < 6 * context.factor:
            talk(c, (b"get a\r\n", b"END\r\n" if kind == "memcached" else b"$-1\r\n"))
            time.sleep(0.01)
            if "asked without TLS; " in "".join(run.err):
                break
        took = time.monotonic() - began
        out, err, status = run.finish(20 * context.factor) if run.process.poll() is not None \
            else ended(context, run)
    return out, err, status, took, s.pid


@on_host
def test_mctop_ssl_of_a_server_without(context):
    """It is refused when it was asked without TLS for two seconds, and said what is wrong."""
    out, err, status, took, pid = plain(context, "memcached")
    if status != 1 or not 1.5 < took < 4 * context.factor or \
            f"memcached {pid} is asked without TLS, and by nobody with it; without --via ssl " \
            "that is seen" not in err:
        return shown(f"status {status} after {took} s", out, err)
    return None


@on_host
def test_mctop_ssl_of_a_server_with_both(context):
    """It may speak TLS at its other port: that is said, and it goes on."""
    with tempfile.TemporaryDirectory() as d:
        Server.certify(d)
        out, err, status, took, pid = plain(
            context, "redis-server", "--tls-port", str(free_port()), "--tls-cert-file",
            d + "/cert", "--tls-key-file", d + "/key", "--tls-ca-cert-file", d + "/cert")
    if status or \
            f"redis-server {pid} is asked without TLS; without --via ssl that is seen" not in err:
        return shown(f"status {status} after {took} s", out, err)
    return None


@on_host
def test_mctop_ssl_of_a_silent_server(context):
    """Nobody asks it anything: that is said, and it goes on; a client that connects, and asks
    later, is seen to speak TLS."""
    trust = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
    with tempfile.TemporaryDirectory() as d, Server(context, "memcached", tls=d) as s, \
            tool(context, "mctop", "-p", str(s.pid), "--via", "ssl", "--json", "3600") as run:
        said = run.wait_for(f"nobody has spoken TLS with memcached {s.pid} for 2 seconds",
                            20 * context.factor)
        with s.connect() as c, trust.wrap_socket(c) as c:
            time.sleep(2.5)  # a look falls in between
            talk(c, *CONVERSATION[:1])
            time.sleep(0.1)
        out, err, status = ended(context, run)
    if not said or status or json.loads(out)["total"]["calls"] != 1 or "asked without" in err:
        return shown(f"status {status}", out, err)
    return None


@on_host
def test_mctop_of_another_protocol(context):
    """A web server, which is asked: it ends. A cache by any name does not."""
    port = free_port()
    with tempfile.TemporaryDirectory() as d, subprocess.Popen(
            [sys.executable, "-m", "http.server", "--bind", "127.0.0.1", str(port)], cwd=d,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as web:
        try:
            if not started(web, lambda: answers(("127.0.0.1", port)), 20 * context.factor):
                return "no web server"
            with tool(context, "mctop", "-p", str(web.pid), "3600") as run:
                end = time.monotonic() + 20 * context.factor
                while run.process.poll() is None and time.monotonic() < end:
                    with Server.connect(Where(port)) as c:
                        c.sendall(b"GET / HTTP/1.0\r\n\r\n")
                        while c.recv(65536):
                            pass
                out, err, status = run.finish(20 * context.factor)
        finally:
            web.kill()
    if status != 1 or f" {web.pid} is no cache server: what it is asked is neither" not in err:
        return shown(f"status {status}", out, err)
    with tempfile.TemporaryDirectory() as d:
        other = shutil.copy(shutil.which("memcached"), d + "/speicher")
        with Server(context, "memcached", program=other) as s, \
                tool(context, "mctop", "-p", str(s.pid), "--json", "3600") as run:
            load(context, s, "-n", "500", "-k", "5")
            time.sleep(2.5)
            load(context, s, "-n", "500", "-k", "5")
            out, err, status = ended(context, run)
    if status or json.loads(out)["total"]["calls"] != 1000 or "is no cache server" in err:
        return shown(f"status {status}", out, err)
    return None


class Where:
    """What Server.connect() needs."""

    def __init__(self, port):
        self.port = port

    def where(self):
        return ("127.0.0.1", self.port)
