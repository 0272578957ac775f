"""A pod's volumes as the pod host needs them: files to write, or paths to bind. Only hostPaths are read from disk."""

from __future__ import annotations

import base64
import os
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from hpcbatch.api.port import Object
from hpcbatch.api.resources import CONFIGMAPS, PODS, SECRETS, Resource
from hpcbatch.engine.agent.environment import Fetch, NotReadyError, object_files, pod_field, resource_field
from hpcbatch.units import memory_bytes

_DEFAULT_MODE = 0o644
_TYPE_CHECK = {
    "Directory": (stat.S_ISDIR, "a directory"),
    "File": (stat.S_ISREG, "a file"),
    "Socket": (stat.S_ISSOCK, "a socket"),
    "CharDevice": (stat.S_ISCHR, "a character device"),
    "BlockDevice": (stat.S_ISBLK, "a block device"),
}


@dataclass(frozen=True, slots=True)
class Volume:
    """`path` is where the pod host finds its content."""

    name: str
    path: str
    read_only: bool = False
    memory: bool = False
    """A tmpfs that the pod host makes, of `size_bytes` (0: no limit)."""
    size_bytes: int = 0
    make: bool = False
    """An emptyDir: the agent makes the directory before the pod starts, and removes it afterwards."""
    files: tuple[Mapping[str, Any], ...] | None = None
    """Content that the pod host writes: {path, mode, data}."""
    uses: tuple[tuple[str, str], ...] = field(default=())
    """Plural and name of the objects that the files come from; for a downwardAPI the pod itself."""


def failed_mount(volume: str, why: str) -> NotReadyError:
    return NotReadyError("FailedMount", f'MountVolume.SetUp failed for volume "{volume}" : {why}')


Share = Callable[[Mapping[str, Any], Object, Callable[[], Volume]], Volume]
"""See `shared_volumes.SharedVolumes.find`."""


def pod_volumes(
    pod: Object, fetch: Fetch, facts: Mapping[str, str], *, files_dir: str, empty_dir: str, share: Share | None = None
) -> list[Volume]:
    """All volumes of the pod. Raises NotReadyError for the first that does not exist (yet)."""
    result = []
    for volume in pod["spec"].get("volumes") or ():
        name = volume["name"]
        if "emptyDir" in volume:
            result.append(_empty_dir(name, volume["emptyDir"] or {}, files_dir, empty_dir))
        elif "hostPath" in volume:
            result.append(_host_path(name, volume["hostPath"]))
        else:
            make = partial(_files, pod, volume, fetch, facts, files_dir=files_dir)
            only = _only_configmap(volume) if share else None
            source = fetch(CONFIGMAPS, only) if only else None
            result.append(share(volume, source, make) if share and source is not None else make())
    return result


def _only_configmap(volume: Object) -> str | None:
    """Name of the ConfigMap that all files of the volume come from, if there is one."""
    sources = (volume.get("projected") or {}).get("sources") or (volume,)
    return str(sources[0]["configMap"].get("name", "")) if len(sources) == 1 and "configMap" in sources[0] else None


def _files(pod: Object, volume: Object, fetch: Fetch, facts: Mapping[str, str], *, files_dir: str) -> Volume:
    name = volume["name"]
    reader = _Files(pod, name, fetch, facts)
    reader.read(volume)
    files = tuple(reader.files[path] for path in sorted(reader.files))
    return Volume(name, f"{files_dir}/{name}", read_only=True, files=files, uses=tuple(sorted(reader.uses)))


def _empty_dir(name: str, source: Object, files_dir: str, empty_dir: str) -> Volume:
    limit = memory_bytes(source["sizeLimit"]) if source.get("sizeLimit") else 0
    if source.get("medium"):
        return Volume(name, f"{files_dir}/{name}", memory=True, size_bytes=limit, files=())
    return Volume(name, f"{empty_dir}/{name}", make=True)


def _host_path(name: str, source: Object) -> Volume:
    path, kind = source["path"], source.get("type") or ""
    place = Path(path)
    try:
        if kind == "DirectoryOrCreate":
            place.mkdir(parents=True, exist_ok=True, mode=0o755)
        elif kind == "FileOrCreate":
            place.touch(mode=0o644, exist_ok=True)
        mode = place.stat().st_mode
    except OSError as error:
        if kind or not isinstance(error, FileNotFoundError):
            raise failed_mount(name, f"hostPath type check failed: {path}: {error.strerror}") from None
        raise failed_mount(name, f"hostPath {path} does not exist") from None
    check, word = _TYPE_CHECK.get(kind.removesuffix("OrCreate"), (None, ""))
    if check is not None and not check(mode):
        raise failed_mount(name, f"hostPath type check failed: {path} is not {word}")
    return Volume(name, path)


class _Files:
    """Collects the files of one volume."""

    def __init__(self, pod: Object, volume: str, fetch: Fetch, facts: Mapping[str, str]) -> None:
        self._pod, self._volume, self._fetch, self._facts = pod, volume, fetch, facts
        self.files: dict[str, Mapping[str, Any]] = {}
        self.uses: set[tuple[str, str]] = set()

    def read(self, volume: Object) -> None:
        if "secret" in volume:
            self._object(SECRETS, volume["secret"].get("secretName", ""), volume["secret"], _DEFAULT_MODE)
        elif "configMap" in volume:
            self._object(CONFIGMAPS, volume["configMap"].get("name", ""), volume["configMap"], _DEFAULT_MODE)
        elif "downwardAPI" in volume:
            self._downward(volume["downwardAPI"], _DEFAULT_MODE)
        elif "projected" in volume:
            mode = volume["projected"].get("defaultMode") or _DEFAULT_MODE
            for source in volume["projected"].get("sources") or ():
                self._projected(source, mode)
        else:
            kinds = ", ".join(key for key in volume if key != "name")
            raise failed_mount(self._volume, f"volumes of kind {kinds} do not exist in the embedded engine")

    def _projected(self, source: Object, mode: int) -> None:
        if "secret" in source:
            self._object(SECRETS, source["secret"].get("name", ""), source["secret"], mode)
        elif "configMap" in source:
            self._object(CONFIGMAPS, source["configMap"].get("name", ""), source["configMap"], mode)
        elif "downwardAPI" in source:
            self._downward(source["downwardAPI"], mode)
        else:
            kinds = ", ".join(source)
            raise failed_mount(self._volume, f"projected sources of kind {kinds} do not exist in the embedded engine")

    def _object(self, resource: Resource, name: str, source: Object, mode: int) -> None:
        self.uses.add((resource.plural, name))
        mode = source.get("defaultMode") or mode
        obj = self._fetch(resource, name)
        if obj is None:
            if source.get("optional"):
                return
            raise failed_mount(self._volume, f'{resource.kind.lower()} "{name}" not found')
        data = object_files(obj)
        items: Sequence[Object] = source.get("items") or [{"key": key, "path": key} for key in data]
        for item in items:
            if item["key"] in data:
                self._add(item["path"], item.get("mode") or mode, data[item["key"]])
            elif not source.get("optional"):
                word = "secret" if resource is SECRETS else "config"
                raise failed_mount(self._volume, f"references non-existent {word} key: {item['key']}")

    def _downward(self, source: Object, mode: int) -> None:
        self.uses.add((PODS.plural, self._pod["metadata"]["name"]))
        mode = source.get("defaultMode") or mode
        for item in source.get("items") or ():
            if "fieldRef" in item:
                text = pod_field(self._pod, item["fieldRef"]["fieldPath"], self._facts)
            else:
                text = resource_field(self._pod, item["resourceFieldRef"], None, self._facts)
            self._add(item["path"], item.get("mode") or mode, text.encode())

    def _add(self, path: str, mode: int, data: bytes) -> None:
        parts = PurePosixPath(path).parts
        if not parts or path.startswith("/") or ".." in parts or parts[0].startswith(".."):
            raise failed_mount(self._volume, f"{path!r} is not a path inside the volume")
        self.files["/".join(parts)] = {
            "path": "/".join(parts),
            "mode": mode & 0o777,
            "data": base64.b64encode(data).decode(),
        }


def make_empty_dirs(volumes: Iterable[Volume], gid: int | None) -> None:
    """Make the directories of a pod's volumes; `gid` is the group that they are for. Raises NotReadyError."""
    for volume in volumes:
        if volume.make:
            path = Path(volume.path)
            try:
                path.parent.mkdir(exist_ok=True, mode=0o700)
                path.mkdir(exist_ok=True)
                if gid is not None:
                    os.chown(path, -1, gid)
                path.chmod(0o777 if gid is None else 0o2777)
            except OSError as error:
                raise failed_mount(volume.name, error.strerror or str(error)) from None
