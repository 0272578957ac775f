"""Times as Slurm's options take them (--begin, sacct -S): its words and formats, in any order and case."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from hpcbatch.dialects.slurm.errors import SlurmUsageError
from hpcbatch.units import YEARS

_NOW = r"(?i)now(?:\s*([+-])\s*([0-9]{1,9})(?:\s*(seconds?|minutes?|hours?|days?|weeks?))?)?"
_WORDS = {"today": None, "tomorrow": None, "midnight": 0, "elevenses": 11, "noon": 12, "fika": 15, "teatime": 16}
_CLOCK = r"(?i)([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}))?(?:\s*([ap]m))?"
_ISO = r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
_SLASH = r"([0-9]{1,2})/([0-9]{1,2})(?:/([0-9]{2}))?(?![0-9])"
_DOTTED = r"([0-9]{1,2})\.([0-9]{1,2})(?:\.([0-9]{2}))?(?![0-9])"
_DIGITS = r"([0-9]{2})([0-9]{2})([0-9]{2})?(?![0-9])"
_UNIT_S = {"": 1, "second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 7 * 86400}


def parse_begin(text: str, now: datetime) -> datetime:
    """Read a --begin time in the zone of `now` (aware); a time of day or a day of the year that is over is the next.
    Raises SlurmUsageError, exit 255, with the position of what is no time.
    """
    return _option_time(text, now, "begin")


def parse_deadline(text: str, now: datetime) -> datetime:
    """The same for --deadline."""
    return _option_time(text, now, "deadline")


def _option_time(text: str, now: datetime, name: str) -> datetime:
    refusal = f"sbatch: error: Invalid --{name} specification"
    if not text.strip(" \t\n-T"):
        raise SlurmUsageError(refusal, 255)
    try:
        return parse_time(text, now)
    except SlurmUsageError as error:
        raise SlurmUsageError(f"{error.text}\n{refusal}", 255) from None


def parse_time(text: str, now: datetime, *, past: bool = False) -> datetime:
    """Read a time in the zone of `now` (aware). What leaves out its day or year means the next such time, or with
    `past` one of today or the last one. Raises SlurmUsageError, exit 1, with the position of what is no time.
    Source: parse_time() of parse_time.c.
    """
    try:
        when = _read_time(text, now.replace(microsecond=0), past=past)
        if when.year in YEARS:
            return when
    except (ValueError, OverflowError):  # beyond what a date can be, in this zone or UTC
        pass
    raise _invalid(text, 0)


def _read_time(text: str, now: datetime, *, past: bool) -> datetime:
    clock: tuple[int, int, int] | None = None
    day: datetime | None = None
    at = 0
    while at < len(text):
        if text[at].isspace() or text[at] == "-" or (text[at] == "T" and not _word_at(text, at)):
            at += 1
            continue
        rest = text[at:]
        if match := re.match(_NOW, rest):
            if match.end() != len(rest.rstrip()):
                raise _invalid(text, at + max(match.end() - 1, 3))
            return now + _offset(match)
        if word := _word_at(text, at):
            hour = _WORDS[word]
            if hour is not None:
                clock = (hour, 0, 0)
            else:
                day = now + timedelta(days=word == "tomorrow")
            at += len(word)
        elif match := re.match(_CLOCK, rest):
            clock = _clock(match, text, at)
            at += match.end()
        else:
            day, length = _day(rest, now, text, at, past=past)
            at += length
    return _combine(day, clock, now, past=past)


def _word_at(text: str, at: int) -> str | None:
    return next((word for word in _WORDS if text[at:].lower().startswith(word)), None)


def _offset(match: re.Match[str]) -> timedelta:
    seconds = int(match[2] or 0) * _UNIT_S[(match[3] or "").lower().rstrip("s")]
    return timedelta(seconds=-seconds if match[1] == "-" else seconds)


def _clock(match: re.Match[str], text: str, at: int) -> tuple[int, int, int]:
    hour, minute, second = (int(part or 0) for part in match.groups()[:3])
    half = (match[4] or "").lower()
    if half:
        if not 1 <= hour <= 12:
            raise _invalid(text, at)
        hour = hour % 12 + (12 if half == "pm" else 0)
    if hour > 23:
        raise _invalid(text, at)
    if minute > 59 or second > 59:
        raise _invalid(text, at + match.start(2 if minute > 59 else 3))
    return hour, minute, second


def _day(rest: str, now: datetime, text: str, at: int, *, past: bool) -> tuple[datetime, int]:
    iso = re.match(_ISO, rest)
    match = iso or re.match(_SLASH, rest) or re.match(_DOTTED, rest) or re.match(_DIGITS, rest)
    if match is None:
        raise _invalid(text, at)
    if iso:
        year, month, day = (int(part) for part in match.groups())
    else:
        month, day = int(match[1]), int(match[2])
        today = now.month, now.day
        nearest = now.year - ((month, day) > today) if past else now.year + ((month, day) < today)
        year = 2000 + int(match[3]) if match[3] else nearest
    try:
        return now.replace(year=year, month=month, day=day), match.end()
    except ValueError:  # the 31st of a short month, or a 13th month
        raise _invalid(text, at) from None


def _combine(day: datetime | None, clock: tuple[int, int, int] | None, now: datetime, *, past: bool) -> datetime:
    hour, minute, second = clock or (0, 0, 0)
    when = (day or now).replace(hour=hour, minute=minute, second=second)
    return when + timedelta(days=1) if day is None and when < now and not past else when


def _invalid(text: str, position: int) -> SlurmUsageError:
    return SlurmUsageError(f"Invalid time specification (pos={position}): {text}")
