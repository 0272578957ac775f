"""Which accelerator a job gets: by its dialect's words for a type, by its queue; and what no site has."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from hpcbatch.dialects.registry import door
from hpcbatch.errors import RefusedError
from hpcbatch.model.accelerator import Accelerator
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.refusal import RefusalCode
from hpcbatch.model.site import QueueConfig, SiteConfig, Translation, Word
from hpcbatch.model.spec import JobSpec
from hpcbatch.policy.accelerators import in_queue
from hpcbatch.policy.owners import tres_names
from hpcbatch.policy.vocabulary import asked_labels, translate
from hpcbatch.volcano.pod_needs import node_selector, pod_annotations, resources

KINDS = (
    Accelerator(name="a100", aliases=("TeslaA100*",), resource="nvidia.com/gpu", labels={"gpu": "a100"}),
    Accelerator(name="1g.5gb", resource="nvidia.com/mig-1g.5gb"),
    Accelerator(name="mi250", resource="amd.com/gpu", annotations={"site.example/near": "true"}),
    Accelerator(name="910", resource="huawei.com/Ascend910", labels={"gpu": "910"}, queues=("npu",)),
)
SITE = SiteConfig(
    accelerators=KINDS,
    resources={
        "gpu": "nvidia.com/gpu",
        "ngpus": "nvidia.com/gpu",
        **{each.full_name: each.resource for each in KINDS},
    },
    translations=(Translation(word=Word.RESOURCE, pattern="gpu:old", renamed="gpu"),),
)
QUEUE = QueueConfig(name="workq", volcano_queue="default")
NPU = QueueConfig(name="npu", volcano_queue="default")
_COMMENT = {"slurm": "#SBATCH", "pbs": "#PBS", "lsf": "#BSUB"}


def read(dialect: str, options: str) -> JobSpec:
    script = f"#!/bin/sh\n{_COMMENT[dialect]} {options}\ntrue\n".encode()
    return door(dialect).read_script("run.sh", script, datetime(2026, 1, 1, tzinfo=UTC), [], {}).spec


def pods(spec: JobSpec, queue: QueueConfig = QUEUE) -> tuple[dict[str, str], dict[str, str]]:
    """Extended resources and labels of the first pod."""
    new = in_queue(translate(spec, SITE, ()).spec, queue, SITE)
    chunk = new.chunks[0]
    amounts = dict(chunk.resources)
    for name, amount in new.resources_per_pod:
        amounts[name] = amounts.get(name, 0) + amount
    whole = Chunk(cpus=1, resources=tuple(sorted(amounts.items())), words=chunk.words)
    return resources(whole, SITE).get("limits", {}), node_selector(whole, queue, SITE)


ASKED = {
    ("slurm", "--gpus-per-node=2"): ({"nvidia.com/gpu": "2"}, {}),
    ("slurm", "--gres=gpu:a100:2"): ({"nvidia.com/gpu": "2"}, {"gpu": "a100"}),
    ("slurm", "--gres=gpu:A100:2"): ({"nvidia.com/gpu": "2"}, {"gpu": "a100"}),
    ("slurm", "--gres=gpu:1g.5gb:3"): ({"nvidia.com/mig-1g.5gb": "3"}, {}),
    ("slurm", "--gres=gpu:old:3"): ({"nvidia.com/gpu": "3"}, {}),
    ("slurm", "--gpus=mi250:4"): ({"amd.com/gpu": "4"}, {}),
    ("slurm", "-n 2 --gpus-per-task=mi250:2 -N 1"): ({"amd.com/gpu": "4"}, {}),
    ("slurm", "-n 4 --gres=gpu:a100:2"): ({"nvidia.com/gpu": "2"}, {"gpu": "a100"}),
    ("pbs", "-l select=1:ncpus=2:ngpus=2"): ({"nvidia.com/gpu": "2"}, {}),
    ("pbs", "-l select=1:ncpus=2:ngpus=2:gpu_model=a100"): ({"nvidia.com/gpu": "2"}, {"gpu": "a100"}),
    ("pbs", "-l select=1:ngpus=1:gpu_type=MI250"): ({"amd.com/gpu": "1"}, {}),
    ("pbs", "-l ngpus=1,gpu_type=mi250"): ({"amd.com/gpu": "1"}, {}),
    ("pbs", "-l nodes=1:ppn=2:gpus=2"): ({"nvidia.com/gpu": "2"}, {}),
    ("lsf", "-gpu num=2"): ({"nvidia.com/gpu": "2"}, {}),
    ("lsf", "-gpu num=2:gmodel=TeslaA100_SXM4"): ({"nvidia.com/gpu": "2"}, {"gpu": "a100"}),
    ("lsf", "-n 2 -gpu num=1/task:gmodel=mi250"): ({"amd.com/gpu": "1"}, {}),
}


@pytest.mark.parametrize(("dialect", "options"), ASKED)
def test_every_option_reaches_its_resource(dialect: str, options: str) -> None:
    assert pods(read(dialect, options)) == ASKED[dialect, options]


@pytest.mark.parametrize(
    ("dialect", "options"), [("slurm", "--gres=gpu:2"), ("pbs", "-l ngpus=2"), ("lsf", "-gpu num=2")]
)
def test_gpus_of_no_type_are_the_queues(dialect: str, options: str) -> None:
    assert pods(read(dialect, options), NPU) == ({"huawei.com/Ascend910": "2"}, {"gpu": "910"})


def test_a_type_that_is_named_stays_in_any_queue() -> None:
    assert pods(read("slurm", "--gres=gpu:mi250:1"), NPU) == ({"amd.com/gpu": "1"}, {})
    assert pods(read("slurm", "-n 1"), NPU) == ({}, {})


@pytest.mark.parametrize(
    ("dialect", "options", "name"),
    [
        ("slurm", "--gres=gpu:h100:1", "gpu:h100"),
        ("pbs", "-l select=1:ngpus=1:gpu_model=h100", "gpu_model=h100"),
        ("lsf", "-gpu num=1:gmodel=h100", "gpu_model=h100"),
    ],
)
def test_a_type_that_the_site_does_not_have(dialect: str, options: str, name: str) -> None:
    with pytest.raises(RefusedError) as refused:
        translate(read(dialect, options), SITE, ())
    assert (refused.value.code, str(refused.value).splitlines()[0]) == (RefusalCode.UNKNOWN_RESOURCE, name)


def test_the_layout_may_be_translated_again() -> None:
    once = translate(read("slurm", "--gres=gpu:a100:2"), SITE, ()).spec
    assert translate(once, SITE, ()).spec == once
    assert asked_labels(once, SITE) == {"gpu:a100=": {"gpu": "a100"}}


def test_annotations_of_a_type() -> None:
    assert pod_annotations(Chunk(resources=(("gpu:mi250", 1),)), SITE) == {"site.example/near": "true"}
    assert pod_annotations(Chunk(resources=(("gpu", 1),)), SITE) == {}
    assert pod_annotations(Chunk(), SITE) == {}


@pytest.mark.parametrize(
    ("resource", "names"),
    [
        ("ngpus", ("gres/gpu",)),
        ("gpu", ("gres/gpu",)),
        ("gpu:a100", ("gres/gpu", "gres/gpu:a100")),
        ("nic", ("gres/nic",)),
    ],
)
def test_limits_know_a_type_as_gpus_too(resource: str, names: tuple[str, ...]) -> None:
    assert tres_names(resource) == names
