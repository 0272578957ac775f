"""`sbatch --signal`: a signal some time before the walltime is up."""

from __future__ import annotations

import re

from hpcbatch.model.signals import signal_number
from hpcbatch.model.warn_signal import WarnSignal

_WARNING = r"(?ai)((?:[BR]{1,2}:)?)([A-Za-z0-9]+)(?:@([0-9]{0,5}))?"
_MAX_S = 0xFFFF


def parse_warn_signal(text: str) -> WarnSignal:
    """Read `[{R|B}:]SIGNAL[@SECONDS]`: 60 seconds without `@`, 0 where nothing stands behind it; ValueError if it is
    anything else. `R:` is for reservations, which there are none of. Source: get_signal_opts() of proc_args.c.
    """
    match = re.fullmatch(_WARNING, text)
    number = signal_number(match[2], ignore_case=True) if match else None
    if match is None or not number or int(match[3] or 0) > _MAX_S:
        raise ValueError(text)
    before_s = 60 if match[3] is None else int(match[3] or 0)
    return WarnSignal(signal=number, before_s=before_s, is_batch_only="B" in match[1].upper())
