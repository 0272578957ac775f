"""Connections to an API server: TCP, TLS, proxy, credentials; and the error messages of broken ones."""

from __future__ import annotations

import base64
import os
import select
import socket
import ssl
import time
from collections.abc import Iterable, Mapping

from hpcbatch.api.http import BrokenResponseError, HttpConnection, Response
from hpcbatch.api.kubeconfig import Connection
from hpcbatch.api.url import split_url
from hpcbatch.errors import HpcBatchError, UnreachableError
from hpcbatch.typed import Any

STATUS_HINT = ": is the cluster up? `hpcbatch status` tells"
"""Hint for unreachable servers; that command itself omits it."""
# OpenSSL's X509_V_ERR_…
_OF_ANOTHER_TIME = frozenset({9, 10})  # CERT_NOT_YET_VALID, CERT_HAS_EXPIRED
_OF_ANOTHER_AUTHORITY = frozenset({7, 18, 19, 20, 21})  # CERT_SIGNATURE_FAILURE, self-signed ones, UNABLE_TO_…


class LostError(UnreachableError):
    """The connection broke after the request was sent: it may have been done, or not."""


class Wire:
    """One open connection to the API server, over TLS or plain."""

    def __init__(self, sock: socket.socket, host: str) -> None:
        self._sock = sock
        self._http = HttpConnection(sock, host)
        self.is_usable = True
        """Whether another request may follow; not after `Connection: close`."""

    def request(self, method: str, target: str, headers: Mapping[str, str], body: bytes | None = None) -> Response:
        response = self._http.request(method, target, headers, body)
        self.is_usable = response.keeps_connection
        return response

    def send_ahead(self, targets: Iterable[str], headers: Mapping[str, str]) -> None:
        """As that of HttpConnection."""
        self._http.send_ahead(targets, headers)

    def receive(self) -> Response:
        """The next response to `send_ahead`."""
        response = self._http.receive()
        self.is_usable = response.keeps_connection
        return response

    def detach(self) -> socket.socket:
        """The connection itself, for another protocol."""
        return self._sock

    def settimeout(self, timeout_s: float | None) -> None:
        self._sock.settimeout(timeout_s)

    def is_stale(self) -> bool:
        """Whether the server has closed it, or sent unrequested data: do not use it again."""
        if not self.is_usable:
            return True
        poll = select.poll()
        poll.register(self._sock, select.POLLIN)
        return bool(poll.poll(0))

    def cut(self) -> None:
        """Wake a reading thread; call it from another one. The reader closes."""
        try:
            # Not ssl's own shutdown(), which removes the TLS state while the reader uses it.
            socket.socket.shutdown(self._sock, socket.SHUT_RDWR)
        except OSError:
            pass  # it is closed already

    def close(self) -> None:
        self._http.close()


class Transport:
    """Makes connections to one server as one user."""

    def __init__(self, connection: Connection, *, connect_timeout_s: float) -> None:
        self.connection = connection
        self._connect_timeout_s = connect_timeout_s
        try:
            url = split_url(connection.server if "://" in connection.server else f"https://{connection.server}")
        except ValueError:
            raise HpcBatchError(f"the kubeconfig's server {connection.server!r} is not an https URL") from None
        if url.scheme not in {"https", "http"} or not url.host:
            raise HpcBatchError(f"the kubeconfig's server {connection.server!r} is not an https URL")
        if url.port == -1:
            raise HpcBatchError(f"the kubeconfig's server {connection.server!r} has a bad port")
        self.port = url.port or (443 if url.scheme == "https" else 80)
        self.host = url.host
        try:
            name = _ascii(self.host).decode()
        except UnicodeError:
            raise HpcBatchError(f"the kubeconfig's server {connection.server!r} has no host that may be") from None
        self._authority = f"[{name}]:{self.port}" if ":" in name else f"{name}:{self.port}"
        self.prefix = url.path.rstrip("/")
        self.proxy = _proxy(connection.proxy_url)
        self._secure = url.scheme == "https"
        self._context: ssl.SSLContext | None = None

    def open(self) -> Wire:
        """A new connection, ready to use. Raises UnreachableError."""
        sock: socket.socket | None = None
        try:
            # A name as bytes is used as it is; a str would first load the tables of international names.
            host, port = self.proxy or (self.host, self.port)
            address: Any = (_ascii(host), port)
            sock = socket.create_connection(address, timeout=self._connect_timeout_s)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            # A watch is silent for minutes: a server that vanished silently is noticed after 30 + 3 * 10 s.
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 30)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 10)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3)
            if self.proxy:
                _through_proxy(sock, self._authority)
            if (context := self._tls()) is not None:
                name = self.connection.tls_server_name or self.host
                sock = context.wrap_socket(sock, server_hostname=_ascii(name))
            return Wire(sock, self._authority)
        except (OSError, UnicodeError) as error:
            if sock is not None:
                sock.close()
            raise UnreachableError(self.explain(error, self._connect_timeout_s)) from None

    def _tls(self) -> ssl.SSLContext | None:
        if self._secure and self._context is None:
            self._context = _context(self.connection)
        return self._context

    @property
    def websocket_url(self) -> str:
        return f"{'wss' if self._secure else 'ws'}://{self._authority}{self.prefix}"

    def authorization(self) -> str | None:
        """The Authorization header. Never over plain http, where anyone could read it (kubectl's rule too)."""
        connection = self.connection
        if not self._secure:
            return None
        if connection.token_file:
            try:
                with open(connection.token_file) as file:
                    return _bearer(file.read().strip())
            except OSError as error:
                raise HpcBatchError(f"cannot read the token {connection.token_file}: {error.strerror}") from None
            except UnicodeError:
                raise HpcBatchError(f"the token in {connection.token_file} is not text") from None
        if connection.token:
            return _bearer(str(connection.token))
        if connection.username:
            pair = f"{connection.username}:{connection.password or ''}".encode()
            return f"Basic {base64.b64encode(pair).decode('ascii')}"
        return None

    def lost(self, error: BaseException, waited_s: float | None = None) -> LostError:
        return LostError(self.explain(error, waited_s))

    def explain(self, error: BaseException, waited_s: float | None = None) -> str:
        """The meaning of a broken connection for a user, in one line. `waited_s` is how long it was silent."""
        server = self.connection.server
        if isinstance(error, ssl.SSLCertVerificationError):
            text = f"the certificate of {server} is not one to trust: {error.verify_message}"
            if error.verify_code in _OF_ANOTHER_TIME:
                return f"{text}; this machine's clock says {_now()}"
            is_unknown = error.verify_code in _OF_ANOTHER_AUTHORITY
            return f"{text}; the kubeconfig has another certificate-authority" if is_unknown else text
        if isinstance(error, ssl.SSLError) and error.reason == "WRONG_VERSION_NUMBER":
            return f"what answers at {server} does not speak TLS: is the kubeconfig's server right?"
        if isinstance(error, ConnectionRefusedError):
            return f"nothing answers at {server}{STATUS_HINT}"
        if isinstance(error, TimeoutError):
            return f"{server} does not answer" + (f": gave up after {waited_s:g} seconds" if waited_s else "")
        if isinstance(error, socket.gaierror):
            return f"the host of {server} is not known ({error.strerror})"
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
        return f"the connection to {server} broke: {reason.splitlines()[0]}"


def _bearer(token: str) -> str:
    if not (token.isascii() and token.isprintable()):
        raise HpcBatchError("the kubeconfig's token has characters that no token has: expected plain ASCII on one line")
    return f"Bearer {token}"


def _now() -> str:
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())


def _ascii(host: str) -> bytes:
    """The host's name in ASCII; an international one in its `xn--` form."""
    return host.encode("ascii") if host.isascii() else host.encode("idna")


def _through_proxy(sock: socket.socket, authority: str) -> None:
    response = HttpConnection(sock, authority).request("CONNECT", authority, {})
    if response.status != 200:
        raise BrokenResponseError(f"the proxy answered {response.status}")


def _context(connection: Connection) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        if not connection.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        elif connection.ca_pem is not None:
            context.load_verify_locations(cadata=connection.ca_pem)
        else:
            context.load_default_certs()
        if connection.client_cert_pem and connection.client_key_pem:
            _load_chain(context, connection.client_cert_pem + b"\n" + connection.client_key_pem)
    except (ssl.SSLError, ValueError) as error:
        raise HpcBatchError(f"a certificate or key of the kubeconfig cannot be read: {error}") from None
    return context


def _load_chain(context: ssl.SSLContext, pem: bytes) -> None:
    """OpenSSL reads the key only from a file: here one in memory, never on disk."""
    handle = os.memfd_create("client-certificate", os.MFD_CLOEXEC)
    try:
        os.write(handle, pem)
        context.load_cert_chain(f"/proc/self/fd/{handle}")
    finally:
        os.close(handle)


def _proxy(url: str | None) -> tuple[str, int] | None:
    if not url:
        return None
    parts = split_url(url)
    if parts.scheme != "http" or not parts.host or parts.port == -1:
        raise HpcBatchError(f"the kubeconfig's proxy-url {url!r} is not supported: only http proxies are")
    return parts.host, parts.port or 80
