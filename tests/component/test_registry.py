"""Kubernetes' rules for objects, as reference recordings of a real API server show them."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hpcbatch.api import resources
from hpcbatch.engine.registry.registry import Registry
from hpcbatch.engine.registry.store import Store
from hpcbatch.errors import (
    AlreadyExistsError,
    ApiError,
    ConflictError,
    ForbiddenError,
    GoneError,
    InvalidError,
    NotFoundError,
)

CRD: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "things.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "things", "kind": "Thing", "shortNames": ["th"]},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "selectableFields": [{"jsonPath": ".spec.queue"}],
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {
                                    "queue": {"type": "string", "default": "main"},
                                    "tasks": {"type": "integer", "maximum": 64},
                                },
                            },
                            "status": {"type": "object", "properties": {"phase": {"type": "string"}}},
                        },
                    }
                },
            }
        ],
    },
}
THINGS = resources.Resource("example.com", "v1", "things", "Thing")


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def registry(clock: Clock) -> Iterator[Registry]:
    store = Store(":memory:")
    yield Registry(store, now=clock)
    store.close()


@pytest.fixture
def things(registry: Registry) -> Registry:
    registry.create(resources.CRDS, CRD)
    return registry


def thing(name: str = "t", **more: Any) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": name}, "spec": {}, **more}


def pod(name: str = "p", **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "main", "image": "img:1"}], **spec}}


# --- create ---


def test_create_fills_in(registry: Registry) -> None:
    made = registry.create(resources.PODS, pod() | {"status": {"phase": "Running"}}, "default")
    meta = made["metadata"]
    assert (meta["generation"], meta["namespace"], meta["creationTimestamp"]) == (1, "default", "2026-11-21T10:00:00Z")
    assert len(meta["uid"]) == 36
    assert meta["resourceVersion"] == str(registry.store.revision)
    assert made["status"] == {"phase": "Pending", "qosClass": "BestEffort"}
    assert made["spec"] == {
        "containers": [
            {
                "name": "main",
                "image": "img:1",
                "resources": {},
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
                "imagePullPolicy": "IfNotPresent",
            }
        ],
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "serviceAccountName": "default",
        "serviceAccount": "default",
        "securityContext": {},
        "schedulerName": "default-scheduler",
        "enableServiceLinks": True,
        "priority": 0,
        "preemptionPolicy": "PreemptLowerPriority",
    }


def test_create_does_not_keep_the_givers_parts(registry: Registry) -> None:
    given = pod(nodeSelector={"a": "b"})
    registry.create(resources.PODS, given, "default")
    given["spec"]["nodeSelector"]["a"] = "changed"
    assert registry.get(resources.PODS, "p", "default")["spec"]["nodeSelector"] == {"a": "b"}


@pytest.mark.parametrize(
    ("asked", "qos"),
    [
        ({}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}}, "Burstable"),
    ],
)
def test_qos(registry: Registry, asked: dict[str, Any], qos: str) -> None:
    body = pod()
    body["spec"]["containers"][0]["resources"] = asked
    assert registry.create(resources.PODS, body, "default")["status"]["qosClass"] == qos


def test_generate_name(registry: Registry) -> None:
    body = {"metadata": {"generateName": "gen-"}}
    names = {registry.create(resources.CONFIGMAPS, body, "default")["metadata"]["name"] for _ in range(20)}
    assert len(names) == 20
    assert all(name.startswith("gen-") and len(name) == 9 for name in names)


def test_what_only_the_server_says_is_overwritten(things: Registry) -> None:
    meta = {
        "name": "t",
        "uid": "mine",
        "generation": 7,
        "creationTimestamp": None,
        "deletionTimestamp": "2020-01-01T00:00:00Z",
        "managedFields": [{"manager": "x"}],
        "selfLink": "/x",
    }
    made = things.create(THINGS, thing(metadata=meta, status={"phase": "x"}), "default")["metadata"]
    assert made["uid"] != "mine"
    assert made["generation"] == 1
    assert set(made) == {"name", "namespace", "uid", "creationTimestamp", "generation", "resourceVersion"}
    assert "status" not in things.get(THINGS, "t", "default")


@pytest.mark.parametrize(
    ("resource", "body", "namespace", "code", "message"),
    [
        (resources.PODS, pod(), "nosuch", 404, 'namespaces "nosuch" not found'),
        (
            resources.PODS,
            {"metadata": {"name": "p"}, "spec": {}},
            "default",
            422,
            'Pod "p" is invalid: spec.containers: Required value',
        ),
        (
            resources.PODS,
            pod(serviceAccountName="nope"),
            "default",
            403,
            'pods "p" is forbidden: error looking up service account default/nope: serviceaccount "nope" not found',
        ),
        (
            resources.PODS,
            pod(priorityClassName="nope"),
            "default",
            403,
            'pods "p" is forbidden: no PriorityClass with name nope was found',
        ),
        (
            resources.PODS,
            pod(restartPolicy=3),
            "default",
            400,
            'Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal number into Go struct field '
            "PodSpec.spec.restartPolicy of type string",
        ),
        (
            resources.PODS,
            {"kind": "ConfigMap", "metadata": {"name": "p"}},
            "default",
            400,
            'ConfigMap in version "v1" cannot be handled as a Pod: converting (v1.ConfigMap) to (core.Pod): '
            "unknown conversion",
        ),
        (
            resources.CONFIGMAPS,
            {"metadata": {"name": "A_b"}},
            "default",
            422,
            'ConfigMap "A_b" is invalid: metadata.name: Invalid value: "A_b": a lowercase RFC 1123 subdomain',
        ),
        (
            resources.CONFIGMAPS,
            {"metadata": {}},
            "default",
            422,
            'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required',
        ),
        (
            resources.CONFIGMAPS,
            {"metadata": {"name": "c", "namespace": "other"}},
            "default",
            400,
            "the namespace of the provided object does not match the namespace sent on the request",
        ),
        (
            resources.CONFIGMAPS,
            {"metadata": {"name": "c", "resourceVersion": "1"}},
            "default",
            500,
            "resourceVersion should not be set on objects to be created",
        ),
        (
            resources.CONFIGMAPS,
            {"metadata": {"name": "c"}, "data": {"a": "x" * 1048577}},
            "default",
            422,
            'ConfigMap "c" is invalid: []: Too long: may not be more than 1048576 bytes',
        ),
        (
            resources.CONFIGMAPS,
            {"metadata": {"name": "c", "labels": {"a": "b c"}}},
            "default",
            422,
            'ConfigMap "c" is invalid: metadata.labels: Invalid value: "b c": a valid label must be an empty string',
        ),
        (
            resources.CONFIGMAPS,
            {"metadata": {"name": "c", "labels": {"a": 1}}},
            "default",
            400,
            'ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct '
            "field ObjectMeta.metadata.labels of type string",
        ),
        (THINGS, {"metadata": {"name": "t"}}, "default", 400, "Object 'Kind' is missing in"),
        (
            THINGS,
            {"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "t"}},
            "default",
            400,
            "the API version in the data (v1) does not match the expected API version (example.com/v1)",
        ),
        (
            THINGS,
            thing(spec={"tasks": 99}),
            "default",
            422,
            'Thing.example.com "t" is invalid: spec.tasks: '
            "Invalid value: 99: spec.tasks in body should be less than or equal to 64",
        ),
        (
            resources.EVENTS,
            {"metadata": {"name": "e"}, "involvedObject": {"namespace": "x"}},
            "default",
            422,
            'Event "e" is invalid: involvedObject.namespace: Invalid value: "x": does not match event.namespace',
        ),
        (resources.SECRETS, {"metadata": {"name": "s"}, "data": {"a": "%"}}, "default", 422, "illegal base64 data"),
    ],
)
def test_refused(
    things: Registry, resource: resources.Resource, body: dict[str, Any], namespace: str, code: int, message: str
) -> None:
    before = things.store.revision
    with pytest.raises(ApiError) as caught:
        things.create(resource, body, namespace)
    assert caught.value.code == code
    assert message in caught.value.message
    assert things.store.revision == before


def test_exists(things: Registry) -> None:
    things.create(THINGS, thing(), "default")
    with pytest.raises(AlreadyExistsError) as caught:
        things.create(THINGS, thing(), "default")
    assert caught.value.message == 'things.example.com "t" already exists'
    assert caught.value.details == {"name": "t", "group": "example.com", "kind": "things"}


def test_missing(things: Registry) -> None:
    with pytest.raises(NotFoundError) as caught:
        things.get(resources.PODS, "nosuch", "default")
    assert (caught.value.message, caught.value.details) == (
        'pods "nosuch" not found',
        {"name": "nosuch", "kind": "pods"},
    )
    assert things.list(resources.PODS, "nosuch").items == ()
    with pytest.raises(NotFoundError, match="could not find the requested resource"):
        things.get(resources.Resource("x.y", "v1", "zs", "Z"), "a", "default")


def test_secret_strings_become_data(registry: Registry) -> None:
    made = registry.create(resources.SECRETS, {"metadata": {"name": "s"}, "stringData": {"a": "b"}}, "default")
    assert (made["data"], made["type"]) == ({"a": "Yg=="}, "Opaque")
    assert "stringData" not in made


def test_immutable_secret(registry: Registry) -> None:
    registry.create(resources.SECRETS, {"metadata": {"name": "s"}, "immutable": True, "data": {"a": "Yg=="}}, "default")
    with pytest.raises(InvalidError, match="field is immutable when `immutable` is set"):
        registry.patch(resources.SECRETS, "s", {"data": {"a": "YQ=="}}, "default")
    registry.patch(resources.SECRETS, "s", {"metadata": {"labels": {"x": "y"}}}, "default")


def test_priority_class_gives_priority(registry: Registry) -> None:
    registry.create(resources.PRIORITY_CLASSES, {"metadata": {"name": "hi"}, "value": 1000})
    assert registry.create(resources.PODS, pod(priorityClassName="hi"), "default")["spec"]["priority"] == 1000


# --- update ---


def test_status_and_spec_are_apart(things: Registry) -> None:
    made = things.create(THINGS, thing(), "default")
    changed = {**made, "spec": {"tasks": 3}, "status": {"phase": "x"}}
    done = things.replace(THINGS, changed, "default")
    assert "status" not in done
    assert done["metadata"]["generation"] == 2
    labelled = {**done["metadata"], "labels": {"a": "b"}}
    done = things.replace(
        THINGS, {**done, "metadata": labelled, "spec": {}, "status": {"phase": "x"}}, "default", subresource="status"
    )
    assert (done["spec"], done["status"]) == ({"queue": "main", "tasks": 3}, {"phase": "x"})
    assert "labels" not in done["metadata"]
    assert done["metadata"]["generation"] == 2


def test_a_kind_without_status_subresource(registry: Registry) -> None:
    registry.install_builtin()
    group = {"apiVersion": resources.PODGROUPS.api_version, "kind": "PodGroup", "metadata": {"name": "g"}, "spec": {}}
    registry.create(resources.PODGROUPS, group | {"status": {}}, "default")
    done = registry.patch(resources.PODGROUPS, "g", {"status": {"phase": "Inqueue"}}, "default")
    assert (done["status"], done["metadata"]["generation"]) == ({"phase": "Inqueue"}, 2)
    with pytest.raises(NotFoundError):
        registry.patch(resources.PODGROUPS, "g", {"status": {}}, "default", subresource="status")


def test_a_write_that_changes_nothing_is_none(things: Registry) -> None:
    made = things.create(THINGS, thing(), "default")
    assert things.patch(THINGS, "t", {"spec": {"queue": "main"}}, "default") == made
    assert things.replace(THINGS, made, "default") == made
    assert things.store.revision == int(made["metadata"]["resourceVersion"])


def test_conflict(things: Registry) -> None:
    made = things.create(THINGS, thing(), "default")
    things.patch(THINGS, "t", {"spec": {"tasks": 1}}, "default")
    with pytest.raises(ConflictError) as caught:
        things.replace(THINGS, made, "default")
    assert caught.value.message == (
        'Operation cannot be fulfilled on things.example.com "t": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )
    with pytest.raises(ConflictError):
        things.patch(THINGS, "t", {"metadata": {"resourceVersion": "1"}, "spec": {"tasks": 2}}, "default")


def test_put_without_version(things: Registry) -> None:
    things.create(THINGS, thing(), "default")
    with pytest.raises(InvalidError, match=r"metadata\.resourceVersion: Invalid value: 0: must be specified"):
        things.replace(THINGS, thing(), "default")
    things.create(resources.CONFIGMAPS, {"metadata": {"name": "c"}}, "default")
    things.replace(resources.CONFIGMAPS, {"metadata": {"name": "c"}, "data": {"a": "b"}}, "default")


def test_identity(things: Registry) -> None:
    made = things.create(THINGS, thing(), "default")
    with pytest.raises(ConflictError, match="Precondition failed: UID in precondition: x, UID in object meta: "):
        things.replace(THINGS, {**made, "metadata": {**made["metadata"], "uid": "x"}}, "default")
    with pytest.raises(ApiError, match=r"the name of the object \(o\) does not match the name on the URL \(t\)"):
        things.patch(THINGS, "t", {"metadata": {"name": "o"}}, "default")


def test_pod_spec_is_fixed(registry: Registry) -> None:
    registry.create(resources.PODS, pod(), "default")
    with pytest.raises(InvalidError, match="pod updates may not change fields other than"):
        registry.patch(resources.PODS, "p", {"spec": {"hostname": "x"}}, "default")
    done = registry.patch(resources.PODS, "p", {"spec": {"activeDeadlineSeconds": 5}}, "default")
    assert done["metadata"]["generation"] == 2


def test_update_tries_again(things: Registry) -> None:
    things.create(THINGS, thing(), "default")
    calls = 0

    def change(obj: dict[str, Any]) -> dict[str, Any]:
        nonlocal calls
        calls += 1
        if calls == 1:
            things.patch(THINGS, "t", {"spec": {"tasks": 5}}, "default")
        obj["spec"]["queue"] = "other"
        return obj

    done = things.update(THINGS, "t", "default", change)
    assert (calls, done["spec"]) == (2, {"queue": "other", "tasks": 5})
    assert things.update(THINGS, "t", "default", lambda _: None) == done


def test_owned_parts_are_shared_between_versions(things: Registry) -> None:
    """So that a history of thousands of status writes costs the statuses only."""
    made = things.create(THINGS, thing(), "default")
    done = things.replace(THINGS, {**made, "status": {"phase": "x"}}, "default", subresource="status")
    assert done["spec"] is made["spec"]
    body: dict[str, Any] = {
        "apiVersion": "example.com/v1",
        "kind": "Thing",
        "metadata": dict(done["metadata"]),
        "spec": dict(made["spec"]),
    }
    body["metadata"]["labels"] = {"a": "b"}
    assert things.replace(THINGS, body, "default")["spec"] is made["spec"]


# --- delete ---


def test_delete_with_finalizer(things: Registry) -> None:
    things.create(THINGS, thing(metadata={"name": "t", "finalizers": ["x.io/a"]}), "default")
    watch = things.watch(THINGS, "default", resource_version=str(things.store.revision), timeout_s=0.05)
    things.delete(THINGS, "t", "default")
    held = things.get(THINGS, "t", "default")["metadata"]
    assert (held["deletionTimestamp"], held["deletionGracePeriodSeconds"], held["generation"]) == (
        "2026-11-21T10:00:00Z",
        0,
        2,
    )
    things.delete(THINGS, "t", "default")
    with pytest.raises(InvalidError) as caught:
        things.patch(THINGS, "t", {"metadata": {"finalizers": ["x.io/a", "x.io/b"]}}, "default")
    assert 'found new finalizers []string{"x.io/b"}' in caught.value.message
    things.patch(THINGS, "t", {"metadata": {"finalizers": None}}, "default")
    assert [event.type for event in watch] == ["MODIFIED", "DELETED"]
    with pytest.raises(NotFoundError):
        things.get(THINGS, "t", "default")


def test_preconditions(registry: Registry) -> None:
    made = registry.create(resources.CONFIGMAPS, {"metadata": {"name": "c"}}, "default")
    with pytest.raises(ConflictError) as caught:
        registry.delete(resources.CONFIGMAPS, "c", "default", uid="A")
    assert caught.value.message == (
        'Operation cannot be fulfilled on ConfigMap "c": the UID in the precondition (A) does not match the UID in '
        f"record ({made['metadata']['uid']}). The object might have been deleted and then recreated"
    )
    registry.delete(resources.CONFIGMAPS, "c", "default", uid=made["metadata"]["uid"])


def test_graceful_pod(registry: Registry, clock: Clock) -> None:
    registry.create(resources.PODS, pod(nodeName="n", terminationGracePeriodSeconds=20), "default")
    registry.delete(resources.PODS, "p", "default")
    meta = registry.get(resources.PODS, "p", "default")["metadata"]
    assert (meta["deletionTimestamp"], meta["deletionGracePeriodSeconds"]) == ("2026-11-21T10:00:20Z", 20)
    clock.sleep(3)
    registry.delete(resources.PODS, "p", "default")
    registry.delete(resources.PODS, "p", "default", grace_period_s=60)
    assert registry.get(resources.PODS, "p", "default")["metadata"] == meta
    registry.delete(resources.PODS, "p", "default", grace_period_s=5)
    meta = registry.get(resources.PODS, "p", "default")["metadata"]
    assert (meta["deletionTimestamp"], meta["deletionGracePeriodSeconds"]) == ("2026-11-21T10:00:05Z", 5)
    registry.delete(resources.PODS, "p", "default", grace_period_s=0)
    with pytest.raises(NotFoundError):
        registry.get(resources.PODS, "p", "default")


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_ended_pod_goes_at_once(registry: Registry, phase: str) -> None:
    registry.create(resources.PODS, pod(nodeName="n"), "default")
    registry.patch(resources.PODS, "p", {"status": {"phase": phase}}, "default", subresource="status")
    registry.delete(resources.PODS, "p", "default")
    assert registry.list(resources.PODS).items == ()


def test_pod_without_node_goes_at_once(registry: Registry) -> None:
    registry.create(resources.PODS, pod(), "default")
    registry.delete(resources.PODS, "p", "default")
    assert registry.list(resources.PODS).items == ()


def test_bind_and_evict(registry: Registry) -> None:
    registry.create(resources.PODS, pod(), "default")
    registry.bind("default", "p", "node-1")
    bound = registry.get(resources.PODS, "p", "default")
    assert bound["spec"]["nodeName"] == "node-1"
    assert bound["status"]["conditions"] == [
        {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": "2026-11-21T10:00:00Z"}
    ]
    with pytest.raises(ConflictError) as caught:
        registry.bind("default", "p", "node-2")
    assert caught.value.message == (
        'Operation cannot be fulfilled on pods/binding "p": pod p is already assigned to node "node-1"'
    )
    registry.evict("default", "p")
    evicted = registry.get(resources.PODS, "p", "default")
    assert evicted["status"]["conditions"][-1]["reason"] == "EvictionByEvictionAPI"
    assert evicted["metadata"]["deletionGracePeriodSeconds"] == 30


# --- namespaces ---


def test_first_namespaces(registry: Registry) -> None:
    names = {item["metadata"]["name"] for item in registry.list(resources.NAMESPACES).items}
    assert names == {"default", "kube-system", "kube-public", "hpcbatch-system"}
    accounts = registry.list(resources.SERVICE_ACCOUNTS).items
    assert {item["metadata"]["namespace"] for item in accounts} == names


def test_namespace_is_emptied(registry: Registry) -> None:
    made = registry.create(resources.NAMESPACES, {"metadata": {"name": "n"}})
    assert made["metadata"]["labels"] == {"kubernetes.io/metadata.name": "n"}
    assert (made["spec"], made["status"]) == ({"finalizers": ["kubernetes"]}, {"phase": "Active"})
    registry.create(resources.CONFIGMAPS, {"metadata": {"name": "c"}}, "n")
    registry.create(resources.PODS, pod(nodeName="x"), "n")
    registry.delete(resources.NAMESPACES, "n")
    held = registry.get(resources.NAMESPACES, "n")
    assert held["status"] == {"phase": "Terminating"}
    assert registry.list(resources.CONFIGMAPS, "n").items == ()
    with pytest.raises(ForbiddenError) as caught:
        registry.create(resources.CONFIGMAPS, {"metadata": {"name": "y"}}, "n")
    assert caught.value.message == (
        'configmaps "y" is forbidden: unable to create new content in namespace n because it is being terminated'
    )
    registry.delete(resources.PODS, "p", "n", grace_period_s=0)
    with pytest.raises(NotFoundError):
        registry.get(resources.NAMESPACES, "n")
    assert not registry.store.has_namespaced("n")


def test_empty_namespace_goes_at_once(registry: Registry) -> None:
    registry.create(resources.NAMESPACES, {"metadata": {"name": "n"}})
    registry.delete(resources.NAMESPACES, "n")
    with pytest.raises(NotFoundError):
        registry.get(resources.NAMESPACES, "n")


def test_default_namespace_stays(registry: Registry) -> None:
    with pytest.raises(ForbiddenError, match='namespaces "default" is forbidden: this namespace may not be deleted'):
        registry.delete(resources.NAMESPACES, "default")


# --- definitions ---


def test_definition_is_in_force_at_once(registry: Registry) -> None:
    made = registry.create(resources.CRDS, CRD)
    conditions = {item["type"]: item["status"] for item in made["status"]["conditions"]}
    assert conditions == {"NamesAccepted": "True", "Established": "True"}
    assert made["status"]["storedVersions"] == ["v1"]
    assert made["spec"]["names"]["listKind"] == "ThingList"
    assert registry.create(THINGS, thing(), "default")["spec"] == {"queue": "main"}
    assert [item["metadata"]["name"] for item in registry.list(THINGS, fields="spec.queue=main").items] == ["t"]


def test_definition_goes_with_its_objects(things: Registry) -> None:
    things.create(THINGS, thing(), "default")
    watch = things.watch(THINGS)
    things.delete(resources.CRDS, "things.example.com")
    assert [event.type for event in watch] == ["ADDED", "DELETED"]
    with pytest.raises(NotFoundError):
        things.list(THINGS)


def test_definition_waits_for_finalizers(things: Registry) -> None:
    things.create(THINGS, thing(metadata={"name": "t", "finalizers": ["x.io/a"]}), "default")
    things.delete(resources.CRDS, "things.example.com")
    assert things.get(resources.CRDS, "things.example.com")["metadata"]["deletionTimestamp"]
    things.patch(THINGS, "t", {"metadata": {"finalizers": None}}, "default")
    with pytest.raises(NotFoundError):
        things.get(resources.CRDS, "things.example.com")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda crd: crd["metadata"].update(name="wrong.x"),
            'metadata.name: Invalid value: "wrong.x": must be spec.names.plural+"."+spec.group',
        ),
        (lambda crd: crd["spec"]["versions"][0].update(schema={}), "schema.openAPIV3Schema: Required value"),
        (
            lambda crd: crd["spec"]["versions"][0].update(storage=False),
            "must have exactly one version marked as storage version",
        ),
        (
            lambda crd: crd["spec"]["versions"][0].update(selectableFields=[{"jsonPath": ".spec.zz"}]),
            'Invalid value: ".spec.zz": is an invalid path: does not refer to a valid field',
        ),
        (
            lambda crd: crd["spec"]["versions"][0].update(
                additionalPrinterColumns=[{"name": "A", "type": "foo", "jsonPath": ".spec.a"}]
            ),
            'Invalid value: "foo": must be one of boolean,date,integer,number,string',
        ),
        (
            lambda crd: crd["spec"]["versions"][0].update(
                additionalPrinterColumns=[{"name": "A", "type": "string", "jsonPath": "spec.a"}]
            ),
            "must be a simple json path starting with .",
        ),
        (lambda crd: crd["spec"].pop("names"), "spec.names: Required value"),
        (lambda crd: crd.update(spec=None), "spec.names: Required value"),
        (lambda crd: crd["spec"]["versions"].append(3), "of type v1.CustomResourceDefinitionVersion"),
        (lambda crd: crd["spec"].update(versions="x"), "cannot unmarshal string"),
        (lambda crd: crd["spec"].update(versions=[]), "spec.versions: Required value"),
    ],
)
def test_bad_definitions(registry: Registry, change: Any, message: str) -> None:
    from hpcbatch.engine.registry.values import clone

    crd = clone(CRD)
    change(crd)
    with pytest.raises(ApiError) as caught:
        registry.create(resources.CRDS, crd)
    assert message in caught.value.message
    assert caught.value.code in {400, 422}


def test_builtin_definitions(registry: Registry) -> None:
    registry.install_builtin()
    before = registry.store.revision
    registry.install_builtin()
    assert registry.store.revision == before
    queues = {item["metadata"]["name"]: item["spec"] for item in registry.list(resources.QUEUES).items}
    assert queues["default"] == {
        "dequeueStrategy": "traverse",
        "guarantee": {},
        "parent": "root",
        "reclaimable": True,
        "weight": 1,
    }
    kinds = {kind.resource for kind in registry.kinds() if kind.custom}
    assert kinds == {
        resources.BATCHJOBS,
        resources.VOLCANO_JOBS,
        resources.PODGROUPS,
        resources.QUEUES,
        resources.COMMANDS,
    }


def test_the_seed_job_is_valid(registry: Registry) -> None:
    registry.install_builtin()
    template = {"spec": {"containers": [{"name": "main", "image": "x"}], "restartPolicy": "OnFailure"}}
    job = {
        "apiVersion": resources.VOLCANO_JOBS.api_version,
        "kind": "Job",
        "metadata": {"name": "j"},
        "spec": {
            "minAvailable": 3,
            "plugins": {"ssh": [], "svc": []},
            "tasks": [
                {
                    "name": "mpimaster",
                    "replicas": 1,
                    "template": template,
                    "policies": [{"event": "TaskCompleted", "action": "CompleteJob"}],
                },
                {"name": "mpiworker", "replicas": 2, "template": template},
            ],
        },
    }
    made = registry.create(resources.VOLCANO_JOBS, job, "default")
    assert (made["spec"]["maxRetry"], made["spec"]["queue"]) == (3, "default")
    job["metadata"] = {"name": "k"}
    job["spec"]["tasks"][0]["policies"][0]["event"] = "Foo"  # type: ignore[index]
    with pytest.raises(InvalidError) as caught:
        registry.create(resources.VOLCANO_JOBS, job, "default")
    assert caught.value.message == (
        'Job.batch.volcano.sh "k" is invalid: spec.tasks[0].policies[0].event: Unsupported value: "Foo": supported '
        'values: "*", "PodPending", "PodRunning", "PodFailed", "PodEvicted", "Unknown", "TaskCompleted", "OutOfSync", '
        '"CommandIssued", "JobUpdated", "TaskFailed"'
    )


# --- admission ---


def test_admission(things: Registry) -> None:
    seen: list[tuple[str, bool]] = []

    def mutate(operation: str, obj: dict[str, Any], old: dict[str, Any] | None) -> dict[str, Any]:
        seen.append((operation, old is None))
        return {**obj, "spec": {**obj["spec"], "tasks": 7}}

    def validate(operation: str, obj: dict[str, Any], old: dict[str, Any] | None) -> None:
        if operation == "DELETE" or obj["spec"]["queue"] == "closed":
            raise ApiError(400, "", "denied")

    things.admission[THINGS].mutators.append(mutate)
    things.admission[THINGS].validators.append(validate)
    assert things.create(THINGS, thing(), "default")["spec"] == {"queue": "main", "tasks": 7}
    with pytest.raises(ApiError, match="denied"):
        things.patch(THINGS, "t", {"spec": {"queue": "closed"}}, "default")
    with pytest.raises(ApiError, match="denied"):
        things.delete(THINGS, "t", "default")
    things.patch(THINGS, "t", {"status": {"phase": "x"}}, "default", subresource="status")
    assert seen == [("CREATE", True), ("UPDATE", False)]
    assert things.get(THINGS, "t", "default")["spec"]["queue"] == "main"


def test_mutation_comes_before_the_schema(things: Registry) -> None:
    things.admission[THINGS].mutators.append(lambda _o, obj, _old: {**obj, "spec": {"tasks": 65}})
    with pytest.raises(InvalidError, match=r"spec\.tasks"):
        things.create(THINGS, thing(), "default")


# --- watches ---


def test_watch_with_selector(things: Registry) -> None:
    watch = things.watch(THINGS, "default", labels="a=b", timeout_s=0.05)
    things.create(THINGS, thing(), "default")
    things.patch(THINGS, "t", {"metadata": {"labels": {"a": "b"}}}, "default")
    things.patch(THINGS, "t", {"spec": {"tasks": 1}}, "default")
    changed = things.patch(THINGS, "t", {"metadata": {"labels": {"a": "c"}}}, "default")
    things.patch(THINGS, "t", {"spec": {"tasks": 2}}, "default")
    things.patch(THINGS, "t", {"metadata": {"labels": {"a": "b"}}}, "default")
    things.delete(THINGS, "t", "default")
    events = list(watch)
    assert [event.type for event in events] == ["ADDED", "MODIFIED", "DELETED", "ADDED", "DELETED"]
    assert events[2].object == changed
    assert events[-1].object["metadata"]["resourceVersion"] == str(things.store.revision)


def test_watch_goes_on_from_a_list(things: Registry) -> None:
    things.create(THINGS, thing("a"), "default")
    listed = things.list(THINGS)
    things.create(THINGS, thing("b"), "default")
    things.delete(THINGS, "a", "default")
    watch = things.watch(THINGS, resource_version=listed.resource_version, timeout_s=0.05)
    assert [(event.type, event.object["metadata"]["name"]) for event in watch] == [("ADDED", "b"), ("DELETED", "a")]


def test_watch_too_old(clock: Clock) -> None:
    registry = Registry(Store(":memory:", history=10), now=clock)
    listed = registry.list(resources.PODS)
    for index in range(12):
        registry.create(resources.CONFIGMAPS, {"metadata": {"name": f"c{index}"}}, "default")
    with pytest.raises(GoneError):
        registry.watch(resources.PODS, resource_version=listed.resource_version)


def test_watch_closes_from_another_thread(registry: Registry) -> None:
    import threading

    watch = registry.watch(resources.PODS)
    threading.Timer(0.05, watch.close).start()
    assert list(watch) == []
    watch.close()
    assert registry.store.subscription_count() == 0


# --- events ---


def test_events_are_counted(registry: Registry, clock: Clock) -> None:
    involved = registry.create(resources.PODS, pod(), "default")
    for _ in range(3):
        registry.record_event(
            involved, type="Warning", reason="BackOff", message="again", component="kubelet", host="node-1"
        )
        clock.sleep(1)
    (event,) = registry.list(resources.EVENTS, "default", fields="involvedObject.name=p").items
    assert (event["count"], event["firstTimestamp"], event["lastTimestamp"]) == (
        3,
        "2026-11-21T10:00:00Z",
        "2026-11-21T10:00:02Z",
    )
    assert event["involvedObject"]["uid"] == involved["metadata"]["uid"]
    assert event["source"] == {"component": "kubelet", "host": "node-1"}
    assert event["metadata"]["name"].startswith("p.")


def test_events_never_fail_and_are_forgotten(registry: Registry, clock: Clock) -> None:
    registry.record_event(
        {"kind": "Pod", "metadata": {"name": "p", "namespace": "nosuch"}},
        type="Normal",
        reason="X",
        message="m",
        component="c",
    )
    node = {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "n", "uid": "u"}}
    registry.record_event(node, type="Normal", reason="X", message="m", component="c")
    assert [item["metadata"]["namespace"] for item in registry.list(resources.EVENTS).items] == ["default"]
    clock.sleep(3700)
    for index in range(201):
        registry.record_event(node, type="Normal", reason="X", message=str(index), component="c")
    assert "m" not in {item["message"] for item in registry.list(resources.EVENTS).items}
