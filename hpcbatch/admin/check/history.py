"""The history of ended jobs: whether there is a database for it, and whether Kubernetes and the database answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hpcbatch.admin.check.cluster import CONTROLLER, Cluster
from hpcbatch.admin.check.finding import Finding, Reporter, one_line
from hpcbatch.api.history import ENDED_JOBS
from hpcbatch.api.port import Object
from hpcbatch.api.resources import API_SERVICES, BATCHJOBS, SECRETS
from hpcbatch.errors import ApiError, ForbiddenError, NotFoundError

_SAY = Reporter("history")
_API_SERVICE = f"{ENDED_JOBS.version}.{ENDED_JOBS.group}"
_SECRET, _KEY = "hpcbatch-history", "dsn"
_MANY = 5000
"""BatchJobs that listings and the API server's store begin to feel."""


def history(cluster: Cluster) -> Iterable[Finding]:
    service = _get_service(cluster)
    secret = _has_secret(cluster)
    if service is None:
        yield judge_absent(has_secret=secret, count=cluster.api.count(BATCHJOBS))
        return
    yield from judge_service(service, has_secret=secret, namespace=cluster.options.namespace)
    if not is_available(service):
        return
    try:
        count = cluster.api.count(ENDED_JOBS)
    except ForbiddenError:
        raise
    except ApiError as error:
        logs = f"kubectl -n {cluster.options.namespace} logs deployment/{CONTROLLER}"
        yield _SAY.error("history's database", f"{one_line(error.message)}: ended jobs cannot be looked up", logs)
    else:
        yield _SAY.ok("history's database", f"{count} ended jobs")


def _get_service(cluster: Cluster) -> Object | None:
    try:
        return cluster.api.get(API_SERVICES, _API_SERVICE)
    except NotFoundError:
        return None


def _has_secret(cluster: Cluster) -> bool | None:
    """None: may not be read."""
    try:
        return _KEY in (cluster.api.get(SECRETS, _SECRET, cluster.options.namespace).get("data") or {})
    except NotFoundError:
        return False
    except ForbiddenError:
        return None


def judge_absent(*, has_secret: bool | None, count: int) -> Finding:
    """Without the APIService; `count` is that of all BatchJobs."""
    if has_secret:
        seen = f"Secret {_SECRET} names a database, but commands cannot ask for the jobs that move there"
        return _SAY.error("history", seen, "kubectl apply -k deploy/history")
    seen = f"no database: ended jobs stay BatchJobs for as long as the site keeps them; there are {count}"
    if count <= _MANY:
        return _SAY.ok("history", seen)
    return _SAY.warning("history", seen, "give it a PostgreSQL database: docs/history.md")


def judge_service(service: Object, *, has_secret: bool | None, namespace: str) -> Iterator[Finding]:
    subject = f"APIService {_API_SERVICE}"
    if has_secret is False:
        seen = f"no Secret {namespace}/{_SECRET} with a {_KEY}: nobody serves it, and no namespace can be deleted"
        yield _SAY.error(subject, seen, "kubectl delete -k deploy/history, or make the Secret: docs/history.md")
    elif not is_available(service):
        seen = f"not available: {_why(service)}; meanwhile no namespace can be deleted"
        yield _SAY.error(subject, seen, f"kubectl -n {namespace} logs deployment/{CONTROLLER}")
    else:
        yield _SAY.ok(subject, "available")


def is_available(service: Object) -> bool:
    return _condition(service).get("status") == "True"


def _why(service: Object) -> str:
    return one_line(str(_condition(service).get("message") or "Kubernetes has not looked at it yet"))


def _condition(service: Object) -> Object:
    conditions = (service.get("status") or {}).get("conditions") or []
    return next((item for item in conditions if item.get("type") == "Available"), {})
