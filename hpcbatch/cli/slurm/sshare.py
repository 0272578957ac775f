"""`sshare`: the shares of accounts and users, and what they have used."""

from __future__ import annotations

import sys
from functools import partial

from hpcbatch.cli.common import Session, run
from hpcbatch.cli.slurm.common import check_cluster_names, describe
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.dialects.slurm.sshare import Fairness


def main() -> None:
    run("sshare", _body, partial(describe, "sshare"))


def _body(session: Session) -> int:
    from hpcbatch.dialects.slurm import sshare

    options = sshare.read_options(sys.argv[1:], session.user)
    from hpcbatch.cli.slurm.account_directory import read_directory
    from hpcbatch.dialects.slurm.clusters import heading

    check_cluster_names(session, "sshare", options.clusters)
    if options.clusters is not None:
        sys.stdout.write(heading(session.server))
    found = read_directory(session)
    sys.stdout.writelines(sshare.format_shares(found, options, session.server, _fairness(session)))
    return 0


def _fairness(session: Session) -> Fairness | None:
    """None at a site where nothing is counted, or that has set up no accounts."""
    from hpcbatch.client.accounts import read_accounts
    from hpcbatch.client.queues import read_priority

    config = read_priority(session.api)
    accounts = read_accounts(session.api) if config.is_multifactor or config.formula else None
    if accounts is None or accounts.is_bare:
        return None
    from hpcbatch.client.priorities import Ranks
    from hpcbatch.dialects.slurm.sshare import Fairness

    ranks = Ranks(session.api, session.namespace, accounts, config, session.now)
    return Fairness(ranks.shares(), config.is_fair_tree, ranks.committed())
