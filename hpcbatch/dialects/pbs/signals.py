"""qsig's command line, and what its signal may be."""

from __future__ import annotations

from collections.abc import Sequence

from hpcbatch.dataclass import dataclass
from hpcbatch.dialects.pbs import options, usage
from hpcbatch.dialects.pbs.errors import PBSE_UNKSIG, PbsError, PbsUsageError
from hpcbatch.model.signals import signal_number

DEFAULT = "SIGTERM"
SUSPEND = frozenset({"suspend", "admin-suspend"})
RESUME = frozenset({"resume", "admin-resume"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalOptions:
    job_ids: tuple[str, ...]
    """Operands as given, unchecked."""
    signal: str = DEFAULT
    """As given; the server, not the command, says whether there is one of that name, for each job."""


def parse_qsig(argv: Sequence[str]) -> SignalOptions:
    """Read qsig's command line; PbsUsageError for anything but `[-s signal] id…`."""
    parsed = options.getopt(options.words(argv), options.QSIG)
    signal = DEFAULT
    for option in parsed.options:
        signal = option.value
    job_ids = tuple(word.text for word in parsed.operands)
    if parsed.errors or not job_ids:
        raise PbsUsageError("\n".join(parsed.errors), usage.QSIG)
    return SignalOptions(job_ids=job_ids, signal=signal)


def number_of(signal: str, shown_id: str) -> int:
    """The number of a signal; 0 asks only whether the job runs. Raises PbsError with the server's words."""
    number = signal_number(signal)
    if number is None:
        raise PbsError(f"Unknown/illegal signal name {shown_id}", PBSE_UNKSIG & 0xFF)
    return number
