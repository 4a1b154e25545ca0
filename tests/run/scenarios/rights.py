# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""What the manual says under PRIVILEGES: with these capabilities it runs, and without each of them
the message names it. And kernels without type information, machines without tracefs."""
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile

from lib import machine
from run.cases import Run
from run.scenarios import children_of, process, require, shown, until
from run.scenarios.caches import Server

NOBODY = 65534
TRACING = ("bpf", "perfmon")
TICK_ALONE = "BEGIN { @[pid] = count(); exit(); }"
TICK = "interval:ms:1 { exit(); }"
# (what it takes, requirements, arguments); SIZES is a program of nobody's.
NEEDS = (
    (TRACING, (), ["-e", "BEGIN { printf(\"it ran\\n\"); exit(); }"]),
    (TRACING, (), ["-e", TICK]),
    (TRACING, (), ["-e", "profile:hz:99 { @ = count(); } " + TICK]),
    (TRACING, (), ["-e", "software:page-faults:1 { @[kstack(3), ustack(3)] = count(); } " + TICK]),
    (TRACING, (), ["-e", "rawtracepoint:sys_enter { @ = count(); } " + TICK]),
    (TRACING, ("btf",), ["-e", "btftracepoint:sched_switch { @ = args.prev.pid; } " + TICK]),
    (TRACING, ("btf",), ["-e", "iter:task { @ = count(); }"]),
    ((*TRACING, "net_admin"), (), ["-e", "ingress:/proc/self/cgroup { } BEGIN { exit(); }"]),
    (TRACING, ("kprobe",), ["-e", "kprobe:vfs_read { @ = count(); } " + TICK]),
    (TRACING, ("kprobe",), ["-e", "kretprobe:vfs_read { @ = retval; } " + TICK]),
    (TRACING, ("fentry", "btf"), ["-e", "fentry:vfs_read { @ = args.count; } " + TICK]),
    (TRACING, (), ["-e", "uprobe:SIZES:six { @[ustack(3)] = count(); }", "-c", "SIZES"]),
    (TRACING, (), ["-e", "uretprobe:SIZES:six { @ = retval; }", "-c", "SIZES"]),
    (TRACING, ("btf",), ["faults", "-c", "SIZES"]),
    (TRACING + ("dac_read_search",), ("tracefs",),
     ["-e", "tracepoint:sched:sched_switch { @ = args.prev_pid; } " + TICK]),
    (TRACING + ("dac_read_search",), ("tracefs",),
     ["-e", "tracepoint:sched:* { @ = count(); } " + TICK]),
    (("dac_read_search",), ("tracefs",), ["-l", "tracepoint:sched:*"]),
    (TRACING + ("dac_read_search",), (), ["-e", "uprobe:SECRET:six { @ = count(); } " + TICK]),
    (TRACING + ("sys_ptrace",), (), ["-e", "uprobe:/proc/ROOTS/exe:six { @ = count(); } " + TICK]),
)
# What takes CAP_SYS_ADMIN, which stands for the other two.
ADMIN = (
    (("fentry", "overlay-btf"), ["-e", "fentry:overlay:ovl_open { @ = count(); } " + TICK]),
    (("fentry", "btf"), ["-l", "fentry:bpf:*"]),
    (("kernel-6.1",), ["--unsafe", "-e", "uprobe:SIZES:word { write_user(arg0, \"A\", 1); }", "-c",
                      "SIZES"]),
)


def as_nobody(caps):
    """The start of a command line that runs the rest as nobody with these capabilities."""
    words = "-all" + "".join(",+" + c for c in caps)
    # Before Linux 5.11 maps count as locked memory.
    limit = [] if machine.kernel_at_least(5, 11) else ["prlimit", "--memlock=unlimited"]
    return [*limit, "setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
            "--inh-caps=" + words, "--ambient-caps=" + words, "--bounding-set=" + words]


@contextlib.contextmanager
def folder_of_nobody(context):
    """Where nobody can run memtap and has a program, SIZES; SECRET is root's alone."""
    require("root", "cmd:setpriv")
    with tempfile.TemporaryDirectory(prefix="memtap-rights.") as path:
        os.chmod(path, 0o755)
        shutil.copy(context.memtap, path + "/memtap")
        shutil.copy(context.progs + "/sizes", path + "/sizes")
        os.chmod(path + "/sizes", 0o755)
        os.mkdir(path + "/root", 0o700)
        shutil.copy(context.progs + "/sizes", path + "/root/secret")
        yield path


def run(context, prefix, path, args, names):
    """(status, standard output, messages)"""
    for name, text in names.items():
        args = [a.replace(name, str(text)) for a in args]
    p = subprocess.run([*prefix, path + "/memtap", *args], cwd="/", stdin=subprocess.DEVNULL,
                       capture_output=True, text=True, timeout=60 * context.factor, check=False)
    return p.returncode, p.stdout, p.stderr


def cap_name(cap):
    return "CAP_" + cap.upper()


PARANOID = "/proc/sys/kernel/perf_event_paranoid"


def paranoid():
    """Above 2, Debian's kernel asks for CAP_SYS_ADMIN where CAP_PERFMON would do."""
    with open(PARANOID) as f:
        return int(f.read()) > 2


def write(path, text):
    with open(path, "w") as f:
        f.write(text)


@contextlib.contextmanager
def trusting(context):
    """As kernels are without that setting; a machine that is not ours is left as it is."""
    if not paranoid() or not context.in_vm:
        yield
        return
    with open(PARANOID) as f:
        old = f.read()
    try:
        write(PARANOID, "2")
        yield
    finally:
        write(PARANOID, old)


def user_probes_take_admin():
    """Before Linux 6.6 they are perf events. These were open to CAP_PERFMON from 5.8 on, until in
    July 2025 all series that were looked after got "Revert to requiring CAP_SYS_ADMIN for uprobes"
    (5.10.223 is of before that). Debian's kernels say when they were made."""
    made = re.search(r"\((\d{4}-\d\d-\d\d)\)", os.uname().version)
    return not machine.kernel_at_least(6, 6) and (not made or made[1] > "2025-07")


# What attaches by perf_event_open(2), but for user probes.
EVENTS = r"interval|profile|software|kprobe|kretprobe|\btracepoint|faults"


def lacks(args):
    """What is named where CAP_BPF and CAP_PERFMON are not enough on this kernel, or None."""
    text = " ".join(args)
    if args[0] == "-l":
        return None
    if re.search("u(ret)?probe", text) and user_probes_take_admin():
        return "CAP_SYS_ADMIN is missing"
    return "perf_event_paranoid is " if paranoid() and re.search(EVENTS, text) else None


def needs(context, path, names, row):
    """What is wrong with one row of the table."""
    caps, requirements, args = row
    if any(machine.missing(r) for r in requirements):
        return []
    status, out, err = run(context, as_nobody(caps), path, args, names)
    ok = status == 0 and "ERROR" not in err
    if lacks(args):
        ok = status == 1 and lacks(args) in err
        more, _, text = run(context, as_nobody((*caps, "sys_admin")), path, args, names)
        ok = ok and more == 0 and "ERROR" not in text
    problems = [] if ok else [shown(f"{args} with {caps}: status {status}", out, err)]
    for cap in caps:
        fewer = [c for c in caps if c != cap]
        status, out, err = run(context, as_nobody(fewer), path, args, names)
        named = re.search(r"(ERROR|HINT): .*\b" + cap_name(cap) + r"\b.* (is|are) missing", err)
        wrong = [c for c in fewer if re.search(cap_name(c) + r"\b.* missing", err)]
        if status != 1 or not named or wrong or "as root" in err:
            problems.append(shown(f"{args} without {cap}: status {status}", out, err))
    return problems


def test_what_each_capability_is_for(context):
    with folder_of_nobody(context) as path, process(path + "/sizes", "loop") as roots:
        names = {"SIZES": path + "/sizes", "SECRET": path + "/root/secret", "ROOTS": roots.pid}
        problems = [p for row in NEEDS[:3] for p in needs(context, path, names, row)]
        with trusting(context):
            problems += [p for row in NEEDS for p in needs(context, path, names, row)]
    return "\n".join(problems) or None


def test_what_takes_the_administrator(context):
    problems = []
    with folder_of_nobody(context) as path:
        names = {"SIZES": path + "/sizes"}
        for requirements, args in ADMIN:
            if any(r == "kernel-6.1" and not os.uname().release.startswith("6.1.") or
                   r != "kernel-6.1" and machine.missing(r) for r in requirements):
                continue
            status, out, err = run(context, as_nobody(("sys_admin",)), path, args, names)
            if status or "ERROR" in err:
                problems.append(shown(f"{args}: status {status}", out, err))
            _, out, err = run(context, as_nobody(TRACING), path, args, names)
            if "CAP_SYS_ADMIN" not in err or "missing" not in err:
                problems.append(shown(f"{args} without it", out, err))
    return "\n".join(problems) or None


def test_no_capability_at_all(context):
    with folder_of_nobody(context) as path:
        status, out, err = run(context, as_nobody(()), path, ["-e", TICK], {})
        wanted = "CAP_BPF and CAP_PERFMON are missing"
        if status != 1 or wanted not in err or "PRIVILEGES" not in err:
            return shown(f"status {status}", out, err)
        status, out, err = run(context, as_nobody(()), path, ["--info", "-f", "json"], {})
        data = json.loads(out)["data"]
        ok = status == 0 and data["maps"]["ringbuf"] is None and \
            data["features"]["fentry"] is None and "CAP_BPF" in data["system"]["rights"]
        return None if ok else shown("--info knows what it can not know", out, err)


def test_locked_memory(context):
    """Before Linux 5.11 maps are that, and there is a limit."""
    with folder_of_nobody(context) as path:
        def little(*caps):
            words = as_nobody(caps)
            return ["prlimit", "--memlock=65536", *words[words.index("setpriv"):]]
        status, out, err = run(context, little(*TRACING), path, ["-e", TICK_ALONE], {})
        counts = not machine.kernel_at_least(5, 11)
        if not counts and status == 0:
            return None
        if not counts or status != 1 or "CAP_SYS_RESOURCE is missing" not in err or \
                "ulimit -l" not in err or "CAP_SYS_ADMIN" in err:
            return shown(f"status {status}", out, err)
        status, out, err = run(context, little(*TRACING, "sys_resource"), path,
                               ["-e", TICK_ALONE], {})
        return None if status == 0 else shown(f"with CAP_SYS_RESOURCE: status {status}", out, err)


def test_root_with_fewer_capabilities(context):
    require("root", "cmd:setpriv")
    fewer = "-bpf,-sys_admin"
    p = subprocess.run(["setpriv", "--bounding-set=" + fewer, "--inh-caps=" + fewer,
                        context.memtap, "-e", TICK], capture_output=True, text=True, check=False)
    if p.returncode != 1 or "CAP_BPF is missing" not in p.stderr or \
            "this root was started without" not in p.stderr:
        return shown(f"status {p.returncode}", p.stdout, p.stderr)
    return None


def test_root_of_a_user_namespace(context):
    require("root", "cmd:unshare")
    p = subprocess.run(["unshare", "-r", context.memtap, "-e", TICK], capture_output=True,
                       text=True, check=False)
    if "unshare" in p.stderr:
        return None  # not allowed here
    ok = p.returncode == 1 and "user namespace" in p.stderr
    return None if ok else shown(f"status {p.returncode}", p.stdout, p.stderr)


def test_names_in_processes_of_others(context):
    """Either they are named, or it is said that they are not: newer kernels show what is mapped to
    whoever may trace."""
    problems = []
    # Older kernels walk by frame pointers, which the program has not got.
    inner = "main" if machine.kernel_at_least(5, 17) else "six"
    may_probe = TRACING if machine.kernel_at_least(6, 6) else ("sys_admin",)
    with folder_of_nobody(context) as path, process(path + "/sizes", "loop") as roots:
        for caps in (may_probe, may_probe + ("sys_ptrace",)):
            may = subprocess.run([*as_nobody(caps), "head", "-c", "1", f"/proc/{roots.pid}/maps"],
                                 cwd="/", capture_output=True, check=False).returncode == 0
            script = f"uprobe:{path}/sizes:six /pid == {roots.pid}/ " \
                     "{ printf(\"%s\\n\", ustack(3)); }"
            memtap = Run([*as_nobody(caps), path + "/memtap", "-e", script], cwd="/")
            # A stack is whole once the process's tables have been read.
            memtap.wait_for(inner + r"\+" if may else r"0x|\+|unknown", 60 * context.factor, "out")
            memtap.process.send_signal(signal.SIGINT)
            out, err, status = memtap.finish(20 * context.factor)
            named, told = inner + "+" in out, "CAP_SYS_PTRACE is missing" in err
            if status or told == may or (may and not named) or ("sys_ptrace" in caps and not may):
                problems.append(shown(f"{caps}: may look {may}, named {named}", out, err))
    return "\n".join(problems) or None


def test_mctop_does_not_say_that_no_server_runs(context):
    """It may not look into root's processes, but sees what they are called."""
    with folder_of_nobody(context) as path, Server(context, "memcached") as server:
        problems = []
        for caps in ((), TRACING):
            status, out, err = run(context, as_nobody(caps), path, ["mctop"], {})
            ok = status == 1 and re.search(r"ERROR: memcached \d+ (and others run|runs): this "
                                           r"user may not see whether", err) and \
                "CAP_SYS_PTRACE" in err and "HINT: name it: -p " in err
            if not ok:
                problems.append(shown(f"{caps}: status {status}", out, err))
        memtap = Run([*as_nobody(TRACING), path + "/memtap", "mctop", "-p", str(server.pid), "1"],
                     cwd="/")
        if not memtap.attached(20 * context.factor):
            memtap.kill()
            return shown("it never attached", "".join(memtap.out), "".join(memtap.err))
        with server.connect() as s, s.makefile("rb") as f:
            s.sendall(b"get nothing\r\n")
            f.readline()
        memtap.wait_for("(?m)^nothing +1 ", 10 * context.factor, "out")
        memtap.process.send_signal(signal.SIGINT)
        out, err, status = memtap.finish(20 * context.factor)
        if status or not re.search("(?m)^nothing +1 ", out):
            problems.append(shown(f"-p: status {status}", out, err))
        return "\n".join(problems) or None


def test_no_server_among_those_that_can_be_seen(context):
    """Under a name that is no server's; in a process namespace without others."""
    require("cmd:unshare")
    with folder_of_nobody(context) as path:
        inner = "mount -t proc proc /proc; sleep 1000 & " + \
            " ".join(as_nobody(())) + f" {path}/memtap mctop"
        for command, wanted in ((inner, "may not look into 2 processes"),
                                (f"mount -t proc proc /proc; {path}/memtap mctop",
                                 "no memcached, Redis or Valkey server listens here")):
            p = subprocess.run(["unshare", "-m", "-p", "-f", "--kill-child", "sh", "-c", command],
                               cwd="/", stdin=subprocess.DEVNULL, capture_output=True, text=True,
                               check=False)
            if p.returncode != 1 or wanted not in p.stderr:
                return shown(f"status {p.returncode}, not {wanted!r}", p.stdout, p.stderr)
    return None


# ---- what is given up ---------------------------------------------------------------------------

# After set-up: BPF, PERFMON, DAC_READ_SEARCH, SYS_PTRACE, SYSLOG, CHECKPOINT_RESTORE; KILL;
# SYS_ADMIN.
READING, KILL, ADMINISTRATOR = 0x1c400080004, 1 << 5, 1 << 21


def rights_of(pid):
    """Of its threads, as (effective, bounding, no_new_privs)."""
    found = set()
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/status") as f:
            text = f.read()
        caps = [int(re.search(rf"^{word}:\s+(\w+)", text, re.M)[1], 16)
                for word in ("CapEff", "CapBnd")]
        found.add((*caps, int(re.search(r"^NoNewPrivs:\s+(\d)", text, re.M)[1])))
    return found


def given_up(args, main, context):
    """The rights of all threads while it runs, those of its child, and what it printed. A thread
    gives its own up first of all, but has yet to run for that."""
    memtap = Run([context.memtap, *args])

    def threads():
        return rights_of(memtap.process.pid)

    ok = memtap.attached(30 * context.factor) and \
        until(lambda: main & threads() and threads() <= main | {(KILL, KILL, 1)},
              10 * context.factor)
    found = threads()
    children = [rights_of(pid) for pid in children_of(memtap.process.pid)]
    memtap.process.send_signal(signal.SIGINT)
    out, err, _ = memtap.finish(20 * context.factor)
    return ok, children, shown(f"{args}: {[[hex(n) for n in t] for t in found]}", out, err)


def test_rights_are_given_up_after_set_up(context):
    require("root")
    everything = rights_of(os.getpid())
    sizes, problems = context.progs + "/sizes", []
    probe = f"uprobe:{sizes}:six {{ @[ustack] = count(); }}"
    # Before Linux 6.6 a user probe in a file that comes later takes the administrator.
    later = READING | KILL | (0 if machine.kernel_at_least(6, 6) else ADMINISTRATOR)
    tables = (
        (["-e", probe], {(READING, READING, 1)}),
        (["-e", probe, "-c", sizes + " loop"], {(READING | KILL, READING | KILL, 1),
                                                (READING, READING, 1)}),
        (["-e", "uprobe:*:six { @ = count(); } tracepoint:sched:sched_process_fork "
          "/pid == cpid/ { follow(args.child_pid) }", "-c", sizes + " loop"],
         {(later, later, 1)}),
        # Its commands have the rights of who ran it.
        (["--unsafe", "-e", 'interval:s:1000 { system("true"); }'], everything),
    )
    for args, main in tables:
        ok, children, text = given_up(args, main, context)
        if not ok or any(c != everything for c in children):
            problems.append(text)
    return "\n".join(problems) or None


def test_rights_that_stand_for_others(context):
    """CAP_SYS_ADMIN alone is what maps are read with, too: it stays."""
    with folder_of_nobody(context) as path:
        memtap = Run([*as_nobody(("sys_admin",)), path + "/memtap", "-e",
                      "rawtracepoint:sys_enter { @ = count(); }"], cwd="/")
        kept = (ADMINISTRATOR, ADMINISTRATOR, 1)
        ok = memtap.attached(30 * context.factor) and \
            until(lambda: {t[0] for t in rights_of(memtap.process.pid)} >= {kept[0]} and
                  {t[2] for t in rights_of(memtap.process.pid)} == {1}, 10 * context.factor)
        memtap.process.send_signal(signal.SIGINT)
        out, err, status = memtap.finish(20 * context.factor)
        good = ok and status == 0 and re.search(r"^@: [1-9]", out, re.M)
        return None if good else shown(f"status {status}", out, err)


# ---- parts of the kernel that are not there ----------------------------------------------------

def hidden(*places):
    """The start of a command line that runs the rest where these directories are empty."""
    steps = "".join(f"mount -t tmpfs none {p} && " for p in places)
    return ["unshare", "-m", "sh", "-c", steps + "exec \"$0\" \"$@\""]


NO_BTF = "this kernel has no type information (BTF): /sys/kernel/btf/vmlinux is missing"
# Arguments, and what is said.
WITHOUT_BTF = (
    (["-e", "BEGIN { print(curtask->pid); }"], NO_BTF),
    (["-e", "BEGIN { print(curtask.mm.pgd); }"], NO_BTF),
    (["-e", "BEGIN { print(((struct task_struct *)curtask)->pid); }"], NO_BTF),
    (["-e", "BEGIN { print(sizeof(struct task_struct)); }"], NO_BTF),
    (["-e", "BEGIN { print(ppid); }"], NO_BTF),
    (["-e", "BEGIN { print(fd_file(1)); }"], NO_BTF),
    (["-e", "btftracepoint:sched_switch { exit(); }"], NO_BTF),
    (["-e", "iter:task { exit(); }"], NO_BTF),
    (["-e", "fentry:vfs_read { exit(); }"], "need the kernel's type information (BTF)"),
    (["-e", "rawtracepoint:sched_switch { print(args.prev); }"], "no type information (BTF)"),
    (["-e", "BEGIN { print(COMPACT_SUCCESS); }"], "no type information (BTF)"),
    (["-l", "struct task_struct"], NO_BTF),
    (["faults"], NO_BTF),
    (["btf", "stat"], "no type information (BTF)"),
    (["btf", "show", "task_struct"], "no type information (BTF)"),
)


def test_without_type_information(context):
    require("root", "cmd:unshare", "btf")
    problems = []
    for args, wanted in WITHOUT_BTF:
        p = subprocess.run([*hidden("/sys/kernel/btf"), context.memtap, *args],
                           stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                           timeout=60 * context.factor)
        if p.returncode != 1 or wanted not in p.stderr or "has no fields" in p.stderr:
            problems.append(shown(f"{args}: status {p.returncode}", p.stdout, p.stderr))
    # What needs none.
    for script in ("BEGIN { print(pid); print(curtask != 0); print(nsecs); exit(); }",
                   f"software:page-faults:1 {{ @[comm, kstack] = count(); }} {TICK}",
                   f"uprobe:{context.progs}/sizes:six {{ @[ustack] = count(); }} {TICK}"):
        p = subprocess.run([*hidden("/sys/kernel/btf"), context.memtap, "-e", script],
                           capture_output=True, text=True, check=False,
                           timeout=60 * context.factor)
        if p.returncode:
            problems.append(shown(f"{script}: status {p.returncode}", p.stdout, p.stderr))
    return "\n".join(problems) or None


def test_without_tracefs(context):
    """Root makes a mount of its own; others are told what is missing."""
    places = ("/sys/kernel/tracing", "/sys/kernel/debug")
    script = "tracepoint:sched:sched_switch { @ = count(); } " + TICK
    require("root", "cmd:unshare", "tracefs")
    p = subprocess.run([*hidden(*places), context.memtap, "-e", script], capture_output=True,
                       text=True, check=False, timeout=60 * context.factor)
    if p.returncode:
        return shown(f"root: status {p.returncode}", p.stdout, p.stderr)
    with folder_of_nobody(context) as path:
        prefix = hidden(*places) + as_nobody(TRACING)
        status, out, err = run(context, prefix, path, ["-e", script], {})
        ok = status == 1 and "tracefs is not mounted" in err and \
            "CAP_SYS_ADMIN is missing" in err and "mount -t tracefs" in err
        if not ok:
            return shown(f"nobody: status {status}", out, err)
        script = "rawtracepoint:sched_switch { @ = count(); exit(); }"
        status, out, err = run(context, prefix, path, ["-e", script], {})
        return None if status == 0 else shown(f"without tracepoints: status {status}", out, err)
