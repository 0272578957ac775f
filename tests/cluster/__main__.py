"""`python -m tests.cluster up | down`: a real Kubernetes of three nodes with Volcano and hpcbatch, on this machine."""

from __future__ import annotations

import sys

from tests.cluster import lifecycle
from tests.cluster.binaries import BuildError
from tests.cluster.state import ClusterError

VERBS = {"up": lifecycle.up, "down": lifecycle.down}


def main() -> int:
    if len(sys.argv) != 2 or sys.argv[1] not in VERBS:
        print(f"usage: python -m tests.cluster {' | '.join(VERBS)}", file=sys.stderr)
        return 2
    try:
        VERBS[sys.argv[1]]()
    except (ClusterError, BuildError) as error:
        print(f"cluster: {error}", file=sys.stderr)
        return 1
    return 0


sys.exit(main())
