"""The ConfigMap of one job: the input of the runner in its pods, and the pod that may start the script."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from hpcbatch.dataclass import declared_fields
from hpcbatch.errors import HpcBatchError
from hpcbatch.model.accelerator import gpus_of
from hpcbatch.model.array import shown_number
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.labels import JOB_ID_LABEL, MANAGED_BY
from hpcbatch.model.placed import PlacedJob, RunSetup
from hpcbatch.model.site import SiteConfig
from hpcbatch.model.spec import Arrangement, JobSpec, Sharing
from hpcbatch.volcano import accounts
from hpcbatch.volcano.job_names import conf_name, job_name
from hpcbatch.volcano.modules import module_table
from hpcbatch.volcano.quoting import shellquote

Object = dict[str, Any]

_DEFAULT_UMASK = 0o022
_CLIENT_LIMIT_S = 60
"""The command of an interactive job must be connected with it so soon after its start, or it ends. A command gives up
after half of that (client/interactive.py).
"""
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_LIMIT = re.compile(r"[a-z]{1,16}", re.ASCII)
_ALWAYS: Final = ("job.sh", "arguments", "environment", "nodefile", "hostfile", "hydra")
_AT_TIMES: Final = ("gpufile", "passwd", "group", "modules", "has_run")
NO_POD: Final = "withdrawn"


def bar_rerun(pod_uid: str) -> Object:
    """Merge patch of a job's ConfigMap: only this pod, the first, may start the script."""
    return {"data": {"has_run": pod_uid}}


WITHDRAWN: Object = bar_rerun(NO_POD)
"""Merge patch of a job's ConfigMap: no pod of its Volcano Job may start the script."""


def first_pod(configmap: Mapping[str, Any]) -> str | None:
    """Uid of the only pod that may start the script, from a job's ConfigMap; NO_POD: none may; None: undecided."""
    uid: str | None = configmap.get("data", {}).get("has_run")
    return uid


def conf_items() -> tuple[list[Object], list[Object]]:
    """Items of a projected volume: the files of each job's ConfigMap, and those that some have, or get later."""
    always, at_times = ([{"key": key, "path": f"conf/{key}"} for key in keys] for keys in (_ALWAYS, _AT_TIMES))
    return always, at_times


def configmap(job: PlacedJob, setup: RunSetup, site: SiteConfig, *, namespace: str, export_none: bool) -> Object:
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
            "job.sh": _assignments(job, setup, site, export_none=export_none),
            "arguments": _more_arguments(arguments),
            "environment": _more_arguments([f"{_variable(name)}={value}" for name, value in setup.environment.items()]),
            "nodefile": setup.nodefile,
            **({"gpufile": setup.gpufile} if setup.gpufile else {}),
            "hostfile": "".join(f"{host} slots={count}\n" for host, count in ranks),
            "hydra": "".join(f"{host}:{count}\n" for host, count in ranks),
            **known_users,
            **({"modules": module_table(site.modules, job.image)} if site.modules else {}),
        },
    }


def _idle_limit(spec: JobSpec, site: SiteConfig) -> str:
    limit_s = site.interactive_idle_limit_s
    return "" if spec.interactive is None or limit_s is None else str(limit_s)


def _assignments(job: PlacedJob, setup: RunSetup, site: SiteConfig, *, export_none: bool) -> str:
    """The file that the runner's scripts source: one quoted assignment per line."""
    spec = job.spec
    output, words = setup.output, setup.words
    umask = _DEFAULT_UMASK if output.umask is None else output.umask
    warn = spec.warn_signal
    values = {
        "job_id": str(shown_number(job.job_id, spec.member_of)),
        "job_name": job_name(job.job_id),
        "user": job.owner,
        "home": job.home,
        "work_dir": spec.work_dir if spec.work_dir is not None else job.home,
        # where ranks may run: not on a dedicated launcher
        "hosts": " ".join(pod.host for pod in job.pods),
        "cpus": " ".join(str(pod.chunk.cpus) for pod in job.pods),
        "accelerators": _accelerators(job, site),
        "has_peers": "yes" if job.has_peers else "no",
        # of a heterogeneous job
        "components": " ".join(str(pod.chunk.component) for pod in job.pods) if _has_components(job) else "",
        "exclusive": "yes" if _has_nodes_of_its_own(job) else "no",
        "kind": "command" if spec.command else "script" if spec.interactive is None else "shell",
        "interactive": "" if spec.interactive is None else spec.interactive.value,
        "script_name": setup.script_name,
        "interpreter": spec.interpreter or "",
        # our /etc/passwd lacks the shell that the user has on the login node
        "knows_shell": "no" if site.mounts_passwd else "yes",
        # a script that inherits nothing of the submitter's environment needs one
        "login": ("user" if site.login_shell else "system") if setup.starts_login_shell or export_none else "no",
        "private_dir": setup.private_dir,
        "stdin": setup.stdin,
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
        "cpu_time_s": "" if spec.cpu_time_s is None else str(spec.cpu_time_s),
        "process_limits": " ".join(f"{_limit(name)}:{value}" for name, value in spec.process_limits),
        "process_nice": str(spec.process_nice),
        "warn_signal": "" if warn is None else str(warn.signal),
        "warn_before_s": "" if warn is None else str(warn.before_s),
        "warn_scope": "script" if warn is not None and warn.is_batch_only else "steps",
        "kill_delay_s": str(site.kill_delay_s),
        "idle_limit_s": _idle_limit(spec, site),
        "client_limit_s": str(_CLIENT_LIMIT_S) if spec.interactive is not None and spec.interactive.has_client else "",
        "rerunnable": "yes" if spec.rerunnable else "no",
        "awaits_word": "yes" if _awaits_word(job, site) else "no",
        # the first pod may run while other nodes still pull the image
        "start_timeout_s": str(site.start_timeout_s + site.image_pull_timeout_s),
        "ssh_port": str(site.ssh_port),
        "ssh_tools": site.ssh_tools,
        "submit_dir": spec.submit_dir,
        "judges_wrf": "yes" if site.judges_wrf else "no",
    }
    values |= {each.name: _shell_value(getattr(words, each.name)) for each in declared_fields(words)}
    return "".join(f"{name}={shellquote(value)}\n" for name, value in values.items())


def _awaits_word(job: PlacedJob, site: SiteConfig) -> bool:
    """Whether its first pod starts the script only when the controller says so, see Decision.let_start."""
    if site.scheduler.may_bind_in_part and job.has_peers:
        return True
    # an interactive job runs once in any case: its client is there once
    return not job.spec.rerunnable and job.spec.interactive is None


def _accelerators(job: PlacedJob, site: SiteConfig) -> str:
    """A word for each pod, `2:CUDA_VISIBLE_DEVICES`, where one has any; see runner/steps/devices.sh."""

    def of_pod(chunk: Chunk) -> str:
        variables = (site.visible_variable(name) for name, _ in chunk.resources)
        return f"{gpus_of(chunk.resources)}:{next(filter(None, variables), '')}"

    return " ".join(of_pod(pod.chunk) for pod in job.pods) if any(gpus_of(p.chunk.resources) for p in job.pods) else ""


def _shell_value(value: object) -> str:
    """A yes or no, a number, a text, words, or `NAME:value` words."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return " ".join(f"{_variable(name)}:{what}" for name, what in value.items())
    return " ".join(value) if isinstance(value, tuple) else str(value)


def _more_arguments(words: Sequence[str]) -> str:
    """Shell text that adds `words` to the positional parameters."""
    if not words:
        return ""
    return 'set -- "$@" \\\n' + " \\\n".join(f"  {shellquote(word)}" for word in words) + "\n"


def _has_components(job: PlacedJob) -> bool:
    return any(pod.chunk.component for pod in job.pods)


def _has_nodes_of_its_own(job: PlacedJob) -> bool:
    """Whether no pod shares its node with another one, also of this job."""
    spec = job.spec
    return spec.sharing is Sharing.EXCLUSIVE and (len(job.pods) == 1 or spec.arrangement is Arrangement.SCATTER)


def _limit(name: str) -> str:
    if not _LIMIT.fullmatch(name):
        raise HpcBatchError(f"{name!r} is not the name of a limit")
    return name


def _variable(name: str) -> str:
    if not _VARIABLE.fullmatch(name):
        raise HpcBatchError(f"{name!r} is not the name of a variable")
    return name
