# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""On a machine that nobody has used nothing is made before scripts/setup has installed what makes
it: every target of README.md's commands that has a recipe waits for `setup`, also under make -j."""
import re
import subprocess

COMMANDS = ("demo", "check")
# What a shell and git can do, and who asks for set-up itself.
FREE = re.compile(r"setup|.*/(tools\.list|commit\.h)")


def targets(database):
    """{target: (what it waits for, whether it has a recipe)} of make's own listing."""
    found, name = {}, None
    for line in database.split("\n"):
        m = re.match(r"([^#\s:=][^:=]*):(?!=) *([^=]*)$", line)
        if m:
            name = m[1].strip()
            waits, recipe = found.get(name, (set(), False))
            found[name] = (waits | set(m[2].replace("|", " ").split()), recipe)
        elif line.startswith("#  recipe to execute") and name:
            found[name] = (found[name][0], True)
        elif not line:
            name = None
    return found


def waits_for_setup(found, name, known):
    """Directly, or for something that does."""
    if name not in known:
        known[name] = name == "setup"  # no circles: make drops them
        known[name] = known[name] or any(waits_for_setup(found, n, known)
                                         for n in found.get(name, ((), False))[0])
    return known[name]


def reached(found, name, into):
    if name not in into:
        into.add(name)
        for n in found.get(name, ((), False))[0]:
            reached(found, n, into)


def early(database, command):
    """Targets that may be made before, or along with, set-up."""
    found, known, all_of_it = targets(database), {}, set()
    reached(found, command, all_of_it)
    return sorted(n for n in all_of_it if found.get(n, ((), False))[1] and
                  not FREE.fullmatch(n) and not waits_for_setup(found, n, known))


def problem(top):
    for command in COMMANDS:
        p = subprocess.run(["make", "-np", "BUILD=/nonexistent/build", command], cwd=top,
                           capture_output=True, text=True, check=False)
        found = early(p.stdout, command)
        if found or "packed" not in p.stdout:
            return f"make {command}: made before scripts/setup has run: {' '.join(found)}"
    return None


def misses():
    """None, or what early() does not find."""
    made = "#  recipe to execute (x)\n\n"
    database = f"check: a b | setup\n{made}a: c\n{made}b: | setup\n{made}c:\n{made}other:\n{made}"
    found = early(database, "check")
    return None if found == ["a", "c"] else f"found {found}, not a and c"
