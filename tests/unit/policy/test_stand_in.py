"""A site that has whatever a job names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.model.chunk import Chunk
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.site import QueueConfig, SiteConfig
from hpcbatch.model.spec import JobSpec
from hpcbatch.policy.stand_in import stand_in
from hpcbatch.volcano.pod_needs import node_selector, node_terms, resources

QUEUE = QueueConfig(name="q", volcano_queue="q")


def spec(*chunks: Chunk, **given: object) -> JobSpec:
    return JobSpec(dialect=Dialect.PBS, name="j", chunks=chunks or (Chunk(),), **given)  # type: ignore[arg-type]


def test_every_name_gets_a_label_or_a_resource() -> None:
    chunk = Chunk(
        resources=(("gpu", 1), ("gpu:a100", 2), ("scratch_local", 5)),
        words=(("driver_version", "12.4"), ("filesystems", "home:eagle")),
        properties=("ib",),
        alternatives=(("rome",), ("milan",)),
        hosts=("n01",),
    )
    asked = spec(chunk, licenses=(("matlab", 3),), words=(("odd*name", "a b/c"),), queue="debug")
    site, translated, names = stand_in(asked, SiteConfig())
    (pod,) = translated.spec.chunks
    assert names == ("gpu:a100", "ib", "milan", "rome", "odd*name", "driver_version")
    assert [text.partition(":")[0] for text in translated.ignored] == ["scratch_local=5", "filesystems=home"]
    assert resources(pod, site)["limits"] == {"nvidia.com/gpu": "1", "hpcbatch.io/gpu-a100": "2"}
    assert node_selector(pod, QUEUE, site) == {
        "hpcbatch.io/ib": "true",
        "hpcbatch.io/driver_version": "12.4",
        "hpcbatch.io/odd-name": "a-b-c",
    }
    assert len(node_terms(pod, site)) == 2
    assert (translated.spec.licenses, pod.hosts) == ((("matlab", 3),), ("n01",))


NAMES = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=12).filter(
    lambda text: not text.startswith("@")  # no dialect's resource does
)


@pytest.mark.parametrize("kind", ["resources", "words", "properties"])
@given(name=NAMES, value=NAMES)
def test_no_name_is_refused(kind: str, name: str, value: str) -> None:
    pairs = {"resources": ((name, 1),), "words": ((name, value),), "properties": (name,)}
    site, translated, _ = stand_in(spec(Chunk(**{kind: pairs[kind]})), SiteConfig())  # type: ignore[arg-type]
    for chunk in translated.spec.chunks:
        resources(chunk, site)
        node_selector(chunk, QUEUE, site)
