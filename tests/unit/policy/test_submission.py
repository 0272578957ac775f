"""Limits of submission: which are over, and in which words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hpcbatch.errors import RefusedError
from hpcbatch.model.account_limits import Limits
from hpcbatch.model.accounts import Account, Accounts, Association, Qos, ServerLimit, first_accounts
from hpcbatch.policy.account_limits import Standing
from hpcbatch.policy.submission import check_submission, has_limits, settle

ALL = frozenset({"associations", "limits", "qos"})
BOB = Standing(
    user="bob", groups=("wheel",), account="theory", jobs=1, waiting=1, uses={"cpu": 4, "node": 2, "mem": 1024}
)


def site(
    bob: Limits | None = None, phys: Limits | None = None, high: Limits | None = None, flags: tuple[str, ...] = ()
) -> Accounts:
    """root > phys > theory, with bob in it; QOS high."""
    begun = first_accounts()
    return replace(
        begun,
        accounts={**begun.accounts, "phys": Account(name="phys"), "theory": Account(name="theory", parent="phys")},
        associations=(
            *begun.associations,
            Association(number=3, account="phys", limits=phys or Limits()),
            Association(number=4, account="theory"),
            Association(number=5, account="theory", user="bob", limits=bob or Limits(), qos=("normal", "high")),
        ),
        qos={**begun.qos, "high": Qos(number=2, name="high", limits=high or Limits(), flags=flags)},
        default_accounts={"root": "root", "bob": "theory"},
    )


def refused(accounts: Accounts, job: Standing, *others: Standing, enforced: frozenset[str] = ALL) -> str:
    try:
        check_submission(accounts, enforced, job, others)
    except RefusedError as error:
        return str(error)
    return ""


def test_the_default_account_and_quality_of_service() -> None:
    accounts = site()
    assert settle(accounts, ALL, user="bob", account="", qos="", queue="q") == ("theory", "")
    assert settle(accounts, ALL, user="bob", account="theory", qos="high", queue="q") == ("theory", "high")
    assert settle(accounts, frozenset(), user="ann", account="x", qos="y", queue="q") == ("x", "y")
    assert settle(first_accounts(), frozenset(), user="root", account="", qos="", queue="q") == ("", "")
    for account, qos in (("phys", ""), ("nosuch", ""), ("theory", "nosuch")):
        with pytest.raises(RefusedError):
            settle(accounts, ALL, user="bob", account=account, qos=qos, queue="q")


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        ({"bob": Limits({"MaxSubmitJobs": 2})}, "AssocMaxSubmitJobLimit"),
        ({"bob": Limits({"MaxSubmitJobs": 3})}, ""),
        ({"phys": Limits({"MaxSubmitJobs": 2})}, "AssocMaxSubmitJobLimit"),
        ({"phys": Limits({"GrpSubmitJobs": 3})}, "AssocGrpSubmitJobsLimit"),
        ({"phys": Limits({"GrpSubmitJobs": 4})}, ""),
        ({"bob": Limits({}, {"MaxTRESPerJob": {"cpu": 2}})}, ""),
    ],
)
def test_jobs_of_associations(limits: dict[str, Limits], reason: str) -> None:
    """Two of bob, and one of ann in phys."""
    others = (replace(BOB, jobs=2), replace(BOB, user="ann", account="phys"))
    accounts = site(limits.get("bob"), limits.get("phys"))
    assert refused(accounts, BOB, *others) == reason
    assert refused(accounts, BOB, *others, enforced=frozenset({"associations"})) == ""


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (Limits({"MaxSubmitJobsPerUser": 1}), "QOSMaxSubmitJobPerUserLimit"),
        (Limits({"MaxSubmitJobsPerAccount": 1}), "MaxSubmitJobsPerAccount"),
        (Limits({"GrpSubmitJobs": 1}), "QOSGrpSubmitJobsLimit"),
        (Limits({}, {"MaxTRESPerJob": {"cpu": 3}}), "QOSMaxCpuPerJobLimit"),
        (Limits({}, {"MaxTRESPerJob": {"node": 1}}), "QOSMaxNodePerJobLimit"),
        (Limits({}, {"MaxTRESPerUser": {"mem": 1000}}), "QOSMaxMemoryPerUser"),
        (Limits({}, {"MaxTRESPerAccount": {"cpu": 3}}), "MaxCpuPerAccount"),
        (Limits({}, {"MaxTRESPerNode": {"cpu": 1}}), "QOSMaxCpuPerNode"),
        (Limits({}, {"GrpTRES": {"cpu": 3}}), "QOSGrpCpuLimit"),
        (Limits({}, {"MinTRESPerJob": {"cpu": 5}}), "QOSMinCpuNotSatisfied"),
        (Limits({}, {"MaxTRESMinsPerJob": {"cpu": 39}}), "QOSMaxCpuMinutesPerJobLimit"),
        (Limits({"MaxWallDurationPerJob": 9}), "QOSMaxWallDurationPerJobLimit"),
        (Limits({"MaxWallDurationPerJob": 10}, {"MaxTRESMinsPerJob": {"cpu": 40}}), ""),
    ],
)
def test_a_quality_of_service_that_denies(limits: Limits, reason: str) -> None:
    job = replace(BOB, qos="high", walltime_s=600)
    assert refused(site(high=limits, flags=("DenyOnLimit",)), job, replace(job, jobs=1)) == reason
    if not limits.counts.keys() & {"MaxSubmitJobsPerUser", "MaxSubmitJobsPerAccount", "GrpSubmitJobs"}:
        assert refused(site(high=limits), job) == "", "without the flag the job waits"


def test_the_quality_of_service_goes_before_the_association() -> None:
    accounts = site(
        bob=Limits({"MaxSubmitJobs": 1}, {"MaxTRESPerJob": {"cpu": 2, "node": 1}}),
        high=Limits({"MaxSubmitJobsPerUser": 5}, {"MaxTRESPerJob": {"cpu": 8}}),
        flags=("DenyOnLimit",),
    )
    assert refused(accounts, replace(BOB, qos="high"), replace(BOB, qos="high")) == "AssocMaxNodePerJobLimit"


def limit(word: str, kind: str, name: str, amount: int, resource: str = "", queue: str = "") -> ServerLimit:
    return ServerLimit(word=word, kind=kind, name=name, amount=amount, resource=resource, queue=queue)


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        ([limit("max_queued", "u", "PBS_GENERIC", 1)], "would exceed complex's per-user limit"),
        ([limit("max_queued", "u", "bob", 1)], "Maximum number of jobs for user bob already in complex"),
        ([limit("max_queued", "o", "PBS_ALL", 1)], "Maximum number of jobs already in complex"),
        ([limit("max_queued", "g", "PBS_GENERIC", 1, queue="q")], "would exceed queue q's per-group limit"),
        ([limit("max_queued", "u", "PBS_GENERIC", 1, queue="q")], "would exceed queue generic's per-user limit"),
        ([limit("max_queued", "p", "p1", 1, queue="q")], ""),
        ([limit("max_queued", "u", "PBS_GENERIC", 1, queue="other")], ""),
        ([limit("max_queued", "u", "PBS_GENERIC", 1), limit("max_queued", "u", "bob", 9)], ""),
        (
            [limit("queued_jobs_threshold", "u", "PBS_GENERIC", 0)],
            "would exceed complex's per-user limit of jobs in 'Q' state",
        ),
        (
            [limit("max_queued_res", "u", "PBS_GENERIC", 7, "ncpus")],
            "would exceed per-user limit on resource ncpus in complex",
        ),
        (
            [limit("max_queued_res", "u", "bob", 2**31 - 1, "mem", "q")],
            "would exceed user bob's limit on resource mem in queue q",
        ),
        (
            [limit("queued_jobs_threshold_res", "o", "PBS_ALL", 3, "ncpus")],
            "would exceed limit on resource ncpus in complex for jobs in 'Q' state",
        ),
        ([limit("max_run", "u", "PBS_GENERIC", 0)], ""),
    ],
)
def test_limits_of_pbs(limits: list[ServerLimit], text: str) -> None:
    """One running job of bob's, and the new one."""
    accounts = replace(first_accounts(), server_limits=tuple(limits))
    job = replace(BOB, queue="q")
    assert refused(accounts, job, replace(job, waiting=0), enforced=frozenset()) == text
    assert has_limits(accounts, frozenset()) is (limits[0].word != "max_run")
