"""`strigger`: says that no triggers are set, and can be."""

from __future__ import annotations

import sys
from functools import partial

from hpcbatch.cli.common import Session, run
from hpcbatch.cli.slurm.common import describe


def main() -> None:
    run("strigger", _body, partial(describe, "strigger"))


def _body(_session: Session) -> int:
    from hpcbatch.dialects.slurm.strigger import answer

    answer(sys.argv[1:])
    return 0
