"""The loop around `decide`: watches, reads the clock, carries out what was decided. All its state is in the API."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from hpcbatch.api.informer import Informer, WorkQueue, object_key
from hpcbatch.api.port import Api, Object, WatchEvent
from hpcbatch.api.resources import (
    BATCHJOBS,
    COMMANDS,
    CONFIGMAPS,
    EVENTS,
    NAMESPACES,
    NODES,
    PODS,
    PRIORITY_CLASSES,
    QUEUES,
    SECRETS,
    VOLCANO_JOBS,
    Resource,
)
from hpcbatch.controller.archive import Archive
from hpcbatch.controller.arrays import Arrays
from hpcbatch.controller.deliveries import Deliveries, owes_output
from hpcbatch.controller.dependents import Dependents
from hpcbatch.controller.intake import REFUSED_KEPT_S, Intake, state_of
from hpcbatch.controller.live_usage import LiveUsage, ReadLog
from hpcbatch.controller.mail import Mailer
from hpcbatch.controller.pod_requests import pass_on, tell_of_requeue
from hpcbatch.controller.records import digest_of, owner_reference, remove, write_status
from hpcbatch.controller.requests import Requests
from hpcbatch.controller.set_aside import SetAside, unmarked
from hpcbatch.controller.site_source import SiteSource
from hpcbatch.controller.start_bar import StartBar
from hpcbatch.controller.sweep import sweep_history, sweep_submissions
from hpcbatch.errors import (
    AlreadyExistsError,
    ApiError,
    ConflictError,
    HpcBatchError,
    NotFoundError,
)
from hpcbatch.history.store import HistoryStore
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.labels import JOB_ID_LABEL, MADE_FROM_ANNOTATION
from hpcbatch.model.record import HostUsage, JobRecord, JobStatus
from hpcbatch.model.site import Launcher, QueueConfig, SiteConfig
from hpcbatch.model.spec import Arrangement
from hpcbatch.model.state import JobState, Reason
from hpcbatch.policy.admission import closed_because
from hpcbatch.policy.array_gate import array_gate
from hpcbatch.policy.decide import decide
from hpcbatch.policy.observed import Decision, Observed, PodView, Waiting
from hpcbatch.policy.place import objects, place
from hpcbatch.policy.plausible import NodeSize, node_size, plausible_usage
from hpcbatch.policy.pod_creation import FAILED_CREATE, Refusals
from hpcbatch.policy.views import (
    FirstTaken,
    is_preempted,
    is_ready,
    node_rooms,
    pod_views,
    problem_from_events,
    volcano_job_view,
)
from hpcbatch.policy.waiting import NodeRoom, explain
from hpcbatch.record.batchjob import is_suspended, record_from
from hpcbatch.site.file import Site
from hpcbatch.site.identity import Identity
from hpcbatch.units import parse_rfc3339
from hpcbatch.volcano import translate
from hpcbatch.volcano.delivery import delivery
from hpcbatch.volcano.job_objects import controlling_job

_LOG = logging.getLogger(__name__)
_SWEEP_S = 300.0
_SWEEP_MORE_S = 10.0
_WAITING_LOOK_S = 30.0  # the numbers in a waiting job's reason follow the cluster that often
_ROOMS_KEPT_S = 1.0
_DENIED = frozenset({400, 403, 422})  # a webhook, a quota or a policy says no
_LAG_S = 1.0  # the event comes long before
_LAG_LIMIT_S = 30.0  # then it never will: the API server's store was restored from a backup
_HUNG_S = 300.0  # far beyond what a job's requests take together when each of them times out
_SILENT = timedelta(seconds=10)  # common starts take less
_SILENT_ASKED = 3
_SITE_LOOK_S = 0.5
_WORKERS = 2

Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class _Admitted:
    """An object with its record: the record in the API, and what the controller reads out of it."""

    obj: Object
    record: JobRecord

    @property
    def volcano_job(self) -> str:
        return str(self.obj["status"].get("volcanoJob", ""))


class Controller:
    """Admits BatchJobs, makes their Volcano Jobs, and writes back what became of them. May be killed at any instant."""

    def __init__(
        self, api: Api, defaults: SiteConfig, history: HistoryStore | None = None, *,
        is_history_served: Callable[[], bool] = lambda: True, read_log: ReadLog | None = None,
        prepare_site: Callable[[SiteConfig], None] = lambda _: None,
    ) -> None:  # fmt: skip
        """`defaults` hold for what the site's configuration does not say; `prepare_site` makes what another one needs.
        Without a `history` ended jobs stay BatchJobs for as long as the site keeps them; without `read_log` running
        ones show no usage.
        """
        self._api = api
        self._queue: WorkQueue[Key] = WorkQueue()
        self._by_number: dict[str, Key] = {}
        self._ended_pods: dict[Key, dict[str, Object]] = {}  # of jobs whose pods go away while they end
        self._preempted: dict[Key, set[str]] = {}  # of the pods of a job, uids: a kubelet may take that word back
        self._first_taken: dict[Key, FirstTaken] = {}
        self._runner_in: set[str] = set()
        self._priorities: set[int] = set()
        self._rooms: tuple[float, list[NodeRoom]] = (-_ROOMS_KEPT_S, [])
        labelled = {"labels": JOB_ID_LABEL}
        self._batchjobs = Informer(api, BATCHJOBS, on_event=self._on_batchjob)
        self._volcano_jobs = Informer(api, VOLCANO_JOBS, on_event=self._on_part, **labelled)
        self._pods = Informer(api, PODS, on_event=self._on_pod)
        self._nodes = Informer(api, NODES, on_event=lambda _: None)
        self._refusals = Refusals()
        self._start_bar = StartBar(api)
        self._failed_creates = Informer(api, EVENTS, on_event=self._on_refused_pods, fields=FAILED_CREATE)
        self._volcano_queues = Informer(api, QUEUES, on_event=self._on_volcano_queue)
        self._namespaces = Informer(api, NAMESPACES, on_event=lambda _: None)
        self._queue_states: dict[str, str] = {}
        self._sites = SiteSource(api, defaults, prepare=prepare_site, on_change=self._look_at_unplaced)
        self._dependents = Dependents(
            api, self._batchjobs, key_of=self._key_of, ended=self._from_history, wake=self._queue.add
        )
        self._intake = Intake(
            api, self._sites, nodes=self._nodes, queues=self._volcano_queues, namespaces=self._namespaces,
            dependents=self._dependents, highest_ended=(lambda: 0) if history is None else history.highest_number,
        )  # fmt: skip
        self._arrays = Arrays(
            api, self._batchjobs, take_number=self._intake.numbers.take, wake=self._queue.add_after, wrote=self._wrote
        )
        self._set_aside = SetAside(api, self._batchjobs, self._queue, refuse=self._intake.refuse, wrote=self._wrote)
        self._archive = None if history is None else Archive(
            api, history, self._batchjobs, self._sites, is_history_served
        )  # fmt: skip
        self.mailer = Mailer(api, lambda: self._site.mail if self.has_site else None)
        self._usage = LiveUsage(read_log, self._batchjobs.items, self._pods_of, self._queue.add) if read_log else None
        self._deliveries = Deliveries(api, self._volcano_jobs)
        self._requests = Requests(self._intake, self._sites)
        self._confs: dict[int, str] = {}  # what the ConfigMap of an altered job was last made from
        self._made: dict[Key, tuple[Object, float]] = {}  # Volcano Jobs that the cache may not show yet
        self._removed: dict[Key, str] = {}  # uids of the Volcano Jobs that we removed, which the cache may still show
        self._written: dict[Key, tuple[int, float]] = {}  # the version of our last write, and when that was
        self._informers = (
            self._nodes,
            self._namespaces,
            self._volcano_queues,
            self._failed_creates,
            self._volcano_jobs,
            self._pods,
            self._batchjobs,
        )
        self._threads = [
            threading.Thread(target=self._work, name=f"batchjobs-{n}", daemon=True) for n in range(_WORKERS)
        ]
        self._threads.append(threading.Thread(target=self._sweep, name="batchjobs-sweep", daemon=True))
        if self._archive is not None:
            self._threads.append(self._archive.thread)
        if self._usage is not None:
            self._threads.append(self._usage.thread)
        self._stopping = threading.Event()

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
        if self._archive is not None:
            self._archive.stop()
        if self._usage is not None:
            self._usage.stop()
        self._queue.stop()
        for informer in self._informers:
            informer.stop()
        self._sites.stop()
        self.mailer.stop()
        for thread in self._threads:
            thread.join(timeout=10)

    # What probes and metrics ask

    @property
    def has_site(self) -> bool:
        """Whether there is a site configuration to work with; no job is admitted or started before."""
        return self._sites.is_in_force.is_set()

    @property
    def is_synced(self) -> bool:
        return all(informer.synced.is_set() for informer in self._informers)

    @property
    def problem(self) -> str:
        """What keeps it from working that only a restart mends; "" if nothing does."""
        if (longest_s := self._queue.longest_s()) > _HUNG_S:
            return f"a job has been worked on for {longest_s:.0f} s"
        return self.failure

    @property
    def failure(self) -> str:
        """That threads have ended, though nobody stopped them; "" if all live. Nothing waits for better then."""
        if self._stopping.is_set():
            return ""
        # those that `start` has not started yet have no ident
        dead = [thread.name for thread in self._threads if thread.ident is not None and not thread.is_alive()]
        dead += [informer.name for informer in self._informers if informer.has_died]
        dead += self.mailer.dead
        return f"threads have ended: {', '.join(dead)}" if dead else ""

    @property
    def archive(self) -> Archive | None:
        return self._archive

    @property
    def work(self) -> WorkQueue[Key]:
        return self._queue

    def count_by_state(self) -> Mapping[str, int]:
        """BatchJobs by `status.state`; those not admitted yet as Submitted."""
        return Counter(obj.get("status", {}).get("state", "Submitted") for obj in self._batchjobs.items())

    @property
    def _site(self) -> SiteConfig:
        return self._sites.in_force.config

    # What changed, and whose job that is

    def _on_batchjob(self, event: WatchEvent) -> None:
        try:
            self._note(event)
        finally:  # whatever is wrong with the record, somebody waits for an answer about it
            if event.type != "DELETED":
                self._queue.add(object_key(event.object))

    def _note(self, event: WatchEvent) -> None:
        key = object_key(event.object)
        number = event.object.get("status", {}).get("jobId")
        self._arrays.on_event(event)
        if event.type == "DELETED":
            self._by_number.pop(number, None)
            self._ended_pods.pop(key, None)
            self._first_taken.pop(key, None)
            self._preempted.pop(key, None)
            self._written.pop(key, None)
            self._removed.pop(key, None)
            self._dependents.on_event(event)
            return
        if number is not None:
            self._by_number[number] = key
        self._dependents.on_event(event)

    def _key_of(self, number: int) -> Key | None:
        return self._by_number.get(str(number))

    def _from_history(self, number: int) -> Object | None:
        return None if self._archive is None else self._archive.ended(number)

    def _on_part(self, event: WatchEvent) -> None:
        number = (event.object["metadata"].get("labels") or {}).get(JOB_ID_LABEL, "")
        key = self._by_number.get(number)
        if key is not None and key[0] == event.object["metadata"]["namespace"]:
            self._queue.add(key)

    def _on_pod(self, event: WatchEvent) -> None:
        number = (event.object["metadata"].get("labels") or {}).get(JOB_ID_LABEL, "")
        key = self._by_number.get(number)
        if key is not None and event.type == "DELETED":
            self._ended_pods.setdefault(key, {})[event.object["metadata"]["name"]] = event.object
        if key is not None and event.type == "ADDED":
            self._first_taken.pop(key, None)
        if key is not None and "deletionTimestamp" in event.object["metadata"]:
            runs = _runs(self._pods.get(key[0], translate.script_host(int(number))))
            self._first_taken.setdefault(key, FirstTaken(event.object["metadata"]["uid"], script_ran=runs))
        if key is not None and is_preempted(event.object.get("status", {})):
            self._preempted.setdefault(key, set()).add(event.object["metadata"]["uid"])
        self._on_part(event)

    def _on_refused_pods(self, event: WatchEvent) -> None:
        about = event.object["involvedObject"]
        namespace, name = about.get("namespace", ""), about["name"]
        if event.type == "DELETED":
            self._refusals.remove(event.object)
            return
        self._refusals.add(event.object)
        key = self._by_number.get(name.removeprefix("job-"))
        if key is not None and key[0] == namespace:
            self._queue.add(key)

    def _on_volcano_queue(self, event: WatchEvent) -> None:
        name, state = event.object["metadata"]["name"], state_of(event.object)
        if self._queue_states.get(name) != state:
            self._queue_states[name] = state
            self._look_at_unplaced()

    def _look_at_unplaced(self) -> None:
        """Jobs without a Volcano Job may wait for their queue."""
        for obj in self._batchjobs.items():
            status = obj.get("status", {})
            if status.get("state") == JobState.QUEUED and not status.get("volcanoJob"):
                self._queue.add(object_key(obj))

    # Workers

    def _work(self) -> None:
        while not self._sites.is_in_force.wait(timeout=_SITE_LOOK_S):
            if self._stopping.is_set():
                return
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
        if obj is None or "deletionTimestamp" in obj["metadata"]:
            return None
        if self._is_outdated(key, obj):
            return _LAG_S
        if "refusal" in obj.get("status", {}):
            return self._intake.forget_refused(obj)
        if "jobId" not in obj.get("status", {}):
            if "memberOf" in obj["spec"]:
                self._arrays.check(obj)
                return REFUSED_KEPT_S
            obj = self._intake.answer(obj)
            if obj is None:
                return REFUSED_KEPT_S
            self._wrote(obj)
        admitted = _Admitted(obj, unmarked(record_from(obj)))
        self.mailer.look(obj, admitted.record)
        if admitted.record.status.state.is_final:
            if not obj["status"].get("cleaned"):
                if (left_s := self._deliver(admitted)) is not None:
                    return left_s
                self._clean(admitted)
            else:
                self._remove_latecomer(admitted)
                if self._archive is not None:
                    if self.mailer.owes(admitted.record):
                        return _WAITING_LOOK_S
                    self._archive.offer(obj)
            return None
        if self._answer(admitted):
            return None
        if admitted.record.spec.array is not None:
            return self._reconcile_array(admitted)
        seen = self._observe(admitted)
        if admitted.record.status.altered and seen.volcano_job is not None and not any(pod.node for pod in seen.pods):
            seen = replace(seen, is_outdated=not self._brought_up_to_date(admitted))
        return self._carry_out(admitted, seen, decide(seen))

    def _reconcile_array(self, job: _Admitted) -> float | None:
        gate = array_gate(job.record, self._dependents, datetime.now(UTC))
        if gate.status != job.record.status:
            written = write_status(self._api, job.obj, replace(job.record, status=gate.status))
            self._wrote(written)
            if gate.status.state.is_final:
                return None
            job = _Admitted(written, record_from(written))
        look_again_s = self._arrays.reconcile(job.obj, job.record, gate.obstacle, gate.ready)
        return min((s for s in (look_again_s, gate.look_again_s) if s is not None), default=None)

    def _answer(self, job: _Admitted) -> bool:
        """Answer a request that has not been yet; False if there is none. The event of the answer leads on."""
        if not self._requests.are_open(job.obj, job.record):
            return False
        is_placed = job.record.spec.array is None and any(pod.node for pod in self._observe(job).pods)
        answered = self._requests.answer(job.obj, job.record, is_placed=is_placed)
        if not is_placed and self._volcano_job(job) is not None:
            if_placed = self._requests.answer(job.obj, job.record, is_placed=True)
            if if_placed.status.altered != answered.status.altered:
                # promised only when no pod can start as the job was before
                self._confs.pop(job.record.job_id, None)
                answered = answered if self._start_bar.withdraw(job.record) else if_placed
        self._wrote(write_status(self._api, job.obj, answered, job.volcano_job))
        return True

    def _brought_up_to_date(self, job: _Admitted) -> bool:
        """Write what an altered job's runner reads anew, so that the job keeps its place; False if its Volcano Job
        would be another now, and has to be made again.
        """
        record, site = job.record, self._sites.in_force
        made, queue = self._volcano_job(job), site.config.queue(record.queue)
        if made is None or queue is None:
            return made is None
        try:
            conf, volcano_job = self._manifests(job, queue, site)
        except HpcBatchError:  # the site has changed; making it says what is wrong
            return False
        found = made["metadata"].get("annotations") or {}
        if found.get(MADE_FROM_ANNOTATION) != volcano_job["metadata"]["annotations"][MADE_FROM_ANNOTATION]:
            return False
        digest = digest_of(conf)
        if self._confs.get(record.job_id) != digest:
            self._api.replace(CONFIGMAPS, conf, record.namespace)
            self._confs[record.job_id] = digest
        return True

    # Our own writes come back as events a moment later. Deciding on what stood before them would only make conflicts.

    def _wrote(self, obj: Object) -> None:
        self._written[object_key(obj)] = int(obj["metadata"]["resourceVersion"]), time.monotonic()

    def _is_outdated(self, key: Key, obj: Object) -> bool:
        version, since = self._written.get(key, (0, 0.0))
        if int(obj["metadata"]["resourceVersion"]) < version and time.monotonic() - since < _LAG_LIMIT_S:
            return True
        self._written.pop(key, None)
        return False

    # Running

    def _observe(self, job: _Admitted) -> Observed:
        record, now = job.record, datetime.now(UTC)
        made = self._volcano_job(job)
        volcano_job = None if made is None else volcano_job_view(made)
        if volcano_job is not None and self._removed.get((record.namespace, record.object_name)) == volcano_job.uid:
            volcano_job = replace(volcano_job, is_deleting=True)
        launcher = Launcher.SHARED if volcano_job is None else volcano_job.launcher
        names = translate.pod_names(record.job_id, record.status.layout, launcher)
        found = {name: self._pods.get(record.namespace, name) for name in names} if volcano_job else {}
        pods = {name: pod for name, pod in found.items() if pod is not None and _is_of(made, pod)}
        is_final = volcano_job is not None and volcano_job.is_final
        gone: Mapping[str, Object] = {}
        if is_final or job.obj["spec"].get("deleteRequested"):
            ended = self._ended_pods.get((record.namespace, record.object_name), {})
            if is_final and names[0] not in ended and not _has_ended(pods.get(names[0])):
                # Each kind has a watch of its own: the job's end may be known here before that of its pods.
                asked = self._pods_as_they_are(record)
                pods |= {name: pod for name, pod in asked.items() if _is_of(made, pod)}
            gone = {name: pod for name, pod in ended.items() if name not in pods and _is_of(made, pod)}
        sizes = self._node_sizes(pods.values(), gone.values())
        views = pod_views(
            (*pods.values(), *gone.values()), names, launcher=launcher, gone=gone, ready_nodes=self._ready_nodes(pods),
            first_taken=self._first_taken.get((record.namespace, record.object_name)),
            preempted=self._preempted.get((record.namespace, record.object_name), ()),
            sizes=sizes,
        )  # fmt: skip
        return Observed(
            record=record,
            delete_requested=bool(job.obj["spec"].get("deleteRequested")),
            volcano_job=volcano_job,
            was_created=bool(job.volcano_job),
            pods=self._with_events(record.namespace, views, now),
            waiting=self._waiting(record) if volcano_job and not any(v.node for v in views) else Waiting(
                reason=Reason.NONE, message=""
            ),
            now=now,
            is_barred=is_final and not views and self._start_bar.has_started(record),
            refused_pods=self._refusals.about(made) if made is not None and len(pods) < len(names) else None,
            kill_delay_s=self._site.kill_delay_s,
            start_limit_s=self._site.image_pull_timeout_s,
            outlook=self._dependents.look(record, now),
            followers=self._dependents.followers(record),
            is_suspended=is_suspended(job.obj["spec"], record.status.run_count),
            usage=() if self._usage is None else self._plausible_usage(self._usage.of(job.obj), views, sizes, now),
        )  # fmt: skip

    def _pods_as_they_are(self, record: JobRecord) -> dict[str, Object]:
        """The pods of a job by name, not from the cache."""
        listed = self._api.list(PODS, record.namespace, labels=f"{JOB_ID_LABEL}={record.job_id}")
        return {pod["metadata"]["name"]: pod for pod in listed.items}

    def _ready_nodes(self, pods: Mapping[str, Object]) -> set[str]:
        """Of the nodes of `pods` those that answer."""
        found = {pod["spec"]["nodeName"]: None for pod in pods.values() if pod["spec"].get("nodeName")}
        nodes = {name: self._nodes.get(None, name) for name in found}
        return {name for name, node in nodes.items() if node is not None and is_ready(node)}

    def _pods_of(self, obj: Object) -> list[Object]:
        """The pods of a running job, that of a launcher too."""
        first = translate.script_host(int(obj["status"]["jobId"]))
        names = dict.fromkeys([first, *(host["pod"] for host in obj["status"].get("hosts") or ())])
        pods = (self._pods.get(obj["metadata"]["namespace"], name) for name in names)
        return [pod for pod in pods if _runs(pod) and pod is not None]

    @staticmethod
    def _plausible_usage(
        told: Iterable[HostUsage], views: Iterable[PodView], sizes: Mapping[str, NodeSize], now: datetime
    ) -> tuple[HostUsage, ...]:
        begun = {view.name: (view.started_at, sizes.get(view.node)) for view in views if view.started_at is not None}
        return tuple(
            plausible_usage(one, (now - begun[one.pod][0]).total_seconds(), begun[one.pod][1])
            for one in told
            if one.pod in begun
        )

    def _node_sizes(self, *pods: Iterable[Object]) -> dict[str, NodeSize]:
        names = {pod["spec"].get("nodeName") for some in pods for pod in some}
        nodes = {name: self._nodes.get(None, name) for name in names if name}
        return {name: node_size(node) for name, node in nodes.items() if node is not None}

    def _with_events(self, namespace: str, views: list[PodView], now: datetime) -> list[PodView]:
        """What only Events tell of pods that take long to start; of a few, since they mostly share their trouble."""
        silent = [
            view for view in views if view.is_silent and view.bound_at is not None and now - view.bound_at > _SILENT
        ][:_SILENT_ASKED]
        told: dict[int, str] = {}
        for view in silent:
            fields = f"involvedObject.kind=Pod,involvedObject.name={view.name},involvedObject.uid={view.uid}"
            told[view.index] = problem_from_events(self._api.list(EVENTS, namespace, fields=fields).items)
        return [replace(view, problem=told[view.index]) if view.index in told else view for view in views]

    def _volcano_job(self, job: _Admitted) -> Object | None:
        """As the cache has it; asked for anew where the cache may lag behind our own creation."""
        name = translate.job_name(job.record.job_id)
        key = job.record.namespace, name
        found = self._volcano_jobs.get(*key)
        made, since = self._made.get(key, (None, 0.0))
        if found is not None or time.monotonic() - since > _LAG_S:
            self._made.pop(key, None)
        elif job.volcano_job:
            return made
        if found is None and job.volcano_job:
            try:
                found = self._api.get(VOLCANO_JOBS, name, job.record.namespace)
            except NotFoundError:
                return None
        return found

    def _waiting(self, record: JobRecord) -> Waiting:
        made, rooms = self._rooms
        # counting all pods for each of many waiting jobs would be quadratic
        if time.monotonic() - made > _ROOMS_KEPT_S:
            rooms = node_rooms(self._nodes.items(), self._pods.items())
            self._rooms = time.monotonic(), rooms
        queue = self._site.queue(record.queue)
        if queue is None:
            return Waiting(reason=Reason.NONE, message="")
        return explain(
            record.status.layout,
            rooms,
            is_scattered=record.spec.arrangement is Arrangement.SCATTER,
            queue=queue,
            site=self._site,
        )

    def _carry_out(self, job: _Admitted, seen: Observed, decision: Decision) -> float | None:
        record, namespace = job.record, job.record.namespace
        name = translate.job_name(record.job_id)
        volcano_job = name if seen.volcano_job is not None and not seen.volcano_job.is_deleting else job.volcano_job
        if decision.terminate and (left_s := self._tell_of_requeue(job, seen)):
            decision = replace(decision, terminate=False, look_again_s=left_s)
        if decision.terminate:
            self._terminate(namespace, name)
        if decision.let_start:
            self._start_bar.let_start(record, next(pod.uid for pod in seen.pods if pod.index == 0))
        for pod in decision.give_up:
            _LOG.warning("pod %s/%s is given up: node %s does not answer", namespace, pod.name, pod.node)
            remove(self._api, PODS, pod.name, namespace, uid=pod.uid, grace_period_s=0)
        if decision.create:
            obstacle = self._create(job)
            if obstacle is None:
                volcano_job = name
            else:
                status = replace(decision.status, reason=obstacle.reason, message=obstacle.message)
                decision = replace(decision, status=status, look_again_s=_WAITING_LOOK_S)
        status = self._ask_pod(job, seen, replace(record, status=decision.status))
        decision = replace(decision, status=status)
        is_waiting = decision.delete and seen.volcano_job is not None and not seen.volcano_job.is_final
        if is_waiting and not self._start_bar.withdraw(record):
            return _LAG_S
        if decision.delete:
            volcano_job = ""  # written first: killed in between, the next look decides the same again
        if decision.status != record.status or volcano_job != job.volcano_job:
            self._wrote(write_status(self._api, job.obj, replace(record, status=decision.status), volcano_job))
        if decision.delete and seen.volcano_job is not None:
            # by uid: what the cache still shows may have been made anew meanwhile
            remove(self._api, VOLCANO_JOBS, name, namespace, uid=seen.volcano_job.uid)
            self._removed[(namespace, record.object_name)] = seen.volcano_job.uid
            self._ended_pods.pop((namespace, record.object_name), None)
        if decision.look_again_s is None and decision.status.reason in {Reason.RESOURCES, Reason.NEVER_FITS}:
            return _WAITING_LOOK_S
        return decision.look_again_s

    def _running_pod(self, record: JobRecord, seen: Observed) -> Object | None:
        """The pod that runs the script."""
        first = next((pod for pod in seen.pods if pod.index == 0), None)
        if first is None or first.started_at is None or first.has_ended or first.is_deleting:
            return None
        return self._pods.get(record.namespace, first.name)

    def _tell_of_requeue(self, job: _Admitted, seen: Observed) -> float:
        """Seconds until the pods of a job that is to run again may be ended."""
        is_requeued = job.record.status.is_rerunning and not seen.delete_requested
        if not is_requeued or job.record.spec.dialect is not Dialect.SLURM:
            return 0.0
        pod = self._running_pod(job.record, seen)
        return 0.0 if pod is None else tell_of_requeue(self._api, pod, seen.now)

    def _ask_pod(self, job: _Admitted, seen: Observed, record: JobRecord) -> JobStatus:
        """Pass on what is asked of the running job."""
        pod = self._running_pod(record, seen)
        may_start = pod is not None and self._start_bar.may_start(record, pod["metadata"]["uid"])
        return pass_on(self._api, job.obj["spec"], record, pod, may_start=may_start)

    def _create(self, job: _Admitted) -> Waiting | None:
        """Make the Volcano Job, or say what is in the way."""
        record, site = job.record, self._sites.in_force
        queue = site.config.queue(record.queue)
        if queue is None:
            text = f"queue {record.queue} is no longer in the site's configuration"
            return Waiting(reason=Reason.QUEUE_UNAVAILABLE, message=text)
        if why := closed_because(queue, self._intake.volcano_state(queue.volcano_queue)):
            return Waiting(reason=Reason.QUEUE_UNAVAILABLE, message=why)
        try:
            wanted = self._manifests(job, queue, site)
        except HpcBatchError as error:  # the site has changed since the job was admitted
            return Waiting(reason=Reason.NEVER_FITS, message=str(error))
        self._ensure_runner(record.namespace)
        self._ensure_priority(record.spec.weight)
        for obj in wanted:
            try:
                made = self._api.create(_RESOURCE[obj["kind"]], obj, record.namespace)
                if obj["kind"] == VOLCANO_JOBS.kind:
                    self._made[object_key(made)] = made, time.monotonic()
            except AlreadyExistsError:  # made before a kill, or for the run before this one
                if obj["kind"] == "ConfigMap":
                    self._start_bar.forget(record.job_id)
                    self._api.replace(CONFIGMAPS, obj, record.namespace)
            except ApiError as error:
                if error.code not in _DENIED:
                    raise
                return Waiting(reason=Reason.RESOURCES, message=str(error))
        return None

    def _manifests(self, job: _Admitted, queue: QueueConfig, site: Site) -> list[Object]:
        record, config = job.record, site.config
        status = record.status
        placed = place(
            record.job_id,
            replace(record.spec, walltime_s=record.walltime_s),
            status.layout,
            queue=queue,
            site=config,
            owner=Identity(user=status.owner, uid=status.uid, gid=status.gid, home=status.home, groups=status.groups),
            run_count=status.run_count + 1,
            array=self._arrays.array_of(record),
        )
        conf, volcano_job = objects(
            placed,
            config,
            submission_secret=job.obj["spec"]["submissionSecret"],
            namespace=record.namespace,
            owner=owner_reference(job.obj),
            export_none=bool(job.obj["spec"].get("exportNone")),
            loader=site.loader,
        )
        notes = volcano_job["metadata"].setdefault("annotations", {})
        notes[MADE_FROM_ANNOTATION] = digest_of(volcano_job)
        return [conf, volcano_job]

    def _ensure_runner(self, namespace: str) -> None:
        if namespace in self._runner_in:
            return
        try:
            self._api.create(CONFIGMAPS, translate.runner_configmap(namespace), namespace)
        except AlreadyExistsError:
            pass
        self._runner_in.add(namespace)

    def _ensure_priority(self, priority: int) -> None:
        if priority == 0 or priority in self._priorities:
            return
        try:
            self._api.create(PRIORITY_CLASSES, translate.priority_class(priority))
        except AlreadyExistsError:
            pass
        self._priorities.add(priority)

    def _terminate(self, namespace: str, name: str) -> None:
        """Have Volcano end the job's pods, once."""
        job = self._volcano_jobs.get(namespace, name) or self._api.get(VOLCANO_JOBS, name, namespace)
        if volcano_job_view(job).phase in {
            "Terminating",
            "Terminated",
            "Aborting",
            "Completing",
            "Completed",
            "Failed",
        }:
            return
        reference = owner_reference(job)
        command = {
            "apiVersion": COMMANDS.api_version,
            "kind": COMMANDS.kind,
            "metadata": {"name": f"{name}-terminate", "ownerReferences": [reference]},
            "action": "TerminateJob",
            "target": reference,
        }
        try:
            self._api.create(COMMANDS, command, namespace)
        except AlreadyExistsError:
            pass

    def _deliver(self, job: _Admitted) -> float | None:
        """See to it that the output of an ended job has its own names; seconds until the next look, None: it has."""
        record, site = job.record, self._sites.in_force
        queue, name = site.config.queue(record.queue), translate.script_host(record.job_id)
        gone = self._ended_pods.get((record.namespace, record.object_name), {})
        first = self._pods.get(record.namespace, name) or gone.get(name)
        if queue is None or not owes_output(record, first):
            return None
        make = lambda: delivery(self._manifests(job, queue, site)[1], site.config)  # noqa: E731
        return self._deliveries.wait_s(record, make, datetime.now(UTC))

    def _clean(self, job: _Admitted) -> None:
        """Of an ended job only the record stays."""
        record, namespace = job.record, job.record.namespace
        self._deliveries.remove(record)
        remove(self._api, VOLCANO_JOBS, translate.job_name(record.job_id), namespace)
        remove(self._api, CONFIGMAPS, translate.conf_name(record.job_id), namespace)
        self._start_bar.forget(record.job_id)
        self._confs.pop(record.job_id, None)
        if record.spec.member_of is None:  # the members of an array have its Secret
            remove(self._api, SECRETS, job.obj["spec"].get("submissionSecret", ""), namespace)
        self._ended_pods.pop((namespace, record.object_name), None)
        cleaned = {"status": {"cleaned": True}}
        self._wrote(self._api.patch(BATCHJOBS, record.object_name, cleaned, namespace, subresource="status"))

    def _remove_latecomer(self, job: _Admitted) -> None:
        """A Volcano Job that a controller made after a long pause, when the job had ended without it."""
        ended = job.record.status.end_time
        late = self._volcano_jobs.get(job.record.namespace, translate.job_name(job.record.job_id))
        if late is not None and ended is not None and parse_rfc3339(late["metadata"]["creationTimestamp"]) > ended:
            remove(self._api, VOLCANO_JOBS, late["metadata"]["name"], job.record.namespace, uid=late["metadata"]["uid"])

    # What nobody else removes

    def _sweep(self) -> None:
        pause_s = _SWEEP_S
        while not self._stopping.wait(pause_s):
            pause_s = _SWEEP_S
            try:
                sweep_submissions(self._api, self._namespaces.items(), datetime.now(UTC))
                if self.sweep_history(datetime.now(UTC)):
                    pause_s = _SWEEP_MORE_S
            except HpcBatchError as error:
                _LOG.warning("removing what is no longer needed: %s", error)
            except Exception:
                _LOG.exception("removing what is no longer needed")

    def sweep_history(self, now: datetime) -> bool:
        """Remove records that the site no longer keeps; True if there are more of them."""
        if not self._sites.is_in_force.is_set():
            return False
        return sweep_history(self._api, self._batchjobs.items(), self._sites.in_force.config.history_kept_s, now)


def _is_of(volcano_job: Object | None, pod: Object) -> bool:
    """Whether `pod` belongs to it, and not to the one of the same name before it: pods have a watch of their own, which
    may tell of their end only when the next Volcano Job is known. Without one there is none to mistake it for.
    """
    owner = controlling_job(pod)
    return volcano_job is None or owner is None or owner["uid"] == volcano_job["metadata"]["uid"]


def _runs(pod: Object | None) -> bool:
    return pod is not None and pod.get("status", {}).get("phase") == "Running"


def _has_ended(pod: Object | None) -> bool:
    return pod is not None and pod.get("status", {}).get("phase") in {"Succeeded", "Failed"}


_RESOURCE: Mapping[str, Resource] = {"ConfigMap": CONFIGMAPS, "Job": VOLCANO_JOBS}
