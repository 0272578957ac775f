"""LSF, as the rest of hpcbatch uses it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from hpcbatch.dialects.lsf import report
from hpcbatch.dialects.lsf.depend import never_met
from hpcbatch.dialects.lsf.environment import environment, nodefile
from hpcbatch.dialects.lsf.ids import row_id, spec_id
from hpcbatch.dialects.lsf.mail import mails
from hpcbatch.dialects.lsf.output import input_file, output_files
from hpcbatch.dialects.lsf.states import code_of
from hpcbatch.dialects.lsf.words import DIRECTIVE
from hpcbatch.dialects.port import Door, Rules
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.outcome import Outcome
from hpcbatch.model.placed import PlacedJob, RunSetup
from hpcbatch.model.runner_words import RunnerWords
from hpcbatch.model.spec import JobSpec, Submission
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hpcbatch.model.command_line import CommandLine

_SIZES = ("slots", "res_req", "mem_limit", "gpu")


def _words(job: PlacedJob) -> RunnerWords:
    return RunnerWords(
        own_tools=("blaunch", "jsrun", "mpirun.lsf"),
        start_variables={"LSB_DJOB_HOSTFILE": "nodefile", "LSB_DJOB_RANKFILE": "nodefile", "LS_JOBPID": "pid"},
        continues_before_term=True,
        walltime_text=report.ended(report.RUNLIMIT, report.RUNLIMIT_CODE),
        cput_text=report.ended(report.CPULIMIT, report.CPULIMIT_CODE),
        deleted_text=report.ended(report.OWNER, report.OWNER_CODE),
        requeued_text=report.ended(report.REQUEUED, report.OWNER_CODE),
        preempted_text=report.ended(report.PREEMPTED, report.OWNER_CODE),
        memory_text=report.ended(report.MEMLIMIT, report.MEMLIMIT_CODE),
        oom_kill_text=report.ended(report.MEMLIMIT, report.MEMLIMIT_CODE),
        summary_text=report.summary(job),
        done_state="Done",
        exited_state="Exited",
        done_text="Successfully completed.",
        exit_text="Exited with exit code {exit_code}.",
        signal_text="Exited by signal {signal}.",
    )


def _run_setup(job: PlacedJob) -> RunSetup:
    return RunSetup(
        output=output_files(job),
        script_name=f"{spec_id(job.job_id, job.spec)}.shell",
        environment=environment(job),
        stdin=input_file(job),
        starts_login_shell="login_shell" in job.spec.attributes,
        nodefile=nodefile(job),
        words=_words(job),
    )


def _read_script(
    name: str, content: bytes, now: datetime, outcomes: list[Outcome], _options: Mapping[str, str]
) -> Submission:
    from hpcbatch.dialects.lsf.submit import read_submission

    return read_submission(
        [name],
        script=lambda _: (name, content),
        environ={},
        cwd="/",
        host="host",
        user="user",
        server="server",
        now=now,
        outcomes=outcomes,
    ).submission


def directive_word(text: str) -> str:
    """In quotes, of which the other kind means itself to bsub. Raises HpcBatchError for a text with both."""
    if "'" in text and '"' in text:
        raise HpcBatchError(f"{text!r} cannot stand in a #BSUB line: it has both kinds of quotes")
    return f"'{text}'" if '"' in text else f'"{text}"'


def _resized(spec: JobSpec) -> JobSpec:
    from hpcbatch.dataclass import replace

    kept = {name: value for name, value in spec.attributes.items() if name not in _SIZES}
    return replace(spec, attributes=kept)


def _option_tables() -> Mapping[str, Sequence[Sequence[str]]]:
    from hpcbatch.dialects.lsf.options import tables

    return tables()


def _command_lines() -> dict[str, CommandLine]:
    from hpcbatch.dialects.lsf.command_lines import command_lines

    return command_lines()


DOOR = Door(
    submit_command="bsub",
    read_script=_read_script,
    directive=DIRECTIVE,
    directive_word=directive_word,
    shown_id=row_id,
    run_setup=_run_setup,
    never_met=never_met,
    option_tables=_option_tables,
    command_lines=_command_lines,
    rules=Rules(
        refuses_what_no_node_has=False,
        refuses_unknown_dependency=True,
        after_waits_for_all_members=True,
        counts_killed_processes=True,
        warns_before_requeue=True,
        requeues_ended=True,
    ),
    mails=mails,
    exit_code=code_of,
    resized=_resized,
)
