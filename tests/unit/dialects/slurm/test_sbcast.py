"""sbcast's command line on the login node."""

import pytest

from hpcbatch.dialects.slurm.errors import VERSION_TEXT, SlurmAnswer, SlurmUsageError
from hpcbatch.dialects.slurm.sbcast import Broadcast, read_sbcast


@pytest.mark.parametrize(
    ("argv", "environ", "read"),
    [
        (["a", "/tmp/b"], {"SLURM_JOB_ID": "7"}, Broadcast(7, "a", ("sbcast", "--", "/dev/stdin", "/tmp/b"))),
        (
            ["-j", "8", "d/a", "/tmp/"],
            {"SLURM_JOB_ID": "7"},
            Broadcast(8, "d/a", ("sbcast", "--", "/dev/stdin", "/tmp/a")),
        ),
        (["--jobid=8.0", "a", "b"], {}, Broadcast(8, "a", ("sbcast", "--", "/dev/stdin", "b"))),
        (
            ["-fp", "-F4", "--", "a", "-x y"],
            {"SLURM_JOB_ID": "7"},
            Broadcast(7, "a", ("sbcast", "--force", "--preserve", "--fanout=4", "--", "/dev/stdin", "-x y")),
        ),
    ],
)
def test_what_goes_where(argv: list[str], environ: dict[str, str], read: Broadcast) -> None:
    assert read_sbcast(argv, environ) == read


@pytest.mark.parametrize(
    ("argv", "environ", "text"),
    [
        (["a"], {}, "Need two file names, have 1 names"),
        (["a", "b", "c"], {}, "Need two file names, have 3 names"),
        (["a", "b"], {}, "Need a job id to run this command"),
        (["-j", "x", "a", "b"], {}, "Invalid job id: x"),
        (["--nosuch", "a", "b"], {}, "unrecognized option '--nosuch'"),
    ],
)
def test_what_is_refused(argv: list[str], environ: dict[str, str], text: str) -> None:
    with pytest.raises(SlurmUsageError, match=text):
        read_sbcast(argv, environ)


def test_answers() -> None:
    with pytest.raises(SlurmAnswer, match=VERSION_TEXT):
        read_sbcast(["-V"], {})
    with pytest.raises(SlurmAnswer, match="SOURCE DEST"):
        read_sbcast(["--help"], {})
