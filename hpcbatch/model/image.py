"""Converts users' names of container images to the form of Kubernetes."""

from __future__ import annotations

import re

from hpcbatch.errors import HpcBatchError

MAX_LENGTH = 1024

_LABEL = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_HOST = rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[0-9a-fA-F:]+\])(?::[0-9]{{1,5}})?"
_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_IMAGE = (
    rf"(?a)(?:{_HOST}/)?{_PART}(?:/{_PART})*"
    r"(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?"
    r"(?:@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?"
)


def parse_image(text: str) -> str:
    """Read `[registry/]name[:tag][@digest]`, also in enroot's spelling `[docker://]registry#name[:tag]`, as the first.
    Raises HpcBatchError if `text` is anything else: a file, another scheme, with a user's name for the registry.
    Source: the grammar of distribution/reference, and enroot's import command.
    """
    if len(text) > MAX_LENGTH:
        raise HpcBatchError(f"the name of an image is longer than {MAX_LENGTH} characters")
    name = text.removeprefix("docker://")
    if "://" in name or name.startswith(("/", "./", "../")):
        raise HpcBatchError(f"{text!r} is no image in a registry: expected [registry/]name[:tag]")
    before, hash_sign, after = name.partition("#")
    if "@" in before and (hash_sign or not re.fullmatch(_IMAGE, before)):
        raise HpcBatchError(f"{text!r} names a user of the registry: the site has the keys to its registries")
    name = f"{before}/{after}" if hash_sign else name
    if not re.fullmatch(_IMAGE, name):
        raise HpcBatchError(f"{text!r} is not the name of an image: expected [registry/]name[:tag]")
    return name
