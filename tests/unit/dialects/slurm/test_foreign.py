"""#PBS and #BSUB lines in a script for sbatch."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.dialects.slurm.errors import SlurmUsageError
from hpcbatch.dialects.slurm.foreign import foreign_options
from hpcbatch.errors import HpcBatchError, ObstaclesError
from hpcbatch.model.outcome import Fate, Outcome
from hpcbatch.model.spec import JobSpec
from tests.unit.dialects.slurm.submit_parts import spec, submit

PBS = [
    ("-N x -q p -A y -o out -e err", "--job-name=x --partition=p --account=y --output=out --error=err"),
    ("-l walltime=1:00:00,mem=2gb", "--time=1:00:00 --mem=2g"),
    ("-l nodes=2:ppn=4", "--nodes=2 --ntasks=8"),
    ("-l nodes=n7+n8:ppn=2", "--ntasks=2 --nodelist=n7,n8"),
    ("-l nodes=1:ppn=2:gpus=3", "--gpus-per-node=3 --nodes=1 --ntasks=2"),
    (
        "-l select=2:ncpus=8:mpiprocs=4",
        "--nodes=2 --mincpus=8 --ntasks-per-node=4 --cpus-per-task=2",
    ),
    ("-l naccelerators=2,cput=10", "--time=10 --gres=gpu:2"),
    ("-l pmem=1gb,vmem=2gb,file=3gb", "--tmp=3g"),
    ("-m abe -M u", "--mail-type=BEGIN,END,FAIL --mail-user=u"),
    ("-mn", "--mail-type=NONE"),
    ("-h -j oe -V -k oe -r y -S /bin/sh -c n", "--hold"),
    ("-J 1-3", "--array=1-3"),
    ("-p 5 -W depend=afterok:3 -W umask=077 -W x=y", "--nice=5 --dependency=afterok:3 --umask=077"),
    ("-v A,B=1", "--export=A,B=1"),
    ("--job_name=x --resource walltime=5", "--job-name=x --time=5"),
]


@pytest.mark.parametrize(("line", "expected"), PBS, ids=[line for line, _ in PBS])
def test_pbs(line: str, expected: str) -> None:
    found = foreign_options(f"#!/bin/sh\n#PBS {line}\n".encode(), "s.sh")
    assert all(option.error is None for option in found)
    words = [f"--{name}={value}" if value else f"--{name}" for option in found for name, value in option.becomes]
    assert " ".join(words) == expected


def test_bsub_goes_before_pbs() -> None:
    script = b"#!/bin/sh\n#PBS -N a\n#BSUB -J b -n 2,4 -W 10 -M 500 -m 'n1 n2' -x -cwd /x\n"
    words = [f"--{name}={value}" for option in foreign_options(script, "s.sh") for name, value in option.becomes]
    assert words == [
        "--job-name=b",
        "--ntasks=4",
        "--time=10",
        "--mem-per-cpu=500K",
        "--nodelist=n1,n2",
        "--exclusive=",
        "--chdir=/x",
    ]


def test_in_a_script() -> None:
    script = "#!/bin/sh\n#SBATCH -J a -t 5\n#PBS -N b -j oe\nsleep 1\n#PBS -l nodes=2\n"
    outcomes: list[Outcome] = []
    found = submit(script=script, outcomes=outcomes).submission.spec
    assert (found.name, found.walltime_s, len(found.chunks), found.chunks[0].count) == ("b", 300, 1, 2)
    assert [(o.option, o.fate, o.meaning, o.line) for o in outcomes if o.option.startswith("#PBS")] == [
        ("#PBS -N b", Fate.TRANSLATED, "--job-name=b", 3),
        ("#PBS -j oe", Fate.KEPT, "the real sbatch passes over it, too", 3),
        ("#PBS -l nodes=2", Fate.TRANSLATED, "--nodes=2", 5),
    ]
    assert spec("-J", "c", script=script).name == "c"
    assert spec("--ignore-pbs", script=script).name == "a"
    assert spec(script=script, environ={"SBATCH_IGNORE_PBS": "1"}).name == "a"
    assert spec(script=script.replace("-t 5", "-t 5 --ignore-pbs")).name == "a"


def test_lines_far_below_are_not_read() -> None:
    def named(others: int) -> JobSpec:
        return spec(script="#!/bin/sh\n" + "true\n" * others + "#PBS -N x\n")

    assert (named(100).name, named(101).name) == ("x", "job.sh")


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("#PBS -d /x", "sbatch: invalid option -- 'd'"),
        ("#PBS --foo=1", "sbatch: unrecognized option '--foo=1'"),
        ("#PBS -N", "sbatch: option requires an argument -- 'N'"),
        ("#PBS x", "sbatch: error: Invalid argument: x"),
        ("#PBS -l walltime=abc", "sbatch: error: Invalid --time specification"),
        ("#PBS -W umask=7777", "sbatch: error: Invalid -W umask= specification"),
        ("#BSUB -n 1,", "sbatch: error: #BSUB -n format not correct given: '1,'"),
        ("#BSUB -P x", "sbatch: invalid option -- 'P'"),
    ],
)
def test_refused(line: str, text: str) -> None:
    with pytest.raises(SlurmUsageError) as error:
        submit(script=f"#!/bin/sh\n{line}\n")
    assert error.value.text.startswith(text)
    assert (error.value.path, error.value.line) == ("job.sh", 2)


@given(st.sampled_from(["#PBS", "#BSUB"]), st.text("-lNnhW =:,1ax+/'#", max_size=25))
def test_any_line(magic: str, text: str) -> None:
    outcomes: list[Outcome] = []
    try:
        submit(script=f"#!/bin/sh\n{magic} {text}\n", outcomes=outcomes)
    except HpcBatchError as error:
        count = len(error.problems) if isinstance(error, ObstaclesError) else 1
        assert sum(o.fate is Fate.REFUSED for o in outcomes) <= count
