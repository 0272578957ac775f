"""Who may start a job's script, and what takes that back."""

from __future__ import annotations

from typing import Any

import pytest

from hpcbatch.api.port import Object, ObjectList
from hpcbatch.controller.start_bar import StartBar
from hpcbatch.errors import NotFoundError
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.labels import REQUESTS_ANNOTATION
from hpcbatch.model.record import JobRecord, JobStatus
from hpcbatch.model.spec import JobSpec
from hpcbatch.volcano.job_conf import NO_POD


class OneJob:
    """An API with the ConfigMap of one job, if it has one, and its pods."""

    def __init__(self, first: str | None, *pods: Object, has_conf: bool = True) -> None:
        self.first, self.pods, self.has_conf = first, pods, has_conf

    def get(self, *_: Any) -> Object:
        if not self.has_conf:
            raise NotFoundError(404, "NotFound", "conf")
        return {"metadata": {"resourceVersion": "1"}, "data": {} if self.first is None else {"has_run": self.first}}

    def patch(self, _resource: Any, _name: str, body: Object, _namespace: str) -> Object:
        self.first = body["data"]["has_run"]
        return {}

    def list(self, *_: Any, **__: Any) -> ObjectList:
        return ObjectList(items=self.pods, resource_version="1")


def record(*, rerunnable: bool) -> JobRecord:
    spec = JobSpec(dialect=Dialect.PBS, name="x", rerunnable=rerunnable)
    return JobRecord(job_id=7, namespace="ns", object_name="x", queue="q", spec=spec, status=JobStatus())


@pytest.mark.parametrize(
    ("rerunnable", "first", "may", "after"),
    [
        (False, None, True, "a"),
        (False, "a", True, "a"),
        (False, "b", False, "b"),
        (False, NO_POD, False, NO_POD),
        (True, None, True, None),
        (True, NO_POD, False, NO_POD),
    ],
)
def test_who_may_start(rerunnable: bool, first: str | None, may: bool, after: str | None) -> None:
    api: Any = OneJob(first)
    assert StartBar(api).let_start(record(rerunnable=rerunnable), "a") is may
    assert api.first == after


def test_without_its_configmap_no_pod_starts() -> None:
    api: Any = OneJob(None, has_conf=False)
    assert not StartBar(api).let_start(record(rerunnable=True), "a")


def pod(node: str = "", requests: str = "") -> Object:
    return {"metadata": {"annotations": {REQUESTS_ANNOTATION: requests}}, "spec": {"nodeName": node}}


@pytest.mark.parametrize(
    ("pods", "is_withdrawn", "in_part"),
    [
        ((pod(), pod()), True, True),
        ((pod("n"), pod()), False, True),
        ((pod("n"), pod("n")), False, True),
        ((pod("n", "start\n"), pod("n")), False, False),
    ],
    ids=["no node", "some nodes", "all nodes, not let start", "let start"],
)
def test_what_can_be_withdrawn(pods: tuple[Object, ...], is_withdrawn: bool, in_part: bool) -> None:
    """A pod that has a node may have begun, unless it waits for the word."""
    api: Any = OneJob(None, *pods)
    assert StartBar(api).withdraw(record(rerunnable=True)) is is_withdrawn
    assert StartBar(api).withdraw(record(rerunnable=True), in_part=True) is in_part
    assert api.first == NO_POD
