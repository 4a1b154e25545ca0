# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""memtap doctor beside the tools themselves: what it says of each is what happens when it is
started, with all rights, with some and with none."""
import json
import os
import shutil
import subprocess
import tempfile

from run.scenarios import on_host, require, shown, side_by_side

# What tools have to be given that can not do without.
NEEDED = {"argdist": ["-C", "t:syscalls:sys_enter_brk():u64:args->brk"],
          "funccount": ["t:syscalls:sys_enter_brk"], "stackcount": ["t:syscalls:sys_enter_brk"],
          "trace": ["t:syscalls:sys_enter_brk"], "mctop": ["-p", "1"], "mcsnoop": ["-p", "1"]}
# Where these stop first, and so what they say, is another matter than with no event.
BY_EVENT = ("argdist", "funccount", "stackcount", "trace")


def started(memtap, rights, name, seconds):
    """Whether a tool could be started, and what it said."""
    p = subprocess.run([*rights, memtap, "--dry-run", "-q", name, *NEEDED.get(name, [])],
                       stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds,
                       check=False)
    return p.returncode == 0, p.stderr


def disagreements(memtap, rights, factor):
    p = subprocess.run([*rights, memtap, "doctor", "--json"], stdin=subprocess.DEVNULL,
                       capture_output=True, text=True, timeout=60 * factor, check=False)
    told = [json.loads(line)["data"] for line in p.stdout.split("\n") if line]
    listed = subprocess.run([memtap, "tools"], capture_output=True, text=True,
                            check=True).stdout.split("\n")
    if [t["name"] for t in told] != [line.split()[0] for line in listed if line]:
        return shown("not each tool in its turn", p.stdout, p.stderr)
    if (p.returncode == 0) != all(t["runs"] for t in told):
        return shown(f"exit status {p.returncode}", p.stdout, p.stderr)
    starts = side_by_side(started, [(memtap, rights, t["name"], 60 * factor) for t in told])
    for t, (runs, err) in zip(told, starts):
        if runs != t["runs"] or \
                (not runs and t["name"] not in BY_EVENT and t["missing"] not in err):
            return shown(f"doctor says {t}, the tool does {'' if runs else 'not '}run",
                         p.stdout, err)
    return None


def test_doctor_agrees_with_the_tools(context):
    return disagreements(context.memtap, [], context.factor)


def test_doctor_agrees_with_the_tools_without_rights(context):
    require("cmd:setpriv")
    with tempfile.TemporaryDirectory() as d:
        os.chmod(d, 0o755)
        memtap = shutil.copy(context.memtap, d + "/memtap")
        return disagreements(memtap, ["setpriv", "--reuid=65534", "--regid=65534",
                                      "--clear-groups", "--inh-caps=-all",
                                      "--bounding-set=-all"], context.factor)


@on_host
def test_doctor_agrees_with_the_tools_without_types(context):
    return disagreements(context.memtap, ["env", "MEMTAP_BTF=/bin/true"], context.factor)


@on_host
def test_doctor_agrees_with_the_tools_with_few_rights(context):
    """Root without what loading needs; and without what attaching needs."""
    require("cmd:setpriv")
    for lacking in ("-bpf,-sys_admin", "-perfmon,-sys_admin"):
        problem = disagreements(context.memtap, ["setpriv", "--bounding-set=" + lacking,
                                                 "--inh-caps=" + lacking], context.factor)
        if problem:
            return f"{lacking}: {problem}"
    return None
