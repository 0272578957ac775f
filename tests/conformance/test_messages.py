"""qmsg: lines in the output of running jobs."""

from __future__ import annotations

import pytest

from tests.conformance.site import Site
from tests.waiting import wait_for

SCRIPT = "echo begins\nwhile [ ! -e go ]; do sleep 0.1; done\necho ends\n"


def says(site: Site, *argv: str) -> tuple[int, str]:
    done = site.run(*argv, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("place", ["beside", "directly"])
def test_a_line_in_the_output(site: Site, place: str) -> None:
    options = ("-k", "oed") if place == "directly" else ()
    job = site.qsub("-N", "told", *options, stdin=f"#PBS -d {site.work}\ncd $PBS_O_WORKDIR\n{SCRIPT}")
    name = f"told.o{job}" if options else site.running_output(job)
    wait_for("it to write", lambda: (site.work / name).exists() and "begins" in site.read(name))
    wait_for("the record to know", lambda: site.state(job) == "R")
    assert says(site, "qmsg", "go home", job) == (0, "")
    assert says(site, "qmsg", "-O", "-E", "both \u00fc", f"{job}.{site.server}") == (0, "")
    (site.work / "go").touch()
    site.wait_end(job)
    assert site.read(f"told.o{job}") == "begins\nboth \u00fc\nends\n"
    assert site.read(f"told.e{job}") == "go home\nboth \u00fc\n"


def test_joined_output_and_a_directory(site: Site) -> None:
    (site.work / "out").mkdir()
    (site.work / "out").chmod(0o777)
    job = site.qsub("-N", "told", "-j", "oe", "-o", f"{site.work}/out/", stdin=f"cd $PBS_O_WORKDIR\n{SCRIPT}")
    wait_for("it to write", lambda: any("begins" in path.read_text() for path in (site.work / "out").iterdir()))
    wait_for("the record to know", lambda: site.state(job) == "R")
    assert says(site, "qmsg", "hello", job) == (0, "")
    (site.work / "go").touch()
    site.wait_end(job)
    assert site.read(f"out/{job}.{site.server}.OU") == "begins\nhello\nends\n"


def test_refused(site: Site) -> None:
    held = site.qsub("-h", stdin="true\n")
    assert says(site, "qmsg", "x", held) == (
        168,
        f"qmsg: Request invalid for state of job {held}.{site.server}\n",
    )
    assert says(site, "qmsg", "x", "999999") == (153, f"qmsg: Unknown Job Id 999999.{site.server}\n")
    assert says(site, "qmsg", "x", "nosuch") == (1, "qmsg: illegally formed job identifier: nosuch\n")
    assert says(site, "qmsg", "x")[0] == 2
