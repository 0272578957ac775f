"""`pbs_ralter`: change a reservation."""

from __future__ import annotations

import sys
from functools import partial

from hpcbatch.cli.common import Session, complain, run
from hpcbatch.cli.pbs.common import answered, check_server, describe
from hpcbatch.errors import ConflictError, ForbiddenError


def main() -> None:
    run("pbs_ralter", _body, partial(describe, "pbs_ralter"))


def _body(session: Session) -> int:
    """It waits for the controller's decision, whatever -I says: that takes a moment only. As with PBS it is printed
    with -I; without, a second line says so if it was denied.
    """
    if answered(sys.argv[1:]):
        return 0
    from hpcbatch.cli.pbs.pbs_rsub import read_job, tell_of_mail, why
    from hpcbatch.client import listing
    from hpcbatch.client.reservations import (
        DeniedReservationError,
        NoReservationError,
        change_reservation,
        find_reservation,
    )
    from hpcbatch.dialects.pbs.errors import PBSE_BADSTATE, PbsError
    from hpcbatch.dialects.pbs.reservations import PBSE_UNKRESVID, UNKNOWN, read_id
    from hpcbatch.dialects.pbs.rsub import Mailing, read_ralter, refused_at_once

    asked = read_ralter(sys.argv[1:], session.now)
    number = read_id(asked.reservation, "pbs_ralter")
    check_server(session, "pbs_ralter")
    try:
        record = find_reservation(session.api, number)
    except NoReservationError:
        raise PbsError(UNKNOWN, PBSE_UNKRESVID & 0xFF) from None
    granted, start = record.status.granted or record.spec, record.status.start
    is_on = start is not None and start <= session.now
    rows = listing.list_rows(session.api, session.namespace, finished=False)
    spec = asked.applied(
        granted,
        session.now,
        partial(read_job, session),
        is_on=is_on,
        has_jobs=any(row.queue == number for row in rows),
    )
    shown = f"{number}.{session.server}"
    try:
        change_reservation(session.api, record, spec)
    except DeniedReservationError as error:
        refusal = refused_at_once(error.denied.code, str(error), "pbs_ralter")
        if refusal is not None:
            raise refusal from None
        if asked.wait_s is not None:
            print(f"pbs_ralter: {shown} DENIED")
            return 0
        print(f"pbs_ralter: {shown} ALTER REQUESTED")
        complain(f"pbs_ralter: hpcbatch: it was denied: {why(error)}")
        return 0
    except ForbiddenError:
        raise PbsError("Unauthorized Request ", 15007 & 0xFF) from None
    except ConflictError:
        raise PbsError("Request invalid for state of job", PBSE_BADSTATE & 0xFF) from None
    print(f"pbs_ralter: {shown} {'ALTER REQUESTED' if asked.wait_s is None else 'CONFIRMED'}")
    if asked.mail != Mailing():
        tell_of_mail(session, spec, "pbs_ralter")
    return 0
