"""`seff`: how much of its CPUs and memory a job used."""

from __future__ import annotations

import sys
from functools import partial

from hpcbatch.cli.common import Session, complain, run
from hpcbatch.cli.slurm.common import describe


def main() -> None:
    run("seff", _body, partial(describe, "seff"))


def _body(session: Session) -> int:
    from hpcbatch.dialects.slurm import seff

    options = seff.read_options(sys.argv[1:])
    if not isinstance(options, seff.SeffOptions):
        text, error = options
        complain(error.rstrip("\n"))
        sys.stdout.write(text)
        return 1
    from hpcbatch.cli.slurm.sstat import lines_of
    from hpcbatch.cli.unix_names import group_name
    from hpcbatch.client.records import by_number

    records = by_number(session.api, session.namespace, {options.job.number})
    lines = lines_of(session, records, options.text)
    if not lines:
        raise seff.not_found()
    one = [line for line in lines if line.job_id_raw == lines[0].job_id_raw]
    sys.stdout.write(seff.format_efficiency(one, group_name, debug=options.debug))
    return 0
