"""sattach's command line, and why there is nothing to attach to."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hpcbatch.dialects.slurm.errors import VERSION_TEXT, SlurmAnswer, SlurmUsageError
from hpcbatch.dialects.slurm.getopt import Option, Parser, Takes
from hpcbatch.errors import NotSupportedError
from hpcbatch.model.interactive import Interactive
from hpcbatch.model.record import JobRecord
from hpcbatch.model.state import JobState
from hpcbatch.typed import Final, NamedTuple

USAGE: Final = "Usage: sattach [options] <jobid.stepid>"
PARSER: Final = Parser(
    "sattach",
    (
        Option(name="help", short="h", takes=Takes.NOTHING),
        Option(name="usage", takes=Takes.NOTHING),
        Option(name="version", short="V", takes=Takes.NOTHING),
        Option(name="quiet", short="Q", takes=Takes.NOTHING),
        Option(name="verbose", short="v", takes=Takes.NOTHING),
        Option(name="label", short="l", takes=Takes.NOTHING),
        Option(name="layout", takes=Takes.NOTHING),
        Option(name="pty", takes=Takes.NOTHING),
        Option(name="input-filter"),
        Option(name="output-filter"),
        Option(name="error-filter"),
        Option(name="debugger-test", takes=Takes.NOTHING),
    ),
)
_NOT_HERE: Final = frozenset({"label", "layout", "input-filter", "output-filter", "error-filter", "debugger-test"})
_STEP: Final = re.compile(r"([0-9]{1,18})\.([0-9]{1,9})", re.ASCII)


class StepId(NamedTuple):
    """`12.0`."""

    job_id: int
    step: int
    quiet: bool


def read_sattach(argv: Sequence[str]) -> StepId:
    """Raises SlurmUsageError, SlurmAnswer, NotSupportedError."""
    given, operands = PARSER.parse(argv)
    names = {each.option.name for each in given}
    if "version" in names:
        raise SlurmAnswer(VERSION_TEXT)
    if names & {"help", "usage"}:
        raise SlurmAnswer(USAGE)
    if lacking := sorted(names & _NOT_HERE):
        raise NotSupportedError(f"--{lacking[0]} is not supported: what srun has asked for stays")
    if not operands:
        raise SlurmUsageError("sattach: error: No job step requested")
    match = _STEP.fullmatch(argv[operands[0]])
    if match is None:
        raise SlurmUsageError(f'sattach: error: Invalid job step id "{argv[operands[0]]}"\n{USAGE}')
    return StepId(int(match[1]), int(match[2]), "quiet" in names)


def refusal(step: StepId, record: JobRecord | None, *, is_terminal: bool) -> str:
    """Why nobody can be attached to that; "" if one can. `record` None: there is no such job any more."""
    kind = None if record is None else record.spec.interactive
    if record is None or step.step or record.status.state is not JobState.RUNNING:
        return "sattach: error: Could not get job step info: Invalid job id specified"
    if kind not in {Interactive.TERMINAL, Interactive.STREAMS}:
        return "sattach: error: only what srun has started on the login node can be attached to"
    if kind is Interactive.TERMINAL and not is_terminal:
        return "sattach: error: standard input and output must be a terminal for a step with --pty"
    return ""
