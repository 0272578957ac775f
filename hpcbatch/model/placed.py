"""A job that is about to run: the names of its pods, known before they exist, and its output files."""

from __future__ import annotations

from collections.abc import Mapping

from hpcbatch.dataclass import dataclass, field
from hpcbatch.model.array import Array
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.runner_words import RunnerWords
from hpcbatch.model.site import Launcher
from hpcbatch.model.spec import JobSpec
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.model.record import JobRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedPod:
    """One pod of a job; `host` is its hostname, which every pod of the job resolves."""

    host: str
    chunk: Chunk


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedJob:
    """An admitted job with its computing pods, in order."""

    job_id: int
    spec: JobSpec
    queue: str
    pods: tuple[PlacedPod, ...]
    owner: str
    uid: int
    gid: int
    home: str
    cluster: str
    """Name of the cluster: Slurm's SLURM_CLUSTER_NAME."""
    groups: tuple[tuple[int, str], ...] = ()
    """Supplementary groups, gid and name."""
    image: str = "hpcbatch.io/host"
    volcano_queue: str = "default"
    launcher: Launcher = Launcher.SHARED
    """SHARED: the first of `pods` runs the script. DEDICATED: a pod of its own beside them."""
    run_count: int = 1
    array: Array | None = None
    """The array of a member."""

    @property
    def has_peers(self) -> bool:
        """Whether it has several pods, which communicate."""
        return len(self.pods) > 1 or self.launcher is Launcher.DEDICATED


def of_run(record: JobRecord, pods: tuple[PlacedPod, ...] = ()) -> PlacedJob:
    """What a record tells of the job's current or last run: enough for the places of its output."""
    status = record.status
    return PlacedJob(
        job_id=record.job_id,
        spec=record.spec,
        queue=record.queue,
        pods=pods,
        owner=status.owner,
        uid=status.uid,
        gid=status.gid,
        home=status.home,
        cluster=record.spec.server,
        groups=status.groups,
        run_count=status.run_count,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputFiles:
    """Absolute files that the runner writes. If a path is a directory at run time, the file in it is called
    `stdout_in_dir` or `stderr_in_dir` (None: a directory is an error)."""

    stdout: str
    stderr: str | None
    """None: joined into stdout."""
    stdout_in_dir: str | None = None
    stderr_in_dir: str | None = None
    stdout_meanwhile: str = ""
    stderr_meanwhile: str = ""
    """Name of the file, in the same directory, while the job runs; it is renamed at the end; "": no such name."""
    append: bool = False
    umask: int | None = None
    """For the output files and the job; None is the submitter's default 022."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSetup:
    """The settings of one run from the job's dialect."""

    output: OutputFiles
    script_name: str = "script"
    """Name of the script's copy, which is its $0."""
    environment: Mapping[str, str] = field(default_factory=dict)
    stdin: str = ""
    """Absolute file that the script reads as its standard input; "": /dev/null."""
    private_dir: str = ""
    """Absolute directory that is made for the run, in which the script starts, and which goes with it; "": none."""
    starts_login_shell: bool = False
    """The script is run by a login shell even if it inherits the submitter's environment."""
    nodefile: str = ""
    """Text of the node file: one host per line."""
    gpufile: str = ""
    """Text of the file that names the job's GPUs; "": there is none."""
    words: RunnerWords = field(default_factory=RunnerWords)
