"""Users of a cluster: add, list, disable, enable. A user is a namespace with annotations, and what lies in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from hpcbatch.admin import apply
from hpcbatch.admin.embedded import is_embedded
from hpcbatch.admin.user_names import check_namespace_name, check_user_name, default_namespace
from hpcbatch.admin.user_objects import (
    DEFAULT_QUOTA,
    USER_ROLE,
    Account,
    Claim,
    Part,
    parts,
    pod_security_level,
    role_binding,
)
from hpcbatch.api.client import HttpApi
from hpcbatch.api.port import Object
from hpcbatch.api.resources import CLUSTER_ROLES, NAMESPACES, PVCS, ROLE_BINDINGS
from hpcbatch.errors import HpcBatchError, UsageError
from hpcbatch.model.site import SiteConfig
from hpcbatch.site.identity import DISABLED, USER, Identity, identity_of

_EMBEDDED = (
    "the embedded engine has one user and one token: a namespace is all that it can have of another user, "
    "without access rights, quota or network policy"
)
_MAX_ID = (1 << 31) - 1  # Kubernetes' limit of runAsUser


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What the admin says of a user. None: as it is, or for a new user the default."""

    user: str
    uid: int | None = None
    gid: int | None = None
    groups: tuple[tuple[int, str], ...] | None = None
    home: str | None = None
    namespace: str | None = None
    quota: Mapping[str, str | None] = field(default_factory=dict)
    claims: tuple[Claim, ...] = ()
    adopt: bool = False
    """Take a namespace that exists and is no user's."""
    force: bool = False
    """Let two users have one uid."""


class UserRow(NamedTuple):
    """A user's namespace; `identity` is None where its annotations cannot be read, and `fault` says why."""

    user: str
    namespace: str
    identity: Identity | None
    fault: str = ""


class Plan(NamedTuple):
    """What is to be there for a user."""

    account: Account
    parts: list[Part]
    warnings: list[str]


def rows(api: HttpApi) -> list[UserRow]:
    """All users, by name."""
    return sorted(filter(None, map(_row, api.list(NAMESPACES).items)))


def plan(api: HttpApi, wish: Wish, site: SiteConfig) -> Plan:
    """What `wish` means on this cluster. Writes nothing. Raises HpcBatchError if it cannot or must not be."""
    check_user_name(wish.user)
    found = api.list(NAMESPACES).items
    users = [row for row in map(_row, found) if row is not None]
    name = _namespace_of(wish, users)
    there = next((obj for obj in found if obj["metadata"]["name"] == name), None)
    if there is not None:
        _check_ours(there, wish)
    known = next((row.identity for row in users if row.namespace == name), None)
    identity = _identity(wish, known)
    if not wish.force:
        _check_uid(identity, users)
    embedded = is_embedded(api)
    if not embedded:
        _check_role(api)
    account = Account(
        identity=identity,
        namespace=name,
        pod_security=pod_security_level(site.volumes),
        quota=wish.quota if known is not None else _given({**DEFAULT_QUOTA, **wish.quota}),
        claims=wish.claims,
    )
    wanted = parts(account)
    if embedded:
        return Plan(account, [part for part in wanted if part.resource is NAMESPACES], [_EMBEDDED])
    return Plan(account, wanted, _warnings(api, account, site, is_new=there is None))


def _given(quota: Mapping[str, str | None]) -> dict[str, str | None]:
    return {name: amount for name, amount in quota.items() if amount is not None}


def carry_out(api: HttpApi, planned: Plan) -> list[str]:
    """Make it so. The lines say what was done; none if all was there."""
    done: list[str] = []
    for part in planned.parts:
        where = planned.account.namespace if part.resource.namespaced else None
        done += apply.ensure(api, part.resource, part.obj, where, is_kept=part.is_kept)
    return done


def disable(api: HttpApi, user: str) -> list[str]:
    """Admit no new job of the user, and take away what lets him reach his namespace. What runs goes on."""
    row = find(api, user)
    # First the annotation: from then on nothing is admitted, whatever becomes of the rest.
    done = apply.ensure(api, NAMESPACES, _switch(row.namespace, "true"))
    if not is_embedded(api) and apply.find(api, ROLE_BINDINGS, USER_ROLE, row.namespace) is not None:
        api.delete(ROLE_BINDINGS, USER_ROLE, row.namespace)
        done.append(f"RoleBinding {USER_ROLE}: deleted")
    return done


def enable(api: HttpApi, user: str) -> list[str]:
    """Undo `disable`."""
    row, done = find(api, user), []
    if not is_embedded(api):
        _check_role(api)
        done = apply.ensure(api, ROLE_BINDINGS, role_binding(user), row.namespace)
    return done + apply.ensure(api, NAMESPACES, _switch(row.namespace, None))


def find(api: HttpApi, user: str) -> UserRow:
    """One user. Raises HpcBatchError if there is none of that name, or more than one."""
    own = [row for row in rows(api) if row.user == user]
    if not own:
        raise HpcBatchError(f"there is no user {user}")
    if len(own) > 1:
        raise _several(user, [row.namespace for row in own])
    return own[0]


def _switch(namespace: str, disabled: str | None) -> Object:
    return {"metadata": {"name": namespace, "annotations": {DISABLED: disabled}}}


def _several(user: str, namespaces: Iterable[str]) -> HpcBatchError:
    return HpcBatchError(f"user {user} has several namespaces, and may have one: {', '.join(namespaces)}")


def _row(obj: Object) -> UserRow | None:
    """None if the namespace is no user's. The embedded engine's own user has no label."""
    metadata = obj["metadata"]
    user = (metadata.get("labels") or {}).get(USER) or (metadata.get("annotations") or {}).get(USER)
    if user is None:
        return None
    try:
        return UserRow(user, metadata["name"], identity_of(obj))
    except HpcBatchError as error:
        return UserRow(user, metadata["name"], None, str(error))


def _namespace_of(wish: Wish, users: Iterable[UserRow]) -> str:
    own = [row.namespace for row in users if row.user == wish.user]
    if len(own) > 1:
        raise _several(wish.user, own)
    if own:
        if wish.namespace not in {None, own[0]}:
            raise HpcBatchError(f"user {wish.user} has the namespace {own[0]} already, and can have no other")
        return own[0]
    return check_namespace_name(wish.namespace or default_namespace(wish.user))


def _check_ours(there: Object, wish: Wish) -> None:
    name, row = there["metadata"]["name"], _row(there)
    if there["metadata"].get("deletionTimestamp"):
        raise HpcBatchError(f"namespace {name} is being deleted: try again when it is gone")
    if row is not None and row.user != wish.user:
        raise HpcBatchError(f"namespace {name} belongs to user {row.user}")
    if row is None and not wish.adopt:
        raise HpcBatchError(f"namespace {name} exists and is no user's: --adopt takes it, --namespace names another")


def _identity(wish: Wish, known: Identity | None) -> Identity:
    if known is None:
        if wish.uid is None or wish.gid is None:
            raise UsageError(f"there is no user {wish.user} yet: --uid and --gid are needed")
        known = Identity(user=wish.user, uid=wish.uid, gid=wish.gid, home=f"/home/{wish.user}")
    identity = replace(
        known,
        uid=known.uid if wish.uid is None else wish.uid,
        gid=known.gid if wish.gid is None else wish.gid,
        home=known.home if wish.home is None else wish.home,
        groups=known.groups if wish.groups is None else wish.groups,
    )
    for what, number in (("uid", identity.uid), ("gid", identity.gid), *(("group", gid) for gid, _ in identity.groups)):
        if not 0 < number <= _MAX_ID:
            raise HpcBatchError(f"{what} {number}: jobs run with ids from 1 to {_MAX_ID}; 0 would be root")
    for _, group in identity.groups:
        check_user_name(group, "group")
    if not identity.home.startswith("/") or not identity.home.isprintable() or ":" in identity.home:
        raise HpcBatchError(f"home {identity.home!r}: expected an absolute path without ':'")
    return identity


def _check_uid(identity: Identity, users: Iterable[UserRow]) -> None:
    for row in users:
        if row.user != identity.user and row.identity is not None and row.identity.uid == identity.uid:
            raise HpcBatchError(
                f"uid {identity.uid} is user {row.user}'s: their jobs could read each other's files (--force allows it)"
            )


def _check_role(api: HttpApi) -> None:
    if apply.find(api, CLUSTER_ROLES, USER_ROLE) is None:
        raise HpcBatchError(f"hpcbatch is not installed on this cluster: there is no ClusterRole {USER_ROLE}")


def _warnings(api: HttpApi, account: Account, site: SiteConfig, *, is_new: bool) -> list[str]:
    said = []
    for volume in site.volumes:
        if pod_security_level([volume]) != "restricted":
            level = pod_security_level([volume])
            said.append(
                f"volume {volume.name} ({', '.join(volume.source)}) needs Pod Security {level} in {account.namespace}; "
                "a persistentVolumeClaim would do with restricted"
            )
    made = {claim.name for claim in account.claims}
    for claim in _claims_of(site):
        if claim not in made and (is_new or apply.find(api, PVCS, claim, account.namespace) is None):
            said.append(
                f"the site's volumes need a PersistentVolumeClaim {claim} in {account.namespace}: jobs wait until "
                f"it is there; --pvc {claim}=SIZE makes it"
            )
    if account.quota.get("requests.memory") and not _has_default_memory(site):
        said.append(
            "a quota of memory refuses pods that ask for none: give each queue a defaultMemoryPerNode, "
            "or such jobs never start"
        )
    return said


def _claims_of(site: SiteConfig) -> Sequence[str]:
    sources = (volume.source.get("persistentVolumeClaim") for volume in site.volumes)
    return list(dict.fromkeys(str(source["claimName"]) for source in sources if source))


def _has_default_memory(site: SiteConfig) -> bool:
    return bool(site.queues) and all(queue.default_mem_per_node_bytes for queue in site.queues)
