"""PBS's commands that are not here: each says so, by the name that it was called by."""

from __future__ import annotations

import sys
from functools import partial

from hpcbatch.cli.common import Session, run
from hpcbatch.cli.pbs.common import answered, describe


def main() -> None:
    command = sys.argv[0].rpartition("/")[2]
    run(command, partial(_body, command), partial(describe, command))


def _body(command: str, _session: Session) -> int:
    if answered(sys.argv[1:]):
        return 0
    from hpcbatch.dialects.pbs.absent import refusal

    raise refusal(command)
