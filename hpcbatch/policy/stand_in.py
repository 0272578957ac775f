"""A site that has whatever a job names, for a look at the job without any site. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from hpcbatch.dataclass import replace
from hpcbatch.model.site import SiteConfig, Translation, Word
from hpcbatch.model.spec import JobSpec
from hpcbatch.policy.vocabulary import Translated, translate
from hpcbatch.site.known_names import KNOWN
from hpcbatch.typed import NamedTuple

_DOMAIN = "hpcbatch.io"


class StandIn(NamedTuple):
    site: SiteConfig
    translated: Translated
    names: tuple[str, ...]
    """The names for which a label or a resource of hpcbatch.io stands."""


def stand_in(spec: JobSpec, site: SiteConfig) -> StandIn:
    """`site` with a resource or a label for each name in `spec` that neither it nor hpcbatch itself knows."""
    resources = [name for name in spec.resource_names if name not in site.resources and not _is_known(name, "")]
    words = dict.fromkeys(word for words in (spec.words, *(chunk.words for chunk in spec.chunks)) for word in words)
    unknown = [(name, value) for name, value in words if not _is_known(name, value)]
    features = [name for name in spec.property_names if not _is_known(name, "", Word.FEATURE)]
    labels = [
        Translation(word=Word.RESOURCE, pattern=re.sub(r"([*?[])", r"[\1]", name), labels=_label(name, "{value}"))
        for name, _ in unknown
    ]
    full = replace(
        site,
        resources={**site.resources, **{name: f"{_DOMAIN}/{_plain(name)}" for name in resources}},
        node_properties={**site.node_properties, **{name: _label(name, "true") for name in features}},
        licenses={**site.licenses, **dict(spec.licenses)},
        translations=(*site.translations, *labels),
    )
    hosts = {*spec.required_hosts, *spec.excluded_hosts, *(host for chunk in spec.chunks for host in chunk.hosts)}
    names = (*resources, *features, *(name for name, _ in unknown))
    return StandIn(full, translate(_with_plain_words(spec), full, hosts), tuple(dict.fromkeys(names)))


def _is_known(name: str, value: str, word: Word = Word.RESOURCE) -> bool:
    return any(each.fits(word, name, value) for each in KNOWN)


def _label(name: str, value: str) -> dict[str, str]:
    return {f"{_DOMAIN}/{_plain(name)}": value}


def _plain(text: str) -> str:
    """The text as Kubernetes takes it in a name or as a label's value."""
    return re.sub(r"[^-A-Za-z0-9_.]", "-", text)[:63].strip("-_.") or "unnamed"


def _with_plain_words(spec: JobSpec) -> JobSpec:
    """What becomes a label's value has the form of one; what is told of stays as it is."""

    def plain(words: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
        return tuple((name, value if _is_known(name, value) else _plain(value)) for name, value in words)

    chunks = tuple(replace(chunk, words=plain(chunk.words)) for chunk in spec.chunks)
    return replace(spec, words=plain(spec.words), chunks=chunks)
