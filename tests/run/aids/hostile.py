# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Files made to crash, stall or fill whoever reads them. Each is small on disk."""
import os
import struct
import subprocess

GIB = 1 << 30
SYMTAB, STRTAB = 2, 3
SYMBOL = struct.pack("<IBBHQQ", 1, 0x12, 0, 1, 0x1000, 16)  # a function "f" at 0x1000
NAMES = b"\0f\0"


def header(kind, offset, size, link=0):
    return struct.pack("<IIQQQQIIQQ", 0, kind, 0, 0, offset, size, link, 0, 8, 24)


def elf(sections, content=b"", at=4096):
    """The section headers given, and content at a place."""
    load = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, 1 << 20, 1 << 20, 4096)
    head = b"\x7fELF\2\1\1" + bytes(9) + struct.pack(
        "<HHIQQQIHHHHHH", 3, 62, 1, 0x1000, 64, 120, 0, 64, 56, 1, 64, len(sections), 0)
    text = head + load + b"".join(sections)
    return text + bytes(max(0, at - len(text))) + content


def one_table(symbols, tables=1):
    """A table of symbols, and section headers that all say it is theirs."""
    at = 1 << 18
    sections = [header(0, 0, 0), header(STRTAB, at, len(NAMES))]
    sections += [header(SYMTAB, at + 8, symbols * len(SYMBOL), 1)] * tables
    return elf(sections, NAMES + bytes(5) + SYMBOL * symbols, at)


def claims(path, size):
    """16 KB on disk; a symbol table off its alignment is said to be all the rest of `size`."""
    sections = [header(0, 0, 0), header(STRTAB, 4096, len(NAMES)),
                header(SYMTAB, 4099, size - 8192, 1)]
    with open(path, "wb") as f:
        f.write(elf(sections, NAMES + SYMBOL))
        f.truncate(size)


def endless_names(functions, length):
    """Go's table of functions; all of them have one name, which does not end."""
    head = struct.pack("<IBBBBQQQQQQQQ", 0xfffffff1, 0, 0, 1, 8, functions, 0, 0x401000, 0, 0, 0, 0,
                       0)
    table = b"".join(struct.pack("<II", i, 8 * functions + 16) for i in range(functions + 1))
    record = struct.pack("<II", 0, 0)
    body = table + bytes(8 * functions + 16 - len(table)) + record
    at = len(head) + len(body)
    head = struct.pack("<IBBBBQQQQQQQQ", 0xfffffff1, 0, 0, 1, 8, functions, 0, 0x401000, at, 0, 0,
                       0, len(head))
    return head + body + b"a" * length


NESTED = """
    .file 1 "nested.c"
    .globl work, main
    .text
start:
work:
    .loc 1 1
    nop
    ret
main:
    .loc 1 2
    push %rbx
    mov $3, %ebx
1:  call work
    dec %ebx
    jnz 1b
    pop %rbx
    xor %eax, %eax
    ret
end:
    .type work, @function
    .size work, main - work
    .type main, @function
    .section .debug_abbrev
    .byte 1, 0x11, 1, 0x10, 0x17, 0x11, 1, 0x12, 7, 0, 0
    .byte 2, 0x2e, 1, 0x03, 8, 0x11, 1, 0x12, 7, 0, 0
    .byte 3, 0x1d, 1, 0x03, 8, 0x11, 1, 0x12, 7, 0, 0
    .byte 0
    .section .debug_info
    .long 2f - 1f
1:  .value 4
    .long .debug_abbrev
    .byte 8, 1
    .long .debug_line
    .quad start, end - start
    .byte 2
    .string "work"
    .quad work, main - work
    .rept DEPTH
    .byte 3
    .string "inner"
    .quad work, main - work
    .endr
    .zero DEPTH + 3
2:
    .section .debug_line
    .section .note.GNU-stack, "", @progbits
"""


def nested(path, depth):
    """A program whose debug information nests inlined functions that deep."""
    source = path + ".s"
    with open(source, "w") as f:
        f.write(NESTED.replace("DEPTH", str(depth)))
    subprocess.run(["gcc", "-no-pie", "-o", path, source], check=True)
    os.unlink(source)


def with_section(path, program, name, content):
    """A copy of a program without symbols and with one more section."""
    with open(path + ".section", "wb") as f:
        f.write(content)
    subprocess.run(["objcopy", "--strip-all", "--add-section", f"{name}={path}.section", program,
                    path], check=True)
    os.unlink(path + ".section")
