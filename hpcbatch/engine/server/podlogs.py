"""The log of a container: from the agent's file, in CRI's form, to what `kubectl logs` requested.

A line of the file is `2026-11-21T10:16:45.296905479Z stdout F text`; P instead of F says that the line goes on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import BinaryIO

from hpcbatch.api.port import Object
from hpcbatch.engine.registry.statuses import INVALID, Cause, bad_request
from hpcbatch.engine.server.request import flag, integer
from hpcbatch.errors import HpcBatchError, InvalidError
from hpcbatch.units import parse_rfc3339

_BLOCK = 64 * 1024
_DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container"


@dataclass(frozen=True, slots=True)
class LogOptions:
    container: str
    follow: bool = False
    previous: bool = False
    timestamps: bool = False
    tail_lines: int | None = None
    limit_bytes: int | None = None
    since: datetime | None = None


def log_options(pod: Object, query: Mapping[str, str], now: datetime) -> LogOptions:
    """Read the parameters. Raises ApiError 400, 422."""
    name = pod["metadata"]["name"]
    causes: list[Cause] = []
    tail = integer(query, "tailLines")
    if tail is not None and tail < 0:
        causes.append(Cause(INVALID, "tailLines", f"Invalid value: {tail}: must be greater than or equal to 0"))
    seconds, limit = integer(query, "sinceSeconds"), integer(query, "limitBytes")
    for word, value in (("sinceSeconds", seconds), ("limitBytes", limit)):
        if value is not None and value < 1:
            causes.append(Cause(INVALID, word, f"Invalid value: {value}: must be greater than 0"))
    if seconds is not None and query.get("sinceTime"):
        message = "Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified"
        causes.append(Cause("FieldValueForbidden", "[]", message))
    if query.get("stream", "All") != "All":
        causes.append(Cause("FieldValueForbidden", "stream", "Forbidden: may not be specified"))
    if causes:
        faults = ", ".join(f"{cause.field}: {cause.message}" for cause in causes)
        raise InvalidError(422, "Invalid", f'PodLogOptions "{name}" is invalid: {faults}')
    since: datetime | None = None
    if query.get("sinceTime"):
        try:
            since = parse_rfc3339(query["sinceTime"])
        except HpcBatchError:
            text = query["sinceTime"]
            raise bad_request(
                f'parsing time "{text}" as "2006-01-02T15:04:05Z07:00": cannot parse "{text}" as "2006"'
            ) from None
    elif seconds is not None:
        since = now - timedelta(seconds=seconds)
    return LogOptions(
        container=container_name(pod, query.get("container", "")),
        follow=flag(query, "follow"),
        previous=flag(query, "previous"),
        timestamps=flag(query, "timestamps"),
        tail_lines=tail,
        limit_bytes=limit,
        since=since,
    )


def container_name(pod: Object, asked: str) -> str:
    """The container that was asked for, or the one that is meant without. Raises ApiError 400."""
    name, spec = pod["metadata"]["name"], pod["spec"]
    names = [
        item["name"]
        for word in ("initContainers", "containers", "ephemeralContainers")
        for item in spec.get(word) or ()
    ]
    if asked:
        if asked not in names:
            raise bad_request(f"container {asked} is not valid for pod {name}")
        return asked
    if len(names) == 1:
        return str(names[0])
    default = (pod["metadata"].get("annotations") or {}).get(_DEFAULT_CONTAINER)
    if default in names:
        return str(default)
    raise bad_request(f"a container name must be specified for pod {name}, choose one of: [{' '.join(names)}]")


def container_status(pod: Object, container: str) -> Object:
    status = pod.get("status") or {}
    for word in ("initContainerStatuses", "containerStatuses"):
        for item in status.get(word) or ():
            if item.get("name") == container:
                return dict(item)
    return {}


def has_ended(pod: Object, container: str) -> bool:
    """Whether the container will write no more."""
    if (pod.get("status") or {}).get("phase") in {"Succeeded", "Failed"}:
        return True
    state = container_status(pod, container).get("state") or {}
    return "terminated" in state and pod["spec"].get("restartPolicy") == "Never"


def check_started(pod: Object, container: str) -> None:
    """Refuse to read the log of a container that has not run yet. Raises ApiError 400."""
    name = pod["metadata"]["name"]
    status = container_status(pod, container)
    state = status.get("state") or {}
    if (pod.get("status") or {}).get("phase") in {"Succeeded", "Failed"} or status.get("lastState"):
        return
    if "running" not in state and "terminated" not in state:
        reason = (state.get("waiting") or {}).get("reason") or "ContainerCreating"
        raise bad_request(f'container "{container}" in pod "{name}" is waiting to start: {reason}')


class LogReader:
    """Reads one log file from its start, and what is added to it; not yet finished lines stay for the next time."""

    def __init__(self, path: Path, options: LogOptions) -> None:
        self._options = options
        self._file: BinaryIO = path.open("rb")
        self._rest = b""
        self._left = options.limit_bytes
        self._in_line = False
        if options.tail_lines is not None:
            self._seek_tail(options.tail_lines)

    def close(self) -> None:
        self._file.close()

    @property
    def exhausted(self) -> bool:
        """Whether limitBytes has been reached."""
        return self._left is not None and self._left <= 0

    def read(self) -> bytes:
        """What there is now and was not read yet, up to a block; b"" if nothing."""
        while not self.exhausted:
            block = self._file.read(_BLOCK)
            if not block:
                return b""
            text = self._rest + block
            end = text.rfind(b"\n") + 1
            self._rest = text[end:]
            out = b"".join(self._shown(line) for line in text[:end].splitlines(keepends=True))
            if self._left is not None:
                out = out[: self._left]
                self._left -= len(out)
            if out:
                return out
        return b""

    def _shown(self, line: bytes) -> bytes:
        parts = line.rstrip(b"\n").split(b" ", 3)
        if len(parts) < 3:
            return b""
        when, tag = parts[0], parts[2]
        text = parts[3] if len(parts) > 3 else b""
        if self._options.since is not None and _time(when) < self._options.since:
            return b""
        prefix = when + b" " if self._options.timestamps and not self._in_line else b""
        self._in_line = tag.startswith(b"P")
        return prefix + text + (b"" if self._in_line else b"\n")

    def _seek_tail(self, count: int) -> None:
        """Go to the first of the last `count` lines, reading the file from its end."""
        position = self._file.seek(0, 2)
        if count == 0:
            return
        tail = b""
        while position > 0:
            step = min(_BLOCK, position)
            position -= step
            self._file.seek(position)
            tail = self._file.read(step) + tail
            # a line more than requested: its end is where the wanted ones begin
            if _whole_lines(tail) > count:
                break
        self._file.seek(position + _tail_offset(tail, count))


def _ends_line(line: bytes) -> bool:
    parts = line.split(b" ", 3)
    return len(parts) > 2 and parts[2].startswith(b"F")


def _whole_lines(text: bytes) -> int:
    return sum(1 for line in text.split(b"\n") if _ends_line(line))


def _tail_offset(text: bytes, count: int) -> int:
    """Where the last `count` lines of output begin; partial ones belong to the line that they begin."""
    offset = len(text)
    lines = text.splitlines(keepends=True)
    ends = 0
    for line in reversed(lines):
        if _ends_line(line):
            ends += 1
            if ends > count:
                return offset
        offset -= len(line)
    return 0


def _time(text: bytes) -> datetime:
    """The time of a line. Python keeps microseconds, the file has nanoseconds."""
    stamp = text.decode("ascii", "replace")
    whole, dot, fraction = stamp.rstrip("Z").partition(".")
    return parse_rfc3339(f"{whole}{dot}{fraction[:6]}+00:00")
