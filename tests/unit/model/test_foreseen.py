"""The reply to a job that is only tested."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from hpcbatch.errors import HpcBatchError
from hpcbatch.model.foreseen import Foreseen


@pytest.mark.parametrize(
    "found",
    [
        Foreseen(7, "q", 4),
        Foreseen(7, "q", 4, datetime(2026, 11, 25, 12, tzinfo=UTC), ("n1", "n2")),
        Foreseen(7, "q", 4, never_fits=True),
        Foreseen(7, "q", 4, datetime(2026, 11, 25, 12, tzinfo=UTC), ("n1",), preempts=(5, 6)),
    ],
)
def test_it_is_read_as_written(found: Foreseen) -> None:
    assert Foreseen.read(found.text()) == found


@pytest.mark.parametrize("text", ["", "7", "{}", '{"job_id": "x"}', "[]", "null"])
def test_any_other_text_is_an_error(text: str) -> None:
    with pytest.raises(HpcBatchError, match="cannot be read"):
        Foreseen.read(text)
