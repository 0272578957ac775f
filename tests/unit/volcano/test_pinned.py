"""Volcano Jobs whose pods are kept to some nodes."""

from __future__ import annotations

import copy
from typing import Any

from hpcbatch.volcano.pinned import HOST, is_pinned, noted, pinned

LINE = {"key": HOST, "operator": "In", "values": ["a", "b"]}


def made(*affinities: dict[str, Any] | None) -> dict[str, Any]:
    specs: list[dict[str, Any]] = [
        {"containers": []} | ({} if each is None else {"affinity": each}) for each in affinities
    ]
    tasks = [{"name": f"t{index}", "template": {"spec": spec}} for index, spec in enumerate(specs)]
    return {"metadata": {"name": "job-1"}, "spec": {"tasks": tasks}}


def terms(volcano_job: dict[str, Any], task: int) -> list[dict[str, Any]]:
    affinity = volcano_job["spec"]["tasks"][task]["template"]["spec"]["affinity"]["nodeAffinity"]
    found: list[dict[str, Any]] = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    return found


def test_every_task_is_kept_to_its_nodes_beside_what_it_has() -> None:
    ib, gpu = ({"key": key, "operator": "In", "values": ["x"]} for key in ("ib", "gpu"))
    own = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [ib]}, {"matchExpressions": [gpu]}]
            }
        },
        "podAntiAffinity": {"kept": True},
    }
    before = made(None, own)
    untouched = copy.deepcopy(before)
    after = pinned(before, {"t0": ["a", "b"], "t1": ["c"]})
    assert before == untouched
    assert terms(after, 0) == [{"matchExpressions": [LINE]}]
    other = {**LINE, "values": ["c"]}
    assert terms(after, 1) == [{"matchExpressions": [ib, other]}, {"matchExpressions": [gpu, other]}]
    assert is_pinned(after) and not is_pinned(before)
    assert after["spec"]["tasks"][1]["template"]["spec"]["affinity"]["podAntiAffinity"] == {"kept": True}


def test_a_note_leaves_the_others() -> None:
    before = made()
    before["metadata"]["annotations"] = {"a": "1"}
    assert noted(before, "b", "2")["metadata"] == {"name": "job-1", "annotations": {"a": "1", "b": "2"}}
    assert before["metadata"]["annotations"] == {"a": "1"}
