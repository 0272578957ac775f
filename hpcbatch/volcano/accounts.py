"""/etc/passwd and /etc/group of a job's pods, for images without the site's users: ssh and sshd refuse a user without a
name, and `~`, `id` and `ls -l` should show the same as on the login node.
"""

from __future__ import annotations

from hpcbatch.errors import HpcBatchError
from hpcbatch.model.placed import PlacedJob

_NOBODY = 65534
# Every image has /bin/sh, and sshd rejects a user whose shell does not exist. The runner chooses the shell that
# runs the script.
_SHELL = "/bin/sh"
_NO_LOGIN = "/usr/sbin/nologin"
# sshd is the privilege separation user on Debian, Red Hat and Alpine.
_SYSTEM_USERS = (
    ("root", 0, 0, "/root", _SHELL),
    ("sshd", 74, _NOBODY, "/run/sshd", _NO_LOGIN),
    ("nobody", _NOBODY, _NOBODY, "/nonexistent", _NO_LOGIN),
)
_SYSTEM_GROUPS = (("root", 0), ("nogroup", _NOBODY))


def passwd(job: PlacedJob) -> str:
    """The text of /etc/passwd. Raises HpcBatchError for an invalid name or directory."""
    users = [(job.owner, job.uid, job.gid, job.home, _SHELL)]
    users += [user for user in _SYSTEM_USERS if user[0] != job.owner and user[1] != job.uid]
    return "".join(f"{_field(name)}:x:{uid}:{gid}::{_field(home)}:{shell}\n" for name, uid, gid, home, shell in users)


def group(job: PlacedJob) -> str:
    """The text of /etc/group: the user's own group, named after the user if the site gives it no name, and the
    supplementary ones. Raises HpcBatchError for an invalid name.
    """
    named = {gid: name for gid, name in job.groups if name}
    if job.gid not in named and job.owner not in named.values():
        named[job.gid] = job.owner
    known = sorted(((name, gid) for gid, name in named.items()), key=lambda entry: entry[1] != job.gid)
    known += [(name, gid) for name, gid in _SYSTEM_GROUPS if gid not in named and name not in named.values()]
    members = {gid: job.owner for gid in named if gid != job.gid}
    return "".join(f"{_field(name)}:x:{gid}:{members.get(gid, '')}\n" for name, gid in known)


def _field(text: str) -> str:
    if not text or not text.isprintable() or ":" in text or "," in text:
        raise HpcBatchError(
            f"{text!r} cannot stand in /etc/passwd: expected text without ':', ',' or control characters"
        )
    return text
