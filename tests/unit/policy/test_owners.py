"""By which names limits know a job."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hpcbatch.model.account_limits import Limits
from hpcbatch.model.accounts import Account, Accounts, Association, Qos, first_accounts
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.record import JobRecord, JobStatus
from hpcbatch.model.site import QueueConfig, SiteConfig
from hpcbatch.model.spec import JobSpec
from hpcbatch.policy.owners import Owners, standing_of
from hpcbatch.policy.plan.snapshot import Owner
from hpcbatch.policy.submission import LIMITS

SITE = SiteConfig(queues=(QueueConfig(name="q", volcano_queue="vq"),))


def accounts() -> Accounts:
    """theory below physics; ann is in both, by default with QOS high in theory."""
    begun = first_accounts()
    limits = Limits({}, {"MaxTRESPerJob": {"cpu": 4, "gres/gpu": 1}})
    return replace(
        begun,
        accounts={
            **begun.accounts,
            "physics": Account(name="physics"),
            "theory": Account(name="theory", parent="physics"),
        },
        associations=(
            *begun.associations,
            Association(number=3, account="physics", limits=limits),
            Association(number=4, account="physics", user="ann"),
            Association(number=5, account="theory", default_qos="high"),
            Association(number=6, account="theory", user="ann"),
        ),
        qos={**begun.qos, "high": Qos(number=2, name="high")},
    )


def job(account: str = "", qos: str = "", cpus: int = 1, resources: tuple[tuple[str, int], ...] = ()) -> JobRecord:
    attributes: dict[str, Any] = {"qos": qos} if qos else {}
    layout = (Chunk(cpus=cpus, resources=resources),)
    spec = JobSpec(
        dialect=Dialect.SLURM, name="j", chunks=layout, server="s", account=account or None, attributes=attributes
    )
    status = JobStatus(owner="ann", layout=layout, groups=((100, "users"), (101, "chem")))
    return JobRecord(job_id=7, namespace="ns", object_name="slurm-7", spec=spec, status=status, queue="q")


@pytest.mark.parametrize(
    ("record", "names", "qos"),
    [
        (job(), (), "normal"),
        (job("physics"), ("physics", "root"), "normal"),
        (job("theory"), ("theory", "physics", "root"), "high"),
        (job("theory", "low"), ("theory", "physics", "root"), "low"),
        (job("gone"), ("gone",), "normal"),
    ],
    ids=["no account", "an account", "below another, with its QOS", "a QOS of its own", "an account that is not there"],
)
def test_names(record: JobRecord, names: tuple[str, ...], qos: str) -> None:
    all_qos, groups, project = (qos, f"first:{qos}", "queue:vq"), ("users", "chem"), "_pbs_project_default"
    expected = Owner(user="ann", groups=groups, accounts=names, queue="q", qos=all_qos, project=project)
    owners = Owners(accounts(), frozenset())
    assert owners.owner_of(record, SITE) == expected
    assert owners.owner_of(record, SITE) == expected, "looked up once"


@pytest.mark.parametrize(
    ("record", "enforced", "reason"),
    [
        (job("theory", cpus=5), LIMITS, "AssocMaxCpuPerJobLimit"),
        (job("theory", resources=(("ngpus", 2),)), LIMITS, "AssocMaxGRESPerJob"),
        (job("theory", cpus=4), LIMITS, ""),
        (job(cpus=5), LIMITS, ""),
        (job("theory", cpus=5), "qos", ""),
    ],
)
def test_a_job_that_never_runs(record: JobRecord, enforced: str, reason: str) -> None:
    assert Owners(accounts(), frozenset({enforced})).never_because(record) == reason


def test_a_job_as_limits_of_submission_see_it() -> None:
    standing = standing_of(job("theory", cpus=2, resources=(("ngpus", 1),)))
    assert (standing.qos, standing.groups, standing.uses) == (
        "",
        ("users", "chem"),
        {"cpu": 2, "mem": 0, "node": 1, "gres/gpu": 1},
    )


@pytest.mark.parametrize(
    ("qos", "first"), [("low", "part"), ("over", "over")], ids=["the partition's first", "its own"]
)
def test_the_order_of_two_qualities_of_service(qos: str, first: str) -> None:
    over = Qos(number=8, name="over", flags=("OverPartQOS",))
    known = replace(accounts(), qos={**accounts().qos, "part": Qos(number=9, name="part"), "over": over})
    owners = Owners(known, frozenset(), {"q": "part"})
    assert owners.owner_of(job("theory", qos), SITE).qos == (qos, "part", f"first:{first}", "queue:vq")
    place = owners.place(owners.standing(job("theory", qos)))
    assert next(one.name for one in place.in_order) == first
