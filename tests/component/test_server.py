"""The API server over HTTPS, byte by byte where clients depend on it."""

import stat
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hpcbatch.api import resources
from hpcbatch.engine.registry.registry import Registry
from hpcbatch.engine.registry.store import Store
from hpcbatch.engine.server.server import ApiServer, ServerError
from tests.component.api_server import Cluster, batch_job, cluster, pod_body
from tests.waiting import wait_for

P = "/api/v1/namespaces/default/pods"
BJ = "/apis/hpcbatch.io/v1alpha1/namespaces/default/batchjobs"
CM = "/api/v1/namespaces/default/configmaps"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
MERGE, STRATEGIC, APPLY = (
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("api")) as running:
        yield running


@pytest.fixture
def api(shared: Cluster) -> Iterator[Cluster]:
    yield shared
    for kind in (resources.PODS, resources.CONFIGMAPS, resources.BATCHJOBS, resources.VOLCANO_JOBS):
        for item in shared.registry.list(kind).items:
            shared.registry.patch(
                kind, item["metadata"]["name"], {"metadata": {"finalizers": None}}, item["metadata"]["namespace"]
            )
            shared.registry.delete(kind, item["metadata"]["name"], item["metadata"]["namespace"], grace_period_s=0)


# --- who may ask, and where ---


@pytest.mark.parametrize("token", [None, "", "wrong", "the-toke", "the-token2", "\xe9"])
def test_only_the_token_opens(api: Cluster, token: str | None) -> None:
    response = api.request("GET", "/api/v1/pods", token=token)
    assert response.code == 401
    assert response.json == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "Unauthorized",
        "reason": "Unauthorized",
        "code": 401,
    }


def test_private_files(api: Cluster) -> None:
    for name in ("kubeconfig", "server.key", "server.crt", "ca.crt"):
        assert stat.S_IMODE((api.directory / name).stat().st_mode) == 0o600


def test_port_taken(api: Cluster) -> None:
    certificate = api.directory / "server.crt", api.directory / "server.key"
    registry = Registry(Store(":memory:"))
    second = ApiServer(registry, port=api.port, cert_file=certificate[0], key_file=certificate[1], token="x")
    with pytest.raises(ServerError, match=f"the API server cannot listen on 127.0.0.1:{api.port}: .*in use"):
        second.start()


@pytest.mark.parametrize(
    ("method", "path", "code", "text"),
    [
        ("GET", "/nosuch", 404, "404 page not found\n"),
        ("GET", "/apis/no.such/v1", 404, "404 page not found\n"),
        ("GET", "/apis/no.such/v1/things", 404, "404 page not found\n"),
        ("GET", "/api/v1/nosuch", 404, "the server could not find the requested resource"),
        ("GET", f"{P}/nosuch", 404, 'pods \\"nosuch\\" not found'),
        ("GET", f"{BJ}/nosuch", 404, 'batchjobs.hpcbatch.io \\"nosuch\\" not found'),
        ("GET", f"{P}/nosuch/log", 404, 'pods \\"nosuch\\" not found'),
        ("GET", f"{BJ}/nosuch/scale", 404, 'batchjobs.hpcbatch.io \\"nosuch\\" not found'),
        ("PUT", P, 405, "the server does not allow this method on the requested resource"),
        ("POST", f"{P}/x", 405, "the server does not allow this method on the requested resource"),
        ("POST", "/api/v1/pods", 405, "the server does not allow this method on the requested resource"),
        ("GET", f"{P}?limit=x", 400, 'strconv.ParseInt: parsing \\"x\\": invalid syntax'),
        ("GET", f"{P}?continue=x", 400, "invalid continue token: continue key is not valid"),
        ("GET", f"{P}?continue=x&resourceVersion=5", 400, "specifying resource version is not allowed when using"),
        ("GET", f"{P}?resourceVersion=abc", 400, 'invalid resource version: resourceVersion: Invalid value: \\"abc\\"'),
        ("GET", f"{P}?resourceVersion=999999999", 504, "Timeout: Too large resource version: 999999999, current: "),
        ("GET", f"{P}?resourceVersionMatch=Exact", 422, "resourceVersionMatch is forbidden unless resourceVersion"),
        ("GET", f"{P}?sendInitialEvents=true", 422, "sendInitialEvents is forbidden for list"),
        ("GET", f"{P}?labelSelector=a%20b", 400, "unable to parse requirement: found 'b', expected: in, notin"),
        ("GET", f"{P}?fieldSelector=spec.x%3D1", 400, "field label not supported: spec.x"),
        ("GET", f"{P}?watch=1&resourceVersionMatch=NotOlderThan", 422, "resourceVersionMatch is forbidden for watch"),
        ("DELETE", f"{P}/x?propagationPolicy=Foo", 422, "propagationPolicy: Unsupported value"),
        ("POST", f"{P}?dryRun=Foo", 422, "dryRun: Unsupported value"),
        ("POST", "/version", 405, "the server does not allow this method"),
    ],
)
def test_refusals(api: Cluster, method: str, path: str, code: int, text: str) -> None:
    response = api.request(method, path, {} if method in {"POST", "PUT"} else None)
    assert (response.code, text in response.text) == (code, True), response.text
    if code != 404 or "page" not in text:
        status = response.json
        assert (status["kind"], status["status"], status["code"]) == ("Status", "Failure", code)


def test_unknown_accept(api: Cluster) -> None:
    assert api.request("GET", P, Accept="application/json;as=Table;v=v9;g=meta.k8s.io").code == 406


@pytest.mark.parametrize(
    ("body", "content_type", "code", "message"),
    [
        (
            "{bad",
            "application/json",
            400,
            "the object provided is unrecognized (must be of type BatchJob): "
            "couldn't get version/kind; json parse error: ",
        ),
        ("", "", 400, "unexpected end of JSON input (<empty>)"),
        ("[]", "", 400, "must be of type BatchJob"),
        ("NaN", "", 400, "json parse error"),
        ("[" * 100_000, "", 400, "nested too deeply"),
        ("a: [", "application/yaml", 400, "yaml parse error"),
        ("{}", "text/plain", 415, "the body of the request was in an unknown format - accepted media types include: "),
        (b"\\xff".decode("unicode_escape").encode("latin-1"), "", 400, "no valid UTF-8"),
        ("x" * 3_200_000, "", 413, "Request entity too large: limit is 3145728"),
    ],
    ids=["json", "empty", "list", "nan", "deep", "yaml", "type", "utf8", "large"],
)
def test_bad_bodies(api: Cluster, body: str, content_type: str, code: int, message: str) -> None:
    headers = {"Content_Type": content_type} if content_type else {}
    response = api.request("POST", BJ, body, **headers)
    assert (response.code, message in response.json["message"]) == (code, True), response.text


def test_bodies_in_yaml(api: Cluster) -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {when: 2026-11-21, 1: 'x'}\n"
    response = api.request("POST", CM, text, Content_Type="application/yaml")
    assert (response.code, response.json["data"]) == (201, {"when": "2026-11-21", "1": "x"})
    answer = api.request("GET", f"{CM}/c", Accept="application/yaml")
    assert answer.headers["content-type"] == "application/yaml"
    assert "when: '2026-11-21'" in answer.text


# --- discovery ---


def test_discovery_forms(api: Cluster) -> None:
    aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
    response = api.request("GET", "/apis?timeout=32s", Accept=aggregated)
    assert response.headers["content-type"] == "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    groups = {item["metadata"]["name"]: item for item in response.json["items"]}
    (job,) = [entry for entry in groups["batch.volcano.sh"]["versions"][0]["resources"] if entry["resource"] == "jobs"]
    assert (job["shortNames"], job["scope"], job["responseKind"]["kind"]) == (["vcjob", "vj"], "Namespaced", "Job")
    core = api.get("/api", Accept=aggregated)["items"][0]["versions"][0]["resources"]
    assert {"pods", "services", "configmaps", "secrets", "events", "nodes", "namespaces"} <= {
        entry["resource"] for entry in core
    }
    assert api.get("/api/")["versions"] == ["v1"]
    assert "hpcbatch.io" in {group["name"] for group in api.get("/apis/")["groups"]}
    assert api.get("/apis/hpcbatch.io")["preferredVersion"]["groupVersion"] == "hpcbatch.io/v1alpha1"
    names = {entry["name"] for entry in api.get("/api/v1")["resources"]}
    assert {"pods", "pods/log", "pods/status", "pods/binding", "pods/eviction"} <= names
    for group in api.get("/apis")["groups"]:
        for version in group["versions"]:
            assert api.get(f"/apis/{version['groupVersion']}")["groupVersion"] == version["groupVersion"]
    assert api.get("/version/")["major"] == "1"
    assert api.request("GET", "/healthz").text == "ok"


def test_openapi_has_a_patch_for_every_kind(api: Cluster) -> None:
    index = api.get("/openapi/v3")["paths"]
    for kind in api.registry.kinds():
        resource = kind.resource
        path = f"apis/{resource.group}/{resource.version}" if resource.group else f"api/{resource.version}"
        document = api.get(index[path]["serverRelativeURL"])
        patches = [entry["patch"] for entry in document["paths"].values()]
        found = [patch for patch in patches if patch["x-kubernetes-group-version-kind"]["kind"] == resource.kind]
        assert [p["name"] for p in found[0]["parameters"] if p["name"] == "fieldValidation"]


# --- lists ---


def test_list_forms(api: Cluster) -> None:
    api.request("POST", P, pod_body("b"))
    api.request("POST", P, pod_body("a"))
    listed = api.get(P)
    assert (listed["kind"], listed["apiVersion"]) == ("PodList", "v1")
    assert [item["metadata"]["name"] for item in listed["items"]] == ["a", "b"]
    assert all("kind" not in item and "apiVersion" not in item for item in listed["items"])
    assert listed["metadata"]["resourceVersion"] == str(api.registry.store.revision)
    api.request("POST", BJ, batch_job())
    jobs = api.get(BJ)
    assert (jobs["kind"], jobs["items"][0]["kind"]) == ("BatchJobList", "BatchJob")
    partial = api.get(P, Accept="application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io")
    assert (partial["kind"], set(partial["items"][0])) == (
        "PartialObjectMetadataList",
        {"kind", "apiVersion", "metadata"},
    )
    assert [item["metadata"]["name"] for item in api.get("/api/v1/pods?fieldSelector=metadata.name%3Da")["items"]] == [
        "a"
    ]


def test_pages(api: Cluster) -> None:
    for index in range(5):
        api.request("POST", CM, {"metadata": {"name": f"c{index}"}})
    first = api.get(f"{CM}?limit=2")
    assert [item["metadata"]["name"] for item in first["items"]] == ["c0", "c1"]
    assert first["metadata"]["remainingItemCount"] == 3
    api.request("POST", CM, {"metadata": {"name": "c9"}})
    second = api.get(f"{CM}?limit=2&continue={first['metadata']['continue']}")
    assert [item["metadata"]["name"] for item in second["items"]] == ["c2", "c3"]
    assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    last = api.get(f"{CM}?limit=99&continue={second['metadata']['continue']}")
    assert [item["metadata"]["name"] for item in last["items"]] == ["c4", "c9"]
    assert last["metadata"]["continue"] == ""
    assert len(api.get(f"{CM}?limit=2&resourceVersion=0")["items"]) == 6


def test_tables(api: Cluster) -> None:
    api.request("POST", P, pod_body("a", nodeName="n1") | {"metadata": {"name": "a", "labels": {"x": "y"}}})
    table = api.get(P, Accept=TABLE)
    assert (table["kind"], table["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    assert [(c["name"], c["priority"]) for c in table["columnDefinitions"]] == [
        ("Name", 0),
        ("Ready", 0),
        ("Status", 0),
        ("Restarts", 0),
        ("Age", 0),
        ("IP", 1),
        ("Node", 1),
        ("Nominated Node", 1),
        ("Readiness Gates", 1),
    ]
    (row,) = table["rows"]
    assert row["cells"][:4] + row["cells"][5:] == ["a", "0/1", "Pending", "0", "<none>", "n1", "<none>", "<none>"]
    assert row["object"]["kind"] == "PartialObjectMetadata"
    assert row["object"]["metadata"]["labels"] == {"x": "y"}
    assert api.get(f"{P}/a", Accept=TABLE)["rows"][0]["cells"][0] == "a"
    assert api.get(f"{P}?includeObject=None", Accept=TABLE)["rows"][0]["object"] is None
    assert "spec" in api.get(f"{P}?includeObject=Object", Accept=TABLE)["rows"][0]["object"]
    assert api.request("GET", f"{P}?includeObject=Foo", Accept=TABLE).code == 400


def test_custom_table(api: Cluster) -> None:
    made = api.request("POST", BJ, batch_job(queue="main", walltimeSeconds=60)).json
    made["status"] = {"state": "Queued", "walltimeSeconds": 60, "summary": {"name": "job"}}
    api.request("PUT", f"{BJ}/b/status", made)
    table = api.get(BJ, Accept=TABLE)
    cells = dict(zip([c["name"] for c in table["columnDefinitions"]], table["rows"][0]["cells"], strict=True))
    assert (cells["Name"], cells["Job"], cells["State"], cells["Walltime"]) == ("b", "job", "Queued", 60)
    assert cells["Age"].endswith("s")
    assert cells["Submitted"].endswith("Z")


# --- writes ---


def test_create_and_dry_run(api: Cluster) -> None:
    made = api.request("POST", P + "?dryRun=All", pod_body())
    assert made.code == 201
    assert "resourceVersion" not in made.json["metadata"]
    assert api.get(P)["items"] == []
    made = api.request("POST", P, pod_body())
    assert (made.code, made.json["kind"]) == (201, "Pod")
    again = api.request("POST", P, pod_body())
    assert (again.code, again.json["reason"], again.json["details"]) == (
        409,
        "AlreadyExists",
        {"name": "p", "kind": "pods"},
    )


def test_field_validation(api: Cluster) -> None:
    body = batch_job(foo=1) | {"bar": 1}
    strict = api.request("POST", f"{BJ}?fieldValidation=Strict", body)
    assert (strict.code, strict.json["message"]) == (
        400,
        'BatchJob in version "v1alpha1" cannot be handled as a BatchJob: strict decoding error: '
        'unknown field "bar", unknown field "spec.foo"',
    )
    warned = api.request("POST", BJ, body)
    assert warned.code == 201
    assert warned.headers["warnings"].splitlines() == [
        '299 - "unknown field \\"bar\\""',
        '299 - "unknown field \\"spec.foo\\""',
    ]
    assert "foo" not in warned.json["spec"]
    ignored = api.request("POST", f"{BJ}?fieldValidation=Ignore", batch_job("b2", foo=1))
    assert (ignored.code, ignored.headers["warnings"]) == (201, "")
    twice = '{"metadata": {"name": "c", "name": "c"}, "data": {"a": "1", "a": "2"}}'
    refused = api.request("POST", f"{CM}?fieldValidation=Strict", twice)
    assert 'duplicate field "metadata.name", duplicate field "data.a"' in refused.json["message"]
    patched = api.request("PATCH", f"{BJ}/b?fieldValidation=Strict", {"spec": {"zz": 1}}, Content_Type=MERGE)
    assert (patched.code, 'strict decoding error: unknown field "spec.zz"' in patched.json["message"]) == (422, True)
    pod = pod_body() | {"spec": {"containers": [{"name": "a", "image": "b", "comand": []}]}}
    refused = api.request("POST", f"{P}?fieldValidation=Strict", pod)
    assert 'unknown field "spec.containers[0].comand"' in refused.json["message"]


def test_patch_types(api: Cluster) -> None:
    api.request("POST", P, pod_body())
    api.request("POST", BJ, batch_job())
    for form, code in ((MERGE, 200), (STRATEGIC, 200), ("application/json", 415), ("", 415)):
        headers = {"Content_Type": form} if form else {}
        assert api.request("PATCH", f"{P}/p", {"metadata": {"labels": {"a": "b"}}}, **headers).code == code
    refused = api.request("PATCH", f"{BJ}/b", {}, Content_Type=STRATEGIC)
    assert (refused.code, refused.json["message"]) == (
        415,
        "the body of the request was in an unknown format - accepted media types include: "
        "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
    )
    patch = [{"op": "replace", "path": "/spec/name", "value": "new"}]
    done = api.request("PATCH", f"{BJ}/b", patch, Content_Type="application/json-patch+json")
    assert (done.json["spec"]["name"], done.json["metadata"]["generation"]) == ("new", 2)
    status = api.request("PATCH", f"{BJ}/b/status", {"status": {"state": "Queued"}}, Content_Type=MERGE)
    assert (status.json["status"], status.json["metadata"]["generation"]) == ({"state": "Queued"}, 2)


def test_delete_answers(api: Cluster) -> None:
    made = api.request("POST", BJ, batch_job()).json
    gone = api.request("DELETE", f"{BJ}/b", {"propagationPolicy": "Background"}).json
    assert gone == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {"name": "b", "group": "hpcbatch.io", "kind": "batchjobs", "uid": made["metadata"]["uid"]},
    }
    api.request("POST", P, pod_body(nodeName="n"))
    held = api.request("DELETE", f"{P}/p").json
    assert (held["kind"], held["metadata"]["deletionGracePeriodSeconds"]) == ("Pod", 30)
    last = api.request("DELETE", f"{P}/p?gracePeriodSeconds=0").json
    assert (last["kind"], last["metadata"]["deletionGracePeriodSeconds"]) == ("Pod", 0)
    api.request("POST", CM, {"metadata": {"name": "c"}})
    refused = api.request("DELETE", f"{CM}/c", {"preconditions": {"uid": "x"}})
    assert (refused.code, refused.json["reason"], refused.json["details"]) == (
        409,
        "Conflict",
        {"name": "c", "kind": "ConfigMap"},
    )
    dry = api.request("DELETE", f"{CM}/c", {"dryRun": ["All"]})
    assert dry.code == 200
    assert api.request("GET", f"{CM}/c").code == 200


def test_delete_collection(api: Cluster) -> None:
    for index in range(3):
        labels = {"odd": str(index % 2)}
        api.request("POST", CM, {"metadata": {"name": f"c{index}", "labels": labels}})
    gone = api.request("DELETE", f"{CM}?labelSelector=odd%3D0")
    assert (gone.json["kind"], [item["metadata"]["name"] for item in gone.json["items"]]) == (
        "ConfigMapList",
        ["c0", "c2"],
    )
    assert [item["metadata"]["name"] for item in api.get(CM)["items"]] == ["c1"]


def test_binding_and_eviction(api: Cluster) -> None:
    api.request("POST", P, pod_body())
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "p"},
        "target": {"kind": "Node", "name": "n"},
    }
    wrong = api.request("POST", f"{P}/p/binding", binding | {"metadata": {"name": "q"}})
    assert (wrong.code, wrong.json["message"]) == (400, "name in URL does not match name in Binding object")
    done = api.request("POST", f"{P}/p/binding", binding)
    assert (done.code, done.json["status"]) == (201, "Success")
    assert api.request("POST", f"{P}/p/binding", binding).code == 409
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
    assert api.request("POST", f"{P}/p/eviction", eviction).code == 201
    assert api.get(f"{P}/p")["status"]["conditions"][-1]["type"] == "DisruptionTarget"
    assert api.request("POST", f"{P}/p/exec", {}).code == 501


def test_apply(api: Cluster) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "1", "b": "2"}}
    assert api.request("PATCH", f"{CM}/c", body, Content_Type=APPLY).code == 422
    url = f"{CM}/c?fieldManager=one"
    first = api.request("PATCH", url, body, Content_Type=APPLY)
    assert first.code == 201
    again = api.request("PATCH", url, body, Content_Type=APPLY)
    assert (again.code, again.json) == (200, first.json)
    less = api.request("PATCH", url, body | {"data": {"a": "1"}}, Content_Type=APPLY)
    assert less.json["data"] == {"a": "1"}
    other = f"{CM}/c?fieldManager=two"
    conflict = api.request("PATCH", other, body | {"data": {"a": "3"}}, Content_Type=APPLY)
    assert (conflict.code, conflict.json["message"]) == (
        409,
        'Apply failed with 1 conflict: conflict with "one": .data.a',
    )
    forced = api.request("PATCH", f"{other}&force=true", body | {"data": {"a": "3"}}, Content_Type=APPLY)
    assert (forced.code, forced.json["data"]) == (200, {"a": "3"})
    dropped = api.request("PATCH", url, body | {"data": {"z": "1"}}, Content_Type=APPLY)
    assert dropped.json["data"] == {"a": "3", "z": "1"}
    text = "apiVersion: v1\nkind: ConfigMap\ndata:\n  y: '1'\n"
    assert api.request("PATCH", f"{CM}/d?fieldManager=x", text, Content_Type=APPLY).json["data"] == {"y": "1"}
    missing = api.request("PATCH", f"{CM}/e?fieldManager=x", body | {"metadata": {"uid": "u"}}, Content_Type=APPLY)
    assert (missing.code, "uid mismatch" in missing.json["message"]) == (409, True)


def test_apply_merges_lists_by_key(api: Cluster) -> None:
    body = pod_body() | {"spec": {"containers": [{"name": "a", "image": "1", "env": [{"name": "X", "value": "1"}]}]}}
    url = f"{P}/p?fieldManager=one"
    api.request("PATCH", url, body, Content_Type=APPLY)
    body["spec"]["containers"][0]["image"] = "2"
    done = api.request("PATCH", url, body, Content_Type=APPLY)
    assert (done.code, done.json["spec"]["containers"][0]["image"]) == (200, "2")
    assert done.json["spec"]["containers"][0]["terminationMessagePolicy"] == "File"


def test_full_disk_is_one_clear_line(tmp_path: Path) -> None:
    with cluster(tmp_path) as own:
        own.request("POST", CM, {"metadata": {"name": "c"}, "data": {"a": "1"}})
        db = own.registry.store._db
        pages = db.execute("PRAGMA page_count").fetchone()[0]
        db.execute(f"PRAGMA max_page_count={pages}")  # SQLite's own way to be out of space
        refused = own.request("POST", CM, {"metadata": {"name": "d"}, "data": {"a": "x" * 200_000}})
        assert (refused.code, refused.json["reason"]) == (500, "InternalError")
        assert refused.json["message"].endswith("store.db cannot be written: database or disk is full")
        assert own.request("GET", f"{CM}/d").code == 404
        assert own.get(f"{CM}/c")["data"] == {"a": "1"}
        db.execute("PRAGMA max_page_count=100000")
        assert own.request("POST", CM, {"metadata": {"name": "d"}}).code == 201


def test_many_clients_at_once(api: Cluster) -> None:
    made: list[dict[str, Any]] = []

    def submit() -> None:
        for _ in range(5):
            made.append(api.request("POST", BJ, batch_job() | {"metadata": {"generateName": "j-"}}).json)

    threads = [threading.Thread(target=submit) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len({job["metadata"]["name"] for job in made}) == 100
    assert len({job["metadata"]["resourceVersion"] for job in made}) == 100
    assert len(api.get(BJ)["items"]) == 100


def test_connections_leave_no_files_open(api: Cluster) -> None:
    def files() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    api.request("GET", P)
    before, threads = files(), threading.active_count()
    for _ in range(100):
        api.request("GET", P)
    wait_for("the connections to close", lambda: files() <= before + 2, 10)
    assert threading.active_count() == threads


# --- watches ---


def names(events: Any, count: int) -> list[tuple[str, str]]:
    found = []
    for event in events:
        found.append((event["type"], event["object"]["metadata"].get("name", "")))
        if len(found) == count:
            break
    return found


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
    assert 0.5 < time.monotonic() - start < 10


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
        stopped.join(10)
        assert time.monotonic() - start < 5


# --- logs ---


def running(api: Cluster, name: str, **status: Any) -> None:
    api.request("POST", P, pod_body(name, nodeName="n", restartPolicy="Never"))
    state = {
        "phase": "Running",
        "containerStatuses": [
            {
                "name": "main",
                "image": "i",
                "imageID": "",
                "ready": True,
                "restartCount": 0,
                "state": {"running": {}},
            }
        ],
    }
    api.request("PATCH", f"{P}/{name}/status", {"status": state | status}, Content_Type=MERGE)


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


# --- reviews ---


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "allowed"),
        ("/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", "resourceRules"),
        ("/apis/authentication.k8s.io/v1/selfsubjectreviews", "userInfo"),
    ],
)
def test_reviews(api: Cluster, path: str, field: str) -> None:
    response = api.request("POST", path, {"spec": {}})
    assert (response.code, bool(response.json["status"][field])) == (201, True)
    assert api.request("GET", path).code == 405
