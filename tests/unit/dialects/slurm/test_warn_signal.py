"""`sbatch --signal`."""

from __future__ import annotations

import pytest

from hpcbatch.dialects.slurm.warn_signal import parse_warn_signal
from hpcbatch.model.warn_signal import WarnSignal


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("USR1", WarnSignal(signal=10)),
        ("SIGTERM@30", WarnSignal(signal=15, before_s=30)),
        ("USR1@", WarnSignal(signal=10, before_s=0)),
        ("B:12@0", WarnSignal(signal=12, before_s=0, is_batch_only=True)),
        ("b:usr2@65535", WarnSignal(signal=12, before_s=65535, is_batch_only=True)),
        ("R:INT@5", WarnSignal(signal=2, before_s=5)),
        ("RB:INT", WarnSignal(signal=2, is_batch_only=True)),
    ],
)
def test_right(text: str, expected: WarnSignal) -> None:
    assert parse_warn_signal(text) == expected


@pytest.mark.parametrize("text", ["", "@5", "FOO", "0", "65", "USR1@x", "USR1@65536", "X:USR1", "USR1 @5"])
def test_wrong(text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        parse_warn_signal(text)
