from __future__ import annotations

import pytest

from hpcbatch.wrf.launcher import ended_by_signal
from tests.unit.wrf.logs import KILLED


@pytest.mark.parametrize("form", KILLED)
def test_each_launchers_words(form: str) -> None:
    text, words = KILLED[form]
    assert ended_by_signal(text) == words
    assert ended_by_signal(f"other words\n{text}and more\n") == words
