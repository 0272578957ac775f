"""When a submission is refused because too many wait."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from hpcbatch.api.names import HASTY_ANNOTATION
from hpcbatch.controller.intake import Intake
from hpcbatch.model.refusal import BUSY


@pytest.mark.parametrize(
    ("annotations", "others", "waited_s", "is_refused"),
    [
        ({HASTY_ANNOTATION: "true"}, 40, 2.5, True),
        ({HASTY_ANNOTATION: "true"}, 40, 1.5, False),
        ({HASTY_ANNOTATION: "true"}, 10, 60.0, False),
        (None, 1000, 60.0, False),
        ({"site/note": "x"}, 1000, 60.0, False),
    ],
)
def test_only_who_would_rather_hear_so(
    annotations: dict[str, str] | None, others: int, waited_s: float, is_refused: bool
) -> None:
    refused: list[tuple[str, str]] = []
    intake: Any = SimpleNamespace(refuse=lambda _, code, message: refused.append((code, message)))
    obj = {"metadata": {} if annotations is None else {"annotations": annotations}}
    assert Intake.is_busy(intake, obj, others, waited_s) is is_refused
    assert refused == ([(BUSY, f"{others} wait")] if is_refused else [])
