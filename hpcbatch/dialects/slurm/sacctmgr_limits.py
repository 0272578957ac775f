"""Limits in the columns that sacctmgr lists."""

from __future__ import annotations

from collections.abc import Mapping

from hpcbatch.dialects.slurm.sacctmgr_values import format_minutes, format_tres
from hpcbatch.model.account_limits import WORDS, Amount, Limits

_COLUMNS: Mapping[str, str] = {
    "GrpSubmitJobs": "GrpSubmit",
    "MaxSubmitJobs": "MaxSubmit",
    "MaxTRESPerJob": "MaxTRES",
    "MaxTRESMinsPerJob": "MaxTRESMins",
    "MaxWallDurationPerJob": "MaxWall",
    "MinPrioThreshold": "MinPrioThres",
    "MaxJobsPerUser": "MaxJobsPU",
    "MaxJobsPerAccount": "MaxJobsPA",
    "MaxJobsAccruePerUser": "MaxJobsAccruePU",
    "MaxJobsAccruePerAccount": "MaxJobsAccruePA",
    "MaxSubmitJobsPerUser": "MaxSubmitPU",
    "MaxSubmitJobsPerAccount": "MaxSubmitPA",
    "MaxTRESPerUser": "MaxTRESPU",
    "MaxTRESPerAccount": "MaxTRESPA",
    "MaxTRESRunMinsPerUser": "MaxTRESRunMinsPU",
    "MaxTRESRunMinsPerAccount": "MaxTRESRunMinsPA",
    "MinTRESPerJob": "MinTRES",
}
"""The column of a limit, where that is not its word."""
_PARTS: Mapping[str, tuple[str, str]] = {
    "GrpCPUs": ("GrpTRES", "cpu"),
    "GrpMem": ("GrpTRES", "mem"),
    "GrpNodes": ("GrpTRES", "node"),
    "GrpCPUMins": ("GrpTRESMins", "cpu"),
    "GrpCPURunMins": ("GrpTRESRunMins", "cpu"),
    "MaxCPUs": ("MaxTRESPerJob", "cpu"),
    "MaxNodes": ("MaxTRESPerJob", "node"),
    "MaxCPUMins": ("MaxTRESMinsPerJob", "cpu"),
    "MaxCPUsPU": ("MaxTRESPerUser", "cpu"),
    "MaxNodesPU": ("MaxTRESPerUser", "node"),
    "MaxCPURunMinsPU": ("MaxTRESRunMinsPerUser", "cpu"),
    "MinCPUs": ("MinTRESPerJob", "cpu"),
}
"""Columns with the amount of one resource."""


def limit_columns(limits: Limits) -> dict[str, str]:
    """What is set, by the heading of its column."""
    found = {}
    for word, count in limits.counts.items():
        is_time = WORDS[word].amount is Amount.MINUTES
        found[_COLUMNS.get(word, word)] = format_minutes(count) if is_time else str(count)
    for word, amounts in limits.tres.items():
        found[_COLUMNS.get(word, word)] = format_tres(amounts)
    for heading, (word, name) in _PARTS.items():
        if name in limits.amounts(word):
            found[heading] = str(limits.amounts(word)[name])
    return found
