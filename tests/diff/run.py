# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The same random script in four places: worked out while it was made (programs.py, typed.py), in
the test interpreter, in the kernel, and in Debian's bpftrace where that is installed and has
what the script uses. All must print the same lines, and the kernel must not refuse a program.

MEMTAP_SEED chooses the first script, MEMTAP_SCRIPTS how many; `make differential` runs many.

`make differential` also asks that scripts of all functions, right or wrong, are accepted or refused
by us (anything.py); the short form of that is among the cases of tests/run.

And all operators over all types and edge values (numbers.py), in the interpreter and in the kernel.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from diff import anything, numbers, programs, typed  # noqa: E402

SCRIPTS = 100      # in `make check`
TREES = 500        # of operators, in `make check`
OTHER_SHARE = 10   # one old script in so many runs under bpftrace, which takes long to compile
OTHER = "0.17"
TYPED_SHARE = 20   # one script in so many is of typed.py: the kernel takes long to check them


def lines(text):
    return [line for line in text.splitlines() if line.startswith("> ")]


def other_bpftrace():
    path = shutil.which("bpftrace")
    if not path or os.geteuid() != 0:
        return None
    version = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
    return path if OTHER in version.stdout else None


class Program:
    def __init__(self, what, path, script, want, errors):
        self.what, self.path, self.script, self.want = what, path, script, want
        self.errors = errors  # divisions by zero
        # Of a long one the line that prints is enough.
        self.shown = script if len(script) < 20000 else None
        with open(self.path, "w") as f:
            f.write(self.script)

    def differs(self, where, got):
        if got == self.want:
            return None
        n = next((i for i, (a, b) in enumerate(zip(got, self.want)) if a != b),
                 min(len(got), len(self.want)))
        return (f"{self.what}, {where}: line {n + 1} is {got[n:n + 1]}, not "
                f"{self.want[n:n + 1]}\n{self.shown or self.printing(self.want[n:n + 1])}")

    def printing(self, line):
        start = " ".join("".join(line).split()[:4])
        return "\n".join(text for text in self.script.splitlines() if start in text)


def random_program(seed, directory, typed_share):
    old = seed % 2 == 0
    script, want, errors = \
        typed.make(seed) if seed % typed_share == 1 else programs.make(seed, old)
    program = Program(f"seed {seed}", f"{directory}/{seed}.bt", script, want, errors)
    program.old = old
    return program


def suite_programs(directory):
    """What `make check` runs, in the interpreter, the kernel or both."""
    made = [random_program(1 + i, directory, TYPED_SHARE) for i in range(SCRIPTS)]
    return made + [Program(s.what, f"{directory}/n{i}.bt", s.text(), s.want, len(s.errors))
                   for i, s in enumerate(numbers.scripts(1, TREES, "cc"))]


def interpret(lab, made):
    """What is wrong with what the interpreter prints for each program, in one process."""
    p = subprocess.run(lab + [m.path for m in made], capture_output=True, text=True,
                       errors="replace", check=False)
    parts = re.split(r"^== .*\n", p.stdout, flags=re.M)[1:]
    for m, text in zip(made, parts + [""] * (len(made) - len(parts))):
        if "failed: " in text or not text:
            yield f"{m.what}, interpreter: {text or p.stderr}\n{m.shown or ''}"
            continue
        wrong = m.differs("interpreter", lines(text))
        counted = int(re.search(r"^errors (\d+)$", text, re.M)[1])
        if not wrong and counted != m.errors:
            wrong = (f"{m.what}, interpreter: {counted} divisions by zero, not {m.errors}\n"
                     f"{m.shown or ''}")
        if wrong:
            yield wrong


def run_one(command, m, where, factor):
    try:
        p = subprocess.run(command + [m.path], capture_output=True, text=True, errors="replace",
                           timeout=60 * factor, check=False)
    except subprocess.TimeoutExpired:
        return f"{m.what}, {where}: does not end\n{m.shown or ''}"
    if p.returncode or "ERROR" in p.stderr.replace("couldn't set RLIMIT_MEMLOCK", "") \
            .replace("ERROR: Unknown error -1", ""):
        return f"{m.what}, {where}: exit status {p.returncode}\n{p.stderr}\n{m.shown or ''}"
    return m.differs(where, lines(p.stdout))


def in_kernel(build, pool, made, factor):
    if os.geteuid() != 0:
        return []
    return [pool.submit(run_one, [f"{build}/memtap", "-q", "--no-warnings"], m, "kernel", factor)
            for m in made]


def wrong_numbers(build, seed, factor=1.0, trees=TREES):
    with tempfile.TemporaryDirectory() as d, ThreadPoolExecutor(os.cpu_count()) as pool:
        made = [Program(s.what, f"{d}/{i}.bt", s.text(), s.want, len(s.errors))
                for i, s in enumerate(numbers.scripts(seed, trees, "cc"))]
        wrong = list(interpret([f"{build}/tests/lab_run"], made))
        wrong += [r for r in (j.result() for j in in_kernel(build, pool, made, factor)) if r]
    return wrong, sum(len(m.want) for m in made)


def differences(build, seed, n, factor=1.0, typed_share=TYPED_SHARE):
    """The first few programs whose places differ; how many were compared under bpftrace."""
    other = other_bpftrace()
    with tempfile.TemporaryDirectory() as d, ThreadPoolExecutor(os.cpu_count()) as pool:
        made = [random_program(seed + i, d, typed_share) for i in range(n)]
        wrong = list(interpret([f"{build}/tests/lab_run"], made))
        jobs = in_kernel(build, pool, made, factor)
        old = [m for m in made if m.old][::OTHER_SHARE] if other else []
        jobs += [pool.submit(run_one, [other], m, "bpftrace " + OTHER, factor) for m in old]
        wrong += [r for r in (j.result() for j in jobs) if r]
    return wrong, len(old)


def suite(report, context, only):
    seed = int(os.environ.get("MEMTAP_SEED", "1"))
    n = int(os.environ.get("MEMTAP_SCRIPTS", str(SCRIPTS)))
    if not only or re.search(only, "operators of all integer types"):
        wrong, _ = wrong_numbers(context.build, seed, context.factor)
        report.check("operators of all integer types, folded and run",
                     "\n".join(wrong[:3])[:20000] if wrong else None)
    if not only or re.search(only, "differential"):
        wrong, others = differences(context.build, seed, n, context.factor)
        report.check(f"{n} random scripts from seed {seed}, {others} of them under bpftrace",
                     "\n".join(wrong[:3]) if wrong else None)


if __name__ == "__main__":
    first = int(os.environ.get("MEMTAP_SEED") or int.from_bytes(os.urandom(3), "big"))
    many = int(os.environ.get("MEMTAP_SCRIPTS", "5000"))
    print(f"{many} scripts from seed {first}")
    found, pairs = wrong_numbers(sys.argv[1], first, trees=5000)
    if found:
        print("\n".join(found[:3])[:20000])
        sys.exit(1)
    print(f"{pairs} lines of operators of all integer types agree")
    for at in range(first, first + many, 200):
        found, _ = differences(sys.argv[1], at, min(200, first + many - at), typed_share=4)
        if found:
            print("\n".join(found[:3])[:20000])
            sys.exit(1)
    print("all agree")
    scripts, found = anything.total(
        anything.run([sys.argv[1] + "/memtap"], anything.places_of(sys.argv[1]),
                     range(first, first + many // 10)), many // 10)
    print(found or f"{scripts} scripts of all functions are accepted or refused by us")
    sys.exit(1 if found else 0)
