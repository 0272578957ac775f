from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.errors import HpcBatchError
from hpcbatch.model.image import MAX_LENGTH, parse_image

DIGEST = "@sha256:" + "0a" * 32


@pytest.mark.parametrize(
    ("text", "image"),
    [
        ("ubuntu", "ubuntu"),
        ("ubuntu:22.04", "ubuntu:22.04"),
        ("localhost/mpi:1", "localhost/mpi:1"),
        ("reg.site:5000/a/b__c/d-e.f:T_1" + DIGEST, "reg.site:5000/a/b__c/d-e.f:T_1" + DIGEST),
        ("ubuntu" + DIGEST, "ubuntu" + DIGEST),
        ("[::1]:5000/a", "[::1]:5000/a"),
        ("docker://ubuntu", "ubuntu"),
        ("nvcr.io#nvidia/pytorch:23.04-py3", "nvcr.io/nvidia/pytorch:23.04-py3"),
        ("docker://nvcr.io#nvidia/pytorch", "nvcr.io/nvidia/pytorch"),
        ("nvcr.io#nvidia/pytorch" + DIGEST, "nvcr.io/nvidia/pytorch" + DIGEST),
    ],
)
def test_images(text: str, image: str) -> None:
    assert parse_image(text) == image


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "a b",
        "/data/x.sqsh",
        "./x.sqsh",
        "dockerd://a",
        "https://a/b",
        "Upper",
        "a:",
        "a:t:u",
        "a//b",
        "a/",
        "a#b#c",
        "#a",
        "a@b",
        "me@nvcr.io#a",
        "$oauthtoken@nvcr.io#a/b",
        "a@sha256:12",
        "a\n",
        "a:é",
        "-a",
        "a;b",
        "x" * (MAX_LENGTH + 1),
    ],
)
def test_what_is_no_image(text: str) -> None:
    with pytest.raises(HpcBatchError):
        parse_image(text)


@given(st.text(alphabet="aA0./:@#-_ \n", max_size=40))
def test_any_text_is_an_image_or_an_error(text: str) -> None:
    try:
        image = parse_image(text)
    except HpcBatchError:
        return
    assert parse_image(image) == image
    assert not set(image) & set(" \n#")
