"""LSF's files: lsb.queues, lsb.hosts, lsb.params, lsf.cluster.NAME, lsf.shared.

Sections `Begin NAME` to `End NAME`, of `KEY = value` lines or of a table whose first line has the keys.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from hpcbatch.site.importing.found import Found, Place, Queue, Setting
from hpcbatch.site.importing.values import LONGEST_S, hosts, whole
from hpcbatch.typed import Final, NamedTuple

_BEGIN = re.compile(r"\s*Begin\s+(\w+)\s*", re.IGNORECASE)
_END = re.compile(r"\s*End\s+(\w+)\s*", re.IGNORECASE)
_PAIR = re.compile(r"\s*([A-Za-z_]\w*)\s*=\s*(.*?)\s*", re.DOTALL)
_CELL = re.compile(r"\([^()]*\)|[^\s()]+")
_CLUSTER_FILE = re.compile(r"lsf\.cluster\.([A-Za-z0-9_.-]+)")
_LIMIT = re.compile(r"(?:(\d{1,7}):)?(\d{1,9})(?:/\S*)?", re.ASCII)
_SIZE = re.compile(r"(\d{1,15})\s*([KMGTPE]?)B?", re.ASCII | re.IGNORECASE)
_NONE: Final = frozenset({"", "()", "-", "all", "none"})
_TABLES: Final = frozenset(
    {"host", "hostgroup", "hostpartition", "computeunit", "resource", "hosttype", "hostmodel", "cluster"}
)
_ACCESS: Final = "who may use a queue has no key here: allowGroups and allowAccounts of site.yaml by hand"
_ORDER: Final = "the order of jobs and queues is the plan's: see priority in site.yaml"
_PER_USER: Final = "limits of users are those of accounts: sacctmgr, or qmgr"
_LEFT: Final[Mapping[str, str]] = {
    "USERS": _ACCESS,
    "FAIRSHARE": _ORDER,
    "PRIORITY": _ORDER,
    "PREEMPTION": "preemption of queues: preemption in site.yaml, and priorityTier of queues",
    "UJOB_LIMIT": _PER_USER,
    "PJOB_LIMIT": "slots of a node are its CPUs",
    "HJOB_LIMIT": "slots of a node are its CPUs",
    "QJOB_LIMIT": "how much of a queue runs at once is a limit of the queue: qmgr, or a Volcano Queue's capability",
    "RES_REQ": "a queue has no requirements of its own but its nodes",
    "PRE_EXEC": "the site's nodes run no commands before a job",
    "POST_EXEC": "the site's nodes run no commands after a job",
    "JOB_STARTER": "the site's nodes run no commands before a job",
    "RUN_WINDOW": "queues have no hours: qstop and qstart",
    "DISPATCH_WINDOW": "queues have no hours: qstop and qstart",
    "INTERACTIVE": "a queue takes batch jobs and interactive ones",
    "EXCLUSIVE": "a job may ask for nodes of its own in each queue",
    "NICE": "processes have the nice value that their job asks for",
    "RERUNNABLE": "whether a job may run again is its own to say: -r, -rn",
    "REQUEUE_EXIT_VALUES": "exit codes do not queue a job again",
    "CPULIMIT": "CPU time is limited by jobs themselves",
    "ADMINISTRATORS": "operators are named by the cluster's RBAC",
}


class _Row(NamedTuple):
    section: str
    """In lower case."""
    settings: dict[str, Setting]
    """By key in upper case."""
    place: Place


def read(text: str, file: str, found: Found) -> None:
    if match := _CLUSTER_FILE.fullmatch(file.rpartition("/")[2]):
        found.value("server_name", match[1], Setting(Place(file, 1), "lsf.cluster", match[1]))
    for row in _rows(text, file, found):
        _READ.get(row.section, _own)(row, found)


def _rows(text: str, file: str, found: Found) -> Iterator[_Row]:
    """Each section of pairs, and each line of a table."""
    section, start = "", Place(file, 1)
    keys: list[str] = []
    pairs: dict[str, Setting] = {}
    for number, line in _lines(text):
        place = Place(file, number)
        if match := _BEGIN.fullmatch(line):
            section, keys, pairs, start = match[1].lower(), [], {}, place
        elif _END.fullmatch(line):
            if pairs:
                yield _Row(section, pairs, start)
            section, pairs = "", {}
        elif not section:
            if match := _PAIR.fullmatch(line):
                found.own(Setting(place, match[1], match[2]))
        elif (match := _PAIR.fullmatch(line)) and section not in _TABLES:
            pairs[match[1].upper()] = Setting(place, match[1], match[2])
        elif not keys:
            keys = [cell.upper() for cell in _CELL.findall(line)]
        else:
            cells = _CELL.findall(line)
            row = {key: Setting(place, key, cell) for key, cell in zip(keys, cells, strict=False)}
            yield _Row(section, row, place)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Without comments and empty lines; a backslash at the end goes on in the next line."""
    joined, first = "", 0
    for number, line in enumerate(text.split("\n"), 1):
        first = first or number
        plain = line.partition("#")[0].rstrip()
        if plain.endswith("\\"):
            joined += f"{plain[:-1]} "
            continue
        if (joined + plain).strip():
            yield first, joined + plain
        joined, first = "", 0


def _own(row: _Row, found: Found) -> None:
    for setting in row.settings.values():
        found.own(setting)


def _queue(row: _Row, found: Found) -> None:
    name = row.settings.get("QUEUE_NAME")
    if name is None:
        found.wrong(row.place, "a queue without QUEUE_NAME")
        return
    queue = found.queue(name.value, name.place)
    found.carried(name)
    for key, setting in row.settings.items():
        if key in _LIMITS:
            _LIMITS[key](queue, setting, found)
        elif key in _LEFT:
            if setting.value.lower() in _NONE or (key, setting.value.lower()) in _HARMLESS:
                found.carried(setting)
            else:
                found.leave(setting, _LEFT[key])
                queue.is_restricted |= key == "USERS"
        elif key != "QUEUE_NAME":
            found.own(setting)


_HARMLESS: Final = frozenset({("INTERACTIVE", "yes"), ("EXCLUSIVE", "y"), ("EXCLUSIVE", "yes"), ("USERS", "all")})


def _seconds(text: str) -> int | None:
    match = _LIMIT.fullmatch(text)
    return None if match is None else (int(match[1] or 0) * 60 + int(match[2])) * 60


def _run_limit(queue: Queue, setting: Setting, found: Found) -> None:
    """`[default] maximum`, each `[hours:]minutes[/host]`."""
    seconds = [_seconds(word) for word in setting.value.split()]
    if not 1 <= len(seconds) <= 2 or any(not each for each in seconds):
        found.wrong(setting.place, f"{setting}: expected [default] maximum, as [hours:]minutes")
        return
    if len(seconds) == 2:
        found.limit(queue, "default_walltime_s", seconds[0], setting)
    most = seconds[-1]
    found.limit(queue, "max_walltime_s", None if most is None or most > LONGEST_S else most, setting)


def _mem_limit(queue: Queue, setting: Setting, found: Found) -> None:
    """`[default] maximum`, in KB without a unit."""
    sizes = []
    for word in setting.value.split():
        match = _SIZE.fullmatch(word)
        if match is None:
            found.wrong(setting.place, f"{setting}: expected [default] maximum, as a size")
            return
        sizes.append(int(match[1]) << 10 * (" KMGTPE".index(match[2].upper()) if match[2] else 1))
    if not 1 <= len(sizes) <= 2 or max(sizes) >= 2**63 or not min(sizes):
        found.wrong(setting.place, f"{setting}: expected [default] maximum, as a size")
        return
    if len(sizes) == 2:
        found.limit(queue, "default_mem_bytes", sizes[0], setting)
    found.limit(queue, "max_mem_bytes", sizes[-1], setting)


def _task_limit(queue: Queue, setting: Setting, found: Found) -> None:
    """`[[minimum] default] maximum`"""
    counts = [whole(word) for word in setting.value.split()]
    if not 1 <= len(counts) <= 3 or any(not count for count in counts):
        found.wrong(setting.place, f"{setting}: expected [[minimum] default] maximum")
        return
    found.limit(queue, "max_cpus", counts[-1], setting)
    if len(counts) == 3 and counts[0] != 1:
        found.leave(setting, "the least number of slots: minCPUs by hand")


def _hosts(queue: Queue, setting: Setting, found: Found) -> None:
    words = [word.partition("+")[0].rstrip("!") for word in setting.value.split()]
    if "all" in words and not any(word.startswith("~") for word in words):
        found.carried(setting)
        return
    names: set[str] = set()
    without: set[str] = set()
    for word in words:
        into = without if word.startswith("~") else names
        into.update(found.nodes if word == "all" else _members(word.removeprefix("~"), found))
    found.limit(queue, "nodes", frozenset(names - without), setting)


def _members(name: str, found: Found) -> tuple[str, ...]:
    """Hosts of a group, with those within it; of a name that is no group, itself."""
    seen: dict[str, None] = {}
    left, groups = [name.rstrip("/")], set[str]()
    while left:
        each = left.pop()
        if each in found.host_groups and each not in groups:
            groups.add(each)
            left += found.host_groups[each]
        elif each not in groups:
            seen[each] = None
    return tuple(sorted(seen))


def _group(row: _Row, found: Found) -> None:
    name, members = row.settings.get("GROUP_NAME"), row.settings.get("GROUP_MEMBER")
    if name is None or members is None:
        found.wrong(row.place, "a group of hosts: expected GROUP_NAME and GROUP_MEMBER")
        return
    words = [one for word in members.value.strip("()").split() for one in hosts(word.rstrip("/")) or [word]]
    found.host_groups[name.value] = tuple(word for word in words if not word.startswith("~"))
    for setting in (name, members):
        found.carried(setting)


def _host(row: _Row, found: Found) -> None:
    """Of lsb.hosts and of lsf.cluster."""
    name = row.settings.get("HOST_NAME") or row.settings.get("HOSTNAME")
    if name is None or name.value.lower() == "default":
        _own(row, found)
        return
    node = found.node(name.value, name.place)
    found.carried(name)
    for key, setting in row.settings.items():
        if key == "RESOURCES":
            for feature in setting.value.strip("()").split():
                if feature not in {"mg", "ptool"}:
                    node.features.setdefault(feature, setting.place)
            found.carried(setting)
        elif key == "MODEL" and setting.value not in {"!", "-", "()"}:
            node.words[("model", setting.value)] = setting
            found.carried(setting)
        elif setting is not name:
            found.own(setting)


def _parameters(row: _Row, found: Found) -> None:
    for key, setting in row.settings.items():
        number = whole(setting.value)
        if key == "DEFAULT_QUEUE":
            found.value("default_queue", setting.value.split()[0] if setting.value else "", setting)
        elif key == "MAX_JOB_ARRAY_SIZE" and number:
            found.value("max_array_size", number, setting)
        elif key == "JOB_TERMINATE_INTERVAL" and number:
            found.value("kill_delay_s", number, setting)
        elif key == "CLEAN_PERIOD":
            found.leave(setting, "how long records are kept: historyKept by hand; bjobs shows ended jobs for an hour")
        else:
            found.own(setting)


def _cluster(row: _Row, found: Found) -> None:
    """Of lsf.shared."""
    if (name := row.settings.get("CLUSTERNAME")) is not None:
        found.value("server_name", name.value, name)


_LIMITS: Final[Mapping[str, Callable[[Queue, Setting, Found], None]]] = {
    "RUNLIMIT": _run_limit,
    "MEMLIMIT": _mem_limit,
    "PROCLIMIT": _task_limit,
    "TASKLIMIT": _task_limit,
    "HOSTS": _hosts,
}
_READ: Final[Mapping[str, Callable[[_Row, Found], None]]] = {
    "queue": _queue,
    "host": _host,
    "hostgroup": _group,
    "parameters": _parameters,
    "cluster": _cluster,
}
