"""The output of pods through the API."""

from tests.component.api_server import Cluster, pod_body
from tests.component.server.paths import MERGE, P, running


def test_logs(api: Cluster) -> None:
    running(api, "l1")
    log = api.directory / "l1-main.log"
    log.write_text("2026-11-21T10:00:00.1Z stdout F a\n2026-11-21T10:00:00.2Z stderr F b\n")
    response = api.request("GET", f"{P}/l1/log?container=main")
    assert (response.code, response.headers["content-type"], response.text) == (200, "text/plain", "a\nb\n")
    assert api.request("GET", f"{P}/l1/log?tailLines=1&timestamps=true").text == "2026-11-21T10:00:00.2Z b\n"
    previous = api.request("GET", f"{P}/l1/log?previous=true")
    assert previous.json["message"] == 'previous terminated container "main" in pod "l1" not found'
    api.request("POST", P, pod_body("l2"))
    assert api.request("GET", f"{P}/l2/log?follow=true").code == 204
    running(api, "l3", phase="Pending", containerStatuses=[])
    assert api.request("GET", f"{P}/l3/log").json["message"] == (
        'container "main" in pod "l3" is waiting to start: ContainerCreating'
    )
    running(api, "l4")  # running, but the agent has no file yet
    assert api.request("GET", f"{P}/l4/log").text == ""


def test_follow(api: Cluster) -> None:
    running(api, "f1")
    log = api.directory / "f1-main.log"
    log.write_text("2026-11-21T10:00:00.1Z stdout F a\n")
    connection = api.connect()
    connection.request("GET", f"{P}/f1/log?follow=true", headers={"Authorization": "Bearer the-token"})
    response = connection.getresponse()
    assert response.readline() == b"a\n"
    with log.open("a") as file:
        file.write("2026-11-21T10:00:01.1Z stdout F b\n")
        file.flush()
        assert response.readline() == b"b\n"
        file.write("2026-11-21T10:00:02.1Z stdout F end\n")
    api.request("PATCH", f"{P}/f1/status", {"status": {"phase": "Succeeded"}}, Content_Type=MERGE)
    assert response.read() == b"end\n"
    connection.close()
