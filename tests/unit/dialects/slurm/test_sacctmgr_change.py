"""sacctmgr add, modify, delete: what is read."""

from __future__ import annotations

import pytest

from hpcbatch.dialects.slurm.errors import SlurmUsageError
from hpcbatch.dialects.slurm.sacctmgr_change import read_change
from hpcbatch.dialects.slurm.sacctmgr_values import format_tres, parse_tres
from hpcbatch.model.account_change import AccountChange, Action, Entity, NameEdit

ADD, MODIFY, DELETE = Action.ADD, Action.MODIFY, Action.DELETE


def change(action: Action, entity: Entity, **fields: object) -> AccountChange:
    return AccountChange(action=action, entity=entity, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("action", "entity", "words", "expected"),
    [
        (
            ADD,
            Entity.ACCOUNT,
            "Phys,chem parent=science desc=x org=y",
            {
                "names": ("phys", "chem"),
                "settings": {"parent": "science", "description": "x", "organization": "y"},
            },
        ),
        (
            ADD,
            Entity.USER,
            "name=Bob acct=phys part=big defaultaccount=phys",
            {"names": ("Bob",), "accounts": ("phys",), "partitions": ("big",), "settings": {"defaultAccount": "phys"}},
        ),
        (
            MODIFY,
            Entity.ACCOUNT,
            "phys where user=bob set GrpCpus=3 MaxJobs=2 MaxCPUs=-1 Priority=-1",
            {
                "names": ("phys",),
                "users": ("bob",),
                "settings": {
                    "GrpTRES": {"cpu": 3},
                    "MaxJobs": 2,
                    "MaxTRESPerJob": {"cpu": None},
                    "Priority": None,
                },
            },
        ),
        (
            MODIFY,
            Entity.USER,
            "set maxwall=1:30:00 qos-=high fairshare=parent where name=bob",
            {
                "names": ("bob",),
                "settings": {"MaxWallDurationPerJob": 90, "qos": NameEdit("-", ("high",)), "shares": -1},
            },
        ),
        (
            ADD,
            Entity.QOS,
            "high flags=DenyOnLimit,OverPartQOS MaxTRESPU=cpu=4,gres/gpu=1 preemptmode=requeue gracetime=60",
            {
                "names": ("high",),
                "settings": {
                    "flags": NameEdit("=", ("DenyOnLimit", "OverPartQOS")),
                    "MaxTRESPerUser": {"cpu": 4, "gres/gpu": 1},
                    "preemptMode": "REQUEUE",
                    "graceSeconds": 60,
                },
            },
        ),
        (DELETE, Entity.USER, "bob where account=phys", {"names": ("bob",), "accounts": ("phys",)}),
    ],
)
def test_read(action: Action, entity: Entity, words: str, expected: dict[str, object]) -> None:
    assert read_change(action, entity, words.split()).change == change(action, entity, **expected)


@pytest.mark.parametrize(
    ("action", "entity", "words", "text"),
    [
        (ADD, Entity.ACCOUNT, "x nosuch=1", " Unknown option: nosuch=1"),
        (MODIFY, Entity.USER, "where nosuch=1 set maxjobs=1", " Unknown condition: nosuch=1\n Use keyword 'set' to"),
        (MODIFY, Entity.USER, "bob set maxjobs=x", "sacctmgr: error: Invalid value for MaxJobs (x)"),
        (MODIFY, Entity.USER, "bob set maxwall=x", " Bad MaxWall time format: maxwall=x"),
        (ADD, Entity.QOS, "x flags=nosuch", " Unknown QOS flag used in:\n  'nosuch'\n"),
        (ADD, Entity.QOS, "x preemptmode=nosuch", " Bad Preempt Mode given: preemptmode=nosuch"),
        (
            ADD,
            Entity.QOS,
            "x grptres=nosuch=1",
            "sacctmgr: error: slurmdb_format_tres_str: no TRES known by type nosuch",
        ),
        (MODIFY, Entity.USER, "bob set adminlevel=admin", "sacctmgr: error: adminlevel=admin: not supported here: who"),
    ],
)
def test_refused(action: Action, entity: Entity, words: str, text: str) -> None:
    with pytest.raises(SlurmUsageError) as error:
        read_change(action, entity, words.split())
    assert error.value.text.startswith(text)


@pytest.mark.parametrize(
    ("entity", "word", "undone"),
    [
        (Entity.USER, "MaxJobsAccrue=3", "MaxJobsAccrue=-1"),
        (Entity.USER, "GrpJobsAccrue=3", "GrpJobsAccrue=-1"),
        (Entity.ACCOUNT, "MaxTRESRunMins=cpu=9", "MaxTRESRunMins=cpu=-1"),
        (Entity.QOS, "MaxJobsAccruePU=3", "MaxJobsAccruePU=-1"),
        (Entity.QOS, "MaxJobsAccruePA=3", "MaxJobsAccruePA=-1"),
        (Entity.QOS, "MinPrioThres=3", "MinPrioThres=-1"),
        (Entity.QOS, "MaxTRESRunMinsPU=cpu=9", "MaxTRESRunMinsPU=cpu=-1"),
        (Entity.QOS, "UsageThreshold=0.5", "UsageThreshold=-1"),
        (Entity.QOS, "LimitFactor=2", "LimitFactor=-1"),
        (Entity.QOS, "flags+=NoReserve", "flags-=NoReserve"),
    ],
)
def test_what_would_have_no_effect_is_refused_but_may_be_taken_away(entity: Entity, word: str, undone: str) -> None:
    with pytest.raises(SlurmUsageError) as error:
        read_change(MODIFY, entity, ["x", "set", word])
    assert error.value.text.startswith(f"sacctmgr: error: {word}: not supported here: ")
    assert read_change(MODIFY, entity, ["x", "set", undone]).change.settings


def test_amounts() -> None:
    assert parse_tres("cpu=4,mem=8G,node=-1") == {"cpu": 4, "mem": 8192, "node": None}
    assert format_tres({"gres/gpu": 2, "node": 2, "mem": 8192, "cpu": 4}) == "cpu=4,mem=8G,node=2,gres/gpu=2"
    assert format_tres({"mem": 1500}) == "mem=1500M"
