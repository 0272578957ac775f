"""The option -M of Slurm's commands: there is one cluster."""

from __future__ import annotations

from hpcbatch.dialects.slurm.errors import SlurmUsageError

ALL = "all"


def check_clusters(text: str, own: str, command: str) -> str:
    """What the command says on stderr about clusters that there are not, before it goes on with `own`.
    Raises SlurmUsageError if it is not among them.
    """
    names = text.split(",")
    if ALL in names:
        return ""
    lines = [f"{command}: error: No cluster '{name}' known by database." for name in names if name != own]
    if own not in names:
        raise SlurmUsageError(
            "\n".join(lines) + f"\n{command}: error: '{text}' can't be reached now, or it is an invalid entry for "
            "--cluster.  Use 'sacctmgr list clusters' to see available clusters."
        )
    return "\n".join(lines)


def heading(own: str) -> str:
    """The line above what is listed of a cluster that was asked for by name."""
    return f"CLUSTER: {own}\n"
