"""The site file's `modules`."""

from __future__ import annotations

import re

import pytest

from hpcbatch.model.site import SiteModule
from hpcbatch.site.file import SiteFileError, read_config

HEAD = "apiVersion: hpcbatch.io/v1alpha1\nkind: SiteConfiguration\nimage: i:1\n"
BAD = [
    ("[{image: a}]", "modules[0].name: missing"),
    ("[{name: 'a b'}]", "modules[0].name: expected a module such as netcdf/4.9.2 or intel/*, found 'a b'"),
    ("[{name: a, image: '-'}]", "modules[0].image: expected an image such as registry.site:5000/mpi/openmpi:4.1"),
    ("[{name: a}, {name: a}]", "modules[1].name: a second module 'a'"),
    ("[{name: a, enviroment: {}}]", "modules[0].enviroment: unknown key; did you mean environment?"),
    ("[{name: a, environment: {1x: y}}]", "modules[0].environment: '1x' cannot be a variable: expected letters"),
    ('[{name: a, environment: {X: "a\\nb"}}]', "modules[0].environment: X: expected a text of one line, found 'a\\nb'"),
    ('[{name: a, environment: {X: "a\\tb"}}]', "modules[0].environment: X: expected a text of one line, found 'a\\tb'"),
    ("[{name: a, environment: {X: [a]}}]", "modules[0].environment: X: expected a text"),
    ("[{name: a, prependPath: {PATH: /a}}]", "modules[0].prependPath: PATH: expected a list, found '/a'"),
    ("[{name: a, prependPath: {PATH: [a]}}]", "modules[0].prependPath: PATH: expected an absolute path without ':'"),
    ("[{name: a, prependPath: {PATH: ['/a:/b']}}]", "modules[0].prependPath: PATH: expected an absolute path without"),
    ("{a: b}", "modules: expected a list, found keys and values"),
]


def test_modules() -> None:
    variables = "environment: {X: '1', EMPTY: ''}, prependPath: {PATH: [/a, /b c]}"
    text = f"[{{name: a/1, {variables}}}, {{name: b, image: 'r/b:1'}}, {{name: c*}}]"
    assert read_config(f"{HEAD}modules: {text}\n").modules == (
        SiteModule(name="a/1", environment={"X": "1", "EMPTY": ""}, prepend_path={"PATH": ("/a", "/b c")}),
        SiteModule(name="b", image="r/b:1"),
        SiteModule(name="c*"),
    )
    assert read_config(HEAD).modules == ()


@pytest.mark.parametrize(("text", "expected"), BAD)
def test_one_line_says_what_is_wrong(text: str, expected: str) -> None:
    with pytest.raises(SiteFileError) as raised:
        read_config(f"{HEAD}modules: {text}\n")
    (problem,) = raised.value.problems
    assert re.match(rf"site\.yaml:4:\d+: {re.escape(expected)}", str(problem))
