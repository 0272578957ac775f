"""PBS, as the rest of hpcbatch uses it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from hpcbatch.dialects.pbs.depend import never_met
from hpcbatch.dialects.pbs.directives import DEFAULT_PREFIX
from hpcbatch.dialects.pbs.environment import environment, gpufile, nodefile, private_dir
from hpcbatch.dialects.pbs.ids import row_id
from hpcbatch.dialects.pbs.mail import mails
from hpcbatch.dialects.pbs.output import output_files
from hpcbatch.dialects.pbs.values import DEFAULT_PROJECT
from hpcbatch.dialects.port import Door, Rules
from hpcbatch.model.outcome import Outcome
from hpcbatch.model.placed import PlacedJob, RunSetup
from hpcbatch.model.runner_words import RunnerWords
from hpcbatch.model.spec import JobSpec, Submission
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.model.command_line import CommandLine
    from hpcbatch.model.mail import Mail
    from hpcbatch.record.reservation import ReservationRecord

WORDS = RunnerWords(
    own_tools=("pbsdsh", "pbs_tmrsh"),
    spare_tools=("qdel",),
    shell_variable="PBS_O_SHELL",
    start_variables={"PBS_NODEFILE": "nodefile", "PBS_GPUFILE": "gpufile", "TMPDIR": "tmp", "SHELL": "shell"},
    appends_after_restart=True,
    walltime_text="=>> PBS: job killed: walltime {used_s} exceeded limit {limit_s}",
    cput_text="=>> PBS: job killed: cput {used_s} exceeded limit {limit_s}",
    memory_text="=>> PBS: job killed: mem {used_kib}kb exceeded limit {limit_kib}kb",
)


class _AnyVariables(dict[str, str]):
    """The environment of whoever will submit the script: `-v NAME` is no error, whatever its value may be."""

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> str:
        return ""


def _run_setup(job: PlacedJob) -> RunSetup:
    spec, member = job.spec, job.spec.member_of
    return RunSetup(
        output=output_files(job),
        script_name=f"{job.job_id}.SC" if member is None else f"{member.array_id}[{member.index}].SC",
        environment=environment(job),
        stdin=spec.stdin or "",
        private_dir=private_dir(job),
        starts_login_shell=True,
        nodefile=nodefile(job),
        gpufile=gpufile(job),
        words=WORDS,
    )


def _read_script(
    name: str, content: bytes, now: datetime, outcomes: list[Outcome], _options: Mapping[str, str]
) -> Submission:
    from hpcbatch.dialects.pbs.submit import read_submission

    return read_submission(
        [name],
        script=lambda _: (name, content),
        environ=_AnyVariables(),
        cwd="/",
        host="host",
        user="",
        server="server",
        now=now,
        is_host=lambda _: True,
        outcomes=outcomes,
    ).submission


def directive_word(text: str) -> str:
    """In quotes; a backslash means itself to qsub."""
    return '"' + text.replace('"', '"\'"\'"') + '"'


def _resized(spec: JobSpec) -> JobSpec:
    from hpcbatch.dialects.pbs.alter import without_resources

    return without_resources(spec)


def _reservation_mails(record: ReservationRecord, now: datetime) -> list[Mail]:
    from hpcbatch.dialects.pbs.reservation_mail import reservation_mails

    return reservation_mails(record, now)


def _option_tables() -> dict[str, list[tuple[str, ...]]]:
    from hpcbatch.dialects.pbs.option_tables import tables

    return tables()


def _command_lines() -> dict[str, CommandLine]:
    from hpcbatch.dialects.pbs.command_lines import command_lines

    return command_lines()


DOOR = Door(
    submit_command="qsub",
    read_script=_read_script,
    directive=DEFAULT_PREFIX,
    directive_word=directive_word,
    shown_id=row_id,
    run_setup=_run_setup,
    never_met=never_met,
    option_tables=_option_tables,
    command_lines=_command_lines,
    rules=Rules(
        default_project=DEFAULT_PROJECT,
        drops_unsatisfiable=True,
        deleted_job_keeps_dependants=True,
        shows_followers=True,
        delivers_output_at_end=True,
    ),
    mails=mails,
    reservation_mails=_reservation_mails,
    resized=_resized,
)
