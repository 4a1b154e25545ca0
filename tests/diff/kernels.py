# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Random scripts of all that the language has (anything.py) on another kernel, in virtual machines:
each is accepted, or refused by memtap and not by that kernel's verifier.

    tests/diff/kernels.py BUILD SERIES    2,000 of them on Linux 5.10, 6.1, 6.12 or 7.2

Emulation takes about half a second for a script, so machines run side by side, each with seeds of
its own, until there are enough.
"""
import contextlib
import json
import os
import sys
import tempfile
import time

if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from diff import anything  # noqa: E402
from vm import vm  # noqa: E402

SERIES = ("5.10", "6.1", "6.12", "7.2")  # of Debian's kernels that tests/vm/fetch has
SCRIPTS, SECONDS = 2000, 580
SEEDS = 100000  # of a machine, more than it comes to


def told(machine):
    """What it said so far of each seed."""
    return [json.loads(line) for line in machine.text("results").split("\n")[:-1]]


def judge(build, series, machines, scripts, seconds):
    """(what was found, what is wrong or None) with random scripts on that kernel, until so many
    were judged or that time is over."""
    kernel = vm.kernel_dir(series)
    if not kernel:
        return "", f"Linux {series}: could not be fetched"
    began = time.monotonic()
    with contextlib.ExitStack() as stack:
        running = []
        for i in range(machines):
            d = stack.enter_context(tempfile.TemporaryDirectory(prefix="memtap-vm."))
            running.append(vm.Machine(kernel, [
                "python3", "-B", "tests/diff/anything.py", os.path.relpath(build, vm.TOP),
                str(1 + i * SEEDS), str(SEEDS), "/dev/results"], d))
            stack.callback(running[-1].wait, 0)
        while time.monotonic() - began < seconds and any(m.qemu.poll() is None for m in running):
            results = [r for m in running for r in told(m)]
            if sum(r[1] for r in results) >= scripts or any(r[3] for r in results):
                break
            time.sleep(1)
        results = [r for m in running for r in told(m)]
        said = "".join(m.text("console")[-1000:] for m in running)
    judged, wrong = anything.total(results, 1)
    found = (f"Linux {series}: {judged} random scripts of {len(results)} seeds, "
             f"{sum(r[2] for r in results)} of them more than the verifier walks, in "
             f"{time.monotonic() - began:.0f} s")
    return found, f"{found}\n{wrong}\n{said}" if wrong else None


def main():
    build, series = os.path.abspath(sys.argv[1]), sys.argv[2]
    if series not in SERIES or vm.missing():
        print(vm.missing() or f"no kernel {series}: there are {', '.join(SERIES)}")
        return 1
    found, wrong = judge(build, series, vm.MACHINES, SCRIPTS, SECONDS)
    print(wrong or found)
    if not wrong and int(found.split()[2]) < SCRIPTS:
        print(f"that is less than {SCRIPTS}: the machine is too slow, or busy")
        return 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
