from __future__ import annotations

import subprocess

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcbatch.errors import HpcBatchError
from hpcbatch.volcano.quoting import check_text, shellquote, yaml_flow
from tests.thoroughness import examples

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
KEYS = TEXT.filter(lambda text: len(text) < 80)
LOADERS = [yaml.SafeLoader, *([yaml.CSafeLoader] if hasattr(yaml, "CSafeLoader") else [])]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize("loader", LOADERS)
@given(value=JSON)
def test_yaml_gives_back_the_value(loader: type[yaml.SafeLoader], value: object) -> None:
    assert yaml.load(f"a: {yaml_flow(value)}\n", Loader=loader) == {"a": value}


@pytest.mark.parametrize(
    "value", ["😀", "\\ud83d\\ude00", "\\\\ud83d\\ude00", "\x7f\x85\u2028\ufeff\ufffe", "{{ x }}", "yes", "1e3", "- a"]
)
def test_yaml_of_awkward_text(value: str) -> None:
    assert yaml.safe_load(yaml_flow({value: value})) == {value: value}
    assert yaml_flow(value).isascii()


@settings(max_examples=examples(30), deadline=None)
@given(st.lists(TEXT.filter(lambda text: "\0" not in text), max_size=8))
def test_shell_gives_back_the_words(words: list[str]) -> None:
    script = "printf '%s\\0' " + " ".join(map(shellquote, words)) if words else "true"
    got = subprocess.run(["sh", "-c", script], capture_output=True, check=True).stdout
    assert got == b"".join(word.encode() + b"\0" for word in words)


def test_what_cannot_be_quoted() -> None:
    with pytest.raises(HpcBatchError, match="is too long for a key"):
        yaml_flow({"a": [{"k" * 1100: 1}]})
    with pytest.raises(HpcBatchError, match="holds a NUL byte"):
        shellquote("a\0b")
    with pytest.raises(HpcBatchError, match="is not UTF-8 text"):
        check_text("caf\udce9")
