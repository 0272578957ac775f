from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.engine.server.podlogs import LogOptions, LogReader, check_started, has_ended, log_options
from hpcbatch.errors import ApiError

NOW = datetime(2026, 11, 21, 10, 0, 10, tzinfo=UTC)


def pod(*containers: str, **more: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "x", "namespace": "ns", **more.pop("metadata", {})},
        "spec": {"restartPolicy": "Never", "containers": [{"name": name} for name in containers]},
        "status": more,
    }


def lines(*texts: str) -> bytes:
    return b"".join(
        f"2026-11-21T10:00:{second:02d}.123456789Z stdout F {text}\n".encode() for second, text in enumerate(texts)
    )


def read(path: Path, **options: Any) -> bytes:
    reader = LogReader(path, LogOptions("main", **options))
    out = b""
    while part := reader.read():
        out += part
    reader.close()
    return out


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log"
    path.write_bytes(lines("a", "b", "", "d d"))
    return path


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, b"a\nb\n\nd d\n"),
        ({"tail_lines": 2}, b"\nd d\n"),
        ({"tail_lines": 0}, b""),
        ({"tail_lines": 99}, b"a\nb\n\nd d\n"),
        ({"limit_bytes": 3}, b"a\nb"),
        ({"tail_lines": 1, "limit_bytes": 2}, b"d "),
        ({"since": NOW - timedelta(seconds=7)}, b"d d\n"),
        ({"since": NOW + timedelta(hours=1)}, b""),
        ({"tail_lines": 1, "timestamps": True}, b"2026-11-21T10:00:03.123456789Z d d\n"),
    ],
)
def test_reading(log: Path, options: dict[str, Any], text: bytes) -> None:
    assert read(log, **options) == text


def test_partial_lines_are_joined(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(
        b"2026-11-21T10:00:00.1Z stdout F one\n2026-11-21T10:00:00.2Z stdout P two\n"
        b"2026-11-21T10:00:00.3Z stdout F three\n"
    )
    assert read(path) == b"one\ntwothree\n"
    assert read(path, tail_lines=1) == b"twothree\n"
    assert read(path, timestamps=True) == b"2026-11-21T10:00:00.1Z one\n2026-11-21T10:00:00.2Z twothree\n"


def test_a_last_line_without_end_comes_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"2026-11-21T10:00:00.1Z stdout P no newline\n")
    assert read(path) == b"no newline"


def test_what_is_added_is_read_later(log: Path) -> None:
    reader = LogReader(log, LogOptions("main", tail_lines=1))
    assert reader.read() == b"d d\n"
    assert reader.read() == b""
    with log.open("ab") as file:
        file.write(b"2026-11-21T10:00:09.1Z stdout F ne")
        file.flush()
        assert reader.read() == b""
        file.write(b"w\n")
        file.flush()
        assert reader.read() == b"new\n"
    reader.close()


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\n\r"), max_size=20)), st.integers(0, 12))
def test_tail_is_the_end_of_the_whole(tmp_path_factory: pytest.TempPathFactory, texts: list[str], count: int) -> None:
    path = tmp_path_factory.mktemp("log") / "log"
    path.write_bytes(b"".join(f"2026-11-21T10:00:00Z stdout F {text}\n".encode() for text in texts))
    wanted = texts[-count:] if count else []
    assert read(path, tail_lines=count) == b"".join(f"{text}\n".encode() for text in wanted)


def test_tail_of_a_long_file(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(lines(*(["x" * 3000] * 60)) + b"2026-11-21T10:01:00Z stdout F end\n")
    assert read(path, tail_lines=1) == b"end\n"
    assert read(path, tail_lines=41) == b"x" * 3000 + b"\n" + (b"x" * 3000 + b"\n") * 39 + b"end\n"


@pytest.mark.parametrize(
    ("query", "code", "message"),
    [
        (
            {"tailLines": "-1"},
            422,
            'PodLogOptions "x" is invalid: tailLines: Invalid value: -1: must be greater than or equal to 0',
        ),
        (
            {"sinceSeconds": "0"},
            422,
            'PodLogOptions "x" is invalid: sinceSeconds: Invalid value: 0: must be greater than 0',
        ),
        (
            {"limitBytes": "0"},
            422,
            'PodLogOptions "x" is invalid: limitBytes: Invalid value: 0: must be greater than 0',
        ),
        (
            {"sinceSeconds": "1", "sinceTime": "2026-11-21T10:00:00Z"},
            422,
            'PodLogOptions "x" is invalid: []: Forbidden: '
            "at most one of `sinceTime` or `sinceSeconds` may be specified",
        ),
        ({"stream": "Stderr"}, 422, 'PodLogOptions "x" is invalid: stream: Forbidden: may not be specified'),
        ({"tailLines": "x"}, 400, 'strconv.ParseInt: parsing "x": invalid syntax'),
        ({"sinceTime": "bad"}, 400, 'parsing time "bad" as "2006-01-02T15:04:05Z07:00": cannot parse "bad" as "2006"'),
        ({"container": "nosuch"}, 400, "container nosuch is not valid for pod x"),
        ({}, 400, "a container name must be specified for pod x, choose one of: [a b]"),
    ],
)
def test_bad_options(query: dict[str, str], code: int, message: str) -> None:
    with pytest.raises(ApiError) as caught:
        log_options(pod("a", "b"), query, NOW)
    assert (caught.value.code, caught.value.message) == (code, message)


def test_which_container() -> None:
    assert log_options(pod("a"), {}, NOW).container == "a"
    assert log_options(pod("a", "b"), {"container": "b"}, NOW).container == "b"
    noted = pod("a", "b", metadata={"annotations": {"kubectl.kubernetes.io/default-container": "b"}})
    assert log_options(noted, {}, NOW).container == "b"


@pytest.mark.parametrize(
    ("state", "reason"),
    [({}, "ContainerCreating"), ({"waiting": {"reason": "ErrImageNeverPull"}}, "ErrImageNeverPull")],
)
def test_not_started(state: dict[str, Any], reason: str) -> None:
    waiting = pod("main", phase="Pending", containerStatuses=[{"name": "main", "state": state}])
    with pytest.raises(ApiError) as caught:
        check_started(waiting, "main")
    assert caught.value.message == f'container "main" in pod "x" is waiting to start: {reason}'


@pytest.mark.parametrize(
    ("status", "ended"),
    [
        ({"phase": "Running", "containerStatuses": [{"name": "main", "state": {"running": {}}}]}, False),
        ({"phase": "Running", "containerStatuses": [{"name": "main", "state": {"terminated": {}}}]}, True),
        ({"phase": "Failed"}, True),
        ({}, False),
    ],
)
def test_has_ended(status: dict[str, Any], ended: bool) -> None:
    assert has_ended(pod("main", **status), "main") is ended
