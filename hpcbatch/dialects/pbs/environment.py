"""What a job's processes find in their environment: PBS_*, and Torque's variables, which do no harm beside them."""

from __future__ import annotations

from hpcbatch.dialects.pbs.ids import spec_id
from hpcbatch.model.accelerator import gpus_of
from hpcbatch.model.placed import PlacedJob
from hpcbatch.model.spec import JobSpec


def environment(job: PlacedJob) -> dict[str, str]:
    """The variables known before the job starts; they go over those that the user sent.

    PBS_NODEFILE and TMPDIR are left to the runner, which makes the file and the directory. No PBS_JOBCOOKIE: it
    would let processes talk to a MOM, and there is none. Source: OpenPBS, start_exec.c.
    """
    spec = job.spec
    first = spec.chunks[0]
    threads = str(first.threads if first.threads is not None else first.cpus)
    ranks = [pod.chunk.ranks for pod in job.pods]
    variables = {
        "HOME": job.home,
        "LOGNAME": job.owner,
        "USER": job.owner,
        "NCPUS": threads,
        "OMP_NUM_THREADS": threads,
        "PBS_ENVIRONMENT": "PBS_BATCH" if spec.interactive is None else "PBS_INTERACTIVE",
        "PBS_JOBDIR": private_dir(job) or job.home,
        "PBS_JOBID": spec_id(job.job_id, spec),
        "PBS_JOBNAME": spec.name,
        "PBS_MOMPORT": "15003",
        "PBS_NODENUM": "0",
        "PBS_O_QUEUE": spec.queue or job.queue,
        "PBS_QUEUE": job.queue,
        "PBS_TASKNUM": "1",
        # Torque, and NCI's PBS_NCPUS. PBS_NP is the number of lines of the node file.
        "PBS_NCPUS": str(sum(pod.chunk.cpus for pod in job.pods)),
        "PBS_NNODES": str(len(job.pods)),
        "PBS_NP": str(sum(ranks)),
        "PBS_NUM_NODES": str(len(job.pods)),
        "PBS_NUM_PPN": str(ranks[0] if ranks else 0),
        "PBS_SERVER": spec.server,
        "PBS_VNODENUM": "0",
    }
    if spec.interactive is None:
        variables["ENVIRONMENT"] = "BATCH"
    if spec.member_of is not None:
        index = str(spec.member_of.index)
        variables |= {"PBS_ARRAY_ID": f"{spec.member_of.array_id}[].{spec.server}", "PBS_ARRAY_INDEX": index}
        variables["PBS_ARRAYID"] = index  # Torque's
    if spec.interpreter is not None:
        variables["SHELL"] = spec.interpreter
    if spec.account is not None:
        variables["PBS_ACCOUNT"] = spec.account
    if (ngpus := spec.attributes.get("Resource_List.ngpus")) is not None:
        variables["PBS_NGPUS"] = ngpus  # NCI's, of all chunks together
    if spec.walltime_s is not None:
        variables["PBS_WALLTIME"] = str(spec.walltime_s)
    return variables


def private_dir(job: PlacedJob) -> str:
    """The directory of -W sandbox=PRIVATE, by the name that PBS gives it; "" without."""
    return private_path(job.spec, job.job_id, job.home)


def private_path(spec: JobSpec, job_id: int, home: str) -> str:
    """The same of any job, with its submitter's home."""
    if spec.attributes.get("sandbox") != "PRIVATE":
        return ""
    return f"{home.rstrip('/')}/pbs.{spec_id(job_id, spec)}.x8z"


def nodefile(job: PlacedJob) -> str:
    """PBS_NODEFILE's text: one line for each MPI process, the pods in order."""
    return "".join(f"{pod.host}\n" * pod.chunk.ranks for pod in job.pods)


def gpufile(job: PlacedJob) -> str:
    """PBS_GPUFILE's text, Torque's: a line for each GPU, counted on each host."""
    return "".join(f"{pod.host}-gpu{nth}\n" for pod in job.pods for nth in range(gpus_of(pod.chunk.resources)))
