"""What a site makes of names in jobs: tables of each kind of name, and that no name is ever lost in silence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.dialects.pbs.values import DEFAULT_PROJECT
from hpcbatch.errors import RefusedError
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.refusal import RefusalCode
from hpcbatch.model.site import SiteConfig, Translation, Unsupported, Word
from hpcbatch.model.spec import JobSpec
from hpcbatch.policy.vocabulary import asked_labels, check_ignored, translate, without_disk

NODES = ("n01", "n02", "n03")


def to(word: Word, pattern: str, **given: Any) -> Translation:
    return Translation(word=word, pattern=pattern, **given)


SITE = SiteConfig(
    server_name="here",
    node_properties={"ib": {"net": "ib"}, "rome": {"cpu": "rome"}},
    resources={"gpu": "nvidia.com/gpu"},
    licenses={"matlab": 4, "idl": 1},
    translations=(
        to(Word.RESOURCE, "gpu_model", value="a100*", labels={"gpu": "a100"}),
        to(Word.RESOURCE, "gpu_kind", labels={"gpu": "{value}"}),
        to(Word.RESOURCE, "gpu:v100", renamed="gpu", labels={"gpu": "v100"}),
        to(Word.RESOURCE, "gpu:*", renamed="gpu"),
        to(Word.RESOURCE, "feature", renamed="feature {value}"),
        to(Word.RESOURCE, "accelerators", renamed="gpu"),
        to(Word.RESOURCE, "forbidden", refused="not here"),
        to(Word.RESOURCE, "@*", labels={"a": "b"}),
        to(Word.RESOURCE, "round", renamed="about"),
        to(Word.RESOURCE, "about", renamed="round"),
        to(Word.FEATURE, "cascade*", labels={"cpu": "cascadelake"}),
        to(Word.FEATURE, "infiniband", renamed="ib"),
        to(Word.FEATURE, "old*", ignored="all nodes are new"),
        to(Word.FEATURE, "itself", renamed="itself"),
        to(Word.LICENSE, "*@server", renamed="matlab"),
        to(Word.LICENSE, "free*", ignored="it needs no licence"),
        to(Word.ACCOUNT, "old-*", refused="this account is closed"),
        to(Word.ACCOUNT, "phys*", renamed="physics"),
        to(Word.PROJECT, "x", ignored="projects do not count"),
        to(Word.QOS, "high", labels={"tier": "fast"}),
        to(Word.QOS, "known", renamed="known"),
        to(Word.QOS, "none*", refused="no such QOS"),
        to(Word.RESERVATION, "course", labels={"reserved": "course"}),
        to(Word.NODE, "n1", renamed="n01"),
        to(Word.NODE, "*.site", ignored="nodes have short names"),
        to(Word.CLUSTER, "twin", renamed="here"),
    ),
)


def spec(*chunks: Chunk, **given: Any) -> JobSpec:
    return JobSpec(dialect=Dialect.PBS, name="j", chunks=chunks or (Chunk(),), **given)


def chunk(**given: Any) -> JobSpec:
    return spec(Chunk(**given))


PLAIN = "nodes of this kind are not told apart here; the site can translate it to labels of nodes"
MOUNTED = "every file system of the site is mounted in every pod"
ONE_CLUSTER = "this is one cluster, whose nodes are chosen by queue and node properties"
TAKEN: list[tuple[JobSpec, JobSpec, tuple[str, ...]]] = [
    (chunk(), chunk(), ()),
    (chunk(properties=("ib", "rome")), chunk(properties=("ib", "rome")), ()),
    (chunk(resources=(("gpu", 2),)), chunk(resources=(("gpu", 2),)), ()),
    # resources with texts
    (chunk(words=(("gpu_model", "a100_80"),)), chunk(words=(("gpu_model", "a100_80"),)), ()),
    (chunk(words=(("gpu_model", "v100"),)), chunk(), (f"gpu_model=v100: {PLAIN}",)),
    (chunk(words=(("gpu_kind", "h100"),)), chunk(words=(("gpu_kind", "h100"),)), ()),
    (chunk(words=(("feature", "rome"),)), chunk(properties=("rome",)), ()),
    (chunk(words=(("feature", "cascadelake"),)), chunk(properties=("cascadelake",)), ()),
    (chunk(words=(("feature", "old1"),)), chunk(), ("feature=old1: all nodes are new",)),
    (chunk(words=(("feature", "n02"),)), chunk(hosts=("n02",)), ()),
    (chunk(words=(("accelerators", "3"),)), chunk(resources=(("gpu", 3),)), ()),
    (spec(words=(("filesystems", "home"),)), spec(), (f"filesystems=home: {MOUNTED}",)),
    (spec(words=(("gpu_kind", "x"),)), chunk(words=(("gpu_kind", "x"),)), ()),
    (spec(words=(("feature", "n02"),)), chunk(hosts=("n02",)), ()),
    # amounts
    (chunk(resources=(("gpu:a100", 2), ("gpu:p100", 1))), chunk(resources=(("gpu", 3),)), ()),
    (chunk(resources=(("gpu:v100", 2),)), chunk(resources=(("gpu", 2),), words=(("gpu:v100", ""),)), ()),
    (
        spec(resources_per_pod=(("gpu:v100", 2),)),
        replace(chunk(words=(("gpu:v100", ""),)), resources_per_pod=(("gpu", 2),)),
        (),
    ),
    (chunk(count=2, resources=(("matlab", 2),)), spec(Chunk(count=2), licenses=(("matlab", 4),)), ()),
    (chunk(count=2, words=(("matlab", "2"),)), spec(Chunk(count=2), licenses=(("matlab", 4),)), ()),
    (spec(Chunk(count=2), words=(("matlab", "2"),)), spec(Chunk(count=2), licenses=(("matlab", 2),)), ()),
    (chunk(words=(("matlab", "0"),)), chunk(), ()),
    (chunk(words=(("pcmem", "6gb"),)), chunk(), (f"pcmem=6gb: {PLAIN}",)),
    (chunk(resources=(("spec", 4),)), chunk(), (f"spec=4: {PLAIN}",)),
    (chunk(properties=("beegfs", "ib")), chunk(properties=("ib",)), (f"beegfs: {MOUNTED}",)),
    (chunk(properties=("cl_adan",)), chunk(), (f"cl_adan: {ONE_CLUSTER}",)),
    # features
    (chunk(properties=("infiniband",)), chunk(properties=("ib",)), ()),
    (chunk(properties=("n02",)), chunk(hosts=("n02",)), ()),
    (chunk(properties=("n1",)), chunk(hosts=("n01",)), ()),
    (chunk(properties=("x.site",)), chunk(), ("node x.site: nodes have short names",)),
    (chunk(alternatives=(("rome",), ("cascade", "ib"))), chunk(alternatives=(("rome",), ("cascade", "ib"))), ()),
    (chunk(alternatives=(("infiniband",), ("rome",))), chunk(alternatives=(("ib",), ("rome",))), ()),
    (chunk(alternatives=(("old1",), ("rome",))), chunk(), ("old1|rome: all nodes are new",)),
    (chunk(lacks=("ib", "infiniband")), chunk(lacks=("ib",)), ()),
    (chunk(lacks=("old1", "rome")), chunk(lacks=("rome",)), ("no old1: all nodes are new",)),
    # hosts
    (chunk(hosts=("n1", "n03")), chunk(hosts=("n01", "n03")), ()),
    (spec(required_hosts=("n1",)), spec(required_hosts=("n01",)), ()),
    (spec(required_hosts=("a.site", "n02")), spec(required_hosts=("n02",)), ("node a.site: nodes have short names",)),
    (spec(excluded_hosts=("n02",)), replace(chunk(excluded_hosts=("n02",)), excluded_hosts=("n02",)), ()),
    # licences
    (spec(licenses=(("matlab", 4),)), spec(licenses=(("matlab", 4),)), ()),
    (spec(licenses=(("matlab", 1), ("matlab@server", 2))), spec(licenses=(("matlab", 3),)), ()),
    (spec(licenses=(("freeware", 9),)), spec(), ("licence freeware: it needs no licence",)),
    # the rest
    (spec(account="any"), spec(account="any"), ()),
    (spec(account="phys7"), spec(account="physics"), ()),
    (spec(attributes={"project": "x"}), spec(attributes={"project": "x"}), ("project=x: projects do not count",)),
    (spec(attributes={"qos": "any"}), spec(attributes={"qos": "any"}), ()),
    (spec(attributes={"qos": "known"}), spec(attributes={"qos": "known"}), ()),
    (
        spec(attributes={"qos": "high"}),
        replace(chunk(words=(("@qos", "high"),)), attributes={"qos": "high"}),
        (),
    ),
    (
        spec(attributes={"reservation": "course"}),
        replace(chunk(words=(("@reservation", "course"),)), attributes={"reservation": "course"}),
        (),
    ),
    (spec(attributes={"clusters": "here,twin,here.site"}), spec(attributes={"clusters": "here,twin,here.site"}), ()),
    (
        spec(attributes={"server_asked": "far"}),
        spec(attributes={"server_asked": "far"}),
        ("cluster=far: this is cluster here",),
    ),
]


@pytest.mark.parametrize(("asked", "expected", "ignored"), TAKEN, ids=range(len(TAKEN)))
def test_what_becomes_of_a_name(asked: JobSpec, expected: JobSpec, ignored: tuple[str, ...]) -> None:
    found = translate(asked, SITE, NODES)
    assert found.spec == expected
    assert found.ignored == ignored


R = RefusalCode
REFUSED: list[tuple[JobSpec, RefusalCode, str]] = [
    (chunk(resources=(("nosuch", 1),)), R.UNKNOWN_RESOURCE, "nosuch"),
    (chunk(words=(("nosuch", "x"),)), R.UNKNOWN_RESOURCE, "nosuch"),
    (spec(words=(("nosuch", "x"),)), R.UNKNOWN_RESOURCE, "nosuch"),
    (spec(resources_per_pod=(("nosuch", 1),)), R.UNKNOWN_RESOURCE, "nosuch"),
    (chunk(words=(("@qos", "blue"),)), R.UNKNOWN_RESOURCE, "@qos"),
    (chunk(words=(("forbidden", "x"),)), R.UNKNOWN_RESOURCE, "forbidden=x: not here"),
    (chunk(words=(("accelerators", "all"),)), R.UNKNOWN_RESOURCE, "accelerators: expected a number, found all"),
    (chunk(words=(("matlab", "all"),)), R.UNKNOWN_RESOURCE, "matlab: expected a number, found all"),
    (chunk(words=(("matlab", "9"),)), R.UNKNOWN_LICENSE, "licence matlab: 9 asked, there are 4"),
    (chunk(words=(("gpu_kind", "a b"),)), R.UNKNOWN_RESOURCE, "gpu_kind=a b: 'a b' cannot be a label of a node"),
    (chunk(words=(("round", "1"),)), R.UNKNOWN_RESOURCE, "round=1: the site's translations lead back to round"),
    (chunk(properties=("nosuch",)), R.UNKNOWN_PROPERTY, "nosuch"),
    (chunk(properties=("itself",)), R.UNKNOWN_PROPERTY, "itself"),
    (chunk(alternatives=(("rome",), ("nosuch",))), R.UNKNOWN_PROPERTY, "nosuch"),
    (chunk(lacks=("nosuch",)), R.UNKNOWN_PROPERTY, "nosuch"),
    (chunk(properties=("n01", "n02")), R.BAD_SPEC, "no node is both n01 and n02"),
    (chunk(hosts=("n99",)), R.UNKNOWN_NODE, "n99"),
    (spec(required_hosts=("n99",)), R.UNKNOWN_NODE, "n99"),
    (spec(excluded_hosts=("n99",)), R.UNKNOWN_NODE, "n99"),
    (spec(required_hosts=("n1",), excluded_hosts=("n01",)), R.BAD_SPEC, "node n01: both asked for and excluded"),
    (spec(licenses=(("nosuch", 1),)), R.UNKNOWN_LICENSE, "no licence nosuch; there are: idl, matlab"),
    (spec(licenses=(("matlab", 5),)), R.UNKNOWN_LICENSE, "licence matlab: 5 asked, there are 4"),
    (spec(account="old-1"), R.UNKNOWN_ACCOUNT, "account=old-1: this account is closed"),
    (spec(attributes={"qos": "none1"}), R.UNKNOWN_QOS, "qos=none1: no such QOS"),
    (
        spec(
            Chunk(resources=(("foo", 1),), properties=("bar",)),
            Chunk(resources=(("foo", 1),)),
            required_hosts=("n99",),
            licenses=(("idl", 2),),
        ),
        R.UNKNOWN_RESOURCE,
        "foo\nunknown node property bar\nunknown node n99\nlicence idl: 2 asked, there are 1",
    ),
]


@pytest.mark.parametrize(("asked", "code", "message"), REFUSED, ids=[text for _, _, text in REFUSED])
def test_refusals(asked: JobSpec, code: RefusalCode, message: str) -> None:
    with pytest.raises(RefusedError) as raised:
        translate(asked, SITE, NODES)
    assert (raised.value.code, str(raised.value)) == (code, message)


def test_a_site_without_licences() -> None:
    with pytest.raises(RefusedError, match=r"^no licence a; there is none$"):
        translate(spec(licenses=(("a", 1),)), SiteConfig(), ())


def test_what_the_record_shows_by_another_name() -> None:
    assert translate(spec(account="phys7"), SITE, ()).renamed == {"account": "physics"}
    assert translate(spec(account="other"), SITE, ()).renamed == {}
    site = SiteConfig(translations=(to(Word.QOS, "a", renamed="b"),))
    assert translate(spec(attributes={"qos": "a", "x": "y"}), site, ()).renamed == {
        "attributes": {"qos": "b", "x": "y"}
    }


def test_a_list_of_accounts() -> None:
    """Those that there are as themselves, then none."""
    site = SiteConfig(
        translations=(to(Word.ACCOUNT, "a", renamed="a"), to(Word.ACCOUNT, "*", refused="no such account"))
    )
    assert translate(spec(account="a"), site, ()).spec.account == "a"
    assert translate(spec(), site, ()).spec.account is None
    with pytest.raises(RefusedError, match=r"^account=b: no such account$"):
        translate(spec(account="b"), site, ())


def test_labels_of_what_nodes_are_asked_for() -> None:
    asked = spec(
        Chunk(properties=("rome",), words=(("gpu_kind", "h100"),), alternatives=(("cascade",), ("ib",))),
        attributes={"qos": "high"},
    )
    assert asked_labels(translate(asked, SITE, ()).spec, SITE) == {
        "rome": {"cpu": "rome"},
        "ib": {"net": "ib"},
        "cascade": {"cpu": "cascadelake"},
        "gpu_kind=h100": {"gpu": "h100"},
        "@qos=high": {"tier": "fast"},
    }


@pytest.mark.parametrize("ignored", [("a: why",), ()])
@pytest.mark.parametrize("is_strict", [False, True])
@pytest.mark.parametrize("unsupported", Unsupported)
@pytest.mark.parametrize("own", [("--x: reason",), ()])
def test_who_wants_no_ignored_names(
    ignored: tuple[str, ...], is_strict: bool, unsupported: Unsupported, own: tuple[str, ...]
) -> None:
    asked, site = spec(is_strict=is_strict, ignored=own), SiteConfig(unsupported=unsupported)
    if (is_strict or unsupported is Unsupported.REFUSE) and (own or ignored):
        with pytest.raises(RefusedError) as raised:
            check_ignored(asked, ignored, site)
        assert raised.value.code == RefusalCode.IGNORED
        assert str(raised.value) == f"not available here: {'; '.join((*own, *ignored))}"
    else:
        check_ignored(asked, ignored, site)


def test_nodes_by_their_labels() -> None:
    asked = spec(Chunk(hosts=("a", "b"), excluded_hosts=("c",)), required_hosts=("a",), excluded_hosts=("c",))
    named = spec(Chunk(hosts=("x", "b"), excluded_hosts=("z",)), required_hosts=("x",), excluded_hosts=("z",))
    assert asked.with_host_names({"a": "x", "b": "b", "c": "z"}) == named


def test_the_project_of_jobs_that_name_none() -> None:
    site = SiteConfig(translations=(to(Word.PROJECT, "*", refused="no projects"),))
    assert translate(spec(attributes={"project": DEFAULT_PROJECT}), site, ()).ignored == ()
    with pytest.raises(RefusedError, match=r"^project=p: no projects$"):
        translate(spec(attributes={"project": "p"}), site, ())


def test_disk_that_no_node_speaks_of() -> None:
    assert without_disk(chunk(tmp_bytes=5, cpus=3)) == chunk(cpus=3)


NAMES = st.sampled_from(["aa", "ab", "ba", "bb", "known", "n01"])
PATTERNS = st.sampled_from(["aa", "ab", "a*", "b*", "*", "?b", "known"])
TRANSLATIONS = st.builds(
    lambda word, pattern, effect, other: Translation(
        word=word,
        pattern=pattern,
        labels={"label": "x"} if "labels" in effect else {},
        renamed=("feature " if effect[-1] == "feature" and word is Word.RESOURCE else "") + other
        if effect[-1] in {"as", "feature"}
        else "",
        ignored=f"why {pattern}" if effect == ("ignored",) else "",
        refused=f"no {pattern}" if effect == ("refused",) else "",
    ),
    st.sampled_from([word for word in Word if word is not Word.OPTION]),
    PATTERNS,
    st.sampled_from([("labels",), ("labels", "as"), ("as",), ("feature",), ("ignored",), ("refused",)]),
    NAMES,
)
SITES = st.builds(
    lambda translations: SiteConfig(
        resources={"known": "a/known"},
        node_properties={"known": {"is": "known"}},
        licenses={"known": 10**6},
        translations=tuple(translations),
    ),
    st.lists(TRANSLATIONS, max_size=6),
)


@given(
    kind=st.sampled_from(["resource", "text", "job", "per_pod", "feature", "choice", "lacks", "host", "license"]),
    name=NAMES,
    site=SITES,
)
def test_no_name_is_lost(kind: str, name: str, site: SiteConfig) -> None:
    """Something remains of it in the job, or it is ignored with a reason, or the job is refused."""
    asked = {
        "resource": lambda: chunk(resources=((name, 2),)),
        "text": lambda: chunk(words=((name, "2"),)),
        "job": lambda: spec(words=((name, "2"),)),
        "per_pod": lambda: spec(resources_per_pod=((name, 2),)),
        "feature": lambda: chunk(properties=(name,)),
        "choice": lambda: chunk(alternatives=((name,),)),
        "lacks": lambda: chunk(lacks=(name,)),
        "host": lambda: chunk(hosts=(name,)),
        "license": lambda: spec(licenses=((name, 2),)),
    }[kind]()
    try:
        found = translate(asked, site, ("n01",))
    except RefusedError as refused:
        assert str(refused)
        return
    assert found.ignored or found.spec != spec()
    assert all(": " in text for text in found.ignored)
    (only,) = found.spec.chunks
    for word, value in only.words:
        assert site.labels_of_word(word, value), "its labels are found again when the pods are made"
    for one in found.spec.property_names:
        assert site.labels_of(Word.FEATURE, one)
    assert set(found.spec.resource_names) <= set(site.resources)


def test_a_licence_has_a_name_that_means_nothing_elsewhere() -> None:
    """`vtune` is one of the names that are ignored where nobody has said what they are."""
    asked = spec(Chunk(resources=(("vtune", 1),)))
    assert translate(asked, SITE, NODES).spec.licenses == ()
    licensed = replace(SITE, licenses={"vtune": 2})
    found = translate(asked, licensed, NODES)
    assert (found.spec.licenses, found.ignored) == ((("vtune", 1),), ())
    ignored = replace(licensed, translations=(to(Word.RESOURCE, "vtune", ignored="it is for everybody"),))
    assert translate(asked, ignored, NODES).spec.licenses == (), "the site's own words"
