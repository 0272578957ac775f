"""Files of `sacctmgr dump`: `Account - 'physics':Description='…':Fairshare=10`."""

from __future__ import annotations

import re

from hpcbatch.site.importing.found import Found, Place, Setting
from hpcbatch.site.importing.slurm_conf import cluster_name

_LINE = re.compile(r"\s*(\w+)\s*-\s*(?:'([^']*)'|([^:\s]+))\s*(?::(.*))?")
_PART = re.compile(r"([^:=]+)=('[^']*'|[^:]*)(?::|$)")
_DESCRIBING = frozenset(
    {
        "description",
        "organization",
        "defaultaccount",
        "defaultwckey",
        "adminlevel",
        "fairshare",
        "qos",
        "defaultqos",
        "flags",
        "usagefactor",
        "preemptmode",
        "classification",
    }
)
_LIMITS = "limits of accounts, users and QOS are a namespace's quota: hpcbatch user add --quota-cpus"
_SHARES = "there is no fair share between accounts or users"
_USERS = "users are made with hpcbatch user add"


def read(text: str, file: str, found: Found) -> None:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        place = Place(file, number)
        match = _LINE.fullmatch(line.rstrip())
        if match is None:
            found.wrong(place, f"{line.strip()[:60]!r} is no line of a dump: expected Account - 'name':Key=Value")
            continue
        kind, name = match[1], match[2] or match[3] or ""
        setting = Setting(place, kind, name)
        if kind == "Cluster":
            cluster_name(setting, found)
        elif kind == "Account":
            found.accounts.setdefault(name, setting)
            found.carried(setting)
        elif kind == "User":
            found.leave(setting, _USERS)
        elif kind in {"QOS", "Parent"}:
            found.own(setting)  # any QOS is taken, and kept with the job
        else:
            found.leave(setting, "this kind of line is not known here")
        for part in _PART.finditer(match[4] or ""):
            _limit(Setting(place, f"{kind} {name}: {part[1]}", part[2].strip("'")), part[1].lower(), found)


def _limit(setting: Setting, key: str, found: Found) -> None:
    if key == "fairshare" and setting.value not in {"1", "parent"}:
        found.leave(setting, _SHARES)
    elif key in _DESCRIBING:
        found.own(setting)
    else:
        found.leave(setting, _LIMITS)
