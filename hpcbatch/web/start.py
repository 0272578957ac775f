"""Starts the page: its socket, its link, the browser, and the watch that notes what jobs use."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
import threading
import time
import webbrowser
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import tzinfo
from html import escape
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import NamedTuple, NoReturn

from hpcbatch import __version__
from hpcbatch.client.usage import running_ones
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.text import printable
from hpcbatch.web.door import Door
from hpcbatch.web.facts import Commands, Facts
from hpcbatch.web.server import Server, listen, listen_at

_PAUSE_S = 15.0
"""Between two watches for usage, so that an API that does not answer is not pressed."""


class Options(NamedTuple):
    port: int = 0
    opens_browser: bool = True
    socket_path: Path | None = None
    public_url: str = ""


def serve(
    options: Options,
    commands: Commands,
    *,
    user: str,
    server: str,
    namespace: str,
    zone: tzinfo,
    environ: Mapping[str, str],
) -> NoReturn:
    """Until it is stopped; then the process ends. Raises HpcBatchError if nothing can be listened to."""
    gc.enable()  # commands live shortly, and go without; this one does not
    door = Door(public_url=options.public_url, user=user)
    facts = Facts(commands, user=user, server=server, namespace=namespace, zone=zone)
    path = options.socket_path
    listening = listen(options.port) if path is None else listen_at(path)
    where = "" if path is not None else f"http://127.0.0.1:{listening.getsockname()[1]}"
    threading.Thread(target=_note_usage, args=(facts,), name="usage", daemon=True).start()

    def entered() -> None:
        _say(f"A browser was let in. The link for another one: {where}{door.way_in}")

    page = Server(
        door,
        facts,
        version=__version__,
        tell=lambda text: print(printable(text), file=sys.stderr, flush=True),
        entered=entered,
    )
    if path is not None:
        _say(f"The page of {user} is at {path}, for the proxy of {options.public_url}")
    else:
        _say(f"Your page of {server}: {where}{door.way_in}")
        if environ.get("SSH_CONNECTION"):
            port, host = listening.getsockname()[1], os.uname().nodename
            _say(f"From your own machine: ssh -N -L {port}:127.0.0.1:{port} {host}, and open the link there.")
        _say("The link lets in one browser. Control-C ends the page.")
    wants_browser = options.opens_browser and path is None and _has_browser(environ)
    with _opened(f"{where}{door.way_in}") if wants_browser else _nothing():
        try:
            asyncio.run(page.run(listening))
        finally:
            if path is not None:
                with suppress(OSError):
                    path.unlink()
    os._exit(0)  # threads that wait for an API which does not answer are not waited for


def _say(text: str) -> None:
    print(text, flush=True)


def _has_browser(environ: Mapping[str, str]) -> bool:
    """One with windows: another would take the terminal."""
    return any(environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))


@contextmanager
def _nothing() -> Iterator[None]:
    yield


@contextmanager
def _opened(link: str) -> Iterator[None]:
    """Have a browser open the link, by way of a file that only the user reads: what a command line holds, everybody on
    the machine can see.
    """
    text = f'<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url={escape(link)}">'
    folder = os.environ.get("XDG_RUNTIME_DIR") or None
    with NamedTemporaryFile("w", suffix=".html", prefix="hpcbatch-web-", dir=folder) as file:  # mode 0600
        file.write(text)
        file.flush()
        threading.Thread(
            target=_open, args=(Path(file.name).as_uri(), webbrowser.open), name="browser", daemon=True
        ).start()
        yield


def _open(address: str, open_it: Callable[[str], bool]) -> None:
    try:
        is_open = open_it(address)
    except webbrowser.Error:
        is_open = False
    if not is_open:
        _say("No browser could be opened: open the link yourself.")


def _note_usage(facts: Facts) -> None:
    """What the user's running jobs report while the page is there, for the charts. Without it they begin later."""
    while True:
        with suppress(HpcBatchError):
            for record in running_ones(facts.api, facts.namespace):
                facts.samples.note(record.job_id, record.status, facts.now)
        time.sleep(_PAUSE_S)
