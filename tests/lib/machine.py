# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""What this machine can do: each test that needs more than root names it under REQUIRES."""
import contextlib
import ctypes
import functools
import glob
import mmap
import os
import re
import shutil
import struct
import subprocess
import tempfile

from lib.report import Skip

TRACEFS = "/sys/kernel/tracing"


# What programs do otherwise for one who works here: none of it comes along.
OTHERS = re.compile(r"(BPFTRACE|MEMTAP|DEBUGINFOD|MALLOC|GLIBC|LD|LC|G|PYTHON)_|LANG|NO_COLOR$|TZ$|"
                    r"TMUX|CLICOLOR|XDG_CONFIG|LESS|PAGER$|COLUMNS$|LINES$")
OURS = re.compile(r"MEMTAP_(CACHE|SEED|SCRIPTS|EXPRESSIONS|SCREENS|GOLDEN)$")


@contextlib.contextmanager
def clean():
    """An environment that says nothing of who works here, and a folder for temporary files that is
    empty at first and gone afterwards. Anybody may look into it."""
    for name in list(os.environ):
        if OTHERS.match(name) and not OURS.match(name):
            del os.environ[name]
    os.environ["LC_ALL"] = "C.UTF-8"
    os.environ["MEMTAP_CACHE"] = cache()  # programs in C do not look further
    os.umask(0o022)
    with tempfile.TemporaryDirectory(prefix="memtap-check.", ignore_cleanup_errors=True) as top:
        os.chmod(top, 0o755)
        before = tempfile.tempdir
        os.environ["TMPDIR"] = tempfile.tempdir = top
        try:
            yield top
        finally:
            tempfile.tempdir = before


def prepare():
    """Mounts tracefs where nobody has yet (a distribution's init does that normally)."""
    if os.geteuid() == 0 and not os.path.exists(TRACEFS + "/events"):
        subprocess.run(["mount", "-t", "tracefs", "tracefs", TRACEFS],
                       stderr=subprocess.DEVNULL, check=False)


def kernel_at_least(major, minor):
    m = re.match(r"(\d+)\.(\d+)", os.uname().release)
    return (int(m[1]), int(m[2])) >= (major, minor)


def has_hfaults():
    """arm64 has no tracepoint of page faults; its functions can be traced from Linux 6.4 on."""
    return os.uname().machine == "x86_64" or kernel_at_least(6, 4)


def has_kprobe():
    return os.path.exists("/sys/bus/event_source/devices/kprobe")


def perf_event(kind, config, *more):
    """A perf event of this thread, -1 when there is none: fields of struct perf_event_attr of
    linux/perf_event.h as (offset, format, values...)."""
    attr = bytearray(128)
    struct.pack_into("<IIQ", attr, 0, kind, len(attr), config)
    struct.pack_into("<Q", attr, 40, 1 << 5)  # exclude_kernel
    for at, form, *values in more:
        struct.pack_into(form, attr, at, *values)
    number = {"x86_64": 298, "aarch64": 241}[os.uname().machine]
    libc = ctypes.CDLL(None, use_errno=True)
    return libc.syscall(number, (ctypes.c_char * len(attr)).from_buffer(attr), 0, -1, -1, 0)


@functools.lru_cache(None)
def has_hardware():
    event = perf_event(0, 3)  # PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES
    if event >= 0:
        os.close(event)
    return event >= 0


@functools.lru_cache(None)
def has_watchpoint():
    """Whether the processor traps when watched memory is written: some virtual machines never do.
    True where none can be opened, which is then a finding."""
    watched = ctypes.c_uint64.from_buffer(mmap.mmap(-1, 4096))
    event = perf_event(5, 0, (16, "<Q", 1),  # PERF_TYPE_BREAKPOINT, sample_period
                       (52, "<IQQ", 2, ctypes.addressof(watched), 8))  # HW_BREAKPOINT_W
    if event < 0:
        return True
    watched.value += 1
    times = os.read(event, 8)
    os.close(event)
    return any(times)


@functools.lru_cache(None)
def has_data_symbols():
    with open("/proc/kallsyms") as f:
        return any(line.split()[2] == "__per_cpu_offset" for line in f)


def has_fentry():
    if os.uname().machine == "aarch64" and not kernel_at_least(6, 4):
        return False # programs are loaded, but functions have no trampolines
    # Where a kernel's policy refuses fentry programs it also hides what could be traced.
    try:
        with open(TRACEFS + "/available_filter_functions") as f:
            return bool(f.read(1))
    except OSError:
        return False


def cache():
    """Where set-up keeps what it has fetched and built for the tests."""
    return os.environ.get("MEMTAP_CACHE") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "memtap")


def memcached_usdt():
    path = cache() + "/memcached-usdt/memcached"
    return path if os.path.exists(path) else None


def memcached_tls():
    path = cache() + "/memcached-usdt/tls/memcached"
    return path if os.path.exists(path) else None


def installed(what, found):
    """None. What set-up installs is no reason to skip: where it is missing, set-up is wrong. Of
    another machine's packages only some are there (scripts/foreign-root)."""
    if not found and os.path.exists("/etc/memtap-packages"):
        raise Skip(f"{what} is not among the packages of the emulated machine")
    if not found:
        raise RuntimeError(f"{what} is not installed: scripts/setup test should have done that")


def library(pattern):
    """The path of a shared library that set-up installs."""
    found = sorted(glob.glob(f"/usr/lib/{os.uname().machine}-linux-gnu/{pattern}"))
    installed(pattern, found)
    return found[0]


@functools.lru_cache(None)
def reads_packages():
    """elfutils 0.191 and later find the split debug information of a program in PROGRAM.dwp."""
    libdw = ctypes.CDLL("libdw.so.1")
    libdw.dwfl_version.restype = ctypes.c_char_p
    libdw.dwfl_version.argtypes = [ctypes.c_void_p]
    return tuple(map(int, libdw.dwfl_version(None).decode().split(".")))[:2] >= (0, 191)


# The machine's own names and numbers, which cases write as {{REG_1}}.
def has_avx():
    with open("/proc/cpuinfo") as f:
        return re.search(r"^flags\b.* avx\b", f.read(), re.M) is not None


OWN = {
    "x86_64": {
        "REG_1": "di", "REG_6": "r9",   # of the first and the sixth argument
        "GO_7": "arg5",                 # what is C's in the register of Go's seventh number
        "SYSCALL": "do_syscall_64",     # it calls system calls
        "SYS": "__x64_sys_",            # a system call's function starts with it
        "CLOSED": "exc_page_fault",     # a function that the kernel closes to probes
        "NR_READ": "0", "NR_WRITE": "1", "NR_EXECVE": "59", "NR_EXIT_GROUP": "231",
        "INSN_MANY": "2", "INSN_TICK": "1",     # second instructions, from a function's start on
        "INSN_K1": "5", "INSN_K2": "9",         # instructions of do_exit()
        "WATCHED": "4",                 # seen by a watchpoint when 4 is written over 3
        "JIT": "11",                    # progs/jit.c's code after its system call
    },
    "aarch64": {
        "REG_1": "x0", "REG_6": "x5", "GO_7": "arg6", "SYSCALL": "do_el0_svc",
        "SYS": "__arm64_sys_", "CLOSED": "el0t_64_sync_handler",
        "NR_READ": "63", "NR_WRITE": "64", "NR_EXECVE": "221", "NR_EXIT_GROUP": "94",
        "INSN_MANY": "4", "INSN_TICK": "4", "INSN_K1": "12", "INSN_K2": "16",
        "WATCHED": "3", "JIT": "16",
    },
}[os.uname().machine]

RULES = {
    "hfaults": (has_hfaults, "hfaults needs Linux 6.4 on this machine"),
    "root": (lambda: os.geteuid() == 0, "needs root"),
    "kprobe": (has_kprobe, "this kernel has no kprobes"),
    "no-kprobe": (lambda: not has_kprobe(), "this kernel has kprobes"),
    "fentry": (has_fentry, "this kernel has no fentry, or refuses it"),
    "no-fentry": (lambda: not has_fentry(), "this kernel has fentry"),
    "no-override": (lambda: not os.path.exists("/sys/kernel/debug/error_injection/list"),
                    "this kernel lets functions be overridden"),
    "hardware": (has_hardware, "this machine has no hardware counters"),
    "watchpoint": (has_watchpoint, "watchpoints never fire on this machine"),
    "no-watchpoint": (lambda: not has_watchpoint(), "watchpoints fire on this machine"),
    "btf": (lambda: os.path.exists("/sys/kernel/btf/vmlinux"), "this kernel has no BTF"),
    "kallsyms_data": (has_data_symbols, "this kernel lists no data symbols (KALLSYMS_ALL)"),
    "overlay-btf": (lambda: os.path.exists("/sys/kernel/btf/overlay"),
                    "no module 'overlay' with BTF is loaded"),
    "avx": (has_avx, "this processor has no AVX"),
    "uprobe_multi": (lambda: kernel_at_least(6, 6), "uprobe_multi needs Linux 6.6"),
    "tracefs": (lambda: os.path.exists(TRACEFS + "/events"), "tracefs is not mounted"),
    "dwp": (reads_packages, "libdw reads no .dwp before 0.191"),
    "no-dwp": (lambda: not reads_packages(), "this libdw reads .dwp"),
    "memcached-usdt": (memcached_usdt, "no memcached with USDT probes could be built"),
    "memcached-tls": (memcached_tls, "no memcached with OpenSSL inside could be built"),
}


@functools.lru_cache(maxsize=None)
def missing(requirement):
    """None when the machine has it, else the reason to skip."""
    if requirement in RULES:
        test, reason = RULES[requirement]
        return None if test() else reason
    kind, _, what = requirement.partition(":")
    if kind == "tracepoint":
        event = what.replace(":", "/", 1)
        found = glob.glob(f"{TRACEFS}/events/{event}")
        return None if found else f"this kernel has no tracepoint {what}"
    if kind == "cmd":
        return installed(what, shutil.which(what))
    if kind == "module":
        loaded = os.path.exists("/sys/kernel/btf/" + what)
        return None if loaded else f"no module {what} with types is loaded"
    if kind == "file":
        return None if os.path.exists(what) else f"no {what}"
    if kind == "machine":
        return None if os.uname().machine == what else f"its code or registers are {what}'s"
    if kind == "kernel":
        major, minor = what.split(".")
        return None if kernel_at_least(int(major), int(minor)) else f"needs Linux {what}"
    raise ValueError(f"unknown requirement {requirement}")
