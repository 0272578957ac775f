"""JobSpec → Volcano Job, and the ConfigMap that the runner in its pods reads. No API, no clock.

Pods of a job with several pods get Volcano's ssh and svc plugins; a single pod needs neither. The form of the pods is
in templates/volcano/job.yaml.j2, which a site may replace; its values are computed here.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from hpcbatch.errors import HpcBatchError, place
from hpcbatch.model.interactive import Interactive
from hpcbatch.model.labels import HAS_CPUS_ANNOTATION, JOB_ID_LABEL, MANAGED_BY
from hpcbatch.model.placed import PlacedJob, RunSetup
from hpcbatch.model.site import Launcher, Policy, QueueConfig, SiteConfig
from hpcbatch.model.spec import MAX_WEIGHT, JobSpec
from hpcbatch.volcano import pod_needs
from hpcbatch.volcano.device_claims import claim_templates, template_name
from hpcbatch.volcano.job_conf import conf_items, configmap
from hpcbatch.volcano.job_names import (
    LAUNCHER_LABEL,
    TaskPods,
    conf_name,
    job_name,
    priority_class_name,
    tasks,
)
from hpcbatch.volcano.quoting import check_text, shellquote, yaml_flow

if TYPE_CHECKING:
    from jinja2 import BaseLoader, Environment

Object = dict[str, Any]

TEMPLATE = "volcano/job.yaml.j2"
# Keeps the names of a site's volumes apart from ours and those of Volcano's plugins.
_SITE_VOLUME = "site-"
# A job that is evicted again and again is restarted as often as PBS does it before it holds the job (run_count 20).
_MAX_RETRY = 20
# Time for the runner's own work after the last KILL, before the grace period ends.
_GRACE_MARGIN_S = 5
_PRIVILEGED_PORTS = 1024
_MARK = "<hpcbatch {}>"
_OF_ONE_JOB = ("name", "conf", "submission_secret")
"""Values of the template that no two jobs have alike, beside the number in their labels."""
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_MAX_CONFIGMAP = 1 << 20  # bytes of all values; Kubernetes refuses more


def weight_in(queue: QueueConfig, spec: JobSpec) -> int:
    """The scheduler's order of jobs of one Volcano Queue: by their queues' tiers, and in a tier by their weights."""
    return spec.weight + 2 * MAX_WEIGHT * (queue.priority_tier - 1)


def priority_class(priority: int) -> Object:
    """Orders waiting jobs; never preempts running ones."""
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": priority_class_name(priority), "labels": dict(MANAGED_BY)},
        "value": priority,
        "preemptionPolicy": "Never",
        "description": "Jobs submitted with this PBS or Slurm priority",
    }


def manifests(
    job: PlacedJob,
    setup: RunSetup,
    site: SiteConfig,
    *,
    submission_secret: str,
    namespace: str,
    owner: Mapping[str, Any] | None,
    export_none: bool = False,
    loader: BaseLoader | None = None,
) -> list[Object]:
    """The objects of one run, in the order in which to create them: the runner's ConfigMap, the templates of claims to
    devices, and the Volcano Job.

    `owner` is an ownerReference.
    `loader` finds the templates; None uses those of hpcbatch.
    Raises HpcBatchError if a name is invalid in Kubernetes, or it cannot store a text; if the job requests something
    that the site does not have; if it is a member of an array and interactive; and if it would run as root with the
    accounts of a site.
    """
    if site.mounts_passwd and job.uid == 0:
        raise HpcBatchError("jobs do not run as root")
    if job.spec.interactive is not None and job.spec.member_of is not None:
        raise HpcBatchError("a member of an array is not interactive")
    conf = configmap(job, setup, site, namespace=namespace, export_none=export_none)
    volcano_job = _volcano_job(job, site, submission_secret=submission_secret, namespace=namespace, loader=loader)
    templates = claim_templates(job.job_id, (pod.chunk for pod in job.pods), site, namespace)
    objects = [conf, *templates, volcano_job]
    for obj in objects:
        if owner is not None:
            obj["metadata"]["ownerReferences"] = [dict(owner)]
        validate(obj)
    return objects


def runner_configmap(namespace: str) -> Object:
    """The ConfigMap with all files of the runner. Its name depends on their content, so its content never changes.

    Its keys are the files' names without folders: the template, which a site may replace, mounts it unchanged.
    """
    files = _runner_files()
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": _runner_name(), "namespace": namespace, "labels": dict(MANAGED_BY)},
        "immutable": True,
        "data": dict(files),
    }


def dry_run_yaml(objects: Sequence[Mapping[str, Any]]) -> str:
    """The objects as YAML documents, texts of several lines as such."""
    import yaml

    class Dumper(yaml.SafeDumper):
        def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
            return True

    def text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
        # YAML has line breaks that sh has not (NEL, LS, PS): only a double-quoted text escapes them
        is_plain = all(line.isprintable() for line in value.replace("\t", " ").split("\n"))
        style = ("|" if "\n" in value else None) if is_plain else '"'
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    Dumper.add_representer(str, text)
    return str(
        yaml.dump_all(
            objects,
            Dumper=Dumper,
            sort_keys=False,
            explicit_start=True,
            default_flow_style=False,
            allow_unicode=True,
            width=120,
        )
    )


def validate(obj: Mapping[str, Any]) -> None:
    """Raise HpcBatchError unless all names in `obj` are RFC 1123 labels and its texts are UTF-8."""
    for name in _names(obj):
        if not _NAME.fullmatch(name):
            raise HpcBatchError(
                f"{name!r} cannot be a name in Kubernetes: expected up to 63 lower-case letters, digits and inner '-'"
            )
    if not _is_utf8(obj):
        _check_texts(obj)
    if obj["kind"] == "ConfigMap":
        size = sum(len(text.encode()) for text in obj["data"].values())
        if size > _MAX_CONFIGMAP:
            raise HpcBatchError(f"the job's host lists and variables are {size} bytes, the limit is {_MAX_CONFIGMAP}")


def _names(obj: Mapping[str, Any]) -> list[str]:
    metadata = obj["metadata"]
    names = [metadata["name"], metadata["namespace"]]
    for task in obj.get("spec", {}).get("tasks", ()):
        names += [task["name"], f"{metadata['name']}-{task['name']}-{max(0, task['replicas'] - 1)}"]
    return names


def _is_utf8(obj: Mapping[str, Any]) -> bool:
    """Whether all its texts are, for sure: in one look, which names none of them."""
    try:
        json.dumps(obj, ensure_ascii=False).encode()
    except (UnicodeEncodeError, TypeError):
        return False
    return True


def _check_texts(value: Any) -> None:
    if isinstance(value, str):
        check_text(value)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            check_text(key)
            _check_texts(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _check_texts(item)


# The Volcano Job


def _volcano_job(
    job: PlacedJob, site: SiteConfig, *, submission_secret: str, namespace: str, loader: BaseLoader | None
) -> Object:
    values = _template_values(job, site, submission_secret=submission_secret, namespace=namespace)
    if loader is not None or job.has_peers:
        return _rendered(values, loader)
    texts = {_MARK.format(name): values[name] for name in _OF_ONE_JOB} | {_MARK.format("job_id"): str(job.job_id)}
    marked = values | {name: _MARK.format(name) for name in _OF_ONE_JOB}
    for name in ("labels", "pod_labels"):
        marked[name] = values[name] | {JOB_ID_LABEL: _MARK.format("job_id")}
    text = _rendered_once(json.dumps(marked))
    for mark, value in texts.items():  # each is the whole of a text
        text = text.replace(f'"{mark}"', json.dumps(value))
    made: Object = json.loads(text)
    return made


@lru_cache(maxsize=32)
def _rendered_once(values: str) -> str:
    """What our own template makes, as JSON, of values in which marks stand for those of one job: the jobs of an array,
    and most of a user's, differ in nothing else.
    """
    return json.dumps(_rendered(json.loads(values), None))


def _rendered(values: Mapping[str, Any], loader: BaseLoader | None) -> Object:
    import yaml
    from jinja2 import TemplateError, TemplateNotFound, TemplateSyntaxError

    try:
        text = _templates(loader).get_template(TEMPLATE).render(values)
        obj = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
    except TemplateNotFound:
        raise HpcBatchError(f"template {TEMPLATE}: not found") from None
    except TemplateSyntaxError as error:
        raise HpcBatchError(f"template {place(TEMPLATE, error.lineno)}: {error.message}") from None
    except TemplateError as error:
        raise HpcBatchError(f"template {TEMPLATE}: {error}") from None
    except yaml.YAMLError as error:
        raise HpcBatchError(f"template {TEMPLATE} gives no YAML: {' '.join(str(error).split())}") from None
    if not isinstance(obj, dict):
        raise HpcBatchError(f"template {TEMPLATE} gives no object")
    _check_template(values, obj)
    return obj


def _stdio(interactive: Interactive | None) -> dict[str, bool]:
    """The standard streams of the first pod's container, if somebody is to be attached to them."""
    if interactive is None or not interactive.has_client:
        return {}
    # once: the end of the client's input is that of the container's, which a terminal has not
    return {"tty": interactive.is_terminal, "once": not interactive.is_terminal}


def _check_template(values: Mapping[str, Any], made: Mapping[str, Any]) -> None:
    """A site's template may be older than these: the job must not run on nodes that it must not have, nor without the
    streams that somebody waits for.
    """
    tasks, stdio, spec = values["tasks"], values["stdio"], made.get("spec") or {}
    if values["network_topology"] and not spec.get("networkTopology"):
        raise HpcBatchError(f"template {TEMPLATE}: expected networkTopology made from network_topology")
    templates = [task.get("template", {}) for task in spec.get("tasks") or ()]
    for task, template in zip(tasks, templates, strict=False):
        pod, has = template.get("spec", {}), (template.get("metadata") or {}).get("annotations") or {}
        if stdio and task["is_master"] and not any(one.get("stdin") for one in pod.get("containers") or ()):
            raise HpcBatchError(f"template {TEMPLATE}: expected stdin and tty made from stdio, for interactive jobs")
        if task["node_terms"] and "nodeAffinity" not in (pod.get("affinity") or {}):
            raise HpcBatchError(f"template {TEMPLATE}: expected a nodeAffinity made from task.node_terms")
        if not any(one.get("name") == "job" and "projected" in one for one in pod.get("volumes") or ()):
            raise HpcBatchError(f"template {TEMPLATE}: expected a projected volume job made from conf_items")
        if task["claim_template"] and not pod.get("resourceClaims"):
            raise HpcBatchError(f"template {TEMPLATE}: expected resourceClaims made from task.claim_template")
        if not task["annotations"].keys() - {HAS_CPUS_ANNOTATION} <= has.keys():  # that one is only for listings
            raise HpcBatchError(f"template {TEMPLATE}: expected annotations made from task.annotations")


def _template_values(job: PlacedJob, site: SiteConfig, *, submission_secret: str, namespace: str) -> dict[str, Any]:
    """All variables of the template, which computes nothing."""
    spec, name = job.spec, job_name(job.job_id)
    queue = site.queue(job.queue)
    if queue is None:
        raise HpcBatchError(f"this site has no queue {job.queue}")
    all_tasks = tasks(job)
    always, at_times = conf_items()
    labels = {**MANAGED_BY, JOB_ID_LABEL: str(job.job_id)}
    shape = {} if job.launcher is Launcher.SHARED else {LAUNCHER_LABEL: job.launcher.value}
    return {
        "name": name,
        "namespace": namespace,
        "labels": {**labels, **shape, "volcano.sh/job-type": "MPI"},
        "pod_labels": labels,
        "queue": job.volcano_queue,
        "priority_class": priority_class_name(weight_in(queue, spec)),
        "network_topology": _network_topology(spec, site),
        "max_retry": _MAX_RETRY,
        "plugins": plugins(has_peers=job.has_peers),
        # An evicted worker has lost ranks: the job restarts, or ends if it must not run twice.
        "on_eviction": "RestartJob" if spec.rerunnable else "TerminateJob",
        "min_available": sum(task.replicas for task in all_tasks),
        "tasks": [_task_values(task, job, queue, site) for task in all_tasks],
        "stdio": _stdio(spec.interactive),
        "image": job.image,
        "grace_period_s": site.kill_delay_s + _GRACE_MARGIN_S,
        "pod_security": _pod_security(job, site),
        "container_security": _container_security(job),
        # Hydra's proxies call back to the short name of the first pod
        "dns_searches": [f"{name}.{namespace}.svc.{site.cluster_domain}"] if job.has_peers else [],
        "conf": conf_name(job.job_id),
        "conf_items": always,
        "other_conf_items": at_times,
        "runner": _runner_name(),
        "submission_secret": submission_secret,
        "volumes": [{**volume.source, "name": _SITE_VOLUME + volume.name} for volume in site.volumes],
        "volume_mounts": [*_site_mounts(site), *_account_mounts(site)],
    }


def _network_topology(spec: JobSpec, site: SiteConfig) -> Object:
    """What Volcano's own scheduler is to keep to, where the groups of the job's nodes are HyperNodes: one of the
    level's tier for the whole job. A job that waits for that only some time gets it as far as Volcano can.
    """
    level = site.level_of(spec.grouping)
    if spec.grouping is None or level is None or level.tier is None or spec.grouping.groups != 1:
        return {}
    if level.is_of_hypernodes and site.policy is not Policy.VOLCANO:
        return {}  # the plan has read them, and keeps the job to the nodes that it has chosen
    mode = "hard" if spec.grouping.wait_s is None else "soft"
    return {"mode": mode, "highestTierAllowed": level.tier}


def plugins(*, has_peers: bool) -> dict[str, list[str]]:
    """Volcano's job plugins: a single pod needs neither names nor keys."""
    if not has_peers:
        return {"env": []}
    return {
        "env": [],
        # Not in the user's home, which is shared. At any path but its own, Volcano makes the files 0644: every uid in
        # the pod can read them, and ssh gets copies that only their owner can.
        "ssh": ["--ssh-key-file-path=/hpcbatch/ssh"],
        # the first pod waits for the others itself, and they are ready before Kubernetes reports it
        "svc": ["--publish-not-ready-addresses=true"],
    }


def _task_values(task: TaskPods, job: PlacedJob, queue: QueueConfig, site: SiteConfig) -> dict[str, Any]:
    is_launcher = task.chunk is None
    return {
        "name": task.name,
        "role": task.role,
        "is_master": task.role == "master",
        "replicas": task.replicas,
        "resources": pod_needs.launcher_resources(site)
        if task.chunk is None
        else pod_needs.resources(task.chunk, site),
        "claim_template": "" if task.chunk is None else template_name(job.job_id, task.chunk, site),
        "annotations": {} if task.chunk is None else pod_needs.pod_annotations(task.chunk, site),
        "node_selector": dict(queue.node_selector)
        if task.chunk is None
        else pod_needs.node_selector(task.chunk, queue, site),
        "node_terms": pod_needs.node_terms(task.chunk, site, queue),
        "anti_affinity": pod_needs.anti_affinity(job, is_launcher=is_launcher),
    }


def _site_mounts(site: SiteConfig) -> list[Object]:
    mounts: list[Object] = []
    for volume in site.volumes:
        mount: Object = {"name": _SITE_VOLUME + volume.name, "mountPath": volume.mount_path}
        if volume.sub_path is not None:
            mount["subPath"] = volume.sub_path
        if volume.read_only:
            mount["readOnly"] = True
        mounts.append(mount)
    return mounts


def _account_mounts(site: SiteConfig) -> list[Object]:
    if not site.mounts_passwd:
        return []
    return [
        {"name": "job", "mountPath": f"/etc/{file}", "subPath": f"conf/{file}", "readOnly": True}
        for file in ("passwd", "group")
    ]


def _pod_security(job: PlacedJob, site: SiteConfig) -> Object:
    """No fsGroup: with it, the kubelet changes group and mode of every file on the site's volumes."""
    security: Object = {"runAsUser": job.uid, "runAsGroup": job.gid}
    if job.groups:
        security["supplementalGroups"] = [gid for gid, _ in job.groups]
    if site.strict_groups:
        security["supplementalGroupsPolicy"] = "Strict"
    if job.uid:
        security |= {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    if job.has_peers and site.ssh_port < _PRIVILEGED_PORTS:
        # one of Kubernetes' safe sysctls: sshd runs as the job's user
        security["sysctls"] = [{"name": "net.ipv4.ip_unprivileged_port_start", "value": "0"}]
    return security


def _container_security(job: PlacedJob) -> Object:
    """root's sshd needs root's capabilities; only the embedded engine, started by root, runs jobs as root."""
    return {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}} if job.uid else {}


# Files of hpcbatch


def _templates(loader: BaseLoader | None) -> Environment:
    return _builtin_templates() if loader is None else _environment(loader)


@cache
def _builtin_templates() -> Environment:
    from jinja2 import PackageLoader

    environment = _environment(PackageLoader("hpcbatch", "templates"))
    environment.auto_reload = False  # it does not change, and is not looked at for each job
    return environment


@lru_cache(maxsize=4)  # a site's own template is compiled once, until it changes
def _environment(loader: BaseLoader) -> Environment:
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    # The output is YAML, where HTML's escapes would be wrong; the filters quote.
    environment = ImmutableSandboxedEnvironment(
        loader=loader, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["tojson"] = yaml_flow
    environment.filters["shellquote"] = shellquote
    return environment


@cache
def _runner_files() -> Mapping[str, str]:
    from importlib.resources import files

    top = files("hpcbatch.runner")
    folders = [top, *(entry for entry in top.iterdir() if entry.is_dir())]
    found = [entry for folder in folders for entry in folder.iterdir() if entry.name.endswith((".sh", ".awk", ".txt"))]
    return {entry.name: entry.read_text("utf-8") for entry in sorted(found, key=lambda entry: entry.name)}


@cache
def _runner_name() -> str:
    digest = hashlib.sha256()
    for name, text in _runner_files().items():
        digest.update(f"{name}\0{text}\0".encode())
    return f"hpcbatch-runner-{digest.hexdigest()[:10]}"
