"""The values that PBS options take: durations, sizes and dates."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime, timedelta

from hpcbatch.errors import HpcBatchError
from hpcbatch.model.text import printable
from hpcbatch.typed import Final, NamedTuple
from hpcbatch.units import YEARS

DEFAULT_PROJECT: Final = "_pbs_project_default"

_DURATION = r"([0-9]+(?::[0-9]+){0,3}|[0-9]+(?::[0-9]+)?:)(?:\.([0-9]*))?"
_SIZE = r"([0-9]+)([kmgtp]?)([bw]?)"
_SHIFT = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40, "p": 50}
_LETTER = {shift: letter for letter, shift in _SHIFT.items()}
_MAX_DURATION_S = 100 * 365 * 86400
_MAX_BYTES = 2**63 - 1


def parse_duration(text: str) -> int:
    """Read a PBS duration, `[[HH:]MM:]SS[.mmm]`, as seconds, rounded; `90:00` is 5400.

    Torque's `D:HH:MM:SS` is read too, as real scripts have it. Raises HpcBatchError if `text` is anything else,
    or longer than a century. Source: OpenPBS, decode_time().
    """
    match = re.fullmatch(_DURATION, text)
    parts = match[1].split(":") if match else []
    if match is None or max(map(len, parts)) > 18:
        raise HpcBatchError(f"{text!r} is not a duration: expected [[HH:]MM:]SS")
    seconds = 0
    if len(parts) == 4:
        days, hours, *parts = parts
        seconds = int(days) * 24 + int(hours)
    for part in parts:
        seconds = seconds * 60 + int(part or 0)
    seconds += int((match[2] or "").ljust(3, "0")[:3]) >= 500
    if seconds > _MAX_DURATION_S:
        raise HpcBatchError(f"{text!r} is too long a duration")
    return seconds


class Size(NamedTuple):
    """A size as PBS keeps it: a number, the power of two of its unit, and whether it counts 8-byte words."""

    number: int
    shift: int = 0
    is_words: bool = False

    @property
    def bytes(self) -> int:
        return (self.number << self.shift) * (8 if self.is_words else 1)

    def __str__(self) -> str:
        return f"{self.number}{_LETTER[self.shift]}{'w' if self.is_words else 'b'}"


def parse_size(text: str) -> Size:
    """Read a PBS size: a whole number, `k m g t p` for powers of 1024, `b` for bytes or `w` for words of 8 bytes.
    Raises HpcBatchError if `text` is anything else. Source: OpenPBS, to_size().
    """
    match = re.fullmatch(_SIZE, text, re.IGNORECASE)
    if match is None or len(match[1]) > 19:
        raise HpcBatchError(f"{text!r} is not a size: expected a whole number with k, m, g, t or p, and b or w")
    size = Size(int(match[1]), _SHIFT[match[2].lower()], match[3].lower() == "w")
    if size.bytes > _MAX_BYTES:
        raise HpcBatchError(f"{text!r} is too large a size")
    return size


def size_of_bytes(count: int) -> Size:
    """`count` bytes in the largest unit that divides them: 4294967296 is `4gb`."""
    shift = max((s for s in _LETTER if count and count % (1 << s) == 0), default=0)
    return Size(count >> shift, shift)


def sum_sizes(sizes: Iterable[Size]) -> Size:
    """The sum, in the smallest unit among `sizes`, as PBS shows it: 1gb + 512mb is `1536mb`."""
    parts = list(sizes)
    shift = min((p.shift for p in parts), default=0)
    if all(p.is_words for p in parts) and parts:
        return Size(sum(p.number << (p.shift - shift) for p in parts), shift, is_words=True)
    return Size(sum(p.bytes for p in parts) >> shift, shift)


def parse_date(text: str, now: datetime) -> datetime:
    """Read `[[[[CC]YY]MM]DD]hhmm[.SS]` as the time meant at `now` (aware), in its time zone.

    Parts that are missing make it the next such time. Raises HpcBatchError for anything else.
    Source: OpenPBS, cvtdate().
    """
    match = re.fullmatch(r"((?:[0-9]{2}){2,6})(?:\.([0-9]{2}))?", text)
    if match is None:
        raise HpcBatchError(f"{text!r} is not a date: expected [[[[CC]YY]MM]DD]hhmm[.SS]")
    parts = [int(match[1][i : i + 2]) for i in range(0, len(match[1]), 2)]
    minute, hour = parts.pop(), parts.pop()
    year, month, day = now.year, now.month, now.day
    given_day, given_month = (parts.pop() if parts else None), (parts.pop() if parts else None)
    if parts:
        short = parts.pop()
        year = parts.pop() * 100 + short if parts else short + (1900 if short > 68 else 2000)
    elif given_month is not None and given_month < now.month:
        year += 1
    month = given_month if given_month is not None else month
    if given_day is None:
        day += (hour, minute) <= (now.hour, now.minute)
    else:
        day = given_day
        if given_month is None and given_day < now.day:
            month += 1
    second = int(match[2] or 0)
    if not (1 <= month <= 13 and 1 <= day <= 32 and hour < 24 and minute < 60 and second < 60):
        raise HpcBatchError(f"{text!r} is not a date: a part is out of range")
    if (given_month is not None and month > 12) or (given_day is not None and day > 31):
        raise HpcBatchError(f"{text!r} is not a date: a part is out of range")
    try:
        # A 31st in a shorter month is the 1st of the next one, as mktime() has it.
        first = datetime(year + (month > 12), (month - 1) % 12 + 1, 1, hour, minute, second, tzinfo=now.tzinfo)
        when = first + timedelta(days=day - 1)
        if when.year in YEARS:
            return when
    except (ValueError, OverflowError):
        pass
    raise HpcBatchError(f"{text!r} is not a date: a part is out of range")


def parse_mail_users(text: str) -> tuple[str, ...]:
    """`ann,bob@host`. Raises HpcBatchError."""
    users = tuple(part.strip() for part in text.split(","))
    if any(not user or any(char.isspace() for char in user) for user in users):
        raise HpcBatchError(f"{text!r} are no mail users: expected user[@host],...")
    return users


def quoted(value: str, *, always: bool = False) -> str:
    """As the accounting log writes a value: one with a blank in double quotes, or in single ones if it has double ones
    (OpenPBS, cpy_quote_value()). What would end the field all the same is `\\ooo`, its octal code: a semicolon, a
    backslash, the quote in use, and `=` beside a blank, since many readers look for `name=value` and know no quotes.
    """
    is_quoted = always or any(char in " \"'" for char in value)
    quote = "'" if '"' in value and not always else '"'
    octal = {"\\", ";", quote} | ({"="} if " " in value else set()) if is_quoted else {"\\", ";"}
    text = "".join(f"\\{ord(char):03o}" if char in octal else char for char in printable(value))
    return f"{quote}{text}{quote}" if is_quoted else text
