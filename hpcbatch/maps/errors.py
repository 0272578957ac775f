"""What can go wrong with maps and is for their user to mend."""

from __future__ import annotations


class MapsError(Exception):
    """`str()` is one line that is ready to show."""
