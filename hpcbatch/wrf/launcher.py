"""What an MPI launcher says of a rank that a signal has ended, of which WRF's own logs know nothing."""

from __future__ import annotations

import re

_NAMES = {"Killed": 9, "Terminated": 15, "Segmentation fault": 11, "Aborted": 6, "Bus error": 7,
          "Floating point exception": 8, "Illegal instruction": 4}  # fmt: skip
_SIGNALS = {4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL", 11: "SIGSEGV", 15: "SIGTERM"}
_ENDED = re.compile(
    r"(?:process rank (?P<open_mpi>[0-9]+) with PID [0-9]+ on node [^ ]+ )?exited on signal (?P<number>[0-9]+)"
    r"|RANK (?P<intel>[0-9]+) PID [0-9]+ RUNNING AT [^ ]+ [= ]*KILLED BY SIGNAL: (?P<intel_number>[0-9]+)"
    r"|EXIT STRING: [A-Za-z ]+\(signal (?P<mpich_number>[0-9]+)\)"
    rf"|srun: error: [^ ]+: tasks? (?P<srun>[0-9]+)[^ ]*: (?P<name>{'|'.join(_NAMES)})"
)
"""Of Open MPI, Intel MPI, MPICH and srun, in text whose blanks and line ends are single: Open MPI 5 breaks its line."""


def ended_by_signal(text: str) -> str:
    """`SIGKILL on rank 3, probably out of memory`; "" where the launcher told of no signal.

    The first rank that it names counts: the others were ended because of that one.
    """
    found = list(_ENDED.finditer(" ".join(text.split())))
    for match in found:
        rank = match["open_mpi"] or match["intel"] or match["srun"]
        if rank is not None:
            return _words(match, f"rank {int(rank)}")
    return _words(found[0], "a rank") if found else ""


def _words(match: re.Match[str], whose: str) -> str:
    number = (
        _NAMES[match["name"]]
        if match["name"]
        else int(match["number"] or match["intel_number"] or match["mpich_number"])
    )
    return f"{_SIGNALS.get(number, f'signal {number}')} on {whose}{', probably out of memory' if number == 9 else ''}"
