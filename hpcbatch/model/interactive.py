"""How a job's processes are connected with the command that submitted it."""

from __future__ import annotations

from enum import StrEnum


class Interactive(StrEnum):
    """What that command is attached to, in the job's first pod."""

    SESSION = "session"
    """A terminal that ends with its connection (PBS -I)."""
    TERMINAL = "terminal"
    """A terminal that stays when the connection is lost (Slurm srun --pty)."""
    STREAMS = "streams"
    """Input, output and errors, each by itself (Slurm srun)."""
    ALLOCATION = "allocation"
    """Nothing: the job holds its resources until it is released (Slurm salloc)."""

    @property
    def has_client(self) -> bool:
        """Whether that command has a connection with the pod."""
        return self is not Interactive.ALLOCATION

    @property
    def is_terminal(self) -> bool:
        return self in {Interactive.SESSION, Interactive.TERMINAL}
