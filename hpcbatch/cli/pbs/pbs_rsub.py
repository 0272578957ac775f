"""`pbs_rsub`: ask for a reservation."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import partial

from hpcbatch.cli.common import Session, complain, run
from hpcbatch.cli.pbs.common import answered, check_server, describe
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.model.reservation import ReservationSpec
    from hpcbatch.model.spec import JobSpec
    from hpcbatch.record.reservation import ReservationRecord


def main() -> None:
    run("pbs_rsub", _body, partial(describe, "pbs_rsub"))


def _body(session: Session) -> int:
    if answered(sys.argv[1:]):
        return 0
    from hpcbatch.api.names import SYSTEM_NAMESPACE
    from hpcbatch.cli.pbs.rsub_of_job import WaitingJob, running_job
    from hpcbatch.client.request_ids import random_id
    from hpcbatch.client.reservations import DeniedReservationError, make_reservation
    from hpcbatch.dataclass import replace
    from hpcbatch.dialects.pbs.rsub import read_rsub, refused_at_once

    job_of = WaitingJob(session)
    asked = read_rsub(
        sys.argv[1:],
        now=session.now,
        environ=session.environ,
        host=session.host,
        read_job=partial(read_job, session),
        node_cpus=partial(_node_cpus, session),
        waiting_job=job_of.read,
        running_job=partial(running_job, session),
    )
    check_server(session, "pbs_rsub")
    spec = replace(asked.spec, server=session.server)
    namespace = session.namespace
    if spec.is_maintenance:
        spec, namespace = replace(spec, attributes={**spec.attributes, "owner": session.user}), SYSTEM_NAMESPACE

    def make(wanted: ReservationSpec) -> ReservationRecord:
        return make_reservation(session.api, namespace, wanted, f"pbs-{random_id(10)}")

    try:
        made = job_of.made(make, spec) if asked.is_of_job else make(spec)
    except DeniedReservationError as error:
        refusal = refused_at_once(error.denied.code, str(error), "pbs_rsub")
        if refusal is not None:
            raise refusal from None
        name = f"{error.name}.{session.server}"
        if asked.wait_s is not None:
            print(f"{name} DENIED")
            if asked.is_of_job:
                complain(f"pbs_rsub: hpcbatch: the job stays in its queue: {why(error)}")
            return 0
        print(f"{name} UNCONFIRMED")
        complain(f"pbs_rsub: hpcbatch: it was denied: {why(error)}")
        return 0
    if asked.is_of_job:
        job_of.move_into(made)
    is_told = asked.wait_s is not None or asked.spec.is_maintenance or asked.is_running_job
    print(f"{made.status.id}.{session.server} {'CONFIRMED' if is_told else 'UNCONFIRMED'}")
    tell_of_mail(session, spec, "pbs_rsub")
    return 0


def tell_of_mail(session: Session, spec: ReservationSpec, command: str) -> None:
    """What of the mail that was requested will not come."""
    from hpcbatch.client.queues import mail_rules
    from hpcbatch.model.mail import recipients

    if not (spec.mail_points or spec.mail_users) or spec.mail_points == "n":
        return
    rules = mail_rules(session.api)
    if rules is None:
        complain(f"{command}: this site sends no mail; -m and -M are only kept with the reservation")
        return
    for why in recipients(spec.mail_users, rules, f"{session.user}@{spec.submit_host}")[1]:
        complain(f"{command}: {why}")


def why(error: Exception) -> str:
    from hpcbatch.client.reservations import DeniedReservationError
    from hpcbatch.model.reservation import Denial

    code = error.denied.code if isinstance(error, DeniedReservationError) else Denial.NODES_BUSY
    return {
        Denial.NODES_BUSY: "not so much is free then: jobs that run may still run, or others have reserved it",
        Denial.OVERLAP: "others have reserved it",
        Denial.NEVER_FITS: "there is not so much",
    }.get(code, str(error))


def read_job(session: Session, arguments: Sequence[str]) -> JobSpec:
    """What these options of qsub ask for."""
    from hpcbatch.dialects.pbs.submit import read_submission

    found = read_submission(
        [*arguments, "--", "true"],
        script=lambda _: (None, b""),
        environ={},
        cwd="/",
        host=session.host,
        user=session.user,
        server=session.server,
        now=session.now,
    )
    return found.submission.spec


def _node_cpus(session: Session) -> Mapping[str, int]:
    from hpcbatch.client.nodes import list_nodes

    return {node.name: node.cpus for node in list_nodes(session.api, session.namespace)}
