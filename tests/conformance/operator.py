"""A command as one who may do everything."""

from __future__ import annotations

import subprocess

from tests.conformance.site import Site


def as_operator(site: Site, *argv: str, stdin: str = "", check: bool = True) -> subprocess.CompletedProcess[str]:
    env = {**(site.admin_env or site.env)}
    done = subprocess.run(argv, cwd="/", env=env, input=stdin, capture_output=True, text=True, timeout=60, check=False)
    if check and done.returncode:
        raise AssertionError(f"{argv} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done
