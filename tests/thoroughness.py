"""How much the tests try: all that is there where HPCBATCH_TESTS is "full", as `make test-full` sets it: every shell
that images have, as many generated cases as each test names. Else a choice of both, so that `make test` is quick.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, Final

import pytest

IS_FULL: Final = os.environ.get("HPCBATCH_TESTS") == "full"
_QUICK_SHARE = 8


def examples(count: int) -> int:
    """How many cases hypothesis makes where `count` are thorough; for `settings(max_examples=…)`."""
    return count if IS_FULL else max(4, count // _QUICK_SHARE)


def in_turn(values: Iterable[Any], each: int = 3) -> list[Any]:
    """`values` of a parameter, of which `make test` tries one of `each`; the others are slow cases."""
    return [
        value if place % each == 0 else pytest.param(value, marks=pytest.mark.slow)
        for place, value in enumerate(values)
    ]
