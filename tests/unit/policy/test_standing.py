"""Where a job stands, in a few words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hpcbatch.policy.standing import elapsed_s
from tests.unit.dialects.pbs.jobs import ROWS

NOW = datetime(2026, 11, 26, 12, tzinfo=UTC)


def test_how_long_it_has_run() -> None:
    """The time for which it stood does not count."""
    row = ROWS[0]._replace(start_time=NOW - timedelta(seconds=100), end_time=None)
    assert elapsed_s(row, NOW) == 100
    assert elapsed_s(row._replace(stood_s=30), NOW) == 70
    assert elapsed_s(row._replace(suspended_at=NOW - timedelta(seconds=60)), NOW) == 40
    assert elapsed_s(row._replace(start_time=None), NOW) is None
