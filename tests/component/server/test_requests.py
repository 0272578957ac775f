"""Who may call the API, and how it answers reads."""

import stat

import pytest

from hpcbatch.engine.registry.registry import Registry
from hpcbatch.engine.registry.store import Store
from hpcbatch.engine.server.server import ApiServer, ServerError
from tests.component.api_server import Cluster, batch_job, pod_body
from tests.component.server.paths import BJ, CM, TABLE, P

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


@pytest.mark.parametrize("limit", [1, 2, 3, 7])
@pytest.mark.parametrize(
    ("selectors", "expected"),
    [
        pytest.param("", ["default/a", "default/b", "default/c", "kube-system/a", "kube-system/d"], id="all"),
        pytest.param("&fieldSelector=type%3DX", ["default/a", "default/c", "kube-system/d"], id="by a field"),
        pytest.param("&labelSelector=x", ["default/b", "kube-system/a"], id="by a label"),
        pytest.param("&fieldSelector=metadata.name%3Da", ["default/a", "kube-system/a"], id="by name"),
    ],
)
def test_pages_together_are_the_list(api: Cluster, limit: int, selectors: str, expected: list[str]) -> None:
    for place in ["default/a", "default/b", "default/c", "kube-system/a", "kube-system/d"]:
        namespace, name = place.split("/")
        is_plain = place not in {"default/b", "kube-system/a"}
        secret = {"metadata": {"name": name, "labels": {} if is_plain else {"x": ""}}, "type": "X" if is_plain else "Y"}
        assert api.request("POST", f"/api/v1/namespaces/{namespace}/secrets", secret).code == 201
    found: list[str] = []
    more = ""
    while more or not found:
        page = api.get(f"/api/v1/secrets?limit={limit}{selectors}&continue={more}")
        meta = page["metadata"]
        found += [f"{item['metadata']['namespace']}/{item['metadata']['name']}" for item in page["items"]]
        more = meta["continue"]
        assert (len(page["items"]) == limit) or not more
        assert meta.get("remainingItemCount") == (len(expected) - len(found) or None if not selectors else None)
    assert found == expected


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
    made["status"] = {"state": "Queued", "rank": 60, "summary": {"name": "job"}}
    api.request("PUT", f"{BJ}/b/status", made)
    table = api.get(BJ, Accept=TABLE)
    cells = dict(zip([c["name"] for c in table["columnDefinitions"]], table["rows"][0]["cells"], strict=True))
    assert (cells["Name"], cells["Job"], cells["State"], cells["Rank"]) == ("b", "job", "Queued", 60)
    assert cells["Age"].endswith("s")
    assert cells["Submitted"].endswith("Z")


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
