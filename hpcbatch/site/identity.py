"""The user of a namespace: read from annotations that only the admin writes, never from the job itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hpcbatch.dataclass import dataclass
from hpcbatch.errors import HpcBatchError
from hpcbatch.typed import Any

USER, UID, GID, HOME = (f"hpcbatch.io/{name}" for name in ("user", "uid", "gid", "home"))
GROUPS = "hpcbatch.io/groups"
"""`1000:alice,2000:wrf`: supplementary groups, gid and name; may be missing."""
DISABLED = "hpcbatch.io/disabled"
"""`"true"`: no new job of this user is admitted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    user: str
    uid: int
    gid: int
    home: str
    groups: tuple[tuple[int, str], ...] = ()
    is_disabled: bool = False


def identity_of(namespace: Mapping[str, Any]) -> Identity:
    """The user of a namespace. Raises HpcBatchError if the admin has assigned none."""
    notes = namespace["metadata"].get("annotations") or {}
    try:
        return Identity(
            user=notes[USER],
            uid=int(notes[UID]),
            gid=int(notes[GID]),
            home=notes[HOME],
            groups=_groups(notes.get(GROUPS, "")),
            is_disabled=notes.get(DISABLED) == "true",
        )
    except (KeyError, ValueError):
        name = namespace["metadata"]["name"]
        raise HpcBatchError(
            f"namespace {name} is no user's: expected the annotations {USER}, {UID}, {GID}, {HOME}"
        ) from None


def groups_note(groups: Iterable[tuple[int, str]]) -> str:
    """As GROUPS has them; without names that cannot stand there."""
    return ",".join(f"{gid}:{name}" for gid, name in groups if not set(name) & set(",:"))


def _groups(text: str) -> tuple[tuple[int, str], ...]:
    pairs = (part.split(":") for part in text.split(",") if part)
    return tuple((int(gid), name) for gid, name in pairs)
