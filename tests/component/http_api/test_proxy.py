"""The client through a proxy."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest

from hpcbatch import errors
from hpcbatch.api.client import HttpApi
from hpcbatch.api.kubeconfig import Connection
from hpcbatch.api.resources import NODES
from tests.component.http_api.scripted_server import Server, says


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
