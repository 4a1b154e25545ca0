# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""What cannot be written is noticed by all that memtap prints: on a full disk, and unread.
What there is to be tried is taken from the help texts, so that what is new has to be added here.
And what a terminal can not do is not sent to it."""
import os
import pty
import re
import signal
import subprocess
import tempfile
import time

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
