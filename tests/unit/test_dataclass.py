"""Dataclasses that are made late behave as those of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import subprocess
import sys
from typing import Any, ClassVar

import pytest

from hpcbatch.dataclass import MISSING, dataclass, declared_fields, field, replace


@dataclass(frozen=True, slots=True)
class Point:
    x: int
    y: int = 2
    kind: ClassVar[str] = "point"


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    name: str
    tags: dict[str, str] = field(default_factory=dict, metadata={"a": 1})
    _seen: list[str] = field(default_factory=list, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError("no name")


@dataclass(frozen=True, slots=True)
class Spot(Point):
    colour: str = "red"


@dataclass(slots=True, kw_only=True)
class Counter:
    count: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Token:
    text: str


@pytest.mark.parametrize("made_before", [0, 20])
@pytest.mark.parametrize(
    ("values", "named", "error"),
    [
        ((), {"name": "x"}, None),
        ((), {"name": "x", "tags": {"a": "b"}, "count": 3}, None),
        ((), {}, "missing 1 required keyword-only argument: 'name'"),
        (("x",), {}, "takes 1 positional argument but 2 were given"),
        ((), {"name": "x", "size": 1}, "unexpected keyword argument 'size'"),
        ((), {"name": "x", "_seen": []}, "unexpected keyword argument '_seen'"),
    ],
)
def test_the_first_values_are_made_as_all_others(
    made_before: int, values: tuple[Any, ...], named: dict[str, Any], error: str | None
) -> None:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Late(Named):
        count: int = 7

    for _ in range(made_before):
        Late(name="before")
    make: Any = Late
    if error is None:
        made = make(*values, **named)
        assert (made.name, made.tags, made.count) == (named["name"], named.get("tags", {}), named.get("count", 7))
        assert made._seen == []
    else:
        with pytest.raises(TypeError, match=error):
            make(*values, **named)


@pytest.mark.parametrize("made_before", [0, 20])
def test_the_first_values_are_made_by_position_and_by_name(made_before: int) -> None:
    @dataclass(frozen=True, slots=True)
    class Late(Point):
        colour: str = "red"

    for _ in range(made_before):
        Late(1)
    assert Late(1, 3, "blue") == Late(1, colour="blue", y=3)
    make: Any = Late
    with pytest.raises(TypeError, match="multiple values for argument 'x'"):
        make(1, x=1)
    with pytest.raises(TypeError, match="from 2 to 4 positional arguments but 5 were given"):
        make(1, 2, "red", 4)


def test_values_are_made_by_position_and_by_name() -> None:
    assert (Point(1).x, Point(1).y, Point(x=3, y=4).y) == (1, 2, 4)
    assert Spot(1, 2, "blue") == Spot(1, colour="blue")
    assert list(inspect.signature(Named).parameters) == ["name", "tags"]
    made: Any = Named
    with pytest.raises(TypeError):
        made("by position")
    with pytest.raises(TypeError):
        made()
    with pytest.raises(ValueError, match="no name"):
        Named(name="")


def test_each_value_has_a_default_of_its_own() -> None:
    assert Named(name="a").tags is not Named(name="b").tags


def test_equal_values_are_equal_and_have_one_hash() -> None:
    assert Point(1) == Point(1, 2) != Point(1, 3)
    assert Point(1) != Spot(1)
    assert {Point(1): "found"}[Point(1, 2)] == "found"
    assert Token("a") != Token("a")
    first, second = Named(name="a"), Named(name="a")
    first._seen.append("other")
    assert first == second
    with pytest.raises(TypeError):
        hash(Counter())


def test_frozen_values_do_not_change() -> None:
    point: Any = Point(1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        point.x = 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        del point.x
    with pytest.raises(AttributeError):
        point.other = 1
    counter = Counter()
    counter.count += 1
    assert counter == Counter(count=1)


def test_text_shows_fields() -> None:
    assert repr(Spot(1)) == "Spot(x=1, y=2, colour='red')"
    assert repr(Named(name="a")) == "Named(name='a', tags={})"


@pytest.mark.parametrize("function", [replace, dataclasses.replace], ids=["ours", "standard"])
def test_a_copy_differs_where_it_is_said(function: Any) -> None:
    assert function(Point(1), y=5) == Point(1, 5)
    with pytest.raises(TypeError):
        function(Point(1), z=5)
    with pytest.raises(ValueError, match="no name"):
        function(Named(name="a"), name="")


def test_the_standard_library_knows_the_fields() -> None:
    assert [each.name for each in dataclasses.fields(Spot)] == ["x", "y", "colour"]
    assert dataclasses.asdict(Spot(1)) == {"x": 1, "y": 2, "colour": "red"}
    assert dataclasses.is_dataclass(Point)
    fields = {each.name: each for each in dataclasses.fields(Named)}
    assert fields["tags"].metadata == {"a": 1}
    assert not fields["_seen"].init


def test_fields_are_declared_as_written() -> None:
    name, tags, _ = declared_fields(Named)
    assert (name.name, name.default, name.default_factory) == ("name", MISSING, MISSING)
    assert (tags.default_factory, tags.metadata) == (dict, {"a": 1})


def test_those_of_the_standard_library_are_known_and_inherit() -> None:
    @dataclasses.dataclass(frozen=True, slots=True)
    class Standard(Point):
        z: int = dataclasses.field(default=3)

    assert replace(Standard(1), y=4) == Standard(1, 4, 3)
    assert [(each.name, each.default) for each in declared_fields(Standard)] == [("x", MISSING), ("y", 2), ("z", 3)]


def test_values_are_copied_pickled_and_matched() -> None:
    assert copy.deepcopy(Spot(1)) == pickle.loads(pickle.dumps(Spot(1))) == Spot(1)
    match Point(1, 7):
        case Point(1, y):
            assert y == 7


def test_commands_start_without_what_is_slow_to_import() -> None:
    text = (
        "import sys, hpcbatch.record.batchjob, hpcbatch.dialects.slurm.scontrol, hpcbatch.cli.slurm.sbatch, "
        "hpcbatch.cli.script, hpcbatch.cli.submission, hpcbatch.client.records\n"
        "print({'dataclasses', 'inspect', 'pathlib', 'urllib'} & sys.modules.keys())"
    )
    assert subprocess.check_output([sys.executable, "-I", "-c", text], text=True) == "set()\n"
