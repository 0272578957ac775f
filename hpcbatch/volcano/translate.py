"""JobSpec → Volcano Job, and the ConfigMap from which the runner in its pods learns what to do. No API, no clock.

Pods of a job that have to talk to each other get Volcano's ssh and svc plugins; a job of one pod needs neither. What
the pods look like is in templates/volcano/job.yaml.j2, which a site may replace; its values are computed here.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from hpcbatch.errors import HpcBatchError
from hpcbatch.model.array import shown_number
from hpcbatch.model.dialect import SLURM_VERSION_TEXT, Dialect
from hpcbatch.model.labels import JOB_ID_LABEL
from hpcbatch.model.placed import OutputFiles, PlacedJob, PlacedPod
from hpcbatch.model.site import Launcher, QueueConfig, SiteConfig
from hpcbatch.model.spec import Chunk
from hpcbatch.volcano import accounts, pod_needs
from hpcbatch.volcano.modules import module_table
from hpcbatch.volcano.pod_needs import MASTER_TASK
from hpcbatch.volcano.quoting import check_text, shellquote, yaml_flow

if TYPE_CHECKING:
    from jinja2 import BaseLoader, Environment

Object = dict[str, Any]

LAUNCHER_LABEL = "hpcbatch.io/launcher"
"""On a Volcano Job: the Launcher by which it was shaped, where that is not the common one."""
MANAGED_BY = {"app.kubernetes.io/managed-by": "hpcbatch"}
TEMPLATE = "volcano/job.yaml.j2"
_WORKER = "mpiworker"
# So that no name of a site's volume is one of ours or of Volcano's plugins.
_SITE_VOLUME = "site-"
_DEFAULT_UMASK = 0o022
# A job that is evicted again and again is restarted as often as PBS does it before it holds the job (run_count 20).
_MAX_RETRY = 20
# Time that the runner needs for its own work after the last KILL, before the kubelet loses patience.
_GRACE_MARGIN_S = 5
_PRIVILEGED_PORTS = 1024
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_MAX_CONFIGMAP = 1 << 20  # bytes of all values; Kubernetes refuses more


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPods:
    """The pods of one Volcano task, which are equal."""

    name: str
    chunk: Chunk | None
    """None: a dedicated launcher, which computes nothing."""
    replicas: int

    @property
    def role(self) -> str:
        return "master" if self.name == MASTER_TASK else "worker"


def job_name(job_id: int) -> str:
    """Name of the Volcano Job of a job, and the first part of all names that belong to it."""
    return f"job-{job_id}"


def priority_class_name(priority: int) -> str:
    """The PriorityClass of a job that is not of the common priority 0, as `priority_class` makes it; "" for 0."""
    return "" if priority == 0 else f"hpcbatch-{'minus' if priority < 0 else 'plus'}-{abs(priority)}"


def priority_class(priority: int) -> Object:
    """Orders waiting jobs; never takes a place from running ones."""
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": priority_class_name(priority), "labels": dict(MANAGED_BY)},
        "value": priority,
        "preemptionPolicy": "Never",
        "description": "Jobs submitted with this PBS or Slurm priority",
    }


def script_host(job_id: int) -> str:
    """The name of the pod that runs the script."""
    return f"{job_name(job_id)}-{MASTER_TASK}-0"


def pods(job_id: int, layout: Sequence[Chunk], launcher: Launcher = Launcher.SHARED) -> tuple[PlacedPod, ...]:
    """The names of a job's pods that compute, known before they exist. The first one is `job-12-mpimaster-0`, unless
    a dedicated launcher has that name; all others are workers, with a task of its own for each row of equal chunks:
    `job-12-mpiworker-0`, `job-12-mpiworker2-0` …
    """
    single = [replace(chunk, count=1) for chunk in layout for _ in range(chunk.count)]
    placed = []
    if launcher is Launcher.SHARED:
        placed.append(PlacedPod(host=script_host(job_id), chunk=single.pop(0)))
    for number, (chunk, same) in enumerate(groupby(single), start=1):
        task = _WORKER if number == 1 else f"{_WORKER}{number}"
        placed += [
            PlacedPod(host=f"{job_name(job_id)}-{task}-{index}", chunk=chunk) for index in range(len(list(same)))
        ]
    return tuple(placed)


def pod_names(job_id: int, layout: Sequence[Chunk], launcher: Launcher) -> tuple[str, ...]:
    """The names of all pods of a job; the first runs the script."""
    computing = [pod.host for pod in pods(job_id, layout, launcher)]
    return tuple(computing if launcher is Launcher.SHARED else [script_host(job_id), *computing])


def manifests(
    job: PlacedJob,
    output: OutputFiles,
    environment: Mapping[str, str],
    nodefile: str,
    site: SiteConfig,
    *,
    submission_secret: str,
    namespace: str,
    owner: Mapping[str, Any] | None,
    export_none: bool = False,
    loader: BaseLoader | None = None,
) -> list[Object]:
    """The objects of one run, in the order in which to create them: the runner's ConfigMap and the Volcano Job.

    `environment` are the dialect's variables, `nodefile` the text of PBS_NODEFILE. `owner` is an ownerReference.
    `loader` finds the templates; None takes those that come with hpcbatch.
    Raises HpcBatchError where a name would be none for Kubernetes, or a text cannot be held by it; where the job asks
    for what the site does not have; and where it would run as root with the accounts of a site.
    """
    if site.mounts_passwd and job.uid == 0:
        raise HpcBatchError("jobs do not run as root")
    conf = _configmap(job, output, environment, nodefile, site, namespace=namespace, export_none=export_none)
    volcano_job = _volcano_job(job, site, submission_secret=submission_secret, namespace=namespace, loader=loader)
    objects = [conf, volcano_job]
    for obj in objects:
        if owner is not None:
            obj["metadata"]["ownerReferences"] = [dict(owner)]
        validate(obj)
    return objects


def conf_name(job_id: int) -> str:
    """Name of the ConfigMap of one job."""
    return f"{job_name(job_id)}-conf"


NO_POD: Final = "withdrawn"


def bar_rerun(pod_uid: str) -> Object:
    """Merge patch of a job's ConfigMap after which no pod but this one, its first, starts the script."""
    return {"data": {"has_run": pod_uid}}


WITHDRAWN: Object = bar_rerun(NO_POD)
"""Merge patch of a job's ConfigMap after which no pod of its Volcano Job starts the script."""


def first_pod(configmap: Mapping[str, Any]) -> str | None:
    """Uid of the only pod that may start the script, of a job's ConfigMap; NO_POD: none may; None: not decided."""
    uid: str | None = configmap.get("data", {}).get("has_run")
    return uid


def runner_configmap(namespace: str) -> Object:
    """The ConfigMap with all files of the runner. Its name follows from their content, so it never changes.

    Its keys are the files' names without their folders: the template, which a site may replace, mounts it as it is.
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
            objects, Dumper=Dumper, sort_keys=False, explicit_start=True, default_flow_style=False, allow_unicode=True,
            width=120,
        )
    )  # fmt: skip


def validate(obj: Mapping[str, Any]) -> None:
    """Raise HpcBatchError unless all names in `obj` are Kubernetes' (RFC 1123 labels) and its texts are UTF-8."""
    for name in _names(obj):
        if not _NAME.fullmatch(name):
            raise HpcBatchError(
                f"{name!r} cannot be a name in Kubernetes: expected up to 63 lower-case letters, digits and inner '-'"
            )
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


# The runner's ConfigMap


def _configmap(
    job: PlacedJob, output: OutputFiles, environment: Mapping[str, str], nodefile: str, site: SiteConfig,
    *, namespace: str, export_none: bool,
) -> Object:  # fmt: skip
    ranks = [(pod.host, pod.chunk.ranks) for pod in job.pods if pod.chunk.ranks]
    arguments = (*job.spec.command, *job.spec.script_args)
    known_users = {"passwd": accounts.passwd(job), "group": accounts.group(job)} if site.mounts_passwd else {}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": conf_name(job.job_id),
            "namespace": namespace,
            "labels": {**MANAGED_BY, JOB_ID_LABEL: str(job.job_id)},
        },
        "data": {
            "job.sh": _assignments(job, output, site, export_none=export_none),
            "arguments": _more_arguments(arguments),
            "environment": _more_arguments([f"{_variable(name)}={value}" for name, value in environment.items()]),
            "nodefile": nodefile,
            "hostfile": "".join(f"{host} slots={count}\n" for host, count in ranks),
            "hydra": "".join(f"{host}:{count}\n" for host, count in ranks),
            **known_users,
            **({"modules": module_table(site.modules, job.image)} if site.modules else {}),
        },
    }


def _assignments(job: PlacedJob, output: OutputFiles, site: SiteConfig, *, export_none: bool) -> str:
    """What the runner's scripts source: one quoted assignment a line."""
    spec = job.spec
    is_pbs = spec.dialect is Dialect.PBS
    umask = _DEFAULT_UMASK if output.umask is None else output.umask
    warn = spec.warn_signal
    values = {
        "dialect": spec.dialect.value,
        "job_id": str(shown_number(job.job_id, spec.member_of)),
        "job_name": job_name(job.job_id),
        "user": job.owner,
        "home": job.home,
        "work_dir": spec.work_dir if spec.work_dir is not None else job.home,
        # where ranks may run: a dedicated launcher is none of them
        "hosts": " ".join(pod.host for pod in job.pods),
        "cpus": " ".join(str(pod.chunk.cpus) for pod in job.pods),
        "has_peers": "yes" if _has_peers(job) else "no",
        "kind": "command" if spec.command else "script",
        "script_name": _script_name(job),
        "interpreter": spec.interpreter or "",
        # an /etc/passwd of ours does not know the shell that the user has on the login node
        "knows_shell": "no" if site.mounts_passwd else "yes",
        # PBS starts jobs by a login shell; so does Slurm where nothing of the submitter's environment comes along
        "login": ("user" if site.login_shell else "system") if is_pbs or export_none else "no",
        "stdout": output.stdout,
        "stderr": output.stderr or "",
        "stdout_in_dir": output.stdout_in_dir or "",
        "stderr_in_dir": output.stderr_in_dir or "",
        "stdout_meanwhile": output.stdout_meanwhile,
        "stderr_meanwhile": output.stderr_meanwhile,
        "append": "yes" if output.append else "no",
        "restarts": str(job.run_count - 1),
        "remove_output": spec.remove_output,
        "umask": f"{umask:04o}",
        "walltime_s": "" if spec.walltime_s is None else str(spec.walltime_s),
        "warn_signal": "" if warn is None else str(warn.signal),
        "warn_before_s": "" if warn is None else str(warn.before_s),
        "warn_scope": "script" if warn is not None and warn.is_batch_only else "steps",
        "kill_delay_s": str(site.kill_delay_s),
        "rerunnable": "yes" if spec.rerunnable else "no",
        # the first pod may run while other nodes still pull the image
        "start_timeout_s": str(site.start_timeout_s + site.image_pull_timeout_s),
        "ssh_port": str(site.ssh_port),
        "ssh_tools": site.ssh_tools,
        "slurm_version": SLURM_VERSION_TEXT,
        "submit_dir": spec.submit_dir,
        "judges_wrf": "yes" if site.judges_wrf else "no",
    }
    return "".join(f"{name}={shellquote(value)}\n" for name, value in values.items())


def _script_name(job: PlacedJob) -> str:
    """What PBS and Slurm call the script's copy, which is its $0."""
    member = job.spec.member_of
    if job.spec.dialect is not Dialect.PBS:
        return "slurm_script"
    return f"{job.job_id}.SC" if member is None else f"{member.array_id}[{member.index}].SC"


def _more_arguments(words: Sequence[str]) -> str:
    """Shell text that adds `words` to the positional parameters."""
    if not words:
        return ""
    return 'set -- "$@" \\\n' + " \\\n".join(f"  {shellquote(word)}" for word in words) + "\n"


def _variable(name: str) -> str:
    if not _VARIABLE.fullmatch(name):
        raise HpcBatchError(f"{name!r} is not the name of a variable")
    return name


# The Volcano Job


def _volcano_job(
    job: PlacedJob, site: SiteConfig, *, submission_secret: str, namespace: str, loader: BaseLoader | None
) -> Object:
    import yaml
    from jinja2 import TemplateError, TemplateNotFound, TemplateSyntaxError

    values = _template_values(job, site, submission_secret=submission_secret, namespace=namespace)
    try:
        text = _templates(loader).get_template(TEMPLATE).render(values)
        obj = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
    except TemplateNotFound:
        raise HpcBatchError(f"template {TEMPLATE}: not found") from None
    except TemplateSyntaxError as error:
        raise HpcBatchError(f"template {TEMPLATE}, line {error.lineno}: {error.message}") from None
    except TemplateError as error:
        raise HpcBatchError(f"template {TEMPLATE}: {error}") from None
    except yaml.YAMLError as error:
        raise HpcBatchError(f"template {TEMPLATE} gives no YAML: {' '.join(str(error).split())}") from None
    if not isinstance(obj, dict):
        raise HpcBatchError(f"template {TEMPLATE} gives no object")
    return obj


def _template_values(job: PlacedJob, site: SiteConfig, *, submission_secret: str, namespace: str) -> dict[str, Any]:
    """All names that the template knows. It computes nothing."""
    spec, name = job.spec, job_name(job.job_id)
    queue = site.queue(job.queue)
    if queue is None:
        raise HpcBatchError(f"this site has no queue {job.queue}")
    all_tasks = tasks(job)
    labels = {**MANAGED_BY, JOB_ID_LABEL: str(job.job_id)}
    shape = {} if job.launcher is Launcher.SHARED else {LAUNCHER_LABEL: job.launcher.value}
    return {
        "name": name,
        "namespace": namespace,
        "labels": {**labels, **shape, "volcano.sh/job-type": "MPI"},
        "pod_labels": labels,
        "queue": job.volcano_queue,
        "priority_class": priority_class_name(spec.weight),
        "max_retry": _MAX_RETRY,
        "plugins": plugins(has_peers=_has_peers(job)),
        # A worker that was evicted has lost ranks: the job starts anew, or ends if it must not run twice.
        "on_eviction": "RestartJob" if spec.rerunnable else "TerminateJob",
        "min_available": sum(task.replicas for task in all_tasks),
        "tasks": [_task_values(task, job, queue, site) for task in all_tasks],
        "image": job.image,
        "grace_period_s": site.kill_delay_s + _GRACE_MARGIN_S,
        "pod_security": _pod_security(job, site),
        "container_security": _container_security(job),
        # Hydra's proxies call back to the short name of the first pod
        "dns_searches": [f"{name}.{namespace}.svc.{site.cluster_domain}"] if _has_peers(job) else [],
        "conf": conf_name(job.job_id),
        "runner": _runner_name(),
        "submission_secret": submission_secret,
        "volumes": [{**volume.source, "name": _SITE_VOLUME + volume.name} for volume in site.volumes],
        "volume_mounts": [*_site_mounts(site), *_account_mounts(site)],
    }


def tasks(job: PlacedJob) -> tuple[TaskPods, ...]:
    """The Volcano tasks behind the names that `pods` gave, and the dedicated launcher's."""
    prefix = f"{job_name(job.job_id)}-"
    named = [(pod.host.removeprefix(prefix).rpartition("-")[0], pod.chunk) for pod in job.pods]
    computing = [TaskPods(name=name, chunk=chunk, replicas=len(list(same))) for (name, chunk), same in groupby(named)]
    if job.launcher is Launcher.DEDICATED:
        return (TaskPods(name=MASTER_TASK, chunk=None, replicas=1), *computing)
    return tuple(computing)


def _has_peers(job: PlacedJob) -> bool:
    return len(job.pods) > 1 or job.launcher is Launcher.DEDICATED


def plugins(*, has_peers: bool) -> dict[str, list[str]]:
    """Volcano's job plugins: a pod alone needs neither names nor keys."""
    if not has_peers:
        return {"env": []}
    return {
        "env": [],
        # Not in the user's home, which is shared. At any path but its own, Volcano makes the files 0644: every uid in
        # the pod can read them, and ssh gets copies that only their owner can.
        "ssh": ["--ssh-key-file-path=/hpcbatch/ssh"],
        # the first pod waits for the others itself, and they are ready before Kubernetes says so
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
        "node_selector": dict(queue.node_selector)
        if task.chunk is None
        else pod_needs.node_selector(task.chunk, queue, site),
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
        {"name": "conf", "mountPath": f"/etc/{file}", "subPath": file, "readOnly": True} for file in ("passwd", "group")
    ]


def _pod_security(job: PlacedJob, site: SiteConfig) -> Object:
    """No fsGroup: with one, the kubelet changes group and mode of every file on the site's volumes."""
    security: Object = {"runAsUser": job.uid, "runAsGroup": job.gid}
    if job.groups:
        security["supplementalGroups"] = [gid for gid, _ in job.groups]
    if site.strict_groups:
        security["supplementalGroupsPolicy"] = "Strict"
    if job.uid:
        security |= {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    if _has_peers(job) and site.ssh_port < _PRIVILEGED_PORTS:
        # one of Kubernetes' safe sysctls: sshd runs as the job's user
        security["sysctls"] = [{"name": "net.ipv4.ip_unprivileged_port_start", "value": "0"}]
    return security


def _container_security(job: PlacedJob) -> Object:
    """root's sshd needs root's capabilities; only the embedded engine, started by root, runs jobs as root."""
    return {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}} if job.uid else {}


# What comes with hpcbatch


def _templates(loader: BaseLoader | None) -> Environment:
    return _builtin_templates() if loader is None else _environment(loader)


@cache
def _builtin_templates() -> Environment:
    from jinja2 import PackageLoader

    return _environment(PackageLoader("hpcbatch", "templates"))


@lru_cache(maxsize=4)  # a site's own template is compiled once, until it changes
def _environment(loader: BaseLoader) -> Environment:
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    # What is written is YAML, where HTML's escapes would be wrong; the filters quote.
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
    found = [entry for folder in folders for entry in folder.iterdir() if entry.name.endswith((".sh", ".awk"))]
    return {entry.name: entry.read_text("utf-8") for entry in sorted(found, key=lambda entry: entry.name)}


@cache
def _runner_name() -> str:
    digest = hashlib.sha256()
    for name, text in _runner_files().items():
        digest.update(f"{name}\0{text}\0".encode())
    return f"hpcbatch-runner-{digest.hexdigest()[:10]}"
