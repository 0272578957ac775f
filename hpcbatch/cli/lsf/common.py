"""What the LSF commands share: how they say an error, and the round over job ids."""

from __future__ import annotations

from hpcbatch.cli.common import Describe, Session
from hpcbatch.model.text import printable_lines


def describe(command: str, _session: Session) -> Describe:
    """LSF's words for what ends the whole command; help and version are answers, not errors."""

    def say(error: Exception) -> tuple[str, int]:
        from hpcbatch.dialects.lsf import errors

        if isinstance(error, errors.LsfAnswer):
            print(printable_lines(str(error)))
            return "", 0
        return errors.describe(error, command)

    return say
