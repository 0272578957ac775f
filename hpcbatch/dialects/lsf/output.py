"""Where a job's output goes: `-o` and `-e` with `%J` and `%I`. Without -o LSF would mail it; here it is a file then."""

from __future__ import annotations

from hpcbatch.dialects.lsf.ids import spec_number
from hpcbatch.model.placed import OutputFiles, PlacedJob
from hpcbatch.model.spec import JobSpec, Output
from hpcbatch.typed import Final

DEFAULT: Final = "lsf-%J.out"
ARRAY_DEFAULT: Final = "lsf-%J.%I.out"


def output_files(job: PlacedJob) -> OutputFiles:
    """The absolute files that the runner writes. A path that is a directory gets `<id>.out` or `<id>.err` in it."""
    spec = job.spec
    stdout, stderr = shown_paths(job.job_id, spec, job.home)
    index = "" if spec.member_of is None else f".{spec.member_of.index}"
    name = f"{spec_number(job.job_id, spec)}{index}"
    is_joined = stderr is None or (stderr == stdout and not stdout.endswith("/"))
    return OutputFiles(
        stdout=stdout,
        stderr=None if is_joined else stderr,
        stdout_in_dir=f"{name}.out",
        stderr_in_dir=None if is_joined else f"{name}.err",
        append=spec.stdout.append or job.run_count > 1,
        umask=spec.umask,
    )


def shown_paths(job_id: int, spec: JobSpec, home: str) -> tuple[str, str | None]:
    """Output and error file, absolute; None where both are one."""
    default = DEFAULT if spec.member_of is None and spec.array is None else ARRAY_DEFAULT
    stdout = _path(spec.stdout, default, job_id, spec, home)
    return stdout, None if spec.stderr is None else _path(spec.stderr, default, job_id, spec, home)


def input_file(job: PlacedJob) -> str:
    """The absolute file of -i; "" without one."""
    return "" if job.spec.stdin is None else expand(job.spec.stdin, job.job_id, job.spec)


def _path(output: Output, default: str, job_id: int, spec: JobSpec, home: str) -> str:
    path = expand(output.path or default, job_id, spec)
    return path if path.startswith("/") else f"{(spec.work_dir or home).rstrip('/')}/{path}"


def expand(path: str, job_id: int, spec: JobSpec) -> str:
    """Put in the job's number for `%J`, and for `%I` the member's index, 0 outside of arrays."""
    index = 0 if spec.member_of is None else spec.member_of.index
    return path.replace("%J", str(spec_number(job_id, spec))).replace("%I", str(index))
