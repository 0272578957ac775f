"""`scontrol update NodeName=…`."""

from __future__ import annotations

import pytest

from hpcbatch.dialects.slurm.errors import SlurmUsageError
from hpcbatch.dialects.slurm.node_update import NodeUpdate, is_of_nodes, read_node_update
from hpcbatch.errors import NotSupportedError
from hpcbatch.model.node_marks import Mark

DRAIN, FAIL = frozenset({Mark.DRAIN}), frozenset({Mark.FAIL})


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            ["NodeName=n[1-2]", "State=DRAIN", "Reason=bad disk"],
            NodeUpdate(names=("n1", "n2"), add=DRAIN, remove=FAIL, reason="bad disk"),
        ),
        (["nodename=n1", "state=drain", "reason=x"], NodeUpdate(names=("n1",), add=DRAIN, remove=FAIL, reason="x")),
        (["nodename=n1", "state=down", "reason=x"], NodeUpdate(names=("n1",), add=frozenset({Mark.DOWN}), reason="x")),
        (["nodename=n1", "state=fail", "reason=x"], NodeUpdate(names=("n1",), add=FAIL, remove=DRAIN, reason="x")),
        (["NodeName=n1", "State=RESUME"], NodeUpdate(names=("n1",), remove=frozenset(Mark), reason="")),
        (["NodeName=n1", "State=idle"], NodeUpdate(names=("n1",), remove=frozenset(Mark), reason="")),
        (["NodeName=ALL", "State=undrain"], NodeUpdate(names=("ALL",), remove=DRAIN, reason="")),
        (
            ["NodeName=n1", "AvailableFeatures=a,b", "Act=a"],
            NodeUpdate(names=("n1",), available=("a", "b"), active=("a",)),
        ),
        (["NodeName=n1", "Features="], NodeUpdate(names=("n1",), available=())),
        (["NodeName=n1", "Reason=y"], NodeUpdate(names=("n1",), reason="y")),
    ],
)
def test_read(words: list[str], expected: NodeUpdate) -> None:
    assert is_of_nodes(words)
    assert read_node_update(words) == expected


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["NodeName=n1", "State=DRAIN"], "You must specify a reason when DOWNING or DRAINING a node. Request denied"),
        (["NodeName=n1", "Features=a/b"], "slurm_update error: Invalid feature specification\n"),
        (["NodeName=n1", "State=x"], "Invalid input: State=x\nRequest aborted\n"),
    ],
)
def test_refused(words: list[str], text: str) -> None:
    with pytest.raises(SlurmUsageError) as caught:
        read_node_update(words)
    assert caught.value.text.startswith(text)


@pytest.mark.parametrize("word", ["State=POWER_DOWN", "Weight=3"])
def test_not_here(word: str) -> None:
    with pytest.raises(NotSupportedError):
        read_node_update(["NodeName=n1", word])


def test_jobs_are_no_nodes() -> None:
    assert not is_of_nodes(["JobId=1", "NodeList=n1"])
