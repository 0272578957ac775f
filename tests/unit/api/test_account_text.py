"""The accounts in their ConfigMap."""

from __future__ import annotations

import pytest

from hpcbatch.api.account_text import accounts_from_json, accounts_to_json
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.account_limits import Limits
from hpcbatch.model.accounts import PARENT_SHARES, Account, Accounts, Association, Qos, ServerLimit, first_accounts


def full() -> Accounts:
    qos = Qos(
        number=2,
        name="high",
        limits=Limits({"Priority": 10}, {"MaxTRESPerUser": {"cpu": 4}}),
        flags=("DenyOnLimit",),
        preempt=("normal",),
        preempt_mode="REQUEUE",
        grace_s=60,
        preempt_exempt_s=120,
        usage_factor=2.5,
        usage_threshold=0.5,
        limit_factor=1.5,
    )
    begun = first_accounts()
    return Accounts(
        accounts={**begun.accounts, "phys": Account(name="phys", description="ä", coordinators=("bob",))},
        associations=(
            *begun.associations,
            Association(number=3, account="phys", shares=PARENT_SHARES, qos=(), default_qos="high"),
            Association(number=4, account="phys", user="bob", partition="big", limits=Limits({"MaxJobs": 0})),
        ),
        qos={**begun.qos, "high": qos},
        default_accounts={"root": "root", "bob": "phys"},
        server_limits=(ServerLimit(word="max_run_res", resource="ncpus", queue="q", kind="u", name="bob", amount=0),),
        next_number=5,
    )


@pytest.mark.parametrize("accounts", [first_accounts(), full()], ids=["bare", "full"])
def test_what_is_written_is_read(accounts: Accounts) -> None:
    assert accounts_from_json(accounts_to_json(accounts)) == accounts


def test_no_text_is_the_beginning() -> None:
    assert accounts_from_json("\n") == first_accounts()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "accounts: Expecting"),
        ("[]", "accounts: list indices"),
        ("{}", "accounts: 'accounts' is missing"),
        (accounts_to_json(first_accounts()).replace('"user": "root"', '"limits": {"Nosuch": 1}'), "no limit Nosuch"),
        (
            accounts_to_json(first_accounts()).replace('"user": "root"', '"limits": {"MaxJobs": -1}'),
            "less than nothing",
        ),
        (accounts_to_json(full()).replace('"parent": "root"', '"parent": "nosuch"'), "there is no account nosuch"),
    ],
)
def test_what_is_wrong_is_said(text: str, why: str) -> None:
    with pytest.raises(HpcBatchError) as error:
        accounts_from_json(text)
    assert why in str(error.value)
