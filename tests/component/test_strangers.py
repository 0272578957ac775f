"""Who can connect to the API server but has not its token: few connections, not for long, and few lines in the log."""

import logging
import os
import socket
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from hpcbatch.engine.repeats import Repeats
from hpcbatch.engine.server.door import STRANGERS, owner, peer
from tests.component.api_server import TOKEN, Cluster, cluster
from tests.component.test_engine_limits import engine_pid
from tests.conformance.site import Site, login_environment

LIMIT_S = 5.0
NOBODY = 65534
IDLE = """
import socket, sys, time
open_ones = [socket.create_connection(("127.0.0.1", int(sys.argv[1]))) for _ in range(int(sys.argv[2]))]
print("there", flush=True)
for one in open_ones:
    one.settimeout(30)
    try:
        assert one.recv(1) == b""
    except ConnectionResetError:
        pass
print("all closed", flush=True)
"""


@pytest.fixture
def strange(tmp_path: Path) -> Iterator[Cluster]:
    """A server to which every connection comes from another user."""
    with cluster(tmp_path, who=lambda _: 1234, request_limit_s=LIMIT_S) as running:
        yield running


def opened(port: int) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=60)
    connection.settimeout(30)
    return connection


def ends(connection: socket.socket) -> bool:
    """Whether the server closes it, within half a minute."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def test_idle_connections_end_and_others_are_served(strange: Cluster, caplog: pytest.LogCaptureFixture) -> None:
    idle = [opened(strange.port) for _ in range(STRANGERS)]
    over = [opened(strange.port) for _ in range(20)]
    assert all(map(ends, over))  # at once: the first ones are still there
    assert all(map(ends, idle))
    assert strange.request("GET", "/api/v1/pods").code == 200
    lines = [record.getMessage() for record in caplog.records if "without credentials" in record.getMessage()]
    assert lines == [f"user 1234 has {STRANGERS} connections without credentials: the next ones are closed"]


@pytest.mark.parametrize("sent", [b"", b"GET /api/v1/pods HTTP/1.1\r\nAuth", b"GET /api HTTP/1.1\r\nHost: a\r\n\r\n"])
def test_without_the_token_a_connection_ends(strange: Cluster, sent: bytes) -> None:
    context = ssl.create_default_context(cafile=str(strange.ca_file))
    with context.wrap_socket(opened(strange.port), server_hostname="127.0.0.1") as connection:
        connection.sendall(sent)
        while True:
            try:
                if not connection.recv(65536):
                    break
            except (ConnectionResetError, ssl.SSLEOFError):
                break


def test_with_the_token_a_connection_stays(strange: Cluster) -> None:
    """A watch says nothing for a long time, and many may be open."""
    with strange.stream("/api/v1/namespaces/default/configmaps?watch=true&resourceVersion=0") as events:
        connections = [strange.connect() for _ in range(STRANGERS + 10)]
        for connection in connections:
            connection.request("GET", "/healthz", headers={"Authorization": f"Bearer {TOKEN}"})
            assert connection.getresponse().read() == b"ok"
        assert ends(opened(strange.port))  # the deadline of all of them has passed
        connections[0].request("GET", "/healthz", headers={"Authorization": f"Bearer {TOKEN}"})
        assert connections[0].getresponse().read() == b"ok"
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "seen"}}
        assert strange.request("POST", "/api/v1/namespaces/default/configmaps", body).code == 201
        assert next(event for event in events if event["object"]["metadata"]["name"] == "seen")
    for connection in connections:
        connection.close()


def test_own_connections_are_not_counted(tmp_path: Path) -> None:
    with cluster(tmp_path, request_limit_s=60) as running:
        many = [opened(running.port) for _ in range(STRANGERS + 20)]
        assert running.request("GET", "/api/v1/pods").code == 200
        for connection in many:
            connection.settimeout(0)
            with pytest.raises(BlockingIOError):
                connection.recv(1)
            connection.close()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be another user")
def test_another_user_does_not_lock_the_engine_out(tmp_path: Path) -> None:
    with cluster(tmp_path, request_limit_s=LIMIT_S) as running:
        with subprocess.Popen(
            ["/usr/bin/python3", "-I", "-c", IDLE, str(running.port), "500"],
            user=NOBODY,
            stdout=subprocess.PIPE,
            text=True,
            cwd="/",
        ) as stranger:
            assert stranger.stdout is not None
            assert stranger.stdout.readline() == "there\n"
            assert running.request("GET", "/api/v1/pods").code == 200
            assert stranger.stdout.readline() == "all closed\n"
        assert stranger.returncode == 0


def test_whose_a_connection_is() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, opened(listener.getsockname()[1]):
        accepted = listener.accept()[0]
        with accepted:
            assert owner(accepted) == os.getuid()
            assert peer(accepted) is None


def test_the_log_is_not_filled_by_libraries() -> None:
    kept = Repeats()
    record = logging.LogRecord("aiohttp.server", logging.ERROR, "x.py", 7, "bad %s", ("request",), None)
    assert [kept.filter(record) for _ in range(12)] == [True] * 10 + [False] * 2
    assert record.getMessage() == "bad request (more of these are left out for a minute)"
    record.created += 61
    assert kept.filter(record)
    own = logging.LogRecord("hpcbatch.engine", logging.INFO, "x.py", 7, "a pod ended", (), None)
    assert all(kept.filter(own) for _ in range(100))


def test_limit_of_open_files(tmp_path: Path) -> None:
    """The engine raises it; its jobs have what whoever started it had."""
    site = Site(login_environment(tmp_path / "state"), tmp_path)
    site.run("sh", "-c", "ulimit -Sn 300 && exec hpcbatch up --nodes 1")
    try:
        limits = Path(f"/proc/{engine_pid(site)}/limits").read_text().splitlines()
        soft, hard = next(line.split()[3:5] for line in limits if line.startswith("Max open files"))
        assert soft == hard or int(soft) == 65536
        site.run("sbatch", "--wait", "-o", "limit", "--wrap", "ulimit -Sn")
        assert site.read("limit") == "300\n"
    finally:
        site.run("hpcbatch", "down", check=False)
