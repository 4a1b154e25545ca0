# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Records that wake nobody (poll_ms) go by processor: each comes once, whole, and in the order in
which things happened on all of them; what there is no room for is counted."""
import re
import shlex
import sys

from run.cases import Run

MARK = 77  # the descriptor of writes that are looked at
TRACE = (f"tracepoint:syscalls:sys_enter_write /args.fd == {MARK}/ "
         "{ printf(\"%s\\n\", str(args.buf, args.count)); }")
# Two threads, each on a processor of its own if there are two, answer each other.
TALK = """
import os, threading
cpus = sorted(os.sched_getaffinity(0))
os.dup2(os.open("/dev/null", os.O_WRONLY), MARK)
turn = [threading.Semaphore(1), threading.Semaphore(0)]
def talk(me):
    os.sched_setaffinity(0, {cpus[-me]})
    for i in range(me, N, 2):
        turn[me].acquire()
        os.write(MARK, b"%d" % i)
        turn[1 - me].release()
both = [threading.Thread(target=talk, args=(me,)) for me in (0, 1)]
[t.start() for t in both]
[t.join() for t in both]
"""
# Of all lengths, on one processor, more than its lane has room for at once.
LENGTHS = """
import os, time
os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
os.dup2(os.open("/dev/null", os.O_WRONLY), MARK)
for i in range(N):
    os.write(MARK, b"%d " % i + b"x" * (i * 37 % 15000))
    if i % 20 == 0:
        time.sleep(0.005)
"""


LOST = re.compile(r"Lost (\d+) event")
MISSED = re.compile(r": (\d+) events? w\w+ missed: ")  # also of other descriptors


def run(context, config, program, n):
    """The lines, how many were lost, how many may have been missed; or what memtap says else."""
    source = f"MARK, N = {MARK}, {n}\n{program}"
    command = f"{shlex.quote(sys.executable)} -c {shlex.quote(source)}"
    r = Run([context.memtap, "-q", "-e", f"config = {{ {config} }} {TRACE}", "-c", command])
    out, err, status = r.finish(300 * context.factor)
    strange = [line for line in err.splitlines() if not LOST.search(line) and
               not MISSED.search(line)]
    if status or strange:
        raise RuntimeError(err)
    lost, missed = (sum(map(int, what.findall(err))) for what in (LOST, MISSED))
    return out.strip("\n").split("\n"), lost, missed


def differs(found, wanted):
    """Each of the wanted lines once, in their order, but for those that are counted."""
    lines, lost, missed = found
    rest = iter(wanted)
    strange = [line[:40] for line in lines if line not in rest]  # takes from rest up to it
    if strange or not 0 <= len(wanted) - len(lines) - lost <= missed:
        return (f"{len(lines)} records of {len(wanted)}, {lost} lost, {missed} missed, "
                f"not in order: {strange[:5]}")
    return None


def test_records_of_processors_are_in_order(context):
    n = 20000
    found = run(context, "poll_ms = 10; ring_pages = 4096", TALK, n)
    if found[1]:
        return f"{found[1]} records were lost"
    return differs(found, [str(i) for i in range(n)])


def test_records_of_all_lengths_are_whole(context):
    n = 4000  # of 30 MB
    config = "poll_ms = 10; ring_pages = 4096; max_strlen = 16384"
    found = run(context, config, LENGTHS, n)
    if found[1] > n / 2:
        return f"{found[1]} records were lost"
    return differs(found, [f"{i} " + "x" * (i * 37 % 15000) for i in range(n)])


def test_records_without_room_are_counted(context):
    n = 20000
    found = run(context, "poll_ms = 1000; ring_pages = 1", TALK, n)
    if not found[1]:
        return "none was lost"
    return differs(found, [str(i) for i in range(n)])
