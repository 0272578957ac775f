"""pbs_rstat where there are no reservations."""

from __future__ import annotations

import pytest

from hpcbatch.dialects.pbs.errors import PbsUsageError
from hpcbatch.dialects.pbs.reservations import answer, parse_rstat


def test_command_line() -> None:
    assert parse_rstat([]) == ()
    assert parse_rstat(["-f", "R12", "-BS"]) == ("R12",)
    with pytest.raises(PbsUsageError) as caught:
        parse_rstat(["-x"])
    assert caught.value.code == 1


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("R12", "Unknown Reservation Id", 0),
        ("S1.pbs1", "Unknown Reservation Id", 0),
        ("nosuch", "illegally formed reservation identifier: nosuch", 1),
    ],
)
def test_what_is_said_of_one(name: str, text: str, code: int) -> None:
    assert answer(name) == (text, code)
