"""Whether the user's kubeconfig allows work with jobs: one finding per check, in order."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from hpcbatch.api import kubeconfig
from hpcbatch.api.client import HttpApi
from hpcbatch.api.credentials import RENEW, certificate_fault, certificate_life, explain_unauthorized
from hpcbatch.api.kubeconfig import Connection
from hpcbatch.api.port import Object
from hpcbatch.api.resources import ACCESS_REVIEWS, BATCHJOBS, NAMESPACES, SECRETS, SELF_REVIEWS, Resource
from hpcbatch.errors import ForbiddenError, HpcBatchError, NotFoundError, UnauthorizedError
from hpcbatch.typed import NamedTuple

_RENEW_BEFORE_H = 72


class Finding(NamedTuple):
    """`text` describes the state, or what is wrong and what to do about it."""

    is_ok: bool
    what: str
    text: str


def check(environ: Mapping[str, str]) -> Iterator[Finding]:
    """Run the checks one after the other, up to the first failure that makes the others meaningless."""
    try:
        connection = kubeconfig.load(environ)
        api = HttpApi(connection)
    except HpcBatchError as error:
        yield Finding(False, "kubeconfig", str(error))
        return
    files = os.pathsep.join(map(str, kubeconfig.find(environ))) or "the pod's service account"
    yield Finding(True, "kubeconfig", f"{files}: cluster {connection.cluster}, namespace {connection.namespace}")
    fault = ""
    for look in (_certificate, _server, _login, _installed, _namespace, _rights):
        try:
            finding = look(api, connection)
        except HpcBatchError as error:
            is_login = isinstance(error, UnauthorizedError) or '"system:anonymous"' in str(error)
            text = explain_unauthorized(connection) if is_login else str(error)
            if text != fault:
                yield Finding(False, "login" if is_login else look.__name__.removeprefix("_"), text)
            return
        if finding is None:
            continue
        yield finding
        if not finding.is_ok:
            fault = finding.text
            if look is not _certificate:  # an expired one does not prevent the check of the server
                return


def _certificate(_api: HttpApi, connection: Connection) -> Finding | None:
    pem = connection.client_cert_pem
    if not pem:
        return None
    now = datetime.now(UTC)
    if fault := certificate_fault(pem, now):
        return Finding(False, "certificate", fault)
    _, end = certificate_life(pem)
    hours = int((end - now).total_seconds() // 3600)
    left = f"{hours // 24} days" if hours >= 48 else f"{hours} hours"
    advice = f": {RENEW}" if hours < _RENEW_BEFORE_H else ""
    return Finding(True, "certificate", f"valid until {end:%Y-%m-%d %H:%M} UTC, {left} from now{advice}")


def _server(api: HttpApi, connection: Connection) -> Finding | None:
    begin = time.monotonic()
    try:
        version = api.version().get("gitVersion")
    except NotFoundError:
        version = None
    except ForbiddenError:  # a forbidden request still reached a server
        version = "of a version that you may not ask for"
    milliseconds = 1000 * (time.monotonic() - begin)
    if not isinstance(version, str):
        text = f"{connection.server} is no Kubernetes API server: is the kubeconfig's server right?"
        return Finding(False, "server", text)
    return Finding(True, "server", f"{connection.server}: Kubernetes {version}, answered in {milliseconds:.0f} ms")


def _login(api: HttpApi, _connection: Connection) -> Finding | None:
    review = _review(api, SELF_REVIEWS, {})
    if review is None:
        return None
    name = ((review.get("status") or {}).get("userInfo") or {}).get("username", "")
    return Finding(True, "login", f"you are {name}")


def _installed(api: HttpApi, connection: Connection) -> Finding | None:
    try:
        api.get(BATCHJOBS, "login-check", connection.namespace)
    except NotFoundError as error:
        if not error.details.get("name"):
            text = "this cluster does not run hpcbatch: it has no batchjobs.hpcbatch.io; ask its admin"
            return Finding(False, "hpcbatch", text)
    except ForbiddenError:
        pass  # the rights are checked further down
    return Finding(True, "hpcbatch", "batchjobs.hpcbatch.io is there")


def _namespace(api: HttpApi, connection: Connection) -> Finding | None:
    from hpcbatch.site.identity import identity_of

    name = connection.namespace
    try:
        identity = identity_of(api.get(NAMESPACES, name))
    except NotFoundError:
        return Finding(False, "namespace", f"there is no namespace {name}: {RENEW}")
    except ForbiddenError:
        text = f"{name} is not yours, you may not look at it: ask your admin to add or enable you"
        return Finding(False, "namespace", text)
    if identity.is_disabled:
        return Finding(False, "namespace", f"user {identity.user} is disabled: no new job is admitted; ask your admin")
    text = f"{name}: jobs run as {identity.user}, uid {identity.uid}, gid {identity.gid}, home {identity.home}"
    if os.getuid() not in {identity.uid, 0}:
        text += f" (here you are uid {os.getuid()}: files that jobs write are not yours)"
    return Finding(True, "namespace", text)


def _rights(api: HttpApi, connection: Connection) -> Finding | None:
    own, everywhere = connection.namespace, ""
    missing = [
        f"{verb} {resource.plural}"
        for resource, verb in ((BATCHJOBS, "create"), (BATCHJOBS, "patch"), (BATCHJOBS, "watch"), (SECRETS, "create"))
        if not _may(api, resource, verb, own)
    ]
    if missing:
        text = f"in {own} you may not {', '.join(missing)}: ask your admin to run `hpcbatch user add` for you again"
        return Finding(False, "jobs", text)
    seen = "all jobs" if _may(api, BATCHJOBS, "list", everywhere) else "your own jobs"
    return Finding(True, "jobs", f"you may submit, and see {seen}")


def _may(api: HttpApi, resource: Resource, verb: str, namespace: str) -> bool:
    attributes = {"group": resource.group, "resource": resource.plural, "verb": verb, "namespace": namespace}
    review = _review(api, ACCESS_REVIEWS, {"resourceAttributes": attributes})
    return review is None or bool((review.get("status") or {}).get("allowed"))


def _review(api: HttpApi, resource: Resource, spec: Mapping[str, object]) -> Object | None:
    """The reply; None if the server has no such reviews (SelfSubjectReview: Kubernetes before 1.28)."""
    body = {"apiVersion": resource.api_version, "kind": resource.kind, **({"spec": dict(spec)} if spec else {})}
    try:
        return api.create(resource, body)
    except NotFoundError:
        return None
