"""Named tuples that are made late behave as those of the standard library."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import typing
from typing import Any

import pytest

from hpcbatch import typed
from hpcbatch.typed import NamedTuple


class Point(NamedTuple):
    """A place."""

    x: int
    y: int = 2
    name: str = ""

    @property
    def total(self) -> int:
        return self.x + self.y


class Standard(typing.NamedTuple):
    x: int
    y: int = 2
    name: str = ""


class Shown(NamedTuple):
    text: str

    def __repr__(self) -> str:
        return f"<{self.text}>"


class Spot(Point):
    __slots__ = ()

    @property
    def place(self) -> str:
        return f"{self.name}@{self.x}"


@pytest.mark.parametrize("made_before", [0, 20])
@pytest.mark.parametrize(
    ("values", "named", "expected"),
    [
        ((1,), {}, (1, 2, "")),
        ((1,), {"name": "a"}, (1, 2, "a")),
        ((), {"name": "a", "x": 4}, (4, 2, "a")),
        ((1, 3, "b"), {}, (1, 3, "b")),
        ((), {}, "missing 1 required positional argument: 'x'"),
        ((), {"y": 1, "z": 1}, "unexpected keyword argument 'z'"),
        ((1, 2, "", 4), {}, "from 2 to 4 positional arguments but 5 were given"),
        ((1,), {"x": 1}, "multiple values for argument 'x'"),
    ],
)
def test_the_first_values_are_made_as_all_others(
    made_before: int, values: tuple[Any, ...], named: dict[str, Any], expected: tuple[Any, ...] | str
) -> None:
    class Late(NamedTuple):
        x: int
        y: int = 2
        name: str = ""

    for _ in range(made_before):
        Late(0)
    make: Any = Late
    if isinstance(expected, str):
        with pytest.raises(TypeError, match=expected):
            make(*values, **named)
    assert make(0) == (0, 2, "")
    if isinstance(expected, tuple):
        assert make(*values, **named) == expected


def test_values_are_made_by_position_and_by_name() -> None:
    assert Point(1) == (1, 2, "") == Point(x=1)
    assert tuple(Point(3, name="here")) == tuple(Standard(3, name="here"))
    assert Point(1).total == 3
    assert Spot(1, name="a").place == "a@1"
    assert (type(Spot(1)), type(Spot(1)._replace(x=4))) == (Spot, Spot)
    made: Any = Point
    for values, named in [((), {}), ((1, 2, "", 4), {}), ((1,), {"z": 1}), ((1,), {"x": 1})]:
        with pytest.raises(TypeError):
            made(*values, **named)


def test_the_first_value_may_be_made_in_a_subclass_or_by_make() -> None:
    class One(NamedTuple):
        x: int = 0

    class Two(One):
        pass

    assert (Two(), One(2)) == ((0,), (2,))
    assert type(Two(1)) is Two

    class Three(NamedTuple):
        x: int

    assert (Three._make([1]), Three(2)) == ((1,), (2,))


def test_they_say_what_those_of_typing_say() -> None:
    for made in (Point(1), Point(5, 6, "b")):
        other = Standard(*made)
        assert made._asdict() == other._asdict()
        assert repr(made) == repr(other).replace("Standard", "Point")
        assert hash(made) == hash(other)
        assert tuple(made._replace(y=7)) == tuple(other._replace(y=7))
    for name in ("_fields", "_field_defaults", "__match_args__", "__slots__"):
        assert getattr(Point, name) == getattr(Standard, name), name
    assert Point.__doc__ == "A place."
    assert Point.__bases__ == (tuple,)
    with pytest.raises(ValueError, match="z"):
        Point(1)._replace(z=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        Point._make([1])
    with pytest.raises(AttributeError):
        Point(1).x = 2  # type: ignore[misc]
    with pytest.raises(AttributeError):
        Point(1).other = 2  # type: ignore[attr-defined]
    assert repr(Shown("a")) == "<a>"


def test_they_are_matched_copied_and_pickled() -> None:
    match Point(1, name="a"):
        case Point(x, _, name):
            assert (x, name) == (1, "a")
    for copied in (copy.copy(Point(1)), copy.deepcopy(Point(1)), pickle.loads(pickle.dumps(Point(1)))):
        assert (copied, type(copied)) == (Point(1), Point)


def test_a_field_without_a_default_after_one_with_one_is_refused() -> None:
    with pytest.raises(TypeError, match="without a default"):
        exec("class Bad(NamedTuple):\n x: int = 1\n y: int\n", {"NamedTuple": NamedTuple, "__annotations__": {}})


def test_its_names_are_all_there_while_a_program_runs() -> None:
    for name in typed.__all__:
        assert hasattr(typed, name)
    assert dict[str, typed.Any] | None
    assert typing.get_args(typed.Literal["a", "b"]) == ("a", "b")


@pytest.mark.parametrize(
    "command", ["pbs.qsub", "pbs.qstat", "pbs.qdel", "slurm.sbatch", "slurm.squeue", "slurm.scancel"]
)
def test_a_command_that_is_asked_often_starts_without_typing(command: str) -> None:
    code = f"import sys, hpcbatch.cli.{command}, hpcbatch.client.submit, hpcbatch.client.listing, hpcbatch.api.client; "
    done = subprocess.run(
        [
            sys.executable,
            "-I",
            "-S",
            "-c",
            f"import sys; sys.path[:] = {sys.path!r}; {code}print('typing' in sys.modules)",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "False\n"
