"""The times of a repeated reservation: by an iCalendar rule (RFC 5545) in its time zone, or by Slurm's flags."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import islice, pairwise

from hpcbatch.errors import HpcBatchError
from hpcbatch.model.reservation import Flag, ReservationSpec
from hpcbatch.typed import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from dateutil.rrule import rrule

_OF_FLAGS: Final = {
    Flag.HOURLY: "FREQ=HOURLY",
    Flag.DAILY: "FREQ=DAILY",
    Flag.WEEKDAY: "FREQ=DAILY;BYDAY=MO,TU,WE,TH,FR",
    Flag.WEEKEND: "FREQ=DAILY;BYDAY=SA,SU",
    Flag.WEEKLY: "FREQ=WEEKLY",
}
MOST_TIMES: Final = 20_000
"""Of a rule with COUNT or UNTIL; more are refused."""
_LONGEST: Final = timedelta(days=20 * 366)
"""Between the first of them and the last."""
_LONGEST_S: Final = {"HOURLY": 3600, "DAILY": 86400, "WEEKLY": 7 * 86400, "MONTHLY": 30 * 86400, "YEARLY": 365 * 86400}
_KNOWN: Final = frozenset({"FREQ", "INTERVAL", "COUNT", "UNTIL", "BYDAY", "BYMONTH", "BYHOUR", "WKST"})


class RuleError(HpcBatchError):
    """A rule that is none, or that a reservation may not have; the message is OpenPBS's."""


class ZoneError(HpcBatchError):
    """No such time zone."""


class TimeError(HpcBatchError):
    """The rule has no time, or its times overlap."""


class Time(NamedTuple):
    """One of a reservation's times."""

    number: int
    """From 1."""
    start: datetime
    end: datetime


def zone_of(name: str) -> tzinfo:
    """Raises ZoneError."""
    from zoneinfo import ZoneInfo

    if not name:
        return UTC
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, LookupError):
        raise ZoneError("Unrecognized PBS_TZID environment variable") from None


def rule_of(spec: ReservationSpec) -> str:
    """ "": it has one time only."""
    return spec.rule or next((rule for flag, rule in _OF_FLAGS.items() if flag in spec.flags), "")


def times(spec: ReservationSpec, since: datetime) -> Iterator[Time]:
    """Its times that end after `since`, in order. Raises as `check_rule`."""
    text = rule_of(spec)
    if not text:
        if spec.end > since:
            yield Time(1, spec.start, spec.end)
        return
    found = _rule(spec, text)
    if not spec.rule:  # Slurm's: the first time is the one that is given, whatever day that is
        if spec.end > since:
            yield Time(1, spec.start, spec.end)
        later = (when for when in found if when.astimezone(UTC) > spec.start)
        yield from _ending(later, spec.duration, since, 2)
        return
    yield from _ending(iter(found), spec.duration, since, 1)


def _ending(starts: Iterator[datetime], length: timedelta, since: datetime, first: int) -> Iterator[Time]:
    for index, when in enumerate(starts, first):
        start = when.astimezone(UTC)
        if start + length > since:
            yield Time(index, start, start + length)


def count_of(spec: ReservationSpec) -> int | None:
    """How many times it has; None: without end. Raises as `check_rule`."""
    text = rule_of(spec)
    if not text:
        return 1
    if not spec.rule:
        return None
    return sum(1 for _ in islice(_rule(spec, text), MOST_TIMES + 1))


def check_rule(spec: ReservationSpec) -> None:
    """Raise RuleError, ZoneError or TimeError for a rule by which no reservation can be. Source: check_rrule() of
    pbs_ical.c.
    """
    if not spec.rule:
        return
    parts = _parts(spec.rule)
    frequency = parts.get("FREQ", "")
    if set(parts) - _KNOWN or frequency not in _LONGEST_S or not _always_comes(parts):
        raise RuleError("Undefined iCalendar syntax")
    if ("COUNT" in parts) is ("UNTIL" in parts):
        raise RuleError("Undefined iCalendar syntax. A valid COUNT or UNTIL is required")
    length_s = spec.duration.total_seconds()
    if length_s > _LONGEST_S[frequency]:
        most = {"DAILY": "24 hours", "HOURLY": "1 hour", "WEEKLY": "1 week", "MONTHLY": "1 month", "YEARLY": "1 year"}
        raise RuleError(f"{frequency} recurrence duration cannot exceed {most[frequency]}")
    starts = list(islice(_rule(spec, spec.rule), MOST_TIMES + 1))
    if not starts or len(starts) > MOST_TIMES:
        raise TimeError("Bad time specification(s)")
    if starts[-1] - starts[0] > _LONGEST:
        raise TimeError("Bad time specification(s)")
    gaps = (later - earlier for earlier, later in pairwise(starts))
    if any(gap < spec.duration for gap in gaps):
        raise TimeError("Bad time specification(s)")


def _always_comes(parts: dict[str, str]) -> bool:
    """Whether it surely has a time within some years: others would be looked for up to the year 9999."""
    months, hours = parts.get("BYMONTH", "1"), parts.get("BYHOUR", "0")
    if not all(re.fullmatch(r"[1-9]|1[0-2]", month) for month in months.split(",")):
        return False
    if not all(re.fullmatch(r"[01]?[0-9]|2[0-3]", hour) for hour in hours.split(",")):
        return False
    is_fine = parts["FREQ"] in {"HOURLY", "DAILY"}
    return parts.get("INTERVAL", "1") == "1" or not (is_fine and {"BYDAY", "BYMONTH", "BYHOUR"} & parts.keys())


def _parts(rule: str) -> dict[str, str]:
    """Raises RuleError."""
    found = {}
    for part in rule.upper().split(";"):
        key, equals, value = part.partition("=")
        if not equals or not re.fullmatch(r"[A-Z]+", key) or not value or key in found:
            raise RuleError("Undefined iCalendar syntax")
        found[key] = value
    return found


def _rule(spec: ReservationSpec, text: str) -> rrule:
    from dateutil.rrule import rrule, rrulestr

    zone, parts = zone_of(spec.zone), _parts(text)
    if "UNTIL" in parts:
        parts["UNTIL"] = _as_utc(parts["UNTIL"], zone)
    for key in ("COUNT", "INTERVAL"):
        if key in parts and not re.fullmatch(r"[1-9][0-9]{0,5}", parts[key]):
            raise RuleError("Undefined iCalendar syntax")
    try:
        whole = ";".join(f"{key}={value}" for key, value in parts.items())
        found = rrulestr(whole, dtstart=spec.start.astimezone(zone))
    except (ValueError, TypeError, KeyError, OverflowError):
        raise RuleError("Undefined iCalendar syntax") from None
    if not isinstance(found, rrule):
        raise RuleError("Undefined iCalendar syntax")
    return found


def _as_utc(until: str, zone: tzinfo) -> str:
    """`20261130T080000` or `20261130` is in the reservation's time zone."""
    if until.endswith("Z"):
        return until
    try:
        form = "%Y%m%dT%H%M%S" if "T" in until else "%Y%m%d"
        when = datetime.strptime(until, form).replace(tzinfo=zone)
    except ValueError:
        raise RuleError("Undefined iCalendar syntax. A valid COUNT or UNTIL is required") from None
    return f"{when.astimezone(UTC):%Y%m%dT%H%M%SZ}"
