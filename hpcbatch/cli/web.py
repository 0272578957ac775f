"""`hpcbatch web`: the page for the queue, in a browser."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hpcbatch.cli.common import Session

if TYPE_CHECKING:
    from hpcbatch.model.record import JobRecord
    from hpcbatch.web.facts import Commands, Forecast


@click.command()
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port on this machine; 0 takes any free one.")
@click.option("--browser/--no-browser", default=True, help="Open the page in a browser, where there is one.")
@click.option(
    "--socket",
    "socket_path",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Behind a site's proxy: listen on this Unix socket. Needs --public-url.",
)
@click.option("--public-url", metavar="URL", help="Behind a site's proxy: the page's address there (docs/web.md).")
@click.option("--proxy-user", metavar="NAME", help="Whom the proxy must have let in (default: the user who runs this).")
@click.pass_obj
def web(
    session: Session,
    /,
    *,
    port: int,
    browser: bool,
    socket_path: Path | None,
    public_url: str | None,
    proxy_user: str | None,
) -> None:
    """Show the queue, jobs, nodes and history as pages in a browser, and hold, release and delete jobs there.

    The page has your rights and is for you alone: it is on this machine's loopback address, and the link that is
    printed lets in one browser. It ends with Control-C.
    """
    from hpcbatch.web.start import Options, serve

    if (socket_path is None) != (public_url is None):
        raise click.UsageError("--socket and --public-url go together")
    if proxy_user is not None and socket_path is None:
        raise click.UsageError("--proxy-user needs --socket")
    options = Options(port=port, opens_browser=browser, socket_path=socket_path, public_url=public_url or "")
    user = session.user if proxy_user is None else proxy_user
    raise SystemExit(
        serve(
            options,
            commands_of(session),
            user=user,
            server=session.server,
            namespace=session.namespace,
            zone=session.zone,
            environ=session.environ,
        )
    )


def commands_of(session: Session) -> Commands:
    """What the commands know, for the pages."""
    from hpcbatch.api import kubeconfig
    from hpcbatch.api.client import HttpApi
    from hpcbatch.cli import explanation
    from hpcbatch.cli.common import explained
    from hpcbatch.cli.wrf.log_file import directories
    from hpcbatch.policy.explain import Explanation
    from hpcbatch.web.facts import Commands

    def connect() -> HttpApi:
        return HttpApi(kubeconfig.load(os.environ))

    def explain(number: int) -> Explanation:
        return explanation.of_job(session, str(number))

    return Commands(
        connect=connect,
        explain=explain,
        forecast=_forecast,
        folders=directories,
        explained=lambda error: explained(session, error),
    )


def _forecast(record: JobRecord) -> Forecast | None:
    """As `hpcbatch wrf progress` reads it; None where the job has no log of WRF here."""
    from hpcbatch.cli.wrf.log_file import log_of, progress_of, settings_of
    from hpcbatch.errors import HpcBatchError
    from hpcbatch.web.facts import Forecast

    file = log_of(record)
    if file is None:
        return None
    try:
        file.read()
    except HpcBatchError:  # moved away meanwhile
        return None
    return Forecast(file.path.parent, progress_of(file.log, settings_of(file.path.parent, is_told=False)))
