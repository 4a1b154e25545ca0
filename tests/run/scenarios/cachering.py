# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""mctop --via socket over a server that makes no system call for its sockets: ringcache reads and
writes them by io_uring."""
import json

from run.scenarios import Skip, shown
from run.scenarios.caches import Server, compare, ended, load, talk, tool


def ring(context):
    try:
        return Server(context, "ringcache", program=context.progs + "/ringcache")
    except RuntimeError as e:
        raise Skip("no io_uring here") from e


def watched(context, s):
    return tool(context, "mctop", "-p", str(s.pid), "--via", "socket", "--json", "-r", "50", "3600")


def test_mctop_io_uring(context):
    """Multi-gets and pipelines, values that come in several packets, connections that come and go;
    one that was open before."""
    with ring(context) as s, s.connect() as c:
        talk(c, (b"get early\r\n", b"END\r\n"))
        with watched(context, s) as run:
            talk(c, *[(b"get open\r\n", b"END\r\n")] * 20)
            expected = load(context, s, "-n", "1500", "-k", "30", "-v", "40", "-m", "5", "-D", "4",
                            "-x", "97")
            talk(c, (b"set large 0 0 300000\r\n" + b"x" * 300000 + b"\r\n", b"STORED\r\n"))
            out, err, status = ended(context, run)
    expected.update({"open": (20, 0, 20, 0), "large": (0, 0, 0, 1)})
    last = json.loads(out.splitlines()[-1])
    problems = compare(last["keys"], expected)
    sizes = {k["key"]: k["size"] for k in last["keys"] if k["size"] is not None}
    if status or any(last["total"][n] for n in ("lost_events", "lost_commands", "unseen_replies")):
        problems.append(f"status {status}, {last['total']}")
    if sizes.pop("large", 0) != 300000 or set(sizes.values()) != {40}:
        problems.append(f"sizes {sizes}")
    return shown("\n".join(problems), out, err) if problems else None


def test_mctop_io_uring_by_system_calls(context):
    """There are none that move bytes: nothing is seen, and nothing is made up."""
    with ring(context) as s, \
            tool(context, "mctop", "-p", str(s.pid), "--json", "3600") as run:
        load(context, s, "-n", "100", "-k", "5")
        out, err, status = ended(context, run)
    total = json.loads(out.splitlines()[-1])["total"]
    if status or total["calls"] or total["lost_commands"]:
        return shown(f"status {status}, {total}", out, err)
    return None
