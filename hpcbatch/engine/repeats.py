"""Limits repeated log lines: clients without credentials must not be able to fill the engine's log."""

from __future__ import annotations

import logging
from collections import Counter
from typing import Final

_LIBRARIES: Final = ("asyncio", "aiohttp")
_LINES: Final = 10
_EVERY_S: Final = 60.0


class Repeats(logging.Filter):
    """Passes ten lines a minute of each place in a library, the last of them with a note."""

    def __init__(self) -> None:
        super().__init__()
        self._since = 0.0
        self._seen: Counter[tuple[str, int]] = Counter()

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name.partition(".")[0] not in _LIBRARIES:
            return True
        if record.created - self._since >= _EVERY_S:
            self._since = record.created
            self._seen.clear()
        place = record.pathname, record.lineno
        self._seen[place] += 1
        if self._seen[place] == _LINES:
            record.msg, record.args = f"{record.getMessage()} (more of these are left out for a minute)", None
        return self._seen[place] <= _LINES
