"""Where a Slurm job's output goes: the patterns of --output and --error. Source: fname.c, and recorded names."""

from __future__ import annotations

import re

from hpcbatch.dataclass import dataclass
from hpcbatch.model.array import shown_number
from hpcbatch.model.placed import OutputFiles, PlacedJob
from hpcbatch.model.record import JobRecord
from hpcbatch.model.spec import JobSpec
from hpcbatch.typed import Any

DEFAULT = "slurm-%j.out"
ARRAY_DEFAULT = "slurm-%A_%a.out"
NO_ARRAY_TASK = 4294967294
"""%a of a job that is no array element, and of an array as a whole: NO_VAL."""

_PATTERN = re.compile(r"%(?:%|([0-9]*)([A-Za-z]))")
_ESCAPED = re.compile(r"\\(.?)", re.DOTALL)
_NUMBERS = frozenset("jAabJrnt")
MAX_WIDTH = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class _Names:
    job_id: int
    name: str
    user: str
    restarts: int
    host: str | None
    """Of the first pod; None before there is one: %N stays."""
    array_id: int
    """A job that is in no array has its own number here."""
    index: int = NO_ARRAY_TASK
    default: str = DEFAULT


def _in_array(job_id: int, spec: JobSpec) -> dict[str, Any]:
    """What a job's place in an array says of its names."""
    if spec.member_of is not None:
        return {"array_id": spec.member_of.array_id, "index": spec.member_of.index, "default": ARRAY_DEFAULT}
    return {"array_id": job_id, "default": DEFAULT if spec.array is None else ARRAY_DEFAULT}


def output_files(job: PlacedJob) -> OutputFiles:
    """The absolute files that the runner writes. A directory in their place is an error, as in Slurm."""
    names = _names_of(job)
    work_dir = job.spec.work_dir or job.home
    stderr = job.spec.stderr
    return OutputFiles(
        stdout=_path(job.spec.stdout.path, work_dir, names),
        stderr=None if stderr is None else _path(stderr.path, work_dir, names),
        append=job.spec.stdout.append,
        umask=job.spec.umask,
    )


def input_file(job: PlacedJob) -> str:
    """The absolute file of --input; "" without one."""
    return "" if job.spec.stdin is None else _path(job.spec.stdin, job.spec.work_dir or job.home, _names_of(job))


def _names_of(job: PlacedJob) -> _Names:
    return _Names(
        job_id=shown_number(job.job_id, job.spec.member_of),
        name=job.spec.name,
        user=job.owner,
        restarts=max(0, job.run_count - 1),
        host=job.pods[0].host.partition(".")[0] if job.pods else None,
        **_in_array(job.job_id, job.spec),
    )


def shown_paths(record: JobRecord) -> tuple[str, str]:
    """StdOut and StdErr of `scontrol show job`."""
    spec, names = record.spec, _shown_names(record)
    work_dir = spec.work_dir or record.status.home
    stdout = _path(spec.stdout.path, work_dir, names)
    return stdout, stdout if spec.stderr is None else _path(spec.stderr.path, work_dir, names)


def shown_input(record: JobRecord) -> str:
    """StdIn of `scontrol show job`."""
    stdin = record.spec.stdin
    return "/dev/null" if stdin is None else _path(stdin, record.status.home, _shown_names(record))


def _shown_names(record: JobRecord) -> _Names:
    spec, status = record.spec, record.status
    return _Names(
        job_id=shown_number(record.job_id, spec.member_of),
        name=spec.name,
        user=status.owner,
        restarts=max(0, status.run_count - 1),
        host=status.hosts[0].pod if status.hosts else None,
        **_in_array(record.job_id, spec),
    )


def _path(pattern: str | None, work_dir: str, names: _Names) -> str:
    base = work_dir.rstrip("/")
    if pattern is None:
        return f"{base}/{expand(names.default, names)}"
    path = expand(pattern, names)
    return path if path.startswith("/") else f"{base}/{path}"


def expand(pattern: str, names: _Names) -> str:
    """Put in what the %-letters stand for. A backslash anywhere switches them all off, and is itself taken out."""
    if "\\" in pattern:
        return _ESCAPED.sub(r"\1", pattern)
    return _PATTERN.sub(lambda match: _value(match, names), pattern)


def _value(match: re.Match[str], names: _Names) -> str:
    width, letter = match[1], match[2]
    if letter is None:
        return "%"
    known: dict[str, object] = {
        "j": names.job_id,
        "A": names.array_id,
        "J": names.job_id,
        "a": names.index,
        "b": names.index % 10,
        "s": "batch",
        "t": 0,
        "n": 0,
        "r": names.restarts,
        "x": names.name,
        "u": names.user,
        "N": names.host,
    }
    value = known.get(letter)
    if value is None:
        return match[0]
    return str(value).zfill(min(int(width or 0), MAX_WIDTH) if letter in _NUMBERS else 0)
