"""Slurm's commands that are not here: what each says, and what there is instead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hpcbatch.dialects.slurm.errors import VERSION_TEXT, SlurmAnswer, SlurmUsageError
from hpcbatch.model.not_here import DAEMONS
from hpcbatch.typed import NamedTuple


class Absent(NamedTuple):
    error: str
    """As Slurm says it where it can not."""
    instead: str


def _unsupported(name: str, instead: str) -> Absent:
    return Absent(f"{name}: error: Requested operation not supported on this system", instead)


COMMANDS: Mapping[str, Absent] = {
    "sh5util": _unsupported("sh5util", "no profiles are written; `sstat` and `sacct` show what jobs and steps use"),
    **{name: _unsupported(name, DAEMONS) for name in ("slurmctld", "slurmd", "slurmdbd", "slurmrestd", "slurmstepd")},
    "scrontab": Absent(
        "scrontab: fatal: scrontab is disabled on this cluster",
        "cron on the login node can call sbatch; a job can submit its next one with `sbatch --begin`",
    ),
    "sgather": Absent(
        "sgather: error: Requested operation is presently disabled", "in a script `scp HOST:FILE` will do"
    ),
    "sjobexitmod": _unsupported(
        "sjobexitmod",
        "what became of a job is not changed: `sacct` shows it",
    ),
    "sjstat": _unsupported("sjstat", "`sinfo` and `squeue` show the same"),
    "smap": _unsupported("smap", "`sinfo` and `squeue -i` show the same"),
    "sview": _unsupported(
        "sview",
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
