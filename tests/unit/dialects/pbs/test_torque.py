"""Options of Torque, Moab and NQSV that OpenPBS's qsub does not have, and what has no effect here."""

from __future__ import annotations

import pytest

from hpcbatch.dialects.pbs.door import DOOR
from hpcbatch.errors import DirectiveError
from hpcbatch.model.indices import Indices
from hpcbatch.model.spec import Sharing
from tests.unit.dialects.pbs.submit_parts import NOW, spec, submit


@pytest.mark.parametrize(
    ("text", "indices", "limit"),
    [("1-10%5", "1-10", 5), ("1,3,7-9", "1,3,7-9", None), ("5", "5", None), ("9,1", "1,9", None)],
)
def test_arrays(text: str, indices: str, limit: int | None) -> None:
    array = spec("-r", "n", "-t", text, "j").array
    assert array is not None
    assert (array.indices, array.limit, array.text) == (Indices.parse(indices), limit, text.partition("%")[0])


def test_an_array_of_the_command_line_goes_over_one_of_the_script() -> None:
    array = spec("-t", "1-2", "j", script="#PBS -J 1-9\n").array
    assert array is not None
    assert str(array.indices) == "1-2"


@pytest.mark.parametrize(
    ("options", "work_dir"),
    [
        (("-d", "/tmp"), "/tmp"),
        (("-d", "."), "/data"),
        (("-d", "./x"), "/data/x"),
        (("-d", "$PBS_O_WORKDIR"), "/data"),
        (("-d", "${PBS_O_WORKDIR}/x"), "/data/x"),
        (("-d", "$HOME/x"), "/home/u/x"),
        (("-d", "~"), "/home/u"),
        (("-d", "$HOMES"), "/data/$HOMES"),
        (("-w", "x"), "/data/x"),
        (("-w", "x", "-d", "/tmp"), "/tmp"),
        (("-l", "wd"), "/data"),
        ((), None),
    ],
)
def test_where_the_job_starts(options: tuple[str, ...], work_dir: str | None) -> None:
    assert spec(*options, "j").work_dir == work_dir


def test_directories_in_the_environment() -> None:
    found = submit("-w", "/w", "-d", "/d", "j").submission.environment
    assert (found["PBS_O_WORKDIR"], found["PBS_O_INITDIR"]) == ("/w", "/d")


def test_arguments_of_the_script() -> None:
    assert spec("-F", "a 'b c' -d", "j").script_args == ("a", "b c", "-d")


def test_nodes_alone() -> None:
    assert spec("-n", "-l", "nodes=2", "j").sharing is Sharing.EXCLUSIVE
    assert spec("-W", "x=NACCESSPOLICY:SINGLEJOB", "j").sharing is Sharing.EXCLUSIVE


@pytest.mark.parametrize(
    ("options", "ignored"),
    [
        (("-c", "s"), ["-c s: jobs are not checkpointed"]),
        (("-c", "enabled,periodic,interval=10"), ["-c enabled,periodic,interval=10: jobs are not checkpointed"]),
        (("-W", "Checkpoint=s"), ["-W Checkpoint=s: jobs are not checkpointed"]),
        (("-c", "n"), []),
        (("-X",), ["-X: a job has no X display: X11 is not forwarded"]),
        (("-T", "pro"), ["-T pro: the site's nodes have no prologues of users"]),
        (
            ("-b", "10", "-D", "/"),
            ["-b 10: qsub tries again by itself", "-D /: the root directory of a job is its image's"],
        ),
        (("-W", "group_list=g"), ["-W group_list=g: the job has the groups that the site gives its user"]),
        (("-W", "sandbox=PRIVATE,tolerate_node_failures=none"), []),
        (
            ("-W", "stageout=x@h:y"),
            ["-W stageout=x@h:y: nothing is copied: the login node and the jobs share the files"],
        ),
        (("-W", "x=ODD:A;QOS:high"), ["-W x=ODD:A: this extension of Moab means nothing here"]),
        (("-l", "soft_walltime=5"), ["-l soft_walltime=5: only the walltime ends a job"]),
        (("-u", "u"), []),
        (("-u", "x@elsewhere,u@login"), []),
        (("-S", "/bin/sh@elsewhere"), []),
    ],
)
def test_what_has_no_effect_is_told(options: tuple[str, ...], ignored: list[str]) -> None:
    job = spec(*options, "j")
    assert list(job.ignored) == ignored
    assert list(spec("j", script=f"#PBS {' '.join(options)}\n").ignored) == ignored


def test_words_that_no_option_takes_are_told() -> None:
    job = spec("j", script="#PBS -N Theory Paper simulation\n#PBS a remark\n")
    assert job.name == "Theory"
    assert [text.partition(":")[0] for text in job.ignored] == ["Paper simulation", "a remark"]


@pytest.mark.parametrize(("options", "points"), [("f", "a"), ("fe", "e"), ("p", "n"), ("abef", "abe")])
def test_mail_in_the_words_of_torque(options: str, points: str) -> None:
    assert spec("-m", options, "j").mail_points == points


@pytest.mark.parametrize("name", ["a=b", "x@1", "q(2)", "1"])
def test_names_as_torque_takes_them(name: str) -> None:
    assert spec("-N", name, "j").name == name


def test_another_server() -> None:
    job = spec("-q", "long@elsewhere.org", "j")
    assert (job.queue, job.attributes["server_asked"], job.ignored) == ("long", "elsewhere.org", ())
    assert "server_asked" not in spec("-q", "long@pbs1.site", "j").attributes


def test_shell_of_this_host() -> None:
    assert spec("-S", "/bin/sh,/bin/zsh@login", "j").interpreter == "/bin/zsh"
    assert spec("-S", "/bin/sh@elsewhere", "j").interpreter is None


def test_a_dry_run_asks_no_cluster() -> None:
    for option in ("--dry-run", "--explain"):
        found = submit(option, "-o", "elsewhere:/x", "j")
        assert found.submission.spec.stdout.path == "/x"
        assert (found.dry_run, found.explain) == (option == "--dry-run", option == "--explain")
    assert spec("--strict", "j").is_strict
    assert not spec("j").is_strict


def test_extensions_of_moab() -> None:
    job = spec("-W", "x=GRES:matlab:2;QOS:high;FLAGS:ADVRES:maint", "-l", "nodes=2,depend=afterok:12", "j")
    assert job.chunks[0].resources == (("matlab", 2),)
    assert (job.attributes["qos"], job.attributes["reservation"]) == ("high", "maint")
    assert job.dependency is not None


def test_a_script_of_nqsv() -> None:
    text = "#PBS -T openmpi -b 4\n#PBS -l elapstim_req=1:00:00,cpunum_job=8\n"
    text += "#PBS --group=g --venum-lhost=2\n#PBS -jo -o %s.out\n"
    job = spec("j", script=text)
    assert (job.chunks[0].count, job.chunks[0].cpus, job.chunks[0].resources) == (4, 8, (("ve", 2),))
    assert job.walltime_s == 3600
    assert (job.stderr, job.stdout.path) == (None, "/data/$PBS_JOBID.out")
    assert [text.partition(":")[0] for text in job.ignored] == ["-T openmpi", "--group=g"]


def test_limits_reach_the_job() -> None:
    job = spec("-l", "cput=60,pvmem=1gb,nice=3,filesystems=home,walltime=9", "j")
    assert (job.cpu_time_s, job.process_limits, job.process_nice) == (60, (("as", 1 << 30),), 3)
    assert job.words == (("filesystems", "home"),)
    assert job.attributes["Resource_List.cput"] == "00:01:00"
    assert job.attributes["Resource_List.filesystems"] == "home"


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("afterokarray:12[]", "afterok:12[]"),
        ("afterstartarray:12[]", "after:12[]"),
        ("beforeanyarray:3[]", "beforeany:3[]"),
    ],
)
def test_dependencies_on_arrays(text: str, same: str) -> None:
    assert spec("-W", f"depend={text}", "j").dependency == spec("-W", f"depend={same}", "j").dependency


def test_hosts_that_a_job_must_not_have() -> None:
    job = spec("-l", "select=1:host=^n1+1:vnode=n2", "j")
    assert (job.excluded_hosts, [chunk.hosts for chunk in job.chunks]) == (("n1",), [(), ("n2",)])


def test_threads_that_a_script_of_nqsv_asks_for() -> None:
    job = spec("j", script="#PBS -l cpunum_job=8\n#PBS -v OMP_NUM_THREADS=2\n")
    assert (job.chunks[0].cpus, job.chunks[0].threads) == (8, 2)
    assert spec("-v", "OMP_NUM_THREADS=2", "j").chunks[0].threads is None


def test_long_texts_are_told_shortly() -> None:
    ignored = spec(
        "j", script=f"#PBS -W group_list={'g' * 2000}\n" + "".join(f"#PBS remark {n}\n" for n in range(140))
    ).ignored
    assert len(ignored) == 128
    assert ignored[-1].endswith(" further options: they mean nothing here")
    assert all(len(text) < 400 for text in ignored)


def test_a_script_may_name_variables_of_whoever_submits_it() -> None:
    read = DOOR.read_script("job.pbs", b"#PBS -v NAME,OTHER=1 -u me\ntrue\n", NOW, [], {})
    assert (read.environment["OTHER"], read.spec.name) == ("1", "job.pbs")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("-l", "nodes=1:ppn=999999999"), "a job has at most"),
        (("-l", "qos=a\u202eb"), "illegal -l value"),
        (("-l", f"foo={'x' * 2000}"), "Illegal attribute or resource value Resource_List.foo"),
        (("-l", ",".join(f"foo{n}=x" for n in range(65))), "more than 64 resources of the site"),
    ],
)
def test_what_no_job_can_have(options: tuple[str, ...], text: str) -> None:
    with pytest.raises(DirectiveError, match=text):
        spec(*options, "j")
