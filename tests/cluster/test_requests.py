"""The number of requests that jobs and commands cost the API server stays as low as it is."""

from __future__ import annotations

import pytest

from tests.cluster.audit import CONTROLLER, USER, table
from tests.cluster.cost import COSTS
from tests.conformance.site import Site

# by client. Of the controller's, three are writes of the record's status, and up to four more where a start takes more
# than three seconds or an end more than 1.5, as on a busy machine. Two to six are for its PodGroup.
MOST = {
    "a job of one pod": {USER: 3, CONTROLLER: 21},
    "a job of three pods": {USER: 3, CONTROLLER: 29},
    "qstat": {USER: 1, CONTROLLER: 0},
}


@pytest.mark.parametrize("what", COSTS)
def test_requests_of(what: str, alice: Site) -> None:
    found = COSTS[what](alice)
    for client, most in MOST[what].items():
        asked = sum(count for request, count in found.items() if request.client == client)
        assert asked <= most, f"{client}: {asked} requests, expected {most} at most\n{table(found)}"
    assert any(request.client == USER for request in found), "the audit log knows nothing of the user's requests"
