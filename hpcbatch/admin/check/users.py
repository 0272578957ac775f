"""Users' namespaces: who they say they are, what lets them in, and whether their pods may be."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from hpcbatch.admin.check.cluster import Cluster
from hpcbatch.admin.check.finding import Finding, Reporter
from hpcbatch.admin.user_objects import POD_SECURITY, USER_ROLE, pod_security_level
from hpcbatch.api.port import Object
from hpcbatch.api.resources import NETWORK_POLICIES, ROLE_BINDINGS
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.site import Volume
from hpcbatch.site.identity import USER, Identity, identity_of

_SAY = Reporter("users")
_CONTROLLER_ROLE = "hpcbatch-controller-jobs"
_LEVELS = ("privileged", "baseline", "restricted")


def users(cluster: Cluster) -> Iterable[Finding]:
    namespaces = cluster.user_namespaces
    known: dict[str, Identity] = {}
    for namespace in namespaces:
        name = namespace["metadata"]["name"]
        try:
            known[name] = identity_of(namespace)
        except HpcBatchError as error:
            yield _SAY.error(f"namespace {name}", str(error), "`hpcbatch user add` writes them, and may be run again")
    missing = set(cluster.options.users) - {identity.user for identity in known.values()}
    for user in sorted(missing):
        yield _SAY.error(f"user {user}", "no namespace is this user's", f"hpcbatch user add {user} --uid … --gid …")
    if not namespaces and not missing:
        yield _SAY.skipped("users", "there are none yet: `hpcbatch user add` makes them")
    yield from judge_twins(known)
    for namespace in namespaces:
        name = namespace["metadata"]["name"]
        if name not in known:
            continue
        found = [*judge_identity(namespace, known[name])]
        if not cluster.is_embedded:
            found += judge_pod_security(namespace, known[name], cluster.site.config.volumes)
            found += judge_bindings(
                cluster.api.list(ROLE_BINDINGS, name).items, name, known[name], cluster.options.namespace
            )
            found += judge_network(cluster.api.list(NETWORK_POLICIES, name).items, name, known[name])
        yield from found
        if not found:
            who = known[name]
            state = ", disabled" if who.is_disabled else ""
            yield _SAY.ok(f"user {who.user}", f"uid {who.uid}, gid {who.gid}, namespace {name}{state}")


def judge_twins(known: Mapping[str, Identity]) -> Iterator[Finding]:
    """Two namespaces with one user or one uid. `known`: namespace → identity."""
    by_uid: dict[int, list[str]] = defaultdict(list)
    by_name: dict[str, list[str]] = defaultdict(list)
    for namespace, identity in known.items():
        by_uid[identity.uid].append(namespace)
        by_name[identity.user].append(namespace)
    for uid, namespaces in sorted(by_uid.items()):
        if len(namespaces) > 1:
            seen = f"given to {', '.join(sorted(namespaces))}: they own each other's files"
            yield _SAY.error(f"uid {uid}", seen, "give each user one of its own: `hpcbatch user add NAME --uid …`")
    for user, namespaces in sorted(by_name.items()):
        if len(namespaces) > 1:
            seen = f"has the namespaces {', '.join(sorted(namespaces))}"
            yield _SAY.error(f"user {user}", seen, "one user has one namespace: delete the others")


def judge_identity(namespace: Object, identity: Identity) -> Iterator[Finding]:
    meta = namespace["metadata"]
    subject = f"user {identity.user}"
    label = (meta.get("labels") or {}).get(USER)
    again = f"hpcbatch user add {identity.user} --uid {identity.uid} --gid {identity.gid}"
    # the embedded engine's default namespace has no label: whoever started it is its user
    if label != identity.user and not (label is None and meta["name"] == "default"):
        seen = f"namespace {meta['name']} is labelled {USER}={label or ''}, its annotation says {identity.user}"
        yield _SAY.error(subject, f"{seen}: the admission policies go by the label", again)
    if identity.uid == 0 and meta["name"] != "default":
        yield _SAY.error(subject, "uid 0: jobs would run as root", f"give {identity.user} another uid")
    if not identity.home.startswith("/"):
        yield _SAY.error(subject, f"home {identity.home!r} is no absolute path", f"{again} --home /…")


def judge_pod_security(namespace: Object, identity: Identity, volumes: Sequence[Volume]) -> Iterator[Finding]:
    """The namespace's level must let the site's volumes in, and should be no looser than they need."""
    meta = namespace["metadata"]
    subject = f"user {identity.user}"
    level = (meta.get("labels") or {}).get(POD_SECURITY, "")
    needed = pod_security_level(volumes)
    label = f"kubectl label namespace {meta['name']} --overwrite {POD_SECURITY}={needed}"
    if level not in _LEVELS:
        seen = f"namespace {meta['name']} has no Pod Security level" if not level else f"Pod Security level {level!r}"
        yield _SAY.warning(subject, f"{seen}: nothing but hpcbatch keeps its pods unprivileged", label)
    elif _LEVELS.index(level) > _LEVELS.index(needed):
        seen = f"Pod Security level {level} refuses the site's volumes, which need {needed}"
        yield _SAY.error(subject, seen, f"{label}, or use PersistentVolumeClaims")
    elif _LEVELS.index(level) < _LEVELS.index(needed):
        yield _SAY.warning(subject, f"Pod Security level {level}, although the site's volumes allow {needed}", label)


def judge_bindings(bindings: Sequence[Object], namespace: str, identity: Identity, system: str) -> Iterator[Finding]:
    """What lets in the user, and the controller, whose ServiceAccount is in namespace `system`."""
    is_bound = any(_gives(binding, USER_ROLE) for binding in bindings)
    subject = f"user {identity.user}"
    again = f"hpcbatch user add {identity.user} --uid {identity.uid} --gid {identity.gid}"
    if not is_bound and not identity.is_disabled:
        seen = f"no RoleBinding in {namespace} gives ClusterRole {USER_ROLE}: qsub and sbatch are forbidden"
        yield _SAY.error(subject, seen, again)
    if is_bound and identity.is_disabled:
        seen = f"disabled, but a RoleBinding in {namespace} still gives ClusterRole {USER_ROLE}"
        yield _SAY.warning(subject, seen, f"hpcbatch user disable {identity.user}")
    if not any(_gives(binding, _CONTROLLER_ROLE, system) for binding in bindings):
        seen = f"no RoleBinding in {namespace} gives the controller ClusterRole {_CONTROLLER_ROLE}: no job can run"
        yield _SAY.error(subject, seen, again)


def _gives(binding: Object, role: str, system: str = "") -> bool:
    """Whether a RoleBinding gives ClusterRole `role`: to a ServiceAccount of namespace `system`, if that is given."""
    subjects = binding.get("subjects") or []
    return (binding.get("roleRef") or {}).get("name") == role and (
        not system or any(s.get("kind") == "ServiceAccount" and s.get("namespace") == system for s in subjects)
    )


def judge_network(policies: Sequence[Object], namespace: str, identity: Identity) -> Iterator[Finding]:
    def is_for_all(policy: Object) -> bool:
        spec = policy.get("spec") or {}
        return not spec.get("podSelector") and "Ingress" in (spec.get("policyTypes") or ["Ingress"])

    if not any(is_for_all(policy) for policy in policies):
        seen = f"no NetworkPolicy closes namespace {namespace}: others' pods can reach its pods"
        again = f"hpcbatch user add {identity.user} --uid {identity.uid} --gid {identity.gid}"
        yield _SAY.warning(f"user {identity.user}", seen, again)
