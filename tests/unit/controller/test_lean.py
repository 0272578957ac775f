"""What the controller's caches keep of objects: all that anybody reads, in less memory."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from hpcbatch.api.port import Object
from hpcbatch.api.resources import BATCHJOBS, NODES, PODS, Resource
from hpcbatch.controller.lean import lean

_MANAGED = {"managedFields": [{"manager": "kubelet", "fieldsV1": {"f:status": {}}}]}


def record(number: int, **status: Any) -> Object:
    meta = {"name": f"pbs-{number}", "namespace": "alice", **_MANAGED}
    return {"metadata": meta, "spec": {"chunks": [{"count": 1, "cpus": 1}], "name": "wrf"}, "status": status}


@pytest.mark.parametrize(
    ("resource", "given", "kept"),
    [
        pytest.param(
            PODS,
            {"metadata": {"name": "a", **_MANAGED}, "status": {"phase": "Running", "images": []}},
            {"metadata": {"name": "a"}, "status": {"phase": "Running", "images": []}},
            id="a pod",
        ),
        pytest.param(
            NODES,
            {"metadata": {"name": "a", **_MANAGED}, "status": {"images": [{}], "capacity": {"cpu": "4"}}},
            {"metadata": {"name": "a"}, "status": {"capacity": {"cpu": "4"}}},
            id="a node",
        ),
        pytest.param(NODES, {"metadata": {"name": "a"}}, {"metadata": {"name": "a"}}, id="a node without a status"),
        pytest.param(
            BATCHJOBS,
            {"metadata": {"name": "a"}, "status": {"state": "Running", "row": "{}", "rowMark": "7"}},
            {"metadata": {"name": "a"}, "status": {"state": "Running", "rowMark": "7"}},
            id="what listings read of a record",
        ),
        pytest.param(
            BATCHJOBS, {"metadata": {"resourceVersion": "7"}}, {"metadata": {"resourceVersion": "7"}}, id="a bookmark"
        ),
    ],
)
def test_what_nobody_reads_is_dropped(resource: Resource, given: Object, kept: Object) -> None:
    assert lean(resource, given) == kept


@pytest.mark.parametrize("status", [{"state": "Finished", "cleaned": True}, {"state": "Queued"}, {"state": "Held"}])
def test_records_that_rest_share_what_they_have_alike(status: Object) -> None:
    one, other = (lean(BATCHJOBS, record(number, **copy.deepcopy(status))) for number in (1, 2))
    whole = record(1, **status)
    del whole["metadata"]["managedFields"]
    assert one == whole
    assert one["spec"]["chunks"] is other["spec"]["chunks"]


@pytest.mark.parametrize("status", [{"state": "Running"}, {"state": "Finished"}, {}])
def test_records_that_change_soon_stay_as_they_came(status: Object) -> None:
    given = record(1, **status)
    assert lean(BATCHJOBS, given) is given
