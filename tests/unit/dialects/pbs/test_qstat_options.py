from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.dialects.pbs.errors import PbsUsageError, describe
from hpcbatch.dialects.pbs.qstat_options import About, Format, QstatOptions, parse_qstat

from .jobs import recorded


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        ((), QstatOptions()),
        (("12", "-x"), QstatOptions(operands=("12",), history=True)),
        (("-ans1",), QstatOptions(all=True, nodes=True, comments=True, one_line=True)),
        (("-xf", "1"), QstatOptions(operands=("1",), history=True, full=True)),
        (("-Efx", "-Fjson"), QstatOptions(by_server=True, full=True, history=True, format=Format.JSON)),
        (("-f", "-F", "DSV", "-D", ","), QstatOptions(full=True, format=Format.DSV, delimiter=",")),
        (("-H",), QstatOptions(finished=True, history=True)),
        (("-u", "a@h,b"), QstatOptions(users=("a", "b"))),
        (("-f", "-n"), QstatOptions(nodes=True)),
        (("-n", "-f"), QstatOptions(nodes=True, full=True)),
        (("-Qf",), QstatOptions(about=About.QUEUES, full=True)),
        (("-q",), QstatOptions(about=About.QUEUES, queue_limits=True)),
        (("-B", "-f", "s"), QstatOptions(about=About.SERVERS, full=True, operands=("s",))),
        (("-Ex", "-w"), QstatOptions(by_server=True, history=True, wide=True)),
        (("-p",), QstatOptions(percent=True)),
        (("-W", "an u a,b"), QstatOptions(all=True, nodes=True, users=("a", "b"))),
        (("-tJ",), QstatOptions(subjobs=True, arrays_only=True)),
        (("-T", "-G", "-ir"[:2]), QstatOptions(estimates=True, gigabytes=True, not_running=True)),
        (("-M", "-r"), QstatOptions(megawords=True, running=True)),
    ],
)
def test_options(argv: tuple[str, ...], expected: QstatOptions) -> None:
    assert parse_qstat(argv) == expected


@pytest.mark.parametrize(
    ("argv", "is_alternate"),
    [
        (("-w",), False),
        (("-x",), False),
        (("-f",), False),
        (("-a",), True),
        (("-u", "x"), True),
        (("-n",), True),
        (("-f", "-a"), True),
        (("-w", "-f", "-a"), False),
        (("-G",), True),
        (("-T",), True),
        (("-E",), False),
    ],
)
def test_alternate_table(argv: tuple[str, ...], is_alternate: bool) -> None:
    assert parse_qstat(argv).is_alternate is is_alternate


@pytest.mark.parametrize(
    "argv",
    [
        ("-F", "json", "1"),
        ("-ai",),
        ("-rH",),
        ("-aq",),
        ("-M", "-G"),
        ("-1",),
        ("-a1",),
        ("-qf",),
        ("-Q", "-B"),
        ("-a", "-Q"),
        ("-f", "-a", "-F", "json"),
    ],
)
def test_conflicts(argv: tuple[str, ...]) -> None:
    with pytest.raises(PbsUsageError) as caught:
        parse_qstat(argv)
    text, code = describe(caught.value, "qstat")
    assert text + "\n" == recorded("conflict_qstat.txt")
    assert code == 2


def test_wide_json() -> None:
    with pytest.raises(PbsUsageError) as caught:
        parse_qstat(["-f", "-w", "-F", "json"])
    assert "qstat: option w cannot be used with -F\n" in describe(caught.value, "qstat")[0]


def test_recorded_usage() -> None:
    with pytest.raises(PbsUsageError) as caught:
        parse_qstat(["-Z"])
    assert describe(caught.value, "qstat") == (recorded("usage_qstat.txt").rstrip("\n"), 2)


@pytest.mark.parametrize("argv", [("-F", "xml", "-f"), ("-D", ",", "-f"), ("-W", "z"), ("-f", "-F", "json", "-D", "x")])
def test_wrong_values_print_the_usage_alone(argv: tuple[str, ...]) -> None:
    with pytest.raises(PbsUsageError) as caught:
        parse_qstat(argv)
    usage = recorded("usage_qstat.txt").partition("\n")[2]
    assert describe(caught.value, "qstat") == (usage.rstrip("\n"), 2)


@given(st.lists(st.text("ainpqrstwxufGHJMQEBWT1FD -", max_size=4)))
def test_any_arguments_are_options_or_a_usage_error(argv: list[str]) -> None:
    try:
        parse_qstat(argv)
    except PbsUsageError as error:
        assert "usage: " in describe(error, "qstat")[0]
