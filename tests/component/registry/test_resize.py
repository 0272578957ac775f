"""`pods/resize`: CPU and memory of containers change, nothing else does, and a pod keeps its class."""

from typing import Any

import pytest

from hpcbatch.api import resources
from hpcbatch.api.port import Object
from hpcbatch.engine.registry.registry import Registry
from hpcbatch.errors import ApiError, NotFoundError
from tests.component.registry.objects import pod

ASKED = {"requests": {"cpu": "2", "nvidia.com/gpu": "1"}, "limits": {"nvidia.com/gpu": "1"}}


def made(registry: Registry, asked: dict[str, Any] | None = None) -> Object:
    body = pod()
    body["spec"]["containers"][0]["resources"] = ASKED if asked is None else asked
    return registry.create(resources.PODS, body, "default")


def resize(registry: Registry, old: Object, asked: dict[str, Any], **more: Any) -> Object:
    (container,) = old["spec"]["containers"]
    spec = {"containers": [{**container, "resources": asked, **more}]}
    return registry.patch(resources.PODS, "p", {"spec": spec}, "default", subresource="resize")


def test_only_resources_change(registry: Registry) -> None:
    old = made(registry)
    asked = {**ASKED, "requests": {"cpu": "0", "memory": "1Mi", "nvidia.com/gpu": "1"}}
    new = resize(registry, old, asked, image="other")
    (container,) = new["spec"]["containers"]
    assert container == {**old["spec"]["containers"][0], "resources": asked}
    assert new["spec"] == {**old["spec"], "containers": [container]}
    assert new["metadata"]["generation"] == old["metadata"]["generation"] + 1
    assert new["status"]["qosClass"] == "Burstable"


@pytest.mark.parametrize(
    ("asked", "now", "fault"),
    [
        pytest.param(
            ASKED,
            {**ASKED, "requests": {"cpu": "0", "nvidia.com/gpu": "1"}},
            'spec: Invalid value: "Burstable": Pod QOS Class may not change as a result of resizing',
            id="class",
        ),
        pytest.param(
            {"requests": {"cpu": "2", "memory": "1Gi"}},
            {"requests": {"memory": "1Gi"}},
            "spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed",
            id="removed",
        ),
        pytest.param(
            ASKED,
            {"requests": {"cpu": "2", "nvidia.com/gpu": "2"}, "limits": {"nvidia.com/gpu": "2"}},
            "spec: Forbidden: only cpu and memory resources are mutable",
            id="gpu",
        ),
        pytest.param(
            ASKED,
            {**ASKED, "requests": {"cpu": "much", "nvidia.com/gpu": "1"}},
            'spec.containers[0].resources.requests[cpu]: Invalid value: "much"',
            id="no quantity",
        ),
    ],
)
def test_refused(registry: Registry, asked: dict[str, Any], now: dict[str, Any], fault: str) -> None:
    old = made(registry, asked)
    with pytest.raises(ApiError) as caught:
        resize(registry, old, now)
    assert caught.value.code == 422
    assert fault in caught.value.message
    assert registry.get(resources.PODS, "p", "default") == old


def test_containers_stay(registry: Registry) -> None:
    old = made(registry)
    (container,) = old["spec"]["containers"]
    for containers, fault in (
        ([container, {**container, "name": "b"}], "spec.containers: Forbidden: containers may not be added or removed"),
        ([{**container, "name": "b"}], "spec.containers[0].name: Forbidden: containers may not be renamed"),
    ):
        with pytest.raises(ApiError) as caught:
            registry.patch(resources.PODS, "p", {"spec": {"containers": containers}}, "default", subresource="resize")
        assert fault in caught.value.message


def test_other_ways_stay_closed(registry: Registry) -> None:
    old = made(registry)
    (container,) = old["spec"]["containers"]
    spec = {"containers": [{**container, "resources": {**ASKED, "requests": {"cpu": "1", "nvidia.com/gpu": "1"}}}]}
    with pytest.raises(ApiError) as caught:
        registry.patch(resources.PODS, "p", {"spec": spec}, "default")
    assert "pod updates may not change fields" in caught.value.message
    registry.create(resources.CONFIGMAPS, {"metadata": {"name": "c"}}, "default")
    with pytest.raises(NotFoundError):
        registry.patch(resources.CONFIGMAPS, "c", {"data": {}}, "default", subresource="resize")
