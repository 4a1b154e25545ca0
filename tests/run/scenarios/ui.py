# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The table on the terminal, driven through tmux: keys are sent, and the screen has to become the
one that was saved in tests/run/screens. MEMTAP_SCREENS=write saves them anew; look at what
changed."""
import difflib
import json
import os
import re
import signal
import subprocess
import tempfile
import time

from run.scenarios import HERE, on_host, require, until
from run.scenarios.caches import Server

SCREENS = HERE + "/screens"
COLOUR = r"\x1b\[[0-9;]*(30|43|46)m"
WRITE = os.environ.get("MEMTAP_SCREENS") == "write"


class Terminal:
    """A command in a tmux of its own. `mask` takes what is never the same off a screen that is
    compared with a saved one."""

    def __init__(self, context, command, size=(100, 24), term="screen-256color",
                 mask=lambda text: text):
        self.patience = 30 * context.factor
        self.mask = mask
        self.home = tempfile.TemporaryDirectory(prefix="memtap-ui.")
        self.socket = self.home.name + "/tmux"
        # What stands around the command shows that the terminal was given back.
        script = (f"echo before; echo $$ >{self.home.name}/shell; TZ=UTC TERM={term} {command}; "
                  "echo left $?; stty -a | grep -ow -e '-*echo' -e '-*icanon' | tr '\\n' ' '; "
                  "exec cat")
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(size[0]), "-y", str(size[1]),
                  "exec /bin/sh -c " + quoted(script))

    def tmux(self, *args):
        env = {k: v for k, v in os.environ.items() if k != "TMUX"}
        p = subprocess.run(["tmux", "-u", "-S", self.socket, *args], capture_output=True, text=True,
                           env=env, timeout=60 + self.patience, check=False)
        if p.returncode:
            raise RuntimeError(f"tmux {args[0]}: {p.stderr}")
        return p.stdout

    def send(self, *keys):
        self.tmux("send-keys", *keys)

    def screen(self, *options):
        return "\n".join(line.rstrip() for line in
                         self.tmux("capture-pane", "-p", *options).split("\n")).strip("\n") + "\n"

    def child(self):
        """The process of the command."""
        with open(self.home.name + "/shell") as f:
            shell = f.read().strip()
        with open(f"/proc/{shell}/task/{shell}/children") as f:
            return int(f.read().split()[0])

    def signal(self, number):
        os.kill(self.child(), number)

    def becomes(self, name):
        """None, or how the screen differs from the saved one."""
        path = f"{SCREENS}/{name}.txt"
        if WRITE:
            time.sleep(1)
            with open(path, "w") as f:
                f.write(self.mask(self.screen()))
            return None
        with open(path) as f:
            wanted = f.read()
        if until(lambda: self.mask(self.screen()) == wanted, self.patience):
            return None
        found = self.mask(self.screen())
        return f"screen {name}:\n" + "\n".join(difflib.unified_diff(
            wanted.split("\n"), found.split("\n"), "saved", "found", lineterm="", n=1))

    def shows(self, text):
        if until(lambda: text in self.screen(), self.patience):
            return None
        return f"the screen never showed {text!r}:\n{self.screen()}"

    def matches(self, pattern):
        if until(lambda: re.search(pattern, self.screen()), self.patience):
            return None
        return f"the screen never matched {pattern}:\n{self.screen()}"

    def close(self):
        try:
            self.tmux("kill-server")
        except RuntimeError:
            pass
        self.home.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def demo(context, *args, before="", **options):
    require("cmd:tmux")
    return Terminal(context, " ".join([before, context.build + "/tests/hot_demo", *args]),
                    **options)


def play(terminal, steps):
    """Each step is keys or a function, and the screen behind it. Ends where that differs."""
    for keys, name in steps:
        if callable(keys):
            keys()
        elif keys:
            terminal.send(*keys)
        problem = terminal.becomes(name)
        if problem:
            return f"after {keys}: {problem}"
    return None


@on_host
def test_hot_screen_keys(context):
    with demo(context) as t:
        return play(t, [
            (None, "first"),
            (["j", "j", "Down"], "down"),
            (["k"], "up"),
            (["d"], "page-down"),
            (["G"], "last"),
            (["u"], "page-up"),
            (["g"], "first"),
            (["S"], "by-size"),
            (["T"], "by-size-ascending"),
            (["B"], "by-bytes"),
            (["R"], "by-rate"),
            (["N"], "by-last"),
            (["L"], "by-latency"),
            (["M"], "by-misses"),
            (["C"], "first"),
            (["?"], "help"),
            (["x"], "first"),
            (["l", "l", "l"], "scrolled"),
            (["h", "h", "h"], "first"),
        ])


@on_host
def test_hot_screen_filter_and_page(context):
    with demo(context) as t:
        return play(t, [
            (None, "first"),
            (["/", "0", "3", "BSpace", "2"], "typing"),
            (["Enter"], "filtered"),
            (["Escape"], "first"),
            (["/", "n", "o", "n", "e", "Enter"], "nothing"),
            (["/", "BSpace", "BSpace", "BSpace", "BSpace", "Enter"], "first"),
            (["Enter"], "page"),
            (["d"], "page-scrolled"),
            (["q"], "first"),
            (["/", "b", "i", "n", "Enter"], "binary"),
            (["Enter"], "binary-page"),
        ])


@on_host
def test_hot_screen_foreign_letters(context):
    """Letters show where the locale has them; what acts on a terminal does not reach it."""
    name = '"$(printf "m\\303\\251m \\346\\227\\245 \\342\\200\\256 \\033[31m \\377")"'
    ends = r"\\u202e \\x1b\[31m \\xff 4711  "
    for locale, wanted in (("C.UTF-8", "m\u00e9m \u65e5 " + ends), ("C", r"m\?m \? " + ends)):
        with demo(context, "0", name, before=f"LC_ALL={locale}") as t:
            problem = t.matches(wanted)
            if problem:
                return f"{locale}: {problem}"
    return None


@on_host
def test_hot_screen_pause_and_dump(context):
    with demo(context) as t:
        return play(t, [
            (None, "first"),
            (["p"], "paused"),
            (lambda: t.signal(signal.SIGUSR1), "paused-later"),
            (["S"], "paused-by-size"),
            (["C", "p"], "later"),
            (["D"], "dumped"),
            (lambda: t.signal(signal.SIGUSR1), "after-dump"),
        ])


@on_host
def test_hot_screen_sizes(context):
    with demo(context) as t:
        def size(x, y):
            return lambda: t.tmux("resize-window", "-x", str(x), "-y", str(y))

        return play(t, [
            (None, "first"),
            (size(60, 12), "narrow"),
            (["G"], "narrow-last"),
            (size(20, 5), "tiny"),
            (size(7, 2), "tiniest"),
            (size(160, 30), "wide"),
            (["g"], "wide-first"),
        ])


@on_host
def test_hot_screen_without_colours(context):
    """The same text, and only attributes; with colours there are some."""
    with demo(context, term="vt100") as t:
        problem = play(t, [(None, "first"), (["j"], "second")])
        if problem:
            return problem
        text = t.screen("-e")
        if not re.search(r"\x1b\[[0-9;]*4m", text) or re.search(COLOUR, text):
            return "vt100: " + repr(t.screen("-e")[:400])
    with demo(context, term="screen-256color NO_COLOR=1") as t:
        problem = play(t, [(None, "first")])
        if problem or re.search(COLOUR, t.screen("-e")):
            return f"NO_COLOR: {problem} " + repr(t.screen("-e")[:400])
    for term in ("screen", "xterm-256color"):
        with demo(context, term=term) as t:
            problem = play(t, [(None, "first")])
            if problem:
                return f"{term}: {problem}"
            if not re.search(COLOUR, t.screen("-e")):
                return f"{term}: no colours: " + repr(t.screen("-e")[:400])
    return None


@on_host
def test_hot_screen_errors_in_counts(context):
    with demo(context, "36500") as t:
        return play(t, [(None, "bounded"), (["Enter"], "bounded-page")])


@on_host
def test_hot_screen_gives_the_terminal_back(context):
    problems = []
    for how in ("q", signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGSEGV):
        if context.sanitized and how == signal.SIGSEGV:
            continue  # the sanitizer has a handler of its own
        with demo(context) as t:
            problem = t.shows("user:0001")
            if not problem and how == "q":
                t.send("q")
            elif not problem:
                t.signal(how)
            status = 0 if how == "q" else 128 + how
            if how == "q":
                problem = problem or t.shows("said meanwhile\n")  # kept while the screen was open
            problem = problem or t.shows(f"left {status}\n") or t.shows("icanon echo")
            state = t.tmux("display-message", "-p", "#{alternate_on} #{cursor_flag}").strip()
            if problem or state != "0 1" or not t.screen().startswith("before\n"):
                problems.append(f"{how}: {problem}, state {state}, screen\n{t.screen()}")
    return "\n".join(problems) or None


def ask(server, keys):
    """A set of each key, then so many gets as stand with it."""
    with server.connect() as s, s.makefile("rb") as f:
        for key, gets in keys.items():
            s.sendall(b"set " + key + b" 0 0 5\r\nhello\r\n")
            f.readline()
            for _ in range(gets):
                s.sendall(b"get " + key + b"\r\n")
                while f.readline() != b"END\r\n":
                    pass


@on_host
def test_mctop_on_a_terminal(context):
    require("root", "cmd:tmux")
    with Server(context, "memcached") as server, tempfile.TemporaryDirectory() as tmp:
        dump = tmp + "/dump"
        command = f"{context.memtap} mctop -p {server.pid} -o {dump}"
        with Terminal(context, command) as t:
            problem = t.shows("nothing yet")
            if problem:
                return problem
            ask(server, {b"alpha": 40, b"beta": 7, b"\xff": 1})
            problem = t.matches(r"(?m)^alpha +41 .*\nbeta +8 .*\n\\xff +2 ")
            t.send("j", "Enter")
            problem = problem or t.matches(r"(?m)^beta  \(4 bytes\)\n\ncalls   8$")
            problem = problem or t.matches(r"(?m)^asked   get 7, set 1$") or t.shows("#\n")
            t.send("Enter", "D")
            problem = problem or t.shows(f"dumped to {dump}; counting starts anew")
            ask(server, {b"gamma": 3})
            problem = problem or t.matches(r"(?m)^gamma +4 ")
            if "alpha" in t.screen():
                problem = problem or "it still shows what was forgotten:\n" + t.screen()
            server.end()
            problem = problem or t.shows(f"{server.pid}  has ended, waiting for it  0 calls/s")
            t.send("q")
            problem = problem or t.shows("left 0\n") or t.shows("icanon echo")
            if problem:
                return problem
        with open(dump) as f:
            dumps = [json.loads(line) for line in f]
        found = [{k["key"]: k["calls"] for k in d["keys"]} for d in dumps]
        if found != [{"alpha": 41, "beta": 8, "\\xff": 2}, {"gamma": 4}]:
            return f"dumped was {found}"
    return None


@on_host
def test_mctop_on_a_terminal_without_screen(context):
    """It gets blocks of text, and is told why."""
    require("root", "cmd:tmux")
    with Server(context, "memcached") as server:
        for term, why in (("dumb", "can not move the cursor"),
                          ("no-such-terminal", "is not known")):
            with Terminal(context, f"{context.memtap} mctop -p {server.pid}", term=term) as t:
                problem = t.shows(f"the terminal '{term}' {why}")
                ask(server, {b"alpha": 40})
                problem = problem or t.matches(r"(?m)^alpha +41 ") or \
                    t.matches(r"(?m)^these \d+ are ")
                t.signal(signal.SIGINT)
                problem = problem or t.shows("left 0\n")
                if problem or "\x1b" in t.screen("-e"):
                    return f"{term}: {problem} " + repr(t.screen("-e"))
    return None


@on_host
def test_screen_without_terminal(context):
    p = subprocess.run([context.build + "/tests/hot_demo"], stdin=subprocess.DEVNULL,
                       capture_output=True, text=True, timeout=20 * context.factor, check=False)
    if p.returncode != 1 or "standard input and output are no terminal" not in p.stderr:
        return f"{p.returncode} {p.stderr}"
    require("cmd:tmux")
    for term, why in (("no-such-terminal", "is not known"), ("dumb", "can not move the cursor"),
                      ("", "can not move the cursor")):
        with demo(context, term=term) as t:
            problem = t.shows(f"the terminal '{term}' {why}") or t.shows("left 1\n")
            if problem:
                return problem
    return None
