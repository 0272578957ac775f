"""Which format a file has, by its content, and its reading."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum

from hpcbatch.errors import HpcBatchError
from hpcbatch.site.importing import gres_conf, lsf, maui, pbsnodes, qmgr, sacctmgr, sched_config, scontrol, slurm_conf
from hpcbatch.site.importing.found import Found
from hpcbatch.site.importing.slurm_conf import Include
from hpcbatch.typed import Final


class Format(StrEnum):
    SLURM_CONF = "slurm.conf"
    GRES_CONF = "gres.conf"
    SCONTROL = "scontrol show partition or scontrol show node"
    SACCTMGR = "sacctmgr dump"
    QMGR = "qmgr -c 'print server'"
    PBSNODES = "pbsnodes -a"
    SCHED_CONFIG = "sched_config"
    MAUI = "maui.cfg or moab.cfg"
    LSF = "lsb.queues, lsb.hosts, lsb.params or lsf.cluster"


EXPECTED: Final = "expected " + ", ".join(list(Format)[:-1]) + f", or {list(Format)[-1]}"

_TESTS: Final[tuple[tuple[Format, re.Pattern[str]], ...]] = tuple(
    (name, re.compile(pattern, re.MULTILINE | flags))
    for name, pattern, flags in (
        (
            Format.LSF,
            r"^\s*Begin\s+(Queue|Host|HostGroup|Parameters|Cluster|ClusterAdmins|Resource|HostType)\s*$",
            re.I,
        ),
        (Format.SACCTMGR, r"^\s*(Cluster|Account|User|Parent|QOS) - ", 0),
        (Format.QMGR, r"^[^#\n]{0,99}?\b(create|set)\s+(queue|server|node)\s+\S+", re.IGNORECASE),
        (Format.SCONTROL, r"\b(TotalCPUs|TotalNodes|CPUAlloc|NodeHostName|AllocNodes=\S+ Default)=?", 0),
        (Format.SCHED_CONFIG, r"^\s*(round_robin|by_queue|strict_ordering|preemptive_sched|preempt_\w+)\s*:", 0),
        (Format.PBSNODES, r"^\S+[ \t]*\r?\n[ \t]+(\S+ = .*\n[ \t]+){0,6}(state|ntype|Mom) = ", 0),
        (Format.MAUI, r"^\s*(\w+CFG\[|(SERVERHOST|RMPOLLINTERVAL|BACKFILLPOLICY|NODEALLOCATIONPOLICY)\s)", 0),
        (
            Format.SLURM_CONF,
            r"^\s*(ClusterName|ControlMachine|SlurmctldHost|SlurmctldPort|PartitionName|NodeSet|NodeName=.*\b(CPUs|Procs"
            r"|Sockets|RealMemory|State|Feature|Features|ThreadsPerCore|NodeAddr|Boards))\s*=",
            re.IGNORECASE,
        ),
        (Format.GRES_CONF, r"^\s*((NodeName=.*\s)?Name=|AutoDetect=)", re.IGNORECASE),
    )
)


def recognised(text: str) -> Format | None:
    """None: none of them."""
    return next((name for name, test in _TESTS if test.search(text)), None)


_READ: Final[Mapping[Format, Callable[[str, str, Found], None]]] = {
    Format.SCONTROL: scontrol.read,
    Format.SACCTMGR: sacctmgr.read,
    Format.QMGR: qmgr.read,
    Format.PBSNODES: pbsnodes.read,
    Format.SCHED_CONFIG: sched_config.read,
    Format.MAUI: maui.read,
    Format.LSF: lsf.read,
}


def read_file(text: str, file: str, found: Found, include: Include) -> None:
    """Put what `text`, the content of `file`, says into `found`. Raises HpcBatchError if it is of no known format."""
    kind = recognised(text)
    if kind is None:
        raise HpcBatchError(f"{file}: not recognised; {EXPECTED}")
    if kind is Format.SLURM_CONF:
        slurm_conf.read(text, file, found, include)
    elif kind is Format.GRES_CONF:
        gres_conf.read(text, file, found, include)
    else:
        _READ[kind](text, file, found)


_QUEUES_OF_LSF: Final = re.compile(r"^\s*Begin\s+Queue\s*$", re.MULTILINE | re.IGNORECASE)


def in_order(files: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Files that may include others come first, and among them those that name the cluster; LSF's queues come last,
    since they name groups of hosts.
    """
    ranks = {Format.SLURM_CONF: 0, Format.MAUI: 2}
    return sorted(
        files,
        key=lambda file: (
            ranks.get(recognised(file[1]) or Format.QMGR, 1) + 2 * bool(_QUEUES_OF_LSF.search(file[1])),
            "clustername" not in file[1].lower(),
        ),
    )
