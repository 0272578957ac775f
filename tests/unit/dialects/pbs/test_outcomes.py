"""What became of each option."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.dialects.pbs.options import QSUB, TORQUE
from hpcbatch.dialects.pbs.settings import LONG_NAMES
from hpcbatch.dialects.pbs.submit import read_submission
from hpcbatch.dialects.pbs.table import ATTRIBUTES, CHUNK_WIDE, JOB_WIDE_ONLY, OPTIONS, RESOURCES
from hpcbatch.errors import DirectiveError, HpcBatchError, ObstaclesError
from hpcbatch.model.outcome import Fate, Outcome
from tests.unit.dialects.pbs.submit_parts import ENVIRON, NOW


def outcomes(*argv: str, script: str = "", environ: Mapping[str, str] = ENVIRON) -> list[Outcome]:
    found: list[Outcome] = []
    try:
        read_submission(
            [*argv, "job"],
            script=lambda path: (path, script.encode("utf-8", "surrogateescape")),
            environ=environ,
            cwd="/data",
            host="login",
            user="u",
            server="pbs1",
            now=NOW,
            outcomes=found,
        )
    except (DirectiveError, ObstaclesError):
        assert any(outcome.fate is Fate.REFUSED for outcome in found), (argv, script)
    else:
        assert all(outcome.fate is not Fate.REFUSED for outcome in found)
    return found


def brief(found: list[Outcome]) -> list[tuple[str, str]]:
    return [(outcome.option, outcome.fate.value) for outcome in found]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("#PBS -N x -joe", [("-N x", "honoured"), ("-j oe", "honoured")]),
        ("#PBS -l walltime=60,wd", [("-l walltime=60", "honoured"), ("-l wd", "honoured")]),
        ("#PBS -l foo=2,bar=x", [("-l foo=2", "honoured"), ("-l bar=x", "translated")]),
        (
            "#PBS -l select=2:ncpus=4:gpu_model=a100+1:ncpus=4:ib=True",
            [
                ("-l select=2:ncpus=4:gpu_model=a100+1:ncpus=4:ib=True", "honoured"),
                ("-l select: ncpus=4", "honoured"),
                ("-l select: gpu_model=a100", "translated"),
                ("-l select: ib=True", "honoured"),
            ],
        ),
        (
            "#PBS -l nodes=2:ppn=4:fast",
            [
                ("-l nodes=2:ppn=4:fast", "translated"),
                ("-l nodes: ppn=4", "translated"),
                ("-l nodes: fast", "honoured"),
            ],
        ),
        ("#PBS -W umask=022,group_list=g", [("-W umask=022", "honoured"), ("-W group_list=g", "ignored")]),
        ("#PBS -W x=QOS:a;odd", [("-W x=QOS:a", "kept"), ("-W x=odd", "ignored")]),
        ("#PBS -N a\n#PBS -N b", [("-N a", "honoured"), ("-N b", "honoured")]),
        ("#PBS -c s -X", [("-c s", "ignored"), ("-X", "ignored")]),
        ("#PBS -l vmem=2gb,mem=1gb", [("-l vmem=2gb", "ignored"), ("-l mem=1gb", "honoured")]),
        ("#PBS -l walltime=x -p 5", [("-l walltime=x", "refused"), ("-p 5", "honoured")]),
        ("#PBS -r x", [("-r x", "refused")]),
        ("#PBS -I", [("-I", "honoured")]),
        ("#PBS -W y=1", [("-W y=1", "refused")]),
        ("#PBS -Y", [("-Y", "refused")]),
        ("#PBS -v A=1,T", [("-v A=***,T", "honoured")]),
        ("#PBS -N x some words", [("-N x", "honoured"), ("some words", "ignored")]),
        (
            "#PBS -l select=1:ngpus=a",
            [("-l select=1:ngpus=a", "honoured"), ("-l select: ngpus=a", "refused")],
        ),
        (
            "#PBS -l select=1 -l place=group=switch",
            [("-l select=1", "honoured"), ("-l place=group=switch", "honoured")],
        ),
    ],
)
def test_outcomes(script: str, expected: list[tuple[str, str]]) -> None:
    assert brief(outcomes(script=script)) == expected


def test_places_and_what_is_given_twice() -> None:
    found = outcomes(
        "-N", "c", script="#!/bin/sh\n#PBS -N s -l walltime=60\n", environ={**ENVIRON, "PBS_SHELL": "/bin/sh"}
    )
    assert [outcome.where for outcome in found] == ["PBS_SHELL", "command line", "job:2:6", "job:2:11"]
    assert [outcome.meaning for outcome in found if outcome.option.startswith("-N")] == [
        "the name of the job",
        "it is given again, and the other one counts",
    ]


def test_tables_are_total() -> None:
    letters = set((QSUB + TORQUE).replace(":", ""))
    assert letters == {name for name in OPTIONS if len(name) == 1}
    assert LONG_NAMES.keys() <= ATTRIBUTES.keys()
    for table in (OPTIONS, RESOURCES, ATTRIBUTES):
        assert all(rule.meaning and "\n" not in rule.meaning for rule in table.values())
    assert all(RESOURCES[name].fate is not Fate.REFUSED for name in RESOURCES)
    assert not CHUNK_WIDE & JOB_WIDE_ONLY


PARTS = [
    part.strip()
    for part in """
    -N x ; -N a/b ; -q long@other ; -j oe ; -j x ; -A acc ; -m abe ; -m z ; -M a@b ; -r n ; -r q ; -S /bin/sh ;
    -S sh ; -k oed ; -J 1-9 ; -t 1,3%2 ; -t x ; -W group_list=g ; -W umask=9 ; -W depend=afterok:1 ; -W y=1 ;
    -W stagein=a@b:c ; -W x=QOS:a ; -c s ; -c q ; -u u ; -u root ; -X ; -I ; -n ; -b 2 ; -T openmpi ; -d /x ;
    -F 'a b' ; -L tasks=2:lprocs=2 ; -L x ; -l nodes=2:ppn=2 ; -l select=2:ncpus=2:foo=bar ; -l mem=1gb ;
    -l mem=x ; -l walltime=60 ; -l walltime=x ; -l foo=1,bar=x ; -l feature=a|b ; -l feature= ; -l procs=4 ;
    -l mppwidth=8 ; -l place=excl ; -l gres=a:2%b ; -l ncpus=3 ; -l cput=9 ; -l elapstim_req=9 ;
    -l cpunum_job=2 ; -l ö=1 ; -o elsewhere:/x ; -v T ; -v UNSET ; -p 9999 ; -a 99 ; some words ; -Y ;
    --group=g ; -- ; -z ; -h ; -V
""".split(";")
]


@given(st.lists(st.sampled_from(PARTS), max_size=6), st.lists(st.sampled_from(PARTS), max_size=2))
def test_any_directives_are_read_or_refused(lines: list[str], command: list[str]) -> None:
    script = "".join(f"#PBS {line}\n" for line in lines)
    argv = [word.strip("'") for part in command for word in part.split(" ", 1) if part not in {"--", "some words"}]
    found = outcomes(*argv, script=script)
    if "-Y" in command:
        assert ("-Y", "refused") in brief(found)  # the script is not read
        return
    with_place = [(outcome.option, outcome.where) for outcome in found if outcome.line is not None]
    given_in_script = [pair for pair in with_place if not pair[0].startswith(("-l select: ", "-l nodes: "))]
    for line in set(lines) & set(PARTS) - {"--", "-l foo=1,bar=x"}:
        at_least = sum(other == line for other in lines)
        written = line.replace("'", "").removesuffix("=")
        assert sum(written == option for option, _ in given_in_script) == at_least, (line, found)


@given(st.lists(st.sampled_from(PARTS) | st.text(max_size=8), max_size=6))
def test_any_script_is_read_or_refused(lines: list[str]) -> None:
    outcomes(script="".join(f"#PBS {line}\n" for line in lines).encode("utf-8", "replace").decode())


@given(st.text())
def test_any_option_is_read_or_refused(text: str) -> None:
    for option in ("-l", "-W", "-L", "-t", "-F", "-u", "-c", "-m", "-q", "-d"):
        try:
            outcomes(option, text)
        except HpcBatchError:
            pytest.fail("neither DirectiveError nor ObstaclesError")


def test_lines_that_are_not_read() -> None:
    read = ("#!/bin/sh", "#MSUB -n", " #PBS -l \\", "walltime=60", "# PBS -h", "#PBS -N x")
    script = "\n".join([*read, "cd x", "#PBS -q a", "cat <<END", "\t#PBS -p \x1b"])
    found = outcomes(script=script)
    assert [(each.option, each.fate.value, each.where) for each in found] == [
        ("-l walltime=60", "honoured", "job:3:7"),
        ("-N x", "honoured", "job:6:6"),
        ("#MSUB -n", "kept", "job:2:1"),
        ("#PBS -q a", "kept", "job:8:1"),
        ("#PBS -p ^[", "kept", "job:10:2"),
    ]
    assert found[2].meaning == "qsub does not read lines of Moab"
    assert found[3].meaning == "it stands behind the first command, where qsub reads no options"
    others = [("#PBS -N x", "job:6:1"), ("#PBS -q a", "job:8:1")]
    of_moab = outcomes("-C", "#MSUB", script=script)
    assert [(each.option, each.where) for each in of_moab] == [("-C #MSUB", "command line"), ("-n", "job:2:7")]
    assert not set(others) & {(each.option, each.where) for each in of_moab}


def test_the_last_line_is_read() -> None:
    assert brief(outcomes(script="#PBS -N x")) == [("-N x", "honoured")]
