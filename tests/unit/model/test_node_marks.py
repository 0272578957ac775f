"""Marks of nodes."""

from __future__ import annotations

from typing import Any

import pytest

from hpcbatch.model.node_marks import Mark, marked, marks_of

NOTE = "hpcbatch.io/node-marks"


def node(text: str | None, *, cordoned: bool = True) -> dict[str, Any]:
    return {"metadata": {"annotations": {NOTE: text} if text else {}}, "spec": {"unschedulable": cordoned}}


@pytest.mark.parametrize(
    ("obj", "marks"),
    [
        (node(None, cordoned=False), set()),
        (node(None), {Mark.DRAIN}),
        (node("down"), {Mark.DOWN}),
        (node("down,drain"), {Mark.DOWN, Mark.DRAIN}),
        (node("fail"), {Mark.FAIL}),
        (node("nonsense"), {Mark.DRAIN}),
        (node("down", cordoned=False), set()),
    ],
)
def test_marks(obj: dict[str, Any], marks: set[Mark]) -> None:
    assert marks_of(obj) == marks


@pytest.mark.parametrize("before", [set(), {Mark.DRAIN}, {Mark.DOWN}, {Mark.DOWN, Mark.DRAIN}])
@pytest.mark.parametrize("add", list(Mark))
def test_what_is_set_is_read(before: set[Mark], add: Mark) -> None:
    patch = marked(before, [add], [])
    text = patch["metadata"]["annotations"][NOTE]
    assert marks_of({"metadata": {"annotations": {NOTE: text or ""}}, "spec": patch["spec"]}) == before | {add}
    assert marked(before, [], list(Mark)) == {
        "metadata": {"annotations": {NOTE: None}},
        "spec": {"unschedulable": None},
    }
