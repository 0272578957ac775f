"""`sacctmgr`: accounts, users, associations and the like, as Slurm's database would show them."""

from __future__ import annotations

import sys
from functools import partial
from urllib.parse import urlsplit

from hpcbatch.cli.common import Session, run
from hpcbatch.cli.slurm.common import describe


def main() -> None:
    run("sacctmgr", _body, partial(describe, "sacctmgr"))


def _body(session: Session) -> int:
    from hpcbatch.dialects.slurm.sacctmgr_options import read_command

    listing = read_command(sys.argv[1:])
    if listing is None:
        return 0
    from hpcbatch.client.listing import list_rows
    from hpcbatch.dialects.slurm.associations import directory
    from hpcbatch.dialects.slurm.sacctmgr import Site, format_configuration, format_listing

    server = urlsplit(session.connection.server)
    rows = list_rows(session.api, session.namespace) if listing.entity in _FROM_JOBS else []
    site = Site(session.server, server.hostname or "", server.port or 443, directory(rows))
    if listing.entity == "configuration":
        sys.stdout.write(format_configuration(site, session.now, session.zone))
    else:
        sys.stdout.writelines(format_listing(listing, site))
    return 0


_FROM_JOBS = frozenset({"account", "association", "qos", "user"})
