# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The examples of docs/ and README.md, and whether an output has the form of the one that is shown.

An example is a line `# COMMAND` or `$ COMMAND` at the beginning of a code block or after an output,
with what it prints below. The command goes on while a quote is open and after a `\\`. `cat FILE`
shows a file, which the next commands find; `COMMAND &` goes on running until the page ends. In an
output `...` stands for any lines, `^C` for the signal, which is sent when what stands above it has
come.

An HTML comment before a block says more of it; what it holds is one of

  run: COMMAND        a command that the page does not show, as `COMMAND &` and others; it needs
                      what comments before it say, not those after it
  needs: WORDS        what the machine needs, see tests/lib/machine.py; vm: the virtual one, in
                      which a page with such examples runs alone
  status: NUMBER      what the command ends with; without it 0, or not 0 where ERROR is shown
  names               the words of its rows, but for numbers, are other ones each time
  not run: REASON     it is not run; the reason is reported

The form of a line with numbers is the line with each number as N, bars of histograms left out.
Keys of maps are numbers or text, frames of stacks are all the same. A line without a number is its
own form, a line of JSON has the form of its members. Rows of one form, and groups of them, may come
once or many times. `Attached N probes` may be left out of a page."""
import contextlib
import json
import re
import shlex

PROMPT = re.compile(r"[#$] (?=\S)")
NOTE = re.compile(r"<!-- (run|needs|names|status|not run)(?:: (.*))? -->$")
NUMBER = re.compile(r"(?<![A-Za-z_])[-+]?(?:0x[0-9a-f]+|\d+(?:[.:]\d+)*[kKMGT]?)(?![A-Za-z_])")
BARE_HEX = re.compile(r"\b(?=[0-9a-f]*\d)[0-9a-f]{8,}\b")
FRAME = re.compile(r"\s{4,}(?:\S.*\+(?:0x)?[0-9a-f]+(?:@\S+)?(?: \(.*\))?|\[(?:unknown|lost)\]|"
                   r"\[inlined\] .*|"
                   r"[0-9a-f]{8,})$")
BUCKET = re.compile(r"[\[(](?:N|\.\.\.)(?:, (?:N|\.\.\.))?[\])] +N \|\|$")
SERIES = re.compile(r"\s*\d\d:\d\d:\d\d\.\d+ [|*][ |*]*(?: \S+)?$")
MAP = re.compile(r"(@\w*)(?:\[(.*)\])?:(?: (.*))?$")
ATTACHED = re.compile(r"Attached \d+ probes?$")
STRICT = re.compile(r"Attached|.*(?:ERROR|WARNING|HINT):")
LONGEST_GROUP = 40


class Example:
    def __init__(self, page, line, command, notes):
        self.page, self.line, self.command, self.notes = page, line, command, dict(notes)
        self.output = []

    @property
    def name(self):
        return f"{self.page}:{self.line}: " + " ".join(self.command.split())[:100]

    @property
    def shows(self):
        """The lines of its output, without blank ones at the end."""
        return "\n".join(self.output).rstrip().split("\n") if any(self.output) else []

    @property
    def is_memtap(self):
        return re.search(r"(^|\s)memtap\s", self.command) is not None

    @property
    def stays(self):
        return self.command.endswith("&")


def is_open(command):
    """Does a command go on in the next line?"""
    try:
        shlex.split(command, comments=False)
    except ValueError:
        return True
    return False


def blocks(text):
    """(number of its first line, lines, notes) of each code block: fenced, or indented by four."""
    notes, block, start, fence, blank = [], [], 0, None, True
    for number, line in enumerate(text.split("\n") + ["."], 1):
        if fence:
            if line.strip() == "```":
                yield start, block, notes
                notes, block, fence = [], [], None
            else:
                block.append(line[fence - 1:])
            continue
        if line.startswith("    ") and (block or blank):
            start = start if block else number
            block.append(line[4:])
        elif not line.strip() and block:
            block.append("")
        else:
            if block:
                yield start, block, notes
                notes, block = [], []
            if line.lstrip().startswith("```"):
                fence, start = line.index("`") + 1, number + 1
            elif m := NOTE.match(line.strip()):
                notes.append((m[1], m[2] or "", number))
        blank = not line.strip() or line.startswith("<!--")


def examples(page, text):
    """Its examples in their order; a hidden command is one without an output."""
    for start, lines, notes in blocks(text):
        marks = {}
        for kind, value, number in notes:
            if kind == "run":
                yield Example(page, number, value, {**marks, "hidden": ""})
            else:
                marks[kind] = value
        yield from of_block(page, start, lines, marks)


def of_block(page, start, lines, marks):
    example, going_on = None, False
    for number, line in enumerate(lines, start):
        if going_on:
            example.command += "\n" + line
        elif PROMPT.match(line):
            if example:
                yield example
            command = re.sub(r"^sudo ", "", line[2:])
            example = Example(page, number, command, marks)
        elif example:
            example.output.append(line)
            continue
        else:
            continue
        going_on = example.command.endswith("\\") or is_open(example.command)
    if example:
        yield example


# ---- the form of an output -------------------------------------------------------------------

def numbers(text):
    text = re.sub(r"\|[@* ]*\|", "||", text)
    return NUMBER.sub("N", BARE_HEX.sub("N", text))


def kinds(key):
    """Of each part of a key: a number, or text."""
    return ", ".join("N" if re.fullmatch(r"N[,\]) ]*", numbers(part)) else "S"
                     for part in key.split(", "))


def json_form(value):
    """Of a JSON value: its members, the kinds of theirs; what "type" says as it is."""
    if isinstance(value, dict):
        return {numbers(k): v if k == "type" else json_form(v) for k, v in value.items()}
    if isinstance(value, list):
        return folded([json_form(v) for v in value])
    return "N" if isinstance(value, (int, float)) else "S"


def form(line, names):
    line = line.rstrip()
    with contextlib.suppress(ValueError):
        if line.startswith("{"):
            return json.dumps(json_form(json.loads(line)))
    if FRAME.match(line):
        return "(frame)"
    if SERIES.match(line):
        return "(time of a series)"
    if m := MAP.match(line):
        key = f"[{kinds(m[2])}]" if m[2] is not None else ""
        return f"{m[1]}{key}: {numbers(m[3] or '')}".rstrip()
    shape = numbers(line)
    if shape == line:
        return line
    if BUCKET.match(shape):
        return "(row of a histogram)"
    words = shape.split()
    if names and not STRICT.match(line):
        words = [w if w == "N" else "W" for w in words]
    return " ".join(words)


def joined(lines):
    """Keys over several lines, which stacks make of them, as one line."""
    row = None
    for line in lines:
        if row is not None:
            row += line
            if re.match(r"(.*[^+\w])?\]:", line):
                yield re.sub(r"\[.*\]", "[(stack)]", row)
                row = None
        elif re.match(r"@\w*\[", line) and not re.search(r"\]:", line):
            row = line
        else:
            yield line
    if row is not None:
        yield row


def folded(forms):
    """Each group of lines that repeats, once."""
    size = 1
    while size <= min(LONGEST_GROUP, len(forms) // 2):
        for i in range(len(forms) - 2 * size + 1):
            if forms[i:i + size] == forms[i + size:i + 2 * size]:
                del forms[i:i + size]
                size = 0
                break
        size += 1
    return forms


def forms(lines, names=False):
    return folded([form(line, names) for line in joined(lines) if line.strip()])


def find(piece, among, start):
    for i in range(start, len(among) - len(piece) + 1):
        if among[i:i + len(piece)] == piece:
            return i
    return -1


def problem(shown, printed, names=False):
    """None, or which line of what is shown has nothing like it in what was printed."""
    shown = [line for line in shown if line.strip() != "^C"]
    if not any(ATTACHED.match(line) for line in shown):
        printed = [line for line in printed if not ATTACHED.match(line)]
    pieces = [[]]
    for line in shown:
        if line.strip() == "...":
            pieces.append([])
        else:
            pieces[-1].append(line)
    pieces = [forms(piece, names) for piece in pieces]
    got, at = forms(printed, names), 0
    for i, piece in enumerate(pieces):
        last = i == len(pieces) - 1
        found = find(piece, got, len(got) - len(piece) if last and i else at)
        if found < at or (i == 0 and found) or (last and found + len(piece) != len(got)):
            unlike = set(got) - set(sum(pieces, []))
            odd = [line for line in printed if form(line, names) in unlike]
            return "\n".join([f"part {i + 1} of what the page shows has the form"] + piece +
                             ["what was printed has"] + got +
                             ["of no form that is shown"] + odd[:9])
        at = found + max(len(piece) - 1, 0)  # rows go on after `...`
    return None


def misses():
    """None, or a wrong output that problem() takes for right."""
    shown = ["Attached 1 probe", "PID    COMM", "12     cat", "@a[cat, 3]: 17", "@h:",
             "[0, 1)     3 |@@@|", "[1, 2)     0 |   |"]
    same = ["Attached 1 probe", "PID    COMM", "7      cat", "9      cat", "@a[a dog, 1]: 2", "@h:",
            "[4, 8)     1 |@@ |"]
    wrong = [(1, "PID   COMM"), (0, "Attached 1 map"), (3, "@a[3, 3]: 1"), (3, "@a[x]: 1"),
             (3, "@b[x, 1]: 1"), (2, "12  13  cat"), (5, "[1, 2)  7")]
    if found := problem(shown, same):
        return "the same form is not found: " + found
    for line, text in wrong + [(i, None) for i in range(5)]:
        changed = shown[:line] + ([text] if text else []) + shown[line + 1:]
        if not problem(shown, changed):
            return f"not noticed: line {line} is {text}"
    if problem(["a 1", "...", "b"], ["a 2", "c", "b"]) or not problem(["a 1", "...", "b"], ["a 2"]):
        return "... does not stand for lines"
    return None
