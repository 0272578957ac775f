"""What a submission comes to, for people to read: its shape, and all of it as JSON. Options are `model.outcome`'s."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from hpcbatch.dataclass import dataclass
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.outcome import Fate, Outcome
from hpcbatch.model.record import JobRecord
from hpcbatch.model.site import SiteConfig, Unsupported
from hpcbatch.model.spec import Arrangement, JobSpec, Output, Sharing
from hpcbatch.typed import Any, NamedTuple
from hpcbatch.units import counted, format_bytes, hms, rfc3339

_PLACES = {
    Arrangement.FREE: "pods on any nodes",
    Arrangement.PACK: "all in one pod",
    Arrangement.SCATTER: "no two pods on one node",
    Arrangement.FILL: "as few pods as the nodes allow",
}


class Row(NamedTuple):
    """One line of a shape. `name` is its key in JSON too."""

    name: str
    asked: str
    granted: str = ""
    """"": nothing else than what was asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """All that is to say of a script or job."""

    command: str
    """qsub or sbatch."""
    script: str
    options: Sequence[Outcome] = ()
    site: Sequence[Outcome] = ()
    """What the site makes of names in the script; `source` is the kind of name."""
    shape: Sequence[Row] = ()
    """Empty where it cannot be submitted."""
    problems: Sequence[str] = ()
    """What the command would print of all that is wrong, without its name."""
    remarks: Sequence[str] = ()

    @property
    def is_fit(self) -> bool:
        """Whether it could be submitted like this, to this site as far as it is known."""
        return not self.problems and all(each.fate is not Fate.REFUSED for each in (*self.options, *self.site))


def shape(spec: JobSpec, layout: Sequence[Chunk], job: JobRecord | None = None) -> tuple[Row, ...]:
    """What is asked for. `layout` are the pods, as far as the nodes are known; `job` is the admitted job, if it is."""
    return tuple(_rows(spec, layout, job))


def _rows(spec: JobSpec, layout: Sequence[Chunk], job: JobRecord | None) -> Iterator[Row]:
    asked = " or ".join(name for name in (spec.queue, *spec.other_queues) if name) or "the site's default"
    yield Row("queue", asked, _other(asked, "" if job is None else job.queue))
    if spec.array is not None:
        most = "" if spec.array.limit is None else f", at most {spec.array.limit} at once"
        yield Row("array", f"{counted(len(spec.array.indices), 'member')}{most}")
    yield Row("chunks", " + ".join(piece(chunk) for chunk in spec.chunks))
    yield Row("pods", " + ".join(piece(pod) for pod in layout))
    yield Row("in all", _total(layout))
    place = _PLACES[spec.arrangement]
    yield Row("placement", f"{place}, without other jobs" if spec.sharing is Sharing.EXCLUSIVE else place)
    walltime = "no limit asked for" if spec.walltime_s is None else hms(spec.walltime_s)
    yield Row("walltime", walltime, _other(walltime, _walltime(job)))
    for name, text in _further(spec):
        if text:
            yield Row(name, text)
    yield Row("stdout", _file(spec.stdout))
    yield Row("stderr", "with stdout" if spec.stderr is None else _file(spec.stderr))
    if spec.stdin is not None:
        yield Row("stdin", spec.stdin)
    is_private = spec.attributes.get("sandbox") == "PRIVATE"
    yield Row("starts in", "a directory of its own" if is_private else spec.work_dir or "the home directory")


def _other(asked: str, granted: str) -> str:
    return "" if granted == asked else granted


def _walltime(job: JobRecord | None) -> str:
    return "" if job is None or job.walltime_s is None else hms(job.walltime_s)


def _further(spec: JobSpec) -> Iterator[tuple[str, str]]:
    yield "memory", "all of each node" if spec.whole_node_mem else ""
    yield "nodes wanted", ", ".join(spec.required_hosts)
    yield "nodes excluded", ", ".join(spec.excluded_hosts)
    yield "licences", ", ".join(f"{amount} {name}" for name, amount in spec.licenses)
    yield "account", spec.account or ""
    yield "image", spec.image or ""
    yield "not before", "" if spec.begin_time is None else rfc3339(spec.begin_time)
    yield "ends by", "" if spec.deadline is None else rfc3339(spec.deadline)
    yield "least walltime", "" if spec.min_walltime_s is None else hms(spec.min_walltime_s)
    yield "CPU time", "" if spec.cpu_time_s is None else hms(spec.cpu_time_s)
    yield "process limits", ", ".join(f"{name} {amount}" for name, amount in spec.process_limits)
    yield "held", "by its user" if spec.hold else ""


def _file(output: Output) -> str:
    if output.path is None:
        return "the default name"
    return f"{output.path} (appended)" if output.append else output.path


def piece(chunk: Chunk) -> str:
    """`3 × 4 CPUs, 8Gi, 2 gpu, 4 ranks, on haswell`."""
    parts = [counted(chunk.cpus, "CPU")]
    if chunk.mem_bytes is not None:
        parts.append(format_bytes(chunk.mem_bytes))
    parts += [f"{amount} {name}" for name, amount in chunk.resources]
    parts += [f"{name}={text}" for name, text in chunk.words]
    if chunk.tmp_bytes is not None:
        parts.append(f"{format_bytes(chunk.tmp_bytes)} of temporary files")
    parts.append(counted(chunk.ranks, "rank"))
    either = " or ".join("+".join(names) for names in chunk.alternatives)
    wanted = [*chunk.properties, *([either] if either else []), *(f"not {name}" for name in chunk.lacks)]
    if wanted:
        parts.append(f"on {', '.join(wanted)}")
    if chunk.hosts:
        parts.append(f"on node {' or '.join(chunk.hosts)}")
    return f"{chunk.count} × {', '.join(parts)}"


def _total(layout: Sequence[Chunk]) -> str:
    names = sorted({name for pod in layout for name, _ in pod.resources})
    memory = sum(pod.count * (pod.mem_bytes or 0) for pod in layout)
    parts = [
        counted(sum(pod.count for pod in layout), "pod"),
        counted(sum(pod.count * pod.cpus for pod in layout), "CPU"),
        *([format_bytes(memory)] if memory else []),
        *(f"{sum(pod.count * dict(pod.resources).get(name, 0) for pod in layout)} {name}" for name in names),
        counted(sum(pod.count * pod.ranks for pod in layout), "rank"),
    ]
    return ", ".join(parts)


def ignored_outcome(text: str, source: str) -> Outcome:
    """An entry of `spec.ignored` or `status.ignored`, as an outcome."""
    option, _, why = text.partition(": ")
    return Outcome(option, Fate.IGNORED, why, source)


REFUSES_IGNORED = "nothing of this job may be ignored: the site refuses such jobs, or --strict does"


def refuses_ignored(spec: JobSpec, site: SiteConfig | None) -> bool:
    """Whether a job is refused if anything of it has no effect."""
    return spec.is_strict or (site is not None and site.unsupported is Unsupported.REFUSE)


def ignored_refused(outcomes: Iterable[Outcome]) -> tuple[Outcome, ...]:
    return tuple(each._replace(fate=Fate.REFUSED) if each.fate is Fate.IGNORED else each for each in outcomes)


def as_json(explanation: Explanation) -> dict[str, Any]:
    """The same for programs. Keys stay as they are."""
    return {
        "command": explanation.command,
        "script": explanation.script,
        "fit": explanation.is_fit,
        "options": [_outcome_json(each) for each in explanation.options],
        "site": [
            {"kind": each.source, "name": each.option, "fate": each.fate.value, "meaning": each.meaning}
            for each in explanation.site
        ],
        "shape": {
            row.name: {"asked": row.asked, **({"granted": row.granted} if row.granted else {})}
            for row in explanation.shape
        },
        "problems": list(explanation.problems),
        "remarks": list(explanation.remarks),
    }


def _outcome_json(outcome: Outcome) -> dict[str, Any]:
    place = {"source": outcome.source, "line": outcome.line, "column": outcome.column}
    return {
        "option": outcome.option,
        "fate": outcome.fate.value,
        "meaning": outcome.meaning,
        **{name: value for name, value in place.items() if value is not None},
    }
