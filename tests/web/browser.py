"""A headless Chromium from Debian, driven by selenium."""

from __future__ import annotations

import base64
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver import ActionChains
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By

from tests.processes import command_lines

CHROMEDRIVER = shutil.which("chromedriver")
CHROMIUM = shutil.which("chromium")
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
    "--remote-debugging-pipe",  # it ends when its chromedriver does, however that ends
)


class Browser(webdriver.Chrome):
    """What selenium's own has not: an emulated screen, and pictures of a whole page."""

    def text(self, selector: str = "body") -> str:
        """What somebody sees of the first such element; "" without one."""
        return str(self.execute_script("return document.querySelector(arguments[0])?.innerText ?? ''", selector))

    def click(self, selector: str) -> None:
        self.find_element(By.CSS_SELECTOR, selector).click()

    def press(self, *keys: str) -> None:
        """On whatever has the focus."""
        ActionChains(self, duration=0).send_keys(*keys).perform()

    def log(self) -> list[str]:
        """What the console has since the last call, policies that were violated among it."""
        return [str(entry["message"]) for entry in self.get_log("browser")]  # type: ignore[no-untyped-call]

    def emulate(self, *, dark: bool = False, width: int = 1280, height: int = 900) -> None:
        media = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def picture(self, path: Path, *, whole: bool = False) -> None:
        shot = self.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": whole})
        path.write_bytes(base64.b64decode(shot["data"]))


def _options(profile: str, arguments: tuple[str, ...], scripts: bool) -> Options:
    options = Options()
    assert CHROMIUM is not None
    options.binary_location = CHROMIUM
    root = ("--no-sandbox",) if os.getuid() == 0 else ()
    for argument in (*_ARGUMENTS, f"--user-data-dir={profile}", *root, *arguments):
        options.add_argument(argument)
    if not scripts:
        options.add_experimental_option("prefs", {"profile.managed_default_content_settings.javascript": 2})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return options


def _left(profile: str) -> list[int]:
    """The processes of the browser with this profile."""
    return [process for process, words in command_lines().items() if f"--user-data-dir={profile}" in words]


@contextmanager
def browser(*, arguments: tuple[str, ...] = (), scripts: bool = True) -> Iterator[Browser]:
    profile = tempfile.mkdtemp(prefix="hpcbatch-chromium-")
    service = Service(executable_path=CHROMEDRIVER)
    try:
        found = Browser(options=_options(profile, arguments, scripts), service=service)
        try:
            yield found
        finally:
            with suppress(WebDriverException):
                found.quit()
    finally:
        with suppress(Exception):
            service.stop()
        for process in _left(profile):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        shutil.rmtree(profile, ignore_errors=True)
