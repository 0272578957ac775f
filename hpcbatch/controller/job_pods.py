"""The pods of jobs as `decide` needs them: those in the cache, and the last known state of deleted ones."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from hpcbatch.api.informer import Informer
from hpcbatch.api.news import News
from hpcbatch.api.port import Api, Object, WatchEvent
from hpcbatch.api.resources import PODS
from hpcbatch.controller.own_writes import LAG_S
from hpcbatch.controller.records import Admitted
from hpcbatch.model.labels import JOB_ID_LABEL
from hpcbatch.model.node_marks import is_set_down
from hpcbatch.model.record import JobRecord
from hpcbatch.model.site import Launcher
from hpcbatch.policy.observed import Observed, PodView, VolcanoJobView
from hpcbatch.policy.plausible import NodeSize, node_size
from hpcbatch.policy.views import FirstTaken, is_preempted, is_ready, pod_news, pod_views, why_unplaced
from hpcbatch.volcano import job_names
from hpcbatch.volcano.job_objects import controlling_job

Key = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenPods:
    views: Sequence[PodView] = ()
    sizes: Mapping[str, NodeSize]
    """Sizes of their nodes, by name."""
    are_complete: bool
    """All pods of the job exist."""
    wanted: int
    """How many these are."""
    unplaced: Sequence[str] = ()
    """What the scheduler says of those that have no node."""


_ENDS_LAG_S = 2.0
"""How long a job's end waits for the watch of pods at most; it is as a rule some milliseconds behind."""
_AGAIN_S = 0.5
"""The next look at a job whose pods' last events are late; their coming leads to one at once."""
_BOUND_S, _ENDED_S = 0.3, 0.05
"""How long a pod that has its node mostly takes to start, and the end of a Volcano Job to follow its pod's."""


class JobPods:
    """All keys are keys of BatchJobs."""

    def __init__(self, api: Api, pods: Informer, nodes: Informer) -> None:
        self._api, self._pods, self._nodes = api, pods, nodes
        self._ended: dict[Key, dict[str, Object]] = {}  # of jobs whose pods are being deleted
        self._preempted: dict[Key, set[str]] = {}  # uids: a kubelet may overwrite that status
        self._first_taken: dict[Key, FirstTaken] = {}
        self._late: dict[Key, float] = {}  # since when the ends of pods are missing
        self._news = News()

    def is_news(self, event: WatchEvent) -> bool:
        """Whether a job's next step may follow from the event of a pod. To be asked once for each."""
        return self._news.is_new(event, pod_news(event.object))

    def on_event(self, key: Key, number: int, event: WatchEvent) -> None:
        """Handle an event of a pod of job `number`."""
        metadata = event.object["metadata"]
        if event.type == "DELETED":
            self._ended.setdefault(key, {})[metadata["name"]] = event.object
        if event.type == "ADDED":
            self._first_taken.pop(key, None)
        if "deletionTimestamp" in metadata:
            runs = _runs(self._pods.get(key[0], job_names.script_host(number)))
            self._first_taken.setdefault(key, FirstTaken(metadata["uid"], script_ran=runs))
        if is_preempted(event.object.get("status", {})):
            self._preempted.setdefault(key, set()).add(metadata["uid"])

    def forget(self, key: Key) -> None:
        """The BatchJob was deleted."""
        for known in (self._ended, self._first_taken, self._preempted, self._late):
            known.pop(key, None)

    def forget_ended(self, key: Key) -> None:
        """The run is over and will not be looked at again."""
        self._ended.pop(key, None)
        self._late.pop(key, None)

    def late_s(self, key: Key) -> float | None:
        """Seconds until the next look at a job of which `seen` found pods whose ends are not known yet; None: it is to
        be judged by what is known.
        """
        since = self._late.get(key)
        left_s = 0.0 if since is None else since + _ENDS_LAG_S - time.monotonic()
        return min(left_s, _AGAIN_S) if left_s > 0 else None

    def seen(self, job: Admitted, made: Object | None, volcano_job: VolcanoJobView | None) -> SeenPods:
        """The pods of the current run; `volcano_job` is the view of `made`."""
        record = job.record
        names = job_names.pod_names(
            record.job_id, record.status.layout, Launcher.SHARED if volcano_job is None else volcano_job.launcher
        )
        found = {name: self._pods.get(record.namespace, name) for name in names} if volcano_job else {}
        pods = {name: pod for name, pod in found.items() if pod is not None and _is_of(made, pod)}
        is_final = volcano_job is not None and volcano_job.is_final
        gone: Mapping[str, Object] = {}
        missing: set[str] = set()
        if is_final or job.obj["spec"].get("deleteRequested"):
            ended = self._ended_of(job.key, made)
            is_known = names[0] in ended or names[0] in pods
            if is_final and not (is_known and all(map(_has_ended, pods.values()))):
                # Each kind has its own watch: the job's end may be known here before the ends of its pods.
                fresh = {name: pod for name, pod in self._from_api(record).items() if _is_of(made, pod)}
                removed = {name for name, pod in pods.items() if name not in fresh and _runs(pod)}
                ended = self._ended_of(job.key, made)
                missing = removed - ended.keys()
                pods = {name: pod for name, pod in pods.items() if not (name in removed and name in ended)} | fresh
            gone = {name: pod for name, pod in ended.items() if name not in pods}
        self._note_late(job.key, missing)
        sizes = self._node_sizes((*pods.values(), *gone.values()))
        views = pod_views(
            (*pods.values(), *gone.values()),
            names,
            launcher=Launcher.SHARED if volcano_job is None else volcano_job.launcher,
            gone=gone,
            ready_nodes=self._nodes_of(pods, is_ready),
            down_nodes=self._nodes_of(pods, is_set_down),
            first_taken=self._first_taken.get(job.key),
            preempted=self._preempted.get(job.key, ()),
            sizes=sizes,
        )
        start_time = record.status.start_time
        return SeenPods(
            views=views if volcano_job is None else volcano_job.as_counted(views, len(names), start_time),
            sizes=sizes,
            are_complete=len(pods) >= len(names),
            wanted=len(names),
            unplaced=[text for pod in pods.values() if not pod["spec"].get("nodeName") and (text := why_unplaced(pod))],
        )

    def _ended_of(self, key: Key, made: Object | None) -> dict[str, Object]:
        """The deleted pods of this Volcano Job: those of the one before had the same names."""
        return {name: pod for name, pod in self._ended.get(key, {}).items() if _is_of(made, pod)}

    def _note_late(self, key: Key, missing: set[str]) -> None:
        """Pods that the cache shows running and the API has no more: only the events that are still to come tell how
        they ended, such as that one had too little memory.
        """
        if missing:
            self._late.setdefault(key, time.monotonic())
        else:
            self._late.pop(key, None)

    def running_first(self, record: JobRecord, seen: Observed) -> Object | None:
        """The pod that runs the script."""
        first = next((pod for pod in seen.pods if pod.index == 0), None)
        if first is None or first.started_at is None or first.has_ended or first.is_deleting:
            return None
        return self._pods.get(record.namespace, first.name)

    def last_seen_first(self, job: Admitted) -> Object | None:
        """The pod that ran the script, as last seen."""
        name = job_names.script_host(job.record.job_id)
        return self._pods.get(job.record.namespace, name) or self._ended.get(job.key, {}).get(name)

    def running(self, obj: Object) -> list[Object]:
        """The running pods of a BatchJob, including a launcher's."""
        first = job_names.script_host(int(obj["status"]["jobId"]))
        names = dict.fromkeys([first, *(host["pod"] for host in obj["status"].get("hosts") or ())])
        pods = (self._pods.get(obj["metadata"]["namespace"], name) for name in names)
        return [pod for pod in pods if _runs(pod) and pod is not None]

    def _from_api(self, record: JobRecord) -> dict[str, Object]:
        """The pods of a job by name, from the API instead of the cache."""
        listed = self._api.list(PODS, record.namespace, labels=f"{JOB_ID_LABEL}={record.job_id}")
        return {pod["metadata"]["name"]: pod for pod in listed.items}

    def _nodes_of(self, pods: Mapping[str, Object], test: Callable[[Object], bool]) -> set[str]:
        """Those nodes of `pods` that pass `test`."""
        found = {pod["spec"]["nodeName"]: None for pod in pods.values() if pod["spec"].get("nodeName")}
        nodes = {name: self._nodes.get(None, name) for name in found}
        return {name for name, node in nodes.items() if node is not None and test(node)}

    def _node_sizes(self, pods: Iterable[Object]) -> dict[str, NodeSize]:
        names = {pod["spec"].get("nodeName") for pod in pods}
        nodes = {name: self._nodes.get(None, name) for name in names if name}
        return {name: node_size(node) for name, node in nodes.items() if node is not None}


def next_event_s(event: WatchEvent) -> float:
    """How long a look at the job whose pod has changed may wait for the event that mostly follows, and says more: the
    pod gets its node, then it starts; after its end that of its Volcano Job comes.
    """
    pod = event.object
    if event.type == "DELETED" or "deletionTimestamp" in pod["metadata"]:
        return 0.0
    if _has_ended(pod):
        return _ENDED_S
    if not pod["spec"].get("nodeName"):
        return LAG_S if event.type == "ADDED" else 0.0
    return 0.0 if _runs(pod) else _BOUND_S


def _is_of(volcano_job: Object | None, pod: Object) -> bool:
    """Whether `pod` belongs to it and not to an earlier Volcano Job of the same name: pods have their own watch, which
    may report their end only after the next Volcano Job is known. True without a Volcano Job.
    """
    owner = controlling_job(pod)
    return volcano_job is None or owner is None or owner["uid"] == volcano_job["metadata"]["uid"]


def _runs(pod: Object | None) -> bool:
    return pod is not None and pod.get("status", {}).get("phase") == "Running"


def _has_ended(pod: Object) -> bool:
    return pod.get("status", {}).get("phase") in {"Succeeded", "Failed"}
