"""`pbs_rdel`: remove reservations, and the jobs in them."""

from __future__ import annotations

import sys
from functools import partial

from hpcbatch.cli.common import NO_CONNECTION, Session, complain, run
from hpcbatch.cli.pbs.common import answered, check_server, describe
from hpcbatch.errors import ForbiddenError, HpcBatchError, NotFoundError

_PBSE_PERM = 15007


def main() -> None:
    run("pbs_rdel", _body, partial(describe, "pbs_rdel"))


def _body(session: Session) -> int:
    if answered(sys.argv[1:]):
        return 0
    from hpcbatch.client.reservations import NoReservationError, find_reservation, remove_reservation
    from hpcbatch.dialects.pbs.errors import PbsError
    from hpcbatch.dialects.pbs.reservations import PBSE_UNKRESVID, UNKNOWN, read_id
    from hpcbatch.dialects.pbs.rsub import read_rdel

    names = read_rdel(sys.argv[1:])
    check_server(session, "pbs_rdel")
    code = 0
    for name in names:
        try:
            number = read_id(name, "pbs_rdel")
        except PbsError as error:
            complain(f"pbs_rdel: {error.text}")
            code = 1
            continue
        shown = f"{name.partition('.')[0]}.{session.server}"
        try:
            found = find_reservation(session.api, number)
            remove_reservation(session.api, found, f"{session.user}@{session.host}")
        except NO_CONNECTION:
            raise
        except (NoReservationError, NotFoundError):
            complain(f"pbs_rdel: {UNKNOWN} {shown}")
            code = PBSE_UNKRESVID & 0xFF
        except ForbiddenError:
            complain(f"pbs_rdel: Unauthorized Request  {shown}")
            code = _PBSE_PERM & 0xFF
        except HpcBatchError as error:
            complain(f"pbs_rdel: {error} {shown}")
            code = 1
    return code
