# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""memtap heap on real programs and on those with ways of their own: each does the same with the
code in it, while it comes and while it goes, and without."""
import contextlib
import hashlib
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading

from lib.report import Skip
from run.cases import Run
from run.scenarios import answers, free_port, on_host, require, shown, side_by_side, started, until
from run.scenarios.heap import code_of, need

REQUIRES = ("kernel:5.13",)  # as heap.py

# `make heap-check` has all of it, on every kernel; `make check` what takes little time and no more
# packages.
ALL = bool(os.environ.get("HEAP_CHECK"))
once = (lambda test: test) if ALL else on_host
SERVER = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def within(context, pid, work, every="512"):
    """work() while the process is sampled; (its result, what was wrong or None)."""
    before = code_of(pid)
    run = Run([context.memtap, "heap", "-p", str(pid), "-f", "json", "-E", every])
    attached = run.wait_for("attached_probes", 60 * context.factor, "out")
    there = code_of(pid) != before
    result = work()
    run.process.send_signal(signal.SIGINT)
    out, err, status = run.finish(60 * context.factor)
    samples = max(map(int, re.findall(r'"samples": (\d+)', out)), default=0)
    if attached and there and not status and samples and code_of(pid) == before:
        return result, None
    return result, shown(f"status {status}, there {there}, {samples} samples", out, err)


# ---- programs that allocate without a pause ---------------------------------------------------

def leave_processor(pid):
    """To others. Where sessions are scheduled as groups, four programs that never sleep have kept
    all others from running for ten seconds and more (Linux 6.18)."""
    with contextlib.suppress(FileNotFoundError):
        with open(f"/proc/{pid}/autogroup", "w", encoding="ascii") as f:
            f.write("15")


class Restless:
    """A program that says "ready", works, and says "wrong 0" after a line."""

    def __init__(self, *argv, wrapped=()):
        self.name = " ".join(argv[-2:])
        self.process = subprocess.Popen([*wrapped, *argv], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, start_new_session=True)
        leave_processor(self.process.pid)
        if self.process.stdout.readline() != "ready\n":
            raise RuntimeError(f"{self.name} is not ready")
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def end(self):
        said = self.process.communicate("\n", timeout=120)[0]
        ok = re.fullmatch(r"wrong 0\n", said) and self.process.returncode == 0
        return None if ok else f"{self.name}: {said}, status {self.process.returncode}"


def pause(context, pid):
    """Until it has had a tenth of a second of a processor, which others may want, too."""
    def ticks():
        with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
            return sum(map(int, f.read().rpartition(")")[2].split()[11:13]))
    start = ticks()
    until(lambda: ticks() - start >= os.sysconf("SC_CLK_TCK") // 10, 60 * context.factor)


def restless(context, *argv):
    """In and out while nearly every call is sampled, and while few are: nothing is lost."""
    with Restless(*argv) as p:
        for every in ("1", "512") if ALL else ("1",):
            _, wrong = within(context, p.pid, lambda: pause(context, p.pid), every)
            if wrong:
                return f"{p.name}: {wrong}"
        return p.end()


def all_of(context, commands):
    need()
    wrong = side_by_side(restless, [(context, *argv) for argv in commands])
    return next((w for w in wrong if w), None)


# 200 threads, handlers on another stack, longjmp, makecontext, a filter of system calls.
WAYS = ("threads", "signals", "jumps", "contexts", "filtered")


def way_test(*ways):
    return lambda context: all_of(context, [(context.progs + "/ways", way) for way in ways])


# An emulated machine has no time for all of them at once.
if ALL:
    globals().update({"test_heap_of_" + way: way_test(way) for way in WAYS})
else:
    test_heap_of_programs_with_ways_of_their_own = on_host(way_test(*WAYS))


@once
def test_heap_of_cplusplus(context):
    """Operators new and delete of libstdc++, tcmalloc and mimalloc, linked."""
    names = ["news"]
    for name in ("tcmalloc", "mimalloc"):
        linked = subprocess.run(["ldd", f"{context.progs}/news_{name}"], text=True,
                                capture_output=True, check=False).stdout
        if name in linked:
            names.append("news_" + name)
    return all_of(context, [(f"{context.progs}/{name}",) for name in names])


@once
def test_heap_of_go_with_c(context):
    need()
    require("cmd:go")
    path = context.progs + "/cgo"
    if not os.path.exists(path):
        raise Skip("make heap-check builds it")
    return restless(context, path)


@once
def test_heap_refuses_where_mmap_is_forbidden(context):
    """The filter would kill the process: it is asked, and the process goes on."""
    need()
    with Restless(context.progs + "/ways", "forbidden") as p:
        got = subprocess.run([context.memtap, "heap", "-p", str(p.pid), "-d", "1"], text=True,
                             capture_output=True, check=False)
        if got.returncode != 1 or "(seccomp) forbids call 9" not in got.stderr or got.stdout:
            return shown(f"status {got.returncode}", got.stdout, got.stderr)
        return p.end()


@once
def test_heap_in_namespaces(context):
    """Of pids and of mounts, and a root of its own: paths and numbers are those from outside."""
    need()
    with tempfile.TemporaryDirectory() as d:
        shutil.copy(context.progs + "/heaps_musl", d)
        inner = subprocess.Popen(
            ["unshare", "--pid", "--mount", "--fork", "--kill-child", "--root", d, "/heaps_musl"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            ready = inner.stdout.readline()
            children = f"/proc/{inner.pid}/task/{inner.pid}/children"
            with open(children, encoding="utf-8") as f:
                pid = int(f.read().split()[0])

            def work():
                inner.stdin.write("\n")
                inner.stdin.flush()
                return inner.stdout.readline()
            said, wrong = within(context, pid, work)
            inner.communicate("\n", timeout=60)
        finally:
            inner.kill()
            inner.communicate()
    if wrong or (ready, said, inner.returncode) != ("ready\n", "done\n", 0):
        return wrong or f"{ready}{said}status {inner.returncode}"
    return None


def test_heap_of_a_command_that_becomes_another(context):
    """Nothing of the code is left after exec, and the other program runs as always."""
    need()
    got = subprocess.run(
        [context.memtap, "heap", "-E", "1", "-f", "json", "-c",
         "sh -c 'x=$(echo a); exec grep -c memfd:memtap /proc/self/maps'"],
        text=True, capture_output=True, check=False)
    lines = got.stdout.splitlines()
    samples = max(map(int, re.findall(r'"samples": (\d+)', got.stdout)), default=0)
    ok = got.returncode == 1 and "0" in lines and samples > 0 and not got.stderr
    return None if ok else shown(f"status {got.returncode}, {samples}", got.stdout, got.stderr)


# ---- servers ----------------------------------------------------------------------------------

def resp(*words):
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words)


def talk(port, said, end):
    """What a server answers to all of it, up to `end`, but for the time of day."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as s:
        sender = threading.Thread(target=s.sendall, args=(said,), daemon=True)
        sender.start()
        got = b""
        while not got.endswith(end):
            part = s.recv(1 << 16)
            if not part:
                break
            got += part
        sender.join()
    return hashlib.sha256(re.sub(rb"\r\nDate: [^\r]*", b"", got)).hexdigest()


def redis_work(port):
    """Strings, lists, sets and hashes that grow and go; the digest of all there is."""
    said = [resp(b"FLUSHALL")]
    for i in range(4000):
        key, value = b"%d" % (i % 700), b"v" * (i % 997)
        said += [resp(b"SET", b"s" + key, value), resp(b"APPEND", b"s" + key, value),
                 resp(b"RPUSH", b"l" + key, value), resp(b"HSET", b"h" + key, value[:40], value),
                 resp(b"SADD", b"t" + key, b"%d" % i), resp(b"DEL", b"s%d" % (i % 311))]
    said += [resp(b"DEBUG", b"DIGEST"), resp(b"ECHO", b"that is all")]
    return talk(port, b"".join(said), b"that is all\r\n")


def memcached_work(port):
    said = [b"flush_all\r\n"]
    for i in range(6000):
        said += [b"set k%d 0 0 %d\r\n%s\r\n" % (i % 900, i % 3000, b"m" * (i % 3000)),
                 b"get k%d k%d\r\n" % (i * 7 % 900, i % 900), b"delete k%d\r\n" % (i % 77)]
    return talk(port, b"".join(said) + b"mn\r\n", b"MN\r\n")


def nginx_work(port):
    """Each answer is compressed and made in pieces of many sizes."""
    said = b"".join(b"GET /%d HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\n"
                    b"X-Long: %s\r\n\r\n" % (i % 20, b"h" * (i * 7 % 3000)) for i in range(300))
    return talk(port, said + b"GET /end HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
                b"that is all\n")


NGINX = """daemon off; master_process off; pid {home}/pid; error_log /dev/null;
events {{ worker_connections 64; }}
http {{ access_log off; gzip on; gzip_types *; keepalive_requests 100000; root {home};
large_client_header_buffers 4 8k; etag off;
client_body_temp_path {home}/b; proxy_temp_path {home}/p; fastcgi_temp_path {home}/f;
uwsgi_temp_path {home}/u; scgi_temp_path {home}/s;
server {{ listen 127.0.0.1:{port}; }} }}
"""


def nginx(home, port):
    for i in range(20):
        with open(f"{home}/{i}", "w", encoding="utf-8") as f:
            f.write(f"line {i} of a file that is sent\n" * (40 * i + 40))
        os.utime(f"{home}/{i}", (0, 0))
    with open(home + "/end", "w", encoding="utf-8") as f:
        f.write("that is all\n")
    with open(home + "/conf", "w", encoding="utf-8") as f:
        f.write(NGINX.format(home=home, port=port))
    os.chmod(home, 0o755)
    return ["nginx", "-c", home + "/conf"]


def redis(_, port):
    return ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "",
            "--enable-debug-command", "yes"]


def memcached(_, port):
    return ["memcached", "-u", "root", "-l", "127.0.0.1", "-p", str(port), "-U", "0"]


def server(context, make, work):
    need()
    with tempfile.TemporaryDirectory() as home:
        port = free_port()
        argv = make(home, port)
        if not shutil.which(argv[0]):
            raise Skip(f"no {argv[0]} is installed")
        p = subprocess.Popen(argv, **SERVER)
        try:
            if not started(p, lambda: answers(("127.0.0.1", port)), 20 * context.factor):
                return f"{argv[0]} does not answer"
            want = work(port)
            if work(port) != want:
                return f"{argv[0]} does not say the same twice"
            got, wrong = within(context, p.pid, lambda: work(port))
            after = work(port)
            if p.poll() is not None:
                wrong = f"{argv[0]} has ended: {p.returncode}"
        finally:
            p.kill()
            p.wait()
    return wrong or (None if got == after == want else f"{argv[0]}: {want}, {got}, {after}")


@once
def test_heap_of_redis(context):
    return server(context, redis, redis_work)


@once
def test_heap_of_memcached(context):
    return server(context, memcached, memcached_work)


@once
def test_heap_of_nginx(context):
    return server(context, nginx, nginx_work)
