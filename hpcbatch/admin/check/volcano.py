"""Volcano's components: which version runs, and whether each of them is at work."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from hpcbatch.admin.check.cluster import Cluster
from hpcbatch.admin.check.finding import Finding, Reporter, one_line
from hpcbatch.admin.check.probe import Probe, probe_security, temporary_namespace
from hpcbatch.admin.check.queues import DEFAULT
from hpcbatch.api.port import Object
from hpcbatch.api.resources import DEPLOYMENTS, LEASES, PODGROUPS, PODS, VOLCANO_JOBS
from hpcbatch.errors import ApiError
from hpcbatch.units import parse_rfc3339

_VERSION = Reporter("volcano-version")
_ABSENCE = Reporter("without-volcano")
_CONTROLLERS, _SCHEDULER = Reporter("volcano-controllers"), Reporter("volcano-scheduler")
SCHEDULER_NAME = "volcano"
"""What our pods carry as schedulerName."""
OLDEST = (1, 10)
"""The first release whose svc plugin and job policies do all that the job template requests."""
_NAMESPACE = "volcano-system"
_IMAGE = re.compile(r"vc-(scheduler|controller-manager|webhook-manager)(?::v?(\d+)\.(\d+)[^@]*)?(?:@.*)?$")
_LEASES = {"vc-controller-manager": _CONTROLLERS, SCHEDULER_NAME: _SCHEDULER}
_ANSWER_S = 20.0
_RESTART = "kubectl -n {} rollout restart deployment {}; kubectl -n {} logs deployment/{}"


def version(cluster: Cluster) -> Iterable[Finding]:
    if cluster.is_embedded:
        yield _VERSION.ok("Volcano", "hpcbatch's own, part of the engine")
        return
    yield from judge_deployments(cluster.api.list(DEPLOYMENTS).items)


def judge_deployments(deployments: Sequence[Object]) -> Iterator[Finding]:
    """Versions by the image tags, and whether there are pods. In any namespace: that is the admin's choice."""
    parts = [(name, found, deployment) for deployment in deployments for name, found in _parts(deployment)]
    if not parts:
        yield _VERSION.unknown(
            "Volcano", "not known: no Deployment runs its images, so it runs outside of the cluster, or not at all"
        )
    for name, found, deployment in parts:
        meta = deployment["metadata"]
        subject = f"Volcano's {name}"
        where = f"{meta['namespace']}/{meta['name']}"
        if not (deployment.get("status") or {}).get("availableReplicas"):
            mend = f"kubectl -n {meta['namespace']} describe deployment {meta['name']}"
            yield _VERSION.error(subject, f"no pod of Deployment {where} is available", mend)
        if found is None:
            yield _VERSION.unknown(subject, f"the image of {where} has no version for a tag")
        elif found < OLDEST:
            wanted = ".".join(map(str, OLDEST))
            seen = f"{'.'.join(map(str, found))}, older than {wanted}"
            yield _VERSION.error(subject, seen, "helm upgrade volcano volcano-sh/volcano -n " + meta["namespace"])
        else:
            yield _VERSION.ok(subject, ".".join(map(str, found)))
        if name == "scheduler" and SCHEDULER_NAME not in _scheduler_names(deployment):
            yield _VERSION.error(
                subject,
                f"{where} serves other pods than those of schedulerName {SCHEDULER_NAME}",
                f"start it with --scheduler-name={SCHEDULER_NAME} (or without that flag)",
            )


def absent(cluster: Cluster) -> Iterable[Finding]:
    """Where hpcbatch makes the pods of Volcano Jobs, Volcano must not."""
    if not cluster.is_embedded:
        yield from judge_absence(cluster.api.list(DEPLOYMENTS).items, str(cluster.scheduler))


def judge_absence(deployments: Sequence[Object], scheduler: str) -> Iterator[Finding]:
    found = [one for one in deployments if any(name == "controller-manager" for name, _ in _parts(one))]
    for deployment in found:
        meta = deployment["metadata"]
        seen = f"Deployment {meta['namespace']}/{meta['name']} runs them, which make pods of hpcbatch's jobs, too"
        mend = f"remove Volcano, or `scheduler: volcano` in site.yaml instead of {scheduler}"
        yield _ABSENCE.error("Volcano's controllers", seen, mend)
    if not found:
        yield _ABSENCE.ok("Volcano's controllers", "no Deployment runs them: hpcbatch's controller makes the pods")


def _parts(deployment: Object) -> Iterator[tuple[str, tuple[int, int] | None]]:
    for container in deployment["spec"]["template"]["spec"]["containers"]:
        if match := _IMAGE.search(str(container.get("image", ""))):
            yield match[1], (int(match[2]), int(match[3])) if match[2] else None


def _scheduler_names(deployment: Object) -> list[str]:
    words = [
        str(word)
        for container in deployment["spec"]["template"]["spec"]["containers"]
        for word in [*(container.get("command") or []), *(container.get("args") or [])]
    ]
    named = re.findall(r"--scheduler-name[= ]([^\s\"']+)", " ".join(words))
    return named or [SCHEDULER_NAME]


def at_work(cluster: Cluster) -> Iterable[Finding]:
    """Whether the controllers and the scheduler do something."""
    if cluster.options.probes:
        with temporary_namespace(cluster) as probe:
            yield from _try_a_job(probe, cluster)
    else:
        leases = {lease["metadata"]["name"]: lease for lease in cluster.api.list(LEASES, _NAMESPACE).items}
        yield from judge_leases(leases, cluster.now)


def judge_leases(leases: Mapping[str, Object], now: datetime) -> Iterator[Finding]:
    """What the leaders' Leases tell when nothing may be tried; components without leader election have none."""
    for name, say in _LEASES.items():
        subject = f"Volcano's {'scheduler' if name == SCHEDULER_NAME else 'controllers'}"
        spec = leases.get(name, {}).get("spec") or {}
        if not spec.get("renewTime"):
            yield say.unknown(subject, f"no Lease {_NAMESPACE}/{name} tells; without --no-probes a job is tried")
            continue
        age_s = (now - parse_rfc3339(str(spec["renewTime"]))).total_seconds()
        if age_s <= 2 * float(spec.get("leaseDurationSeconds") or 15):
            yield say.ok(subject, "its leader holds a fresh Lease")
        else:
            yield say.error(subject, f"its leader has not renewed its Lease for {age_s:.0f} s", _mend(subject))


def _try_a_job(probe: Probe, cluster: Cluster) -> Iterator[Finding]:
    """A job whose pod fits nowhere: the controllers give it a phase, the scheduler its PodGroup one, and its pod an
    answer. No container runs, no image is needed.
    """
    try:
        probe.create(VOLCANO_JOBS, _unplaceable_job(probe.name))
    except ApiError as error:
        if "cannot create resource" in error.message:
            raise
        yield _CONTROLLERS.unknown("Volcano's controllers", f"the job to try is refused: {one_line(error.message)}")
        yield _SCHEDULER.unknown("Volcano's scheduler", "there is no job to try it with")
        return

    def job_phase() -> str:
        job = cluster.api.get(VOLCANO_JOBS, probe.name, probe.namespace)
        return str(((job.get("status") or {}).get("state") or {}).get("phase") or "")

    def group_phase() -> str:
        groups = cluster.api.list(PODGROUPS, probe.namespace).items
        return str(next(((group.get("status") or {}).get("phase") for group in groups), "") or "")

    def pod_answer() -> bool:
        return any(is_looked_at(pod) for pod in cluster.api.list(PODS, probe.namespace).items)

    subject = "Volcano's controllers"
    if not probe.wait(job_phase, _ANSWER_S):
        seen = f"a new job gets no phase within {_ANSWER_S:.0f} s"
        yield _CONTROLLERS.error(subject, seen, _mend(subject))
        yield _SCHEDULER.unknown("Volcano's scheduler", "without the controllers it has nothing to do")
        return
    yield _CONTROLLERS.ok(subject, "a new job got its phase")
    subject = "Volcano's scheduler"
    phase = probe.wait(group_phase, _ANSWER_S)
    if not phase:
        seen = f"a new PodGroup gets no phase within {_ANSWER_S:.0f} s"
        yield _SCHEDULER.error(subject, seen, _mend(subject))
    elif phase == "Pending":
        yield _SCHEDULER.warning(
            subject,
            f"it answers, but lets no new job into queue {DEFAULT}: no room in the queue or the cluster",
            f"vcctl queue get --name {DEFAULT}; kubectl describe queue {DEFAULT}",
        )
    elif probe.wait(pod_answer, _ANSWER_S):
        yield _SCHEDULER.ok(subject, f"it looks at pods with schedulerName {SCHEDULER_NAME}")
    else:
        yield _SCHEDULER.error(
            subject,
            f"it looks at PodGroups, but not at pods with schedulerName {SCHEDULER_NAME}",
            f"start it with --scheduler-name={SCHEDULER_NAME}",
        )


def is_looked_at(pod: Object) -> bool:
    """Whether a scheduler has said something about the pod."""
    if (pod.get("spec") or {}).get("nodeName"):
        return True
    conditions = (pod.get("status") or {}).get("conditions") or []
    return any(condition.get("type") == "PodScheduled" for condition in conditions)


def _unplaceable_job(name: str) -> Object:
    pod, container = probe_security()
    template = {
        "spec": {
            "restartPolicy": "Never",
            "automountServiceAccountToken": False,
            "nodeSelector": {"hpcbatch.io/check": "fits-nowhere"},
            "securityContext": pod,
            "containers": [
                {
                    "name": "main",
                    "image": "hpcbatch.io/none",
                    "command": ["/bin/true"],
                    "securityContext": container,
                    "resources": {"requests": {"cpu": "1m"}},
                }
            ],
        }
    }
    return {
        "metadata": {"name": name},
        "spec": {
            "schedulerName": SCHEDULER_NAME,
            "queue": DEFAULT,
            "minAvailable": 1,
            "tasks": [{"name": "main", "replicas": 1, "template": template}],
        },
    }


def _mend(subject: str) -> str:
    name = "volcano-scheduler" if "scheduler" in subject else "volcano-controllers"
    return _RESTART.format(_NAMESPACE, name, _NAMESPACE, name)
