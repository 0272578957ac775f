"""Run by a Python that has accasim (PyPI): `run_accasim.py TRACE PROCESSORS fcfs|easy`. The results go beside it.

accasim 1.1.3 was made for Python before 3.10, which had abstract classes in `collections` too.
"""

import collections
import collections.abc
import json
import sys
from pathlib import Path

for name in ("Mapping", "MutableMapping", "Iterable", "Callable", "Sequence"):
    setattr(collections, name, getattr(collections.abc, name))

from accasim.base.allocator_class import FirstFit  # type: ignore[import-not-found]  # noqa: E402
from accasim.base.scheduler_class import EASYBackfilling, FirstInFirstOut  # type: ignore[import-not-found]  # noqa: E402
from accasim.base.simulator_class import Simulator  # type: ignore[import-not-found]  # noqa: E402

trace, processors, way = sys.argv[1:]
system = {
    "start_time": 0,
    "equivalence": {"processor": {"core": 1}},
    "groups": {"g": {"core": 1, "mem": 1 << 30}},
    "resources": {"g": int(processors)},
}
Path("system.json").write_text(json.dumps(system))
dispatcher = {"fcfs": FirstInFirstOut, "easy": EASYBackfilling}[way](FirstFit())
Simulator(
    trace, "system.json", dispatcher, statistics_output=False, show_statistics=False, RESULTS_FOLDER_NAME="results"
).start_simulation()
