"""Values of options, as click's callbacks read them."""

from __future__ import annotations

import click

from hpcbatch.errors import HpcBatchError
from hpcbatch.units import memory_bytes


def memory(context: click.Context, parameter: click.Parameter, text: str | None) -> int | None:
    """Memory as Kubernetes writes it, `4Gi`, or shorter, `4G`: both are 4 GiB here, as in PBS and Slurm."""
    if text is None:
        return None
    number = text.strip().upper().removesuffix("B").removesuffix("I")
    try:
        size = memory_bytes(number + "i" if number[-1:].isalpha() else number)
    except HpcBatchError:
        size = 0
    if size <= 0:
        raise click.BadParameter(
            f"{text!r} is no amount of memory: expected for example 4G or 512M", context, parameter
        )
    return size
