from typing import Any

import pytest

from hpcbatch.admin.check.finding import Level
from hpcbatch.admin.check.history import judge_absent, judge_service


@pytest.mark.parametrize(
    ("has_secret", "count", "level"),
    [(False, 10, Level.OK), (None, 10, Level.OK), (False, 6000, Level.WARNING), (True, 10, Level.ERROR)],
)
def test_without_the_api_service(has_secret: bool | None, count: int, level: Level) -> None:
    assert judge_absent(has_secret=has_secret, count=count).level is level


def service(**condition: Any) -> dict[str, Any]:
    return {"status": {"conditions": [{"type": "Available", **condition}] if condition else []}}


@pytest.mark.parametrize(
    ("found", "has_secret", "level", "seen"),
    [
        (service(status="True"), True, Level.OK, "available"),
        (service(status="True"), None, Level.OK, "available"),
        (service(status="False", message="no\nroute"), True, Level.ERROR, "not available: no route; meanwhile"),
        (service(), True, Level.ERROR, "Kubernetes has not looked at it yet"),
        (service(status="False"), False, Level.ERROR, "no Secret hpcbatch-system/hpcbatch-history with a dsn"),
    ],
)
def test_the_api_service(found: dict[str, Any], has_secret: bool | None, level: Level, seen: str) -> None:
    (finding,) = judge_service(found, has_secret=has_secret, namespace="hpcbatch-system")
    assert finding.level is level
    assert seen in finding.seen
