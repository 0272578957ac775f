"""Slurm, as the rest of hpcbatch uses it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime

from hpcbatch.dialects.port import Door, Rules
from hpcbatch.dialects.slurm.attributes import check
from hpcbatch.dialects.slurm.dependency import never_met
from hpcbatch.dialects.slurm.directives import DIRECTIVE
from hpcbatch.dialects.slurm.environment import environment, nodefile
from hpcbatch.dialects.slurm.errors import VERSION_TEXT
from hpcbatch.dialects.slurm.ids import row_id
from hpcbatch.dialects.slurm.mail import mails, next_time
from hpcbatch.dialects.slurm.output import input_file, output_files
from hpcbatch.dialects.slurm.whole_node import whole_node
from hpcbatch.model.outcome import Outcome
from hpcbatch.model.placed import PlacedJob, RunSetup
from hpcbatch.model.runner_words import RunnerWords
from hpcbatch.model.spec import JobSpec, Submission
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.model.command_line import CommandLine

_CANCELLED = "slurmstepd: error: *** JOB {job_id} ON {host} CANCELLED AT {time}"
WORDS = RunnerWords(
    own_tools=("srun", "sbcast", "scontrol-listpids"),
    spare_tools=("scontrol", "scancel"),
    version_text=VERSION_TEXT,
    start_variables={
        "SLURM_TASK_PID": "pid",
        "SLURM_JOB_START_TIME": "started",
        "SLURM_JOB_END_TIME": "walltime_end",
        "SLURM_RESTART_COUNT": "restarts",
    },
    host_variables={"SLURMD_NODENAME": "host", "SLURM_NODEID": "index", "SLURM_CPUS_ON_NODE": "cpus"},
    fallback_dir="/tmp",  # noqa: S108  slurmstepd's
    no_directory_text="slurmstepd: error: couldn't chdir to `{directory}': {why}: going to /tmp instead",
    no_input_text="slurmstepd: error: Could not open stdin file {file}: {why}",
    no_interpreter_code=2,  # slurmstepd ends with errno
    continues_before_term=True,
    walltime_text=f"{_CANCELLED} DUE TO TIME LIMIT ***",
    cput_text=f"{_CANCELLED} DUE TO TIME LIMIT ***",
    deleted_text=f"{_CANCELLED} ***",
    requeued_text=f"{_CANCELLED} DUE TO JOB REQUEUE ***",
    preempted_text=f"{_CANCELLED} DUE TO PREEMPTION ***",
    memory_text="slurmstepd: error: StepId={job_id}.batch exceeded memory limit ({used_bytes} > {limit_bytes}),"
    " being killed",
    oom_kill_text="slurmstepd: error: Detected {count} oom_kill event{s} in StepId={job_id}.batch."
    " Some of the step tasks have been OOM Killed.",
)


def _run_setup(job: PlacedJob) -> RunSetup:
    return RunSetup(
        output=output_files(job),
        script_name="slurm_script",
        environment=environment(job),
        stdin=input_file(job),
        nodefile=nodefile(job),
        words=WORDS,
    )


def _read_script(
    name: str, content: bytes, now: datetime, outcomes: list[Outcome], options: Mapping[str, str]
) -> Submission:
    from hpcbatch.dialects.slurm.submit import read_submission

    return read_submission(
        [name],
        script=lambda _: (name, content),
        environ={},
        cwd="/",
        host="host",
        user="user",
        server="server",
        now=now,
        umask=0o077,
        outcomes=outcomes,
        plugin_options=lambda: options,
    ).submission


def directive_word(text: str) -> str:
    """In quotes; a backslash takes the next character literally to sbatch."""
    return '"' + re.sub(r'(["\\])', r"\\\1", text) + '"'


def _resized(spec: JobSpec) -> JobSpec:
    from hpcbatch.dialects.slurm.update import without_sizes

    return without_sizes(spec)


def _option_tables() -> dict[str, list[tuple[str, ...]]]:
    from hpcbatch.dialects.slurm.option_tables import tables

    return tables()


def _command_lines() -> dict[str, CommandLine]:
    from hpcbatch.dialects.slurm.command_lines import command_lines

    return command_lines()


DOOR = Door(
    whole_node=whole_node,
    submit_command="sbatch",
    read_script=_read_script,
    directive=DIRECTIVE,
    directive_word=directive_word,
    shown_id=row_id,
    run_setup=_run_setup,
    never_met=never_met,
    option_tables=_option_tables,
    command_lines=_command_lines,
    rules=Rules(
        refuses_what_no_node_has=True,
        queue_option="-p",
        limits_array_indices=True,
        unknown_job_meets_dependency=True,
        after_waits_for_all_members=True,
        counts_killed_processes=True,
        warns_before_requeue=True,
        requeues_ended=True,
        requeue_delay_s=121,  # batch_requeue_fini(): when the credentials of the last run are no longer valid
    ),
    mails=mails,
    next_mail=next_time,
    check_attributes=check,
    resized=_resized,
)
