# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""What one signal ends: commands that queue, output that nobody takes. Each of these would run for
hours otherwise, so the limits are for machines of any speed."""
import array
import contextlib
import fcntl
import os
import pathlib
import pty
import re
import signal
import subprocess
import tempfile
import termios
import time

from lib import machine
from run.cases import Run
from run.scenarios import children_of, require, shown, until


def commands_that_queue(context, number):
    """One runs, the others wait: the first is ended with all it started, the others are counted."""
    seconds = f"3{os.getpid():07d}{number}"
    run = Run([context.memtap, "--unsafe", "-e", "interval:ms:1 { @ = count(); "
               f"system(\"sleep {seconds}; echo woken\"); }}"])
    if not until(lambda: children_of(run.process.pid), 20 * context.factor):
        run.kill()
        return shown("no command was run", "".join(run.out), "".join(run.err))
    time.sleep(0.2)  # for some to queue
    run.process.send_signal(number)
    out, err, status = run.finish(20 * context.factor)
    left = subprocess.run(["pgrep", "-f", seconds], capture_output=True, text=True,
                          check=False).stdout.split()
    for pid in left:
        os.kill(int(pid), signal.SIGKILL)
    counted = re.search(r"^@: (\d+)$", out, re.M)
    lost = re.search(r"WARNING: Lost (\d+) events: they still waited", err)
    problems = [f"exit status {status}"] if status != 0 else []
    if left:
        problems.append(f"still running: {left}")
    if "the command was ended" not in err:
        problems.append("nothing is said of the command that was ended")
    if not counted or not lost or int(counted[1]) != int(lost[1]) + 1:
        problems.append("not every event was either begun or counted")
    return shown("\n".join(problems), out, err) if problems else None


def test_interrupt_ends_commands_that_queue(context):
    return commands_that_queue(context, signal.SIGINT)


def test_sigterm_ends_commands_that_queue(context):
    return commands_that_queue(context, signal.SIGTERM)


def test_interrupt_ends_attaching(context):
    """Some 700 probes: stopped when dozens are attached, it is interrupted and goes on. Again where
    this program had no processor until all were."""
    require("tracefs")
    for _ in range(5):
        run = Run([context.memtap, "-e", "tracepoint:syscalls:* { @ = count(); }"])
        descriptors = f"/proc/{run.process.pid}/fd"
        some = until(lambda: len(os.listdir(descriptors)) > 60, 60 * context.factor)
        run.process.send_signal(signal.SIGSTOP)
        late = len(os.listdir(descriptors)) > 2 * 640  # a program or event, and a link, for each
        run.process.send_signal(signal.SIGINT)
        run.process.send_signal(signal.SIGCONT)
        out, err, status = run.finish(60 * context.factor)
        if not late:
            break
    attached = re.search(r"^Attached (\d+) probes$", err, re.M)
    ok = some and status == 0 and attached and 20 < int(attached[1]) < 650
    return None if ok else shown(f"exit status {status}", out, err)


def test_interrupt_ends_records_that_queue(context):
    """Each takes milliseconds, and many come in one."""
    with tempfile.NamedTemporaryFile("w+") as f:
        run = Run([context.memtap, "-o", f.name, "-e", "config = { max_cat_bytes = 4194304 } "
                   "interval:us:100 { @ = count(); cat(\"/proc/kallsyms\"); } "
                   "END { printf(\"the end %d\\n\", (int64)@); }"])
        until(lambda: os.stat(f.name).st_size > 1000, 20 * context.factor)
        time.sleep(0.5)
        run.process.send_signal(signal.SIGINT)
        _, err, status = run.finish(20 * context.factor)
        f.seek(max(os.stat(f.name).st_size - 100, 0))
        counted = re.search(r"the end (\d+)\n", f.read())
    lost = re.search(r"WARNING: Lost (\d+) events: they still waited", err)
    ok = status == 0 and counted and lost and 0 < int(lost[1]) < int(counted[1])
    return None if ok else shown(f"status {status}, counted {counted}", "", err)


def test_commands_of_end_are_ended(context):
    run = Run([context.memtap, "--unsafe", "-e", "interval:s:1000 { } END { @x = 7; "
               "system(\"sleep 4000\"); system(\"echo never\"); printf(\"the end\\n\"); }"])
    if not run.attached(20 * context.factor):
        run.kill()
        return shown("it never attached", "".join(run.out), "".join(run.err))
    run.process.send_signal(signal.SIGINT)
    out, err, status = run.finish(20 * context.factor)
    ok = status == 0 and "the end\n" in out and "@x: 7\n" in out and "never" not in out and \
        "the command was ended" in err and "Lost 1 event:" in err
    return None if ok else shown(f"status {status}", out, err)


# ---- signals that come early, or late -----------------------------------------------------------

READ = machine.OWN["NR_READ"] + " 0x0 " # in /proc/PID/syscall: of standard input


def start_ignoring(args, number, stdin="/dev/null"):
    """As shells start something in the background, with SIGINT ignored."""
    return Run(["sh", "-c", f"trap '' {number}; exec \"$@\" < {stdin}", "sh", *args])


def test_ignored_signals_before_the_session(context):
    """Sent while the script is read; there is nothing to show yet."""
    problems = []
    for number in (signal.SIGINT, signal.SIGTERM):
        with tempfile.TemporaryDirectory() as folder:
            os.mkfifo(f"{folder}/script")
            writer = os.open(f"{folder}/script", os.O_RDWR)
            run = start_ignoring([context.memtap, "-"], number.value, f"{folder}/script")
            call = pathlib.Path(f"/proc/{run.process.pid}/syscall")
            reads = until(lambda call=call: call.read_text().startswith(READ),
                          20 * context.factor)
            run.process.send_signal(number)
            out, err, status = run.finish(10 * context.factor)
            os.close(writer)
            if not reads or status != -number:
                problems.append(shown(f"{number.name}: exit status {status}", out, err))
    return "\n".join(problems) or None


def test_commands_ignore_what_we_ignored(context):
    run = start_ignoring([context.memtap, "-q", "-e", "END { }", "-c",
                          "grep SigIgn /proc/self/status"], signal.SIGINT.value)
    out, err, status = run.finish(20 * context.factor)
    mask = re.search(r"SigIgn:\s*([0-9a-f]+)", out)
    ok = status == 0 and mask and int(mask[1], 16) & 1 << signal.SIGINT - 1
    return None if ok else shown(f"exit status {status}", out, err)


def test_own_signal_after_the_end(context):
    """A script's own signal that comes when the script has ended, sent at memtap's last close()."""
    require("tracefs")
    run = Run([context.memtap, "-e", "self:signal:SIGUSR1 { @n = count(); }"])
    late = Run([context.memtap, "--unsafe", "-e", "tracepoint:syscalls:sys_enter_close "
                f"/pid == {run.process.pid} && args.fd == 1/ {{ @sent = 1; signal(\"USR1\"); }}"])
    if not run.attached(20 * context.factor) or not late.attached(20 * context.factor):
        run.kill()
        late.kill()
        return shown("it never attached", "".join(late.out), "".join(run.err + late.err))
    run.process.send_signal(signal.SIGINT)
    out, err, status = run.finish(20 * context.factor)
    late.process.send_signal(signal.SIGINT)
    sent, _, _ = late.finish(20 * context.factor)
    return None if status == 0 and "@sent: 1\n" in sent else shown(f"exit status {status}, {sent}",
                                                                  out, err)


# ---- output ----------------------------------------------------------------------------------

LINES = "interval:us:100 { printf(\"%120d\\n\", nsecs); @ = count(); } END { printf(\"END\\n\"); }"
WARNINGS = "interval:us:100 { warnf(\"%120d\", nsecs); @ = count(); } END { printf(\"END\\n\"); }"


def waiting(fd):
    n = array.array("i", [0])
    fcntl.ioctl(fd, termios.FIONREAD, n)
    return n[0]


def is_stuck(fd):
    """It holds something, and no more comes."""
    before = waiting(fd)
    time.sleep(1)  # a busy machine lets nobody wait as long
    return before and waiting(fd) == before


@contextlib.contextmanager
def unread(kind):
    """(descriptor to write to, descriptor that nobody reads)"""
    ours, theirs = os.pipe() if kind == "pipe" else pty.openpty()
    try:
        yield theirs, ours
    finally:
        os.close(ours)
        os.close(theirs)


def output_that_nobody_reads(context, kind, number, script, both, statuses=(1,)):
    with unread(kind) as (theirs, ours), tempfile.TemporaryFile("w+") as messages:
        p = subprocess.Popen([context.memtap, "-e", script], stdin=subprocess.DEVNULL,
                             stdout=theirs, stderr=theirs if both else messages)
        stuck = until(lambda: is_stuck(ours) or p.poll() is not None, 30 * context.factor)
        p.send_signal(number)
        try:
            status = p.wait(20 * context.factor)
        except subprocess.TimeoutExpired:
            p.kill()
            p.wait()
            status = None
        messages.seek(0)
        err = messages.read()
    ok = stuck and status in statuses and (both or "ERROR: the end of the output is lost" in err)
    return None if ok else shown(f"stuck: {stuck}, status {status}", "", err)


def test_interrupt_ends_a_pipe_that_nobody_reads(context):
    return output_that_nobody_reads(context, "pipe", signal.SIGINT, LINES, False)


def test_sigterm_ends_a_pipe_that_nobody_reads(context):
    return output_that_nobody_reads(context, "pipe", signal.SIGTERM, LINES, True)


def test_interrupt_ends_a_stopped_terminal(context):
    return output_that_nobody_reads(context, "terminal", signal.SIGINT, LINES, False)


def test_interrupt_ends_messages_that_nobody_reads(context):
    # The few bytes of the output may still fit where a message did not.
    return output_that_nobody_reads(context, "pipe", signal.SIGINT, WARNINGS, True, (0, 1))


def test_interrupt_ends_the_wait_for_a_reader(context):
    """Of a FIFO that nobody has opened: nothing runs yet, a signal does what it always does."""
    with tempfile.TemporaryDirectory() as folder:
        os.mkfifo(folder + "/fifo")
        p = subprocess.Popen([context.memtap, "-o", folder + "/fifo", "-e", "BEGIN { exit(); }"],
                             stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        with open(f"/proc/{p.pid}/wchan") as f:
            # fifo_open(), or what it calls to wait
            until(lambda: f.seek(0) == 0 and re.search("fifo|partner", f.read()),
                  20 * context.factor)
        p.send_signal(signal.SIGINT)
        try:
            status = p.wait(20 * context.factor)
        except subprocess.TimeoutExpired:
            p.kill()
            p.wait()
            status = None
        p.stderr.close()
    return None if status == -signal.SIGINT else f"status {status}"
