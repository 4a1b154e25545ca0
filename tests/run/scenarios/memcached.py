# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""memcached's own tests, as its source package has them, with `mctop --check` beside each server
that they start: every counter of the server is equal to what was seen, or it is said why not."""
import glob
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

from lib import machine
from run.scenarios import AIDS, Skip, require, shown


# Those that take a few seconds at most and move counters. All there are, slow ones too:
#   PYTHONPATH=tests python3 -m run.scenarios.memcached MEMTAP [TEST...]
TESTS = ("64bit bogus-commands binary-get cas chunked-items conn-limits dash-M evictions "
         "expirations flags getandtouch getset incrdecr issue_104 issue_108 issue_14 "
         "issue_152 issue_163 issue_22 issue_29 issue_3 issue_41 issue_42 issue_61 "
         "issue_68 issue_70 lru malicious-commands maxconns multiversioning noreply quit "
         "slabs_reassign stats stats-detail strtol-testing touch udp watcher_connid").split()
SIDE_BY_SIDE = 8        # they wait for items to expire
DATAGRAMS = {"udp"}  # asks over UDP, which is not looked at
# Where commands may be lost, and are said to be. Large values, of which only the heads are looked
# at, and then in one read: a multi-get of 180 KB; pipelines that want no answer.
LOSES = set("binary getset chunked-extstore error-extstore extstore extstore-jbod "
            "slabs-reassign-chunked slabs-reassign2 watcher".split())


def prepare(d):
    """A folder as the tests want it: their programs beside t/."""
    kept = os.path.dirname(machine.memcached_usdt())
    if not os.path.exists(kept + "/debug/memcached"):
        raise Skip("no tests of memcached's own: scripts/memcached-usdt has not built them")
    os.symlink(kept + "/t", d + "/t")
    os.symlink(kept + "/debug/memcached", d + "/memcached-debug")
    # In the source's place: the server's process is the one that the test knows.
    with open(d + "/timedrun", "w", encoding="ascii") as f:
        f.write('#!/bin/sh\nshift\nexec "$@"\n')
    os.chmod(d + "/timedrun", 0o755)


def problem_of(name, check):
    """What is wrong with the end of one mctop."""
    differ = {k: v for k, v in check["check"].items()
              if not v["seen"] <= v["server"] <= v["at_most"]}
    if name == "unixsocket" and any("can not ask" in r for r in check["reasons"]):
        return None  # it takes the socket away before its server ends
    if not check["check"] or bool(differ) == check["equal"]:
        return f"check: {check}"
    if name in DATAGRAMS:
        return None if differ and any("UDP" in r for r in check["reasons"]) else f"{check}"
    lost = check["lost_events"] or (name in LOSES and check["lost_commands"])
    return None if check["equal"] or lost else f"{differ}, {check}"


def run(memtap, d, name, factor):
    """(number of servers looked at, what is wrong)."""
    out = f"{d}/{name}"
    env = {**os.environ, "MEMTAP": os.path.abspath(memtap), "CHECK_OUT": out}
    p = subprocess.run(["perl", "-It/lib", "-I" + AIDS, "-Mmemcached_tests", f"t/{name}.t"], cwd=d,
                       env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                       errors="replace", timeout=300 * factor, check=False)
    ends = []
    for path in sorted(glob.glob(glob.escape(out) + ".*.out")):
        with open(path, encoding="utf-8") as f:
            ends += [json.loads(line) for line in f if line.startswith('{"check"')]
    problems = [problem for problem in (problem_of(name, e) for e in ends) if problem]
    if problems:
        return len(ends), shown(name + ": " + "\n".join(problems), p.stdout[-2000:], p.stderr)
    return len(ends), None


def run_all(memtap, names, factor):
    """{test: (servers, problem)}"""
    with tempfile.TemporaryDirectory() as d, ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        prepare(d)
        return dict(zip(names, pool.map(lambda n: run(memtap, d, n, factor), names)))


def test_mctop_beside_memcacheds_own_tests(context):
    require("memcached-usdt", "cmd:perl", "kernel:5.17")
    if context.in_vm:
        raise Skip("what the server counts is the same there")
    results = run_all(context.memtap, TESTS, context.factor)
    problems = [problem for _, problem in results.values() if problem]
    problems += [f"{n}: no server was looked at" for n, (servers, _) in results.items()
                 if not servers]
    return "\n".join(problems) or None


def main():
    """All of them, with a line for each."""
    kept = os.path.dirname(machine.memcached_usdt())
    names = sorted(os.path.basename(p)[:-2] for p in glob.glob(kept + "/t/*.t"))
    for name, (servers, problem) in run_all(sys.argv[1], sys.argv[2:] or names, 1).items():
        print(f"{name}: {servers} servers, {problem or 'equal, or explained'}")


if __name__ == "__main__":
    main()
