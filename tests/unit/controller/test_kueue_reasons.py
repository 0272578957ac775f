from __future__ import annotations

from typing import Any, cast

import pytest

from hpcbatch.api.port import Api, Object
from hpcbatch.api.resources import Resource
from hpcbatch.controller.kueue_reasons import why_kueue_waits
from hpcbatch.errors import NotFoundError
from hpcbatch.model.state import Reason
from hpcbatch.policy.observed import Waiting
from hpcbatch.volcano.gangs.chosen import SCHEDULER

FULL = "couldn't assign flavors to pod set a: insufficient unused quota for cpu in flavor default-flavor, 2 more"


class Kueue:
    def __init__(self, *conditions: dict[str, str] | None) -> None:
        self.conditions = conditions

    def get(self, resource: Resource, name: str, namespace: str | None = None) -> Object:
        assert (resource.plural, name, namespace) == ("workloads", "job-7-3f2a", "alice")
        if self.conditions == (None,):
            raise NotFoundError(404, "NotFound", "no such workload")
        return {"status": {"conditions": list(self.conditions)}}


def job(scheduler: str) -> dict[str, Any]:
    notes = {SCHEDULER: scheduler}
    return {"metadata": {"name": "job-7", "namespace": "alice", "uid": "3f2a-99", "annotations": notes}}


@pytest.mark.parametrize(
    ("conditions", "why"),
    [
        ([], ""),
        ([None], ""),
        ([{"type": "QuotaReserved", "status": "True", "message": "Quota reserved in ClusterQueue q"}], ""),
        ([{"type": "QuotaReserved", "status": "False", "message": ""}], ""),
        ([{"type": "PodsReady", "status": "False", "message": "x"}], ""),
        ([{"type": "QuotaReserved", "status": "False", "message": FULL}], f"Kueue: {FULL}"),
    ],
    ids=["new", "no workload", "let in", "nothing said", "another condition", "no quota"],
)
def test_why(conditions: list[dict[str, str] | None], why: str) -> None:
    found = why_kueue_waits(cast(Api, Kueue(*conditions)), job("kueue"))
    assert found == (Waiting(reason=Reason.RESOURCES, message=why) if why else None)


def test_other_schedulers_are_not_asked() -> None:
    assert why_kueue_waits(cast(Api, None), job("none")) is None
