"""Certificates, tokens and TLS of the client."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from hpcbatch import errors
from hpcbatch.api.client import HttpApi
from hpcbatch.api.kubeconfig import Connection
from hpcbatch.api.resources import NODES, PODS
from tests.component.http_api.scripted_server import Server, event, says, streams, waited


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
