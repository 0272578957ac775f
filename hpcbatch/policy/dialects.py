"""What each dialect knows of a job that is about to start: its variables, its host list, its output files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import hpcbatch.dialects.pbs.environment
import hpcbatch.dialects.pbs.output
import hpcbatch.dialects.slurm.attributes
import hpcbatch.dialects.slurm.environment
import hpcbatch.dialects.slurm.output
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.placed import OutputFiles, PlacedJob


@dataclass(frozen=True, slots=True, kw_only=True)
class DialectAtStart:
    environment: Callable[[PlacedJob], dict[str, str]]
    nodefile: Callable[[PlacedJob], str]
    output_files: Callable[[PlacedJob], OutputFiles]
    check_attributes: Callable[[Mapping[str, str]], None] = lambda _: None
    """Raises HpcBatchError for attributes that the dialect's own commands never make."""


DIALECTS: Mapping[Dialect, DialectAtStart] = {
    Dialect.PBS: DialectAtStart(
        environment=hpcbatch.dialects.pbs.environment.environment,
        nodefile=hpcbatch.dialects.pbs.environment.nodefile,
        output_files=hpcbatch.dialects.pbs.output.output_files,
    ),
    Dialect.SLURM: DialectAtStart(
        environment=hpcbatch.dialects.slurm.environment.environment,
        nodefile=hpcbatch.dialects.slurm.environment.nodefile,
        output_files=hpcbatch.dialects.slurm.output.output_files,
        check_attributes=hpcbatch.dialects.slurm.attributes.check,
    ),
}
