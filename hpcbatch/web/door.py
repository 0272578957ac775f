"""Who may come in: the link, the cookie, the hosts by which the page is called, and the forms that may change jobs.

The page has one user, whose kubeconfig it uses. Others on the same machine can connect to its port, and pages of
others in the user's browser can send requests to it. Against the first stand a link that lets in one browser once and
a cookie that no script reads. Browsers send cookies to every port of a host, so that a server of somebody else on the
same login node would get it: the cookie is bound to a path that only this process's links contain. Against the second
stand SameSite, a token in each form, and the Host header, which a page that has its name point here cannot choose.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Collection, Mapping
from hashlib import sha256
from urllib.parse import urlsplit

from hpcbatch.errors import HpcBatchError

COOKIE = "hpcbatch-web"
USER_HEADER = "X-Remote-User"
ENTRY = "enter"
LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Server": "hpcbatch",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
JOBS_PAGE_POLICY = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
"""For a page that a job has written: it shows itself, runs nothing, and is no page of ours to the browser."""
_MOST_BROWSERS = 32


class RefusedRequestError(HpcBatchError):
    """The request is not answered. `status` is HTTP's."""

    def __init__(self, status: int, text: str) -> None:
        self.status = status
        super().__init__(text)


class Door:
    """Of one process. `public_url` is the address that a site's proxy gives the page, with its path; then the proxy
    says in a header who has logged in, and `user` is the one whom it must name. Without it the page is on loopback.
    """

    def __init__(self, *, public_url: str = "", user: str = "") -> None:
        self.is_proxied = bool(public_url)
        parts = urlsplit(public_url)
        if self.is_proxied and (parts.scheme not in {"http", "https"} or not parts.hostname or parts.query):
            raise HpcBatchError(f"{public_url!r} is no address of a page: expected https://HOST/PATH/")
        path = parts.path if self.is_proxied else f"/{secrets.token_urlsafe(9)}"
        self.prefix = f"{path.rstrip('/')}/"
        self.is_secure = parts.scheme == "https"
        self._origin = f"{parts.scheme}://{parts.netloc}".lower() if self.is_proxied else ""
        self._hosts: Collection[str] = frozenset({parts.hostname or ""}) if self.is_proxied else LOOPBACK
        self._user = user
        self._key = secrets.token_bytes(32)
        self._browsers: dict[str, None] = {}
        self._token = secrets.token_urlsafe(32)

    # Coming in

    @property
    def way_in(self) -> str:
        """Path and query of the link that lets in the next browser."""
        return f"{self.prefix}{ENTRY}?token={self._token}"

    def enter(self, token: str) -> str:
        """The cookie for who has the link's token, which is worth nothing from then on. Raises RefusedRequestError."""
        if self.is_proxied or not _is_same(token, self._token):
            raise RefusedRequestError(
                403, "This link has been used, or is another page's: take the newest one printed."
            )
        self._token = secrets.token_urlsafe(32)
        return self.new_cookie()

    def new_cookie(self) -> str:
        cookie = secrets.token_urlsafe(32)
        self._browsers[cookie] = None
        while len(self._browsers) > _MOST_BROWSERS:
            del self._browsers[next(iter(self._browsers))]
        return cookie

    def knows(self, cookie: str) -> bool:
        return any(_is_same(cookie, known) for known in self._browsers)

    # Each request

    def check_host(self, host: str) -> None:
        """Raise RefusedRequestError unless the page was called by a name of its own, on whatever port."""
        name = host.lower()
        if not name.endswith("]"):
            before, colon, port = name.rpartition(":")
            name = before if colon and port.isdigit() else name
        if name not in self._hosts:
            raise RefusedRequestError(421, "This page is not to be called by that host name.")

    def check_proxied_user(self, named: str) -> None:
        """Raise RefusedRequestError unless the proxy let in the user whose page this is."""
        if self.is_proxied and named != self._user:
            raise RefusedRequestError(403, f"This page is {self._user}'s, and the proxy let in somebody else.")

    def form_token(self, cookie: str) -> str:
        """What the forms of that browser carry."""
        return hmac.new(self._key, cookie.encode(), sha256).hexdigest()

    def check_form(self, cookie: str, token: str, headers: Mapping[str, str]) -> None:
        """Raise RefusedRequestError unless a page of ours in that browser sent the form."""
        if headers.get("Sec-Fetch-Site", "same-origin") not in {"same-origin", "none"}:
            raise RefusedRequestError(403, "This form was sent by a page of somebody else; nothing was changed.")
        origin = headers.get("Origin")
        own = self._origin or f"http://{headers.get('Host', '')}".lower()
        if origin is not None and origin.lower() != own:
            raise RefusedRequestError(403, "This form was sent by a page of somebody else; nothing was changed.")
        if not _is_same(token, self.form_token(cookie)):
            raise RefusedRequestError(
                403, "This form is an old one; nothing was changed. Reload the page and try again."
            )


def _is_same(given: str, secret: str) -> bool:
    """Takes as long whatever is given, which may be any bytes of a header."""
    return hmac.compare_digest(given.encode(errors="replace"), secret.encode())
