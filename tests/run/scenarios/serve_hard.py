# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""memtap serve under what hurts: many scrapes at once, junk on its port; what it takes itself."""
import concurrent.futures
import os
import random
import re
import socket
import struct
import time

from run.scenarios import children_of, on_host, require, shown, until
from run.scenarios.cachefind import Apart
from run.scenarios.caches import Server
from run.scenarios.serve import proc, script, serving, up

SERIES = """BEGIN { $i = 0; while ($i < 900) { @n[$i] = sum((uint64)$i); $i++; } }
interval:s:1 { @ticks = count(); }"""
OF_AN_ADDRESS = 24
# `make junk` gives five minutes.
JUNK_SECONDS = float(os.environ.get("JUNK_SECONDS", "2"))


def raw(port, source, request):
    """Sends the bytes from that address of the loopback; what came back, None when it was reset."""
    try:
        with socket.create_connection(("127.0.0.1", port), 60, (source, 0)) as c:
            c.sendall(request)
            got = b""
            while piece := c.recv(1 << 16):
                got += piece
            return got
    except OSError:
        return None


def scrape(port, source):
    return raw(port, source, b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")


def is_whole(answer):
    """All series are in it, and no byte is missing."""
    head, _, body = answer.partition(b"\r\n\r\n")
    length = re.search(rb"Content-Length: (\d+)", head)
    return head.startswith(b"HTTP/1.1 200 ") and length and int(length[1]) == len(body) and \
        sum(int(n) for n in re.findall(rb"^n_total\{.*\} (\d+)$", body, re.M)) == 899 * 900 // 2


def held(s):
    """Descriptors of all its processes."""
    return [len(os.listdir(f"/proc/{p}/fd")) for p in (s.process.pid, *children_of(s.process.pid))]


def has_no_more(before, now):
    """A connection of before may have ended since."""
    return len(before) == len(now) and all(n <= b for n, b in zip(now, before))


def at_once(port, sources):
    with concurrent.futures.ThreadPoolExecutor(len(sources)) as pool:
        return list(pool.map(lambda source: scrape(port, source), sources))


@on_host
def test_serve_many_at_once(context):
    """200 scrapes: those beyond 64 wait. Of one address 24 are taken and the others closed
    without a word; none is answered wrong, and nothing of them stays."""
    require("root")
    with script(SERIES) as path, serving(context, path) as s:
        if not up(s, "reads", 30 * context.factor):
            return "the collector does not answer"
        before, rss = held(s), proc(f"/proc/{s.process.pid}/status", "VmRSS")
        for _ in range(2):
            answers = at_once(s.port, [f"127.0.1.{1 + i % 10}" for i in range(200)])
            wrong = [a for a in answers if not a or not is_whole(a)]
            if wrong:
                return shown(f"{len(wrong)} of 200 are not answered right",
                             str(wrong[0] and wrong[0][:300]), "")
        answers = at_once(s.port, ["127.0.0.1"] * 200)
        right = [a for a in answers if a]
        if len(right) < OF_AN_ADDRESS or not all(map(is_whole, right)):
            return f"of one address {len(right)} are answered, {sum(map(bool, right))} right"
        refused = s.value("memtap_http_connections_refused_total")
        if refused != 200 - len(right):
            return f"{len(right)} of 200 are answered, {refused} are said to be closed"
        if not until(lambda: has_no_more(before, held(s)), 10 * context.factor):
            return f"descriptors: {before} became {held(s)}"
        more = proc(f"/proc/{s.process.pid}/status", "VmRSS") - rss
        if more > 8192 and not context.sanitized:
            return f"it has {more} KiB more than before"
    return None


# ---- junk ----

REQUESTS = (
    b"GET /metrics HTTP/1.1\r\nHost: x\r\nAccept: text/plain;q=0.5,*/*;q=0.1\r\n\r\n",
    b"GET /api/v1/tables/memstat HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\n\r\n",
    b"GET /api/v1/events HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /api/v1/stacks?table=faults/faults&seconds=60 HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET / HTTP/1.0\r\nAuthorization: Basic YTpi\r\n\r\n",
    b"HEAD /healthz HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer abc\r\n\r\n",
    b"POST /metrics HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200),
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(100),
)


def junk(r):
    """Random bytes, or a request that was cut, repeated, filled or written over."""
    if r.random() < 0.2:
        return r.randbytes(r.randrange(1, 40000))
    text = bytearray(r.choice(REQUESTS))
    for _ in range(r.randrange(4)):
        at = r.randrange(len(text) or 1)
        how = r.randrange(5)
        if how == 0:
            text[at:at + 1] = r.randbytes(1)
        elif how == 1:
            text[at:at] = r.randbytes(r.randrange(64))
        elif how == 2:
            text[at:at] = text[at:at + 1] * r.randrange(1, 40000)
        elif how == 3:
            text[at:at + r.randrange(40)] = b""
        else:
            text += r.choice(REQUESTS)
    return bytes(text[:r.randrange(len(text)) + 1] if text and r.random() < 0.4 else text)


def send_junk(port, number, seconds):
    """From an address of its own; some connections are reset, some wait a little."""
    r = random.Random(number)
    end, n = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        try:
            with socket.create_connection(("127.0.0.1", port), 5, (f"127.0.2.{number}", 0)) as c:
                c.settimeout(0.02)
                c.sendall(junk(r))
                if r.random() < 0.3:
                    c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                elif r.random() < 0.5:
                    c.recv(4096)
        except OSError:
            pass
        n += 1
    return n


@on_host
def test_serve_junk(context):
    """It answers all the while, with the same processes, and takes no more memory; after the long
    form there is no descriptor more either."""
    require("root")
    with script(SERIES) as path, serving(context, path) as s:
        if not up(s, "reads", 30 * context.factor):
            return "the collector does not answer"
        before, children = held(s), children_of(s.process.pid)
        rss = []
        with concurrent.futures.ThreadPoolExecutor(5) as pool:
            sent = [pool.submit(send_junk, s.port, 1 + i, JUNK_SECONDS) for i in range(4)]
            while not all(f.done() for f in sent):
                answer = scrape(s.port, "127.0.3.1")
                if not answer or not is_whole(answer):
                    return shown("meanwhile it answers", str(answer and answer[:300]), "")
                rss.append(proc(f"/proc/{s.process.pid}/status", "VmRSS"))
                time.sleep(0.2)
            n = sum(f.result() for f in sent)
        if s.process.poll() is not None or children_of(s.process.pid) != children:
            return f"after {n} pieces of junk its processes are others"
        # Who is silent is dropped after ten seconds only.
        if JUNK_SECONDS > 60 and not until(lambda: has_no_more(before, held(s)),
                                           30 * context.factor):
            return f"after {n} pieces of junk descriptors: {before} became {held(s)}"
        if rss[-1] - rss[len(rss) // 4] > 4096 and not context.sanitized:
            return f"after {n} pieces of junk its memory: {rss[len(rss) // 4]} became {rss[-1]} KiB"
        return None if n > 100 * JUNK_SECONDS / context.factor / 4 else f"only {n} pieces of junk"


# ---- what it takes ----

def pages_once(pids):
    """KiB of all their pages, each counted once, without the kernel's maps."""
    seen = set()
    for pid in pids:
        with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/pagemap", "rb") as pagemap:
            for line in maps:
                where, _, _, _, _, *name = line.split()
                if name and ("anon_inode" in name[0] or name[0].startswith("[v")):
                    continue
                first, end = (int(n, 16) >> 12 for n in where.split("-"))
                pagemap.seek(first * 8)
                for (page,) in struct.iter_unpack("Q", pagemap.read((end - first) * 8)):
                    if page >> 63:
                        seen.add(page & (1 << 55) - 1)
    return len(seen) * 4


@on_host
def test_serve_takes_little(context):
    """With its usual collectors and a memcached that is idle: 12 MiB. make bench-serve says how
    much of a processor."""
    require("root")
    if context.sanitized:
        return None
    with Apart(context) as apart, Server(context, "memcached", apart=apart), \
            serving(context, enter=apart.enter) as s:
        name = re.compile(r'^memtap_collector_up\{collector="memcached:\d+"\} 1$', re.M)
        if not until(lambda: name.search(s.ask()[2]), 60 * context.factor):
            return "the server's collector does not answer"
        page = s.ask()[2]
        memtap = children_of(s.process.pid)[0]
        pids = [memtap, *children_of(memtap)]
        time.sleep(1)
        kib = pages_once(pids)
        maps = [int(n) for n in re.findall(r"^memtap_collector_map_memory_bytes\{.*\} (\d+)$", page,
                                           re.M)]
        if len(pids) != 3 or len(maps) != 2 or not 16 << 20 < sum(maps) < 48 << 20:
            return shown(f"{pids}, maps of {maps} bytes", page, "")
        return None if kib < 12 << 10 else f"{kib} KiB of memory"
