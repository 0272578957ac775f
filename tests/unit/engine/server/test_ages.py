from datetime import UTC, datetime

import pytest

from hpcbatch.engine.server.ages import age, age_of

DAY = 86400


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (121, "2m1s"),
        (599, "9m59s"),
        (600, "10m"),
        (10799, "179m"),
        (10800, "3h"),
        (10860, "3h1m"),
        (8 * 3600 - 1, "7h59m"),
        (8 * 3600, "8h"),
        (2 * DAY - 1, "47h"),
        (2 * DAY, "2d"),
        (2 * DAY + 3600, "2d1h"),
        (8 * DAY, "8d"),
        (729 * DAY, "729d"),
        (730 * DAY, "2y"),
        (740 * DAY, "2y10d"),
        (9 * 365 * DAY, "9y"),
        (-5, "<invalid>"),
    ],
)
def test_age(seconds: int, text: str) -> None:
    assert age(seconds) == text


def test_age_of() -> None:
    now = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)
    assert age_of("2026-11-21T09:58:00Z", now) == "2m"
    assert age_of("2026-11-21T10:00:01Z", now) == "0s"
    assert age_of(None, now) == "<unknown>"
    assert age_of("bad", now, None) is None
