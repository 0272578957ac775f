"""Which of a site's accelerators the GPUs of a job are: by the type that it asks for, or by its queue. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hpcbatch.dataclass import replace
from hpcbatch.model.accelerator import MODEL_WORDS, PREFIX, UNTYPED, Accelerator
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.site import QueueConfig, SiteConfig, Word
from hpcbatch.model.spec import JobSpec
from hpcbatch.typed import NamedTuple, TypeAlias

_Amounts: TypeAlias = Iterable[tuple[str, int]]
_Words: TypeAlias = tuple[tuple[str, str], ...]


class Typed(NamedTuple):
    spec: JobSpec
    unknown: tuple[str, ...]
    """Types that the site does not have, as the job names them: `gpu:h100`, `gpu_model=h100`."""


def with_types(spec: JobSpec, site: SiteConfig) -> Typed:
    """The job with the full names of the accelerators that it asks for, `gpu:a100`, whether it names the type with the
    number (Slurm) or by a word beside it (PBS, LSF). Names that the site translates are left to its translations.
    """
    if not site.accelerators:
        return Typed(spec, ())
    found = _Types(site)
    of_job, words = found.taken_from(spec.words)
    taken = [found.taken_from(chunk.words) for chunk in spec.chunks]
    kinds = {kind.name: kind for kind, _ in taken if kind is not None}
    of_pod = of_job or (next(iter(kinds.values())) if len(kinds) == 1 else None)
    chunks = tuple(
        replace(chunk, words=rest, resources=found.named(chunk.resources, kind or of_job))
        for chunk, (kind, rest) in zip(spec.chunks, taken, strict=True)
    )
    new = replace(spec, words=words, chunks=chunks, resources_per_pod=found.named(spec.resources_per_pod, of_pod))
    return Typed(new, tuple(dict.fromkeys(found.unknown)))


class _Types:
    def __init__(self, site: SiteConfig) -> None:
        self._site = site
        self.unknown: list[str] = []

    def taken_from(self, words: _Words) -> tuple[Accelerator | None, _Words]:
        """The type that `words` name, and the words without it."""
        kind, rest = None, []
        for name, value in words:
            if name not in MODEL_WORDS or not value or self._is_translated(name, value):
                rest.append((name, value))
            elif (known := self._site.accelerator_called(value)) is None:
                self.unknown.append(f"{name}={value}")
            else:
                kind = known
        return kind, tuple(rest)

    def named(self, amounts: _Amounts, kind: Accelerator | None) -> tuple[tuple[str, int], ...]:
        """`amounts` with full names; those of no type are of `kind`, if there is one."""
        found: dict[str, int] = {}
        for name, amount in amounts:
            full = name
            if name in UNTYPED and kind is not None:
                full = kind.full_name
            elif name.startswith(PREFIX) and name not in self._site.resources and not self._is_translated(name, ""):
                known = self._site.accelerator_called(name.removeprefix(PREFIX))
                if known is None:
                    self.unknown.append(name)
                    continue
                full = known.full_name
            found[full] = found.get(full, 0) + amount
        return tuple(sorted(found.items()))

    def _is_translated(self, name: str, value: str) -> bool:
        return any(each.fits(Word.RESOURCE, name, value) for each in self._site.translations)


def in_queue(spec: JobSpec, queue: QueueConfig, site: SiteConfig) -> JobSpec:
    """A translated job with its GPUs of no type as those that they are in `queue`."""
    kind = site.accelerator_in(queue.name)
    if kind is None or not any(name in UNTYPED for name in spec.resource_names):
        return spec

    types = _Types(site)

    def has_some(given: _Amounts) -> bool:
        return any(name in UNTYPED for name, _ in given)

    def chunk_of(chunk: Chunk) -> Chunk:
        words: Mapping[str, str] = dict(chunk.words)
        if kind.labels and (has_some(chunk.resources) or has_some(spec.resources_per_pod)):
            words = {**words, kind.full_name: ""}
        return replace(chunk, resources=types.named(chunk.resources, kind), words=tuple(sorted(words.items())))

    chunks = tuple(map(chunk_of, spec.chunks))
    return replace(spec, chunks=chunks, resources_per_pod=types.named(spec.resources_per_pod, kind))
