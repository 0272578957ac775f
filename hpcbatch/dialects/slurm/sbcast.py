"""sbcast's command line on the login node: which file goes to the hosts of which allocation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hpcbatch.dialects.slurm.errors import VERSION_TEXT, SlurmAnswer, SlurmUsageError
from hpcbatch.dialects.slurm.getopt import Option, Parser, Takes
from hpcbatch.typed import Final, NamedTuple

USAGE: Final = "Usage: sbcast [-CfFjpvV] SOURCE DEST"
_PASSED_ON: Final = (
    Option(name="force", short="f", takes=Takes.NOTHING),
    Option(name="preserve", short="p", takes=Takes.NOTHING),
    Option(name="verbose", short="v", takes=Takes.NOTHING),
    Option(name="compress", short="C", takes=Takes.OPTIONAL),
    Option(name="send-libs", takes=Takes.OPTIONAL),
    Option(name="exclude"),
    Option(name="fanout", short="F"),
    Option(name="size", short="s"),
    Option(name="timeout", short="t"),
)
"""To the sbcast in the job (runner/launch/sbcast.sh), which knows what they mean."""
PARSER: Final = Parser(
    "sbcast",
    (
        *_PASSED_ON,
        Option(name="jobid", short="j"),
        Option(name="help", takes=Takes.NOTHING),
        Option(name="usage", takes=Takes.NOTHING),
        Option(name="version", short="V", takes=Takes.NOTHING),
    ),
)
_DIGITS: Final = 18


class Broadcast(NamedTuple):
    job_id: int
    source: str
    command: tuple[str, ...]
    """What copies its input to the hosts."""


def read_sbcast(argv: Sequence[str], environ: Mapping[str, str]) -> Broadcast:
    """Raises SlurmUsageError, SlurmAnswer."""
    given, operands = PARSER.parse(argv)
    values = {each.option.name: each.value for each in given}
    if "version" in values:
        raise SlurmAnswer(VERSION_TEXT)
    if "help" in values or "usage" in values:
        raise SlurmAnswer(USAGE)
    if len(operands) != 2:
        raise SlurmUsageError(f"Need two file names, have {len(operands)} names\n{USAGE}")
    text = values.get("jobid") or environ.get("SLURM_JOB_ID") or ""
    if not text:
        raise SlurmUsageError(
            "sbcast: error: Need a job id to run this command.  Run from within a Slurm job or use the --jobid option."
        )
    number = text.partition(".")[0]
    if not (number.isascii() and number.isdigit() and len(number) <= _DIGITS):
        raise SlurmUsageError(f"sbcast: error: Invalid job id: {text}")
    source, target = (argv[index] for index in operands)
    if target.endswith("/"):
        target += source.rpartition("/")[2]
    options = [
        f"--{each.option.name}" + ("" if each.value is None else f"={each.value}")
        for each in given
        if each.option in _PASSED_ON
    ]
    return Broadcast(int(number), source, ("sbcast", *options, "--", "/dev/stdin", target))
