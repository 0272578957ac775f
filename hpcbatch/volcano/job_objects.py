"""The pods and the PodGroup of a Volcano Job, with the names, labels and annotations that Volcano gives them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from hpcbatch.clone import clone
from hpcbatch.volcano.amounts import Amounts, Object, add, pod_limits, pod_requests, write_amounts
from hpcbatch.volcano.plugins.base import JobPlugin, owner_reference, pod_name

GROUP_ANNOTATION = "scheduling.k8s.io/group-name"
OUT_OF_SYNC = "volcano.sh/controller-out-of-sync"
VERSION = "volcano.sh/job-version"
JOB_NAME, JOB_NAMESPACE = "volcano.sh/job-name", "volcano.sh/job-namespace"
TASK_SPEC, TASK_INDEX = "volcano.sh/task-spec", "volcano.sh/task-index"
QUEUE_NAME = "volcano.sh/queue-name"
_FROM_JOB = (
    "volcano.sh/preemptable",
    "volcano.sh/cooldown-time",
    "volcano.sh/revocable-zone",
    "volcano.sh/jdb-min-available",
)
_JOB_API, _JOB_KIND = "batch.volcano.sh/v1alpha1", "Job"


def pod_group_name(job: Object) -> str:
    return f"{job['metadata']['name']}-{job['metadata']['uid']}"


def controlling_job(obj: Object) -> Object | None:
    """The ownerReference of the Volcano Job that controls `obj`; None if none does."""
    for reference in obj["metadata"].get("ownerReferences") or ():
        if reference.get("controller") and (reference["apiVersion"], reference["kind"]) == (_JOB_API, _JOB_KIND):
            found: Object = reference
            return found
    return None


def build_pod(job: Object, task: Object, index: int, plugins: Iterable[JobPlugin]) -> Object:
    """The pod `index` of `task`, to be created for the job's current version."""
    spec, meta, status = job["spec"], job["metadata"], job.get("status") or {}
    template = task["template"]
    template_meta = template.get("metadata") or {}
    group = pod_group_name(job)
    labels = {
        JOB_NAME: meta["name"],
        JOB_NAMESPACE: meta["namespace"],
        QUEUE_NAME: spec["queue"],
        TASK_INDEX: str(index),
        TASK_SPEC: task["name"],
    }
    annotations = {
        GROUP_ANNOTATION: group,
        JOB_NAME: meta["name"],
        "volcano.sh/job-retry-count": str(status.get("retryCount", 0)),
        VERSION: str(status.get("version", 0)),
        QUEUE_NAME: spec["queue"],
        TASK_INDEX: str(index),
        TASK_SPEC: task["name"],
        "volcano.sh/template-uid": f"{meta['name']}-{task['name']}",
    }
    job_annotations = meta.get("annotations") or {}
    annotations |= {key: job_annotations[key] for key in _FROM_JOB if key in job_annotations}
    if "volcano.sh/preemptable" in (meta.get("labels") or {}):
        labels["volcano.sh/preemptable"] = meta["labels"]["volcano.sh/preemptable"]
    if task.get("topologyPolicy"):
        annotations["volcano.sh/numa-topology-policy"] = task["topologyPolicy"]
    if task.get("partitionPolicy"):
        labels["volcano.sh/partition-id"] = str(index // task["partitionPolicy"]["partitionSize"])
    pod: Object = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": pod_name(job, task["name"], index),
            "namespace": meta["namespace"],
            "labels": (template_meta.get("labels") or {}) | labels,
            "annotations": (template_meta.get("annotations") or {}) | annotations,
            "ownerReferences": [owner_reference(job)],
        },
        "spec": clone(template.get("spec") or {}),
    }
    if not pod["spec"].get("schedulerName"):
        pod["spec"]["schedulerName"] = spec["schedulerName"]
    if spec.get("priorityClassName") and not pod["spec"].get("priorityClassName"):
        pod["spec"]["priorityClassName"] = spec["priorityClassName"]
    for plugin in plugins:
        pod = plugin.on_pod_create(pod, job)
    return pod


def pod_group_spec(
    job: Object, waiting_tasks: Collection[str] = (), priority_of: Callable[[str], int] = lambda _: 0
) -> Object:
    """The PodGroup's spec. `waiting_tasks` are delayed by a dependsOn: they are not part of the gang until they may
    start, because a gang with them could never be complete. `priority_of` returns the value of a PriorityClass.
    """
    spec = job["spec"]
    tasks = [task for task in spec["tasks"] if task["name"] not in waiting_tasks]
    least = {task["name"]: min_available(task) for task in tasks}
    result: Object = {
        "minResources": write_amounts(_min_resources(job, tasks, least, priority_of)),
        "minTaskMember": least,
        "queue": spec["queue"],
    }
    members = spec.get("minAvailable", 0)
    if waiting_tasks:
        members = min(members, sum(least.values()))
    if members:
        result["minMember"] = members
    for key in ("priorityClassName", "networkTopology"):
        if spec.get(key):
            result[key] = spec[key]
    groups = [_sub_group(task) for task in tasks if task.get("partitionPolicy")]
    if groups:
        result["subGroupPolicy"] = groups
    return result


def build_pod_group(job: Object, spec: Object) -> Object:
    meta = job["metadata"]
    metadata = {"name": pod_group_name(job), "namespace": meta["namespace"], "ownerReferences": [owner_reference(job)]}
    for key in ("labels", "annotations"):
        if meta.get(key):
            metadata[key] = dict(meta[key])
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": metadata,
        "spec": spec,
        "status": {},
    }


def min_available(task: Mapping[str, object]) -> int:
    """A task's own minimum; absent, all of its replicas."""
    value = task.get("minAvailable", task.get("replicas", 0))
    return value if isinstance(value, int) else 0


def _min_resources(
    job: Object, tasks: list[Object], least: Mapping[str, int], priority_of: Callable[[str], int]
) -> Amounts:
    """The requests of the first minAvailable pods, by descending priority class; as quota keys too."""

    def priority(task: Object) -> int:
        name = (task["template"].get("spec") or {}).get("priorityClassName") or job["spec"].get("priorityClassName")
        return priority_of(name) if name else 0

    wanted = job["spec"].get("minAvailable", 0)
    total: Amounts = {}
    # each task's own minimum first: only then has the gang that the scheduler may bind this size
    order = sorted(tasks, key=priority, reverse=True)
    takes = {task["name"]: 0 for task in order}
    for limit in (least, {task["name"]: task.get("replicas", 0) for task in order}):
        for task in order:
            more = min(wanted, limit[task["name"]] - takes[task["name"]])
            takes[task["name"]] += max(0, more)
            wanted -= max(0, more)
    for task in order:
        spec, count = task["template"].get("spec") or {}, takes[task["name"]]
        if not count:
            continue
        requests, limits = pod_requests(spec), pod_limits(spec)
        add(total, requests, count)
        add(total, {f"requests.{name}": requests[name] for name in ("cpu", "memory") if name in requests}, count)
        add(total, {f"limits.{name}": limits[name] for name in ("cpu", "memory") if name in limits}, count)
        add(total, {"pods": 1, "count/pods": 1}, count)
    return total


def _sub_group(task: Object) -> Object:
    policy = task["partitionPolicy"]
    group: Object = {
        "name": task["name"],
        "labelSelector": {"matchLabels": {TASK_SPEC: task["name"]}},
        "matchLabelKeys": ["volcano.sh/partition-id"],
        "minSubGroups": policy.get("minPartitions", 0),
        "subGroupSize": policy["partitionSize"],
    }
    return group | ({"networkTopology": policy["networkTopology"]} if policy.get("networkTopology") else {})
