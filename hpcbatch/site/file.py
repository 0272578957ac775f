"""The site's configuration file: YAML text to SiteConfig, or all of its errors. docs/site.md has the keys.

Pure: the caller reads the text, and handles a bad one.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence

import yaml

from hpcbatch.dataclass import dataclass, replace
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.site import QueueConfig, SiteConfig, Volume
from hpcbatch.site.accelerators import read_accelerators, read_resources
from hpcbatch.site.accounting import read_enforced, read_priority, read_short_first
from hpcbatch.site.labels import SUBDOMAIN, is_label_key, label_value, read_labels
from hpcbatch.site.mail import read_mail
from hpcbatch.site.modules import read_modules
from hpcbatch.site.policy import read_launcher, read_policy
from hpcbatch.site.preemption import QUEUE_KEYS as PREEMPTION_KEYS
from hpcbatch.site.preemption import read_of_queue, read_preemption
from hpcbatch.site.scheduler import read_scheduler
from hpcbatch.site.topology import read_topology
from hpcbatch.site.vocabulary import check_aliases, queue_alias, read_licenses, read_translations, read_unknown_queues
from hpcbatch.site.vocabulary import unsupported as read_unsupported
from hpcbatch.site.yaml_fields import (
    Fields,
    NoYamlError,
    Problem,
    UnfitError,
    boolean,
    compose,
    list_of,
    number,
    plain,
    text,
)
from hpcbatch.typed import TYPE_CHECKING, Any, Final
from hpcbatch.units import cpu_milli, memory_bytes

if TYPE_CHECKING:
    from jinja2 import BaseLoader

API_VERSION: Final = "hpcbatch.io/v1alpha1"
KIND: Final = "SiteConfiguration"
FILE_KEY: Final = "site.yaml"
TEMPLATE_KEY: Final = "job.yaml.j2"

CLUSTER_DEFAULTS: Final = SiteConfig(mounts_passwd=True, image="", node_mem_reserve_bytes=1 << 30)
"""Defaults of a real cluster's file. It has to name an image. Its nodes also run pods that belong to no job."""

SITE_KEYS: Final = (
    "apiVersion",
    "kind",
    "serverName",
    "clusterDomain",
    "image",
    "allowedImages",
    "imagePullTimeout",
    "queues",
    "volumes",
    "mountPasswd",
    "strictGroups",
    "nodeProperties",
    "resources",
    "accelerators",
    "topology",
    "launcher",
    "launcherCPU",
    "maxArraySize",
    "historyKept",
    "historyMovedAfter",
    "mostRecords",
    "killDelay",
    "interactiveIdleLimit",
    "startTimeout",
    "sshPort",
    "sshTools",
    "loginShell",
    "mail",
    "modules",
    "judgeWRF",
    "autoscaling",
    "refuseOversize",
    "policy",
    "backfillDepth",
    "scheduler",
    "schedulerName",
    "interactiveScheduler",
    "placeTimeout",
    "unsupported",
    "unknownQueues",
    "licenses",
    "translations",
    "nodeMemoryReserve",
    "accountingEnforce",
    "priority",
    "shortFirst",
    "preemption",
)
QUEUE_KEYS: Final = (
    "name",
    "aliases",
    "shard",
    "volcanoQueue",
    "default",
    "image",
    "allowedImages",
    "maxWalltime",
    "defaultWalltime",
    "maxNodes",
    "maxCPUs",
    "maxMemoryPerNode",
    "defaultMemoryPerNode",
    "nodeSelector",
    *PREEMPTION_KEYS,
)
VOLUME_KEYS: Final = ("name", "mountPath", "readOnly", "subPath")
SOURCES: Final[Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "persistentVolumeClaim": (("claimName",), ("readOnly",)),
    "nfs": (("server", "path"), ("readOnly",)),
    "hostPath": (("path",), ("type",)),
    "emptyDir": ((), ("medium", "sizeLimit")),
    "cephfs": (("monitors",), ("path", "user", "secretFile", "secretRef", "readOnly")),
    "csi": (("driver",), ("fsType", "nodePublishSecretRef", "readOnly", "volumeAttributes")),
    "ephemeral": (("volumeClaimTemplate",), ()),
    "configMap": (("name",), ("items", "defaultMode", "optional")),
    "secret": (("secretName",), ("items", "defaultMode", "optional")),
    "projected": (("sources",), ("defaultMode",)),
}
"""Volume sources of Kubernetes: their required keys, and the optional ones."""

_VOLUME_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,56}[a-z0-9])?")  # in pods their names begin with `site-`
_SHARD = re.compile(r"[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?")  # a part of the name of a Lease
_QUEUE_NAME = re.compile(r"[A-Za-z0-9][-A-Za-z0-9_.]{0,62}")
_WORD = re.compile(r"[A-Za-z0-9_][-A-Za-z0-9_.:]{0,62}")
_DURATION = re.compile(r"(?:(?P<days>\d{1,5})-)?(?P<h>\d{1,6}):(?P<m>[0-5]\d):(?P<s>[0-5]\d)", re.ASCII)
_WITH_UNIT = re.compile(r"(\d{1,9})([smhdw]?)", re.ASCII)
_UNIT_S = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_IMAGE = re.compile(
    r"(?:[A-Za-z0-9][-A-Za-z0-9.]*(?::\d+)?/)?[a-z0-9]+(?:[._-]+[a-z0-9]+)*(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*"
    r"(?::[A-Za-z0-9_][-A-Za-z0-9_.]{0,127})?(?:@sha256:[0-9a-f]{64})?",
    re.ASCII,
)
_IMAGE_PATTERN = re.compile(r"[-A-Za-z0-9_.:/@*?]+")
_OURS = ("/hpcbatch", "/etc/volcano", "/etc/passwd", "/etc/group", "/proc", "/sys", "/dev")
_MOUNTABLE = ("/dev/shm",)  # noqa: S108  used by MPI libraries for shared memory
_MAX_COUNT = 10**6


class SiteFileError(HpcBatchError):
    """The configuration is invalid; `problems` has all errors, in the order of the file."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        super().__init__(f"{problems[0]}{more}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A site configuration: its values, and its own template, if any."""

    config: SiteConfig
    loader: BaseLoader | None = None
    """Finds the templates; None: those of hpcbatch."""


def read_site(
    source: str, *, defaults: SiteConfig = CLUSTER_DEFAULTS, template: str | None = None, file: str = FILE_KEY
) -> Site:
    """Read the text of a site file; an empty one is `defaults`. `template` replaces the Volcano Job's template.
    Raises SiteFileError with all errors. `file` is the file's name in the messages.
    """
    config = read_config(source, defaults=defaults, file=file)
    from hpcbatch.site.template import try_template  # needs the values of the text

    loader, problems = try_template(config, template)
    if problems:
        raise SiteFileError(
            [Problem(TEMPLATE_KEY if template is not None else file, None, None, "", p) for p in problems]
        )
    return Site(config=config, loader=loader)


def read_config(source: str, *, defaults: SiteConfig = CLUSTER_DEFAULTS, file: str = FILE_KEY) -> SiteConfig:
    """As `read_site`, without trying the template."""
    try:
        root = compose(source, file)
    except NoYamlError as error:
        raise SiteFileError([error.problem]) from None
    problems: list[Problem] = []
    fields = Fields(root, SITE_KEYS, problems, file, "")
    if root is not None:
        fields.require("apiVersion", _exactly(API_VERSION), API_VERSION)
        fields.require("kind", _exactly(KIND), KIND)
    config = _site(fields, defaults)
    if problems:
        raise SiteFileError(sorted(problems, key=lambda problem: problem.line or 0))
    return config


def _site(fields: Fields, defaults: SiteConfig) -> SiteConfig:
    image = fields.take("image", _image, defaults.image)
    queues = _queues(fields, site_has_image=bool(image) or "image" in fields)
    autoscaling = fields.take("autoscaling", boolean, defaults.autoscaling)
    policy = read_policy(fields, defaults.policy, autoscaling=autoscaling)
    accelerators = read_accelerators(fields, {queue.name for queue in queues})
    return replace(
        defaults,
        server_name=fields.take("serverName", _fits(SUBDOMAIN, "a host name in lower case"), defaults.server_name),
        cluster_domain=fields.take("clusterDomain", _fits(SUBDOMAIN, "a domain name"), defaults.cluster_domain),
        image=image,
        allowed_images=fields.take("allowedImages", list_of(_image_pattern), defaults.allowed_images),
        image_pull_timeout_s=fields.take("imagePullTimeout", _duration(1), defaults.image_pull_timeout_s),
        default_queue=next((queue.name for queue in queues if queue.is_default), defaults.default_queue),
        queues=queues,
        volumes=_volumes(fields),
        mounts_passwd=fields.take("mountPasswd", boolean, defaults.mounts_passwd),
        strict_groups=fields.take("strictGroups", boolean, defaults.strict_groups),
        node_properties=_node_properties(fields),
        accelerators=accelerators,
        topology=read_topology(fields),
        resources=read_resources(fields, defaults.resources, accelerators),
        launcher=fields.take("launcher", read_launcher, defaults.launcher),
        launcher_cpu_milli=fields.take("launcherCPU", _milli, defaults.launcher_cpu_milli),
        max_array_size=fields.take("maxArraySize", number(1, _MAX_COUNT), defaults.max_array_size),
        history_kept_s=fields.take("historyKept", _duration(0), defaults.history_kept_s),
        history_moved_after_s=fields.take("historyMovedAfter", _duration(0), defaults.history_moved_after_s),
        most_records=fields.take("mostRecords", number(1000, _MAX_COUNT), defaults.most_records),
        kill_delay_s=fields.take("killDelay", _duration(0), defaults.kill_delay_s),
        interactive_idle_limit_s=fields.take("interactiveIdleLimit", _duration(1), defaults.interactive_idle_limit_s),
        start_timeout_s=fields.take("startTimeout", _duration(1), defaults.start_timeout_s),
        ssh_port=fields.take("sshPort", number(1, 65535), defaults.ssh_port),
        ssh_tools=fields.take("sshTools", _absolute, defaults.ssh_tools),
        login_shell=fields.take("loginShell", boolean, defaults.login_shell),
        judges_wrf=fields.take("judgeWRF", boolean, defaults.judges_wrf),
        refuses_oversize=fields.take("refuseOversize", boolean, defaults.refuses_oversize),
        autoscaling=autoscaling,
        policy=policy,
        **read_scheduler(fields, defaults, policy, _duration(1)),
        backfill_depth=fields.take("backfillDepth", number(1, 10**4), defaults.backfill_depth),
        mail=read_mail(fields) or defaults.mail,
        modules=read_modules(fields, _image) or defaults.modules,
        unsupported=fields.take("unsupported", read_unsupported, defaults.unsupported),
        unknown_queues=read_unknown_queues(fields, queues),
        licenses=read_licenses(fields),
        accounting_enforce=read_enforced(fields),
        priority=read_priority(fields, _duration(0)) or defaults.priority,
        short_first=read_short_first(fields, policy, _duration(1)),
        preemption=read_preemption(fields, _duration(0)) or defaults.preemption,
        translations=read_translations(fields),
        node_mem_reserve_bytes=fields.take("nodeMemoryReserve", _memory_or_none, defaults.node_mem_reserve_bytes),
    )


# Queues


def _queues(fields: Fields, *, site_has_image: bool) -> tuple[QueueConfig, ...]:
    items = fields.each("queues", QUEUE_KEYS)
    queues = tuple(_queue(item) for item in items)
    _check_unique(items, "queue")
    check_aliases(items, queues)
    default = [item for item, queue in zip(items, queues, strict=True) if queue.is_default]
    for item in default[1:]:
        item.complain("default", "a second default queue: exactly one may have `default: true`")
    if items and not default:
        fields.complain("queues", "no default queue: one of them needs `default: true`")
    if not site_has_image:
        imageless = [i for i, queue in zip(items, queues, strict=True) if queue.image is None and "image" not in i]
        for item in imageless:
            item.complain("image", "missing: neither the queue nor the site names an image for its jobs")
        if not items:
            fields.complain("image", "missing: jobs need an image to run in")
    return queues


def _queue(item: Fields) -> QueueConfig:
    name = item.require("name", _fits(_QUEUE_NAME, "up to 63 letters, digits, '-', '_' or '.'"), "")
    volcano_queue = item.take("volcanoQueue", _volcano_queue, name)
    if "name" in item and "volcanoQueue" not in item and not SUBDOMAIN.fullmatch(name):
        item.complain("name", f"no Volcano Queue can be called {name!r}: name one with volcanoQueue")
    queue = QueueConfig(
        name=name,
        volcano_queue=volcano_queue,
        aliases=item.take("aliases", list_of(queue_alias), ()),
        is_default=item.take("default", boolean, False),
        shard=item.take("shard", _fits(_SHARD, "up to 40 lower-case letters, digits and inner '-'"), ""),
        image=item.take("image", _image, None),
        allowed_images=item.take("allowedImages", list_of(_image_pattern), ()),
        max_walltime_s=item.take("maxWalltime", _duration(1), None),
        default_walltime_s=item.take("defaultWalltime", _duration(1), None),
        max_nodes=item.take("maxNodes", number(1, _MAX_COUNT), None),
        max_cpus=item.take("maxCPUs", number(1, _MAX_COUNT), None),
        max_mem_per_node_bytes=item.take("maxMemoryPerNode", _memory, None),
        default_mem_per_node_bytes=item.take("defaultMemoryPerNode", _memory, None),
        node_selector=read_labels(item, "nodeSelector"),
        **read_of_queue(item, _duration(0)),
    )
    for default, most, key in (
        (queue.default_walltime_s, queue.max_walltime_s, "defaultWalltime"),
        (queue.default_mem_per_node_bytes, queue.max_mem_per_node_bytes, "defaultMemoryPerNode"),
    ):
        if default is not None and most is not None and default > most:
            item.complain(key, f"more than {key.replace('default', 'max')} allows")
    return queue


# Volumes


def _volumes(fields: Fields) -> tuple[Volume, ...]:
    items = fields.each("volumes", (*VOLUME_KEYS, *SOURCES))
    volumes = tuple(_volume(item) for item in items)
    _check_unique(items, "volume")
    seen: dict[str, str] = {}
    for item, volume in zip(items, volumes, strict=True):
        if volume.mount_path in seen:
            item.complain("mountPath", f"volume {seen[volume.mount_path]!r} is mounted there already")
        elif volume.mount_path:
            seen[volume.mount_path] = volume.name
    return volumes


def _volume(item: Fields) -> Volume:
    name = item.require("name", _fits(_VOLUME_NAME, "up to 58 lower-case letters, digits and inner '-'"), "")
    mount_path = item.require("mountPath", _mount_path, "")
    kinds = [kind for kind in SOURCES if kind in item]
    source: dict[str, Any] = {}
    if len(kinds) == 1:
        source = {kinds[0]: _source(item, kinds[0])}
    elif kinds:
        item.complain(kinds[1], f"a second source beside {kinds[0]}: a volume has one")
    elif item.is_mapping:
        item.complain("", f"no source: expected one of {', '.join(SOURCES)}")
    return Volume(
        name=name,
        mount_path=mount_path,
        source=source,
        read_only=item.take("readOnly", boolean, False),
        sub_path=item.take("subPath", _sub_path, None),
    )


def _source(item: Fields, kind: str) -> Mapping[str, Any]:
    needed, others = SOURCES[kind]
    inner = Fields(item.get(kind), (*needed, *others), item.problems, item.file, item.key(kind))
    body: dict[str, Any] = {}
    for key in (*needed, *others):
        read = inner.require if key in needed else inner.take
        body[key] = read(key, _SOURCE_VALUE.get((kind, key), plain), None)
    return {key: value for key, value in body.items() if value is not None}


def _mount_path(node: yaml.Node) -> str:
    given = text(node)
    if not given.startswith("/") or ":" in given or any(ord(c) < 32 for c in given):
        raise UnfitError(f"expected an absolute path without ':', found {given!r}")
    path = posixpath.normpath("/" + given.lstrip("/"))
    if ".." in given.split("/"):
        raise UnfitError(f"expected a path without '..', found {given!r}")
    for ours in _OURS:
        if path in {"/", ours} or ours.startswith(f"{path}/"):
            raise UnfitError(f"{given!r} would hide {ours} of the pod")
        if path.startswith(f"{ours}/") and path not in _MOUNTABLE:
            raise UnfitError(f"{given!r} lies in {ours}, which belongs to the pod")
    return path


def _sub_path(node: yaml.Node) -> str:
    path = text(node)
    if path.startswith("/") or ".." in path.split("/"):
        raise UnfitError(f"expected a relative path without '..', found {path!r}")
    return path


def _absolute(node: yaml.Node) -> str:
    path = text(node)
    if not path.startswith("/") or ".." in path.split("/"):
        raise UnfitError(f"expected an absolute path without '..', found {path!r}")
    return path


# Labels, resources and the rest


def _node_properties(fields: Fields) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for name, node in fields.entries("nodeProperties") or ():
        path = f"{fields.key('nodeProperties')}.{name}"
        known = [key.value for key, _ in node.value] if isinstance(node, yaml.MappingNode) else []
        inner = Fields(node, known, fields.problems, fields.file, path)
        if not _WORD.fullmatch(name):
            inner.complain("", f"{name!r} cannot be a property: expected letters, digits, '_', '-' or '.'")
        labels = {label: inner.take(label, label_value, "") for label in known if label in inner}
        for label in labels:
            if not is_label_key(label):
                inner.complain(label, f"{label!r} is no label key: expected [domain/]name")
        if not labels:
            inner.complain("", "expected one label at least, as `label: value`")
        found[name] = labels
    return found


def _check_unique(items: Sequence[Fields], what: str) -> None:
    seen: dict[str, int] = {}
    for item in items:
        node = item.get("name")
        if not isinstance(node, yaml.ScalarNode):
            continue
        if node.value in seen:
            item.complain("name", f"a second {what} {node.value!r}, the first is in line {seen[node.value]}")
        seen.setdefault(node.value, node.start_mark.line + 1)


def _exactly(wanted: str) -> Callable[[yaml.Node], str]:
    def read(node: yaml.Node) -> str:
        if text(node) != wanted:
            raise UnfitError(f"expected {wanted}, found {text(node)!r}")
        return wanted

    return read


def _fits(pattern: re.Pattern[str], expected: str) -> Callable[[yaml.Node], str]:
    def read(node: yaml.Node) -> str:
        value = text(node)
        if not pattern.fullmatch(value):
            raise UnfitError(f"expected {expected}, found {value!r}")
        return value

    return read


def _volcano_queue(node: yaml.Node) -> str:
    name = _fits(SUBDOMAIN, "the name of a Volcano Queue")(node)
    if name == "root":
        raise UnfitError("Volcano's queue root takes no jobs")
    return name


def _image(node: yaml.Node) -> str:
    return _fits(_IMAGE, "an image such as registry.site:5000/mpi/openmpi:4.1")(node)


def _image_pattern(node: yaml.Node) -> str:
    return _fits(_IMAGE_PATTERN, "an image, with `*` and `?` where anything may stand")(node)


def _duration(least: int) -> Callable[[yaml.Node], int]:
    def read(node: yaml.Node) -> int:
        value = text(node)
        if clock := _DURATION.fullmatch(value):
            days, hours, minutes, seconds = (int(part or 0) for part in clock.group("days", "h", "m", "s"))
            found = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
        elif number := _WITH_UNIT.fullmatch(value):
            found = int(number[1]) * _UNIT_S[number[2]]
        else:
            raise UnfitError(f"expected a duration such as 24:00:00, 7-00:00:00, 14d, 12h, 30m or 90s, found {value!r}")
        if found < least:
            raise UnfitError(f"expected {least} second at least, found {value!r}")
        return found

    return read


def _memory(node: yaml.Node) -> int:
    return _quantity(node, memory_bytes, "an amount of memory such as 4Gi or 512Mi")


def _memory_or_none(node: yaml.Node) -> int:
    return 0 if text(node) == "0" else _memory(node)


def _milli(node: yaml.Node) -> int:
    return _quantity(node, cpu_milli, "CPUs such as 1 or 100m")


def _quantity(node: yaml.Node, parse: Callable[[str], int], expected: str) -> int:
    value = text(node)
    try:
        found = parse(value)
    except HpcBatchError:
        found = 0
    if not 0 < found < 2**63:
        raise UnfitError(f"expected {expected}, found {value!r}")
    return found


_SOURCE_VALUE: Mapping[tuple[str, str], Callable[[yaml.Node], Any]] = {
    ("persistentVolumeClaim", "claimName"): _fits(SUBDOMAIN, "the name of a PersistentVolumeClaim"),
    ("configMap", "name"): _fits(SUBDOMAIN, "the name of a ConfigMap"),
    ("secret", "secretName"): _fits(SUBDOMAIN, "the name of a Secret"),
    ("nfs", "server"): text,
    ("nfs", "path"): _absolute,
    ("hostPath", "path"): _absolute,
    ("csi", "driver"): text,
    ("cephfs", "path"): _absolute,
} | {(kind, "readOnly"): boolean for kind in SOURCES}
