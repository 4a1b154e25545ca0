# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The page of memtap serve and of --report, in headless Chromium: what it shows beside what
/api/v1/tables says, keys, what people can not use (axe-core), and that nothing is said on the
console. PAGE_PICTURES=DIR keeps pictures in three sizes."""
import json
import os
import re
import subprocess
import tempfile
import threading
import time

from lib.browser import Browser
from lib.report import Skip
from run.scenarios import HERE, on_host, require, shown
from run.scenarios.caches import Server, ended, tool
from run.scenarios.serve import read_as, script, serving, up

TEXT = """
tracepoint:syscalls:sys_enter_read /comm == "%s"/ {
	@reads[(comm=comm, size=args.count)] = count();
	@size[comm] = hist(args.count);
	@stacks[ustack] = count();
}
"""
SIZES = ((390, 844), (900, 1100), (1440, 900))
# What a table on the page has, by the label of its region: a list of rows of texts.
ROWS = """JSON.stringify(Object.fromEntries([...document.querySelectorAll('[role=region]')].map(
    (r) => [r.getAttribute('aria-label'), [...r.querySelectorAll('tbody tr')].map(
        (t) => [...t.children].map((c) => c.textContent))])))"""


class Page:
    """A browser whose console and loads are listened to."""

    def __init__(self, browser):
        self.browser, self.said = browser, []
        plain = browser._message

        def message(end):
            m = plain(end)
            if m.get("method") in ("Log.entryAdded", "Runtime.consoleAPICalled",
                                   "Runtime.exceptionThrown"):
                self.said.append(json.dumps(m["params"])[:400])
            return m
        browser._message = message
        browser.call("Log.enable")
        browser.call("Runtime.enable")

    def rows(self):
        return json.loads(self.browser.value(ROWS))

    def violations(self):
        """What axe-core finds, None when it is not installed."""
        folder = subprocess.run([HERE + "/../../scripts/npm-package", "--look", "axe-core"],
                                text=True, capture_output=True).stdout.strip()
        if not folder:
            return None
        # An element of the page could not load it: the page's policy does not let it.
        self.browser.value(open(folder + "/axe.min.js").read() + "; 0")
        result = self.browser.call(
            "Runtime.evaluate", awaitPromise=True, returnByValue=True,
            expression="axe.run(document, {iframes: false}).then((r) => JSON.stringify("
                       "r.violations.map((v) => [v.id, v.nodes[0].html.slice(0, 200)])))")
        return json.loads(result["result"]["value"])

    def pictures(self, name):
        if not os.environ.get("PAGE_PICTURES"):
            return
        for w, h in SIZES:
            self.browser.call("Emulation.setDeviceMetricsOverride", width=w, height=h,
                              deviceScaleFactor=1, mobile=w < 700)
            self.browser.until("document.documentElement.scrollWidth <= innerWidth")
            self.browser.picture(f"{os.environ['PAGE_PICTURES']}/{name}-{w}.png")


def number(text):
    return float(re.sub(r"[^\d.]", "", text))


def same_as_api(s, rows, name):
    """Rows of the page beside those of the tables; the load has ended, so they stay."""
    reads = json.loads(s.ask("/api/v1/tables/reads/reads")[2])["data"]["@reads"]
    want = sorted([name, size, str(n)] for size, n in
                  ((re.search(r"size=(\d+)", k)[1], n) for k, n in reads.items()))
    if sorted(rows.get("reads", [])) != want or len(want) != 2:
        return f"reads: {rows.get('reads')}, not {want}"
    metric = s.value(f'reads_total{{collector="reads",comm="{name}",size="100"}}')
    if metric != 150 or [name, "100", "150"] not in want:
        return f"/metrics says {metric}"
    keys = json.loads(s.ask("/api/v1/tables/" + s.server + "/keys")[2])["keys"]
    want = [[k["key"], k["calls"]] for k in keys]
    found = [[r[0], number(r[2])] for r in rows.get("Hot keys of " + s.server, [])]
    if found != want or not want:
        return f"keys: {found}, not {want}"
    return None


def load(server):
    c = server.connect()
    for i, times in enumerate((40, 20, 10)):
        c.sendall(b"set key%d 0 0 5\r\nhello\r\n" % i)
        c.recv(100)
        for _ in range(times):
            c.sendall(b"get key%d\r\n" % i)
            c.recv(100)
    c.close()


def keyboard(page):
    """All of it without a mouse."""
    b = page.browser
    b.key("t", "t")
    dark = b.value("document.documentElement.dataset.theme")
    b.key("t", "t")
    if {dark, b.value("document.documentElement.dataset.theme")} != {"dark", "light"}:
        return "t does not change the theme"
    b.key("p", "p")
    if b.value("document.getElementById('state').textContent") != "paused":
        return "p does not pause"
    b.key("p", "p")
    b.key("2", "2")
    b.until("location.hash === '#' + document.getElementById('parts').children[1].hash.slice(1)")
    b.value("document.getElementById('chart-memory').focus()")
    b.key("ArrowLeft")
    if "now" in b.value("document.querySelector('#chart-memory .u-value').textContent"):
        return "an arrow does not walk through a chart"
    return None


def flame(page):
    b = page.browser
    b.value("document.getElementById('flame-draw').focus()")
    b.key("Enter", "\r")
    b.until("document.querySelector('iframe.flame') !== null")
    b.until("document.querySelector('iframe.flame').contentDocument.getElementById('details')"
            "?.textContent.startsWith('click or Enter')")
    return b.value("document.querySelector('iframe.flame').contentDocument."
                   "getElementById('total').textContent")


@on_host
def test_page_shows_what_the_tables_say(context):
    require("root", "cmd:chromium", "cmd:memcached")
    name = f"rd{os.getpid()}"
    with Server(context, "memcached") as server, script(TEXT % name) as path, \
            tempfile.NamedTemporaryFile("w", suffix=".yml") as config:
        config.write(f"defaults: true\ncollectors: [{path}]\n")
        config.flush()
        with serving(context, "--config", config.name) as s:
            s.server = f"memcached:{server.port}"
            for collector in ("reads", s.server):
                if not up(s, collector, 60 * context.factor):
                    return shown(f"{collector} does not answer", s.ask()[2], "")
            read_as(name, 100, 150)
            read_as(name, 7, 7)
            load(server)
            with Browser(f"http://127.0.0.1:{s.port}/", 120 * context.factor) as browser:
                page = Page(browser)
                try:
                    browser.until("document.querySelectorAll('[aria-label=reads] tbody tr')."
                                  "length === 2 && document.querySelector('#chart-memory canvas')"
                                  " !== null")
                except RuntimeError as e:
                    return shown(str(e), json.dumps(page.rows()), "\n".join(page.said))
                problem = same_as_api(s, page.rows(), name) or keyboard(page)
                total = flame(page)
                if not problem and not total.startswith("157 stacks"):
                    problem = f"the flame graph has {total}"
                wrong = page.violations()
                page.pictures("serve")
                if wrong is None and not problem:
                    raise Skip("axe-core is not installed")
                return problem or ("\n".join(map(str, wrong or [])) or None) or \
                    ("\n".join(page.said) or None)


@on_host
def test_page_asks_no_other_machine(context):
    """Its policy, the types of its files, and what is not to be had."""
    require("root")
    with script("interval:s:1 { @ticks = count(); }") as path, serving(context, path) as s:
        if not up(s, "reads", 30 * context.factor):
            return "the collector does not answer"
        kinds = {p: s.ask(p)[:2] for p in ("/", "/page.js", "/page.css", "/uplot.js",
                                           "/api/v1/tables", "/api/v1/tables/reads/ticks",
                                           "/api/v1/tables/memstat", "/api/v1/tables/reads/none",
                                           "/api/v1/flame/reads/ticks", "/api/v1/", "/page.c")}
        want = [(200, "text/html; charset=utf-8"), (200, "text/javascript; charset=utf-8"),
                (200, "text/css; charset=utf-8"), (200, "text/javascript; charset=utf-8"),
                (200, "application/json"), (200, "application/json"), (200, "application/json")] + \
            [(404, "text/plain; charset=utf-8")] * 4
        if list(kinds.values()) != want:
            return f"{kinds}"
        text = s.ask("/")[2] + s.ask("/page.js")[2] + s.ask("/page.css")[2]
        found = re.findall(r"(?<!xmlns=.)https?://[^\s'\"]+", text)
        return f"it names {found}" if found else None


def listen(port, got, seconds):
    out = subprocess.run(["curl", "-sN", "--max-time", str(seconds),
                          f"http://127.0.0.1:{port}/api/v1/events"], capture_output=True, text=True)
    got.append(out.stdout)


@on_host
def test_page_events(context):
    """Many listen; each hears the ten minutes once and then looks; the service ends at once."""
    require("root", "cmd:curl")
    with script("interval:s:1 { @ticks = count(); }") as path, serving(context, path) as s:
        if not up(s, "reads", 30 * context.factor):
            return "the collector does not answer"
        got = []
        threads = [threading.Thread(target=listen, args=(s.port, got, 7)) for _ in range(18)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        heard = [g for g in got if g.startswith("retry:")]
        if len(heard) != 16 or len(got) - len(heard) != 2:
            return f"{len(heard)} of {len(got)} were heard"
        for g in heard:
            events = re.findall(r"^event: (\w+)\ndata: (.*)$", g, re.M)
            if [e[0] for e in events[:2]] != ["history", "look"] or len(events) < 3:
                return f"{[e[0] for e in events]}"
            for _, data in events:
                json.loads(data)
        return None


@on_host
def test_report_is_one_page(context):
    require("root", "cmd:chromium")
    name = f"rd{os.getpid()}"
    with script(TEXT % name) as path, tempfile.TemporaryDirectory() as folder:
        report = folder + "/report.html"
        with tool(context, "--report", report, path) as run:
            read_as(name, 100, 150)
            read_as(name, 7, 7)
            out, err, status = ended(context, run)
        if status or "@reads" not in out:
            return shown(f"status {status}", out, err)
        with Browser("file://" + report, 120 * context.factor) as browser:
            page = Page(browser)
            browser.until("document.querySelector('iframe.flame') !== null")
            rows = page.rows()
            if sorted(rows.get("reads", [])) != sorted([[name, "100", "150"], [name, "7", "7"]]):
                return f"{rows}"
            wrong = page.violations()
            page.pictures("report")
            return ("\n".join(map(str, wrong or [])) or None) or ("\n".join(page.said) or None)


TILES = """JSON.stringify([...document.querySelectorAll('.tiles dt')].map((e) => e.textContent))"""


def opened(report, context, until):
    """What is wrong with a report in a file, None nothing."""
    with Browser("file://" + report, 120 * context.factor) as browser:
        page = Page(browser)
        browser.until(until)
        return page.rows(), json.loads(browser.value(TILES)), \
            "\n".join(map(str, page.violations() or [])) or "\n".join(page.said) or None


@on_host
def test_reports_without_a_script(context):
    """Of memstat, with the looks it took as charts, and of cachesize with the curve."""
    require("root", "cmd:chromium", "cmd:memcached")
    with tempfile.TemporaryDirectory() as folder:
        report = folder + "/memstat.html"
        p = subprocess.run([context.memtap, "memstat", "--report", report, "1", "2"],
                           capture_output=True, text=True, check=False)
        if p.returncode or "PID" not in p.stdout:
            return shown(f"status {p.returncode}", p.stdout, p.stderr)
        rows, tiles, wrong = opened(report, context, "document.querySelector('#chart-memory "
                                    "canvas') !== null")
        if wrong or "Available" not in tiles or len(rows.get("Largest processes", [])) != 8:
            return wrong or f"{tiles}, {rows}"
        p = subprocess.run([context.memtap, "memstat", "--report", folder + "/no/x", "1", "1"],
                           capture_output=True, text=True, check=False)
        if p.returncode != 1 or "can not write" not in p.stderr:
            return shown("a file that can not be written", p.stdout, p.stderr)
        report = folder + "/cachesize.html"
        with Server(context, "memcached") as server:
            with tool(context, "cachesize", "memcached", "-p", str(server.pid), "--report",
                      report) as run:
                load(server)
                out, err, status = ended(context, run)
        rows, _, wrong = opened(report, context, "document.querySelector('figure canvas') !== null")
        return shown(f"status {status}", out, err) if status else wrong


@on_host
def test_page_compares_two_times(context):
    """The last minute beside the one before it: what is new is named with what it was, what is gone
    is in the sum. Takes three minutes, so PAGE_COMPARE has it run."""
    require("root", "cmd:chromium")
    if "PAGE_COMPARE" not in os.environ:
        raise Skip("make page-compare runs it")
    a, b = f"ra{os.getpid()}", f"rb{os.getpid()}"
    text = "tracepoint:syscalls:sys_enter_read /comm == \"%s\" || comm == \"%s\"/ " \
        "{ @stacks[comm, ustack] = count(); }" % (a, b)
    with script(text) as path, serving(context, path) as s:
        if not up(s, "reads", 30 * context.factor):
            return "the collector does not answer"
        time.sleep(61)  # a shot is taken each minute
        read_as(a, 100, 300)
        time.sleep(61)
        read_as(b, 100, 200)
        time.sleep(55)
        with Browser(f"http://127.0.0.1:{s.port}/", 120 * context.factor) as browser:
            page = Page(browser)
            browser.until("document.getElementById('flame-last') !== null")
            browser.value("document.getElementById('flame-last').value = '1';"
                          "document.getElementById('flame-compare').checked = true; 0")
            browser.value("document.getElementById('flame-draw').click(); 0")
            inside = "document.querySelector('iframe.flame').contentDocument"
            browser.until(f"{inside}?.getElementById('total') != null")
            total = browser.value(f"{inside}.getElementById('total').textContent")
            titles = browser.value(f"[...{inside}.querySelectorAll('title')].map((t) => "
                                   "t.textContent).join('\\n')")
            page.pictures("compare")
            head = browser.value(f"{inside}.documentElement.textContent")
            if "seconds, beside the " not in head or f"{a}\n" in titles or \
                    f"{b}\n200 stacks, 100.00 %, 0 before" not in titles or \
                    not re.match(r"200 stacks in \d+ stacks?, 300 before", total):
                return shown(total, titles[:2000], head[:300])
            return "\n".join(page.said) or None
