"""Admission of Volcano's objects: the defaults of its webhooks, and their refusals with Volcano's messages.

A refusal is HTTP 400 without a reason, as a webhook's is; refusals by the CRD's schema (422) come between the two
steps and are not repeated here. Pure: queues are looked up through functions that the caller passes in.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hpcbatch.clone import clone
from hpcbatch.errors import ApiError, HpcBatchError
from hpcbatch.units import parse_quantity
from hpcbatch.volcano.amounts import lacking, read_amounts
from hpcbatch.volcano.job_shape import JOB_SPEC, QUEUE_SPEC, check_shape, without_nulls
from hpcbatch.volcano.plugins import BUILTIN, plugin_names
from hpcbatch.volcano.plugins.base import read_flags

Object = dict[str, Any]
FindQueue = Callable[[str], Object | None]
ChildQueues = Callable[[str], Sequence[str]]

_MUTATE_JOB, _VALIDATE_JOB = "mutatejob.volcano.sh", "validatejob.volcano.sh"
_MUTATE_QUEUE, _VALIDATE_QUEUE = "mutatequeue.volcano.sh", "validatequeue.volcano.sh"
_EVENTS = ("PodFailed", "PodEvicted", "PodPending", "Unknown", "TaskCompleted", "TaskFailed", "JobUpdated", "*")
_ACTIONS = (
    "AbortJob",
    "RestartJob",
    "RestartTask",
    "RestartPod",
    "RestartPartition",
    "TerminateJob",
    "CompleteJob",
    "ResumeJob",
)
_LABEL_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LABEL_TEXT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
_SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)


def _denied(webhook: str, message: str) -> ApiError:
    return ApiError(400, "", f'admission webhook "{webhook}" denied the request: {message.rstrip()}')


# Jobs: defaults


def mutate_job(job: Object) -> Object:
    """A new job with Volcano's defaults. Refuses values of a type that Go cannot read."""
    if job.get("spec") is None:
        raise ApiError(
            500,
            "InternalError",
            'Internal error occurred: add operation does not apply: doc is missing path: "/spec/queue": missing value',
        )
    try:
        check_shape(job["spec"], JOB_SPEC, "spec")
    except HpcBatchError as error:
        raise _denied(_MUTATE_JOB, str(error)) from None
    spec = without_nulls(job["spec"])
    job = {**job, "spec": spec}
    for key, default in (("queue", "default"), ("schedulerName", "volcano"), ("maxRetry", 3)):
        if not spec.get(key):
            spec[key] = default
    _add_plugins(spec)
    tasks = spec.get("tasks") or []
    if any(_lacks_default(task) for task in tasks):
        spec["tasks"] = tasks = [_with_defaults(task, index) for index, task in enumerate(tasks)]
    if not spec.get("minAvailable"):
        least = sum(task.get("minAvailable", task.get("replicas", 0)) for task in tasks)
        # Go omits zero values.
        spec.pop("minAvailable", None)
        if least:
            spec["minAvailable"] = least
    return job


def _add_plugins(spec: Object) -> None:
    plugins = spec.get("plugins") or {}
    if plugins.keys() & {"tensorflow", "mpi", "pytorch", "ray"}:
        plugins.setdefault("svc", [])
    if "mpi" in plugins:
        plugins.setdefault("ssh", [])
    if plugins:
        spec["plugins"] = {name: list(arguments or ()) for name, arguments in plugins.items()}


def _lacks_default(task: Object) -> bool:
    pod = (task.get("template") or {}).get("spec") or {}
    wants_dns = bool(pod.get("hostNetwork")) and not pod.get("dnsPolicy")
    return not task.get("name") or task.get("minAvailable") is None or not task.get("maxRetry") or wants_dns


def _with_defaults(task: Object, index: int) -> Object:
    if not task.get("name"):
        task["name"] = f"default{index}"
    if not task.get("maxRetry"):
        task["maxRetry"] = 3
    partition = task.get("partitionPolicy") or {}
    if task.get("minAvailable") is None:
        least = task.get("replicas", 0)
        if partition.get("minPartitions"):
            least = partition["minPartitions"] * partition.get("partitionSize", 0)
        task["minAvailable"] = least
    if not task.get("replicas"):
        task.pop("replicas", None)
    template = task.get("template")
    if isinstance(template, dict):
        template.setdefault("metadata", {})
        pod = template.get("spec") or {}
        if pod.get("hostNetwork") and not pod.get("dnsPolicy"):
            pod["dnsPolicy"] = "ClusterFirstWithHostNet"
        for container in [*(pod.get("containers") or ()), *(pod.get("initContainers") or ())]:
            container.setdefault("resources", {})
    return task


# Jobs: validation


def validate_job(job: Object, *, find_queue: FindQueue, child_queues: ChildQueues) -> None:
    """Refuse an invalid new job (defaults filled in), with all errors in one message."""
    spec, name = job["spec"], job["metadata"]["name"]
    if not spec.get("tasks"):
        raise _denied(_VALIDATE_JOB, "No task specified in job spec")
    _check_mpi(spec)
    topology = spec.get("networkTopology") or {}
    if topology.get("highestTierAllowed") is not None and topology.get("highestTierName"):
        raise _denied(
            _VALIDATE_JOB,
            "must not specify 'highestTierAllowed' and 'highestTierName' in networkTopology simultaneously",
        )
    message = _task_faults(spec, name)
    if spec.get("minAvailable", 0) > sum(task.get("replicas", 0) for task in spec["tasks"]):
        message += " job 'minAvailable' should not be greater than total replicas in tasks;"
    message += _policy_faults(spec.get("policies") or (), "spec.policies")
    message += "".join(
        f" unable to find job plugin: {plugin};" for plugin in plugin_names(job) if plugin not in BUILTIN
    )
    message += _volume_faults(spec.get("volumes") or ())
    message += _queue_faults(spec["queue"], find_queue, child_queues)
    if not _is_acyclic(spec["tasks"]):
        message += " job has dependencies between tasks, but doesn't form a directed acyclic graph(DAG);"
    if message:
        raise _denied(_VALIDATE_JOB, message.strip())


def _check_mpi(spec: Object) -> None:
    arguments = (spec.get("plugins") or {}).get("mpi")
    if arguments is None:
        return
    flags = read_flags(arguments, {"master": "master", "worker": "worker", "port": 22})
    names = {task.get("name") for task in spec["tasks"]}
    for role in ("master", "worker"):
        if flags[role] not in names:
            raise _denied(_VALIDATE_JOB, f"The specified mpi {role} task was not found")


def _task_faults(spec: Object, job_name: str) -> str:
    message, seen = "", set()
    for index, task in enumerate(spec["tasks"]):
        name, replicas = task["name"], task.get("replicas", 0)
        if task.get("minAvailable", replicas) > replicas:
            message += f" 'minAvailable' is greater than 'replicas' in task: {name}, job: {job_name};"
        if name in seen:
            return f"{message} duplicated task name {name};"
        seen.add(name)
        message += _policy_faults(task.get("policies") or (), "spec.tasks.policies")
        # Volcano checks the pod's name with the task's position in place of the pod's index.
        pod = f"{job_name}-{name}-{index}"
        if len(pod) > 63:
            message += f" create pod with name {pod} validate failed [name part must be no more than 63 characters];"
        if len(job_name) > 63 and index == 0:
            message += (
                f" create job with name {job_name} validate failed [name part must be no more than 63 characters]"
            )
        message += _template_faults(task.get("template") or {}, index)
        message += _topology_faults(task, index)
        partition = task.get("partitionPolicy")
        if partition and partition["totalPartitions"] * partition["partitionSize"] != replicas:
            message += f" 'Replicas' are not equal to TotalPartitions*PartitionSize in task: {name}, job: {job_name}"
    return message


def _policy_faults(policies: Sequence[Object], path: str) -> str:
    fault = _first_policy_fault(policies, path)
    if not fault:
        return ""
    return (
        f" 1 error occurred:\n\t* {fault}\n\n valid events are [{' '.join(_EVENTS)}], "
        f"valid actions are [{' '.join(_ACTIONS)}];"
    )


def _first_policy_fault(policies: Sequence[Object], path: str) -> str:
    events: set[str] = set()
    codes: set[int] = set()
    for policy in policies:
        named = [policy["event"]] if policy.get("event") else []
        named += [event for event in policy.get("events") or () if event not in named]
        code = policy.get("exitCode")
        if named and code is not None:
            return "must not specify event and exitCode simultaneously"
        if not named and code is None:
            return "either event and exitCode should be specified"
        if code is not None:
            if code == 0:
                return "0 is not a valid error code"
            if code in codes:
                return f"duplicate exitCode {code}"
            codes.add(code)
            continue
        for event in named:
            if event not in _EVENTS:
                return f'{path}: Invalid value: "{event}": invalid policy event'
            if policy.get("action", "") not in _ACTIONS:
                return f'{path}: Invalid value: "{policy.get("action", "")}": invalid policy action'
            if event in events:
                return f"duplicate event {event}  across different policy"
            events.add(event)
    if "*" in events and len(events) > 1:
        return "if there's * here, no other policy should be here"
    return ""


def _template_faults(template: Object, index: int) -> str:
    """The first error that Kubernetes would find in the pods."""
    faults: list[str] = []
    labels = (template.get("metadata") or {}).get("labels") or {}
    for text in labels.values():
        if len(text) > 63 or _LABEL_VALUE.fullmatch(text) is None:
            faults.append(f'labels: Invalid value: "{text}": {_LABEL_TEXT}')
    spec = template.get("spec") or {}
    if not spec.get("containers"):
        faults.append("spec.containers: Required value")
    policy = spec.get("restartPolicy")
    if policy and policy not in {"Always", "OnFailure", "Never"}:
        faults.append(
            f'spec.restartPolicy: Unsupported value: "{policy}": supported values: "Always", "OnFailure", "Never"'
        )
    for kind in ("containers", "initContainers"):
        for position, container in enumerate(spec.get(kind) or ()):
            faults += [f"spec.{kind}[{position}].{fault}" for fault in _container_faults(container)]
    return "".join(f" spec.task[{index}].template.{fault}." for fault in faults)


def _container_faults(container: Object) -> list[str]:
    faults = [f"{key}: Required value" for key in ("name", "image") if not container.get(key)]
    resources = container.get("resources") or {}
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    for name, text in requests.items():
        if name in limits and parse_quantity(text) > parse_quantity(limits[name]):
            faults.append(
                f'resources.requests: Invalid value: "{text}": must be less than or equal to {name} limit of '
                f"{limits[name]}"
            )
    return faults


def _topology_faults(task: Object, index: int) -> str:
    if task.get("topologyPolicy") in {None, "", "none"}:
        return ""
    containers = ((task.get("template") or {}).get("spec") or {}).get("containers") or ()
    return "".join(
        f" the cpu request isn't  an integer in spec.task[{index}] container[{position}]."
        for position, container in enumerate(containers)
        if parse_quantity(((container.get("resources") or {}).get("requests") or {}).get("cpu", 0)) % 1
    )


def _volume_faults(volumes: Sequence[Object]) -> str:
    message, paths = "", set()
    for volume in volumes:
        path, claim, name = volume.get("mountPath"), volume.get("volumeClaim"), volume.get("volumeClaimName")
        if path in paths:
            message += f" duplicated mountPath: {path};"
        paths.add(path)
        if not claim and not name:
            message += " either VolumeClaim or VolumeClaimName must be specified;"
        elif claim and name:
            message += (
                " conflict: If you want to use an existing PVC, just specify VolumeClaimName."
                "If you want to create a new PVC, you do not need to specify VolumeClaimName"
            )
        elif name and _SUBDOMAIN.fullmatch(name) is None:
            message += f" invalid VolumeClaimName {name} : [{_SUBDOMAIN_TEXT}]"
    if volumes and not message:
        message = (
            " spec.volumes: the embedded engine has no PersistentVolumeClaims; give each task's template a volume;"
        )
    return message


def _queue_faults(name: str, find_queue: FindQueue, child_queues: ChildQueues) -> str:
    queue = find_queue(name)
    if queue is None:
        return f' unable to find job queue: queue.scheduling.volcano.sh "{name}" not found;'
    state = (queue.get("status") or {}).get("state") or "Open"
    if state != "Open":
        return f" can only submit job to queue with state `Open`, queue `{name}` status is `{state}`;"
    if name == "root":
        return " can not submit job to root queue;"
    children = child_queues(name)
    if children:
        return f" can only submit job to leaf queue, queue `{name}` has {len(children)} child queues;"
    return ""


def _is_acyclic(tasks: Sequence[Object]) -> bool:
    left = {task["name"]: set((task.get("dependsOn") or {}).get("name") or ()) for task in tasks}
    while left:
        free = [name for name, needs in left.items() if not needs]
        if not free:
            return False
        for name in free:
            del left[name]
        for needs in left.values():
            needs.difference_update(free)
    return True


def validate_job_update(job: Object, old: Object) -> None:
    """Only the sizes of a job and its priority class may change."""
    new, was = job.get("spec") or {}, old["spec"]
    if new == was:
        return
    if len(new.get("tasks") or ()) != len(was["tasks"]):
        raise _denied(_VALIDATE_JOB, "job updates may not add or remove tasks")
    total = 0
    for task in new["tasks"]:
        replicas = task.get("replicas", 0)
        total += replicas
        if task.get("minAvailable", 0) > replicas:
            raise _denied(_VALIDATE_JOB, f"'minAvailable' must be <= 'replicas' in task: {task.get('name', '')}")
    if new.get("minAvailable", 0) > total:
        raise _denied(_VALIDATE_JOB, "job 'minAvailable' must not be greater than total replicas")
    if _fixed(new) != _fixed(was):
        text = "job updates may not change fields other than `minAvailable`, `tasks[*].replicas under spec` and `PriorityClassName`"  # noqa: E501
        raise _denied(_VALIDATE_JOB, text)


def _fixed(spec: Mapping[str, Any]) -> Object:
    kept = {key: value for key, value in spec.items() if key not in {"minAvailable", "priorityClassName", "tasks"}}
    kept["tasks"] = [
        {key: value for key, value in task.items() if key not in {"replicas", "minAvailable"}} for task in spec["tasks"]
    ]
    return kept


# Queues


def mutate_queue(queue: Object) -> Object:
    """A new queue with Volcano's defaults."""
    try:
        check_shape(queue.get("spec") or {}, QUEUE_SPEC, "spec")
    except HpcBatchError as error:
        raise _denied(_MUTATE_QUEUE, str(error)) from None
    queue = clone(queue)
    spec = queue.setdefault("spec", {})
    if not spec.get("weight"):
        spec["weight"] = 1
    for key, value in (("reclaimable", True), ("dequeueStrategy", "traverse"), ("parent", "root")):
        if spec.get(key) is None and not (key == "parent" and queue["metadata"].get("name") == "root"):
            spec[key] = value
    notes = queue["metadata"].get("annotations") or {}
    path, weights = (notes.get(f"volcano.sh/{name}", "") for name in ("hierarchy", "hierarchy-weights"))
    if path and not f"{path}/".startswith("root/"):
        notes["volcano.sh/hierarchy"] = f"root/{path}"
        notes["volcano.sh/hierarchy-weights"] = f"1/{weights}"
    return queue


def validate_queue(queue: Object, *, find_queue: FindQueue, has_pods: Callable[[str], bool]) -> None:
    """Refuse an invalid new or changed queue: its amounts or parent. `has_pods`: pods of it hold resources."""
    spec, name = queue.get("spec") or {}, queue["metadata"]["name"]
    _check_hierarchy(queue)
    faults = []
    for key in ("capability", "deserved"):
        for resource, text in (spec.get(key) or {}).items():
            if parse_quantity(text) < 0:
                faults.append(
                    f'requestBody.spec.{key}.{resource}: Invalid value: "{text}": must be greater than or equal to 0'
                )
    capability, deserved = read_amounts(spec.get("capability")), read_amounts(spec.get("deserved"))
    guarantee = read_amounts((spec.get("guarantee") or {}).get("resource"))
    if any(deserved.get(resource, 0) > limit for resource, limit in capability.items()):
        text = f'"{_go_resources(deserved)}": deserved should less equal than capability'
        faults.append(f"requestBody.spec.deserved: Invalid value: {text}")
    if lacking(guarantee, deserved) and name != "root":
        text = f'"{_go_resources(guarantee)}": guarantee should less equal than deserved'
        faults.append(f"requestBody.spec.guarantee: Invalid value: {text}")
    if faults:
        raise _denied(_VALIDATE_QUEUE, faults[0] if len(faults) == 1 else f"[{', '.join(faults)}]")
    _check_parent(name, spec.get("parent") or "", capability, find_queue, has_pods=has_pods)


def _check_parent(
    name: str, parent: str, capability: Mapping[str, int], find_queue: FindQueue, *, has_pods: Callable[[str], bool]
) -> None:
    if parent in {"", "root"}:
        return
    if parent == name:
        raise _denied(_VALIDATE_QUEUE, f"queue {name} cannot use itself as parent")
    above = find_queue(parent)
    if above is None:
        text = f'failed to get parent queue of queue {name}: queue.scheduling.volcano.sh "{parent}" not found'
        raise _denied(_VALIDATE_QUEUE, text)
    if has_pods(parent):
        text = f"queue {parent} cannot be the parent queue of queue {name} because it has allocated Pods"
        raise _denied(_VALIDATE_QUEUE, text)
    limit = read_amounts((above.get("spec") or {}).get("capability"))
    if any(amount > limit[resource] for resource, amount in capability.items() if resource in limit):
        raise _denied(
            _VALIDATE_QUEUE,
            f"queue {name} capability ({_go_resources(capability)}) exceeds parent queue {parent} capability "
            f"({_go_resources(limit)})",
        )


def _check_hierarchy(queue: Object) -> None:
    notes = queue["metadata"].get("annotations") or {}
    path, weights = notes.get("volcano.sh/hierarchy", ""), notes.get("volcano.sh/hierarchy-weights", "")
    where = "requestBody.metadata.annotations: Invalid value"
    if len(path.split("/")) != len(weights.split("/")):
        text = "volcano.sh/hierarchy must have the same length with volcano.sh/hierarchy-weights"
        raise _denied(_VALIDATE_QUEUE, f'{where}: "{path}": {text}')
    for weight in weights.split("/") if weights else ():
        try:
            good = float(weight) > 0
        except ValueError:
            good = False
        if not good:
            raise _denied(_VALIDATE_QUEUE, f'{where}: "{weights}": {weight} in the {weights} must be larger than 0')


def validate_queue_delete(name: str, children: Sequence[str]) -> None:
    if name in {"default", "root"}:
        raise _denied(_VALIDATE_QUEUE, f"`{name}` queue can not be deleted")
    if children:
        text = f"queue {name} can not be deleted because it has {len(children)} child queues: {', '.join(children)}"
        raise _denied(_VALIDATE_QUEUE, text)


def _go_resources(amounts: Mapping[str, int]) -> str:
    """Volcano's text of a resource: `cpu 2000.00, memory 0.00`."""
    more = [f", {name} {amount * 1000:.2f}" for name, amount in amounts.items() if name not in {"cpu", "memory"}]
    return f"cpu {amounts.get('cpu', 0):.2f}, memory {amounts.get('memory', 0):.2f}" + "".join(more)


# PodGroups


def mutate_pod_group(group: Object, namespace_annotations: Mapping[str, str]) -> Object:
    """A namespace may set the queue of its PodGroups that name none."""
    group = {**group}
    spec = group["spec"] = clone(group.get("spec") or {})
    if isinstance(spec, dict) and spec.get("queue") in {None, "", "default"}:
        spec["queue"] = namespace_annotations.get("scheduling.volcano.sh/queue-name") or "default"
    return group
