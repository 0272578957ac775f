"""`sshare`: the shares of accounts and users, as Slurm shows them without fair sharing."""

from __future__ import annotations

import sys
from functools import partial

from hpcbatch.cli.common import Session, run
from hpcbatch.cli.slurm.common import check_cluster_names, describe


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
    sys.stdout.writelines(sshare.format_shares(found, options, session.server))
    return 0
