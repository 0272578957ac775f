"""What counts as a mail address."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.model.mail import MailConfig, is_address, recipients

GOOD = ["alice", "alice@example.org", "a.b+c@x-y.example.org", "o'neil@example.org", "x@localhost"]
BAD = [
    "",
    "a b",
    "a,b",
    "a@b,c@d",
    "a\nBcc: b@c",
    "a\r\nX: y",
    "-oQ/tmp",
    "/etc/passwd",
    "|sh",
    "a|b",
    "a@",
    "@b",
    "a@-b",
    "a@b..c",
    "<a@b>",
    "a@b>",
    '"a b"@c',
    "a;b",
    "a:b",
    "a@[1.2.3.4]",
    "ä@b",
    "a\0b",
    "a@b\n",
    ".a@b",
    "a..b@c",
    "a" * 255,
]


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


@given(st.lists(st.text(max_size=200), max_size=5).map(tuple), st.sampled_from(["", "site.org"]))
def test_recipients_are_addresses(to: tuple[str, ...], domain: str) -> None:
    good, bad = recipients(to, MailConfig(domain=domain), "alice@login-1")
    assert all(is_address(address) for address in good)
    assert len(good) + len(bad) <= len(to)


def test_the_owner_is_known_by_the_sites_domain() -> None:
    to = ("alice@login-1", "bob", "bob", "c@else")
    site = MailConfig(domain="site.org")
    assert recipients(to, site, "alice@login-1") == (["alice@site.org", "bob@site.org", "c@else"], [])
    assert recipients(to, MailConfig(), "alice@login-1") == (["alice@login-1", "bob", "c@else"], [])


@pytest.mark.parametrize(
    ("domains", "address", "is_sent"),
    [
        (None, "a@anywhere.org", True),
        (("lab.org",), "a@lab.org", True),
        (("lab.org",), "a@LAB.ORG.", True),
        (("Lab.org",), "a@mail.lab.org", True),
        (("lab.org",), "a@notlab.org", False),
        (("lab.org",), "a@lab.org.evil.com", False),
        (("lab.org", "uni.edu"), "a@uni.edu", True),
        (("lab.org",), "a@site.org", True),  # the site's own domain
        (("lab.org",), "a", True),
        ((), "a@lab.org", False),
        ((), "a@site.org", True),
    ],
)
def test_allowed_domains(domains: tuple[str, ...] | None, address: str, is_sent: bool) -> None:
    good, bad = recipients([address], MailConfig(domain="site.org", allowed_domains=domains), "alice@login-1")
    assert (len(good), len(bad)) == (is_sent, not is_sent)


def test_no_more_than_so_many_recipients() -> None:
    config = MailConfig(max_recipients=2, allowed_domains=("b",))
    good, bad = recipients(["a@b", "x@c", "-", "a@b", "c@b", "d@b", "e@b"], config, "")
    assert good == ["a@b", "c@b"]
    assert bad == [
        "mail goes to b only; nothing is sent to x@c",
        "'-' is no mail address; nothing is sent to it",
        "a job's mail goes to 2 addresses; nothing is sent to d@b and 1 more",
    ]
