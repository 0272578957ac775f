"""Where a job's output goes.

PBS spools output and delivers it at the end: clients take a file with the final name for the end of the job. Here it is
written beside that, under the name that it has in PBS's spool with `.running` behind, and renamed at the end. A stream
in -k is written directly: with `d` to its final path, else under its default name in the home directory, whatever -o or
-e say.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from hpcbatch.dialects.pbs.ids import spec_id
from hpcbatch.model.placed import OutputFiles, PlacedJob
from hpcbatch.model.spec import Output

INDEX_TAG = "^array_index^"
_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)\})")


def output_files(job: PlacedJob) -> OutputFiles:
    """The files of `job`, absolute. A path that is a directory gets `<id>.OU` or `<id>.ER` in it.

    Two streams with one path share one file: PBS would deliver one over the other.
    """
    spec = job.spec
    job_id = spec_id(job.job_id, spec)
    again = job.run_count > 1  # what the run before has written stays
    stdout = _path(job, spec.stdout, "o")
    stderr = _path(job, spec.stderr if spec.stderr is not None else Output(), "e")
    out, err = f"{job_id}.OU", f"{job_id}.ER"
    if spec.stdout_to_stderr:
        return OutputFiles(
            stdout=stderr,
            stderr=None,
            stdout_in_dir=err,
            stdout_meanwhile=_meanwhile(job, err, "e"),
            umask=spec.umask,
            append=again,
        )
    # Same directory for both is no clash: the names in it differ.
    is_joined = spec.stderr is None or (stderr == stdout and not stdout.endswith("/"))
    return OutputFiles(
        stdout=stdout,
        stderr=None if is_joined else stderr,
        stdout_in_dir=out,
        stderr_in_dir=None if is_joined else err,
        stdout_meanwhile=_meanwhile(job, out, "o"),
        stderr_meanwhile="" if is_joined else _meanwhile(job, err, "e"),
        umask=spec.umask,
        append=again,
    )


def _meanwhile(job: PlacedJob, name: str, letter: str) -> str:
    return "" if letter in job.spec.attributes.get("Keep_Files", "n") else f"{name}.running"


def default_name(name: str, letter: str, job_id: int) -> str:
    """`<jobname>.o<id>` or `<jobname>.e<id>`."""
    return f"{name.rpartition('/')[2]}.{letter}{job_id}"


def _path(job: PlacedJob, output: Output, letter: str) -> str:
    name = _default_name(job, letter)
    keep = job.spec.attributes.get("Keep_Files", "n")
    if letter in keep and "d" not in keep:
        return _join(job.home, name)
    if output.path is None:
        return _join(job.spec.submit_dir, name)
    return _join(job.spec.submit_dir, expand(_with_index(job, output.path), _variables(job)))


def _default_name(job: PlacedJob, letter: str) -> str:
    member = job.spec.member_of
    if member is None:
        return default_name(job.spec.name, letter, job.job_id)
    return f"{default_name(job.spec.name, letter, member.array_id)}.{member.index}"


def _with_index(job: PlacedJob, path: str) -> str:
    """A member's index in the place of the first tag; without a tag all members write one file, as in PBS."""
    return path if job.spec.member_of is None else path.replace(INDEX_TAG, str(job.spec.member_of.index), 1)


def expand(path: str, variables: Mapping[str, str]) -> str:
    """Put values for `$NAME` and `${NAME}`; a name that is not in `variables` stays. Torque does this, OpenPBS
    leaves the text as it is; some 5 % of real scripts count on it.
    """
    return _VARIABLE.sub(lambda match: variables.get(match[1] or match[2], match[0]), path)


def _variables(job: PlacedJob) -> dict[str, str]:
    member = job.spec.member_of
    index = {} if member is None else dict.fromkeys(("PBS_ARRAY_INDEX", "PBS_ARRAYID"), str(member.index))
    return index | {
        "HOME": job.home,
        "USER": job.owner,
        "LOGNAME": job.owner,
        "PBS_JOBID": spec_id(job.job_id, job.spec),
        "PBS_JOBNAME": job.spec.name,
        "PBS_QUEUE": job.queue,
        "PBS_O_HOME": job.home,
        "PBS_O_LOGNAME": job.owner,
        "PBS_O_HOST": job.spec.submit_host,
        "PBS_O_WORKDIR": job.spec.submit_dir,
    }


def _join(directory: str, path: str) -> str:
    return path if path.startswith("/") else f"{directory.rstrip('/')}/{path}"
