"""An agent in a process of its own, to be killed: `python -m tests.component.agent_process DIRECTORY POD`.

It says `ready` when it has started, and `over` when the store has the pod's end.
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from tests.component.agent_rig import Rig


def main() -> None:
    rig = Rig(Path(sys.argv[1])).start()
    print("ready", flush=True)
    rig.wait_phase(sys.argv[2], "Succeeded", "Failed")
    print("over", flush=True)
    signal.pause()


if __name__ == "__main__":
    main()
