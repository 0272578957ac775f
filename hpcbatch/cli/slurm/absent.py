"""Slurm's commands that are not here: each says so, by the name that it was called by."""

from __future__ import annotations

import sys
from functools import partial

from hpcbatch.cli.common import Session, run
from hpcbatch.cli.slurm.common import describe


def main() -> None:
    command = sys.argv[0].rpartition("/")[2]
    run(command, partial(_body, command), partial(describe, command))


def _body(command: str, _session: Session) -> int:
    from hpcbatch.dialects.slurm.absent import refusal

    raise refusal(command, sys.argv[1:])
