"""`hpcbatch web`: the page for the queue, in a browser."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hpcbatch.cli.common import Session

if TYPE_CHECKING:
    from hpcbatch.cli.wrf.log_file import LogFile
    from hpcbatch.model.record import JobRecord
    from hpcbatch.web.facts import Commands, Forecast

_SEARCH_S = 30.0
"""Between two looks for the log of a job that has none."""
_MOST_LOGS = 32


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
    serve(
        options,
        commands_of(session),
        user=user,
        server=session.server,
        namespace=session.namespace,
        zone=session.zone,
        environ=session.environ,
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
        forecast=_Forecasts().of,
        folders=directories,
        explained=lambda error: explained(session, error),
    )


class _Forecasts:
    """The runs of WRF in jobs, as `hpcbatch wrf progress` reads them: a log is read on where it was read to."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._logs: dict[tuple[int, int], LogFile] = {}
        self._looked_at: dict[tuple[int, int], float] = {}

    def of(self, record: JobRecord) -> Forecast | None:
        """None where the job has no log of WRF here, or it has none yet."""
        from hpcbatch.cli.wrf.log_file import progress_of, settings_of
        from hpcbatch.errors import HpcBatchError
        from hpcbatch.web.facts import Forecast

        with self._lock:
            file = self._log(record)
            if file is None:
                return None
            try:
                file.read()
            except HpcBatchError:  # not to be read any more
                return None
            folder = file.path.parent
            return Forecast(folder, progress_of(file.log, settings_of(folder, is_told=False)))

    def _log(self, record: JobRecord) -> LogFile | None:
        """Directories are not looked through again and again for a log that is not there."""
        from hpcbatch.cli.wrf.log_file import log_of

        key = record.job_id, record.status.run_count
        if key not in self._logs:
            now = time.monotonic()
            if now < self._looked_at.get(key, 0.0):
                return None
            file = log_of(record)
            if file is None:
                self._looked_at[key] = now + _SEARCH_S
                return None
            if len(self._logs) >= _MOST_LOGS:
                self._logs.clear()
            self._logs[key] = file
        return self._logs[key]
