"""Ended jobs on their way to the history, killed between any two writes."""

import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hpcbatch.api.history import ENDED_JOBS
from hpcbatch.api.informer import Informer
from hpcbatch.api.port import Object
from hpcbatch.api.resources import BATCHJOBS
from hpcbatch.client import changes, listing
from hpcbatch.client.holds import hold
from hpcbatch.controller.archive import Archive
from hpcbatch.controller.history_server import HistoryServer
from hpcbatch.controller.numbers import JobNumbers
from hpcbatch.engine.registry.registry import Registry
from hpcbatch.errors import JobFinishedError, UnknownJobError
from hpcbatch.history.databases import HistoryError, SqliteDatabase
from hpcbatch.history.query import Query
from hpcbatch.history.store import HistoryStore
from hpcbatch.model.array import Array, ArrayStatus, Membership
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.indices import Indices
from hpcbatch.model.site import SiteConfig
from hpcbatch.model.spec import JobSpec
from hpcbatch.model.state import JobState
from hpcbatch.record.manifest import to_manifest
from tests.component.api_server import Cluster, cluster
from tests.component.batchjobs import NS, admitted
from tests.waiting import wait_for

HPCBATCH = str(Path(sys.executable).parent / "hpcbatch")
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[HistoryStore]:
    opened = HistoryStore(SqliteDatabase(tmp_path / "history.db"))
    yield opened
    opened.close()


class Rig:
    """An Archive on a registry, with its informer, told of all ended jobs as the controller tells it."""

    def __init__(self, registry: Any, store: HistoryStore, **site: Any) -> None:
        sites: Any = SimpleNamespace(in_force=SimpleNamespace(config=SiteConfig(**site)))
        self.informer = Informer(registry, BATCHJOBS, on_event=lambda _: None)
        self.informer.start()
        assert self.informer.synced.wait(60)
        self.archive = Archive(registry, store, self.informer, sites)
        for job in self.informer.items():
            if job["status"].get("cleaned"):
                self.archive.offer(job)

    def close(self) -> None:
        self.informer.stop()


def put(
    registry: Registry,
    number: int,
    state: JobState = JobState.FINISHED,
    *,
    ended: datetime = NOW,
    name: str = "",
    spec: JobSpec | None = None,
    **status: Any,
) -> Object:
    asked = spec or JobSpec(dialect=Dialect.PBS, name=f"job{number}", chunks=(Chunk(cpus=1),), server="pbs1")
    manifest = to_manifest(asked, name=name or f"pbs-{number}", submission_secret="s", export_none=False)
    manifest["metadata"].setdefault("labels", {})["placed"] = "by-hand"
    made = registry.create(BATCHJOBS, manifest, NS)
    times = {"end_time": ended, "start_time": ended - timedelta(minutes=1)} if state.is_final else {}
    full = admitted(made, number, state, submit_time=ended - timedelta(hours=1), **times, **status)
    full["status"] |= {"cleaned": True} if state.is_final else {}
    return registry.replace(BATCHJOBS, full, NS, subresource="status")


def present(registry: Registry) -> set[int]:
    return {int(job["status"]["jobId"]) for job in registry.list(BATCHJOBS).items}


def kept(store: HistoryStore) -> set[int]:
    return {int(job["status"]["jobId"]) for job in store.page(Query()).jobs}


def test_ended_jobs_move_when_their_time_has_come(registry: Registry, store: HistoryStore) -> None:
    put(registry, 1, ended=NOW - timedelta(seconds=61))
    put(registry, 2, ended=NOW - timedelta(seconds=59))
    put(registry, 3, JobState.RUNNING)
    rig = Rig(registry, store)
    rig.archive.move(NOW)
    assert (present(registry), kept(store)) == ({2, 3}, {1})
    rig.archive.move(NOW + timedelta(seconds=2))
    assert (present(registry), kept(store)) == ({3}, {1, 2})
    assert (rig.archive.moved, rig.archive.waiting) == (2, 0)
    assert store.by_number(1)["spec"]["name"] == "job1"  # type: ignore[index]
    rig.close()


def test_a_crowd_does_not_wait(registry: Registry, store: HistoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hpcbatch.controller.archive._CROWD", 2)
    for number in range(1, 6):
        put(registry, number, ended=NOW - timedelta(seconds=10 - number))
    rig = Rig(registry, store)
    rig.archive.move(NOW)
    assert present(registry) == {4, 5}  # of the five the oldest three, which ended 5 s ago or earlier
    rig.close()


class Killed(BaseException):
    pass


class DiesAtDelete:
    """The API of a controller that is killed at its n-th removal."""

    def __init__(self, registry: Registry, at: int) -> None:
        self._registry, self._left = registry, at

    def delete(self, *args: Any, **kwargs: Any) -> None:
        self._left -= 1
        if self._left < 0:
            raise Killed
        self._registry.delete(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._registry, name)


@pytest.mark.parametrize("at", range(4))
def test_killed_in_between_nothing_is_lost(registry: Registry, store: HistoryStore, at: int) -> None:
    for number in (1, 2, 3):
        put(registry, number, ended=NOW - timedelta(hours=1))
    first = Rig(DiesAtDelete(registry, at), store)
    try:
        first.archive.move(NOW)
    except Killed:
        pass
    assert present(registry) | kept(store) == {1, 2, 3}
    first.close()
    second = Rig(registry, store)
    second.archive.move(NOW)
    assert (present(registry), kept(store), store.count(Query())) == (set(), {1, 2, 3}, 3)
    second.close()


def test_a_database_that_fails_keeps_the_jobs(registry: Registry, store: HistoryStore) -> None:
    put(registry, 1, ended=NOW - timedelta(hours=1))
    rig = Rig(registry, store)
    store.close()
    with pytest.raises(HistoryError):
        rig.archive.move(NOW)
    assert present(registry) == {1}
    assert rig.archive.waiting == 1
    rig.close()


def array_spec() -> JobSpec:
    chunks = (Chunk(cpus=1),)
    return JobSpec(
        dialect=Dialect.PBS, name="a", chunks=chunks, server="pbs1", array=Array(indices=Indices.parse("1-3"))
    )


def member_spec(index: int) -> JobSpec:
    member = Membership(array_id=10, array_name="pbs-10", index=index)
    return JobSpec(dialect=Dialect.PBS, name="a", chunks=(Chunk(cpus=1),), server="pbs1", member_of=member)


def test_members_go_once_counted_and_arrays_after_their_members(registry: Registry, store: HistoryStore) -> None:
    old = NOW - timedelta(hours=1)
    standing = ArrayStatus(pending=Indices(), active=Indices.parse("2-3"), succeeded=Indices.parse("1"))
    put(registry, 10, JobState.RUNNING, spec=array_spec(), array=standing)
    put(registry, 11, ended=old, name="pbs-10-1", spec=member_spec(1))
    put(registry, 12, ended=old, name="pbs-10-2", spec=member_spec(2))  # the array has not heard of it yet
    put(registry, 13, JobState.RUNNING, name="pbs-10-3", spec=member_spec(3))
    rig = Rig(registry, store)
    rig.archive.move(NOW)
    assert (present(registry), kept(store)) == ({10, 12, 13}, {11})
    rig.close()


def test_an_array_waits_for_its_members(registry: Registry, store: HistoryStore) -> None:
    old = NOW - timedelta(hours=1)
    put(registry, 10, ended=old, spec=array_spec(), array=ArrayStatus(succeeded=Indices.parse("1-3")))
    put(registry, 11, ended=NOW, name="pbs-10-1", spec=member_spec(1))
    rig = Rig(registry, store)
    rig.archive.move(NOW)
    assert present(registry) == {10, 11}
    later = NOW + timedelta(hours=1)
    rig.archive.move(later)
    wait_for("the informer", lambda: len(rig.informer.items()) == 1)
    rig.archive.move(later)
    assert (present(registry), kept(store)) == (set(), {10, 11})
    rig.close()


# What commands see of it


@pytest.fixture
def site(tmp_path: Path, store: HistoryStore) -> Iterator[Cluster]:
    with cluster(tmp_path, ended_jobs=store) as made:
        yield made


def numbers(found: list[Object]) -> list[int]:
    return [int(job["status"]["jobId"]) for job in found]


def test_commands_see_each_job_once_wherever_it_is(site: Cluster, store: HistoryStore) -> None:
    api = site.client()
    now = datetime.now(UTC)
    moved = put(site.registry, 1, ended=now)
    between = put(site.registry, 2, ended=now)
    put(site.registry, 3, ended=now)
    put(site.registry, 4, JobState.RUNNING, ended=now)
    store.put([moved, between])
    site.registry.delete(BATCHJOBS, "pbs-1", NS)
    assert numbers(listing.in_order(listing.iter_ended(api, NS))) == [1, 2, 3]
    assert numbers(listing.in_order(listing.iter_ended(api, NS, include_unfinished=True))) == [1, 2, 3, 4]
    assert numbers(listing.in_order(listing.iter_ended(api, NS, numbers=[1, 4, 9]))) == [1]
    assert numbers(listing.in_order(listing.iter_ended(api, NS, owners=["alice"]))) == [1, 2, 3]
    assert numbers(listing.in_order(listing.iter_ended(api, NS, owners=["bob", "a,b"]))) == []
    assert numbers(listing.in_order(listing.iter_ended(api, NS, since=now + timedelta(seconds=1)))) == []
    assert numbers(listing.in_order(listing.iter_ended(api, NS, until=now - timedelta(seconds=61)))) == []
    assert {job["apiVersion"] for job in listing.in_order(listing.iter_ended(api, NS))} == {"hpcbatch.io/v1alpha1"}
    assert [row.job_id for row in listing.list_rows(api, NS)] == [1, 2, 3, 4]
    assert [row.job_id for row in listing.list_rows(api, NS, since=now + timedelta(seconds=1))] == [2, 3, 4]
    assert [row.job_id for row in listing.list_rows(api, NS, finished=False)] == [4]
    assert [row.job_id for row in listing.list_present_rows(api, NS)] == [2, 3, 4]
    assert listing.count_moved(api, NS) == 2
    assert listing.find(api, NS, 1).name == "job1"
    assert sorted(listing.find_all(api, NS, [1, 2, 3, 4, 5, 6])) == [1, 2, 3, 4]
    assert listing.get_record(api, listing.find(api, NS, 1)).job_id == 1


def test_a_row_of_the_history_is_the_row_of_the_batchjob(site: Cluster, store: HistoryStore) -> None:
    api = site.client()
    job = put(site.registry, 1, message="Job run at once", exit_code=0)
    before = listing.find(api, NS, 1)
    store.put([job])
    site.registry.delete(BATCHJOBS, "pbs-1", NS)
    assert listing.find(api, NS, 1) == before


def test_forgetting(site: Cluster, store: HistoryStore) -> None:
    api = site.client()
    for number in (1, 2, 3):
        job = put(site.registry, number)
        if number < 3:
            store.put([job])
    site.registry.delete(BATCHJOBS, "pbs-1", NS)
    rows = listing.find_all(api, NS, [1, 2, 3])
    for number in (1, 2, 3):
        changes.forget(api, rows[number])
        with pytest.raises(UnknownJobError):
            changes.forget(api, rows[number])
    assert listing.in_order(listing.iter_ended(api, NS)) == []
    assert store.count(Query()) == 0


def test_many_are_read_in_pages(site: Cluster, store: HistoryStore) -> None:
    job = put(site.registry, 1, ended=datetime.now(UTC))
    site.registry.delete(BATCHJOBS, "pbs-1", NS)
    many = []
    for number in range(1, 1203):
        metadata = job["metadata"] | {"name": f"pbs-{number}", "uid": f"u{number}"}
        many.append(job | {"metadata": metadata, "status": job["status"] | {"jobId": str(number)}})
    store.put(many)
    assert numbers(listing.in_order(listing.iter_ended(site.client(), NS))) == list(range(1, 1203))
    assert len(listing.list_rows(site.client(), NS)) == 1202
    assert numbers(listing.in_order(listing.iter_ended(site.client(), NS, numbers=range(1, 700)))) == list(
        range(1, 700)
    )


def test_kubectl(site: Cluster, store: HistoryStore) -> None:
    store.put([put(site.registry, 1), put(site.registry, 2, JobState.FAILED)])
    plural = f"{ENDED_JOBS.plural}.{ENDED_JOBS.group}"
    assert site.kubectl("get", plural).splitlines()[0].split() == [
        "NAME",
        "ID",
        "JOB",
        "USER",
        "QUEUE",
        "STATE",
        "REASON",
        "NODES",
        "ENDED",
    ]
    assert site.kubectl("get", plural, "--field-selector", "status.state=Failed", "-o", "name") == (
        "batchjob.history.hpcbatch.io/pbs-2\n"
    )
    assert "unknown field" in site.kubectl("get", plural, "--field-selector", "a=b", code=1)
    assert "by fieldSelector only" in site.kubectl("get", plural, "-l", "a=b", code=1)
    assert "cannot be watched" in site.kubectl("get", plural, "--watch-only", code=1)
    assert site.kubectl("delete", plural, "pbs-2", "--dry-run=server").startswith("batchjob.history.hpcbatch.io")
    site.kubectl("delete", plural, "pbs-2")
    assert 'batchjobs.history.hpcbatch.io "pbs-2" not found' in site.kubectl("get", plural, "pbs-2", code=1)
    assert "job1" in site.kubectl("get", "endedjobs", "pbs-1", "-o", "yaml")


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("GET", "/apis/history.hpcbatch.io/v1", 404),
        ("GET", "/apis/history.hpcbatch.io/v1alpha1/pods", 404),
        ("GET", "/apis/history.hpcbatch.io/v1alpha1/namespaces/a/batchjobs/b/status", 404),
        ("POST", "/apis/history.hpcbatch.io/v1alpha1/namespaces/a/batchjobs", 405),
        ("DELETE", "/apis/history.hpcbatch.io/v1alpha1/batchjobs", 405),
        ("DELETE", "/apis/history.hpcbatch.io/v1alpha1/namespaces/a/batchjobs", 405),
        ("GET", "/apis/history.hpcbatch.io/v1alpha1/batchjobs?continue=x", 410),
        ("GET", "/apis/history.hpcbatch.io/v1alpha1/batchjobs?limit=-1", 400),
    ],
)
def test_requests_that_are_none(site: Cluster, method: str, path: str, code: int) -> None:
    answer = site.request(method, path)
    assert (answer.code, answer.json["kind"], answer.json["code"]) == (code, "Status", code)


def test_a_precondition(site: Cluster, store: HistoryStore) -> None:
    job = put(site.registry, 1)
    store.put([job])
    path = ENDED_JOBS.path(NS, "pbs-1")
    assert site.request("DELETE", path, {"preconditions": {"uid": "another"}}).code == 409
    assert site.request("DELETE", path, "no json").code == 400
    assert site.request("DELETE", path, {"preconditions": {"uid": job["metadata"]["uid"]}}).code == 200
    assert site.request("GET", path).code == 404


def test_numbers_go_on_after_those_of_ended_jobs(registry: Registry, store: HistoryStore) -> None:
    """Somebody has deleted the counter, and all jobs have moved."""
    put(registry, 7)
    store.put([put(registry, 30)])
    registry.delete(BATCHJOBS, "pbs-30", NS)
    assert JobNumbers(registry, store.highest_number).take() == 31


def test_too_late_for_a_job_that_has_just_moved(site: Cluster, store: HistoryStore) -> None:
    api = site.client()
    put(site.registry, 1, JobState.QUEUED)
    row = listing.find(api, NS, 1)
    site.registry.delete(BATCHJOBS, "pbs-1", NS)
    with pytest.raises(UnknownJobError):
        hold(api, row)
    store.put([put(site.registry, 1)])
    site.registry.delete(BATCHJOBS, "pbs-1", NS)
    with pytest.raises(JobFinishedError):
        hold(api, row)


def test_a_controller_begins_anew_when_the_database_is_named(site: Cluster, tmp_path: Path) -> None:
    address = tmp_path / "dsn"
    argv = [
        HPCBATCH,
        "controller",
        "--no-leader-elect",
        "--health-port",
        "0",
        "--history-port",
        "0",
        "--history-dsn-file",
        str(address),
    ]
    env = {**os.environ, "KUBECONFIG": str(site.kubeconfig), "HOME": str(tmp_path)}
    log = tmp_path / "controller.log"
    with log.open("w") as output:
        process = subprocess.Popen(argv, env=env, stderr=output)
    try:
        wait_for("the controller", lambda: "acting" in log.read_text())
        assert "no database for the history" in log.read_text()
        address.write_text("host=/nowhere\n")
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()


def test_nothing_moves_where_nobody_could_read_it(site: Cluster, store: HistoryStore, caplog: Any) -> None:
    """A database, but no APIService yet."""
    server = HistoryServer(site.client(), store, 0)
    server.start()
    wait_for("its word", lambda: "ended jobs stay BatchJobs until deploy/history is applied" in caplog.text)
    assert not server.is_served
    server.stop()
