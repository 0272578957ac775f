"""One round of the job controller for one Volcano Job: what `hpcbatch.volcano.lifecycle` decides is carried out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from datetime import datetime

from hpcbatch.api.port import Api, Object
from hpcbatch.api.resources import (
    CONFIGMAPS,
    COSCHEDULING_PODGROUPS,
    KOORDINATOR_PODGROUPS,
    NETWORK_POLICIES,
    PODGROUPS,
    PODS,
    PRIORITY_CLASSES,
    SECRETS,
    SERVICES,
    VOLCANO_JOBS,
)
from hpcbatch.errors import AlreadyExistsError, ApiError, ConflictError, HpcBatchError, NotFoundError
from hpcbatch.gang.events import COMPONENT, RecordEvent
from hpcbatch.gang.known import Known
from hpcbatch.gang.reminder import NOTE
from hpcbatch.units import parse_rfc3339
from hpcbatch.volcano.gangs.facts import least
from hpcbatch.volcano.gangs.port import Gang
from hpcbatch.volcano.job_objects import OUT_OF_SYNC, build_pod, controlling_job
from hpcbatch.volcano.job_status import job_status, recorded_pods
from hpcbatch.volcano.job_view import JobView, Phase, PodView, job_view
from hpcbatch.volcano.lifecycle import (
    Action,
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

_REFUSALS = 15  # Volcano's --max-requeue-num: with 5 ms * 2^n between them 164 s in all
_NAME_TAKEN_RECHECK_S = 5.0
_LET_IN_S = 0.1
"""Where a job has room its group is let in, and its pods are made, within this time: one status says both."""
_LET_IN = "Inqueue"
_ONCE = (AddPluginObjects, PutPodGroup, RemovePluginObjects, DeletePodGroup)
_GROUPS = {each.api_version: each for each in (PODGROUPS, COSCHEDULING_PODGROUPS, KOORDINATOR_PODGROUPS)}
_BESIDE = {"ConfigMap": CONFIGMAPS, "Secret": SECRETS, "Service": SERVICES, "NetworkPolicy": NETWORK_POLICIES}


class RefusedStepError(HpcBatchError):
    """The API refuses something that the job needs; after enough tries the job is ended."""


class Sync:
    """One round for one job."""

    def __init__(
        self,
        api: Api,
        job: Object,
        *,
        gang: Gang,
        known: Known,
        take_key: Callable[[], tuple[str, str]],
        record_event: RecordEvent,
        look_again: Callable[[float], None],
        now: datetime,
    ) -> None:
        """`look_again` begins another round after so many seconds."""
        self.api, self.job, self.gang, self.known = api, job, gang, known
        self.take_key, self.record_event, self.look_again, self.now = take_key, record_event, look_again, now
        meta = job["metadata"]
        self.namespace, self.name, self.uid = meta["namespace"], meta["name"], meta["uid"]
        self.key = (self.namespace, self.name)
        self.view: JobView = job_view(job)
        self.before: Object = job.get("status") or {}
        self.controlled: dict[str, str] = dict((job.get("status") or {}).get("controlledResources") or {})
        self.refusals: list[str] = []
        self.memory, self.is_first = known.memory(self.uid)
        self._plugins: list[JobPlugin] | None = None
        self._done: list[Action] = []
        """What this round has seen to, and a further one need not again."""
        self._has_put_beside = False

    def run(self) -> None:
        group = self._group()
        pods = self._pods()
        evicted = self._known_evictions(pods)
        request = self.known.request(self.key)
        is_given_up = self.memory.refusals > _REFUSALS
        decision = decide(
            self.view,
            pods,
            self._group_phase(group),
            now=self.now,
            request="TerminateJob" if is_given_up else request,
            evicted=evicted,
            group_since=_unschedulable_since(group),
        )
        if is_given_up:
            self.record("Normal", "ExecuteAction", "Job failed on action SyncJob for retry limit reached")
            self.memory.refusals = 0
        state = self._carry_out(decision, group)
        status = self._status(state)
        if self._ends_at_once(state, pods) and not request and not self.refusals:
            # what was between these two steps nobody has seen, and a kill here leads to both again
            self.job = {**self.job, "status": status}
            self.view = job_view(self.job)
            following = decide(self.view, pods, self._group_phase(group), now=self.now)
            status = self._status(self._carry_out(following, group))
        if self._may_say_more_soon(group) and not request:
            self.look_again(_LET_IN_S)
        else:
            is_settled = not request and not self.refusals and self._is_settled(status, group)
            self._write_status(status, is_settled=is_settled)
        is_waiting = self.known.next_request(self.key, is_done=bool(request) and not is_given_up)
        is_live = state.phase in {Phase.PENDING, Phase.RUNNING}
        self.known.dealt_with(self.uid, evicted, decision.pending_evictions, is_live=is_live)
        if is_waiting or decision.recheck_s is not None:
            self.look_again(0.0 if is_waiting else decision.recheck_s or 0.0)
        if self.gang.may_overlook:
            self._remind()
        if self.refusals:
            self.memory.refusals += 1
            raise RefusedStepError("; ".join(self.refusals))
        self.memory.refusals = 0

    def record(self, kind: str, reason: str, message: str) -> None:
        self.record_event(self.job, type=kind, reason=reason, message=message, component=COMPONENT)

    # What is there

    def _group(self) -> Object | None:
        if not self.gang.group_api:
            return None
        try:
            group = self.api.get(_GROUPS[self.gang.group_api], self.gang.group_name(self.job), self.namespace)
        except NotFoundError:
            return None
        memory = self.memory
        for condition in (group.get("status") or {}).get("conditions") or ():
            if condition["type"] == "Unschedulable" and memory.unschedulable != condition.get("message", ""):
                memory.unschedulable = condition["message"]
                text = f"PodGroup {self.namespace}:{self.name} unschedulable, reason: {condition['message']}"
                self.record("Warning", "PodGroupPending", text)
        return group

    def _group_phase(self, group: Object | None) -> str | None:
        """As `decide` wants it: a scheduler that lets no group in gets the pods at once."""
        if self.gang.admits_group:
            return None if group is None else (group.get("status") or {}).get("phase", "")
        return _LET_IN

    def _pods(self) -> list[PodView]:
        return self.known.pods(self.key, self.uid)

    def _known_evictions(self, pods: Sequence[PodView]) -> list[Evicted]:
        known = self.known.evictions(self.uid)
        if self.is_first and not known:
            return lost_between(self.view, pods, recorded_pods(self.job.get("status") or {}), self.now)
        return known

    @property
    def plugins(self) -> list[JobPlugin]:
        if self._plugins is None:
            self._plugins = job_plugins(self.job, self.take_key)
        return self._plugins

    # What is to be done

    def _carry_out(self, decision: Decision, group: Object | None) -> SetState:
        state = unchanged(self.view)
        creating = [action for action in decision.actions if isinstance(action, CreatePod)]
        self._done += [action for action in decision.actions if isinstance(action, _ONCE)]
        failed: list[str] = []
        for action in decision.actions:
            match action:
                case AddPluginObjects():
                    self._attempt("PluginError", "Execute plugin when job add failed, err: ", self._add_plugin_objects)
                case RemovePluginObjects():
                    self._remove_plugin_objects()
                case PutPodGroup(waiting_tasks=waiting) if not self.refusals:
                    self._put_group_or_say(group, waiting)
                case DeletePodGroup():
                    self._delete_group(group)
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
        self._has_put_beside = True
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

    def _put_group_or_say(self, group: Object | None, waiting: tuple[str, ...]) -> None:
        if self.gang.admits_group:
            self._put_group(group, waiting)
        else:  # another project's PodGroup, which may not be installed
            self._attempt("FailedCreate", "the job's PodGroup: ", lambda: self._put_group(group, waiting))

    def _put_group(self, group: Object | None, waiting: tuple[str, ...]) -> None:
        if not self.gang.group_api:
            return
        resource, wanted = _GROUPS[self.gang.group_api], self.gang.group(self.job, waiting, self._priority)
        if group is None:
            try:
                with self.known.own_doing():
                    self.api.create(resource, wanted, self.namespace)
            except AlreadyExistsError:
                pass
            return
        spec = wanted["spec"]
        if "queue" in spec:
            # A namespace may have put the group into another queue than the job's.
            spec["queue"] = group["spec"].get("queue", spec["queue"])
        if any(group["spec"].get(key) != value for key, value in spec.items()):
            self.api.replace(resource, {**group, "spec": {**group["spec"], **spec}}, self.namespace)

    def _remind(self) -> None:
        """Have the scheduler look again at pods that have all been there for a while, and have no node."""
        reminder = self.memory.reminder
        if reminder.is_due(self.known.without_node(self.key, self.uid, least=least(self.job)), self.now):
            group = self._group()
            if group is not None:
                notes = group["metadata"].get("annotations") or {}
                count = str(notes.get(NOTE, ""))  # users may change it
                notes = {**notes, NOTE: str(int(count) + 1 if count.isdecimal() else 1)}
                changed = {**group, "metadata": {**group["metadata"], "annotations": notes}}
                self.api.replace(_GROUPS[self.gang.group_api], changed, self.namespace)
        if (left_s := reminder.left_s(self.now)) is not None:
            self.look_again(left_s)

    def _priority(self, name: str) -> int:
        try:
            return int(self.api.get(PRIORITY_CLASSES, name)["value"])
        except NotFoundError:
            return 0

    def _delete_group(self, group: Object | None) -> None:
        if not self.gang.group_api or (group is None and not self.gang.admits_group):
            return
        try:
            with self.known.own_doing():
                self.api.delete(_GROUPS[self.gang.group_api], self.gang.group_name(self.job), self.namespace)
        except NotFoundError:
            pass

    def _create_pod(self, action: CreatePod, failed: list[str]) -> None:
        task = next(task for task in self.job["spec"]["tasks"] if task["name"] == action.task)
        name = pod_name(self.job, action.task, action.index)
        try:
            pod = self.gang.pod(build_pod(self.job, task, action.index, self.plugins), self.job)
            with self.known.own_doing():
                made = self.api.create(PODS, pod, self.namespace)
        except AlreadyExistsError:
            # Ours, and not reported yet; or another's, for whose end the job waits.
            self.look_again(_NAME_TAKEN_RECHECK_S)
            return
        except (ApiError, PluginError) as error:
            if isinstance(error, ConflictError) or (isinstance(error, ApiError) and error.code >= 500):
                raise
            failed.append(f"failed to create pod {name}, err: {error}")
            return
        self.known.put_pod(self.key, made)

    def _kill_pod(self, action: KillPod) -> None:
        mark = {"metadata": {"uid": action.uid, "annotations": {OUT_OF_SYNC: "true"}}}
        try:
            self.api.patch(PODS, action.name, mark, self.namespace)
            self.api.delete(PODS, action.name, self.namespace, uid=action.uid)
        except NotFoundError:
            pass

    def _announce(self, action: Announce) -> None:
        memory = self.memory
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

    def _is_settled(self, status: Object, group: Object | None) -> bool:
        """Whether nothing follows from the job's new status as such."""
        if status == self.before or group is None:
            return False
        view = job_view({**self.job, "status": status})
        following = decide(view, self._pods(), self._group_phase(group), now=self.now)
        is_done = all(action in self._done or action == unchanged(view) for action in following.actions)
        return is_done and following.recheck_s is None

    def _may_say_more_soon(self, group: Object | None) -> bool:
        """Whether this is a new job whose group has just been made, and nothing else: a kill here leads to the same."""
        is_new = self.is_first and not self.before and group is None and self.gang.admits_group
        has_group = any(isinstance(action, PutPodGroup) for action in self._done)
        return is_new and has_group and not self.refusals and not self._has_put_beside

    def _write_status(self, status: Object, *, is_settled: bool) -> None:
        if status == self.before:
            return
        try:
            with self.known.own_doing() if is_settled else nullcontext():
                self.api.replace(VOLCANO_JOBS, {**self.job, "status": status}, self.namespace, subresource="status")
        except NotFoundError:
            pass


def _unschedulable_since(group: Object | None) -> datetime | None:
    for condition in ((group or {}).get("status") or {}).get("conditions") or ():
        if condition["type"] == "Unschedulable":
            return parse_rfc3339(condition["lastTransitionTime"])
    return None
