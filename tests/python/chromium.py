"""A real browser in the tests: Chromium, driven over its DevTools protocol."""

import contextlib
import itertools
import json
import os
import shutil
import subprocess
import time
from pathlib import Path

from websockets.sync.client import connect

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--remote-debugging-port=0",
)  # fmt: skip
# A browser that has not begun by then will not.
STARTS_WITHIN = 30
# The largest message of the protocol: a page of some megabytes is one message.
MOST_OF_A_MESSAGE = 64_000_000


def found():
    """The browser on this machine, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """A browser with one page, and everything that the page asked for or complained of."""

    def __init__(self, folder: Path):
        with (folder / "browser.log").open("wb") as log:
            self._process = subprocess.Popen(
                [
                    str(found()),
                    *FLAGS,
                    f"--user-data-dir={folder / 'profile'}",
                ],
                stdout=log,
                stderr=log,
                start_new_session=True,
                env={**os.environ, "HOME": str(folder)},
            )
        self._numbers = itertools.count(1)
        self.requests: list[str] = []
        self.complaints: list[str] = []
        try:
            port, path = self._endpoint(folder / "profile" / "DevToolsActivePort")
            self._socket = connect(
                f"ws://127.0.0.1:{port}{path}", max_size=MOST_OF_A_MESSAGE, proxy=None
            )
            target = self._ask("Target.createTarget", url="about:blank")["targetId"]
            attached = self._ask("Target.attachToTarget", targetId=target, flatten=True)
            self._session = attached["sessionId"]
            for domain in ("Page", "Runtime", "Network", "Log", "Accessibility"):
                self.ask(f"{domain}.enable")
        except BaseException:
            self.close()
            raise

    def _endpoint(self, file: Path):
        until = time.monotonic() + STARTS_WITHIN
        while time.monotonic() < until and self._process.poll() is None:
            with contextlib.suppress(FileNotFoundError, ValueError):
                port, path = file.read_text().split("\n")
                return port, path
            time.sleep(0.05)
        raise RuntimeError(
            f"{found()} does not start: {(file.parents[1] / 'browser.log').read_text()}"
        )

    def open(self, page: Path, *, width: int, height: int = 800, scheme: str = "light"):
        """Loads a page at a size, for someone who likes it light or dark."""
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 500,
        )  # fmt: skip
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.ask("Emulation.setEmulatedMedia", features=features)
        self.requests.clear()
        self.complaints.clear()
        self.ask("Page.navigate", url=page.as_uri())
        self.run("document.readyState === 'complete' ? 0 : new Promise(done => onload = done)")

    def run(self, script: str):
        """Runs a script of the tests, not of the page, and returns its result."""
        done = self.ask(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in done, done
        return done["result"].get("value")

    def press(self, key: str, code: int, text: str = ""):
        """Presses a key."""
        for kind in ("keyDown", "keyUp"):
            self.ask(
                "Input.dispatchKeyEvent", type=kind, key=key, code=key, text=text,
                windowsVirtualKeyCode=code,
            )  # fmt: skip

    def ask(self, method: str, **given):
        """Asks the page's session."""
        return self._ask(method, session=self._session, **given)

    def _ask(self, method: str, *, session: str | None = None, **given):
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": given}
        self._socket.send(json.dumps(message | ({"sessionId": session} if session else {})))
        while True:
            got = json.loads(self._socket.recv(timeout=STARTS_WITHIN))
            if got.get("id") == number:
                assert "error" not in got, got
                return got["result"]
            self._note(got)

    def _note(self, event):
        kind, about = event.get("method"), event.get("params", {})
        if kind == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"])
        elif kind == "Runtime.exceptionThrown":
            self.complaints.append(str(about["exceptionDetails"]))
        elif kind == "Runtime.consoleAPICalled":
            self.complaints.append(str(about["args"]))
        elif kind == "Log.entryAdded":
            self.complaints.append(about["entry"]["text"])

    def close(self):
        """Ends the browser."""
        with contextlib.suppress(Exception):
            self._ask("Browser.close")
            self._socket.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
