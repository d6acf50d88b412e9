"""Chrome's DevTools, without a screen: the memory panel with a heap snapshot in it, driven through the browser's own protocol."""

import base64
import json
import os
import re
import subprocess
import time

from harness import HANG_SECONDS, check, installed, wait_until

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--remote-debugging-pipe"]
# The front end keeps its parts in shadow trees, each of which must be entered.
HELPERS = """
const all = (test, root = document) => [...root.querySelectorAll('*')].flatMap(
    (one) => [...(test(one) ? [one] : []), ...(one.shadowRoot ? all(test, one.shadowRoot) : [])]);
const panel = async () => {
  const parts = await import('devtools://devtools/bundled/panels/profiler/profiler.js');
  return parts.HeapProfilerPanel.HeapProfilerPanel.instance();
};
const profile = async () => (await panel()).constructor.registry.heapSnapshotProfileType.getProfiles()[0];
"""


class MemoryPanel:
    """A panel of its own browser, which ends with close()."""

    def __init__(self, test):
        browser = installed("chromium")
        to_read, self.to_browser = os.pipe()
        self.from_browser, to_write = os.pipe()
        line = 'exec "$0" "$@" 3</proc/self/fd/%d 4>/proc/self/fd/%d' % (to_read, to_write)
        self.process = test.start(["sh", "-c", line, browser, *FLAGS, f"--user-data-dir={test.work}/browser", "about:blank"],
                                  pass_fds=(to_read, to_write), env={"HOME": str(test.work)}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.asked, self.waiting, self.session = 0, b"", None
        page = self.ask("Target.createTarget", url="devtools://devtools/bundled/devtools_app.html?panel=heap-profiler")
        self.session = self.ask("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]

    def ask(self, method, **parameters):
        self.asked += 1
        message = {"id": self.asked, "method": method, "params": parameters, **({"sessionId": self.session} if self.session else {})}
        os.write(self.to_browser, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self.waiting:
                piece = os.read(self.from_browser, 1 << 20)
                check(piece, "the browser has ended")
                self.waiting += piece
            answer, _, self.waiting = self.waiting.partition(b"\0")
            answer = json.loads(answer)
            if answer.get("id") == self.asked:
                check("error" not in answer, answer)
                return answer["result"]

    def evaluate(self, script, by_value=True):
        answer = self.ask("Runtime.evaluate", expression=f"(async () => {{{HELPERS}\n{script}}})()", awaitPromise=True, returnByValue=by_value)
        check("exceptionDetails" not in answer, answer)
        return answer["result"]

    def until(self, script, by_value=True):
        """The first answer that is something."""
        end = time.monotonic() + HANG_SECONDS
        while time.monotonic() < end:
            answer = self.evaluate(script, by_value)
            if answer.get("objectId") if not by_value else answer.get("value"):
                return answer
            time.sleep(0.02)
        raise AssertionError(f"DevTools never said yes to: {script}")

    def load(self, path):
        chooser = self.until("return all((one) => one.type === 'file')[0];", by_value=False)["objectId"]
        self.ask("DOM.setFileInputFiles", files=[str(path)], objectId=chooser)
        self.until("return (await profile()) !== undefined"
                   " && all((li) => li.tagName === 'LI' && /\\(\\d.*B\\)/.test(li.innerText)).length !== 0;")
        self.evaluate("(await panel()).showProfile(await profile());")

    def rows(self):
        """What the tables show, line by line, their cells with a bar between."""
        script = "return all((one) => one.tagName === 'TR' && one.closest('tbody') !== null).map((one) => one.innerText);"
        return ["|".join(row.split()) for row in self.evaluate(script)["value"] if row.strip()]

    def row_with(self, *words):
        """Waits for a row that holds these words in this order."""
        wanted = re.compile(".*".join(map(re.escape, words)))
        return wait_until(lambda: next((row for row in self.rows() if wanted.search(row)), None), f"a row with {words}")

    def select(self, identity):
        """Selects the block with this id in the summary, and shows what retains it."""
        self.evaluate(f"await (await panel()).viewForProfile(await profile()).selectLiveObject('Summary', '{identity}');")

    def picture(self, path):
        path.write_bytes(base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"]))

    def close(self, test):
        self.session = None
        self.ask("Browser.close")
        os.close(self.to_browser)
        os.close(self.from_browser)
        test.finish(self.process)
