"""The variables that Slurm sets for a batch script. Source: env.c, and the environment of recorded jobs."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from hpcbatch.dialects.slurm.hostlist import compress
from hpcbatch.dialects.slurm.memory import MIB
from hpcbatch.dialects.slurm.placement_values import format_licenses
from hpcbatch.dialects.slurm.tres import gpus_of
from hpcbatch.model.array import shown_number
from hpcbatch.model.interactive import Interactive
from hpcbatch.model.placed import PlacedJob, PlacedPod
from hpcbatch.model.text import HIDDEN

_OF_OPTIONS = (
    ("SLURM_NTASKS_PER_NODE", "ntasks_per_node"),
    ("SLURM_NTASKS_PER_CORE", "ntasks_per_core"),
    ("SLURM_NTASKS_PER_SOCKET", "ntasks_per_socket"),
    ("SLURM_THREADS_PER_CORE", "threads_per_core"),
    ("SLURM_HINT", "hint"),
    ("SLURM_CPUS_PER_TASK", "cpus_per_task"),
    ("SLURM_MEM_PER_NODE", "mem_per_node_mb"),
    ("SLURM_MEM_PER_CPU", "mem_per_cpu_mb"),
    ("SLURM_CPUS_PER_GPU", "cpus_per_gpu"),
    ("SLURM_MEM_PER_GPU", "mem_per_gpu_mb"),
    ("SLURM_OPEN_MODE", "open_mode"),
    ("SLURM_GPU_BIND", "gpu_bind"),
    ("SLURM_GPUS", "gpus"),
    ("SLURM_GPUS_PER_NODE", "gpus_per_node"),
    ("SLURM_GPUS_PER_TASK", "gpus_per_task"),
)
_MAX_GPUS = 1024  # more than any node has: such a job never starts


def environment(job: PlacedJob) -> dict[str, str]:
    """All that is known before the job starts. The runner adds SLURM_TASK_PID and SLURM_JOB_START_TIME."""
    pods = _component(job, 0)
    hosts = [pod.host for pod in pods]
    nodelist, nodes, job_id = compress(hosts), str(len(hosts)), str(shown_number(job.job_id, job.spec.member_of))
    first = pods[0]
    variables = {
        "HOSTNAME": first.host,
        "SLURMD_NODENAME": first.host,
        "SLURM_CLUSTER_NAME": job.cluster,
        "SLURM_CPUS_ON_NODE": str(first.chunk.cpus),
        "SLURM_GTIDS": "0",
        "SLURM_JOBID": job_id,
        "SLURM_JOB_CPUS_PER_NODE": runs(pod.chunk.cpus for pod in pods),
        "SLURM_JOB_GID": str(job.gid),
        "SLURM_JOB_ID": job_id,
        "SLURM_JOB_NAME": job.spec.name,
        "SLURM_JOB_NODELIST": nodelist,
        "SLURM_JOB_NUM_NODES": nodes,
        "SLURM_JOB_PARTITION": job.queue,
        "SLURM_JOB_QOS": job.spec.attributes.get("qos", "normal"),
        "SLURM_JOB_UID": str(job.uid),
        "SLURM_JOB_USER": job.owner,
        "SLURM_LOCALID": "0",
        "SLURM_NNODES": nodes,
        "SLURM_NODEID": "0",
        "SLURM_NODELIST": nodelist,
        "SLURM_NODE_ALIASES": "(null)",
        "SLURM_PRIO_PROCESS": "0",
        "SLURM_PROCID": "0",
        "SLURM_SUBMIT_DIR": job.spec.submit_dir,
        "SLURM_SUBMIT_HOST": job.spec.submit_host,
        "SLURM_TASKS_PER_NODE": runs(pod.chunk.ranks for pod in pods),
        "SLURM_TOPOLOGY_ADDR": first.host,
        "SLURM_TOPOLOGY_ADDR_PATTERN": "node",
        "TMPDIR": "/tmp",  # noqa: S108  what slurmd sets
    }
    if job.spec.interactive is None:
        variables["ENVIRONMENT"] = "BATCH"
    elif job.spec.interactive is Interactive.TERMINAL:
        variables |= {"SLURM_STEP_ID": "0", "SLURM_STEPID": "0", "SLURM_STEP_NODELIST": first.host}
    return variables | _option_variables(job) | _of_the_array(job) | _of_the_components(job)


def _component(job: PlacedJob, index: int) -> list[PlacedPod]:
    """The pods of a component; of an ordinary job, which has only number 0, all."""
    return [pod for pod in job.pods if pod.chunk.component == index]


def _of_the_components(job: PlacedJob) -> dict[str, str]:
    """What a heterogeneous job knows of all of its components. Source: _set_het_job_env(), where each
    component has an id of its own; here they are one job. SLURM_* without a number is the first component's.
    """
    given = job.spec.attributes
    count = int(given.get("het_size", "1"))
    if count == 1:
        return {}
    variables = {"SLURM_HET_SIZE": str(count), "SLURM_PACK_SIZE": str(count)}
    for index in range(count):
        of_one = _of_one_component(job, index)
        # older Slurm's word for it
        variables |= {f"{name}_{word}_GROUP_{index}": of_one[name] for word in ("HET", "PACK") for name in of_one}
    return variables


def _of_one_component(job: PlacedJob, index: int) -> dict[str, str]:
    pods = _component(job, index)
    prefix = f"het_{index}_"
    given = {k.removeprefix(prefix): v for k, v in job.spec.attributes.items() if k.startswith(prefix)}
    variables = {
        "SLURM_JOB_CPUS_PER_NODE": runs(pod.chunk.cpus for pod in pods),
        "SLURM_JOB_ID": str(shown_number(job.job_id, job.spec.member_of)),
        "SLURM_JOB_NAME": job.spec.name,
        "SLURM_JOB_NODELIST": compress([pod.host for pod in pods]),
        "SLURM_JOB_NUM_NODES": str(len(pods)),
        "SLURM_JOB_PARTITION": given.get("partition", job.queue),
        "SLURM_JOB_QOS": job.spec.attributes.get("qos", "normal"),
        "SLURM_NODE_ALIASES": "(null)",
        "SLURM_TASKS_PER_NODE": runs(pod.chunk.ranks for pod in pods),
        **{variable: given[name] for variable, name in _OF_OPTIONS if name in given},
    }
    if "ntasks" in given or "ntasks_per_node" in given:
        tasks = str(sum(pod.chunk.ranks for pod in pods))
        variables |= {"SLURM_NTASKS": tasks, "SLURM_NPROCS": tasks}
    if job.spec.account is not None:
        variables["SLURM_JOB_ACCOUNT"] = job.spec.account
    return variables


def _of_the_array(job: PlacedJob) -> dict[str, str]:
    """What a member sees of its array."""
    member = job.spec.member_of
    if member is None or job.array is None:
        return {}
    indices = job.array.indices
    return {
        "SLURM_ARRAY_JOB_ID": str(member.array_id),
        "SLURM_ARRAY_TASK_COUNT": str(len(indices)),
        "SLURM_ARRAY_TASK_ID": str(member.index),
        "SLURM_ARRAY_TASK_MAX": str(indices.last),
        "SLURM_ARRAY_TASK_MIN": str(indices.first),
        "SLURM_ARRAY_TASK_STEP": str(indices.step),
    }


def _option_variables(job: PlacedJob) -> dict[str, str]:
    """Variables that are set only when the option was given."""
    given = job.spec.attributes
    variables = {variable: given[name] for variable, name in _OF_OPTIONS if name in given}
    if (distribution := given.get("distribution")) is not None:
        word, _, size = distribution.partition("=")
        variables["SLURM_DISTRIBUTION"] = word
        if size:
            variables["SLURM_DIST_PLANESIZE"] = size
    if "ntasks" in given or "ntasks_per_node" in given:
        tasks = str(sum(pod.chunk.ranks for pod in _component(job, 0)))
        variables |= {"SLURM_NTASKS": tasks, "SLURM_NPROCS": tasks}
    gpus = gpus_of(job.pods[0].chunk.resources)
    if 0 < gpus <= _MAX_GPUS:  # a pod sees its own GPUs only, numbered from 0
        variables |= {"SLURM_GPUS_ON_NODE": str(gpus), "SLURM_JOB_GPUS": ",".join(map(str, range(gpus)))}
    if job.spec.account is not None:
        variables["SLURM_JOB_ACCOUNT"] = job.spec.account
    if (export := given.get("export", "ALL")).upper() != "ALL":
        # one with values comes with the job's own variables
        variables |= {"SLURM_GET_USER_ENV": "1"} | ({} if f"={HIDDEN}" in export else {"SLURM_EXPORT_ENV": export})
    if "get_user_env" in given:
        variables["SLURM_GET_USER_ENV"] = "1"
    variables |= {
        variable: text
        for variable, text in (
            ("SLURM_JOB_LICENSES", format_licenses(job.spec)),
            ("SLURM_JOB_RESERVATION", given.get("reservation")),
            ("SLURM_OVERCOMMIT", given.get("overcommit")),
            ("SLURM_NTASKS_PER_GPU", given.get("ntasks_per_gpu")),
            ("SLURM_GPUS_PER_SOCKET", given.get("gpus_per_socket")),
        )
        if text
    }
    if given.get("mem_per_node_mb") == "0":  # all that the node has
        variables["SLURM_MEM_PER_NODE"] = str((job.pods[0].chunk.mem_bytes or 0) // MIB)
    if job.run_count > 1:
        variables["SLURM_RESTART_COUNT"] = str(job.run_count - 1)
    return variables


def runs(counts: Iterable[int]) -> str:
    """Counts per node as Slurm writes them: 2, 2, 2, 1 is `2(x3),1`."""
    parts = []
    for value, same in groupby(counts):
        times = len(list(same))
        parts.append(f"{value}(x{times})" if times > 1 else str(value))
    return ",".join(parts)


def nodefile(job: PlacedJob) -> str:
    """One line for each rank, hosts in order: what MPI hostfiles are made from."""
    return "".join(f"{pod.host}\n" * pod.chunk.ranks for pod in job.pods)
