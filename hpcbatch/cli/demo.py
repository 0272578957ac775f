"""`hpcbatch demo`: the README's first command, from what is installed."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from hpcbatch.cli.common import EndedError, Session

_FILES = Path(__file__).parents[1] / "demo"
"""examples/mpi in a checkout."""


@click.command()
@click.pass_obj
def demo(session: Session) -> None:
    """Try it out: an engine of three nodes, and an MPI job of PBS and one of Slurm over all of them, with their output.

    The engine is one of its own, and nothing stays behind. It needs mpicc, `pip install 'hpcbatch[demo]'`, and of the
    system a C compiler, openssh-server, openssh-client, iproute2 and util-linux; the command installs none of them.
    """
    import shutil
    import subprocess

    own = Path(sys.argv[0]).resolve().parent
    environ = {**session.environ, "PATH": f"{own}:{session.environ.get('PATH', '/usr/bin:/bin')}"}
    if shutil.which("mpicc", path=environ["PATH"]) is None:
        raise EndedError("hpcbatch: demo needs mpicc, which cannot be found: pip install 'hpcbatch[demo]'", 1)
    for script in (["packages.sh", "tell"], ["demo.sh"]):
        code = subprocess.run(["sh", str(_FILES / script[0]), *script[1:]], env=environ, check=False).returncode
        if code:
            raise SystemExit(code)
