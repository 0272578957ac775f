"""All checks, in the order in which they are reported, and what becomes of their failures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hpcbatch.admin.check import (
    crds,
    history,
    installation,
    job_pods,
    network_probe,
    nodes,
    queues,
    rights,
    server,
    site,
    storage,
    storage_probe,
    users,
    volcano,
    webhooks,
)
from hpcbatch.admin.check.cluster import Check, Cluster
from hpcbatch.admin.check.finding import Finding, Level, Reporter, forbidden_words, one_line
from hpcbatch.admin.check.probe import remove_left_overs
from hpcbatch.errors import ApiError, ForbiddenError, UnauthorizedError

_ONE_PROCESS = "the engine is one process on this machine"
_ONE_USER = "the engine has one user, who may do everything"
CHECKS: tuple[Check, ...] = (
    Check(name="kubernetes-version", look=server.version),
    Check(name="clock", look=server.clock),
    Check(name="nodes", look=nodes.nodes),
    Check(name="volcano-crds", look=crds.volcano),
    Check(name="volcano-version", look=volcano.version, needs=("volcano-crds",), of_volcano=True),
    Check(name="without-volcano", look=volcano.absent, of_volcano=False),
    Check(
        name="volcano-webhooks",
        look=webhooks.configured,
        needs=("volcano-crds",),
        of_volcano=True,
        not_embedded="the engine has Volcano's admission built in",
    ),
    Check(name="volcano-webhooks", look=webhooks.answering, needs=("volcano-crds",), of_volcano=True),
    Check(
        name="volcano-controllers", look=volcano.at_work, needs=("volcano-crds", "volcano-webhooks"), of_volcano=True
    ),
    Check(name="hpcbatch-crd", look=crds.hpcbatch),
    Check(name="hpcbatch-controller", look=installation.controller, not_embedded=_ONE_PROCESS),
    Check(name="controller-rights", look=rights.rights, not_embedded=_ONE_USER),
    Check(name="admission-policies", look=installation.policies, needs=("kubernetes-version",), not_embedded=_ONE_USER),
    Check(name="site-configuration", look=site.site),
    Check(name="queues", look=queues.queues, needs=("volcano-crds",)),
    Check(name="users", look=users.users),
    Check(
        name="storage",
        look=storage.storage,
        needs=("site-configuration",),
        not_embedded="the engine's pods see this machine's files",
    ),
    Check(name="history", look=history.history, not_embedded="the engine keeps it in a file of its own"),
    Check(
        name="job-pods",
        look=job_pods.job_pods,
        needs=("site-configuration",),
        not_embedded="the engine has no Pod Security and no policies",
    ),
    Check(
        name="shared-storage",
        look=storage_probe.shared_storage,
        is_probe=True,
        needs=("nodes", "site-configuration"),
        not_embedded="the engine's nodes are all this machine",
    ),
    Check(
        name="network-policies",
        look=network_probe.network_policies,
        is_probe=True,
        needs=("nodes", "volcano-scheduler", "volcano-controllers"),
        of_volcano=True,
        not_embedded="the engine's pods are all one user's",
    ),
)
LEFT_OVERS = Reporter("left-overs")


def run(cluster: Cluster) -> Iterator[Finding]:
    """Look at everything, telling each finding as it comes. UnreachableError and UnauthorizedError end it."""
    faulty: set[str] = set()
    if cluster.options.probes:
        yield from _guarded(Check(name=LEFT_OVERS.check, look=_remove_left_overs), cluster)
    for check in CHECKS:
        if reason := _no_point(check, cluster, faulty):
            yield Reporter(check.name).skipped(check.name, reason)
            continue
        for finding in _guarded(check, cluster):
            if finding.level is Level.ERROR:
                faulty.add(finding.check)
            yield finding


def exit_code(findings: Sequence[Finding]) -> int:
    return 1 if any(finding.level is Level.ERROR for finding in findings) else 0


def _no_point(check: Check, cluster: Cluster, faulty: set[str]) -> str:
    if check.of_volcano is not None and check.of_volcano is not cluster.scheduler.makes_pods:
        return f"does not apply: the site's scheduler is {cluster.scheduler}"
    if check.not_embedded and cluster.is_embedded:
        return f"does not apply: {check.not_embedded}"
    if check.is_probe and not cluster.options.probes:
        return "not tried (--no-probes)"
    missing = [name for name in check.needs if name in faulty]
    return f"not looked at: first mend {', '.join(missing)}" if missing else ""


def _guarded(check: Check, cluster: Cluster) -> Iterator[Finding]:
    say = Reporter(check.name)
    try:
        yield from check.look(cluster)
    except ForbiddenError as error:
        yield say.unknown(check.name, forbidden_words(error), "ask as somebody with more rights (cluster-admin)")
    except UnauthorizedError:
        raise
    except ApiError as error:
        yield say.unknown(check.name, f"the API server answers: {one_line(error.message)}")


def _remove_left_overs(cluster: Cluster) -> Iterator[Finding]:
    if count := remove_left_overs(cluster, cluster.now):
        what = "object" if count == 1 else "objects"
        yield LEFT_OVERS.ok("left-overs", f"{count} {what} of a check that was killed removed")
