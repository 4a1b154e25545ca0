# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""End-to-end cases in a directive format: each runs memtap on the live kernel.

A file of tests/run/cases/ holds cases, each from its NAME line to the next. A directive is a
word at the line's start and the rest of the line; with nothing behind it, the text is the
following lines that start with a tab. '#' starts a comment line.

  NAME        what is shown
  PROG        the script, given by -e
  SCRIPT      the script, given as a file
  ARGS        options behind it, as a shell would split them
  RUN         instead of PROG: a shell command
  BEFORE      a command running meanwhile; {{PID}} is its process, which sleeps or reads its
              standard input when the case begins
  AFTER       a shell command to run once the probes are attached
  SIGNAL      then send memtap this signal, e.g. INT
  STDIN       text for memtap's standard input
  ENV         NAME=value for memtap
  EXPECT      lines that stdout has, one behind the other
  EXPECT_ONLY all that stdout has (blank lines at both ends aside)
  EXPECT_REGEX, EXPECT_NONE, EXPECT_ERR, EXPECT_ERR_REGEX, EXPECT_JSON
              a pattern of stdout; of neither stream; a line of stderr; a pattern of stderr;
              a JSON line of stdout
  EXIT        status, 0 when not given
  REQUIRES    see tests/lib/machine.py; several words
  TIMEOUT     seconds, 20 when not given
  SERIAL      not beside other cases
  HOST        not in the virtual machine, with the reason
  PLAIN       not with sanitizers, with the reason
  LOADS       not with the file of `make static`, which loads no library: what is loaded

What a program of -c prints comes on the same stdout, between any two lines of memtap's: where it
prints, each line is asked for by itself, or by a pattern that lets others stand between (?s).

{{MEMTAP}} {{BUILD}} {{TESTS}} {{PROGS}} {{EXAMPLES}} {{PID}} {{TMP}} {{MEMCACHED}} are replaced in
all texts, and so are the machine's own names and numbers (OWN in tests/lib/machine.py).
"""
import glob
import json
import os
import re
import shlex
import signal
import subprocess
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from lib import machine
from lib.report import Skip

HERE = os.path.dirname(os.path.abspath(__file__))
REPEATED = ("EXPECT", "EXPECT_REGEX", "EXPECT_NONE", "EXPECT_ERR", "EXPECT_ERR_REGEX",
            "EXPECT_JSON", "ENV")
KNOWN = REPEATED + ("NAME", "PROG", "SCRIPT", "ARGS", "RUN", "BEFORE", "AFTER", "SIGNAL", "STDIN",
                    "EXPECT_ONLY", "EXIT", "REQUIRES", "TIMEOUT", "SERIAL", "HOST", "PLAIN",
         "LOADS")


def is_static(program):
    """It names no loader of libraries."""
    head = subprocess.run(["readelf", "-lW", program], capture_output=True, text=True, check=True)
    return "INTERP" not in head.stdout


class Context:
    """Where things are, and how much slower than usual this machine is."""

    def __init__(self, build, factor=1.0, in_vm=False, sanitized=False, program=None):
        self.build = os.path.abspath(build)
        self.memtap = os.path.abspath(program) if program else self.build + "/memtap"
        self.one_file = bool(program) and is_static(self.memtap)
        self.progs = self.build + "/tests/progs"
        self.factor = factor
        self.in_vm = in_vm
        self.sanitized = sanitized

    def names(self, pid=0, tmp=""):
        return {"MEMTAP": self.memtap, "BUILD": self.build, "PROGS": self.progs,
                "TESTS": os.path.dirname(HERE),
                "EXAMPLES": self.build + "/examples", "PID": str(pid), "TMP": tmp,
                "MEMCACHED": machine.memcached_usdt() or "/nonexistent", **machine.OWN}


def parse(path):
    """The cases of a file, each a dictionary; repeated directives are lists."""
    cases, case, word, blank = [], None, None, 0
    for number, line in enumerate(open(path), 1):
        line = line.rstrip("\n")
        if line.startswith("\t"):
            block_line(case, word, "\n" * blank + line[1:])
            blank = 0
            continue
        if not line.strip():
            blank += 1 # part of a block that goes on behind it
            continue
        blank = 0
        if line.startswith("#"):
            continue
        word, _, text = line.partition(" ")
        if word not in KNOWN:
            raise ValueError(f"{path}:{number}: unknown directive {word}")
        if word == "NAME":
            case = {"file": os.path.basename(path)}
            cases.append(case)
        if word in REPEATED:
            case.setdefault(word, []).append(text)
        else:
            case[word] = text
    return cases


def block_line(case, word, line):
    old = case[word][-1] if word in REPEATED else case[word]
    new = f"{old}\n{line}" if old else line
    if word in REPEATED:
        case[word][-1] = new
    else:
        case[word] = new


def skip_if_impossible(case, context):
    if context.in_vm and "HOST" in case:
        raise Skip("not in the virtual machine: " + case["HOST"])
    if context.sanitized and "PLAIN" in case:
        raise Skip("not with sanitizers: " + case["PLAIN"])
    if context.one_file and "LOADS" in case:
        raise Skip("the one file does not load " + case["LOADS"])
    for requirement in ["root"] + case.get("REQUIRES", "").split():
        reason = machine.missing(requirement)
        if reason:
            raise Skip(reason)


# Where a program waits of its own accord: pause (on arm64 ppoll), nanosleep, clock_nanosleep, read
# of descriptor 0.
RESTS = re.compile({"x86_64": r"(34|35|230|0 0x0) ",
                    "aarch64": r"(73|101|115|63 0x0) "}[os.uname().machine])


def settles(pid, seconds):
    """Waits until a process is past its loader and rests; False when it does not."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            with open(f"/proc/{pid}/syscall") as f:
                if RESTS.match(f.read()):
                    return True
        except OSError:
            return False
        time.sleep(0.005)
    return False


class Run:
    """One memtap process, its output collected while it runs; merged: both streams as one; stdout:
    a file that is to have it instead."""

    def __init__(self, argv, env=None, stdin=None, shell=False, cwd=None, merged=False,
                 stdout=subprocess.PIPE):
        self.process = subprocess.Popen(
            argv, shell=shell, env={**os.environ, **(env or {})}, cwd=cwd,
            stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
            stdout=stdout, stderr=subprocess.STDOUT if merged else subprocess.PIPE,
            start_new_session=True, text=True, errors="backslashreplace")
        self.out, self.err = [], []
        self.readers = [threading.Thread(target=self._read, args=pair, daemon=True) for pair in
                        ((self.process.stdout, self.out), (self.process.stderr, self.err))
                        if pair[0]]
        for reader in self.readers:
            reader.start()
        if stdin is not None:
            self.process.stdin.write(stdin)
            self.process.stdin.close()

    @staticmethod
    def _read(stream, into):
        for line in stream:
            into.append(line)

    def wait_for(self, pattern, seconds, stream="err"):
        """True once a stream has a match; False when it ends or time runs out first."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if re.search(pattern, "".join(getattr(self, stream))):
                return True
            if self.process.poll() is not None:
                for reader in self.readers:
                    reader.join(1)
                return bool(re.search(pattern, "".join(getattr(self, stream))))
            time.sleep(0.01)
        return False

    def attached(self, seconds):
        return self.wait_for(r"Attached \d+ probe", seconds)

    def finish(self, seconds):
        """(stdout, stderr, status); status None when it had to be killed."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            self._join()
            return "".join(self.out), "".join(self.err), None
        self._join()
        return "".join(self.out), "".join(self.err), self.process.returncode

    def _join(self):
        for reader in self.readers:
            reader.join(2)

    def kill(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()


def fill(text, names):
    return re.sub(r"\{\{(\w+)\}\}", lambda m: names[m[1]], text)


def command(case, context, names, tmp):
    """(argv or shell text, shell?)"""
    if "RUN" in case:
        return fill(case["RUN"], names), True
    args = shlex.split(fill(case.get("ARGS", ""), names))
    if "SCRIPT" in case:
        path = tmp + "/script.bt"
        with open(path, "w") as f:
            f.write(fill(case["SCRIPT"], names) + "\n")
        return [context.memtap, path] + args, False
    return [context.memtap, "-e", fill(case["PROG"], names)] + args, False


def run_case(case, context):
    """None, or what went wrong."""
    skip_if_impossible(case, context)
    timeout = float(case.get("TIMEOUT", "20")) * context.factor
    before = None
    with tempfile.TemporaryDirectory(prefix="memtap-case.") as tmp:
        try:
            if "BEFORE" in case:
                before = subprocess.Popen(shlex.split(fill(case["BEFORE"], context.names(0, tmp))),
                                          stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                          stderr=subprocess.DEVNULL)
                if not settles(before.pid, timeout):
                    return "the command of BEFORE does not come to rest"
            names = context.names(before.pid if before else 0, tmp)
            argv, shell = command(case, context, names, tmp)
            env = dict(fill(e, names).split("=", 1) for e in case.get("ENV", []))
            run = Run(argv, env, case.get("STDIN"), shell, cwd=context.build + "/examples")
            problem = events(case, run, names, timeout)
            out, err, status = run.finish(timeout)
            return problem or judge(case, names, out, err, status)
        finally:
            if before:
                before.kill()
                before.wait()


def events(case, run, names, timeout):
    """AFTER and SIGNAL, once attached."""
    if "AFTER" not in case and "SIGNAL" not in case:
        return None
    if not run.attached(timeout):
        run.kill()
        return "never attached:\n" + "".join(run.out) + "".join(run.err)
    if "AFTER" in case:
        subprocess.run(fill(case["AFTER"], names), shell=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, timeout=timeout, check=False)
    if "SIGNAL" in case:
        run.process.send_signal(getattr(signal, "SIG" + case["SIGNAL"]))
    return None


def has_lines(text, wanted):
    lines = [line.rstrip() for line in text.split("\n")]
    block = [line.rstrip() for line in wanted.split("\n")]
    return any(lines[i:i + len(block)] == block for i in range(len(lines) - len(block) + 1))


def json_values(text):
    for line in text.split("\n"):
        try:
            yield json.loads(line)
        except ValueError:
            pass


def judge(case, names, out, err, status):
    problems = []

    def want(ok, what, text):
        if not ok:
            problems.append(f"{what}: {text}")

    def each(word):
        return [fill(t, names) for t in case.get(word, [])]

    for t in each("EXPECT"):
        want(has_lines(out, t), "stdout lacks the lines", "\n" + t)
    for t in each("EXPECT_REGEX"):
        want(re.search(t, out, re.M), "stdout has no match of", t)
    for t in each("EXPECT_NONE"):
        want(not re.search(t, out + err, re.M), "output has a match of", t)
    for t in each("EXPECT_ERR"):
        want(has_lines(err, t), "stderr lacks the line", t)
    for t in each("EXPECT_ERR_REGEX"):
        want(re.search(t, err, re.M), "stderr has no match of", t)
    for t in each("EXPECT_JSON"):
        want(json.loads(t) in list(json_values(out)), "stdout lacks the JSON line", t)
    if "EXPECT_ONLY" in case:
        t = fill(case["EXPECT_ONLY"], names)
        want([x.rstrip() for x in out.strip("\n").split("\n")] == t.strip("\n").split("\n"),
             "stdout is not", "\n" + t)
    exit_wanted = int(case.get("EXIT", "0"))
    if status is None:
        problems.append("did not end in time")
    else:
        want(status == exit_wanted, "exit status", f"{status}, not {exit_wanted}")
    if not problems:
        return None
    return "\n".join(problems) + f"\n--- stdout\n{out[-3000:]}\n--- stderr\n{err[-3000:]}"


def load(pattern):
    cases = []
    for path in sorted(glob.glob(HERE + "/cases/*.case")):
        cases += parse(path)
    if pattern:
        cases = [c for c in cases if re.search(pattern, c["file"] + ": " + c["NAME"])]
    return cases


def run_all(report, context, pattern=None):
    def one(case):
        report.run(f"{case['file']}: {case['NAME']}", run_case, case, context)

    cases = report.chosen(load(pattern))
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        list(pool.map(one, [c for c in cases if "SERIAL" not in c]))
    for case in cases:
        if "SERIAL" in case:
            one(case)
