"""`sacctmgr`: accounts, users, associations and the like, as Slurm's database would show them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial

from hpcbatch.cli.common import Session, run
from hpcbatch.cli.slurm.common import describe


def main() -> None:
    run("sacctmgr", _body, partial(describe, "sacctmgr"))


def _body(session: Session) -> int:
    from hpcbatch.dialects.slurm.sacctmgr_options import has_no_command, kept_options

    options = sys.argv[1:]
    if not has_no_command(options):
        return _execute(session, options)
    from hpcbatch.cli.slurm.prompt import requests_after

    return requests_after(session, "sacctmgr", options, _execute, kept_options)


def _execute(session: Session, arguments: Sequence[str]) -> int:
    """Do one request; the exit code."""
    from hpcbatch.dialects.slurm.sacctmgr_options import Listing, asks_nothing, read_command

    request = read_command(arguments)
    if request is None:
        return 0
    if not isinstance(request, Listing):
        from hpcbatch.cli.slurm.sacctmgr_change import change

        return change(session, request, asks=not asks_nothing(arguments))
    from hpcbatch.api.url import split_url
    from hpcbatch.cli.slurm.account_directory import read_directory
    from hpcbatch.client.accounts import may_change_accounts
    from hpcbatch.dialects.slurm.associations import Directory
    from hpcbatch.dialects.slurm.sacctmgr import Site, format_configuration, format_listing

    server = split_url(session.connection.server)
    directory = read_directory(session) if request.entity in _OF_ACCOUNTS else Directory()
    site = Site(session.server, server.host, server.port or 443, directory)
    if request.entity == "configuration":
        sys.stdout.write(format_configuration(site, session.now, session.zone))
        return 0
    if request.entity == "user" and may_change_accounts(session.api):
        site = site._replace(administrators=frozenset({session.user}))
    sys.stdout.writelines(format_listing(request, site))
    return 0


_OF_ACCOUNTS = frozenset({"account", "association", "cluster", "qos", "user"})
