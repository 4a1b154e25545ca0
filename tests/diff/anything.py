# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Random scripts of all that the language has: every function and variable of the compiler's
tables, maps, loops, tuples, strings, in probes of many kinds. What they compute nobody knows, and
most are wrong. Each is accepted, or refused by us: never by the kernel's verifier, nor does
anything crash. What an error is in is left out, and the rest is a script again, until one is
accepted. Probes are attached and taken away again at once (--dry-run).
"""
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PARSE = TOP + "/src/lang/parse/"
WORDS = ["", "a", "memory", "cache line", "%d", "x" * 40]
INTS = ["0", "1", "2", "7", "-1", "63", "255", "4096", "0xffffffff", "9223372036854775807"]
CASTS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool"]
# Without conditions on the machine; {sizes} is a program of tests/run/progs.
PROBES = ["BEGIN", "END", "uprobe:{sizes}:six", "uretprobe:{sizes}:six", "uprobe:{sizes}:word",
          "interval:s:1000", "profile:hz:99", "software:page-faults:1000000",
          "tracepoint:syscalls:sys_enter_getsid", "tracepoint:sched:sched_switch",
          "rawtracepoint:sched_switch", "btftracepoint:sched_switch", "self:signal:SIGUSR1",
          "iter:task"]
IN_VM = ["kprobe:vfs_fsync", "kretprobe:vfs_fsync", "fentry:vfs_fsync", "fexit:vfs_fsync"]
OURS = re.compile(r"^\S*:?\d*:?[\d-]*:? ?ERROR: ", re.M)
KERNELS = re.compile(r"the kernel refused|verifier says|assertion|AddressSanitizer|runtime error",
                     re.I)
SECONDS = 120
# How many ways through a program the verifier walks is known only to it; one in so many scripts may
# be more than it does.
LARGE = re.compile(r"the script (has too many branches|is too big) for the kernel's verifier")
LARGE_SHARE = 500
STRING = r'"((?:[^"\\]|\\.)*)"'


def rows(file, letter):
    """The rows of a table of the compiler as (name, text of the rest)."""
    with open(PARSE + file) as f:
        text = f.read()
    for part in re.split(rf"\b{letter}\((?=[A-Z_0-9]+, \")", text)[1:]:
        yield re.match(r"[A-Z_0-9]+, " + STRING, part)[1], part


def functions(letter):
    """(name, least, most, what the arguments are called)"""
    for name, row in rows("functions.h", letter):
        least, most = re.match(rf"[A-Z_0-9]+, {STRING}, (\d+), (\w+)", row).group(2, 3)
        args = re.findall(STRING, row)[-2]
        yield name, int(least), int(most) if most.isdigit() else 4, \
            re.split(r", ?", re.sub(r"[\[\]]", "", args))


FUNCTIONS = list(functions("F"))
AGGREGATIONS = list(functions("A"))
VARIABLES = [name for name, _ in rows("variables.h", "V")]


class Maker:
    def __init__(self, seed, places, probes):
        self.r, self.places, self.probes = random.Random(seed), places, probes
        self.n, self.loops = 0, 0

    def pick(self, *options):
        return self.r.choice(options)

    def chance(self, p):
        return self.r.random() < p

    # ---- values ---------------------------------------------------------------------------------

    def text(self, depth):
        if depth <= 0 or self.chance(0.4):
            return self.pick(f'"{self.r.choice(WORDS)}"', "comm", "$s", "@s[1]", "str(arg0)")
        return self.pick(lambda: f"str_concat({self.text(depth - 1)}, {self.text(depth - 1)})",
                         lambda: f"decimal({self.int(depth - 1)})",
                         lambda: f"({self.int(0)} ? {self.text(0)} : {self.text(0)})",
                         lambda: f"str({self.pointer()}, {self.int(0)})",
                         lambda: f"$t{self.pick('.1', '.0')}",
                         lambda: self.call(depth))()

    def pointer(self):
        return self.pick("curtask", "arg0", "(uint8 *)arg0", "ctx", "args", "$p", "kptr(arg1)",
                         "curtask->comm", "(struct task_struct *)arg1", "uptr(arg0)")

    def literal(self):
        return self.r.choice(INTS)

    def int(self, depth):
        if depth <= 0:
            return self.pick(self.literal(), self.literal(), "$i", "$j", "@i", "@n[1]",
                             self.r.choice(VARIABLES), "@c", "$t.0", "curtask->pid", "arg1")
        a, b = self.int(depth - 1), self.int(depth - 1)
        return self.pick(
            lambda: f"({a} {self.pick('+', '-', '*', '/', '%', '&', '|', '^', '<<', '>>')} {b})",
            lambda: f"({a} {self.pick('==', '!=', '<', '<=', '>', '>=', '&&', '||')} {b})",
            lambda: f"({self.text(depth - 1)} {self.pick('==', '!=')} {self.text(depth - 1)})",
            lambda: f"({self.pick('-', '~', '!')}{a})",
            lambda: f"({self.r.choice(CASTS)}){a}",
            lambda: f"({a} ? {b} : {self.int(0)})",
            lambda: f"{{ let $l{self.next()} = {a}; {b} }}",
            lambda: f"$i{self.pick('++', '--')}",
            lambda: f"{self.text(depth - 1)}[{a}]",
            lambda: f"*({self.r.choice(CASTS)} *){self.pointer()}",
            lambda: f"sizeof({self.pick(a, 'struct task_struct', 'uint64')})",
            lambda: f"@n[{b}]", lambda: f"has_key(@n, {a})", lambda: f"len(@{self.pick(*'nsk')})",
            lambda: self.call(depth), lambda: self.call(depth), lambda: self.call(depth))()

    def tuple(self, depth):
        if self.chance(0.3):
            return f"(x={self.int(depth)}, y={self.text(depth)})"
        return f"({self.int(depth)}, {self.text(depth)})"

    def any(self, depth):
        return self.pick(self.int, self.int, self.text, self.tuple, self.call)(depth)

    def next(self):
        self.n += 1
        return self.n

    # ---- calls ----------------------------------------------------------------------------------

    def argument(self, what, depth):
        """One that often fits what help calls it."""
        if self.chance(0.05):
            return self.any(0)
        if what.startswith('"') or what in ("mode", "clock", "how", "kind"):
            return self.pick('"vfs_fsync"', '"A=1 B=2"', '"ip"', '"%H:%M"', '"127.0.0.1"',
                             "perf", "bpftrace", "monotonic", '"/"', '"::1"', '"sum"')
        if "@map" in what:
            return self.pick("@n", "@s", "@k", "@c", "@h", "@n[1]", "@k[1, comm]")
        if "format" in what:
            return self.pick('"%d %s\\n"', '"%s"', '"%lld"', '"%x %p"', '"text"')
        if re.search("string|part|^a$|^b$|name", what):
            return self.text(depth - 1)
        if re.search("pointer|address|array", what):
            return self.pointer()
        if re.search("from|to|step|bits|many|bytes|frames|interval|^n$", what):
            return self.pick("1", "2", "5", "100", "1s", self.int(0))
        return self.any(depth - 1) if "value" in what else self.int(depth - 1)

    def call_of(self, row, depth):
        name, least, most, args = row
        n = self.r.randrange(least, most + 1) if most > least else least
        made = [self.argument(args[min(i, len(args) - 1)], depth) for i in range(n)]
        return f"{name}({', '.join(made)})"

    def call(self, depth):
        return self.call_of(self.r.choice(FUNCTIONS), depth)

    # ---- statements -----------------------------------------------------------------------------

    def loop(self, depth):
        self.loops += 1
        body = self.body(depth - 1)
        self.loops -= 1
        v = f"$w{self.next()}"
        return self.pick(
            f"{v} = 0; while ({v} < {self.r.randrange(1, 9)}) {{ {v}++; {body} }}",
            f"unroll({self.r.randrange(1, 5)}) {{ {body} }}",
            f"for ({v} : 0..{self.int(0)}) {{ {body} }}",
            f"for ({v} : @{self.pick(*'nsk')}) {{ print({v}.{self.pick('0', '1')}); {body} }}")

    def statement(self, depth):
        a = self.any(2)
        kinds = [lambda: f"$i = {self.int(2)};", lambda: f"$s = {self.text(2)};",
                 lambda: f"$t = {self.tuple(1)};", lambda: f"@n[{self.int(1)}] = {self.int(2)};",
                 lambda: f"@s[{self.int(1)}] = {self.text(2)};",
                 lambda: f"@k[{self.int(1)}, {self.text(1)}] = {self.call_of(AGGREGATIONS[0], 1)};",
                 lambda: f"@a{self.next()}[{a}] = "
                         f"{self.call_of(self.r.choice(AGGREGATIONS), 1)};",
                 lambda: f"@i {self.pick('+=', '-=', '=', '|=', '<<=')} {self.int(2)};",
                 lambda: f"@v{self.next()} = {a};", lambda: f"$a{self.next()} = {a};",
                 lambda: f"print({a});", lambda: f'printf("%s %d\\n", {a}, {self.int(1)});',
                 lambda: f"{self.call(2)};", lambda: f"{self.call(1)};"]
        if depth > 0:
            kinds += [lambda: f"if ({self.int(2)}) {{ {self.body(depth - 1)} }}",
                      lambda: f"if ({self.int(1)}) {{ {self.body(depth - 1)} }} else "
                              f"{{ {self.body(depth - 1)} }}"] * 2
            kinds += [lambda: self.loop(depth)] * 2
        if self.loops:
            kinds += [lambda: f"if ({self.int(1)}) {{ {self.pick('break', 'continue')}; }}"]
        return self.r.choice(kinds)()

    def body(self, depth):
        return "\n".join(self.statement(depth) for _ in range(self.r.randrange(1, 4)))

    def probe(self):
        """(head, statements)"""
        where = self.r.choice(self.probes).format(**self.places)
        filtered = f" /{self.int(1)}/" if self.chance(0.2) else ""
        first = ["$i = 1;", "$j = (uint64)2;", '$s = "text";', "$p = curtask;", '$t = (1, "text");']
        return f"{where}{filtered}", \
            first + [self.statement(2) for _ in range(self.r.randrange(2, 9))]

    def script(self):
        first = ["@n[1] = 1;", '@s[1] = "a";', "@k[1, comm] = count();", "@i = 1;", "@c = count();",
                 "@h = hist(1);"]
        return [("BEGIN", first)] + [self.probe() for _ in range(self.r.randrange(1, 4))]


def make(seed, places, in_vm=False):
    """A list of (head, statements)."""
    return Maker(seed, places, PROBES + (IN_VM if in_vm else [])).script()


def text_of(script):
    return "".join("\n".join([head + " {", *statements, "}", ""]) for head, statements in script)


def without(script, line):
    """The script less the statement, or the probe, that this line is in (from 1)."""
    owners = []  # (probe, statement or None) of each line
    for i, (_, statements) in enumerate(script):
        owners.append((i, None))
        for k, s in enumerate(statements):
            owners += [(i, k)] * (s.count("\n") + 1)
        owners.append((i, None))
    probe, statement = owners[min(line, len(owners)) - 1]
    left = [(head, list(statements)) for head, statements in script]
    if statement is None or len(left[probe][1]) == 1:
        del left[probe]
    else:
        del left[probe][1][statement]
    return left


def verdict(status, err):
    """"accepted", "refused", "large", or what is wrong."""
    if status == 1 and LARGE.search(err):
        return "large"
    if KERNELS.search(err):
        return "the kernel refused it"
    if status == 0:
        return "accepted"
    return "refused" if status == 1 and OURS.search(err) else f"exit status {status}"


def judge(command, path):
    """(verdict, what was said)"""
    try:
        p = subprocess.run(command + ["--dry-run", "-q", "--no-warnings", path], timeout=SECONDS,
                           capture_output=True, text=True, errors="replace", check=False)
    except subprocess.TimeoutExpired:
        return f"does not end within {SECONDS} s", ""
    return verdict(p.returncode, p.stderr), p.stderr


def settle(command, path, script):
    """(how many scripts were judged, those that were too large, what is wrong or None)"""
    judged = large = 0
    while script:
        with open(path, "w") as f:
            f.write(text_of(script))
        what, said = judge(command, path)
        judged += 1
        large += what == "large"
        if what == "accepted":
            break
        if what not in ("refused", "large"):
            return judged, large, f"{what}\n{said}\n{text_of(script)}"
        at = re.search(r"^\S+?:(\d+):[\d-]+: ERROR", said, re.M)
        script = without(script, int(at[1])) if at else script[:-1]
    return judged, large, None


def run(command, places, seeds, in_vm=False):
    """For each seed what settle() says, and the seed before it."""
    def one(directory, seed):
        return settle(command, f"{directory}/{seed}.bt", make(seed, places, in_vm))

    with tempfile.TemporaryDirectory() as d, ThreadPoolExecutor(os.cpu_count()) as pool:
        for seed, result in zip(seeds, pool.map(lambda s: one(d, s), seeds)):
            yield seed, *result


def places_of(build):
    return {"sizes": build + "/tests/progs/sizes"}


def total(results, at_least):
    """(scripts judged, what is wrong or None) of many seeds."""
    results = list(results)
    judged, large = sum(r[1] for r in results), sum(r[2] for r in results)
    wrong = [f"seed {seed}: {problem}" for seed, _, _, problem in results if problem]
    if judged < at_least:
        wrong.append(f"only {judged} scripts were judged")
    if large > 1 + judged // LARGE_SHARE:
        wrong.append(f"{large} of {judged} scripts were more than the verifier walks")
    return judged, "\n".join(wrong[:3]) or None


def main():
    """anything.py BUILD FIRST NUMBER FILE: in a virtual machine, a line of JSON for each seed."""
    build, first, number = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    with open(sys.argv[4], "w") as out:
        for result in run([build + "/memtap"], places_of(build), range(first, first + number),
                          True):
            print(json.dumps(result), file=out, flush=True)


if __name__ == "__main__":
    main()
