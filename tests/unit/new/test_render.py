"""All templates that come with hpcbatch, with plain values and with the worst ones."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hpcbatch.errors import HpcBatchError
from hpcbatch.model.dialect import Dialect
from hpcbatch.new.catalog import Catalog, find
from hpcbatch.new.definition import MissingFileError
from hpcbatch.new.parameters import Given, Parameter, read_values
from hpcbatch.new.render import render
from tests.thoroughness import examples
from tests.unit.new.test_quoting import PRINTABLE

BUILTIN = Catalog(find(None, {}, "/nowhere", site=Path("/nowhere")).directories[-1:])
NAMES = BUILTIN.names()
HEADS = {"pbs": "#PBS -N ", "slurm": "#SBATCH --job-name=", "lsf": "#BSUB -J "}
WORST = 'a\'; touch x; #PBS -q evil "$(id)" `id` \\'


def given_values(parameters: tuple[Parameter, ...], text: str) -> dict[str, Given]:
    """A value for each parameter, `text` wherever a text fits."""
    fitting: dict[str, Given] = {
        "count": "2000",
        "duration": "1h",
        "memory": "1G",
        "flag": True,
        "words": "run 'it now'",
        "texts": (text, text),
        "command": (text, text),
        "text": text,
        "path": text,
    }
    return {p.name: p.choices[0] if p.kind == "choice" else fitting[p.kind] for p in parameters}


def script(name: str, dialect: str, text: str) -> str:
    parameters = BUILTIN.definition(name).parameters
    return render(name, read_values(name, parameters, given_values(parameters, text)), dialect, BUILTIN.read)


def directives(text: str) -> int:
    return len(re.findall(r"^\s*#(?:PBS|SBATCH|BSUB)\b", text, re.MULTILINE))


def test_the_templates_of_the_issue_are_there() -> None:
    assert {"wrf", "mpi", "torch", "tf", "deepspeed", "horovod", "ray"} <= set(NAMES)


@pytest.mark.parametrize("dialect", HEADS)
@pytest.mark.parametrize("name", NAMES)
def test_only_what_is_required(name: str, dialect: str) -> None:
    parameters = BUILTIN.definition(name).parameters
    required = {p.name: value for p in parameters if p.is_required for value in [given_values((p,), "x")[p.name]]}
    made = render(name, read_values(name, parameters, required), dialect, BUILTIN.read)
    assert made.startswith(f"#!/bin/bash\n{HEADS[dialect]}")
    assert "None" not in made
    assert "\n\n\n" not in made
    assert made.endswith("\n")
    assert all(len(line) <= 120 for line in made.splitlines())
    subprocess.run(["bash", "-n"], input=made, text=True, check=True)


@pytest.mark.parametrize("dialect", HEADS)
@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=examples(8), deadline=None)
@given(text=PRINTABLE | st.just(WORST))
def test_no_value_adds_a_line_or_a_directive(name: str, dialect: str, text: str) -> None:
    assume(dialect != "lsf" or not {"'", '"'} <= set(text))
    plain, made = script(name, dialect, "x"), script(name, dialect, text)
    may_differ = 1 if name == "wrf" else 0  # a line for the namelist's directory, one for its name
    assert abs(len(made.splitlines()) - len(plain.splitlines())) <= may_differ
    assert directives(made) == directives(plain)
    done = subprocess.run(["bash", "-n"], input=made.encode(), capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_text_that_no_line_of_bsub_can_have() -> None:
    with pytest.raises(HpcBatchError, match="cannot stand in a #BSUB line: it has both kinds of quotes"):
        script("mpi", "lsf", WORST)


@settings(max_examples=examples(15), deadline=None)
@given(words=st.lists(PRINTABLE, min_size=1, max_size=5))
def test_a_program_gets_its_arguments_byte_for_byte(words: list[str]) -> None:
    values: dict[str, Given] = {"nodes": "1", "program": tuple(words), "launcher": r"printf '%s\0'"}
    made = render("mpi", read_values("mpi", BUILTIN.definition("mpi").parameters, values), Dialect.PBS, BUILTIN.read)
    env = {"PBS_O_WORKDIR": "/", "LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(["bash", "-c", made], capture_output=True, check=True, env=env)
    assert done.stdout.decode() == "".join(f"{word}\0" for word in words)


# A site's own


def site(**files: str):  # type: ignore[no-untyped-def]
    def read(file: str) -> tuple[str, str]:
        stem = file.removesuffix(".sh.j2")
        if stem not in files:
            raise MissingFileError(f"{file} is missing")
        return f"/site/{file}", files[stem]

    return read


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\n{{ nodez }}\n", "template /site/t.sh.j2:2: 'nodez' is undefined"),
        ("a\n\n{% if nodez > 1 %}{% endif %}\n", "template /site/t.sh.j2:3: 'nodez' is undefined"),
        ("a\n{{ nodes.x }}\n", "template /site/t.sh.j2:2: 'int object' has no attribute 'x'"),
        ("a\n{{ nodes / 0 }}\n", "template /site/t.sh.j2:2: ZeroDivisionError: division by zero"),
        ("a\n{{ none | shellquote }}\n", "template /site/t.sh.j2:2: shellquote: expected a text, a number or"),
        ('a\n{{ "x\\ny" | directive }}\n', "template /site/t.sh.j2:2: 'x\\ny' cannot stand in a script"),
        ("a\n{% if %}\n", "template /site/t.sh.j2:2: Expected an expression"),
        ("a\n{{ nodes | quote }}\n", "template /site/t.sh.j2:2: No filter named 'quote'."),
        ('a\n{% include "gone.sh.j2" %}\n', "template /site/t.sh.j2:2: there is no gone.sh.j2 to include"),
        ('a\n{% include "part.sh.j2" %}\n', "template /site/part.sh.j2:3: 'lost' is undefined"),
        ("{{ ''.__class__.__mro__ }}", "template /site/t.sh.j2:1: access to attribute '__class__'"),
    ],
)
def test_faults_of_a_template(text: str, message: str) -> None:
    with pytest.raises(HpcBatchError) as error:
        render("t", {"nodes": 2}, Dialect.PBS, site(t=text, part="\n\n{{ lost }}"))
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


def test_the_length_of_a_shell_variable_is_no_comment() -> None:
    made = render("t", {"nodes": 2}, Dialect.PBS, site(t="${#a} {{ nodes }} {## none ##}{{ template }} {{ dialect }}"))
    assert made == "${#a} 2 t pbs\n"
