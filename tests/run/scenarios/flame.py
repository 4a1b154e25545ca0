# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Flame graphs in a browser: what a user does with the mouse and the keys."""
import os
import subprocess
import tempfile

from lib.browser import Browser
from run.scenarios import Skip, require, shown

HELPERS = """
const byName = (n) => [...document.querySelectorAll('#frames g')].find(
    (g) => g.querySelector('title').textContent.startsWith(n + '\\n'));
const shownAs = (n) => byName(n).style.display === 'none' ? -1 :
    Math.round(100 * parseFloat(byName(n).querySelector('rect').getAttribute('width'))) / 100;
const middle = (n) => { const r = byName(n).querySelector('rect').getBoundingClientRect();
    return [r.left + r.width / 2, r.top + r.height / 2]; };
const text = (id) => document.getElementById(id).textContent;
"""


def draw(context, path):
    script = f"uprobe:{context.progs}/branches:touch {{ @calls[comm, ustack] = count() }}"
    p = subprocess.run([context.memtap, "-e", script, "-c", context.progs + "/branches",
                        "--flame", path, "--flame-title", "calls of touch"],
                       capture_output=True, text=True, timeout=60 * context.factor, check=False)
    if p.returncode:
        raise RuntimeError(shown(f"exit status {p.returncode}", p.stdout, p.stderr))


class Page:
    """The picture in the browser; what is not as it should be is gathered."""

    def __init__(self, browser):
        self.browser, self.problems = browser, []
        browser.value(HELPERS + "0")
        browser.until("typeof byName('all').frame === 'number' && text('details') !== ''")

    def are(self, when, **wanted):
        for name, width in wanted.items():
            found = self.browser.value(f"shownAs('{name}')")
            if found != width:
                self.problems.append(f"{when}: {name} is {found} % wide, not {width}")

    def has(self, when, expression, wanted):
        found = self.browser.value(expression)
        if found != wanted:
            self.problems.append(f"{when}: {expression} is {found!r}, not {wanted!r}")

    def click(self, name):
        self.browser.click(*self.browser.value(f"middle('{name}')"))


def mouse(page):
    page.are("at first", main=100, left=30, right=70, inner=50)
    page.has("at first", "text('title')", "calls of touch")
    page.has("at first", "text('total')", "10 calls in 3 stacks")
    page.has("at first", "document.getElementById('reset').disabled", True)
    page.click("right")
    page.are("zoomed", all=100, main=100, left=-1, right=100, inner=71.43)
    page.has("zoomed", "byName('main').classList.contains('up')", True)
    page.has("zoomed", "byName('right').classList.contains('up')", False)
    page.has("zoomed", "text('details').startsWith('right: ') && "
             "text('details').endsWith('7 calls, 70.00 %, 100.00 % of right')", True)
    page.click("inner")
    page.are("zoomed twice", right=100, inner=100, left=-1)
    page.click("main")
    page.are("zoomed out to main", left=30, right=70, inner=50)


def search(page):
    page.browser.value("document.getElementById('search').focus()")
    page.browser.type("INNER|left")
    page.has("searched", "text('found')", "found: 80.00 % of main")
    page.has("searched", "document.querySelectorAll('.hit').length", 2)
    page.click("right")
    page.has("searched and zoomed", "text('found')", "found: 71.43 % of right")
    page.browser.click(*page.browser.value(
        "(function () { const r = document.getElementById('reset').getBoundingClientRect();"
        " return [r.left + r.width / 2, r.top + r.height / 2]; })()"))
    page.are("reset", all=100, left=30, right=70, inner=50)
    page.has("reset", "text('found')", "")
    page.has("reset", "document.querySelectorAll('.hit').length", 0)


def keys(page):
    page.browser.value("byName('main').focus()")
    page.browser.key("ArrowUp")
    page.has("arrow up", "document.activeElement === byName('left')", True)
    page.browser.key("ArrowRight")
    page.has("arrow right", "document.activeElement === byName('right')", True)
    page.browser.key("Enter", "\r")
    page.are("Enter", left=-1, right=100)
    page.browser.key("Escape")
    page.are("Escape", left=30, right=70)
    page.browser.value("byName('main').focus()")
    page.browser.key("/", "/")
    page.has("/", "document.activeElement.id", "search")
    page.browser.type("f(*")
    page.has("no regular expression", "text('found')", "found: 0.00 %")
    page.browser.value("document.getElementById('reset').click()")
    page.browser.value("document.getElementById('flip').click()")
    page.has("flipped", "byName('all').querySelector('rect').getAttribute('y')", "0")


NAMES = ("[...document.querySelectorAll('#frames g')].filter((g) => g.style.display !== 'none')"
         ".map((g) => g.querySelector('title').textContent.split('\\n')[0])")


def press(page, button):
    page.browser.value(f"document.getElementById('{button}').click()")


def leaves(page):
    """Frames by their own value: all of it is touch's."""
    press(page, "reset")
    press(page, "leaves")
    page.has("from the leaves", NAMES + ".slice(0, 5)", ["all", "touch", "inner", "right", "main"])
    page.has("from the leaves", NAMES + ".filter((n) => n === 'touch').length", 1)
    shown_by = ("[...document.querySelectorAll('#frames g')].filter((g) => g.style.display !== "
                "'none').map((g) => g.querySelector('title').textContent.replace('\\n', ': '))"
                ".filter((t) => /^(touch|inner|left|right):/.test(t))"
                ".map((t) => t.replace(/: .*, (.*), /, ': $1, '))")
    page.has("from the leaves", shown_by,
             ["touch: 10 calls, 100.00 %", "inner: 5 calls, 50.00 %", "right: 5 calls, 50.00 %",
              "left: 3 calls, 30.00 %", "right: 2 calls, 20.00 %"])
    page.browser.value("[...document.querySelectorAll('#frames g')].filter((g) => g.style.display "
                       "!== 'none')[2].dispatchEvent(new MouseEvent('click', {bubbles: true}))")
    page.has("zoomed from the leaves", NAMES + ".slice(0, 4)", ["all", "touch", "inner", "right"])
    page.has("zoomed from the leaves", NAMES + ".includes('left')", False)
    press(page, "leaves")
    page.are("from the root again", all=100, left=30, right=70, inner=50)


def address(page):
    """What is seen is in the address, there and back."""
    press(page, "reset")
    page.has("at the start", "location.hash", "#flip=1")
    page.click("right")
    page.browser.value("document.getElementById('search').focus()")
    page.browser.type("inner")
    zoomed = page.browser.value("location.hash")
    page.has("zoomed", "/^#zoom=\\d+&search=inner&flip=1$/.test(location.hash)", True)
    page.browser.value("history.back()")
    page.browser.until("shownAs('left') === 30")
    page.has("back", "text('found')", "")
    page.browser.value(f"location.hash = '{zoomed}'")
    page.browser.until("shownAs('left') === -1")
    page.are("by the address", right=100, inner=71.43)
    page.has("by the address", "text('found')", "found: 71.43 % of right")
    page.browser.value("location.hash = '#zoom=99999&view=nothing'")
    page.browser.until("shownAs('left') === 30")
    page.has("by a wrong address", "document.getElementById('reset').disabled", True)


def namesakes(page):
    """touch is called from three places."""
    page.browser.call("Input.dispatchMouseEvent", type="mouseMoved",
                      **dict(zip("xy", page.browser.value("middle('touch')"))))
    page.has("pointed at", "document.querySelectorAll('.same').length", 3)
    page.browser.call("Input.dispatchMouseEvent", type="mouseMoved",
                      **dict(zip("xy", page.browser.value("middle('inner')"))))
    page.has("pointed at the only one", "document.querySelectorAll('.same').length", 0)


def test_flame_graph_in_a_browser(context):
    require("root", "cmd:chromium")
    if context.in_vm:
        raise Skip("not in the virtual machine: a browser is too slow there")
    with tempfile.TemporaryDirectory(prefix="memtap-flame.") as tmp:
        path = os.path.join(tmp, "calls.svg")
        draw(context, path)
        with Browser("file://" + path, 120 * context.factor) as browser:
            page = Page(browser)
            mouse(page)
            search(page)
            keys(page)
            leaves(page)
            address(page)
            namesakes(page)
            return "\n".join(page.problems) or None
