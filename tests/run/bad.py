# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Wrong scripts: each must give one clear message and status 1, and leave nothing behind.

The table is tests/run/bad/scripts.txt; scripts that are too long to write down, and those that
need special options or rights, are made here. Every script runs with `-c` and a command that
leaves a mark: a mark means that memtap got past the error and released the command.
"""
import os
import re
import shlex
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor

from run import cases

HERE = os.path.dirname(os.path.abspath(__file__))
MARK = "»"


class Wrong:
    def __init__(self, message, script, options="", errors=1, argv=None):
        self.errors = errors
        self.message, _, self.hint = (part.strip() for part in message.partition("=>"))
        self.place = None
        if MARK in script:
            before, _, after = script.partition(MARK)
            self.place = (before.count("\n") + 1, len(before.rsplit("\n", 1)[-1]) + 1)
            script = before + after
        self.script = script
        self.options = options
        self.argv = argv

    def name(self):
        text = self.script.replace("\n", "\\n")
        return (text if len(text) <= 70 else text[:67] + "...") + \
            (f" [{self.options}]" if self.options else "")


def table(names):
    for line in open(HERE + "/bad/scripts.txt"):
        line = line.rstrip("\n")
        if not line or line.startswith("#"):
            continue
        fields = [f.strip() for f in line.split(" ##")]
        errors = 1
        several = re.match(r"(\d+) x ", fields[0])
        if several:
            errors = int(several[1])
            fields[0] = fields[0][several.end():]
        # A script may contain `\n` inside a string: only outside of quotes it is a line end.
        script = re.sub(r'("(?:[^"\\\n]|\\.)*")|\\n', lambda m: m[1] or "\n", fields[1])
        yield Wrong(cases.fill(fields[0], names), cases.fill(script, names),
                    cases.fill(fields[2], names) if len(fields) > 2 else "", errors)


def generated():
    """Scripts by the yard: all must be refused quickly, whatever their size."""
    deep = 20000
    yield Wrong("nested|deep|levels", "BEGIN { @ = " + "(" * deep + "1" + ")" * deep + "; }")
    yield Wrong("nested|deep|levels", "BEGIN { @ = " + "!" * deep + "1; }")
    yield Wrong("nested|deep|levels", "BEGIN { " + "if (1) { " * deep + "}" * deep + " }")
    yield Wrong("nested|deep|levels", "BEGIN { @ = " + "1 ? 1 : " * deep + "1; }")
    yield Wrong("nested|deep|levels", "BEGIN { @ = " + "@[" * deep + "1" + "]" * deep + "; }")
    yield Wrong(".", "BEGIN { @ = " + "(" * deep)
    yield Wrong("operators|nested|deep", "BEGIN { @ = 1" + " + pid" * 200000 + "; }")
    yield Wrong(".", "BEGIN { @ = " + "9" * 100000 + "; }")
    yield Wrong("unterminated string", "BEGIN { printf(" + MARK + '"' + "a" * 100000)
    yield Wrong(".", "BEGIN { @" + "x" * 100000 + " = ; }")
    yield Wrong("[Uu]nknown probe type", MARK + "x" * 100000 + " { exit(); }")
    yield Wrong("[Uu]nknown function", "BEGIN { " + MARK + "f" * 10000 + "(); }")
    yield Wrong(".", "BEGIN { exit(); \x01 }")
    yield Wrong(".", "BEGIN { \udcff\udcfe }")
    yield Wrong(".", "\udcef\udcbb\udcbf\udcff")
    yield Wrong("more than|limit", "uprobe:/usr/bin/python3:* { @++; }")
    yield Wrong("more than|limit", "BEGIN, " * 10000 + "BEGIN { @++; }")
    yield Wrong("[Uu]ndefined|[Uu]ndeclared", "BEGIN { " + "$a = " + MARK + "$b; }")
    yield Wrong("argument|127|too many", "BEGIN { printf(\"" + "%d" * 200 + "\"" + ", 1" * 200 +
                "); }")
    yield Wrong("key|too (large|big)", "BEGIN { @[" + ", ".join(["(pid, comm)"] * 1200) +
                "] = 1; }")


def by_option(tmp):
    """Wrong command lines and missing rights."""
    yield Wrong("[Nn]o such process|not running|4194303", "BEGIN { exit(); }", "-p 4194303")
    yield Wrong("number|pid|PID", "BEGIN { exit(); }", "-p abc")
    yield Wrong("number|pid|PID", "BEGIN { exit(); }", "-p -5")
    yield Wrong("[Nn]o such file|not found", "BEGIN { exit(); }", "-c /no/such/program")
    yield Wrong("[Pp]ermission|not executable|cannot|can not", "BEGIN { exit(); }",
                "-c /etc/passwd")
    yield Wrong("[Nn]o such file|directory|open", "BEGIN { exit(); }", "-o /no/such/dir/file")
    yield Wrong("format|xml|json", "BEGIN { exit(); }", "-f xml")
    yield Wrong("stage|ast", "BEGIN { exit(); }", "-d nothing")
    yield Wrong("option|frobnicate", "BEGIN { exit(); }", "--frobnicate")
    yield Wrong("option", "BEGIN { exit(); }", "-Z")
    yield Wrong("[Nn]o such file", "", argv=["/no/such/script.bt"])
    yield Wrong("directory|read|regular", "", argv=["/tmp"])
    yield Wrong("script|usage|FILE", "", argv=[])
    yield Wrong("argument|script|-e", "", argv=["-e"])
    yield Wrong("both|-p|-c", "BEGIN { exit(); }", "-p 1 -c true")
    yield Wrong("needs a process", "usdt:»:demo:small { @++; }", argv=["-e", "usdt::demo:s { }"])
    yield Wrong("root|[Pp]ermission|CAP|privilege|not permitted", "interval:s:1 { exit(); }",
                argv=["NOBODY"])
    yield Wrong("root|[Pp]ermission|CAP|privilege|not permitted",
                f"uprobe:{tmp}/files/sizes:main {{ exit(); }}", argv=["NOBODY"])
    yield Wrong("root|[Pp]ermission|CAP|privilege|not permitted",
                "tracepoint:sched:sched_switch { exit(); }", argv=["NOBODY"])


def broken_files(context, directory):
    """Files whose ELF structure or notes lie."""
    whole = open(context.progs + "/probes", "rb").read()

    def save(name, data):
        with open(f"{directory}/{name}", "wb") as f:
            f.write(data)
        os.chmod(f"{directory}/{name}", 0o755)

    def put(offset, data):
        return whole[:offset] + data + whole[offset + len(data):]

    save("sizes", open(context.progs + "/sizes", "rb").read())
    save("empty", b"")
    save("header-only", whole[:64])
    save("half", whole[:len(whole) // 2])
    save("bad-sections", put(0x28, (1 << 60).to_bytes(8, "little")))  # e_shoff
    save("32bit", put(4, b"\x01"))
    save("note-name", whole.replace(b"stapsdt\0", b"st\xffpsdt\0"))
    # The operands of demo:text become text that is no operand; sizes stay.
    save("bad-operand", whole.replace(b"text\x008@%rdi 8@%rsi\0", b"text\x008@%zzz 8@%rsi\0"))


def left_behind(tmp):
    """Probes of the files that the scripts name, or with memtap's name, outside its processes."""
    lines = []
    for path in ("uprobe_events", "kprobe_events"):
        try:
            lines += open("/sys/kernel/tracing/" + path).read().split("\n")
        except OSError:
            pass
    return [line for line in lines if tmp in line or "memtap" in line]


def argv_of(wrong, context, mark):
    if wrong.argv == ["NOBODY"]:
        return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all",
                "--bounding-set=-all", context.memtap, "-e", wrong.script]
    if wrong.argv is not None:
        return [context.memtap] + wrong.argv
    argv = [context.memtap, "-e", wrong.script]
    if len(wrong.script) > 100000:
        argv = [context.memtap, "-"]
    if not re.search(r"(^| )-[pc]\b", wrong.options) and "touch" not in wrong.script:
        argv += ["-c", f"/usr/bin/touch {mark}"]
    return argv + shlex.split(wrong.options)


def judge(wrong, status, out, err, released):
    """None or what is wrong with memtap's answer."""
    problems = []
    if status != 1:
        problems.append(f"exit status {status}, not 1")
    errors = re.findall(r"(?:^|: )ERROR: (.*)", err, re.M) or \
        re.findall(r"^memtap: (.*)", err, re.M)
    if len(errors) != wrong.errors:
        problems.append(f"{len(errors)} errors, not {wrong.errors}")
    if errors and not re.search(wrong.message, errors[0]):
        problems.append(f"the message has no match of: {wrong.message}")
    if wrong.place:
        places = [(int(a), int(b)) for a, b in
                  re.findall(r"^stdin:(\d+)(?::(\d+)(?:-\d+)?): ERROR", err, re.M)]
        if not places or places[0] != wrong.place:
            problems.append(f"names the place {places[:1]}, not {wrong.place}")
        if not re.search(r"^ *[~^]+ *$", err, re.M):
            problems.append("no caret line")
    if wrong.hint and not re.search("HINT: .*" + wrong.hint, err):
        problems.append(f"no HINT with: {wrong.hint}")
    if re.search(r"Sanitizer|runtime error:", err):
        problems.append("a sanitizer found something")
    if out.strip():
        problems.append("it wrote to stdout")
    if re.search("Attached", err) or released:
        problems.append("it went on after the error")
    if not problems:
        return None
    return "\n".join(problems) + f"\n--- stderr\n{err[:1500]}"


def run_one(wrong, context, tmp, number):
    mark = f"{tmp}/mark{number}"
    argv = [os.fsencode(a) if not isinstance(a, bytes) else a
            for a in argv_of(wrong, context, mark)]
    stdin = os.fsencode(wrong.script) if argv[-1] == b"-" or b"-" in argv else None
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as p:
        try:
            out, err = p.communicate(stdin or b"", timeout=10 * context.factor)
        except subprocess.TimeoutExpired:
            where = whereabouts(p.pid)
            p.kill()
            return "did not end" + where
    return judge(wrong, p.returncode, out.decode(errors="replace"), err.decode(errors="replace"),
                 os.path.exists(mark))


def whereabouts(pid):
    """What a process that does not end does: a machine that is too busy for it is not its fault."""
    said = f"; load {os.getloadavg()[0]}"
    for name in ("stat", "wchan", "syscall", "stack"):
        try:
            with open(f"/proc/{pid}/{name}", encoding="utf-8") as f:
                said += f"\n    {name}: " + f.read().strip().replace("\n", "; ")
        except OSError as e:
            said += f"\n    {name}: {e.strerror}"
    return said


def run_all(report, context, pattern=None):
    with tempfile.TemporaryDirectory(prefix="memtap-bad.") as tmp:
        os.chmod(tmp, 0o755)
        os.mkdir(tmp + "/files")
        broken_files(context, tmp + "/files")
        names = dict(context.names(), BAD=tmp + "/files")
        wrongs = list(table(names)) + list(generated()) + list(by_option(tmp))
        wrongs = [w for w in wrongs if not pattern or re.search(pattern, "bad: " + w.name())]
        wrongs = report.chosen(wrongs)

        def one(item):
            number, wrong = item
            report.run(wrong.name(), run_one, wrong, context, tmp, number)

        with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
            list(pool.map(one, enumerate(wrongs)))
        if not pattern:
            report.check("no probe is left in the kernel", "\n".join(left_behind(tmp)))
