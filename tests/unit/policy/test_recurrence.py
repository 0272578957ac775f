"""When a repeated reservation is again, and which rules are refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice

import pytest

from hpcbatch.model.reservation import Flag, ReservationSpec
from hpcbatch.policy.recurrence import RuleError, TimeError, ZoneError, check_rule, count_of, times

LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


def spec(
    rule: str = "", *, start: str = "2026-03-27T08:00", zone: str = "Europe/Berlin", **more: object
) -> ReservationSpec:
    begins = datetime.fromisoformat(start).replace(tzinfo=UTC)
    given = {"end": begins + timedelta(hours=1), **more}
    return ReservationSpec(dialect="pbs", start=begins, rule=rule, zone=zone, **given)  # type: ignore[arg-type]


def starts(found: ReservationSpec, since: datetime = LONG_AGO, most: int = 4) -> list[str]:
    return [f"{one.start:%m-%d %H:%M}" for one in islice(times(found, since), most)]


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        pytest.param(spec(), ["03-27 08:00"], id="once"),
        pytest.param(spec("FREQ=DAILY;COUNT=3"), ["03-27 08:00", "03-28 08:00", "03-29 07:00"], id="summer-time"),
        pytest.param(spec("FREQ=WEEKLY;BYDAY=MO,FR;COUNT=3"), ["03-27 08:00", "03-30 07:00", "04-03 07:00"], id="days"),
        pytest.param(spec("FREQ=WEEKLY;BYDAY=MO;COUNT=2"), ["03-30 07:00", "04-06 07:00"], id="not-on-its-day"),
        pytest.param(spec("freq=daily;until=20260328T090000"), ["03-27 08:00", "03-28 08:00"], id="until-here"),
        pytest.param(spec("FREQ=DAILY;UNTIL=20260328T075959Z"), ["03-27 08:00"], id="until-utc"),
        pytest.param(spec("FREQ=MONTHLY;COUNT=2", zone=""), ["03-27 08:00", "04-27 08:00"], id="monthly"),
        pytest.param(
            spec(flags=(Flag.WEEKDAY,), start="2026-03-28T08:00"),
            ["03-28 08:00", "03-30 07:00", "03-31 07:00", "04-01 07:00"],
            id="weekday",
        ),
        pytest.param(
            spec(flags=(Flag.WEEKEND,)), ["03-27 08:00", "03-28 08:00", "03-29 07:00", "04-04 07:00"], id="we"
        ),
        pytest.param(
            spec(flags=(Flag.WEEKLY,)), ["03-27 08:00", "04-03 07:00", "04-10 07:00", "04-17 07:00"], id="week"
        ),
        pytest.param(spec(flags=(Flag.HOURLY,)), ["03-27 08:00", "03-27 09:00", "03-27 10:00", "03-27 11:00"], id="h"),
    ],
)
def test_times(found: ReservationSpec, wanted: list[str]) -> None:
    assert starts(found) == wanted


def test_from_a_time_on() -> None:
    daily = spec(flags=(Flag.DAILY,))
    assert next(times(daily, datetime(2026, 3, 28, 8, 30, tzinfo=UTC)))[:2] == (2, datetime(2026, 3, 28, 8, tzinfo=UTC))
    assert next(times(daily, datetime(2026, 3, 28, 9, tzinfo=UTC))).number == 3
    assert starts(spec(), datetime(2026, 3, 27, 9, tzinfo=UTC)) == []


def test_how_many() -> None:
    assert count_of(spec()) == 1
    assert count_of(spec("FREQ=DAILY;COUNT=3")) == 3
    assert count_of(spec(flags=(Flag.DAILY,))) is None


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        ("what", "Undefined iCalendar syntax"),
        ("FREQ=SECONDLY;COUNT=2", "Undefined iCalendar syntax"),
        ("FREQ=DAILY;COUNT=2;BYMONTHDAY=3", "Undefined iCalendar syntax"),
        ("FREQ=DAILY;COUNT=2;BYMONTH=13", "Undefined iCalendar syntax"),
        ("FREQ=DAILY;COUNT=2;BYHOUR=-1", "Undefined iCalendar syntax"),
        ("FREQ=DAILY;INTERVAL=7;BYDAY=TU;COUNT=2", "Undefined iCalendar syntax"),
        ("FREQ=DAILY;COUNT=x", "Undefined iCalendar syntax"),
        ("FREQ=DAILY;COUNT=2;COUNT=3", "Undefined iCalendar syntax"),
        ("FREQ=DAILY;BYDAY=XX;COUNT=2", "Undefined iCalendar syntax"),
        ("FREQ=DAILY", "Undefined iCalendar syntax. A valid COUNT or UNTIL is required"),
        ("FREQ=DAILY;COUNT=2;UNTIL=20270101", "Undefined iCalendar syntax. A valid COUNT or UNTIL is required"),
        ("FREQ=DAILY;UNTIL=soon", "Undefined iCalendar syntax. A valid COUNT or UNTIL is required"),
    ],
)
def test_rules_that_are_none(rule: str, says: str) -> None:
    with pytest.raises(RuleError) as caught:
        check_rule(spec(rule))
    assert str(caught.value) == says


@pytest.mark.parametrize(
    ("rule", "hours", "says"),
    [
        ("FREQ=HOURLY;COUNT=2", 2, "HOURLY recurrence duration cannot exceed 1 hour"),
        ("FREQ=DAILY;COUNT=2", 25, "DAILY recurrence duration cannot exceed 24 hours"),
        ("FREQ=WEEKLY;COUNT=2", 200, "WEEKLY recurrence duration cannot exceed 1 week"),
    ],
)
def test_too_long(rule: str, hours: int, says: str) -> None:
    begins = datetime(2026, 3, 27, 8, tzinfo=UTC)
    with pytest.raises(RuleError) as caught:
        check_rule(spec(rule, end=begins + timedelta(hours=hours)))
    assert str(caught.value) == says


def test_its_times_do_not_meet() -> None:
    begins = datetime(2026, 3, 27, 8, tzinfo=UTC)
    with pytest.raises(TimeError):
        check_rule(spec("FREQ=WEEKLY;BYDAY=FR,SA;COUNT=4", end=begins + timedelta(hours=30)))


@pytest.mark.parametrize("rule", ["FREQ=HOURLY;COUNT=999999", "FREQ=DAILY;UNTIL=99991231", "FREQ=YEARLY;COUNT=500"])
def test_endless_ones_are_refused(rule: str) -> None:
    with pytest.raises(TimeError):
        check_rule(spec(rule))


@pytest.mark.parametrize("zone", ["No/Where", "../etc/passwd", "\0"])
def test_zones_that_are_none(zone: str) -> None:
    with pytest.raises(ZoneError):
        check_rule(spec("FREQ=DAILY;COUNT=2", zone=zone))
