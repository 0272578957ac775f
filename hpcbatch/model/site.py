"""The settings of a site: queues and their limits, images, volumes, names. The engine starts with all defaults."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from fnmatch import fnmatchcase

from hpcbatch.dataclass import dataclass, field, replace
from hpcbatch.model.accelerator import Accelerator, called, is_gpu, visible_variable
from hpcbatch.model.array import MAX_MEMBERS
from hpcbatch.model.grouping import Grouping, Level
from hpcbatch.model.mail import MailConfig
from hpcbatch.model.preemption import PreemptionConfig
from hpcbatch.model.priority import PriorityConfig, ShortJobs
from hpcbatch.model.queue_names import queue_of
from hpcbatch.model.scheduler import USUAL_NAME, Scheduler
from hpcbatch.typed import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hpcbatch.model.reservation import Reserved


class Launcher(StrEnum):
    """Where a job's script runs."""

    SHARED = "shared"  # in the first chunk's pod, which computes too, as PBS's mother superior does: N nodes are N pods
    DEDICATED = "dedicated"  # in a small pod of its own that only launches, and N workers: Volcano's classic shape


class Unsupported(StrEnum):
    """What becomes of a job with options that have no effect here."""

    WARN = "warn"
    REFUSE = "refuse"


class Word(StrEnum):
    """The kinds of names in scripts that a site can translate."""

    RESOURCE = "resource"  # of -l, select and --gres: gpu, gpu:a100, filesystems
    FEATURE = "feature"  # node property (PBS), feature (Slurm)
    LICENSE = "license"
    ACCOUNT = "account"
    PROJECT = "project"
    QOS = "qos"
    RESERVATION = "reservation"
    NODE = "node"  # of -w, -x, host=, nodes=n01
    CLUSTER = "cluster"  # of --clusters, queue@server
    OPTION = "option"  # of a plugin of sbatch: --ear=on


class Policy(StrEnum):
    """Who decides which waiting job starts next."""

    BACKFILL = "backfill"  # policy.plan: by priority, with starts planned ahead, which no later job delays
    VOLCANO = "volcano"  # Volcano alone: every job that may start has its Volcano Job, and the first that fits starts


OTHER_KIND = "@"
"""Begins the names of words in a layout that are no resources: `("@reservation", "maintenance")`. They stand there for
the labels that the site wants for them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Translation:
    """What a site makes of a name in scripts. The first of a site's translations that fits a name counts.
    One of `labels`, `renamed`, `ignored` and `refused` is given; `renamed` may have `labels` beside it."""

    word: Word
    pattern: str
    """The name, with `*` and `?`."""
    value: str = "*"
    """Pattern of the value, for resources and options that have one."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels that the nodes must have. In a resource's, `{value}` is the value."""
    renamed: str = ""
    """The name of the same kind that counts instead; `gpu:*` → `gpu`. In a resource `{value}` is the value, and
    `feature {value}` makes it a feature of that name."""
    ignored: str = ""
    """Why it has no effect here."""
    refused: str = ""
    """Why a job with it is refused."""

    def fits(self, word: Word, name: str, value: str = "") -> bool:
        return word is self.word and fnmatchcase(name, self.pattern) and fnmatchcase(value, self.value)

    def labels_for(self, value: str) -> dict[str, str]:
        return {label: text.replace("{value}", value) for label, text in self.labels.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueConfig:
    """A PBS queue or Slurm partition: a name, limits and defaults on a Volcano Queue. None: no limit, no default."""

    name: str
    volcano_queue: str
    is_default: bool = False
    aliases: tuple[str, ...] = ()
    """Further names of the queue in scripts, with `*` and `?`."""
    shard: str = ""
    """Which of the site's controllers has its jobs: the one that was started for this; "": the one without a name."""
    image: str | None = None
    """None: the site's."""
    allowed_images: tuple[str, ...] = ()
    """Patterns (`*`, `?`) in addition to the site's own."""
    max_walltime_s: int | None = None
    default_walltime_s: int | None = None
    max_nodes: int | None = None
    """Pods of a job."""
    max_cpus: int | None = None
    """CPUs of all pods of a job together."""
    max_mem_per_node_bytes: int | None = None
    """Memory of each pod."""
    default_mem_per_node_bytes: int | None = None
    """For pods whose job requests none."""
    node_selector: Mapping[str, str] = field(default_factory=dict)
    min_nodes: int | None = None
    min_cpus: int | None = None
    min_walltime_s: int | None = None
    max_mem_bytes: int | None = None
    """Memory of all pods of a job together."""
    min_mem_bytes: int | None = None
    destinations: tuple[str, ...] | None = None
    """Names of queues: it is a routing queue of PBS, and the first of these that takes a job gets it. None: its jobs
    are started in it."""
    routes_held: bool = False
    """Jobs that are held are routed, too."""
    routes_waiting: bool = False
    """Likewise jobs whose time to begin has not come."""
    from_route_only: bool = False
    """Jobs come from routing queues alone."""
    nodes: tuple[str, ...] | None = None
    """Host names of the nodes that it reaches, of those that have the labels; None: all of them."""
    allow_accounts: tuple[str, ...] | None = None
    """Accounts whose jobs it takes, and no others. None: all but `deny_accounts`."""
    deny_accounts: tuple[str, ...] = ()
    allow_qos: tuple[str, ...] | None = None
    """Qualities of service whose jobs it takes, and no others. None: all but `deny_qos`."""
    deny_qos: tuple[str, ...] = ()
    qos: str = ""
    """A quality of service whose limits count for all its jobs (Slurm's partition QOS); "": none."""
    disables_root: bool = False
    """Root may not use it."""
    allow_groups: tuple[str, ...] | None = None
    """Groups whose members may use it. None: everybody."""
    is_hidden: bool = False
    """sinfo and scontrol show it only where they are to show all."""
    root_only: bool = False
    """Only root may use it."""
    priority_tier: int = 1
    """Jobs of a higher tier start before all others of the same Volcano Queue."""
    priority_job_factor: int = 1
    """Shown; priorities have no factors."""
    preempt_mode: str = ""
    """What becomes of its jobs that are preempted, a PreemptMode; "": as everywhere."""
    grace_s: int = 0
    """How long they go on after they have been chosen, where they yield to a higher tier."""
    priority: int | None = None
    """PBS's; its jobs preempt those of other queues if it is high enough (model.preemption)."""
    backfill_depth: int | None = None
    """How many of its jobs have planned starts; None: they count for the site's number, with those of all such
    queues."""
    reservation: str = ""
    """The queue is that of a reservation, by this name."""
    is_on: bool = True
    """Of a reservation's: it has begun."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Volume:
    """A volume that is mounted in every pod of every job."""

    name: str
    mount_path: str
    source: Mapping[str, Any]
    """One volume source of Kubernetes: `{"persistentVolumeClaim": {"claimName": "home"}}`, `{"nfs": …}` …"""
    read_only: bool = False
    sub_path: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteModule:
    """The effect of `module load` of that name in a job. Without image and variables: none, the image has it."""

    name: str
    """May contain `*` and `?`, as `intel/*`."""
    image: str | None = None
    """The image that contains it; a job in another image gets a warning."""
    environment: Mapping[str, str] = field(default_factory=dict)
    prepend_path: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Variable → directories that are put in front of its value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteConfig:
    server_name: str = "hpcbatch"
    """The part of PBS ids after the dot; Slurm's ClusterName."""
    cluster_domain: str = "cluster.local"
    """Domain of the cluster's DNS."""
    default_queue: str = "default"
    """A Volcano Queue; PBS's default_queue and Slurm's default partition. If `queues` is not empty, one of these."""
    queues: tuple[QueueConfig, ...] = ()
    """Empty: every Volcano Queue is a queue of the same name, without limits."""
    operator_queues: tuple[QueueConfig, ...] = ()
    """Where `queues` is empty: those that operators have made beside the Volcano Queues, or have changed; see
    site.partitions."""
    image: str = "hpcbatch.io/host"
    """The embedded engine ignores it: its image is the host's file system."""
    allowed_images: tuple[str, ...] = ()
    """Patterns (`*`, `?`) of the images that users may name. Empty: none."""
    image_pull_timeout_s: int = 300
    """How long a job may try to pull an image or to mount a volume before it fails with the reason."""
    volumes: tuple[Volume, ...] = ()
    mounts_passwd: bool = False
    """Whether pods get an /etc/passwd and /etc/group with the job's user: images lack them, and ssh and sshd need them.
    The embedded engine's pods have the host's."""
    strict_groups: bool = True
    """Whether a job's groups are the user's alone. Else the container runtime adds those that the image's own
    /etc/group gives the user: whoever brings an image chooses groups. Needs containerd 2.0 or CRI-O 1.31."""
    node_properties: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """PBS node property or Slurm feature → the required node labels."""
    node_features: frozenset[str] = frozenset()
    """Features that operators have given nodes (model.node_features), which are in `node_properties`, too."""
    unknown_queues: str = ""
    """The queue of jobs whose scripts name one that there is not; "": such jobs are refused."""
    translations: tuple[Translation, ...] = ()
    """What becomes of names in scripts, beside `resources` and `node_properties`, which come first."""
    unsupported: Unsupported = Unsupported.WARN
    """What becomes of a job with options that have no effect here."""
    licenses: Mapping[str, int] = field(default_factory=dict)
    """Licence → how many there are; jobs that run never hold more together."""
    resources: Mapping[str, str] = field(default_factory=lambda: {"ngpus": "nvidia.com/gpu", "gpu": "nvidia.com/gpu"})
    """PBS resource or Slurm gres → Kubernetes' extended resource. Each of `accelerators` has its full name here."""
    made_resources: frozenset[str] = frozenset()
    """Names that operators have made by qmgr, which are among `licenses`, `node_properties` or `translations`, too."""
    topology: tuple[Level, ...] = ()
    """The levels of the network, the lowest first."""
    accelerators: tuple[Accelerator, ...] = ()
    """The types of GPU that jobs may ask for; without any, `resources` and `translations` say what types mean."""
    node_mem_reserve_bytes: int = 0
    """Memory of a node that jobs which request all of it leave to other pods."""
    refuses_oversize: bool = False
    """Whether Slurm jobs of more nodes or CPUs than their partition has are refused, as by EnforcePartLimits; else they
    wait."""
    autoscaling: bool = False
    """Whether nodes are added for waiting jobs: then sbatch never refuses a job because no current node fits."""
    policy: Policy = Policy.BACKFILL
    """With `autoscaling` it is VOLCANO: nodes are only added for jobs that have pods."""
    backfill_depth: int = 1
    """How many of the waiting jobs that cannot start yet get a start that no other job may delay; 1 is EASY."""
    scheduler: Scheduler = Scheduler.VOLCANO
    own_scheduler_name: str = ""
    """The schedulerName of jobs' pods; "": the usual one of `scheduler`."""
    interactive_scheduler: str = "default-scheduler"
    """With Volcano, where the plan decides: the schedulerName of an interactive job's only pod, see policy.lone_pod;
    `scheduler_name`: Volcano's scheduler places it, too."""
    place_timeout_s: int = 30
    """How long a job that was started may be without all its nodes, before it is taken back and planned anew."""
    launcher: Launcher = Launcher.SHARED
    launcher_cpu_milli: int = 100
    """The request of a dedicated launcher."""
    history_kept_s: int = 14 * 86400
    """How long the record of an ended job is kept. PBS job_history_duration: two weeks."""
    history_moved_after_s: int = 60
    """How long an ended job stays a BatchJob before it moves to the history's database, if there is one."""
    most_records: int = 50_000
    """So many ended jobs at most stay BatchJobs: etcd has room for some, and none left stops the cluster."""
    max_array_size: int = MAX_MEMBERS
    """How many members an array may have. PBS max_array_size 10000; Slurm's MaxArraySize 1001 is one more."""
    kill_delay_s: int = 10
    """Between SIGTERM and SIGKILL when a job is killed. PBS kill_delay 10, Slurm KillWait 30."""
    interactive_idle_limit_s: int | None = None
    """How long an interactive job may do nothing before it is ended; None: for ever. Slurm's InactiveLimit."""
    start_timeout_s: int = 120
    """How long the first pod waits for every other host of the job to answer ssh, beside the time that these may take
    to pull the image."""
    ssh_port: int = 22
    """Port of sshd in the pods; above 1023 if the sysctl net.ipv4.ip_unprivileged_port_start is forbidden."""
    ssh_tools: str = ""
    """Directory on a volume, made by deploy/ssh-tools.sh, with OpenSSH for images without it; empty: none."""
    login_shell: bool = True
    """Whether a job that brings no environment along starts by a login shell, as PBS starts it: one that reads the
    user's own profile too. False: only /etc/profile, where sites have their `module` command, since some people's
    profile takes longer than a short job, and waits for locks when a hundred jobs start at once."""
    judges_wrf: bool = True
    """Whether a job whose WRF failed according to its log fails too, whatever its script's exit code."""

    modules: tuple[SiteModule, ...] = ()
    """For images without a `module` of their own."""
    mail: MailConfig | None = None
    """How mail is sent; None: no mail."""
    reservations: Mapping[str, Reserved] = field(default_factory=dict)
    """Those in force, by the names by which jobs ask for them. Those of PBS have queues, among the others."""
    accounting_enforce: frozenset[str] = frozenset()
    """Of associations, limits and qos, what of the accounts is enforced; Slurm's AccountingStorageEnforce. `limits` and
    `qos` include `associations`."""
    priority: PriorityConfig = field(default_factory=PriorityConfig)
    """As written; `ranked_by` is what counts."""
    short_first: ShortJobs | None = None
    """Which jobs go first, within a bound for the others; None: none."""
    preemption: PreemptionConfig = field(default_factory=PreemptionConfig)

    @property
    def scheduler_name(self) -> str:
        return self.own_scheduler_name or USUAL_NAME[self.scheduler]

    @property
    def ranked_by(self) -> PriorityConfig:
        """Who goes first, with the factors that queues have of their own."""
        queues = (*self.queues, *self.operator_queues)
        own = {queue.name: queue.priority_job_factor for queue in queues if queue.priority_job_factor != 1}
        return replace(self.priority, partition_factors={**self.priority.partition_factors, **own})

    @property
    def express_queues(self) -> frozenset[str]:
        """Those whose jobs go before, and preempt, others."""
        queues = (*self.queues, *self.operator_queues)
        return frozenset(queue.name for queue in queues if self.preemption.level(queue.priority))

    @property
    def depths(self) -> tuple[int, dict[str, int]]:
        """How many jobs have planned starts: of all queues together but those that have a number of their own, and by
        these queues."""
        queues = (*self.queues, *self.operator_queues)
        own = {queue.name: queue.backfill_depth for queue in queues if queue.backfill_depth is not None}
        return self.backfill_depth, own

    @property
    def ignored_options(self) -> Mapping[str, str]:
        """Patterns of plugins' options that have no effect here, each with the reason, in the site's order."""
        found: dict[str, str] = {}
        for each in self.translations:
            if each.word is Word.OPTION:
                found.setdefault(each.pattern, each.ignored)
        return found

    def is_reservation(self, name: str) -> bool:
        return name in self.reservations

    def queue(self, name: str) -> QueueConfig | None:
        """The queue of that name; None if there is none. Without `queues`, any name is a Volcano Queue's."""
        if not self.queues:
            if (made := next((queue for queue in self.operator_queues if queue.name == name), None)) is not None:
                return made
            return QueueConfig(name=name, volcano_queue=name, is_default=name == self.default_queue)
        return next((queue for queue in self.queues if queue.name == name), None)

    @property
    def has_routes(self) -> bool:
        """Whether there are routing queues."""
        return any(queue.destinations is not None for queue in (*self.queues, *self.operator_queues))

    @property
    def partition_qos(self) -> Mapping[str, str]:
        """The qualities of service of partitions that have one."""
        return {queue.name: queue.qos for queue in (*self.queues, *self.operator_queues) if queue.qos}

    def queue_called(self, name: str) -> QueueConfig | None:
        """The queue that scripts mean by `name`: its own, or an alias, of which those without patterns go first."""
        if (queue := self.queue(name)) is not None:
            return queue
        return queue_of(name, self.queues)

    def shard_called(self, name: str) -> str:
        """The shard of the queue that scripts mean by `name`, "" being the default. That of an unknown one is ""."""
        queue = self.queue_called(name or self.default_queue)
        if queue is None and self.unknown_queues:
            queue = self.queue_called(self.unknown_queues)
        return "" if queue is None else queue.shard

    def level_of(self, grouping: Grouping | None) -> Level | None:
        """The level of the network that a job means; None: it means none, or the site has not got it."""
        if grouping is None:
            return None
        return next((each for each in self.topology if grouping.level in {"", each.name}), None)

    def accelerator(self, resource: str) -> Accelerator | None:
        """The accelerator that a resource of a chunk is, by its full name; None: it is none, or of no type."""
        return next((each for each in self.accelerators if each.full_name == resource), None)

    def accelerator_in(self, queue: str) -> Accelerator | None:
        """The accelerator that GPUs of no type are in that queue; None: any with the resource."""
        return next((each for each in self.accelerators if queue in each.queues), None)

    def accelerator_called(self, kind: str) -> Accelerator | None:
        """The accelerator that scripts mean by a type."""
        return called(self.accelerators, kind)

    def kind_of(self, resource: str) -> Accelerator | None:
        """The accelerator that a GPU of a chunk is; of no type: the first with the resource. None: none is known."""
        if (own := self.accelerator(resource)) is not None:
            return own
        extended = self.resources.get(resource, "")
        return next((each for each in self.accelerators if each.resource == extended), None)

    def visible_variable(self, resource: str) -> str:
        """The variable that tells a program which of a chunk's GPUs are its own; "": none, or no GPU."""
        if not is_gpu(resource):
            return ""
        kind = self.kind_of(resource)
        return visible_variable(self.resources.get(resource, "")) if kind is None else kind.variable

    def labels_of(self, word: Word, name: str, value: str = "") -> Mapping[str, str] | None:
        """The labels of the nodes that a name asks for; None if it asks for none by labels."""
        if word is Word.FEATURE and name in self.node_properties:
            return self.node_properties[name]
        if word is Word.RESOURCE and (own := self.accelerator(name)) is not None:
            return own.labels
        found = next((each for each in self.translations if each.fits(word, name, value)), None)
        return found.labels_for(value) if found is not None and found.labels else None

    def labels_of_word(self, name: str, value: str) -> Mapping[str, str] | None:
        """As `labels_of`, for one of a chunk's words as the layout keeps them; see OTHER_KIND."""
        if name.startswith(OTHER_KIND):
            return self.labels_of(Word(name.removeprefix(OTHER_KIND)), value)
        return self.labels_of(Word.RESOURCE, name, value)

    def image_of(self, queue: QueueConfig) -> str:
        """The image of jobs in `queue` that request none."""
        return queue.image or self.image

    def allows_image(self, image: str, queue: QueueConfig) -> bool:
        """Whether a user may request `image` in `queue`; the queue's own always."""
        patterns = (*self.allowed_images, *queue.allowed_images)
        return image == self.image_of(queue) or any(fnmatchcase(image, pattern) for pattern in patterns)
