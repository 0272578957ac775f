"""`python -m bench.engine [startup|throughput|memory|history]...`: all of them without a name. See bench/README.md."""

from __future__ import annotations

import sys

from bench.engine import history, memory, startup, throughput

ALL = {"startup": startup.main, "throughput": throughput.main, "memory": memory.main,
       "history": history.main}  # fmt: skip


def main() -> None:
    names = sys.argv[1:] or list(ALL)
    unknown = [name for name in names if name not in ALL]
    if unknown:
        sys.exit(f"no benchmark {', '.join(unknown)}: expected {', '.join(ALL)}")
    for name in names:
        ALL[name]()


main()
