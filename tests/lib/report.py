# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Results of tests: counted, failures and skips told with their reason, one line of totals."""
import glob
import json
import sys
import threading
import time
import traceback

STILL = 200     # seconds without a result, after which the processes are looked at


class Skip(Exception):
    """Raised by a test that this machine can not do, with the reason."""


class Report:
    """Collects results from several threads. With a stream, writes them there as lines of JSON
    instead of printing (how the virtual machine hands its results out): what each result is made
    of, before it ["started", name], and ["still", what all do] when nothing ends any more."""

    def __init__(self, stream=None, part=(0, 1), done=()):
        self.part = part
        self.done = set(done)
        self.counts = {"passed": 0, "failed": 0, "skipped": 0}
        self.stream = stream
        self.times = []
        self.lock = threading.Lock()
        self.suite = ""
        self.last = time.monotonic()
        if stream:
            threading.Thread(target=self._watch, daemon=True).start()

    def begin(self, suite):
        self.suite = suite
        self.before = dict(self.counts)
        self.began = time.monotonic()
        if not self.stream:
            print(f"== {suite}", flush=True)

    def end(self):
        if not self.stream:
            parts = [f"{self.counts[k] - self.before[k]} {k}" for k in self.counts]
            print(f"   {', '.join(parts)} in {time.monotonic() - self.began:.0f} s", flush=True)

    def chosen(self, tests):
        """Those of a list that this run is asked for: every Nth, from the Kth."""
        which, of = self.part
        return tests[which::of]

    def add(self, result, name, detail="", seconds=0.0):
        """result is passed, failed or skipped; detail is the reason of the last two."""
        with self.lock:
            self.counts[result] += 1
            self.times.append((seconds, f"{self.suite}: {name}"))
            if self.stream:
                self._write(result, name, detail, round(seconds, 1))
            elif result == "failed":
                print(f"FAILED {self.suite}: {name}\n{indent(detail)}", flush=True)
            elif result == "skipped":
                print(f"skipped {self.suite}: {name}: {detail}", flush=True)

    def check(self, name, problem, seconds=0.0):
        """problem is None for a test that passed."""
        self.add("failed" if problem else "passed", name, problem or "", seconds)

    def run(self, name, test, *args):
        """Calls a test, which returns None or what went wrong. A broken one must not hide the
        others. One that another run has done already is left out."""
        if name in self.done:
            return
        if self.stream:
            with self.lock:
                self._write("started", name)
        begin = time.monotonic()
        try:
            problem = test(*args)
        except Skip as e:
            self.add("skipped", name, str(e))
            return
        except Exception as e:
            problem = f"{type(e).__name__}: {e}"
        self.check(name, problem, time.monotonic() - begin)

    def _watch(self):
        while True:
            time.sleep(10)
            with self.lock:
                if time.monotonic() - self.last > STILL:
                    self._write("still", what_all_do())

    def _write(self, *line):
        self.last = time.monotonic()
        self.stream.write(json.dumps(line) + "\n")
        self.stream.flush()

    def finish(self, slowest=0):
        """Prints the totals, before them the slowest tests with their seconds."""
        for seconds, name in sorted(self.times, reverse=True)[:slowest]:
            print(f"{seconds:7.1f} {name}")
        c = self.counts
        if not self.stream:
            print(f"{c['passed']} passed, {c['failed']} failed, {c['skipped']} skipped")
        sys.stdout.flush()
        return 1 if c["failed"] or not c["passed"] else 0


def what_all_do():
    """Where the tests' threads are, and in what each process with memory of its own waits."""
    lines = []
    for frame in sys._current_frames().values():
        lines += [f"{f.filename}:{f.lineno} {f.name}" for f in traceback.extract_stack(frame)[-6:]]
        lines.append("")
    for folder in glob.glob("/proc/[0-9]*"):
        try:
            arguments = open(folder + "/cmdline").read().replace("\0", " ")[:100]
            state = open(folder + "/stat").read().rsplit(")", 1)[1].split()[0]
            stack = [s.split()[1] for s in open(folder + "/stack").read().splitlines()[:6]]
        except OSError:
            continue
        if arguments:
            lines.append(f"{folder[6:]} {state} {arguments}: {' '.join(stack)}")
    return "\n".join(lines)


def indent(text):
    return "\n".join("    " + line for line in text.rstrip("\n").split("\n"))
