"""What the controller makes of a site's names: where pods go, which queue is taken, who holds licences."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from hpcbatch.api.names import SITE_CONFIGMAP, SYSTEM_NAMESPACE
from hpcbatch.api.port import Object
from hpcbatch.api.resources import BATCHJOBS, CONFIGMAPS, NAMESPACES, NODES, PODS
from hpcbatch.client.submit import submit
from hpcbatch.controller.controller import Controller
from hpcbatch.errors import AlreadyExistsError, RefusedError
from hpcbatch.model.array import Array
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.indices import Indices
from hpcbatch.model.refusal import RefusalCode
from hpcbatch.model.site import SiteConfig
from hpcbatch.model.spec import Arrangement, JobSpec, Submission
from hpcbatch.record.batchjob import record_from
from hpcbatch.site.file import FILE_KEY
from hpcbatch.site.identity import GID, HOME, UID, USER
from tests.component.volcano_cluster import NS, Cluster, running
from tests.waiting import wait_for

SITE = """
apiVersion: hpcbatch.io/v1alpha1
kind: SiteConfiguration
queues:
- {name: workq, volcanoQueue: default, default: true, aliases: [normal, "batch*"]}
- {name: one, volcanoQueue: default, nodeSelector: {kubernetes.io/hostname: node-1}}
- {name: two, volcanoQueue: default, nodeSelector: {kubernetes.io/hostname: node-2}}
- {name: short, volcanoQueue: default, maxWalltime: 60}
nodeProperties: {red: {colour: red}, blue: {colour: blue}, green: {colour: green}}
licenses: {matlab: 2}
translations:
- {resource: paint, labels: {colour: "{value}"}}
- {qos: blue, labels: {colour: blue}}
- {account: "phys*", as: physics}
- {resource: "site_*", ignored: it is everywhere}
"""
COLOURS = {"node-0": "red", "node-1": "blue", "node-2": "blue"}


class Rig:
    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    @contextmanager
    def site(self, more: str = "unknownQueues: workq\n") -> Iterator[None]:
        """A controller with this site's file."""
        registry = self.cluster.registry
        file = {"metadata": {"name": SITE_CONFIGMAP}, "data": {FILE_KEY: SITE + more}}
        try:
            registry.create(CONFIGMAPS, {"apiVersion": "v1", "kind": "ConfigMap", **file}, SYSTEM_NAMESPACE)
        except AlreadyExistsError:
            registry.patch(CONFIGMAPS, SITE_CONFIGMAP, file, SYSTEM_NAMESPACE)
        controller = Controller(registry, SiteConfig())
        controller.start()
        try:
            yield
        finally:
            controller.stop()

    def submit(self, *chunks: Chunk, dialect: str = Dialect.SLURM, **spec: Any) -> str:
        job = JobSpec(dialect=dialect, name="j", chunks=chunks or (Chunk(),), server="here", **spec)
        submission = Submission(spec=job, script=b"#!/bin/sh\n", environment={})
        return submit(self.cluster.registry, NS, submission).object_name

    def job(self, name: str) -> Object:
        return self.cluster.registry.get(BATCHJOBS, name, NS)

    def status(self, name: str) -> Object:
        status: Object = self.job(name)["status"]
        return status

    def nodes(self, name: str) -> list[str]:
        """Those of the job's pods, in order; waits until all have one."""

        def placed() -> list[str]:
            status = self.status(name)
            nodes = [host.get("node", "") for host in status.get("hosts", ())]
            return nodes if status["state"] == "Running" and all(nodes) else []

        return wait_for(f"{name} to run", placed)

    def wait_reason(self, name: str, reason: str) -> None:
        wait_for(f"{name} {reason}", lambda: self.status(name)["reason"] == reason)

    def end(self, name: str) -> None:
        number = record_from(self.job(name)).job_id
        self.cluster.end_pods(f"job-{number}", "exit_code=0\nwalltime_s=1\ncpu_s=1\n")
        wait_for(f"{name} to end", lambda: self.status(name)["state"] == "Finished")


@pytest.fixture
def rig() -> Iterator[Rig]:
    with running(4, 4, 4) as cluster:
        notes = {USER: "alice", UID: "1000", GID: "1000", HOME: "/home/alice"}
        cluster.registry.patch(NAMESPACES, NS, {"metadata": {"annotations": notes}})
        for node, colour in COLOURS.items():
            cluster.registry.patch(NODES, node, {"metadata": {"labels": {"colour": colour}}})
        yield Rig(cluster)


PLACES: dict[str, tuple[tuple[Chunk, ...], dict[str, Any], list[str]]] = {
    "the node that it must have": ((Chunk(),), {"required_hosts": ("node-2",)}, ["node-2"]),
    "all but those that it must not have": ((Chunk(),), {"excluded_hosts": ("node-0", "node-2")}, ["node-1"]),
    "each of two": (
        (Chunk(count=2),),
        {"required_hosts": ("node-2", "node-0"), "arrangement": Arrangement.SCATTER},
        ["node-0", "node-2"],
    ),
    "two and another": (
        (Chunk(count=3),),
        {"required_hosts": ("node-2", "node-0"), "arrangement": Arrangement.SCATTER},
        ["node-0", "node-1", "node-2"],
    ),
    "two that are filled": (
        (Chunk(count=3),),
        {"required_hosts": ("node-1", "node-2"), "arrangement": Arrangement.FILL},
        ["node-1", "node-2"],
    ),
    "nodes of chunks": ((Chunk(hosts=("node-1",)), Chunk(properties=("node-2",))), {}, ["node-1", "node-2"]),
    "one of several kinds": (
        (Chunk(alternatives=(("green",), ("red",))),),
        {},
        ["node-0"],
    ),
    "nodes of one kind": (
        (Chunk(count=2, alternatives=(("red",), ("blue",)), same_alternative=True),),
        {"arrangement": Arrangement.SCATTER},
        ["node-1", "node-2"],
    ),
    "a node without a property": ((Chunk(lacks=("blue",)),), {}, ["node-0"]),
    "a text for a resource": ((Chunk(words=(("paint", "red"),)),), {}, ["node-0"]),
    "a QOS with labels": ((Chunk(hosts=("node-1", "node-0")),), {"attributes": {"qos": "blue"}}, ["node-1"]),
}


@pytest.mark.parametrize("case", PLACES)
def test_a_job_lands_where_it_says(rig: Rig, case: str) -> None:
    chunks, spec, nodes = PLACES[case]
    with rig.site():
        assert sorted(rig.nodes(rig.submit(*chunks, **spec))) == nodes


def test_names_of_queues(rig: Rig) -> None:
    with rig.site():
        known, pattern, unknown = (rig.submit(queue=name) for name in ("normal", "batch-2", "nosuch"))
        assert {rig.status(name)["queue"] for name in (known, pattern, unknown)} == {"workq"}
        assert "ignored" not in rig.status(known)
        assert rig.status(unknown)["ignored"] == ["-p nosuch: this site has no such queue; workq takes it"]
    with rig.site(""), pytest.raises(RefusedError, match="nosuch; there are: one, short, two, workq"):
        rig.submit(queue="nosuch")


def test_of_several_queues_the_free_one_is_taken(rig: Rig) -> None:
    with rig.site():
        first = rig.submit(Chunk(cpus=3), queue="one", other_queues=("two",))
        assert rig.nodes(first) == ["node-1"]
        second = rig.submit(Chunk(cpus=3), queue="one", other_queues=("two",))
        assert rig.status(second)["queue"] == "two"
        assert rig.nodes(second) == ["node-2"]
        third = rig.submit(Chunk(cpus=3), queue="one", other_queues=("two",))
        assert rig.status(third)["queue"] == "one", "none is free: the first"
        long = rig.submit(queue="short", other_queues=("two",), walltime_s=100)
        assert rig.status(long)["queue"] == "two", "the first that admits it"
        with pytest.raises(RefusedError, match="at most 00:01:00 in short"):
            rig.submit(queue="short", other_queues=("short",), walltime_s=100)


def test_what_is_ignored_stays_in_the_record_or_is_refused(rig: Rig) -> None:
    asked: dict[str, Any] = {"words": (("site_disk", "big"),), "account": "phys3", "ignored": ("--x: why",)}
    with rig.site():
        job = rig.submit(**asked)
        assert rig.status(job)["ignored"] == ["site_disk=big: it is everywhere"]
        record = record_from(rig.job(job))
        assert (record.spec.account, record.status.ignored) == ("physics", ("site_disk=big: it is everywhere",))
        with pytest.raises(RefusedError) as strict:
            rig.submit(**asked, is_strict=True)
    with rig.site("unsupported: refuse\n"), pytest.raises(RefusedError) as refused:
        rig.submit(**asked)
    for error in (strict, refused):
        assert error.value.code == RefusalCode.IGNORED
        assert str(error.value) == "not available here: --x: why; site_disk=big: it is everywhere"


def test_everything_that_is_wrong_is_told_at_once(rig: Rig) -> None:
    with rig.site(), pytest.raises(RefusedError) as refused:
        rig.submit(Chunk(properties=("nosuch",)), required_hosts=("node-9",), licenses=(("idl", 1),))
    assert str(refused.value).splitlines() == [
        "nosuch",
        "no licence idl; there are: matlab",
        "unknown node node-9",
    ]


def test_more_nodes_than_the_job_has(rig: Rig) -> None:
    with rig.site(), pytest.raises(RefusedError) as refused:
        rig.submit(Chunk(cpus=2), required_hosts=("node-1", "node-2"))
    assert refused.value.code == RefusalCode.NODE_LIMIT


class Watched:
    """How many jobs have pods at once, at most."""

    def __init__(self, cluster: Cluster) -> None:
        self.most = 0
        self._watch = cluster.registry.watch(PODS)
        self._living: set[str] = set()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        for event in self._watch:
            pod = event.object
            has_ended = event.type == "DELETED" or pod.get("status", {}).get("phase") in {"Succeeded", "Failed"}
            (self._living.discard if has_ended else self._living.add)(pod["metadata"]["uid"])
            self.most = max(self.most, len(self._living))

    def stop(self) -> int:
        self._watch.close()
        self._thread.join(10)
        return self.most


def in_parallel(*calls: Callable[[], Any]) -> list[Any]:
    results: list[Any] = [None] * len(calls)

    def run(index: int) -> None:
        results[index] = calls[index]()

    threads = [threading.Thread(target=run, args=(index,)) for index in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    return results


def test_licences_are_never_exceeded(rig: Rig) -> None:
    """Six jobs at once, of which two may run; the controller is restarted in between."""
    watched = Watched(rig.cluster)

    def running_ones(names: list[str]) -> list[str]:
        return [name for name in names if rig.status(name)["state"] == "Running"]

    def waiting_ones(names: list[str]) -> list[str]:
        return [name for name in names if rig.status(name)["reason"] == "Licenses"]

    with rig.site():
        names = in_parallel(*[lambda: rig.submit(licenses=(("matlab", 1),))] * 6)
        wait_for("two to run", lambda: (len(running_ones(names)), len(waiting_ones(names))) == (2, 4))
        message = rig.status(waiting_ones(names)[0])["message"]
        assert message == "Insufficient amount of resource: matlab (R: 1 A: 0 T: 2)"
    with rig.site():

        def is_left(count: int) -> bool:
            return len(waiting_ones(names)) == count

        for left in (3, 2, 1, 0):
            rig.end(running_ones(names)[0])
            wait_for("another to run", lambda: len(running_ones(names)) == 2)
            wait_for("the others to wait", partial(is_left, left))
    assert watched.stop() == 2


def test_a_waiting_job_is_not_overtaken_and_a_deleted_one_makes_way(rig: Rig) -> None:
    with rig.site():
        first = rig.submit(licenses=(("matlab", 1),))
        assert rig.nodes(first)
        both = rig.submit(licenses=(("matlab", 2),))
        rig.wait_reason(both, "Licenses")
        small = rig.submit(licenses=(("matlab", 1),))
        rig.wait_reason(small, "Licenses")
        other = rig.submit()
        assert rig.nodes(other)
        rig.cluster.registry.patch(BATCHJOBS, both, {"spec": {"deleteRequested": True}}, NS)
        assert rig.nodes(small)


def test_members_of_an_array_have_licences_of_their_own(rig: Rig) -> None:
    with rig.site():
        array = rig.submit(array=Array(indices=Indices.parse("1-3")), licenses=(("matlab", 1),))
        names = [f"{array}-{index}" for index in (1, 2, 3)]

        def states() -> dict[str, str]:
            found = {obj["metadata"]["name"]: obj for obj in rig.cluster.registry.list(BATCHJOBS, NS).items}
            return {name: found[name].get("status", {}).get("state", "") for name in names if name in found}

        wait_for("two members to run", lambda: sorted(states().values()) == ["Queued", "Running", "Running"])
        (waits,) = [name for name, state in states().items() if state == "Queued"]
        runs, goes_on = [name for name in names if name != waits]
        rig.end(runs)
        wait_for("the last one to run", lambda: (states()[waits], states()[goes_on]) == ("Running", "Running"))


def test_deadlines(rig: Rig) -> None:
    soon = (datetime.now(UTC) + timedelta(seconds=3)).replace(microsecond=0)
    with rig.site():
        with pytest.raises(RefusedError) as refused:
            rig.submit(deadline=soon, walltime_s=60)
        assert refused.value.code == RefusalCode.DEADLINE
        waits = rig.submit(Chunk(cpus=64), deadline=soon)
        held = rig.submit(deadline=soon, hold=True)
        runs = rig.submit(deadline=soon)
        assert rig.nodes(runs)

        def has_timed_out(name: str) -> bool:
            return bool(rig.status(name)["state"] == "Timeout")

        for name in (waits, held, runs):
            wait_for(f"{name} to end", partial(has_timed_out, name))
            assert rig.status(name)["reason"] == "Deadline"
        assert rig.status(waits)["message"].endswith("cannot be kept")
        assert rig.status(runs)["message"].startswith("deadline ")


def test_alterations_go_through_the_same(rig: Rig) -> None:
    """A move to an alias, other nodes and licences for a waiting job; what the site does not know is refused."""

    def alter(name: str, number: int, **fields: Any) -> Object:
        request = {"id": f"change-{number}", "fields": fields}
        for wanted in (None, request):  # a patch would merge it with the one before
            rig.cluster.registry.patch(BATCHJOBS, name, {"spec": {"alteration": wanted}}, NS)
        wait_for("the reply", lambda: rig.status(name).get("answered", {}).get("id") == request["id"])
        answer: Object = rig.status(name)["answered"]
        return answer

    with rig.site():
        job = rig.submit(queue="one", other_queues=("two",), hold=True)
        assert "code" not in alter(job, 1, queue="batch-7")
        assert rig.status(job)["queue"] == "workq"
        assert "code" not in alter(job, 2, requiredHosts=["node-2"], licenses={"matlab": 2})
        assert rig.status(job)["licenses"] == {"matlab": 2}
        assert alter(job, 3, requiredHosts=["node-9"])["code"] == RefusalCode.UNKNOWN_NODE
        assert "code" not in alter(job, 4, queue="nosuch")
        assert rig.status(job)["ignored"] == ["-p nosuch: this site has no such queue; workq takes it"]
        assert "code" not in alter(job, 5, account="phys9")
        assert record_from(rig.job(job)).spec.account == "physics"
        rig.cluster.registry.patch(BATCHJOBS, job, {"spec": {"hold": False}}, NS)
        assert rig.nodes(job) == ["node-2"]
