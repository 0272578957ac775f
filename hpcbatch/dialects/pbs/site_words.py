"""Moab's and Torque's resources of `-l` that name what a site has: features, gres, reservations, hosts."""

from __future__ import annotations

import re
from collections.abc import Mapping

from hpcbatch.dataclass import replace
from hpcbatch.dialects.pbs.obstacles import Obstacles
from hpcbatch.dialects.pbs.resource_list import ResourceRequest, bad_value
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.spec import Sharing
from hpcbatch.typed import Final, NamedTuple

SITE_WORDS: Final = ("feature", "gres", "naccesspolicy", "qos", "advres", "hostlist")
RESERVATION: Final = "reservation"
"""The attribute that keeps the name of one."""
_FEATURE = r"[A-Za-z0-9_][A-Za-z0-9_.=-]{0,252}"
_HOST = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,252}"
_GRES = r"([A-Za-z0-9_][A-Za-z0-9_.-]{0,252}):([1-9][0-9]{0,8})"
_MOST = 64


class SiteWords(NamedTuple):
    properties: tuple[str, ...] = ()
    alternatives: tuple[tuple[str, ...], ...] = ()
    amounts: tuple[tuple[str, str], ...] = ()
    """Of each chunk, from `gres=name:n`."""
    words: Mapping[str, str] = {}
    sharing: Sharing | None = None
    hosts: tuple[str, ...] = ()
    attributes: Mapping[str, str] = {}
    shown: Mapping[str, str] = {}

    def applied(self, chunk: Chunk) -> Chunk:
        """The chunk with the features."""
        if not self.properties and not self.alternatives:
            return chunk
        properties = tuple(sorted({*chunk.properties, *self.properties}))
        return replace(chunk, properties=properties, alternatives=self.alternatives)


def read_site_words(asked: Mapping[str, ResourceRequest], obstacles: Obstacles) -> SiteWords:
    """Source: Moab's manual, resource manager extensions."""
    found = SiteWords(shown={name: asked[name].value.strip() for name in SITE_WORDS if name in asked})
    if "feature" in asked:
        found = obstacles.attempt(asked["feature"].option, lambda: _with_features(found, asked["feature"]), found)
    if "gres" in asked:
        found = _with_gres(found, asked["gres"].value.strip())
    if "naccesspolicy" in asked:
        found = _with_policy(found, asked["naccesspolicy"].value.strip())
    if "qos" in asked:
        found = found._replace(attributes={**found.attributes, "qos": asked["qos"].value.strip()})
    if "advres" in asked:
        found = found._replace(attributes={**found.attributes, RESERVATION: asked["advres"].value.strip()})
    if "hostlist" in asked:
        found = obstacles.attempt(asked["hostlist"].option, lambda: _with_hosts(found, asked["hostlist"]), found)
    return found


def _with_features(found: SiteWords, request: ResourceRequest) -> SiteWords:
    """`a:b` are two that a node must have, `a|b` are two of which one will do."""
    sets = [
        tuple(sorted({word for word in re.split(r"[:&,+]", part) if word}))
        for part in request.value.strip().strip("[]").split("|")
    ]
    if not all(sets) or not all(re.fullmatch(_FEATURE, word) for words in sets for word in words):
        raise bad_value(request)
    if len(sets) > _MOST or max(map(len, sets)) > _MOST:
        raise bad_value(request)
    if len(sets) == 1:
        return found._replace(properties=sets[0])
    return found._replace(alternatives=tuple(dict.fromkeys(sets)))


def _with_gres(found: SiteWords, text: str) -> SiteWords:
    """`name:n` are amounts of each chunk; names alone stay one text."""
    amounts: dict[str, int] = {}
    words: list[str] = []
    for item in re.split(r"[%+,]", text):
        match = re.fullmatch(_GRES, item)
        if match:
            name = "ngpus" if match[1] in {"gpu", "gpus"} else match[1]
            amounts[name] = amounts.get(name, 0) + int(match[2])
        else:
            words.append(item)
    if not amounts:
        words = [text]  # with its own marks between the names
    more = {"gres": "+".join(words)} if words else {}
    pairs = tuple((name, str(amount)) for name, amount in amounts.items())
    return found._replace(amounts=pairs, words={**found.words, **more})


def _with_policy(found: SiteWords, text: str) -> SiteWords:
    """Moab's `singlejob`, `singletask`, `singleuser` and `uniqueuser` keep the jobs of others off the nodes."""
    word = text.lower()
    if word.startswith(("single", "unique")):
        return found._replace(sharing=Sharing.EXCLUSIVE)
    if word.startswith("shared"):
        return found._replace(sharing=Sharing.SHARED)
    return found._replace(words={**found.words, "naccesspolicy": text})


def _with_hosts(found: SiteWords, request: ResourceRequest) -> SiteWords:
    hosts = tuple(dict.fromkeys(name for name in re.split(r"[+:,]", request.value.strip()) if name))
    if not hosts or not all(re.fullmatch(_HOST, host) for host in hosts):
        raise bad_value(request)
    return found._replace(hosts=hosts)
