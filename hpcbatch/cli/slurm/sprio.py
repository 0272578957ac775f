"""`sprio`: says that there are no factors of priorities."""

from __future__ import annotations

import sys
from functools import partial

from hpcbatch.cli.common import Session, run
from hpcbatch.cli.slurm.common import describe


def main() -> None:
    run("sprio", _body, partial(describe, "sprio"))


def _body(_session: Session) -> int:
    from hpcbatch.cli.unix_names import uid_of
    from hpcbatch.dialects.slurm.sprio import refusal

    text, error = refusal(sys.argv[1:], uid_of)
    sys.stdout.write(text)
    raise error
