"""What a new object gets, and which are refused."""

from typing import Any

import pytest

from hpcbatch.api import resources
from hpcbatch.engine.registry.registry import Registry
from hpcbatch.errors import (
    AlreadyExistsError,
    ApiError,
    InvalidError,
    NotFoundError,
)
from tests.component.registry.objects import THINGS, pod, thing

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
        ({"requests": {"cpu": "0", "nvidia.com/gpu": "1"}}, "BestEffort"),
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
