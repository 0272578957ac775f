"""What is written to the pods of a suspended job, and what of it is found again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hpcbatch.engine.registry.defaults import pod_qos
from hpcbatch.engine.registry.resizing import check_resize
from hpcbatch.model.labels import CPUS_ANNOTATION
from hpcbatch.policy.freed_cpus import annotation, freed, has_its_cpus, own_cpus, whole, whole_milli, why_never

GPU = {"nvidia.com/gpu": "1"}


def pod(requests: dict[str, str], limits: dict[str, str] | None = None) -> dict[str, Any]:
    main = {"name": "main", "image": "x", "resources": {"requests": requests, "limits": limits or {}}}
    spec = {"containers": [main, {"name": "side", "resources": {}}]}
    return {"metadata": {"name": "p"}, "spec": spec, "status": {"qosClass": pod_qos(spec)}}


def with_containers(pod: dict[str, Any], containers: list[Any] | None) -> dict[str, Any]:
    assert containers is not None
    return {**pod, "spec": {**pod["spec"], "containers": containers}}


@pytest.mark.parametrize(
    ("before", "cpu", "memory", "limits"),
    [
        pytest.param(pod({"cpu": "2", "memory": "1Gi"}, {"memory": "1Gi"}), "0", "1Gi", {"memory": "1Gi"}, id="memory"),
        pytest.param(pod({"cpu": "2", **GPU}, GPU), "0", "1Mi", GPU, id="nothing but CPU"),
        pytest.param(
            pod({"cpu": "2", "memory": "1Gi"}, {"cpu": "2", "memory": "1Gi"}),
            *("0", "1Gi", {"cpu": "2", "memory": "1Gi"}),
            id="its class is not Guaranteed: the other container has no limits",
        ),
        pytest.param(pod({"cpu": "2"}, {"cpu": "8"}), "0", "1Mi", {"cpu": "8"}, id="another limit"),
    ],
)
def test_freed_and_whole(before: dict[str, Any], cpu: str, memory: str, limits: dict[str, str]) -> None:
    text = annotation(before)
    assert text == json.dumps({"main": "2"})
    after = with_containers(before, freed(before))
    resources = after["spec"]["containers"][0]["resources"]
    assert (resources["requests"]["cpu"], resources["requests"]["memory"]) == (cpu, memory)
    assert resources["limits"] == limits
    assert not check_resize(after, before)
    kept = {**after, "metadata": {"name": "p", "annotations": {CPUS_ANNOTATION: text}}}
    assert (freed(kept), annotation(kept), whole_milli(kept), own_cpus(kept)) == (None, None, 2000, {"main": "2"})
    assert not has_its_cpus([before, kept])
    again = with_containers(kept, whole(kept))
    assert again["spec"]["containers"][0]["resources"]["requests"]["cpu"] == "2"
    assert not check_resize(again, kept)
    assert has_its_cpus([again])
    assert whole(again) is None
    assert freed(again) is not None, "it can be suspended again"


def test_a_guaranteed_pod_stays_one() -> None:
    before = pod({"cpu": "2", "memory": "1Gi"}, {"cpu": "2", "memory": "1Gi"})
    before["spec"]["containers"].pop()
    before["status"]["qosClass"] = "Guaranteed"
    after = with_containers(before, freed(before))
    resources = after["spec"]["containers"][0]["resources"]
    assert (resources["requests"]["cpu"], resources["limits"]["cpu"]) == ("1m", "1m")
    assert not check_resize(after, before)


def test_what_a_node_has_not_granted() -> None:
    waits = pod({"cpu": "2"})
    waits["status"]["containerStatuses"] = [{"name": "main", "allocatedResources": {"cpu": "0"}}]
    assert not has_its_cpus([waits])
    assert why_never([waits]) == ""
    waits["status"]["conditions"] = [{"type": "PodResizePending", "reason": "Infeasible", "message": "static CPUs"}]
    assert why_never([waits]) == "static CPUs"


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"main": "much"}', "7"])
def test_an_annotation_that_nobody_can_read(text: str) -> None:
    found = pod({"cpu": "2"})
    found["metadata"]["annotations"] = {CPUS_ANNOTATION: text}
    assert (whole_milli(found), whole(found), annotation(found)) == (0, None, json.dumps({"main": "2"}))
