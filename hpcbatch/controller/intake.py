"""New BatchJobs: finds their owner and resources, and writes the result of `admission` into the record."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from itertools import chain, product
from typing import Any

from hpcbatch.api.informer import Informer
from hpcbatch.api.names import HASTY_ANNOTATION, SECRET_TYPE
from hpcbatch.api.port import Api, Object
from hpcbatch.api.resources import BATCHJOBS, NAMESPACES, QUEUES, SECRETS
from hpcbatch.controller.dependents import Dependents
from hpcbatch.controller.node_offers import NodeOffers
from hpcbatch.controller.numbers import JobNumbers
from hpcbatch.controller.records import owner_reference, remove, write_status
from hpcbatch.controller.shard import Shard
from hpcbatch.controller.site_source import SiteSource
from hpcbatch.controller.standings import Standings
from hpcbatch.dataclass import replace
from hpcbatch.dialects.registry import door
from hpcbatch.errors import ApiError, HpcBatchError, NotFoundError, RefusedError, UnreachableError
from hpcbatch.model.accounts import NORMAL
from hpcbatch.model.array import ArrayStatus
from hpcbatch.model.foreseen import Foreseen
from hpcbatch.model.layout import counted
from hpcbatch.model.queue_switches import Switches, switches_of
from hpcbatch.model.record import JobRecord, JobStatus
from hpcbatch.model.refusal import BUSY, RefusalCode
from hpcbatch.model.site import QueueConfig, SiteConfig
from hpcbatch.model.spec import JobSpec
from hpcbatch.model.state import JobState, Reason
from hpcbatch.policy.accelerators import in_queue
from hpcbatch.policy.account_limits import Standing, max_walltime_s, place_of
from hpcbatch.policy.admission import Granted, admit, asked_queues, check_deadline, check_qos, is_enough, with_grant
from hpcbatch.policy.alternatives import alternatives, chosen
from hpcbatch.policy.dependencies import Outlook, Verdict, dropped
from hpcbatch.policy.holds import behind_others, hold_reason
from hpcbatch.policy.owners import Owners, standing_of
from hpcbatch.policy.reserved import check_reservation
from hpcbatch.policy.room import fits_now
from hpcbatch.policy.routing import destinations, is_routed_now, may_pass, no_destination
from hpcbatch.policy.submission import LIMITS, Settled, check_submission, has_limits, settle
from hpcbatch.policy.vocabulary import (
    NO_DISK,
    QOS,
    Translated,
    check_ignored,
    translate,
    without_disk,
)
from hpcbatch.policy.waiting import NodeRoom
from hpcbatch.record.batchjob import altered_spec, spec_from_json
from hpcbatch.site.identity import Identity, identity_of
from hpcbatch.units import parse_rfc3339

_CROWD, _PATIENCE_S = 32, 2.0
REFUSED_KEPT_S = 60.0  # the waiting client removes the record long before


def lane_of(
    key: tuple[str, str], obj: Object | None, is_starting: Callable[[str], bool]
) -> tuple[str, tuple[str, bool]]:
    """Starts take turns with what runs or has ended, and with all else: no node stays empty because much is submitted.
    In each of these, users take turns, and what a user submits with what concerns their other jobs: nobody waits for
    the many jobs of another, nor a command for the many of its user. `obj`: the BatchJob of that name, if there is one.
    `is_starting`: whether the job of that number may start, or is starting.
    """
    status: Mapping[str, Any] = {} if obj is None else obj.get("status", {})
    is_new = obj is not None and "jobId" not in status and "memberOf" not in obj["spec"]
    if status.get("volcanoJob") and not status.get("cleaned"):
        kind = "runs"
    else:
        kind = "starts" if is_starting(status.get("jobId", "")) else "waits"
    return kind, (key[0], is_new)


class Intake:
    """Admits or refuses. The informers hold the cluster's Volcano Queues, namespaces and BatchJobs."""

    def __init__(
        self,
        api: Api,
        sites: SiteSource,
        *,
        offers: NodeOffers,
        rooms: Callable[[], Sequence[NodeRoom]],
        queues: Informer,
        namespaces: Informer,
        dependents: Dependents,
        batchjobs: Informer,
        shard: Shard,
        highest_ended: Callable[[], int] = lambda: 0,
    ) -> None:
        self._api, self._sites, self._queues = api, sites, queues
        self.offers, self._shard = offers, shard
        self._rooms, self._namespaces = rooms, namespaces
        self.foresee: Callable[[JobRecord], Foreseen] = lambda record: Foreseen(record.job_id, record.queue, 0)
        """When a job would start that is only tested; by the plan, where there is one."""
        self.dependents = dependents
        self.numbers = JobNumbers(api, highest_ended)
        self.standings = Standings(batchjobs)
        self.last_admitted: dict[str, float] = {}
        """When a job of each user had its turn."""

    def is_busy(self, obj: Object, others: int, waited_s: float) -> bool:
        """Whether the job is refused because so many wait: if it has waited too long for who submits it, while another
        of the same user was admitted. So each user has his turn, however busy it is.
        """
        is_hasty = HASTY_ANNOTATION in (obj["metadata"].get("annotations") or {})
        user, since = obj["metadata"]["namespace"], time.monotonic() - waited_s
        if not is_hasty or others < _CROWD or waited_s < _PATIENCE_S or self.last_admitted.get(user, since) <= since:
            self.last_admitted[user] = time.monotonic()
            return False
        self.refuse(obj, BUSY, f"{others} wait")
        return True

    def admit(self, obj: Object) -> Object | None:
        """The admitted BatchJob; None if it was refused."""
        try:
            spec = taken_spec(obj["spec"])
            owner = self.owner(obj["metadata"]["namespace"])
            site = self._sites.in_force.config
            with self.counting() if site.has_routes else nullcontext():
                return self._admit(obj, spec, owner, site)
        except RefusedError as refused:
            self.refuse(obj, refused.code, str(refused))
            return None
        except (ApiError, UnreachableError):
            raise
        except HpcBatchError as error:
            self.refuse(obj, RefusalCode.BAD_SPEC, str(error))
            return None

    def _admit(self, obj: Object, spec: JobSpec, owner: Identity, site: SiteConfig) -> Object:
        queue, granted = self.grant(spec, owner, site)
        if spec.dependency is not None and spec.dependency.befores:
            self.dependents.check_no_cycle(_unnumbered(obj, spec))
        record = _first_record(obj, spec, owner, queue, granted)
        self.dependents.check_known(record)
        with self._counted(record):
            record = replace(record, job_id=self.numbers.take())
            if obj["spec"].get("testOnly"):
                raise RefusedError(RefusalCode.TEST_ONLY, self.foresee(record).text())
            self._own_submission(obj)
            return self._write(obj, record)

    def _write(self, obj: Object, record: JobRecord) -> Object:
        now = datetime.now(UTC)
        status = _first_status(record, self.dependents.look(record, now), now)
        written = write_status(self._api, obj, replace(record, status=status))
        self.standings.add(written)
        return written

    @contextmanager
    def _counted(self, record: JobRecord) -> Iterator[None]:
        """Nobody else is admitted while a job is counted, so that none is too many. Raises RefusedError for one that
        is over a limit.
        """
        accounts, site = self._sites.accounts.in_force, self._sites.in_force.config
        enforced = site.accounting_enforce
        if not has_limits(accounts, enforced):
            yield
            return
        with self.standings.lock:
            check_submission(accounts, enforced, standing_of(record), self.standings.others(), site.partition_qos)
            yield

    def grant(
        self,
        spec: JobSpec,
        owner: Identity,
        site: SiteConfig,
        *,
        stays_in: str | None = None,
        is_routed: bool = False,
    ) -> tuple[QueueConfig, Granted]:
        """A job's queue and what it gets there. Raises RefusedError or another HpcBatchError, as `admit` does.
        A job that `stays_in` its queue may stay even if that is closed to new jobs. Of several queues that admit the
        job it gets the first in which it could start now, else the first; of the alternatives of what it may be made of
        likewise, but rather than the first then the first that enough nodes have. A routing queue stands for the first
        of its destinations that takes the job; for itself where none does as yet, or the job is held in it (not
        `is_routed`).
        """
        asked = asked_queues(spec, site, self._exists, (each["metadata"]["name"] for each in self._queues.items()))
        for queue in asked.queues:
            if queue.name != stays_in:
                self._shard.check(queue, spec)
        admitted: list[tuple[QueueConfig, Granted, JobSpec]] = []
        refusal: HpcBatchError | None = None
        for made, queue in product(alternatives(spec), asked.queues):
            try:
                translated = translate(made, site, self.offers.words())
                translated = replace(translated, spec=translated.spec.with_host_names(self.offers.host_names()))
                if queue.from_route_only and queue.name != stays_in:
                    text = f"queue {queue.name} takes jobs from routing queues alone"
                    raise RefusedError(RefusalCode.FROM_ROUTE_ONLY, text)
                granted = self._grant_in(queue, translated, owner, site, stays=queue.name == stays_in)
                taken_by = queue
                if queue.destinations is not None and (is_routed or is_routed_now(queue, spec, datetime.now(UTC))):
                    taken_by, granted = self._routed(queue, translated, owner, site) or (queue, granted)
                ignored = tuple(dict.fromkeys((*asked.ignored, *granted.ignored)))
                check_ignored(spec, ignored, site)
                renamed = {**granted.renamed, **chosen(spec, made)}
                admitted.append((taken_by, replace(granted, ignored=ignored, renamed=renamed), translated.spec))
            except (ApiError, UnreachableError):
                raise
            except HpcBatchError as error:
                refusal = refusal or error
        if not admitted:
            raise refusal or AssertionError("a request has a queue at least")
        queue, granted, taken = admitted[0]
        if len(admitted) > 1:
            rooms = self._rooms()
            could_start = (
                each
                for each in admitted
                if fits_now(each[1].layout, rooms, is_scattered=each[2].is_scattered, queue=each[0], site=site)
            )
            have_nodes = (
                each
                for each in (admitted if spec.otherwise else ())
                if is_enough(each[1].layout, counted(self.offers.sizes(each[0], site, each[2])), each[2])
            )
            queue, granted, taken = next(chain(could_start, have_nodes, admitted[:1]))
        return queue, self._for_account(taken, granted, owner, queue, site)

    def _routed(
        self, route: QueueConfig, translated: Translated, owner: Identity, site: SiteConfig
    ) -> tuple[QueueConfig, Granted] | None:
        """The queue that the job goes on to, and what it gets there; None: it stays in the routing queue. Raises
        RefusedError if no destination ever takes it.
        """
        if route.name in self.switches(route.volcano_queue).stopped:
            return None
        refusals: list[HpcBatchError] = []
        for queue in destinations(route, site, self._exists):
            try:
                granted = self._grant_in(queue, translated, owner, site, stays=False)
                self._check_limits(translated.spec, granted, owner, queue, site)
                return queue, granted
            except (ApiError, UnreachableError):
                raise
            except HpcBatchError as error:
                refusals.append(error)
        if any(map(may_pass, refusals)):
            return None
        raise no_destination(route, refusals)

    def reroute(self, obj: Object, record: JobRecord, site: SiteConfig) -> JobRecord:
        """A job of a routing queue in the destination that takes it now; the same record if none does. Raises
        RefusedError if none ever will, or another HpcBatchError.
        """
        spec = replace(record.spec, queue=record.queue, other_queues=())
        owner = replace(self.owner(record.namespace), is_disabled=False)
        queue, granted = self.grant(spec, owner, site, stays_in=record.queue, is_routed=True)
        if queue.name == record.queue:
            return record
        altered = {**record.status.altered, **granted.renamed}
        status = with_grant(record.status, granted, altered)
        routed = replace(record, queue=queue.name, status=status)
        return replace(routed, spec=taken_spec(altered_spec(obj["spec"], altered))) if granted.renamed else routed

    @contextmanager
    def counting(self) -> Iterator[None]:
        """From counting jobs against limits until the record is written."""
        with self.standings.lock:
            yield

    def _check_limits(
        self, spec: JobSpec, granted: Granted, owner: Identity, queue: QueueConfig, site: SiteConfig
    ) -> None:
        """Raises RefusedError for a job that would be over a limit of submission in the queue."""
        accounts, enforced = self._sites.accounts.in_force, site.accounting_enforce
        if has_limits(accounts, enforced):
            granted = self._for_account(spec, granted, owner, queue, site)
            renamed = {name: granted.renamed[name] for name in ("account", "attributes") if name in granted.renamed}
            record = _granted_record(replace(spec, **renamed), owner, queue, granted)
            check_submission(accounts, enforced, standing_of(record), self.standings.others(), site.partition_qos)

    def _for_account(
        self, spec: JobSpec, granted: Granted, owner: Identity, queue: QueueConfig, site: SiteConfig
    ) -> Granted:
        """With the account and the quality of service for which the job counts, and the walltime that they allow at
        most where it asks for none. Raises RefusedError.
        """
        given = spec.attributes.get(QOS, "")
        accounts, enforced = self._sites.accounts.in_force, site.accounting_enforce
        found = self._settled(spec, owner, queue, site)
        check_reservation(spec, queue, site, owner, Owners(accounts, enforced).line(found.account))
        if granted.walltime_s is None and LIMITS in enforced:
            job = Standing(user=owner.user, account=found.account, qos=found.qos, queue=queue.name)
            granted = replace(granted, walltime_s=max_walltime_s(place_of(accounts, job, site.partition_qos))[0])
        renamed = dict(granted.renamed)
        if found.account != (spec.account or ""):
            renamed["account"] = found.account
        if found.qos != given:
            renamed["attributes"] = {**spec.attributes, QOS: found.qos}
        return replace(granted, renamed=renamed)

    def _settled(self, spec: JobSpec, owner: Identity, queue: QueueConfig, site: SiteConfig) -> Settled:
        return settle(
            self._sites.accounts.in_force,
            site.accounting_enforce,
            user=owner.user,
            account=spec.account or "",
            qos=spec.attributes.get(QOS, ""),
            queue=queue.name,
        )

    def _exists(self, queue: QueueConfig) -> bool:
        return self.volcano_state(queue.volcano_queue) is not None

    def _grant_in(
        self, queue: QueueConfig, translated: Translated, owner: Identity, site: SiteConfig, *, stays: bool
    ) -> Granted:
        spec, ignored = in_queue(translated.spec, queue, site), translated.ignored
        if not stays:
            self._shard.check(queue, spec)
        volcano_state = "Open" if stays else self.volcano_state(queue.volcano_queue)
        if any(chunk.tmp_bytes for chunk in spec.chunks) and not self.offers.have_disk(queue):
            spec, ignored = without_disk(spec), (*ignored, NO_DISK)
        granted = admit(
            spec,
            queue,
            site,
            owner,
            volcano_state=volcano_state,
            is_disabled=not stays and queue.name in self.switches(queue.volcano_queue).disabled,
            nodes=self.offers.sizes(queue, site, spec),
            stays=stays,
        )
        check_deadline(spec, granted.walltime_s, datetime.now(UTC))
        if queue.allow_qos is not None or queue.deny_qos:
            check_qos(self._settled(spec, owner, queue, site).qos or NORMAL, queue)
        return replace(granted, ignored=ignored, renamed=translated.renamed)

    def forget_refused(self, obj: Object) -> float | None:
        """Remove a refused record when its time is over; else return the seconds until then."""
        age = datetime.now(UTC) - parse_rfc3339(obj["metadata"]["creationTimestamp"])
        left_s = REFUSED_KEPT_S - age.total_seconds()
        if left_s > 0:
            return left_s
        remove(self._api, BATCHJOBS, obj["metadata"]["name"], obj["metadata"]["namespace"], uid=obj["metadata"]["uid"])
        return None

    def owner(self, namespace: str) -> Identity:
        """From the cache, or from the API if the cache has no user there: one may just have been added."""
        cached = self._namespaces.get(None, namespace)
        try:
            if cached is not None:
                return identity_of(cached)
        except HpcBatchError:
            pass
        return identity_of(self._api.get(NAMESPACES, namespace))

    def volcano_state(self, name: str) -> str | None:
        """`Open`, `Closed` …; None if there is no such Volcano Queue, which the API must confirm."""
        found = self._queues.get(None, name)
        if found is not None and state_of(found) == "Open":
            return "Open"
        try:
            return state_of(self._api.get(QUEUES, name))
        except NotFoundError:
            return None

    def switches(self, name: str) -> Switches:
        """What operators have switched off of the queues of a Volcano Queue."""
        found = self._queues.get(None, name)
        return Switches() if found is None else switches_of(found)

    def refuse(self, obj: Object, code: str, message: str) -> None:
        status = {"state": JobState.REFUSED.value, "refusal": {"code": str(code), "message": message}}
        self._api.replace(BATCHJOBS, obj | {"status": status}, obj["metadata"]["namespace"], subresource="status")

    def _own_submission(self, obj: Object) -> None:
        """Make the record the owner of the Secret with script and environment, so that both are removed together."""
        namespace, name = obj["metadata"]["namespace"], obj["spec"].get("submissionSecret", "")
        missing = RefusedError(RefusalCode.NO_SCRIPT, f"no Secret {name!r} of type {SECRET_TYPE} with the job's script")
        try:
            secret = self._api.get(SECRETS, name, namespace) if name else None
        except NotFoundError:
            raise missing from None
        if secret is None or secret.get("type") != SECRET_TYPE:
            raise missing
        owners = secret["metadata"].get("ownerReferences", [])
        if any(owner["uid"] != obj["metadata"]["uid"] for owner in owners):
            raise RefusedError(RefusalCode.NO_SCRIPT, f"Secret {name!r} belongs to another job")
        if not owners:
            version = secret["metadata"]["resourceVersion"]  # if two jobs name one Secret, only one gets it
            patch = {"metadata": {"resourceVersion": version, "ownerReferences": [owner_reference(obj)]}}
            self._api.patch(SECRETS, name, patch, namespace)


def _first_record(obj: Object, spec: JobSpec, owner: Identity, queue: QueueConfig, granted: Granted) -> JobRecord:
    """Without its number, and as if it had no state yet."""
    record = _granted_record(
        spec_from_json(altered_spec(obj["spec"], granted.renamed)) if granted.renamed else spec, owner, queue, granted
    )
    array = None if spec.array is None else ArrayStatus(pending=spec.array.indices, limit=spec.array.limit)
    submitted = parse_rfc3339(obj["metadata"]["creationTimestamp"])
    return replace(
        record,
        namespace=obj["metadata"]["namespace"],
        object_name=obj["metadata"]["name"],
        status=replace(record.status, array=array, submit_time=submitted),
    )


def _granted_record(spec: JobSpec, owner: Identity, queue: QueueConfig, granted: Granted) -> JobRecord:
    """Of no BatchJob yet."""
    status = JobStatus(
        owner=owner.user,
        uid=owner.uid,
        gid=owner.gid,
        home=owner.home,
        groups=owner.groups,
        walltime_s=granted.walltime_s,
        layout=granted.layout,
        licenses=granted.licenses,
        ignored=granted.ignored,
        altered=granted.renamed,
    )
    return JobRecord(job_id=0, namespace="", object_name="", spec=spec, status=status, queue=queue.name)


def _unnumbered(obj: Object, spec: JobSpec) -> JobRecord:
    namespace, name = obj["metadata"]["namespace"], obj["metadata"]["name"]
    return JobRecord(job_id=0, namespace=namespace, object_name=name, spec=spec, status=JobStatus(), queue="")


def _first_status(record: JobRecord, outlook: Outlook | None, now: datetime) -> JobStatus:
    """The status as `decide` would make it: no job is ever shown as queued that may not start yet."""
    spec, status = record.spec, record.status
    if outlook is not None:
        status = replace(status, dependency=outlook.progress)
        if outlook.verdict is Verdict.NEVER and outlook.kills:
            return dropped(status, outlook, now)
    if held_by := hold_reason(spec):
        return replace(status, state=JobState.HELD, reason=held_by)
    if outlook is not None and (behind := behind_others(outlook)):
        return replace(status, state=JobState.HELD, reason=behind, message=outlook.message)
    if spec.begin_time is not None and spec.begin_time > now:
        return replace(status, state=JobState.WAITING, reason=Reason.BEGIN_TIME)
    return replace(status, state=JobState.QUEUED, reason=Reason.NONE, eligible_time=now)


def taken_spec(body: Mapping[str, Any]) -> JobSpec:
    """The spec of a user's BatchJob. Raises HpcBatchError if it is invalid for any job."""
    spec = spec_from_json(body)
    door(spec.dialect).check_attributes(spec.attributes)
    return spec


def state_of(volcano_queue: Object) -> str:
    """A Volcano Queue that Volcano has not reconciled yet is open."""
    return str((volcano_queue.get("status") or {}).get("state") or "Open")
