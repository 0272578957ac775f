"""scontrol's requests for administrators of Slurm: hpcbatch refuses them in the words that Slurm has for users."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hpcbatch.dialects.slurm.errors import SlurmUsageError
from hpcbatch.typed import NamedTuple

_INVALID_USER = "Invalid user id"


class Request(NamedTuple):
    least: int
    """So many letters of the keyword must be written."""
    most_words: int
    least_words: int
    text: str
    """What Slurm says. `{0}` is the first word behind the keyword."""
    why: str
    """What is so here."""
    missing: str = "too few arguments for keyword:{keyword}"


_SITE = "the site's administrator changes hpcbatch's site.yaml, which is read anew by itself"
_OBJECTS = "partitions and reservations are made and deleted here"
REQUESTS: Mapping[str, Request] = {
    "abort": Request(5, 0, 0, f"slurm_shutdown error: {_INVALID_USER}", "there is no slurmctld"),
    "cancel_reboot": Request(
        3,
        1,
        1,
        f"slurm_update error: {_INVALID_USER}",
        "nodes are not rebooted from here",
        "missing argument for keyword:{keyword}",
    ),
    "create": Request(
        2, 64, 1, f"Error creating the {{0}}: {_INVALID_USER}", _OBJECTS, "too few arguments for {keyword} keyword"
    ),
    "delete": Request(
        1, 2, 1, f"delete_{{0}} {{1}}: {_INVALID_USER}", _OBJECTS, "too few arguments for {keyword} keyword"
    ),
    "fsdampeningfactor": Request(3, 1, 1, "slurm_set_fs_dampeningfactor error: Permission denied", _SITE),
    "notify": Request(
        1,
        1024,
        2,
        "job notify failure: Requested operation is presently disabled",
        "a job's output is written by the job alone",
    ),
    "reboot_nodes": Request(
        3,
        64,
        1,
        "scontrol: error: RebootProgram isn't defined\nscontrol_reboot_nodes error: Unspecified error",
        "nodes are not rebooted from here",
        "Missing node list. Specify ALL|<NodeList>",
    ),
    "reconfigure": Request(3, 64, 0, f"slurm_reconfigure error: {_INVALID_USER}", _SITE),
    "schedloglevel": Request(3, 1, 1, "slurm_set_schedlog_level error: Permission denied", _SITE),
    "setdebugflags": Request(9, 1, 1, "slurm_set_debug_flags error: Permission denied", _SITE),
    "setdebug": Request(2, 1, 1, "slurm_set_debug_level error: Permission denied", _SITE),
    "shutdown": Request(8, 1, 0, f"slurm_shutdown error: {_INVALID_USER}", "there is no slurmctld"),
    "takeover": Request(
        8,
        1,
        0,
        "slurm_takeover error: Unable to contact slurm controller (connect failure)",
        "Kubernetes chooses which of several controllers leads",
    ),
    "token": Request(3, 2, 0, "Error fetching token", "kubeconfigs hold the tokens"),
}
"""Least letters: _process_command() of scontrol.c, in whose order those stand of which one begins as the other."""
_ENTITIES = ("reservation", "partition")


def refusal(keyword: str, word: str, rest: Sequence[str]) -> SlurmUsageError:
    """For the request `keyword`, written as `word`, with what stands behind it."""
    request = REQUESTS[keyword]
    if len(rest) < request.least_words:
        return SlurmUsageError(request.missing.format(keyword=word))
    if len(rest) > request.most_words:
        return SlurmUsageError(f"too many arguments for keyword:{word}")
    words = (*rest, "", "")
    if keyword in {"create", "delete"}:
        entity = _entity(rest[0])
        if entity is None:
            return SlurmUsageError(_NO_ENTITY[keyword].format(words[0]))
        words = (entity, rest[0])
    if keyword == "shutdown" and rest and rest[0].lower() not in {"slurmctld", "controller"}:
        return SlurmUsageError(f"invalid shutdown argument:{rest[0]}")
    return SlurmUsageError(f"{request.text.format(*words)}\nscontrol: hpcbatch: {request.why}")


_NO_ENTITY = {
    "create": "scontrol: error: Invalid creation entity: {0}",
    "delete": "scontrol: error: Proper format is 'delete <ENTITY>=<ID>' or 'delete <ENTITY> <ID>'",
}


def entity_of(words: Sequence[str]) -> str | None:
    """What `create` and `delete` are about: the first word that names one."""
    return next((entity for word in words if (entity := _entity(word)) is not None), None)


def _entity(word: str) -> str | None:
    name = word.partition("=")[0].lower()
    return next((entity for entity in _ENTITIES if len(name) > 2 and f"{entity}name".startswith(name)), None)
