"""`sprio`: the factors of waiting jobs' priorities, where the site has any."""

from __future__ import annotations

import sys
from functools import partial

from hpcbatch.cli.common import Session, complain, run
from hpcbatch.cli.slurm.common import check_cluster_names, describe
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.dialects.slurm.sprio import Ranking
    from hpcbatch.model.priority import PriorityConfig


def main() -> None:
    run("sprio", _body, partial(describe, "sprio"))


def _body(session: Session) -> int:
    from hpcbatch.cli.unix_names import uid_of
    from hpcbatch.client.queues import read_priority
    from hpcbatch.dialects.slurm import sprio
    from hpcbatch.dialects.slurm.help import SPRIO_USAGE

    unknown = ""
    try:
        options = sprio.read_options(sys.argv[1:], uid_of)
    except sprio.UnknownOptionError:
        print(SPRIO_USAGE)
        raise
    except sprio.UnknownUsersError as error:
        options, unknown = error.options, error.text
    check_cluster_names(session, "sprio", options.clusters)
    config = read_priority(session.api)
    if not config.is_multifactor:
        raise sprio.no_factors(unknown)
    if unknown:
        complain(unknown)
    rankings = [] if options.weights else _rankings(session, config)
    sys.stdout.write(sprio.format_rankings(rankings, options, config, session.server))
    return 0


def _rankings(session: Session, config: PriorityConfig) -> list[Ranking]:
    from hpcbatch.client.accounts import read_accounts
    from hpcbatch.client.listing import list_rows
    from hpcbatch.client.priorities import Ranks
    from hpcbatch.dialects.slurm.sprio import Ranking
    from hpcbatch.dialects.slurm.states import own_number
    from hpcbatch.policy.priority import priority_of, weighted

    rows = list_rows(session.api, session.namespace, finished=False)
    found = []
    ranks = Ranks(session.api, session.namespace, read_accounts(session.api), config, session.now)
    for row, factors in ranks.rank(rows):
        parts = weighted(config, factors)
        found.append(Ranking(own_number(row), row.user, row.account, row.queue, factors, parts, priority_of(parts)))
    return found
