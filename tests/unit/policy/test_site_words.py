"""What a site makes of the names in a job."""

from __future__ import annotations

import pytest

from hpcbatch.model.chunk import Chunk
from hpcbatch.model.outcome import Fate
from hpcbatch.model.site import QueueConfig, SiteConfig, Translation, Word
from hpcbatch.model.spec import JobSpec
from hpcbatch.policy.site_words import Name, names_of, site_words

SITE = SiteConfig(
    queues=(QueueConfig(name="workq", volcano_queue="wq", is_default=True, aliases=("normal", "debug*")),),
    node_properties={"haswell": {"cpu": "hsw"}},
    licenses={"matlab": 10},
    translations=(
        Translation(word=Word.RESOURCE, pattern="gpu_model", value="a100*", labels={"gpu": "a100"}),
        Translation(word=Word.RESOURCE, pattern="gpu:*", renamed="gpu"),
        Translation(word=Word.RESOURCE, pattern="filesystems", ignored="all are mounted"),
        Translation(word=Word.ACCOUNT, pattern="x*", refused="no such accounts"),
    ),
)


def _job(**fields: object) -> JobSpec:
    return JobSpec(dialect="slurm", name="job", **fields)  # type: ignore[arg-type]


CASES = [
    (_job(queue="workq"), "workq", Fate.HONOURED, "Volcano Queue wq"),
    (_job(queue="debug-2"), "debug-2", Fate.TRANSLATED, "queue workq"),
    (_job(queue="long"), "long", Fate.REFUSED, "there is no such queue"),
    (_job(chunks=(Chunk(resources=(("gpu", 2),)),)), "gpu", Fate.HONOURED, "nvidia.com/gpu"),
    (_job(chunks=(Chunk(resources=(("gpu:a100", 2),)),)), "gpu:a100", Fate.TRANSLATED, "gpu"),
    (_job(chunks=(Chunk(resources=(("fpga", 2),)),)), "fpga", Fate.REFUSED, "there is no such resource"),
    (_job(chunks=(Chunk(words=(("gpu_model", "a100"),)),)), "gpu_model=a100", Fate.TRANSLATED, "nodes with gpu=a100"),
    (_job(words=(("filesystems", "home"),)), "filesystems=home", Fate.IGNORED, "all are mounted"),
    (_job(chunks=(Chunk(properties=("haswell",)),)), "haswell", Fate.HONOURED, "nodes with cpu=hsw"),
    (_job(chunks=(Chunk(alternatives=(("knl",),)),)), "knl", Fate.REFUSED, "no node has such a property"),
    (_job(licenses=(("matlab", 2),)), "matlab", Fate.HONOURED, "there are 10"),
    (_job(licenses=(("abaqus", 2),)), "abaqus", Fate.REFUSED, "there is no such licence"),
    (_job(account="abc"), "abc", Fate.KEPT, "this site does not look at it"),
    (_job(account="xyz"), "xyz", Fate.REFUSED, "no such accounts"),
    (_job(attributes={"qos": "high"}), "high", Fate.KEPT, "this site does not look at it"),
    (_job(attributes={"reservation": "r1"}), "r1", Fate.IGNORED, "there are no reservations here"),
]


@pytest.mark.parametrize(("spec", "name", "fate", "meaning"), CASES, ids=[case[1] for case in CASES])
def test_names(spec: JobSpec, name: str, fate: Fate, meaning: str) -> None:
    (found,) = site_words(spec, SITE)
    assert (found.option, found.fate, found.meaning) == (name, fate, meaning)


def test_each_name_stands_once_and_all_are_told() -> None:
    chunks = (Chunk(resources=(("gpu", 1),)), Chunk(resources=(("gpu", 2),), properties=("knl",)))
    spec = _job(queue="a", other_queues=("b",), chunks=chunks, attributes={"project": "_pbs_project_default"})
    assert names_of(spec) == [
        Name("queue", "a"),
        Name("queue", "b"),
        Name(Word.RESOURCE, "gpu"),
        Name(Word.FEATURE, "knl"),
    ]


def test_unknown_queues_have_a_queue_where_the_site_says_so() -> None:
    site = SiteConfig(queues=SITE.queues, unknown_queues="workq")
    (found,) = site_words(_job(queue="long"), site)
    assert found.fate is Fate.TRANSLATED
