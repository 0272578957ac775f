"""sbatch: command line, environment and script become a Submission."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from hpcbatch.dialects.slurm.array_spec import limit_note
from hpcbatch.dialects.slurm.dependency import parse_dependency
from hpcbatch.dialects.slurm.directives import check_script
from hpcbatch.dialects.slurm.errors import SlurmUsageError
from hpcbatch.dialects.slurm.read_request import (
    apply_command_line,
    apply_environment,
    apply_script,
    check_foreign,
    check_together,
    read_command_line,
)
from hpcbatch.dialects.slurm.request import Request
from hpcbatch.dialects.slurm.sizes import failed, size_of
from hpcbatch.dialects.slurm.values import names_only, split_export
from hpcbatch.errors import HpcBatchError, NotSupportedError
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.free_text import check_text
from hpcbatch.model.image import parse_image
from hpcbatch.model.outcome import Outcome
from hpcbatch.model.spec import JobSpec, Output, Sharing, Submission

MAX_NAME = 1024
"""Longest job name; MAX_CHAR_LEN limits slurmctld likewise."""

DEFAULT_IMAGES = ("PYXIS_CONTAINER_IMAGE", "HPCBATCH_IMAGE")
"""Pyxis looks at its own variable only where no --container-image is given; the other one is ours."""

_MAIL_NOTE = "this site sends no mail; --mail-type and --mail-user are kept with the job"

ReadScript = Callable[[str | None], tuple[str | None, bytes]]


class SlurmSubmission(NamedTuple):
    """A submission, and how sbatch is to answer."""

    submission: Submission
    parsable: bool = False
    quiet: bool = False
    verbose: int = 0
    dry_run: bool = False
    wait: bool = False
    """Until the job has ended."""
    priority: int | None = None
    """Given outright, which only counts for those who may change all jobs."""


class _Source(NamedTuple):
    """The script with its path, and what stands for its name by default and in messages."""

    script: bytes
    path: str | None
    name: str
    shown: str


def read_submission(
    argv: Sequence[str],
    *,
    script: ReadScript,
    environ: Mapping[str, str],
    cwd: str,
    host: str,
    user: str,
    server: str,
    now: datetime,
    umask: int,
    outcomes: list[Outcome] | None = None,
) -> SlurmSubmission:
    """Read what `sbatch argv...` requests. The command line goes over SBATCH_* variables, these over #SBATCH lines.

    `script` reads the script of that name, or standard input for None, once at most, and raises OSError if it cannot.
    `now` is aware; its zone is that of --begin. Raises SlurmUsageError with the real sbatch's text,
    NotSupportedError for what only the real one can, SlurmAnswer for --help and --version.
    """
    given, operands, asked = read_command_line(argv, now)
    source = _read_source(operands, asked, script)
    request = Request()
    if asked.wrap is None:
        check_script(source.script)
        directives = apply_script(request, source.script, source.shown, now)
    apply_environment(request, environ, now)
    apply_command_line(request, given, now)
    if asked.wrap is None:
        check_foreign(request, directives, source.shown)
    check_together(request)
    spec = _spec(
        request,
        source,
        tuple(operands[1:]),
        cwd=cwd,
        host=host,
        user=user,
        server=server,
        umask=umask,
        image=request.image or _default_image(environ),
    )
    check_text(spec)
    environment, export_none = _environment(request.export, environ)
    submission = Submission(
        spec=spec,
        script=source.script,
        environment=environment,
        notes=() if request.quiet else tuple(_notes(request)),
        export_none=export_none or bool(request.login),
        mail_note="" if request.quiet or not (request.mail_types or request.mail_users) else _MAIL_NOTE,
    )
    return SlurmSubmission(
        submission=submission,
        parsable=request.parsable,
        quiet=request.quiet,
        verbose=request.verbose,
        dry_run=request.dry_run,
        wait=request.wait,
        priority=request.priority or None,
    )


def _read_source(operands: Sequence[str], asked: Request, script: ReadScript) -> _Source:
    if operands and operands[0] == ":":
        raise NotSupportedError("heterogeneous jobs (`:`) are not supported yet")
    if asked.wrap is not None:
        if operands:
            raise SlurmUsageError("sbatch: error: Script arguments not permitted with --wrap option")
        text = f"#!/bin/sh\n# This script was created by sbatch --wrap.\n\n{asked.wrap}\n"
        return _Source(text.encode("utf-8", "surrogateescape"), None, "wrap", "--wrap")
    if not operands:
        _, content = script(None)
        return _Source(content, None, "sbatch", "<stdin>")
    path, content = script(operands[0])
    name = operands[0].rstrip("/").rpartition("/")[2] or operands[0]
    return _Source(content, path or operands[0], name, operands[0])


def _spec(
    request: Request,
    source: _Source,
    script_args: tuple[str, ...],
    *,
    cwd: str,
    host: str,
    user: str,
    server: str,
    umask: int,
    image: str | None,
) -> JobSpec:
    work_dir = _absolute(request.chdir or cwd, cwd)
    name = request.job_name or source.name
    if len(name) > MAX_NAME:
        raise failed("Pathname of a file, directory or other parameter too long")
    if request.partition == "":
        raise SlurmUsageError(
            "sbatch: error: invalid partition specified: (null)\n"
            "sbatch: error: Batch job submission failed: Invalid partition name specified"
        )
    nodes = node_range(request)
    size = size_of(request, nodes)
    mail_users = request.mail_users or ((user,) if request.mail_types else ())
    return JobSpec(
        dialect=Dialect.SLURM,
        name=name,
        queue=request.partition,
        chunks=size.chunks,
        mem_per_pod_bytes=size.mem_per_pod_bytes,
        resources_per_pod=size.resources_per_pod,
        arrangement=size.arrangement,
        sharing=Sharing.EXCLUSIVE if request.exclusive else Sharing.SHARED,
        walltime_s=request.walltime_s,
        warn_signal=request.warn_signal,
        script_args=script_args,
        script_path=source.path,
        work_dir=work_dir,
        submit_dir=cwd,
        submit_host=host,
        stdout=Output(path=output_path(request.output, work_dir), append=bool(request.append)),
        stderr=(
            None
            if request.error is None
            else Output(path=output_path(request.error, work_dir), append=bool(request.append))
        ),
        hold=request.hold or request.priority == 0,
        array=request.array,
        dependency=parse_dependency(request.dependency or "", kill_if_never=request.kill_if_never),
        begin_time=request.begin,
        nice=request.nice,
        rerunnable=request.requeue,
        account=request.account or None,
        mail_points=",".join(request.mail_types),
        mail_users=mail_users,
        umask=umask,
        image=image,
        server=server,
        is_strict=request.strict,
        attributes=_attributes(request, nodes),
    )


def _default_image(environ: Mapping[str, str]) -> str | None:
    """The image that the environment names, which is weaker than the script; None: the partition's."""
    for name in DEFAULT_IMAGES:
        if text := environ.get(name):
            try:
                return parse_image(text)
            except HpcBatchError as error:
                raise SlurmUsageError(f"sbatch: error: {name}: {error}", 255) from None
    return None


def _notes(request: Request) -> Iterator[str]:
    yield from request.notes
    if request.array is not None and (note := limit_note(request.array)):
        yield note


def _absolute(path: str, base: str) -> str:
    return path if path.startswith("/") else f"{base.rstrip('/')}/{path}"


def output_path(pattern: str | None, work_dir: str) -> str | None:
    if pattern is None:
        return None
    return "/dev/null" if pattern.lower() == "none" else _absolute(pattern, work_dir)


def node_range(request: Request) -> tuple[int, int] | None:
    """Nodes requested, min and max, never more than there are tasks, which the real sbatch says too."""
    if request.nodes is None or request.ntasks is None:
        return request.nodes
    low, high = request.nodes
    if request.ntasks < low:
        request.notes.append(
            f"sbatch: Warning: can't run {request.ntasks} processes on {low} nodes, setting nnodes to {request.ntasks}"
        )
    return min(low, request.ntasks), min(high, request.ntasks)


def _attributes(request: Request, nodes: tuple[int, int] | None) -> dict[str, str]:
    """What the environment of the job and `scontrol show job` need again; only what was given."""
    found: dict[str, object] = {
        **size_attributes(request, nodes),
        "export": None if request.export is None else names_only(request.export),
        "get_user_env": None if request.login is None else int(request.login),
        "open_mode": None if request.append is None else "at"[not request.append],
    }
    found |= {name.replace("-", "_"): value for name, value in request.kept.items()}
    return {name: str(value) for name, value in found.items() if value is not None}


SIZE_ATTRIBUTES = frozenset(
    {
        "ntasks",
        "ntasks_per_node",
        "cpus_per_task",
        "nodes",
        "mem_per_node_mb",
        "mem_per_cpu_mb",
        "cpus_per_gpu",
        "mem_per_gpu_mb",
        "gpus",
        "gpus_per_node",
        "gpus_per_task",
        "tres_per_node",
        "tres_per_job",
        "tres_per_task",
        "constraint",
    }
)
"""All that `size_attributes` may give."""


def size_attributes(request: Request, nodes: tuple[int, int] | None) -> dict[str, str]:
    """What was requested that says how large the job is; `read_request.request_of` reads it again."""
    found = {
        "ntasks": request.ntasks,
        "ntasks_per_node": request.ntasks_per_node,
        "cpus_per_task": request.cpus_per_task,
        "nodes": None if nodes is None else f"{nodes[0]}-{nodes[1]}",
        "mem_per_node_mb": request.mem_mb,
        "mem_per_cpu_mb": request.mem_per_cpu_mb,
        "cpus_per_gpu": request.cpus_per_gpu,
        "mem_per_gpu_mb": request.mem_per_gpu_mb,
        **request.tres,
        "constraint": request.constraint,
    }
    return {name: str(value) for name, value in found.items() if value is not None}


def _environment(export: str | None, environ: Mapping[str, str]) -> tuple[dict[str, str], bool]:
    """The variables that travel with the job, and whether the job gets a login environment below them.

    Without ALL only the named ones and SLURM_* travel; without ALL or NIL Slurm loads the user's environment.
    """
    items = split_export(export or "ALL")
    words = {item.upper() for item in items}
    if "ALL" in words:
        kept = dict(environ)
    else:
        kept = {name: value for name, value in environ.items() if name.startswith(("SLURM_", "SPANK_"))}
    for item in items:
        name, equals, value = item.partition("=")
        if equals:
            kept[name] = value
        elif name in environ:
            kept[name] = environ[name]
    if export is not None and any("=" in item for item in items):
        kept["SLURM_EXPORT_ENV"] = export  # the record has the names alone
    return kept, not words & {"ALL", "NIL"}
