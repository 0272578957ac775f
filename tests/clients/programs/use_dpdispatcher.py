"""dpdispatcher: two tasks in jobs, and one that fails, which it submits again before it gives up."""

import json
import sys
from pathlib import Path

from dpdispatcher import Machine, Resources, Submission, Task

kind = sys.argv[1]
machine = Machine.load_from_dict({"batch_type": kind, "context_type": "LazyLocal", "local_root": "."})
wanted = {"number_node": 1, "cpu_per_node": 1, "gpu_per_node": 0, "queue_name": "default", "group_size": 1}
resources = Resources.load_from_dict(wanted)


def run(tasks):
    for name in tasks:
        Path(name).mkdir()
    made = [
        Task(command=command, task_work_path=f"{name}/", outlog="out", errlog="err") for name, command in tasks.items()
    ]
    Submission(work_base="./", machine=machine, resources=resources, task_list=made).run_submission(check_interval=2)


run({"first": "echo hello", "second": "echo hello"})
error = ""
try:
    run({"bad": "exit 3"})
except RuntimeError as found:
    error = str(found)
said = [Path(name, "out").read_text() for name in ("first", "second")]
print(json.dumps({"said": said, "error": error}))
