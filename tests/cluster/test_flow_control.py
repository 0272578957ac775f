"""API priority and fairness: users and controllers have levels of their own (deploy/controller/flow-control.yaml)."""

from __future__ import annotations

import re

import pytest

from tests.cluster.conftest import Admin
from tests.conformance.site import Site
from tests.waiting import wait_for


def dispatched(admin: Admin, schema: str) -> int:
    """How many requests the API server has let through that belong to a FlowSchema."""
    metrics = admin.kubectl("get", "--raw", "/metrics").stdout
    name = "apiserver_flowcontrol_dispatched_requests_total"
    found = re.findall(rf'^{name}{{flow_schema="{schema}",priority_level="{schema}"}} (\S+)$', metrics, re.MULTILINE)
    return sum(round(float(count)) for count in found)


def test_requests_of_users_and_controllers_are_of_their_levels(admin: Admin, alice: Site) -> None:
    before = dispatched(admin, "hpcbatch-users")
    alice.run("qstat")
    wait_for("alice's request to be counted", lambda: dispatched(admin, "hpcbatch-users") > before, 30)
    wait_for("one of the controllers'", lambda: dispatched(admin, "hpcbatch-controller") > 0, 30)


@pytest.mark.parametrize("name", ["hpcbatch-users", "hpcbatch-controller"])
def test_the_levels_are_there(admin: Admin, name: str) -> None:
    condition = "{.status.conditions[?(@.type=='Dangling')].status}"
    found = admin.kubectl("get", "flowschema", name, "-o", f"jsonpath={condition}").stdout
    assert found == "False", "the API server knows the level that it names"
