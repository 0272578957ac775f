"""URLs of API servers and their queries. urllib.parse does more, but importing it takes every command 3 ms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hpcbatch.typed import NamedTuple

_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_HIGHEST_PORT = 65535


class Url(NamedTuple):
    scheme: str
    host: str
    """Without the brackets of an IPv6 address; in lower case."""
    port: int | None
    """-1: what stands there is no port."""
    path: str


def split_url(text: str) -> Url:
    """Raises ValueError for brackets that are not closed."""
    scheme, _, rest = text.partition("://")
    for end in "#?":
        rest = rest.partition(end)[0]
    authority, slash, path = rest.partition("/")
    authority = authority.rpartition("@")[2]
    if authority.startswith("["):
        host, bracket, port = authority[1:].partition("]")
        if not bracket or (port and not port.startswith(":")):
            raise ValueError(f"{text!r} has a host in brackets that are not closed")
        port = port[1:]
    else:
        host, _, port = authority.partition(":")
    return Url(scheme.lower(), host.lower(), _port(port), f"{slash}{path}")


def _port(text: str) -> int | None:
    if not text:
        return None
    is_port = text.isascii() and text.isdigit() and len(text) < 9 and int(text) <= _HIGHEST_PORT
    return int(text) if is_port else -1


def query_string(query: Mapping[str, str] | Iterable[tuple[str, str]]) -> str:
    """`a=1&b=x%2Cy`, in UTF-8; a blank is `+`."""
    pairs = query.items() if isinstance(query, Mapping) else query
    return "&".join(f"{_encoded(name)}={_encoded(value)}" for name, value in pairs)


def _encoded(text: str) -> str:
    return "".join(
        chr(byte) if byte in _PLAIN else "+" if byte == 0x20 else f"%{byte:02X}"
        for byte in text.encode("utf-8", "surrogateescape")
    )
