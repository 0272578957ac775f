"""Who gets a Volcano Job: the plan with events by hand, no thread, no API."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from hpcbatch.api.informer import Informer, WorkQueue, object_key
from hpcbatch.api.port import Object, WatchEvent
from hpcbatch.controller import plan_gate, plan_told
from hpcbatch.controller.intake import lane_of
from hpcbatch.controller.lone_pods import LonePods
from hpcbatch.controller.node_rooms import NodeRooms
from hpcbatch.controller.past_usage import PastUsage
from hpcbatch.controller.plan_gate import PlanGate
from hpcbatch.controller.plan_world import PlanWorld
from hpcbatch.controller.site_source import SiteSource
from hpcbatch.model.account_limits import WORDS, Limits
from hpcbatch.model.accounts import Accounts, Association, Qos, first_accounts
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.interactive import Interactive
from hpcbatch.model.labels import JOB_ID_LABEL, PLANNED_ANNOTATION
from hpcbatch.model.priority import PriorityConfig
from hpcbatch.model.record import JobRecord, JobStatus, Preempting, Victim
from hpcbatch.model.site import Policy, QueueConfig, SiteConfig
from hpcbatch.model.spec import JobSpec
from hpcbatch.model.state import JobState, Reason
from hpcbatch.policy.observed import Waiting
from hpcbatch.policy.plan.outcome import Plan
from hpcbatch.record.batchjob import full_status_to_json
from hpcbatch.record.manifest import to_manifest
from hpcbatch.site.file import Site
from hpcbatch.volcano.pinned import HOST
from tests.unit.policy.test_lone_pod import volcano_job

NS = "ns"


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look makes its plan, however long the one before took."""
    monkeypatch.setattr(plan_gate, "_SHARE", 1.0)
    monkeypatch.setattr(plan_gate, "_LEAST_S", 0.0)


class Cache:
    """Implements what the gate calls of Informer."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str], Object] = {}

    def get(self, namespace: str | None, name: str) -> Object | None:
        return self.objects.get((namespace or "", name))

    def items(self) -> tuple[Object, ...]:
        return tuple(self.objects.values())


@dataclass
class Accounting:
    in_force: Accounts = field(default_factory=first_accounts)


@dataclass
class Sites:
    config: SiteConfig = field(default_factory=lambda: SiteConfig(default_queue="q"))
    is_in_force: threading.Event = field(default_factory=threading.Event)
    accounts: Accounting = field(default_factory=Accounting)

    @property
    def in_force(self) -> Site:
        return Site(config=self.config)


class World:
    """`nodes` of two CPUs each."""

    def __init__(self, nodes: int = 2, **site: Any) -> None:
        self.sites = Sites(SiteConfig(default_queue="q", **site))
        self.batchjobs, self.volcano_jobs, self.nodes, self.pods = Cache(), Cache(), Cache(), Cache()
        self.queues = Cache()
        self.queues.objects["", "q"] = {"metadata": {"name": "q"}, "spec": {}}
        self.woken: list[str] = []
        self.gate = self.start()
        for index in range(nodes):
            self.put_node(f"n{index}")

    def start(self) -> PlanGate:
        """A gate that knows nothing but what is in the caches."""
        nodes, pods = cast(Informer, self.nodes), cast(Informer, self.pods)
        gate = PlanGate(
            cast(Informer, self.batchjobs),
            cast(Informer, self.volcano_jobs),
            cast(SiteSource, self.sites),
            nodes=nodes,
            rooms=NodeRooms(nodes, pods),
            usage=PastUsage(cast(Informer, self.batchjobs), None),
            wake=lambda key, _: self.woken.append(key[1]),
            lone_pods=LonePods(cast(Informer, self.queues), nodes),
        )
        for obj in self.nodes.items():
            gate.on_node(WatchEvent("ADDED", obj))
        for obj in self.volcano_jobs.items():
            gate.on_volcano_job(WatchEvent("ADDED", obj))
        for obj in self.pods.items():
            gate.on_pod(WatchEvent("ADDED", obj))
        for obj in self.batchjobs.items():
            gate.on_batchjob(WatchEvent("ADDED", obj))
        self.gate = gate
        return gate

    def put_node(self, name: str, **spec: Any) -> None:
        obj = {
            "metadata": {"name": name, "labels": {HOST: f"{name}.site"}},
            "spec": spec,
            "status": {
                "allocatable": {"cpu": "2", "memory": "8Gi", "pods": "110"},
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        }
        self.nodes.objects["", name] = obj
        self.gate.on_node(WatchEvent("MODIFIED", obj))

    def put_pod(
        self, job: JobRecord, node: str, index: int = 0, phase: str = "Running", *, is_leaving: bool = False
    ) -> None:
        obj: Object = {
            "metadata": {
                "namespace": NS,
                "name": f"job-{job.job_id}-{index}",
                "labels": {JOB_ID_LABEL: str(job.job_id)},
            },
            "spec": {"nodeName": node, "containers": [{"resources": {"requests": {"cpu": "1"}}}]},
            "status": {"phase": phase},
        }
        if is_leaving:
            obj["metadata"]["deletionTimestamp"] = "2026-11-25T13:00:00Z"
        self.pods.objects[object_key(obj)] = obj
        self.gate.on_pod(WatchEvent("MODIFIED", obj))

    def written(self, job: JobRecord, volcano_job: str = "") -> None:
        """The caches show the record."""
        obj = to_manifest(job.spec, name=job.object_name, submission_secret="s")
        obj["metadata"] |= {"namespace": NS, "creationTimestamp": "2026-11-25T12:00:00Z", "uid": "u"}
        obj["status"] = full_status_to_json(job, volcano_job=volcano_job)
        self.batchjobs.objects[object_key(obj)] = obj
        self.gate.on_batchjob(WatchEvent("MODIFIED", obj))

    def made(self, job: JobRecord, since: str = "2999-01-01T00:00:00Z") -> Object:
        """Its Volcano Job is made."""
        name = f"job-{job.job_id}"
        bare = {
            "metadata": {"namespace": NS, "name": name, "labels": {JOB_ID_LABEL: str(job.job_id)}},
            "spec": {"tasks": [{"name": name, "template": {"spec": {}}} for name in ("mpimaster", "mpiworker")]},
        }
        obj = self.gate.placed(job, bare)
        obj = {**obj, "metadata": {**obj["metadata"], "creationTimestamp": since}}
        self.volcano_jobs.objects[NS, name] = obj
        self.written(job, name)
        return obj

    def removed(self, volcano_job: Object) -> None:
        """The Volcano Job has gone."""
        del self.volcano_jobs.objects[object_key(volcano_job)]
        self.gate.on_volcano_job(WatchEvent("DELETED", volcano_job))


def job(number: int, cpus: int = 1, count: int = 1, walltime_s: int | None = 3600, **changes: Any) -> JobRecord:
    layout = (Chunk(count=count, cpus=cpus),)
    spec = JobSpec(dialect=Dialect.PBS, name="j", chunks=layout, server="s", **changes)
    status = JobStatus(owner="ann", layout=layout, walltime_s=walltime_s)
    return JobRecord(job_id=number, namespace=NS, object_name=f"pbs-{number}", spec=spec, status=status, queue="q")


def full(world: World) -> list[JobRecord]:
    """Four jobs that fill two nodes."""
    jobs = [job(number) for number in range(1, 5)]
    for index, one in enumerate(jobs):
        assert world.gate.take(one) is None
        world.made(one)
        world.put_pod(one, f"n{index // 2}")
    return jobs


def test_on_an_idle_system_nobody_waits_for_a_plan() -> None:
    world = World()
    assert world.gate.take(job(1)) is None
    assert world.gate.take(job(1)) is None, "a second look, after a failure"


def test_a_wide_job_is_not_overtaken_while_a_pod_is_just_going() -> None:
    """Of a job that has ended: its node has not become smaller for good, so that the wide one would never fit."""
    world = World()
    gone, going, *_ = full(world)
    wide, later = job(5, cpus=2, count=2), job(6, walltime_s=7200)
    for one in (wide, later):
        assert world.gate.take(one) is not None
        world.written(one)
    world.put_pod(gone, "n0", phase="Succeeded")
    world.put_pod(going, "n0", is_leaving=True)
    for one in (gone, going):
        world.gate.give_back(one)
    held = world.gate.take(later)
    assert held is not None and held.reason is Reason.PRIORITY
    world.put_pod(going, "n0", phase="Succeeded", is_leaving=True)
    held = world.gate.take(later)
    assert held is not None and held.reason is Reason.PRIORITY


def test_a_wide_job_is_not_overtaken() -> None:
    world = World()
    first = full(world)
    wide, later = job(5, cpus=2, count=2), job(6, walltime_s=7200)
    for one, reason in ((wide, Reason.RESOURCES), (later, Reason.PRIORITY)):
        held = world.gate.take(one)
        assert held is not None and held.reason is reason
        world.written(one)
    for one in first[:2]:
        world.put_pod(one, "n0", phase="Succeeded")
    held = world.gate.take(later)
    assert held is not None and held.reason is Reason.PRIORITY
    short = job(7, walltime_s=60)
    assert world.gate.take(short) is None, "it is over before the others are"
    for one in first[2:]:
        world.put_pod(one, "n1", phase="Succeeded")
    world.gate.give_back(short)
    world.woken.clear()
    world.gate.look()
    assert world.woken[0] == "pbs-5"
    assert world.gate.take(wide) is None


def test_who_may_start_goes_before_many_who_may_not() -> None:
    world = World()
    ended, *_ = full(world)
    waiting = [job(number) for number in range(5, 15)]
    queue: WorkQueue[tuple[str, str]] = WorkQueue(
        lane=lambda key: lane_of(key, world.batchjobs.get(*key), world.gate.is_starting)
    )
    for one in reversed(waiting):
        assert world.gate.take(one) is not None
        world.written(one)
        queue.add((NS, one.object_name))
    assert not any(world.gate.is_starting(str(one.job_id)) for one in waiting)
    world.put_pod(ended, "n0", phase="Succeeded")
    world.woken.clear()
    world.gate.look()
    for name in world.woken:
        queue.add((NS, name))
    assert {queue.get(0), queue.get(0)} == {(NS, "pbs-14"), (NS, "pbs-5")}
    assert world.gate.take(waiting[0]) is None
    assert world.gate.is_starting("5"), "until it has ended"
    world.gate.give_back(waiting[0])
    assert not world.gate.is_starting("5")


def test_who_may_start_by_a_plan_that_was_made_for_another_hears_of_it_at_once() -> None:
    world = World()
    first, waiting = full(world), [job(number) for number in range(5, 8)]
    for one in waiting:
        assert world.gate.take(one) is not None
        world.written(one)
    world.woken.clear()
    for one in first[:2]:
        world.put_pod(one, "n0", phase="Succeeded")
    assert world.gate.take(waiting[0]) is None
    assert world.woken == ["pbs-6"]
    assert world.gate.take(waiting[2]) is not None
    assert world.woken == ["pbs-6"], "once"


def test_the_start_is_told_and_stays_while_it_is_about_right() -> None:
    world = World()
    full(world)
    wide = job(5, cpus=2, count=2)
    world.gate.take(wide)
    first = world.gate.forecast(wide)
    assert first.start is not None and first.nodes == "n0,n1"
    shown = replace(wide, status=replace(wide.status, planned_start=first.start, planned_nodes=first.nodes))
    world.gate.look()
    assert world.gate.forecast(shown) == first
    assert world.gate.forecast(job(1)) == (None, ""), "it runs"


def test_those_behind_the_planned_ones_have_an_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_told, "_ESTIMATED", 2)
    world = World()
    full(world)
    jobs = [job(5, cpus=2, count=2), job(6, cpus=2, count=2), job(7, cpus=2, count=2)]
    for one in jobs:
        assert world.gate.take(one) is not None
    world.gate.look()
    first, second, third = (world.gate.forecast(one).start for one in jobs)
    assert first is not None and second is not None and third is None
    assert (second - first).total_seconds() == pytest.approx(3600 + 25, abs=1)
    assert {"pbs-6"} <= set(world.woken)


def test_a_new_gate_has_the_same_plan() -> None:
    world = World()
    full(world)
    wide, later = job(5, cpus=2, count=2), job(6, walltime_s=7200)
    for one in (wide, later):
        world.gate.take(one)
        world.written(one)
    for number in (1, 2):
        world.put_pod(job(number), "n0", phase="Succeeded")
    world.start()
    held = world.gate.take(later)
    assert held is not None and held.reason is Reason.PRIORITY


def test_a_released_job_keeps_its_place_until_it_has_nodes() -> None:
    world = World(1)
    assert world.gate.take(job(1, cpus=2)) is None
    world.written(job(1, cpus=2))  # an older event: its Volcano Job is being made
    assert world.gate.take(job(2)) is not None
    made = world.made(job(1, cpus=2))
    assert made["metadata"]["annotations"] == {PLANNED_ANNOTATION: "0:n0*1"}
    assert world.gate.take(job(2)) is not None
    world.start()
    assert world.gate.take(job(2)) is not None, "the Volcano Job says where it is planned"
    world.gate.give_back(job(1, cpus=2))
    assert world.gate.take(job(2)) is None


def test_only_who_might_delay_a_planned_start_is_pinned() -> None:
    world = World(3)
    free = job(1)
    assert world.gate.take(free) is None
    assert "affinity" not in world.made(free)["spec"]["tasks"][0]["template"]["spec"]
    world.put_pod(free, "n0")
    long = job(2, cpus=2, walltime_s=600)
    assert world.gate.take(long) is None
    world.made(long)
    world.put_pod(long, "n1")
    top = job(3, cpus=2, count=2)
    assert world.gate.take(top) is not None
    beside = job(4, walltime_s=7200)
    assert world.gate.take(beside) is None
    affinity = world.made(beside)["spec"]["tasks"][0]["template"]["spec"]["affinity"]["nodeAffinity"]
    (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert term == {"matchExpressions": [{"key": HOST, "operator": "In", "values": ["n0.site"]}]}


def test_unlike_pods_are_kept_where_they_were_planned() -> None:
    """Volcano may try the small one first, on the only node with room for the large one."""
    world = World(3)
    for number, node in ((1, "n0"), (2, "n1")):
        assert world.gate.take(job(number)) is None
        world.made(job(number))
        world.put_pod(job(number), node)
    layout = (Chunk(count=1, cpus=2), Chunk(count=1, cpus=1))
    unlike = job(3)
    unlike = replace(unlike, spec=replace(unlike.spec, chunks=layout), status=replace(unlike.status, layout=layout))
    assert world.gate.take(unlike) is None
    made = world.made(unlike)
    hosts = {}
    for task in made["spec"]["tasks"]:
        needed = task["template"]["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        hosts[task["name"]] = needed["nodeSelectorTerms"][0]["matchExpressions"][0]["values"]
    assert hosts == {"mpimaster": ["n2.site"], "mpiworker": [hosts["mpiworker"][0]]}
    assert hosts["mpiworker"][0] in {"n0.site", "n1.site"}


def test_the_pod_of_an_interactive_job_is_kept_to_its_node_and_another_scheduler_places_it() -> None:
    """If that does not, the job is taken back, whoever wants its place, and is Volcano's."""
    world = World(1)
    shell = job(1, interactive=Interactive.SESSION)
    assert world.gate.take(shell) is None
    made = world.gate.placed(shell, volcano_job())
    pod = made["spec"]["tasks"][0]["template"]["spec"]
    assert (made["spec"]["schedulerName"], pod["schedulerName"]) == ("volcano", "default-scheduler")
    assert HOST in json.dumps(pod["affinity"])
    metadata = {"namespace": NS, "name": "job-1", "labels": {JOB_ID_LABEL: "1"}}
    metadata |= {"creationTimestamp": "2020-01-01T00:00:00Z", "annotations": made["metadata"]["annotations"]}
    world.volcano_jobs.objects[NS, "job-1"] = {**made, "metadata": metadata}
    world.written(shell, "job-1")
    world.start()
    world.gate.look()
    why = world.gate.withdrawn(shell)
    assert why is not None and why.message == "The scheduler has not started it on n0 within 30 s"
    world.gate.give_back(shell)
    assert world.gate.take(shell) is None
    assert "schedulerName" not in world.gate.placed(shell, volcano_job())["spec"]["tasks"][0]["template"]["spec"]


def test_what_volcano_does_not_start_goes_behind_all_others() -> None:
    world = World(1)
    stuck = job(1, cpus=2)
    assert world.gate.take(stuck) is None
    made = world.made(stuck, since="2020-01-01T00:00:00Z")
    world.start()
    world.gate.look()
    assert world.gate.withdrawn(stuck) is None, "nobody else wants its place"
    assert world.gate.take(job(2)) is None
    world.gate.look()
    why = world.gate.withdrawn(stuck)
    assert why is not None and why.message == "Volcano has not started it on n0 within 30 s"
    world.written(stuck)
    assert world.gate.take(stuck) is not None, "its Volcano Job is just being deleted"
    world.removed(made)
    held = world.gate.take(stuck)
    assert held is not None and held.message == why.message


def test_a_volcano_job_that_nobody_wrote_down_counts() -> None:
    """A controller was killed between making it and writing that into the record."""
    world = World(nodes=1)
    first, second = job(1, cpus=2), job(2, cpus=2, priority=9)
    world.written(first)
    assert world.gate.take(first) is None
    world.made(first)
    world.written(first)
    world.written(second)
    world.start()
    assert world.gate.take(second) is not None
    assert world.gate.take(first) is None


def test_a_job_that_starts_as_soon_as_it_is_let_go_keeps_its_place() -> None:
    """Its record shows it as held until its Volcano Job is made."""
    world = World(nodes=1)
    first, second = job(1, cpus=2), job(2, cpus=2)
    world.written(replace(first, status=replace(first.status, state=JobState.HELD, reason=Reason.DEPENDENCY)))
    assert world.gate.take(first) is None
    world.gate.on_batchjob(WatchEvent("MODIFIED", world.batchjobs.objects[NS, first.object_name]))
    assert world.gate.take(second) is not None


def test_a_fresh_gate_keeps_whom_a_starting_job_preempts() -> None:
    """Before it has looked at anything."""
    queues = (QueueConfig(name="q", volcano_queue="q"), QueueConfig(name="express", volcano_queue="q", priority=150))
    world = World(nodes=1, queues=queues)
    first = job(2, cpus=2)
    preempting = Preempting(time=datetime(2026, 11, 25, tzinfo=UTC), places="0:n0*1", victims=(Victim(job=1, run=1),))
    first = replace(first, queue="express", status=replace(first.status, preempting=preempting))
    world.made(first)
    world.start()
    assert world.gate.shown(first, first.status).preempting == preempting


def test_one_that_volcano_starts_anew_keeps_its_place() -> None:
    """Also for a controller that has just started, long after the Volcano Job was made."""
    world = World(nodes=1)
    first, second = job(1, cpus=2), job(2, cpus=2)
    world.written(first)
    assert world.gate.take(first) is None
    made = world.made(first, since="2026-11-25T12:00:00Z")
    made["status"] = {"retryCount": 1}
    world.written(second)
    world.start()
    world.gate.look()
    assert world.gate.withdrawn(first) is None
    assert world.gate.forecast(first).start is None


def test_a_node_of_its_own_is_lost() -> None:
    world = World(2)
    pair = job(1, cpus=2, count=2)
    assert world.gate.take(pair) is None
    world.made(pair)
    world.put_node("n1", unschedulable=True)
    world.gate.look()
    assert world.gate.withdrawn(pair) is not None


def test_a_refused_one_has_no_place() -> None:
    world = World(1)
    refused = job(1, cpus=2)
    assert world.gate.take(refused) is None
    world.gate.give_back(refused, was_denied=True)
    world.written(refused)
    assert world.gate.take(job(2)) is None
    world.gate.give_back(job(2))
    assert world.gate.take(refused) is not None
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(time, "monotonic", lambda: 10.0**9)
        assert world.gate.take(refused) is None


@pytest.mark.parametrize(
    ("state", "reason"),
    [(JobState.HELD, Reason.HELD_BY_USER), (JobState.QUEUED, Reason.LICENSES), (JobState.DELETED, Reason.NONE)],
)
def test_who_cannot_start_has_no_place(state: JobState, reason: Reason) -> None:
    world = World()
    full(world)
    wide = job(5, cpus=2, count=2)
    world.gate.take(wide)
    world.put_pod(job(1), "n0", phase="Succeeded")
    later = job(6, walltime_s=7200)
    assert world.gate.take(later) is not None
    world.written(replace(wide, status=replace(wide.status, state=state, reason=reason)))
    assert world.gate.take(later) is None


def with_limit(most: int, word: str = "MaxJobsPerUser") -> Accounts:
    limits = Limits({word: most}) if word in WORDS else Limits({}, {"MaxTRESPerJob": {word: most}})
    return replace(first_accounts(), qos={"normal": Qos(number=1, name="normal", limits=limits)})


def test_a_limit_of_what_runs_is_kept_to() -> None:
    world = World(2, accounting_enforce=frozenset({"limits"}))
    world.sites.accounts.in_force = with_limit(1)
    first, second = job(1), job(2)
    assert world.gate.take(first) is None
    world.made(first)
    world.put_pod(first, "n0")
    world.gate.take(second)
    world.gate.look()
    held = world.gate.take(second)
    assert held == Waiting(reason=Reason.LIMIT, message="QOSMaxJobsPerUserLimit: no more than 1 job at a time")
    world.written(replace(second, status=replace(second.status, reason=held.reason, message=held.message)))
    world.start()
    assert world.gate.take(second) is not None, "after a restart, too"
    world.woken.clear()
    world.put_pod(first, "n0", phase="Succeeded")
    world.written(replace(first, status=replace(first.status, state=JobState.FINISHED)))
    world.gate.look()
    assert world.woken == ["pbs-2"]
    assert world.gate.take(second) is None


def test_a_limit_counts_a_job_until_volcano_can_start_it_no_more() -> None:
    """It has waited so long for Volcano that it is planned anew, behind all others: they wait until it is taken back,
    its Volcano Job, too.
    """
    world = World(2, accounting_enforce=frozenset({"limits"}))
    world.sites.accounts.in_force = with_limit(1)
    stuck, second = job(1), job(2)
    assert world.gate.take(stuck) is None
    made = world.made(stuck, since="2020-01-01T00:00:00Z")
    world.written(second)
    world.start()
    world.gate.look()
    for _ in range(2):
        held = world.gate.take(second)
        assert held is not None and held.reason is Reason.LIMIT
        assert world.gate.withdrawn(stuck) is not None
        world.gate.look()
    world.written(stuck)
    assert [world.gate.take(one) is None for one in (stuck, second)] == [False, False], "it is just being deleted"
    world.removed(made)
    assert world.gate.take(second) is None
    assert world.gate.take(stuck) is not None


def test_a_limit_counts_a_job_once_that_volcano_starts_late() -> None:
    world = World(2, accounting_enforce=frozenset({"limits"}))
    world.sites.accounts.in_force = with_limit(2)
    late, *others = job(1), job(2), job(3)
    assert world.gate.take(late) is None
    world.made(late, since="2020-01-01T00:00:00Z")
    world.start()
    world.gate.look()
    world.put_pod(late, "n0")
    assert [world.gate.take(one) is None for one in others] == [True, False]


def test_a_limit_is_set_and_taken_away_while_jobs_wait() -> None:
    world = World(2, accounting_enforce=frozenset({"limits"}))
    first, second = job(1), job(2)
    assert world.gate.take(first) is None
    world.made(first)
    world.sites.accounts.in_force = with_limit(1)
    assert world.gate.take(second) is not None
    world.sites.accounts.in_force = first_accounts()
    assert world.gate.take(second) is None


def test_a_job_over_a_limit_never_starts_and_is_in_nobodys_way() -> None:
    world = World(2, accounting_enforce=frozenset({"limits"}))
    world.sites.accounts.in_force = with_limit(1, "cpu")
    wide = job(1, cpus=2)
    expected = Waiting(
        reason=Reason.LIMIT,
        message="QOSMaxCpuPerJobLimit: the job alone is over this limit, and so never starts",
    )
    assert world.gate.take(wide) == expected
    world.written(replace(wide, status=replace(wide.status, reason=expected.reason, message=expected.message)))
    world.gate.look()
    assert world.gate.take(wide) == expected
    assert world.gate.take(job(2)) is None
    world.sites.accounts.in_force = with_limit(2, "cpu")
    world.gate.look()
    assert world.gate.take(wide) is None


def by_priority(**weights: Any) -> dict[str, Any]:
    return {"priority": PriorityConfig(is_multifactor=True, **weights)}


def eligible(one: JobRecord, ago_s: float, **attributes: str) -> JobRecord:
    when = datetime.now(UTC) - timedelta(seconds=ago_s)
    spec = replace(one.spec, attributes={**one.spec.attributes, **attributes})
    return replace(one, spec=spec, status=replace(one.status, eligible_time=when))


def first_of(world: World, first: list[JobRecord], waiting: list[JobRecord]) -> str:
    """Which of those that wait starts when one CPU is free."""
    for one in waiting:
        assert world.gate.take(one) is not None
        world.written(one)
    world.gate.rank()
    world.put_pod(first[0], "n0", phase="Succeeded")
    world.woken.clear()
    world.gate.look()
    return world.woken[0]


def test_who_has_the_higher_quality_of_service_goes_first() -> None:
    world = World(2, **by_priority(weight_qos=1000))
    high = Qos(number=2, name="high", limits=Limits({"Priority": 10}))
    world.sites.accounts.in_force = replace(first_accounts(), qos={**first_accounts().qos, "high": high})
    first = full(world)
    assert first_of(world, first, [job(5), job(6, attributes={"qos": "high"})]) == "pbs-6"


@pytest.mark.parametrize(("nice", "first"), [(-300, "pbs-6"), (-100, "pbs-5")])
def test_age_counts(nice: int, first: str) -> None:
    """A fifth of the longest age is 200 of 1000."""
    world = World(2, **by_priority(weight_age=1000, max_age_s=1000))
    running = full(world)
    assert first_of(world, running, [eligible(job(5), 200), eligible(job(6, nice=nice), 0)]) == first


def test_age_overtakes_while_nobody_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(2, **by_priority(weight_age=1000, max_age_s=1000))
    running = full(world)
    # the older one is at its most already, the younger one with its nice value catches up
    waiting = [eligible(job(5), 2000), eligible(job(6, nice=-100), 0)]
    assert first_of(world, running, waiting) == "pbs-5"
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() + 950)
    world.gate.rank()
    world.woken.clear()
    world.gate.look()
    assert world.woken[0] == "pbs-6"


def test_small_jobs_first_as_the_cluster_grows() -> None:
    world = World(2, **by_priority(weight_job_size=1000, favors_small=True))
    first = full(world)
    assert first_of(world, first, [job(5, cpus=2), job(6)]) == "pbs-6"


def test_a_formula_orders() -> None:
    world = World(2, priority=PriorityConfig(formula="100 - ncpus + eligible_time/100"))
    first = full(world)
    assert first_of(world, first, [job(5), eligible(job(6), 500)]) == "pbs-6"


def test_who_has_used_less_goes_first() -> None:
    world = World(2, **by_priority(weight_fair_share=1000))
    begun = first_accounts()
    users = [Association(number=number, account="root", user=user) for number, user in ((3, "ann"), (4, "bob"))]
    world.sites.accounts.in_force = replace(begun, associations=(*begun.associations, *users))
    world.gate.rank()
    jobs = [job(number, account="root") for number in range(1, 5)]
    began = datetime.now(UTC) - timedelta(hours=1)
    for index, one in enumerate(jobs):
        assert world.gate.take(one) is None
        world.made(one)
        world.put_pod(one, f"n{index // 2}")
        running = replace(one.status, state=JobState.RUNNING, start_time=began)
        world.written(replace(one, status=running), f"job-{one.job_id}")
    bob = job(6, account="root")
    assert (
        first_of(world, jobs, [job(5, account="root"), replace(bob, status=replace(bob.status, owner="bob"))])
        == "pbs-6"
    )


def test_the_capability_of_a_volcano_queue_is_kept_to() -> None:
    world = World(2)
    queue = {"metadata": {"name": "q"}, "spec": {"capability": {"cpu": "2"}}}
    world.gate.on_queue(WatchEvent("ADDED", queue))
    assert world.gate.take(job(1)) is None
    assert world.gate.take(job(2)) is None
    held = world.gate.take(job(3))
    assert held is not None and "has reached its limit" in held.message
    world.gate.on_queue(WatchEvent("DELETED", queue))
    assert world.gate.take(job(3)) is None


def test_volcano_knows_no_limits() -> None:
    world = World(2, accounting_enforce=frozenset({"limits"}), policy=Policy.VOLCANO, **by_priority(weight_age=1))
    world.sites.accounts.in_force = with_limit(1)
    assert [world.gate.take(job(number)) for number in (1, 2)] == [None, None]
    assert world.gate.ranked(job(1), job(1).status).rank is None


def test_a_changed_priority_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(2, **by_priority(weight_age=1000, max_age_s=1000))
    full(world)
    one = eligible(job(5), 100)
    world.gate.take(one)
    shown = world.gate.ranked(one, one.status).rank
    assert shown is not None and 99 <= shown <= 110
    world.written(replace(one, status=replace(one.status, rank=shown)))
    world.gate.rank()
    world.woken.clear()
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() + 500)
    other = eligible(job(6, nice=-50), 0)
    world.gate.take(other)
    world.written(other)
    world.gate.rank()
    assert "pbs-6" in world.woken, "its record shows none yet"


def test_volcano_decides_alone() -> None:
    world = World(1, policy=Policy.VOLCANO)
    assert [world.gate.take(job(number, cpus=2)) for number in (1, 2, 3)] == [None] * 3


@pytest.mark.parametrize("policy", [Policy.BACKFILL, Policy.VOLCANO])
def test_a_job_whose_pods_no_node_takes_does_not_start_again_at_once_for_ever(
    policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(1, policy=policy)
    for uid in ("a", "b", "b", "b"):
        assert world.gate.take(job(1)) is None
        world.gate.was_refused(job(1), uid)
        world.gate.give_back(job(1))
    world.gate.was_refused(job(1), "c")
    assert world.gate.take(job(1)) is not None
    assert world.gate.take(job(2)) is None, "others start"
    world.gate.give_back(job(2))
    later = time.monotonic() + 2 * plan_gate._DENIED_S
    monkeypatch.setattr(time, "monotonic", lambda: later)
    assert world.gate.take(job(1)) is None
    world.gate.was_refused(job(1), "d")
    assert world.gate.take(job(1)) is not None, "it has not become better"
    world.gate.give_back(job(1))
    much_later = later + 2 * plan_gate._BEHIND_S
    monkeypatch.setattr(time, "monotonic", lambda: much_later)
    world.gate.was_refused(job(1), "e")
    assert world.gate.take(job(1)) is None


def plans(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """When plans are made from now on."""
    made: list[float] = []
    plan = PlanWorld.plan

    def counted(world: PlanWorld, now_s: float) -> Plan:
        made.append(now_s)
        return plan(world, now_s)

    monkeypatch.setattr(PlanWorld, "plan", counted)
    return made


def test_a_start_as_planned_leads_to_no_plan_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_gate, "_LATER_S", 60.0)
    monkeypatch.setattr(plan_gate, "_LEAST_S", 60.0)
    world = World(1)
    world.gate.look()
    made = plans(monkeypatch)
    starts = job(1)
    assert world.gate.take(starts) is None
    world.made(starts)
    world.gate.look()  # tells what the plan of `take` says
    count = len(made)
    world.put_pod(starts, "n0")
    running = replace(starts.status, state=JobState.RUNNING, start_time=datetime.now(UTC))
    world.written(replace(starts, status=running), "job-1")
    world.gate.look()
    assert len(made) == count, "its end is another one, by which no job starts"
    monkeypatch.setattr(plan_gate, "_LATER_S", 0.0)
    world.gate.look()
    assert len(made) == count + 1
    monkeypatch.setattr(plan_gate, "_LATER_S", 60.0)
    world.put_pod(starts, "n0", phase="Succeeded")
    world.gate.look()
    assert len(made) == count + 2, "there is room"
