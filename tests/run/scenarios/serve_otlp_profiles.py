# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""memtap serve --otlp-profiles: what an endpoint is sent beside what /debug/pprof/ answers. No
package that can be had here decodes this format, so protobufjs does, with the numbers of fields
that opentelemetry-proto 1.10 has (profiles/v1development)."""
import collections
import json
import os
import re
import signal
import time

from run.scenarios import children_of, free_port, loads, on_host, require, until
from run.scenarios.serve import files, serving
from run.scenarios.serve_otlp import Endpoint, by_node, labels
from run.scenarios.serve_pprof import CALLS, SCRIPT, branches, decoded, fault_in_kernel, get, \
    touch_of, warm

# A field is NAME:TYPE=NUMBER, with a star one that repeats.
PROFILES = """
Request resources:Resources*=1 tables:Tables=2
Resources resource:Resource=1 scopes:Scopes*=2
Resource attributes:KeyValue*=1
KeyValue key:string=1 value:Value=2
Value text:string=1 list:Values=5
Values values:Value*=1
Scopes scope:Scope=1 profiles:Profile*=2
Scope name:string=1
Profile type:Type=1 samples:Sample*=2 time:fixed64=3 duration:uint64=4 periodType:Type=5 \
period:int64=6 attributes:int32*=11
Type name:int32=1 unit:int32=2
Sample stack:int32=1 attributes:int32*=2 link:int32=3 values:int64*=4 times:fixed64*=5
Tables mappings:Mapping*=1 locations:Location*=2 functions:Function*=3 links:Link*=4 \
strings:string*=5 attributes:Attribute*=6 stacks:Stack*=7
Mapping start:uint64=1 limit:uint64=2 offset:uint64=3 file:int32=4 attributes:int32*=5
Location mapping:int32=1 address:uint64=2 lines:Line*=3 attributes:int32*=4
Line function:int32=1
Function name:int32=1 systemName:int32=2 file:int32=3
Link trace:bytes=1 span:bytes=2
Attribute key:int32=1 value:Value=2 unit:int32=3
Stack locations:int32*=1
"""
PROFILE = """
const Request = require('protobufjs').Root.fromJSON(%s).lookupType('Request');
const m = Request.decode(require('fs').readFileSync(0));
console.log(JSON.stringify(Request.toObject(m, { longs: Number, bytes: String,
	arrays: true, defaults: true })));
"""


def schema():
    nested = {}
    for line in PROFILES.replace("\\\n", "").split("\n"):
        name, *fields = line.split() or [""]
        nested[name] = {"fields": {}}
        for field in fields:
            key, kind, number = re.split("[:=]", field)
            nested[name]["fields"][key] = {"type": kind.rstrip("*"), "id": int(number),
                                           **({"rule": "repeated"} if kind[-1] == "*" else {})}
    nested.pop("")
    return json.dumps({"nested": nested})


def read_request(body):
    """The profiles of a request, with what the tables of the request have put in; else what is
    wrong."""
    m = by_node(PROFILE % schema(), body)
    t = m["tables"]
    zero = {key: t[key][0] for key in ("mappings", "locations", "functions", "links", "stacks",
                                       "attributes")}
    if any(any(v for v in z.values()) for z in zero.values()) or t["strings"][0] != "":
        return f"the first ones of tables are not empty: {zero}"
    if len(set(t["strings"])) != len(t["strings"]):
        return f"texts are there twice: {t['strings']}"
    about = labels([{**a, "value": {"stringValue": a["value"]["text"]}}
                    for a in m["resources"][0]["resource"]["attributes"]])
    if about["service.name"] != "memtap" or not about["host.name"]:
        return f"the resource is {about}"

    def said(numbers):
        return {t["strings"][t["attributes"][n]["key"]]:
                t["attributes"][n]["value"].get("text") or
                [v["text"] for v in t["attributes"][n]["value"]["list"]["values"]]
                for n in numbers}

    def frame(n):
        place = t["locations"][n]
        mapping = t["mappings"][place["mapping"]]
        name = t["functions"][place["lines"][0]["function"]]["name"] if place["lines"] else 0
        return {"name": t["strings"][name] or "?", "address": place["address"],
                **said(place["attributes"]), **said(mapping["attributes"])}
    return [{"type": t["strings"][p["type"]["name"]] + "/" + t["strings"][p["type"]["unit"]],
             "period": p["periodType"] and [t["strings"][p["periodType"]["name"]], p["period"]],
             "time": p["time"], "duration": p["duration"], **said(p["attributes"]),
             "samples": [([frame(n) for n in t["stacks"][s["stack"]]["locations"]], s["values"])
                         for s in p["samples"]]}
            for scope in m["resources"][0]["scopes"] for p in scope["profiles"]]


def sums(profiles, kind):
    """Values of all samples of a kind by the names in their stacks."""
    found = collections.Counter()
    for p in profiles:
        for frames, values in p["samples"] if p["type"] == kind else []:
            found["<".join(f["name"] for f in frames)] += sum(values)
    return {k: v for k, v in found.items() if v}


def profile_problem(profiles, context):
    """Times without gaps, where the period is from, whose places they are."""
    faults = [p for p in profiles if p["type"] == "faults_by/count"]
    for a, b in zip(faults, faults[1:]):
        if abs(a["time"] + a["duration"] - b["time"]) > 1e6:
            return f"one is of {a['time']} and {a['duration']}, the next of {b['time']}"
    if not faults or faults[0]["period"] != ["page-faults", 10] or \
            faults[0]["pprof.profile.comment"] != ["a/faults_by",
                                                   "sampled: one of 10 page-faults"] or \
            not any(f["profile.frame.type"] == "kernel" for p in faults
                    for frames, _ in p["samples"] for f in frames if "profile.frame.type" in f):
        return f"faults are {faults[:1]}"
    place = touch_of(context)
    if {tuple(p["period"]) for p in profiles if p["type"] == "some_bytes/bytes"} != \
            {("some_bytes", 1)}:
        return "what is not sampled has no period"
    touched = [frames[0] for p in profiles if p["type"] == "n/count"
               for frames, _ in p["samples"] if frames[0]["name"] == "touch"]
    if not touched or any([f["address"], f["process.executable.build_id.gnu"],
                           f["profile.frame.type"]] != [*place, "native"] for f in touched):
        return f"touch() is at {place}, not as in {touched}"
    return None


@on_host
def test_serve_sends_otlp_profiles(context):
    """All of them together are what /debug/pprof/ has; of two runs there is what came of these.
    One that is refused is counted."""
    require("root", "cmd:node", "kernel:5.17")
    loads(context, "libcurl")
    port, patience = free_port(), 30 * context.factor
    with files(a_bt=SCRIPT % context.progs) as d, Endpoint(port, [503, 400]) as e, serving(
            context, "--otlp-every", "1", "--otlp-profiles",
            f"http://127.0.0.1:{port}/v1development/profiles", d + "/a.bt") as s:
        def so_far():
            bodies = [read_request(got[3]) for got in e.got if got[0] == 200]
            wrong = [b for b in bodies if isinstance(b, str)]
            return wrong[0] if wrong else [p for b in bodies for p in b]

        def same():
            pprof = collections.Counter()
            for names, values, _, _ in decoded(get(s, "a/calls")[1])["samples"]:
                pprof["<".join(names)] += values[1]
            sent = so_far()
            return isinstance(sent, str) or sums(sent, "some_bytes/bytes") == pprof
        if not until(lambda: s.value("memtap_otlp_profiles_dropped_total") == 1, patience):
            return f"what is refused is not counted: {[g[0] for g in e.got]}"
        warm(context, s)
        if not until(same, patience):
            return f"it is sent {so_far()}, not {decoded(get(s, 'a/calls')[1])}"
        sent = so_far()
        if isinstance(sent, str):
            return sent
        branches(context, 2)
        fault_in_kernel()
        if not until(same, patience):
            return "the next ones are not what came since"
        more = {k.split("<")[1]: v for k, v in sums(so_far()[len(sent):], "n/count").items()}
        if more != {who: 2 * n for who, n in CALLS.items()}:
            return f"of two runs it is sent {more}"
        if {g[1:3] for g in e.got} != {("/v1development/profiles", "application/x-protobuf")} or \
                s.value("memtap_otlp_profiles_sent_total") < 3 or "memtap_otlp_sent" in s.ask()[2]:
            return f"{ {g[1:3] for g in e.got} } is asked"
        return profile_problem(so_far(), context)


@on_host
def test_serve_answers_while_profiles_are_awaited(context):
    """A collector that is stopped holds up nobody, and goes on to be asked."""
    require("root", "cmd:node", "kernel:5.17")
    loads(context, "libcurl")
    port, patience = free_port(), 30 * context.factor
    with files(a_bt=SCRIPT % context.progs) as d, Endpoint(port, []) as e, serving(
            context, "--otlp-every", "1", "--otlp-profiles",
            f"http://127.0.0.1:{port}/v1development/profiles", d + "/a.bt") as s:
        warm(context, s)
        if not until(lambda: e.got, patience):
            return "nothing is sent"
        pid = min(children_of(s.process.pid))
        os.kill(pid, signal.SIGSTOP)
        try:
            time.sleep(1.5)
            longest = 0
            for _ in range(30):
                began = time.monotonic()
                s.ask("/healthz")
                longest = max(longest, time.monotonic() - began)
                time.sleep(0.1)
        finally:
            os.kill(pid, signal.SIGCONT)
        if longest > 1:
            return f"a request waited for {longest:.2f} s"
        had = len(e.got)
        branches(context, 1)
        if not until(lambda: len(e.got) > had, patience):
            return "nothing is sent after it went on"
        return None
