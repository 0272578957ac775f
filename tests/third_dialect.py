"""A third dialect, whole: it needs no line changed elsewhere. Scripts of `tiny` have lines `#TINY NAME VALUE`.

Its commands are `sub SCRIPT` and `stat`. tests/component/test_third_dialect.py tries them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from hpcbatch.cli.common import Describe, Session, run
from hpcbatch.client.listing import list_rows
from hpcbatch.client.submit import submit
from hpcbatch.dialects.port import Door, Rules
from hpcbatch.dialects.registry import DIALECTS
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.array import shown_number
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.dependency import Left
from hpcbatch.model.outcome import Outcome
from hpcbatch.model.placed import OutputFiles, PlacedJob, RunSetup
from hpcbatch.model.record import JobRecord
from hpcbatch.model.row import JobRow
from hpcbatch.model.runner_words import RunnerWords
from hpcbatch.model.spec import JobSpec, Submission
from hpcbatch.model.state import JobState

NAME = "tiny"
STATE = {state: state.value.lower() for state in JobState}


# Text in


def read_script(
    path: str, content: bytes, _now: datetime, _outcomes: list[Outcome], _options: Mapping[str, str]
) -> Submission:
    """What the script requests. Raises HpcBatchError with all lines that are wrong."""
    spec, wrong = JobSpec(dialect=NAME, name=Path(path).name), []
    for number, line in enumerate(content.decode().splitlines(), 1):
        if not line.startswith("#TINY "):
            continue
        name, _, value = line.removeprefix("#TINY ").partition(" ")
        if name == "nodes" and value.isdecimal() and int(value) > 0:
            spec = replace(spec, chunks=(Chunk(count=int(value)),))
        elif name == "seconds" and value.isdecimal() and int(value) > 0:
            spec = replace(spec, walltime_s=int(value))
        else:
            wrong.append(f"{path}:{number}:7: {line!r}: expected nodes or seconds, and a number above 0")
    if wrong:
        raise HpcBatchError("\n".join(wrong))
    return Submission(spec=spec, script=content, environment={})


# What the house asks


def shown_id(row: JobRow) -> str:
    return f"tiny-{row.job_id}"


def run_setup(job: PlacedJob) -> RunSetup:
    number = shown_number(job.job_id, job.spec.member_of)
    return RunSetup(
        output=OutputFiles(stdout=f"{job.spec.work_dir}/{job.spec.name}.{number}", stderr=None),
        environment={"TINY_JOB": str(number), "TINY_NODES": str(len(job.pods))},
        nodefile="".join(f"{pod.host}\n" for pod in job.pods),
        words=RunnerWords(
            start_variables={"TINY_NODEFILE": "nodefile"},
            walltime_text="tiny: {limit_s} seconds are over",
        ),
    )


def never_met(_record: JobRecord, part: Left, _is_unknown: bool) -> str:
    return f"{part.wait} will not come"


DOOR = Door(
    submit_command="sub",
    read_script=read_script,
    directive_word=lambda text: text,
    shown_id=shown_id,
    run_setup=run_setup,
    never_met=never_met,
    rules=Rules(drops_unsatisfiable=True),
)


def register() -> None:
    """The line that a dialect of the house has in dialects/registry.py."""
    DIALECTS[NAME] = DOOR


# Commands


def sub(session: Session, script: str) -> int:
    content = Path(session.absolute(script)).read_bytes()
    spec = read_script(script, content, session.now, [], {}).spec
    spec = replace(spec, work_dir=session.cwd, submit_dir=session.cwd, submit_host=session.host, server=session.server)
    submitted = submit(session.api, session.namespace, Submission(spec=spec, script=content, environment={}))
    print(f"tiny-{submitted.job_id}")
    return 0


def stat(session: Session) -> int:
    for row in list_rows(session.api, session.namespace):
        print(DIALECTS[row.dialect].shown_id(row), row.name, STATE[row.state])
    return 0


def describe(_session: Session) -> Describe:
    return lambda error: (f"tiny: {error}", 1)


def main(argv: Sequence[str]) -> None:
    register()
    command, *arguments = argv
    run(command, lambda session: sub(session, *arguments) if command == "sub" else stat(session), describe)
