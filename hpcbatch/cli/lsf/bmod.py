"""`bmod`: change a job."""

from __future__ import annotations

import sys
from functools import partial

from hpcbatch.cli.common import EndedError, Session, complain, run
from hpcbatch.cli.lsf.common import describe
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.cli.lsf.jobs import Target
    from hpcbatch.dialects.lsf.modify import Changes


def main() -> None:
    run("bmod", _body, partial(describe, "bmod"))


def _body(session: Session) -> int:
    from hpcbatch.cli.lsf.bsub import jobs_called
    from hpcbatch.cli.lsf.jobs import FAILED, Target, parse_ids
    from hpcbatch.client import listing
    from hpcbatch.dialects.lsf.errors import of_job
    from hpcbatch.dialects.lsf.modify import read_bmod
    from hpcbatch.dialects.registry import door
    from hpcbatch.errors import HpcBatchError

    wanted = read_bmod(
        sys.argv[1:],
        cwd=session.cwd,
        user=session.user,
        now=session.now,
        lookup=partial(jobs_called, session),
        resized=lambda spec: door(spec.dialect).resized(spec),
    )
    (shown, named), *_ = parse_ids([wanted.job])
    row = listing.find_all(session.api, session.namespace, [named.number]).get(named.number)
    if row is None:
        raise EndedError(f"Job <{shown}>: No matching job found", FAILED)
    try:
        problems = _alter(session, Target(shown, row, named.members), wanted)
    except HpcBatchError as error:
        raise EndedError(f"Job <{shown}>: {of_job(error)}", FAILED) from None
    for text in problems:
        complain(text)
    if problems:
        return FAILED
    print(f"Parameters of job <{shown}> are being changed")
    return 0


def _alter(session: Session, target: Target, wanted: Changes) -> list[str]:
    """What of the members of an array could not be changed."""
    from hpcbatch.client.alter import alter
    from hpcbatch.client.array_alterations import alter_array, alter_members
    from hpcbatch.client.arrays import check_known
    from hpcbatch.dialects.lsf.errors import of_job

    if not target.row.array_indices:
        alter(session.api, target.row, wanted.change, array_limit=wanted.array_limit)
        return []
    if target.members is None:
        parts = alter_array(session.api, target.row, wanted.change, wanted.array_limit)
    else:
        check_known(target.row, target.members)
        parts = alter_members(session.api, target.row, target.members, wanted.change)
    number = target.row.job_id
    return [f"Job <{number}[{indices}]>: {of_job(error)}" for indices, error in parts if error is not None]
