# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The tools memtap is compared with: where they are, how they are run, what they take.

What Debian 12 does not install comes out of the cache that scripts/bench-peers fills."""
import glob
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import time

CACHE = os.environ.get("MEMTAP_CACHE") or os.path.join(
    os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "memtap")
NEWER = CACHE + "/bench/libbpf-tools"


class DoesNotRun(Exception):
    """With the reason, one line."""


def bcc(name):
    """The command line of a tool of bpfcc-tools, or None."""
    path = shutil.which(name + "-bpfcc")
    return [path] if path else None


def libbpf(name):
    """That of a tool of libbpf-tools: the installed one, else the next release's with its own C
    library."""
    path = f"/usr/sbin/{name}"
    if os.path.exists(path):
        return [path]
    path = f"{NEWER}/usr/sbin/{name}-libbpf"
    libraries = NEWER + "/usr/lib/x86_64-linux-gnu"
    if os.path.exists(path):
        return [libraries + "/ld-linux-x86-64.so.2", "--library-path", libraries, path]
    return None


def in_vm():
    """In that of tests/vm/vm.py?"""
    with open("/proc/cmdline") as f:
        return "memtap.guest=" in f.read()


def show_headers():
    """Puts the kernel's headers where BCC looks for them, in the virtual machine, whose root is
    thrown away."""
    release = os.uname().release
    if in_vm() and not os.path.exists(f"/lib/modules/{release}/build"):
        os.makedirs(f"/lib/modules/{release}", exist_ok=True)
        for path in glob.glob(f"{CACHE}/bench/headers-{release}/usr/src/*"):
            kind = "source" if path.endswith("-common") else "build"
            os.symlink(path, f"/lib/modules/{release}/{kind}")


def kernel_memory(pid, kinds=("map", "prog")):
    """KiB that the kernel holds for the BPF maps and programs of a process."""
    sizes = {}
    for fd in os.listdir(f"/proc/{pid}/fdinfo"):
        try:
            with open(f"/proc/{pid}/fdinfo/{fd}") as f:
                info = dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)
        except OSError:  # closed meanwhile
            continue
        for kind in kinds:
            # A link has its program's number, but no memory of its own.
            if kind + "_id" in info and "memlock" in info:
                sizes[kind, info[kind + "_id"]] = int(info["memlock"])
    return sum(sizes.values()) / 1024


def peak_memory(pid):
    """KiB of memory that the process had at most."""
    with open(f"/proc/{pid}/status") as f:
        return int(re.search(r"^VmHWM:\s+(\d+)", f.read(), re.M)[1])


def start(argv, line, seconds):
    """Runs a tool on a terminal of its own, for a pipe is written late, until it has written a
    line that matches: (ms from exec to that line, peak KiB, KiB of kernel memory). Then ends it."""
    master, slave = pty.openpty()
    began = time.monotonic()
    p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=slave, stderr=slave,
                         start_new_session=True)
    os.close(slave)
    try:
        text = b""
        while not re.search(line.encode() + rb".*\n", text, re.M):
            left = began + seconds - time.monotonic()
            if left <= 0 or not select.select([master], [], [], left)[0]:
                raise DoesNotRun(f"says nothing in {seconds} s")
            try:
                text += os.read(master, 65536)
            except OSError:  # it has ended
                raise DoesNotRun(reason(text)) from None
        ms = (time.monotonic() - began) * 1000
        return ms, peak_memory(p.pid), kernel_memory(p.pid)
    finally:
        p.send_signal(signal.SIGINT)
        os.close(master)
        try:
            p.wait(seconds)
        except subprocess.TimeoutExpired:
            p.kill()
            p.wait()


def reason(text):
    """What memtap says behind ERROR:, else the last line."""
    text = text.decode(errors="replace")
    error = re.search(r"ERROR.*?: (.*)", text)
    lines = [error[1]] if error else re.findall(r".*\S.*", text)
    return lines[-1].strip() if lines else "ends and says nothing"
