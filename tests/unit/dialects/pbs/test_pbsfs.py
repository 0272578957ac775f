"""pbsfs: its options and lines."""

from __future__ import annotations

import pytest

from hpcbatch.dialects.pbs.errors import PbsError
from hpcbatch.dialects.pbs.pbsfs import Entity, format_tree, read_options

TREE = (
    Entity("TREEROOT", 0, -1, -1, 1.0, 1201, 1.0, 0),
    Entity("group2", 20, 0, 60, 0.6, 1001, 0.833, 1),
    Entity("Jill", 15, 20, 40, 0.24, 1000, 0.832973, 2),
    Entity("Jack", 16, 20, 60, 0.36, 1, 0.5, 2),
    Entity("group1", 10, 0, 40, 0.4, 200, 0.2, 1),
)


def shown(*argv: str) -> str:
    return "".join(format_tree(TREE, read_options(argv)))


def test_all() -> None:
    assert shown() == shown("-p")
    assert shown().splitlines()[:3] == [
        "Fairshare usage units are in: ncpus*walltime",
        "TREEROOT  : Grp: -1     cgrp: 0    Shares: -1     Usage: 1201   Perc: 100.000%",
        "group2    : Grp: 0      cgrp: 20   Shares: 60     Usage: 1001   Perc: 60.000%",
    ]
    assert shown("-t").splitlines()[:3] == [" TREEROOT(0)", "     group2(20)", "          Jill(15)"]


def test_one() -> None:
    """The example of PBS's administrator's guide."""
    assert shown("-g", "Jill") == (
        "fairshare entity: Jill\nResgroup\t\t: 20\ncresgroup\t\t: 15\nShares\t\t\t: 40\nPercentage\t\t: 24.000000%\n"
        "fairshare_tree_usage\t: 0.832973\nusage\t\t\t: 1000 (ncpus*walltime)\nusage/perc\t\t: 4167\n"
        "Path from root: \nTREEROOT  :     0       1201 / 1.000 = 1201\ngroup2    :    20       1001 / 0.600 = 1668\n"
        "Jill      :    15       1000 / 0.240 = 4167\n"
    )


def test_two() -> None:
    assert shown("-c", "Jill", "Jack") == "Jack\n"
    assert shown("-c", "Jill", "group1") == "group1\n"
    assert shown("-c", "Jill", "Jill") == "Jill == Jill\n"


@pytest.mark.parametrize(
    ("argv", "text"),
    [
        (("x",), "Usage: pbsfs -[ptdgcs] [-I sched_name]"),
        (("-x",), "Usage: pbsfs -[ptdgcs] [-I sched_name]"),
        (("-g",), "Usage: pbsfs [-I sched_name] -g <fairshare_entity>"),
        (("-g", "nosuch"), "Fairshare Entity nosuch does not exist."),
        (("-I", "other"), "Scheduler other does not exist"),
        (("-s", "Jill", "5"), "hpcbatch: usage is computed from the records of jobs"),
        (("-d",), "hpcbatch: usage is computed from the records of jobs"),
    ],
)
def test_what_is_refused(argv: tuple[str, ...], text: str) -> None:
    with pytest.raises(PbsError) as error:
        shown(*argv)
    assert str(error.value).startswith(text)
