# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The end-to-end cases on a packaged kernel of Debian, in qemu under software emulation: the one
that the release comes with, or that of another series (tests/vm/fetch).

The guest's root is the host's, read through virtiofs with an overlay of its own, so it runs the
very same build and the very same cases. The machine may be another one (ARCHS): then its root is
made of packages (scripts/foreign-root), with the work tree where it is here. Results come back as
JSON lines over a virtio port.
"""
import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor


HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
# qemu's own, and the one that is a project of its own since. An overlay goes over no file system
# that tells it where another one is mounted.
VIRTIOFSD = {"/usr/libexec/virtiofsd": ["--shared-dir=/", "--cache=always", "--sandbox=chroot",
                                        "--no-announce-submounts"],
             "/usr/lib/qemu/virtiofsd": ["-o", "source=/,cache=always,sandbox=chroot"]}
# One thread for both processors: with one for each, a processor may go on for ever in what it
# translated of a tracepoint's branch while the other was changing it.
ACCELERATOR = "tcg,thread=single"
FACTOR = 6          # emulation, against the limits of the host
MACHINES = 2        # side by side, each with a part of the tests: one uses about one processor
LIMIT = 30 * 60     # seconds for all of it
STALL = 300         # seconds without a result, after which a machine is taken for stuck
# The oldest kernel and the newest one: each every other day, a few cases that take two minutes. All
# of them with --kernel.
OTHERS = ["5.10", "7.2"]
SHORT = r"^(kernel|usdt)\.case|what older kernels lack"
# By the architecture: qemu and its machine, the console, what the kernel has to be told besides.
ARCHS = {"amd64": (["qemu-system-x86_64", "-M", "pc", "-cpu", "max"], "ttyS0",
                   "mitigations=off no_timer_check"),
         "arm64": (["qemu-system-aarch64", "-M", "virt", "-cpu", "max,pauth-impdef=on"],
                   "ttyAMA0", "mitigations=off")}
KERNEL_LINE = ("quiet loglevel=1 panic=-1 reboot=t nokaslr "
               "cryptomgr.notests initcall_blacklist=load_system_certificate_list "
               "random.trust_cpu=on rdinit=/init")
ASKED = ("HEAP_CHECK",)  # variables that tests in there are told, too


def guest_root(arch):
    """The folder that is the guest's root, '' for the host's own."""
    if arch == "amd64":
        return ""
    p = subprocess.run([TOP + "/scripts/foreign-root", arch, "guest"], capture_output=True,
                       text=True, check=True)
    return p.stdout.strip()


def kernel_dir(series=None, arch="amd64"):
    """The newest prepared kernel of a series, or None."""
    p = subprocess.run([HERE + "/fetch", series or "", arch], capture_output=True, text=True,
                       check=False)
    path = p.stdout.strip()
    return path if p.returncode == 0 and os.path.isdir(path) else None


def virtiofsd():
    """The command line of the one that is installed, but for the socket."""
    path = next(filter(os.path.exists, VIRTIOFSD))
    return [path, *VIRTIOFSD[path], "--thread-pool-size=4"]


def missing(arch="amd64"):
    if not shutil.which(ARCHS[arch][0][0]) or not any(map(os.path.exists, VIRTIOFSD)):
        return "no qemu or virtiofsd installed"
    if os.geteuid() != 0:
        return "needs root"
    return None


class Machine:
    """A running virtual machine; its directory holds the results and the console's text."""

    def __init__(self, kernel, command, directory, memory="1500M", arch="amd64"):
        self.directory = directory
        qemu, console, told = ARCHS[arch]
        socket = directory + "/fs.sock"
        self.fs = subprocess.Popen(
            virtiofsd() + [f"--socket-path={socket}"], stdout=subprocess.DEVNULL,
            stderr=open(directory + "/virtiofsd.log", "w"))
        end = time.monotonic() + 60
        while not os.path.exists(socket) and self.fs.poll() is None and time.monotonic() < end:
            time.sleep(0.02)
        cache = os.path.dirname(os.path.dirname(kernel))
        root = guest_root(arch)
        if root: # what was built there for the host's machine is nothing for this one
            cache += "/guest-" + arch
        with open(directory + "/command", "w") as f:
            f.write(f"export MEMTAP_CACHE={shlex.quote(cache)}\n{shlex.join(command)}\n")
        line = (f"console={console} {KERNEL_LINE} {told} memtap.guest={HERE}/guest "
                f"memtap.command={directory}/command")
        if root:
            line += f" memtap.root={root} memtap.share={TOP}:{directory}"
        self.qemu = subprocess.Popen(
            [*qemu, "-accel", ACCELERATOR,
             "-smp", "2", "-m", memory, "-nodefaults", "-display", "none", "-no-reboot",
             "-object", f"memory-backend-memfd,id=mem,size={memory},share=on",
             "-numa", "node,memdev=mem",
             "-kernel", kernel + "/vmlinux", "-initrd", kernel + "/initramfs", "-append", line,
             "-chardev", f"socket,id=fs,path={socket}",
             "-device", "vhost-user-fs-pci,chardev=fs,tag=host,queue-size=1024",
             "-device", "virtio-serial-pci",
             "-chardev", f"file,id=results,path={directory}/results",
             "-device", "virtserialport,chardev=results,name=results",
             "-serial", f"file:{directory}/console"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=open(directory + "/qemu.log", "w"))

    def wait(self, seconds, stall=None):
        """None, or why it had to be stopped: "late", or "stuck" after `stall` seconds without a
        result."""
        end, size, changed = time.monotonic() + seconds, 0, time.monotonic()
        try:
            while True:
                try:
                    self.qemu.wait(1)
                    return None
                except subprocess.TimeoutExpired:
                    pass
                now, old = time.monotonic(), size
                size = len(re.findall(r'^\["[pf]', self.text("results"), re.M))
                changed = now if size != old else changed
                if now > end:
                    return "late"
                if stall and now - changed > stall:
                    return "stuck"
        finally:
            for p in (self.qemu, self.fs):
                p.kill()
                p.wait()

    def text(self, name):
        try:
            with open(f"{self.directory}/{name}", errors="replace") as f:
                return f.read()
        except OSError:
            return ""


def check_types(report, context, kernel, only):
    """Every type of the kernel and of all modules of its package as libbpf reads it. Not in the
    guest: the bytes are the same, and emulation would take minutes."""
    name = "types of the packaged kernel and its modules"
    if only and not re.search(only, name):
        return
    p = subprocess.run([context.build + "/tests/unit/test_btf_libbpf"], capture_output=True,
                       text=True, timeout=600, check=False,
                       env={**os.environ, "MEMTAP_TEST_BTF": kernel + "/vmlinux",
                            "MEMTAP_TEST_MODULES": kernel + "/btf"})
    text = p.stdout + p.stderr
    # Before Linux 5.11 modules have no types.
    without = not os.listdir(kernel + "/btf") and "no module with BTF is loaded" in text
    report.check(name, text if p.returncode or ("SKIPPED" in text and not without) else None)


def add_results(report, lines):
    """The names of the tests that ended, what is known of those that did not."""
    ended, running, still = [], [], ""
    for line in lines:
        try:
            result, name, *rest = json.loads(line)
        except ValueError:
            report.add("failed", "a result", f"not readable: {line}")
            continue
        if result == "started":
            running.append(name)
        elif result == "still":
            still = name
        else:
            report.add(result, name, *rest)
            ended.append(name)
            if name in running:
                running.remove(name)
    return ended, f"running were: {', '.join(running)}\n{still}"


def run_suites(report, context, only, series, arch="amd64", part=(0, 1)):
    """part: which one of how many runs this is, each with its share of the tests."""
    reason = missing(arch)
    kernel = None if reason else kernel_dir(series, arch)
    if not kernel:
        report.add("skipped", "all cases", reason or "the kernel package could not be fetched")
        return
    if arch == "amd64" and part[0] == 0:
        check_types(report, context, kernel, only)
    asked = [f"{name}={os.environ[name]}" for name in ASKED if name in os.environ]
    command = ["env", *asked, "tests/check", "--build", os.path.relpath(context.build, TOP),
               "--factor", str(FACTOR), "--arch", arch, "--in-vm", "/dev/results"]
    command += ["--only", only] if only else []
    # Of another machine's unit tests those that could not be run here.
    suites = ["run"] if arch == "amd64" else ["unit", "run"]

    def run_part(number):
        share = f"{part[0] * MACHINES + number}/{part[1] * MACHINES}"
        run_machine(report, f"machine {number}", kernel, command + ["--part", share, *suites],
                    arch=arch)

    with ThreadPoolExecutor(max_workers=MACHINES) as pool:
        list(pool.map(run_part, range(1, MACHINES + 1)))
    if not series and not only and arch == "amd64" and part[0] == 0:
        run_other(report, command)


def run_other(report, command):
    """A few cases on one of the other kernels, by the day."""
    series = OTHERS[time.gmtime().tm_yday % len(OTHERS)]
    kernel = kernel_dir(series)
    if not kernel:
        report.add("skipped", f"a few cases on Linux {series}", "the kernel could not be fetched")
        return
    run_machine(report, f"Linux {series}", kernel, command + ["--only", SHORT, "run"])


def run_machine(report, name, kernel, command, done=(), arch="amd64"):
    """Runs a command in a machine of its own, takes over its results. An emulated machine can come
    to a stand: that is told, and another one does the rest, once."""
    with tempfile.TemporaryDirectory(prefix="memtap-vm.") as directory:
        with open(directory + "/done", "w") as f:
            f.write("\n".join(done))
        machine = Machine(kernel, command + ["--done", directory + "/done"], directory, arch=arch)
        why = machine.wait(LIMIT, STALL)
        results = [line for line in machine.text("results").split("\n") if line]
        if why and not machine.text("results").endswith("\n"):
            results = results[:-1]
        ended, detail = add_results(report, results)
        detail += "\n" + machine.text("console")[-3000:] + machine.text("qemu.log")[-1000:]
    if why == "stuck" and not done:
        report.add("skipped", name, f"no result for {STALL} s, goes on in another; {detail}")
        run_machine(report, name + ", again", kernel, command, ended or [""],
                    arch)
    elif why:
        report.add("failed", name, f"was {why} (of {LIMIT} s, {STALL} s); {detail}")
    elif not results:
        report.add("failed", name, f"gave no results\n{detail}")


def main():
    """`python3 tests/vm/vm.py [--kernel SERIES] [--arch ARCH] COMMAND...`: runs one command
    there, for work by
    hand."""
    p = argparse.ArgumentParser()
    p.add_argument("--kernel")
    p.add_argument("--arch", default="amd64", choices=ARCHS)
    p.add_argument("command", nargs=argparse.REMAINDER)
    a = p.parse_args()
    with tempfile.TemporaryDirectory(prefix="memtap-vm.") as directory:
        machine = Machine(kernel_dir(a.kernel, a.arch), a.command, directory, arch=a.arch)
        machine.wait(LIMIT)
        print(machine.text("console") + machine.text("results"), end="")
        print(machine.text("qemu.log") + machine.text("virtiofsd.log"), end="", file=sys.stderr)


if __name__ == "__main__":
    main()
