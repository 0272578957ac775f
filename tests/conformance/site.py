"""What a user has: a shell on a login node, from which the cases are run unchanged on every rig."""

from __future__ import annotations

import json
import os
import pwd
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.conformance.jobs_watch import JobsWatch, Unwatched
from tests.waiting import wait_for

BIN = Path(sys.executable).parent


@dataclass
class Site:
    """A login node: `env` leads the commands to the cluster, `work` is the user's directory on shared storage."""

    env: Mapping[str, str]
    work: Path
    server: str = ""
    enter: tuple[str, ...] = ()
    """Words before a command that run it as the user on the login node; none where the tester is that user."""
    admin_env: Mapping[str, str] = field(default_factory=dict)
    """For kubectl as one who may do everything; empty: `env` is that."""
    namespace: str = "default"
    jobs: JobsWatch | None = None
    """Without one, what is waited for is asked again and again."""
    extra: dict[str, Any] = field(default_factory=dict)

    def run(
        self, *argv: str, stdin: str = "", check: bool = True, env: Mapping[str, str] | None = None, limit_s: float = 60
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            self.command(*argv),
            cwd=self.work,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=limit_s,
            env={**self.env, **(env or {})},
            check=False,
        )
        if check and done.returncode:
            raise AssertionError(f"{argv} ended with {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def command(self, *argv: str) -> list[str]:
        """What to start, in the directory `work` and with `env`, to have the user's command run."""
        if not self.enter:
            return list(argv)
        return [*self.enter, "/usr/bin/env", "-C", str(self.work), *argv]

    def close(self) -> None:
        """End the user's jobs that a case has left: the next one may count on a cluster without them."""
        assert self.jobs is not None
        jobs, namespace = self.jobs, self.namespace
        if left := jobs.unfinished(namespace):
            self.run("scancel", *left)
            wait_for("the jobs that the case left to end", lambda: not jobs.unfinished(namespace))

    def kubectl(self, *argv: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """As the cluster's admin, in the user's namespace."""
        done = subprocess.run(
            ["kubectl", "-n", self.namespace, *argv],
            cwd=self.work,
            capture_output=True,
            text=True,
            timeout=90,
            env=self.admin_env or self.env,
            check=False,
        )
        assert not (check and done.returncode), f"kubectl {argv} ended with {done.returncode}\n{done.stderr}"
        return done

    def script(self, name: str, text: str) -> str:
        path = self.work / name
        path.write_text(text)
        return str(path)

    def qsub(self, *argv: str, stdin: str = "", env: Mapping[str, str] | None = None) -> str:
        """Submit; returns the number."""
        answer = self.run("qsub", *argv, stdin=stdin, env=env).stdout
        match = re.fullmatch(r"(\d+)\.[\w.-]+\n", answer)
        assert match, f"qsub printed {answer!r}"
        return match[1]

    def sbatch(self, *argv: str, stdin: str = "", env: Mapping[str, str] | None = None) -> str:
        answer = self.run("sbatch", *argv, stdin=stdin, env=env).stdout
        match = re.fullmatch(r"Submitted batch job (\d+)\n", answer)
        assert match, f"sbatch printed {answer!r}"
        return match[1]

    def attributes(self, job: str) -> dict[str, Any]:
        """`qstat -x -f -F json` of one job, of either dialect."""
        answer = json.loads(self.run("qstat", "-x", "-f", "-F", "json", job).stdout)
        return next(iter(answer["Jobs"].values()))

    def state(self, job: str) -> str:
        return str(self.attributes(job)["job_state"])

    def wait_state(self, job: str, states: str, limit_s: float = 60) -> str:
        """Wait for one of the PBS state letters in `states`."""
        return str(self._wait_state(job, states, limit_s)["job_state"])

    def wait_end(self, job: str, limit_s: float = 60) -> dict[str, Any]:
        return self._wait_state(job, "F", limit_s)

    def _wait_state(self, job: str, states: str, limit_s: float) -> dict[str, Any]:
        def reached() -> dict[str, Any]:
            record = self.attributes(job)
            state = str(record["job_state"])
            assert state != "F" or "F" in states, f"job {job} has ended: {record}"
            return record if state in states else {}

        what = f"job {job} in state {states}"
        watch = self.jobs or Unwatched()
        record = watch.wait_for(job, states, reached, limit_s)
        assert record, f"waited {limit_s:.0f} s in vain for {what}: {self.attributes(job)}"
        return record

    def start_again_now(self, job: str) -> None:
        """Start what scontrol has queued again: as with Slurm it would begin after two minutes."""
        form = ("squeue", "-h", "-j", job, "-o", "%t %r")
        wait_for("its begin time", lambda: self.run(*form).stdout == "PD BeginTime\n")
        self.run("scontrol", "update", f"JobId={job}", "StartTime=now")

    def read(self, name: str) -> str:
        return (self.work / name).read_text()

    def written(self, name: str) -> str:
        """What stands in the file by now: nothing while the job has not made it."""
        path = self.work / name
        return path.read_text() if path.exists() else ""

    def running_output(self, job: str, stream: str = "OU") -> str:
        """Name of what a PBS job in the working directory has written so far: it gets its own name at the end."""
        return f"{job}.{self.server}.{stream}.running"


def moving_at_once(site_text: str) -> str:
    """That site's file, by which jobs move to the history as soon as they have ended."""
    lines = [line for line in site_text.splitlines() if not line.startswith("historyMovedAfter:")]
    return "\n".join([*lines, "historyMovedAfter: 0", ""])


def login_environment(state_dir: Path) -> dict[str, str]:
    """The environment of a user whose commands reach the engine of `state_dir` and nothing else."""
    user = pwd.getpwuid(os.getuid()).pw_name
    home = state_dir / "home"  # the tester's own start files are none of the cases' business
    home.mkdir(parents=True, exist_ok=True)
    return {
        "LANG": "C.UTF-8",
        "LOGNAME": user,
        "USER": user,
        "SHELL": "/bin/sh",
        "HOME": str(home),
        "PATH": f"{BIN}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
        "HPCBATCH_STATE_DIR": str(state_dir),
        "KUBECONFIG": str(state_dir / "kubeconfig"),
    }
