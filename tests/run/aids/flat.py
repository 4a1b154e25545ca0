# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Writes code without headers to a file, a function at 0x10, maps the file and calls it."""
import ctypes
import os
import sys

if not os.path.exists(sys.argv[1]):
    with open(sys.argv[1], "wb") as f:
        f.write(b"\x90" * 16 + b"\x55\x48\x89\xe5\x5d\xb8\x2a\0\0\0\xc3")  # returns 42
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
with open(sys.argv[1], "rb") as f:
    at = libc.mmap(None, 4096, 5, 2, f.fileno(), 0)  # read and run, private
ctypes.CFUNCTYPE(ctypes.c_int)(at + 16)()
