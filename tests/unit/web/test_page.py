"""How texts get into a page."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from hpcbatch.errors import HpcBatchError
from hpcbatch.web.page import Page, Part, Renderer, Request, size

COMMON = {"user": "anna", "server": "there", "namespace": "anna"}
RENDERER = Renderer("/p/", timezone(timedelta(hours=1), "CET"), "1.0", COMMON)
REQUEST = Request("jobs", {"state": "all", "q": '"><x'}, "token")


def news(text: str) -> str:
    part = Part("news.html", lambda: {"text": text}, 5)
    answer = RENDERER.part(Page("jobs.html", "", {}, {"news": part}), "news", REQUEST, lambda error: error)
    assert answer is not None
    return answer


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<b>", "&lt;b&gt;"),
        ("a & b", "a &amp; b"),
        ("\"'", "&#34;&#39;"),
        ("red \x1b[31m", "red ^[[31m"),
        ("bell \x07 null \x00", "bell ^G null ^@"),
        ("two\nlines", "two^Jlines"),
        ("evil\u202egnp.exe", "evil?gnp.exe"),
        ("\u2066hidden\u2069", "?hidden?"),
        ("\u2028line", "?line"),
        ("Ωμέγα 降水 مطر", "Ωμέγα 降水 مطر"),
        ("{{ 7*7 }}", "{{ 7*7 }}"),
    ],
)
def test_every_text_is_printable_and_escaped(text: str, shown: str) -> None:
    assert f"<span>{shown}</span>" in news(text)


def test_a_part_asks_for_itself_again() -> None:
    text = news("x")
    assert text.startswith('<div id="part-news" hx-get="/p/jobs?state=all&amp;q=%22%3E%3Cx&amp;part=news&amp;seen=')
    assert 'hx-trigger="every 5s"' in text


def test_a_part_that_is_known_is_not_sent_again() -> None:
    part = Part("news.html", lambda: {"text": "x"}, 5)
    page = Page("jobs.html", "", {}, {"news": part})
    seen = news("x").partition("seen=")[2].partition('"')[0]
    known = REQUEST._replace(query={**REQUEST.query, "seen": seen})
    assert RENDERER.part(page, "news", known, lambda error: error) is None
    # once a job has ended, its parts are told not to ask any more, whatever they show
    ended = page._replace(parts={"news": part._replace(every_s=0)})
    assert RENDERER.part(ended, "news", known, lambda error: error) == '<div id="part-news"><span>x</span></div>'


def test_a_part_that_cannot_be_made_says_why() -> None:
    def fail() -> dict[str, str]:
        raise HpcBatchError("nothing <answers>")

    page = Page("jobs.html", "", {}, {"jobs": Part("news.html", fail, 5)})
    text = RENDERER.part(page, "jobs", REQUEST, lambda error: HpcBatchError(f"{error}!"))
    assert text is not None
    assert '<p class="notice failed" role="alert">nothing &lt;answers&gt;!</p>' in text
    assert "every 5s" in text


@pytest.mark.parametrize(
    ("path", "query", "url"),
    [
        ("jobs", {}, "/p/jobs"),
        ("jobs/12", {"a": "", "b": None}, "/p/jobs/12"),
        ("jobs", {"q": "a&b=c", "n": 3}, "/p/jobs?q=a%26b%3Dc&n=3"),
        ('"><script>', {}, "/p/%22%3E%3Cscript%3E"),
    ],
)
def test_addresses(path: str, query: dict[str, object], url: str) -> None:
    assert RENDERER.url(path, **query) == url


def test_times_are_local_and_say_their_zone() -> None:
    text = RENDERER.moment(datetime(2026, 11, 21, 10, 0, tzinfo=UTC))
    assert text == ('<time datetime="2026-11-21T10:00:00+00:00" title="2026-11-21 11:00:00 CET">Nov 21 11:00:00</time>')
    assert RENDERER.moment(None, "–") == "–"


@pytest.mark.parametrize(
    ("count", "text"),
    [(None, ""), (0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (8 << 30, "8 GiB"), (500 << 20, "500 MiB")],
)
def test_sizes(count: int | None, text: str) -> None:
    assert size(count) == text
