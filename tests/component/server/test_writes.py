"""Creation, patches and deletion through the API."""

from tests.component.api_server import Cluster, batch_job, pod_body
from tests.component.server.paths import APPLY, BJ, CM, MERGE, STRATEGIC, P

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
