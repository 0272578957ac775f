"""The loop around `decide`: watches, reads the clock, carries out the decisions. All its state is in the API."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from hpcbatch.api.informer import Informer, WorkQueue, object_key
from hpcbatch.api.port import Api, Object, WatchEvent
from hpcbatch.api.resources import BATCHJOBS, NAMESPACES, PODS, QUEUES
from hpcbatch.controller.archive import Archive
from hpcbatch.controller.arrays import Arrays
from hpcbatch.controller.decisions import Decisions
from hpcbatch.controller.deliveries import Deliveries
from hpcbatch.controller.dependents import Dependents
from hpcbatch.controller.ended import Ended
from hpcbatch.controller.exchanges import Exchanges
from hpcbatch.controller.intake import REFUSED_KEPT_S, Intake, lane_of, state_of
from hpcbatch.controller.job_pods import JobPods, next_event_s
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
from hpcbatch.controller.records import Admitted, record_of, write_status
from hpcbatch.controller.refused_pods import RefusedPods
from hpcbatch.controller.requests import Requests
from hpcbatch.controller.reservation_desk import ReservationDesk
from hpcbatch.controller.routes import Routes
from hpcbatch.controller.row_texts import RowTexts
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
from hpcbatch.model.site import QueueConfig, SiteConfig
from hpcbatch.model.state import JobState
from hpcbatch.policy.array_gate import array_gate, in_route
from hpcbatch.policy.decide import decide
from hpcbatch.record.state import state_of as job_state_of

_HUNG_S = 300.0  # far more than all of a job's API requests take if each times out
_SITE_LOOK_S = 0.5
_NODES_S = 5.0  # how long jobs wait at the start for what nodes have by other objects, not to be taken for impossible
_WORKERS = 2

Key = tuple[str, str]


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
        workers: int = _WORKERS,
        settle: Callable[[], None] = lambda: None,
    ) -> None:
        """`defaults` fill the gaps of the site's configuration; `prepare_site` is called before a new one takes effect.
        Without a `history` ended jobs stay BatchJobs for as long as the site keeps them; without `read_log` running
        jobs show no usage. `shard`: it has the jobs of that shard's queues only, see Shard.
        Without `makes_pods` another job controller makes the pods also where the site's scheduler is not Volcano.
        `workers`: so many jobs are looked at together; most of that time is the API's answers.
        `settle` is called before a mail or a job for the history leaves: it returns when the API has all writes for
        good, and may raise ApiError.
        """
        self._api = api
        self.work: WorkQueue[Key] = WorkQueue(
            supersedes=True, lane=lambda key: lane_of(key, self._batchjobs.get(*key), self._plan.is_starting)
        )
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
            ended_member=self._member_from_history,
            wake=self.work.add,
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
            wake=self.work.add_after,
            own_writes=self._own_writes,
            mail=lambda obj, record: self.mailer.look(obj, record),  # noqa: PLW0108
            plan_decides=lambda: self._plan.decides,
        )
        self._set_aside = SetAside(
            api, self._batchjobs, self.work, refuse=self._intake.refuse, wrote=self._own_writes.add
        )
        self.archive = (
            None
            if history is None
            else Archive(api, history, self._batchjobs, self._sites, is_history_served, settle=settle)
        )
        self.mailer = Mailer(api, lambda: self._site.mail if self.has_site else None, settle=settle)
        self._usage = LiveUsage(read_log, self._job_pods.running, self.work.add) if read_log else None
        self._pod_cpus = PodCpus(api)
        self._plan = PlanGate(
            self._batchjobs,
            self._volcano_jobs.informer,
            self._sites,
            nodes=self._nodes,
            rooms=rooms,
            usage=PastUsage(self._batchjobs, history),
            wake=self.work.add_after,
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
            wake=self.work.add,
        )
        self._row_texts = RowTexts(api, self._own_writes.add)
        self._routes = Routes(api, self._intake, self._sites, self._own_writes.add)
        exchanges = Exchanges(self._batchjobs, self._plan.exact_rank, wake=self.work.add)
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
        self._licenses = LicenseGate(self._volcano_jobs, wake=self.work.add)
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
        self._decisions = Decisions(
            api,
            runs=self._runs,
            plan=self._plan,
            licenses=self._licenses,
            volcano_jobs=self._volcano_jobs,
            job_pods=self._job_pods,
            pod_requests=PodRequests(api, self._job_pods, self._sites),
            pod_cpus=self._pod_cpus,
            start_bar=self._start_bar,
            statuses=Statuses(api, self._own_writes, wake=self.work.add, mail=self.mailer.look),
        )
        self._open_requests = OpenRequests(api, self._requests, self._observer, self._runs, self._own_writes)
        self._ended = Ended(
            api,
            self._sites,
            archive=self.archive,
            mailer=self.mailer,
            deliveries=Deliveries(api, self._volcano_jobs.informer),
            job_pods=self._job_pods,
            volcano_jobs=self._volcano_jobs,
            start_bar=self._start_bar,
            runs=self._runs,
            arrays=self._arrays,
            requests=self._requests,
            own_writes=self._own_writes,
            wake=self.work.add,
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
            threading.Thread(target=self._work, name=f"batchjobs-{n}", daemon=True) for n in range(workers)
        ]
        self._stopping = threading.Event()
        sweeper = Sweeper(api, self._sites, self._batchjobs, self._namespaces, self._stopping)
        parts = (self._plan, *((sweeper, self._desk) if self._shard.is_main else ()))
        self._threads += [part.thread for part in (*parts, self.archive, self._usage, self._let_in) if part is not None]

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
        for part in (self.archive, self._usage, self._let_in, self.work, self._plan, self._desk, self._own_gangs):
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
        longest_s = self.work.longest_s()
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
                # its array numbers a new member at once, and then there is another event
                is_unnumbered = "memberOf" in event.object["spec"] and "jobId" not in event.object.get("status", {})
                self.work.add_after(object_key(event.object), LAG_S if is_unnumbered else 0.0)

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
        return None if self.archive is None else self.archive.ended(number)

    def _member_from_history(self, array: int, name: str) -> Object | None:
        return None if self.archive is None else self.archive.ended_member(array, name)

    def _on_part(self, event: WatchEvent, after_s: float = 0.0) -> None:
        if event.type == "DELETED":
            self._licenses.wake_waiting()
            key = self._by_number.get((event.object["metadata"].get("labels") or {}).get(JOB_ID_LABEL, ""))
            job = (None if key is None else self._batchjobs.get(*key)) or {}
            if job and job_state_of(job).is_final:
                return  # we remove it: the look that does so looks again where it is not done
        self._look_at(event.object, after_s)

    def _look_at(self, part: Object, after_s: float = 0.0) -> None:
        """At the job of a Volcano Job or a pod."""
        number = (part["metadata"].get("labels") or {}).get(JOB_ID_LABEL, "")
        self._look_at_number(number, part["metadata"]["namespace"], after_s)

    def _look_at_number(self, number: str, namespace: str, after_s: float = 0.0) -> None:
        if (key := self._by_number.get(number)) is not None and key[0] == namespace:
            self.work.add_after(key, after_s)

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
            self._on_part(event, next_event_s(event))

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
                self.work.add(object_key(obj))
        self._look_at_waiting()

    def _look_at_waiting(self) -> None:
        """Queue the jobs that wait: they may wait for their queue, or it no longer starts them."""
        for obj in self._batchjobs.items():
            if obj.get("status", {}).get("state") == JobState.QUEUED:
                self.work.add(object_key(obj))

    # Workers

    def _work(self) -> None:
        while not self._sites.is_in_force.wait(timeout=_SITE_LOOK_S):
            if self._stopping.is_set():
                return
        self._nodes.wait_for_more(_NODES_S)
        while not self._stopping.is_set():
            key = self.work.get()
            if key is None:
                return
            try:
                look_again_s = self._reconcile(key)
            except (ConflictError, NotFoundError):
                self.work.retry(key)
            except Exception as error:
                self._set_aside.failed(key, error)
            else:
                self.work.forget(key)
                self._set_aside.handled(key)
                if look_again_s is not None:
                    self.work.add_after(key, look_again_s)
            finally:
                self.work.done(key)

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
            if self._intake.is_busy(obj, len(self.work), self.work.waited_s(key)):
                return REFUSED_KEPT_S
            obj = self._intake.admit(obj)
            if obj is None:
                return REFUSED_KEPT_S
            self._own_writes.add(obj)
            # now, not with its event: those of its Volcano Job and pods may come before
            self._by_number[obj["status"]["jobId"]] = key
        admitted = Admitted(obj, unmarked(record_of(obj)))
        if self._row_texts.renew(admitted):
            return None
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
        return self._decisions.carry_out(admitted, seen, decide(seen))

    def _reconcile_array(self, job: Admitted) -> float | None:
        gate = in_route(array_gate(job.record, self._dependents, datetime.now(UTC)), self._routes.queue_of(job))
        gate = replace(gate, status=self._plan.ranked(job.record, gate.status))
        if gate.status != job.record.status:
            written = write_status(self._api, job.obj, replace(job.record, status=gate.status))
            self._own_writes.add(written)
            if gate.status.state.is_final:
                return None
            job = Admitted(written, record_of(written))
        look_again_s = self._arrays.reconcile(job.obj, job.record, gate.obstacle, gate.ready)
        return min((s for s in (look_again_s, gate.look_again_s) if s is not None), default=None)
