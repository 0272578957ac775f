"""What a site makes of the names in a job: queues, resources, features and the like, all of them and not the first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import NamedTuple

from hpcbatch.model.outcome import Fate, Outcome
from hpcbatch.model.site import SiteConfig, Word
from hpcbatch.model.spec import JobSpec

QUEUE = "queue"


class Name(NamedTuple):
    """A name of the site in a job."""

    kind: str
    """`queue`, or a Word's value."""
    name: str
    value: str = ""

    @property
    def text(self) -> str:
        return f"{self.name}={self.value}" if self.value else self.name


def names_of(spec: JobSpec) -> list[Name]:
    """All names, each once, in the order of kinds."""
    return list(dict.fromkeys(_names(spec)))


def _names(spec: JobSpec) -> Iterator[Name]:
    for queue in (spec.queue, *spec.other_queues):
        if queue:
            yield Name(QUEUE, queue)
    for name in spec.resource_names:
        yield Name(Word.RESOURCE, name)
    words = [pair for chunk in spec.chunks for pair in chunk.words]
    for name, value in (*words, *spec.words):
        yield Name(Word.RESOURCE, name, value)
    for name in spec.property_names:
        yield Name(Word.FEATURE, name)
    for name, _ in spec.licenses:
        yield Name(Word.LICENSE, name)
    if spec.account:
        yield Name(Word.ACCOUNT, spec.account)
    for word in (Word.PROJECT, Word.QOS, Word.RESERVATION, Word.CLUSTER):
        text = spec.attributes.get(word.value, "")
        if text and not text.startswith("_"):  # PBS's project of jobs without one
            yield Name(word, text)


def site_words(spec: JobSpec, site: SiteConfig) -> tuple[Outcome, ...]:
    """What the site makes of each name. `source` is the name's kind."""
    return tuple(Outcome(name.text, *_verdict(name, site), name.kind) for name in names_of(spec))


def _verdict(name: Name, site: SiteConfig) -> tuple[Fate, str]:
    if name.kind == QUEUE:
        return _queue_verdict(name.name, site)
    word = Word(name.kind)
    if word is Word.FEATURE and name.name in site.node_properties:
        return Fate.HONOURED, _labels(site.node_properties[name.name])
    if word is Word.RESOURCE and not name.value and name.name in site.resources:
        return Fate.HONOURED, site.resources[name.name]
    found = next((each for each in site.translations if each.fits(word, name.name, name.value)), None)
    if found is None:
        return _untranslated(word, name.name, site)
    if found.ignored:
        return Fate.IGNORED, found.ignored
    if found.refused:
        return Fate.REFUSED, found.refused
    parts = [found.renamed.replace("{value}", name.value)] if found.renamed else []
    return Fate.TRANSLATED, ", ".join([*parts, *([_labels(found.labels)] if found.labels else [])])


def _queue_verdict(name: str, site: SiteConfig) -> tuple[Fate, str]:
    queue = site.queue(name)
    if queue is not None:
        return Fate.HONOURED, f"Volcano Queue {queue.volcano_queue}"
    aliased = next((each for each in site.queues if any(fnmatchcase(name, alias) for alias in each.aliases)), None)
    if aliased is not None:
        return Fate.TRANSLATED, f"queue {aliased.name}"
    if site.unknown_queues:
        return Fate.TRANSLATED, f"queue {site.unknown_queues}, which takes all unknown names"
    return Fate.REFUSED, "there is no such queue"


def _untranslated(word: Word, name: str, site: SiteConfig) -> tuple[Fate, str]:
    match word:
        case Word.ACCOUNT | Word.PROJECT | Word.QOS:
            return Fate.KEPT, "this site does not look at it"
        case Word.RESERVATION:
            return Fate.IGNORED, "there are no reservations here"
        case Word.LICENSE if name in site.licenses:
            return Fate.HONOURED, f"there are {site.licenses[name]}"
        case Word.LICENSE:
            return Fate.REFUSED, "there is no such licence"
        case Word.FEATURE:
            return Fate.REFUSED, "no node has such a property"
        case _:
            return Fate.REFUSED, f"there is no such {word.value}"


def _labels(labels: Mapping[str, str]) -> str:
    return "nodes with " + ", ".join(f"{key}={value}" for key, value in labels.items())
