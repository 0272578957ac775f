"""gres.conf: the names and types of generic resources. Which node has how many, its kubelet reports."""

from __future__ import annotations

from hpcbatch.site.importing import slurm_rows
from hpcbatch.site.importing.found import Found
from hpcbatch.site.importing.slurm_conf import Include, lines, settings
from hpcbatch.site.importing.values import hosts

_INCLUDE = "include"


def read(text: str, file: str, found: Found, include: Include) -> None:
    for place, line, at in lines(text, file):
        if line.split()[0].lower() == _INCLUDE and len(line.split()) == 2:
            for name, included in include(line.split()[1], place):
                read(included, name, found, lambda *_: [])  # one deep: nobody nests these
            continue
        row = settings(line, file, at, found, place)
        names = hosts(row["nodename"].value) or [] if "nodename" in row else []
        flags = row["flags"].value.lower() if "flags" in row else ""
        for key, setting in row.items():
            if key == "name":
                kind = row["type"].value if "type" in row else ""
                found.carried(setting)
                slurm_rows.add_gres(setting.value, kind, names, setting, found)
            elif key in {"type", "nodename"}:
                found.carried(setting)
            elif key == "flags" and "countonly" in flags:
                found.leave(setting, "only counted: a device plugin or node's capacity has to offer it")
            else:
                found.own(setting)  # devices, CPUs and counts, which device plugins report
