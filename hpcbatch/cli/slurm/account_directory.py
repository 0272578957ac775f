"""The accounts that Slurm's commands show."""

from __future__ import annotations

from hpcbatch.cli.common import Session
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.dialects.slurm.associations import Directory


def read_directory(session: Session) -> Directory:
    """The site's, or those that jobs name where nobody has set up any."""
    from hpcbatch.client.accounts import read_accounts
    from hpcbatch.dialects.slurm.associations import directory, directory_of

    accounts = read_accounts(session.api)
    if not accounts.is_bare:
        return directory_of(accounts)
    from hpcbatch.client.listing import list_rows

    return directory(list_rows(session.api, session.namespace), accounts)
