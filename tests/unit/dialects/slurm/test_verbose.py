"""What -v tells of the options."""

from __future__ import annotations

from hpcbatch.dialects.slurm import sinfo, squeue_options
from hpcbatch.dialects.slurm.verbose import all_options, level
from tests.unit.dialects.slurm.submit_parts import submit


def test_all_options() -> None:
    given, _ = sinfo.PARSER.parse(["-vv", "-N", "-n", "a[1-2]"], permute=True)
    lines = all_options(sinfo.PARSER, given).splitlines()
    assert lines[0] == lines[-1] == "-" * 29
    assert {"verbose     = 2", "Node        = true", "nodes       = a[1-2]", "iterate     = (null)"} <= set(lines)
    assert len(lines) == len(sinfo.PARSER.options) + 2


def test_level() -> None:
    assert level(squeue_options.PARSER.parse(["-v", "--verbose"])[0]) == 2
    assert level(squeue_options.PARSER.parse(["-u", "v"])[0]) == 0


def told(script: str, environ: dict[str, str], *argv: str) -> list[str]:
    return [line.removeprefix("sbatch: ") for line in submit(*argv, script=script, environ=environ).told][2:-2]


def test_options_in_force() -> None:
    script = "#!/bin/sh\n#SBATCH -N 2 --mem=2048\n#SBATCH -p debug\n"
    assert told(script, {"SBATCH_TIMELIMIT": "3", "SBATCH_ACCOUNT": "a"}, "-v", "-N1-3", "-p", "x", "-H") == [
        "account             : a",
        "hold                : set",
        "mem                 : 2G",
        "nodes               : 1-3",
        "partition           : x",
        "time                : 00:03:00",
        "verbose             : 1",
    ]
    assert "verbose             : 4" in told("#!/bin/sh\n", {"SBATCH_DEBUG": "4"})
    assert told("#!/bin/sh\n#SBATCH -N2\n", {}) == []


def test_pbs_lines_count_unless_they_are_passed_over() -> None:
    script = "#!/bin/sh\n#PBS -l nodes=3:ppn=2,mem=1024mb\n"
    assert told(script, {}, "-v") == [
        "mem                 : 1G",
        "nodes               : 3",
        "ntasks              : 6",
        "verbose             : 1",
    ]
    assert told(script, {}, "-v", "--ignore-pbs") == ["ignore-pbs          : set", "verbose             : 1"]
