"""The keys of slurm.conf that say who goes first, and what of accounts is enforced."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hpcbatch.site.importing.found import Found, Setting
from hpcbatch.site.importing.values import slurm_seconds, split, whole
from hpcbatch.typed import Final

_MOST = 10**9 - 1
_FLAGS: Final[Mapping[str, tuple[str, str]]] = {
    "no_fair_tree": ("fairTree", "false"),
    "small_relative_to_time": ("sizeRelative", "true"),
    "fair_tree": ("fairTree", "true"),
}


def _put(key: str, value: str, setting: Setting, found: Found) -> None:
    found.priority[key] = value
    found.carried(setting)


def _weight(key: str) -> Callable[[Setting, Found], None]:
    def read(setting: Setting, found: Found) -> None:
        weight = whole(setting.value)
        if weight is None:
            found.wrong(setting.place, f"{setting}: expected a whole number")
        elif weight > _MOST:
            found.leave(setting, f"a weight is at most {_MOST}")
        else:
            _put(key, str(weight), setting, found)

    return read


def _duration(key: str) -> Callable[[Setting, Found], None]:
    def read(setting: Setting, found: Found) -> None:
        seconds = slurm_seconds(setting.value)
        if seconds is None:
            found.wrong(setting.place, f"{setting}: expected a time such as 7-0")
        else:
            _put(key, str(seconds), setting, found)

    return read


def _type(setting: Setting, found: Found) -> None:
    kind = setting.value.removeprefix("priority/").lower()
    if kind == "multifactor":
        _put("type", "multifactor", setting, found)
    elif kind == "basic":
        found.carried(setting)
    else:
        found.leave(setting, "there are multifactor and basic")


def _favor_small(setting: Setting, found: Found) -> None:
    if setting.value.lower() in {"yes", "true", "1", "up"}:
        _put("favorSmall", "true", setting, found)
    else:
        found.carried(setting)


def _tres(setting: Setting, found: Found) -> None:
    amounts = []
    for part in split(setting.value):
        name, _, value = part.partition("=")
        weight = whole(value)
        if weight is None or weight > _MOST:
            found.leave(setting, f"weights of resources are whole numbers up to {_MOST}")
            return
        amounts.append(f'"{name.lower()}": {weight}')
    _put("weightTRES", "{" + ", ".join(amounts) + "}", setting, found)


def _flags(setting: Setting, found: Found) -> None:
    for flag in split(setting.value.lower()):
        if flag in _FLAGS:
            _put(*_FLAGS[flag], setting, found)
        else:
            found.leave(setting, f"{flag}: there are no such flags here")


def _enforce(setting: Setting, found: Found) -> None:
    """Not taken over: without accounts every job would be refused."""
    if setting.value.lower() in {"none", "0", "no", "(null)"}:
        found.carried(setting)
    else:
        found.leave(setting, "set accountingEnforce when accounts are set up with sacctmgr (docs/accounts.md)")


READERS: Final[Mapping[str, Callable[[Setting, Found], None]]] = {
    "prioritytype": _type,
    "priorityweightage": _weight("weightAge"),
    "priorityweightassoc": _weight("weightAssoc"),
    "priorityweightfairshare": _weight("weightFairshare"),
    "priorityweightjobsize": _weight("weightJobSize"),
    "priorityweightpartition": _weight("weightPartition"),
    "priorityweightqos": _weight("weightQOS"),
    "priorityweighttres": _tres,
    "fairsharedampeningfactor": _weight("dampening"),
    "prioritymaxage": _duration("maxAge"),
    "prioritydecayhalflife": _duration("decayHalfLife"),
    "prioritycalcperiod": _duration("calcPeriod"),
    "priorityfavorsmall": _favor_small,
    "priorityflags": _flags,
    "accountingstorageenforce": _enforce,
}
