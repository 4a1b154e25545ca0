# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Words that do not come back into what users read: messages in src/, heads of tools, README.md,
docs/ and man/. Each has the field's word beside it."""
import re
import subprocess

WORDS = {
    r"behind": "after, past (place or time)",
    r"told|tells": "reported, described, known",
    r"dear(er)?": "expensive",
    r"(?<!type )(?<!leak )checker": "verifier (the kernel's)",
    r"whosoever": "whoever",
    r"to be had": "available",
    r"late ones?": "say what came too late",
    r"stands? (behind|in front of)": "follows, comes before",
}
# Where a word is right.
RIGHT = (r"f(alls|ell|all) behind", r"behind a proxy", r"leaves? \w+ behind", r"left behind",
         r"leaving \w+ behind")
WRONG = re.compile(r"\b(" + "|".join(WORDS) + r")\b", re.I)
LITERAL = r'"(?:\\.|[^"\\\n])*"'


def messages(text):
    """(line, text) of the string literals of C; literals that follow each other are one."""
    def blank(m):
        return re.sub(r"[^\n]", " ", m[0])
    text = re.sub(r"/\*.*?\*/", blank, text, flags=re.S)
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
    """None when each word would be found."""
    samples = ("it is behind the end", "losses are told", "it tells", "a dear one", "the checker",
               "whosoever", "none is to be had", "late ones", "it stands behind it")
    blind = [s for s in samples if not wrong_in(s)]
    seen = [s for s in ("it falls behind", "copies are left behind") if wrong_in(s)]
    return f"not found: {blind}; found: {seen}" if blind or seen else None
