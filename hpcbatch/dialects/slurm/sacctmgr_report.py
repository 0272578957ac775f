"""What sacctmgr says of a change, before it asks whether to commit it, and of one that is not possible."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from hpcbatch.dialects.slurm.errors import SlurmUsageError
from hpcbatch.dialects.slurm.sacctmgr_change import Request
from hpcbatch.dialects.slurm.sacctmgr_values import format_minutes, format_tres
from hpcbatch.model.account_change import AccountChange, Action, Entity, NameEdit, Problem, Setting
from hpcbatch.model.account_limits import WORDS, Amount
from hpcbatch.model.accounts import PARENT_SHARES, Accounts, Association
from hpcbatch.typed import NamedTuple

QUESTION = "Would you like to commit changes?"
NO_CONDITIONS = "You didn't set any conditions with 'WHERE'.\nAre you sure you want to continue?"
DISCARDED = " Changes Discarded"
NOTHING_ADDED = " Nothing new added."
NOTHING_MODIFIED = " Nothing modified"
NOTHING_DELETED = " Nothing deleted"
_NO_REMOVE = " Error with request: You can not remove the default account of a user"


class Touched(NamedTuple):
    """What a change touches, in the accounts after it, or for a deletion before it."""

    names: Sequence[str]
    associations: Sequence[Association]
    accounts: Accounts


def check(request: Request, cluster: str) -> None:
    """Raise SlurmUsageError, with the real text, for a request that lacks something."""
    change = request.change
    for name in request.clusters:
        if name not in {cluster.lower(), "all"}:
            raise SlurmUsageError(
                f" This cluster '{name}' doesn't exist.\n        Contact your admin to add it to accounting."
            )
    if change.entity is Entity.COORDINATOR:
        if not (change.names or (change.accounts and change.action is Action.DELETE)):
            text = " You need to specify a user list or account list here."
            if change.action is Action.ADD:
                text = " You need to specify conditions to add the coordinator."
            raise SlurmUsageError(text)
        if change.action is Action.ADD and not change.accounts:
            raise SlurmUsageError(" You need to specify a user list and account list here.")
    elif change.action is Action.ADD and not change.names:
        raise SlurmUsageError(f" Need name of {change.entity.value} to add.")
    elif change.action is Action.MODIFY and not change.settings:
        raise SlurmUsageError(" You didn't give me anything to set")
    elif change.action is Action.DELETE and not (change.names or change.accounts or change.users or change.parents):
        raise SlurmUsageError(" No conditions given to remove, not executing.")


def nothing(action: Action, entity: Entity) -> str:
    if action is Action.ADD:
        return NOTHING_ADDED
    if action is Action.MODIFY:
        return NOTHING_MODIFIED
    return " Nothing removed" if entity is Entity.COORDINATOR else NOTHING_DELETED


def report(request: Request, touched: Touched, cluster: str) -> str:
    """The lines that stand before the question."""
    change = request.change
    match change.action, change.entity:
        case Action.ADD, Entity.ACCOUNT:
            lines = _added_accounts(change, touched, cluster)
        case Action.ADD, Entity.USER:
            lines = _added_users(change, touched, cluster)
        case Action.ADD, Entity.QOS:
            described = touched.accounts.qos[touched.names[-1]].description
            own = (" Settings", f"  Description    = {described}", *_settings(change.settings, 25))
            lines = iter((" Adding QOS(s)", *_indented(touched.names), *own))
        case _, Entity.COORDINATOR:
            lines = _coordinators(change, touched)
        case Action.MODIFY, _:
            lines = _modified(change, touched, cluster)
        case _:
            lines = _deleted(change, touched, cluster)
    return "".join(f"{line}\n" for line in lines)


def _indented(names: Iterable[str]) -> Iterator[str]:
    return (f"  {name}" for name in names)


def _added_accounts(change: AccountChange, touched: Touched, cluster: str) -> Iterator[str]:
    yield " Adding Account(s)"
    yield from _indented(touched.names)
    yield " Settings"
    yield f"  Description     = {change.settings.get('description') or 'Account Name'}"
    yield f"  Organization    = {change.settings.get('organization') or 'Parent/Account Name'}"
    yield " Associations"
    for one in touched.associations:
        yield f"  A = {one.account[:10]:<10} C = {cluster[:10]:<10}"
    yield from _limits(change, " Settings", {"description", "organization"})


def _added_users(change: AccountChange, touched: Touched, cluster: str) -> Iterator[str]:
    if touched.names:
        yield " Adding User(s)"
        yield from _indented(touched.names)
        if default := change.settings.get("defaultAccount"):
            yield " Settings ="
            yield f"  Default Account = {default}"
    if touched.associations:
        yield " Associations ="
    for one in touched.associations:
        partition = f" P = {one.partition[:10]:<10}" if one.partition else ""
        yield f"  U = {one.user[:9]:<9} A = {one.account[:10]:<10} C = {cluster[:10]:<10}{partition}"
    yield from _limits(change, " Non Default Settings", {"defaultAccount"})


def _limits(change: AccountChange, heading: str, others: set[str]) -> Iterator[str]:
    own = {word: value for word, value in change.settings.items() if word not in others}
    if own:
        yield heading
        yield from _settings(own, 14)


def _coordinators(change: AccountChange, touched: Touched) -> Iterator[str]:
    if change.action is Action.ADD:
        yield " Adding Coordinator User(s)"
        yield from _indented(change.names)
        yield " To Account(s) and all sub-accounts"
        yield from _indented(change.accounts)
        return
    if not change.names:
        yield " Removing all users from Accounts"
        yield from _indented(change.accounts)
    else:
        yield " Removing Coordinators with user name"
        yield from _indented(change.names)
        yield " From Account(s)" if change.accounts else " From all accounts"
        yield from _indented(change.accounts)
    yield " Removed Coordinators (sub accounts not listed)..."
    yield from _indented(touched.names)


def _modified(change: AccountChange, touched: Touched, cluster: str) -> Iterator[str]:
    if touched.names:
        yield f" Modified {_PLURAL[change.entity]}..."
        yield from _indented(touched.names)
    if touched.associations:
        yield f" Modified {change.entity.value} associations..."
        yield from _indented(_object(one, touched.accounts, cluster) for one in touched.associations)


_PLURAL = {Entity.ACCOUNT: "accounts", Entity.USER: "users", Entity.QOS: "qos"}


def _deleted(change: AccountChange, touched: Touched, cluster: str) -> Iterator[str]:
    if touched.names:
        yield " Deleting QOS(s)..." if change.entity is Entity.QOS else f" Deleting {_PLURAL[change.entity]}..."
        yield from _indented(touched.names)
    else:
        yield f" Deleting {change.entity.value} associations..."
        yield from _indented(_object(one, touched.accounts, cluster, 10) for one in touched.associations)


def _object(one: Association, accounts: Accounts, cluster: str, width: int = 20) -> str:
    if one.user:
        partition = f" P = {one.partition}" if one.partition else ""
        return f"C = {cluster:<10} A = {one.account:<{width}} U = {one.user:<9}{partition}"
    parent = accounts.accounts[one.account].parent if one.account in accounts.accounts else ""
    return f"C = {cluster:<10} A = {one.account}" + (f" of {parent}" if parent else "")


_NAMES = {
    "shares": "Fairshare",
    "MaxTRESPerJob": "MaxTRES",
    "MaxTRESMinsPerJob": "MaxTRESMins",
    "MaxTRESRunMins": "MaxTRESRUNMins",
    "MaxWallDurationPerJob": "MaxWall",
    "MinPrioThreshold": "MinPrioThresh",
    "parent": "Parent",
    "qos": "QOS",
    "defaultQos": "DefQOS",
    "flags": "Flags",
    "graceSeconds": "GraceTime",
    "preempt": "Preempt",
    "preemptMode": "PreemptMode",
    "preemptExemptSeconds": "PreemptExemptTime",
    "usageFactor": "UsageFactor",
    "usageThreshold": "UsageThreshold",
    "limitFactor": "LimitFactor",
}
"""Words of settings as they are shown; the others as they are."""


def _settings(settings: Mapping[str, Setting], width: int) -> Iterator[str]:
    for word in sorted(settings, key=lambda word: _NAMES.get(word, word)):
        if word != "description":
            value = _shown(word, settings[word])
            yield f"  {_NAMES.get(word, word):<{width}}= {value}"


def _shown(word: str, value: Setting) -> str:
    if value is None:
        return "NONE"
    if isinstance(value, NameEdit):
        sign = "" if value.operator == "=" else value.operator
        return ",".join(sign + name for name in value.names)
    if isinstance(value, Mapping):
        kept = {name: amount for name, amount in value.items() if amount is not None}
        cleared = "".join(f",{name}=-1" for name, amount in value.items() if amount is None)
        return (format_tres(kept) + cleared).removeprefix(",")
    if word == "shares" and value == PARENT_SHARES:
        return "parent"
    if word in WORDS and WORDS[word].amount is Amount.MINUTES:
        return format_minutes(int(value))
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def refused(problem: Problem, names: Sequence[str], request: Request, cluster: str) -> str:
    """Why a change is not possible."""
    change = request.change
    first = names[0] if names else ""
    match problem:
        case Problem.UNKNOWN_PARENT if change.action is Action.MODIFY:
            return f" Parent Account {first} doesn't exist."
        case Problem.UNKNOWN_PARENT:
            lines = f" Parent account '{first}' doesn't exist on cluster {cluster}", _CONTACT
        case Problem.UNKNOWN_ACCOUNT if change.action is Action.MODIFY:
            users = tuple(f"  U = {user} C = {cluster}" for user in change.names)
            text = f" Can't modify because these users aren't associated with new default account '{first}'..."
            return "\n".join((text, *users))
        case Problem.UNKNOWN_ACCOUNT:
            lines = f" This account '{first}' doesn't exist.", _CONTACT
        case Problem.UNKNOWN_QOS if "defaultQos" in change.settings and change.settings["defaultQos"] == first:
            return f"You gave a bad default qos '{first}'.  Use 'list qos' to get complete list."
        case Problem.UNKNOWN_QOS:
            return f"sacctmgr: error: You gave a bad qos '{first}'. Use 'list qos' to get complete list."
        case Problem.NO_ACCOUNT:
            return " Need name of account to add user to."
        case Problem.ROOT_STAYS:
            return " You are not allowed to remove the root account.\n Use remove cluster instead."
        case Problem.ABOVE_ITSELF:
            return " Error with request: Invalid parent account specified"
        case Problem.JOBS:
            busy = (_busy(name, cluster) for name in names)
            return "\n".join((" Error with request: Job(s) active, cancel job(s) before remove", *busy))
        case Problem.DEFAULT_ACCOUNT:
            return "\n".join((_NO_REMOVE, *(_busy(name, cluster) for name in names), _default_advice(change)))
        case Problem.DEFAULT_QOS:
            return _default_qos(names, cluster)
    return "\n".join(lines)


_CONTACT = "        Contact your admin to add this account."


def _busy(name: str, cluster: str) -> str:
    account, _, user = name.partition(" ")
    return f"  C = {cluster:<15} A = {account:<10} U = {user:<9}"


def _default_advice(change: AccountChange) -> str:
    if change.entity is Entity.USER:
        text = (
            " You must change the default account of these users or remove the users completely from the affected "
            "clusters to allow these changes."
        )
    else:
        text = (
            " Please either remove the accounts listed above from list and resubmit,\n"
            " or change these users' default accounts to remove the account(s)."
        )
    return f"{text}\n{DISCARDED}"


def _default_qos(names: Sequence[str], cluster: str) -> str:
    if not names:
        return "sacctmgr: error: hpcbatch: the quality of service normal stays: jobs that name none have it"
    lines = [" Associations listed below have these as their Default QOS."]
    for name in names:
        qos, account, *user = name.split(" ")
        rest = f" U = {user[0]:<9}" if user and user[0] else ""
        lines.append(f"  DefQOS = {qos:<10} C = {cluster:<10} A = {account:<20}{rest}")
    advice = " Please either remove the qos' listed above from list and resubmit,"
    return "\n".join((*lines, advice, " or change the default qos to remove the qos.", DISCARDED))
