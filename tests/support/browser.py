"""A headless Chromium for tests, driven through chromedriver with nothing but the standard library.

WebDriver is HTTP and JSON, and chromedriver passes DevTools commands on, so no client library is
needed for what the tests want: load a page, run a script, emulate a size and a colour scheme, take
a picture, read the console and the network log.
"""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any, Self

CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
_ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]


def missing_browser() -> str | None:
    """Why there is no browser here, or None where there is one."""
    if not any(shutil.which(name) for name in CHROMIUM_NAMES):
        return "no Chromium on PATH"
    if shutil.which("chromedriver") is None:
        return "no chromedriver on PATH"
    return None


class Browser:
    """One headless Chromium with a profile of its own; use it as a context."""

    def __enter__(self) -> Self:
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self._driver = subprocess.Popen(
            ["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._url = f"http://127.0.0.1:{self._read_port()}"
        program = next(path for name in CHROMIUM_NAMES if (path := shutil.which(name)))
        options = {
            "binary": program,
            "args": [*_ARGUMENTS, f"--user-data-dir={self._profile.name}"],
            "perfLoggingPrefs": {"enableNetwork": True},
        }
        logs = {"browser": "ALL", "performance": "ALL"}
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": logs}
        answer = self._ask("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self._session = f"/session/{answer['sessionId']}"
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self._ask("DELETE", self._session)
        finally:
            self._driver.terminate()
            self._driver.wait()
            assert self._driver.stdout is not None
            self._driver.stdout.close()
            self._profile.cleanup()

    def open(
        self, page: Path, *, width: int = 1280, height: int = 900, scheme: str = "light"
    ) -> None:
        """Load a file at a width, as a reader with the given colour scheme."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.command("Emulation.setEmulatedMedia", features=features)
        self.command(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        self.visit(page.resolve().as_uri())

    def visit(self, address: str) -> None:
        """Load an address."""
        self._ask("POST", f"{self._session}/url", {"url": address})

    def wait_for(self, script: str, *, timeout_s: float = 60) -> None:
        """Wait until a script returns something true."""
        deadline = time.monotonic() + timeout_s
        while not self.run(script):
            if time.monotonic() > deadline:
                raise TimeoutError(f"not true after {timeout_s:g} s: {script}")
            time.sleep(0.1)

    def run(self, script: str) -> Any:
        """What a script returns in the page."""
        return self._ask("POST", f"{self._session}/execute/sync", {"script": script, "args": []})

    def command(self, name: str, **params: Any) -> Any:
        """A DevTools command."""
        body = {"cmd": name, "params": params}
        return self._ask("POST", f"{self._session}/goog/cdp/execute", body)

    def picture(self, path: Path, *, whole: bool = True) -> None:
        """The page as a PNG, whole or as far as the window shows it."""
        taken = self.command("Page.captureScreenshot", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(taken["data"]))

    def console(self) -> list[dict[str, Any]]:
        """Messages of the console since the last call."""
        found: list[dict[str, Any]] = self._ask(
            "POST", f"{self._session}/se/log", {"type": "browser"}
        )
        return found

    def requests(self) -> list[str]:
        """Addresses that the page asked for since the last call."""
        entries = self._ask("POST", f"{self._session}/se/log", {"type": "performance"})
        events = [json.loads(entry["message"])["message"] for entry in entries]
        return [
            event["params"]["request"]["url"]
            for event in events
            if event["method"] == "Network.requestWillBeSent"
        ]

    def _read_port(self) -> int:
        assert self._driver.stdout is not None
        for line in self._driver.stdout:
            words = line.decode().strip().rstrip(".").split()
            if b"started successfully" in line and words[-1].isdigit():
                return int(words[-1])
        raise RuntimeError("chromedriver ended before it listened")

    def _ask(self, method: str, path: str, body: object = None) -> Any:
        request = urllib.request.Request(
            self._url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=120) as answer:
            return json.loads(answer.read())["value"]
