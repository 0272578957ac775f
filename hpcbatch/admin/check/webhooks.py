"""Volcano's admission webhooks: there, set to refuse when they fail, and answering."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from hpcbatch.admin.check.cluster import Cluster
from hpcbatch.admin.check.finding import Finding, Reporter, one_line
from hpcbatch.admin.check.queues import DEFAULT
from hpcbatch.api.port import Object
from hpcbatch.api.resources import MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS, VOLCANO_JOBS, Resource
from hpcbatch.errors import ApiError, ForbiddenError

_SAY = Reporter("volcano-webhooks")
_LOGS = "kubectl -n volcano-system get pods; kubectl -n volcano-system logs deployment/volcano-admission"
_INSTALL = "install Volcano with its admission: helm value custom.admission_enable true"
_FAIL = "kubectl edit {}: failurePolicy Fail, so that jobs wait instead of running unchecked"
_VALIDATED = "should not be greater"


def configured(cluster: Cluster) -> Iterable[Finding]:
    for resource, does in ((MUTATING_WEBHOOKS, "mutating"), (VALIDATING_WEBHOOKS, "validating")):
        yield from judge_configurations(cluster.api.list(resource).items, does, resource.plural)


def judge_configurations(found: Sequence[Object], does: str, plural: str) -> Iterator[Finding]:
    """`found` are all webhook configurations of one kind; `does` is "mutating" or "validating"."""
    subject = f"{does} webhook for Volcano Jobs"
    policies = list(_failure_policies(found))
    if not policies:
        yield _SAY.error(subject, "no configuration sends Volcano Jobs to it", _INSTALL)
    for name, policy in policies:
        if policy == "Fail":
            yield _SAY.ok(subject, f"{name}, failurePolicy Fail")
        else:
            seen = f"{name} has failurePolicy {policy}: while it is down, jobs come in unchecked"
            yield _SAY.warning(subject, seen, _FAIL.format(f"{plural} {name}"))


def _failure_policies(found: Sequence[Object]) -> Iterator[tuple[str, str]]:
    """Name of the configuration and failurePolicy of each webhook that gets new Volcano Jobs."""
    for configuration in found:
        for hook in configuration.get("webhooks") or []:
            if any(_takes_jobs(rule) for rule in hook.get("rules") or []):
                yield configuration["metadata"]["name"], hook.get("failurePolicy", "Fail")


def _takes_jobs(rule: Object) -> bool:
    def names(part: str) -> set[str]:
        return set(rule.get(part) or [])

    return (
        bool(names("apiGroups") & {VOLCANO_JOBS.group, "*"})
        and bool(names("resources") & {"jobs", "*", "*/*"})
        and bool(names("operations") & {"CREATE", "*"})
    )


def answering(cluster: Cluster) -> Iterable[Finding]:
    """Two server-side dry runs: a good job must come back with its defaults, a bad one be refused."""
    good = _dry_run(cluster, replicas=1, min_available=None)
    yield judge_good(*good, is_optional=_is_optional(cluster, MUTATING_WEBHOOKS))
    bad = _dry_run(cluster, replicas=1, min_available=2)
    yield judge_bad(*bad, is_optional=_is_optional(cluster, VALIDATING_WEBHOOKS))


def _is_optional(cluster: Cluster, resource: Resource) -> bool:
    """Whether the API server goes on without the webhook when it does not answer."""
    if cluster.is_embedded:
        return False
    try:
        return any(policy == "Ignore" for _, policy in _failure_policies(cluster.api.list(resource).items))
    except ForbiddenError:
        return False  # said by the check of the configurations


def judge_good(answer: Object | None, error: ApiError | None, *, is_optional: bool = False) -> Finding:
    """`answer` or `error` to a job that leaves out all that the mutating webhook fills in. Where the webhook may be
    left out (`is_optional`), jobs run without it: a warning."""
    subject = "mutating webhook"
    if answer is None:
        return _refused(subject, error)
    spec = answer.get("spec") or {}
    task = (spec.get("tasks") or [{}])[0]
    missing = [name for name in ("queue", "maxRetry", "minAvailable") if not spec.get(name)]
    missing += [] if task.get("minAvailable") else ["tasks[0].minAvailable"]
    if missing:
        return _silent(subject, f"a new job comes back without {', '.join(missing)}", is_optional)
    return _SAY.ok(subject, "it fills in a new job's defaults")


def judge_bad(answer: Object | None, error: ApiError | None, *, is_optional: bool = False) -> Finding:
    """`answer` or `error` to a job that wants more pods than it has."""
    subject = "validating webhook"
    if answer is not None:
        return _silent(subject, "a job that can never start is accepted", is_optional)
    if error is not None and _VALIDATED in error.message:
        return _SAY.ok(subject, "it refuses a bad job")
    return _refused(subject, error)


def _silent(subject: str, seen: str, is_optional: bool) -> Finding:
    say = _SAY.warning if is_optional else _SAY.error
    return say(subject, f"{seen}: it does not answer", _LOGS)


def _refused(subject: str, error: ApiError | None) -> Finding:
    text = "" if error is None else error.message
    if isinstance(error, ForbiddenError) and "admission webhook" not in text:
        raise error
    if "failed calling webhook" in text or "failed to call webhook" in text:
        return _SAY.error(subject, f"it does not answer: {one_line(text)}", _LOGS)
    if "does not support dry run" in text:
        return _SAY.unknown(subject, f"cannot be tried: {one_line(text)}")
    if "denied the request" in text and "queue" in text:
        return _SAY.ok(subject, f"it answers (but {one_line(text)})")
    return _SAY.error(subject, f"a job to try is refused: {one_line(text)}", _LOGS)


def _dry_run(cluster: Cluster, *, replicas: int, min_available: int | None) -> tuple[Object | None, ApiError | None]:
    container = {"name": "main", "image": "hpcbatch.io/none", "command": ["/bin/true"]}
    task = {"name": "main", "replicas": replicas, "template": {"spec": {"containers": [container]}}}
    job = {
        "apiVersion": VOLCANO_JOBS.api_version,
        "kind": VOLCANO_JOBS.kind,
        "metadata": {"name": "hpcbatch-check"},
        "spec": {"tasks": [task], **({} if min_available is None else {"minAvailable": min_available})},
    }
    try:
        # any namespace does: nothing is kept
        return cluster.api.create(VOLCANO_JOBS, job, DEFAULT, dry_run=True), None
    except ApiError as error:
        return None, error
