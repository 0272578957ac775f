"""What the files of a site say, before it is written as site.yaml: collected by all readers, the first file counts."""

from __future__ import annotations

from hpcbatch.dataclass import dataclass, field
from hpcbatch.errors import DirectiveError, HpcBatchError, place
from hpcbatch.typed import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from hpcbatch.site.importing.standing import Standing

_SHOWN = 80
"""Characters of a setting in a message."""


class Place(NamedTuple):
    file: str
    line: int

    def __str__(self) -> str:
        return place(self.file, self.line)


class Setting(NamedTuple):
    """One value as a file has it."""

    place: Place
    key: str
    value: str
    operator: str = "="

    def __str__(self) -> str:
        text = f"{self.key}={self.value}"
        return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


class Left(NamedTuple):
    """A setting that site.yaml cannot express, or not exactly."""

    setting: Setting
    why: str


@dataclass(slots=True)
class Queue:
    """A queue or partition as far as it is known. None: nothing was said, or there is no limit."""

    name: str
    place: Place
    is_default: bool = False
    max_walltime_s: int | None = None
    default_walltime_s: int | None = None
    max_nodes: int | None = None
    max_cpus: int | None = None
    max_mem_bytes: int | None = None
    default_mem_bytes: int | None = None
    nodes: frozenset[str] | None = None
    """Names of its nodes; None: all, or not known."""
    features: list[str] = field(default_factory=list)
    """Properties that all of its nodes have."""
    node_queue: str = ""
    """Its jobs run only on nodes that name this queue; "": anywhere."""
    routes: tuple[str, ...] = ()
    """A routing queue's destinations; it runs no jobs."""
    is_restricted: bool = False
    """Not everybody may use it."""
    priority_tier: int | None = None
    preempt_mode: str = ""
    grace_s: int = 0
    priority: int | None = None
    backfill_depth: int | None = None
    """These are PBS's."""


@dataclass(slots=True)
class Node:
    name: str
    place: Place
    features: dict[str, Place] = field(default_factory=dict)
    words: dict[tuple[str, str], Setting] = field(default_factory=dict)
    """Resources with a text as their value, which jobs may ask for: `cputype=rome`."""
    gpus: set[str] = field(default_factory=set)
    """Its types of GPU."""
    queues: dict[str, Place] = field(default_factory=dict)
    """The queues whose jobs it takes."""


class Found:
    """The collection. A reader calls one of `carried`, `own`, `leave` and `wrong` for each setting."""

    def __init__(self) -> None:
        self.queues: dict[str, Queue] = {}
        self.nodes: dict[str, Node] = {}
        self.everywhere = Queue("", Place("", 0))
        """Limits and defaults of queues that have none of their own."""
        self.values: dict[str, tuple[Any, Setting]] = {}
        """`server_name`, `default_queue`, `max_array_size`, `kill_delay_s`, `history_kept_s`."""
        self.priority: dict[str, str] = {}
        """Of site.yaml's `priority`, by key, as YAML."""
        self.preemption: dict[str, str] = {}
        """Of site.yaml's `preemption`, likewise."""
        self.licenses: dict[str, int] = {}
        self.gres: dict[str, Setting] = {}
        """Names that jobs count: `gpu`, `gpu:a100`, `ngpus`."""
        self.accounts: dict[str, Setting] = {}
        self.queues_with_nodes: set[str] = set()
        """Their jobs run only on the nodes that name them."""
        self.host_groups: dict[str, tuple[str, ...]] = {}
        """Hosts and groups of LSF's groups of hosts."""
        self.limits: dict[tuple[str, str], Setting] = {}
        self.standing: dict[str, Standing] = {}
        """Maui's standing reservations, by name."""
        self.typed: list[tuple[str, Setting]] = []
        """PBS's settings that an operator types as they are, with their queues; "": the server's."""
        self._carried: dict[Setting, None] = {}
        self._left: dict[Left, None] = {}
        self._own: dict[Setting, None] = {}
        self.errors: list[HpcBatchError] = []

    def carried(self, setting: Setting) -> None:
        """The setting is in site.yaml, or holds there anyway."""
        self._carried[setting] = None

    def own(self, setting: Setting) -> None:
        """The setting is one of the old system's daemons, which hpcbatch has no use for."""
        self._own[setting] = None

    def leave(self, setting: Setting, why: str) -> None:
        self._left[Left(setting, why)] = None

    def wrong(self, where: Place, message: str) -> None:
        self.errors.append(DirectiveError(message, path=where.file, line=where.line))

    def queue(self, name: str, where: Place) -> Queue:
        return self.queues.setdefault(name, Queue(name, where))

    def node(self, name: str, where: Place) -> Node:
        return self.nodes.setdefault(name, Node(name, where))

    def limit(self, queue: Queue, key: str, value: object, setting: Setting) -> None:
        """Give `queue` the value of its field `key`, unless another file has done so."""
        first = self.limits.get((queue.name, key))
        if first is not None and getattr(queue, key) != value:
            self.leave(setting, f"{first.place} has {first.key}={first.value}, which counts")
            return
        self.limits.setdefault((queue.name, key), setting)
        setattr(queue, key, value)
        self.carried(setting)

    def value(self, key: str, value: object, setting: Setting) -> None:
        """The same for the whole site."""
        first = self.values.get(key)
        if first is not None and first[0] != value:
            self.leave(setting, f"{first[1].place} has {first[1].key}={first[1].value}, which counts")
            return
        self.values.setdefault(key, (value, setting))
        self.carried(setting)

    @property
    def left(self) -> tuple[Left, ...]:
        return tuple(self._left)

    @property
    def settings_of_daemons(self) -> tuple[Setting, ...]:
        return tuple(self._own)

    @property
    def carried_count(self) -> int:
        """Settings that were carried over whole."""
        return len(self._carried.keys() - {left.setting for left in self._left})
