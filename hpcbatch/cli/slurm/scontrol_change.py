"""`scontrol` where it changes jobs: hold, uhold, release, requeue, requeuehold, suspend, resume, top, update."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from hpcbatch.cli.common import NO_CONNECTION, Session, complain
from hpcbatch.client import arrays, listing
from hpcbatch.client.alter import alter
from hpcbatch.client.holds import hold, release
from hpcbatch.client.rights import check_may_change_all, may_change_all, not_permitted
from hpcbatch.client.watch import settle
from hpcbatch.dataclass import replace
from hpcbatch.dialects.slurm.errors import INVALID_JOB, SlurmUsageError, describe_change, describe_hold
from hpcbatch.dialects.slurm.ids import parse_id
from hpcbatch.dialects.slurm.scontrol_command import ScontrolCommand, Verb
from hpcbatch.errors import HpcBatchError, NotSupportedError, RefusedError, UnknownJobError
from hpcbatch.model.refusal import RefusalCode
from hpcbatch.model.state import JobState
from hpcbatch.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from hpcbatch.api.port import Object
    from hpcbatch.dialects.slurm.update import Update
    from hpcbatch.model.indices import Indices
    from hpcbatch.model.record import JobRecord
    from hpcbatch.model.row import JobRow
    from hpcbatch.model.spec import JobSpec

_HOLDS = frozenset({Verb.HOLD, Verb.UHOLD, Verb.RELEASE})


class _Target(NamedTuple):
    """A job or array, or those `members` of the array that are meant."""

    row: JobRow
    members: Indices | None = None


def change(session: Session, command: ScontrolCommand) -> int:
    """One bad id does not stop the others."""
    if command.verb in {Verb.CREATE, Verb.DELETE}:
        from hpcbatch.cli.slurm import scontrol_partition
        from hpcbatch.dialects.slurm.scontrol_admin import entity_of

        if entity_of(command.words) == "reservation":
            from hpcbatch.cli.slurm import scontrol_reservation as of_reservations

            is_new = command.verb is Verb.CREATE
            act = of_reservations.create_reservation if is_new else of_reservations.delete_reservation
            return act(session, command.words)
        act = (
            scontrol_partition.create_partition if command.verb is Verb.CREATE else scontrol_partition.delete_partition
        )
        return act(session, command.words)
    if command.verb is Verb.RECONFIGURE:
        return _reconfigure(session)
    update: Update | None = None
    if command.verb is Verb.UPDATE:
        from hpcbatch.dialects.slurm.node_update import is_of_nodes
        from hpcbatch.dialects.slurm.reservation_update import is_of_reservations
        from hpcbatch.dialects.slurm.update import read_update

        if is_of_reservations(command.words):
            from hpcbatch.cli.slurm.scontrol_reservation import update_reservation

            return update_reservation(session, command.words)
        if is_of_nodes(command.words):
            from hpcbatch.cli.slurm.scontrol_node import update_nodes

            return update_nodes(session, command.words)
        from hpcbatch.dialects.slurm.partition_update import is_of_partitions

        if is_of_partitions(command.words):
            from hpcbatch.cli.slurm.scontrol_partition import update_partition

            return update_partition(session, command.words)

        from hpcbatch.dialects.slurm.step_update import is_of_steps

        if is_of_steps(command.words):
            from hpcbatch.cli.slurm.scontrol_step import update_steps

            return update_steps(session, command.words)

        update = read_update(command.words)
    perform = _update_with(session, update) if update is not None else _acts(session, command)[command.verb]
    changed: list[Object] = []
    code = 0
    ids = _ids(session, command, update)
    if command.verb is Verb.TOP:  # each goes before all others: so the first of the list ends up first
        ids.reverse()
    for text in ids:
        try:
            changed += perform(_target(session, text))
        except NO_CONNECTION:
            raise
        except HpcBatchError as error:
            describe = describe_hold if command.verb in _HOLDS else describe_change
            message, code = describe(error, text)
            if not command.quiet:
                complain(message)
    if changed:
        settle(session.api, changed)
    return code


def _reconfigure(session: Session) -> int:
    """The controller reads the site's file whenever that changes: told is whether what there is of it is in force."""
    from hpcbatch.client.queues import site_problem
    from hpcbatch.dialects.slurm.scontrol_admin import refusal

    if not may_change_all(session.api):
        raise refusal("reconfigure", "reconfigure", [])
    if problem := site_problem(session.api):
        text = f"slurm_reconfigure error: Unspecified error\nscontrol: hpcbatch: site.yaml: {problem}"
        raise SlurmUsageError(text)
    return 0


def _ids(session: Session, command: ScontrolCommand, update: Update | None) -> list[str]:
    """As written; a name stands for all unfinished jobs that have it."""
    if update is not None:
        return list(update.ids) or _named(session, update.job_name)
    ids: list[str] = []
    for text in command.ids:
        tag, equals, name = text.partition("=")
        is_name = bool(equals) and command.verb in _HOLDS and tag.lower() in {"name", "jobname"}
        ids += _named(session, name) if is_name else [text]
    return ids


def _named(session: Session, name: str) -> list[str]:
    rows = listing.list_rows(session.api, session.namespace, finished=False)
    found = [str(row.job_id) for row in rows if row.name == name and row.array_id is None]
    if not found:
        raise SlurmUsageError(f"scontrol: error: No jobs with name '{name}'")
    return found


def _target(session: Session, text: str) -> _Target:
    """Raises UnknownJobError, also for what is no id."""
    try:
        named = parse_id(text)
    except ValueError:
        raise UnknownJobError(f"{INVALID_JOB}: {text}") from None
    row = listing.find(session.api, session.namespace, named.number)
    if named.is_array and not row.array_indices:
        raise UnknownJobError(f"{INVALID_JOB}: {text}")
    if named.members is not None:
        arrays.check_known(row, named.members)
    return _Target(row, named.members)


_Act = Callable[[_Target], Iterable["Object"]]
"""Returns the records whose state will show the change."""


def _acts(session: Session, command: ScontrolCommand) -> dict[Verb, _Act]:
    return {
        Verb.HOLD: lambda target: _hold(session, target, by_user=_is_own(session, target.row)),
        Verb.UHOLD: lambda target: _hold(session, target, by_user=True),
        Verb.RELEASE: lambda target: _release(session, target),
        Verb.REQUEUE: lambda target: _requeue(session, target, command),
        Verb.REQUEUE_HOLD: lambda target: _requeue(session, target, command),
        Verb.SUSPEND: lambda target: _suspend(session, target, is_suspended=True),
        Verb.RESUME: lambda target: _suspend(session, target, is_suspended=False),
        Verb.TOP: lambda target: _top(session, target),
    }


def _is_own(session: Session, row: JobRow) -> bool:
    return row.namespace == session.namespace or row.user == session.user


def _hold(session: Session, target: _Target, *, by_user: bool) -> list[Object]:
    """What an administrator holds only one can release."""
    if target.members is not None:
        hold(session.api, target.row, target.members)
        return []
    held = hold(session.api, target.row, user=by_user, admin="" if by_user else "s")
    return [] if held is None else [held]


def _release(session: Session, target: _Target) -> list[Object]:
    row = target.row
    if target.members is not None:
        release(session.api, row, target.members)
        return _release_own(session, target)
    is_admins = not row.state.is_final and bool(listing.get_object(session.api, row)["spec"].get("adminHolds"))
    released = release(session.api, row, admin="os" if is_admins else "")
    return [] if released is None else [released]


def _release_own(session: Session, target: _Target) -> list[Object]:
    """Members that are held by themselves: they were held when they were queued again."""
    held = [row for row in _own(session, target) if row.state is JobState.HELD]
    released = [release(session.api, row) for row in held]
    return [obj for obj in released if obj is not None]


def _own(session: Session, target: _Target) -> list[JobRow]:
    """The jobs that have begun or may: of an array the members that have a record of their own."""
    if not target.row.array_indices:
        return [target.row]
    return list(arrays.own_rows(session.api, target.row, target.members, ended=False).values())


def _requeue(session: Session, target: _Target, command: ScontrolCommand) -> list[Object]:
    """Also what has ended, as long as its record is a BatchJob: of an array the members that have begun."""
    from hpcbatch.client import requeue

    hold = command.verb is Verb.REQUEUE_HOLD or command.is_special
    requeue.requeue(
        session.api,
        target.row,
        target.members,
        hold=hold,
        is_special=command.is_special,
        running_only=command.is_incomplete,
    )
    return []


def _suspend(session: Session, target: _Target, *, is_suspended: bool) -> list[Object]:
    from hpcbatch.client import signals

    act = signals.suspend if is_suspended else signals.resume
    rows = [target.row] if target.members is None else _own(session, target)
    if not rows:
        raise RefusedError(RefusalCode.NOT_RUNNING, "no member is running")
    return [act(session.api, row) for row in rows]


def _top(session: Session, target: _Target) -> list[Object]:
    """Before all other waiting jobs of its user in its partition."""
    from hpcbatch.client.queues import read_priority
    from hpcbatch.dialects.slurm.precedence import priority_before
    from hpcbatch.model.spec import MAX_FIXED_PRIORITY

    row = target.row
    check_may_change_all(session.api, "puts one before others")
    least = priority_before(row, listing.list_rows(session.api, session.namespace, finished=False))

    has_formula = row.rank is not None and bool(read_priority(session.api).formula)

    def raised(record: JobRecord) -> JobSpec:
        weight = max(record.spec.priority, least + record.spec.nice)
        if record.spec.fixed_priority is None and not has_formula:
            return replace(record.spec, priority=weight)
        # points change neither
        fixed = (row.rank or 0) + weight - record.spec.priority
        return replace(record.spec, fixed_priority=max(1, min(fixed, MAX_FIXED_PRIORITY - 1)))

    alter(session.api, row, raised)
    return []


def _update_with(session: Session, update: Update) -> _Act:
    from hpcbatch.dialects.slurm.update import RELEASE

    def act(target: _Target) -> list[Object]:
        row = target.row
        _check_rights(session, row, update)
        if not row.array_indices:
            alter(session.api, row, _changer(session, update))
        else:
            _alter_array(session, target, update)
        if update.priority == 0:
            return _hold(session, target, by_user=_is_own(session, row))
        return _release(session, target) if update.priority == RELEASE else []

    return act


def _alter_array(session: Session, target: _Target, update: Update) -> None:
    from hpcbatch.client.array_alterations import alter_array, alter_members
    from hpcbatch.dialects.slurm.array_answers import check_answers

    row, changer = target.row, _changer(session, update)
    if target.members is None:
        check_answers(row.job_id, alter_array(session.api, row, changer, update.array_limit))
        return
    if update.value("Dependency") is not None:
        raise NotSupportedError(f"members of an array have no dependency of their own: change that of {row.job_id}")
    check_answers(row.job_id, alter_members(session.api, row, target.members, changer))


def _changer(session: Session, update: Update) -> Callable[[JobRecord], JobSpec]:
    from hpcbatch.dialects.slurm.update import altered
    from hpcbatch.model.dialect import Dialect

    def change(record: JobRecord) -> JobSpec:
        spec = altered(update, record, session.now)
        if record.spec.dialect == Dialect.SLURM or spec.chunks == record.spec.chunks:
            return spec
        from hpcbatch.dialects.registry import door

        return door(record.spec.dialect).resized(spec)

    return change


def _check_rights(session: Session, row: JobRow, update: Update) -> None:
    from hpcbatch.dialects.slurm.precedence import brings_forward, is_lowered, not_lasting

    if brings_forward(update, row) and not may_change_all(session.api):
        raise not_lasting() if is_lowered(update, row) else not_permitted("brings one forward")
