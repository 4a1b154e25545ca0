# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The same random script in four places: worked out while it was made (programs.py, typed.py), in
the test interpreter, in the kernel, and in Debian's bpftrace where that is installed and has
what the script uses. All must print the same lines, and the kernel must not refuse a program.

MEMTAP_SEED chooses the first script, MEMTAP_SCRIPTS how many; `make differential` runs many.
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

from diff import programs, typed  # noqa: E402

SCRIPTS = 100      # in `make check`
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
    def __init__(self, seed, directory, typed_share):
        self.seed = seed
        self.old = seed % 2 == 0
        self.script, self.want, self.errors = \
            typed.make(seed) if seed % typed_share == 1 else programs.make(seed, self.old)
        self.path = f"{directory}/{seed}.bt"
        with open(self.path, "w") as f:
            f.write(self.script)

    def differs(self, where, got):
        if got == self.want:
            return None
        n = next((i for i, (a, b) in enumerate(zip(got, self.want)) if a != b),
                 min(len(got), len(self.want)))
        return (f"seed {self.seed}, {where}: line {n + 1} is {got[n:n + 1]}, not "
                f"{self.want[n:n + 1]}\n{self.script}")


def interpret(lab, made):
    """What the interpreter prints for each program, in one process."""
    p = subprocess.run([lab] + [m.path for m in made], capture_output=True, text=True,
                       errors="replace", check=False)
    parts = re.split(r"^== .*\n", p.stdout, flags=re.M)[1:]
    for m, text in zip(made, parts + [""] * (len(made) - len(parts))):
        if "failed: " in text or not text:
            yield f"seed {m.seed}, interpreter: {text or p.stderr}\n{m.script}"
            continue
        wrong = m.differs("interpreter", lines(text))
        counted = int(re.search(r"^errors (\d+)$", text, re.M)[1])
        if not wrong and counted != m.errors:
            wrong = (f"seed {m.seed}, interpreter: {counted} divisions by zero, not {m.errors}\n"
                     f"{m.script}")
        if wrong:
            yield wrong


def run_one(command, m, where, factor):
    try:
        p = subprocess.run(command + [m.path], capture_output=True, text=True, errors="replace",
                           timeout=60 * factor, check=False)
    except subprocess.TimeoutExpired:
        return f"seed {m.seed}, {where}: does not end\n{m.script}"
    if p.returncode or "ERROR" in p.stderr.replace("couldn't set RLIMIT_MEMLOCK", "") \
            .replace("ERROR: Unknown error -1", ""):
        return f"seed {m.seed}, {where}: exit status {p.returncode}\n{p.stderr}\n{m.script}"
    return m.differs(where, lines(p.stdout))


def differences(build, seed, n, factor=1.0, typed_share=TYPED_SHARE):
    """The first few programs whose places differ; how many were compared under bpftrace."""
    other = other_bpftrace()
    with tempfile.TemporaryDirectory() as d, ThreadPoolExecutor(os.cpu_count()) as pool:
        made = [Program(seed + i, d, typed_share) for i in range(n)]
        wrong = list(interpret(f"{build}/tests/lab_run", made))
        jobs = [pool.submit(run_one, [f"{build}/memtap", "-q"], m, "kernel", factor)
                for m in made] if os.geteuid() == 0 else []
        old = [m for m in made if m.old][::OTHER_SHARE] if other else []
        jobs += [pool.submit(run_one, [other], m, "bpftrace " + OTHER, factor) for m in old]
        wrong += [r for r in (j.result() for j in jobs) if r]
    return wrong, len(old)


def suite(report, context, only):
    seed = int(os.environ.get("MEMTAP_SEED", "1"))
    n = int(os.environ.get("MEMTAP_SCRIPTS", str(SCRIPTS)))
    if only and not re.search(only, "differential"):
        return
    wrong, others = differences(context.build, seed, n, context.factor)
    report.check(f"{n} random scripts from seed {seed}, {others} of them under bpftrace",
                 "\n".join(wrong[:3]) if wrong else None)


if __name__ == "__main__":
    first = int(os.environ.get("MEMTAP_SEED") or int.from_bytes(os.urandom(3), "big"))
    many = int(os.environ.get("MEMTAP_SCRIPTS", "5000"))
    print(f"{many} scripts from seed {first}")
    for at in range(first, first + many, 200):
        found, _ = differences(sys.argv[1], at, min(200, first + many - at), typed_share=4)
        if found:
            print("\n".join(found[:3])[:20000])
            sys.exit(1)
    print("all agree")
