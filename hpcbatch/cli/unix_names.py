"""Names and numbers of this machine's users and groups."""

from __future__ import annotations

from functools import cache


@cache
def uid_of(name: str) -> int | None:
    import pwd

    try:
        return pwd.getpwnam(name).pw_uid
    except KeyError:
        return None


@cache
def group_name(gid: int) -> str:
    """ "" where this machine knows no such group."""
    import grp

    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return ""
