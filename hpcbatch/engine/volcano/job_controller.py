"""The loop around hpcbatch.volcano.lifecycle: carries out for Volcano Jobs what `decide` says.

All that it needs is in the API, so it may be stopped at any instant and started again. In memory are only: pods that
somebody else deleted and that were not dealt with yet (after a restart they are found by the last status' counters),
and actions of Commands, which Volcano too deletes before it acts on them, so that none is done twice.

What Volcano does by mistake and lifecycle.py does not, is listed there. Here, in the same way:
- at a job's end only objects that the job owns are deleted (Volcano: whatever has their names);
- no ConfigMap is left behind by a job that used up its restarts;
- an API that is out of order (5xx) is asked again for ever, and does not end the job; neither does a deleted queue.
"""

from __future__ import annotations

import logging
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from hpcbatch.api.informer import Workers, WorkQueue
from hpcbatch.api.news import News
from hpcbatch.api.port import Object, WatchEvent
from hpcbatch.api.resources import (
    COMMANDS,
    CONFIGMAPS,
    NETWORK_POLICIES,
    PODGROUPS,
    PODS,
    PRIORITY_CLASSES,
    SECRETS,
    SERVICES,
    VOLCANO_JOBS,
)
from hpcbatch.engine.registry.feed import Feed
from hpcbatch.engine.volcano.news import of_group, of_job
from hpcbatch.engine.volcano.queue_commands import run_queue_command
from hpcbatch.engine.volcano.ssh_keys import KeyPool
from hpcbatch.errors import AlreadyExistsError, ApiError, ConflictError, HpcBatchError, NotFoundError
from hpcbatch.units import parse_rfc3339
from hpcbatch.volcano.job_objects import (
    OUT_OF_SYNC,
    build_pod,
    build_pod_group,
    controlling_job,
    pod_group_name,
    pod_group_spec,
)
from hpcbatch.volcano.job_status import job_status, recorded_pods
from hpcbatch.volcano.job_view import JobView, Phase, PodView, job_view, pod_view
from hpcbatch.volcano.lifecycle import (
    AddPluginObjects,
    Announce,
    CreatePod,
    Decision,
    DeleteJob,
    DeletePodGroup,
    Evicted,
    KillPod,
    PutPodGroup,
    RemovePluginObjects,
    SetState,
    decide,
    lost_between,
    unchanged,
)
from hpcbatch.volcano.plugins import JobPlugin, PluginError, job_plugins, plugin_names
from hpcbatch.volcano.plugins.base import pod_name

if TYPE_CHECKING:
    from hpcbatch.engine.registry.registry import Registry

_LOG = logging.getLogger(__name__)
_COMPONENT = "vc-controller-manager"
_JOBS_KEY = (VOLCANO_JOBS.group, VOLCANO_JOBS.plural)
_REFUSALS = 15  # Volcano's --max-requeue-num: with 5 ms * 2^n between them 164 s in all
_NAME_TAKEN_RECHECK_S = 5.0
_BESIDE = {"ConfigMap": CONFIGMAPS, "Secret": SECRETS, "Service": SERVICES, "NetworkPolicy": NETWORK_POLICIES}

WorkKey = tuple[str, str, str]
"""("job" or "command", namespace, name)"""


class RefusedStepError(HpcBatchError):
    """The API refuses something that the job needs; after enough tries the job is ended."""


def utc_now() -> datetime:
    return datetime.now(UTC)


class JobController:
    """One worker, so that PodGroups are made in the order of the jobs."""

    def __init__(self, registry: Registry, *, now: Callable[[], datetime] = utc_now) -> None:
        self._registry, self._now = registry, now
        self._queue: WorkQueue[WorkKey] = WorkQueue(longest_backoff_s=200.0)
        self._workers = Workers(self._queue, self._work, name="job-controller")
        self._keys = KeyPool()
        self._feeds = (
            Feed(registry, PODS, self._on_pod),
            Feed(registry, PODGROUPS, self._on_group),
            Feed(registry, VOLCANO_JOBS, self._on_job),
            Feed(registry, COMMANDS, self._on_command),
        )
        self._lock = threading.Lock()
        self._by_job: dict[tuple[str, str], dict[str, Object]] = defaultdict(dict)
        self._evicted: dict[str, list[Evicted]] = defaultdict(list)
        self._requests: dict[tuple[str, str], deque[str]] = defaultdict(deque)
        self._memories: dict[str, _Memory] = {}
        self._news_of_jobs, self._news_of_groups = News(), News()

    def start(self) -> None:
        """Returns when everything that was there is known and being worked on."""
        self._keys.start()
        for feed in self._feeds:
            feed.start()
        self._workers.start()

    def stop(self) -> None:
        self._workers.stop()
        for feed in reversed(self._feeds):
            feed.stop()
        self._keys.stop()

    # What has changed

    def _on_job(self, event: WatchEvent) -> None:
        meta = event.object["metadata"]
        if event.type == "DELETED":
            with self._lock:
                self._evicted.pop(meta["uid"], None)
                self._memories.pop(meta["uid"], None)
                self._requests.pop((meta["namespace"], meta["name"]), None)
        if self._news_of_jobs.is_new(event, of_job(event.object)):
            self._queue.add(("job", meta["namespace"], meta["name"]))

    def _on_pod(self, event: WatchEvent) -> None:
        pod, owner = event.object, controlling_job(event.object)
        if owner is None:
            return
        key = (pod["metadata"]["namespace"], owner["name"])
        if event.type != "DELETED":
            is_news = self._remember(key, pod)
        else:
            is_news = True
            with self._lock:
                held = self._by_job[key].get(pod["metadata"]["name"])
                if held is not None and held["metadata"]["uid"] == pod["metadata"]["uid"]:
                    del self._by_job[key][pod["metadata"]["name"]]
                if not self._by_job[key]:
                    del self._by_job[key]
                view = pod_view(pod)
                job = self._registry.store.get(_JOBS_KEY, *key)
                if not view.is_marked and job is not None and job["metadata"]["uid"] == owner["uid"]:
                    self._evicted[owner["uid"]].append(Evicted(pod=view, at=self._now()))
        if is_news:
            self._queue.add(("job", *key))

    def _remember(self, key: tuple[str, str], pod: Object) -> bool:
        """Keep the newest state of a pod; False if it says nothing new."""
        name = pod["metadata"]["name"]
        with self._lock:
            held = self._by_job[key].get(name)
            if held is not None and _version(held) >= _version(pod):
                return False
            self._by_job[key][name] = pod
        return held is None or pod_view(held) != pod_view(pod)

    def _on_group(self, event: WatchEvent) -> None:
        owner = controlling_job(event.object)
        if self._news_of_groups.is_new(event, of_group(event.object)) and owner is not None:
            self._queue.add(("job", event.object["metadata"]["namespace"], owner["name"]))

    def _on_command(self, event: WatchEvent) -> None:
        if event.type == "ADDED":
            meta = event.object["metadata"]
            self._queue.add(("command", meta["namespace"], meta["name"]))

    # Work

    def _work(self, key: WorkKey) -> None:
        kind, namespace, name = key
        if kind == "command":
            self._take_command(namespace, name)
            return
        try:
            job = self._registry.get(VOLCANO_JOBS, name, namespace)
        except NotFoundError:
            return
        _Sync(self, job).run()

    def _take_command(self, namespace: str, name: str) -> None:
        try:
            command = self._registry.get(COMMANDS, name, namespace)
            self._registry.delete(COMMANDS, name, namespace, uid=command["metadata"]["uid"])
        except NotFoundError:
            return
        target, action = command.get("target") or {}, str(command.get("action", ""))
        if target.get("kind") == "Queue":
            run_queue_command(self._registry, target.get("name", ""), action)
            return
        if (target.get("apiVersion"), target.get("kind")) != (VOLCANO_JOBS.api_version, VOLCANO_JOBS.kind):
            return
        try:
            job = self._registry.get(VOLCANO_JOBS, target.get("name", ""), namespace)
        except NotFoundError:
            return
        text = f"Start to execute command {action}, and clean it up to make sure executed not more than once."
        self._record(job, "Normal", "CommandIssued", text)
        self._record(job, "Normal", "ExecuteAction", f"Start to execute action {action} ")
        key = (namespace, job["metadata"]["name"])
        with self._lock:
            self._requests[key].append(action)
        self._queue.add(("job", *key))

    def _record(self, job: Object, kind: str, reason: str, message: str) -> None:
        self._registry.record_event(job, type=kind, reason=reason, message=message, component=_COMPONENT)


class _Memory:
    """What is known of one job beyond the API; losing it does no harm."""

    def __init__(self) -> None:
        self.updated_generation = 0
        self.announced: set[str] = set()
        self.unschedulable = ""
        self.refusals = 0


class _Sync:
    """One round for one job."""

    def __init__(self, controller: JobController, job: Object) -> None:
        self.c, self.api, self.job = controller, controller._registry, job
        meta = job["metadata"]
        self.namespace, self.name, self.uid = meta["namespace"], meta["name"], meta["uid"]
        self.key = (self.namespace, self.name)
        self.view: JobView = job_view(job)
        self.before: Object = job.get("status") or {}
        self.now = controller._now()
        self.controlled: dict[str, str] = dict((job.get("status") or {}).get("controlledResources") or {})
        self.refusals: list[str] = []
        self.memory = controller._memories.get(self.uid)
        self.is_first = self.memory is None
        if self.memory is None:
            self.memory = controller._memories[self.uid] = _Memory()
        self._plugins: list[JobPlugin] | None = None

    def run(self) -> None:
        memory = self.memory
        assert memory is not None  # noqa: S101 - set in __init__
        group = self._group()
        pods = self._pods()
        evicted = self._known_evictions(pods)
        with self.c._lock:
            waiting = self.c._requests.get(self.key)
            request = waiting[0] if waiting else ""
        is_given_up = memory.refusals > _REFUSALS
        decision = decide(
            self.view,
            pods,
            _phase(group),
            now=self.now,
            request="TerminateJob" if is_given_up else request,
            evicted=evicted,
            group_since=_unschedulable_since(group),
        )
        if is_given_up:
            self.record("Normal", "ExecuteAction", "Job failed on action SyncJob for retry limit reached")
            memory.refusals = 0
        state = self._carry_out(decision, group)
        status = self._status(state)
        if self._ends_at_once(state, pods) and not request and not self.refusals:
            # what was between these two steps nobody has seen, and a kill here leads to both again
            self.job = {**self.job, "status": status}
            self.view = job_view(self.job)
            status = self._status(self._carry_out(decide(self.view, pods, _phase(group), now=self.now), group))
        self._write_status(status)
        with self.c._lock:
            if request and not is_given_up and waiting:
                waiting.popleft()
            left = [item for item in self.c._evicted.pop(self.uid, []) if item not in evicted]
            left = [*decision.pending_evictions, *left]
            if left and state.phase in {Phase.PENDING, Phase.RUNNING}:
                self.c._evicted[self.uid] = left
        if waiting or decision.recheck_s is not None:
            self.c._queue.add_after(("job", *self.key), 0.0 if waiting else decision.recheck_s or 0.0)
        if self.refusals:
            memory.refusals += 1
            raise RefusedStepError("; ".join(self.refusals))
        memory.refusals = 0

    def record(self, kind: str, reason: str, message: str) -> None:
        self.c._record(self.job, kind, reason, message)

    # What is there

    def _group(self) -> Object | None:
        try:
            group = self.api.get(PODGROUPS, pod_group_name(self.job), self.namespace)
        except NotFoundError:
            return None
        memory = self.memory
        for condition in (group.get("status") or {}).get("conditions") or ():
            is_news = memory is not None and memory.unschedulable != condition.get("message", "")
            if condition["type"] == "Unschedulable" and is_news and memory is not None:
                memory.unschedulable = condition["message"]
                text = f"PodGroup {self.namespace}:{self.name} unschedulable, reason: {condition['message']}"
                self.record("Warning", "PodGroupPending", text)
        return group

    def _pods(self) -> list[PodView]:
        with self.c._lock:
            held = list(self.c._by_job.get(self.key, {}).values())
        return [pod_view(pod) for pod in held if (controlling_job(pod) or {}).get("uid") == self.uid]

    def _known_evictions(self, pods: Sequence[PodView]) -> list[Evicted]:
        with self.c._lock:
            known = list(self.c._evicted.get(self.uid, ()))
        if self.is_first and not known:
            return lost_between(self.view, pods, recorded_pods(self.job.get("status") or {}), self.now)
        return known

    @property
    def plugins(self) -> list[JobPlugin]:
        if self._plugins is None:
            self._plugins = job_plugins(self.job, self.c._keys.take)
        return self._plugins

    # What is to be done

    def _carry_out(self, decision: Decision, group: Object | None) -> SetState:
        state = unchanged(self.view)
        creating = [action for action in decision.actions if isinstance(action, CreatePod)]
        failed: list[str] = []
        for action in decision.actions:
            match action:
                case AddPluginObjects():
                    self._attempt("PluginError", "Execute plugin when job add failed, err: ", self._add_plugin_objects)
                case RemovePluginObjects():
                    self._remove_plugin_objects()
                case PutPodGroup(waiting_tasks=waiting) if not self.refusals:
                    self._put_group(group, waiting)
                case DeletePodGroup():
                    self._delete_group()
                case CreatePod() if not self.refusals:
                    self._create_pod(action, failed)
                case KillPod():
                    self._kill_pod(action)
                case SetState():
                    state = action
                case Announce():
                    self._announce(action)
                case DeleteJob():
                    self._delete_job()
        if failed:
            self.record("Warning", "FailedCreate", f"Error creating pods: [{', '.join(failed)}]")
            self.refusals.append(f"{len(failed)} of {len(creating)} pods cannot be created: {failed[0]}")
        return state

    def _attempt(self, reason: str, prefix: str, step: Callable[[], None]) -> None:
        """Run a step that the API may refuse for good. What may pass by itself is raised."""
        try:
            step()
        except ApiError as error:
            if isinstance(error, ConflictError) or error.code >= 500:
                raise
            self.record("Warning", reason, f"{prefix}{error}")
            self.refusals.append(str(error))

    def _add_plugin_objects(self) -> None:
        wanted = {f"plugin-{plugin}": plugin for plugin in plugin_names(self.job)}
        generation = self.job["metadata"].get("generation", 1)
        memory = self.memory
        assert memory is not None  # noqa: S101 - set in __init__
        if wanted.keys() - self.controlled.keys():
            for plugin in self.plugins:
                for obj in plugin.on_job_add(self.job):
                    self._put_beside(obj)
            self.controlled |= wanted
        elif wanted and memory.updated_generation != generation:
            for plugin in self.plugins:
                for obj in plugin.on_job_update(self.job):
                    self._put_beside(obj)
        memory.updated_generation = generation

    def _put_beside(self, obj: Object) -> None:
        """Create, or bring up to date as Volcano does: data of a ConfigMap, of a Secret if its ssh config differs."""
        resource, name = _BESIDE[obj["kind"]], obj["metadata"]["name"]
        try:
            self.api.create(resource, obj, self.namespace)
            return
        except AlreadyExistsError:
            pass
        old = self.api.get(resource, name, self.namespace)
        owner = controlling_job(old)
        if owner is not None and owner["uid"] != self.uid:
            raise ConflictError(409, "Conflict", f"{obj['kind']} {name} of a former job {owner['name']} is still there")
        if obj["kind"] not in {"ConfigMap", "Secret"} or old.get("data") == obj["data"]:
            return
        if obj["kind"] == "Secret" and (old.get("data") or {}).get("config") == obj["data"]["config"]:
            return
        self.api.replace(resource, {**old, "data": obj["data"]}, self.namespace)

    def _remove_plugin_objects(self) -> None:
        for plugin in self.plugins:
            for ref in plugin.on_job_delete(self.job):
                try:
                    old = self.api.get(_BESIDE[ref.kind], ref.name, self.namespace)
                    owner = controlling_job(old)
                    if owner is not None and owner["uid"] == self.uid:
                        self.api.delete(_BESIDE[ref.kind], ref.name, self.namespace, uid=old["metadata"]["uid"])
                except NotFoundError:
                    continue
        self.controlled = {}

    def _put_group(self, group: Object | None, waiting: tuple[str, ...]) -> None:
        spec = pod_group_spec(self.job, waiting, self._priority)
        if group is None:
            try:
                self.api.create(PODGROUPS, build_pod_group(self.job, spec), self.namespace)
            except AlreadyExistsError:
                pass
            return
        # A namespace may have put the group into another queue than the job's.
        spec["queue"] = group["spec"].get("queue", spec["queue"])
        if any(group["spec"].get(key) != value for key, value in spec.items()):
            self.api.replace(PODGROUPS, {**group, "spec": {**group["spec"], **spec}}, self.namespace)

    def _priority(self, name: str) -> int:
        try:
            return int(self.api.get(PRIORITY_CLASSES, name)["value"])
        except NotFoundError:
            return 0

    def _delete_group(self) -> None:
        try:
            self.api.delete(PODGROUPS, pod_group_name(self.job), self.namespace)
        except NotFoundError:
            pass

    def _create_pod(self, action: CreatePod, failed: list[str]) -> None:
        task = next(task for task in self.job["spec"]["tasks"] if task["name"] == action.task)
        name = pod_name(self.job, action.task, action.index)
        try:
            pod = build_pod(self.job, task, action.index, self.plugins)
            made = self.api.create(PODS, pod, self.namespace)
        except AlreadyExistsError:
            # Ours, and not reported yet; or another's, for whose end the job waits.
            self.c._queue.add_after(("job", *self.key), _NAME_TAKEN_RECHECK_S)
            return
        except (ApiError, PluginError) as error:
            if isinstance(error, ConflictError) or (isinstance(error, ApiError) and error.code >= 500):
                raise
            failed.append(f"failed to create pod {name}, err: {error}")
            return
        self.c._remember(self.key, made)

    def _kill_pod(self, action: KillPod) -> None:
        mark = {"metadata": {"uid": action.uid, "annotations": {OUT_OF_SYNC: "true"}}}
        try:
            self.api.patch(PODS, action.name, mark, self.namespace)
            self.api.delete(PODS, action.name, self.namespace, uid=action.uid)
        except NotFoundError:
            pass

    def _announce(self, action: Announce) -> None:
        memory = self.memory
        assert memory is not None  # noqa: S101 - set in __init__
        if action.once in memory.announced:
            return
        if action.once:
            memory.announced.add(action.once)
        self.record("Normal", "ExecuteAction", action.message)

    def _delete_job(self) -> None:
        try:
            self.api.delete(VOLCANO_JOBS, self.name, self.namespace, propagation="Foreground", uid=self.uid)
        except NotFoundError:
            pass

    def _ends_at_once(self, state: SetState, pods: Sequence[PodView]) -> bool:
        """Whether the job is on the way to its end and no pod is left that it would wait for."""
        is_ending = state.phase in {Phase.COMPLETING, Phase.TERMINATING} and state.phase is not self.view.phase
        return is_ending and not any(pod.is_alive or pod.is_terminating for pod in pods)

    def _status(self, state: SetState) -> Object:
        before = self.job.get("status") or {}
        return job_status(self.view, before, state, self._pods(), controlled=self.controlled, now=self.now)

    def _write_status(self, status: Object) -> None:
        if status == self.before:
            return
        try:
            self.api.replace(VOLCANO_JOBS, {**self.job, "status": status}, self.namespace, subresource="status")
        except NotFoundError:
            pass


def _phase(group: Object | None) -> str | None:
    return None if group is None else (group.get("status") or {}).get("phase", "")


def _unschedulable_since(group: Object | None) -> datetime | None:
    for condition in ((group or {}).get("status") or {}).get("conditions") or ():
        if condition["type"] == "Unschedulable":
            return parse_rfc3339(condition["lastTransitionTime"])
    return None


def _version(obj: Object) -> int:
    """The engine's resourceVersions are numbers that grow."""
    return int(obj["metadata"]["resourceVersion"])
