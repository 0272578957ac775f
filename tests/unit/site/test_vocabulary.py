"""The keys of the site's file about names in scripts, and which translation of a name counts."""

from __future__ import annotations

import pytest

from hpcbatch.model.site import QueueConfig, SiteConfig, Translation, Unsupported, Word
from hpcbatch.site.file import SiteFileError, read_config
from hpcbatch.site.known_names import FEATURES, KNOWN, REASONS
from tests.unit.site.test_file import EXAMPLE, HEAD, problems


def read(body: str) -> SiteConfig:
    return read_config(HEAD + body, defaults=SiteConfig())


def test_the_documented_example() -> None:
    config = read_config(EXAMPLE)
    assert config.unsupported is Unsupported.WARN
    assert (config.unknown_queues, config.licenses) == ("workq", {"matlab": 10})
    assert config.node_mem_reserve_bytes == 2 << 30
    assert config.translations == (
        Translation(word=Word.RESOURCE, pattern="gpu_model", value="a100*", labels={"gpu": "a100"}),
        Translation(word=Word.RESOURCE, pattern="gpu:*", renamed="gpu"),
        Translation(word=Word.RESOURCE, pattern="feature", renamed="feature {value}"),
        Translation(word=Word.FEATURE, pattern="cascade*", labels={"cpu-generation": "cascadelake"}),
        Translation(word=Word.ACCOUNT, pattern="old-*", refused="this project has ended"),
        Translation(word=Word.NODE, pattern="*.cluster.site", ignored="nodes have short names here"),
        Translation(word=Word.OPTION, pattern="--ear*", ignored="there is no EAR here"),
    )


def test_defaults() -> None:
    site = read("")
    assert (site.unsupported, site.unknown_queues, site.translations) == (Unsupported.WARN, "", ())
    assert (site.licenses, site.node_mem_reserve_bytes) == ({}, 0)
    assert read_config(HEAD + "image: a\n").node_mem_reserve_bytes == 1 << 30
    assert read_config(HEAD + "image: a\nnodeMemoryReserve: 0\n").node_mem_reserve_bytes == 0


def test_labels_may_hold_the_value_and_stand_beside_as() -> None:
    (one,) = read('translations:\n- {resource: "gpu:*", as: gpu, labels: {gpu: "is-{value}"}}\n').translations
    assert (one.renamed, one.labels_for("a100")) == ("gpu", {"gpu": "is-a100"})


QUEUES = "queues:\n- {name: a, default: true%s}\n- {name: b%s}\n"
FAULTS = {
    "unsupported: no\n": "site.yaml:3:14: unsupported: expected warn or refuse, found 'no'",
    "unknownQueues: c\n" + QUEUES % ("", ""): "site.yaml:3:16: unknownQueues: no queue 'c': expected one of a, b",
    QUEUES % (", aliases: [b]", ""): "site.yaml:4:37: queues[0].aliases: 'b' is the name of another queue",
    QUEUES % (", aliases: [x]", ", aliases: [x]"): (
        "site.yaml:5:22: queues[1].aliases: 'x' is an alias of queue a already"
    ),
    QUEUES % (", aliases: [x, 'y z']", ""): (
        "site.yaml:4:41: queues[0].aliases: expected a queue's name, with `*` and `?` where anything may stand, "
        "found 'y z'"
    ),
    "licenses: {a: x}\n": ("site.yaml:3:11: licenses: a: expected a whole number from 0 to 1000000, found 'x'"),
    "licenses: {'a b': 1}\n": (
        "site.yaml:3:11: licenses: 'a b' cannot be a licence: expected letters, digits, '_', '-', '.' or '@'"
    ),
    "nodeMemoryReserve: x\n": (
        "site.yaml:3:20: nodeMemoryReserve: expected an amount of memory such as 4Gi or 512Mi, found 'x'"
    ),
    "translations: {}\n": "site.yaml:3:15: translations: expected a list, found keys and values",
    "translations: [{ignored: x}]\n": (
        "site.yaml:3:16: translations[0]: no kind of name: expected one of resource, feature, license, account, "
        "project, qos, reservation, node, cluster, option"
    ),
    "translations: [{qos: a, node: b, ignored: x}]\n": (
        "site.yaml:3:31: translations[0].node: qos and node together: expected one of resource, feature, license, "
        "account, project, qos, reservation, node, cluster, option"
    ),
    "translations: [{qos: a}]\n": (
        "site.yaml:3:16: translations[0]: nothing becomes of it: expected one of labels, as, ignored, refused"
    ),
    "translations: [{qos: a, as: b, refused: c}]\n": (
        "site.yaml:3:41: translations[0].refused: as and refused together: expected one, or labels and as"
    ),
    "translations: [{qos: a, value: b, as: c}]\n": (
        "site.yaml:3:32: translations[0].value: a qos has no value: expected it with a resource"
    ),
    "translations: [{node: a, labels: {b: c}}]\n": "site.yaml:3:34: translations[0].labels: not of a node",
    "translations: [{option: --a, as: b}]\n": (
        "site.yaml:3:34: translations[0].as: not of an option: expected ignored, with the reason"
    ),
    "translations: [{feature: a, labels: {b/: c}}]\n": (
        "site.yaml:3:37: translations[0].labels: 'b/' is no label key: expected [domain/]name"
    ),
    "translations: [{feature: a, labels: {b: '{value}'}}]\n": (
        "site.yaml:3:37: translations[0].labels: b: expected a label's value: up to 63 letters, digits, '-', '_' or '.'"
    ),
    "translations: [{feature: a, labels: {}}]\n": (
        "site.yaml:3:37: translations[0].labels: expected one label at least, as `label: value`"
    ),
    "translations: [{feature: 'a b', ignored: x}]\n": (
        "site.yaml:3:26: translations[0].feature: expected a name without blanks, with `*` and `?` where anything may "
        "stand, found 'a b'"
    ),
    "translations: [{resource: a, as: 'licence b'}]\n": (
        "site.yaml:3:34: translations[0].as: expected a name, or `feature NAME`, found 'licence b'"
    ),
    'translations: [{feature: a, ignored: "x\\ny"}]\n': (
        "site.yaml:3:38: translations[0].ignored: expected a reason of one line"
    ),
}


@pytest.mark.parametrize("body", FAULTS)
def test_a_fault_has_its_place_and_what_was_expected(body: str) -> None:
    assert problems(body) == [FAULTS[body]]


def test_all_faults_are_told_at_once() -> None:
    body = "unsupported: no\nlicenses: {a: x}\ntranslations:\n- {qos: a}\n- {node: a, ignored: x, refused: y}\n"
    with pytest.raises(SiteFileError) as raised:
        read(body)
    assert [(each.line, each.key) for each in raised.value.problems] == [
        (3, "unsupported"),
        (4, "licenses"),
        (6, "translations[0]"),
        (7, "translations[1].refused"),
    ]


@pytest.mark.parametrize(
    ("name", "queue"),
    [("a", "a"), ("b", "b"), ("x1", "b"), ("x2", "a"), ("y", "c"), ("z", None)],
    ids=str,
)
def test_queues_by_name_alias_and_pattern(name: str, queue: str | None) -> None:
    """In this order: a name, an alias as it is, the first pattern."""
    queues = (
        QueueConfig(name="a", volcano_queue="a", aliases=("x*",)),
        QueueConfig(name="b", volcano_queue="b", aliases=("x1", "x?")),
        QueueConfig(name="c", volcano_queue="c", aliases=("y", "a")),
    )
    found = SiteConfig(queues=queues, default_queue="a").queue_called(name)
    assert (found and found.name) == queue


def test_what_is_known_of_other_sites_has_reasons() -> None:
    assert all(reason and reason[0].islower() and not reason.endswith(".") for reason in REASONS.values())
    assert [each.pattern for each in KNOWN if each.word is Word.RESOURCE] == list(REASONS)
    assert [each.pattern for each in KNOWN if each.word is Word.FEATURE] == list(FEATURES)
    assert all(each.ignored == REASONS[each.pattern] for each in KNOWN)
