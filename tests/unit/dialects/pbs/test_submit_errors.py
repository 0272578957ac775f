"""What qsub refuses, and in which words."""

from __future__ import annotations

import pytest

from hpcbatch.dialects.pbs import usage
from hpcbatch.dialects.pbs.errors import PbsError, describe
from hpcbatch.dialects.pbs.settings import split_attributes
from hpcbatch.dialects.pbs.submit import read_submission
from hpcbatch.errors import HpcBatchError, NotSupportedError, ObstaclesError
from tests.unit.dialects.pbs.submit_parts import ENVIRON, NOW, refusal, submit

from .jobs import recorded


@pytest.mark.parametrize(
    ("argv", "text"),
    [
        (("-N", "1 bad name", "j"), "qsub: illegal -N value"),
        (("-N", "", "j"), "qsub: illegal -N value"),
        (("-a", "999999", "j"), "qsub: illegal -a value"),
        (("-p", "2000", "j"), "qsub: illegal -p value"),
        (("-p", "x", "j"), "qsub: illegal -p value"),
        (("-j", "x", "j"), "qsub: illegal -j value"),
        (("-k", "x", "j"), "qsub: illegal -k value"),
        (("-k", "d", "j"), "qsub: illegal -k value"),
        (("-R", "x", "j"), "qsub: illegal -R value"),
        (("-R", "oo", "j"), "qsub: illegal -R value"),
        (("-k", "on", "j"), "qsub: illegal -k value"),
        (("-m", "x", "j"), "qsub: illegal -m value"),
        (("-m", "", "j"), "qsub: illegal -m value"),
        (("-M", "a,,b", "j"), "qsub: illegal -M value"),
        (("-r", "x", "j"), "qsub: illegal -r value"),
        (("-S", "bash", "j"), "qsub: illegal -S value"),
        (("-o", "", "j"), "qsub: illegal -o value"),
        (("-e", "a\nb", "j"), "qsub: illegal -e value"),
        (("-c", "u", "j"), "qsub: illegal -c value"),
        (("-c", "x", "j"), "qsub: illegal -c value"),
        (("-J", "4-1", "j"), "qsub: illegal -J value"),
        (("-J", "3-3", "j"), "qsub: illegal -J value"),
        (("-J", "3", "j"), "qsub: illegal -J value"),
        (("-J", "1-4:0", "j"), "qsub: illegal -J value"),
        (("-J", "1-4%0", "j"), "qsub: illegal -J value"),
        (("-J", "1,3", "j"), "qsub: illegal -J value"),
        (("-J", "1-4:", "j"), "qsub: illegal -J value"),
        (("-J", "x", "j"), "qsub: illegal -J value"),
        (("-J", "1-4", "-W", "max_run_subjobs=0", "j"), "qsub: illegal -W value"),
        (("-l", "=1", "j"), "qsub: illegal -l value"),
        (("-W", "umask=9", "j"), "qsub: illegal -W value"),
        (("-W", "umask", "j"), "qsub: illegal -W value"),
        (("-W", "sandbox=odd", "j"), "qsub: illegal -W value"),
        (("-W", "block=maybe", "j"), "qsub: illegal -W value"),
        (("-t", "1-", "j"), "qsub: illegal -t value"),
        (("-t", "1-3%0", "j"), "qsub: illegal -t value"),
        (("-t", "3-1", "j"), "qsub: illegal -t value"),
        (("-d", "", "j"), "qsub: illegal -d value"),
        (("-F", "a 'b", "j"), "qsub: illegal -F value"),
        (("-u", "a b", "j"), "qsub: illegal -u value"),
        (("-W", "stagein=x", "j"), "qsub: illegal -W value"),
        (("-Y", "/tmp", "j"), "qsub: invalid option -- 'Y'"),
        (("--foo", "j"), "qsub: invalid option -- '-'"),
        (("-N",), "qsub: option requires an argument -- 'N'"),
    ],
)
def test_usage_errors_of_the_command_line(argv: tuple[str, ...], text: str) -> None:
    assert refusal(*argv) == (f"{text}\n{usage.QSUB}", 2)


def test_recorded_usage_errors() -> None:
    """The usage is ours: it names what works here."""
    for argv, name in ((("-N", "1 bad name", "j"), "illegal_qsub.txt"), (("-Y", "/tmp", "j"), "usage_qsub.txt")):
        found, theirs = refusal(*argv)[0].splitlines(), recorded(name).splitlines()
        assert (found[0].replace("'Y'", "'d'"), found[1].split()[:2], found[-1]) == (
            theirs[0],
            theirs[1].split()[:2],
            theirs[-1],
        )


@pytest.mark.parametrize("argv", [("a", "b"), ("a", "-h"), ("--",), ("a", "--", "b"), ("-h", "a", "-N", "x")])
def test_operands_that_do_not_go_together(argv: tuple[str, ...]) -> None:
    assert refusal(*argv) == (usage.QSUB, 2)


@pytest.mark.parametrize(
    ("argv", "text", "code"),
    [
        (("-N", "x" * 231, "j"), "qsub: Job name is too long ", 2),
        (
            ("my job.sh",),
            "qsub: illegal -N value\nqsub: 'my job.sh' can name no job, which its script's name does: "
            "qsub -N NAME (letters, digits and _+.-)",
            2,
        ),
        (("-v", "FOO=bar,UNSET", "j"), "qsub: cannot send environment with the job", 1),
        (("-v", "=x", "j"), "qsub: cannot send environment with the job", 1),
        (("-v", "A='x", "j"), "qsub: cannot send environment with the job", 1),
        (("-J", "1-4", "-r", "n", "j"), "qsub: cannot submit non-rerunable Array Job", 255),
        (("-J1-4%2", "-Wmax_run_subjobs=4", "j"), "qsub: multiple max_run_subjobs values found", 2),
        (("-W", "max_run_subjobs=4", "j"), "qsub: Attribute has to be set on an array job", 1),
        (("-m", "abj", "j"), "qsub: mail option 'j' can not be used without array job", 1),
        (("-q", "a@", "j"), "qsub: illegally formed destination: a@", 2),
        (("-W", "y=1", "j"), "qsub: Undefined attribute  y", 154),
        (
            ("-W", "comment=why", "j"),
            "qsub: Cannot set attribute, read only or insufficient permission  comment",
            155,
        ),
        (("-l", "ngpus=x", "j"), "qsub: Unknown resource Resource_List.ngpus", 187),
        (("-u", "root", "j"), "qsub: Bad UID for job execution", 175),
        (("-u", "u,root@login", "j"), "qsub: Bad UID for job execution", 175),
        (("-L", "tasks=x", "j"), "qsub: illegal -L value", 2),
        (("-L", "tasks=2", "-l", "nodes=1", "j"), "qsub: -l nodes cannot be used with -L", 2),
        (("-A", "\udcff", "j"), "qsub: an argument is not UTF-8 text", 2),
    ],
)
def test_other_errors_of_the_command_line(argv: tuple[str, ...], text: str, code: int) -> None:
    assert refusal(*argv) == (text, code)


@pytest.mark.parametrize(
    ("line", "lines", "column"),
    [
        ("#PBS -Y 1-2", ["invalid option -- 'Y'", "directive error: -Y 1-2 "], 6),
        ("#PBS -M", ["option requires an argument -- 'M'", "directive error: -M "], 6),
        ("#PBS -a 99", ["illegal -a value", "directive error: -a 99 "], 6),
        ("#PBS -r x", ["illegal -r value", "directive error: -r x "], 6),
        ("#PBS -l a=1,", ["illegal -l value", "directive error: -l a=1, "], 6),
        ("#PBS -W x", ["illegal -W value", "directive error: -W x "], 6),
        ("#PBS -- x", ["directive error: -- x "], 9),
        ("#PBS --", ["directive error: -- "], 6),
        (
            "#PBS --dry-run",
            ["invalid option -- '-'", "directive error: --dry-run "],
            6,
        ),
    ],
)
def test_directive_errors(line: str, lines: list[str], column: int) -> None:
    text, code = refusal("job", script=f"#!/bin/sh\n{line}\n")
    assert text.splitlines() == [f"qsub: {part}" for part in lines] + [f"qsub: job:2:{column}: refused here"]
    assert code == 1


@pytest.mark.parametrize(
    ("line", "text", "code"),
    [
        ("#PBS -N a/b", "qsub: illegal -N value", 2),
        ("#PBS -l walltime=x", "qsub: Illegal attribute or resource value Resource_List.walltime", 166),
        ("#PBS -l ngpus=x", "qsub: Unknown resource Resource_List.ngpus", 187),
        ("#PBS -v UNSET", "qsub: cannot send environment with the job", 1),
    ],
)
def test_values_checked_at_submission_are_no_directive_errors(line: str, text: str, code: int) -> None:
    printed, found = refusal("job", script=f"{line}\n")
    assert printed.splitlines()[:2] == [text, "qsub: job:1:6: refused here"]
    assert found == code


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (("-W", "depend=synccount:2"), "-W depend=synccount"),
        (("-W", "umask=022,create_resv_from_job=true"), "-W create_resv_from_job"),
        (
            ("-o", "elsewhere:/x"),
            "-o: elsewhere is neither this host nor one of the cluster's; output to other hosts",
        ),
    ],
)
def test_what_is_not_supported_yet(options: tuple[str, ...], what: str) -> None:
    with pytest.raises(NotSupportedError) as caught:
        submit(*options, "job")
    assert describe(caught.value, "qsub") == (f"qsub: {what} is not supported yet", 1)
    with pytest.raises(NotSupportedError) as caught:
        submit("job", script=f"#!/bin/sh\n #PBS {' '.join(options)}\n")
    assert describe(caught.value, "qsub") == (f"qsub: job:2:7: {what} is not supported yet", 1)


@pytest.mark.parametrize("text", ["", " ", "a", "=b", ",a=b", "a=b=c", "a=b,", 'a="x', "a=b c=d"])
def test_bad_attribute_lists(text: str) -> None:
    with pytest.raises(HpcBatchError):
        split_attributes(text)


def test_all_obstacles_are_reported_at_once() -> None:
    text = "#!/bin/sh\n#PBS -N a/b -l walltime=x,ncpus=y\n#PBS -Y\n#PBS -W y=1\n#PBS -l select=1:ngpus=a:host=/\n"
    with pytest.raises(ObstaclesError) as caught:
        submit("-p", "x", "-W", "umask=9", "job", script=text)
    printed, code = describe(caught.value, "qsub")
    assert printed.count("usage: qsub") == 1
    assert code == 1
    assert [str(problem) for problem in caught.value.problems] == [
        "job:3:6: invalid option -- 'Y'",  # as it is read
        "job:4:6: Undefined attribute  y",
        'job:2:13: "-lresource=" cannot be used with "select" or "place", resource is: ncpus',  # when it is sent
        "job:2:13: Illegal attribute or resource value Resource_List.ncpus",
        "job:2:13: Illegal attribute or resource value Resource_List.walltime",
        "job:5:6: Unknown resource: ngpus",
        "job:5:6: Illegal attribute or resource value select.host",
        "job:2:6: illegal -N value",
        "illegal -p value",
        "illegal -W value",
    ]


def test_what_is_wrong_on_the_command_line_stands_beside_a_missing_script() -> None:
    def missing(_: str | None) -> tuple[str | None, bytes]:
        raise FileNotFoundError

    for argv, error in ((["-a", "x", "job"], PbsError), (["job"], FileNotFoundError)):
        with pytest.raises(error):
            read_submission(argv, script=missing, environ=ENVIRON, cwd="/", host="h", user="u", server="pbs1", now=NOW)


def test_lines_that_cannot_be_split_are_reported_beside_the_others() -> None:
    with pytest.raises(ObstaclesError) as caught:
        submit("job", script="#PBS -N 'x\n#PBS -p x\r\n#PBS -j oe\r\n")
    assert [str(e) for e in caught.value.problems] == [
        "job:1:9: unmatched '",
        "job:2:10: script contains cr, lf",
        "job:2:6: illegal -p value",
    ]
