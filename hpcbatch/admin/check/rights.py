"""What the controller's ServiceAccount may do, asked by SubjectAccessReviews: all that it needs, and no key to all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from hpcbatch.admin.check.cluster import CONTROLLER, Cluster
from hpcbatch.admin.check.finding import Finding, Reporter
from hpcbatch.admin.check.storage import users_of
from hpcbatch.api.resources import SUBJECT_ACCESS_REVIEWS

_SAY = Reporter("controller-rights")
_APPLY = "kubectl apply -k deploy"


class Right(NamedTuple):
    group: str
    resource: str
    """With its subresource, `batchjobs/status`."""
    verbs: tuple[str, ...]


EVERYWHERE = (
    Right("hpcbatch.io", "batchjobs", ("list", "watch", "delete")),
    Right("hpcbatch.io", "batchjobs/status", ("update", "patch")),
    Right("hpcbatch.io", "reservations", ("get", "list", "watch", "delete")),
    Right("hpcbatch.io", "reservations/status", ("update", "patch")),
    Right("", "namespaces", ("get", "list", "watch")),
    Right("", "nodes", ("list", "watch")),
    Right("", "pods", ("list", "watch")),
    Right("", "events", ("list", "watch")),
    Right("batch.volcano.sh", "jobs", ("list", "watch")),
    Right("scheduling.volcano.sh", "queues", ("get", "list", "watch")),
    Right("resource.k8s.io", "deviceclasses", ("list", "watch")),
    Right("resource.k8s.io", "resourceslices", ("list", "watch")),
    Right("resource.k8s.io", "resourceclaims", ("list", "watch")),
    Right("topology.volcano.sh", "hypernodes", ("list", "watch")),
    Right("scheduling.k8s.io", "priorityclasses", ("create",)),
)
IN_ITS_OWN = (
    Right("", "configmaps", ("get", "list", "watch", "create", "update", "patch")),
    Right("", "events", ("create", "patch")),
    Right("coordination.k8s.io", "leases", ("create",)),
)
IN_A_USERS = (
    Right("hpcbatch.io", "batchjobs", ("get", "create", "patch")),
    Right("", "secrets", ("get", "list", "patch", "delete")),
    Right("", "configmaps", ("get", "create", "update", "patch", "delete")),
    Right("resource.k8s.io", "resourceclaimtemplates", ("create", "patch", "delete")),
    Right("", "pods", ("patch", "delete")),
    Right("", "pods/resize", ("patch",)),
    Right("", "pods/log", ("get",)),
    Right("batch.volcano.sh", "jobs", ("get", "create", "delete")),
    Right("scheduling.volcano.sh", "podgroups", ("get", "patch")),
    Right("bus.volcano.sh", "commands", ("create",)),
)
"""As deploy/controller/controller-rbac.yaml gives them, by the namespaces in which they hold."""
MORE_EVERYWHERE = (
    Right("bus.volcano.sh", "commands", ("list", "watch")),
    Right("scheduling.volcano.sh", "queues", ("patch",)),
    Right("scheduling.volcano.sh", "queues/status", ("update",)),
)
MORE_IN_A_USERS = (
    Right("batch.volcano.sh", "jobs/status", ("update",)),
    Right("bus.volcano.sh", "commands", ("get", "delete")),
    Right("", "pods", ("create",)),
    Right("", "secrets", ("create", "update")),
    Right("", "services", ("get", "create", "delete")),
    Right("networking.k8s.io", "networkpolicies", ("get", "create", "delete")),
    Right("", "events", ("create", "patch")),
    Right("scheduling.x-k8s.io", "podgroups", ("get", "create", "update", "delete")),
    Right("scheduling.sigs.k8s.io", "podgroups", ("get", "create", "update", "delete")),
    Right("kueue.x-k8s.io", "workloads", ("get",)),
)
"""As deploy/without-volcano gives them beside those, where hpcbatch makes the pods."""
TOO_MUCH = (
    Right("", "secrets", ("get",)),
    Right("", "pods", ("create",)),
    Right("rbac.authorization.k8s.io", "clusterrolebindings", ("create",)),
)
"""In all namespaces: signs of a controller that somebody has bound to more than deploy/ does."""


def rights(cluster: Cluster) -> Iterable[Finding]:
    if cluster.controller is None:
        yield _SAY.skipped("rights of the controller", "its Deployment is not there")
        return
    own = cluster.options.namespace
    name = cluster.controller["spec"]["template"]["spec"].get("serviceAccountName") or "default"
    account = f"system:serviceaccount:{own}:{name}"
    has_volcano = cluster.scheduler.makes_pods
    everywhere = EVERYWHERE + (() if has_volcano else MORE_EVERYWHERE)
    in_a_users = IN_A_USERS + (() if has_volcano else MORE_IN_A_USERS)
    apply = _APPLY if has_volcano else f"{_APPLY}; {_APPLY}/without-volcano"
    missing = _refused(cluster, account, everywhere, "") + _refused(cluster, account, IN_ITS_OWN, own)
    yield from judge_rights(account, "all namespaces or its own", missing, apply)
    # `users` sees whether the others' RoleBindings are there
    for namespace, identity in tuple(users_of(cluster.user_namespaces))[:1]:
        missing = _refused(cluster, account, in_a_users, namespace)
        mend = f"{apply}; hpcbatch user add {identity.user} --uid {identity.uid} --gid {identity.gid}"
        yield from judge_rights(account, f"namespace {namespace}", missing, mend)
    yield from judge_excess(account, [right for right in TOO_MUCH if not _refused(cluster, account, [right], "")])


def judge_rights(account: str, where: str, missing: Sequence[Right], mend: str) -> Iterator[Finding]:
    if missing:
        yield _SAY.error(account, f"may not, in {where}: {_words(missing)}", mend)
    else:
        yield _SAY.ok(account, f"may do what it needs in {where}")


def judge_excess(account: str, excess: Sequence[Right]) -> Iterator[Finding]:
    if excess:
        seen = f"may, in all namespaces, what it does not need: {_words(excess)}"
        yield _SAY.warning(account, seen, f"remove other bindings of this ServiceAccount ({CONTROLLER} is enough)")


def _words(rights: Sequence[Right]) -> str:
    """`get, list secrets; create jobs.batch.volcano.sh`"""
    return "; ".join(f"{', '.join(r.verbs)} {r.resource}{'.' + r.group if r.group else ''}" for r in rights)


def _refused(cluster: Cluster, account: str, rights: Sequence[Right], namespace: str) -> list[Right]:
    """The part of `rights` that `account` has not; `namespace` "" is all of them."""
    missing = []
    for right in rights:
        verbs = tuple(verb for verb in right.verbs if not _may(cluster, account, right, verb, namespace))
        if verbs:
            missing.append(right._replace(verbs=verbs))
    return missing


def _may(cluster: Cluster, account: str, right: Right, verb: str, namespace: str) -> bool:
    resource, _, subresource = right.resource.partition("/")
    asked = {
        "verb": verb,
        "group": right.group,
        "resource": resource,
        "subresource": subresource,
        "namespace": namespace,
    }
    # the groups are those that the API server gives a ServiceAccount
    groups = ["system:serviceaccounts", f"system:serviceaccounts:{account.split(':')[2]}", "system:authenticated"]
    review = {
        "apiVersion": SUBJECT_ACCESS_REVIEWS.api_version,
        "kind": SUBJECT_ACCESS_REVIEWS.kind,
        "spec": {"user": account, "groups": groups, "resourceAttributes": asked},
    }
    return bool(cluster.api.create(SUBJECT_ACCESS_REVIEWS, review)["status"].get("allowed"))
