"""A workflow of gwf: a target that needs another, one that fails, one that is cancelled."""

from gwf import Workflow

SIZE = {"cores": 1, "memory": "100m", "walltime": "00:05:00", "queue": "default"}
gwf = Workflow()
gwf.target("first", inputs=[], outputs=["first.txt"], **SIZE) << "echo hello > first.txt"
gwf.target("second", inputs=["first.txt"], outputs=["second.txt"], **SIZE) << "cat first.txt > second.txt"
gwf.target("bad", inputs=[], outputs=["bad.txt"], **SIZE) << "exit 3"
gwf.target("long", inputs=[], outputs=["long.txt"], **SIZE) << "sleep 300"
