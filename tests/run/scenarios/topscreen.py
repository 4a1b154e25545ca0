# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""mctop's screen over a real memcached, by keys through tmux, against the screens that are saved as
tests/run/screens/mctop-*.txt. The load is always the same and has ended, an interval before, when
the table is paused. See masked() for what is not compared."""
import contextlib
import re
import threading

from run.scenarios import Skip, on_host, require
from run.scenarios.caches import Server
from run.scenarios.ui import COLOUR, Terminal, play

LONG = b"user:4711:" + b"-".join(b"part%02d" % i for i in range(20)) + b":END"
# In this order: key, gets that find nothing, bytes of the value set then, gets that find it.
LOAD = ((b"alpha", 3, 10, 40), (b"beta", 0, 2000, 7), (LONG, 1, 500, 20),
        (b"\x01\xff\\bin", 5, 5, 1), (b"user:1:feed", 2, 100, 12), (b"user:2:feed", 0, 90, 15),
        (b"nowhere", 30, None, 0))
CALLS = sum(misses + hits + (size is not None) for _, misses, size, hits in LOAD)


def ask(server):
    with server.connect() as s, s.makefile("rb") as f:
        def get(key, times):
            for _ in range(times):
                s.sendall(b"get " + key + b"\r\n")
                while f.readline() != b"END\r\n":
                    pass

        for key, misses, size, hits in LOAD:
            get(key, misses)
            if size is not None:
                s.sendall(b"set " + key + b" 0 0 %d\r\n" % size + b"x" * size + b"\r\n")
                f.readline()
            get(key, hits)


def masked(text):
    """Time of day, process, latencies, times of the processor, ages and decayed rates become ~: in
    the first line, in the columns P50us, P99us, CPU% and LAST, by command, and on the page about a
    key, whose histogram becomes one ~ and of whose empty lines one is left. All else has to be
    as saved."""
    lines = text.split("\n")
    # Where a narrow terminal cuts it depends on how long the process's number is.
    lines[0] = re.sub(r"^\d\d:\d\d:\d\d  memcached \d+(  [\d.k]+ calls/s)(  hits [\d.]+ %)?.*",
                      r"~  memcached ~\1\2  ~", lines[0])
    for title in re.finditer(r"(P50us|P99us|CPU%|LAST)[v^]?", lines[2] if len(lines) > 2 else ""):
        for i in range(3, len(lines) - 1):
            before, after = lines[i][:title.end()], lines[i][title.end():]
            if re.search(r" [\d.]+$", before):
                lines[i] = re.sub(r" [\d.]+$", lambda m: "~".rjust(len(m[0])), before) + after
    text = "\n".join(lines)
    text = re.sub(r"(?m)(in the last interval, ).*", r"\1~", text)
    text = re.sub(r"(?m)^took +[\d.]+ us (.*call), [\d.]+ %", r"took    ~ us \1, ~ %", text)
    text = re.sub(r"(?m)^((?:get|set) +\d+ +[\d.]+) +[\d.]+ +[\d.]+  ", r"\1  ~  ~  ", text)
    text = re.sub(r"(?m)(last call|since) [\d.]+ s", r"\1 ~ s", text)
    text = re.sub(r"(?m)^(latency, .*\n)( +[\d.]+ +\d+.*\n)+", r"\1  ~\n", text)
    return re.sub(r"\n{3,}", "\n\n", text)


@contextlib.contextmanager
def paused(context, **options):
    """A terminal with mctop on it, which has counted the load and shows the paused table."""
    require("root", "cmd:tmux")
    if context.in_vm:
        raise Skip("drawing is the same on each kernel: on the host")
    with Server(context, "memcached") as server, \
            Terminal(context, f"{context.memtap} mctop -p {server.pid}", mask=masked,
                     **options) as t:
        problem = t.shows("nothing yet")
        if not problem:
            ask(server)
            problem = t.matches(rf"  0 calls/s.*\n{CALLS} calls  {len(LOAD)} keys")
        if problem:
            raise RuntimeError(problem)
        t.send("p")
        yield t


@on_host
def test_mctop_screen_orders(context):
    """Each key that sorts, and the other way round; of those whose order is that of the load."""
    with paused(context, size=(120, 24)) as t:
        return play(t, [
            (None, "mctop-by-calls"),
            (["S"], "mctop-by-size"),
            (["T"], "mctop-by-size-ascending"),
            (["B"], "mctop-by-bytes"),
            (["N"], "mctop-by-last"),
            (["M"], "mctop-by-misses"),
            (["M"], "mctop-by-misses-ascending"),
            (["C"], "mctop-by-calls"),
        ])


@on_host
def test_mctop_screen_names(context):
    """Long names scrolled, names searched, keys that are bytes, the page about one, the help."""
    with paused(context, size=(100, 50)) as t:
        return play(t, [
            (None, "mctop-names"),
            (["l", "l", "l", "l", "l", "l"], "mctop-names-scrolled"),
            (["h", "h", "h", "h", "h", "h"], "mctop-names"),
            (["/", "f", "e", "e", "d", "Enter"], "mctop-names-filtered"),
            (["Escape"], "mctop-names"),
            (["Enter"], "mctop-page"),
            (["Enter"], "mctop-names"),
            (["/", "x", "f", "f", "Enter", "Enter"], "mctop-page-of-bytes"),
            (["Enter", "Escape"], "mctop-names"),
            (["a"], "mctop-commands"),
            (["a"], "mctop-names"),
            (["a", "Enter"], "mctop-names"),
            (["?"], "mctop-help"),
            (["?", "p"], "mctop-going-on"),
        ])


@on_host
def test_mctop_screen_sizes(context):
    """Narrow, small, wide again, without losing anything."""
    with paused(context, size=(120, 24)) as t:
        def size(x, y):
            return lambda: t.tmux("resize-window", "-x", str(x), "-y", str(y))

        return play(t, [
            (None, "mctop-by-calls"),
            (size(40, 10), "mctop-narrow"),
            (["l", "l", "l", "l"], "mctop-narrow-scrolled"),
            (["h", "h", "h", "h", "G"], "mctop-narrow-last"),
            (["g", "Enter"], "mctop-narrow-page"),
            (["Enter"], "mctop-narrow"),
            (size(120, 24), "mctop-by-calls"),
        ])


@on_host
def test_mctop_screen_without_colours(context):
    with paused(context, size=(120, 24), term="vt100") as t:
        problem = play(t, [(None, "mctop-by-calls")])
        if problem:
            return problem
        text = t.screen("-e")
        return f"colours: {text!r}" if re.search(COLOUR, text) else None


@on_host
def test_mctop_screen_of_a_server_that_ends(context):
    """It says so, until the server is there again."""
    require("root", "cmd:tmux")
    if context.in_vm:
        raise Skip("drawing is the same on each kernel: on the host")
    with Server(context, "memcached") as first, \
            Terminal(context, f"{context.memtap} mctop -p {first.pid}") as t:
        problem = t.shows("nothing yet")
        if problem:
            return problem
        first.end()
        problem = t.matches(rf"memcached {first.pid}  has ended, waiting for it  ")
        if problem:
            return problem
        with Server(context, "memcached", first.port) as second:
            return t.matches(rf"memcached {second.pid}  0 calls/s  ")


@on_host
def test_mctop_screen_by_rate(context):
    """Of two keys that are asked for at different rates; another was before, more often."""
    require("root", "cmd:tmux")
    if context.in_vm:
        raise Skip("drawing is the same on each kernel: on the host")
    done = threading.Event()

    def go_on(server):
        with server.connect() as s, s.makefile("rb") as f:
            for key, times in [(b"old", 2000), (b"quick", 8), (b"slow", 2)] + \
                    [(b"quick", 8), (b"slow", 2)] * 10 ** 6:
                for _ in range(times):
                    if done.is_set():
                        return
                    s.sendall(b"get " + key + b"\r\n")
                    f.readline()
                if key == b"slow":
                    done.wait(0.02)  # some hundred calls a second are enough

    with Server(context, "memcached") as server, \
            Terminal(context, f"{context.memtap} mctop -p {server.pid}") as t:
        problem = t.shows("nothing yet")
        if problem:
            return problem
        asker = threading.Thread(target=go_on, args=(server,))
        asker.start()
        try:
            t.send("R")
            problem = t.matches(r"(?m)^KEY .* RATE/Sv .*\nquick .*\nslow .*\nold ")
            t.send("T")
            return problem or t.matches(r"(?m)^KEY .* RATE/S\^ .*\nold .*\nslow .*\nquick ")
        finally:
            done.set()
            asker.join()
