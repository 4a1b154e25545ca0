# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""End-to-end tests that need more than a directive: servers, watched memory, processes killed at
the wrong moment. Each function named test_* here or in a file beside this one; it returns None or
what went wrong, and raises Skip with the reason when the machine can not do it."""
import contextlib
import functools
import glob
import http.server
import importlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from lib import machine
from lib.report import Skip
from run import cases
from run.aids import moved, stacks as compared
from run.cases import Run

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
AIDS = HERE + "/aids"
TOOLS = os.path.dirname(os.path.dirname(HERE)) + "/tools"
# What comes out is right or not in any build, and the code is gone through by cases and other
# scenarios: two minutes that a sanitizer build does without.
UNSANITIZED = ("run.scenarios.columns", "run.scenarios.doctor", "run.scenarios.intervals",
               "run.scenarios.tooltables", "run.scenarios.stacks", "run.scenarios.heap_programs")


def require(*requirements):
    for r in requirements:
        reason = machine.missing(r)
        if reason:
            raise Skip(reason)


def loads(context, library):
    """A test of what the file of `make static`, which loads nothing, says that it lacks."""
    if context.one_file:
        raise Skip(f"the one file has no {library}")


def on_host(test):
    """Marks a test of what the kernel has no part in: emulation would only make it slow."""
    @functools.wraps(test)
    def unless_in_vm(context):
        if context.in_vm:
            raise Skip("the same on each kernel: on the host")
        return test(context)
    return unless_in_vm


def side_by_side(function, tasks):
    """function(*task) of each, four at a time, in their order: for what mostly waits."""
    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(lambda task: function(*task), tasks))


def shown(what, out, err):
    return f"{what}\n--- stdout\n{out[-3000:]}\n--- stderr\n{err[-3000:]}"


# ---- what a process has in its memory --------------------------------------------------------

def load_base(pid, path):
    """Where file offset 0 of path is mapped in the process."""
    real = os.path.realpath(path)
    for line in open(f"/proc/{pid}/maps"):
        fields = line.split(None, 5)
        if len(fields) == 6 and fields[5].strip() == real and int(fields[2], 16) == 0:
            return int(fields[0].split("-")[0], 16)
    raise RuntimeError(f"{path} is not mapped by {pid}")


def peek(pid, address, size):
    with open(f"/proc/{pid}/mem", "rb") as f:
        f.seek(address)
        return int.from_bytes(f.read(size), "little")


def symbol(path, name):
    for line in subprocess.run(["nm", path], capture_output=True, text=True,
                               check=True).stdout.split("\n"):
        fields = line.split()
        if len(fields) == 3 and fields[2] == name:
            return int(fields[0], 16)
    raise RuntimeError(f"{path} has no symbol {name}")


def has_breakpoint(pid, path, name):
    """A uprobe replaces the first byte of its instruction by int3, on arm64 all of it by brk 5."""
    size, trap = {"x86_64": (1, 0xcc), "aarch64": (4, 0xd42000a0)}[os.uname().machine]
    return peek(pid, load_base(pid, path) + symbol(path, name), size) == trap


def until(condition, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


@contextlib.contextmanager
def process(*argv, rests=True):
    """A process while it is looked at, from when it first rests."""
    p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                         stderr=subprocess.DEVNULL)
    try:
        if rests and not cases.settles(p.pid, 60):
            raise RuntimeError(f"{argv[0]} does not come to rest")
        yield p
    finally:
        p.kill()
        p.wait()


# ---- memcached -------------------------------------------------------------------------------

def probes_of(path):
    """The semaphores of a file's USDT probes: their addresses by the probe's name."""
    notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True,
                           check=True).stdout
    found = {}
    for name, address in re.findall(r"Name: (\S+)\n.*Semaphore: 0x([0-9a-f]+)", notes):
        if int(address, 16):
            found[name] = int(address, 16)
    return found


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def family_of(where):
    """Of a socket's path, or of (host, port)."""
    return (socket.AF_UNIX if isinstance(where, str) else
            socket.AF_INET6 if ":" in where[0] else socket.AF_INET)


def answers(where):
    try:
        with socket.socket(family_of(where)) as s:
            s.connect(where)
        return True
    except OSError:
        return False


def started(server, ready, seconds):
    """Waits until a server's process is ready; ends it when it is not."""
    if until(lambda: server.poll() is not None or ready(), seconds) and server.poll() is None:
        return True
    server.kill()
    server.wait()
    return False


class Memcached:
    """A memcached with USDT probes on a loopback port of its own. It is a copy of the program:
    probes that others have in that one are not in this."""

    def __init__(self, factor, path=None, env=None, options=()):
        require("memcached-usdt")
        self.home = tempfile.TemporaryDirectory(prefix="memtap-memcached.")
        self.path = path or shutil.copy(machine.memcached_usdt(), self.home.name)
        self.factor = factor
        # A free port may be another's before the server has it: then the server ends.
        if not any(self._start(env, options) for _ in range(5)):
            raise RuntimeError("memcached does not answer")
        self.client = socket.create_connection(("127.0.0.1", self.port))
        self.file = self.client.makefile("rb")

    def _start(self, env, options):
        self.port = free_port()
        self.process = subprocess.Popen(
            [self.path, "-u", "root", "-l", "127.0.0.1", "-p", str(self.port), "-U", "0",
             "-t", "2", *options], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        self.pid = self.process.pid
        return started(self.process, lambda: answers(("127.0.0.1", self.port)), 20 * self.factor)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.client.close()
        self.process.kill()
        self.process.wait()
        self.home.cleanup()

    def set(self, key, size):
        self.client.sendall(f"set {key} 0 0 {size}\r\n{'x' * size}\r\n".encode())
        assert self.file.readline() == b"STORED\r\n"

    def get(self, key):
        self.client.sendall(f"get {key}\r\n".encode())
        while self.file.readline() != b"END\r\n":
            pass

    def load(self):
        """session:alpha: 1 set, 3 gets; user:17: 1 set, 1 get; missing: 1 get."""
        self.set("session:alpha", 100)
        self.set("user:17", 5)
        for _ in range(3):
            self.get("session:alpha")
        self.get("user:17")
        self.get("missing")

    def end(self):
        """Its threads come to an end one by one; none is killed in the middle of a function."""
        self.process.send_signal(signal.SIGUSR1)
        self.process.wait(20 * self.factor)

    def raised(self):
        """The names of the probes whose semaphore is not 0."""
        base = load_base(self.pid, self.path)
        return {name for name, a in probes_of(self.path).items() if peek(self.pid, base + a, 2)}


def mcsnoop(context, target, *options):
    """Runs the script on a memcached under a known load. target names the probes' file and may
    contain PID and PATH."""
    with Memcached(context.factor) as m:
        text = open(AIDS + "/mcsnoop.bt").read()
        named, there = set(re.findall(r"TARGET:memcached:(\w+)", text)), set(probes_of(m.path))
        wanted = named & there
        for name in named - there:  # not every version has all of them
            text = text.replace(f",\nTARGET:memcached:{name}", "")
        target = target.replace("PATH", m.path).replace("PID", str(m.pid))
        with tempfile.NamedTemporaryFile("w", suffix=".bt") as f:
            f.write(text.replace("TARGET", target))
            f.flush()
            began = time.monotonic()
            run = Run([context.memtap, f.name] + [o.replace("PID", str(m.pid)) for o in options])
            if not run.attached(20 * context.factor):
                run.kill()
                return shown("it never attached", "".join(run.out), "".join(run.err))
            raised = m.raised()
            m.load()
            run.wait_for(r"(?m)^missing ", 10 * context.factor, "out")
            took = time.monotonic() - began
            run.process.send_signal(signal.SIGINT)
            out, err, status = run.finish(20 * context.factor)
        problems = []
        if status != 0:
            problems.append(f"exit status {status}")
        if raised != wanted or len(wanted) < 8:
            problems.append(f"raised semaphores while it runs: {raised}, wanted {wanted}")
        # Probes without a multi link are taken away one after the other, in the background.
        if not until(lambda: not m.raised(), 10 * context.factor):
            problems.append(f"raised semaphores after it ended: {m.raised()}")
        for pattern in (r"^key +calls +objsize +calls/s$", r"^session:alpha +1 +102 +\d+$",
                        r"^session:alpha +4 +102 +\d+$", r"^user:17 +2 +7 +\d+$",
                        r"^missing +1 +-1 +\d+$"):
            if not re.search(pattern, out, re.M):
                problems.append(f"stdout has no match of {pattern}")
        if re.search(r"@calls|@start: [1-9]", out):
            problems.append("maps were printed that END had cleared")
        if not re.search(r"WARNING: .*;", err):
            problems.append("no warning about the missing semicolon")
        # The script divides by the whole seconds since its start.
        if took < 1 and not re.search(r"WARNING: .*zero", err):
            problems.append("no warning about the division by 0")
        return shown("\n".join(problems), out, err) if problems else None


def test_mcsnoop_by_pid(context):
    return mcsnoop(context, "usdt:", "-p", "PID")


def test_mcsnoop_by_path(context):
    return mcsnoop(context, "usdt:PATH")


def test_mcsnoop_by_path_and_pid(context):
    return mcsnoop(context, "usdt:PATH", "-p", "PID")


def test_mcsnoop_by_path_through_proc(context):
    return mcsnoop(context, "usdt:/proc/PID/root/PATH".replace("root/", "root"))


def test_commands_of_memcached_by_uprobe(context):
    """A predicate, a path through /proc, str(), ++ on a map."""
    with Memcached(context.factor) as m:
        name = next((n for n in ("process_command_ascii", "process_command")
                     if n in subprocess.run(["nm", m.path], capture_output=True, text=True,
                                            check=True).stdout.split()), None)
        if not name:
            raise Skip("this memcached has no function that takes a command's text")
        run = Run([context.memtap, "-e", f"uprobe:/proc/{m.pid}/root{m.path}:{name} "
                   f"/pid == {m.pid}/ {{ @command[str(arg1)]++; }}"])
        if not run.attached(20 * context.factor):
            run.kill()
            return shown("it never attached", "".join(run.out), "".join(run.err))
        m.load()
        run.process.send_signal(signal.SIGINT)
        out, err, status = run.finish(20 * context.factor)
        ok = status == 0 and "@command[get session:alpha]: 3\n" in out and \
            "@command[set user:17 0 0 5]: 1\n" in out
        return None if ok else shown("wrong counts", out, err)


# ---- the example, value by value -------------------------------------------------------------

def rand_r(seed):
    """glibc's rand_r: (value, new seed)."""
    result = 0
    for shift, modulus in ((0, 2048), (10, 1024), (10, 1024)):
        seed = (seed * 1103515245 + 12345) & 0xffffffff
        result = (result << shift) ^ (seed // 65536 % modulus)
    return result, seed


def test_every_bucket_of_the_example(context):
    """The histogram against one worked out here from the program's random sizes."""
    sizes, seed = [], 1
    for _ in range(1000):
        value, seed = rand_r(seed)
        sizes.append(1 + value % 16383)
    itest = context.build + "/examples/itest"
    run = Run([context.memtap, "-e",
               f"uprobe:{itest}:cache_insert {{@bytes=lhist(arg2, 0 , 16384, 128)}}",
               "-c", itest + " 1000"])
    out, err, status = run.finish(30 * context.factor)
    want = {}
    for size in sizes:
        want[size // 128 * 128] = want.get(size // 128 * 128, 0) + 1
    got = {int(a): int(n) for a, n in re.findall(r"^\[(\d+), \d+\) +(\d+) \|", out, re.M)}
    got = {a: n for a, n in got.items() if n}
    if status == 0 and got == want:
        return None
    wrong = {a: (got.get(a), want.get(a)) for a in set(got) | set(want)
             if got.get(a) != want.get(a)}
    return shown(f"buckets (got, wanted): {wrong}", out, err)


# ---- ends ------------------------------------------------------------------------------------

def test_kill_9_leaves_the_target_running_and_no_probe(context):
    target = context.progs + "/sizes"
    with process(target, "loop") as p:
        run = Run([context.memtap, "-e", f"uprobe:{target}:six {{ @ = count(); }}"])
        if not run.attached(20 * context.factor):
            run.kill()
            return shown("it never attached", "".join(run.out), "".join(run.err))
        if not until(lambda: has_breakpoint(p.pid, target, "six"), 5 * context.factor):
            run.kill()
            return "the probe does not show in the target's memory"
        run.process.kill()
        out, err, _ = run.finish(10 * context.factor)
        if not until(lambda: not has_breakpoint(p.pid, target, "six"), 10 * context.factor):
            return shown("the probe is still in the target", out, err)
        time.sleep(0.1)
        return None if p.poll() is None else "the target ended"


def test_kill_9_lowers_semaphores(context):
    with Memcached(context.factor) as m:
        run = Run([context.memtap, "-e", f"usdt:{m.path}:memcached:command__get {{ @++; }}"])
        if not run.attached(20 * context.factor):
            run.kill()
            return shown("it never attached", "".join(run.out), "".join(run.err))
        if not m.raised():
            run.kill()
            return "no semaphore was raised"
        run.process.kill()
        run.finish(10 * context.factor)
        m.load()
        if not until(lambda: not m.raised(), 10 * context.factor):
            return f"semaphores stay raised: {m.raised()}"
        return None


def test_the_end_of_the_target_ends_memtap(context):
    target = context.progs + "/sizes"
    with process(target, "loop") as p:
        run = Run([context.memtap, "-p", str(p.pid), "-e",
                   f"uprobe:{target}:six {{ @calls = count(); printf(\"called\\n\"); }} "
                   "END { printf(\"the end\\n\"); }"])
        if not run.wait_for("called", 20 * context.factor, "out"):
            run.kill()
            return shown("no call was seen", "".join(run.out), "".join(run.err))
        p.kill()
        p.wait()
        out, err, status = run.finish(10 * context.factor)
        ok = status == 0 and "the end\n" in out and re.search(r"^@calls: [1-9]", out, re.M)
        return None if ok else shown(f"status {status}", out, err)


def ends_the_command(context, number):
    run = Run([context.memtap, "-e", "BEGIN { @ = 1; } interval:s:1000 { @ = 2; }", "-c",
               f"{context.progs}/sizes loop"])
    if not run.attached(20 * context.factor):
        run.kill()
        return shown("it never attached", "".join(run.out), "".join(run.err))
    children = children_of(run.process.pid)
    run.process.send_signal(number)
    out, err, _ = run.finish(10 * context.factor)
    left = [c for c in children if not until(lambda c=c: not os.path.exists(f"/proc/{c}/exe"),
                                             20 * context.factor)]
    for c in left:
        os.kill(c, signal.SIGKILL)
    if not children:
        return shown("it had no child", out, err)
    if left:
        return shown("the command still runs", out, err)
    return None if "@: 1" in out or number == signal.SIGKILL else shown("nothing printed", out, err)


def test_interrupt_ends_the_command_too(context):
    return ends_the_command(context, signal.SIGINT)


def test_hang_up_ends_the_command_too(context):
    return ends_the_command(context, signal.SIGHUP)


def test_kill_9_ends_the_command_too(context):
    return ends_the_command(context, signal.SIGKILL)


def is_waiting(word):
    """Is there a process that is still memtap and has that word among its arguments?"""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            text = open(f"/proc/{pid}/cmdline", "rb").read()
            if word.encode() in text and b"memtap" in text:
                return True
    return False


def test_kill_9_before_release_leaves_no_command(context):
    """The command waits for the probes; killing memtap in that time must not let it loose."""
    for delay in (0.001, 0.004, 0.01):
        seconds = f"1{os.getpid():07d}{int(delay * 1000):03d}"
        run = Run([context.memtap, "-e", f"uprobe:{context.progs}/sizes:six {{ @++; }}",
                   "-c", f"/bin/sleep {seconds}"])
        time.sleep(delay)
        run.process.kill()
        run.process.wait()
        stays = not until(lambda: not is_waiting(seconds), 10 * context.factor)
        run.kill()  # what was released before
        if stays:
            return f"after {delay} s a child that never ran stays behind"
    return None


# ---- a held command --------------------------------------------------------------------------

def held(context, command):
    """memtap on a command that it holds at its end, because stacks are wanted."""
    return Run([context.memtap, "-e", "software:page-faults:1 /pid == cpid/ "
                "{ @[ustack(perf)] = count(); }", "-c", command])


def test_names_of_short_lived_commands(context):
    """Most is gone when the maps are printed; the names are not."""
    for command, wanted in (("ls /", {"libc": r"\(/\S*/libc\.so\.6\)"}),
                            (context.progs + "/sizes",
                             {"libc": r"\(/\S*/libc\.so\.6\)",
                              "the program": r"\t[0-9a-f]+ (main|all|_start)\+\d+ \(/\S*/sizes\)"}),
                            (context.progs + "/leader",
                             {"its function": r"touch_late\+\d+ \(/\S*/leader\)"})):
        out, err, _ = held(context, command).finish(20 * context.factor)
        for what, pattern in wanted.items():
            if not re.search(pattern, out):
                return shown(f"{command}: no name of {what}", out, err)
        if not re.search(r"\t[0-9a-f]+ [a-z_]+\+\d+ \(/\S*/libc\.so\.6\)", out):
            return shown(f"{command}: no function of libc", out, err)
    return None


def test_names_while_libraries_are_loaded(context):
    """Stacks printed at once: the maps known from exec lack the libraries."""
    for _ in range(5):
        out, err, _ = Run([context.memtap, "-q", "-e", "software:page-faults:1 /pid == cpid/ "
                           "{ printf(\"%s\", ustack(perf)); }", "-c", "ls /"]).finish(
                               20 * context.factor)
        if not re.search(r"\t[0-9a-f]+ [a-z_]+\+\d+ \(/\S*/libc\.so\.6\)", out):
            return shown("no function of libc", out, err)
    return None


def test_a_held_command_gets_its_signals(context):
    progs = context.progs
    for command, code in (("sh -c 'kill -9 $$'", 137), (progs + "/sizes abort", 134),
                          ("sh -c 'trap \"exit 9\" TERM; kill -TERM $$; sleep 5'", 9),
                          ("sh -c 'trap \"exit 8\" INT; kill -INT $$; sleep 5'", 8),
                          ("sh -c '(while kill -CONT $$; do sleep 0.1; done) & "
                           "kill -STOP $$; exit 3'", 3),
                          ("sh -c 'exec sh -c \"exit 4\"'", 4), (progs + "/leader", 5)):
        out, err, status = held(context, command).finish(20 * context.factor)
        if status != code:
            return shown(f"{command}: status {status} instead of {code}", out, err)
    return None


def stops(pid):
    return re.search(r"^State:\s+([tT])", open(f"/proc/{pid}/status").read(), re.M)


def test_a_stopped_command_stays_stopped(context):
    run = held(context, context.progs + "/sizes loop")
    if not run.attached(20 * context.factor):
        run.kill()
        return shown("it never attached", "".join(run.out), "".join(run.err))
    child = child_of(run)
    until(lambda: "sizes" in open(f"/proc/{child}/comm").read(), 5 * context.factor)
    os.kill(child, signal.SIGSTOP)
    stopped = until(lambda: stops(child), 5 * context.factor)
    time.sleep(0.2)
    stopped = stopped and stops(child)
    os.kill(child, signal.SIGCONT)
    goes_on = until(lambda: not stops(child), 5 * context.factor)
    os.kill(child, signal.SIGTERM)
    out, err, status = run.finish(10 * context.factor)
    if stopped and goes_on and status == 128 + signal.SIGTERM:
        return None
    return shown(f"stopped: {stopped}, went on: {goes_on}, status {status}", out, err)


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as f:
        return [int(word) for word in f.read().split()]


def child_of(run):
    return children_of(run.process.pid)[0]


def test_kill_9_ends_a_held_command(context):
    """Also one that stands still, whom no other signal would end."""
    for stopped in (False, True):
        run = held(context, context.progs + "/sizes loop")
        if not run.attached(20 * context.factor):
            run.kill()
            return shown("it never attached", "".join(run.out), "".join(run.err))
        child = child_of(run)
        until(lambda: "sizes" in open(f"/proc/{child}/comm").read(), 5 * context.factor)
        if stopped:
            os.kill(child, signal.SIGSTOP)
            until(lambda: stops(child), 5 * context.factor)
        run.process.kill()
        run.finish(10 * context.factor)
        if not until(lambda: not os.path.exists(f"/proc/{child}/exe"), 10 * context.factor):
            os.kill(child, signal.SIGKILL)
            return f"the command is still there; stopped: {stopped}"
    return None


def test_interrupt_ends_a_held_command_too(context):
    """It can still do what it does at its end, and is not killed a second later: of ten on a busy
    machine, at least one."""
    with tempfile.TemporaryDirectory(prefix="memtap-case.") as d:
        ended = d + "/ended"
        command = f"sh -c 'trap \"echo >{ended}; exit\" TERM; while :; do sleep 0.02; done'"
        for _ in range(10):
            problem = interrupt_held_command(context, command)
            if problem or os.path.exists(ended):
                return problem
    return "the command never did what it does at its end"


def interrupt_held_command(context, command):
    """None, or what went wrong."""
    run = held(context, command)
    if not run.attached(20 * context.factor):
        run.kill()
        return shown("it never attached", "".join(run.out), "".join(run.err))
    child = child_of(run)
    until(lambda: children_of(child), 20 * context.factor)  # the trap is set by then
    run.process.send_signal(signal.SIGINT)
    out, err, _ = run.finish(10 * context.factor)
    if os.path.exists(f"/proc/{child}/exe"):
        os.kill(child, signal.SIGKILL)
        return shown("the command still runs", out, err)
    return None


def test_many_probes_end_together(context):
    """Over a hundred uprobes must not take 100 ms each to go."""
    require("uprobe_multi")
    run = Run([context.memtap, "-e", f"uprobe:{sys.executable}:Py[LUD]* {{ @ = count(); }}"])
    if not run.attached(20 * context.factor):
        run.kill()
        return shown("it never attached", "".join(run.out), "".join(run.err))
    probes = int(re.search(r"Attached (\d+)", "".join(run.err))[1])
    start = time.monotonic()
    run.process.send_signal(signal.SIGINT)
    out, err, status = run.finish(20 * context.factor)
    took = time.monotonic() - start
    if status == 0 and probes > 50 and took < 0.04 * probes * context.factor:
        return None
    return shown(f"{probes} probes took {took:.2f} s to end, status {status}", out, err)


# ---- reclaim ---------------------------------------------------------------------------------

def reclaim(context):
    what = ["read"] if context.in_vm else ["write", context.build + "/reclaim-test"]
    p = subprocess.run([AIDS + "/reclaim"] + what, capture_output=True, text=True, check=False,
                       timeout=60 * context.factor)
    if p.returncode:
        raise Skip("no memory control group can be made: " + p.stderr.strip()[:200])


def write_event():
    for name in ("mm_vmscan_write_folio", "mm_vmscan_writepage"):
        if not machine.missing(f"tracepoint:vmscan:{name}"):
            return name
    raise Skip("this kernel has no event for pages written by reclaim")


def test_vmscan_script(context):
    require("tracepoint:vmscan:mm_vmscan_memcg_reclaim_begin")
    text = open(AIDS + "/vmscan.bt").read().replace("WRITE_EVENT", write_event())
    with tempfile.NamedTemporaryFile("w", suffix=".bt") as f:
        f.write(text)
        f.flush()
        run = Run([context.memtap, f.name])
        if not run.attached(20 * context.factor):
            run.kill()
            return shown("it never attached", "".join(run.out), "".join(run.err))
        try:
            reclaim(context)
            run.wait_for(r"(?m)^\d\d:\d\d:\d\d +\d+ +\d+ +[1-9]", 8 * context.factor, "out")
        finally:
            run.process.send_signal(signal.SIGINT)
            out, err, status = run.finish(20 * context.factor)
    problems = [] if status == 0 else [f"status {status}"]
    for pattern in (r"^TIME +S-SLABms +D-RECLAIMms +M-RECLAIMms +KSWAPD +WRITEPAGE$",
                    r"^\d\d:\d\d:\d\d +\d+ +\d+ +\d+ +\d+ +\d+$", r"^@memcg_reclaim_ns:",
                    r"^\[\d+[KM]?, \d+[KM]?\) +[1-9]\d* \|@"):
        if not re.search(pattern, out, re.M):
            problems.append(f"stdout has no match of {pattern}")
    return shown("\n".join(problems), out, err) if problems else None


def test_vmscan_events_by_name(context):
    require("tracepoint:vmscan:mm_vmscan_memcg_reclaim_begin")
    run = Run([context.memtap, "-e", "tracepoint:vmscan:* { @[probe] = count(); }"])
    if not run.attached(20 * context.factor):
        run.kill()
        return shown("it never attached", "".join(run.out), "".join(run.err))
    try:
        reclaim(context)
    finally:
        run.process.send_signal(signal.SIGINT)
        out, err, _ = run.finish(20 * context.factor)
    wanted = r"^@\[tracepoint:vmscan:mm_vmscan_memcg_reclaim_begin\]: [1-9]"
    return None if re.search(wanted, out, re.M) else shown("no such event was counted", out, err)


def test_start_up_stays_small(context):
    """Peak memory of the smallest script, from start to exit."""
    if context.sanitized:
        raise Skip("sanitizers take memory of their own")
    p = subprocess.run([context.progs + "/measure", context.memtap, "-e", "BEGIN { exit(); }"],
                       capture_output=True, text=True, check=True)
    kib = int(p.stdout.strip().split("\n")[-1].split()[2])
    return None if kib < 8 * 1024 else f"{kib} KiB"


def test_a_program_loads_with_reduced_btf(context):
    """With nothing but the part of this kernel's BTF that was kept for it; then it is run."""
    require("root")
    p = subprocess.run([context.build + "/tests/unit/test_btf_load"], capture_output=True,
                       text=True, timeout=60 * context.factor, check=False)
    if "SKIPPED" in p.stderr + p.stdout:
        raise Skip("the kernel has no BTF")
    return shown("it failed", p.stdout, p.stderr) if p.returncode else None


def test_types_of_loaded_modules(context):
    """Read as libbpf reads them, from files that give 4 KiB at a time."""
    p = subprocess.run([context.build + "/tests/unit/test_btf_libbpf", "reads_modules*"],
                       capture_output=True, text=True, timeout=60 * context.factor, check=False)
    if "SKIPPED" in p.stderr + p.stdout:
        raise Skip("no module with BTF is loaded")
    return shown("they differ", p.stdout, p.stderr) if p.returncode else None


def scripts_around():
    """Every script there is: of the tests, and of Debian's bpftrace where it is installed."""
    top = os.path.dirname(HERE)
    for path in sorted(glob.glob(top + "/lang/**/*.bt", recursive=True)):
        yield path, open(path).read().split("\n=== ", 1)[0] + "\n"
    for path in sorted(glob.glob(top + "/gen/*.bt") + glob.glob(top + "/run/aids/*.bt") +
                       glob.glob("/usr/sbin/*.bt")):
        yield path, open(path, errors="replace").read()
    for case in cases.load(None):
        for word in ("PROG", "SCRIPT"):
            if word in case:
                yield case["file"] + ": " + case["NAME"], case[word] + "\n"


def test_every_script_is_formatted(context):
    """A script that parses has a usual form, which formatting leaves alone. That it means the same
    is checked by --fmt itself, which else refuses to print it."""
    if context.in_vm:
        raise Skip("the kernel has no part in it")

    def fmt(text):
        p = subprocess.run([context.memtap, "--fmt", "-"], input=text, capture_output=True,
                           text=True, check=False, errors="replace")
        return p.returncode, p.stdout, p.stderr

    wrong, n = [], 0
    for name, text in scripts_around():
        status, out, err = fmt(text)
        if status and "syntax:" not in err and "No probes to attach" not in err:
            wrong.append(f"{name}: {err}")
        if not status and fmt(out)[1] != out:
            wrong.append(f"{name}: another text the second time")
        n += not status
    if n < 100:
        wrong.append(f"only {n} scripts parse")
    return "\n".join(wrong) or None


# ---- stacks ----------------------------------------------------------------------------------

def test_stacks_beside_gdb(context):
    """Some rows of docs/stacks.md; `make stacks` does them all."""
    require("root")
    if context.in_vm or context.sanitized:
        raise Skip("gdb is not waited for here")
    problems = []
    for program in compared.programs(context.build):
        if program.name not in ("perl", "sqlite3", "a Go program", "a C++ program with jemalloc"):
            continue
        missing = program.missing()
        if missing:
            problems.append(f"{program.name}: there is no {missing}")
            continue
        r = compared.run(context.memtap, program, program.malloc, 8, 60 * context.factor)
        if not r.whole():
            problems.append(f"{program.name}: {r.problem or 'no stack was seen'}")
        problems += [f"{program.name}: {s}" for s in r.shortcomings()]
        problems += [f"{program.name}: {a} is {b} by gdb" for a, b in r.differing()]
    return "\n".join(problems) or None


# ---- probes that were moved ------------------------------------------------------------------

def libc_path():
    return re.search(r"libc\.so\.6 => (\S+)", moved.output("ldd", sys.executable))[1]


def test_moved_probes_by_objdump(context):
    """No place in libc or memcached is within an instruction, or jumped to past the entry."""
    if context.in_vm:
        raise Skip("nothing of the kernel")
    problems, n = [], 0
    for path in (libc_path(), machine.memcached_usdt()):
        if path:
            sites = [s for s in moved.sites(context.memtap, path) if s.moved]
            problems += moved.wrong_places(path, sites)
            n += len(sites)
    if n < 100:
        problems.append(f"only {n} probes were moved")
    return "\n".join(problems) or None


def run_moved(context, chosen, work):
    """(stdout, stderr, status) of memtap with both probes on each function, while work() runs."""
    with tempfile.NamedTemporaryFile("w", suffix=".bt") as f:
        f.write(moved.script(chosen))
        f.flush()
        run = Run([context.memtap, f.name])
        if not run.attached(60 * context.factor):
            run.kill()
            raise RuntimeError(shown("it never attached", "".join(run.out), "".join(run.err)))
        work()
        run.process.send_signal(signal.SIGINT)
        return run.finish(60 * context.factor)


def compare_moved(chosen, out, err, status, least):
    rows = moved.counts(out, chosen)
    problems = [f"{s.name}: {a} at +{s.moved}, {b} at its entry" for s, a, b in rows if a != b]
    called = sum(1 for s, _, b in rows if s.moved and b)
    if called < least:
        problems.append(f"only {called} of the functions were called")
    if status:
        problems.append(f"exit status {status}")
    return shown("\n".join(problems), out, err) if problems else None


def private_libc(directory):
    """A copy: what is probed in it nobody else runs."""
    path = directory + "/libc.so.6"
    shutil.copyfile(libc_path(), path)
    os.chmod(path, 0o755)
    return path, {**os.environ, "LD_LIBRARY_PATH": directory}


def test_moved_probes_on_the_allocator(context):
    """malloc, free, calloc, realloc of glibc: as many calls as at their entries. On arm64 they
    start with nothing that the kernel executes itself, other functions do."""
    require("root")
    movable = {"x86_64": "free", "aarch64": "timespec_get"}[os.uname().machine]
    with tempfile.TemporaryDirectory(prefix="memtap-libc.") as d:
        libc, env = private_libc(d)
        chosen = [s for name in sorted({"malloc", "free", "calloc", "realloc", movable})
                  for s in moved.sites(context.memtap, libc, name)]
        if [s.moved for s in chosen if s.name == movable] == [0]:
            return f"{movable}'s probe was not moved"
        return compare_moved(chosen, *run_moved(context, chosen, lambda: subprocess.run(
            [sys.executable, AIDS + "/libc_work.py", "300"], env=env, check=True)), 1)


def test_moved_probes_on_500_functions(context):
    """All probes of libc and memcached that are moved, and others up to 500: each is hit as often
    as the exact one."""
    require("root", "uprobe_multi", "memcached-usdt")
    with tempfile.TemporaryDirectory(prefix="memtap-libc.") as d:
        libc, env = private_libc(d)
        memcached = d + "/memcached"
        shutil.copy(machine.memcached_usdt(), memcached)
        every = moved.sites(context.memtap, libc) + moved.sites(context.memtap, memcached)
        chosen = [s for s in every if s.moved]
        chosen += [s for s in every if not s.moved and s.path == memcached]
        chosen = chosen[:500]

        def work():
            with Memcached(context.factor, memcached, env) as m:
                m.load()
                m.end()
            subprocess.run([sys.executable, AIDS + "/libc_work.py", "50"], env=env, check=True)

        return compare_moved(chosen, *run_moved(context, chosen, work), 100)


# ---- the scripts people have ------------------------------------------------------------------

# Why one of Debian's bpftrace tools may not run: what this kernel or its libraries have not.
NOT_HERE = (r"this kernel has no kprobes"
            r"|No matches for (kprobe|uprobe|tracepoint) "
            r"|Failed to resolve kernel symbol: 'avenrun'"          # no data symbols
            r"|'kfree_skb' has no field named 'reason'"            # before Linux 5.17
            r"|'struct cfs_rq' has no field named 'nr_running'"     # since Linux 6.16
            r"|there is no arg3: the BTF tracepoint cap_capable, which stands in")


def dry_run(context, path, env):
    """Compiles, loads and attaches one script: None, or the first error."""
    p = subprocess.run([context.memtap, "--dry-run", path], env={**os.environ, **env},
                       stdin=subprocess.DEVNULL, capture_output=True, text=True,
                       timeout=40 * context.factor, check=False)
    if p.returncode == 0:
        return None
    error = re.search(r"ERROR: (.*)", p.stderr)
    # What is left of a script that may do without its probes asks for what they would have made.
    if error and error[1].startswith("Undefined map: "):
        error = re.search(r"WARNING: (this kernel has no .*)", p.stderr) or error
    return error[1] if error else f"status {p.returncode}: {p.stderr}"


def debian_tool(context, path):
    """The tools were written when missing functions of a list were warned about."""
    error = dry_run(context, path, {})
    return error and dry_run(context, path, {"BPFTRACE_MISSING_PROBES": "warn"}) and error


def untraceable(path):
    """Names the script kernel functions, none of which this kernel has as such? Those of
    biolatency and biosnoop are inlined in newer kernels."""
    names = set(re.findall(r"\bkprobe:(\w+)", open(path).read()))
    with open(machine.TRACEFS + "/available_filter_functions") as f:
        return names and names.isdisjoint(line.split()[0] for line in f)


def test_bpftrace_tools_of_debian(context):
    require("cmd:bpftrace", "tracefs", "btf")
    paths = [p for p in sorted(glob.glob("/usr/sbin/*.bt")) if "bpftrace" in open(p).read()]
    with ThreadPoolExecutor(4) as pool:
        errors = dict(zip(paths, pool.map(lambda p: debian_tool(context, p), paths)))
    wrong = [f"{p}: {e}" for p, e in errors.items()
             if e and not re.search(NOT_HERE, e) and not untraceable(p)]
    good = sum(e is None for e in errors.values())
    least = 32 if machine.has_kprobe() else 22
    if wrong or good < least:
        return f"{good} of {len(paths)} run\n" + "\n".join(wrong or map(str, errors.items()))
    return None


# ---- names of addresses ----------------------------------------------------------------------

INSERT = "_ZN3app5Cache6insertEil"


def test_names_of_a_process_that_has_ended(context):
    """Its file is gone, too, when its addresses are printed; its maps are from first sight."""
    with tempfile.TemporaryDirectory(prefix="memtap-names.") as tmp:
        program = shutil.copy(context.progs + "/namespaces", tmp + "/ended")
        with process(program, "loop") as p:
            run = Run([context.memtap, "-e", f"uprobe:{program}:{INSERT} /pid == {p.pid}/ {{"
                       "@[ustack(1), usym(reg(\"ip\")), func] = count(); @n++;"
                       "if (@n == 1) { printf(\"seen\\n\"); } }"])
            # What was sent before this line was taken in before it.
            seen = run.wait_for("seen", 20 * context.factor, "out")
        os.unlink(program)
        run.process.send_signal(signal.SIGINT)
        out, err, _ = run.finish(20 * context.factor)
    name = r"app::Cache::insert\(int, long\)"
    wanted = rf"^@\[\n        {name}\+0@\S+namespaces\.cc:\d+\n, {name}, {name}\]: [1-9]"
    return None if seen and re.search(wanted, out, re.M) else shown("no names", out, err)


def test_names_of_compiled_javascript(context):
    """node's perf map, once it holds what is looked for: code moves no more then."""
    require("cmd:node", "tracepoint:syscalls:sys_enter_getppid")
    if context.in_vm:
        raise Skip("node takes minutes in an emulated machine; the perf map of progs/jit is read")
    compiled = re.compile(r":[*^](turn|hotLookup) \S*hot\.js")

    began = time.time()

    def is_compiled():
        try:
            with open(map_path) as f:  # which may be that of another process of this number, before
                return os.stat(map_path).st_mtime >= began and bool(compiled.search(f.read()))
        except OSError:
            return False

    # It also writes a log, into the directory it runs in.
    with tempfile.TemporaryDirectory(prefix="memtap-names.") as tmp, \
            process("env", "-C", tmp, "node", "--perf-basic-prof", HERE + "/progs/hot.js",
                    rests=False) as p:
        map_path = f"/tmp/perf-{p.pid}.map"
        try:
            if not until(is_compiled, 50 * context.factor):
                raise Skip("this node did not compile the function within its time")
            run = Run([context.memtap, "-p", str(p.pid), "-e",
                       "tracepoint:syscalls:sys_enter_getppid {"
                       "@[ustack] = count(); @n++; if (@n >= 500) { exit(); } }"])
            out, err, _ = run.finish(20 * context.factor)
        finally:
            with contextlib.suppress(OSError):
                os.unlink(map_path)
    wanted = r"^        \S*:[*^](turn|hotLookup) \S*hot\.js\S*\+\d+$"
    return None if re.search(wanted, out, re.M) else shown("no compiled function", out, err)


def test_names_from_a_debug_server(context):
    require("tracepoint:syscalls:sys_enter_getppid")
    machine.library("libdebuginfod.so.1")
    script = "tracepoint:syscalls:sys_enter_getppid /pid == cpid/ { print(ustack(1)); exit(); }"
    with tempfile.TemporaryDirectory(prefix="memtap-names.") as tmp:
        bare = tmp + "/bare"
        notes = subprocess.run(["readelf", "-n", context.progs + "/namespaces"], check=True,
                               capture_output=True, text=True).stdout
        served = f"{tmp}/www/buildid/" + re.search(r"Build ID: ([0-9a-f]+)", notes)[1]
        os.makedirs(served)
        subprocess.run(["objcopy", "--only-keep-debug", context.progs + "/namespaces",
                        served + "/debuginfo"], check=True)
        subprocess.run(["strip", "-o", bare, context.progs + "/namespaces"], check=True)
        handler = functools.partial(QuietHandler, directory=tmp + "/www")
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            env = {"DEBUGINFOD_URLS": f"http://127.0.0.1:{server.server_address[1]}",
                   "DEBUGINFOD_CACHE_PATH": tmp + "/cache", "no_proxy": "*", "NO_PROXY": "*"}
            argv = [context.memtap, "-e", script, "-c", bare]
            with_server = Run(argv, env).finish(30 * context.factor)
            without = Run(argv, {"DEBUGINFOD_URLS": ""}).finish(30 * context.factor)
            server.shutdown()
    if context.one_file:
        return None if "fetches no debug files" in with_server[1] else shown("", *with_server[:2])
    if "        app::Cache::insert(int, long)+" not in with_server[0]:
        return shown("no name from the server", *with_server[:2])
    return None if "        bare+0x" in without[0] else shown("a name from where?", *without[:2])


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def all_tests():
    """(name, function) of every test_* here and in the files beside this one."""
    modules = [globals()]
    for path in sorted(glob.glob(HERE + "/scenarios/[!_]*.py")):
        name = "run.scenarios." + os.path.basename(path)[:-3]
        modules.append(vars(importlib.import_module(name)))
    for names in modules:
        for name, test in sorted(names.items()):
            if name.startswith("test_") and test.__module__ == names["__name__"]:
                yield name, test


def is_run(test, context):
    return not context.sanitized or test.__module__ not in UNSANITIZED


def required(test):
    """The test, behind what all of its file's require (REQUIRES)."""
    def with_all(context):
        require(*getattr(sys.modules[test.__module__], "REQUIRES", ()))
        return test(context)
    return with_all


def run_all(report, context, pattern=None):
    tests = [("scenario: " + name[5:].replace("_", " "), test) for name, test in all_tests()
             if is_run(test, context)]
    for title, test in report.chosen([t for t in tests if not pattern or re.search(pattern, t[0])]):
        report.run(title, required(test), context)
