"""Standing reservations of maui.cfg and moab.cfg, SRCFG[…], as `scontrol create reservation`: site.yaml has none, since
operators make them. Source: Maui Administrator's Guide, 7.1.3; Moab's has the same keys.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from shlex import quote

from hpcbatch.dataclass import dataclass, field
from hpcbatch.site.importing.found import Found, Place, Setting
from hpcbatch.site.importing.values import hosts, pbs_seconds, whole
from hpcbatch.typed import Final
from hpcbatch.units import hms

_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_DAY_S: Final = 86400
_DAYS: Mapping[frozenset[str], str] = {
    frozenset(): "DAILY",
    frozenset({"MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"}): "DAILY",
    frozenset({"MON", "TUE", "WED", "THU", "FRI"}): "WEEKDAY",
    frozenset({"SAT", "SUN"}): "WEEKEND",
}
_LISTS = {"USERLIST": "Users", "GROUPLIST": "Groups", "ACCOUNTLIST": "Accounts"}
_WHO = "a reservation is for users, groups and accounts"
_ELSE: Mapping[str, str] = {
    "CLASSLIST": _WHO,
    "QOSLIST": _WHO,
    "JOBATTRLIST": _WHO,
    "DEPTH": "as many times ahead as matter are kept",
    "MAXTIME": "the time limit of a job is its queue's",
    "TIMELIMIT": "the time limit of a job is its queue's",
    "PRIORITY": "reservations have no priority: what is granted first stays",
    "CHARGEACCOUNT": "what is reserved and not used is counted for nobody",
}


@dataclass(slots=True)
class Standing:
    """One SRCFG, whose lines may be several."""

    name: str
    place: Place
    values: dict[str, Setting] = field(default_factory=dict)

    def text(self, key: str) -> str:
        return self.values[key].value if key in self.values else ""


def read_standing(index: str, key: str, setting: Setting, found: Found) -> None:
    """Note one `KEY=VALUE` of SRCFG[index]."""
    if key in _ELSE:
        found.leave(setting, _ELSE[key])
        return
    standing = found.standing.setdefault(index, Standing(index, setting.place))
    standing.values[key] = setting


def commands(found: Found) -> list[str]:
    """One for each reservation that can be made so; of others `found.left` says why not."""
    return [text for standing in found.standing.values() if (text := _command(standing, found))]


def _command(standing: Standing, found: Found) -> str:
    problem = _problem(standing)
    if problem:
        for setting in standing.values.values():
            found.leave(setting, problem)
        return ""
    words = [f"ReservationName={standing.name}", *_times(standing), *_nodes(standing)]
    if features := [name for name in re.split(r"[:,\s]+", standing.text("NODEFEATURES").strip("[]")) if name]:
        words.append(f"Features={'&'.join(features)}")
    who = [
        f"{word}={','.join(_names(standing.text(key)))}" for key, word in _LISTS.items() if _names(standing.text(key))
    ]
    words += who or ["Users=root"]
    if flag := _flag(standing):
        words.append(f"Flags={flag}")
    for setting in standing.values.values():
        found.carried(setting)
    return f"scontrol create reservation {' '.join(map(quote, words))}"


def _problem(standing: Standing) -> str:
    """Why scontrol cannot make it; "" if it can."""
    if not _NAME.fullmatch(standing.name):
        return "its name has characters that no command line takes"
    if {"WSTARTTIME", "WENDTIME"} & standing.values.keys() or _period(standing) == "WEEK":
        return "it begins on a day of the week: make it with StartTime=DATE and Flags=WEEKLY"
    if _flag(standing) is None:
        return "it is on other days than all, Monday to Friday, or the weekend: make one for each, with Flags=WEEKLY"
    if _period(standing) != "INFINITY" and (_seconds(standing, "STARTTIME", 0) is None or _length(standing) is None):
        return "expected a time such as 08:00:00"
    if not _nodes(standing):
        return "expected HOSTLIST with names, or TASKCOUNT"
    if _names(standing.text("USERLIST")) and _names(standing.text("GROUPLIST")):
        return "it is for users or for groups, not both"
    if not all(_NAME.fullmatch(name) for key in _LISTS for name in _names(standing.text(key))):
        return "expected names"
    return ""


def _period(standing: Standing) -> str:
    return standing.text("PERIOD").upper() or "DAY"


def _flag(standing: Standing) -> str | None:
    """ "": it is once; None: no flag says when."""
    if _period(standing) == "INFINITY":
        return ""
    days = frozenset(_names(standing.text("DAYS").upper()))
    return _DAYS.get(frozenset() if "ALL" in days else days)


def _seconds(standing: Standing, key: str, usual: int) -> int | None:
    return pbs_seconds(standing.text(key)) if key in standing.values else usual


def _length(standing: Standing) -> int | None:
    start, end = _seconds(standing, "STARTTIME", 0), _seconds(standing, "ENDTIME", _DAY_S)
    if start is None or end is None or not 0 <= start < _DAY_S:
        return None
    length = end - start if end > start else end - start + _DAY_S
    return length if 0 < length <= _DAY_S else None


def _times(standing: Standing) -> list[str]:
    if _period(standing) == "INFINITY":
        return ["StartTime=now", "Duration=UNLIMITED"]
    return [f"StartTime={hms(_seconds(standing, 'STARTTIME', 0) or 0)}", f"Duration={hms(_length(standing) or _DAY_S)}"]


def _nodes(standing: Standing) -> list[str]:
    listed = standing.text("HOSTLIST")
    if listed:
        names = ["ALL"] if listed.upper() == "ALL" else hosts(listed.replace(":", ","))
        return [f"Nodes={','.join(names)}"] if names and all(map(_NAME.fullmatch, names)) else []
    tasks = whole(standing.text("TASKCOUNT")) if "TASKCOUNT" in standing.values else None
    if not tasks or tasks < 0:
        return []
    processors = re.search(r"PROCS[:=]([0-9]+)", standing.text("RESOURCES").upper())
    if processors is None or not int(processors[1]):  # all of a node, which is PROCS:-1
        return [f"NodeCnt={tasks}"]
    return [f"CoreCnt={tasks * int(processors[1])}"]


def _names(text: str) -> list[str]:
    return [name for name in re.split(r"[,:\s]+", text.strip("[]")) if name]
