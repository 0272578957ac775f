"""Alterations and reruns on the in-memory cluster: what becomes of the Volcano Job, and that each is done once although
the controller is started anew at any moment.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hpcbatch.api.names import SITE_CONFIGMAP, SYSTEM_NAMESPACE
from hpcbatch.api.port import Object
from hpcbatch.api.resources import BATCHJOBS, CONFIGMAPS, NAMESPACES, VOLCANO_JOBS, Resource
from hpcbatch.client import changes
from hpcbatch.client.alter import alter
from hpcbatch.client.submit import submit
from hpcbatch.controller.controller import Controller
from hpcbatch.errors import InvalidError, JobFinishedError, RefusedError
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.record import JobRecord
from hpcbatch.model.refusal import RefusalCode
from hpcbatch.model.row import JobRow
from hpcbatch.model.site import SiteConfig
from hpcbatch.model.spec import JobSpec, Submission
from hpcbatch.model.state import JobState
from hpcbatch.record.batchjob import record_from
from hpcbatch.record.rows import row_of
from hpcbatch.site.identity import GID, HOME, UID, USER
from hpcbatch.volcano.job_conf import NO_POD, first_pod
from tests.component.volcano_cluster import NS, Cluster, running
from tests.waiting import wait_for

REPORT = "exit_code=0\nwalltime_s=1\ncpu_s=1\n"
SITE = """apiVersion: hpcbatch.io/v1alpha1
kind: SiteConfiguration
policy: volcano  # a job that waits has its Volcano Job, which an alteration has to do with
queues:
- {name: default, volcanoQueue: default, default: true, maxWalltime: 01:00:00}
- {name: long, volcanoQueue: default}
"""


class Rig:
    """Two CPUs, and jobs of the user alice."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster, self.api = cluster, cluster.registry
        site = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": SITE_CONFIGMAP},
            "data": {"site.yaml": SITE},
        }
        self.api.create(CONFIGMAPS, site, SYSTEM_NAMESPACE)
        self.controller = self._started()

    def _started(self) -> Controller:
        controller = Controller(self.api, SiteConfig())
        controller.start()
        return controller

    def restart(self) -> None:
        self.controller.stop()
        self.controller = self._started()

    def submit(self, **spec: Any) -> str:
        given: dict[str, Any] = {"chunks": (Chunk(cpus=2),), "walltime_s": 600} | spec
        job = JobSpec(dialect=Dialect.PBS, name="j", server="here", **given)
        return submit(self.api, NS, Submission(spec=job, script=b"#!/bin/sh\n", environment={})).object_name

    def submit_behind_another(self, **spec: Any) -> tuple[str, str]:
        """A job that takes all CPUs, and one that waits for them."""
        blocker = self.submit()
        self.wait_state(blocker, JobState.RUNNING)
        return blocker, self.submit(**spec)

    def job(self, name: str) -> Object:
        return self.api.get(BATCHJOBS, name, NS)

    def record(self, name: str) -> JobRecord:
        return record_from(self.job(name))

    def row(self, name: str) -> JobRow:
        return row_of(self.record(name))

    def volcano_job(self, name: str) -> Object | None:
        number = self.record(name).job_id
        found = [o for o in self.api.list(VOLCANO_JOBS, NS).items if o["metadata"]["name"] == f"job-{number}"]
        return found[0] if found else None

    def conf(self, name: str) -> str:
        return str(self.api.get(CONFIGMAPS, f"job-{self.record(name).job_id}-conf", NS)["data"]["job.sh"])

    def wait_state(self, name: str, state: JobState) -> None:
        wait_for(f"{name} {state}", lambda: self.record(name).status.state is state)

    def wait_made(self, name: str) -> Object:
        found: Object = wait_for("the Volcano Job", lambda: self.volcano_job(name))
        return found

    def end(self, name: str) -> None:
        self.wait_state(name, JobState.RUNNING)
        self.cluster.end_pods(f"job-{self.record(name).job_id}", REPORT)


@pytest.fixture
def rig() -> Iterator[Rig]:
    with running(2) as cluster:
        notes = {USER: "alice", UID: "1000", GID: "1000", HOME: "/home/alice"}
        cluster.registry.patch(NAMESPACES, NS, {"metadata": {"annotations": notes}})
        rig = Rig(cluster)
        yield rig
        rig.controller.stop()


def test_a_waiting_job_keeps_its_place_unless_its_pods_change(rig: Rig) -> None:
    blocker, job = rig.submit_behind_another()
    before = rig.wait_made(job)["metadata"]["uid"]

    alter(rig.api, rig.row(job), lambda r: replace(r.spec, name="other", walltime_s=60))
    wait_for("its runner to be told", lambda: "walltime_s='60'" in rig.conf(job))
    assert rig.wait_made(job)["metadata"]["uid"] == before
    assert (rig.row(job).name, rig.row(job).walltime_s) == ("other", 60)
    assert rig.job(job)["spec"]["name"] == "j", "what was submitted stays"

    alter(rig.api, rig.row(job), lambda r: replace(r.spec, chunks=(Chunk(cpus=1),), priority=7))
    wait_for("another Volcano Job", lambda: rig.wait_made(job)["metadata"]["uid"] != before)
    made = rig.wait_made(job)
    assert made["spec"]["priorityClassName"] == "hpcbatch-plus-7"
    assert made["spec"]["tasks"][0]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] == "1"
    rig.restart()
    rig.end(blocker)
    rig.end(job)
    rig.wait_state(job, JobState.FINISHED)
    assert (rig.record(job).status.run_count, rig.row(job).name, rig.row(job).cpus) == (1, "other", 1)


class RoomAtTheAnswer:
    """An Api that makes room for a job right after an alteration of it was answered, and waits until its pod runs."""

    def __init__(self, rig: Rig, blocker: str) -> None:
        self._rig, self._blocker = rig, blocker
        self.first_pod: Any = None
        """What the job's ConfigMap then said of the pod that may start it."""

    def __getattr__(self, method: str) -> Any:
        return getattr(self._rig.api, method)

    def replace(self, resource: Resource, obj: Object, *args: Any, **more: Any) -> Object:
        done = self._rig.api.replace(resource, obj, *args, **more)
        if resource is BATCHJOBS and "answered" in obj["status"] and self.first_pod is None:
            name = f"job-{obj['status']['jobId']}"
            self._rig.end(self._blocker)
            wait_for("its pod", lambda: set(self._rig.cluster.pod_phases(name).values()) == {"Running"})
            self.first_pod = first_pod(self._rig.api.get(CONFIGMAPS, f"{name}-conf", NS))
        return done


def test_no_pod_starts_as_the_job_was_before_an_answered_alteration(rig: Rig) -> None:
    blocker, job = rig.submit_behind_another()
    before = rig.wait_made(job)["metadata"]["uid"]
    rig.controller.stop()
    room = RoomAtTheAnswer(rig, blocker)
    rig.controller = Controller(room, SiteConfig())  # type: ignore[arg-type]  # the rest of an Api by __getattr__
    rig.controller.start()
    alter(rig.api, rig.row(job), lambda r: replace(r.spec, chunks=(Chunk(cpus=1),)))
    wait_for("the pod", lambda: room.first_pod)
    assert room.first_pod == NO_POD
    name = f"job-{rig.record(job).job_id}"
    rig.cluster.kubelet.end(f"{name}-mpimaster-0", 1, "reason=Withdrawn\nmessage=too late")
    wait_for("another Volcano Job", lambda: rig.wait_made(job)["metadata"]["uid"] != before)
    wait_for("its pod", lambda: rig.cluster.pod_phases(name) == {f"{name}-mpimaster-0": "Running"})
    rig.end(job)
    rig.wait_state(job, JobState.FINISHED)
    assert (rig.record(job).status.run_count, rig.row(job).cpus) == (1, 1)


def test_alterations_at_the_same_time(rig: Rig) -> None:
    """Each is answered, and none is lost."""
    job = rig.submit(hold=True)
    row = rig.row(job)

    def add(number: int) -> None:
        def change(record: JobRecord) -> JobSpec:
            return replace(record.spec, attributes={**record.spec.attributes, f"a{number}": str(number)})

        alter(rig.api, row, change)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(add, range(12)))
    assert rig.record(job).spec.attributes == {f"a{number}": str(number) for number in range(12)}


def test_all_of_an_alteration_or_nothing(rig: Rig) -> None:
    job = rig.submit(hold=True)
    with pytest.raises(RefusedError) as refused:
        alter(rig.api, rig.row(job), lambda r: replace(r.spec, name="n", walltime_s=3601))
    assert refused.value.code == RefusalCode.WALLTIME_LIMIT
    assert (rig.row(job).name, rig.row(job).walltime_s) == ("j", 600)
    with pytest.raises(RefusedError) as refused:
        alter(rig.api, rig.row(job), lambda r: replace(r.spec, queue="nowhere"))
    assert refused.value.code == RefusalCode.UNKNOWN_QUEUE
    alter(rig.api, rig.row(job), lambda r: replace(r.spec, queue="long", walltime_s=3601))
    assert (rig.row(job).queue, rig.row(job).walltime_s) == ("long", 3601)
    alter(rig.api, rig.row(job), lambda r: replace(r.spec, queue="default", walltime_s=None))
    assert (rig.row(job).queue, rig.row(job).walltime_s) == ("default", 3600)
    assert alter(rig.api, rig.row(job), lambda r: r.spec) is None


def test_a_begin_time_given_later_takes_the_job_out_of_the_queue(rig: Rig) -> None:
    _, job = rig.submit_behind_another()
    rig.wait_made(job)
    later = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=1)
    alter(rig.api, rig.row(job), lambda r: replace(r.spec, begin_time=later))
    rig.wait_state(job, JobState.WAITING)
    wait_for("the Volcano Job to go", lambda: rig.volcano_job(job) is None)
    alter(rig.api, rig.row(job), lambda r: replace(r.spec, begin_time=None))
    rig.wait_made(job)


def test_a_running_job_takes_little(rig: Rig) -> None:
    job = rig.submit()
    rig.wait_state(job, JobState.RUNNING)
    with pytest.raises(RefusedError) as refused:
        alter(rig.api, rig.row(job), lambda r: replace(r.spec, chunks=(Chunk(cpus=1),)))
    assert (refused.value.code, str(refused.value)) == (RefusalCode.STARTED, "chunks")
    alter(rig.api, rig.row(job), lambda r: replace(r.spec, name="n", walltime_s=1200))
    assert (rig.row(job).name, rig.row(job).walltime_s) == ("n", 1200)
    rig.end(job)
    rig.wait_state(job, JobState.FINISHED)
    assert rig.record(job).status.run_count == 1
    with pytest.raises(JobFinishedError):
        alter(rig.api, rig.row(job), lambda r: replace(r.spec, name="late"))


def test_rerun_once_whenever_the_controller_dies(rig: Rig) -> None:
    job = rig.submit()
    number = rig.record(job).job_id
    for run in (1, 2, 3):
        rig.wait_state(job, JobState.RUNNING)

        def is_counted(run: int = run) -> bool:
            return rig.record(job).status.run_count == run

        wait_for("the run to be counted", is_counted)
        asked = changes.rerun(rig.api, rig.row(job))
        rig.restart()
        assert changes.await_rerun(rig.api, rig.row(job), asked, timeout_s=20)
        rig.restart()
    rig.wait_state(job, JobState.RUNNING)
    wait_for("the fourth run", lambda: rig.record(job).status.run_count == 4)
    rig.cluster.settled()
    rig.end(job)
    rig.wait_state(job, JobState.FINISHED)
    assert (rig.record(job).job_id, rig.record(job).status.run_count) == (number, 4)


def test_rerun_and_hold(rig: Rig) -> None:
    job, once = rig.submit_behind_another(rerunnable=False)
    rig.wait_state(job, JobState.RUNNING)
    changes.rerun(rig.api, rig.row(job), hold=True)
    rig.wait_state(job, JobState.HELD)
    rig.wait_state(once, JobState.RUNNING)
    with pytest.raises(RefusedError) as refused:
        changes.rerun(rig.api, rig.row(once), hold=True)
    assert refused.value.code == RefusalCode.NOT_RERUNNABLE
    assert not rig.job(once)["spec"].get("hold")
    with pytest.raises(RefusedError) as refused:
        changes.rerun(rig.api, rig.row(job))
    assert refused.value.code == RefusalCode.NOT_RUNNING
    assert rig.row(once).state is JobState.RUNNING


def test_a_member_of_an_alteration_that_is_no_value_is_refused_by_the_schema(rig: Rig) -> None:
    """Users write requests: what is in them is checked as what is submitted."""
    job = rig.submit(hold=True)
    fields: dict[str, Any]
    for fields in ({"name": 5}, {"chunks": []}, {"walltimeSeconds": "1"}, {"umask": 9999}, {"stdout": {"path": 1}}):
        with pytest.raises(InvalidError):
            rig.api.patch(BATCHJOBS, job, {"spec": {"alteration": {"id": "x", "fields": fields}}}, NS)
