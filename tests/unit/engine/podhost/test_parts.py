from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.engine.podhost.container import LogWriter
from hpcbatch.engine.podhost.network import NetworkError, free_range
from hpcbatch.engine.podhost.volume import write_volume

HEAD = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n"


def route(destination: str, mask: str) -> str:
    return f"eth0\t{destination}\t00000000\t0001\t0\t0\t0\t{mask}\t0\t0\t0\n"


@pytest.mark.parametrize(
    ("routes", "expected"),
    [
        ("", "10.244.0.0"),
        (HEAD + route("00000000", "00000000"), "10.244.0.0"),  # the default route
        (HEAD + route("000200C0", "00FFFFFF"), "10.244.0.0"),  # 192.0.2.0/24
        (HEAD + route("0000F40A", "0000FFFF"), "10.243.0.0"),  # 10.244.0.0/16
        (
            HEAD + route("0001F40A", "00FFFFFF") + route("0000F30A", "0000FFFF"),
            "10.242.0.0",
        ),  # 10.244.1.0/24, 10.243/16
        (HEAD + route("0000800A", "000080FF"), "10.127.0.0"),  # 10.128.0.0/9
    ],
)
def test_free_range(routes: str, expected: str) -> None:
    assert free_range(routes) == expected


def test_no_range_is_free() -> None:
    with pytest.raises(NetworkError, match="every range"):
        free_range(HEAD + route("0000000A", "000000FF"))


@given(st.lists(st.tuples(st.sampled_from(["stdout", "stderr"]), st.binary(max_size=40_000)), max_size=8))
def test_log_gives_back_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, writes: list[tuple[str, bytes]]
) -> None:
    path = tmp_path_factory.mktemp("log") / "0.log"
    log = LogWriter(str(path))
    for stream, data in writes:
        log.feed(stream, data)
    log.close()
    back = {"stdout": b"", "stderr": b""}
    for line in path.read_bytes().split(b"\n")[:-1]:
        stamp, stream_name, tag, text = line.split(b" ", 3)
        assert re.fullmatch(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z", stamp)
        back[stream_name.decode()] += text + (b"\n" if tag == b"F" else b"")
    for stream, text in back.items():
        assert text == b"".join(data for name, data in writes if name == stream)


def test_volume_is_replaced_in_one_step(tmp_path: Path) -> None:
    def file(path: str, data: str) -> dict[str, object]:
        return {"path": path, "mode": 0o640, "data": data}

    volume = tmp_path / "v"
    write_volume(str(volume), [file("a", "MQ=="), file("d/b", "Mg==")], None)
    assert sorted(path.name for path in volume.iterdir()) == ["..1", "..data", "a", "d"]
    assert (volume / "d" / "b").read_text() == "2"
    assert (volume / "a").stat().st_mode & 0o777 == 0o640
    write_volume(str(volume), [file("a", "Mw==")], None)
    assert sorted(path.name for path in volume.iterdir()) == ["..2", "..data", "a"]
    assert (volume / "a").read_text() == "3"
