"""The endpoints for kubelet and Prometheus: /livez, /readyz, /metrics, over plain HTTP."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer

from prometheus_client import CollectorRegistry, Metric, ProcessCollector, generate_latest
from prometheus_client.registry import Collector

from hpcbatch.errors import HpcBatchError

Check = Callable[[], str]
"""Returns what is wrong, in one line; "" if nothing is."""


class HealthServer:
    """Serves `port` of all addresses; 0 takes any free one. Raises HpcBatchError if the port is taken."""

    def __init__(self, port: int, *, live: Check, ready: Check, metrics: Callable[[], Iterable[Metric]]) -> None:
        registry = CollectorRegistry()
        registry.register(_Collected(metrics))
        ProcessCollector(registry=registry)
        pages: dict[str, Callable[[], tuple[int, str]]] = {
            "/livez": _page(live),
            "/readyz": _page(ready),
            "/metrics": lambda: (200, generate_latest(registry).decode()),
        }

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 10  # seconds: a silent client blocks no thread

            def do_GET(self) -> None:
                page = pages.get(self.path.partition("?")[0])
                code, text = (404, "not found\n") if page is None else page()
                body = text.encode()
                self.send_response(code)
                self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """Not logged: probes come every few seconds."""

        try:
            self._server = _DualStackServer(("", port), Handler)
        except OSError as error:
            raise HpcBatchError(f"port {port} for the health probes cannot be opened: {error.strerror}") from None
        self._thread = threading.Thread(target=self._server.serve_forever, name="health", daemon=True)

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class _DualStackServer(ThreadingHTTPServer):
    daemon_threads = True
    address_family = socket.AF_INET6 if socket.has_dualstack_ipv6() else socket.AF_INET

    def server_bind(self) -> None:
        if self.address_family == socket.AF_INET6:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        TCPServer.server_bind(self)  # HTTPServer's own looks this machine's name up in the DNS
        self.server_name, self.server_port = "", self.server_address[1]

    def handle_error(self, request: object, client_address: object) -> None:
        """Not logged: a probe may hang up early."""


class _Collected(Collector):
    def __init__(self, metrics: Callable[[], Iterable[Metric]]) -> None:
        self._metrics = metrics

    def collect(self) -> Iterable[Metric]:
        return self._metrics()


def _page(check: Check) -> Callable[[], tuple[int, str]]:
    def page() -> tuple[int, str]:
        problem = check()
        return (503, f"{problem}\n") if problem else (200, "ok\n")

    return page
