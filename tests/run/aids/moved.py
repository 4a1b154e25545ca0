# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Probes that memtap moved off the first instruction of their function, compared with what is at
those places (objdump) and with exact probes (the same run, given by address)."""
import re
import subprocess


def output(*argv):
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


class Site:
    def __init__(self, name, path, entry, moved):
        self.name, self.path, self.entry, self.moved = name, path, entry, moved


def segments(path):
    """(offset, address, size) of what is loaded."""
    rows = [l.split() for l in output("readelf", "-lW", path).split("\n")]
    return [(int(r[1], 16), int(r[2], 16), int(r[4], 16)) for r in rows if r and r[0] == "LOAD"]


def sites(memtap, path, pattern="*"):
    """Where memtap puts probes on the functions of a file."""
    text = output(memtap, "-d", "unit", "-e", "config = { max_probes = 1000000 } "
                  f"uprobe:{path}:{pattern} {{ @ = count(); }}")
    loaded, found = segments(path), []
    for m in re.finditer(r"site uprobe:\S+:(\S+) file \S+ offset (0x[0-9a-f]+)(?: moved (\d+))?",
                         text):
        moved = int(m[3] or 0)
        entry = int(m[2], 16) - moved
        for offset, address, size in loaded:
            if offset <= entry < offset + size:
                found.append(Site(m[1], path, entry - offset + address, moved))
    # Of a name with several versions a script gets one.
    names = [s.name for s in found]
    return [s for s in found if names.count(s.name) == 1]


def wrong_places(path, moved):
    """What objdump has against these sites: they are no instructions, or are jumped into."""
    starts, jumps, problems = set(), {}, []
    for line in output("objdump", "-d", "--no-show-raw-insn", path).split("\n"):
        m = re.match(r"\s+([0-9a-f]+):\t(.*)", line)
        if not m:
            continue
        starts.add(int(m[1], 16))
        j = re.match(r"(?:[a-z0-9]+ )*(?:j\w+|call\w*|loop\w*)(?:,p[nt])?\s+([0-9a-f]+)\b", m[2])
        if j:
            jumps.setdefault(int(j[1], 16), m[1])
    for s in moved:
        if s.entry + s.moved not in starts:
            problems.append(f"{s.name}+{s.moved} is inside of an instruction")
        for at in range(s.entry + 1, s.entry + s.moved + 1):
            if at in jumps:
                problems.append(f"{s.name}+{at - s.entry} is jumped to from {jumps[at]}")
    return problems


def script(chosen):
    """Counts calls by function: @moved where memtap puts the probe, @exact at the entry."""
    names = ",\n".join(f"uprobe:{s.path}:{s.name}" for s in chosen)
    addresses = ",\n".join(f"uprobe:{s.path}:0x{s.entry:x}" for s in chosen)
    return (f"config = {{ max_probes = {2 * len(chosen)} }}\n"
            f"{names} {{ @moved[probe] = count(); }}\n{addresses} {{ @exact[probe] = count(); }}\n")


def counts(out, chosen):
    """(site, calls at its place, calls at its entry) for each."""
    seen = {(m[1], m[2]): int(m[3]) for m in
            re.finditer(r"^@(moved|exact)\[uprobe:(.*)\]: (\d+)$", out, re.M)}
    return [(s, seen.get(("moved", f"{s.path}:{s.name}"), 0),
             seen.get(("exact", f"{s.path}:0x{s.entry:x}"), 0)) for s in chosen]
