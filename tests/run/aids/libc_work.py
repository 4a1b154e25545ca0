#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Work for a C library: calls many of its functions, from one thread, from several, and in other
programs. Run with LD_LIBRARY_PATH; ends when all it started has ended."""
import ctypes
import os
import select
import socket
import subprocess
import sys
import tempfile
import threading

LIBC = ctypes.CDLL(None)
ROOM = ctypes.create_string_buffer(4096)
OUT = ctypes.create_string_buffer(4096)
PATH = ctypes.create_string_buffer(4096)


def call(name, *args):
    f = getattr(LIBC, name, None)
    if f:
        f.restype = ctypes.c_long
        f(*args)


# name and arguments; the buffers are only ever big enough
CALLS = [
    ("pthread_attr_init", ROOM), ("pthread_attr_setscope", ROOM, 0),
    ("pthread_attr_setstacksize", ROOM, 65536), ("pthread_attr_setinheritsched", ROOM, 0),
    ("pthread_attr_setschedpolicy", ROOM, 0), ("pthread_attr_setdetachstate", ROOM, 1),
    ("pthread_attr_destroy", ROOM), ("sem_init", ROOM, 0, 1), ("sem_destroy", ROOM),
    ("strverscmp", b"a10", b"a9"), ("sigemptyset", ROOM), ("sigisemptyset", ROOM),
    ("sigfillset", ROOM), ("inet6_opt_init", ROOM, 16), ("inet6_rth_space", 0, 1),
    ("cfsetospeed", ROOM, 13), ("cfsetispeed", ROOM, 13), ("dysize", 2000),
    ("inet_makeaddr", 10, 1), ("inet_lnaof", 1), ("inet_netof", 1), ("hstrerror", 1),
    ("sigabbrev_np", 9), ("sigdescr_np", 9), ("posix_spawnattr_init", ROOM),
    ("posix_spawnattr_setflags", ROOM, 0), ("posix_spawnattr_setschedpolicy", ROOM, 0),
    ("pthread_mutexattr_init", ROOM), ("pthread_mutexattr_setpshared", ROOM, 0),
    ("pthread_mutexattr_settype", ROOM, 0), ("pthread_mutexattr_setprotocol", ROOM, 0),
    ("pthread_condattr_setclock", ROOM, 1), ("pthread_condattr_setpshared", ROOM, 0),
    ("pthread_rwlockattr_setpshared", ROOM, 0), ("pthread_rwlockattr_setkind_np", ROOM, 0),
    ("pthread_barrierattr_setpshared", ROOM, 0), ("pthread_barrier_init", ROOM, None, 1),
    ("pthread_setcancelstate", 0, None), ("pthread_setcanceltype", 0, None),
    ("pthread_setconcurrency", 0), ("ctermid", OUT), ("memfrob", OUT, 8), ("getrandom", OUT, 8, 0),
    ("getentropy", OUT, 8), ("arc4random_buf", OUT, 8), ("timespec_get", ROOM, 1),
    ("timespec_getres", ROOM, 1), ("mbsinit", None), ("wcswidth", "abc", 3),
    ("realpath", b"/usr/../usr", PATH), ("malloc_usable_size", None), ("argz_delete", ROOM, OUT, 0),
    ("envz_entry", b"a=b\0", 4, b"a"), ("getauxval", 6), ("__getauxval", 6),
    ("posix_memalign", ROOM, 64, 100), ("hcreate_r", 10, ROOM), ("hdestroy_r", ROOM),
    ("fflush", None), ("epoll_create1", 0), ("printf_size_info", None, 0, None),
    ("__libc_allocate_rtsig", 1), ("_rpc_dtablesize",), ("endpwent",), ("endgrent",),
    ("endservent",), ("endprotoent",), ("endhostent",), ("endnetent",), ("endspent",),
    ("endsgent",), ("endrpcent",), ("endaliasent",), ("getusershell",),
]


def allocate(rounds):
    for name in ("malloc", "free", "calloc", "realloc", "memalign", "valloc", "pvalloc"):
        getattr(LIBC, name).restype = ctypes.c_void_p
    for i in range(rounds):
        p = LIBC.malloc(ctypes.c_size_t(i))
        p = LIBC.realloc(ctypes.c_void_p(p), ctypes.c_size_t(2 * i + 1))
        LIBC.free(ctypes.c_void_p(p))
        LIBC.free(ctypes.c_void_p(LIBC.calloc(ctypes.c_size_t(3), ctypes.c_size_t(i))))
        LIBC.free(None)
    for p in (LIBC.memalign(64, 100), LIBC.valloc(100), LIBC.pvalloc(100)):
        LIBC.free(ctypes.c_void_p(p))


def files():
    with tempfile.TemporaryFile() as f:
        fd = f.fileno()
        os.writev(fd, [b"ab", b"cd"])
        os.pwritev(fd, [b"x"], 2)
        os.pwrite(fd, b"y", 3)
        os.preadv(fd, [bytearray(2)], 0)
        os.lseek(fd, 0, 0)
        os.readv(fd, [bytearray(2)])
        os.posix_fallocate(fd, 0, 100)
        os.fsync(fd)
        os.fdatasync(fd)
    os.listdir("/")


def sockets():
    a, b = socket.socketpair()
    a.send(b"x")
    b.recv(1)
    a.sendmsg([b"y"])
    b.recvmsg(1)
    p = select.poll()
    p.register(a, select.POLLOUT)
    p.poll(0)
    e = select.epoll()
    e.register(a, select.EPOLLOUT)
    e.poll(0)
    e.close()
    a.close()
    b.close()
    with socket.create_server(("127.0.0.1", 0)) as s:
        c = socket.create_connection(s.getsockname())
        d, _ = s.accept()
        d.sendto(b"z", c.getsockname())
        c.recvfrom(1)
        c.close()
        d.close()


PROGRAMS = """
ls -l / | sort | sed s/a/b/ | grep -c . ; find /etc -maxdepth 1 -name 'h*' | head -3
echo one two three | awk '{ print $2, NF }' ; date +%s ; id ; printf '%s\\n' a b | tac | wc
perl -e 'my %h; $h{$_}++ for 1..500; print join(",", sort keys %h), "\\n"'
tar cf - /etc/hostname 2>/dev/null | tar tf - ; od -c /etc/hostname ; cat /proc/self/maps
"""


def main():
    for name, *args in CALLS:
        call(name, *args)
    allocate(int(sys.argv[1]))
    threads = [threading.Thread(target=allocate, args=(100,)) for _ in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    files()
    sockets()
    subprocess.run(["bash", "-c", PROGRAMS], stdout=subprocess.DEVNULL, check=False)


if __name__ == "__main__":
    main()
