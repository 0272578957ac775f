from __future__ import annotations

from pathlib import Path

import pytest

from hpcbatch.errors import HpcBatchError, UsageError
from hpcbatch.new.catalog import find


def test_the_first_directory_that_has_a_file_gives_it(tmp_path: Path) -> None:
    given, named, home, config, site = (tmp_path / name for name in ("given", "named", "home", "config", "site"))
    own = home / ".config/hpcbatch/templates"
    for place in (given, named, own, config / "hpcbatch/templates", site):
        place.mkdir(parents=True)
        (place / "mpi.yaml").write_text(f"description: {place}")
    environ = {"HPCBATCH_TEMPLATES": str(named)}

    def described(*, option: Path | None = None, env: dict[str, str]) -> str:
        return find(option, env, str(home), site=site).definition("mpi").description

    assert described(option=given, env=environ) == str(given)
    assert described(env=environ) == str(named)
    assert described(env={}) == str(own)
    assert described(env={"XDG_CONFIG_HOME": str(config)}) == str(config / "hpcbatch/templates")
    (own / "mpi.yaml").unlink()
    assert described(env={}) == str(site)
    (site / "mpi.yaml").unlink()
    assert described(env={}) == "An MPI program on all ranks of the job"


def test_names(tmp_path: Path) -> None:
    for name in ("mine.sh.j2", "_part.sh.j2", "other.txt"):
        (tmp_path / name).write_text("")
    catalog = find(tmp_path, {}, "/nowhere")
    assert catalog.names() == ["deepspeed", "horovod", "mine", "mpi", "ray", "tf", "torch", "wrf"]
    with pytest.raises(HpcBatchError, match=rf"^mine.yaml is missing: expected it in {tmp_path} or "):
        catalog.definition("mine")
    with pytest.raises(
        UsageError, match=r"^there is no template other: expected one of deepspeed, horovod, mine, mpi, ray, "
    ):
        catalog.definition("other")


@pytest.mark.parametrize(
    ("given", "environ", "message"),
    [
        (Path("/nowhere"), {}, "--templates: expected a directory with templates, found '/nowhere'"),
        (None, {"HPCBATCH_TEMPLATES": "/x"}, "HPCBATCH_TEMPLATES: expected a directory with templates, found '/x'"),
    ],
)
def test_a_directory_that_is_named_must_be_there(given: Path | None, environ: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError) as error:
        find(given, environ, "/home/me")
    assert str(error.value) == message


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "mpi.yaml").write_bytes(b"\xff")
    with pytest.raises(HpcBatchError, match=r"mpi\.yaml: it is not UTF-8 text$"):
        find(tmp_path, {}, "/nowhere").definition("mpi")
