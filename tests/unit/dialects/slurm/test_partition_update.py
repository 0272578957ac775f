"""scontrol create, update and delete of a partition."""

from __future__ import annotations

from typing import Any

import pytest

from hpcbatch.dialects.slurm.errors import SlurmUsageError
from hpcbatch.dialects.slurm.partition_update import is_of_partitions, read_partition_delete, read_partition_update


@pytest.mark.parametrize(
    ("state", "enabled", "started"),
    [("UP", True, True), ("down", True, False), ("Drain", False, True), ("INACTIVE", False, False)],
)
def test_states(state: str, enabled: bool, started: bool) -> None:
    update = read_partition_update(["PartitionName=q", f"State={state}"])
    assert (update.name, update.enabled, update.started, update.change) == ("q", enabled, started, {})


@pytest.mark.parametrize(
    ("words", "change"),
    [
        (["MaxTime=30", "DefaultTime=1:00:00"], {"maxWalltimeSeconds": 1800, "defaultWalltimeSeconds": 3600}),
        (["MaxTime=UNLIMITED", "DefaultTime=NONE"], {"maxWalltimeSeconds": None, "defaultWalltimeSeconds": None}),
        (["MaxNodes=4", "MinNodes=2"], {"maxNodes": 4, "minNodes": 2}),
        (["MaxNodes=infinite", "MinNodes=0"], {"maxNodes": None, "minNodes": None}),
        (["Default=YES", "Hidden=y", "RootOnly=no"], {"default": True, "hidden": True, "rootOnly": False}),
        (["AllowAccounts=a,b", "AllowGroups=ALL"], {"allowAccounts": ["a", "b"], "allowGroups": None}),
        (["DenyAccounts=c"], {"denyAccounts": ["c"]}),
        (["Priority=7"], {"priorityTier": 7, "priorityJobFactor": 7}),
        (["PriorityTier=2", "PriorityJobFactor=3"], {"priorityTier": 2, "priorityJobFactor": 3}),
        (["DefMemPerNode=1024", "MaxMemPerNode=UNLIMITED"], None),
        (["OverSubscribe=NO", "LLN=no"], {}),
        (["PreemptMode=Cancel", "GraceTime=60"], {"preemptMode": "cancel", "graceSeconds": 60}),
        (["PreemptMode=requeue,gang", "GraceTime=90"], {"preemptMode": "requeue", "graceSeconds": 90}),
        (["PreemptMode=gang"], {"preemptMode": "off"}),
        (["PreemptMode=suspend", "GraceTime=0"], {"preemptMode": "suspend", "graceSeconds": 0}),
        (["Nodes=ALL"], {"nodes": None}),
    ],
)
def test_changes(words: list[str], change: dict[str, Any] | None) -> None:
    memory = {"defaultMemoryPerNodeBytes": 1 << 30, "maxMemoryPerNodeBytes": None}
    assert read_partition_update(["part=q", *words]).change == (memory if change is None else change)


def test_nodes() -> None:
    update = read_partition_update(["PartitionName=q", "Nodes=n[1-2],n7"])
    assert (update.nodes, update.change) == (("n1", "n2", "n7"), {"nodes": []})


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("State=OFF", "Invalid input: State=OFF\nAcceptable State values are UP, DOWN, DRAIN and INACTIVE"),
        ("MaxTime=x", "scontrol: error: Invalid input MaxTime=x"),
        (
            "Hidden=x",
            "scontrol: error: Invalid input: Hidden=x\nscontrol: error: Acceptable Hidden values are YES and NO",
        ),
        ("PreemptMode=x", "scontrol: error: Invalid input: PreemptMode=x\nslurm_update error: No error"),
        (
            "PreemptMode=cancel,requeue",
            "scontrol: error: Invalid input: PreemptMode=cancel,requeue\nslurm_update error: No error",
        ),
        ("GraceTime=1:30", "scontrol: error: Invalid GraceTime value: 1:30\nslurm_update error: No error"),
        ("GraceTime=-1", "scontrol: error: Invalid GraceTime value: -1\nslurm_update error: No error"),
        ("PriorityTier=x", "scontrol: error: Invalid PriorityTier value: x"),
        ("Nonsense=1", "Update of this parameter is not supported: Nonsense=1\nRequest aborted"),
        (
            "LLN=YES",
            "slurm_update error: Requested operation not supported on this system\n"
            "scontrol: hpcbatch: LLN of a partition is always NO here",
        ),
    ],
)
def test_refused(word: str, text: str) -> None:
    with pytest.raises(SlurmUsageError) as error:
        read_partition_update(["part=q", word])
    assert error.value.text == text


def test_which_updates_are_meant() -> None:
    assert is_of_partitions(["State=UP", "partition=q"])
    assert not is_of_partitions(["JobId=1", "Priority=2"])
    assert not is_of_partitions(["Partition=q", "job=1"])


@pytest.mark.parametrize("words", [["PartitionName=q"], ["partition", "q"]])
def test_delete(words: list[str]) -> None:
    assert read_partition_delete(words) == "q"
