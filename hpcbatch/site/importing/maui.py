"""maui.cfg and moab.cfg: limits of classes, users and groups, features of nodes, licences, standing reservations.
All else is policy.

Source of the grammar: Maui Administrator's Guide, appendix F; Moab's, appendix A.
"""

from __future__ import annotations

import re

from hpcbatch.site.importing import maui_limits
from hpcbatch.site.importing.found import Found, Place, Queue, Setting
from hpcbatch.site.importing.slurm_conf import cluster_name, licenses
from hpcbatch.site.importing.standing import read_standing
from hpcbatch.site.importing.values import LONGEST_S, hosts, pbs_seconds, whole
from hpcbatch.typed import Final

_LINE = re.compile(r"\s*([A-Za-z][\w.]*)(?:\[([^\]]*)\])?\s*=?\s*(.*?)\s*")
_ATTRIBUTE = re.compile(r"""([A-Za-z][\w.]*(?:\[[^\]]*\])?)\s*[+-]?=\s*(?:"([^"]*)"|(\S*))""")
_ORDER = "who goes first is set by the keys priority and backfillDepth, and by sacctmgr: see docs/accounts.md"
_LIMITS = "operators set limits by sacctmgr and qmgr: docs/accounts.md"
_WHERE = "where pods go is Volcano's: its plugins nodeorder and binpack"
_POLICY = "a policy of the scheduler, for which site.yaml has no key"
_REASONS: Final[tuple[tuple[re.Pattern[str], str], ...]] = tuple(
    (re.compile(pattern), why)
    for pattern, why in (
        (r"(USER|GROUP|ACCOUNT|QOS|SYS)CFG|MAX\w*JOB.*|MAXPROC.*|MAXNODE.*", _LIMITS),
        (
            r"FS\w*|\w*WEIGHT|\w*CAP|XF\w*|\w*PRIORITY\w*|REJECTNEG\w*|BACKFILL\w*|BF\w*|RESERVATION\w*|RESDEPTH|PRIOACCRUAL.*",
            _ORDER,
        ),
        (r"SR\w*", "standing reservations are read as SRCFG[NAME]"),
        (r"\w*RESERV\w*", "reservations are made by operators: scontrol create reservation"),
        (r"NODE(ALLOCATION|ACCESS|SET|AVAIL)\w*|JOBNODEMATCH\w*|PAR\w*|TASKDISTRIBUTION\w*", _WHERE),
        (r"PREEMPT\w*", "which jobs end for others is set by the key preemption: see docs/accounts.md"),
    )
)
_OWN = re.compile(
    r"SERVER\w*|ADMIN\w*|RM\w*|AM\w*|LOG\w*|\w*LOG|\w*DIR|\w*FILE\w*|CHECKPOINT\w*|CLIENT\w*|\w*TIMEOUT|\w*PORT|STAT\w*"
    r"|FEEDBACK\w*|ID(CFG)?|TOOL\w*|TRIGGER\w*|DEFER\w*|\w*INTERVAL|SCHED\w*|DISPLAY\w*|SIM\w*|NOTIFICATION\w*|MAIL\w*"
)


def read(text: str, file: str, found: Found) -> None:
    joined, first = "", 0
    for number, line in enumerate(text.split("\n"), 1):
        bare = line.strip()
        first = first or number
        if bare.endswith("\\"):
            joined += bare[:-1] + " "
            continue
        whole_line, place = joined + bare, Place(file, first)
        joined, first = "", 0
        if not whole_line or whole_line.startswith(("#", "//")):
            continue
        match = _LINE.fullmatch(whole_line.partition(" #")[0])
        if match is None:
            found.wrong(place, f"{whole_line[:60]!r} is no parameter: expected NAME VALUE or NAME[INDEX] KEY=VALUE")
            return
        _parameter(match[1].upper(), match[2], match[3], place, found)


def _parameter(name: str, index: str | None, rest: str, place: Place, found: Found) -> None:
    if index is not None and name in {"CLASSCFG", "NODECFG", "SRCFG"}:
        found.carried(Setting(place, name, index))
        for match in _ATTRIBUTE.finditer(rest):
            value = match[2] if match[2] is not None else match[3]
            setting = Setting(place, f"{name}[{index}] {match[1]}", value)
            if name == "SRCFG":
                read_standing(index, match[1].upper(), setting, found)
            elif name == "CLASSCFG":
                queue = found.everywhere if index.upper() == "DEFAULT" else found.queue(index, place)
                if not maui_limits.take(name, index, match[1].upper(), setting, found):
                    _class(queue, match[1].upper(), setting, found)
            else:
                _node(index, match[1].upper(), setting, found)
        return
    if index is not None and name in {"USERCFG", "GROUPCFG"}:
        for match in _ATTRIBUTE.finditer(rest):
            value = match[2] if match[2] is not None else match[3]
            setting, key = Setting(place, f"{name}[{index}] {match[1]}", value), match[1].upper()
            if not maui_limits.take(name, index, key, setting, found):
                is_limit = key.startswith(("MAX", "MIN"))
                found.leave(setting, _LIMITS if is_limit else _ORDER)
        return
    setting = Setting(place, name if index is None else f"{name}[{index}]", rest)
    if name == "SERVERHOST":
        _server(setting, rest, found)
    elif _OWN.fullmatch(name) or not rest:
        found.own(setting)
    else:
        found.leave(setting, next((why for pattern, why in _REASONS if pattern.fullmatch(name)), _POLICY))


def _server(setting: Setting, host: str, found: Found) -> None:
    if host.partition(".")[0].lower() == "localhost" or "server_name" in found.values:
        found.own(setting)
    else:
        cluster_name(setting._replace(value=host.partition(".")[0]), found)


def _class(queue: Queue, key: str, setting: Setting, found: Found) -> None:
    field = _TIMES.get(key)
    counted = _COUNTS.get(key)
    if field is not None:
        seconds = pbs_seconds(setting.value)
        if seconds is None:
            found.wrong(setting.place, f"{setting}: expected a time such as 24:00:00")
        else:
            found.limit(queue, field, seconds if 0 < seconds <= LONGEST_S else None, setting)
    elif counted is not None:
        count = whole(setting.value)
        if count is None or not 0 < count <= 10**6:
            found.wrong(setting.place, f"{setting}: expected a whole number from 1 to 1000000")
        else:
            found.limit(queue, counted, count, setting)
    elif key in {"REQUIREDFEATURES", "REQ.FEATURES", "DEFAULT.FEATURES"}:
        names = [name for name in re.split(r"[:,\s]+", setting.value.strip("[]")) if name]
        queue.features += [name for name in names if name not in queue.features]
        found.carried(setting)
    elif key == "HOSTLIST" and (listed := hosts(setting.value)):
        found.limit(queue, "nodes", frozenset(listed), setting)
    elif key.startswith(("REQUIREDUSER", "REQUIREDGROUP", "REQUIREDACCOUNT", "EXCLUDEUSER", "MEMBERULIST")):
        queue.is_restricted = True
        found.leave(setting, "who may use a queue has no key: every user of the cluster may use each queue")
    elif key.startswith(("PRIORITY", "FS", "QLIST", "QDEF", "FLAGS")):
        found.leave(setting, _ORDER)
    else:
        found.leave(setting, "which limits qmgr and sacctmgr set is told in docs/accounts.md")


def _node(index: str, key: str, setting: Setting, found: Found) -> None:
    if index.upper() == "GLOBAL" and key == "GRES":
        licenses(setting, found)
    elif key in {"FEATURES", "FEATURE"} and index.upper() not in {"DEFAULT", "GLOBAL"}:
        node = found.node(index, setting.place)
        for name in re.split(r"[:,\s]+", setting.value.strip("[]")):
            if name:
                node.features.setdefault(name, setting.place)
        found.carried(setting)
    else:
        found.leave(setting, _WHERE)


_TIMES: Final = {
    "WCLIMIT": "max_walltime_s",
    "MAX.WCLIMIT": "max_walltime_s",
    "DEFAULT.WCLIMIT": "default_walltime_s",
}
_COUNTS: Final = {"MAX.NODE": "max_nodes", "MAX.PROC": "max_cpus"}
