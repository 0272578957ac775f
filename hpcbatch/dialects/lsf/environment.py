"""The variables that LSF sets for a job, and the file of its hosts."""

from __future__ import annotations

import re

from hpcbatch.dialects.lsf.ids import spec_id, spec_number
from hpcbatch.dialects.lsf.output import expand, shown_paths
from hpcbatch.model.array import Array
from hpcbatch.model.interactive import Interactive
from hpcbatch.model.placed import PlacedJob, PlacedPod

_LONGEST_HOSTS = 4096
"""LSB_HOSTS is left out for jobs of more characters, as LSF does for very long ones: LSB_DJOB_HOSTFILE has them all."""


def environment(job: PlacedJob) -> dict[str, str]:
    """All that is known before the job starts. The runner adds LSB_DJOB_HOSTFILE, LSB_DJOB_RANKFILE and LS_JOBPID."""
    spec = job.spec
    hosts = nodefile(job).split()
    slots = [(pod.host, slots_of(pod)) for pod in job.pods]
    first = job.pods[0]
    stdout, stderr = shown_paths(job.job_id, spec, job.home)
    variables = {
        "HOME": job.home,
        "USER": job.owner,
        "LOGNAME": job.owner,
        "LSFUSER": job.owner,
        "LSB_JOBID": str(spec_number(job.job_id, spec)),
        "LSB_BATCH_JID": spec_id(job.job_id, spec),
        "LSB_JOBINDEX": "0" if spec.member_of is None else str(spec.member_of.index),
        "LSB_JOBNAME": shown_name(job),
        "LSB_QUEUE": job.queue,
        "LSB_SUB_HOST": spec.submit_host,
        "LSB_SUB_USER": job.owner,
        "LS_SUBCWD": spec.submit_dir,
        "LS_EXECCWD": spec.work_dir or job.home,
        "LSB_EXEC_CLUSTER": job.cluster,
        "LSB_MCPU_HOSTS": " ".join(f"{host} {count}" for host, count in slots if count),
        "LSB_DJOB_NUMPROC": str(len(hosts)),
        "LSB_MAX_NUM_PROCESSORS": str(len(hosts)),
        "LSB_OUTPUTFILE": stdout,
        "LSB_ERRORFILE": stderr or stdout,
        "LSB_TRAPSIGS": "trap # 15 10 12 2 1",
        "LSB_RESTART": "Y" if job.run_count > 1 else "N",
        "LSB_EXIT_PRE_ABORT": "99",
        "LSB_JOBEXIT_STAT": "0",
        "LSF_VERSION": "34",
    }
    text = " ".join(hosts)
    if len(text) <= _LONGEST_HOSTS:
        variables["LSB_HOSTS"] = text
    if job.array is not None:
        variables |= {
            "LSB_JOBINDEX_STEP": str(_step(job.array)),
            "LSB_JOBINDEX_END": str(job.array.indices.last),
        }
    if spec.stdin is not None:
        variables["LSB_INPUTFILE"] = expand(spec.stdin, job.job_id, spec)
    if job.groups:
        variables["LSB_UNIXGROUP"] = job.groups[0][1]
    if spec.interactive is not None:
        variables["LSB_INTERACTIVE"] = "Y"
        if spec.interactive is not Interactive.STREAMS:
            variables["LSB_INTERACTIVE_TTY"] = "Y"
    if (threads := first.chunk.threads) is not None:
        variables["OMP_NUM_THREADS"] = str(threads)
    given = spec.attributes
    if "res_req" in given:
        variables |= {"LSB_SUB_RES_REQ": given["res_req"], "LSB_EFFECTIVE_RSRCREQ": given["res_req"]}
    if spec.account:
        variables["LSB_PROJECT_NAME"] = spec.account
    if spec.rerunnable and "rerunnable" in given:
        variables["LSB_RERUNNABLE"] = "Y"
    return variables


def _step(array: Array) -> int:
    """As it was given: of two members the set itself has none."""
    match = re.search(":([0-9]+)", array.text)
    return int(match[1]) if match else array.indices.step


def shown_name(job: PlacedJob) -> str:
    """`name`, of a member `name[3]`."""
    member = job.spec.member_of
    return job.spec.name if member is None else f"{job.spec.name}[{member.index}]"


def slots_of(pod: PlacedPod) -> int:
    return pod.chunk.ranks


def nodefile(job: PlacedJob) -> str:
    """One line for each slot, hosts in order."""
    return "".join(f"{pod.host}\n" * slots_of(pod) for pod in job.pods)
