"""The differences between dialects while a job runs.

The runner in the pods reads these values from job.sh; it knows no dialect.
"""

from __future__ import annotations

from collections.abc import Mapping

from hpcbatch.dataclass import dataclass, field
from hpcbatch.typed import Literal

StartValue = Literal["nodefile", "gpufile", "tmp", "shell", "pid", "started", "walltime_end", "restarts"]
"""Values of runner/script/start.sh. Empty are `gpufile` without GPUs, `walltime_end` without a walltime, and `restarts`
at the first start."""
HostValue = Literal["host", "index", "cpus"]
"""Values that runner/ssh/remote.sh has for its host. `index` counts from 0, `cpus` are the job's there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerWords:
    """An empty text is not written. In texts the runner replaces each `{name}` once by its value."""

    own_tools: tuple[str, ...] = ()
    """Commands that come first on the script's PATH: files of runner/launch and runner/steps."""
    spare_tools: tuple[str, ...] = ()
    """The same, but only if the image lacks them."""
    version_text: str = ""
    """Output of `--version` of these tools."""
    shell_variable: str = "SHELL"
    """The submitted variable that holds the user's login shell."""
    start_variables: Mapping[str, StartValue] = field(default_factory=dict)
    """Variables of the script whose values are known only at its start. One without a value is not set."""
    host_variables: Mapping[str, HostValue] = field(default_factory=dict)
    """Variables of processes that ssh starts on a host of the job."""
    appends_after_restart: bool = False
    """A run that Volcano restarts appends to the output of the run before it."""
    fallback_dir: str = ""
    """Where the script starts if its directory cannot be entered; "": it fails to start."""
    no_directory_text: str = ""
    """The message for that: `{directory}`, `{why}`."""
    no_input_text: str = ""
    """The script's standard input cannot be opened: `{file}`, `{why}`. The job ends with 1."""
    no_interpreter_code: int = 126
    """Exit code of a script whose `#!` names a missing program."""
    continues_before_term: bool = False
    """Stopped processes are continued before TERM is sent to them."""
    walltime_text: str = ""
    """With `{used_s}`, `{limit_s}`, `{job_id}`, `{host}`, `{time}`; so have the next four."""
    cput_text: str = ""
    deleted_text: str = ""
    requeued_text: str = ""
    preempted_text: str = ""
    memory_text: str = ""
    """The job was killed at its memory limit, with known usage: `{used_bytes}`, `{limit_bytes}`, `{used_kib}`,
    `{limit_kib}`, `{job_id}`."""
    oom_kill_text: str = ""
    """The kernel killed processes of the job: `{count}`, `{s}` (plural), `{job_id}`."""
    summary_text: str = ""
    """Written below the output of a run that has ended. `{state}` is `done_state` or `exited_state`, `{result}` what
    ended the run: one of the texts above, which is not written by itself then, or of the next ones. `{started_at}`,
    `{ended_at}`, `{now}`, `{cpu_s}`, `{max_mem}`, `{run_s}`, `{script}`."""
    done_state: str = ""
    exited_state: str = ""
    done_text: str = ""
    exit_text: str = ""
    """With `{exit_code}`."""
    signal_text: str = ""
    """With `{signal}`."""
