# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Runs inside of gdb: starts the program, tells its pid, and notes the stack at each SIGUSR2 that a
traced event sends. The environment says where: STACKS_START (a function to go to first), STACKS_DIR
(files: pid when the program is there; go when it may run on; out: a JSON line a stop)."""
import json
import os
import time

import gdb

DIR = os.environ["STACKS_DIR"]
END = time.monotonic() + float(os.environ["STACKS_SECONDS"])


def frames():
    """Program counters of the selected thread, innermost first. Left out is what has no frame on
    the stack and gdb only concludes from debug information: inlined functions, and tail calls."""
    found, f = [], gdb.newest_frame()
    while f is not None:
        if f.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            found.append(f.pc())
        f = f.older()
    while found and not found[-1]: # behind a goroutine's first function
        found.pop()
    return found


def on_stop(event):
    if not isinstance(event, gdb.SignalEvent) or event.stop_signal != "SIGUSR2":
        return
    pid, tid, _ = gdb.selected_thread().ptid
    with open(DIR + "/out", "a") as f:
        f.write(json.dumps({"tid": tid, "frames": frames(),
                            "maps": open(f"/proc/{pid}/maps").read()}) + "\n")


def alive():
    return any(i.pid for i in gdb.inferiors())


for setting in ("confirm off", "pagination off", "debuginfod enabled off", "auto-load off",
                "backtrace past-main on", "backtrace limit unlimited", "breakpoint pending on",
                "print thread-events off"):
    try:
        gdb.execute("set " + setting, to_string=True)
    except gdb.error:
        pass
gdb.execute("handle all nostop noprint pass", to_string=True)
gdb.execute("handle SIGTRAP stop nopass", to_string=True)
gdb.execute("tbreak " + os.environ["STACKS_START"], to_string=True)
gdb.execute("run", to_string=True)
with open(DIR + "/pid.new", "w") as out:
    out.write(str(gdb.selected_inferior().pid))
os.rename(DIR + "/pid.new", DIR + "/pid")
while not os.path.exists(DIR + "/go") and time.monotonic() < END:
    time.sleep(0.01)
gdb.execute("handle SIGUSR2 stop print nopass", to_string=True)
gdb.events.stop.connect(on_stop)
while alive() and not os.path.exists(DIR + "/end") and time.monotonic() < END:
    gdb.execute("continue", to_string=True)
if alive():
    gdb.execute("kill", to_string=True)
