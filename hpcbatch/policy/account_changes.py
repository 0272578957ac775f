"""What becomes of the accounts by an operator's request."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from hpcbatch.dataclass import replace
from hpcbatch.model.account_change import (
    AccountChange,
    AccountChangeError,
    Action,
    Entity,
    NameEdit,
    Problem,
    Setting,
)
from hpcbatch.model.account_limits import WORDS
from hpcbatch.model.accounts import ROOT, Account, Accounts, Association, Qos
from hpcbatch.typed import NamedTuple


class Changed(NamedTuple):
    """The accounts with the change, and what it touches. Nothing touched: nothing is to be written."""

    accounts: Accounts
    names: tuple[str, ...] = ()
    """Of accounts, users or qualities of service."""
    associations: tuple[Association, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.names or self.associations)


def changed(accounts: Accounts, change: AccountChange, active: Collection[tuple[str, str]] = ()) -> Changed:
    """Apply the request. `active` are account and user of all jobs that have not ended.
    Raises AccountChangeError where it is not possible.
    """
    result = _CHANGES[change.action, change.entity](accounts, change)
    if change.action is Action.DELETE and change.entity in {Entity.ACCOUNT, Entity.USER}:
        kept = {(one.account, one.user) for one in result.accounts.associations}
        gone = {(one.account, one.user) for one in accounts.associations} - kept
        if busy := sorted(f"{account} {user}" for account, user in gone & set(active)):
            raise AccountChangeError(Problem.JOBS, *busy)
    return result


def _add_accounts(accounts: Accounts, change: AccountChange) -> Changed:
    settings = change.settings
    parent = str(settings.get("parent") or ROOT)
    if parent not in accounts.accounts:
        raise AccountChangeError(Problem.UNKNOWN_PARENT, parent)
    new = [name for name in dict.fromkeys(change.names) if name not in accounts.accounts]
    made = {
        name: Account(
            name=name,
            parent=parent,
            description=str(settings.get("description") or name),
            organization=str(settings.get("organization") or (name if parent == ROOT else parent)),
        )
        for name in new
    }
    return _with_associations(
        accounts, [Association(number=0, account=name) for name in new], change, names=new, made=made
    )


def _with_associations(
    accounts: Accounts,
    new: Iterable[Association],
    change: AccountChange,
    *,
    names: Iterable[str],
    made: Mapping[str, Account] | None = None,
    defaults: Mapping[str, str] | None = None,
) -> Changed:
    own = {name: value for name, value in change.settings.items() if name != "parent"}
    added = [
        replace(_with_settings(accounts, one, own), number=number)
        for number, one in enumerate(new, start=accounts.next_number)
    ]
    changed = replace(
        accounts,
        accounts={**accounts.accounts, **(made or {})},
        associations=(*accounts.associations, *added),
        default_accounts={**(defaults or {}), **accounts.default_accounts},
        next_number=accounts.next_number + len(added),
    )
    return Changed(changed, tuple(names), tuple(added))


def _add_users(accounts: Accounts, change: AccountChange) -> Changed:
    default = str(change.settings.get("defaultAccount") or "")
    wanted = tuple(dict.fromkeys((*change.accounts, *filter(None, [default]))))
    if not wanted:
        raise AccountChangeError(Problem.NO_ACCOUNT)
    for name in wanted:
        if name not in accounts.accounts:
            raise AccountChangeError(Problem.UNKNOWN_ACCOUNT, name)
    new = [
        Association(number=0, account=account, user=user, partition=partition)
        for user in dict.fromkeys(change.names)
        for account in wanted
        for partition in change.partitions or ("",)
        if not any(accounts.find(account=account, user=user, partition=partition))
    ]
    known = {one.user for one in accounts.associations}
    names = [user for user in dict.fromkeys(change.names) if user not in known]
    defaults = dict.fromkeys(names, default or wanted[0])
    return _with_associations(accounts, new, change, names=names, defaults=defaults)


def _add_qos(accounts: Accounts, change: AccountChange) -> Changed:
    new = [name for name in dict.fromkeys(change.names) if name not in accounts.qos]
    highest = max(qos.number for qos in accounts.qos.values())
    made = {}
    for number, name in enumerate(new, start=highest + 1):
        described = str(change.settings.get("description") or name)
        made[name] = _qos_with(accounts, Qos(number=number, name=name, description=described), change.settings)
    return Changed(replace(accounts, qos={**accounts.qos, **made}), tuple(new))


def _modify_accounts(accounts: Accounts, change: AccountChange) -> Changed:
    settings, own = change.settings, {"description", "organization"}
    names: list[str] = []
    result = accounts
    if own & settings.keys():
        names = [name for name in accounts.accounts if not change.names or name in change.names]
        made = {}
        for name in names:
            account = accounts.accounts[name]
            description = str(settings.get("description", account.description) or "")
            organization = str(settings.get("organization", account.organization) or "")
            made[name] = replace(account, description=description, organization=organization)
        result = replace(result, accounts={**result.accounts, **made})
    rest = {key: value for key, value in settings.items() if key not in own}
    if not rest:
        return Changed(result, tuple(names))
    chosen = [one for one in accounts.associations if _is_meant(one, change, accounts)]
    if "parent" in rest:
        result = _moved(result, [one.account for one in chosen if not one.user], str(rest.pop("parent") or ROOT))
    return _modified(result, chosen, rest, names)


def _moved(accounts: Accounts, names: Iterable[str], parent: str) -> Accounts:
    if parent not in accounts.accounts:
        raise AccountChangeError(Problem.UNKNOWN_PARENT, parent)
    above: list[str] = []
    line = parent
    while line:
        above.append(line)
        line = accounts.accounts[line].parent
    for name in names:
        if name in above:
            raise AccountChangeError(Problem.ABOVE_ITSELF, name)
    made = {name: replace(accounts.accounts[name], parent=parent) for name in names}
    return replace(accounts, accounts={**accounts.accounts, **made})


def _is_meant(one: Association, change: AccountChange, accounts: Accounts) -> bool:
    """Whether conditions on accounts fit an association: of a user only if users are named."""
    return (
        (not change.names or one.account in change.names)
        and (one.user in change.users if change.users else not one.user)
        and (not change.parents or accounts.accounts[one.account].parent in change.parents)
        and (not change.partitions or one.partition in change.partitions)
    )


def _modify_users(accounts: Accounts, change: AccountChange) -> Changed:
    rest = dict(change.settings)
    users = sorted({one.user for one in accounts.associations if one.user and _user_fits(one, change)})
    names: list[str] = []
    result = accounts
    if "defaultAccount" in rest:
        default = str(rest.pop("defaultAccount") or "")
        for user in users:
            if not any(one.user == user and one.account == default for one in accounts.associations):
                raise AccountChangeError(Problem.UNKNOWN_ACCOUNT, default)
        names = users
        result = replace(result, default_accounts={**result.default_accounts, **dict.fromkeys(users, default)})
    if not rest:
        return Changed(result, tuple(names))
    chosen = [one for one in accounts.associations if one.user and _user_fits(one, change)]
    return _modified(result, chosen, rest, names)


def _user_fits(one: Association, change: AccountChange) -> bool:
    return (
        (not change.names or one.user in change.names)
        and (not change.accounts or one.account in change.accounts)
        and (not change.partitions or one.partition in change.partitions)
    )


def _modified(
    accounts: Accounts, chosen: Iterable[Association], settings: Mapping[str, Setting], names: Iterable[str]
) -> Changed:
    new = {one.number: _with_settings(accounts, one, settings) for one in chosen}
    associations = tuple(new.get(one.number, one) for one in accounts.associations)
    return Changed(replace(accounts, associations=associations), tuple(names), tuple(new.values()))


def _modify_qos(accounts: Accounts, change: AccountChange) -> Changed:
    names = [name for name in accounts.qos if not change.names or name in change.names]
    made = {name: _qos_with(accounts, accounts.qos[name], change.settings) for name in names}
    return Changed(replace(accounts, qos={**accounts.qos, **made}), tuple(names))


def _delete_accounts(accounts: Accounts, change: AccountChange) -> Changed:
    if ROOT in change.names:
        raise AccountChangeError(Problem.ROOT_STAYS)
    if change.users:  # only these users in them
        gone = [one for one in accounts.associations if one.user in change.users and one.account in change.names]
        return _without(accounts, gone, ())
    names = [
        name
        for name in accounts.accounts
        if name != ROOT
        and (not change.names or name in change.names)
        and (not change.parents or accounts.accounts[name].parent in change.parents)
    ]
    below = set(names)
    while more := {each.name for each in accounts.accounts.values() if each.parent in below} - below:
        below |= more
    return _without(accounts, [one for one in accounts.associations if one.account in below], names, below)


def _without(
    accounts: Accounts, gone: Iterable[Association], names: Iterable[str], gone_accounts: Collection[str] = ()
) -> Changed:
    """Without these associations. A user's default account stays while the user has another."""
    lost = tuple(gone)
    numbers = {one.number for one in lost}
    kept = tuple(one for one in accounts.associations if one.number not in numbers)
    users = {one.user for one in kept}
    in_account = {(one.user, one.account) for one in kept}
    orphaned = [
        one
        for one in lost
        if one.user in users
        and accounts.default_accounts.get(one.user) == one.account
        and (one.user, one.account) not in in_account
    ]
    if orphaned:
        raise AccountChangeError(Problem.DEFAULT_ACCOUNT, *(f"{one.account} {one.user}" for one in orphaned))
    result = replace(
        accounts,
        accounts={name: each for name, each in accounts.accounts.items() if name not in gone_accounts},
        associations=kept,
        default_accounts={user: name for user, name in accounts.default_accounts.items() if user in users},
    )
    return Changed(result, tuple(names), lost)


def _delete_users(accounts: Accounts, change: AccountChange) -> Changed:
    gone = [one for one in accounts.associations if one.user not in {"", ROOT} and _user_fits(one, change)]
    whole = () if change.accounts or change.partitions else sorted({one.user for one in gone})
    return _without(accounts, gone, whole)


def _delete_qos(accounts: Accounts, change: AccountChange) -> Changed:
    names = [name for name in accounts.qos if name in change.names]
    used = [one for one in accounts.associations if one.default_qos in names]
    if used or "normal" in names:
        raise AccountChangeError(Problem.DEFAULT_QOS, *(f"{one.default_qos} {one.account} {one.user}" for one in used))
    left = {
        name: replace(qos, preempt=tuple(each for each in qos.preempt if each not in names))
        for name, qos in accounts.qos.items()
        if name not in names
    }
    associations = tuple(
        one if one.qos is None else replace(one, qos=tuple(each for each in one.qos if each not in names))
        for one in accounts.associations
    )
    return Changed(replace(accounts, qos=left, associations=associations), tuple(names))


def _change_coordinators(accounts: Accounts, change: AccountChange) -> Changed:
    for name in change.accounts:
        if name not in accounts.accounts:
            raise AccountChangeError(Problem.UNKNOWN_ACCOUNT, name)
    adds = change.action is Action.ADD
    made = {}
    for name, account in accounts.accounts.items():
        if change.accounts and name not in change.accounts:
            continue
        others = tuple(user for user in account.coordinators if user not in change.names)
        now = (*others, *dict.fromkeys(change.names)) if adds else others
        if set(now) != set(account.coordinators):
            made[name] = replace(account, coordinators=now)
    return Changed(replace(accounts, accounts={**accounts.accounts, **made}), tuple(made))


def _with_settings(accounts: Accounts, one: Association, settings: Mapping[str, Setting]) -> Association:
    limits = one.limits
    for word, value in settings.items():
        if word in WORDS and (value is None or isinstance(value, int | Mapping)):
            limits = limits.with_limit(word, value)
    one = replace(one, limits=limits)
    if "shares" in settings:
        shares = settings["shares"]
        one = replace(one, shares=shares if isinstance(shares, int) else 1)
    if "defaultQos" in settings:
        name = str(settings["defaultQos"] or "")
        _check_qos(accounts, [name] if name else [])
        one = replace(one, default_qos=name)
    edit = settings.get("qos")
    if isinstance(edit, NameEdit):
        _check_qos(accounts, edit.names)
        one = replace(one, qos=_edited_qos(accounts, one, edit))
    return one


def _edited_qos(accounts: Accounts, one: Association, edit: NameEdit) -> tuple[str, ...] | None:
    if edit.operator == "=":
        return edit.names or None  # as the account above, again
    return _edited(one.qos if one.qos is not None else _qos_above(accounts, one), edit)


def _qos_above(accounts: Accounts, one: Association) -> tuple[str, ...]:
    name = one.account if one.user else accounts.accounts[one.account].parent
    while name:
        above = accounts.of_account(name)
        if above.qos is not None:
            return above.qos
        name = accounts.accounts[name].parent
    return ()


def _edited(names: tuple[str, ...], edit: NameEdit) -> tuple[str, ...]:
    if edit.operator == "=":
        return tuple(dict.fromkeys(edit.names))
    if edit.operator == "+":
        return tuple(dict.fromkeys((*names, *edit.names)))
    return tuple(name for name in names if name not in edit.names)


def _check_qos(accounts: Accounts, names: Iterable[str]) -> None:
    for name in names:
        if name not in accounts.qos:
            raise AccountChangeError(Problem.UNKNOWN_QOS, name)


def _qos_with(accounts: Accounts, qos: Qos, settings: Mapping[str, Setting]) -> Qos:
    limits = qos.limits
    for word, value in settings.items():
        if word in WORDS and (value is None or isinstance(value, int | Mapping)):
            limits = limits.with_limit(word, value)

    def number(key: str, old: float | None) -> float | None:
        value = settings.get(key, old)
        return value if isinstance(value, int | float) else None

    flags, preempt = settings.get("flags"), settings.get("preempt")
    if isinstance(preempt, NameEdit):
        _check_qos(accounts, preempt.names)
    exempt = number("preemptExemptSeconds", qos.preempt_exempt_s)
    usage_factor = number("usageFactor", qos.usage_factor)
    return replace(
        qos,
        limits=limits,
        description=str(settings.get("description", qos.description) or ""),
        flags=_edited(qos.flags, flags) if isinstance(flags, NameEdit) else qos.flags,
        preempt=_edited(qos.preempt, preempt) if isinstance(preempt, NameEdit) else qos.preempt,
        preempt_mode=str(settings.get("preemptMode", qos.preempt_mode) or ""),
        grace_s=int(number("graceSeconds", qos.grace_s) or 0),
        preempt_exempt_s=None if exempt is None else int(exempt),
        usage_factor=1.0 if usage_factor is None else usage_factor,
        usage_threshold=number("usageThreshold", qos.usage_threshold),
        limit_factor=number("limitFactor", qos.limit_factor),
    )


_CHANGES: Mapping[tuple[Action, Entity], Callable[[Accounts, AccountChange], Changed]] = {
    (Action.ADD, Entity.ACCOUNT): _add_accounts,
    (Action.ADD, Entity.USER): _add_users,
    (Action.ADD, Entity.QOS): _add_qos,
    (Action.ADD, Entity.COORDINATOR): _change_coordinators,
    (Action.MODIFY, Entity.ACCOUNT): _modify_accounts,
    (Action.MODIFY, Entity.USER): _modify_users,
    (Action.MODIFY, Entity.QOS): _modify_qos,
    (Action.DELETE, Entity.ACCOUNT): _delete_accounts,
    (Action.DELETE, Entity.USER): _delete_users,
    (Action.DELETE, Entity.QOS): _delete_qos,
    (Action.DELETE, Entity.COORDINATOR): _change_coordinators,
}
