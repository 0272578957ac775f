from __future__ import annotations

import pytest

from hpcbatch.errors import UsageError
from hpcbatch.new.parameters import KINDS, REPEATED, Given, Parameter, UnfitValueError, Value, read_value, read_values


def parameter(kind: str, **rest: object) -> Parameter:
    choices = ("red", "green") if kind == "choice" else ()
    return Parameter(name="some-value", kind=kind, help="h", choices=choices, **rest)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "given", "value"),
    [
        ("count", "0", 0),
        ("count", "1000000", 1000000),
        ("duration", "06:00:00", 21600),
        ("duration", "100:00:01", 360001),
        ("duration", "1-00:00:00", 86400),
        ("duration", "10:00", 600),
        ("duration", "1:30", 90),
        ("duration", "90m", 5400),
        ("duration", "12h", 43200),
        ("duration", "3d", 259200),
        ("duration", "45s", 45),
        ("memory", "4G", 4 << 30),
        ("memory", "4gb", 4 << 30),
        ("memory", "4Gi", 4 << 30),
        ("memory", "512MB", 512 << 20),
        ("text", "a 'b' ü", "a 'b' ü"),
        ("path", "/a b/c", "/a b/c"),
        ("choice", "red", "red"),
        ("flag", True, True),
        ("words", "mpiexec -n '4 5'", ("mpiexec", "-n", "4 5")),
        ("texts", ("a", "b c"), ("a", "b c")),
        ("texts", (), ()),
        ("command", ("./a.out", "", "-x"), ("./a.out", "", "-x")),
    ],
)
def test_values(kind: str, given: Given, value: Value) -> None:
    assert read_value(parameter(kind), given) == value


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        *[("count", text) for text in ("", "-1", "1.5", "x", "1000001", "99999999999", "\u0663", "1 ")],
        *[("duration", text) for text in ("", "90", "1:60", "1-02:30", "00:00:00", "0m", "6:60:00", "1-", "x", "-1h")],
        *[("memory", text) for text in ("", "4", "0G", "x", "-1G", "4Gx", "4 G")],
        *[("text", text) for text in ("", "a\nb", "a\tb", "a\0", "\x1b[1m", "a\u2028b", "\udc80", "a\rb")],
        ("path", "a\n"),
        ("choice", "blue"),
        ("flag", "yes"),
        *[("words", text) for text in ("", "  ", "'", "a\\", "'' b", "a\nb")],
        ("texts", ("a", "")),
        ("texts", ("a\n",)),
        ("texts", "a"),
        ("command", ()),
        ("command", ("",)),
        ("command", ("a", "b\n#PBS")),
        ("command", ("a\nb",)),
    ],
)
def test_what_does_not_fit(kind: str, given: Given) -> None:
    with pytest.raises(UnfitValueError) as error:
        read_value(parameter(kind), given)
    assert str(error.value).startswith(f"expected {parameter(kind).expected}, found ")
    assert str(error.value).isprintable()


def test_every_kind_says_what_it_expects() -> None:
    assert all(parameter(kind).expected for kind in KINDS)
    assert set(KINDS) >= REPEATED


PARAMETERS = (
    Parameter(name="nodes", kind="count", minimum=1, help="h", unit="nodes", is_required=True),
    Parameter(name="ranks-per-node", kind="count", minimum=1, help="h", default=1),
    Parameter(name="program", kind="command", help="h", is_required=True),
)


def test_defaults_and_names() -> None:
    given: dict[str, Given] = {"nodes": "2", "ranks-per-node": None, "program": ("a",)}
    assert read_values("t", PARAMETERS, given) == {"nodes": 2, "ranks_per_node": 1, "program": ("a",)}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"program": ("a",)}, "template t: --nodes is missing: expected a whole number from 1 to 1000000 (nodes)"),
        ({"nodes": "2", "program": ()}, "template t: PROGRAM is missing: expected a program and its arguments"),
        ({"nodes": "0"}, "template t: --nodes: expected a whole number from 1 to 1000000 (nodes), found '0'"),
        ({"nodez": "1"}, "template t has no parameter --nodez: did you mean --nodes?"),
        ({"colour": "1"}, "template t has no parameter --colour: it has --nodes, --ranks-per-node, PROGRAM"),
    ],
)
def test_messages(given: dict[str, Given], message: str) -> None:
    with pytest.raises(UsageError) as error:
        read_values("t", PARAMETERS, given)
    assert str(error.value).startswith(message)
