"""Watches through the API."""

import threading
import time
from pathlib import Path

import pytest

from hpcbatch.api import resources
from tests.component.api_server import Cluster, cluster, pod_body
from tests.component.server.paths import CM, MERGE, TABLE, P, names
from tests.waiting import wait_for


def test_watch(api: Cluster) -> None:
    api.request("POST", CM, {"metadata": {"name": "c1"}})
    with api.stream(f"{CM}?watch=1") as events:
        assert names(events, 1) == [("ADDED", "c1")]
        api.request("POST", CM, {"metadata": {"name": "c2"}})
        assert names(events, 1) == [("ADDED", "c2")]
        api.request("PATCH", f"{CM}/c2", {"data": {"a": "b"}}, Content_Type=MERGE)
        api.request("DELETE", f"{CM}/c1")
        changed, gone = next(events), next(events)
    assert (changed["type"], changed["object"]["data"], changed["object"]["kind"]) == (
        "MODIFIED",
        {"a": "b"},
        "ConfigMap",
    )
    assert gone["type"] == "DELETED"
    assert int(gone["object"]["metadata"]["resourceVersion"]) > int(changed["object"]["metadata"]["resourceVersion"])


def test_watch_from_a_version_and_its_end(api: Cluster) -> None:
    made = api.request("POST", CM, {"metadata": {"name": "c1"}}).json
    api.request("POST", CM, {"metadata": {"name": "c2"}})
    version = made["metadata"]["resourceVersion"]
    start = time.monotonic()
    with api.stream(f"{CM}?watch=true&resourceVersion={version}&timeoutSeconds=1") as events:
        assert names(events, 9) == [("ADDED", "c2")]
    assert 0.5 < time.monotonic() - start < 60


@pytest.mark.parametrize("version", ["2", "999999999"], ids=["too-old", "of-another-store"])
def test_watch_that_cannot_go_on(tmp_path: Path, version: str) -> None:
    with cluster(tmp_path, history=5) as own:
        for index in range(7):
            own.request("POST", CM, {"metadata": {"name": f"c{index}"}})
        with own.stream(f"{CM}?watch=true&resourceVersion={version}&timeoutSeconds=5") as events:
            (event,) = list(events)
        page = own.get(f"{CM}?limit=1")["metadata"]["continue"]
        for index in range(7):
            own.request("DELETE", f"{CM}/c{index}")
        expired = own.request("GET", f"{CM}?limit=1&continue={page}")
    assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")
    assert event["object"]["message"].startswith(f"too old resource version: {version} (")
    assert (expired.code, expired.json["reason"]) == (410, "Expired")


def test_bookmarks(api: Cluster) -> None:
    api.request("POST", P, pod_body())
    query = "watch=1&allowWatchBookmarks=true&timeoutSeconds=2"
    with api.stream(f"{P}?{query}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan") as events:
        first, second, *rest = list(events)
    assert (first["type"], second["type"]) == ("ADDED", "BOOKMARK")
    assert second["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert [event["type"] for event in rest] == ["BOOKMARK"]
    assert rest[0]["object"]["metadata"]["resourceVersion"] == str(api.registry.store.revision)
    with api.stream(f"{P}?watch=1&timeoutSeconds=1") as events:
        assert [event["type"] for event in events] == ["ADDED"]


def test_watch_as_table(api: Cluster) -> None:
    api.request("POST", P, pod_body("a"))
    with api.stream(f"{P}?watch=1", Accept=TABLE) as events:
        first = next(events)["object"]
        api.request("POST", P, pod_body("b"))
        second = next(events)["object"]
    assert (first["kind"], len(first["columnDefinitions"]), first["rows"][0]["cells"][0]) == ("Table", 9, "a")
    assert (second["columnDefinitions"], second["rows"][0]["cells"][0]) == (None, "b")


def test_watch_ends_with_its_kind(api: Cluster) -> None:
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "as.x.io"},
        "spec": {
            "group": "x.io",
            "scope": "Cluster",
            "names": {"plural": "as", "kind": "A"},
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
            ],
        },
    }
    crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    assert api.request("POST", crds, crd).code == 201
    api.request("POST", "/apis/x.io/v1/as", {"apiVersion": "x.io/v1", "kind": "A", "metadata": {"name": "a"}})
    with api.stream("/apis/x.io/v1/as?watch=1") as events:
        assert names(events, 1) == [("ADDED", "a")]
        api.request("DELETE", f"{crds}/as.x.io")
        assert [event["type"] for event in events] == ["DELETED"]
    assert api.request("GET", "/apis/x.io/v1/as").text == "404 page not found\n"


def test_clients_that_leave_are_forgotten(api: Cluster) -> None:
    before = api.registry.store.subscription_count()
    connections = []
    for _ in range(20):
        connection = api.connect()
        connection.request("GET", f"{P}?watch=1", headers={"Authorization": "Bearer the-token"})
        connections.append((connection, connection.getresponse()))
    assert api.registry.store.subscription_count() == before + 20
    for connection, response in connections:
        response.close()
        connection.close()
    wait_for("the watches to end", lambda: api.registry.store.subscription_count() == before, 10)


def test_events_reach_many_watchers_in_order(api: Cluster) -> None:
    seen: dict[int, list[int]] = {number: [] for number in range(5)}

    def watch(number: int) -> None:
        with api.stream(f"{CM}?watch=1&timeoutSeconds=20") as events:
            ready.release()
            for event in events:
                seen[number].append(int(event["object"]["metadata"]["resourceVersion"]))
                if event["object"]["metadata"]["name"] == "last":
                    return

    ready = threading.Semaphore(0)
    threads = [threading.Thread(target=watch, args=(number,)) for number in seen]
    for thread in threads:
        thread.start()
    for _ in threads:
        ready.acquire()
    for index in range(200):
        api.registry.create(resources.CONFIGMAPS, {"metadata": {"name": f"c{index}"}}, "default")
    api.registry.create(resources.CONFIGMAPS, {"metadata": {"name": "last"}}, "default")
    for thread in threads:
        thread.join(20)
    assert all(len(versions) == 201 and versions == sorted(versions) for versions in seen.values())


def test_stop_ends_watches(tmp_path: Path) -> None:
    with cluster(tmp_path) as own, own.stream("/api/v1/pods?watch=1") as events:
        stopped = threading.Thread(target=own.server.stop)
        start = time.monotonic()
        stopped.start()
        assert list(events) == []
        stopped.join(60)
        assert time.monotonic() - start < 60
