"""What pods have in common is sent to the pod host once."""

from __future__ import annotations

from typing import Any

from hpcbatch.engine.agent.shared_volumes import SharedVolumes
from hpcbatch.engine.agent.volumes import Volume

OWN = Volume("v", "/own", read_only=True, files=({"path": "a", "mode": 0o644, "data": ""},))
VOLUME = {"name": "v", "projected": {"sources": [{"configMap": {"name": "c"}}]}}


def _config(uid: str = "1", *, immutable: bool = True) -> dict[str, Any]:
    return {"metadata": {"uid": uid}, "immutable": immutable}


def _shared(directory: str = "/work/shared") -> tuple[SharedVolumes, list[dict[str, Any]]]:
    sent: list[dict[str, Any]] = []
    return SharedVolumes(directory, sent.append), sent


def test_the_second_pod_sends_nothing() -> None:
    shared, sent = _shared()
    first, second = (shared.find(None, VOLUME, _config(), lambda: OWN) for _ in range(2))
    assert first == second == Volume("v", f"/work/shared/{sent[0]['key']}", read_only=True)
    assert [message["op"] for message in sent] == ["share"]
    assert sent[0]["files"] == list(OWN.files or ())


def test_another_object_or_use_or_group_is_another_volume() -> None:
    shared, sent = _shared()
    other = {"name": "v", "projected": {"sources": [{"configMap": {"name": "c"}}], "defaultMode": 0o400}}
    paths = {
        shared.find(gid, volume, config, lambda: OWN).path
        for gid, volume, config in (
            (None, VOLUME, _config()),
            (None, VOLUME, _config("2")),
            (None, other, _config()),
            (5, VOLUME, _config()),
        )
    }
    assert len(paths) == len(sent) == 4


def test_what_may_change_is_each_pods_own() -> None:
    shared, sent = _shared()
    assert shared.find(None, VOLUME, _config(immutable=False), lambda: OWN) is OWN
    assert not sent


def test_nothing_is_shared_where_pods_could_write_to_it() -> None:
    shared, sent = _shared("")
    assert shared.find(None, VOLUME, _config(), lambda: OWN) is OWN
    assert not sent


def test_a_few_at_most_are_kept() -> None:
    shared, sent = _shared()
    found = [shared.find(None, VOLUME, _config(str(number)), lambda: OWN) for number in range(20)]
    assert len(sent) == 8
    assert found[19] is OWN


def test_what_could_not_be_written_is_sent_again() -> None:
    shared, sent = _shared()
    shared.find(None, VOLUME, _config(), lambda: OWN)
    shared.forget(sent[0]["key"])
    shared.find(None, VOLUME, _config(), lambda: OWN)
    assert len(sent) == 2
