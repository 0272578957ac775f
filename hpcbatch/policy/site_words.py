"""What a site makes of the names in a job: queues, resources, features and the like, each by itself and all of them.

Admission decides by `vocabulary` and `admission` alone; here each name goes through these in a job that asks for
nothing else.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from hpcbatch.dataclass import replace
from hpcbatch.errors import HpcBatchError, RefusedError
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.layout import NodeSize
from hpcbatch.model.outcome import Fate, Outcome
from hpcbatch.model.site import SiteConfig, Word
from hpcbatch.model.spec import JobSpec
from hpcbatch.policy.admission import admit, asked_queues
from hpcbatch.policy.vocabulary import CLUSTERS, PROJECT, QOS, RESERVATION, asked_labels, translate
from hpcbatch.site.identity import Identity
from hpcbatch.typed import NamedTuple

QUEUE = "queue"
_KINDS: Mapping[str, Word] = {
    PROJECT: Word.PROJECT,
    QOS: Word.QOS,
    RESERVATION: Word.RESERVATION,
    **dict.fromkeys(CLUSTERS, Word.CLUSTER),
}
"""Attributes whose values are names of a site."""


class Name(NamedTuple):
    """A name of the site in a job."""

    kind: str
    """`queue`, or a Word's value."""
    name: str
    value: str = ""
    """The text of a resource that has one."""
    amount: int = 1
    attribute: str = ""
    """The attribute that has the name."""

    @property
    def text(self) -> str:
        return f"{self.name}={self.value}" if self.value else self.name

    def alone(self, dialect: str) -> JobSpec:
        """A job that asks for this name and nothing else."""
        spec = JobSpec(dialect=dialect, name="x")
        match self.kind:
            case Word.RESOURCE if self.value:
                return _with(spec, words=((self.name, self.value),))
            case Word.RESOURCE:
                return _with(spec, chunks=(Chunk(resources=((self.name, self.amount),)),))
            case Word.FEATURE:
                return _with(spec, chunks=(Chunk(properties=(self.name,)),))
            case Word.LICENSE:
                return _with(spec, licenses=((self.name, self.amount),))
            case Word.NODE:
                return _with(spec, required_hosts=(self.name,))
            case Word.ACCOUNT:
                return _with(spec, account=self.name)
            case _:
                return _with(spec, attributes={self.attribute: self.name})


def names_of(spec: JobSpec) -> list[Name]:
    """All names, each once, in the order of kinds."""
    return list({(each.kind, each.name, each.value): each for each in _names(spec)}.values())


def _names(spec: JobSpec) -> Iterator[Name]:
    for queue in (spec.queue, *spec.other_queues):
        if queue:
            yield Name(QUEUE, queue)
    amounts = [pair for chunk in spec.chunks for pair in chunk.resources]
    for name, amount in (*spec.resources_per_pod, *amounts):
        yield Name(Word.RESOURCE, name, amount=amount)
    words = [pair for chunk in spec.chunks for pair in chunk.words]
    for name, value in (*words, *spec.words):
        yield Name(Word.RESOURCE, name, value)
    for name in spec.property_names:
        yield Name(Word.FEATURE, name)
    for name, amount in spec.licenses:
        yield Name(Word.LICENSE, name, amount=amount)
    for name in (*spec.required_hosts, *(host for chunk in spec.chunks for host in chunk.hosts)):
        yield Name(Word.NODE, name)
    if spec.account:
        yield Name(Word.ACCOUNT, spec.account)
    for attribute, word in _KINDS.items():
        for name in filter(None, spec.attributes.get(attribute, "").split(",")):
            if not name.startswith("_"):  # PBS's project of jobs without one
                yield Name(word, name, attribute=attribute)


def site_words(spec: JobSpec, site: SiteConfig, node_names: Collection[str] | None = None) -> tuple[Outcome, ...]:
    """What the site makes of each name; `source` is its kind. Without `node_names` any node may be there.
    Where it knows all names, a last one says which limit refuses the job, if one does.
    """
    names = names_of(spec)
    found = []
    for name in names:
        if name.kind == QUEUE:
            verdict = _queue(name.name, site)
        elif name.kind == Word.NODE and node_names is None:
            verdict = Fate.HONOURED, "if there is a node of this name"
        else:
            verdict = _verdict(name, name.alone(spec.dialect), site, node_names or ())
        found.append(Outcome(name.text, *verdict, name.kind))
    if all(each.fate is not Fate.REFUSED for each in found) and (limit := limit_word(spec, site)) is not None:
        found.append(limit)
    return tuple(found)


LIMIT = "limit"
_ANYBODY = Identity(user="user", uid=1000, gid=1000, home="/")
_LARGEST = NodeSize(cpus=2**31)


def limit_word(spec: JobSpec, site: SiteConfig) -> Outcome | None:
    """What the site refuses of a job whose names it knows: limits of its queues, images. None: it takes the job.

    Nodes are as large as any job wants them.
    """
    hosts = {*spec.excluded_hosts, *(name.name for name in names_of(spec) if name.kind == Word.NODE)}
    refusal: HpcBatchError | None = None
    try:
        job = translate(spec, site, hosts).spec
        nodes = [_LARGEST] * sum(chunk.count for chunk in job.chunks)
        for queue in asked_queues(spec, site).queues:
            try:
                admit(job, queue, site, _ANYBODY, volcano_state="Open", nodes=nodes)
                return None
            except HpcBatchError as error:
                refusal = refusal or error
    except HpcBatchError as error:
        refusal = error
    return Outcome(str(refusal).partition(":")[0], Fate.REFUSED, str(refusal), LIMIT)


def _queue(name: str, site: SiteConfig) -> tuple[Fate, str]:
    queue = site.queue_called(name)
    if queue is not None:
        if queue.name != name:
            return Fate.TRANSLATED, f"queue {queue.name}"
        return Fate.HONOURED, f"Volcano Queue {queue.volcano_queue}"
    if site.unknown_queues:
        return Fate.IGNORED, f"there is no such queue: {site.unknown_queues} takes the job"
    return Fate.REFUSED, "there is no such queue"


def _verdict(name: Name, spec: JobSpec, site: SiteConfig, node_names: Collection[str]) -> tuple[Fate, str]:
    try:
        found = translate(spec, site, node_names)
    except RefusedError as error:
        text = str(error)
        shown, _, why = text.partition(": ")
        if why and shown.endswith((name.name, name.value or name.name, f"{name.name}={name.amount}")):
            text = why
        return Fate.REFUSED, "the site does not know it" if text == name.name else text
    if found.ignored:
        return Fate.IGNORED, found.ignored[0].partition(": ")[2]
    new, (chunk,) = found.spec, found.spec.chunks
    labels = {key: value for each in asked_labels(new, site).values() for key, value in each.items()}
    parts = [
        f"{amount} {site.resources.get(name, name)}" for name, amount in (*new.resources_per_pod, *chunk.resources)
    ]
    parts += [f"{amount} of {site.licenses[name]} licences {name}" for name, amount in new.licenses]
    parts += [f"node {host}" for host in new.required_hosts]
    if labels:
        parts.append("nodes with " + ", ".join(f"{key}={value}" for key, value in sorted(labels.items())))
    if (new.account, new.attributes) != (spec.account, spec.attributes):
        parts.append(new.account or ", ".join(new.attributes.values()))
    is_same = (new.chunks, new.licenses, new.words) == (spec.chunks, spec.licenses, spec.words)
    if not parts:
        return Fate.KEPT, "the site does not look at it"
    return Fate.HONOURED if is_same and new.account == spec.account else Fate.TRANSLATED, ", ".join(parts)


def _with(spec: JobSpec, **fields: object) -> JobSpec:
    return replace(spec, **fields)  # type: ignore[arg-type]
