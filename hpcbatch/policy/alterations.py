"""What was altered of a job and when: accounting reports it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from hpcbatch.dialects.pbs.alterations import changes
from hpcbatch.model.record import Alteration, JobRecord

KEPT, LONGEST = 50, 2000
"""Alterations of a job that are remembered, the last ones, and characters of each: its record must not grow without
end.
"""


def noted(before: JobRecord, after: JobRecord, now: datetime) -> JobRecord:
    """`after`, with what makes it another than `before` among its alterations."""
    text = " ".join(f"{name}={value}" for name, value in changes(before, after))
    if not text:
        return after
    text = text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
    known = (*after.status.alterations, Alteration(time=now, changes=text))[-KEPT:]
    return replace(after, status=replace(after.status, alterations=known))
