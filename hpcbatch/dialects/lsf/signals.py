"""The signals of bkill -s."""

from __future__ import annotations

import signal
from signal import Signals

from hpcbatch.typed import Final

SIGNALS: Final = tuple(each.name.removeprefix("SIG") for each in Signals)


def read_signal(text: str) -> int | None:
    """`KILL`, `SIGKILL`, `9`; None for what is none."""
    name = text.upper().removeprefix("SIG")
    if name.isdigit():
        return int(name) if 0 < int(name) < signal.NSIG else None
    return Signals[f"SIG{name}"].value if f"SIG{name}" in Signals.__members__ else None
