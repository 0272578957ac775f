"""What PBS's custom resources are at a site, which operators may make, and what nodes and the server show of them."""

from __future__ import annotations

import pytest

from hpcbatch.dialects.pbs import errors
from hpcbatch.dialects.pbs.custom_resources import (
    Known,
    attributes_of,
    built_in,
    has_resource,
    node_amounts,
    node_labels,
    server_amounts,
    with_amounts,
    with_resource,
)
from hpcbatch.dialects.pbs.qmgr_change import QmgrError
from hpcbatch.dialects.pbs.qmgr_parse import Setting, Verb, parse_request
from hpcbatch.model.accelerator import Accelerator
from hpcbatch.model.custom_resource import (
    CustomResource,
    ResourceType,
    resource_from_json,
    resource_to_json,
    resources_of_site,
)
from hpcbatch.model.row import NodeRow
from hpcbatch.model.server_settings import ServerSettings
from hpcbatch.model.site import SiteConfig, Translation, Word
from hpcbatch.site.server_settings import with_settings

GPU = CustomResource(name="ngpus", type=ResourceType.LONG, flags="hn", extended="nvidia.com/gpu")
LICENSE = CustomResource(name="matlab", type=ResourceType.LONG, flags="q", amount=5)
VIS = CustomResource(name="vis", type=ResourceType.BOOLEAN, flags="h")
RACK = CustomResource(name="rack", flags="h")
NOTE = CustomResource(name="note")
KNOWN = Known((GPU,), (LICENSE, VIS, RACK, NOTE))


def made(request: str, known: Known = KNOWN) -> tuple[CustomResource, ...]:
    read = parse_request(request)
    assert read is not None and read.names is not None
    return with_resource(known, read.names[0].object, read.settings, read.verb)


def test_those_of_a_site() -> None:
    site = SiteConfig(
        resources={"ngpus": "nvidia.com/gpu", "gpu": "nvidia.com/gpu", "gpu:a100": "nvidia.com/gpu"},
        accelerators=(Accelerator(name="a100", resource="nvidia.com/gpu"),),
        node_properties={"fast": {"disk": "nvme"}},
        licenses={"matlab": 5, "a.b": 1},
        translations=(
            Translation(word=Word.RESOURCE, pattern="rack", labels={"rack": "{value}"}),
            Translation(word=Word.RESOURCE, pattern="big", labels={"mem": "big"}),
            Translation(word=Word.RESOURCE, pattern="gpus", renamed="ngpus"),
            Translation(word=Word.RESOURCE, pattern="fs", ignored="all are mounted"),
            Translation(word=Word.RESOURCE, pattern="old*", ignored="gone"),
            Translation(word=Word.RESOURCE, pattern="tape", refused="no tapes"),
            Translation(word=Word.QOS, pattern="high", ignored="no"),
        ),
    )
    assert [(each.name, str(each.type), each.flags) for each in resources_of_site(site)] == [
        ("ngpus", "long", "hn"),
        ("gpu_model", "string", "h"),
        ("fast", "boolean", "h"),
        ("matlab", "long", "q"),
        ("rack", "string", "h"),
        ("big", "boolean", "h"),
        ("gpus", "long", "hn"),
        ("fs", "string", ""),
    ]
    assert all(resource_from_json(resource_to_json(each)) == each for each in resources_of_site(site))


def test_shown() -> None:
    assert attributes_of(KNOWN, "")["ngpus"] == [("type", "long"), ("flag", "hn")]
    assert attributes_of(KNOWN, "note") == {"note": [("type", "string")]}
    assert attributes_of(KNOWN, "mem") == {"mem": [("type", "size"), ("flag", "hqnm")]}
    assert len(built_in()) == 49
    with pytest.raises(QmgrError, match="Unknown resource"):
        attributes_of(KNOWN, "nosuch")


@pytest.mark.parametrize(
    ("request_text", "expected"),
    [
        ("create resource lic type=long,flag=q", CustomResource(name="lic", type=ResourceType.LONG, flags="q")),
        ("create resource a-b", CustomResource(name="a-b")),
        (
            "create resource hot type = boolean, flag = hm",
            CustomResource(name="hot", type=ResourceType.BOOLEAN, flags="hm"),
        ),
        ("set resource note flag=h", CustomResource(name="note", flags="h")),
        ("unset resource rack flag", CustomResource(name="rack")),
    ],
    ids=str,
)
def test_made(request_text: str, expected: CustomResource) -> None:
    assert expected in made(request_text)


def test_deleted() -> None:
    assert made("delete resource vis") == (LICENSE, RACK, NOTE)


ERRONEOUS = "Erroneous to have "
BAD = "Illegal attribute or resource value"


@pytest.mark.parametrize(
    ("request_text", "number", "text"),
    [
        ("create resource mem", errors.PBSE_DUPLIST, "Duplicate entry in list "),
        ("create resource vis", errors.PBSE_DUPLIST, "Duplicate entry in list "),
        ("create resource a.b", errors.PBSE_BADATVAL, BAD),
        ("create resource x type=text", errors.PBSE_BADATVAL, BAD),
        ("create resource x flag=hz", errors.PBSE_BADATVAL, BAD),
        ("create resource x colour=red", errors.PBSE_BADATVAL, BAD),
        (
            "create resource x type=long,flag=n",
            errors.PBSE_BADATVAL,
            ERRONEOUS + "flag 'n' without 'h' on resource \"x\".",
        ),
        (
            "create resource x type=long,flag=hnf",
            errors.PBSE_BADATVAL,
            ERRONEOUS + "flag 'n' and 'f' on resource \"x\".",
        ),
        ("create resource x flag=ir", errors.PBSE_BADATVAL, ERRONEOUS + "flag 'i' and 'r' on resource \"x\"."),
        (
            "create resource x type=string,flag=q",
            errors.PBSE_BADATVAL,
            ERRONEOUS + "flag 'n', 'f', or 'q' on resource \"x\" which is type string, string_array, or boolean.",
        ),
        ("create resource x type=long,flag=hn", errors.PBSE_BADATVAL, BAD),
        ("create resource x type=string_array,flag=h", errors.PBSE_BADATVAL, BAD),
        ("create resource x flag=i", errors.PBSE_BADATVAL, BAD),
        ("create resource x type=size,flag=q", errors.PBSE_BADATVAL, BAD),
        ("delete resource mem", errors.PBSE_IVALREQ, "Invalid request"),
        ("set resource mem type=long", errors.PBSE_IVALREQ, "Invalid request"),
        ("unset resource vis type", errors.PBSE_IVALREQ, "Invalid request"),
        ("delete resource nosuch", errors.PBSE_UNKRESC, "Unknown resource"),
        ("delete resource ngpus", errors.PBSE_PERM, "Unauthorized Request "),
    ],
    ids=str,
)
def test_refused(request_text: str, number: int, text: str) -> None:
    with pytest.raises(QmgrError) as caught:
        made(request_text)
    assert (caught.value.number, caught.value.text) == (number, text)


def test_amounts_of_the_server() -> None:
    setting = Setting("resources_available", "matlab", "=", "7")
    assert with_amounts(KNOWN, [setting], Verb.SET)[0].amount == 7
    assert with_amounts(KNOWN, [setting], Verb.UNSET)[0].amount is None
    assert server_amounts(KNOWN, {"matlab": 2}) == [
        ("resources_available", {"matlab": "5"}),
        ("resources_assigned", {"matlab": "2"}),
    ]
    for name, value, number in (
        ("nosuch", "1", errors.PBSE_UNKRESC),
        ("ngpus", "1", errors.PBSE_PERM),
        ("mem", "1gb", errors.PBSE_PERM),
        ("matlab", "many", errors.PBSE_BADATVAL),
        ("matlab", "-1", errors.PBSE_BADATVAL),
    ):
        with pytest.raises(QmgrError) as caught:
            with_amounts(KNOWN, [Setting("resources_available", name, "=", value)], Verb.SET)
        assert caught.value.number == number


def test_what_nodes_have() -> None:
    def labels(name: str, value: str, verb: Verb = Verb.SET) -> dict[str, str | None]:
        return node_labels(KNOWN, [Setting("resources_available", name, "=", value)], verb)

    assert labels("vis", "t") == {"resources.hpcbatch.io/vis": "True"}
    assert labels("rack", "r12") == {"resources.hpcbatch.io/rack": "r12"}
    assert labels("rack", "", Verb.UNSET) == {"resources.hpcbatch.io/rack": None}
    for name, value, number in (
        ("vis", "maybe", errors.PBSE_BADATVAL),
        ("rack", "a,b", errors.PBSE_BADATVAL),
        ("matlab", "1", errors.PBSE_BADATVAL),
        ("ngpus", "1", errors.PBSE_PERM),
        ("nosuch", "1", errors.PBSE_UNKRESC),
    ):
        with pytest.raises(QmgrError) as caught:
            labels(name, value)
        assert caught.value.number == number
    node = NodeRow(
        name="n1",
        ready=True,
        schedulable=True,
        cpus=4,
        mem_bytes=0,
        cpus_used=0,
        mem_used_bytes=0,
        labels=frozenset({("resources.hpcbatch.io/rack", "r12")}),
        extended=frozenset({("nvidia.com/gpu", 4)}),
        extended_used=frozenset({("nvidia.com/gpu", 1)}),
    )
    assert node_amounts(KNOWN.all, node) == {"ngpus": ("4", "1"), "rack": ("r12", "")}
    seen_by_user = node._replace(extended_used=frozenset({("gpu:a100", 2), ("fpga", 1)}))
    assert node_amounts(KNOWN.all, seen_by_user)["ngpus"] == ("4", "2")


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"Resource_List.rack": "r1"}, True),
        ({"Resource_List.select": "2:ncpus=1+1:rack=r1"}, True),
        ({"Resource_List.select": "1:bigrack=r1"}, False),
        ({}, False),
    ],
)
def test_who_asks_for_it(attributes: dict[str, str], expected: bool) -> None:
    assert has_resource(attributes, "rack") is expected


def test_in_force() -> None:
    without = CustomResource(name="idl", type=ResourceType.LONG, flags="q")
    site = with_settings(SiteConfig(licenses={"matlab": 9}), ServerSettings(resources=(*KNOWN.made, without)))
    assert site.licenses == {"matlab": 9}  # the file's
    assert site.node_properties["vis"] == {"resources.hpcbatch.io/vis": "True"}
    assert site.labels_of(Word.RESOURCE, "rack", "r12") == {"resources.hpcbatch.io/rack": "r12"}
    found = {each.pattern: each for each in site.translations}
    assert "set server resources_available.idl" in found["idl"].refused
    assert found["note"].ignored
    of_file = [each.name for each in resources_of_site(site)]
    assert of_file == ["ngpus", "matlab"]  # and none that operators made
