"""The file that `hpcbatch user` writes."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hpcbatch.admin import user_kubeconfig
from hpcbatch.errors import HpcBatchError


def write(path: Path, content: str) -> None:
    user_kubeconfig.check_target(path, "hpcbatch:alice")
    user_kubeconfig.write(path, content, uid=os.getuid(), gid=os.getgid())


def test_the_file_is_the_writers_own_and_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / ".kube" / "config"
    for content in ('{"users": [{"name": "hpcbatch:alice"}]}', "newer"):
        write(path, content)
        assert path.read_text() == content
        assert path.stat().st_mode & 0o7777 == 0o600
        assert path.parent.stat().st_mode & 0o7777 == 0o700
        assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    "make",
    [
        lambda path: path.write_text("hello"),
        lambda path: path.write_text('{"users": [{"name": "hpcbatch:bob"}]}'),
        lambda path: path.write_text("apiVersion: v1\nusers: [{name: kubernetes-admin}]\n"),
        lambda path: path.symlink_to("elsewhere"),
        lambda path: path.mkdir(),
    ],
    ids=["text", "another user's", "an admin's", "a link", "a directory"],
)
def test_no_other_file_is_overwritten(tmp_path: Path, make: Callable[[Path], Any]) -> None:
    make(tmp_path / "config")
    with pytest.raises(HpcBatchError, match="exists and is not a kubeconfig that was made for hpcbatch:alice"):
        write(tmp_path / "config", "x")


def test_there_must_be_a_directory(tmp_path: Path) -> None:
    with pytest.raises(HpcBatchError, match="there is no directory"):
        write(tmp_path / "a" / "b" / "config", "x")


@pytest.mark.skipif(os.getuid() != 0, reason="only root writes for others")
def test_root_writes_in_a_users_directory_as_the_user(tmp_path: Path) -> None:
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    for folder in (home, elsewhere):
        folder.mkdir()
    for parent in [tmp_path, *tmp_path.parents]:
        if not parent.stat().st_mode & stat.S_IXOTH:
            parent.chmod(parent.stat().st_mode | stat.S_IXOTH)  # pytest's directories are root's alone
    os.chown(home, 1234, 1234)
    user_kubeconfig.write(home / ".kube" / "config", "x", uid=1234, gid=1234)
    assert ((home / ".kube" / "config").stat().st_uid, (home / ".kube").stat().st_uid) == (1234, 1234)
    user_kubeconfig.write(elsewhere / "config", "x", uid=1234, gid=1234)
    assert (elsewhere / "config").stat().st_uid == 0
    assert os.geteuid() == 0
