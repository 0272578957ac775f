"""The files that pages are shown with."""

from __future__ import annotations

import re
from hashlib import sha256
from importlib.resources import files

from hpcbatch.model.outcome import Fate
from hpcbatch.model.state import JobState
from hpcbatch.web.jobs import kind_of

STATIC = files("hpcbatch.web") / "static"
PAGES = files("hpcbatch.web") / "pages"


def test_htmx_is_what_its_licence_says() -> None:
    found = sha256((STATIC / "htmx.min.js").read_bytes()).hexdigest()
    assert f"Its SHA-256 is {found}." in (STATIC / "htmx-licence.txt").read_text()


def test_every_state_and_fate_has_a_style() -> None:
    style = (STATIC / "style.css").read_text()
    for name in (*{kind_of(state) for state in JobState}, *(fate.value for fate in Fate)):
        assert re.search(rf"\.{name}[ ,]", style), name


def test_no_page_names_another_site() -> None:
    for path in PAGES.iterdir():
        assert "//" not in path.read_text(), path.name
