"""What counts as a mail address."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.model.mail import is_address

GOOD = ["alice", "alice@example.org", "a.b+c@x-y.example.org", "o'neil@example.org", "x@localhost"]
BAD = [
    "", "a b", "a,b", "a@b,c@d", "a\nBcc: b@c", "a\r\nX: y", "-oQ/tmp", "/etc/passwd", "|sh", "a|b", "a@", "@b", "a@-b",
    "a@b..c", "<a@b>", "a@b>", '"a b"@c', "a;b", "a:b", "a@[1.2.3.4]", "ä@b", "a\0b", "a@b\n", ".a@b", "a..b@c",
    "a" * 255,
]  # fmt: skip


@pytest.mark.parametrize("text", GOOD)
def test_address(text: str) -> None:
    assert is_address(text)


@pytest.mark.parametrize("text", BAD, ids=repr)
def test_no_address(text: str) -> None:
    assert not is_address(text)


@given(st.text(max_size=30))
def test_nothing_that_ends_a_header_or_begins_an_option(text: str) -> None:
    if is_address(text):
        assert text.isascii()
        assert text.isprintable()
        assert not set(text) & set(' ,;:<>()[]"\\|')
        assert text[0] not in "-/"
