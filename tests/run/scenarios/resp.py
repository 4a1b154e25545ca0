# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Every command that the installed redis-server knows, with all its options, and keys in it:
mcsnoop tells the keys that the server itself finds in the call, under the name of the command; what
it says was found agrees with what is there; and --check is equal."""
import json

from lib.resp_samples import VECTORS, Client, calls, keys_of, pairs
from run.scenarios import Skip, shown
from run.scenarios.caches import Server, ended, tool

# What makes a key of each group of commands, so that there is something to be found.
MAKE = {"string": ("SET", "1"), "bitmap": ("SET", "\u00ff\u00ff"), "generic": ("SET", "1"),
        "hash": ("HSET", "x", "1"), "list": ("RPUSH", "x", "x", "x"), "set": ("SADD", "x", "1"),
        "sorted-set": ("ZADD", "1", "x"), "stream": ("XADD", "0-1", "x", "1"),
        "geo": ("GEOADD", "1", "1", "x"), "hyperloglog": ("PFADD", "x"),
        "vector": ("VADD", "VALUES", "2", "1", "2", "x")}
# These look for keys as often as they like, modules too: the server's counters have no upper bound.
UNBOUND = ("EVAL", "EVALSHA", "EVAL_RO", "EVALSHA_RO", "FCALL", "FCALL_RO", "SORT", "SORT_RO",
           "XREAD", "XREADGROUP", *VECTORS)


def groups_of(docs):
    found = {}
    for name, doc in pairs(docs).items():
        doc = pairs(doc)
        for each in [name, *pairs(doc.get("subcommands", []))]:
            found[each.upper().replace("|", " ")] = doc["group"]
    return {**found, **dict.fromkeys(VECTORS, "vector")}


def with_keys(entries):
    """{name: whether it only reads} of the commands for which COMMAND says where keys are."""
    found = {}
    for e in entries:
        if any("not_key" not in pairs(s)["flags"] for s in e[8] or []):
            found[e[0].upper().replace("|", " ")] = "readonly" in e[2]
        found.update(with_keys(e[9] or []))
    return found


class Call:
    """One call: a name, its words, the keys in it by the server's word, whether it only reads."""

    def __init__(self, name, words, keys, reads):
        self.name, self.words, self.keys, self.reads = name, words, keys, reads
        self.answer = None

    def make(self, client, group):
        """With `group` there is something at each of its keys."""
        client("FLUSHALL")
        for key in self.keys if group in MAKE else ():
            client(MAKE[group][0], key, *MAKE[group][1:])
            if group == "stream":
                client("XGROUP", "CREATE", key, "x", "0")
        self.answer = client(*self.words)

    def found_nothing(self):
        return self.answer in (None, 0, [], False)


def all_calls(client, docs, wanted, mark):
    """Calls with keys that no other call has: those end with `mark`."""
    found = []
    for name, tries in sorted(calls(docs).items()):
        for words in tries if name in wanted else ():
            words = [w + mark if w.startswith("key:") else w for w in words]
            keys = [k for k in keys_of(client, words) or [] if k] # MIGRATE has an empty one
            if keys:
                found.append(Call(name, words, keys, wanted[name]))
    return found


def make_all(server, resp3, only):
    """(calls of an empty server, calls of one with something in it, commands without a call)"""
    client = Client(server.where())
    entries, docs = client("COMMAND"), client("COMMAND", "DOCS")
    wanted = {name: reads for name, reads in with_keys(entries).items() if only(name)}
    groups = groups_of(docs)
    sets = [all_calls(client, docs, wanted, mark) for mark in (":empty", ":full")]
    if resp3:
        client("HELLO", "3")
    for call in sets[0]:
        call.make(client, None)
    for call in sets[1]:
        call.make(client, groups[call.name])
    client("ECHO", "the end")
    client.close()
    return sets[0], sets[1], set(wanted) - {c.name for c in sets[0]}


def told_by(out):
    """{key: (command, outcome) as it was told last}, and those of an empty server told twice."""
    found, twice = {}, []
    for line in out.splitlines():
        n = json.loads(line)
        if n["key"].startswith("key:"):
            if n["key"] in found and n["key"].endswith(":empty"):
                twice.append(n["key"])
            found[n["key"]] = (n["command"].upper(), n["outcome"])
    return found, twice


def problems_of(call, told, empty):
    for key in call.keys:
        command, outcome = told.pop(key, (None, None))
        what = f"{' '.join(call.words)}: {key}: {command} {outcome}, {call.answer!r:.80}"
        refused = isinstance(call.answer, Exception)
        if command != call.name or (outcome == "error" and not refused) or \
                (refused and outcome not in ("error", "miss")):
            yield what
        # Of what writes, a hit says that it did.
        if empty and call.reads and outcome == "hit":
            yield "nothing was there: " + what
        if not empty and call.reads and outcome == "miss" and not call.found_nothing():
            yield "something was there: " + what


def every_command(context, resp3, only, *extra):
    """All of them beside mcsnoop and a mctop with these options, whose output comes back."""
    with Server(context, "redis-server") as s, \
            tool(context, "mcsnoop", "-p", str(s.pid), "--json", "--key", "key:*") as snoop, \
            tool(context, "mctop", "-p", str(s.pid), *extra, "3600") as top:
        empty, full, without = make_all(s, resp3, only)
        out, err, _ = ended(context, snoop)
        checked, check_err, _ = ended(context, top)
    told, twice = told_by(out)
    problems = [f"no call of {name} was made" for name in sorted(without)]
    problems += [f"{key} is told twice" for key in twice]
    problems += [p for c in empty for p in problems_of(c, told, True)]
    problems += [p for c in full for p in problems_of(c, told, False)]
    problems += [f"{key}, which is no key of a call, is told" for key in told]
    if problems or len(empty) < 100:
        return shown(f"{len(empty)} calls\n" + "\n".join(problems[:40]), "", err), None
    return None, (checked, check_err)


def test_every_redis_command(context):
    if context.in_vm:
        raise Skip("the parser is the same there")
    return every_command(context, False, lambda name: True)[0]


def test_every_redis_command_resp3_and_check(context):
    """Without those for which the server's counters have no bound."""
    if context.in_vm:
        raise Skip("the parser is the same there")
    problem, checked = every_command(context, True, lambda name: name not in UNBOUND, "--check",
                                     "--json")
    if problem:
        return problem
    check = json.loads(checked[0].splitlines()[-1])
    both = check["check"]["keyspace_hits+keyspace_misses"]
    # What is refused, or may look for a key or not, leaves a little open.
    if not check["equal"] or both["server"] < 400 or both["at_most"] - both["seen"] > 150:
        return shown("check", *checked)
    return None


def test_check_of_redis_is_exact(context):
    """What is found and what is not, in transactions too, those that are given up, without answers,
    with a key that is empty, behind CONFIG RESETSTAT: every look-up is counted, none is guessed."""
    if context.in_vm:
        raise Skip("the parser is the same there")
    said = [("SET", "a", "1"), ("GET", "a"), ("CONFIG", "RESETSTAT"), ("HSET", "h", "f", "v"),
            ("SADD", "s", "m"), ("ZADD", "z", "1", "m"), ("HGETALL", "h"), ("HGETALL", "none"),
            ("SMEMBERS", "s"), ("SMEMBERS", "none"), ("ZRANGE", "z", "0", "-1"),
            ("GETEX", "a", "EX", "100"), ("GETEX", "none"), ("GETDEL", "none"), ("TTL", "a"),
            ("EXISTS", "a", "h"), ("MGET", "a", "none", ""), ("WATCH", "a"), ("MULTI",),
            ("GET", "none"), ("HGETALL", "h"), ("INCR", "n"), ("MGET", "a", "none"), ("EXEC",),
            ("MULTI",), ("GET", "a"), ("DISCARD",)]
    with Server(context, "redis-server") as s, \
            tool(context, "mctop", "-p", str(s.pid), "--check", "--json", "3600") as run:
        client = Client(s.where())
        for words in said:
            client(*words)
        client.send("CLIENT", "REPLY", "SKIP")
        client.send("GET", "a")
        client("GET", "a")
        out, err, _ = ended(context, run)
        client.close()
    last, check = [json.loads(line) for line in out.splitlines()]
    keys = {k["key"]: (k["calls"], k["hits"], k["misses"]) for k in last["keys"]}
    expected = {"a": (11, 8, 0), "none": (7, 0, 7), "": (1, 0, 1), "h": (4, 4, 0)}
    found = {k: keys.get(k) for k in expected}
    ways = [(v["server"], v["seen"], v["at_most"]) for v in check["check"].values()]
    # GET of a, of which there was no answer, was a hit or a miss.
    if found != expected or not check["equal"] or ways != [(12, 11, 12), (8, 8, 9), (20, 20, 20)]:
        return shown(f"{keys}\n{ways}", out, err)
    return None
