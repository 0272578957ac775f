"""The runner's report: the termination message of a pod, `name=value` lines. Written by runner/common.sh."""

from __future__ import annotations

import re

from hpcbatch.dataclass import dataclass
from hpcbatch.model.state import Reason
from hpcbatch.volcano.step_report import NO_STEPS, StepReport, parse_words

_DECIMAL = re.compile(r"[0-9]{1,18}", re.ASCII)
_WISHES = frozenset({"requeue", "cancel"})
_REASONS = {reason.value: reason for reason in Reason}
_NAMES = frozenset(
    [
        "exit_code",
        "signal",
        "walltime_s",
        "cpu_s",
        "max_rss_bytes",
        "reason",
        "message",
        "started",
        "ended",
        "session_id",
        "steps",
        "spent",
        "wish",
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """The result of the script. With neither `exit_code` nor `signal` it did not finish: `reason` says why."""

    exit_code: int | None = None
    """Exit code of the script, 0..255."""
    signal: int | None = None
    """The signal that killed the script itself."""
    walltime_s: int | None = None
    cpu_s: int | None = None
    """User and system time of all processes in the pod."""
    max_rss_bytes: int | None = None
    """The peak of the pod's total memory."""
    reason: Reason = Reason.NONE
    message: str = ""
    started: int | None = None
    """Unix time at which the script started."""
    ended: int | None = None
    session_id: int | None = None
    """Process id of the script in its pod; it leads its session."""
    steps: StepReport = NO_STEPS
    """Those of srun, as far as a termination message has room."""
    wish: str = ""
    """What the script requested for its own job, which ended the run: `requeue`, `cancel` or nothing."""


def parse_report(text: str) -> RunReport | None:
    """Read a termination message. None if it contains no report: the runner itself could not start.

    Of a truncated message, or one mixed with other text, the readable part is used.
    """
    found: dict[str, str] = {}
    for line in text.split("\n"):
        name, equals, value = line.partition("=")
        if equals and name in _NAMES:
            found[name] = value
    if not found:
        return None
    code, signal = _number(found, "exit_code"), _number(found, "signal")
    return RunReport(
        exit_code=code if code is not None and code <= 255 else None,
        signal=signal if signal is not None and 0 < signal <= 127 else None,
        walltime_s=_number(found, "walltime_s"),
        cpu_s=_number(found, "cpu_s"),
        max_rss_bytes=_number(found, "max_rss_bytes"),
        reason=_REASONS.get(found.get("reason", ""), Reason.NONE),
        message=found.get("message", ""),
        started=_number(found, "started"),
        ended=_number(found, "ended"),
        session_id=_number(found, "session_id"),
        steps=parse_words(found.get("steps", ""), found.get("spent", "")),
        wish=found["wish"] if found.get("wish") in _WISHES else "",
    )


def _number(found: dict[str, str], name: str) -> int | None:
    value = found.get(name, "")
    return int(value) if _DECIMAL.fullmatch(value) else None
