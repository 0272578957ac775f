"""The requested job: the neutral specification into which every dialect reads its scripts."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

from hpcbatch.dataclass import dataclass, field, replace
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.array import Array, Membership
from hpcbatch.model.chunk import HOSTS, MAX_CHUNKS, MAX_RANKS, WORDS_OF_SITE, Chunk, check_resources
from hpcbatch.model.dependency import DEPENDENCY, Dependency
from hpcbatch.model.grouping import Grouping
from hpcbatch.model.interactive import Interactive
from hpcbatch.model.stored import (
    AMOUNTS,
    BOOLEAN,
    COUNT,
    HOST,
    INT32,
    LETTERS,
    LIMITS,
    NAME,
    PATH,
    PRINTABLE,
    SECONDS,
    TEXT,
    USER_TIME,
    WORDS,
    Alterable,
    Kind,
    enum,
    integer,
    list_of,
    mapping_of,
    stored,
    string,
    struct,
)
from hpcbatch.model.text import UNPRINTABLE
from hpcbatch.model.warn_signal import WarnSignal
from hpcbatch.typed import Final
from hpcbatch.units import MAX_WALLTIME_S, check_time

MAX_WEIGHT = 1024
MAX_TOTAL = 2**63 - 1
"""CPUs, bytes and the like, of all chunks together: the limit of the API and the history's database."""
MAX_ATTRIBUTES = 512 * 1024
"""Characters of all attributes that a dialect stores for one job."""


class Arrangement(StrEnum):
    """How chunks become pods and pods are spread over nodes."""

    FREE = "free"  # a pod for each chunk, on any nodes
    PACK = "pack"  # all chunks in one pod
    SCATTER = "scatter"  # a pod for each chunk, no two on one node
    FILL = "fill"  # chunks merged into as few pods as the largest node allows (Slurm's -n without -N)


class Sharing(StrEnum):
    """Whether other jobs may use the same nodes."""

    SHARED = "shared"
    EXCLUSIVE = "excl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """The file of a stream, as the user wrote it, made absolute against the submit directory.

    `path` may still contain the dialect's patterns (`%j`, `^array_index^`); None is the dialect's default name.
    """

    path: str | None = field(default=None, metadata=stored("path", string(most=8192, pattern=PRINTABLE)))
    append: bool = field(default=False, metadata=stored("append", BOOLEAN))


_ADMIN_HOLDS = Kind(string(most=2, pattern="^o?s?$").schema, lambda letters: "".join(sorted(letters)), frozenset)
MAX_FIXED_PRIORITY: Final = 2**32 - 1
_ANY_PRIORITY = Kind(
    {**integer(-(2**32), 2**32).schema, "description": "Beyond -1024..1023 it counts as these do, but is shown."}
)
_IMAGE = string(least=1, most=1024, pattern=f"^[^ {UNPRINTABLE}]+$")
_CHUNKS = list_of(struct(Chunk, is_cached=True), least=1, most=10000)
_ATTRIBUTES = mapping_of(string(most=MAX_ATTRIBUTES, pattern=PRINTABLE), most=128)


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """What a job may be made of in place of what its spec says."""

    chunks: tuple[Chunk, ...] = field(metadata=stored("chunks", _CHUNKS, is_required=True))
    mem_per_pod_bytes: int | None = field(default=None, metadata=stored("memPerPodBytes", COUNT))
    resources_per_pod: tuple[tuple[str, int], ...] = field(default=(), metadata=stored("resourcesPerPod", AMOUNTS))
    arrangement: Arrangement = field(default=Arrangement.FREE, metadata=stored("arrangement", enum(Arrangement)))

    def of(self, spec: JobSpec) -> JobSpec:
        """The job made of this, without further alternatives."""
        return replace(
            spec,
            chunks=self.chunks,
            mem_per_pod_bytes=self.mem_per_pod_bytes,
            resources_per_pod=self.resources_per_pod,
            arrangement=self.arrangement,
            otherwise=(),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSpec:
    """One requested job, complete with the dialect's defaults, without the site's defaults."""

    dialect: str = field(
        metadata=stored(
            "dialect",
            string(most=16, pattern="^[a-z][a-z0-9]{0,15}$"),
            description="Whose command submitted the job: pbs, slurm or another that the controller knows.",
        )
    )
    name: str = field(metadata=stored("name", NAME, Alterable.RUNNING))
    queue: str | None = field(
        default=None,
        metadata=stored(
            "queue",
            NAME,
            Alterable.WAITING,
            description="PBS queue or Slurm partition; absent means the site's default.",
        ),
    )
    """PBS queue or Slurm partition; None is the site's default."""
    other_queues: tuple[str, ...] = field(
        default=(),
        metadata=stored(
            "otherQueues",
            list_of(NAME, most=64),
            Alterable.WAITING,
            description="Further queues, any of which will do: the first in which the job can start is taken.",
        ),
    )
    """Further queues, in order, any of which will do (Slurm -p a,b)."""
    chunks: tuple[Chunk, ...] = field(
        default=(Chunk(),),
        metadata=stored(
            "chunks",
            _CHUNKS,
            Alterable.WAITING,
            is_required=True,
            is_size=True,
            description="Pieces of the job, each placed whole on one node.",
        ),
    )
    mem_per_pod_bytes: int | None = field(
        default=None,
        metadata=stored(
            "memPerPodBytes",
            COUNT,
            Alterable.WAITING,
            is_size=True,
            description="Memory of each pod, whatever chunks it was filled with.",
        ),
    )
    """Memory of each pod, whatever its chunks (Slurm --mem without -N); the chunks then request none."""
    resources_per_pod: tuple[tuple[str, int], ...] = field(
        default=(), metadata=stored("resourcesPerPod", AMOUNTS, Alterable.WAITING, is_size=True)
    )
    """Further resources of each pod, whatever its chunks (Slurm --gres without -N); sorted."""
    whole_node_mem: bool = field(
        default=False,
        metadata=stored(
            "wholeNodeMemory",
            BOOLEAN,
            Alterable.WAITING,
            is_size=True,
            description="Each pod gets all memory that the nodes offer (Slurm --mem=0).",
        ),
    )
    """Each pod gets all memory that every node of the queue offers (Slurm --mem=0)."""
    required_hosts: tuple[str, ...] = field(
        default=(),
        metadata=stored(
            "requiredHosts",
            HOSTS,
            Alterable.WAITING,
            is_size=True,
            description="Nodes that the job must have (Slurm -w).",
        ),
    )
    """Nodes that must be among those of the job (Slurm --nodelist); it may have more."""
    excluded_hosts: tuple[str, ...] = field(
        default=(),
        metadata=stored(
            "excludedHosts",
            HOSTS,
            Alterable.WAITING,
            is_size=True,
            description="Nodes that the job must not have (Slurm -x).",
        ),
    )
    licenses: tuple[tuple[str, int], ...] = field(
        default=(),
        metadata=stored(
            "licenses",
            AMOUNTS,
            Alterable.WAITING,
            is_size=True,
            description="Licences that the job holds while it runs.",
        ),
    )
    """Licences that the job holds while it runs (Slurm --licenses); sorted."""
    words: tuple[tuple[str, str], ...] = field(
        default=(),
        metadata=stored(
            "words",
            WORDS_OF_SITE,
            Alterable.WAITING,
            is_size=True,
            description="Job-wide resources with a text for a value (filesystems=home), for the site to translate.",
        ),
    )
    """Job-wide resources with a text for a value (PBS -l filesystems=home), sorted. The site says what they mean."""
    arrangement: Arrangement = field(
        default=Arrangement.FREE,
        metadata=stored(
            "arrangement", enum(Arrangement), Alterable.WAITING, is_always=True, is_size=True, schema_default="free"
        ),
    )
    sharing: Sharing = field(
        default=Sharing.SHARED,
        metadata=stored(
            "sharing", enum(Sharing), Alterable.WAITING, is_always=True, is_size=True, schema_default="shared"
        ),
    )
    otherwise: tuple[Alternative, ...] = field(
        default=(),
        metadata=stored(
            "otherwise",
            list_of(struct(Alternative), most=16),
            Alterable.WAITING,
            is_size=True,
            description="What the job may be made of instead, in order (LSF -R {…} || {…}).",
        ),
    )
    """What the job may be made of instead, in order of preference. Chosen at admission: then there is none left."""
    walltime_s: int | None = field(default=None, metadata=stored("walltimeSeconds", SECONDS, Alterable.RUNNING))
    """Wall-clock limit; None is the queue's default."""
    min_walltime_s: int | None = field(
        default=None,
        metadata=stored(
            "minWalltimeSeconds",
            SECONDS,
            Alterable.WAITING,
            description="A limit down to which the wall-clock limit may be lowered, so that the job can run at all "
            "or earlier (Slurm --time-min).",
        ),
    )
    """The job may get any limit from this to `walltime_s` (Slurm --time-min, PBS min_walltime); None: that one only."""
    deadline: datetime | None = field(
        default=None,
        metadata=stored(
            "deadline",
            USER_TIME,
            Alterable.WAITING,
            description="The job is taken off the queue when it can no longer end by then (Slurm --deadline).",
        ),
    )
    """The job ends by then, or does not start (Slurm --deadline); aware."""
    cpu_time_s: int | None = field(
        default=None,
        metadata=stored("cpuTimeSeconds", SECONDS, Alterable.RUNNING, description="CPU time of all processes."),
    )
    """CPU time of all processes of the job together (PBS cput); None: no limit."""
    process_limits: tuple[tuple[str, int], ...] = field(
        default=(),
        metadata=stored(
            "processLimits",
            LIMITS,
            Alterable.WAITING,
            description="Limits of each process, by the names of setrlimit: as, cpu, data, fsize, nofile, stack …",
        ),
    )
    """Limits of each process by the names of setrlimit(2) in lower case (`as`, `cpu`, `fsize` …), in its units: bytes,
    seconds, numbers; sorted. 0 is a limit too, as for no core files."""
    process_nice: int = field(
        default=0,
        metadata=stored("processNice", integer(-20, 19), Alterable.WAITING, description="nice of the processes."),
    )
    """nice(2) of the job's processes (PBS -l nice); below 0 counts as 0."""
    interpreter: str | None = field(default=None, metadata=stored("interpreter", PATH, Alterable.RUNNING))
    """PBS -S; None lets the script's `#!` line, else /bin/sh, decide."""
    command: tuple[str, ...] = field(default=(), metadata=stored("command", WORDS))
    """`qsub -- command args`: run without script or shell. Empty: there is a script."""
    interactive: Interactive | None = field(
        default=None,
        metadata=stored(
            "interactive",
            enum(Interactive),
            description="What of the job the command that submitted it is attached to; absent: a batch job.",
        ),
    )
    """None: a batch job. Else there is no script and no file of output; `command` runs, or the user's login shell."""
    script_args: tuple[str, ...] = field(default=(), metadata=stored("scriptArgs", WORDS))
    script_path: str | None = field(default=None, metadata=stored("scriptPath", PATH))
    """The script's path when it was submitted, for display; None for standard input, `--wrap` and `--`."""
    work_dir: str | None = field(default=None, metadata=stored("workDir", PATH, Alterable.WAITING))
    """Absolute directory in which the script starts; None is the user's home (PBS)."""
    submit_dir: str = field(default="/", metadata=stored("submitDir", PATH, is_always=True))
    submit_host: str = field(default="localhost", metadata=stored("submitHost", HOST, is_always=True))
    stdout: Output = field(
        default=Output(), metadata=stored("stdout", struct(Output), Alterable.WAITING, is_always=True)
    )
    stderr: Output | None = field(default=None, metadata=stored("stderr", struct(Output), Alterable.WAITING))
    """None: joined with stdout in one file."""
    stdout_to_stderr: bool = field(default=False, metadata=stored("stdoutToStderr", BOOLEAN, Alterable.WAITING))
    """PBS `-j eo`: both streams go to the stderr file."""
    stdin: str | None = field(
        default=None,
        metadata=stored(
            "stdin", string(most=8192, pattern=PRINTABLE), Alterable.WAITING, description="The script's standard input."
        ),
    )
    """Absolute path of the script's standard input, with the dialect's patterns; None: /dev/null."""
    hold: bool = field(default=False, metadata=stored("hold", BOOLEAN, is_open=True, description="Held by its user."))
    """Held by its user (PBS u)."""
    admin_holds: frozenset[str] = field(
        default=frozenset(),
        metadata=stored(
            "adminHolds",
            _ADMIN_HOLDS,
            is_open=True,
            description="Held by an operator (o), the system (s). Not for users.",
        ),
    )
    """Any of `o` (operator) and `s` (system); only users who may change all jobs set and remove them."""
    array: Array | None = field(
        default=None,
        metadata=stored(
            "array",
            struct(Array),
            description="The job is an array. Its members are BatchJobs of their own, "
            "made by the controller when they may run.",
        ),
    )
    """This is a whole array; its members are separate jobs, made when they may run."""
    member_of: Membership | None = field(
        default=None, metadata=stored("memberOf", struct(Membership), description="The job is one member of an array.")
    )
    """This is one member of an array; the controller made it."""
    dependency: Dependency | None = field(
        default=None,
        metadata=stored(
            "dependency", DEPENDENCY, Alterable.WAITING, description="What the job waits for of other jobs."
        ),
    )
    warn_signal: WarnSignal | None = field(
        default=None,
        metadata=stored("warnSignal", struct(WarnSignal), description="A signal before the walltime is up."),
    )
    grouping: Grouping | None = field(
        default=None,
        metadata=stored(
            "grouping", struct(Grouping), Alterable.WAITING, description="Its nodes are near each other in the network."
        ),
    )
    """None: they may be anywhere."""
    remove_output: str = field(default="", metadata=stored("removeOutput", LETTERS, Alterable.WAITING))
    """PBS -R: the files, `o` and `e`, that are removed when the job has ended with 0."""
    nice: int = field(default=0, metadata=stored("nice", INT32, Alterable.RUNNING))
    """Slurm --nice; lowers the priority."""
    begin_time: datetime | None = field(default=None, metadata=stored("beginTime", USER_TIME, Alterable.RUNNING))
    """Earliest start; aware."""
    priority: int = field(
        default=0,
        metadata=stored(
            "priority", integer(-MAX_WEIGHT, MAX_WEIGHT - 1), Alterable.RUNNING, altered_kind=_ANY_PRIORITY
        ),
    )
    """PBS -p, -1024..1023. An alteration may set a larger one (Slurm), which counts as the nearest of these."""
    fixed_priority: int | None = field(
        default=None,
        metadata=stored(
            "fixedPriority",
            integer(1, MAX_FIXED_PRIORITY),
            Alterable.RUNNING,
            description="Set by an operator; the site's weights and formula do not count then. Not for users.",
        ),
    )
    """Slurm's --priority, where the site's priority has factors; the largest goes before all others (qrun)."""
    rerunnable: bool = field(default=True, metadata=stored("rerunnable", BOOLEAN, Alterable.RUNNING, is_always=True))
    account: str | None = field(default=None, metadata=stored("account", TEXT, Alterable.WAITING))
    mail_points: str = field(default="", metadata=stored("mailPoints", TEXT, Alterable.RUNNING))
    """The events that the user gets mail for, in the dialect's own notation."""
    mail_users: tuple[str, ...] = field(
        default=(), metadata=stored("mailUsers", list_of(TEXT, most=1024), Alterable.RUNNING)
    )
    umask: int | None = field(default=None, metadata=stored("umask", integer(0, 0o777), Alterable.WAITING))
    image: str | None = field(
        default=None, metadata=stored("image", _IMAGE, description="Container image; absent means the queue's.")
    )
    """The requested container image; None is the queue's."""
    server: str = field(default="localhost", metadata=stored("server", HOST, is_always=True))
    """The part of a PBS id after the dot."""
    ignored: tuple[str, ...] = field(
        default=(),
        metadata=stored(
            "ignored",
            list_of(TEXT, most=128),
            description="Options without effect on any cluster of hpcbatch, each with the reason.",
        ),
    )
    """Options without effect on any cluster of hpcbatch, as `--cpu-freq=high: …why…`. A site may refuse such jobs."""
    is_strict: bool = field(
        default=False,
        metadata=stored("strict", BOOLEAN, description="The job is refused if anything of it would be ignored."),
    )
    """`--strict`: the controller refuses the job if it would ignore anything."""
    attributes: Mapping[str, str] = field(
        default_factory=dict,
        metadata=stored(
            "attributes",
            _ATTRIBUTES,
            Alterable.RUNNING,
            description="What the dialect needs again to show the job, under its own names.",
        ),
    )
    """Further values that the dialect needs to show the job or to set its environment, under its own names:
    PBS `Submit_arguments`, `Resource_List.select`, `Join_Path`; Slurm `ntasks`, `mem_per_node_mb`."""

    def __post_init__(self) -> None:
        if not self.chunks:
            raise HpcBatchError("a job needs at least one chunk")
        self._check_sizes()
        check_resources(self.resources_per_pod)
        if self.begin_time is not None:
            check_time(self.begin_time)
        if self.walltime_s is not None and not 0 < self.walltime_s <= MAX_WALLTIME_S:
            raise HpcBatchError(f"a walltime of {self.walltime_s} s: expected 1 to {MAX_WALLTIME_S}")
        if self.min_walltime_s is not None and not 0 < self.min_walltime_s <= MAX_WALLTIME_S:
            raise HpcBatchError(f"a least walltime of {self.min_walltime_s} s: expected 1 to {MAX_WALLTIME_S}")
        if sum(map(len, self.attributes)) + sum(map(len, self.attributes.values())) > MAX_ATTRIBUTES:
            raise HpcBatchError(f"the attributes of a job have at most {MAX_ATTRIBUTES} characters")

    def _check_sizes(self) -> None:
        """Checks the sums of the chunks, and of the most pods that these can become; of its alternatives likewise."""
        for each in self.otherwise:
            each.of(self)
        count = ranks = cpus = mem_bytes = 0
        amounts = [amount for _, amount in self.resources_per_pod]
        for chunk in self.chunks:  # one loop: listings read many jobs
            count += chunk.count
            ranks += chunk.count * chunk.ranks
            cpus += chunk.count * chunk.cpus
            mem_bytes += chunk.count * (chunk.mem_bytes or 0)
            amounts += [amount for _, amount in chunk.resources]
        if count > MAX_CHUNKS:
            raise HpcBatchError(f"a job has at most {MAX_CHUNKS} chunks")
        if ranks > MAX_RANKS:
            raise HpcBatchError(f"a job has at most {MAX_RANKS} MPI processes")
        totals = (cpus, mem_bytes, count * (self.mem_per_pod_bytes or 0), *(count * amount for amount in amounts))
        if max(totals) > MAX_TOTAL:
            raise HpcBatchError(f"all chunks of a job together ask for at most {MAX_TOTAL} of anything")

    @property
    def weight(self) -> int:
        """The scheduler's order of jobs: the priority minus nice, -1024..1023."""
        return max(-MAX_WEIGHT, min(MAX_WEIGHT - 1, self.priority - self.nice))

    @property
    def is_scattered(self) -> bool:
        """No two pods share a node: so each of the nodes that it must have gets one."""
        return self.arrangement is Arrangement.SCATTER or bool(self.required_hosts)

    @property
    def resource_names(self) -> tuple[str, ...]:
        """The names of all requested further resources, each once, sorted."""
        chunks = (pair for chunk in self.chunks for pair in chunk.resources)
        return tuple(sorted({name for name, _ in (*self.resources_per_pod, *chunks)}))

    @property
    def property_names(self) -> tuple[str, ...]:
        """The names of all node properties that its chunks mention, each once, sorted."""
        sets = [s for chunk in self.chunks for s in (chunk.properties, chunk.lacks, *chunk.alternatives)]
        return tuple(sorted({name for names in sets for name in names}))

    @property
    def host_names(self) -> frozenset[str]:
        """All nodes that it or one of its chunks wants or excludes."""
        of_chunks = (name for chunk in self.chunks for name in (*chunk.hosts, *chunk.excluded_hosts))
        return frozenset({*self.required_hosts, *self.excluded_hosts, *of_chunks})

    def with_host_names(self, names: Mapping[str, str]) -> JobSpec:
        """The same job with its nodes named as `names` has it; nodes that are not in there keep their names."""

        def renamed(hosts: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(dict.fromkeys(names.get(host, host) for host in hosts))

        return replace(
            self,
            required_hosts=renamed(self.required_hosts),
            excluded_hosts=renamed(self.excluded_hosts),
            chunks=tuple(
                replace(chunk, hosts=renamed(chunk.hosts), excluded_hosts=renamed(chunk.excluded_hosts))
                for chunk in self.chunks
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """The data of a submit command: the record, and separately what others must not read."""

    spec: JobSpec
    script: bytes
    """Byte for byte as submitted; empty with `spec.command`."""
    environment: Mapping[str, str]
    """The job's variables (PBS Variable_List, Slurm --export)."""
    notes: tuple[str, ...] = ()
    """Lines to print for the submitter once, on stderr, e.g. that fewer nodes are used."""
    mail_note: str = ""
    """A further line, if the site sends no mail; "" if none was requested."""
    export_none: bool = False
    """Slurm --export=NONE: the job gets a login environment instead of the submitter's."""
