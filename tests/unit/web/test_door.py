"""Who may come in."""

from __future__ import annotations

import pytest

from hpcbatch.errors import HpcBatchError
from hpcbatch.web.door import Door, RefusedRequestError


def test_a_token_is_good_once() -> None:
    door = Door()
    token = door.way_in.partition("token=")[2]
    cookie = door.enter(token)
    assert door.knows(cookie)
    with pytest.raises(RefusedRequestError) as refused:
        door.enter(token)
    assert refused.value.status == 403
    assert door.way_in.partition("token=")[2] != token


def test_the_oldest_of_many_browsers_is_forgotten() -> None:
    door = Door()
    cookies = [door.new_cookie() for _ in range(40)]
    assert not door.knows(cookies[0])
    assert door.knows(cookies[-1])


@pytest.mark.parametrize("given", ["", "x", "\udcff", "é" * 1000])
def test_nothing_else_is_known(given: str) -> None:
    door = Door()
    door.new_cookie()
    assert not door.knows(given)
    with pytest.raises(RefusedRequestError):
        door.enter(given)
    with pytest.raises(RefusedRequestError):
        door.check_form(door.new_cookie(), given, {})


def test_a_form_is_of_one_browser() -> None:
    door = Door()
    one, other = door.new_cookie(), door.new_cookie()
    door.check_form(one, door.form_token(one), {})
    with pytest.raises(RefusedRequestError):
        door.check_form(other, door.form_token(one), {})
    with pytest.raises(RefusedRequestError):
        door.check_form(one, Door().form_token(one), {})


@pytest.mark.parametrize(
    ("url", "prefix", "is_secure"),
    [
        ("https://portal.example.org/queue/", "/queue/", True),
        ("https://portal.example.org/queue", "/queue/", True),
        ("https://portal.example.org", "/", True),
        ("http://portal.example.org:8080/a/b/", "/a/b/", False),
    ],
)
def test_behind_a_proxy(url: str, prefix: str, is_secure: bool) -> None:
    door = Door(public_url=url, user="anna")
    assert (door.prefix, door.is_secure) == (prefix, is_secure)
    for host in ("portal.example.org", "portal.example.org:443", "PORTAL.example.org"):
        door.check_host(host)
    for host in ("localhost", "127.0.0.1", "evil.example", "", "portal.example.org.evil.example"):
        with pytest.raises(RefusedRequestError):
            door.check_host(host)
    door.check_proxied_user("anna")
    for name in ("", "berta", "anna, berta", "Anna"):
        with pytest.raises(RefusedRequestError):
            door.check_proxied_user(name)
    with pytest.raises(RefusedRequestError):
        door.enter(door.way_in.partition("token=")[2])


@pytest.mark.parametrize(
    ("origin", "host", "is_ours"),
    [
        ("https://portal.example.org:8443", "portal.example.org", True),  # proxies may take the port away
        ("HTTPS://portal.example.org:8443", "portal.example.org:8443", True),
        ("https://portal.example.org", "portal.example.org", False),
        ("http://portal.example.org:8443", "portal.example.org:8443", False),
        ("https://evil.example", "evil.example", False),
        ("null", "portal.example.org", False),
    ],
)
def test_forms_behind_a_proxy(origin: str, host: str, is_ours: bool) -> None:
    door = Door(public_url="https://portal.example.org:8443/queue/", user="anna")
    cookie = door.new_cookie()
    headers = {"Origin": origin, "Host": host}
    if is_ours:
        door.check_form(cookie, door.form_token(cookie), headers)
        return
    with pytest.raises(RefusedRequestError):
        door.check_form(cookie, door.form_token(cookie), headers)


@pytest.mark.parametrize("url", ["portal", "ftp://portal/", "https:///queue/", "https://portal/?a=b", "//portal/"])
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(HpcBatchError, match="is no address of a page"):
        Door(public_url=url, user="anna")
