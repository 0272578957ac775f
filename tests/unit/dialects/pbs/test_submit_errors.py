"""What qsub refuses, and in which words."""

from __future__ import annotations

import pytest

from hpcbatch.dialects.pbs import usage
from hpcbatch.dialects.pbs.errors import describe
from hpcbatch.dialects.pbs.settings import split_attributes
from hpcbatch.errors import HpcBatchError, NotSupportedError
from tests.unit.dialects.pbs.submit_parts import refusal, submit

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
        (("-m", "f", "j"), "qsub: illegal -m value"),
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
        (("-W", "block=maybe", "j"), "qsub: illegal -W value"),
        (("-t", "1-3", "j"), "qsub: invalid option -- 't'"),
        (("-d", "/tmp", "j"), "qsub: invalid option -- 'd'"),
        (("--foo", "j"), "qsub: invalid option -- '-'"),
        (("-N",), "qsub: option requires an argument -- 'N'"),
    ],
)
def test_usage_errors_of_the_command_line(argv: tuple[str, ...], text: str) -> None:
    assert refusal(*argv) == (f"{text}\n{usage.QSUB}", 2)


def test_recorded_usage_errors() -> None:
    """The usage is ours: it names what works here."""
    for argv, name in ((("-N", "1 bad name", "j"), "illegal_qsub.txt"), (("-d", "/tmp", "j"), "usage_qsub.txt")):
        found, theirs = refusal(*argv)[0].splitlines(), recorded(name).splitlines()
        assert (found[0], found[1].split()[:2], found[-1]) == (theirs[0], theirs[1].split()[:2], theirs[-1])


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
        (("-W", "x=NACCESSPOLICY:SINGLEJOB", "j"), "qsub: Undefined attribute  x", 154),
        (("-l", "foo=x", "j"), "qsub: Unknown resource Resource_List.foo", 187),
        (("-A", "\udcff", "j"), "qsub: an argument is not UTF-8 text", 2),
    ],
)
def test_other_errors_of_the_command_line(argv: tuple[str, ...], text: str, code: int) -> None:
    assert refusal(*argv) == (text, code)


@pytest.mark.parametrize(
    ("line", "lines", "column"),
    [
        ("#PBS -t 1-2", ["invalid option -- 't'", "directive error: -t 1-2 "], 6),
        ("#PBS -N Theory Paper simulation", ["directive error: -N Theory Paper simulation "], 16),
        ("#PBS -M", ["option requires an argument -- 'M'", "directive error: -M "], 6),
        ("#PBS -a 99", ["illegal -a value", "directive error: -a 99 "], 6),
        ("#PBS -r x", ["illegal -r value", "directive error: -r x "], 6),
        ("#PBS -l a=1,", ["illegal -l value", "directive error: -l a=1, "], 6),
        ("#PBS -W x", ["illegal -W value", "directive error: -W x "], 6),
        ("#PBS -- x", ["directive error: -- x "], 9),
        ("#PBS --", ["directive error: -- "], 6),
        (
            "#PBS --dry-run",
            ["invalid option -- '-'", "invalid option -- 'd'", "illegal -r value", "directive error: --dry-run "],
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
        ("#PBS -l foo=x", "qsub: Unknown resource Resource_List.foo", 187),
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
        (("-I",), "-I (interactive jobs)"),
        (("-X",), "-X (X11 forwarding)"),
        (("-u", "x"), "-u (running as another user)"),
        (("-c", "s"), "-c (checkpoints)"),
        (("-W", "depend=synccount:2"), "-W depend=synccount"),
        (("-W", "umask=022,group_list=g"), "-W group_list"),
        (("-W", "sandbox=PRIVATE"), "-W sandbox"),
        (
            ("-o", "elsewhere:/x"),
            "-o: elsewhere is neither this host nor one of the cluster's; output to other hosts",
        ),
        (("-q", "q@elsewhere"), "-q: the server elsewhere"),
        (("-S", "/bin/sh@h"), "-S: a shell for one host only"),
        (("-l", "cput=1"), "-l cput"),
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
