"""Whose state directory the engine takes, and what it makes of it."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from hpcbatch.engine.daemon import EngineError, EngineOptions, prepare, read_options

NOBODY = 65534
is_root = pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_every_directory_that_is_made_is_private(tmp_path: Path) -> None:
    state = tmp_path / "a" / "b" / "state"
    before = mode(tmp_path)
    mask = os.umask(0)
    try:
        prepare(state, EngineOptions(cpus=7))
    finally:
        os.umask(mask)
    assert [mode(path) for path in (state, state.parent, state.parent.parent)] == [0o700] * 3
    assert mode(tmp_path) == before
    assert read_options(state) == EngineOptions(cpus=7)


def test_an_own_directory_is_closed_to_others(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir()
    state.chmod(0o777)
    prepare(state, EngineOptions())
    assert mode(state) == 0o700
    prepare(state, EngineOptions())  # with what the engine has put there


def linked(state: Path) -> None:
    other = state.with_name("other")
    other.mkdir()
    state.symlink_to(other)


def planted(state: Path) -> None:
    state.mkdir()
    (state / "engine.log").symlink_to(state.with_name("victim"))


def of_somebody_else(state: Path) -> None:
    state.mkdir()
    os.chown(state, NOBODY, NOBODY)


def with_their_file(state: Path) -> None:
    state.mkdir()
    (state / "store.db").touch()
    os.chown(state / "store.db", NOBODY, NOBODY)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (linked, "it is a symbolic link; name the directory itself"),
        (planted, "engine.log in it is a symbolic link"),
        pytest.param(of_somebody_else, "it belongs to user nobody", marks=is_root),
        pytest.param(with_their_file, "store.db in it belongs to user nobody", marks=is_root),
        (Path.touch, "Not a directory"),
    ],
)
def test_refused(tmp_path: Path, make: Callable[[Path], None], why: str) -> None:
    state = tmp_path / "state"
    make(state)
    before = sorted(path.name for path in tmp_path.rglob("*"))
    with pytest.raises(EngineError) as caught:
        prepare(state, EngineOptions())
    assert str(caught.value) == f"state directory {state} cannot be used: {why}"
    assert sorted(path.name for path in tmp_path.rglob("*")) == before
