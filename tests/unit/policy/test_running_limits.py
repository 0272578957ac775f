"""The limits that the planner gets."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hpcbatch.model.account_limits import Limits
from hpcbatch.model.accounts import Association, Qos, ServerLimit, first_accounts
from hpcbatch.policy.plan.snapshot import JOBS, NODES, Limit, Scope
from hpcbatch.policy.running_limits import running_limits

LIMITS = frozenset({"associations", "limits"})


def test_of_accounts_and_their_users() -> None:
    begun = first_accounts()
    root = Association(
        number=1, account="root", limits=Limits({"GrpJobs": 9, "MaxJobs": 2}, {"GrpTRES": {"cpu": 8, "mem": 2}})
    )
    accounts = replace(begun, associations=(root, begun.associations[1]))
    of = {Scope.ACCOUNT: "root"}
    assert running_limits(accounts, LIMITS) == (
        Limit(code="AssocGrpJobsLimit", what=JOBS, amount=9, of=of),
        Limit(code="AssocGrpCpuLimit", what="cpu", amount=8000, of=of),
        Limit(code="AssocGrpMemLimit", what="memory", amount=2 * 2**20, of=of),
        Limit(code="AssocMaxJobsLimit", what=JOBS, amount=2, of={**of, Scope.USER: "root"}),
    )
    assert running_limits(accounts, frozenset()) == ()


def test_of_a_quality_of_service() -> None:
    limits = Limits({"MaxJobsPerUser": 2, "GrpJobs": 5}, {"MaxTRESPerUser": {"node": 2, "gres/gpu": 1}})
    qos = {**first_accounts().qos, "high": Qos(number=2, name="high", limits=limits)}
    of, per = {Scope.QOS: "high"}, (Scope.USER,)
    assert running_limits(replace(first_accounts(), qos=qos), LIMITS, {"gpu": "nvidia.com/gpu"}) == (
        Limit(code="QOSGrpJobsLimit", what=JOBS, amount=5, of=of),
        Limit(code="QOSMaxJobsPerUserLimit", what=JOBS, amount=2, of=of, per=per),
        Limit(code="QOSMaxNodePerUserLimit", what=NODES, amount=2, of=of, per=per),
        Limit(code="QOSMaxGRESPerUser", what="nvidia.com/gpu", amount=1, of=of, per=per),
    )


def test_of_what_is_used_in_time() -> None:
    of, times = {Scope.ACCOUNT: "root"}, {"GrpTRESMins": {"cpu": 2, "mem": 3}, "GrpTRESRunMins": {"node": 1}}
    root = Association(number=1, account="root", limits=Limits({"GrpWall": 5}, times))
    qos = {**first_accounts().qos, "high": Qos(number=2, name="high", limits=Limits({}, times))}
    accounts = replace(first_accounts(), associations=(root, first_accounts().associations[1]), qos=qos)
    found = running_limits(accounts, LIMITS)
    assert [(one.code, one.what, one.amount, one.spent) for one in found] == [
        ("QOSGrpCPUMinutesLimit", "cpu", 120_000, "qos high cpu"),
        ("QOSGrpMemoryMinutes", "memory", 180 * 2**20, "qos high memory"),
        ("QOSGrpNodeRunMinutes", NODES, 60, ""),
        ("AssocGrpCPUMinutesLimit", "cpu", 120_000, "association 1 cpu"),
        ("AssocGrpMemMinutes", "memory", 180 * 2**20, "association 1 memory"),
        ("AssocGrpNodeRunMinutes", NODES, 60, ""),
        ("AssocGrpWallLimit", JOBS, 300, "association 1 jobs"),
    ]
    assert all(one.is_time and one.of in (of, {Scope.QOS: "high"}) for one in found)
    assert [bool(one.spares) for one in found] == [False] * 3 + [True] * 3 + [False]


def test_which_of_two_limits_counts() -> None:
    """A quality of service's goes before an association's, and the first one's before the other's."""
    begun = first_accounts()
    limits = Limits({"GrpJobs": 9, "MaxJobs": 2}, {"GrpTRES": {"cpu": 8, "node": 1}})
    one, two = Limits({"MaxJobsPerUser": 1}, {"GrpTRES": {"cpu": 4}}), Limits({"GrpJobs": 3, "MaxJobsPerUser": 4})
    root = Association(number=1, account="root", limits=limits)
    qos = {**begun.qos, "a": Qos(number=2, name="a", limits=one), "b": Qos(number=3, name="b", limits=two)}
    found = running_limits(replace(begun, associations=(root, begun.associations[1]), qos=qos), LIMITS)
    spared = {one.code: sorted(one.spares.get(Scope.QOS, ())) for one in found if one.of.get(Scope.QOS) != "b"}
    assert spared == {
        "QOSMaxJobsPerUserLimit": ["first:b"],
        "QOSGrpCpuLimit": [],
        "AssocGrpJobsLimit": ["b"],
        "AssocGrpCpuLimit": ["a"],
        "AssocGrpNodeLimit": [],
        "AssocMaxJobsLimit": ["a", "b"],
    }


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        (
            [("max_run", "", "q", "u", "PBS_GENERIC", 5), ("max_run", "", "q", "u", "ann", 9)],
            [
                Limit(
                    code="User has reached queue q running job limit.",
                    what=JOBS,
                    amount=5,
                    of={Scope.QUEUE: "q"},
                    per=(Scope.USER,),
                    apart_from={Scope.USER: frozenset({"ann"})},
                ),
                Limit(
                    code="User has reached queue q running job limit.",
                    what=JOBS,
                    amount=9,
                    of={Scope.QUEUE: "q", Scope.USER: "ann"},
                ),
            ],
        ),
        (
            [("max_run_res", "ncpus", "", "g", "PBS_GENERIC", 4)],
            [
                Limit(
                    code="Group has reached server limit on resource ncpus",
                    what="cpu",
                    amount=4000,
                    per=(Scope.GROUP,),
                )
            ],
        ),
        (
            [("max_run_res_soft", "ncpus", "", "p", "a", 4)],
            [
                Limit(
                    code="Project has reached server limit on resource ncpus",
                    what="cpu",
                    amount=4000,
                    of={Scope.PROJECT: "a"},
                    is_soft=True,
                    spares={Scope.QUEUE: frozenset({"express"})},
                )
            ],
        ),
        (
            [("max_run", "", "", "o", "PBS_ALL", 3)],
            [Limit(code="Server job limit has been reached.", what=JOBS, amount=3)],
        ),
    ],
)
def test_of_pbs(limits: list[tuple[str, str, str, str, str, int]], expected: list[Limit]) -> None:
    given = tuple(
        ServerLimit(word=word, resource=resource, queue=queue, kind=kind, name=name, amount=amount)
        for word, resource, queue, kind, name, amount in limits
    )
    accounts = replace(first_accounts(), server_limits=given)
    assert running_limits(accounts, frozenset(), express=frozenset({"express"})) == tuple(expected)
