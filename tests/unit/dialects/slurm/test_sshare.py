"""sshare, sprio, strigger: all that was recorded of a cluster with priority/basic."""

from __future__ import annotations

from typing import NoReturn

import pytest

from hpcbatch.dialects.slurm import strigger
from hpcbatch.dialects.slurm.clusters import check_clusters, heading
from hpcbatch.dialects.slurm.errors import SlurmAnswer, SlurmUsageError
from hpcbatch.dialects.slurm.sprio import (
    Ranking,
    SprioOptions,
    UnknownOptionError,
    UnknownUsersError,
    format_rankings,
    no_factors,
)
from hpcbatch.dialects.slurm.sprio import read_options as read_sprio
from hpcbatch.dialects.slurm.sshare import Fairness, format_shares, read_options
from hpcbatch.model.priority import Factors, PriorityConfig
from hpcbatch.model.share import Share
from tests.unit.dialects.slurm.test_sacctmgr import SITE
from tests.unit.dialects.slurm.transcripts import Case, cases, check


def shares(argv: tuple[str, ...]) -> str:
    options = read_options(argv, "tester")
    head = ""
    if options.clusters is not None:
        check_clusters(options.clusters, "real", "sshare")
        head = heading("real")
    return head + "".join(format_shares(SITE.directory, options, "real"))


@pytest.mark.parametrize("case", cases("sshare.txt"))
def test_sshare(case: Case) -> None:
    check(case, shares)


def priorities(argv: tuple[str, ...]) -> NoReturn:
    unknown = ""
    try:
        read_sprio(argv, lambda name: None if name == "nosuch" else 1002)
    except UnknownUsersError as error:
        unknown = error.text
    raise no_factors(unknown)


@pytest.mark.parametrize("case", cases("sprio.txt"))
def test_sprio(case: Case) -> None:
    if case.stdout.startswith("Usage") and case.code:
        with pytest.raises(UnknownOptionError):  # with which the usage is printed
            read_sprio(case.argv, lambda _: None)
        case = case._replace(stdout="")
    check(case, priorities)


def triggers(argv: tuple[str, ...]) -> str:
    strigger.answer(argv)
    return ""


@pytest.mark.parametrize("case", cases("strigger.txt"))
def test_strigger(case: Case) -> None:
    check(case, triggers)


def test_help() -> None:
    for call in (shares, priorities, triggers):
        with pytest.raises(SlurmAnswer):
            call(("--help",))


def test_clusters() -> None:
    assert check_clusters("real", "real", "squeue") == check_clusters("all", "real", "squeue") == ""
    assert check_clusters("real,x", "real", "squeue") == "squeue: error: No cluster 'x' known by database."
    with pytest.raises(SlurmUsageError) as error:
        check_clusters("", "real", "squeue")
    assert error.value.text.startswith("squeue: error: No cluster '' known by database.\nsqueue: error: '' can't be")


WEIGHTS = PriorityConfig(is_multifactor=True, weight_age=1000, weight_qos=20, weight_tres={"cpu": 4.0})
JOBS = (
    Ranking(
        7,
        "alice",
        "phys",
        "debug",
        Factors(age=0.25, qos=0.5, tres={"cpu": 0.25}, nice=3),
        Factors(age=250, qos=10, tres={"cpu": 1}, nice=3),
        258,
    ),
    Ranking(12, "bob", "chem", "long", Factors(), Factors(), 1),
)
"""alice's: 250 + 10 + 1 - 3."""


@pytest.mark.parametrize(
    ("argv", "lines"),
    [
        (
            (),
            [
                "          JOBID PARTITION   PRIORITY       SITE        AGE        QOS                 TRES",
                "              7 debug            258          0        250         10                cpu=1",
                "             12 long               1          0          0          0                     ",
            ],
        ),
        (
            ("-w",),
            [
                "          JOBID PARTITION   PRIORITY       SITE        AGE        QOS                 TRES",
                "        Weights                               1       1000         20             cpu=4.00",
            ],
        ),
        (
            ("-l", "-u", "alice"),
            [
                "          JOBID PARTITION     USER   PRIORITY       SITE        AGE      ASSOC  FAIRSHARE    JOBSIZE  "
                "PARTITION        QOS        NICE                 TRES",
                "              7 debug        alice        258          0        250          0          0          0  "
                "        0         10           3                cpu=1",
            ],
        ),
        (
            ("-n", "-j", "7"),
            [
                "          JOBID PARTITION PRIORITY   AGE        QOS        TRES                ",
                "              7 debug     0.00000006 0.2500000  0.5000000  cpu=0.2500000       ",
            ],
        ),
        (("-h", "-o", "%i|%Y|%.4N", "-S", "-y"), ["7|258|   3", "12|1|   0"]),
        (("-h", "-p", "long", "-o", "%i %o"), ["12 chem"]),
    ],
)
def test_factors(argv: tuple[str, ...], lines: list[str]) -> None:
    options: SprioOptions = read_sprio(argv, lambda _: 1002)
    assert format_rankings(JOBS, options, WEIGHTS, "real").splitlines() == lines


def test_shares_that_are_counted() -> None:
    shares = {one.number: Share(0.5, 120.4, 0.25, 0.75, 0.125, 2.0) for one in SITE.directory.associations}
    options = read_options(("-a", "-l", "-P"), "tester")
    lines = list(format_shares(SITE.directory, options, "real", Fairness(shares)))
    assert lines[:3] == [
        "Account|User|RawShares|NormShares|RawUsage|NormUsage|EffectvUsage|FairShare|LevelFS|GrpTRESMins|TRESRunMins\n",
        f"root|||0.500000|120|0.250000|0.750000||||{NO_TRES}\n",
        f" root|root|1|0.500000|120|0.250000|0.750000|0.125000|2.000000||{NO_TRES}\n",
    ]
    number = SITE.directory.associations[1].number
    some = Fairness(shares, committed={number: {"cpu": 119, "mem": 6000, "node": 60}})
    assert list(format_shares(SITE.directory, options, "real", some))[2].endswith(
        "|cpu=1,mem=100,energy=0,node=1,billing=1,fs/disk=0,vmem=0,pages=0\n"
    )
    classic = list(format_shares(SITE.directory, options, "real", Fairness(shares, is_fair_tree=False)))
    assert classic[1] == f"root|||0.500000|120|0.250000|0.750000|0.125000||{NO_TRES}\n"


NO_TRES = "cpu=0,mem=0,energy=0,node=0,billing=0,fs/disk=0,vmem=0,pages=0"
