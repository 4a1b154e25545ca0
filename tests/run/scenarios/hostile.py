# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""What other users control is read within bounds: a session does not crash, stall or fill the
machine because of it, nor look where it should not. docs/security.md lists all of it."""
import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from diff import anything, kernels
from diff.run import differences
from run.aids import hostile
from run.cases import Run
from run.scenarios.caches import Server
from run.scenarios import Memcached, has_breakpoint, on_host, process, require, shown, until

# `make hostile` sets it: all rounds of what is random, and what would disturb others' tests.
LONG = "HOSTILE" in os.environ
MEMORY = 4 * hostile.GIB  # of address space; what these files claim is more, or would take as much


def run_on(context, *argv, seconds=20, env=None):
    """(stdout, stderr, status) with bounded memory; status None when it took too long."""
    # Sanitizers take terabytes of address space.
    limit = [] if "/san/" in context.memtap else ["prlimit", f"--as={MEMORY}"]
    run = Run([*limit, context.memtap, *argv], env=env)
    return run.finish(seconds * context.factor)


def judge(what, out, err, status, want_status, wanted):
    problems = []
    if status != want_status:
        problems.append(f"{what}: exit status {status}, not {want_status}")
    if not re.search(wanted, out + err, re.M):
        problems.append(f"{what}: {wanted} is not in its output")
    return shown("\n".join(problems), out, err) if problems else None


def on_file(context, content, want_status, wanted):
    with tempfile.NamedTemporaryFile() as f:
        if callable(content):
            content(f.name)
        else:
            f.write(content)
            f.flush()
        out, err, status = run_on(context, "-l", f"uprobe:{f.name}:*")
        return judge(f.name, out, err, status, want_status, wanted)


@on_host
def test_hostile_a_file_that_shrinks_while_it_is_read(context):
    """The owner cuts it and writes it anew all the time; before, SIGBUS ended us."""
    with tempfile.TemporaryDirectory() as d:
        path, done = d + "/shrinks", threading.Event()
        shutil.copy(context.memtap, path)
        whole = open(path, "rb").read()

        def shrink():
            with open(path, "r+b") as f:
                while not done.is_set():
                    f.truncate(65536)
                    f.truncate(len(whole))
                    f.seek(0)
                    f.write(whole)

        thread = threading.Thread(target=shrink)
        thread.start()
        try:
            for _ in range(300 if LONG else 25):
                out, err, status = Run([context.memtap, "-l", f"uprobe:{path}:main"]).finish(
                    60 * context.factor)
                if status not in (0, 1):
                    return shown(f"exit status {status}", out, err)
        finally:
            done.set()
            thread.join()
    return None


@on_host
def test_hostile_a_sparse_file_of_3_gb(context):
    return on_file(context, lambda path: hostile.claims(path, 3 * hostile.GIB), 1,
                   r"is all but empty: of its 3221225472 bytes the disk has \d+")


@on_host
def test_hostile_a_sparse_file_of_200_gb(context):
    return on_file(context, lambda path: hostile.claims(path, 200 * hostile.GIB), 1,
                   r"is all but empty: of its 214748364800 bytes the disk has \d+")


@on_host
def test_hostile_a_table_named_2000_times(context):
    """Read once: its 100,000 symbols are one function."""
    return on_file(context, hostile.one_table(100000, 2000), 0, r"^uprobe:\S+:f$")


@on_host
def test_hostile_a_symbol_of_40_kb(context):
    """Left out, which is said."""
    return on_file(context, hostile.long_name(40000), 0,
                   r"^uprobe:\S+:f$(.*\n)*WARNING: 1 programs, .*functions of theirs may be "
                   "missing")


@on_host
def test_hostile_names_of_go_that_do_not_end(context):
    with tempfile.TemporaryDirectory() as d:
        path = d + "/goes"
        hostile.with_section(path, "/bin/true", ".gopclntab",
                             hostile.endless_names(200000, 4 << 20))
        out, err, status = run_on(context, "-c", path, "-e",
                                  "tracepoint:syscalls:sys_enter_exit_group "
                                  "{ print(ustack); }", seconds=30)
        return judge(path, out, err, status, 0, r"goes\+0x|\+0x[0-9a-f]+")


@on_host
def test_hostile_inlining_100000_deep(context):
    """libdw's own walk takes the stack for each level, and ended by SIGSEGV."""
    with tempfile.TemporaryDirectory() as d:
        path = d + "/nested"
        hostile.nested(path, 100000)
        out, err, status = run_on(context, "--lines", "-c", path, "-e",
                                  f"uprobe:{path}:work {{ @[ustack] = count(); }}", seconds=30)
        return judge(path, out, err, status, 0, r"inner@?.*\n(.*\n)*.*main")


@on_host
def test_hostile_inlining_that_takes_seconds(context):
    """After a second the line alone, for the rest of that file's addresses; which is counted."""
    lack = "1 programs, libraries or debug files took more than a second for an address"
    with tempfile.TemporaryDirectory() as d:
        path = d + "/slow"
        hostile.nested(path, 1, 100 << 20)
        script = f"uprobe:{path}:work {{ @[ustack] = count(); }}"
        out, err, status = run_on(context, "--lines", "-c", path, "-e", script, seconds=60)
        problem = judge("as text", out, err, status, 0, f"^WARNING: {lack}")
        if problem or "inner" in out:
            return problem or shown("the inlined function was found", out, err)
        out, err, status = run_on(context, "-f", "json", "--lines", "-c", path, "-e", script,
                                  seconds=60)
        if status:
            return shown(f"as JSON: exit status {status}", out, err)
        found = [(r["type"], r["count"]) for r in map(json.loads, out.splitlines())
                 if r.get("msg", "").startswith(lack)]
        return None if found == [("runtime_error", 1)] else shown(f"as JSON: {found}", out, err)


MULTIPLYING = r"the types are in each other so often that writing them all has no end"


@on_host
def test_hostile_types_that_multiply(context):
    """A few hundred bytes of types in each other: no subcommand writes without an end."""
    problems = []
    with tempfile.TemporaryDirectory() as d:
        path = d + "/types"
        for name, content in hostile.fanning().items():
            with open(path, "wb") as f:
                f.write(content)
            kinds = [["dump", "-b", path], ["dump", "--json", "-b", path], ["stat", "-b", path],
                     ["find", "*", "-b", path], ["path", "s", "m", "-b", path],
                     ["filter", "--type", "s", "-o", "/dev/null", "-b", path]]
            for argv in kinds + [["dump", "--c", "-b", path], ["show", "s", "-b", path],
                                 ["diff", path, path]]:
                out, err, status = run_on(context, "btf", *argv, seconds=60)
                if status not in (0, 1) or (status and not re.search(MULTIPLYING, err)):
                    problems.append(shown(f"{name}: {argv}: {status}", out[-1000:], err))
            out, err, status = run_on(context, "btf", "dump", "--c", "-b", path, seconds=60)
            problems.append(judge(f"{name}, as C", out[-1000:], err, status, 1, MULTIPLYING))
    return "\n".join(filter(None, problems)) or None


@on_host
def test_hostile_a_pipe_instead_of_a_file(context):
    """Nobody writes to it: nothing waits for that."""
    with tempfile.TemporaryDirectory() as d:
        os.mkfifo(d + "/pipe.bt")
        for argv in (["-l", f"uprobe:{d}/pipe.bt:*"],
                     ["-e", f'import "{d}/pipe.bt"; BEGIN {{ exit(); }}'],
                     ["-e", f'#include "{d}/pipe.bt"\nBEGIN {{ exit(); }}']):
            out, err, status = run_on(context, *argv)
            problem = judge(" ".join(argv), out, err, status, 1, "is not a regular file")
            if problem:
                return problem
    return None


@on_host
def test_hostile_a_script_that_does_not_come(context):
    """A pipe may be the script itself; a signal ends the wait, and what comes is read."""
    with tempfile.TemporaryDirectory() as d:
        path = d + "/pipe.bt"
        os.mkfifo(path)
        for words in ([], ["check"]):
            run = Run([context.memtap, *words, path])
            time.sleep(0.2)
            run.process.send_signal(signal.SIGINT)
            out, err, status = run.finish(10 * context.factor)
            if status != -signal.SIGINT:
                return shown(f"{words}: exit status {status} after SIGINT", out, err)
            run = Run([context.memtap, *words, path])
            with open(path, "w") as f:
                f.write('BEGIN { printf("it came\\n"); exit(); }')
            out, err, status = run.finish(60 * context.factor)
            if status or (not words and "it came" not in out):
                return shown(f"{words}: exit status {status}", out, err)
    return None


# Names of sockets that hold lines of /proc/net/unix: the server's socket is said to be at paths
# where another user listens. The table's order is that of inodes: some of 256 come first.
FALSE_NAMES = """
import os, socket, sys
inode, d = sys.argv[1:]
os.setgid(65534)
os.setuid(65534)
s = socket.socket(socket.AF_UNIX)
s.bind(d + "/f")
s.listen(64)
false = f"{d}/\\nf:0 0 10000 0 0 {inode} {d}"
os.makedirs(false)
names = [socket.socket(socket.AF_UNIX) for _ in range(256)]
for i, name in enumerate(names):
    os.symlink("f", f"{d}/f{i}")
    name.bind(f"{false}/f{i}")
print("ready", flush=True)
while True:
    c, _ = s.accept()
    print("asked" if c.recv(1) else "left alone", flush=True)
    c.close()
"""


@on_host
def test_hostile_names_of_sockets(context):
    """mctop --check asks who listens for that server, or nobody."""
    with tempfile.TemporaryDirectory(dir="/tmp") as d:  # names of sockets are short
        os.chmod(d, 0o777)
        with Server(context, "memcached", path=d + "/s") as s:
            with open("/proc/net/unix") as f:
                inode = re.search(rf" 00010000 \S+ \S+ +(\d+) {re.escape(d)}/s$", f.read(),
                                  re.M)[1]
            false = Run(["python3", "-c", FALSE_NAMES, inode, d])
            false.wait_for("ready", 20 * context.factor, "out")
            run = Run([context.memtap, "mctop", "-p", str(s.pid), "--check", "--json", "3600"])
            run.attached(60 * context.factor)
            run.process.send_signal(signal.SIGINT)
            out, err, _ = run.finish(60 * context.factor)
            false.process.kill()
            said = false.finish(20 * context.factor)[0]
        if "asked" in said:
            return shown("another user's process was asked", out, err)
        if "left alone" not in said:
            return shown(f"the false name was not the first: {said}", out, err)
        return judge("mctop", out, err, 0, 0, "can not ask memcached")


# A server by its name alone, whose answers do not end.
ENDLESS = """
import socket, sys
with open("/proc/self/comm", "w") as f:
    f.write("memcached")
s = socket.create_server(("127.0.0.1", 0))
print(s.getsockname()[1], flush=True)
while True:
    c, _ = s.accept()
    try:
        while True:
            c.sendall(b"STAT a 1\\r\\n" * 10000)
    except OSError:
        c.close()
"""


@on_host
def test_hostile_an_answer_that_does_not_end(context):
    server = Run(["python3", "-c", ENDLESS])
    try:
        server.wait_for(r"\d\n", 20 * context.factor, "out")
        out, err, status = run_on(context, "mctop", "-p", str(server.process.pid), "--check", "1",
                                  "1")
        return judge("mctop", out, err, status, 1, "does not tell its counters")
    finally:
        server.kill()


WORK = """#include <unistd.h>
__attribute__((noinline)) void work(void) { __asm__ volatile(""); }
int main(void) { for (;;) { work(); usleep(1000); } }
"""


@on_host
def test_hostile_links_in_a_root_stay_in_it(context):
    """/app is a link to /bin/work, which only the process's root has; /out one to a file that only
    ours has, and /proc/1/root is not there at all."""
    with tempfile.TemporaryDirectory() as d:
        for name in ("bin", "root"):
            os.mkdir(f"{d}/{name}")
        subprocess.run(["gcc", "-static", "-O1", "-x", "c", "-o", d + "/bin/work", "-"],
                       input=WORK, text=True, check=True)
        os.symlink("/bin/work", d + "/app")
        os.symlink(context.memtap, d + "/out")
        os.symlink("../../../../../../../.." + context.memtap, d + "/up")
        with process("chroot", d, "/bin/work") as p:
            out, err, status = run_on(context, "-p", str(p.pid), "-e", "uprobe:/app:work { @++; "
                                      "if (@ == 3) { exit(); } }")
            problem = judge("a link in the root", out, err, status, 0, r"^@: \d+$")
            for path in ("/out", "/up"):
                out, err, status = run_on(context, "-p", str(p.pid), "-e",
                                          f"uprobe:{path}:main {{ @++; }} BEGIN {{ exit(); }}")
                problem = problem or judge(path, out, err, status, 1, r"can not open \S+")
                out, err, status = run_on(
                    context, "-e", f"uprobe:/proc/{p.pid}/root{path}:main {{ @++; }} "
                    "BEGIN { exit(); }")
                problem = problem or judge(path, out, err, status, 1, r"can not open \S+")
            return problem


COUNTED = "tracepoint:syscalls:sys_enter_getsid /pid == cpid/ { @ = count(); @n = sum(2); %s }"
CALLS = "for i in range(20000): os.getsid(0)"


def counted(context, prepare, script=""):
    """A count of 20,000 calls on every processor, where /sys is what `prepare` makes of it."""
    program = f"python3 -c 'import os\n{CALLS}'"
    command = f"{prepare} && exec \"$0\" \"$@\""
    return Run(["unshare", "-m", "sh", "-c", command, context.memtap, "-c", program, "-e",
                COUNTED % script]).finish(60 * context.factor)


@on_host
def test_hostile_processors_are_counted_without_sys(context):
    require("tracefs")
    cover = "mount -t tmpfs none /sys/devices/system/cpu"
    lie = f"{cover} && echo 0 >/sys/devices/system/cpu/possible"
    for prepare in (cover, lie):
        out, err, status = counted(context, prepare)
        problem = judge(prepare, out, err, status, 0, r"^@: 20000\n(.*\n)*@n: 40000$")
        if problem:
            return problem
    out, err, status = counted(context, lie, "if ((int64)@ == -1) { exit(); }")
    return judge("reading it in the script", out, err, status, 1,
                 r"the kernel has \d+ possible processors, and the script was compiled for 1")


@on_host
def test_hostile_a_dry_run_runs_nothing(context):
    """The dynamic loader that a program names is its own choice."""
    with tempfile.TemporaryDirectory() as d:
        with open(d + "/loader", "w") as f:
            f.write(f"#!/bin/sh\ntouch {d}/was_run\n")
        os.chmod(d + "/loader", 0o755)
        for name, source in (("lib", "int inside(void) { return 1; }"),
                             ("program", "int inside(void); int main(void) { return inside(); }")):
            subprocess.run(["gcc", "-x", "c", "-", "-o", f"{d}/{name}", *(
                ["-shared", "-fPIC", "-Wl,-soname,libinside.so"] if name == "lib" else
                ["-x", "none", d + "/lib", "-Wl,-rpath,$ORIGIN", "-Wl,--dynamic-linker=" + d +
                 "/loader"])], input=source, text=True, check=True)
        os.rename(d + "/lib", d + "/libinside.so")
        out, err, status = run_on(context, "--dry-run", "-v", "-c", d + "/program", "-e",
                                  "uprobe:*:inside { @++; }")
        if os.path.exists(d + "/was_run"):
            return shown("the program's loader was run", out, err)
        return judge("--dry-run", out, err, status, 0, "1 probe")


@on_host
def test_hostile_libraries_in_many_places(context):
    """Needed 8,000 times, and in none of 4,000 directories: before, each was looked for in each."""
    with tempfile.TemporaryDirectory() as d:
        path = d + "/needing"
        with open(path, "wb") as f:
            f.write(hostile.needing(8000, 4000))
        os.chmod(path, 0o755)
        out, err, status = run_on(context, "--dry-run", "-c", path, "-e",
                                  "uprobe:*:malloc { @++; }")
        return judge("--dry-run", out, err, status, 1,
                     "has its libraries looked for in more than 100000 places")


@on_host
def test_hostile_literal_of_40_kb(context):
    """One that no program has room for was an assertion that failed."""
    text = "x" * 40000
    out, err, status = run_on(context, "--dry-run", "-e", f'BEGIN {{ $a = "{text}"; }}')
    return judge("a literal", out, err, status, 1, "a value of 40008 bytes, where programs have")


STATEMENTS = {
    "@h = hist({});": None,
    "if (pid == {0}) {{ @ = {0}; }}": None,
    "printf(\"{0} %d\\n\", {0});": None,
    "$v{0} = {0}; @ = $v{0};": "this probe has more than 8192 variables",
    "@m{} = 1;": "more than 64 maps in one probe",
}


@on_host
def test_hostile_scripts_of_40000_statements(context):
    """Compiled and shown, or refused; what took time by the square of them took minutes."""
    with tempfile.TemporaryDirectory() as d:
        for statement, refused in STATEMENTS.items():
            with open(d + "/many.bt", "w") as f:
                body = "\n".join(statement.format(i) for i in range(40000))
                f.write(f"BEGIN {{ {body} }}\n")
            out, err, status = run_on(context, "-d", "bpf", d + "/many.bt", seconds=30)
            problem = judge(statement, out[-1000:], err, status, 1 if refused else 0,
                            refused or "exit$")
            if problem:
                return problem
    return None


@on_host
def test_hostile_a_wildcard_over_many_files(context):
    """It stops looking when there are far too many probes."""
    with tempfile.TemporaryDirectory(dir=os.path.dirname(context.memtap)) as d:
        for i in range(500):
            os.link(context.memtap, f"{d}/{i}")
        out, err, status = run_on(context, "-e", f"uprobe:{d}/*:* {{ @++; }}")
        return judge("500 files", out, err, status, 1,
                     r"the script has at least 10\d{4} probes, more than the limit of 1024")


def commands(word):
    """Processes of that one argument."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as f:
            if f.read().split(b"\0")[1:2] == [word.encode()]:
                found.append(int(pid))
    return found


def stop_command(word):
    for pid in commands(word):
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGSTOP)


PADS = "".join(f'__attribute__((noinline)) void pad_{i}(void) {{ __asm__ volatile("nop"); }}\n'
               for i in range(300))


@contextlib.contextmanager
def many_functions():
    """A program with 300 functions pad_0, pad_1, ... that sleeps."""
    with tempfile.TemporaryDirectory() as d:
        subprocess.run(["gcc", "-O1", "-x", "c", "-o", d + "/many", "-"], text=True, check=True,
                       input=f"#include <unistd.h>\n{PADS}int main(void) {{ for (;;) pause(); }}\n")
        with process(d + "/many") as p:
            yield d + "/many", p


@on_host
def test_hostile_kill_9_at_any_moment(context):
    """While it compiles, attaches, runs: no probe is left, no semaphore stays raised, the command
    of -c ends, also when it stands still, and what it watches goes on. Of one that is killed while
    it attaches the kernel takes the probes away but can not write to the memory of others any more
    (get_user_pages() ends with a pending SIGKILL): semaphores it had raised stay so, harmless but
    for the time they cost."""
    attached = 0
    with Memcached(context.factor) as m, many_functions() as (target, p):
        for i in range(100 if LONG else 6):
            delay = random.Random(i).uniform(0.001, 0.3) if i % 2 else 30 * context.factor
            before, word = m.raised(), f"5{os.getpid():07d}{i:03d}"
            run = Run([context.memtap, "-c", f"sleep {word}", "-e",
                       f"usdt:{m.path}:memcached:* {{ @++; }} "
                       f"uprobe:{target}:pad_* {{ @a = count(); }}"])
            whole = run.wait_for("Attached", delay)
            if whole and i % 4 == 0:
                stop_command(word)
            run.process.kill()
            run.finish(30 * context.factor)
            attached += whole
            if not until(lambda: not commands(word), 30 * context.factor):
                return f"killed after {delay} s: the command of -c is left"
            for name in ("pad_0", "pad_299"):
                if not until(lambda n=name: not has_breakpoint(p.pid, target, n),
                             30 * context.factor):
                    return f"killed after {delay} s: a probe is left"
            if whole and not until(lambda: m.raised() <= before, 30 * context.factor):
                return f"killed once attached: semaphores are left: {m.raised() - before}"
            if p.poll() is not None:
                return f"killed after {delay} s: the target ended"
    return None if attached else "it was never attached"


SCRIPTS, SEEDS = 2000, 400
ELSEWHERE = 90  # seconds on each of the other kernels, two side by side; the rest: KERNEL=


@on_host
def test_hostile_random_scripts(context):
    """Here and, in the long form, on the other kernels: as many as there is time for."""
    require("root")
    judged, wrong = anything.total(
        anything.run([context.memtap], anything.places_of(context.build),
                     range(1, 1 + (SEEDS if LONG else 15))), SCRIPTS if LONG else 15)
    if not LONG or wrong:
        return wrong
    print(f"   here: {judged} random scripts of {SEEDS} seeds")
    wrong, _ = differences(context.build, 1, SCRIPTS, context.factor, typed_share=1)
    if wrong:
        return "\n".join(wrong[:3])
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda k: kernels.judge(
            context.build, k, 1, SCRIPTS, ELSEWHERE * context.factor), kernels.SERIES))
    for found, _ in results:
        print("   " + found)
    return "\n".join(wrong for _, wrong in results if wrong) or None


@on_host
def test_hostile_many_at_once(context):
    """Each counts all 1,000 of its own calls. (A tracepoint takes 64 programs.)"""
    script = "uprobe:libc:getsid /pid == cpid/ { @ = count(); }"
    program = "python3 -c 'import os\nfor i in range(1000): os.getsid(0)'"
    runs = [Run([context.memtap, "-c", program, "-e", script]) for _ in range(200 if LONG else 8)]
    problem = None
    for run in runs:
        out, err, status = run.finish(300 * context.factor)
        problem = problem or judge("one of them", out, err, status, 0, "^@: 1000$")
    return problem
