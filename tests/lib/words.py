# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Words that do not come back into what users read: messages in src/, heads of tools, README.md,
docs/ and man/. Each has what to say instead beside it."""
import re
import subprocess

# What is wrong: (what to say instead, all that it is to be found as)
WORDS = {
    r"behind": ("after, past (place or time)", ["behind"]),
    r"told|tells": ("reported, described, known", ["told", "tells"]),
    r"dear(?:er)?": ("expensive", ["dear", "dearer"]),
    r"(?<!type )(?<!leak )checker": ("verifier (the kernel's)", ["checker"]),
    r"whosoever": ("whoever", ["whosoever"]),
    r"to be had": ("available", ["to be had"]),
    r"late ones?": ("say what came too late", ["late one", "late ones"]),
    r"stands? in front of": ("comes before", ["stand in front of", "stands in front of"]),
}
# Where a word is right.
RIGHT = (r"f(alls|ell|all) behind", r"behind a proxy", r"leaves? \w+ behind", r"left behind",
         r"leaving \w+ behind")
WRONG = re.compile(r"\b(" + "|".join(WORDS) + r")\b", re.I)
LITERAL = r'"(?:\\.|[^"\\\n])*"'


def messages(text):
    """(line, text) of the string literals of C; literals that follow each other are one."""
    def keep(m):  # comments and characters become blanks, lines stay
        return m[0] if m[0].startswith('"') else re.sub(r"[^\n]", " ", m[0])
    text = re.sub(rf"{LITERAL}|/\*.*?\*/|//[^\n]*|'(?:\\.|[^'\\\n])+'", keep, text, flags=re.S)
    for m in re.finditer(rf"{LITERAL}(?:\s*(?:PRI\w+\s*)?{LITERAL})*", text):
        yield text.count("\n", 0, m.start()) + 1, "".join(s[1:-1] for s in
                                                           re.findall(LITERAL, m[0]))


def prose(text):
    """(line, text) of a page, without what stands in code."""
    text = re.sub(r"```.*?```|`[^`\n]*`|^\.EX.*?^\.EE|^ {4}.*?$",
                  lambda m: re.sub(r"[^\n]", " ", m[0]), text, flags=re.S | re.M)
    yield from enumerate(text.split("\n"), 1)


def head(text):
    """(line, text) of the comment that is a tool's --help."""
    end = text.find("*/")
    yield from enumerate(text[:end].split("\n"), 1)


def wrong_in(text):
    """The words in a text that are not to come back."""
    for right in RIGHT:
        text = re.sub(right, "", text, flags=re.I)
    return [m[0] for m in WRONG.finditer(text)]


def problem(top):
    listed = subprocess.run(["git", "ls-files", "src", "tools", "docs", "man", "README.md"],
                            cwd=top, capture_output=True, text=True, check=True).stdout.split()
    found = []
    for path in listed:
        parts = messages if path.endswith((".c", ".h")) else \
            head if path.endswith(".bt") else \
            prose if path.endswith((".md", ".1", ".3")) else None
        if not parts:
            continue
        with open(f"{top}/{path}", errors="replace") as f:
            for line, text in parts(f.read()):
                found += [f"{path}:{line}: '{word}' in: {text.strip()[:80]}"
                          for word in wrong_in(text)]
    return "\n".join(found[:40]) or None


def misses():
    """None when each word is found, by itself and in a string that looks like a comment's start."""
    wrong = [f"{word}: {wrong_in(f'x {word} y')}" for _, samples in WORDS.values()
             for word in samples if wrong_in(f"x {word} y") != [word]]
    wrong += [f"{text} is found" for text in ("it falls behind", "copies are left behind")
              if wrong_in(text)]
    strings = [text for _, text in messages('/* a */ f("tools/*.bt" "b"); g(\'"\', "c"); // "d"')]
    if strings != ["tools/*.btb", "c"]:
        wrong.append(f"strings: {strings}")
    return "\n".join(wrong) or None
