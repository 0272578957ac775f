"""A headless Chromium, by the WebDriver protocol of its chromedriver. Source: W3C, WebDriver."""

from __future__ import annotations

import base64
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

CHROMEDRIVER = shutil.which("chromedriver")
CHROMIUM = shutil.which("chromium")
_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
_STARTED = re.compile(r"started successfully on port ([0-9]+)")
_ARGUMENTS = (
    "--headless=new",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--disable-dev-shm-usage",  # containers have little of it
)


class Element:
    def __init__(self, browser: Browser, name: str) -> None:
        self._browser, self._path = browser, f"element/{name}"
        self.reference = {_ELEMENT: name}

    def click(self) -> None:
        self._browser.call("POST", f"{self._path}/click", {})

    def type(self, text: str) -> None:
        self._browser.call("POST", f"{self._path}/value", {"text": text})

    @property
    def text(self) -> str:
        return str(self._browser.call("GET", f"{self._path}/text"))


class Browser:
    def __init__(self, port: int, *, arguments: tuple[str, ...] = (), scripts: bool = True) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._profile = tempfile.mkdtemp(prefix="hpcbatch-chromium-")
        options: dict[str, Any] = {"args": [*_ARGUMENTS, f"--user-data-dir={self._profile}", *arguments]}
        if CHROMIUM:
            options["binary"] = CHROMIUM
        if os.getuid() == 0:
            options["args"].append("--no-sandbox")
        if not scripts:
            options["prefs"] = {"profile.managed_default_content_settings.javascript": 2}
        wanted = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        self._session = "/session"
        try:
            made = self._send("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        except BaseException:
            self.close()
            raise
        self._session = f"/session/{made['sessionId']}"

    def _send(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body)
        self._connection.request(method, path, data, {"Content-Type": "application/json"})
        value = json.loads(self._connection.getresponse().read())["value"]
        if isinstance(value, dict) and "error" in value:
            raise AssertionError(f"{method} {path}: {value['error']}: {value['message'].splitlines()[0]}")
        return value

    def call(self, method: str, path: str, body: Any = None) -> Any:
        return self._send(method, f"{self._session}/{path}", body)

    def open(self, url: str) -> None:
        self.call("POST", "url", {"url": url})

    @property
    def url(self) -> str:
        return str(self.call("GET", "url"))

    @property
    def source(self) -> str:
        """The page's HTML, also where no scripts run."""
        return str(self.call("GET", "source"))

    def find(self, selector: str) -> Element:
        found = self.call("POST", "element", {"using": "css selector", "value": selector})
        return Element(self, found[_ELEMENT])

    def run(self, script: str, *arguments: Any) -> Any:
        """What a script in the page returns; WebDriver's own are not bound by the page's policy."""
        return self.call("POST", "execute/sync", {"script": script, "args": list(arguments)})

    def text(self, selector: str = "body") -> str:
        return str(self.run("return document.querySelector(arguments[0])?.innerText ?? ''", selector))

    def keys(self, *keys: str) -> None:
        strokes = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self.call("POST", "actions", {"actions": [{"type": "key", "id": "keyboard", "actions": strokes}]})

    def log(self) -> list[str]:
        """What the browser's console has, policies that were violated among it."""
        return [str(entry["message"]) for entry in self.call("POST", "se/log", {"type": "browser"})]

    def emulate(self, *, dark: bool = False, width: int = 1280, height: int = 900) -> None:
        media = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self._devtools("Emulation.setEmulatedMedia", {"features": media})
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self._devtools("Emulation.setDeviceMetricsOverride", size)

    def picture(self, path: Path, *, whole: bool = False) -> None:
        shot = self._devtools("Page.captureScreenshot", {"captureBeyondViewport": whole})
        path.write_bytes(base64.b64decode(shot["data"]))

    def _devtools(self, command: str, parameters: dict[str, Any]) -> Any:
        return self.call("POST", "goog/cdp/execute", {"cmd": command, "params": parameters})

    def close(self) -> None:
        with suppress(AssertionError, OSError, http.client.HTTPException):
            self.call("DELETE", "")
        self._connection.close()
        _end(self._profile)
        shutil.rmtree(self._profile, ignore_errors=True)


def _end(profile: str) -> None:
    """A browser that has not closed when it was asked to, or that began after all, outlives its chromedriver."""
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if f"--user-data-dir={profile}".encode() in (folder / "cmdline").read_bytes():
                os.kill(int(folder.name), signal.SIGKILL)


@contextmanager
def driver() -> Iterator[int]:
    """A chromedriver's port."""
    assert CHROMEDRIVER is not None
    process = subprocess.Popen([CHROMEDRIVER, "--port=0"], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if found := _STARTED.search(line):
                yield int(found[1])
                break
        else:
            raise AssertionError("chromedriver has not started")
    finally:
        process.terminate()
        process.wait()


@contextmanager
def browser(*, arguments: tuple[str, ...] = (), scripts: bool = True) -> Iterator[Browser]:
    with driver() as port:
        made = Browser(port, arguments=arguments, scripts=scripts)
        try:
            yield made
        finally:
            made.close()
