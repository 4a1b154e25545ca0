# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""A headless Chromium and a page in it, driven through a pair of pipes (--remote-debugging-pipe):
messages of the DevTools protocol as JSON, each ended by a NUL."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-extensions",
         "--disable-sync", "--no-default-browser-check", "--remote-debugging-pipe"]


class Browser:
    """`patience`: seconds that any one answer may take."""

    def __init__(self, url, patience=60, size=(1300, 900), dark=False):
        self.patience, self.number, self.waiting = patience, 0, b""
        self.events = []
        self.home = tempfile.mkdtemp(prefix="memtap-browser.")
        to_read, self.to = os.pipe()
        self.answers, to_write = os.pipe()
        argv = ["chromium"] + FLAGS + [f"--user-data-dir={self.home}",
                                       f"--window-size={size[0]},{size[1]}", "about:blank"]
        if dark:
            argv.insert(1, "--blink-settings=preferredColorScheme=0")
        # The pipes have to be descriptors 3 and 4.
        script = 'exec 5<&"$1" 6>&"$2"; exec 3<&5 4>&6 5<&- 6>&-; shift 2; exec "$@"'
        self.process = subprocess.Popen(
            ["/bin/bash", "-c", script, "browser", str(to_read), str(to_write)] + argv,
            pass_fds=(to_read, to_write), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(to_read)
        os.close(to_write)
        try:
            self._open(url)
        except BaseException:
            self.close()
            raise

    def _open(self, url):
        self.session = None
        target = self.call("Target.createTarget", url=url)["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target,
                                 flatten=True)["sessionId"]
        self.call("Page.bringToFront")
        self.until("document.readyState === 'complete' && location.href !== 'about:blank'")

    def _message(self, end):
        while b"\0" not in self.waiting:
            ready, _, _ = select.select([self.answers], [], [], max(0, end - time.monotonic()))
            if not ready:
                raise RuntimeError("the browser does not answer")
            more = os.read(self.answers, 1 << 20)
            if not more:
                raise RuntimeError("the browser has ended")
            self.waiting += more
        message, _, self.waiting = self.waiting.partition(b"\0")
        return json.loads(message)

    def call(self, method, **params):
        self.number += 1
        request = {"id": self.number, "method": method, "params": params}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.to, json.dumps(request).encode() + b"\0")
        end = time.monotonic() + self.patience
        while True:
            answer = self._message(end)
            if answer.get("id") == self.number:
                break
            if answer.get("method") == "Inspector.targetCrashed":
                raise RuntimeError("the page has crashed")
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def value(self, expression):
        """Of a JavaScript expression in the page."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def until(self, expression):
        end = time.monotonic() + self.patience
        while not self.value(expression):
            if time.monotonic() > end:
                raise RuntimeError(f"it never became true that {expression}")
            time.sleep(0.05)

    def click(self, x, y):
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y,
                      button="none" if kind == "mouseMoved" else "left", clickCount=1)

    def key(self, key, text=None):
        code = {"Enter": 13, "Escape": 27, "ArrowUp": 38, "ArrowDown": 40}.get(key, 0)
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code,
                  **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def picture(self, path):
        with open(path, "wb") as f:
            f.write(base64.b64decode(self.call("Page.captureScreenshot")["data"]))

    def close(self):
        os.close(self.to)
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, 9)
            self.process.wait()
        os.close(self.answers)
        shutil.rmtree(self.home, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
