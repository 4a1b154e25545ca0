# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Runs what docs/ and README.md show (lib/examples.py says how it is written there) and compares
what comes out by its form. The commands of a page run in their order, in a folder, /srv, and
a network of the page's own; the test programs are there, so that ./itest means what it says.
In the virtual machine only what needs more than the host may have is run."""
import contextlib
import glob
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from lib import examples, machine
from lib.report import Skip
from run.cases import Run

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PIDOF = """#!/bin/sh
# The process of that name that the page has started.
cat /srv/.bin/pid.$1 2>/dev/null || { echo "the page has started no $1" >&2; exit 1; }
"""
ATTACHED = r'Attached \d+ probe|"attached_probes"|(?m:^Listening on )'
WATCHED = 1.5     # seconds until the signal where the page shows ^C
BEGINS = 0.7      # seconds for a command that stays
# The page's folder is /srv there, the network has only a loopback: SIOCSIFFLAGS with IFF_UP and
# IFF_RUNNING. It is there as long as this reads.
PLACE = """
import fcntl, socket, struct, subprocess, sys
for pair in zip(sys.argv[1::2], sys.argv[2::2]):
    subprocess.run(["mount", "--bind", *pair], check=True)
fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sH14x", b"lo", 0x41))
print("ready", flush=True)
sys.stdin.read()
"""


def pages():
    paths = [TOP + "/README.md"] + sorted(glob.glob(TOP + "/docs/**/*.md", recursive=True))
    return [os.path.relpath(p, TOP) for p in paths]


def link(path, to):
    """The file itself at another place, so that its path there is what programs see."""
    try:
        os.link(path, to)
    except OSError:
        shutil.copy2(path, to)


class Page:
    """One page's commands while they run."""

    def __init__(self, context, folder, waits):
        self.context, self.folder, self.staying, self.variables = context, folder, [], ""
        self.printed = ""
        self.waits = waits  # for what stays, whichever example it is for
        for path in (glob.glob(context.progs + "/*") + glob.glob(context.build + "/examples/*") +
                     glob.glob(TOP + "/tests/run/aids/[rw]*")):
            link(path, f"{folder}/{os.path.basename(path)}")
        os.mkdir(folder + "/.bin")
        os.symlink(context.memtap, folder + "/.bin/memtap")
        with open(folder + "/.bin/pidof", "w") as f:
            f.write(PIDOF)
        os.chmod(folder + "/.bin/pidof", 0o755)
        mounts = [folder, "/srv"]
        if memcached := machine.memcached_usdt():
            mounts += [memcached, "/usr/bin/memcached"]
        self.place = subprocess.Popen(["unshare", "-n", "-m", "python3", "-c", PLACE, *mounts],
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.place.stdout.readline()
        self.env = {"PATH": "/srv/.bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/srv"}

    def argv(self, command):
        return ["nsenter", "--target", str(self.place.pid), "--net", "--mount",
                "bash", "-c", "cd /srv\n" + self.variables + command]

    def end(self):
        for p in self.staying:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(p.pid, signal.SIGKILL)
            p.wait()
        self.place.communicate()

    def stay(self, command, has_to=True):
        command = command.rstrip("& ")
        p = subprocess.Popen(self.argv("exec " + command), env={**os.environ, **self.env},
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL, start_new_session=True)
        self.staying.append(p)
        with open(f"{self.folder}/.bin/pid.{os.path.basename(shlex.split(command)[0])}", "w") as f:
            f.write(str(p.pid))
        if not has_to and not self.waits:
            return
        time.sleep(BEGINS * self.context.factor)
        if has_to and p.poll() is not None:
            raise RuntimeError(f"`{command}` has ended")

    def prepare(self, example):
        """A command that is no memtap's: a file that is shown, a variable, what stays."""
        if why_not(example, self.context):
            return None
        if m := re.fullmatch(r"cat (\S+)", example.command):
            path = f"{self.folder}/{m[1]}"
            if example.shows and not os.path.lexists(path):
                with open(path, "w") as f:
                    f.write("\n".join(example.shows) + "\n")
        elif re.match(r"[A-Za-z_]\w*='[^']*'$", example.command):
            self.variables += example.command + "\n"
        elif example.stays:
            # In the virtual machine it may be for examples that are not run there.
            self.stay(example.command, "needs" in example.notes or not self.context.in_vm)
        elif not example.command.startswith("cd "):
            return self.compare(example)
        return None

    def compare(self, example):
        limit = 20 * self.context.factor
        run = Run(self.argv(example.command), self.env, merged=True)
        came = False
        if "^C" in example.shows:
            if not run.wait_for(ATTACHED, limit, "out"):
                run.kill()
                return "was never attached:\n" + "".join(run.out)
            time.sleep(WATCHED * self.context.factor)
            came = wait_for_form(example, run, limit)
            interrupt(run.process.pid)
        out, _, status = run.finish(limit)
        if self.context.one_file:   # tests/lib/one_file.py looks for it
            out = re.sub("^WARNING: system calls are not limited: .*\n", "", out, flags=re.M)
        self.printed = out
        if status is None:
            return "did not end in time:\n" + out[-3000:]
        if not ended_well(example, status):
            return f"exit status {status}:\n{out[-3000:]}"
        # Where rows may go on, those that came with ^C can be the same ones again, cut anywhere.
        if not example.shows or (came and example.shows[-2:] == ["^C", "..."]):
            return None
        found = examples.problem(example.shows, out.split("\n"), "names" in example.notes)
        return f"{found}\n--- output\n{out[-3000:]}" if found else None


def wait_for_form(example, run, seconds):
    """Until what the page shows before ^C has come; whether it has."""
    lines = example.shows[:example.shows.index("^C")] + ["..."]
    end = time.monotonic() + seconds
    while examples.problem(lines, run.out, "names" in example.notes):
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def ended_well(example, status):
    if "status" in example.notes:
        return status == int(example.notes["status"])
    return "hidden" in example.notes or bool(status) == any("ERROR" in x for x in example.shows)


def interrupt(pid):
    """As the terminal does on ^C: all of the foreground."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGINT)


def parsed(context, example):
    """What can not run here is at least looked at: None, or what is wrong with its script."""
    m = re.search(r"memtap\b.* -e '([^']*)'", example.command, re.S)
    if not m:
        return None
    p = subprocess.run([context.memtap, "--fmt", "-e", m[1]], capture_output=True, text=True,
                       check=False)
    return p.stderr if p.returncode else None


def why_not(example, context):
    """The reason not to run it here, or None."""
    needs = example.notes.get("needs", "").split()
    if "vm" in needs and not context.in_vm:
        return "wants the machine for itself: only in the virtual machine"
    reasons = [example.notes.get("not run")]
    reasons += [machine.missing(word) for word in ["root", *needs] if word != "vm"]
    return next(filter(None, reasons), None)


def skip_if_impossible(example, context):
    if reason := why_not(example, context):
        if problem := parsed(context, example):
            return problem
        raise Skip(reason)
    return None


def run_example(page, example, context):
    return skip_if_impossible(example, context) or page.compare(example)


def run_page(path, report, context, pattern):
    with open(f"{TOP}/{path}") as f:
        found = list(examples.examples(path, f.read()))
    chosen = [e for e in found if e.is_memtap and "hidden" not in e.notes and
              (not pattern or re.search(pattern, e.name)) and
              ("needs" in e.notes or not context.in_vm)]
    if not chosen:
        return
    with tempfile.TemporaryDirectory(prefix="memtap-page.") as folder:
        page = Page(context, folder, any("vm" not in e.notes.get("needs", "").split()
                                         for e in chosen))
        try:
            for example in found:
                if example in chosen:
                    report.run(example.name, run_example, page, example, context)
                elif not example.is_memtap or "hidden" in example.notes:
                    report.run(example.name, page.prepare, example)
        finally:
            page.end()


def needs_all(path):
    """Are there examples on the page that want the machine for themselves?"""
    with open(f"{TOP}/{path}") as f:
        return any("vm" in e.notes.get("needs", "").split()
                   for e in examples.examples(path, f.read()))


def run_all(report, context, pattern=None):
    if context.sanitized:
        report.add("skipped", "examples of docs/", "what they are about has cases, too")
        return
    report.check("wrong outputs of examples are found", examples.misses())
    chosen = report.chosen(pages())
    alone = [path for path in chosen if context.in_vm and needs_all(path)]
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        list(pool.map(lambda path: run_page(path, report, context, pattern),
                      [path for path in chosen if path not in alone]))
    for path in alone:
        run_page(path, report, context, pattern)
