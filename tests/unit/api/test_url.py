"""URLs, beside those of the standard library."""

from __future__ import annotations

from urllib.parse import urlencode, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.api.url import Url, query_string, split_url


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://h", Url("https", "h", None, "")),
        ("https://H:6443/", Url("https", "h", 6443, "/")),
        ("HTTP://[::1]:80/a/b?q#f", Url("http", "::1", 80, "/a/b")),
        ("https://[::1]", Url("https", "::1", None, "")),
        ("https://user:pw@h:1/x", Url("https", "h", 1, "/x")),
        ("https://", Url("https", "", None, "")),
        ("https://h:", Url("https", "h", None, "")),
        ("https://h:99999", Url("https", "h", -1, "")),
        ("https://h:x", Url("https", "h", -1, "")),
        ("h", Url("h", "", None, "")),
    ],
)
def test_parts(text: str, expected: Url) -> None:
    assert split_url(text) == expected
    if expected.port != -1 and "://" in text:
        other = urlsplit(text)
        assert (other.scheme, other.hostname or "", other.port, other.path) == expected


@pytest.mark.parametrize("text", ["https://[::1", "https://[::1]x"])
def test_brackets_that_are_not_closed(text: str) -> None:
    with pytest.raises(ValueError, match="brackets"):
        split_url(text)


@given(st.dictionaries(st.text(), st.text()))
def test_queries(pairs: dict[str, str]) -> None:
    try:
        expected = urlencode(pairs)
    except UnicodeEncodeError:
        return
    assert query_string(pairs) == expected
