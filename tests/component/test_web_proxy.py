"""The page behind a site's proxy: on a Unix socket, for the user whom the proxy names, and for nobody else."""

from __future__ import annotations

import http.client
import re
import signal
import socket
import stat
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from hpcbatch.model.state import JobState
from tests.component.batchjobs import record_of
from tests.component.test_commands import Cluster, cluster, server
from tests.nginx import NGINX, documented_proxy, free_port
from tests.waiting import wait_for

__all__ = ["cluster", "server"]

URL = "https://portal.example.org/queue/"
HOST = "portal.example.org"


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=20)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(str(self._path))


def ask(
    connection: http.client.HTTPConnection, path: str, headers: Mapping[str, str], body: str | None = None
) -> tuple[int, Any, str]:
    connection.request("GET" if body is None else "POST", path, body, dict(headers))
    response = connection.getresponse()
    answer = response.status, response.headers, response.read().decode()
    connection.close()
    return answer


@pytest.fixture
def path(cluster: Cluster, tmp_path: Path) -> Iterator[Path]:
    """Of the socket of anna's page."""
    found = tmp_path / "anna" / "page.sock"
    found.parent.mkdir()
    command = cluster.arguments("hpcbatch", "web", "--socket", str(found), "--public-url", URL, "--proxy-user", "anna")
    process = subprocess.Popen(command, env=cluster.environ, stdout=subprocess.PIPE, text=True)
    wait_for("the socket", lambda: found.exists() and connects(found))
    yield found
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=20)
    assert (process.returncode, out) == (0, f"The page of anna is at {found}, for the proxy of {URL}\n")
    assert not found.exists()


def connects(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as found:
        return found.connect_ex(str(path)) == 0


def test_the_user_whom_the_proxy_names_is_let_in(cluster: Cluster, path: Path) -> None:
    assert stat.S_IMODE(path.stat().st_mode) == 0o660
    headers = {"Host": HOST, "X-Remote-User": "anna"}
    status, answer, text = ask(UnixConnection(path), "/queue/jobs", headers)
    assert status == 200
    assert "job2" in text
    cookie = answer["Set-Cookie"]
    for part in ("Path=/queue/", "Secure", "HttpOnly", "SameSite=Strict"):
        assert part in cookie
    assert ask(UnixConnection(path), "/queue", headers)[1]["Location"] == "/queue/"
    token = re.findall(r'name="token" value="([0-9a-f]{64})"', text)[0]
    form = {
        **headers,
        "Content-Type": "application/x-www-form-urlencoded",
        "Origin": "https://portal.example.org",
        "Sec-Fetch-Site": "same-origin",
    }
    fields = f"token={token}&action=hold&job=3"
    assert ask(UnixConnection(path), "/queue/change", form, fields)[0] == 403  # without the cookie
    form["Cookie"] = cookie.partition(";")[0]
    status, answer, _ = ask(UnixConnection(path), "/queue/change", form, fields)
    assert (status, answer["Location"]) == (303, "/queue/jobs?done=hold")
    assert record_of(cluster.registry, "pbs-3").status.state is JobState.HELD


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": HOST}, 403),
        ({"Host": HOST, "X-Remote-User": ""}, 403),
        ({"Host": HOST, "X-Remote-User": "berta"}, 403),
        ({"Host": "localhost", "X-Remote-User": "anna"}, 421),
        ({"Host": "evil.example", "X-Remote-User": "anna"}, 421),
    ],
)
def test_nobody_else_is(path: Path, headers: Mapping[str, str], status: int) -> None:
    found, _, text = ask(UnixConnection(path), "/queue/jobs", headers)
    assert found == status
    assert "job2" not in text


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (["--socket", "/tmp/x"], "--socket and --public-url go together"),
        (["--public-url", URL], "--socket and --public-url go together"),
        (["--proxy-user", "anna"], "--proxy-user needs --socket"),
        (["--socket", "/nosuch/x", "--public-url", URL], "/nosuch/x: no socket can be made there: No such file"),
        (["--socket", "/tmp/x", "--public-url", "portal"], "'portal' is no address of a page"),
    ],
)
def test_options_that_make_no_sense(cluster: Cluster, options: list[str], error: str) -> None:
    out, err, code = cluster.run("hpcbatch", "web", *options)
    assert (out, code != 0) == ("", True)
    assert error in err
    assert "Traceback" not in err


@pytest.mark.skipif(NGINX is None, reason="nginx is not installed: the proxy of docs/web.md is NOT tried")
def test_the_proxy_of_the_documentation(path: Path, tmp_path: Path) -> None:
    """As the page says, but for its places and HTTP on a free port."""
    port = free_port()
    with documented_proxy(tmp_path, port, HOST):

        def answered(login: str, **more: str) -> tuple[int, str]:
            found = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
            headers = {"Host": HOST, **({"Authorization": f"Basic {login}"} if login else {}), **more}
            status, _, text = ask(found, "/queue/jobs?state=all", headers)
            return status, text

        assert answered("")[0] == 401
        status, text = answered("YW5uYTph")  # anna:a
        assert status == 200
        assert "job4" in text
        assert answered("YmVydGE6Yg==")[0] == 502  # berta:b, who has no page
        # what the browser sends is not believed
        assert answered("YmVydGE6Yg==", **{"X-Remote-User": "anna"})[0] == 502
