"""`sacctmgr add`, `modify`, `delete`: shows what would change, asks, and writes it into the site's accounts."""

from __future__ import annotations

import select
import sys

from hpcbatch.cli.common import Session
from hpcbatch.cli.slurm.prompt import read_line
from hpcbatch.errors import ForbiddenError, NotFoundError
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.dialects.slurm.sacctmgr_change import Request
    from hpcbatch.model.accounts import Accounts

_DECIDE_S = 30


def change(session: Session, request: Request, *, asks: bool) -> int:
    """The exit code. Raises SlurmUsageError with the real texts for what is not possible."""
    from hpcbatch.client.accounts import change_accounts, may_change_accounts, read_accounts
    from hpcbatch.dialects.slurm import sacctmgr_report as words
    from hpcbatch.dialects.slurm.errors import SlurmUsageError
    from hpcbatch.model.account_change import AccountChangeError, Action, Entity
    from hpcbatch.policy.account_changes import changed

    words.check(request, session.server)
    asked = request.change
    if asked.action is Action.MODIFY and not request.has_conditions and asks and not _confirmed(words.NO_CONDITIONS):
        print("Aborted")
        return 0
    if not may_change_accounts(session.api):
        raise SlurmUsageError(_denied(request))
    if asks and asked.action is Action.ADD and asked.entity is Entity.USER and not _are_known(asked.names):
        return 1
    active = _active(session) if asked.action is Action.DELETE else frozenset()
    before = read_accounts(session.api)
    try:
        result = changed(before, asked, active)
        if result.is_empty:
            print(words.nothing(asked.action, asked.entity))
            return 1 if asked.action is Action.ADD else 0
        shown = before if asked.action is Action.DELETE else result.accounts
        touched = words.Touched(result.names, result.associations, shown)
        sys.stdout.write(words.report(request, touched, session.server))
        if asks and not _confirmed(words.QUESTION):
            print(words.DISCARDED)
            return 0
        sys.stdout.flush()

        def again(accounts: Accounts) -> Accounts:
            return changed(accounts, asked, active).accounts

        change_accounts(session.api, again)
    except AccountChangeError as error:
        raise SlurmUsageError(words.refused(error.problem, error.names, request, session.server)) from None
    except ForbiddenError:
        raise SlurmUsageError(_denied(request)) from None
    except NotFoundError:
        raise SlurmUsageError("sacctmgr: error: the controller has not made the site's accounts yet") from None
    return 0


def _denied(request: Request) -> str:
    from hpcbatch.dialects.slurm.sacctmgr_options import denied

    return denied(request.change.action, request.change.entity)


def _are_known(names: tuple[str, ...]) -> bool:
    """Whether the login node has these users, or whoever asks means them all the same."""
    from hpcbatch.cli.unix_names import uid_of

    unknown = (name for name in names if uid_of(name) is None)
    return all(_confirmed(f"There is no uid for user '{name}'\nAre you sure you want to continue?") for name in unknown)


def _active(session: Session) -> frozenset[tuple[str, str]]:
    """Account and user of all jobs that have not ended."""
    from hpcbatch.client.listing import list_rows

    rows = list_rows(session.api, session.namespace, finished=False)
    return frozenset((row.account, row.user) for row in rows if row.account)


def _confirmed(question: str) -> bool:
    """Ask as commit_check() does: half a minute, a letter. The end of the input is a no."""
    print(f"{question} (You have {_DECIDE_S} seconds to decide)")
    while True:
        print("(N/y): ", end="", flush=True)
        readable, _, _ = select.select([sys.stdin], [], [], _DECIDE_S)
        if not readable:
            print("timeout")
            return False
        answer = read_line()
        print()
        if not answer or answer.strip().lower() in {"", "n", "y"}:
            return answer.strip().lower() == "y"
        print("Y or N please")
