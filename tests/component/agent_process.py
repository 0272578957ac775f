"""An agent in a process of its own, to be killed: `python -m tests.component.agent_process DIRECTORY`, says `ready`."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from tests.component.agent_rig import Rig


def main() -> None:
    Rig(Path(sys.argv[1])).start()
    print("ready", flush=True)
    signal.pause()


if __name__ == "__main__":
    main()
