"""Preemption as Slurm 22.05 shows it."""

from __future__ import annotations

import pytest

from hpcbatch.dialects.slurm.preemption import config_values, preempt_mode
from hpcbatch.model.preemption import PreemptBy, PreemptionConfig, PreemptMode
from hpcbatch.model.row import QueueRow


@pytest.mark.parametrize(
    ("own", "of_site", "shown"),
    [
        ("", "", "OFF"),
        ("", "requeue", "REQUEUE"),
        ("", "suspend", "GANG,SUSPEND"),
        ("cancel", "requeue", "CANCEL"),
        ("suspend", "", "SUSPEND"),
        ("off", "requeue", "OFF"),
    ],
)
def test_the_mode_of_a_partition(own: str, of_site: str, shown: str) -> None:
    row = QueueRow(name="q", is_default=True, is_open=True, preempt_mode=own, site_preempt_mode=of_site)
    assert preempt_mode(row) == shown


@pytest.mark.parametrize(
    ("config", "shown"),
    [
        (PreemptionConfig(), ("OFF", "preempt/none", "00:00:00")),
        (PreemptionConfig(by=PreemptBy.QOS, mode=PreemptMode.REQUEUE), ("REQUEUE", "preempt/qos", "00:00:00")),
        (
            PreemptionConfig(by=PreemptBy.PARTITION_PRIO, mode=PreemptMode.SUSPEND, exempt_s=600),
            ("GANG,SUSPEND", "preempt/partition_prio", "00:10:00"),
        ),
    ],
)
def test_show_config(config: PreemptionConfig, shown: tuple[str, str, str]) -> None:
    assert tuple(config_values(config).values()) == shown
