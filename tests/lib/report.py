# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Results of tests: counted, failures and skips told with their reason, one line of totals."""
import json
import sys
import threading


class Report:
    """Collects results from several threads. With a stream, also writes each as a line of JSON
    (how the virtual machine hands its results out)."""

    def __init__(self, stream=None):
        self.counts = {"passed": 0, "failed": 0, "skipped": 0}
        self.stream = stream
        self.lock = threading.Lock()
        self.suite = ""

    def begin(self, suite):
        self.suite = suite
        self.before = dict(self.counts)
        if not self.stream:
            print(f"== {suite}", flush=True)

    def end(self):
        if not self.stream:
            parts = [f"{self.counts[k] - self.before[k]} {k}" for k in self.counts]
            print(f"   {', '.join(parts)}", flush=True)

    def add(self, result, name, detail=""):
        """result is passed, failed or skipped; detail is the reason of the last two."""
        with self.lock:
            self.counts[result] += 1
            if self.stream:
                self.stream.write(json.dumps([result, name, detail]) + "\n")
                self.stream.flush()
            elif result == "failed":
                print(f"FAILED {self.suite}: {name}\n{indent(detail)}", flush=True)
            elif result == "skipped":
                print(f"skipped {self.suite}: {name}: {detail}", flush=True)

    def check(self, name, problem):
        """problem is None for a test that passed."""
        self.add("failed" if problem else "passed", name, problem or "")

    def finish(self):
        c = self.counts
        if not self.stream:
            print(f"{c['passed']} passed, {c['failed']} failed, {c['skipped']} skipped")
        sys.stdout.flush()
        return 1 if c["failed"] or not c["passed"] else 0


def indent(text):
    return "\n".join("    " + line for line in text.rstrip("\n").split("\n"))
