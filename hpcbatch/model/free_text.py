"""The texts that a job's submitter chooses freely, and the check that rejects some of them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hpcbatch.errors import HpcBatchError
from hpcbatch.model.spec import JobSpec
from hpcbatch.model.text import is_printable, printable

_SERVER = re.compile(r"[^\s;|]+")
_HOST = re.compile(r"[^\s;|]*")
_ATTRIBUTE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:+-]*")
_LONGEST_SHOWN = 60


def check_text(spec: JobSpec) -> None:
    """Raise HpcBatchError for a text that would act on other users' terminals. The command's words and the script's
    arguments may be anything: they belong to the job, and listings escape them.
    """
    for what, text in free_text(spec):
        if not is_printable(text):
            raise HpcBatchError(f"{what} {_quoted(text)} has a character that cannot be printed")
    if not _SERVER.fullmatch(spec.server):
        raise HpcBatchError(f"{_quoted(spec.server)} is not the name of a server")
    if not _HOST.fullmatch(spec.submit_host):
        raise HpcBatchError(f"{_quoted(spec.submit_host)} is not the name of a host")
    for name in spec.attributes:
        if not _ATTRIBUTE.fullmatch(name):
            raise HpcBatchError(f"{_quoted(name)} is not the name of an attribute")


def free_text(spec: JobSpec) -> Iterator[tuple[str, str]]:
    """Each text with its description."""
    given = {
        "job name": spec.name,
        "queue": spec.queue,
        "account": spec.account,
        "shell": spec.interpreter,
        "script's path": spec.script_path,
        "working directory": spec.work_dir,
        "submission directory": spec.submit_dir,
        "submission host": spec.submit_host,
        "server": spec.server,
        "output path": spec.stdout.path,
        "error path": None if spec.stderr is None else spec.stderr.path,
        "image": spec.image,
        "mail points": spec.mail_points,
    }
    yield from ((what, text) for what, text in given.items() if text)
    yield from (("mail address", user) for user in spec.mail_users)
    yield from (("resource", name) for name in spec.resource_names)
    yield from (("property", name) for name in spec.property_names)
    yield from spec.attributes.items()


def _quoted(text: str) -> str:
    shown = printable(text)
    return f"'{shown if len(shown) <= _LONGEST_SHOWN else f'{shown[:_LONGEST_SHOWN]}...'}'"
