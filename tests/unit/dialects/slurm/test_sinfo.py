"""sinfo: recorded listings to the byte, and clusters of several nodes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.dialects.slurm.columns import complaint
from hpcbatch.dialects.slurm.errors import SlurmAnswer, SlurmUsageError, describe
from hpcbatch.dialects.slurm.node_states import node_state
from hpcbatch.dialects.slurm.sinfo import below_time, columns_of, format_sinfo, read_options
from hpcbatch.dialects.slurm.sinfo_fields import LETTERS, NAMES
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.gres import Amount
from hpcbatch.model.row import NodeRow, QueueRow
from tests.unit.dialects.slurm.jobs import NODE, QUEUES, recorded

NOW = datetime(2026, 11, 21, 2, 50, 3, tzinfo=UTC)


def node(name: str, used: int = 0, *, cpus: int = 4, ready: bool = True, schedulable: bool = True) -> NodeRow:
    return NODE._replace(name=name, cpus_used=used, cpus=cpus, ready=ready, schedulable=schedulable)


CLUSTER = (
    node("n3"),
    node("n1", 4),
    node("n2", 2),
    node("n4", ready=False),
    node("n5", schedulable=False),
    node("n6", 1, schedulable=False, cpus=8),
    node("n10"),
)


def show(*argv: str, nodes: Sequence[NodeRow] = (NODE,), queues: Sequence[QueueRow] = QUEUES) -> str:
    return format_sinfo(nodes, queues, read_options(argv, {}), NOW, UTC)


RECORDED = [
    ([], "sinfo.txt"),
    (["-N"], "sinfo-N.txt"),
    (["-l"], "sinfo-l.txt"),
    (["-Nel"], "sinfo-Nel.txt"),
    (["-s"], "sinfo-s.txt"),
    (["-R"], "sinfo-R.txt"),
    (["-h", "-o", "%P|%a|%l|%D|%T|%N|%C|%m|%G"], "sinfo-o.txt"),
    (["-O", "partition,available,time,nodes,statecompact,nodelist,cpus,memory,gres"], "sinfo-O.txt"),
]


@pytest.mark.parametrize(("argv", "name"), RECORDED, ids=[" ".join(r[0]) or "plain" for r in RECORDED])
def test_recorded(argv: list[str], name: str) -> None:
    assert show(*argv) == recorded(name)


def test_a_cluster() -> None:
    found = show("-h", "-p", "debug", nodes=CLUSTER)
    assert [line.split()[3:] for line in found.splitlines()] == [
        ["1", "drng", "n6"],
        ["1", "drain", "n5"],
        ["1", "mix", "n2"],
        ["1", "alloc", "n1"],
        ["2", "idle", "n[3,10]"],
        ["1", "down*", "n4"],
    ]


VIEWS = [
    (["-h", "-p", "debug", "-o", "%D %F %C %c %P"], "7 3/2/2/7 7/10/15/32 4+ debug*\n"),
    (["-h", "-o", "%D"], "7\n"),
    (["-h", "-t", "idle", "-o", "%P %N"], "debug* n[3,5,10]\nlong n[3,5,10]\n"),
    (["-h", "-t", "alloc", "-o", "%N"], "n[1-2,6]\n"),
    (["-h", "-t", "MIXED", "-o", "%N"], "n[2,6]\n"),
    (["-h", "-t", "mixed&drain", "-o", "%N"], "n6\n"),
    (["-h", "-t", "resv", "-p", "long"], "long         up 7-00:00:00      0    n/a \n"),
    (["-h", "-n", "n[1-2]", "-o", "%N"], "n[1-2]\n"),
    (["-h", "-d", "-o", "%N"], "n4\n"),
    (["-h", "-r", "-o", "%n %t", "-t", "idle"], "n5 drain\nn10 idle\nn3 idle\n"),
    (["-h", "-N", "-p", "long", "-o", "%N", "-t", "drain"], "n5\nn6\n"),
    (["-h", "-p", "nosuch"], ""),
    (["-h", "-e", "-p", "debug", "-o", "%c %D"], "8 1\n4 6\n"),
    (["-h", "-t", "all", "-o", "%D"], "7\n"),
    (["-aho", "%F/%C"], "3/2/2/7/7/10/15/32\n"),
    (
        ["-h", "-p", "long", "-O", "nodehost:10,gres:8,gresused:.8,statelong", "-n", "n2"],
        "n2        (null)    (null)mixed               \n",
    ),
]


@pytest.mark.parametrize(("argv", "text"), VIEWS, ids=[" ".join(v[0]) for v in VIEWS])
def test_view(argv: list[str], text: str) -> None:
    assert show(*argv, nodes=CLUSTER) == text


def test_nodes_with_other_gpus_have_another_line() -> None:
    amounts = {"n1": ("gpu:a100", 4, 1), "n2": ("gpu:a100", 4, 1), "n3": ("gpu:h100", 2, 0)}
    nodes = [*(node(name)._replace(gres=(Amount(*each),)) for name, each in amounts.items()), node("n4")]
    found = show("-h", "-p", "debug", "-o", "%N %G", nodes=nodes)
    assert found == "n[1-2] gpu:a100:4\nn3 gpu:h100:2\nn4 (null)\n"
    assert show("-h", "-p", "debug", "-n", "n1", "-O", "gresused:30", nodes=nodes).split() == ["gpu:a100:1(IDX:N/A)"]


def test_no_nodes() -> None:
    assert (
        show("-h", nodes=()) == "debug*       up   infinite      0    n/a \nlong         up 7-00:00:00      0    n/a \n"
    )


def test_closed_queue_and_long_names() -> None:
    queues = (QueueRow(name="a-very-long-name", is_default=True, is_open=False, is_started=False),)
    assert show("-h", queues=queues) == "a-very-lo inact   infinite      1   idle vm\n"
    assert show("-hN", queues=queues) == "vm             1 a-very-long-name* idle  \n"


def test_error() -> None:
    with pytest.raises(SlurmUsageError) as error:
        show("--foo")
    assert describe(error.value, "sinfo") == (
        "sinfo: unrecognized option '--foo'\nTry \"sinfo --help\" for more information",
        1,
    )
    with pytest.raises(SlurmUsageError, match='Bad state string: "foo"'):
        show("-t", "foo")
    assert show("-hO", "foo,partition:8") == "debug*  \nlong    \n"
    told = complaint(columns_of(read_options(["-O", "foo"], {})), "sinfo: error: Invalid job")
    assert told == "sinfo: error: Invalid job format specification: foo"


SORTS = [
    ("c", "n1 n10 n2 n3 n4 n5 n6"),
    ("-c,N", "n6 n1 n10 n2 n3 n4 n5"),
    ("-N", "n6 n5 n4 n3 n2 n10 n1"),
    ("-t,-N", "n6 n5 n2 n1 n3 n10 n4"),
    ("+n", "n1 n10 n2 n3 n4 n5 n6"),
    ("zz", "n1 n10 n2 n3 n4 n5 n6"),
]


@pytest.mark.parametrize(("sort", "names"), SORTS, ids=[sort for sort, _ in SORTS])
def test_sort(sort: str, names: str) -> None:
    assert show("-h", "-N", "-p", "debug", "-o", "%n", "-S", sort, nodes=CLUSTER).split() == names.split()


def test_sort_by_partition() -> None:
    queues = [QUEUES[1], QUEUES[0]]
    assert show("-h", "-o", "%R", "-S", "P", queues=queues).split() == ["debug", "long"]
    assert show("-h", "-o", "%R", "-S", "-P", queues=queues).split() == ["long", "debug"]
    assert show("-h", "-o", "%R", "-S", "#P", queues=queues).split() == ["long", "debug"]
    assert show("-h", "-o", "%R", "-S", "l").split() == ["long", "debug"]
    assert (
        format_sinfo([NODE], QUEUES, read_options(["-h", "-o", "%R"], {"SINFO_SORT": "l"}), NOW, UTC) == "long\ndebug\n"
    )


def test_again_and_again_and_of_this_cluster() -> None:
    assert show("-i", "5").startswith("Sat Nov 21 02:50:03 2026\nPARTITION")
    assert show("-h", "-i", "5") == show("-h")
    options = read_options(["-l", "-M", "real"], {})
    assert options.clusters == "real"
    assert below_time("now\nPARTITION\n", "CLUSTER: real\n", options) == "now\nCLUSTER: real\nPARTITION\n"
    assert below_time("PARTITION\n", "CLUSTER: real\n", read_options([], {})) == "CLUSTER: real\nPARTITION\n"
    for text in ("0", "x"):
        with pytest.raises(SlurmUsageError, match=f"Error: invalid entry for --iterate={text}"):
            show("-i", text)


def test_reservations_and_data() -> None:
    assert read_options(["-T"], {}).reservations
    assert read_options(["--yaml", "--json"], {}).data == "yaml"


def test_answers() -> None:
    for argv in (["--help"], ["--usage"], ["-V"]):
        with pytest.raises(SlurmAnswer):
            show(*argv)


def test_every_name_has_a_field() -> None:
    assert set(NAMES.values()) <= LETTERS.keys()
    for nodes in ((), CLUSTER):
        assert show("-O", ",".join(NAMES), nodes=nodes)


NODES = st.builds(
    node,
    st.from_regex(r"n[0-9]{1,3}", fullmatch=True),
    st.integers(0, 4),
    ready=st.booleans(),
    schedulable=st.booleans(),
)


@given(st.lists(NODES, max_size=8, unique_by=lambda n: n.name))
def test_every_node_is_counted_once(nodes: list[NodeRow]) -> None:
    lines = show("-h", "-p", "debug", nodes=nodes).splitlines()
    assert sum(int(line.split()[3]) for line in lines) == len(nodes)
    assert len(lines) == max(1, len({node_state(n).compact for n in nodes}))


@given(st.text(max_size=20))
def test_any_text(text: str) -> None:
    for argv in (["-o", text], ["-O", text], ["-t", text], ["-n", text], [text]):
        try:
            show(*argv)
        except HpcBatchError as error:
            assert isinstance(error, SlurmAnswer) or describe(error, "sinfo")[0]


@pytest.mark.parametrize("argv", [["-o", "%all"], ["-O", "all"]])
def test_all_is_every_letter_by_the_alphabet(argv: list[str]) -> None:
    """With a blank behind each capital letter. Source: _parse_format(), 22.05."""
    columns = columns_of(read_options(argv, {}))
    assert {column.key for column in columns} == {key for key in LETTERS if len(key) == 1}
    assert {column.suffix for column in columns if column.key.islower()} == {"|"}
    assert next(column.suffix for column in columns if column.key.isupper()) == " |"
