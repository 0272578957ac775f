"""`qalter`: change jobs."""

from __future__ import annotations

import sys
from functools import partial

from hpcbatch.cli.common import EndedError, Session, run
from hpcbatch.cli.pbs.common import answered, check_server, describe, for_each_job
from hpcbatch.errors import RefusedError
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.api.port import Object
    from hpcbatch.model.record import JobRecord
    from hpcbatch.model.row import JobRow
    from hpcbatch.model.spec import JobSpec


def main() -> None:
    run("qalter", _body, partial(describe, "qalter"))


def _body(session: Session) -> int:
    if answered(sys.argv[1:]):
        return 0
    from hpcbatch.client import holds
    from hpcbatch.client.alter import alter_with_members
    from hpcbatch.client.rights import check_may_change_all
    from hpcbatch.dialects.pbs import errors
    from hpcbatch.dialects.pbs.alter import ATTRIBUTE, read_qalter
    from hpcbatch.dialects.pbs.ids import row_id
    from hpcbatch.model.dialect import Dialect
    from hpcbatch.model.refusal import RefusalCode

    asked = read_qalter(
        sys.argv[1:],
        environ=session.environ,
        cwd=session.cwd,
        host=session.host,
        server=session.server,
        now=session.now,
    )
    check_server(session, "qalter")

    def change(record: JobRecord) -> JobSpec:
        spec = asked.apply(record)
        if record.spec.dialect == Dialect.PBS or spec.chunks == record.spec.chunks:
            return spec
        from hpcbatch.dialects.registry import door

        return door(record.spec.dialect).resized(spec)

    def alter(row: JobRow) -> Object | None:
        if asked.hold is not None and asked.hold.admin and not row.state.is_final:
            check_may_change_all(session.api, "sets and takes off these holds")  # before anything is changed
        try:
            alter_with_members(session.api, row, change, array_limit=asked.array_limit)
        except errors.PbsError as error:
            if error.usage:  # no job could be so
                raise EndedError(*errors.describe(error, "qalter")) from None
            raise errors.PbsError(f"{error.text} {row_id(row)}", error.code) from None
        except RefusedError as refused:
            if refused.code != RefusalCode.STARTED:
                raise
            raise RefusedError(refused.code, ATTRIBUTE.get(str(refused), str(refused))) from None
        if asked.hold is None:
            return None
        change_holds = holds.hold if asked.hold.letters else holds.release
        return change_holds(session.api, row, user=asked.hold.user, admin=asked.hold.admin)

    return for_each_job(session, "qalter", asked.job_ids, alter)
