"""An engine with jobs, the page of its user, and a browser. PICTURES=DIR keeps pictures of the pages."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.rigs import EngineRig, engine_rig
from tests.conformance.site import BIN, Site
from tests.web.browser import CHROMEDRIVER, CHROMIUM, Browser, browser
from tests.web_client import WebPage, web_page


@pytest.fixture(scope="session")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineRig]:
    if CHROMEDRIVER is None or CHROMIUM is None:
        pytest.skip("chromium and chromedriver are not installed: the page is NOT tested in a browser (make test-web)")
    with engine_rig(tmp_path_factory.mktemp("engine")) as engine:
        yield engine


@pytest.fixture
def site(rig: EngineRig, tmp_path: Path) -> Iterator[Site]:
    site = rig.site(tmp_path)
    yield site
    site.close()


@pytest.fixture
def page(site: Site) -> Iterator[WebPage]:
    """Its link is not used yet."""
    with web_page([str(BIN / "hpcbatch"), "web", "--no-browser"], site.env, site.work, is_entered=False) as found:
        yield found


@pytest.fixture
def chromium(page: WebPage) -> Iterator[Browser]:
    """At the list of jobs."""
    with browser() as found:
        found.emulate()
        found.get(f"http://127.0.0.1:{page.port}{page.links[-1]}")
        yield found
        assert found.log() == []  # no policy was violated, nothing is missing


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    path = Path(os.environ.get("PICTURES", tmp_path))
    path.mkdir(parents=True, exist_ok=True)
    return path
