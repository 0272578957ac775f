"""LSF's commands that are not here: each says so, by the name that it was called by."""

from __future__ import annotations

import os
import sys
from functools import partial

from hpcbatch.cli.common import Session, run
from hpcbatch.cli.lsf.common import describe


def main() -> None:
    command = os.path.basename(sys.argv[0])  # noqa: PTH119  pathlib costs milliseconds
    run(command, partial(_body, command), partial(describe, command))


def _body(command: str, _session: Session) -> int:
    from hpcbatch.dialects.lsf.absent import refusal
    from hpcbatch.dialects.lsf.errors import VERSION, LsfAnswer

    if sys.argv[1:2] == ["-V"]:
        raise LsfAnswer(VERSION)
    raise refusal(command)
