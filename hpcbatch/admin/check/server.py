"""The API server: its version, and the clocks of this machine and of the nodes against its own."""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import datetime
from email.utils import parsedate_to_datetime

from hpcbatch.admin.check.cluster import Cluster
from hpcbatch.admin.check.finding import Finding, Reporter
from hpcbatch.api.port import Object
from hpcbatch.api.resources import LEASES
from hpcbatch.api.transport import Transport
from hpcbatch.errors import HpcBatchError
from hpcbatch.units import parse_rfc3339

_VERSION, _CLOCK = Reporter("kubernetes-version"), Reporter("clock")
OLDEST = (1, 30)
"""The first release that serves ValidatingAdmissionPolicy as admissionregistration.k8s.io/v1."""
RESIZING = (1, 33)
"""The first one that resizes running pods unless somebody has switched that off."""
_NODE_LEASES = "kube-node-lease"
_NOTICED_S, _HARMFUL_S = 2.0, 30.0
_MEND_CLOCK = "synchronise the clocks (chrony, ntpd or systemd-timesyncd on {}): `chronyc tracking`, `timedatectl`"


def version(cluster: Cluster) -> Iterable[Finding]:
    yield judge_version(cluster.version, cluster.is_embedded)


def judge_version(answer: Object, is_embedded: bool) -> Finding:
    """`answer` is that of /version; the parts may carry a sign, `34+`."""
    text = str(answer.get("gitVersion", "?"))
    try:
        found = tuple(int(str(answer.get(part, "")).rstrip("+")) for part in ("major", "minor"))
    except ValueError:
        return _VERSION.unknown("Kubernetes", f"the API server calls its version {text}")
    if found < OLDEST:
        wanted = ".".join(map(str, OLDEST))
        return _VERSION.error(
            "Kubernetes",
            f"{text}, older than {wanted}",
            f"upgrade to {wanted} or newer: the admission policies that keep users apart need it",
        )
    if found < RESIZING:
        wanted = ".".join(map(str, RESIZING))
        return _VERSION.ok(
            "Kubernetes", f"{text}; suspended jobs keep their CPUs: {wanted} and newer resize running pods"
        )
    return _VERSION.ok("Kubernetes", f"{text}{', the embedded engine of this machine' if is_embedded else ''}")


def clock(cluster: Cluster) -> Iterable[Finding]:
    before = time.time()
    date = _date_header(cluster)
    after = time.time()
    if date is None:
        yield _CLOCK.unknown("clock of this machine", "the API server answers without a Date header")
    else:
        yield judge_offset("this machine", local_offset(date.timestamp(), before, after))
    if cluster.is_embedded:
        return
    leases = {lease["metadata"]["name"]: lease for lease in cluster.api.list(LEASES, _NODE_LEASES).items}
    bad = []
    for node in cluster.nodes:
        name = node["metadata"]["name"]
        offset_s = lease_offset(leases[name]) if name in leases else None
        if offset_s is None:
            bad.append(_CLOCK.unknown(f"clock of node {name}", "its Lease does not tell"))
        elif abs(offset_s) > _NOTICED_S:
            bad.append(judge_offset(f"node {name}", offset_s))
    yield from bad
    if not bad and cluster.nodes:
        yield _CLOCK.ok("clocks of the nodes", f"{len(cluster.nodes)} within {_NOTICED_S:.0f} s of the API server's")


def judge_offset(whose: str, offset_s: float) -> Finding:
    """`offset_s` is how far a clock is ahead of the API server's."""
    subject = f"clock of {whose}"
    if abs(offset_s) <= _NOTICED_S:
        return _CLOCK.ok(subject, f"within {_NOTICED_S:.0f} s of the API server's")
    seen = f"{abs(offset_s):.1f} s {'ahead of' if offset_s > 0 else 'behind'} the API server's"
    mend = _MEND_CLOCK.format(whose)
    if abs(offset_s) > _HARMFUL_S:
        return _CLOCK.error(subject, f"{seen}: certificates, walltimes and begin times go wrong", mend)
    return _CLOCK.warning(subject, f"{seen}: walltimes and times shown are off by as much", mend)


def local_offset(date_s: float, before_s: float, after_s: float) -> float:
    """How far this machine is surely ahead (+) or behind (-); 0 where the answer leaves it open.

    The Date header has whole seconds, and was written somewhere between the question and the answer.
    """
    earliest, latest = date_s, date_s + 1
    if before_s > latest:
        return before_s - latest
    if after_s < earliest:
        return after_s - earliest
    return 0.0


def lease_offset(lease: Object) -> float | None:
    """How far the kubelet's clock is ahead of the API server's: it writes `renewTime`, the API server the time of the
    last change in managedFields, in whole seconds. None where the Lease does not tell.
    """
    renewed = (lease.get("spec") or {}).get("renewTime")
    changed = [
        str(entry["time"])
        for entry in lease["metadata"].get("managedFields") or []
        if "time" in entry and "f:renewTime" in ((entry.get("fieldsV1") or {}).get("f:spec") or {})
    ]
    if not renewed or not changed:
        return None
    try:
        written_s = parse_rfc3339(max(changed)).timestamp()
        return local_offset(written_s, *[parse_rfc3339(str(renewed)).timestamp()] * 2)
    except HpcBatchError:
        return None


def _date_header(cluster: Cluster) -> datetime | None:
    """The API server's clock, from the head of an answer on a connection of its own."""
    transport = Transport(cluster.api.connection, connect_timeout_s=5)
    wire = transport.open()
    try:
        wire.settimeout(15)
        credentials = transport.authorization()
        headers = {"Authorization": credentials} if credentials else {}
        answer = wire.request("GET", f"{transport.prefix}/version", headers)
    except OSError as error:
        raise transport.lost(error) from None
    finally:
        wire.close()
    try:
        return parsedate_to_datetime(answer.headers.get("date", ""))
    except ValueError:
        return None
