"""Versions and clocks: recorded answers to findings."""

import pytest

from hpcbatch.admin.check import server
from hpcbatch.admin.check.finding import Level
from hpcbatch.api.port import Object

# Kubernetes v1.34.1, `kubectl -n kube-node-lease get lease node-0 -o json --show-managed-fields`
LEASE: Object = {
    "metadata": {
        "creationTimestamp": "2026-11-21T15:01:19Z",
        "managedFields": [
            {
                "fieldsV1": {
                    "f:metadata": {"f:ownerReferences": {".": {}}},
                    "f:spec": {"f:holderIdentity": {}, "f:leaseDurationSeconds": {}, "f:renewTime": {}},
                },
                "manager": "kubelet",
                "operation": "Update",
                "time": "2026-11-21T15:12:54Z",
            }
        ],
        "name": "node-0",
    },
    "spec": {"holderIdentity": "node-0", "leaseDurationSeconds": 40, "renewTime": "2026-11-21T15:12:54.272633Z"},
}


@pytest.mark.parametrize(
    ("major", "minor", "level"),
    [
        ("1", "34", Level.OK),
        ("1", "34+", Level.OK),
        ("1", "30", Level.OK),
        ("2", "0", Level.OK),
        ("1", "29", Level.ERROR),
        ("1", "9", Level.ERROR),
        ("", "", Level.UNKNOWN),
        ("1", "x", Level.UNKNOWN),
    ],
)
def test_version(major: str, minor: str, level: Level) -> None:
    answer = {"gitVersion": f"v{major}.{minor}.1", "major": major, "minor": minor}
    assert server.judge_version(answer, is_embedded=False).level is level


def test_an_older_one_cannot_resize_pods() -> None:
    seen = [server.judge_version({"gitVersion": "v1.x", "major": "1", "minor": m}, False).seen for m in ("32", "33")]
    assert seen == ["v1.x; suspended jobs keep their CPUs: 1.33 and newer resize running pods", "v1.x"]


def test_an_old_version_is_told_what_is_needed() -> None:
    finding = server.judge_version({"gitVersion": "v1.28.3", "major": "1", "minor": "28"}, is_embedded=False)
    assert finding.seen == "v1.28.3, older than 1.30"
    assert "upgrade to 1.30" in finding.mend


@pytest.mark.parametrize(
    ("date", "before", "after", "offset"),
    [
        pytest.param(100, 100.2, 100.3, 0, id="the same"),
        pytest.param(100, 100.9, 101.1, 0, id="across a second"),
        pytest.param(100, 99.8, 100.1, 0, id="rounded down"),
        pytest.param(100, 105.5, 105.6, 4.5, id="ahead"),
        pytest.param(100, 60.0, 60.5, -39.5, id="behind"),
        pytest.param(100, 98.0, 130.0, 0, id="a slow answer leaves it open"),
    ],
)
def test_local_offset(date: float, before: float, after: float, offset: float) -> None:
    assert server.local_offset(date, before, after) == pytest.approx(offset)


@pytest.mark.parametrize(
    ("offset", "level"),
    [
        (0, Level.OK),
        (-1.9, Level.OK),
        (2.5, Level.WARNING),
        (-29, Level.WARNING),
        (31, Level.ERROR),
        (-3600, Level.ERROR),
    ],
)
def test_offset(offset: float, level: Level) -> None:
    assert server.judge_offset("node n", offset).level is level


def test_the_direction_is_told() -> None:
    assert "40.0 s ahead of" in server.judge_offset("node n", 40).seen
    assert "40.0 s behind" in server.judge_offset("node n", -40).seen


@pytest.mark.parametrize(
    ("renewed", "offset"),
    [
        ("2026-11-21T15:12:54.272633Z", 0),
        ("2026-11-21T15:13:05.500000Z", 10.5),
        ("2026-11-21T15:12:44.000000Z", -10),
    ],
)
def test_lease_offset(renewed: str, offset: float) -> None:
    lease = LEASE | {"spec": LEASE["spec"] | {"renewTime": renewed}}
    assert server.lease_offset(lease) == pytest.approx(offset)


@pytest.mark.parametrize(
    "lease",
    [
        pytest.param({"metadata": {}, "spec": {"renewTime": "2026-11-21T15:12:54Z"}}, id="no managedFields"),
        pytest.param(LEASE | {"spec": {}}, id="never renewed"),
        pytest.param(LEASE | {"spec": {"renewTime": "soon"}}, id="no time"),
    ],
)
def test_a_lease_that_does_not_tell(lease: Object) -> None:
    assert server.lease_offset(lease) is None
