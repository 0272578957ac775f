"""What jobs have used, as limits of it count."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hpcbatch.model.account_limits import Limits
from hpcbatch.model.accounts import Account, Accounts, Association, Qos, first_accounts
from hpcbatch.policy.fairshare import Run
from hpcbatch.policy.plan.snapshot import JOBS, NODES
from hpcbatch.policy.spent import of_association, of_qos, spent_by

HOUR = 3600


def accounts() -> Accounts:
    begun = first_accounts()
    return replace(
        begun,
        accounts={**begun.accounts, "physics": Account(name="physics")},
        associations=(
            *begun.associations,
            Association(number=5, account="physics"),
            Association(number=6, account="physics", user="ann", limits=Limits()),
        ),
        qos={**begun.qos, "half": Qos(number=3, name="half", usage_factor=0.5), "part": Qos(number=4, name="part")},
    )


def run(qos: str = "", end_s: float = HOUR) -> Run:
    return Run("ann", "physics", qos, "q", 4, 0.0, end_s, 2, 1 << 30)


def test_of_the_association_and_all_above() -> None:
    spent = spent_by(accounts(), [run()], HOUR, 0.0, partition_qos={}, resources={})
    for number in (6, 5, 1):
        assert spent[of_association(number, "cpu")] == 4000 * HOUR
        assert spent[of_association(number, NODES)] == 2 * HOUR
        assert spent[of_association(number, "memory")] == HOUR << 30
        assert spent[of_association(number, JOBS)] == HOUR
    assert spent[of_qos("normal", "cpu")] == 4000 * HOUR


def test_of_qualities_of_service() -> None:
    spent = spent_by(accounts(), [run("half")], HOUR, 0.0, partition_qos={"q": "part"}, resources={})
    assert spent[of_qos("half", "cpu")] == spent[of_qos("part", "cpu")] == 2000 * HOUR
    assert of_qos("normal", "cpu") not in spent


def test_it_decays() -> None:
    spent = spent_by(accounts(), [run()], HOUR + 7 * 86400, 7 * 86400.0, partition_qos={}, resources={})
    assert spent[of_association(5, "cpu")] == pytest.approx(2000 * HOUR, rel=0.01)


def test_further_resources() -> None:
    """By the names that the planner has for them."""
    one = run()._replace(resources="fpga=1,gpu=2,ngpus=1,=3,bad")
    known = {"gpu": "nvidia.com/gpu", "ngpus": "nvidia.com/gpu"}
    spent = spent_by(accounts(), [one], HOUR, 0.0, partition_qos={}, resources=known)
    found = {what: spent[of_association(1, what)] for what in ("nvidia.com/gpu", "fpga")}
    assert found == {"nvidia.com/gpu": 3 * HOUR, "fpga": HOUR}
    assert of_association(1, "bad") not in spent
