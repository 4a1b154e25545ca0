# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Files made to crash, stall or fill whoever reads them. Each is small on disk."""
import os
import struct
import subprocess

GIB = 1 << 30
SYMTAB, STRTAB = 2, 3
SYMBOL = struct.pack("<IBBHQQ", 1, 0x12, 0, 1, 0x1000, 16)  # a function "f" at 0x1000
NAMES = b"\0f\0"


def header(kind, offset, size, link=0, name=0):
    return struct.pack("<IIQQQQIIQQ", name, kind, 0, 0, offset, size, link, 0, 8, 24)


def elf(sections, content=b"", at=4096, names=0):
    """The section headers given, and content at a place."""
    load = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, 1 << 20, 1 << 20, 4096)
    head = b"\x7fELF\2\1\1" + bytes(9) + struct.pack(
        "<HHIQQQIHHHHHH", 3, 62, 1, 0x1000, 64, 120, 0, 64, 56, 1, 64, len(sections), names)
    text = head + load + b"".join(sections)
    return text + bytes(max(0, at - len(text))) + content


def needing(libraries, directories, interpreter=b"/lib64/ld-linux-x86-64.so.2\0"):
    """A program that needs one library so often, and says that it may be in any of so many
    directories, which are not there."""
    places = b":".join(b"/d%d" % i for i in range(directories))
    texts = b"\0libx.so\0" + places + b"\0"
    tags = struct.pack("<QQ", 29, 9) + struct.pack("<QQ", 1, 1) * libraries + bytes(16)
    names = b"\0.interp\0.dynamic\0.dynstr\0.shstrtab\0"
    content, sections = b"", [header(0, 0, 0)]
    for name, kind, part in ((b".interp", 1, interpreter), (b".dynamic", 6, tags),
                             (b".dynstr", STRTAB, texts), (b".shstrtab", STRTAB, names)):
        sections.append(header(kind, 4096 + len(content), len(part), 3, names.index(name)))
        content += part + bytes(-len(part) % 8)
    return elf(sections, content, names=4)


def one_table(symbols, tables=1):
    """A table of symbols, and section headers that all say it is theirs."""
    at = 1 << 18
    sections = [header(0, 0, 0), header(STRTAB, at, len(NAMES))]
    sections += [header(SYMTAB, at + 8, symbols * len(SYMBOL), 1)] * tables
    return elf(sections, NAMES + bytes(5) + SYMBOL * symbols, at)


def long_name(length):
    """A function whose name is that long, and f."""
    names = NAMES + b"a" * length + b"\0"
    table = struct.pack("<IBBHQQ", len(NAMES), 0x12, 0, 1, 0x1100, 16) + SYMBOL
    at = 4096 + len(names) + -len(names) % 8
    sections = [header(0, 0, 0), header(STRTAB, 4096, len(names)),
                header(SYMTAB, at, len(table), 1)]
    return elf(sections, names + bytes(-len(names) % 8) + table)


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
    .byte 4, 0x0b, 0, 0, 0
    .byte 0
    .section .debug_info
    .long 2f - 1f
1:  .value 4
    .long .debug_abbrev
    .byte 8, 1
    .long .debug_line
    .quad start, end - start
    .fill BLOCKS, 1, 4
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


def nested(path, depth, blocks=0):
    """A program whose debug information nests inlined functions that deep, behind so many blocks of
    no code."""
    source = path + ".s"
    with open(source, "w") as f:
        f.write(NESTED.replace("DEPTH", str(depth)).replace("BLOCKS", str(blocks)))
    subprocess.run(["gcc", "-no-pie", "-o", path, source], check=True)
    os.unlink(source)


def with_section(path, program, name, content):
    """A copy of a program without symbols and with one more section."""
    with open(path + ".section", "wb") as f:
        f.write(content)
    subprocess.run(["objcopy", "--strip-all", "--add-section", f"{name}={path}.section", program,
                    path], check=True)
    os.unlink(path + ".section")


# ---- type information ---------------------------------------------------------------------------

BTF_INT, BTF_PTR, BTF_STRUCT, BTF_UNION, BTF_FUNC_PROTO = 1, 2, 4, 5, 13


class Types:
    """BTF, type by type; add() returns the new one's id."""

    def __init__(self):
        self.types, self.names = [], b"\0"

    def name(self, text):
        if not text:
            return 0
        self.names += text.encode() + b"\0"
        return len(self.names) - len(text) - 1

    def add(self, kind, name, size, entries=(), rest=b""):
        n = len(entries) if kind != BTF_INT else 0
        body = b"".join(struct.pack("<" + "I" * len(e), *e) for e in entries)
        self.types.append(struct.pack("<III", self.name(name), kind << 24 | n, size) + body + rest)
        return len(self.types)

    def file(self):
        types = b"".join(self.types)
        return struct.pack("<HBBIIIII", 0xeb9f, 1, 0, 24, 0, len(types), len(types),
                           len(self.names)) + types + self.names


def chain(levels, last, make):
    """`levels` types, each made of the one before; a struct s has the last as its member m."""
    t = Types()
    one = t.add(BTF_INT, "int", 4, rest=struct.pack("<I", 1 << 24 | 32))
    for _ in range(levels):
        one = make(t, one)
    m = t.name("m")
    t.add(BTF_STRUCT, "s", 16, last(m, one))
    return t.file()


def fanning():
    """Types that lead to others of which each leads to others: files of less than 4 KB."""
    one_member = lambda m, one: [(m, one, 0)]  # noqa: E731
    opened = lambda m, one: [(m, 1, 0), (0, one, 64)]  # noqa: E731
    proto = lambda k: lambda t, one: t.add(BTF_FUNC_PROTO, "", 0, [(0, one)] * k)  # noqa: E731
    union = lambda k: lambda t, one: t.add(BTF_UNION, "", 4, [(0, one, 0)] * k)  # noqa: E731
    pointer = lambda t, one: t.add(BTF_PTR, "", proto(2)(t, one))  # noqa: E731

    def around(levels):
        """Through pointers, back to the struct."""
        t = Types()
        one = t.add(BTF_PTR, "", 2 + 2 * levels)
        for _ in range(levels):
            one = pointer(t, one)
        t.add(BTF_STRUCT, "s", 8, [(t.name("m"), one, 0)])
        return t.file()

    return {"prototypes of two": chain(28, one_member, proto(2)),
            "prototypes of sixteen": chain(14, one_member, proto(16)),
            "unions of four": chain(14, opened, union(4)),
            "unions of sixteen": chain(15, opened, union(16)),
            "pointers back": around(24)}
