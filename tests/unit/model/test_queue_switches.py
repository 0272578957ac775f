"""What operators switch off of queues."""

from __future__ import annotations

from typing import Any

import pytest

from hpcbatch.model.queue_switches import Switches, switches_of


def volcano_queue(state: str | None, **notes: str) -> dict[str, Any]:
    annotations = {name.replace("__", ".hpcbatch.io/"): value for name, value in notes.items()}
    return {"metadata": {"annotations": annotations}, **({} if state is None else {"status": {"state": state}})}


@pytest.mark.parametrize(
    ("found", "takes", "starts"),
    [
        (volcano_queue("Open"), True, True),
        (volcano_queue(None), True, True),
        (volcano_queue(""), True, True),
        (volcano_queue("Closing"), False, False),
        (volcano_queue("Open", disabled__workq="true"), False, True),
        (volcano_queue("Open", stopped__workq="true"), True, False),
        (volcano_queue("Open", stopped__other="true", disabled__workq="false"), True, True),
        (volcano_queue("Closed", other__workq="true"), False, False),
    ],
)
def test_switches(found: dict[str, Any], takes: bool, starts: bool) -> None:
    switches = switches_of(found)
    assert (switches.takes("workq"), switches.starts("workq")) == (takes, starts)


def test_idle() -> None:
    found = {"metadata": {"annotations": {"hpcbatch.io/idle": "true"}}}
    assert switches_of(found) == Switches(is_idle=True)
    assert switches_of(found).starts("workq")


def test_without_annotations() -> None:
    assert switches_of({"metadata": {}}) == Switches()
