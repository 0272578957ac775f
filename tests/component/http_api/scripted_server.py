"""A server with answers written beforehand."""

from __future__ import annotations

import json
import queue
import socket
import ssl
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from hpcbatch.api.client import HttpApi
from hpcbatch.api.kubeconfig import Connection

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
