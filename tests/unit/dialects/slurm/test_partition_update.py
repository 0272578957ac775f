"""scontrol update of a partition."""

from __future__ import annotations

import pytest

from hpcbatch.dialects.slurm.errors import SlurmUsageError
from hpcbatch.dialects.slurm.partition_update import check_others, is_of_partitions, read_partition_update
from hpcbatch.model.row import QueueRow

OPEN = QueueRow(name="q", is_default=True, is_open=True)
LIMITED = OPEN._replace(max_walltime_s=3600, default_walltime_s=60)


@pytest.mark.parametrize(
    ("state", "enabled", "started"),
    [("UP", True, True), ("down", True, False), ("Drain", False, True), ("INACTIVE", False, False)],
)
def test_states(state: str, enabled: bool, started: bool) -> None:
    update = read_partition_update(["PartitionName=q", f"State={state}"])
    assert (update.name, update.enabled, update.started, update.others) == ("q", enabled, started, ())


def test_what_is_no_state() -> None:
    with pytest.raises(SlurmUsageError) as error:
        read_partition_update(["part=q", "State=OFF"])
    assert error.value.text == "Invalid input: State=OFF\nAcceptable State values are UP, DOWN, DRAIN and INACTIVE"


def test_which_updates_are_meant() -> None:
    assert is_of_partitions(["State=UP", "partition=q"])
    assert not is_of_partitions(["JobId=1", "Priority=2"])
    assert not is_of_partitions(["Partition=q", "job=1"])


@pytest.mark.parametrize(
    ("queue", "word", "is_so"),
    [
        (OPEN, "MaxTime=-1", True),
        (OPEN, "MaxTime=UNLIMITED", True),
        (OPEN, "DefaultTime=-1", True),
        (OPEN, "MaxTime=30", False),
        (OPEN, "Hidden=no", True),
        (OPEN, "Nonsense=1", False),
        (LIMITED, "MaxTime=01:00:00", True),
        (LIMITED, "MaxTime=-1", False),
        (LIMITED, "DefaultTime=-1", False),
    ],
)
def test_what_the_file_says(queue: QueueRow, word: str, is_so: bool) -> None:
    update = read_partition_update(["PartitionName=q", word])
    if is_so:
        check_others(update, queue, [])
        return
    with pytest.raises(SlurmUsageError) as error:
        check_others(update, queue, [])
    assert error.value.text.startswith("slurm_update error: Requested operation not supported on this system\n")
