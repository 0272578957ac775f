"""The HTTP client against a small server that answers, breaks and stalls on demand.

What a real API server answers is tested with the engine's own server; here are the faults that it does not have.
"""

from __future__ import annotations

import json
import queue
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from hpcbatch import errors
from hpcbatch.api.client import HttpApi, status_error
from hpcbatch.api.kubeconfig import Connection
from hpcbatch.api.resources import BATCHJOBS, NODES, PODS

Answer = Callable[[BaseHTTPRequestHandler], None]


class Server:
    """Answers each request with the next of the `answers` it was given, and keeps what was requested."""

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self.answers: queue.Queue[Answer] = queue.Queue()
        self.seen: list[tuple[str, str, dict[str, str], Any]] = []
        self.peers: set[Any] = set()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                outer.peers.add(self.client_address)
                outer.seen.append((self.command, self.path, dict(self.headers), json.loads(body) if body else None))
                outer.answers.get_nowait()(self)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any  # noqa: N815  http.server's names

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        if context is not None:
            self.http.socket = context.wrap_socket(self.http.socket, server_side=True)
        self.scheme = "http" if context is None else "https"
        threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.http.server_address[1]}"

    def api(self, **options: Any) -> HttpApi:
        return HttpApi(Connection(server=self.url), **options)

    def close(self) -> None:
        self.http.shutdown()
        self.http.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


def says(body: Any, code: int = 200, **headers: str) -> Answer:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        handler.send_response(code)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)

    return answer


def waited(event: threading.Event) -> None:
    event.wait(10)


def drops(handler: BaseHTTPRequestHandler) -> None:
    """Break the connection without an answer."""
    handler.connection.shutdown(socket.SHUT_RDWR)
    handler.close_connection = True


def status(code: int, reason: str, message: str = "why") -> dict[str, Any]:
    return {"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message, "details": {}}


def streams(*chunks: bytes, then: Callable[[BaseHTTPRequestHandler], None] | None = None) -> Answer:
    """Send chunks of a chunked answer; `then` decides how it ends (None: as it should)."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        for chunk in chunks:
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
            handler.wfile.flush()
        if then is None:
            handler.wfile.write(b"0\r\n\r\n")
        else:
            then(handler)

    return answer


def event(kind: str, name: str) -> bytes:
    return json.dumps({"type": kind, "object": {"metadata": {"name": name}}}).encode() + b"\n"


def test_requests_are_what_kubernetes_expects(server: Server) -> None:
    api = server.api()
    for _ in range(5):
        server.answers.put(says({"kind": "BatchJob", "metadata": {"name": "j"}}))
    api.get(BATCHJOBS, "j", "ns")
    api.create(BATCHJOBS, {"metadata": {"name": "j"}}, "ns")
    api.replace(BATCHJOBS, {"metadata": {"name": "j"}}, "ns", subresource="status")
    api.patch(BATCHJOBS, "j", {"spec": {"hold": True}}, "ns")
    api.delete(BATCHJOBS, "j", "ns", uid="u", grace_period_s=0, propagation="Foreground")
    base = "/apis/hpcbatch.io/v1alpha1/namespaces/ns/batchjobs"
    assert [(method, path) for method, path, _, _ in server.seen] == [
        ("GET", f"{base}/j"),
        ("POST", base),
        ("PUT", f"{base}/j/status"),
        ("PATCH", f"{base}/j"),
        ("DELETE", f"{base}/j"),
    ]
    assert [headers.get("Content-Type") for _, _, headers, _ in server.seen] == [
        None,
        "application/json",
        "application/json",
        "application/merge-patch+json",
        "application/json",
    ]
    assert server.seen[4][3]["preconditions"] == {"uid": "u"}
    assert server.seen[4][3]["gracePeriodSeconds"] == 0
    assert len(server.peers) == 1, "one connection is kept alive"


def test_list_follows_pages_and_completes_items(server: Server) -> None:
    server.answers.put(says({"metadata": {"resourceVersion": "7", "continue": "t&1"}, "items": [{"metadata": {}}]}))
    server.answers.put(says({"metadata": {"resourceVersion": "7"}, "items": [{"metadata": {}, "kind": "Pod"}]}))
    found = server.api().list(PODS, labels="a=b,c!=d", fields="status.phase!=Failed")
    assert [(item["kind"], item["apiVersion"]) for item in found.items] == [("Pod", "v1"), ("Pod", "v1")]
    assert found.resource_version == "7"
    assert server.seen[0][1] == (
        "/api/v1/pods?labelSelector=a%3Db%2Cc%21%3Dd&fieldSelector=status.phase%21%3DFailed&limit=500"
    )
    assert server.seen[1][1].endswith("&limit=500&continue=t%261")


def test_list_begins_again_when_a_page_is_too_old(server: Server) -> None:
    server.answers.put(says({"metadata": {"resourceVersion": "7", "continue": "t"}, "items": [{"n": 1}]}))
    server.answers.put(says(status(410, "Expired"), 410))
    server.answers.put(says({"metadata": {"resourceVersion": "9"}, "items": [{"n": 2}]}))
    found = server.api().list(PODS)
    assert [item["n"] for item in found.items] == [2]
    assert found.resource_version == "9"
    assert "limit" not in server.seen[2][1]


def test_table_of_all_namespaces_reads_names_from_metadata(server: Server) -> None:
    columns = [{"name": "Name", "type": "string"}, {"name": "Id", "type": "string"}]
    row = {"cells": ["j", "12"], "object": {"metadata": {"name": "j", "namespace": "bob"}}}
    server.answers.put(says({"kind": "Table", "metadata": {}, "columnDefinitions": columns, "rows": [row]}))
    names, rows = server.api().table(BATCHJOBS, fields="status.jobId=12")
    assert (names, rows) == (["Name", "Id"], [(["j", "12"], "bob", "j")])
    assert "as=Table" in server.seen[0][2]["Accept"]
    assert "includeObject=Metadata" in server.seen[0][1]


def test_table_of_one_namespace_needs_no_metadata(server: Server) -> None:
    columns = [{"name": "Name", "type": "string"}]
    page = {"kind": "Table", "columnDefinitions": columns, "rows": [{"cells": ["j"], "object": None}]}
    server.answers.put(says({**page, "metadata": {"continue": "t"}}))
    server.answers.put(says({**page, "metadata": {}, "columnDefinitions": None}))
    assert server.api().table(BATCHJOBS, "bob") == (["Name"], [(["j"], "bob", "j")] * 2)
    assert "includeObject=None" in server.seen[0][1]


@pytest.mark.parametrize(
    ("code", "reason", "expected"),
    [
        (401, "Unauthorized", errors.UnauthorizedError),
        (403, "Forbidden", errors.ForbiddenError),
        (404, "NotFound", errors.NotFoundError),
        (409, "Conflict", errors.ConflictError),
        (409, "AlreadyExists", errors.AlreadyExistsError),
        (410, "Expired", errors.GoneError),
        (422, "Invalid", errors.InvalidError),
        (500, "InternalError", errors.ApiError),
        (400, "", errors.ApiError),
    ],
)
def test_status_becomes_its_error(server: Server, code: int, reason: str, expected: type[errors.ApiError]) -> None:
    server.answers.put(says(status(code, reason), code))
    with pytest.raises(expected) as caught:
        server.api().create(NODES, {})
    assert type(caught.value) is expected
    assert (caught.value.code, caught.value.reason, str(caught.value)) == (code, reason, "why")


def test_an_error_that_is_no_status_is_quoted_in_one_line() -> None:
    error = status_error(502, b"<html>\n bad gateway\n</html>")
    assert str(error) == "the server answered 502: <html> bad gateway </html>"


def test_answers_that_are_not_json_are_an_error(server: Server) -> None:
    server.answers.put(says(b"<html>"))
    with pytest.raises(errors.UnreachableError, match="not JSON"):
        server.api().get(NODES, "n")


def test_get_is_tried_again_on_a_new_connection(server: Server) -> None:
    server.answers.put(drops)
    server.answers.put(says({"n": 1}))
    assert server.api().get(NODES, "n") == {"n": 1}
    assert len(server.peers) == 2


def test_create_is_never_sent_twice(server: Server) -> None:
    server.answers.put(drops)
    server.answers.put(says({"n": 1}))
    with pytest.raises(errors.UnreachableError, match="broke"):
        server.api().create(NODES, {})
    assert len(server.seen) == 1


def test_a_connection_that_the_server_closed_meanwhile_is_not_used(server: Server) -> None:
    def closes(handler: BaseHTTPRequestHandler) -> None:
        says({})(handler)
        drops(handler)

    server.answers.put(closes)
    server.answers.put(says({"n": 2}))
    api = server.api()
    api.get(NODES, "n")
    wire = api._kept.wire
    deadline = time.monotonic() + 5
    while not wire.is_stale():
        assert time.monotonic() < deadline
    assert api.create(NODES, {}) == {"n": 2}


def test_connection_close_is_obeyed(server: Server) -> None:
    server.answers.put(says({"n": 1}, Connection="close"))
    server.answers.put(says({"n": 2}))
    api = server.api()
    assert [api.get(NODES, "n")["n"], api.get(NODES, "n")["n"]] == [1, 2]


def test_a_busy_server_is_asked_again(server: Server) -> None:
    server.answers.put(says(status(429, "TooManyRequests"), 429, Retry_After="0"))
    server.answers.put(says({"n": 1}))
    assert server.api().create(NODES, {}) == {"n": 1}


def test_a_server_that_does_not_answer_is_unreachable(server: Server) -> None:
    release = threading.Event()
    server.answers.put(lambda handler: (waited(release), drops(handler))[1])
    with pytest.raises(errors.UnreachableError, match="does not answer"):
        server.api(response_timeout_s=0.1).get(NODES, "n")
    release.set()


def test_no_server_is_unreachable() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"https://127.0.0.1:{unused.getsockname()[1]}"
    with pytest.raises(errors.UnreachableError, match="nothing answers at"):
        HttpApi(Connection(server=url)).get(NODES, "n")


@pytest.mark.parametrize("url", ["ftp://x", "https://", "https://x:port"])
def test_bad_urls_are_refused(url: str) -> None:
    with pytest.raises(errors.HpcBatchError, match="kubeconfig's server"):
        HttpApi(Connection(server=url))


def test_watch_gives_events_cut_anywhere_into_chunks(server: Server) -> None:
    text = event("ADDED", "a") + b"\n" + event("MODIFIED", "b")
    server.answers.put(streams(text[:10], text[10:70], text[70:]))
    watch = server.api().watch(PODS, "ns", resource_version="5", fields="metadata.name=a", timeout_s=30)
    assert [(e.type, e.object["metadata"]["name"]) for e in watch] == [("ADDED", "a"), ("MODIFIED", "b")]
    assert server.seen[0][1] == (
        "/api/v1/namespaces/ns/pods?fieldSelector=metadata.name%3Da&watch=true&allowWatchBookmarks=true"
        "&resourceVersion=5&timeoutSeconds=30"
    )


def test_watch_raises_what_the_server_says(server: Server) -> None:
    line = json.dumps({"type": "ERROR", "object": status(410, "Expired", "too old")}).encode() + b"\n"
    server.answers.put(streams(line))
    server.answers.put(says(status(403, "Forbidden"), 403))
    with pytest.raises(errors.GoneError, match="too old"):
        list(server.api().watch(PODS))
    with pytest.raises(errors.ForbiddenError):
        server.api().watch(PODS)


def test_watch_that_breaks_is_unreachable(server: Server) -> None:
    server.answers.put(streams(event("ADDED", "a"), then=drops))
    seen: list[Any] = []
    with pytest.raises(errors.UnreachableError, match="broke"):
        seen.extend(server.api().watch(PODS))


def test_watch_ends_at_its_time_limit_although_the_server_does_not(server: Server) -> None:
    release = threading.Event()
    server.answers.put(streams(event("ADDED", "a"), then=lambda _: waited(release)))
    begin = time.monotonic()
    assert len(list(server.api().watch(PODS, timeout_s=0.2))) == 1
    assert time.monotonic() - begin < 5
    release.set()


@pytest.mark.parametrize("head", [{}, {"Connection": "close"}], ids=["alive", "closing"])
def test_watch_is_closed_from_another_thread(server: Server, head: dict[str, str]) -> None:
    release = threading.Event()

    def holds(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        for name, value in head.items():
            handler.send_header(name, value)
        handler.end_headers()
        line = event("ADDED", "a")
        handler.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
        handler.wfile.flush()
        release.wait(10)

    server.answers.put(holds)
    watch = server.api().watch(PODS)
    arrived = threading.Event()
    events = []

    def read() -> None:
        for item in watch:
            events.append(item)
            arrived.set()

    reader = threading.Thread(target=read)
    reader.start()
    assert arrived.wait(60)
    watch.close()
    watch.close()
    reader.join(5)
    assert not reader.is_alive()
    assert len(events) == 1
    release.set()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Certificate and key of 127.0.0.1 in one file, signed by itself."""
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=test"
    command += f" -addext subjectAltName=IP:127.0.0.1 -keyout {path} -out {path}.crt"
    subprocess.run(command.split(), check=True, capture_output=True)
    path.write_text(path.read_text() + Path(f"{path}.crt").read_text())
    return path


@pytest.fixture
def secure(certificate: Path) -> Iterator[Server]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    context.load_verify_locations(certificate)
    context.verify_mode = ssl.CERT_OPTIONAL
    server = Server(context)
    yield server
    server.close()


def test_tls_with_token_and_client_certificate(secure: Server, certificate: Path) -> None:
    given: list[Any] = []

    def keeps_certificate(handler: BaseHTTPRequestHandler) -> None:
        given.append(handler.connection.getpeercert())
        says({"n": 1})(handler)

    secure.answers.put(keeps_certificate)
    pem = certificate.read_bytes()
    api = HttpApi(
        Connection(
            server=secure.url,
            ca_pem=pem.decode(),
            token="t",
            client_cert_pem=pem,
            client_key_pem=pem[: pem.index(b"-----BEGIN CERT")],
        )
    )
    assert api.get(NODES, "n") == {"n": 1}
    assert secure.seen[0][2]["Authorization"] == "Bearer t"
    assert given[0]["subject"]


def test_tokens_in_files_are_read_for_each_request(secure: Server, certificate: Path, tmp_path: Path) -> None:
    secure.answers.put(says({}))
    secure.answers.put(says({}))
    token = tmp_path / "token"
    api = HttpApi(Connection(server=secure.url, ca_pem=certificate.read_text(), token_file=str(token)))
    for text in ("old", "new"):
        token.write_text(text + "\n")
        api.get(NODES, "n")
    assert [headers["Authorization"] for _, _, headers, _ in secure.seen] == ["Bearer old", "Bearer new"]


def test_watch_over_tls_is_closed_from_another_thread(secure: Server, certificate: Path) -> None:
    release = threading.Event()
    secure.answers.put(streams(event("ADDED", "a"), then=lambda _: waited(release)))
    api = HttpApi(Connection(server=secure.url, ca_pem=certificate.read_text()))
    watch = api.watch(PODS)
    arrived = threading.Event()
    reader = threading.Thread(target=lambda: [arrived.set() for _ in watch])
    reader.start()
    assert arrived.wait(60)
    watch.close()
    reader.join(5)
    assert not reader.is_alive()
    release.set()


def test_an_unknown_certificate_is_refused_in_one_line(secure: Server) -> None:
    with pytest.raises(errors.UnreachableError, match="not one to trust") as caught:
        HttpApi(Connection(server=secure.url)).get(NODES, "n")
    assert "\n" not in str(caught.value)


def test_verification_can_be_switched_off(secure: Server) -> None:
    secure.answers.put(says({"n": 1}))
    assert HttpApi(Connection(server=secure.url, verify=False)).get(NODES, "n") == {"n": 1}


def test_no_token_goes_over_plain_http(server: Server) -> None:
    server.answers.put(says({}))
    HttpApi(Connection(server=server.url, token="t")).get(NODES, "n")
    assert "Authorization" not in server.seen[0][2]


def test_each_thread_has_its_own_connection(server: Server) -> None:
    server.answers.put(says({}))
    server.answers.put(says({}))
    api = server.api()
    api.get(NODES, "n")
    thread = threading.Thread(target=api.get, args=(NODES, "n"))
    thread.start()
    thread.join(5)
    assert len(server.peers) == 2


class Proxy:
    """An HTTP proxy for one connection: answers CONNECT with `status`, and then passes everything on."""

    def __init__(self, status: bytes) -> None:
        self._status = status
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.asked = b""
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def _serve(self) -> None:
        client, _ = self._listener.accept()
        while b"\r\n\r\n" not in self.asked:
            self.asked += client.recv(4096)
        client.sendall(b"HTTP/1.1 " + self._status + b"\r\n\r\n")
        host, _, port = self.asked.split(b" ")[1].decode().partition(":")
        server = socket.create_connection((host, int(port)))
        threading.Thread(target=self._pass_on, args=(server, client), daemon=True).start()
        self._pass_on(client, server)

    @staticmethod
    def _pass_on(source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def close(self) -> None:
        self._listener.close()


def test_a_proxy_is_gone_through(secure: Server, certificate: Path) -> None:
    secure.answers.put(says({"n": 1}))
    proxy = Proxy(b"200 OK")
    connection = Connection(server=secure.url, ca_pem=certificate.read_text(), proxy_url=proxy.url, token="t")
    assert HttpApi(connection).get(NODES, "n") == {"n": 1}
    authority = secure.url.removeprefix("https://").encode()
    assert proxy.asked == b"CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (authority, authority)
    proxy.close()


def test_a_proxy_that_refuses_is_named(secure: Server, certificate: Path) -> None:
    proxy = Proxy(b"407 Proxy Authentication Required")
    connection = Connection(server=secure.url, ca_pem=certificate.read_text(), proxy_url=proxy.url)
    with pytest.raises(errors.UnreachableError, match="the proxy answered 407"):
        HttpApi(connection).get(NODES, "n")
    proxy.close()
