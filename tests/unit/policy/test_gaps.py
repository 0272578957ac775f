"""What a script asks for and does not get."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hpcbatch.errors import DirectiveError, HpcBatchError, ObstaclesError
from hpcbatch.model.outcome import Fate, Outcome
from hpcbatch.model.site import QueueConfig, SiteConfig, SiteModule, Unsupported
from hpcbatch.model.spec import JobSpec
from hpcbatch.policy.gaps import (
    ignored_gaps,
    module_gaps,
    modules_of,
    option_name,
    refused_gaps,
    site_gaps,
    unsupported_refused,
)
from hpcbatch.site.survey import Gap


@pytest.mark.parametrize(
    ("option", "name"),
    [
        ("--ntasks=4", "--ntasks"),
        ("--no-kill", "--no-kill"),
        ("-n4", "-n"),
        ("-l walltime=1:00:00", "-l walltime"),
        ("-lnodes=1:ppn=2", "-lnodes"),
        ("-W depend=afterok:1", "-W depend"),
        ("odd", "odd"),
    ],
)
def test_option_name(option: str, name: str) -> None:
    assert option_name(option) == name


def test_each_obstacle_is_a_gap_by_its_option_where_that_is_known() -> None:
    outcomes = [
        Outcome("--uid=7", Fate.REFUSED, "no", "a", 3, 9),
        Outcome("--time=1", Fate.HONOURED, "a minute", "a", 2, 9),
    ]
    known = DirectiveError("sbatch: error: Invalid user id", path="a", line=3, column=9)
    other = DirectiveError("sbatch: error: Invalid --time specification", path="a", line=2, column=9)
    assert list(refused_gaps(ObstaclesError([known, other]), outcomes)) == [
        Gap("option", "--uid", Fate.REFUSED, "sbatch: error: Invalid user id", line=3),
        Gap("error", "Invalid --time specification", Fate.REFUSED, other.message, line=2),
    ]
    assert [gap.name for gap in refused_gaps(HpcBatchError("all is wrong"), [])] == ["all is wrong"]


def test_what_is_ignored_is_a_gap_once() -> None:
    outcomes = [Outcome("--cpu-freq=high", Fate.IGNORED, "why", "a", 2, 9)]
    spec = JobSpec(dialect="slurm", name="a", ignored=("--cpu-freq=high: why", "-l nice=3: because"))
    assert list(ignored_gaps(spec, outcomes)) == [
        Gap("option", "--cpu-freq", Fate.IGNORED, "why", line=2),
        Gap("option", "-l nice", Fate.IGNORED, "because", "-l nice=3"),
    ]


def test_names_of_the_site() -> None:
    words = (("filesystems", "home"),)
    spec = JobSpec(dialect="slurm", name="a", account="kept", licenses=(("matlab", 1),), words=words)
    found = [(gap.kind, gap.name, gap.fate, gap.needle) for gap in site_gaps(spec, SiteConfig())]
    assert found == [
        ("resource", "filesystems=*", Fate.IGNORED, "filesystems"),
        ("license", "matlab", Fate.REFUSED, "matlab"),
    ]


def test_licences_with_their_number_and_images() -> None:
    site = SiteConfig(queues=(QueueConfig(name="default", volcano_queue="default", is_default=True),))
    spec = JobSpec(dialect="slurm", name="a", licenses=(("ddt", 56),))
    (gap,) = site_gaps(spec, site)
    assert (gap.kind, gap.name, gap.amount) == ("license", "ddt", 56)
    spec = JobSpec(dialect="slurm", name="a", image="example.org:5000/a/b:latest")
    for gap in site_gaps(spec, site):
        assert gap[:3] == ("image", "example.org:5000/a/b:latest", Fate.REFUSED)
        assert gap.needle == "example.org:5000/a/b"
    unknown = replace(spec, queue="other")
    assert [gap[:2] for gap in site_gaps(unknown, site)] == [("image", spec.image), ("queue", "other")]


def test_a_site_may_refuse_what_it_would_ignore() -> None:
    gaps = [Gap("option", "-O", Fate.IGNORED), Gap("module", "gcc", None)]
    assert list(unsupported_refused(gaps, SiteConfig())) == gaps
    found = unsupported_refused(gaps, SiteConfig(unsupported=Unsupported.REFUSE))
    assert [gap.fate for gap in found] == [Fate.REFUSED, None]


def test_modules() -> None:
    script = b"""\
module load gcc/12 openmpi  # and no more
  ml -q load netcdf/4.9 && echo
module purge; module list
module load $COMPILER "quoted"
echo module load no
"""
    assert modules_of(script) == ["gcc/12", "openmpi", "netcdf/4.9"]
    site = SiteConfig(modules=(SiteModule(name="gcc/*"), SiteModule(name="openmpi/5.0")))
    assert list(module_gaps(script, site)) == [Gap("module", "netcdf/4.9", None)]
