"""What the pages are made from: the API as the user, and what the commands say of a job."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import NamedTuple

from hpcbatch.api.client import HttpApi
from hpcbatch.client import listing, records, rights
from hpcbatch.errors import HpcBatchError, UnauthorizedError, UnknownJobError
from hpcbatch.model.record import JobRecord
from hpcbatch.model.row import JobRow
from hpcbatch.policy.explain import Explanation
from hpcbatch.web.samples import Samples
from hpcbatch.wrf.log import Progress

_FRESH_S = 1.5
"""So long a listing serves the parts of all open pages."""
_SHARE = 5.0
"""A long listing serves longer, so that open pages keep the API busy for no more than a sixth of the time."""
_MOST_RECORDS = 100
_QUICK_S = 0.5
"""A listing that took no longer is read anew for who loads a page."""


class Forecast(NamedTuple):
    """A run of WRF in a job."""

    folder: Path
    progress: Progress


class Commands(NamedTuple):
    """What only the commands know."""

    connect: Callable[[], HttpApi]
    """Reads the kubeconfig anew."""
    explain: Callable[[int], Explanation]
    forecast: Callable[[JobRecord], Forecast | None]
    folders: Callable[[JobRecord], list[Path]]
    """Where a job's script may write."""
    explained: Callable[[Exception], Exception]
    """An error with more to it than the server says."""


class _Listing(NamedTuple):
    rows: list[JobRow]
    took_s: float
    good_until: float


class Facts:
    """One for the whole process; its methods are called in threads."""

    def __init__(self, commands: Commands, *, user: str, server: str, namespace: str, zone: tzinfo) -> None:
        self.commands, self.user, self.server, self.namespace, self.zone = commands, user, server, namespace, zone
        self.samples = Samples()
        self._api: HttpApi | None = None
        self._lock = threading.Lock()
        self._rows: dict[bool, _Listing] = {}
        self._records: dict[int, tuple[float, JobRecord]] = {}
        self._may_change_all: bool | None = None

    @property
    def api(self) -> HttpApi:
        if self._api is None:
            self._api = self.commands.connect()
        return self._api

    @property
    def now(self) -> datetime:
        return datetime.now(UTC).astimezone(self.zone)

    def failed(self, error: HpcBatchError) -> Exception:
        """The error to show. A login that has run out may have been renewed by the next request."""
        try:
            found = self.commands.explained(error)
        except HpcBatchError:  # the kubeconfig has gone, too
            found = error
        if isinstance(error, UnauthorizedError):
            self._api = None
        return found

    def rows(self, *, finished: bool = False) -> list[JobRow]:
        """The jobs that the user may see; members of arrays by themselves only if they have a record."""
        with self._lock:  # who comes second gets what the first has read
            found = self._rows.get(finished)
            if found is None or time.monotonic() > found.good_until:
                began = time.monotonic()
                rows = listing.list_rows(self.api, self.namespace, finished=finished)
                took_s = time.monotonic() - began
                found = _Listing(rows, took_s, time.monotonic() + max(_FRESH_S, _SHARE * took_s))
                self._rows[finished] = found
            return found.rows

    def forget_rows(self, *, quick_ones: bool = False) -> None:
        """The next page shows what is there then; with `quick_ones` only what does not take long to read anew."""
        self._records = {}
        with self._lock:
            kept = {key: one for key, one in self._rows.items() if quick_ones and one.took_s > _QUICK_S}
            self._rows = kept

    def record(self, number: int) -> JobRecord:
        """One job, whole; the parts of its page share it. Raises UnknownJobError."""
        known = self._records.get(number)
        if known is not None and time.monotonic() < known[0]:
            return known[1]
        found = records.exactly(self.api, self.namespace, number)
        if not found:
            raise UnknownJobError(f"there is no job {number}")
        if len(self._records) > _MOST_RECORDS:
            self._records = {}
        self._records[number] = time.monotonic() + _FRESH_S, found[-1]
        return found[-1]

    def may_change(self, row: JobRow) -> bool:
        """Whether forms to change the job are worth showing; the API decides when they are sent."""
        if row.namespace == self.namespace:
            return True
        if self._may_change_all is None:
            try:
                self._may_change_all = rights.may_change_all(self.api)
            except HpcBatchError:
                return False
        return self._may_change_all

    def is_own(self, row: JobRow) -> bool:
        """Files that a record names are read with the user's rights: of nobody else's records."""
        return row.namespace == self.namespace and row.uid == os.getuid()
