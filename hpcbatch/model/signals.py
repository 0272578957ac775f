"""Signals by name, with Linux's numbers: pods run Linux, whatever the user's own machine is."""

from __future__ import annotations

from collections.abc import Mapping

from hpcbatch.typed import Final

HIGHEST: Final = 64
KILL: Final = 9
TERM: Final = 15
NUMBERS: Final[Mapping[str, int]] = {
    "HUP": 1,
    "INT": 2,
    "QUIT": 3,
    "ILL": 4,
    "TRAP": 5,
    "ABRT": 6,
    "BUS": 7,
    "FPE": 8,
    "KILL": 9,
    "USR1": 10,
    "SEGV": 11,
    "USR2": 12,
    "PIPE": 13,
    "ALRM": 14,
    "TERM": 15,
    "STKFLT": 16,
    "CHLD": 17,
    "CONT": 18,
    "STOP": 19,
    "TSTP": 20,
    "TTIN": 21,
    "TTOU": 22,
    "URG": 23,
    "XCPU": 24,
    "XFSZ": 25,
    "VTALRM": 26,
    "PROF": 27,
    "WINCH": 28,
    "IO": 29,
    "PWR": 30,
    "SYS": 31,
    "IOT": 6,
    "CLD": 17,
    "POLL": 29,
}


def signal_number(text: str, *, ignore_case: bool = False) -> int | None:
    """The number of a signal given by number, or by name with or without SIG; 0 is no signal. None: no such signal."""
    name = text.upper() if ignore_case else text
    if name.isascii() and name.isdigit():
        short = name.lstrip("0") or "0"
        return int(short) if len(short) <= 2 and int(short) <= HIGHEST else None
    return NUMBERS.get(name.removeprefix("SIG"))
