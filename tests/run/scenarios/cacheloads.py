# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""mctop under the load generators that others have: memaslap and memslap of libmemcached, and
redis-benchmark. They do not tell what they asked key by key, so the server's own counters are what
mctop has to agree with. All of it is user space's work: on the host only."""
import json
import subprocess
import tempfile

from run.scenarios import Skip, require, shown
from run.scenarios.caches import Server, ended, tool, with_probes

# Debian calls memaslap memcaslap, and memslap memcslap. Each run opens connections and closes them.
# Their keys come from the clock: runs of the same second ask for the same ones.
MEMASLAP = ["memcaslap", "-T", "1", "-c", "4", "-x", "1000"]
MEMSLAP = ["memcslap", "-c", "2"]


def generate(context, argv):
    subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.PIPE, text=True, timeout=60 * context.factor, check=True)


def agrees(context, kind, loads, least, *options, program=None):
    """Runs the loads; mctop has to have seen what the server says, and `least` different keys."""
    if context.in_vm:
        raise Skip("what parsers make of others' loads is the same on each kernel: on the host")
    with Server(context, kind, program=program) as s, \
            tool(context, "mctop", "-p", str(s.pid), "--check", "--json", "-r", "5", *options,
                 "3600") as run:
        where = ["-h", "127.0.0.1", "-p", str(s.port)] if kind == "redis-server" else \
            [f"--servers=127.0.0.1:{s.port}"]
        for load in loads:
            generate(context, [load[0], *where, *load[1:]])
        out, err, status = ended(context, run)
    last, check = [json.loads(line) for line in out.splitlines()][-2:]
    total, problems = last["total"], []
    if status or total["lost_events"] or total["lost_commands"]:
        problems.append(f"status {status}, something was lost")
    if not check["equal"] or not any(v["server"] for v in check["check"].values()):
        problems.append(f"check: {check}")
    if total["keys"] < least or not total["exact"]:
        problems.append(f"{total['keys']} keys, at least {least} are asked for")
    return shown("\n".join(problems), out, err) if problems else None


def test_mctop_under_memaslap(context):
    """Binary keys of 64 bytes; small and large values, multi-gets, values that are verified,
    replaced, and that expire; both protocols."""
    require("cmd:memcaslap")
    return agrees(context, "memcached", [
        [*MEMASLAP, "-X", "100"],
        [*MEMASLAP, "-X", "100", "-d", "5"],
        [*MEMASLAP, "-X", "3000"],
        [*MEMASLAP, "-o", "0.3", "-v", "0.2", "-e", "0.1"],
        [*MEMASLAP, "-X", "100", "-B"],
        [*MEMASLAP, "-X", "100", "-B", "-d", "4"]], 50)


def test_mctop_under_memslap(context):
    """Random keys of up to 100 characters: one by one, a multi-get of all, stores without reply,
    without blocking, and the binary protocol's gets that answer with the key."""
    require("cmd:memcslap")
    return agrees(context, "memcached", [
        [*MEMSLAP, "-e", "200", "-t", "get"],
        [*MEMSLAP, "-e", "100", "-t", "mget"],
        [*MEMSLAP, "-e", "200", "-t", "set", "-R"],
        [*MEMSLAP, "-e", "200", "-t", "set", "-n"],
        [*MEMSLAP, "-e", "200", "-t", "get", "-b"],
        [*MEMSLAP, "-e", "100", "-t", "mget", "-b"]], 100)


def test_mctop_under_memaslap_by_usdt(context):
    require("cmd:memcaslap")
    return agrees(context, "memcached", [
        [*MEMASLAP, "-X", "100"],
        [*MEMASLAP, "-X", "100", "-d", "5"],
        [*MEMASLAP, "-X", "100", "-B"]], 30, "--via", "usdt", program=with_probes())


def benchmark(*options):
    return ["redis-benchmark", "-q", *options]


def test_mctop_under_redis_benchmark(context):
    """Random keys, lists and hashes, pipelines, RESP3, a connection for each command."""
    require("cmd:redis-benchmark")
    return agrees(context, "redis-server", [
        benchmark("-n", "500", "-c", "5", "-r", "50", "-t", "set,get,incr,mset,hset,sadd"),
        benchmark("-n", "200", "-c", "5", "-t", "lpush,rpush,lpop,lrange_100"),
        benchmark("-n", "300", "-c", "5", "-k", "0", "-r", "50", "-t", "set,get"),
        benchmark("-n", "1000", "-c", "3", "-P", "16", "-r", "1000", "-d", "200", "-t", "set,get"),
        benchmark("-n", "300", "-3", "-t", "set,get,hset"),
        benchmark("-n", "300", "-r", "20", "mget", "key:__rand_int__", "x:__rand_int__")], 500)


def test_mctop_under_redis_benchmark_by_ssl(context):
    """--check can not ask a server that speaks TLS only: each command is counted instead."""
    require("cmd:redis-benchmark", "root")
    if context.in_vm:
        raise Skip("what parsers make of others' loads is the same on each kernel: on the host")
    with tempfile.TemporaryDirectory() as d, Server(context, "redis-server", tls=d) as s, \
            tool(context, "mctop", "-p", str(s.pid), "--via", "ssl", "--json", "-r", "1000",
                 "3600") as run:
        where = ["-h", "127.0.0.1", "-p", str(s.port), "--tls", "--insecure", "-c", "3", "-r", "50"]
        generate(context, [*benchmark("-n", "300", "-t", "set,get,mset"), *where])
        generate(context, [*benchmark("-n", "320", "-P", "8", "-t", "set,get"), *where])
        generate(context, [*benchmark("-n", "50", "-k", "0", "-t", "get"), *where])
        out, err, status = ended(context, run)
    last = json.loads(out.splitlines()[-1])
    commands = {}
    for key in last["keys"]:
        for name, n in key["commands"].items():
            commands[name] = commands.get(name, 0) + n
    if status or last["total"]["lost_events"] or last["total"]["lost_commands"] or \
            commands != {"get": 670, "set": 3620}:
        return shown(f"status {status}, {commands}", out, err)
    return None
