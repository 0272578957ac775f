"""Requests of the client, its errors and second tries."""

from __future__ import annotations

import json
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler

import pytest

from hpcbatch import errors
from hpcbatch.api.client import HttpApi, status_error
from hpcbatch.api.history import ENDED_JOBS
from hpcbatch.api.kubeconfig import Connection
from hpcbatch.api.port import Object
from hpcbatch.api.resources import BATCHJOBS, NODES, PODS, Resource
from tests.component.http_api.scripted_server import Server, drops, says, status, waited


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
    assert server.seen[2][1].endswith("?limit=5000")


def test_a_list_whose_pages_grow_too_old_each_time_comes_at_once(server: Server) -> None:
    for version in ("7", "8"):
        server.answers.put(says({"metadata": {"resourceVersion": version, "continue": "t"}, "items": [{"n": 1}]}))
        server.answers.put(says(status(410, "Expired"), 410))
    server.answers.put(says({"metadata": {"resourceVersion": "9"}, "items": [{"n": 2}]}))
    found = server.api().list(PODS)
    assert [item["n"] for item in found.items] == [2]
    assert found.resource_version == "9"
    assert "limit" not in server.seen[4][1]


def test_what_is_kept_of_listed_and_watched_objects(server: Server) -> None:
    def keep(resource: Resource, obj: Object) -> Object:
        return {"of": resource.plural, "n": obj["n"], "kind": obj["kind"]}

    api = HttpApi(server.api().connection, keep=keep)
    server.answers.put(says({"metadata": {"resourceVersion": "7", "continue": "t"}, "items": [{"n": 1}]}))
    server.answers.put(says({"metadata": {"resourceVersion": "7"}, "items": [{"n": 2}]}))
    assert api.list(PODS).items == ({"of": "pods", "n": 1, "kind": "Pod"}, {"of": "pods", "n": 2, "kind": "Pod"})
    line = json.dumps({"type": "ADDED", "object": {"n": 3, "kind": "Pod"}}).encode() + b"\n"
    server.answers.put(says(line))
    assert list(api.watch(PODS)) == [("ADDED", {"of": "pods", "n": 3, "kind": "Pod"})]


def test_table_of_all_namespaces_has_a_column_with_the_namespace(server: Server) -> None:
    columns = [{"name": "Name"}, {"name": "Id"}, {"name": "Namespace"}]
    row = {"cells": ["j", "12", "bob"], "object": None}
    server.answers.put(says({"kind": "Table", "metadata": {}, "columnDefinitions": columns, "rows": [row]}))
    names, rows = server.api().table(BATCHJOBS, fields="status.jobId=12")
    assert (names, rows) == (["Name", "Id", "Namespace"], [(["j", "12", "bob"], "bob", "j")])
    assert "as=Table" in server.seen[0][2]["Accept"]
    assert "includeObject=None" in server.seen[0][1]


def test_table_of_all_namespaces_by_an_older_definition_reads_names_from_metadata(server: Server) -> None:
    columns = [{"name": "Name", "type": "string"}, {"name": "Id", "type": "string"}]
    table = {"kind": "Table", "metadata": {}, "columnDefinitions": columns}
    row = {"cells": ["j", "12"], "object": None}
    server.answers.put(says({**table, "rows": [row]}))
    server.answers.put(says({**table, "rows": [{**row, "object": {"metadata": {"name": "j", "namespace": "bob"}}}]}))
    names, rows = server.api().table(BATCHJOBS, fields="status.jobId=12")
    assert (names, rows) == (["Name", "Id"], [(["j", "12"], "bob", "j")])
    assert "includeObject=Metadata" in server.seen[1][1]


def test_table_of_the_history_reads_names_from_metadata(server: Server) -> None:
    columns = [{"name": "Name", "type": "string"}]
    row = {"cells": ["j"], "object": {"metadata": {"name": "j", "namespace": "bob"}}}
    server.answers.put(says({"kind": "Table", "metadata": {}, "columnDefinitions": columns, "rows": [row]}))
    assert server.api().table(ENDED_JOBS) == (["Name"], [(["j"], "bob", "j")])
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
    deadline = time.monotonic() + 30
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


def test_a_server_that_stays_busy_is_said_to_be(server: Server) -> None:
    for _ in range(4):
        server.answers.put(says(status(429, "TooManyRequests", "too many requests"), 429, Retry_After="0"))
    with pytest.raises(errors.BusyError, match=r"^the API server takes no more requests now, try again: too many req"):
        server.api().create(NODES, {})
    assert len(server.seen) == 3


def test_a_busy_server_that_names_no_time_gets_some(server: Server) -> None:
    server.answers.put(says(b"slow down", 429))
    server.answers.put(says({"n": 1}))
    began = time.monotonic()
    assert server.api().create(NODES, {}) == {"n": 1}
    assert time.monotonic() - began >= 0.5


def test_nobody_waits_long_for_a_busy_server(server: Server) -> None:
    server.answers.put(says(status(429, "TooManyRequests"), 429, Retry_After="3600"))
    began = time.monotonic()
    with pytest.raises(errors.BusyError):
        server.api().get(NODES, "n")
    assert time.monotonic() - began < 60


def test_what_a_server_may_have_done_is_not_requested_again(server: Server) -> None:
    server.answers.put(says(b"starting", 503, Retry_After="1"))
    with pytest.raises(errors.BusyError, match=r"try again: the server answered 503: starting$"):
        server.api().create(NODES, {})
    assert len(server.seen) == 1


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


def test_each_thread_has_its_own_connection(server: Server) -> None:
    server.answers.put(says({}))
    server.answers.put(says({}))
    api = server.api()
    api.get(NODES, "n")
    thread = threading.Thread(target=api.get, args=(NODES, "n"))
    thread.start()
    thread.join(5)
    assert len(server.peers) == 2
