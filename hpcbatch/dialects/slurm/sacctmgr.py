"""sacctmgr: what it lists of users, accounts, associations, qualities of service, the cluster and its resources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, tzinfo

from hpcbatch.dialects.slurm.associations import ROOT, Association, Directory
from hpcbatch.dialects.slurm.clock import full, stamp
from hpcbatch.dialects.slurm.errors import SLURM_VERSION
from hpcbatch.dialects.slurm.field_table import table
from hpcbatch.dialects.slurm.sacctmgr_fields import FORMATS, WITH_ASSOCIATIONS, headings
from hpcbatch.dialects.slurm.sacctmgr_limits import limit_columns
from hpcbatch.dialects.slurm.sacctmgr_options import Listing
from hpcbatch.model.accounts import PARENT_SHARES, Qos
from hpcbatch.typed import NamedTuple

_RPC = "9728"
"""The protocol of Slurm 22.05."""
_TRES = ("cpu", "mem", "energy", "node", "billing", "fs", "vmem", "pages")
"""With the ids that slurmdbd gives them, 1 to 8."""
_TREE_ACCOUNT = -20

Row = Mapping[str, str]
"""Values by the heading of their column."""


class Site(NamedTuple):
    """What is listed from."""

    cluster: str
    host: str
    port: int
    directory: Directory
    administrators: frozenset[str] = frozenset()
    """Users of whom it is known that they may change accounts."""


def format_listing(listing: Listing, site: Site) -> Iterator[str]:
    """The lines. Raises SlurmUsageError for a field that there is not."""
    joins = listing.with_associations and listing.entity in WITH_ASSOCIATIONS
    formats = WITH_ASSOCIATIONS if joins else FORMATS
    columns = headings(formats[listing.entity] if listing.format is None else listing.format)
    if listing.tree and listing.entity == "association":
        columns = [column._replace(width=_TREE_ACCOUNT) if column.name == "Account" else column for column in columns]
    rows = [row for row in _rows(listing, site) if _is_wanted(row, listing)]
    if listing.entity in _OWN_FIELDS and not joins:
        own = _OWN_FIELDS[listing.entity]
        rows = list({row[own[0]]: {name: row.get(name, "") for name in own} for row in rows}.values())
    return table(columns, ([row.get(column.name, "") for column in columns] for row in rows), listing.style)


_OWN_FIELDS = {"account": ("Account", "Descr", "Org"), "user": ("User", "Def Acct", "Admin")}
"""Without `withassoc` the others are empty."""


def _is_wanted(row: Row, listing: Listing) -> bool:
    return all(
        row.get(name, "").lower() in values
        or (name == "Admin" and any(value and row[name].lower().startswith(value) for value in values))
        for name, values in listing.wanted.items()
        if name
    )


def _rows(listing: Listing, site: Site) -> Iterable[Row]:
    match listing.entity:
        case "association":
            return _association_rows(listing, site)
        case "user":
            return _user_rows(site)
        case "account":
            return _account_rows(site)
        case "qos":
            return _qos_rows(site)
        case "cluster":
            return [_cluster(site)]
        case "tres":
            return [
                {"Type": kind, "Name": "disk" if kind == "fs" else "", "ID": str(number)}
                for number, kind in enumerate(_TRES, 1)
            ]
        case _:
            return []  # nothing of the kind is kept


def _cluster(site: Site) -> Row:
    root = next((one for one in site.directory.associations if one.account == ROOT and not one.user), None)
    limits = {} if root is None else _association(root, site)
    one = {"Cluster": site.cluster, "ControlHost": site.host, "ControlPort": str(site.port), "RPC": _RPC}
    return {**limits, **one}


def _association(one: Association, site: Site, *, own: bool = False) -> dict[str, str]:
    shown = one.own if own else one.effective
    return {
        "Cluster": site.cluster,
        "Account": one.account,
        "User": one.user,
        "Partition": one.partition,
        "Share": "parent" if shown.shares == PARENT_SHARES else str(shown.shares),
        "QOS": ",".join(sorted(shown.qos or ())),
        "Def QOS": shown.default_qos,
        "ID": str(one.number),
        "ParentName": one.parent,
        "ParentID": _parent_number(one, site),
        **limit_columns(shown.limits),
    }


def _parent_number(one: Association, site: Site) -> str:
    above = one.account if one.user else one.parent
    found = (str(each.number) for each in site.directory.associations if each.account == above and not each.user)
    return next(found, "") if above else ""


def _association_rows(listing: Listing, site: Site) -> Iterator[Row]:
    found = site.directory.associations
    if listing.only_defaults:
        defaults = site.directory.default_accounts
        found = tuple(sorted((one for one in found if defaults.get(one.user) == one.account), key=_user_of))
    for one in found:
        row = _association(one, site, own=listing.own_limits)
        if listing.tree:
            row["Account"] = " " * one.depth + one.account
        yield row


def _user_of(one: Association) -> str:
    return one.user


def _user_rows(site: Site) -> Iterator[Row]:
    coordinated: dict[str, list[str]] = {}
    for account in site.directory.accounts.values():
        for user in account.coordinators:
            coordinated.setdefault(user, []).append(account.name)
    for one in sorted(site.directory.associations, key=lambda one: (one.user, one.account)):
        if one.user:
            row = _association(one, site)
            admin = "Administrator" if one.user == ROOT or one.user in site.administrators else "None"
            own = {"Def Acct": site.directory.default_accounts.get(one.user, ""), "Admin": admin}
            yield {**row, **own, "Coord Accounts": ",".join(sorted(coordinated.get(one.user, ())))}


def _account_rows(site: Site) -> Iterator[Row]:
    for one in sorted(site.directory.associations, key=lambda one: (one.account, bool(one.user), -one.number)):
        account = site.directory.accounts[one.account]
        described = {"Descr": account.description, "Org": account.organization}
        if one.account == ROOT:
            described = {"Descr": "default root account", "Org": ROOT}
        yield {**_association(one, site), **described, "Coord Accounts": ",".join(account.coordinators)}


def _qos_rows(site: Site) -> Iterator[Row]:
    return (_qos(qos) for qos in site.directory.qos)


def _qos(qos: Qos) -> Row:
    return {
        **limit_columns(qos.limits),
        "Name": qos.name,
        "Priority": str(qos.limits.count("Priority") or 0),
        "GraceTime": full(qos.grace_s),
        "Preempt": ",".join(qos.preempt),
        "PreemptMode": (qos.preempt_mode or "cluster").lower(),
        "PreemptExemptTime": "" if qos.preempt_exempt_s is None else full(qos.preempt_exempt_s),
        "Flags": ",".join(qos.flags),
        "UsageFactor": f"{qos.usage_factor:.6f}",
        "UsageThres": "" if qos.usage_threshold is None else f"{qos.usage_threshold:.6f}",
        "LimitFactor": "" if qos.limit_factor is None else f"{qos.limit_factor:.6f}",
        "Descr": qos.description,
        "ID": str(qos.number),
    }


def format_configuration(site: Site, now: datetime, tz: tzinfo) -> str:
    """`sacctmgr show configuration`: what there is of it here."""
    values = {
        "AccountingStorageHost": site.host,
        "AccountingStoragePort": str(site.port),
        "AccountingStorageType": "accounting_storage/slurmdbd",
        "AuthType": "auth/kubernetes",
        "PrivateData": "none",
        "SLURM_VERSION": SLURM_VERSION,
        "TrackWCKey": "No",
    }
    lines = [f"Configuration data as of {stamp(now, tz)}"]
    return "".join(f"{line}\n" for line in [*lines, *(f"{name:<22} = {text}" for name, text in values.items())])
