"""What a namelist.input requests: its values by domain, with WRF's own defaults, as numbers and times."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from hpcbatch.wrf.namelist import Namelist, Value

_MOST_DOMAINS = 21  # max_domains of the Registry
_SUITES = {
    "conus": {
        "mp_physics": 8,
        "cu_physics": 6,
        "ra_lw_physics": 4,
        "ra_sw_physics": 4,
        "bl_pbl_physics": 2,
        "sf_sfclay_physics": 2,
        "sf_surface_physics": 2,
    },
    "tropical": {
        "mp_physics": 6,
        "cu_physics": 16,
        "ra_lw_physics": 4,
        "ra_sw_physics": 4,
        "bl_pbl_physics": 1,
        "sf_sfclay_physics": 91,
        "sf_surface_physics": 2,
    },
}
"""What -1 means for each scheme under &physics physics_suite."""


@dataclass(frozen=True, slots=True)
class Settings:
    namelist: Namelist

    @property
    def domains(self) -> int:
        """&domains max_dom, but no more than WRF can hold."""
        return max(1, min(self.integer("domains", "max_dom", default=1), _MOST_DOMAINS))

    def number(self, group: str, key: str, domain: int = 1, default: float = 0.0) -> float:
        """`default` also where the namelist has no number there, which another rule reports."""
        value, _ = self.namelist.value(group, key, domain)
        number = None if value is None else value.number()
        return default if number is None or not math.isfinite(number) else number

    def integer(self, group: str, key: str, domain: int = 1, default: int = 0) -> int:
        return int(self.number(group, key, domain, default))

    def flag(self, group: str, key: str, domain: int = 1, default: bool = False) -> bool:
        value, _ = self.namelist.value(group, key, domain)
        if value is None or not value.fits("logical"):
            return default
        return value.text.lstrip(".")[:1] in {"t", "T"}

    def text(self, group: str, key: str, default: str = "") -> str:
        value, _ = self.namelist.value(group, key)
        return default if value is None else value.text.strip()

    def is_set(self, group: str, key: str, domain: int = 1) -> bool:
        return self.namelist.value(group, key, domain)[0] is not None

    def scheme(self, key: str, domain: int = 1) -> int:
        """A physics option, resolved where it comes from physics_suite. Source: setup_physics_suite()."""
        chosen = self.integer("physics", key, domain, default=-1)
        suite = _SUITES.get(self.text("physics", "physics_suite", "none").lower(), {})
        return suite.get(key, chosen) if chosen == -1 else chosen

    def shown(self, group: str, key: str, domain: int | None = None) -> tuple[str, int | None]:
        """A value as it stands in the file, or all of a key's where no domain is given; and its line."""
        if domain is not None:
            value, line = self.namelist.value(group, key, domain)
            return "" if value is None else str(value), line
        values: list[Value | None] = []
        line = None
        for entry in self.namelist.groups[group].entries if group in self.namelist.groups else ():
            if entry.key == key:
                values += entry.values
                line = line or entry.line
        return ", ".join("" if value is None else str(value) for value in values), line

    # Times

    def start(self, domain: int = 1) -> datetime | None:
        return self._moment("start", domain)

    def end(self, domain: int = 1) -> datetime | None:
        """By the end_* keys alone, as real.exe takes it."""
        return self._moment("end", domain)

    @property
    def run_length(self) -> timedelta | None:
        """By the run_* keys, which win over end_* in wrf.exe; None where they are not set, or 0."""
        days, hours, minutes, seconds = (
            self.number("time_control", f"run_{unit}") for unit in ("days", "hours", "minutes", "seconds")
        )
        try:
            length = timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
        except OverflowError:
            return None
        return length if length > timedelta(0) else None

    def run_end(self) -> datetime | None:
        """When wrf.exe ends."""
        start, length = self.start(), self.run_length
        if start is None or length is None:
            return self.end()
        try:
            return start + length
        except OverflowError:
            return None

    @property
    def time_step_s(self) -> float:
        """Of domain 1; 0 where none is given."""
        whole = self.number("domains", "time_step")
        numerator = self.number("domains", "time_step_fract_num")
        denominator = self.number("domains", "time_step_fract_den", default=1.0)
        return whole + (numerator / denominator if denominator else 0.0)

    def domain_time_step_s(self, domain: int) -> float:
        """As WRF has it, by the ratios of the nests; 0 where none is given."""
        return self._by_ratios(self.time_step_s, "parent_time_step_ratio", domain)

    def distance_m(self, key: str, domain: int) -> float:
        """The grid distance `dx` or `dy`. WRF derives that of a nest from its ratios."""
        return self._by_ratios(self.number("domains", key), "parent_grid_ratio", domain)

    def _by_ratios(self, outermost: float, ratio: str, domain: int) -> float:
        value, at, seen = outermost, domain, set[int]()
        while at > 1 and at not in seen:
            seen.add(at)
            value /= max(1, self.integer("domains", ratio, at, default=1))
            at = self.integer("domains", "parent_id", at, default=1)
        return value

    @property
    def interval(self) -> timedelta:
        """Between boundaries. 0 where interval_seconds is not set or nonsense."""
        seconds = self.number("time_control", "interval_seconds")
        return timedelta(seconds=seconds) if 0 < seconds < 1e9 else timedelta(0)

    def history_interval_s(self, domain: int = 1) -> float:
        return self.stream_interval_s("history", domain)

    def stream_interval_s(self, stream: str, domain: int = 1) -> float:
        """Of history, restart, auxhist2 …; 0 where nothing is written."""
        units = {"": 60, "_d": 86400, "_h": 3600, "_m": 60, "_s": 1}
        return sum(self.number("time_control", f"{stream}_interval{unit}", domain) * s for unit, s in units.items())

    def _moment(self, edge: str, domain: int) -> datetime | None:
        """None where year, month or day are missing, or are no date."""
        parts = [self._part(f"{edge}_{unit}", domain) for unit in ("year", "month", "day", "hour", "minute", "second")]
        if None in parts[:3]:
            return None
        year, month, day, hour, minute, second = (part or 0 for part in parts)
        try:
            return datetime(year, month, day) + timedelta(hours=hour, minutes=minute, seconds=second)
        except (ValueError, OverflowError):
            return None

    def _part(self, key: str, domain: int) -> int | None:
        return self.integer("time_control", key, domain) if self.is_set("time_control", key, domain) else None

    def date(self, moment: datetime) -> str:
        """As it stands in file names."""
        colon = "_" if self.flag("time_control", "nocolons") else ":"
        return f"{moment:%Y-%m-%d_%H}{colon}{moment:%M}{colon}{moment:%S}".rjust(19, "0")

    def file_name(self, template: str, domain: int, moment: datetime) -> str:
        """Of a WRF name with `<domain>`, `<date>`, `<year>` …. Source: construct_filename2a()."""
        name = template.replace("<domain>", f"{domain:02d}").replace("<date>", self.date(moment))
        for part, form in (
            ("year", "Y"),
            ("month", "m"),
            ("day", "d"),
            ("hour", "H"),
            ("minute", "M"),
            ("second", "S"),
        ):
            if f"<{part}>" in name:
                name = name.replace(f"<{part}>", f"{moment:%{form}}")
        return name


def dates(start: datetime, end: datetime, interval: timedelta, most: int = 100_000) -> Sequence[datetime]:
    """From start to end, both included where the interval meets it; at most `most`."""
    if interval <= timedelta(0) or end < start:
        return [start]
    count = min(int((end - start) / interval) + 1, most)
    return [start + interval * index for index in range(count)]
