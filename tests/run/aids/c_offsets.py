# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Is `memtap btf dump --c` C that gcc lays out as the BTF says?

  c_offsets.py MEMTAP BTF DIR     DIR is for the files it makes

bpftool tells the layout. The size of every named struct, union and enum, and the offset of every
member that can be named, becomes a static assertion; each bit-field is filled with ones and looked
for in its struct's bytes. Ends with the number of each.
"""
import collections
import json
import subprocess
import sys

TAGS = {"STRUCT": "struct", "UNION": "union", "ENUM": "enum", "ENUM64": "enum"}
FILL = """
#include <stdio.h>
#include <string.h>
static int wrong;
static void look(const unsigned char *p, unsigned long n, unsigned off, unsigned bits,
                 const char *s)
{
	for (unsigned long i = 0; i < n * 8; i++)
		if ((p[i / 8] >> (i % 8) & 1) != (i >= off && i < off + bits)) {
			printf("%s is elsewhere\\n", s);
			wrong++;
			return;
		}
}
"""


def members(types, struct, start=0):
    """(name, bit offset, bits of a bit-field), anonymous members opened."""
    for m in struct["members"]:
        at = start + m["bits_offset"]
        if m["name"] != "(anon)":
            yield m["name"], at, m.get("bitfield_size", 0)
            continue
        inner = types[m["type_id"]]
        while inner["kind"] in ("CONST", "VOLATILE", "TYPEDEF"):
            inner = types[inner["type_id"]]
        if inner["kind"] in ("STRUCT", "UNION"):
            yield from members(types, inner, at)


def tagged(types):
    """(how the dump calls it, type): a later one of a name has a number behind it."""
    seen = collections.Counter()
    for t in types.values():
        if t["kind"] in TAGS and t["name"] != "(anon)":
            seen[t["name"]] += 1
            number = f"___{seen[t['name']]}" if seen[t["name"]] > 1 else ""
            yield f"{TAGS[t['kind']]} {t['name']}{number}", t


def write_tests(types, directory):
    asserts, fills = [], []
    for name, t in tagged(types):
        asserts.append(f"_Static_assert(sizeof({name}) == {t['size']}, \"size of {name}\");")
        if "members" not in t:
            continue
        for member, at, bits in dict((m[0], m) for m in members(types, t)).values():
            if bits:
                fills.append(f"\t{{ static {name} x; memset(&x, 0, sizeof(x)); x.{member} = -1;"
                             f" look((void *)&x, sizeof(x), {at}, {bits}, \"{name}.{member}\"); }}")
            else:
                asserts.append(f"_Static_assert(__builtin_offsetof({name}, {member}) == {at // 8}"
                               f", \"{name}.{member}\");")
    with open(directory + "/asserts.c", "w") as f:
        f.write('#include "vmlinux.h"\n' + "\n".join(asserts) + "\n")
    with open(directory + "/fills.c", "w") as f:
        f.write('#include "vmlinux.h"\n' + FILL)
        for i in range(0, len(fills), 200):
            f.write(f"static void f{i}(void)\n{{\n" + "\n".join(fills[i:i + 200]) + "\n}\n")
        calls = "".join(f"\tf{i}();\n" for i in range(0, len(fills), 200))
        f.write(f"int main(void)\n{{\n{calls}\treturn wrong != 0;\n}}\n")
    return len(asserts), len(fills)


def main():
    memtap, path, directory = sys.argv[1:]
    with open(directory + "/vmlinux.h", "w") as f:
        subprocess.run([memtap, "btf", "dump", "--c", "--btf", path], stdout=f, check=True)
    dump = subprocess.run(["bpftool", "-j", "btf", "dump", "file", path], check=True,
                          capture_output=True, text=True)
    types = {t["id"]: t for t in json.loads(dump.stdout)["types"]}
    counts = write_tests(types, directory)
    gcc = ["gcc", "-std=gnu11", "-w", "-I", directory]
    subprocess.run(gcc + ["-fsyntax-only", directory + "/asserts.c"], check=True)
    subprocess.run(gcc + ["-o", directory + "/fills", directory + "/fills.c"], check=True)
    subprocess.run([directory + "/fills"], check=True)
    print("%d places and %d bit-fields as in the BTF" % counts)


if __name__ == "__main__":
    main()
