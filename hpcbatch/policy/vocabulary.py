"""What a site makes of the names in a job: known, translated, ignored with a reason, or refused. Pure.

No name is dropped in silence: what remains of it is in the job, in `ignored`, or in the refusal.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from hpcbatch.dataclass import dataclass, field, replace
from hpcbatch.dialects.registry import door
from hpcbatch.errors import RefusedError
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.grouping import Grouping
from hpcbatch.model.layout import word_of
from hpcbatch.model.refusal import RefusalCode
from hpcbatch.model.row import reservation_names
from hpcbatch.model.site import OTHER_KIND, Policy, SiteConfig, Translation, Word
from hpcbatch.model.spec import JobSpec
from hpcbatch.policy.accelerators import with_types
from hpcbatch.site.known_names import KNOWN
from hpcbatch.site.labels import LABEL_NAME
from hpcbatch.site.vocabulary import FEATURE_PREFIX
from hpcbatch.typed import Any, NamedTuple

PROJECT, QOS, RESERVATION = "project", "qos", "reservation"
CLUSTERS = ("clusters", "server_asked")
"""The attributes of a spec whose values are names of a site; those of CLUSTERS are lists with commas."""

_CODE: Mapping[Word, RefusalCode] = {
    Word.RESOURCE: RefusalCode.UNKNOWN_RESOURCE,
    Word.FEATURE: RefusalCode.UNKNOWN_PROPERTY,
    Word.LICENSE: RefusalCode.UNKNOWN_LICENSE,
    Word.ACCOUNT: RefusalCode.UNKNOWN_ACCOUNT,
    Word.PROJECT: RefusalCode.UNKNOWN_ACCOUNT,
    Word.QOS: RefusalCode.UNKNOWN_QOS,
    Word.RESERVATION: RefusalCode.UNKNOWN_RESERVATION,
    Word.NODE: RefusalCode.UNKNOWN_NODE,
    Word.CLUSTER: RefusalCode.BAD_SPEC,
    Word.OPTION: RefusalCode.BAD_SPEC,
}

_KEPT = frozenset({Word.ACCOUNT, Word.PROJECT, Word.QOS, Word.RESERVATION, Word.CLUSTER})
"""Names that need no effect on nodes: a site takes one by naming it as itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Translated:
    """A job in the site's names. Its chunks have what the nodes' labels follow from as properties and words."""

    spec: JobSpec
    ignored: tuple[str, ...] = ()
    """What has no effect at this site, as `filesystems=home: …why…`."""
    renamed: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the BatchJob's spec, by their names there, with the values by which the site shows them."""


def translate(spec: JobSpec, site: SiteConfig, node_names: Collection[str]) -> Translated:
    """The job in the names of the site, and what is ignored. Raises RefusedError with everything that is refused: the
    message has a line for each, the code is the first one's.
    """
    return _Translator(site, node_names).translate(spec)


def check_ignored(spec: JobSpec, ignored: Sequence[str], site: SiteConfig) -> None:
    """Raise RefusedError (IGNORED) if anything is ignored and the job or the site wants it refused then."""
    everything = tuple(dict.fromkeys((*spec.ignored, *ignored)))
    if everything and (spec.is_strict or site.unsupported == "refuse"):
        raise RefusedError(RefusalCode.IGNORED, f"not available here: {'; '.join(everything)}")


NO_DISK = "tmp: no node says how much disk it has"


def without_disk(spec: JobSpec) -> JobSpec:
    return replace(spec, chunks=tuple(replace(chunk, tmp_bytes=None) for chunk in spec.chunks))


def asked_labels(spec: JobSpec, site: SiteConfig) -> Mapping[str, Mapping[str, str]]:
    """The properties and words that the chunks of a translated job ask for, as in a NodeSize, with their labels."""
    found = {name: site.labels_of(Word.FEATURE, name) for name in spec.property_names}
    for name, value in {word for chunk in spec.chunks for word in chunk.words}:
        found[word_of(name, value)] = site.labels_of_word(name, value)
    return {name: labels for name, labels in found.items() if labels is not None}


class _Meaning(NamedTuple):
    """What a name comes to: another name, and names on the way whose labels count."""

    word: Word
    name: str
    labelled: tuple[tuple[Word, str, str], ...]
    is_known: bool


@dataclass(slots=True)
class _Wanted:
    """What names ask of a node, gathered."""

    properties: set[str] = field(default_factory=set)
    words: dict[str, str] = field(default_factory=dict)
    resources: dict[str, int] = field(default_factory=dict)
    hosts: tuple[str, ...] = ()


class _Translator:
    def __init__(self, site: SiteConfig, node_names: Collection[str]) -> None:
        self._site, self._nodes = site, node_names
        self._translations: tuple[Translation, ...] = (*site.translations, *KNOWN)
        self._problems: list[tuple[RefusalCode, str, str]] = []
        self._ignored: dict[str, None] = {}
        self._licenses: dict[str, int] = {}

    def translate(self, spec: JobSpec) -> Translated:
        spec, unknown_types = with_types(spec, self._site)
        for name in unknown_types:
            there = ", ".join(each.name for each in self._site.accelerators)
            self._refuse(RefusalCode.UNKNOWN_RESOURCE, name, f"unknown type of GPU {name}; there are: {there}")
        job = _Wanted()
        for name, value in spec.words:
            self._text(job, name, value, 1)
        account = self._kept(job, Word.ACCOUNT, spec.account or "")
        attributes = self._attributes(job, spec)
        per_pod = _Wanted()
        self._amounts(per_pod, spec.resources_per_pod, 1)
        excluded = self._hosts(spec.excluded_hosts)
        chunks = tuple(self._chunk(chunk, (job, per_pod), excluded) for chunk in spec.chunks)
        for name, count in spec.licenses:
            self._license(name, count)
        if spec.grouping is not None and (why := self._lacks_groups(spec.grouping)):
            self._ignore(f"nodes near each other, {spec.grouping.level or 'by switch'}: {why}")
        required = self._hosts(spec.required_hosts)
        self._check_licenses()
        for host in required:
            if host in excluded:
                self._refuse(RefusalCode.BAD_SPEC, f"node {host}: both asked for and excluded")
        if self._problems:
            code, first, _ = self._problems[0]
            raise RefusedError(code, "\n".join([first, *(line for _, _, line in self._problems[1:])]))
        new = replace(
            spec,
            words=(),
            account=account or None,
            attributes=attributes,
            chunks=chunks,
            resources_per_pod=tuple(sorted({**job.resources, **per_pod.resources}.items())),
            required_hosts=required,
            excluded_hosts=excluded,
            licenses=tuple(sorted(self._licenses.items())),
        )
        renamed: dict[str, Any] = {}
        if account != (spec.account or ""):
            renamed["account"] = new.account
        if attributes != spec.attributes:
            renamed["attributes"] = attributes
        return Translated(spec=new, ignored=tuple(self._ignored), renamed=renamed)

    # Parts of the job

    def _lacks_groups(self, grouping: Grouping) -> str:
        """Why a job does not get its nodes near each other; "": it does."""
        level = self._site.level_of(grouping)
        if level is None:
            there = ", ".join(each.name for each in self._site.topology)
            return f"there are: {there}" if there else "the site does not say which nodes are near each other"
        if self._site.policy is Policy.VOLCANO and (level.tier is None or grouping.groups != 1):
            return "with policy: volcano one group of a level with a tier can be asked for"
        return ""

    def _chunk(self, chunk: Chunk, of_job: Iterable[_Wanted], excluded: tuple[str, ...]) -> Chunk:
        wanted = _Wanted(hosts=self._hosts(chunk.hosts))
        self._amounts(wanted, chunk.resources, chunk.count)
        for name, value in chunk.words:
            self._text(wanted, name, value, chunk.count)
        for name in chunk.properties:
            self._property(wanted, name)
        for each in of_job:
            wanted.properties |= each.properties
            if each.hosts and wanted.hosts and set(each.hosts).isdisjoint(wanted.hosts):
                self._refuse(RefusalCode.BAD_SPEC, f"no node is both {wanted.hosts[0]} and {each.hosts[0]}")
            wanted.hosts = each.hosts or wanted.hosts
            for word in each.words.items():
                self._add_word(wanted, *word)
        if any(host in excluded for host in wanted.hosts) and not set(wanted.hosts) - set(excluded):
            self._refuse(RefusalCode.BAD_SPEC, f"node {wanted.hosts[0]}: both asked for and excluded")
        alternatives = tuple(
            self._names(names, "|".join(map("&".join, chunk.alternatives))) for names in chunk.alternatives
        )
        return replace(
            chunk,
            resources=tuple(sorted(wanted.resources.items())),
            words=tuple(sorted(wanted.words.items())),
            properties=tuple(sorted(wanted.properties)),
            alternatives=alternatives if all(alternatives) else (),
            lacks=tuple(sorted({one for name in chunk.lacks for one in self._names((name,), f"no {name}")})),
            hosts=wanted.hosts,
            excluded_hosts=tuple(dict.fromkeys((*chunk.excluded_hosts, *excluded))),
        )

    def _amounts(self, wanted: _Wanted, amounts: Iterable[tuple[str, int]], pieces: int) -> None:
        for name, amount in amounts:
            shown = f"{name}={amount}"
            found = self._meaning(Word.RESOURCE, name, str(amount), shown)
            if found is None:
                continue
            self._keep(wanted, found)
            if found.word is Word.FEATURE:
                self._property(wanted, found.name, shown)
            elif found.name in self._site.resources:
                if (accelerator := self._site.accelerator(found.name)) is not None and accelerator.labels:
                    self._add_word(wanted, found.name, "")
                wanted.resources[found.name] = wanted.resources.get(found.name, 0) + amount
            elif found.name in self._site.licenses:
                self._licenses[found.name] = self._licenses.get(found.name, 0) + amount * pieces
            elif not found.is_known:
                self._refuse(RefusalCode.UNKNOWN_RESOURCE, name, f"unknown resource {name}")

    def _text(self, wanted: _Wanted, name: str, value: str, pieces: int) -> None:
        """A resource with a text for a value; digits are an amount."""
        shown = f"{name}={value}"
        if not value and self._site.accelerator(name) is not None:
            self._add_word(wanted, name, value)
            return
        found = self._meaning(Word.RESOURCE, name, value, shown)
        if found is None:
            return
        self._keep(wanted, found)
        if found.word is Word.FEATURE:
            self._property(wanted, found.name, shown)
        elif found.name in self._site.resources or found.name in self._site.licenses:
            amount = int(value) if value.isascii() and value.isdigit() else None
            if amount is None:
                self._refuse(RefusalCode.UNKNOWN_RESOURCE, f"{name}: expected a number, found {value}")
            elif found.name in self._site.resources:
                wanted.resources[found.name] = wanted.resources.get(found.name, 0) + amount
            elif amount:
                self._licenses[found.name] = self._licenses.get(found.name, 0) + amount * pieces
        elif not found.is_known:
            self._refuse(RefusalCode.UNKNOWN_RESOURCE, name, f"unknown resource {name}")

    def _property(self, wanted: _Wanted, name: str, shown: str = "") -> None:
        """A feature, or the name of a node, as PBS has it in `nodes=n01`."""
        found = self._meaning(Word.FEATURE, name, "", shown or name)
        if found is None:
            return
        self._keep(wanted, found)
        if found.name in self._site.node_properties:
            wanted.properties.add(found.name)
        elif not found.is_known:
            if not self._is_node(found.name):
                self._refuse(RefusalCode.UNKNOWN_PROPERTY, found.name, f"unknown node property {found.name}")
                return
            hosts = self._hosts((found.name,))
            if hosts and wanted.hosts and hosts[0] not in wanted.hosts:
                self._refuse(RefusalCode.BAD_SPEC, f"no node is both {wanted.hosts[0]} and {hosts[0]}")
            wanted.hosts = hosts or wanted.hosts

    def _names(self, names: Iterable[str], shown: str) -> tuple[str, ...]:
        """A set of features that are alternatives, or that a node must not have."""
        wanted = _Wanted()
        for name in names:
            found = self._meaning(Word.FEATURE, name, "", shown)
            if found is None:
                continue
            self._keep(wanted, found)
            if found.name in self._site.node_properties:
                wanted.properties.add(found.name)
            elif not found.is_known:
                self._refuse(RefusalCode.UNKNOWN_PROPERTY, found.name, f"unknown node property {found.name}")
        return tuple(sorted(wanted.properties))

    def _hosts(self, names: Iterable[str]) -> tuple[str, ...]:
        hosts = []
        for name in names:
            found = self._meaning(Word.NODE, name, "", f"node {name}")
            if found is not None and found.name in self._nodes:
                hosts.append(found.name)
            elif found is not None:
                self._refuse(RefusalCode.UNKNOWN_NODE, name, f"unknown node {name}")
        return tuple(dict.fromkeys(hosts))

    def _is_node(self, name: str) -> bool:
        return name in self._nodes or self._first(Word.NODE, name, "") is not None

    def _license(self, name: str, count: int) -> None:
        found = self._meaning(Word.LICENSE, name, "", f"licence {name}")
        if found is None:
            return
        if found.name not in self._site.licenses:
            known = ", ".join(sorted(self._site.licenses))
            there = f"there are: {known}" if known else "there is none"
            self._refuse(RefusalCode.UNKNOWN_LICENSE, f"no licence {name}; {there}")
            return
        self._licenses[found.name] = self._licenses.get(found.name, 0) + count

    def _check_licenses(self) -> None:
        for name, count in self._licenses.items():
            most = self._site.licenses[name]
            if count > most:
                self._refuse(RefusalCode.UNKNOWN_LICENSE, f"licence {name}: {count} asked, there are {most}")

    def _attributes(self, job: _Wanted, spec: JobSpec) -> Mapping[str, str]:
        attributes, new = spec.attributes, dict(spec.attributes)
        nobodys = door(spec.dialect).rules.default_project
        for key, word in ((PROJECT, Word.PROJECT), (QOS, Word.QOS)):
            if attributes.get(key) and (key, attributes[key]) != (PROJECT, nobodys):
                new[key] = self._kept(job, word, attributes[key])
        if asked := attributes.get(RESERVATION):
            names = reservation_names(asked) or (asked,)
            new[RESERVATION] = ",".join(self._kept(job, Word.RESERVATION, name) for name in names)
        for key in CLUSTERS:
            for name in filter(None, attributes.get(key, "").split(",")):
                self._kept(job, Word.CLUSTER, name)
        return new

    def _kept(self, job: _Wanted, word: Word, name: str) -> str:
        """An account, a project, a QOS, a reservation or a cluster: the name that it goes by here."""
        if not name:
            return name
        found = self._meaning(word, name, "", f"{word}={name}")
        if found is None:
            return name
        self._keep(job, found)
        if word is Word.RESERVATION and not found.is_known and name not in self._site.reservations:
            self._refuse(RefusalCode.UNKNOWN_RESERVATION, f"there is no reservation {name}")
        if word is Word.CLUSTER and not found.is_known and not self._is_here(found.name):
            self._ignore(f"{word}={name}: this is cluster {self._site.server_name}")
        return found.name

    def _is_here(self, cluster: str) -> bool:
        here = self._site.server_name
        return cluster in {here, "all"} or cluster.partition(".")[0] == here.partition(".")[0]

    # One name

    def _meaning(self, word: Word, name: str, value: str, shown: str) -> _Meaning | None:
        """Follow the site's translations of a name; None if it was ignored or refused, which is noted."""
        labelled: list[tuple[Word, str, str]] = []
        seen: set[tuple[Word, str]] = set()
        while not self._is_known(word, name):
            found = self._first(word, name, value)
            if found is None:
                return _Meaning(word, name, tuple(labelled), False)
            if word is Word.RESOURCE and name.startswith(OTHER_KIND):
                return _Meaning(word, name, tuple(labelled), False)  # it would pass for another kind of name
            if (word, name) in seen:
                self._refuse(_CODE[word], f"{shown}: the site's translations lead back to {name}")
                return None
            seen.add((word, name))
            if found.ignored:
                self._ignore(f"{shown}: {found.ignored}")
                return None
            if found.refused:
                self._refuse(_CODE[word], f"{shown}: {found.refused}")
                return None
            if found.labels:
                if bad := [
                    text for text in found.labels_for(value).values() if text and not LABEL_NAME.fullmatch(text)
                ]:
                    self._refuse(_CODE[word], f"{shown}: {bad[0]!r} cannot be a label of a node")
                    return None
                labelled.append((word, name, self._value_kept(word, name, value, found)))
            if not found.renamed or found.renamed == name:  # as itself: taken as it is
                return _Meaning(word, name, tuple(labelled), bool(labelled) or word in _KEPT)
            renamed = found.renamed.replace("{value}", value)
            if word is Word.RESOURCE and renamed.startswith(FEATURE_PREFIX):
                word, renamed, value = Word.FEATURE, renamed.removeprefix(FEATURE_PREFIX), ""
            name = renamed
        return _Meaning(word, name, tuple(labelled), True)

    def _value_kept(self, word: Word, name: str, value: str, found: Translation) -> str:
        """The value where the labels depend on it: chunks that differ in it have different nodes."""
        depends = found.labels_for("") != found.labels or self._first(word, name, "") is not found
        return value if depends else ""

    def _first(self, word: Word, name: str, value: str) -> Translation | None:
        is_counted = word is Word.RESOURCE and name in self._site.licenses  # whatever the name means elsewhere
        rules = self._site.translations if is_counted else self._translations
        return next((each for each in rules if each.fits(word, name, value)), None)

    def _is_known(self, word: Word, name: str) -> bool:
        site = self._site
        known: Mapping[Word, Collection[str]] = {
            Word.RESOURCE: site.resources,
            Word.FEATURE: site.node_properties,
            Word.LICENSE: site.licenses,
            Word.NODE: self._nodes,
            Word.CLUSTER: (site.server_name,),
            Word.RESERVATION: site.reservations,
        }
        return name in known.get(word, ())

    def _keep(self, wanted: _Wanted, found: _Meaning) -> None:
        """Note the names whose labels count."""
        for word, name, value in found.labelled:
            if word is Word.FEATURE:
                wanted.properties.add(name)
            elif word is Word.RESOURCE:
                self._add_word(wanted, name, value)
            else:
                self._add_word(wanted, OTHER_KIND + word, name)

    def _add_word(self, wanted: _Wanted, name: str, value: str) -> None:
        if wanted.words.setdefault(name, value) != value:
            text = f"{name.removeprefix(OTHER_KIND)}: both {wanted.words[name]} and {value}"
            self._refuse(RefusalCode.BAD_SPEC, text)

    def _ignore(self, text: str) -> None:
        self._ignored.setdefault(text)

    def _refuse(self, code: RefusalCode, message: str, line: str = "") -> None:
        """`message` is what the dialects' texts expect; `line` names it where it is not the first."""
        problem = code, message, line or message
        if problem not in self._problems:
            self._problems.append(problem)
