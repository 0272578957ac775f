"""The history's API path on a cluster: an HTTPS server in the controller, behind Kubernetes' API server (APIService).

It serves only the API server, known by its front-proxy certificate, which names the user; Kubernetes decides whether
that user may do the request. Every replica of the controller serves, not only the leader.
"""

from __future__ import annotations

import base64
import json
import logging
import os
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from hpcbatch.api.names import SYSTEM_NAMESPACE
from hpcbatch.api.port import Api, Object
from hpcbatch.api.resources import API_SERVICES, CONFIGMAPS, SUBJECT_ACCESS_REVIEWS
from hpcbatch.api.server_certificate import ServerCertificate
from hpcbatch.controller.serving_certificate import shared_certificate
from hpcbatch.errors import ApiError, ForbiddenError, HpcBatchError, NotFoundError, UnauthorizedError
from hpcbatch.history import serving
from hpcbatch.history.store import HistoryStore

_LOG = logging.getLogger(__name__)
SERVICE, TLS_SECRET = "hpcbatch-history", "hpcbatch-history-tls"
API_SERVICE = f"{serving.VERSION}.{serving.GROUP}"
_AUTHENTICATION = ("extension-apiserver-authentication", "kube-system")
_REFRESH_S = 300.0
_RETRY_S = 10.0
_ALLOWED_KEPT_S = 10.0
_ALLOWED_MOST = 10_000
_BODY_LIMIT = 1 << 20


class FrontProxy(NamedTuple):
    """How the API server identifies itself and the user."""

    authority: str
    """PEM of the CA of its client certificate."""
    names: frozenset[str]
    """Common names it may have; empty: any."""
    user_headers: tuple[str, ...]
    group_headers: tuple[str, ...]
    extra_prefixes: tuple[str, ...]


class User(NamedTuple):
    name: str
    groups: tuple[str, ...]
    extra: tuple[tuple[str, tuple[str, ...]], ...]


def front_proxy(configmap: Object) -> FrontProxy:
    """Read the settings that Kubernetes publishes for extension API servers. Raises HpcBatchError."""
    data = configmap.get("data") or {}
    if not data.get("requestheader-client-ca-file"):
        raise HpcBatchError(
            f"ConfigMap {_AUTHENTICATION[1]}/{_AUTHENTICATION[0]} has no requestheader-client-ca-file: this cluster's "
            "API server has no aggregation layer"
        )
    try:
        names, users, groups, prefixes = (
            tuple(json.loads(data.get(f"requestheader-{key}") or "[]"))
            for key in ("allowed-names", "username-headers", "group-headers", "extra-headers-prefix")
        )
    except ValueError as error:
        raise HpcBatchError(f"ConfigMap {_AUTHENTICATION[1]}/{_AUTHENTICATION[0]} cannot be read: {error}") from None
    return FrontProxy(data["requestheader-client-ca-file"], frozenset(names), users, groups, prefixes)


def user_of(headers: Mapping[str, Any], proxy: FrontProxy) -> User:
    """The requesting user. `headers` is a message that has each header's values. Raises UnauthorizedError."""
    get_all: Callable[[str, list[str]], list[str]] = headers.get_all  # type: ignore[attr-defined]
    names = [value for header in proxy.user_headers for value in get_all(header, []) if value]
    if not names:
        raise UnauthorizedError(401, "Unauthorized", "Unauthorized")
    extra: dict[str, list[str]] = {}
    for prefix in proxy.extra_prefixes:
        for header in dict.fromkeys(key.lower() for key in headers):
            if header.startswith(prefix.lower()):
                extra.setdefault(unquote(header[len(prefix) :]), []).extend(get_all(header, []))
    groups = tuple(value for header in proxy.group_headers for value in get_all(header, []))
    return User(names[0], groups, tuple((key, tuple(values)) for key, values in sorted(extra.items())))


class Permissions:
    """Whether a user may do something with ended jobs: Kubernetes' decision, cached for some seconds."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._allowed: dict[tuple[User, serving.ResourceRequest], float] = {}
        self._lock = threading.Lock()

    def check(self, user: User, request: serving.ResourceRequest) -> None:
        """Raises ForbiddenError."""
        now = time.monotonic()
        with self._lock:
            if self._allowed.get((user, request), 0.0) > now:
                return
        attributes = {
            "group": serving.GROUP,
            "version": serving.VERSION,
            "resource": serving.PLURAL,
            "verb": request.verb,
            "namespace": request.namespace or "",
            "name": request.name,
        }
        review = {
            "apiVersion": SUBJECT_ACCESS_REVIEWS.api_version,
            "kind": SUBJECT_ACCESS_REVIEWS.kind,
            "spec": {
                "user": user.name,
                "groups": list(user.groups),
                "extra": {k: list(v) for k, v in user.extra},
                "resourceAttributes": attributes,
            },
        }
        status = self._api.create(SUBJECT_ACCESS_REVIEWS, review).get("status") or {}
        if not status.get("allowed"):
            raise serving.forbidden(user.name, request, str(status.get("reason") or ""))
        with self._lock:
            if len(self._allowed) >= _ALLOWED_MOST:
                self._allowed.clear()
            self._allowed[user, request] = now + _ALLOWED_KEPT_S


class HistoryServer:
    """Serves `store` on `port` of all addresses, once Kubernetes has supplied certificates and settings."""

    def __init__(self, api: Api, store: HistoryStore, port: int) -> None:
        self._api, self._store = api, store
        self._permissions = Permissions(api)
        self._context: ssl.SSLContext | None = None
        self._proxy: FrontProxy | None = None
        self._known: tuple[ServerCertificate, FrontProxy] | None = None
        self.is_served = False
        """Whether an APIService refers to this server."""
        self._stopping = threading.Event()
        self._server = _Server(port, self)
        self._threads = [
            threading.Thread(target=self._server.serve_forever, name="history-server", daemon=True),
            threading.Thread(target=self._keep_fresh, name="history-certificates", daemon=True),
        ]

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._server.shutdown()
        self._server.server_close()

    # Certificates

    def _keep_fresh(self) -> None:
        logged = ""
        while not self._stopping.is_set():
            pause_s = _REFRESH_S
            try:
                self.refresh()
                logged, self.is_served = "", True
            except (NotFoundError, ForbiddenError) as error:  # deploy/history is not installed
                self.is_served, pause_s = False, _RETRY_S
                if str(error) != logged:
                    logged = str(error)
                    _LOG.warning("ended jobs stay BatchJobs until deploy/history is applied: %s", error)
            except HpcBatchError as error:
                pause_s = _RETRY_S
                if str(error) != logged:
                    logged = str(error)
                    _LOG.warning("the history cannot be served through Kubernetes: %s", error)
            except Exception:
                pause_s = _RETRY_S
                _LOG.exception("the history cannot be served through Kubernetes")
            self._stopping.wait(pause_s)

    def refresh(self) -> None:
        """Load changed certificates, and make the APIService trust ours."""
        proxy = front_proxy(self._api.get(CONFIGMAPS, *_AUTHENTICATION))
        host = f"{SERVICE}.{SYSTEM_NAMESPACE}.svc"
        certificate = shared_certificate(self._api, TLS_SECRET, SYSTEM_NAMESPACE, host)
        if self._known != (certificate, proxy):
            self._context, self._proxy = _context(certificate, proxy), proxy
            self._known = certificate, proxy
        bundle = base64.b64encode(certificate.authority).decode("ascii")
        service = self._api.get(API_SERVICES, API_SERVICE)
        if service["spec"].get("caBundle") != bundle:
            self._api.patch(API_SERVICES, API_SERVICE, {"spec": {"caBundle": bundle}})
            _LOG.info("APIService %s trusts this server now", API_SERVICE)

    # Requests

    def secured(self, plain: socket.socket) -> ssl.SSLSocket:
        """The connection with TLS. Raises OSError."""
        if self._context is None:
            raise OSError("no certificate yet")
        return self._context.wrap_socket(plain, server_side=True)

    def reply(self, connection: ssl.SSLSocket, method: str, target: str, headers: Any, body: bytes) -> serving.Reply:
        """The reply, also to refused requests."""
        try:
            user = self._user(connection, headers)
            url = urlsplit(target)
            query = dict(reversed(parse_qsl(url.query, keep_blank_values=True)))
            accept = ", ".join(headers.get_all("Accept", []))
            request = serving.requested_resource(method, url.path)
            if request is None:
                return serving.discovery(url.path, accept)
            self._permissions.check(user, request)
            return serving.respond(self._store, request, query, accept, body)
        except ApiError as error:
            return serving.Reply(error.code, serving.status_of(error))
        except HpcBatchError as error:  # Kubernetes did not decide whether that is allowed
            unavailable = ApiError(503, "ServiceUnavailable", str(error))
            return serving.Reply(503, serving.status_of(unavailable))

    def _user(self, connection: ssl.SSLSocket, headers: Any) -> User:
        proxy = self._proxy
        certificate = connection.getpeercert() or {}
        subject: Any = certificate.get("subject", ())
        names = {value for part in subject for key, value in part if key == "commonName"}
        if proxy is None or not certificate or (proxy.names and not names & proxy.names):
            raise UnauthorizedError(401, "Unauthorized", "Unauthorized")
        return user_of(headers, proxy)


def _context(certificate: ServerCertificate, proxy: FrontProxy) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.verify_mode = ssl.CERT_OPTIONAL  # a client without one gets 401
    context.load_verify_locations(cadata=proxy.authority)
    # OpenSSL reads the key only from a file: here one in memory, never on disk
    handle = os.memfd_create("serving-certificate", os.MFD_CLOEXEC)
    try:
        os.write(handle, certificate.certificate + certificate.key)
        context.load_cert_chain(f"/proc/self/fd/{handle}")
    finally:
        os.close(handle)
    return context


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 90  # seconds: Kubernetes keeps its connections open
    server: _Server

    def _respond(self) -> None:
        length = self.headers.get("Content-Length") or "0"
        if not length.isdigit() or int(length) > _BODY_LIMIT or "chunked" in self.headers.get("Transfer-Encoding", ""):
            self.close_connection = True
            error = ApiError(413, "RequestEntityTooLarge", "Request entity too large")
            reply = serving.Reply(413, serving.status_of(error))
        else:
            body = self.rfile.read(int(length))
            connection: Any = self.connection
            try:
                reply = self.server.history.reply(connection, self.command, self.path, self.headers, body)
            except Exception as error:
                _LOG.exception("%s %s", self.command, self.path)
                internal = ApiError(500, "InternalError", f"Internal error occurred: {type(error).__name__}: {error}")
                reply = serving.Reply(500, serving.status_of(internal))
        content = reply.body
        self.send_response(reply.code)
        self.send_header("Content-Type", reply.content_type)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-cache, private")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = _respond  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:
        """Not logged: Kubernetes checks every few seconds."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    address_family = socket.AF_INET6 if socket.has_dualstack_ipv6() else socket.AF_INET

    def __init__(self, port: int, history: HistoryServer) -> None:
        self.history = history
        try:
            super().__init__(("", port), _Handler)
        except OSError as error:
            raise HpcBatchError(f"port {port} for the history cannot be opened: {error.strerror}") from None

    def server_bind(self) -> None:
        if self.address_family == socket.AF_INET6:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        TCPServer.server_bind(self)  # HTTPServer's own looks this machine's name up in the DNS
        self.server_name, self.server_port = "", self.server_address[1]

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Runs in the connection's own thread, so that a handshake delays nobody else."""
        request.settimeout(10)
        secured = self.history.secured(request)
        try:
            super().finish_request(secured, client_address)
        finally:
            secured.close()

    def handle_error(self, request: object, client_address: object) -> None:
        """Not logged: connections may break, or not use TLS."""
