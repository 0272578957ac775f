"""sacctmgr: what it lists of users, accounts, associations, qualities of service, the cluster and its resources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, tzinfo
from typing import NamedTuple

from hpcbatch.dialects.slurm.associations import DEFAULT_QOS, ROOT, Association, Directory
from hpcbatch.dialects.slurm.clock import stamp
from hpcbatch.dialects.slurm.errors import SLURM_VERSION
from hpcbatch.dialects.slurm.field_table import table
from hpcbatch.dialects.slurm.sacctmgr_fields import FORMATS, WITH_ASSOCIATIONS, headings
from hpcbatch.dialects.slurm.sacctmgr_options import Listing

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
            one = {"Cluster": site.cluster, "ControlHost": site.host, "ControlPort": str(site.port), "RPC": _RPC}
            return [{**one, "Share": "1", "QOS": DEFAULT_QOS}]
        case "tres":
            return [
                {"Type": kind, "Name": "disk" if kind == "fs" else "", "ID": str(number)}
                for number, kind in enumerate(_TRES, 1)
            ]
        case _:
            return []  # nothing of the kind is kept


def _association(one: Association, site: Site) -> dict[str, str]:
    return {
        "Cluster": site.cluster,
        "Account": one.account,
        "User": one.user,
        "Share": "1",
        "QOS": DEFAULT_QOS,
        "ID": str(one.number),
        "ParentName": one.parent,
    }


def _association_rows(listing: Listing, site: Site) -> Iterator[Row]:
    found = site.directory.associations
    if listing.only_defaults:
        defaults = site.directory.default_accounts
        found = tuple(sorted((one for one in found if defaults.get(one.user) == one.account), key=_user_of))
    for one in found:
        row = _association(one, site)
        if listing.tree:
            depth = (one.account != ROOT) + bool(one.user)
            row["Account"] = " " * depth + one.account
        yield row


def _user_of(one: Association) -> str:
    return one.user


def _user_rows(site: Site) -> Iterator[Row]:
    for one in sorted(site.directory.associations, key=lambda one: (one.user, one.account)):
        if one.user:
            row = _association(one, site)
            admin = "Administrator" if one.user == ROOT else "None"
            yield {**row, "Def Acct": site.directory.default_accounts[one.user], "Admin": admin}


def _account_rows(site: Site) -> Iterator[Row]:
    for one in sorted(site.directory.associations, key=lambda one: (one.account, bool(one.user), -one.number)):
        described = "default root account" if one.account == ROOT else one.account
        yield {**_association(one, site), "Descr": described, "Org": one.account}


def _qos_rows(site: Site) -> Iterator[Row]:
    for number, name in enumerate(site.directory.qos, start=1):
        yield {
            "Name": name,
            "Priority": "0",
            "GraceTime": "00:00:00",
            "PreemptMode": "cluster",
            "UsageFactor": "1.000000",
            "Descr": "Normal QOS default" if name == DEFAULT_QOS else name,
            "ID": str(number),
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
