# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""What cannot be written is noticed by all that memtap prints: on a full disk, and unread.
What there is to be tried is taken from the help texts, so that what is new has to be added here.
And what a terminal can not do is not sent to it."""
import contextlib
import os
import pty
import re
import signal
import subprocess
import tempfile
import time

from lib.report import Skip
from run.scenarios import on_host, require, side_by_side, until

SCRIPT = "BEGIN { printf(\"x\\n\"); exit(); }"
WRONG = "BEGIN { printf(\"%d\\n\"); }"

# By the words of `memtap --help`: arguments that print something. A session ends without an error
# when nobody reads any more.
COMMANDS = {
    "doctor": [["doctor", "faults"], ["doctor", "-f", "json", "faults"]],
    "check": [["check", "-f", "json", "WRONG"]],
    "btf": [],  # below
    "memstat": [["memstat"], ["memstat", "1", "2"], ["memstat", "--json"]],
    "cachesize": [],
    "help": [["help"], ["help", "hist"]],
    "serve": [["serve", "--help"]],
    "tools": [["tools"], ["tools", "faults"], ["tools", "--man", "faults"], ["faults", "--help"]],
}
OPTIONS = {
    "-l": [["-l"], ["-lv", "software:*"], ["-l", "-e", SCRIPT]],
    "-d": [["-d", stage, "-e", SCRIPT] for stage in ("ast", "types", "unit", "bpf", "all")],
    "--fmt": [["--fmt", "-e", SCRIPT]],
    "--info": [["--info"], ["--info", "-f", "json"]],
    "-h": [["--help"]],
    "-V": [["-V"]],
}
BTF = {
    "show": ["show", "task_struct"],
    "path": ["path", "struct task_struct", "mm->pgd"],
    "find": ["find", "vfs_*"],
    "dump": ["dump"],
    "diff": ["diff", "TYPES", "/sys/kernel/btf/vmlinux"],
    "filter": ["filter", "-t", "struct pid", "-o", "-"],
    "stat": ["stat"],
}
SESSIONS = [["-e", SCRIPT], ["-f", "json", "-e", SCRIPT],
            ["cachesize", "uprobe:SIZES:six", "--size", "arg0", "-c", "SIZES exit"]]


def text_of(context, *args):
    return subprocess.run([context.memtap, *args], capture_output=True, text=True,
                          check=True).stdout


def differ(what, listed, known):
    return [f"{what}: {sorted(set(listed) ^ set(known))} not in both help and this test"] \
        if set(listed) != set(known) else []


def check_lists(context):
    """That nothing that the help texts name is left out."""
    head, btf = text_of(context, "--help"), text_of(context, "btf", "--help")
    prints = re.findall(r"^ +(-\w|(?=--)).*?(--[\w-]+)?[ \w\[\],]* {2,}(?:print|list)\b(?! to)",
                        head, re.M)
    return differ("commands", re.findall(r"^  memtap ([a-z]+)\b", head, re.M) + ["tools"],
                  COMMANDS) + \
        differ("options", [short or long for short, long in prints], OPTIONS) + \
        differ("btf", re.findall(r"^  memtap btf (\w+)", btf.split("Options:")[0], re.M), BTF)


def every_command():
    for name, lines in COMMANDS.items():
        yield [name, "--help"]
        yield from lines
    for lines in OPTIONS.values():
        yield from lines
    for line in BTF.values():
        yield ["btf", *line]


def ends(context, folder, args, out, ignored=False):
    """(status, messages) of a command whose standard output is that."""
    names = {"WRONG": folder + "/wrong.bt", "TYPES": folder + "/types.btf"}
    args = [names.get(a, a.replace("SIZES", context.progs + "/sizes")) for a in args]
    if ignored:
        args = ["-c", "trap '' PIPE; exec \"$0\" \"$@\"", context.memtap, *args]
    p = subprocess.run(["/bin/sh" if ignored else context.memtap, *args], stdout=out,
                       stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                       timeout=120 * context.factor, check=False)
    return p.returncode, p.stderr


def prepared(context, folder):
    with open(folder + "/wrong.bt", "w") as f:
        f.write(WRONG)
    with open(folder + "/types.btf", "wb") as f:
        subprocess.run([context.memtap, "btf", "filter", "-t", "struct pid", "-o", "-"],
                       stdout=f, check=True)


@on_host
def test_a_full_disk_is_noticed_by_every_command(context):
    require("file:/dev/full")
    problems = check_lists(context)
    with tempfile.TemporaryDirectory() as folder, open("/dev/full", "w") as full:
        prepared(context, folder)
        for args in [*every_command(), *SESSIONS]:
            status, err = ends(context, folder, args, full)
            said = err.count("ERROR: can not write the output: No space left on device")
            if status != 1 or said != 1:
                problems.append(f"{args}: status {status}, {err[-300:]!r}")
    return "\n".join(problems) or None


@on_host
def test_a_closed_pipe_is_noticed_by_every_command(context):
    problems = []
    ours, theirs = os.pipe()
    os.close(ours)
    with tempfile.TemporaryDirectory() as folder:
        prepared(context, folder)
        for args in every_command():
            status, err = ends(context, folder, args, theirs)
            if status != -signal.SIGPIPE:
                problems.append(f"{args}: status {status}, {err[-300:]!r}")
            status, err = ends(context, folder, args, theirs, ignored=True)
            if status != 1 or err.count("ERROR: can not write the output: Broken pipe") != 1:
                problems.append(f"{args}, SIGPIPE ignored: status {status}, {err[-300:]!r}")
        for args in SESSIONS:
            status, err = ends(context, folder, args, theirs)
            if status or "ERROR" in err:
                problems.append(f"{args}: status {status}, {err[-300:]!r}")
    os.close(theirs)
    return "\n".join(problems) or None


@on_host
def test_closed_standard_output(context):
    """No file that is opened later takes its place."""
    problems = []
    for args in (["-V"], ["-l"], ["-e", SCRIPT], ["memstat"]):
        p = subprocess.run(["/bin/sh", "-c", "exec \"$0\" \"$@\" >&-", context.memtap, *args],
                           stderr=subprocess.PIPE, text=True, check=False)
        if p.returncode != 1 or "can not write the output: Bad file descriptor" not in p.stderr:
            problems.append(f"{args}: status {p.returncode}, {p.stderr[-300:]!r}")
    return "\n".join(problems) or None


@on_host
def test_out_of_memory_is_said(context):
    """With however little: a message and status 1, or all of the work."""
    if "/san/" in context.memtap:
        raise Skip("sanitizers take terabytes of address space")
    problems, ended = [], 0
    with tempfile.NamedTemporaryFile("w", suffix=".bt") as f:
        f.writelines(f"BEGIN {{ @a{i} = {i}; }}\n" for i in range(20000))
        f.flush()
        for mb in (8, 10, 12, 16, 20, 30, 40, 60, 1000):
            for args in (["--fmt", f.name], ["-d", "unit", "-e", SCRIPT], ["-q", "-e", SCRIPT]):
                p = subprocess.run(["prlimit", f"--as={mb << 20}", context.memtap, *args],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                   check=False)
                ended += p.returncode == 1 and p.stderr == "ERROR: out of memory\n"
                if p.returncode not in (0, 1, 127) or (p.returncode and not p.stderr) or \
                        (mb == 1000 and p.returncode):
                    problems.append(f"{mb} MiB, {args}: status {p.returncode}, {p.stderr!r}")
    if ended < 3:
        problems.append(f"it ran out {ended} times only")
    return "\n".join(problems) or None


# ---- terminals -------------------------------------------------------------------------------

def on_terminal(argv, env, seconds):
    """What a command writes to a terminal, and its status; None when it had to be ended."""
    ours, theirs = pty.openpty()
    p = subprocess.Popen(argv, stdin=theirs, stdout=theirs, stderr=theirs, env=env)
    os.close(theirs)
    text, end = b"", time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            text += os.read(ours, 65536)
    except OSError:  # it has ended
        pass
    os.close(ours)
    if not until(lambda: p.poll() is not None, seconds):
        p.kill()
    return text.decode(errors="replace"), p.wait()


def environment(**changes):
    env = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "MEMTAP_COLOR",
                                                            "BPFTRACE_COLOR")}
    env.update({"TERM": "xterm-256color", **changes})
    return {k: v for k, v in env.items() if v is not None}


def test_colours_of_messages(context):
    """(what is set, whether there are colours)"""
    problems = []
    for changes, wanted in (({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True),
                            ({"TERM": "dumb"}, False), ({"TERM": None}, False),
                            ({"NO_COLOR": "1", "MEMTAP_COLOR": "always"}, True),
                            ({"MEMTAP_COLOR": "never"}, False)):
        text, _ = on_terminal([context.memtap, "-e", WRONG], environment(**changes),
                              20 * context.factor)
        if "ERROR" not in text or ("\x1b[" in text) != wanted:
            problems.append(f"{changes}: {text!r}")
    return "\n".join(problems) or None


@on_host
def test_memstat_on_terminals(context):
    """A known one is cleared, as its description says; others get the text alone."""
    problems = []
    kinds = (("xterm-256color", True), ("vt100", None), ("dumb", False), ("", False),
             (None, False), ("no-such-terminal", False))
    texts = side_by_side(on_terminal, [([context.memtap, "memstat", "1", "2"],
                                        environment(TERM=kind), 60 * context.factor)
                                       for kind, _ in kinds])
    for (kind, wanted), (text, status) in zip(kinds, texts):
        if status or not re.search(r"\bmemory\b", text, re.I):
            problems.append(f"TERM={kind}: status {status}, {text[-300:]!r}")
        elif wanted is not None and ("\x1b" in text) != wanted:
            problems.append(f"TERM={kind}: {text[:300]!r}")
    return "\n".join(problems) or None

# ---- foreign names ---------------------------------------------------------------------------

# 14 bytes: sets a terminal's title, begins a line, turns the direction of writing, is not UTF-8.
ODD = b"\x1b]0;x\x07\n\xe2\x80\xae\xff\x01|z"
ESCAPED = r"\x1b]0;x\x07\n\u202e\xff\x01|z"
IN_A_MAP = "jit" + ESCAPED.replace(r"\n", " ")
ODD_SCRIPT = """uprobe:{0}:?]*, usdt:{0}:*:called {{
    printf("%s %s %s %s %.3s\\n%s", comm, func, probe, str(arg0), comm, ustack);
    if (arg2) {{ printf("%s\\n", usym(arg2)); }}
    @[comm, func, probe, ustack] = count();
    @text[str(arg0)] = str(arg0);
    @rows[func] = count();
    warnf("%s", comm);
    exit();
}}
END {{
    print(@rows, 0, "{{key}} {{count}}\\n"); clear(@rows);
    printf("\\x1b[1mours\\x1b[0m\\n");
}}"""


@contextlib.contextmanager
def odd_program(context):
    """Its path, while it runs: a function, a provider, itself and its perf map have odd names."""
    with open(context.progs + "/odd", "rb") as f:
        code = f.read()
    for name in (b"odd_name_01234", b"odd_prov_01234", b"odd_text_01234"):
        code = code.replace(name, ODD)
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/odd"
        with open(path, "wb") as f:
            f.write(code)
        os.chmod(path, 0o755)
        p = subprocess.Popen([path])
        try:
            until(lambda: b"]0;x" in open(f"/proc/{p.pid}/comm", "rb").read(), 20)
            yield path
        finally:
            p.terminate()
            p.wait()


def forbidden(text):
    """What of a text acts on a terminal."""
    return sorted(set(re.findall("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e"
                                 "\u2066-\u2069\ufffd]", text)))


def odd_problems(what, text, wanted, clean=True):
    problems = [f"{what}: {part!r} is not in it" for part in wanted if part not in text]
    if clean and forbidden(text):
        problems.append(f"{what}: has {forbidden(text)}")
    return [*problems, text] if problems else []


@on_host
def test_foreign_names_on_a_terminal(context):
    problems = []
    env = environment(MEMTAP_COLOR="never")
    with odd_program(context) as path:
        script = ODD_SCRIPT.format(path)
        for args, wanted in (
                (["-p", "PID", "-e", script], [f"{ESCAPED} {ESCAPED} ", f" {ESCAPED} \\x1b]0",
                                               IN_A_MAP, f"{ESCAPED}+", f"@text[{ESCAPED}]: "]),
                (["-l", f"uprobe:{path}:?]*"], [f":{ESCAPED}"]),
                (["-l", f"usdt:{path}:*"], [ESCAPED, ":called"]),
                (["-f", "json", "-e", script], [r"\u001b]0;x\u0007\n\u202e\ufffd\u0001|z"]),
                (["-e", f"uprobe:{path}:?]* {{ @[ustack] = count(); exit(); }}", "--folded", "-"],
                 ["main;",
                  f";{ESCAPED.replace(';', ':')} "]),
                (["-e", f"uprobe:{path}:{ESCAPED}nothing {{ }}"], ["ERROR"])):
            args = [a for a in args if a not in ("-p", "PID")]
            text, _ = on_terminal([context.memtap, *args], env, 60 * context.factor)
            ours = text.replace("\x1b[1mours\x1b[0m", "ours").replace("\r\n", "\n")
            problems += odd_problems(args, ours, wanted)
    return "\n".join(problems) or None


@on_host
def test_foreign_names_in_a_file(context):
    """As they are, but a row is a line; --escape makes of it what terminals get."""
    problems = []
    raw = ODD.decode(errors="surrogateescape")
    with odd_program(context) as path:
        for args, clean, name in ((["-q"], False, raw), (["-q", "--escape"], True, ESCAPED)):
            out = subprocess.run([context.memtap, *args, "-e", ODD_SCRIPT.format(path)],
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                 check=False).stdout.decode(errors="surrogateescape")
            line = name.replace("\n", r"\n")
            out = out.replace("\x1b[1mours\x1b[0m", "ours")
            problems += odd_problems(args, out, [f"{name} {name} ", f"\n{line} ",
                                                 f"\n@text[{line}]: {line}\n",
                                                 f"\n@[{line}, {line}, ", f"\n        {line}+"],
                                     clean)
        out = subprocess.run([context.memtap, "-l", f"uprobe:{path}:?]*"], capture_output=True,
                             check=True).stdout
        if out.count(b"\n") != 1:
            problems.append(f"-l: {out!r}")
    return "\n".join(problems) or None
