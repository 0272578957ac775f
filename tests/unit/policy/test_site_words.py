"""What a site makes of the names in a job."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.errors import RefusedError
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.outcome import Fate
from hpcbatch.model.site import QueueConfig, SiteConfig, Translation, Word
from hpcbatch.model.spec import Arrangement, JobSpec
from hpcbatch.policy.site_words import QUEUE, Name, names_of, site_words
from hpcbatch.policy.vocabulary import translate

SITE = SiteConfig(
    default_queue="workq",
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
    (_job(chunks=(Chunk(resources=(("gpu", 2),)),)), "gpu", Fate.HONOURED, "2 nvidia.com/gpu"),
    (_job(chunks=(Chunk(resources=(("gpu:a100", 2),)),)), "gpu:a100", Fate.TRANSLATED, "2 nvidia.com/gpu"),
    (_job(chunks=(Chunk(resources=(("fpga", 2),)),)), "fpga", Fate.REFUSED, "the site does not know it"),
    (_job(chunks=(Chunk(words=(("gpu_model", "a100"),)),)), "gpu_model=a100", Fate.TRANSLATED, "nodes with gpu=a100"),
    (_job(words=(("filesystems", "home"),)), "filesystems=home", Fate.IGNORED, "all are mounted"),
    (_job(chunks=(Chunk(properties=("haswell",)),)), "haswell", Fate.HONOURED, "nodes with cpu=hsw"),
    (_job(chunks=(Chunk(alternatives=(("knl",),)),)), "knl", Fate.REFUSED, "the site does not know it"),
    (_job(licenses=(("matlab", 2),)), "matlab", Fate.HONOURED, "2 of 10 licences matlab"),
    (_job(licenses=(("abaqus", 2),)), "abaqus", Fate.REFUSED, "no licence abaqus; there are: matlab"),
    (_job(account="abc"), "abc", Fate.KEPT, "the site does not look at it"),
    (_job(account="xyz"), "xyz", Fate.REFUSED, "no such accounts"),
    (_job(attributes={"qos": "high"}), "high", Fate.KEPT, "the site does not look at it"),
    (_job(attributes={"reservation": "r1"}), "r1", Fate.REFUSED, "there is no reservation r1"),
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
        Name(Word.RESOURCE, "gpu", amount=2),
        Name(Word.FEATURE, "knl"),
    ]


def test_unknown_queues_are_ignored_where_the_site_has_a_queue_for_them() -> None:
    site = SiteConfig(default_queue="workq", queues=SITE.queues, unknown_queues="workq")
    (found,) = site_words(_job(queue="long"), site)
    assert found.fate is Fate.IGNORED
    fates = [each.fate for each in site_words(_job(queue="long", other_queues=("workq",)), SITE)]
    assert fates == [Fate.REFUSED, Fate.HONOURED]


def test_nodes_are_those_that_there_are_as_far_as_they_are_known() -> None:
    spec = _job(required_hosts=("n1", "n2"), chunks=(Chunk(count=2),), arrangement=Arrangement.SCATTER)
    assert [each.fate for each in site_words(spec, SITE)] == [Fate.HONOURED, Fate.HONOURED]
    assert [each.fate for each in site_words(spec, SITE, ["n1"])] == [Fate.HONOURED, Fate.REFUSED]


def test_a_limit_is_told_where_all_names_are_known() -> None:
    queue = QueueConfig(name="workq", volcano_queue="wq", is_default=True, max_walltime_s=3600)
    site = SiteConfig(default_queue="workq", queues=(queue, QueueConfig(name="long", volcano_queue="long")))
    (_, limit) = site_words(_job(queue="workq", walltime_s=7200), site)
    assert (limit.source, limit.option, limit.fate) == ("limit", "walltime", Fate.REFUSED)
    assert limit.meaning == "walltime: 02:00:00 asked, at most 01:00:00 in workq"
    assert [each.source for each in site_words(_job(queue="workq", other_queues=("long",), walltime_s=7200), site)] == [
        "queue",
        "queue",
    ]


@given(
    st.sampled_from([*Word, QUEUE]),
    st.from_regex(r"[a-z][a-z0-9:]{0,8}", fullmatch=True),
    st.sampled_from([SiteConfig(), SITE]),
)
def test_what_is_said_of_a_name_is_what_admission_does(kind: str, name: str, site: SiteConfig) -> None:
    """A job with this name alone is refused or admitted just so."""
    if kind in {QUEUE, Word.OPTION}:
        return
    spec = Name(kind, name, attribute="clusters" if kind == Word.CLUSTER else kind).alone("slurm")
    told = {each.fate for each in site_words(spec, site, [])}
    try:
        ignored = translate(spec, site, []).ignored
    except RefusedError:
        assert told == {Fate.REFUSED}
    else:
        assert told == {Fate.IGNORED} if ignored else told <= {Fate.HONOURED, Fate.TRANSLATED, Fate.KEPT}
