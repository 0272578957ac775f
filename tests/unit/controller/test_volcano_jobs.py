"""The Volcano Job of a record, where the cache lags behind what we made and removed."""

from __future__ import annotations

from typing import Any, cast

import pytest

from hpcbatch.api.port import Api, Object
from hpcbatch.api.resources import COMMANDS
from hpcbatch.controller import volcano_jobs
from hpcbatch.controller.records import Admitted
from hpcbatch.controller.volcano_jobs import VolcanoJobs
from hpcbatch.errors import NotFoundError
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.record import JobRecord, JobStatus
from hpcbatch.model.spec import JobSpec

RECORD = JobRecord(
    job_id=7,
    namespace="ns",
    object_name="pbs-x",
    queue="q",
    spec=JobSpec(dialect=Dialect.PBS, name="x"),
    status=JobStatus(owner="alice"),
)
NEW, MADE = (Admitted({"status": {"volcanoJob": name}}, RECORD) for name in ("", "job-7"))


def volcano_job(uid: str, phase: str = "Running") -> Object:
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"namespace": "ns", "name": "job-7", "uid": uid},
        "status": {"state": {"phase": phase}},
    }


class Cluster:
    """Implements what VolcanoJobs calls of Api; its cache stays empty, as nobody starts the informer."""

    def __init__(self, *there: Object) -> None:
        self.there = list(there)
        self.created: list[tuple[object, str]] = []
        self.deleted: list[str | None] = []
        self.jobs = VolcanoJobs(cast(Api, self), on_event=lambda _: None)

    def get(self, _resource: object, name: str, _namespace: str) -> Object:
        if not self.there:
            raise NotFoundError(404, "NotFound", name)
        return self.there[0]

    def create(self, resource: object, obj: Object, _namespace: str) -> Object:
        self.created.append((resource, obj["metadata"]["name"]))
        return obj

    def delete(self, _resource: object, _name: str, _namespace: str, *, uid: str | None, **_: Any) -> None:
        self.deleted.append(uid)


def test_what_we_made_is_there_before_the_cache_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster()
    assert cluster.jobs.of(NEW) is None
    assert cluster.jobs.of(MADE) is None, "the record names one that somebody else deleted"
    cluster.jobs.was_made(volcano_job("a"))
    assert cluster.jobs.of(MADE) == volcano_job("a")
    assert cluster.jobs.of(NEW) == volcano_job("a"), "the record does not name it yet"
    cluster.jobs.remove(RECORD, "a")
    assert cluster.jobs.of(NEW) is None
    cluster.jobs.was_made(volcano_job("b"))
    assert cluster.jobs.of(NEW) == volcano_job("b")
    monkeypatch.setattr(volcano_jobs, "LAG_S", 0.0)
    assert cluster.jobs.of(MADE) is None, "the cache would know by now"


def test_one_that_the_cache_does_not_show_is_asked_for() -> None:
    assert Cluster(volcano_job("a")).jobs.of(MADE) == volcano_job("a")


def test_what_we_removed_counts_as_about_to_go() -> None:
    cluster = Cluster()
    cluster.jobs.remove(RECORD, "a")
    assert cluster.deleted == ["a"]
    assert cluster.jobs.view(MADE, volcano_job("a")).is_deleting
    assert not cluster.jobs.view(MADE, volcano_job("b")).is_deleting, "made anew under its name"
    cluster.jobs.forget(MADE.key)
    assert not cluster.jobs.view(MADE, volcano_job("a")).is_deleting


@pytest.mark.parametrize(("phase", "commands"), [("Running", 1), ("Terminating", 0), ("Completed", 0)])
def test_one_that_ends_already_is_not_told_to(phase: str, commands: int) -> None:
    cluster = Cluster(volcano_job("a", phase))
    cluster.jobs.terminate("ns", "job-7")
    assert cluster.created == [(COMMANDS, "job-7-terminate")] * commands
