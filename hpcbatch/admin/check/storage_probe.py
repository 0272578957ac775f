"""Try it: what a user writes into the home on one node must be there on another, and be the user's own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from hpcbatch.admin.check.cluster import Cluster
from hpcbatch.admin.check.finding import Finding, Reporter, one_line
from hpcbatch.admin.check.nodes import takes_pods
from hpcbatch.admin.check.probe import LIFETIME_S, Probe, exit_codes, how_it_ended, probe_in, probe_security
from hpcbatch.admin.check.storage import users_of, volume_of
from hpcbatch.api.port import Object
from hpcbatch.api.resources import PODS
from hpcbatch.errors import ApiError, ForbiddenError
from hpcbatch.model.site import SiteConfig
from hpcbatch.site.identity import Identity

_SAY = Reporter("shared-storage")
_MOST = 3
"""Users to try it as, unless they are named: each takes some ten seconds."""
_START_S = 60.0
"""For a pod to be there: volumes mounted, image pulled."""
_SEEN_S = 30
"""NFS clients may keep that nothing was there for so long (acdirmin)."""
_NOT_SEEN = 9

# $1: the file. The file has the name that only this probe knows; what others left behind goes first.
_WRITE = """set -eu
rm -f -- "${1%/*}"/.hpcbatch-check-*
echo "$1" >"$1"
[ -O "$1" ] || { echo 'it is not owned by the user who wrote it'; exit 1; }
"""
_KEEP = """file=$1
trap 'rm -f -- "$file"; exit 0' TERM INT
n=0
while [ $n -lt "$2" ]; do sleep 1 & wait $!; n=$((n + 1)); done
rm -f -- "$file"
"""
_READ = """n=0
while [ $n -lt "$2" ]; do
  [ "$(cat -- "$1" 2>/dev/null)" = "$1" ] && exit 0
  sleep 1
  n=$((n + 1))
done
exit 9
"""


def shared_storage(cluster: Cluster) -> Iterable[Finding]:
    volumes = cluster.site.config.volumes
    people = [one for one in users_of(cluster.user_namespaces) if volume_of(one[1].home, volumes)]
    if not people:
        yield _SAY.skipped("homes on two nodes", "there is no user with a home on a volume")
        return
    if len(people) > _MOST and not cluster.options.users:
        seen = f"{len(people) - _MOST} more users are not tried: `hpcbatch check --user NAME` tries the one named"
        yield _SAY.skipped("homes on two nodes", seen)
        people = people[:_MOST]
    nodes = [node["metadata"]["name"] for node in cluster.nodes if takes_pods(node)][:2]
    if not nodes:
        yield _SAY.unknown("homes on two nodes", "no node takes pods")
        return
    image = cluster.probe_image
    if image is None:
        yield _SAY.unknown("homes on two nodes", "no image to try it with: neither the site nor the controller has one")
        return
    for namespace, identity in people:
        with probe_in(cluster, namespace) as probe:
            yield from _try(probe, identity, nodes, image)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """Who tries it, and with what."""

    user: Identity
    site: SiteConfig
    image: str
    file: str
    """In the user's home, with a name that only this trial knows."""


def _try(probe: Probe, identity: Identity, nodes: list[str], image: str) -> Iterator[Finding]:
    subject = f"home of {identity.user} on {' and '.join(nodes)}"
    file = f"{identity.home.rstrip('/')}/.{probe.name}"
    trial = Trial(user=identity, site=probe.cluster.site.config, image=image, file=file)
    writer, reader = f"{probe.name}-write", f"{probe.name}-read"
    try:
        probe.create(PODS, writer_pod(trial, writer, nodes[0]))
        pod = probe.wait_for_phase(writer, ("Running",), _START_S)
        if pod is None or pod["status"]["phase"] != "Running":
            why = one_line(how_it_ended(pod or probe.pod(writer)))
            yield _SAY.error(
                subject,
                f"{identity.user} cannot write {identity.home} on {nodes[0]}: {why}",
                f"the directory must be there, belong to uid {identity.uid}, and be writable over the volume "
                "(NFS: no all_squash)",
            )
            return
        if len(nodes) == 1:
            yield _SAY.ok(subject, f"{identity.user} can write there; there is no second node to look from")
            return
        probe.create(PODS, reader_pod(trial, reader, nodes[1]))
        pod = probe.wait_for_phase(reader, (), _START_S + _SEEN_S)
    except ForbiddenError as error:
        if 'cannot create resource "pods"' in error.message:
            raise
        yield _SAY.error(subject, f"the pod to try it is refused: {one_line(error.message)}", "see `job-pods`")
        return
    except ApiError as error:
        yield _SAY.unknown(subject, f"cannot be tried: {one_line(error.message)}")
        return
    yield judge_reader(pod or probe.pod(reader), subject, identity, nodes)


def judge_reader(pod: Object, subject: str, identity: Identity, nodes: list[str]) -> Finding:
    phase = (pod.get("status") or {}).get("phase")
    if phase == "Succeeded":
        return _SAY.ok(subject, f"what {identity.user} writes on {nodes[0]} is there on {nodes[1]}")
    if phase == "Failed" and _NOT_SEEN in exit_codes(pod):
        return _SAY.error(
            subject,
            f"a file written on {nodes[0]} is not there on {nodes[1]} after {_SEEN_S} s: not the same file system",
            f"mount the shared file system on {nodes[1]} too, or use a ReadWriteMany claim",
        )
    return _SAY.error(
        subject,
        f"the pod on {nodes[1]} does not get as far as reading: {one_line(how_it_ended(pod))}",
        f"on {nodes[1]}: `kubectl describe node {nodes[1]}`; can it mount the volumes?",
    )


def writer_pod(trial: Trial, name: str, node: str) -> Object:
    """Writes the file, then stays, and removes it at its end."""
    pod = _pod(trial, name, node)
    write = _container(trial, "write", _WRITE)
    keep = _container(trial, "keep", _KEEP, str(LIFETIME_S - 30))
    pod["spec"] |= {"initContainers": [write], "containers": [keep]}
    return pod


def reader_pod(trial: Trial, name: str, node: str) -> Object:
    """Ends with 0 as soon as the file is there, with _NOT_SEEN if it never is."""
    pod = _pod(trial, name, node)
    pod["spec"]["containers"] = [_container(trial, "read", _READ, str(_SEEN_S))]
    return pod


def _pod(trial: Trial, name: str, node: str) -> Object:
    user = trial.user
    security, _ = probe_security(user.uid, user.gid)
    groups = [gid for gid, _ in user.groups]
    return {
        "metadata": {"name": name},
        "spec": {
            "nodeName": node,  # no scheduler is asked: the node may be full, the probe needs no room
            "restartPolicy": "Never",
            "activeDeadlineSeconds": LIFETIME_S,
            "terminationGracePeriodSeconds": 5,
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "securityContext": security | ({"supplementalGroups": groups} if groups else {}),
            "volumes": [{"name": f"v{n}", **volume.source} for n, volume in enumerate(trial.site.volumes)],
        },
    }


def _container(trial: Trial, name: str, script: str, *arguments: str) -> Object:
    _, security = probe_security()
    mounts = [
        {
            "name": f"v{n}",
            "mountPath": volume.mount_path,
            "readOnly": volume.read_only,
            **({"subPath": volume.sub_path} if volume.sub_path else {}),
        }
        for n, volume in enumerate(trial.site.volumes)
    ]
    return {
        "name": name,
        "image": trial.image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["/bin/sh", "-c", script, "sh", trial.file, *arguments],
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "securityContext": security,
        "volumeMounts": mounts,
    }
