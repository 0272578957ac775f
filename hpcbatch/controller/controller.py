"""The loop around `decide`: watches, reads the clock, carries out the decisions. All its state is in the API."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from hpcbatch.api.informer import Informer, WorkQueue, object_key
from hpcbatch.api.port import Api, Object, WatchEvent
from hpcbatch.api.resources import BATCHJOBS, NAMESPACES, PODS, QUEUES
from hpcbatch.controller.archive import Archive
from hpcbatch.controller.arrays import Arrays
from hpcbatch.controller.deliveries import Deliveries
from hpcbatch.controller.dependents import Dependents
from hpcbatch.controller.ended import Ended
from hpcbatch.controller.exchanges import Exchanges
from hpcbatch.controller.intake import REFUSED_KEPT_S, Intake, state_of
from hpcbatch.controller.job_pods import JobPods
from hpcbatch.controller.let_in import LetIn
from hpcbatch.controller.license_gate import LicenseGate
from hpcbatch.controller.live_usage import LiveUsage, ReadLog
from hpcbatch.controller.lone_pods import LonePods
from hpcbatch.controller.mail import Mailer
from hpcbatch.controller.node_cache import NodeCache
from hpcbatch.controller.node_marks import NodeMarks
from hpcbatch.controller.node_offers import NodeOffers
from hpcbatch.controller.node_rooms import NodeRooms
from hpcbatch.controller.observer import Observer
from hpcbatch.controller.open_requests import OpenRequests
from hpcbatch.controller.own_gangs import OwnGangs
from hpcbatch.controller.own_writes import LAG_S, OwnWrites
from hpcbatch.controller.past_usage import PastUsage
from hpcbatch.controller.plan_gate import PlanGate
from hpcbatch.controller.pod_cpus import PodCpus
from hpcbatch.controller.pod_requests import PodRequests
from hpcbatch.controller.records import Admitted, record_of, remove, write_status
from hpcbatch.controller.refused_pods import RefusedPods
from hpcbatch.controller.requests import Requests
from hpcbatch.controller.reservation_desk import ReservationDesk
from hpcbatch.controller.routes import Routes
from hpcbatch.controller.runs import Runs
from hpcbatch.controller.set_aside import SetAside, unmarked
from hpcbatch.controller.shard import Shard
from hpcbatch.controller.site_source import SiteSource
from hpcbatch.controller.start_bar import StartBar
from hpcbatch.controller.statuses import Statuses
from hpcbatch.controller.sweep import Sweeper
from hpcbatch.controller.volcano_jobs import VolcanoJobs
from hpcbatch.dataclass import replace
from hpcbatch.errors import ConflictError, NotFoundError
from hpcbatch.history.store import HistoryStore
from hpcbatch.model.labels import JOB_ID_LABEL
from hpcbatch.model.queue_switches import Switches, switches_of
from hpcbatch.model.record import JobRecord, JobStatus
from hpcbatch.model.site import QueueConfig, SiteConfig
from hpcbatch.model.state import WAITING, JobState, Reason
from hpcbatch.policy.array_gate import array_gate, in_route
from hpcbatch.policy.deadlines import with_grant_of, without_grant
from hpcbatch.policy.decide import decide
from hpcbatch.policy.observed import Decision, Observed
from hpcbatch.policy.preempted import sooner
from hpcbatch.policy.settled import is_settled
from hpcbatch.record.state import state_of as job_state_of
from hpcbatch.volcano import job_names

_LOG = logging.getLogger(__name__)
_WAITING_LOOK_S = 30.0  # how often the numbers in a waiting job's reason are refreshed
_REMOVED_S = 0.1  # how much later than what we remove of an ended job the record comes that says so
_COMMAND_AGAIN_S = 5.0  # Volcano may be killed between taking a Command and carrying it out
_HUNG_S = 300.0  # far more than all of a job's API requests take if each times out
_SITE_LOOK_S = 0.5
_NODES_S = 5.0  # how long jobs wait at the start for what nodes have by other objects, not to be taken for impossible
_WORKERS = 2
_OF_PLAN = frozenset({Reason.PRIORITY, Reason.LIMIT, Reason.RESERVED, Reason.MAINTENANCE, Reason.RESERVATION})
"""What the plan keeps back: it wakes those jobs by itself."""

Key = tuple[str, str]


def _user_of(key: Key) -> str:
    """Users take turns, so that none waits for the many jobs of another."""
    return key[0]


class Controller:
    """Admits BatchJobs, makes their Volcano Jobs, and writes their status. May be killed at any instant."""

    def __init__(
        self,
        api: Api,
        defaults: SiteConfig,
        history: HistoryStore | None = None,
        *,
        is_history_served: Callable[[], bool] = lambda: True,
        read_log: ReadLog | None = None,
        prepare_site: Callable[[SiteConfig], None] = lambda _: None,
        shard: str | None = None,
        makes_pods: bool = True,
        settle: Callable[[], None] = lambda: None,
    ) -> None:
        """`defaults` fill the gaps of the site's configuration; `prepare_site` is called before a new one takes effect.
        Without a `history` ended jobs stay BatchJobs for as long as the site keeps them; without `read_log` running
        jobs show no usage. `shard`: it has the jobs of that shard's queues only, see Shard.
        Without `makes_pods` another job controller makes the pods also where the site's scheduler is not Volcano.
        `settle` is called before a mail or a job for the history leaves: it returns when the API has all writes for
        good, and may raise ApiError.
        """
        self._api = api
        self._queue: WorkQueue[Key] = WorkQueue(supersedes=True, lane=_user_of)
        self._by_number: dict[str, Key] = {}
        self._own_writes = OwnWrites()
        self._batchjobs = Informer(api, BATCHJOBS, on_event=self._on_batchjob)
        self._volcano_jobs = VolcanoJobs(api, on_event=self._on_volcano_job)
        self._pods = Informer(api, PODS, on_event=self._on_pod)
        self._nodes = NodeCache(api, on_event=self._on_node)
        self._offers = NodeOffers()
        self._job_pods = JobPods(api, self._pods, self._nodes)
        self._start_bar = StartBar(api)
        self._own_gangs = OwnGangs(api) if makes_pods and not shard else None  # the main shard makes all pods
        self._refused_pods = RefusedPods(api, self._look_at_number)
        self._volcano_queues = Informer(api, QUEUES, on_event=self._on_volcano_queue)
        self._namespaces = Informer(api, NAMESPACES, on_event=lambda _: None)
        self._queue_states: dict[str, tuple[str, Switches]] = {}
        self._sites = SiteSource(
            api,
            defaults,
            prepare=prepare_site,
            on_change=self._on_site,
            on_reservation=lambda event: self._desk.on_event(event) if self._shard.is_main else None,
            on_reserved=lambda names: self._desk.on_reserved(names),  # noqa: PLW0108
        )
        self._shard = Shard(shard, self._batchjobs, self._sites)
        self._queues_seen: tuple[QueueConfig, ...] = ()
        self._node_marks = NodeMarks(self._sites, self._pods, look=self._look_at)
        self._dependents = Dependents(
            api,
            self._batchjobs,
            key_of=self._key_of,
            ended=self._from_history,
            wake=self._queue.add,
            is_ours=self._shard.has,
        )
        rooms = NodeRooms(self._nodes, self._pods)
        self._intake = Intake(
            api,
            self._sites,
            offers=self._offers,
            rooms=rooms.now,
            queues=self._volcano_queues,
            namespaces=self._namespaces,
            batchjobs=self._batchjobs,
            dependents=self._dependents,
            shard=self._shard,
            highest_ended=(lambda: 0) if history is None else history.highest_number,
        )
        self._arrays = Arrays(
            api,
            self._batchjobs,
            take_numbers=self._intake.numbers.take_many,
            wake=self._queue.add_after,
            wrote=self._own_writes.add,
        )
        self._set_aside = SetAside(
            api, self._batchjobs, self._queue, refuse=self._intake.refuse, wrote=self._own_writes.add
        )
        self._archive = (
            None
            if history is None
            else Archive(api, history, self._batchjobs, self._sites, is_history_served, settle=settle)
        )
        self.mailer = Mailer(api, lambda: self._site.mail if self.has_site else None, settle=settle)
        self._usage = LiveUsage(read_log, self._job_pods.running, self._queue.add) if read_log else None
        self._pod_cpus = PodCpus(api)
        self._plan = PlanGate(
            self._batchjobs,
            self._volcano_jobs.informer,
            self._sites,
            nodes=self._nodes,
            rooms=rooms,
            usage=PastUsage(self._batchjobs, history),
            wake=self._queue.add_after,
            is_ours=self._shard.has,
            suspends=lambda: not self._pod_cpus.why_none,
            lone_pods=LonePods(self._volcano_queues, self._nodes) if makes_pods else None,
        )
        self._intake.foresee = self._plan.foresee
        self._desk = ReservationDesk(
            api,
            self._sites,
            self._intake,
            self._plan,
            batchjobs=self._batchjobs,
            nodes=self._nodes,
            mailer=self.mailer,
            wake=self._queue.add,
        )
        self._pod_requests = PodRequests(api, self._job_pods, self._sites)
        self._routes = Routes(api, self._intake, self._sites, self._own_writes.add)
        exchanges = Exchanges(self._batchjobs, self._plan.exact_rank, wake=self._queue.add)
        self._requests = Requests(self._intake, self._sites, exchanges)
        self._observer = Observer(
            api,
            self._sites,
            volcano_jobs=self._volcano_jobs,
            job_pods=self._job_pods,
            rooms=rooms,
            refusals=self._refused_pods.refusals,
            dependents=self._dependents,
            start_bar=self._start_bar,
            usage=self._usage,
            switches=self._intake.switches,
            withdrawn=self._plan.withdrawn,
            preempted=self._plan.preempted,
            pod_cpus=self._pod_cpus,
            may_go_on=self._plan.may_go_on,
        )
        self._statuses = Statuses(api, self._own_writes, wake=self._queue.add, mail=self.mailer.look)
        self._licenses = LicenseGate(self._volcano_jobs, wake=self._queue.add)
        self._let_in = LetIn(api, self._sites) if makes_pods else None
        self._runs = Runs(
            api,
            self._sites,
            intake=self._intake,
            arrays=self._arrays,
            volcano_jobs=self._volcano_jobs,
            start_bar=self._start_bar,
            licenses=self._licenses,
            plan=self._plan,
            let_in=self._let_in,
            wrote=self._own_writes.add,
        )
        self._open_requests = OpenRequests(api, self._requests, self._observer, self._runs, self._own_writes)
        self._ended = Ended(
            api,
            self._sites,
            archive=self._archive,
            mailer=self.mailer,
            deliveries=Deliveries(api, self._volcano_jobs.informer),
            job_pods=self._job_pods,
            volcano_jobs=self._volcano_jobs,
            start_bar=self._start_bar,
            runs=self._runs,
            arrays=self._arrays,
            requests=self._requests,
            wrote=self._own_writes.add,
        )
        self._informers = (
            self._nodes,
            self._namespaces,
            self._volcano_queues,
            self._refused_pods.informer,
            self._volcano_jobs.informer,
            self._pods,
            self._batchjobs,
        )
        self._threads = [
            threading.Thread(target=self._work, name=f"batchjobs-{n}", daemon=True) for n in range(_WORKERS)
        ]
        self._stopping = threading.Event()
        sweeper = Sweeper(api, self._sites, self._batchjobs, self._namespaces, self._stopping)
        self._threads += [self._plan.thread]
        if self._shard.is_main:
            self._threads += [sweeper.thread, self._desk.thread]
        if self._archive is not None:
            self._threads.append(self._archive.thread)
        if self._usage is not None:
            self._threads.append(self._usage.thread)
        if self._let_in is not None:
            self._threads.append(self._let_in.thread)

    def start(self) -> None:
        self._sites.start()
        for informer in self._informers:
            informer.start()
        for informer in self._informers:
            informer.synced.wait()
        self.mailer.start()
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stopping.set()
        for part in (self._archive, self._usage, self._let_in, self._queue, self._plan, self._desk, self._own_gangs):
            if part is not None:
                part.stop()
        for informer in self._informers:
            informer.stop()
        self._sites.stop()
        self.mailer.stop()
        for thread in self._threads:
            thread.join(timeout=10)

    # For probes and metrics

    @property
    def has_site(self) -> bool:
        """Whether a site configuration is in force; no job is admitted or started before."""
        return self._sites.is_in_force.is_set()

    @property
    def is_synced(self) -> bool:
        return all(informer.synced.is_set() for informer in self._informers)

    @property
    def problem(self) -> str:
        """Why it cannot work until it is restarted; "" if it can."""
        longest_s = self._queue.longest_s()
        return f"a job has been worked on for {longest_s:.0f} s" if longest_s > _HUNG_S else self.failure

    @property
    def failure(self) -> str:
        """Names the threads that have ended unexpectedly; "" if all live. They do not come back."""
        if self._stopping.is_set():
            return ""
        # those that `start` has not started yet have no ident
        dead = [thread.name for thread in self._threads if thread.ident is not None and not thread.is_alive()]
        dead += [informer.name for informer in self._informers if informer.has_died]
        dead += [*self._nodes.dead, *self.mailer.dead, *([] if self._own_gangs is None else self._own_gangs.dead)]
        return f"threads have ended: {', '.join(dead)}" if dead else ""

    @property
    def archive(self) -> Archive | None:
        return self._archive

    @property
    def work(self) -> WorkQueue[Key]:
        return self._queue

    def count_by_state(self) -> Mapping[str, int]:
        """BatchJobs by `status.state`; unadmitted ones count as Submitted."""
        return Counter(obj.get("status", {}).get("state", "Submitted") for obj in self._batchjobs.items())

    @property
    def _site(self) -> SiteConfig:
        return self._sites.in_force.config

    # Events, and the jobs that they concern

    def _on_batchjob(self, event: WatchEvent) -> None:
        try:
            self._note(event)
        finally:  # a client waits for a reply even if the record is broken
            is_ours = event.type != "DELETED" and self._shard.has(event.object)
            if is_ours and not self._own_writes.is_settled(event.object):
                self._queue.add(object_key(event.object))

    def _note(self, event: WatchEvent) -> None:
        key = object_key(event.object)
        number = event.object.get("status", {}).get("jobId")
        self._arrays.on_event(event)
        self._licenses.on_event(event)
        self._intake.standings.on_event(event)
        self._plan.on_batchjob(event)
        if self._usage is not None and (event.type == "DELETED" or self._shard.has(event.object)):
            self._usage.on_batchjob(event)
        if event.type == "DELETED":
            self._by_number.pop(number, None)
            self._job_pods.forget(key)
            self._own_writes.forget(key)
            self._volcano_jobs.forget(key)
            self._dependents.on_event(event)
            return
        if number is not None:
            self._by_number[number] = key
        self._dependents.on_event(event)

    def _key_of(self, number: int) -> Key | None:
        return self._by_number.get(str(number))

    def _from_history(self, number: int) -> Object | None:
        return None if self._archive is None else self._archive.ended(number)

    def _on_part(self, event: WatchEvent, after_s: float = 0.0) -> None:
        if event.type == "DELETED":
            self._licenses.wake_waiting()
            key = self._by_number.get((event.object["metadata"].get("labels") or {}).get(JOB_ID_LABEL, ""))
            job = (None if key is None else self._batchjobs.get(*key)) or {}
            if job.get("status", {}).get("cleaned"):
                return
            after_s = _REMOVED_S if job and job_state_of(job).is_final else after_s
        self._look_at(event.object, after_s)

    def _look_at(self, part: Object, after_s: float = 0.0) -> None:
        """At the job of a Volcano Job or a pod."""
        number = (part["metadata"].get("labels") or {}).get(JOB_ID_LABEL, "")
        self._look_at_number(number, part["metadata"]["namespace"], after_s)

    def _look_at_number(self, number: str, namespace: str, after_s: float = 0.0) -> None:
        if (key := self._by_number.get(number)) is not None and key[0] == namespace:
            self._queue.add_after(key, after_s)

    def _on_volcano_job(self, event: WatchEvent) -> None:
        if self._own_gangs is not None:
            self._own_gangs.on_volcano_job(event.object)
        if self._volcano_jobs.is_news(event):
            self._plan.on_volcano_job(event)
            # we have made most of them, and then their pods' nodes come next
            is_new = event.type == "ADDED" and not event.object.get("status")
            self._on_part(event, LAG_S if is_new else 0.0)

    def _on_node(self, event: WatchEvent) -> None:
        self._offers.on_event(event)
        self._plan.on_node(event)
        if self._shard.is_main:
            self._desk.on_node(event)
        self._node_marks.on_event(event)

    def _on_pod(self, event: WatchEvent) -> None:
        self._plan.on_pod(event)
        number = (event.object["metadata"].get("labels") or {}).get(JOB_ID_LABEL, "")
        if (key := self._by_number.get(number)) is not None:
            self._job_pods.on_event(key, int(number), event)
        if self._job_pods.is_news(event):
            # most pods that are made get their nodes at once, and then there is another event
            is_unbound = event.type == "ADDED" and not event.object["spec"].get("nodeName")
            self._on_part(event, LAG_S if is_unbound else 0.0)

    def _on_volcano_queue(self, event: WatchEvent) -> None:
        self._plan.on_queue(event)
        name, state = event.object["metadata"]["name"], (state_of(event.object), switches_of(event.object))
        if self._queue_states.get(name) != state:
            self._queue_states[name] = state
            self._look_at_waiting()

    def _on_site(self) -> None:
        self._plan.on_site()
        if not self.has_site:  # the accounts are in force before it
            return
        self._nodes.on_site(self._site)
        if self._own_gangs is not None:
            self._own_gangs.on_site(self._site)
        queues = self._site.queues
        if self._shard.name is not None and queues != self._queues_seen:
            self._queues_seen = queues
            for obj in self._batchjobs.items():  # others may be ours now
                self._queue.add(object_key(obj))
        self._look_at_waiting()

    def _look_at_waiting(self) -> None:
        """Queue the jobs that wait: they may wait for their queue, or it no longer starts them."""
        for obj in self._batchjobs.items():
            if obj.get("status", {}).get("state") == JobState.QUEUED:
                self._queue.add(object_key(obj))

    # Workers

    def _work(self) -> None:
        while not self._sites.is_in_force.wait(timeout=_SITE_LOOK_S):
            if self._stopping.is_set():
                return
        self._nodes.wait_for_more(_NODES_S)
        while not self._stopping.is_set():
            key = self._queue.get()
            if key is None:
                return
            try:
                look_again_s = self._reconcile(key)
            except (ConflictError, NotFoundError):
                self._queue.retry(key)
            except Exception as error:
                self._set_aside.failed(key, error)
            else:
                self._queue.forget(key)
                self._set_aside.handled(key)
                if look_again_s is not None:
                    self._queue.add_after(key, look_again_s)
            finally:
                self._queue.done(key)

    def _reconcile(self, key: Key) -> float | None:
        obj = self._batchjobs.get(*key)
        if obj is None or "deletionTimestamp" in obj["metadata"] or not self._shard.has(obj):
            return None
        if self._own_writes.is_outdated(obj):
            obj = self._batchjobs.get(*key)  # its event may have come meanwhile, which led to no look
            if obj is None or self._own_writes.is_outdated(obj):
                return LAG_S
        if "refusal" in obj.get("status", {}):
            return self._intake.forget_refused(obj)
        if "jobId" not in obj.get("status", {}):
            if "memberOf" in obj["spec"]:
                self._arrays.check(obj)
                return REFUSED_KEPT_S
            if self._intake.is_busy(obj, len(self._queue), self._queue.waited_s(key)):
                return REFUSED_KEPT_S
            obj = self._intake.admit(obj)
            if obj is None:
                return REFUSED_KEPT_S
            self._own_writes.add(obj)
            # now, not with its event: those of its Volcano Job and pods may come before
            self._by_number[obj["status"]["jobId"]] = key
        admitted = Admitted(obj, unmarked(record_of(obj)))
        self.mailer.look(obj, admitted.record)
        if admitted.record.status.state.is_final:
            return self._ended.reconcile(admitted)
        if self._open_requests.handle(admitted) or self._routes.move(admitted):
            return None
        if admitted.record.spec.array is not None:
            return self._reconcile_array(admitted)
        seen = self._observer.observe(admitted)
        if (late_s := self._job_pods.late_s(key)) is not None:
            return late_s
        if admitted.record.status.altered and seen.volcano_job is not None and not any(pod.node for pod in seen.pods):
            seen = replace(seen, is_outdated=not self._runs.refresh(admitted))
        return self._carry_out(admitted, seen, decide(seen))

    def _reconcile_array(self, job: Admitted) -> float | None:
        gate = in_route(array_gate(job.record, self._dependents, datetime.now(UTC)), self._routes.queue_of(job))
        gate = replace(gate, status=self._ranked(job.record, gate.status))
        if gate.status != job.record.status:
            written = write_status(self._api, job.obj, replace(job.record, status=gate.status))
            self._own_writes.add(written)
            if gate.status.state.is_final:
                return None
            job = Admitted(written, record_of(written))
        look_again_s = self._arrays.reconcile(job.obj, job.record, gate.obstacle, gate.ready)
        return min((s for s in (look_again_s, gate.look_again_s) if s is not None), default=None)

    def _ranked(self, record: JobRecord, status: JobStatus) -> JobStatus:
        """With the priority that a waiting job has now."""
        return replace(status, rank=self._plan.rank_of(record)) if status.state in WAITING else status

    # Running

    def _carry_out(self, job: Admitted, seen: Observed, decision: Decision) -> float | None:
        record, namespace = job.record, job.record.namespace
        name = job_names.job_name(record.job_id)
        volcano_job = name if seen.volcano_job is not None and not seen.volcano_job.is_deleting else job.volcano_job
        if decision.terminate and (left_s := self._pod_requests.announce_end(job, seen)):
            decision = replace(decision, terminate=False, look_again_s=left_s)
        if decision.terminate:
            self._volcano_jobs.terminate(namespace, name)
            again_s = decision.look_again_s or _COMMAND_AGAIN_S
            decision = replace(decision, look_again_s=min(again_s, _COMMAND_AGAIN_S))
        if decision.let_start:
            first = next(pod for pod in seen.pods if pod.index == 0)
            # one that was altered meanwhile, to run only once, has the word but no bar yet
            has_word = record.spec.rerunnable and first.has_word
            decision = replace(decision, let_start=has_word or self._start_bar.let_start(record, first.uid))
        for pod in decision.give_up:
            _LOG.warning("pod %s/%s is given up: node %s does not answer", namespace, pod.name, pod.node)
            remove(self._api, PODS, pod.name, namespace, uid=pod.uid, grace_period_s=0)
        if decision.create:
            job, obstacle = self._runs.create(job)
            record = job.record
            if obstacle is None:
                volcano_job = name
                decision = replace(decision, status=with_grant_of(record.status, decision.status))
            else:
                status = replace(without_grant(decision.status), reason=obstacle.reason, message=obstacle.message)
                # who goes first is a matter of the plan, which wakes those that it concerns
                looks_s = [] if obstacle.reason in _OF_PLAN else [_WAITING_LOOK_S]
                looks_s += [] if decision.look_again_s is None else [decision.look_again_s]
                decision = replace(decision, status=status, look_again_s=min(looks_s, default=None))
        elif seen.volcano_job is None:
            self._licenses.give_back(record.job_id)
            self._plan.give_back(record)
        record_now = replace(record, status=decision.status)
        status = self._pod_requests.pass_on(job, seen, record_now, let_start=decision.let_start)
        is_alone = status == decision.status
        decision = replace(decision, status=self._ranked(record, self._plan.shown(record, status)))
        is_waiting = decision.delete and seen.volcano_job is not None and not seen.volcano_job.is_final
        if is_waiting and not self._start_bar.withdraw(record, in_part=seen.is_partial and seen.awaits_word):
            return LAG_S
        if decision.delete:
            volcano_job = ""  # written first: after a kill the next look decides the same again
        if decision.status != record.status or volcano_job != job.volcano_job:
            now, is_last = replace(record, status=decision.status), is_alone and is_settled(decision)
            if (not_yet_s := self._statuses.write(job, now, volcano_job, is_settled=is_last)) is not None:
                return not_yet_s
        if record.status.state is JobState.SUSPENDED:
            cpus_s = self._pod_cpus.carry_out(job, decision.status, self._job_pods.running(job.obj), seen.now)
            decision = replace(decision, look_again_s=sooner(decision.look_again_s, cpus_s))
        if decision.delete and seen.volcano_job is not None:
            self._volcano_jobs.remove(record, seen.volcano_job.uid)
            self._job_pods.forget_ended(job.key)
            if any(pod.is_refused for pod in seen.pods) and not decision.status.state.is_final:
                self._plan.was_refused(record, seen.volcano_job.uid)
        if decision.look_again_s is None and decision.status.reason in {Reason.RESOURCES, Reason.NEVER_FITS}:
            return _WAITING_LOOK_S
        return decision.look_again_s
