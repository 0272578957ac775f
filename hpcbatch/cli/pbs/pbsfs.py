"""`pbsfs`: the tree of fair shares, and what users and groups have used."""

from __future__ import annotations

import sys
from functools import partial

from hpcbatch.cli.common import Session, run
from hpcbatch.cli.pbs.common import answered, check_server, describe
from hpcbatch.dataclass import replace
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.dialects.pbs.pbsfs import Entity


def main() -> None:
    run("pbsfs", _body, partial(describe, "pbsfs"))


def _body(session: Session) -> int:
    if answered(sys.argv[1:]):
        return 0
    from hpcbatch.dialects.pbs.pbsfs import format_tree, read_options

    options = read_options(sys.argv[1:])
    check_server(session, "pbsfs")
    sys.stdout.writelines(format_tree(_entities(session), options))
    return 0


def _entities(session: Session) -> list[Entity]:
    from hpcbatch.client.accounts import read_accounts
    from hpcbatch.client.priorities import Ranks
    from hpcbatch.client.queues import read_priority
    from hpcbatch.dialects.pbs.pbsfs import Entity
    from hpcbatch.model.account_tree import in_order
    from hpcbatch.model.accounts import PARENT_SHARES

    accounts = read_accounts(session.api)
    config = replace(read_priority(session.api), is_fair_tree=False)  # PBS's tree has percentages of the whole
    shares = Ranks(session.api, session.namespace, accounts, config, session.now).shares()
    names = [one.user for one in accounts.associations if one.user]
    found = []
    for one, depth in in_order(accounts):
        share = shares[one.number]
        above = one.account if one.user else accounts.accounts[one.account].parent
        parent = accounts.of_account(above).number if above else 0
        is_alone = names.count(one.user) == 1 and one.user not in accounts.accounts
        name = one.account if not one.user else one.user if is_alone else f"{one.account}/{one.user}"
        found.append(
            Entity(
                name if above else "TREEROOT",
                one.number if above else 0,
                (parent if accounts.accounts[above].parent else 0) if above else -1,
                max(one.shares, 0) if above and one.shares != PARENT_SHARES else -1 if not above else 0,
                share.norm_shares,
                share.raw_usage,
                share.effective_usage,
                depth,
            )
        )
    return found
