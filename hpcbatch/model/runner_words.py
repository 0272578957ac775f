"""What differs between dialects while a job runs.

The runner in the pods reads these values from job.sh; it knows no dialect.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

StartValue = Literal["nodefile", "tmp", "shell", "pid", "started", "walltime_end", "restarts"]
"""What runner/script/start.sh knows. Without a walltime `walltime_end` is empty, at the first start `restarts` is."""
HostValue = Literal["host", "index", "cpus"]
"""What runner/ssh/remote.sh knows of the host it runs on. `index` counts from 0, `cpus` are those of the job there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerWords:
    """A text that is "" is not written. In texts the runner puts values in the place of `{name}`, each once."""

    own_tools: tuple[str, ...] = ()
    """Commands that come first on the script's PATH: files of runner/launch and runner/steps."""
    spare_tools: tuple[str, ...] = ()
    """The same, but only where the image does not have them."""
    version_text: str = ""
    """What `--version` of these tools prints."""
    shell_variable: str = "SHELL"
    """The submitted variable that holds the user's login shell."""
    start_variables: Mapping[str, StartValue] = field(default_factory=dict)
    """Variables of the script that are known only when it starts. One without a value is not set."""
    host_variables: Mapping[str, HostValue] = field(default_factory=dict)
    """Variables of what ssh starts on a host of the job."""
    appends_after_restart: bool = False
    """A run that Volcano restarts appends to the output of the run before it."""
    fallback_dir: str = ""
    """Where the script starts if its directory cannot be entered; "": it does not start."""
    no_directory_text: str = ""
    """Says so: `{directory}`, `{why}`."""
    no_interpreter_code: int = 126
    """Exit code of a script whose `#!` names no program."""
    continues_before_term: bool = False
    """Stopped processes are continued before TERM is sent to them."""
    walltime_text: str = ""
    """`{walltime_s}`, `{limit_s}`, `{job_id}`, `{host}`, `{time}`; so have the next two."""
    deleted_text: str = ""
    requeued_text: str = ""
    memory_text: str = ""
    """The job was killed at its memory limit, and by how much is known: `{used_bytes}`, `{limit_bytes}`, `{used_kib}`,
    `{limit_kib}`, `{job_id}`."""
    oom_kill_text: str = ""
    """The kernel killed processes of the job: `{count}`, `{s}` (plural), `{job_id}`."""
