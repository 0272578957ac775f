"""Whatever one user puts into a record, the controller goes on for all others."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hpcbatch.api.names import SECRET_TYPE
from hpcbatch.api.port import Object
from hpcbatch.api.resources import BATCHJOBS, NAMESPACES, SECRETS
from hpcbatch.controller.controller import Controller
from hpcbatch.controller.process import Process
from hpcbatch.engine.registry.schema import CompiledSchema
from hpcbatch.errors import ApiError, NotFoundError
from hpcbatch.model.site import SiteConfig
from hpcbatch.model.spec import JobSpec
from hpcbatch.policy import decide_array
from hpcbatch.site.identity import GID, HOME, UID, USER
from tests.component.volcano_cluster import NS, Cluster
from tests.schema_values import schema_of, values
from tests.thoroughness import examples
from tests.waiting import wait_for

REST_S = 1.5


class Rig:
    """A controller without anything that runs jobs: what it makes of records."""

    def __init__(self) -> None:
        self.cluster = Cluster(4, 4)
        self.registry = self.cluster.registry
        notes = {USER: "alice", UID: "1000", GID: "1000", HOME: "/home/alice"}
        self.registry.patch(NAMESPACES, NS, {"metadata": {"annotations": notes}})
        self.controller = Controller(self.registry, SiteConfig())
        self._count = 0

    def submit(self, spec: Object | None = None) -> str:
        """A job with these fields of its spec beside what each has."""
        self._count += 1
        name = f"job-{self._count}"
        secret: Object = {"metadata": {"name": name}, "type": SECRET_TYPE, "immutable": True, "data": {}}
        self.registry.create(SECRETS, secret, NS)
        body = {"dialect": "slurm", "name": name, "chunks": [{"count": 1, "cpus": 1, "ranks": 1}]}
        obj: Object = {"apiVersion": BATCHJOBS.api_version, "kind": BATCHJOBS.kind, "metadata": {"name": name}}
        self.registry.create(BATCHJOBS, obj | {"spec": {**body, **(spec or {}), "submissionSecret": name}}, NS)
        return name

    def patch(self, name: str, spec: Object) -> None:
        self.registry.patch(BATCHJOBS, name, {"spec": spec}, NS)

    def try_to_submit(self, spec: Object) -> str:
        """The name of the job; "" where the definition does not allow it."""
        try:
            return self.submit(spec)
        except ApiError:
            return ""

    def try_to_patch(self, name: str, spec: Object) -> None:
        try:
            self.patch(name, spec)
        except ApiError:
            pass

    def status(self, name: str) -> Object:
        try:
            found: Object = self.registry.get(BATCHJOBS, name, NS).get("status", {})
        except NotFoundError:  # members that no array has made
            found = {"refusal": {}}
        return found

    def answer(self, name: str) -> Object:
        """The status as soon as the job has a number or a refusal."""

        def answered() -> Object | None:
            status = self.status(name)
            return status if status.keys() & {"jobId", "refusal"} else None

        found: Object = wait_for(f"an answer to {name}", answered)
        return found

    def wait_status(self, name: str, **wanted: str) -> Object:
        """The status as soon as it says this."""

        def is_so() -> Object | None:
            status = self.status(name)
            return status if wanted.items() <= status.items() else None

        found: Object = wait_for(f"{name} to be {wanted}", is_so)
        return found

    def members(self, array: str) -> int:
        listed = self.registry.list(BATCHJOBS, NS).items
        return sum(obj["spec"].get("memberOf", {}).get("arrayName") == array for obj in listed)

    def at_rest(self, array: str) -> int:
        """How many members there are when they grow no more."""
        seen, since = self.members(array), time.monotonic()
        while time.monotonic() - since < REST_S:
            time.sleep(0.1)
            if (now := self.members(array)) != seen:
                seen, since = now, time.monotonic()
        return seen

    def still_works(self) -> None:
        assert "jobId" in self.answer(self.submit())
        assert self.controller.failure == ""


SPECS = values(schema_of("spec"))
CHANGES = values(
    {
        "type": "object",
        "properties": {
            name: part
            for name, part in schema_of("spec")["properties"].items()
            if name
            in {
                "hold",
                "deleteRequested",
                "adminHolds",
                "suspended",
                "suspendedRun",
                "rerunRequest",
                "signalRequest",
                "arrayRequest",
                "alteration",
            }
        },
    }
)


def test_whatever_the_definition_allows_others_are_served() -> None:
    rig = Rig()
    rig.cluster.start()
    rig.controller.start()

    @settings(max_examples=examples(15), deadline=None, suppress_health_check=[*HealthCheck])
    @given(st.lists(st.tuples(SPECS, st.lists(CHANGES, max_size=3)), min_size=4, max_size=4))
    def serve(jobs: list[tuple[Object, list[Object]]]) -> None:
        submitted = [(name, changes) for spec, changes in jobs if (name := rig.try_to_submit(spec))]
        for name, changes in submitted:
            rig.answer(name)
            for change in changes:
                rig.try_to_patch(name, change)
        rig.still_works()

    try:
        serve()
    finally:
        rig.controller.stop()
        rig.cluster.stop()


@pytest.fixture
def rig() -> Iterator[Rig]:
    rig = Rig()
    rig.controller.start()
    yield rig
    rig.controller.stop()


def test_a_begin_that_nobody_will_see(rig: Rig) -> None:
    for begin in ("2400-01-01T00:00:00Z", "4999-12-31T23:59:59Z"):
        assert rig.answer(rig.submit({"beginTime": begin}))["state"] == "Waiting"
        rig.still_works()
        rig.still_works()


def test_a_dead_worker_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig()
    monkeypatch.setattr(rig.controller.work, "get", lambda: 1 / 0)
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    assert rig.controller.failure == ""
    rig.controller.start()
    wait_for("the end of the workers", lambda: "batchjobs-0" in rig.controller.failure)
    rig.controller.stop()
    assert rig.controller.failure == ""


def test_the_process_ends_with_its_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    process = Process({}, namespace="hpcbatch-system", timing=None)
    monkeypatch.setattr(process, "_begin", lambda: None)
    process._controller = SimpleNamespace(failure="threads have ended: batchjobs-0")  # type: ignore[assignment]
    assert process.run() == 1, "so that Kubernetes starts it anew"


HUGE = "0-30000000:3,1-30000000"


def test_sets_are_bounded_before_they_are_expanded(rig: Rig) -> None:
    refused = rig.answer(rig.submit({"array": {"indices": HUGE}}))
    assert "overlap" in refused["refusal"]["message"]
    array = rig.submit({"array": {"indices": "1-9"}, "hold": True})
    assert rig.answer(array)["state"] == "Held"
    rig.patch(array, {"arrayRequest": {"held": HUGE}})
    rig.wait_status(array, reason="Broken")
    assert "arrayRequest.held" in rig.status(array)["message"]
    rig.still_works()
    rig.patch(array, {"arrayRequest": {"held": "1-3"}})
    assert "message" not in rig.wait_status(array, reason="HeldByUser")
    rig.patch(array, {"arrayRequest": {"held": HUGE}})
    rig.wait_status(array, reason="Broken")
    rig.patch(array, {"deleteRequested": True})
    rig.wait_status(array, state="Deleted")


def test_members_of_their_own_are_made_in_steps_and_not_all(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decide_array, "MAX_OWN", 70)
    monkeypatch.setattr(decide_array, "OWN_AT_ONCE", 5)
    array = rig.submit({"array": {"indices": "1-100000"}, "hold": True})
    rig.answer(array)
    rig.patch(array, {"arrayRequest": {"own": "1-100000"}})
    wait_for("some of them", lambda: rig.members(array) >= 5)
    rig.patch(array, {"arrayRequest": {"own": ""}})
    stopped = rig.at_rest(array)
    assert stopped < 70, "it looks again after each step"
    rig.patch(array, {"arrayRequest": {"own": "1-100000"}})
    wait_for("as many as there may be", lambda: rig.members(array) == 70)
    assert rig.at_rest(array) == 70
    rig.patch(array, {"deleteRequested": True})
    rig.wait_status(array, state="Deleted")
    rig.still_works()


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"beginTime": "0001-01-01T00:00:00+14:00"}, "is not a time"),
        ({"beginTime": "0001-01-01T00:00:00Z"}, "is no time for a job"),
        ({"beginTime": "9999-12-31T23:59:59Z"}, "is no time for a job"),
        ({"walltimeSeconds": 2**53}, "walltime"),
        ({"dependency": {"clauses": [{"kind": "after", "jobs": ["9" * 39]}]}}, "job number"),
        ({"dependency": {"clauses": [{"kind": "after", "jobs": ["1"], "delaySeconds": 2**53}]}}, "dependency"),
        ({"chunks": [{"count": 100000, "cpus": 2**53 - 1, "ranks": 0}]}, "at most"),
        ({"memPerPodBytes": 2**62, "chunks": [{"count": 2, "cpus": 1, "ranks": 1}]}, "at most"),
        ({"attributes": {"ntasks_per_node": "many"}}, "ntasks_per_node"),
        ({"attributes": {"cpus_per_task": "1" * 6000}}, "cpus_per_task"),
        ({"attributes": {"comment": "x" * 600_000}}, "characters"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_nobody_could_handle_is_refused_once(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, spec: Object, said: str
) -> None:
    """Also where an older definition of the resource lets it in."""
    monkeypatch.setattr(CompiledSchema, "check", lambda *_: [])
    assert said in rig.answer(rig.submit(spec))["refusal"]["message"]
    rig.still_works()
    alterable = spec.keys() & {"beginTime", "walltimeSeconds", "dependency", "chunks", "memPerPodBytes", "attributes"}
    if alterable:
        job = rig.submit({"hold": True})
        rig.answer(job)
        rig.patch(job, {"alteration": {"id": "a", "fields": {name: spec[name] for name in alterable}}})
        wait_for("the answer", lambda: rig.status(job).get("answered", {}).get("id") == "a")
        assert said in rig.status(job)["answered"]["message"]
        rig.still_works()


def test_a_job_whose_handling_fails_is_set_aside(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    bad = rig.submit({"hold": True})
    rig.answer(bad)
    look = rig.controller._observer.observe

    def fail(job: Any) -> Any:
        if job.record.object_name == bad:
            raise RecursionError("a bug")
        return look(job)

    monkeypatch.setattr(rig.controller._observer, "observe", fail)
    rig.patch(bad, {"hold": False})
    assert "RecursionError: a bug" in rig.wait_status(bad, reason="Broken")["message"]
    rig.still_works()
    tried = rig.controller.work.failures((NS, bad))
    rig.still_works()
    assert rig.controller.work.failures((NS, bad)) < tried + 8, "the delay grows"
    monkeypatch.setattr(rig.controller._observer, "observe", look)
    rig.patch(bad, {"hold": True})
    assert "message" not in rig.wait_status(bad, reason="HeldByUser")


def test_a_job_whose_intake_fails_is_refused(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    grant = rig.controller._intake.grant

    def fail(spec: JobSpec, *args: Any, **options: Any) -> Any:
        if spec.name == "bad":
            raise OverflowError("a bug")
        return grant(spec, *args, **options)

    monkeypatch.setattr(rig.controller._intake, "grant", fail)
    assert "OverflowError: a bug" in rig.answer(rig.submit({"name": "bad"}))["refusal"]["message"]
    rig.still_works()
