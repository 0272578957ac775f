"""A job's files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hpcbatch.model.array import Membership
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.record import JobRecord, JobStatus
from hpcbatch.model.spec import JobSpec, Output
from hpcbatch.web import files
from hpcbatch.web.files import (
    NoFileError,
    Picture,
    Stream,
    as_shown,
    forecast_pages,
    last_of_series,
    pictures,
    read_picture,
    streams,
    tail,
    whole,
)

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


def record(dialect: str, **spec: object) -> JobRecord:
    asked = JobSpec(dialect=dialect, name="ring", server="here", submit_dir="/w", work_dir="/w", **spec)  # type: ignore[arg-type]
    return JobRecord(
        job_id=12, namespace="n", object_name="o", spec=asked, status=JobStatus(owner="anna", home="/h"), queue="q"
    )


@pytest.mark.parametrize(
    ("job", "paths"),
    [
        (
            record(Dialect.PBS, stderr=Output()),
            [("/w/12.here.OU.running", "/w/ring.o12"), ("/w/12.here.ER.running", "/w/ring.e12")],
        ),
        (record(Dialect.PBS, stdout=Output(path="/o/x")), [("/o/12.here.OU.running", "/o/x")]),
        (record(Dialect.SLURM), [("/w/slurm-12.out",)]),
        (
            record(Dialect.SLURM, stdout=Output(path="%x-%j.log"), stderr=Output(path="e")),
            [("/w/ring-12.log",), ("/w/e",)],
        ),
        (record(Dialect.SLURM, member_of=Membership(array_id=10, array_name="a", index=3)), [("/w/slurm-10_3.out",)]),
    ],
    ids=["pbs", "pbs -j oe -o", "slurm", "slurm -o -e", "member"],
)
def test_where_output_is_written(job: JobRecord, paths: list[tuple[str, ...]]) -> None:
    assert [tuple(map(str, stream.paths)) for stream in streams(job)] == paths


def stream(*paths: Path) -> Stream:
    return Stream("Output", paths)


def test_the_end_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("".join(f"line {number}\n" for number in range(20000)))
    found = tail(stream(tmp_path / "absent", path))
    assert not found.is_whole
    assert found.text.startswith("line ")
    assert found.text.endswith("line 19999\n")
    assert len(found.text) <= 1 << 16
    assert whole(stream(path)) == path.read_bytes()


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder"):
        found = tail(stream(tmp_path / name))
        assert (found.text, bool(found.problem)) == ("", True)
        with pytest.raises(NoFileError):
            whole(stream(tmp_path / name))
    assert tail(stream(tmp_path / "absent")).problem == "not written yet, or not on this machine"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\nb\n", "a\nb\n"),
        ("\x1b[1;31mred\x1b[0m\n", "red\n"),
        ("10 %\r20 %\r30 %\n", "30 %\n"),
        ("dos\r\nlines\r\n", "dos\nlines\n"),
        ("10 %\r20 %\r", "20 %"),
    ],
)
def test_as_a_terminal_shows_it(text: str, shown: str) -> None:
    assert as_shown(text) == shown


def test_pictures(tmp_path: Path) -> None:
    (tmp_path / "maps" / "deep").mkdir(parents=True)
    for name, when in (("old.png", 100), ("new.png", 300), ("maps/rain.png", 200), ("maps/deep/no.png", 300)):
        (tmp_path / name).write_bytes(PNG)
        os.utime(tmp_path / name, (when, when))
    (tmp_path / "text.txt").write_text("x")
    (tmp_path / "empty.png").write_bytes(b"")
    found = pictures([tmp_path, tmp_path / "absent"], 150)
    assert [one.path.name for one in found] == ["new.png", "rain.png"]
    assert len({one.key for one in found}) == 2
    assert pictures([tmp_path], 150)[0].key == found[0].key
    for name in ("maps/forecast.html", "other-forecast.html", "index.html"):
        (tmp_path / name).write_text("<h1>Forecast</h1>")
    assert [one.path for one in forecast_pages([tmp_path], 150)] == [tmp_path / "maps/forecast.html"]


def test_the_last_map_of_each_kind_comes_first() -> None:
    names = [
        "maps/rain_d01_2024-01-15_000000",
        "maps/rain_d01_2024-01-15_030000",
        "maps/rain_d02_2024-01-15_000000",
        "maps/meteogram",
        "old/rain_d01_2024-01-15_000000",
    ]
    drawn = [Picture(name, Path(f"{name}.png"), 0.0) for name in names]
    last, others = last_of_series(drawn)
    assert [one.key for one in last] == [names[3], names[1], names[2], names[4]]
    assert [one.key for one in others] == [names[0]]


def test_only_pictures_are_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good, bad = tmp_path / "good.png", tmp_path / "bad.png"
    good.write_bytes(PNG)
    bad.write_text("<script>")
    assert read_picture(good) == PNG
    os.mkfifo(tmp_path / "pipe.png")
    for path in (bad, tmp_path / "absent.png", tmp_path / "pipe.png"):
        with pytest.raises(NoFileError):
            read_picture(path)
    monkeypatch.setattr(files, "_LARGEST_PICTURE", 10)
    with pytest.raises(NoFileError):
        read_picture(good)
