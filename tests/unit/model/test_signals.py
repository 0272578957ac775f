"""Signals by name and number, as Linux has them."""

from __future__ import annotations

import signal
import sys

import pytest

from hpcbatch.model.signals import NUMBERS, signal_number


@pytest.mark.skipif(sys.platform != "linux", reason="the numbers are Linux's")
def test_the_table_is_linux_s() -> None:
    named = {one.name.removeprefix("SIG"): one.value for one in signal.Signals if "RT" not in one.name}
    assert {name: number for name, number in NUMBERS.items() if name in named} == named


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("TERM", 15),
        ("SIGTERM", 15),
        ("15", 15),
        ("64", 64),
        ("0", 0),
        ("65", None),
        ("term", None),
        ("", None),
        ("SIG", None),
        ("FOO", None),
        ("-9", None),
        ("٣", None),
    ],
)
def test_number(text: str, number: int | None) -> None:
    assert signal_number(text) == number


def test_case() -> None:
    assert signal_number("sigUsr1", ignore_case=True) == 10
