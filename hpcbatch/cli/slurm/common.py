"""What the Slurm commands share: how they say an error."""

from __future__ import annotations

from hpcbatch.cli.common import Describe, Session


def describe(command: str, _session: Session) -> Describe:
    """Slurm's words for what ends the whole command; help and version are answers, not errors."""

    def say(error: Exception) -> tuple[str, int]:
        from hpcbatch.dialects.slurm import errors

        if isinstance(error, errors.SlurmAnswer):
            print(error.text)
            return "", 0
        return errors.describe(error, command)

    return say
