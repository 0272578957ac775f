"""Warnings in the message of a status."""

from __future__ import annotations

import pytest

from hpcbatch.model.warning import warning_in, with_warning


@pytest.mark.parametrize(
    ("message", "warning"),
    [
        ("", ""),
        ("killed by signal 9", ""),
        ("warning: MPI ran on a alone", "warning: MPI ran on a alone"),
        ("killed by signal 9; warning: MPI; a warning: b", "warning: MPI; a warning: b"),
    ],
)
def test_warning_in(message: str, warning: str) -> None:
    assert warning_in(message) == warning


@pytest.mark.parametrize(
    ("message", "of", "both"),
    [
        ("", "", ""),
        ("gone", "killed", "gone"),
        ("", "killed; warning: w", "warning: w"),
        ("gone", "killed; warning: w", "gone; warning: w"),
        ("killed; warning: w", "killed; warning: w", "killed; warning: w"),
    ],
)
def test_with_warning(message: str, of: str, both: str) -> None:
    assert with_warning(message, of) == both
