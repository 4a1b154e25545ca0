# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Who may ask memtap serve: TLS, passwords, tokens, certificates of clients, clients that are slow,
and what it gives up itself."""
import base64
import contextlib
import http.client
import re
import signal
import socket
import ssl
import subprocess
import time

from run.scenarios import HERE, children_of, loads, on_host, require, shown, until
from run.scenarios.serve import DEPLOY, files, serving

EMPTY = "interval:s:1 { @ticks = count(); }"
# Of "secret" with 2^4 rounds, by python's crypt(), and of "token" by openssl passwd -6.
BCRYPT = "$2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW"
EC = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]


def openssl(*argv):
    return subprocess.run(["openssl", *argv], check=True, capture_output=True, text=True).stdout


def certificate(d, name, ca=None):
    """d/NAME.pem and d/NAME.key, signed by d/CA.pem or itself."""
    out = ["-keyout", f"{d}/{name}.key", "-subj", f"/CN={name}"]
    if ca:
        openssl("req", *EC, *out, "-out", f"{d}/{name}.csr")
        openssl("x509", "-req", "-in", f"{d}/{name}.csr", "-CA", f"{d}/{ca}.pem", "-CAkey",
                f"{d}/{ca}.key", "-CAcreateserial", "-out", f"{d}/{name}.pem", "-days", "2")
    else:
        openssl("req", "-x509", *EC, *out, "-out", f"{d}/{name}.pem", "-days", "2", "-addext",
                "subjectAltName=IP:127.0.0.1")


class Client:
    def __init__(self, port, d):
        self.port, self.d = port, d

    def ask(self, tls=True, who=None, cert=None, most=None, path="/healthz"):
        """The status, or the name of what went wrong below HTTP."""
        if tls:
            how = ssl.create_default_context(cafile=self.d + "/server.pem")
            how.maximum_version = most or how.maximum_version
            if cert:
                how.load_cert_chain(f"{self.d}/{cert}.pem", f"{self.d}/{cert}.key")
            c = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=60, context=how)
        else:
            c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        with contextlib.closing(c):
            try:
                c.request("GET", path, headers={"Authorization": who} if who else {})
                return c.getresponse().status
            except (OSError, http.client.HTTPException) as e:
                return "SSLError" if isinstance(e, ssl.SSLError) else type(e).__name__


def basic(user, password):
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def write(path, text):
    with open(path, "w") as f:
        f.write(text)


TLS = "tls_server_config: {cert_file: server.pem, key_file: %s%s}\n"
PPROF = "/debug/pprof/"
CLIENTS = ", client_auth_type: RequireAndVerifyClientCert, client_ca_file: ca.pem"


def who_problem(c, patience):
    """Users and tokens over TLS. Of wrong ones two are looked at, and one each second."""
    wanted = (({}, 401), ({"who": basic("prom", "secret")}, 200),
              ({"who": basic("prom", "secret")}, 200), ({"who": "Bearer token"}, 200),
              ({"tls": False}, "BadStatusLine|RemoteDisconnected|ConnectionResetError"),
              ({"most": ssl.TLSVersion.TLSv1_1}, "SSLError"), ({"who": "Basic !"}, 401),
              ({"who": basic("prom", "token")}, "401|429"),
              ({"who": basic("nobody", "secret")}, "401|429"),
              ({"path": PPROF}, 401), ({"path": PPROF, "who": "Bearer token"}, 200),
              ({"path": PPROF + "a/x?seconds=1"}, 401),
              ({"path": PPROF + "a/x?seconds=1", "who": basic("prom", "secret")}, 404),
              ({"who": "Bearer secret"}, "401|429"), ({"who": basic("prom", "secret")}, 200))
    for how, want in wanted:
        got = c.ask(**how)
        if str(got) not in str(want).split("|"):
            return f"{how} is answered {got}, not {want}"
    wrong = [c.ask(who=basic("prom", "wrong")) for _ in range(20)]
    if 429 not in wrong or c.ask(who="Bearer token") != 200:
        return f"wrong ones are all looked at: {wrong}"
    return None if until(lambda: c.ask(who=basic("prom", "x")) == 401, patience) else \
        "after some time none is looked at"


@on_host
def test_serve_asks_who(context):
    """Users, tokens, certificates, each by what the file says now; a mistake changes nothing."""
    require("root", "cmd:openssl")
    loads(context, "TLS")
    token = openssl("passwd", "-6", "token").strip()
    with files(a_bt=EMPTY, web_yml="") as d:
        certificate(d, "server")
        certificate(d, "ca")
        certificate(d, "own", "ca")
        certificate(d, "other")
        write(d + "/web.yml", TLS % ("server.key", "") + f'basic_auth_users: {{prom: "{BCRYPT}"}}'
              f'\nbearer_tokens: ["{token}"]\n')
        with serving(context, "--web", d + "/web.yml", d + "/a.bt") as s:
            c = Client(s.port, d)
            wrong = who_problem(c, 20 * context.factor)
            if wrong:
                return wrong
            def again(text):
                write(d + "/web.yml", text)
                s.process.send_signal(signal.SIGHUP)
            again(TLS % ("server.key", CLIENTS))
            if not until(lambda: c.ask(cert="own") == 200, 20 * context.factor):
                return f"with a certificate: {c.ask(cert='own')}"
            got = [c.ask(), c.ask(cert="other"), c.ask(cert="own")]
            if got != [403, 403, 200]:
                return f"without, with another's and its own certificate: {got}"
            again(TLS % ("other.key", ""))
            said = [s.process.stderr.readline() for _ in range(2)]
            if "is the key that of the certificate" not in said[0] or c.ask(cert="own") != 200:
                return shown("a wrong key changed something", "", "".join(said))
            again("")
            if not until(lambda: c.ask(tls=False) == 200, 20 * context.factor):
                return "without a word in the file it does not answer everybody"
    return None


@on_host
def test_serve_ends_slow_clients(context):
    """Headers that never end, a byte now and then; meanwhile others are answered."""
    require("root")
    with files(a_bt=EMPTY) as d, serving(context, d + "/a.bt") as s, \
            socket.create_connection(("127.0.0.1", s.port), 60) as slow:
        start = time.monotonic()
        slow.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n")
        with contextlib.suppress(OSError):
            while time.monotonic() - start < 60 * context.factor:
                slow.sendall(b"A: b\r\n")
                if s.ask("/healthz")[0] not in (200, 503):
                    return "others are not answered"
                time.sleep(0.5)
            return "it is never ended"
        took = time.monotonic() - start
        return None if took > 12 else f"it was ended after {took:.1f} seconds"


# What is not allowed says so in the file; a collector's programs are under the same rules.
CONFINED = 'BEGIN { system("(unshare -m true; mount -t tmpfs none /mnt) 2>&1 | grep -c ' \
           '\'not implemented\' >%s"); @x = count(); } interval:s:1 { @ticks = count(); }'
RIGHTS = ("bpf", "perfmon", "sys_admin", "sys_ptrace", "dac_read_search", "sys_resource", "syslog",
          "checkpoint_restore")


def status(pid):
    with open(f"/proc/{pid}/status") as f:
        return dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)


def rights(*names):
    numbers = {"dac_read_search": 2, "sys_ptrace": 19, "sys_admin": 21, "sys_resource": 24,
               "syslog": 34, "perfmon": 38, "bpf": 39, "checkpoint_restore": 40}
    return sum(1 << numbers[name] for name in names)


def calls_of(group):
    """The system calls of a group of systemd's, and those of the groups in it."""
    text = subprocess.run(["systemd-analyze", "syscall-filter", group], capture_output=True,
                          text=True, check=True).stdout
    words = re.findall(r"^ +([@\w-]+)$", text, re.M)
    return {w for w in words if w[0] != "@"}.union(*(calls_of(w) for w in words if w[0] == "@"))


@on_host
def test_serve_has_its_system_calls_in_the_unit(context):
    """What its own filter lets pass the filter of deploy/memtap.service does."""
    require("cmd:systemd-analyze")
    with open(HERE + "/../../src/cmd/serve/confine.c", encoding="utf-8") as f:
        text = re.search(r"calls\[\] =\n(.*?);\n", f.read(), re.S)[1]
    own = set(re.findall(r"(\w+)\\0", text))
    with open(DEPLOY + "memtap.service", encoding="utf-8") as f:
        allowed = set(re.search(r"^SystemCallFilter=(.*)", f.read(), re.M)[1].split())
    allowed |= calls_of("@system-service")
    # The log is taken away by ProtectKernelLogs; the other two are newer than some systemd.
    lacks = own - allowed - {"syslog", "futex_wait", "futex_wake"}
    return f"the unit forbids {sorted(lacks)}" if lacks or len(own) < 100 else None


@on_host
def test_serve_gives_up_rights(context):
    """Those that nothing needs that it starts, and system calls; collectors the same and more."""
    require("root")
    filters = "0" if context.one_file else "2"      # which says so (serve.Serve)
    with files(a_bt="") as d:
        write(d + "/a.bt", CONFINED % (d + "/said"))
        with serving(context, d + "/a.bt --unsafe", "lib/machine.bt") as s:
            if not until(lambda: s.value('memtap_collector_up{collector="machine"}') == 1 and
                         s.value('memtap_collector_up{collector="a"}') == 1, 30 * context.factor):
                return "the collectors do not answer"
            own, *others = [status(p) for p in (s.process.pid, *children_of(s.process.pid))]
            for one in (own, *others):
                if one["NoNewPrivs"] != "1" or one["Seccomp"] != filters or \
                        int(one["CapBnd"], 16) & ~rights(*RIGHTS):
                    return shown("a process has more than it needs", str(one), "")
            if int(own["CapEff"], 16) & ~rights("dac_read_search", "sys_ptrace"):
                return f"it acts with {own['CapEff']}"
            if not any(int(one["CapPrm"], 16) & ~rights("sys_resource") ==
                       int(one["CapPrm"], 16) for one in others):
                return "no collector gives up more"
            return None if context.one_file or \
                until(lambda: open(d + "/said").read() == "2\n", 20 * context.factor) \
                else "what is not allowed is done: " + open(d + "/said").read()
