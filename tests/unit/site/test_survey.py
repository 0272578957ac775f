"""Counting what is missing for scripts, and the site file that settles it."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.model.outcome import Fate
from hpcbatch.model.site import SiteConfig, Word
from hpcbatch.site.file import read_config
from hpcbatch.site.survey import IMAGE, MODULE, Gap, Missing, Survey, as_json, line_of
from hpcbatch.site.survey_file import remedy, site_yaml

SCRIPT = b"#!/bin/sh\n#PBS -q long\necho long\n#PBS -l ncpus=2\nmodule load gcc\n"


def test_a_script_counts_once_by_the_worst_that_becomes_of_it() -> None:
    survey = Survey()
    survey.add("a", "pbs", SCRIPT, [])
    survey.add("b", "pbs", SCRIPT, [Gap("module", "gcc", None)])
    survey.add("c", "pbs", SCRIPT, [Gap("option", "-l nice", Fate.IGNORED)])
    survey.add("d", "slurm", SCRIPT, [Gap("option", "-O", Fate.IGNORED), Gap("queue", "long", Fate.REFUSED)])
    total = survey.total()
    assert (total.scripts, total.as_they_are, total.ignored, total.refused) == (4, 2, 1, 1)
    assert (survey.counts["pbs"].scripts, survey.counts["slurm"].refused) == (3, 1)


def test_what_is_missing_is_ranked_with_an_example() -> None:
    survey = Survey()
    queue, feature = Gap("queue", "long", Fate.REFUSED, "none"), Gap("feature", "knl", Fate.REFUSED)
    survey.add("a", "pbs", SCRIPT, [Gap(MODULE, "gcc", None), queue, queue, Gap("option", "-O", Fate.IGNORED, line=9)])
    survey.add("b", "pbs", SCRIPT, [queue, feature])
    found = [(each.kind, each.fate, each.scripts, each.refused, each.alone, each.example) for each in survey.ranked()]
    assert found == [
        ("queue", "refused", 2, 2, 1, "a:2"),
        ("feature", "refused", 1, 1, 0, "b"),
        ("option", "ignored", 1, 0, 0, "a:9"),
        ("module", "missing", 1, 0, 0, "a:5"),
    ]
    shown = as_json(survey, {("queue", "long"): "unknownQueues: workq"})
    assert (shown["scripts"], shown["missing"][0]["settled_by"]) == (2, "unknownQueues: workq")


@pytest.mark.parametrize(("needle", "line"), [("long", 2), ("ncpus=2", 4), ("gcc", 5), ("nosuch", None), ("", None)])
def test_line_of(needle: str, line: int | None) -> None:
    assert line_of(SCRIPT, needle) == line


def _missing(kind: str, name: str) -> Missing:
    return Missing(kind, name, "", "a:1", scripts=2, refused=0 if kind == MODULE else 2)


@pytest.mark.parametrize(
    ("kind", "name", "line"),
    [
        ("queue", "long", "unknownQueues: workq"),
        ("license", "matlab", "licenses: {matlab: 1}"),
        ("image", "a/b:1", 'allowedImages: ["a/b:1"]'),
        ("module", "gcc/12", 'modules: [{name: "gcc/12"}]'),
        ("feature", "knl", "translations: [{feature: knl, ignored: the nodes of this site are not told apart by it}]"),
        ("resource", "gpu:a100", 'translations: [{resource: "gpu:*", as: gpu}]'),
        ("resource", "fs=home", "translations: [{resource: fs, ignored: this site does not count it}]"),
        ("error", "Invalid --time specification", ""),
        ("option", "--cpu-freq", ""),
    ],
)
def test_what_settles_it(kind: str, name: str, line: str) -> None:
    assert remedy(_missing(kind, name), "workq") == line


def _survey(*names: tuple[str, str]) -> Survey:
    survey = Survey()
    for kind, name in names:
        survey.add("dir/a.sh", "pbs", SCRIPT, [Gap(kind, name, None if kind == MODULE else Fate.REFUSED)])
    return survey


def test_the_file_settles_all_that_it_can() -> None:
    survey = _survey(
        ("queue", "long"), ("resource", "gpu:a100"), ("feature", "knl"), ("license", "matlab"), (MODULE, "gcc")
    )
    text = site_yaml(survey, {}, "workq", "Made by a test.")
    site = read_config(text)
    assert (site.unknown_queues, site.default_queue, site.licenses) == ("workq", "workq", {"matlab": 1})
    assert site.queues[0].aliases == ("long",)
    assert [(each.word, each.pattern, each.renamed) for each in site.translations] == [
        (Word.FEATURE, "knl", ""),
        (Word.RESOURCE, "gpu:*", "gpu"),
    ]
    assert "gcc" in text


def test_what_the_present_file_says_stays() -> None:
    given = {
        "apiVersion": "hpcbatch.io/v1alpha1",
        "kind": "SiteConfiguration",
        "image": "example.org/mpi:1",
        "queues": [{"name": "workq", "default": True, "maxNodes": 3}],
        "licenses": {"abaqus": 5},
        "translations": [{"resource": "fs", "ignored": "all are mounted"}],
    }
    text = site_yaml(_survey(("license", "matlab"), ("feature", "knl")), given, "workq", "")
    site = read_config(text)
    assert (site.image, site.queues[0].max_nodes) == ("example.org/mpi:1", 3)
    assert site.licenses == {"abaqus": 5, "matlab": 1}
    assert [each.pattern for each in site.translations] == ["fs", "knl"]


def test_as_many_licences_as_the_largest_script_asks_for() -> None:
    survey = Survey()
    for count in (3, 56, 1):
        survey.add("a", "slurm", SCRIPT, [Gap("license", "ddt", Fate.REFUSED, amount=count)])
    assert remedy(survey.ranked()[0], "workq") == "licenses: {ddt: 56}"
    given = {"image": "example.org/mpi:1", "licenses": {"ddt": 5, "abaqus": 2}}
    text = site_yaml(survey, given, "workq", "")
    assert text.count("ddt: ") == 1
    assert read_config(text).licenses == {"abaqus": 2, "ddt": 56}


def test_images_are_for_an_admin_to_allow() -> None:
    text = site_yaml(_survey(("image", "a/b:1")), {}, "workq", "")
    assert "#   a/b:1 (1 script" in text
    assert read_config(text).allowed_images == ()


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["queue", "error", "option", MODULE, IMAGE, *Word]),
            st.text(min_size=1, max_size=40) | st.from_regex(r"[A-Za-z][A-Za-z0-9_:.=-]{0,30}", fullmatch=True),
        ),
        max_size=12,
    )
)
def test_whatever_is_missing_the_file_is_right(names: list[tuple[str, str]]) -> None:
    text = site_yaml(_survey(*names), {}, "workq", "Made by a test.")
    site = read_config(text)
    assert isinstance(site, SiteConfig)
    assert yaml.safe_load(text)["kind"] == "SiteConfiguration"
