"""Slurm's commands that are not here: what each says, and what there is instead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hpcbatch.dialects.slurm.errors import VERSION_TEXT, SlurmAnswer, SlurmUsageError
from hpcbatch.typed import NamedTuple


class Absent(NamedTuple):
    error: str
    """As Slurm says it where it can not."""
    instead: str


_UNSUPPORTED = "{}: error: Requested operation not supported on this system"
_DAEMON = "Kubernetes stores and starts jobs; `hpcbatch check` shows whether the cluster is well"

COMMANDS: Mapping[str, Absent] = {
    "sh5util": Absent(
        _UNSUPPORTED.format("sh5util"), "no profiles are written; `sstat` and `sacct` show what jobs and steps use"
    ),
    **{
        name: Absent(_UNSUPPORTED.format(name), _DAEMON)
        for name in ("slurmctld", "slurmd", "slurmdbd", "slurmrestd", "slurmstepd")
    },
    "scrontab": Absent(
        "scrontab: fatal: scrontab is disabled on this cluster",
        "cron on the login node can call sbatch; a job can submit its next one with `sbatch --begin`",
    ),
    "sgather": Absent(
        "sgather: error: Requested operation is presently disabled", "in a script `scp HOST:FILE` will do"
    ),
    "sjobexitmod": Absent(
        "sjobexitmod: error: Requested operation not supported on this system",
        "what became of a job is not changed: `sacct` shows it",
    ),
    "sjstat": Absent(
        "sjstat: error: Requested operation not supported on this system", "`sinfo` and `squeue` show the same"
    ),
    "smap": Absent(
        "smap: error: Requested operation not supported on this system", "`sinfo` and `squeue -i` show the same"
    ),
    "sview": Absent(
        "sview: error: Requested operation not supported on this system",
        "`sinfo`, `squeue -i` and `scontrol show` show the same",
    ),
}


def refusal(command: str, argv: Sequence[str]) -> SlurmUsageError:
    """Raises SlurmAnswer for help and version."""
    absent = COMMANDS[command]
    if "-V" in argv or "--version" in argv:
        raise SlurmAnswer(VERSION_TEXT)
    if "--help" in argv or "--usage" in argv:
        raise SlurmAnswer(f"Usage: {command}\n\n  hpcbatch has no {command}: {absent.instead}")
    return SlurmUsageError(f"{absent.error}\n{command}: hpcbatch has no {command}: {absent.instead}")
