"""How the commands are used, as they print it."""

from __future__ import annotations

from hpcbatch.typed import Final

USAGE: Final = """\
Usage: bsub [options] [command [arguments]]
       bsub [options] < script
       bsub [options] script [arguments]      (a script with #BSUB lines)
The manual page bsub(1) and `hpcbatch explain SCRIPT` say what becomes of each option."""
