"""Whether the pods of a user's jobs would be admitted: a server-side dry run of one, as the controller makes it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from hpcbatch.admin.check.cluster import Cluster
from hpcbatch.admin.check.finding import Finding, Reporter, one_line
from hpcbatch.admin.check.nodes import takes_pods
from hpcbatch.admin.check.storage import users_of
from hpcbatch.api.port import Object
from hpcbatch.api.resources import PODS
from hpcbatch.errors import ApiError, ForbiddenError, HpcBatchError
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.site import SiteConfig
from hpcbatch.model.spec import JobSpec
from hpcbatch.policy.place import objects, place
from hpcbatch.site.identity import Identity

if TYPE_CHECKING:
    from jinja2 import BaseLoader

_SAY = Reporter("job-pods")
_SYSCTL = "net.ipv4.ip_unprivileged_port_start"


def job_pods(cluster: Cluster) -> Iterable[Finding]:
    people = tuple(users_of(cluster.user_namespaces))
    if not people:
        yield _SAY.skipped("pods of jobs", "there is no user to try one as")
    site = cluster.site
    if site.config.strict_groups:
        yield judge_groups(cluster.nodes)
    for namespace, identity in people:
        subject = f"pods of {identity.user}'s jobs"
        try:
            pod = sample_pod(namespace, identity, site.config, site.site.loader if site.site else None)
        except HpcBatchError as error:
            yield _SAY.unknown(subject, f"the job template gives none: {one_line(str(error))}")
            continue
        try:
            cluster.api.create(PODS, pod, namespace, dry_run=True)
        except ApiError as error:
            yield judge_refusal(error, subject, namespace)
        else:
            yield _SAY.ok(subject, f"admitted, sshd on port {site.config.ssh_port} included")


def judge_groups(found: Sequence[Object]) -> Finding:
    """Whether the nodes can give a job its user's groups alone: else the kubelet refuses its pods."""
    subject, usable = "groups of jobs", [node for node in found if takes_pods(node)]
    lacking = [node["metadata"]["name"] for node in usable if not _knows_strict(node)]
    if lacking:
        few = ", ".join(lacking[:3]) + (f" and {len(lacking) - 3} more" if len(lacking) > 3 else "")
        return _SAY.error(
            subject,
            f"{few}: its container runtime knows no supplementalGroupsPolicy: Strict, so it refuses jobs' pods",
            "containerd 2.0 or CRI-O 1.31 on all nodes, or `strictGroups: false` in the site configuration",
        )
    return _SAY.ok(subject, "the user's alone, whatever the image says")


def _knows_strict(node: Object) -> bool:
    return bool(((node.get("status") or {}).get("features") or {}).get("supplementalGroupsPolicy"))


def judge_refusal(error: ApiError, subject: str, namespace: str) -> Finding:
    """Admission's words name the culprit; a Forbidden by RBAC is the admin's own."""
    text = one_line(error.message)
    if isinstance(error, ForbiddenError) and 'cannot create resource "pods"' in text:
        raise error
    if "sysctl" in text:
        mend = f"allow the safe sysctl {_SYSCTL} for these pods, or set `sshPort` above 1023 in the site configuration"
        return _SAY.error(subject, f"refused for the sysctl that sshd's port needs: {text}", mend)
    if "PodSecurity" in text:
        mend = f"kubectl label namespace {namespace} --overwrite pod-security.kubernetes.io/enforce=…, see `users`"
        return _SAY.error(subject, f"refused by Pod Security: {text}", mend)
    if "exceeded quota" in text:
        return _SAY.warning(subject, f"the quota is used up: {text}", f"kubectl -n {namespace} describe resourcequota")
    return _SAY.error(subject, f"refused: {text}", "mend the policy or webhook that it names")


def sample_pod(namespace: str, user: Identity, site: SiteConfig, loader: BaseLoader | None) -> Object:
    """A pod of a job of two pods, so that it has all that ssh needs. HpcBatchError where the template gives none."""
    spec = JobSpec(dialect=Dialect.PBS, name="check", chunks=(Chunk(count=2),), submit_dir=user.home)
    queue = site.queue(site.default_queue)
    if queue is None:
        raise HpcBatchError(f"the default queue {site.default_queue} is none of the site's")
    made = objects(
        place(1, spec, spec.chunks, queue=queue, site=site, owner=user),
        site,
        submission_secret="check",  # noqa: S106  a name, not a secret
        namespace=namespace,
        loader=loader,
    )
    template = made[-1]["spec"]["tasks"][0]["template"]
    metadata = {**(template.get("metadata") or {}), "name": "hpcbatch-check"}
    # as it is made
    spec_of_pod = {**template["spec"], "schedulerName": site.scheduler_name}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec_of_pod}
