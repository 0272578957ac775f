"""The site's volumes as users' jobs will mount them: there, bound, shared by all nodes, and the home on one of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath

from hpcbatch.admin.check.cluster import Cluster
from hpcbatch.admin.check.finding import Finding, Reporter
from hpcbatch.api.port import Object
from hpcbatch.api.resources import PVCS
from hpcbatch.errors import HpcBatchError, NotFoundError
from hpcbatch.model.site import Volume
from hpcbatch.site.identity import Identity, identity_of

_SAY = Reporter("storage")
_MANY = {"ReadWriteMany", "ReadOnlyMany"}


def storage(cluster: Cluster) -> Iterable[Finding]:
    volumes = cluster.site.config.volumes
    if not volumes:
        yield _SAY.error(
            "volumes",
            "the site configuration mounts none: what jobs write is lost with their pods",
            "name the shared file systems under `volumes`: docs/site.md",
        )
        return
    yield from judge_sources(volumes, len(cluster.nodes))
    people = tuple(users_of(cluster.user_namespaces))
    if not people:
        yield _SAY.skipped("users' volumes", "there is no user's namespace yet")
    for namespace, identity in people:
        yield from judge_home(identity, volumes)
        for volume in volumes:
            claim = volume.source.get("persistentVolumeClaim")
            if claim is not None:
                name = str(claim["claimName"])
                yield judge_claim(_claim(cluster, namespace, name), name, namespace, volume, len(cluster.nodes))


def users_of(namespaces: Sequence[Object]) -> Iterator[tuple[str, Identity]]:
    """Namespace and identity of each user whose annotations can be read; `users` reports the others."""
    for namespace in namespaces:
        try:
            yield namespace["metadata"]["name"], identity_of(namespace)
        except HpcBatchError:
            continue


def judge_sources(volumes: Sequence[Volume], nodes: int) -> Iterator[Finding]:
    """What follows from the configuration alone."""
    for volume in volumes:
        subject = f"volume {volume.name} at {volume.mount_path}"
        if "hostPath" in volume.source and nodes > 1:
            path = volume.source["hostPath"]["path"]
            yield _SAY.warning(
                subject,
                f"hostPath {path}: must be the same shared file system on each of {nodes} nodes",
                f"mount it on every node (`findmnt {path}`), or use a PersistentVolumeClaim: hostPath also keeps Pod "
                'Security "restricted" from the users\' namespaces',
            )
        elif "emptyDir" in volume.source:
            seen = "emptyDir: each pod has one of its own, gone with the pod"
            yield _SAY.warning(subject, seen, "right for scratch only; homes need a shared file system")
        else:
            yield _SAY.ok(subject, " and ".join(volume.source))


def judge_home(identity: Identity, volumes: Sequence[Volume]) -> Iterator[Finding]:
    """A home outside of all volumes would be the image's, and lost."""
    home, on = identity.home, volume_of(identity.home, volumes)
    subject = f"home of {identity.user}"
    if on is None:
        yield _SAY.error(
            subject,
            f"{home} lies on no volume: output files and everything else there are lost with the pod",
            f"mount a volume at {home} or above it, or change the home: `hpcbatch user add {identity.user} --home …`",
        )
    elif on.read_only:
        seen = f"{home} lies on volume {on.name}, which is mounted read-only: no output file can be written"
        yield _SAY.error(subject, seen, f"remove readOnly from volume {on.name}")


def volume_of(path: str, volumes: Sequence[Volume]) -> Volume | None:
    """The volume on which `path` lies in the pods; None: on none, but in the image."""
    holding = [volume for volume in volumes if PurePosixPath(path).is_relative_to(volume.mount_path)]
    return max(holding, key=lambda volume: len(volume.mount_path), default=None)


def judge_claim(claim: Object | None, name: str, namespace: str, volume: Volume, nodes: int) -> Finding:
    """`claim` is the PersistentVolumeClaim, None if there is none; `nodes` is how many must share it."""
    subject = f"claim {namespace}/{name}"
    if claim is None:
        return _SAY.error(
            subject,
            f"not there, but mounted at {volume.mount_path} in every job: its pods stay Pending",
            f"create PersistentVolumeClaim {name} in namespace {namespace}, bound to the shared file system",
        )
    phase = str((claim.get("status") or {}).get("phase") or "Pending")
    if phase != "Bound":
        return _SAY.error(subject, f"is {phase}, not Bound", f"kubectl -n {namespace} describe pvc {name}")
    modes = set((claim.get("status") or {}).get("accessModes") or claim["spec"].get("accessModes") or [])
    if not modes & _MANY and nodes > 1:
        return _SAY.error(
            subject,
            f"{', '.join(sorted(modes))}: pods on more than one of the {nodes} nodes cannot mount it",
            "use a storage class that gives ReadWriteMany (NFS, CephFS, Lustre …)",
        )
    if modes & _MANY == {"ReadOnlyMany"} and not volume.read_only:
        seen = "ReadOnlyMany, but not mounted read-only"
        return _SAY.error(subject, seen, f"set `readOnly: true` on volume {volume.name}, or use ReadWriteMany")
    return _SAY.ok(subject, f"Bound, {', '.join(sorted(modes))}")


def _claim(cluster: Cluster, namespace: str, name: str) -> Object | None:
    try:
        return cluster.api.get(PVCS, name, namespace)
    except NotFoundError:
        return None
