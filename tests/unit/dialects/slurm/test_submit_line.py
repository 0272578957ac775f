"""The command line of sbatch in a record, which others may read."""

from __future__ import annotations

import pytest

from hpcbatch.dialects.slurm.read_request import submit_line

LINES = [
    (["--parsable", "-H", "b.sh", "a b", "c"], "sbatch --parsable -H b.sh a b c"),
    (["-n2", "--job-name=q", "r.sh"], "sbatch -n2 --job-name=q r.sh"),
    (["--wrap=echo secret"], "sbatch --wrap=***"),
    (["--wrap", "echo secret", "-t", "5"], "sbatch --wrap=*** -t 5"),
    (["--export=A=secret,B", "x.sh"], "sbatch --export=A=***,B x.sh"),
    (["--export", "A=secret", "x.sh"], "sbatch --export=A=*** x.sh"),
    (["-N1", ":", "-N2", "x.sh"], "sbatch -N1 : -N2 x.sh"),
    (["x.sh", "a\nb"], "sbatch x.sh a^Jb"),
    ([], "sbatch"),
]


@pytest.mark.parametrize(("argv", "line"), LINES, ids=[line for _, line in LINES])
def test_line(argv: list[str], line: str) -> None:
    assert submit_line(argv, None) == line


def test_long_lines_are_cut() -> None:
    assert len(submit_line(["x.sh", "a" * 9999], None)) == 4096
