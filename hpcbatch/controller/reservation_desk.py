"""Grants and denies reservations, moves repeated ones on to their next time, and removes those that are over.

All state is in the API: a Reservation whose `status.observedGeneration` is behind was not decided on yet. One thread
decides, one after the other; what it grants the plan keeps to before it is written, so that no job starts in between.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Final

from hpcbatch.api.informer import Informer, WorkQueue, object_key
from hpcbatch.api.names import SYSTEM_NAMESPACE
from hpcbatch.api.port import Api, Object, WatchEvent
from hpcbatch.api.resources import RESERVATIONS
from hpcbatch.controller.intake import Intake
from hpcbatch.controller.mail import Mailer
from hpcbatch.controller.plan_gate import PlanGate
from hpcbatch.controller.plan_reservations import is_unended, names_in, upcoming
from hpcbatch.controller.records import record_of, remove
from hpcbatch.controller.site_source import SiteSource
from hpcbatch.dataclass import replace
from hpcbatch.errors import ConflictError, HpcBatchError, NotFoundError
from hpcbatch.model.layout import lay_out
from hpcbatch.model.reservation import (
    Denial,
    Denied,
    Flag,
    KeptNode,
    Phase,
    ReservationSpec,
    ReservationStatus,
    Reserved,
)
from hpcbatch.model.site import Launcher, Policy, QueueConfig
from hpcbatch.model.spec import Arrangement, JobSpec
from hpcbatch.model.state import JobState
from hpcbatch.policy.admission import with_one_alternative
from hpcbatch.policy.in_reservations import reservations_of
from hpcbatch.policy.plan.snapshot import Node, Part, Reservation, RunningJob
from hpcbatch.policy.planned import parts_of, plan_id, seconds
from hpcbatch.policy.recurrence import RuleError, TimeError, ZoneError, check_rule, count_of, times
from hpcbatch.policy.replacing import Losing, is_replaced, placed_anew, with_stand_ins
from hpcbatch.policy.reserved import spec_of_job
from hpcbatch.policy.reserving import DeniedError, Estate, Window, keep_chunks, keep_job, keep_nodes
from hpcbatch.policy.views import is_ready, takes_pods
from hpcbatch.policy.vocabulary import translate
from hpcbatch.record.reservation import ReservationRecord, reservation_from, status_to_json

_LOG = logging.getLogger(__name__)
Key = tuple[str, str]

_DENIED_KEPT_S: Final = 60.0
_LATE_S: Final = 600
"""How long ago a reservation may have begun that is made. Source: MAX_RESV_DELAY of reservation.c."""
_IN_USE_LOOK_S: Final = 2.0
_MAIL_LOOK_S: Final = 5.0
_LONGEST_S: Final = 3600.0
_RETRY_S: Final = 1.0
_SEEN_S: Final = 10.0
_WINDOWS: Final = 200
"""Of a repeated reservation so many times are held against those of others."""
_DEGRADED_LOOK_S: Final = 60.0
"""A reservation that has lost a node asks for another one so often."""
_JOB_SEEN_S: Final = 5.0
"""How long the caches may lag behind the job of which a reservation is to be made, also those of a new controller."""
_JOB_LOOK_S: Final = 0.1
_OWNED: Final = frozenset({Flag.PURGE_COMP})
"""What a user's may be like; the other flags are for operators."""


class ReservationDesk:
    """`wake` is called with each job that a change of a reservation concerns."""

    def __init__(
        self,
        api: Api,
        sites: SiteSource,
        intake: Intake,
        plan: PlanGate,
        *,
        batchjobs: Informer,
        nodes: Informer,
        mailer: Mailer,
        wake: Callable[[Key], None],
    ) -> None:
        self._api, self._sites, self._intake, self._plan, self._mailer = api, sites, intake, plan, mailer
        self._batchjobs, self._nodes, self._wake = batchjobs, nodes, wake
        self._queue: WorkQueue[Key] = WorkQueue()
        self._takes_jobs: dict[str, bool] = {}
        """Of each node, by its last event."""
        self._job_missed: dict[Key, float] = {}
        """Since when the job has not been seen to run of which the reservation is to be made."""
        self.thread = threading.Thread(target=self._run, name="reservations", daemon=True)

    def stop(self) -> None:
        self._queue.stop()

    def on_event(self, event: WatchEvent) -> None:
        self._queue.add(object_key(event.object))

    def on_node(self, event: WatchEvent) -> None:
        """Reservations that have not begun get other nodes for those that take no jobs."""
        name = event.object["metadata"]["name"]
        takes = event.type != "DELETED" and _takes_jobs(event.object)
        if self._takes_jobs.get(name) is takes:
            return
        self._takes_jobs[name] = takes
        for record in self._sites.reservations.records():
            if any(not self._takes_jobs.get(node.name, True) for node in record.status.nodes):
                self._queue.add((record.namespace, record.object_name))

    def on_reserved(self, names: frozenset[str]) -> None:
        """These are in force otherwise than before."""
        self._plan.on_site()
        in_force = self._sites.reservations.records()
        of_jobs = {str(one.spec.job) for one in in_force if one.status.id in names and one.spec.job is not None}
        for obj in self._batchjobs.items():
            if is_unended(obj) and (not names.isdisjoint(names_in(obj)) or obj["status"].get("jobId") in of_jobs):
                self._wake(object_key(obj))

    def _jobs_of(self, name: str) -> Iterator[Object]:
        """The jobs in the reservation that have not ended."""
        return (obj for obj in self._batchjobs.items() if name in names_in(obj) and is_unended(obj))

    def _run(self) -> None:
        while not self._sites.is_in_force.wait(timeout=_RETRY_S):
            if self._queue.stopped:
                return
        while not self._queue.stopped:
            key = self._queue.get()
            if key is None:
                continue
            try:
                if (again_s := self._look(key)) is not None:
                    self._queue.add_after(key, min(again_s, _LONGEST_S))
            except (ConflictError, NotFoundError):
                self._queue.add_after(key, _RETRY_S)
            except HpcBatchError as error:
                _LOG.warning("reservation %s/%s: %s", *key, error)
                self._queue.add_after(key, 10 * _RETRY_S)
            except Exception:
                _LOG.exception("reservation %s/%s", *key)
                self._queue.add_after(key, 60 * _RETRY_S)
            finally:
                self._queue.done(key)

    def _look(self, key: Key) -> float | None:
        """Bring one Reservation forward. Returns the seconds until there may be something to do again."""
        obj = self._sites.reservations.informer.get(*key)
        if obj is None or "deletionTimestamp" in obj["metadata"]:
            self._job_missed.pop(key, None)
            return None
        record, now = reservation_from(obj), datetime.now(UTC)
        self._mailer.look_at_reservation(obj, record)
        if record.spec.removed_by:
            return self._taken_away(obj, record, now)
        if record.generation != record.status.generation:
            decided = self._decided(record, now)
            if decided is None:
                return _JOB_LOOK_S
            self._job_missed.pop(key, None)
            self._write(obj, decided)
            return 0.0
        status = record.status
        if status.granted is None or status.start is None or status.end is None:
            return self._forget_denied(obj, status, now)
        moved = self._advanced(record, now)
        if moved is None:
            if any(JobState(job["status"]["state"]) not in _WAITING for job in self._jobs_of(status.id)):
                return _IN_USE_LOOK_S
            return self._removed(obj, record)
        if moved != status:
            self._write(obj, moved)
            return 0.0
        lost = self._lost(record)
        if lost and (other := self._on_other_nodes(record, lost, now)) is not None:
            self._write(obj, other)
            return 0.0
        return min(self._until(record, now), _DEGRADED_LOOK_S if lost else _LONGEST_S)

    def _taken_away(self, obj: Object, record: ReservationRecord, now: datetime) -> float | None:
        """Of one that its owner, or an operator, has had removed."""
        if record.generation != record.status.generation:
            self._write(obj, replace(record.status, generation=record.generation, changed=now))
            return 0.0
        return self._removed(obj, record)

    def _removed(self, obj: Object, record: ReservationRecord) -> float | None:
        """Not before its last mail is sent, or given up."""
        if self._mailer.owes_reservation(record):
            if record.status.phase is not Phase.OVER:
                self._write(obj, replace(record.status, phase=Phase.OVER))
            return _MAIL_LOOK_S
        remove(self._api, RESERVATIONS, record.object_name, record.namespace, uid=obj["metadata"]["uid"])
        return None

    def _lost(self, record: ReservationRecord) -> frozenset[str]:
        """The nodes that take no jobs, of a reservation that gets others for them."""
        status = record.status
        if status.granted is None or not is_replaced(status.granted):
            return frozenset()
        found = {name: self._nodes.get(None, name) for name in (node.name for node in status.nodes)}
        return frozenset(name for name, node in found.items() if node is None or not _takes_jobs(node))

    def _on_other_nodes(
        self, record: ReservationRecord, lost: frozenset[str], now: datetime
    ) -> ReservationStatus | None:
        """The reservation with others for those that are lost; None: there are none that are free."""
        spec = record.status.granted
        try:
            asked = record._replace(spec=spec or record.spec)
            return replace(self._granted(asked, record.status, now, lost=lost), changed=now)
        except HpcBatchError as error:
            _LOG.info("reservation %s is degraded: no other nodes for %s: %s", record.status.id, sorted(lost), error)
            return None

    def _until(self, record: ReservationRecord, now: datetime) -> float:
        status = record.status
        ends = [time for time in (status.start, status.end) if time is not None and time > now]
        if status.granted is not None and Flag.PURGE_COMP in status.granted.flags and status.idle_since is not None:
            ends.append(status.idle_since + timedelta(seconds=status.granted.purge_s))
        left_s = min(((time - now).total_seconds() for time in ends), default=_IN_USE_LOOK_S)
        is_watched = status.granted is not None and Flag.PURGE_COMP in status.granted.flags
        return max(0.05, min(left_s, _IN_USE_LOOK_S) if is_watched and status.start and status.start <= now else left_s)

    def _forget_denied(self, obj: Object, status: ReservationStatus, now: datetime) -> float | None:
        age_s = (now - (status.changed or now)).total_seconds()
        if age_s < _DENIED_KEPT_S:
            return _DENIED_KEPT_S - age_s
        metadata = obj["metadata"]
        remove(self._api, RESERVATIONS, metadata["name"], metadata["namespace"], uid=metadata["uid"])
        return None

    def _write(self, obj: Object, status: ReservationStatus) -> None:
        """And wait until the cache has it: the next decision has to know this one."""
        namespace = obj["metadata"]["namespace"]
        written = self._api.replace(
            RESERVATIONS, obj | {"status": status_to_json(status)}, namespace, subresource="status"
        )
        version, until = int(written["metadata"]["resourceVersion"]), time.monotonic() + _SEEN_S
        while time.monotonic() < until and not self._queue.stopped:
            seen = self._sites.reservations.informer.get(namespace, obj["metadata"]["name"])
            if seen is None or int(seen["metadata"]["resourceVersion"]) >= version:
                return
            time.sleep(0.02)

    # Its times

    def _advanced(self, record: ReservationRecord, now: datetime) -> ReservationStatus | None:
        """The status at its next time, where the last one is over; None: that was all."""
        status, spec = record.status, record.status.granted
        if spec is None or status.end is None or status.start is None:
            return status
        if Flag.PURGE_COMP in spec.flags and status.start <= now:
            is_used = next(self._jobs_of(status.id), None) is not None
            if is_used != (status.idle_since is None):
                return replace(status, idle_since=None if is_used else now)
            is_done = status.idle_since is not None and now >= status.idle_since + timedelta(seconds=spec.purge_s)
            if is_done:
                return self._next(status, spec, status.end)
        return status if now < status.end else self._next(status, spec, now)

    @staticmethod
    def _next(status: ReservationStatus, spec: ReservationSpec, since: datetime) -> ReservationStatus | None:
        found = next((one for one in times(spec, since) if status.start is None or one.start > status.start), None)
        if found is None:
            return None
        return replace(status, start=found.start, end=found.end, index=found.number, idle_since=None)

    # Grants

    def _decided(self, record: ReservationRecord, now: datetime) -> ReservationStatus | None:
        """None: the job that it is to be made of may be seen to run in a moment."""
        status = replace(record.status, generation=record.generation, changed=now, denial=None)
        try:
            return self._granted(record, replace(status, denial=None), now)
        except DeniedError as error:
            if error.code is Denial.BAD_STATE and self._awaits_job((record.namespace, record.object_name)):
                return None
            denied = Denied(code=error.code, message=str(error))
            status = replace(status, id=status.id or error.name)
        except RuleError as error:
            denied = Denied(code=Denial.BAD_RULE, message=str(error))
        except ZoneError as error:
            denied = Denied(code=Denial.BAD_ZONE, message=str(error))
        except TimeError as error:
            denied = Denied(code=Denial.BAD_TIME, message=str(error))
        phase = Phase.DENIED if status.granted is None else status.phase
        return replace(status, phase=phase, denial=denied)

    def _granted(
        self,
        record: ReservationRecord,
        status: ReservationStatus,
        now: datetime,
        lost: frozenset[str] = frozenset(),
    ) -> ReservationStatus:
        """`lost`: nodes instead of which it is to get others."""
        spec, owner = self._allowed(record)
        job = spec.job if status.granted is None else None
        if job is not None:
            spec = self._of_job(spec, record.namespace, job)
        if not (spec.partition or spec.nodes or spec.chunks):
            spec = replace(spec, partition=self._sites.in_force.config.default_queue)
        check_rule(spec)
        is_new = status.granted is None or not status.granted.start < now
        if spec.start < now - timedelta(seconds=_LATE_S) and is_new and job is None:
            raise DeniedError(Denial.BAD_TIME)
        windows = [(seconds(one.start), seconds(one.end)) for one in islice(times(spec, now), _WINDOWS)]
        first = next(times(spec, now), None)
        if first is None:
            raise DeniedError(Denial.BAD_TIME)
        count = count_of(spec)
        name = status.id or self._name(record, count)
        if self._sites.in_force.config.policy is Policy.VOLCANO:
            raise DeniedError(Denial.NO_PLAN, "policy: volcano of the site: Volcano alone starts jobs")

        held = {node.name for node in status.nodes}

        def choose(nodes: Sequence[Node], running: Sequence[RunningJob]) -> Reserved:
            estate = Estate(
                nodes=sorted(
                    (node for node in nodes if node.name not in lost),
                    key=lambda node: (node.name not in held, node.name),
                ),
                running=[job for job in running if job.reservation != name],
                others=list(self._others(record, now)),
                features=self._sites.in_force.config.node_properties,
            )
            if job is not None:
                kept = keep_job(plan_id(job), estate)
            elif lost:
                inside = [job for job in running if job.reservation == name]
                kept = self._replaced(Losing(spec, status.nodes, windows, inside), estate)
            else:
                kept = self._kept(record, spec, windows, estate)
            return Reserved(id=name, spec=spec, owner=owner, nodes=kept, start=first.start, end=first.end)

        try:
            reserved = self._plan.reserve(choose)
        except DeniedError as error:
            error.name = name
            raise
        return replace(
            status,
            phase=Phase.CONFIRMED,
            confirmed=status.confirmed if not lost and _is_same(status.granted, spec) else now,
            id=name,
            owner=owner,
            granted=spec,
            nodes=reserved.nodes,
            start=first.start,
            end=first.end,
            index=first.number,
            count=count,
        )

    def _awaits_job(self, key: Key) -> bool:
        return time.monotonic() - self._job_missed.setdefault(key, time.monotonic()) < _JOB_SEEN_S

    def _of_job(self, spec: ReservationSpec, namespace: str, number: int) -> ReservationSpec:
        """`spec` as it is made of that job. Raises DeniedError."""
        found = next((job for job in self._jobs_in(namespace) if job["status"].get("jobId") == str(number)), None)
        record = None if found is None or found["spec"].get("deleteRequested") else record_of(found)
        made = None if record is None else spec_of_job(spec, record, self._sites.in_force.config)
        if made is None:
            raise DeniedError(Denial.BAD_STATE)
        return made

    def _jobs_in(self, namespace: str) -> Iterator[Object]:
        return (job for job in self._batchjobs.items() if job["metadata"]["namespace"] == namespace and is_unended(job))

    def _name(self, record: ReservationRecord, count: int | None) -> str:
        if record.spec.dialect != "pbs":
            if any(one.status.id == record.spec.name for one in self._sites.reservations.records()):
                raise DeniedError(Denial.BAD_REQUEST, "there is one of this name")
            return record.spec.name
        letter = "M" if record.spec.is_maintenance else "R" if count == 1 else "S"
        return f"{letter}{self._intake.numbers.take()}"

    def _allowed(self, record: ReservationRecord) -> tuple[ReservationSpec, str]:
        """What the owner may ask for, and who that is. Raises DeniedError."""
        spec = record.spec
        if record.namespace == SYSTEM_NAMESPACE:  # only operators may write there
            return spec, spec.attributes.get("owner", "root")
        try:
            owner = self._intake.owner(record.namespace)
        except HpcBatchError as error:
            raise DeniedError(Denial.NOT_ALLOWED, str(error)) from None
        if owner.is_disabled:
            raise DeniedError(Denial.NOT_ALLOWED, f"user {owner.user} is disabled")
        if spec.dialect != "pbs" or set(spec.flags) - _OWNED or not spec.chunks or spec.nodes or spec.node_counts:
            raise DeniedError(Denial.NOT_ALLOWED, "only operators make such a reservation")
        users = tuple(dict.fromkeys((*spec.users, owner.user)))
        return replace(spec, users=users), owner.user

    def _kept(
        self,
        record: ReservationRecord,
        spec: ReservationSpec,
        windows: Sequence[Window],
        estate: Estate,
    ) -> tuple[KeptNode, ...]:
        """Raises DeniedError. What is only used otherwise stays where it is."""
        before, now = record.status, datetime.now(UTC)
        if _is_same(before.granted, spec):
            return before.nodes
        is_kept = before.granted is not None and _size(before.granted) == _size(spec)
        if spec.chunks:
            held = {node.name for node in before.nodes} if is_kept and before.start and before.start <= now else None
            parts, is_scattered = self._parts(spec, held)
            return keep_chunks(spec, parts, windows, estate, is_scattered=is_scattered)
        if is_kept:
            named = replace(spec, nodes=tuple(node.name for node in before.nodes), node_counts=(), core_counts=())
            keep_nodes(named, windows, estate, None)
            return before.nodes
        return keep_nodes(spec, windows, estate, self._partition(spec))

    def _replaced(self, losing: Losing, estate: Estate) -> tuple[KeptNode, ...]:
        """Its nodes, with others instead of those that are lost. Raises DeniedError."""
        if not losing.spec.chunks:
            return with_stand_ins(losing, estate, self._partition(losing.spec))
        parts, is_scattered = self._parts(losing.spec, None)
        return placed_anew(losing, parts, estate, is_scattered=is_scattered)

    def _partition(self, spec: ReservationSpec) -> QueueConfig | None:
        site = self._sites.in_force.config
        if not spec.partition:
            return site.queue(site.default_queue)
        found = site.queue(spec.partition)
        if found is None or (not site.queues and self._intake.volcano_state(found.volcano_queue) is None):
            raise DeniedError(Denial.UNKNOWN_QUEUE, spec.partition)
        return found

    def _others(self, record: ReservationRecord, now: datetime) -> Iterator[Reservation]:
        for other in self._sites.reservations.records():
            reserved = other.reserved
            if reserved is not None and (other.namespace, other.object_name) != (record.namespace, record.object_name):
                yield from reservations_of(reserved, upcoming(reserved, seconds(now), _WINDOWS))

    def _parts(self, spec: ReservationSpec, only: set[str] | None) -> tuple[tuple[Part, ...], bool]:
        """The chunks as the site understands them; on these nodes only. Raises DeniedError."""
        site = self._sites.in_force.config
        job = JobSpec(
            dialect=spec.dialect,
            name="reservation",
            chunks=spec.chunks,
            arrangement=spec.arrangement,
            sharing=spec.sharing,
        )
        anywhere = QueueConfig(name="", volcano_queue="")
        try:
            offers = self._intake.offers
            found = translate(job, site, offers.words()).spec.with_host_names(offers.host_names())
            sizes = offers.sizes(anywhere, site, found)
            layout = lay_out(with_one_alternative(found, sizes), sizes)
            parts = parts_of(layout, anywhere, site)
            if site.launcher is Launcher.DEDICATED:  # so that jobs of this size fit into it
                parts.append(Part(count=1, needs={"cpu": site.launcher_cpu_milli, "pods": 1}))
        except HpcBatchError as error:
            raise DeniedError(Denial.BAD_REQUEST, str(error)) from None
        if only is not None:
            parts = [replace(part, hosts=frozenset(only)) for part in parts]
        return tuple(parts), spec.arrangement is Arrangement.SCATTER


_WAITING = frozenset({JobState.QUEUED, JobState.HELD, JobState.WAITING})


def _takes_jobs(node: Object) -> bool:
    return is_ready(node) and takes_pods(node)


def _extent(spec: ReservationSpec) -> object:
    return spec.start, spec.end, spec.rule, spec.zone, spec.flags


def _size(spec: ReservationSpec) -> object:
    asked = spec.nodes, spec.node_counts, spec.core_counts, spec.features, spec.partition
    return (*asked, spec.chunks, spec.arrangement, spec.sharing)


def _is_same(before: ReservationSpec | None, spec: ReservationSpec) -> bool:
    """Whether it needs nothing else than before."""
    return before is not None and _extent(before) == _extent(spec) and _size(before) == _size(spec)
