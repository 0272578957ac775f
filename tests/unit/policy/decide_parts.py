"""What a decision sees, for the tests of decide."""

from __future__ import annotations

from datetime import timedelta

from hpcbatch.policy.observed import RefusedPods
from tests.unit.policy.job_seen import NOW


def refused(*, age_s: int, may_pass: bool = False) -> RefusedPods:
    return RefusedPods(message="exceeded quota: q", since=NOW - timedelta(seconds=age_s), may_pass=may_pass)
