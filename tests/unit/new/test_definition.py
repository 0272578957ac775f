from __future__ import annotations

import pytest

from hpcbatch.errors import HpcBatchError
from hpcbatch.new.definition import MissingFileError, read_definition
from hpcbatch.new.parameters import Parameter


def reader(**files: str):  # type: ignore[no-untyped-def]
    def read(file: str) -> tuple[str, str]:
        name = file.removesuffix(".yaml")
        if name not in files:
            raise MissingFileError(f"{file} is missing")
        return f"/site/{file}", files[name]

    return read


def test_a_definition() -> None:
    text = """
description: Something
inherit: base
parameters:
- {name: nodes, type: count, minimum: 1, unit: nodes, required: true, help: how many}
- {name: colour, type: choice, choices: [red, green], default: red, help: which}
- {name: launcher, type: words, default: mpirun -v, help: which}
- {name: quick, type: flag, help: which}
"""
    base = """
parameters:
- {name: nodes, type: text, help: other}
- {name: walltime, type: duration, default: 1h, help: limit}
- {name: module, type: texts, help: "some"}
"""
    definition = read_definition("t", reader(t=text, base=base))
    assert definition.description == "Something"
    assert definition.parameters == (
        Parameter(name="nodes", kind="count", minimum=1, unit="nodes", is_required=True, help="how many"),
        Parameter(name="colour", kind="choice", choices=("red", "green"), default="red", help="which"),
        Parameter(name="launcher", kind="words", default=("mpirun", "-v"), help="which"),
        Parameter(name="quick", kind="flag", default=False, help="which"),
        Parameter(name="walltime", kind="duration", default=3600, help="limit"),
        Parameter(name="module", kind="texts", default=(), help="some"),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("parameters:\n- {name: n, type: number, help: h}", "/site/t.yaml:2:19: parameters[0].type: expected one of c"),
        ("parameters:\n- {name: n, type: text}", "/site/t.yaml:2:3: parameters[0].help: missing"),
        ("parameters:\n- {type: text, help: h}", "/site/t.yaml:2:3: parameters[0].name: missing"),
        ("parameters:\n- {name: N_x, type: text, help: h}", "parameters[0].name: expected lower-case letters"),
        ("parameters:\n- {name: force, type: text, help: h}", "parameters[0].name: force is an option of"),
        ("parameters:\n- {name: n, type: count, default: x, help: h}", "parameters[0].default: expected a whole"),
        ("parameters:\n- {name: n, type: flag, default: 1, help: h}", "parameters[0].default: expected true or false"),
        ("parameters:\n- {name: n, type: choice, help: h}", "parameters[0].choices: expected with the type choice"),
        ("parameters:\n- {name: n, type: text, minimum: 1, help: h}", "parameters[0].minimum: expected with the"),
        ("parameters:\n- {name: n, type: text, required: true, default: x, help: h}", "[0].default: expected none"),
        ("parameters:\n- {name: n, type: text, help: h, defualt: 1}", "defualt: unknown key; did you mean default?"),
        ("parameters:\n- &n {name: n, type: text, help: h}\n- *n", ":2:13: parameters[1].name: n is there twice"),
        ("parameters:\n- {name: a, type: command, help: h}\n- {name: b, type: command, help: h}", "found a, b"),
        ("inherit: t", "inherit: expected the name of another definition, which does not inherit this one"),
        ("inherit: ../x", "inherit: expected the name"),
        ("inherit: gone", "gone.yaml is missing"),
        ("parametres: []", "/site/t.yaml:1:1: parametres: unknown key; did you mean parameters?"),
        ("a: [", "/site/t.yaml:1:5: not YAML"),
    ],
)
def test_faults(text: str, message: str) -> None:
    with pytest.raises(HpcBatchError) as error:
        read_definition("t", reader(t=text))
    assert message in str(error.value)
