"""What -v tells of the options."""

from __future__ import annotations

from hpcbatch.dialects.slurm import sinfo, squeue_options
from hpcbatch.dialects.slurm.options import PARSER
from hpcbatch.dialects.slurm.verbose import all_options, given_options, level


def test_all_options() -> None:
    given, _ = sinfo.PARSER.parse(["-vv", "-N", "-n", "a[1-2]"], permute=True)
    lines = all_options(sinfo.PARSER, given).splitlines()
    assert lines[0] == lines[-1] == "-" * 29
    assert {"verbose     = 2", "Node        = true", "nodes       = a[1-2]", "iterate     = (null)"} <= set(lines)
    assert len(lines) == len(sinfo.PARSER.options) + 2


def test_level() -> None:
    assert level(squeue_options.PARSER.parse(["-v", "--verbose"])[0]) == 2
    assert level(squeue_options.PARSER.parse(["-u", "v"])[0]) == 0


def test_given_options() -> None:
    given, _ = PARSER.parse(["-v", "-p", "x", "-p", "debug", "-H", "job.sh"])
    assert given_options("sbatch", given).splitlines()[2:-2] == [
        "sbatch: hold                : set",
        "sbatch: partition           : debug",
        "sbatch: verbose             : 1",
    ]
