"""The name of the time zone of this machine, for what is repeated by the clock there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

_LINK = Path("/etc/localtime")
_ZONES = "/zoneinfo/"


def zone_name(environ: Mapping[str, str]) -> str:
    """`Europe/Berlin` by TZ, else by what the machine is set to; "" (UTC) where neither names a zone."""
    from zoneinfo import ZoneInfo

    named = environ.get("TZ", "").removeprefix(":")
    if not named:
        try:
            named = str(_LINK.resolve()).partition(_ZONES)[2]
        except OSError:
            named = ""
    try:
        return named if named and ZoneInfo(named) is not None else ""
    except (OSError, ValueError, LookupError):
        return ""
