"""How Slurm writes times and durations. Source: slurm_make_time_str() and secs2time_str() of parse_time.c."""

from __future__ import annotations

from datetime import datetime, tzinfo

STANDARD = "%Y-%m-%dT%H:%M:%S"


def stamp(when: datetime | None, tz: tzinfo, form: str = "", now: datetime | None = None, none: str = "N/A") -> str:
    """Write a time in the zone `tz`. `form` is SLURM_TIME_FORMAT: empty or `standard`, `relative`, or a strftime
    format; `now` is needed for `relative`.
    """
    if when is None:
        return none
    local = when.astimezone(tz)
    if form in {"", "standard"}:
        return local.strftime(STANDARD)
    if form == "relative":
        return _relative(local, (now or when).astimezone(tz))
    # %s is an extension of the C library; Python's would read the zone of the process.
    return local.strftime(form.replace("%%", "\0").replace("%s", str(int(when.timestamp()))).replace("\0", "%%"))


def _relative(when: datetime, now: datetime) -> str:
    days = (when.date() - now.date()).days
    if days in {-1, 0, 1}:
        return when.strftime({-1: "Ystday %H:%M", 0: "%H:%M:%S", 1: "Tomorr %H:%M"}[days])
    if 1 < days <= 6:
        return when.strftime("%a %H:%M")
    return f"{when.day} {when.strftime('%b %H:%M' if abs(days) <= 365 else '%b %Y')}"


def ctime(when: datetime, tz: tzinfo) -> str:
    """The line above long listings: `Sat Nov 21 02:50:06 2026`, in English whatever the locale."""
    local = when.astimezone(tz)
    day = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")[local.weekday()]
    month = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"][local.month - 1]
    return f"{day} {month} {local.day:2d} {local:%H:%M:%S} {local.year}"


def short(seconds: int) -> str:
    """`0:02`, `9:58`, `1:00:00`, `1-00:00:00`: squeue's durations."""
    days, hours, minutes, rest = _parts(seconds)
    if days:
        return f"{days}-{hours:02d}:{minutes:02d}:{rest:02d}"
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def full(seconds: int) -> str:
    """`00:00:02`, `1-00:00:00`: scontrol's durations."""
    days, hours, minutes, rest = _parts(seconds)
    text = f"{hours:02d}:{minutes:02d}:{rest:02d}"
    return f"{days}-{text}" if days else text


def _parts(seconds: int) -> tuple[int, int, int, int]:
    minutes, rest = divmod(max(seconds, 0), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return days, hours, minutes, rest
