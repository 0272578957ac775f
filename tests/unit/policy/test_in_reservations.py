"""The reservations of jobs, and reservations as the plan has them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from hpcbatch.model.reservation import Flag
from hpcbatch.model.site import QueueConfig
from hpcbatch.policy.deadlines import with_grant_of, without_grant
from hpcbatch.policy.in_reservations import reservation_of, reservations_named, reservations_of, to_choose_from
from hpcbatch.policy.planned import as_released
from tests.unit.policy.test_planned import QUEUE, SITE, job, reserved

NOW = datetime(2026, 11, 25, 12, 0, tzinfo=UTC)
QUEUES = (QUEUE, QueueConfig(name="R12", volcano_queue="q", reservation="R12"))


@pytest.mark.parametrize(
    ("asked", "queue", "named", "there"),
    [
        ("r", "q", ("r",), ("r",)),
        ("gone", "q", ("gone",), ("gone",)),
        ("word", "q", (), ()),
        ("", "q", (), ()),
        ("", "R12", ("R12",), ("R12",)),
        ("maint,r,maint", "q", ("maint", "r"), ("maint", "r")),
        ("gone,r", "q", ("gone", "r"), ("r",)),
        ("gone,away", "q", ("gone", "away"), ("gone",)),
        ("word,r", "q", ("r",), ("r",)),
    ],
)
def test_the_reservations_of_a_job(asked: str, queue: str, named: tuple[str, ...], there: tuple[str, ...]) -> None:
    """One that has gone is still the job's, one of the site's own words is none."""
    site = replace(SITE, queues=QUEUES)
    record = replace(job(attributes={"reservation": asked}), queue=queue)
    assert reservations_named(record, site) == named
    assert to_choose_from(record, site) == there
    assert reservation_of(record, site) == (named[0] if named else "")


def test_that_in_which_it_is_released_is_noted_where_it_names_several() -> None:
    several, one = job(attributes={"reservation": "maint,r"}), job(attributes={"reservation": "r"})
    released = as_released(several, SITE, 600, "r")
    assert (released.status.reservation, reservation_of(released, SITE)) == ("r", "r")
    assert as_released(one, SITE, 600, "r") == one
    assert with_grant_of(released.status, several.status) == released.status
    assert without_grant(released.status) == several.status


def test_a_reservation_for_the_plan() -> None:
    found = reserved("r", Flag.OVERLAP, users=("ann", "bob"), accounts=("-x",))
    (one,) = reservations_of(found, [(NOW, NOW + timedelta(hours=1))])
    assert (one.name, one.start_s, one.nodes) == ("r", NOW.timestamp(), {"n1": None})
    assert (sorted(one.users), sorted(one.denied_accounts), sorted(one.accounts)) == (["ann", "bob"], ["x"], [])
    assert (one.may_overlap, one.goes_before, one.cuts_s) == (True, False, float("inf"))
