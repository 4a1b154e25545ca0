# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""A program that uses memory in every way that docs/ looks at, for ever: it maps, touches, grows
its heap, reads a file that is not in the page cache, writes one, starts processes."""
import ctypes
import mmap
import os
import subprocess
import time

FILE = os.path.abspath("data.bin")
MIB = 1 << 20
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]


def anonymous(size):
    with mmap.mmap(-1, size) as m:
        for i in range(0, size, 4096):
            m[i] = 1


def heap():
    blocks = [libc.malloc(n) for n in (24, 100, 1000, 10000, 100000) for _ in range(8)]
    for block in blocks:
        libc.free(block)
    libc.sbrk(ctypes.c_long(65536))
    libc.sbrk(ctypes.c_long(-65536))


def file():
    fd = os.open(FILE, os.O_RDWR | os.O_CREAT, 0o644)
    if os.fstat(fd).st_size < MIB:
        os.pwrite(fd, bytes(MIB), 0)
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    with mmap.mmap(fd, MIB, prot=mmap.PROT_READ) as m:
        m.madvise(mmap.MADV_RANDOM)
        sum(m[i] for i in range(MIB // 2, MIB, 4096))
    for at in range(0, MIB // 2, 65536):
        os.pread(fd, 65536, at)
    os.pwrite(fd, b"x" * 5000, 0)
    os.close(fd)


def huge():
    with mmap.mmap(-1, 4 * MIB) as m:
        m.madvise(mmap.MADV_HUGEPAGE)
        m[2 * MIB] = 1


def fail():
    try:
        mmap.mmap(-1, 1 << 46)
    except OSError:
        pass


while True:
    anonymous(256 * 1024)
    heap()
    file()
    huge()
    fail()
    subprocess.run(["true"], check=True)
    time.sleep(0.05)
