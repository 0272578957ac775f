"""qmgr's limits of the server and of queues, and its settings of both and of the scheduler, in the site's accounts."""

from __future__ import annotations

from collections.abc import Sequence

from hpcbatch.cli.common import Session
from hpcbatch.dialects.pbs.qmgr_attributes import Kind
from hpcbatch.dialects.pbs.qmgr_parse import Request, Setting
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.dialects.pbs.qstat_full import Attributes
    from hpcbatch.model.accounts import Accounts, ServerLimit


def take_limits(session: Session, request: Request, queues: Sequence[str]) -> tuple[Setting, ...]:
    """Set or unset the request's limits of these queues ("": of the server), and what of the server's settings lies
    with them; returns its other settings. Raises QmgrError for a wrong value, ForbiddenError; nothing is changed then.
    """
    from hpcbatch.dialects.pbs.server_limits import changed, is_limit
    from hpcbatch.dialects.pbs.server_settings import is_own, settings_changed

    limits = [each for each in request.settings if is_limit(each)] if request.kind is not Kind.SCHED else []
    own = [each for each in request.settings if is_own(request.kind, each)]
    if not limits and not own:
        return request.settings
    from hpcbatch.client.accounts import change_accounts
    from hpcbatch.dataclass import replace

    def change(accounts: Accounts) -> Accounts:
        found: tuple[ServerLimit, ...] = accounts.server_limits
        for queue in queues:
            found = changed(found, limits, request.verb, queue)
        settings = settings_changed(accounts.server_settings, own, request.verb)
        return replace(accounts, server_limits=found, server_settings=settings)

    change_accounts(session.api, change)
    return tuple(each for each in request.settings if each not in limits and each not in own)


def with_limits(session: Session, objects: dict[str, Attributes], *, of_server: bool) -> dict[str, Attributes]:
    """With the limits of the server, or of the queues by their names."""
    from hpcbatch.client.accounts import read_accounts
    from hpcbatch.dialects.pbs.server_limits import limit_attributes

    limits = read_accounts(session.api).server_limits
    if not limits:
        return objects
    return {
        name: [*attributes, *limit_attributes(limits, "" if of_server else name)]
        for name, attributes in objects.items()
    }
