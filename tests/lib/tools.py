# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""What each script of tools/ must have: it compiles, its --help and manual page are complete, its
examples are command lines it takes, and a page of docs/tools/ shows it at work."""
import glob
import os
import re
import shlex
import subprocess

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def names():
    return sorted(os.path.basename(p)[:-3] for p in glob.glob(TOP + "/tools/*.bt"))


def run(*argv):
    p = subprocess.run(argv, cwd=TOP, capture_output=True, text=True, timeout=60, check=False)
    return p.returncode, p.stdout, p.stderr


def examples(tool, text):
    """The command lines behind EXAMPLES, each up to two blanks or the line's end."""
    section = re.search(r"^EXAMPLES:\n((?:.+\n|\n)*)", text, re.M)
    for line in section[1].split("\n") if section else []:
        if m := re.match(rf"  (memtap {tool}\b.*?)(?:  .*)?$", line):
            yield m[1]


def parses(context, command):
    """None, or what memtap says to the options of an example; --help behind them ends it."""
    words = shlex.split(command, comments=False)
    code, _, err = run(context.memtap, *words[1:], "--help")
    return None if code == 0 else f"the example `{command}`: {err}"


def problem(context, tool):
    path = f"tools/{tool}.bt"
    code, _, err = run(context.memtap, "check", path)
    if code or "ERROR" in err:
        return f"memtap check {path}: {err}"
    if not os.path.isfile(f"{TOP}/docs/tools/{tool}.md"):
        return f"there is no docs/tools/{tool}.md"
    code, text, err = run(context.memtap, tool, "--help")
    if code or not text.startswith(f"{tool} - "):
        return f"--help of {tool} does not begin with its name: {text[:200]}{err}"
    for title in ("USAGE:", "OPTIONS:", "EXAMPLES:"):
        if f"\n{title}" not in text:
            return f"--help of {tool} has no {title}"
    if run(context.memtap, path, "--help")[1] != text:
        return f"--help of {path} is not that of {tool}"
    commands = list(examples(tool, text))
    wrong = [w for w in (parses(context, c) for c in commands) if w]
    if not commands:
        return "no example begins with its name"
    return wrong[0] if wrong else man_problem(context, tool)


def man_problem(context, tool):
    """What groff complains of in the tool's manual page, or what it lacks."""
    code, page, err = run(context.memtap, "tools", "--man", tool)
    if code or err:
        return f"memtap tools --man {tool}: {err}"
    p = subprocess.run(["groff", "-man", "-ww", "-Tutf8"], input=page, capture_output=True,
                       text=True, check=False)
    if p.returncode or p.stderr:
        return f"the manual page of {tool}: {p.stderr}"
    missing = [s for s in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLES", "SEE ALSO")
               if f"\n.SH {s}\n" not in page]
    return f"the manual page of {tool} has no {missing[0]}" if missing else None


def index_problem(context, path, folder):
    """A row for each tool, with the line that `memtap tools` shows."""
    with open(f"{TOP}/{path}") as f:
        index = f.read()
    for line in run(context.memtap, "tools")[1].split("\n"):
        tool, _, summary = line.partition(" ")
        row = f"| [{tool}]({folder}{tool}.md) | {summary.strip()} |"
        if tool and row not in index:
            return f"make tools-index: it lacks the row\n{row}"
    return None
