""""""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbatch.dialects.pbs.errors import describe
from hpcbatch.dialects.pbs.settings import split_attributes
from hpcbatch.dialects.pbs.submit import PbsSubmission, read_submission
from hpcbatch.errors import HpcBatchError, ObstaclesError
from hpcbatch.model.chunk import Chunk
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.interactive import Interactive
from hpcbatch.model.spec import Arrangement, JobSpec, Output, Sharing
from tests.unit.dialects.pbs.submit_parts import ENVIRON, NOW, refusal, spec, submit


def test_plain_job() -> None:
    found = submit("dir/job.pbs", script="#!/bin/sh\n#PBS -l select=2:ncpus=4:mpiprocs=4\n#PBS -l walltime=1:0:0\nhi\n")
    assert found.submission.spec == JobSpec(
        dialect=Dialect.PBS,
        name="job.pbs",
        chunks=(Chunk(count=2, cpus=4, ranks=4),),
        walltime_s=3600,
        script_path="/data/dir/job.pbs",
        submit_dir="/data",
        submit_host="login.site",
        stderr=Output(),
        mail_points="a",
        umask=0o077,
        server="pbs1",
        attributes={
            "Resource_List.mpiprocs": "8",
            "Resource_List.ncpus": "8",
            "Resource_List.nodect": "2",
            "Resource_List.place": "free",
            "Resource_List.select": "2:ncpus=4:mpiprocs=4",
            "Resource_List.walltime": "01:00:00",
            "Join_Path": "n",
            "Keep_Files": "n",
            "Mail_Points": "a",
            "project": "_pbs_project_default",
            "Submit_arguments": "dir/job.pbs",
        },
    )
    assert found.submission.script.endswith(b"\nhi\n")
    assert found.submission.environment == {
        "PBS_O_HOME": "/home/u",
        "PBS_O_LANG": "C",
        "PBS_O_LOGNAME": "u",
        "PBS_O_PATH": "/bin",
        "PBS_O_SHELL": "/bin/bash",
        "PBS_O_WORKDIR": "/data",
        "PBS_O_SYSTEM": "Linux",
        "PBS_O_HOST": "login.site",
    }
    assert (found.submission.notes, found.quiet, found.dry_run) == ((), False, False)


def test_every_option() -> None:
    text = "#PBS -N name -q long@pbs1 -j oe -o out.log -e /abs/err -A acc -P proj -S /bin/csh -r n -h -p -5\n"
    text += "#PBS -a 12010000 -m abe -M a@b,c -k oed -W umask=0022 -z\n"
    found = submit("--dry-run", "job", script=text)
    job = found.submission.spec
    assert (job.name, job.queue, job.account, job.interpreter) == ("name", "long", "acc", "/bin/csh")
    assert (job.stdout, job.stderr, job.stdout_to_stderr) == (Output(path="/data/out.log"), None, False)
    assert (job.rerunnable, job.hold, job.priority, job.umask) == (False, True, -5, 0o022)
    assert job.begin_time == datetime(2026, 12, 1, tzinfo=UTC)
    assert (job.mail_points, job.mail_users) == ("abe", ("a@b", "c"))
    assert (found.quiet, found.dry_run) == (True, True)
    assert found.submission.environment["PBS_O_QUEUE"] == "long"
    assert found.submission.mail_note
    shown = {name: value for name, value in job.attributes.items() if not name.startswith("Resource_List")}
    assert shown == {
        "Join_Path": "oe",
        "Keep_Files": "oed",
        "Mail_Points": "abe",
        "project": "proj",
        "Output_Path": "/data/out.log",
        "Error_Path": "/abs/err",
        "Shell_Path_List": "/bin/csh",
        "umask": "22",
        "Submit_arguments": "job",
    }


def test_command_without_a_script() -> None:
    found = submit("-N", "x", "--", "/bin/echo", "-n", "a b")
    assert found.submission.spec.command == ("/bin/echo", "-n", "a b")
    assert found.submission.script == b""
    assert spec("--", "/bin/true").name == "STDIN"


@pytest.mark.parametrize(
    ("argv", "name", "path"), [((), "STDIN", None), (("-",), "STDIN", None), (("a/b.sh",), "b.sh", "/data/a/b.sh")]
)
def test_name_and_path_of_the_script(argv: tuple[str, ...], name: str, path: str | None) -> None:
    job = spec(*argv)
    assert (job.name, job.script_path) == (name, path)


@pytest.mark.parametrize(
    ("argv", "script", "name", "select", "walltime_s"),
    [
        (("-N", "cmd", "j"), "#PBS -N script\n", "cmd", "1:ncpus=1", None),
        (("j",), "#PBS -N one\n#PBS -N two\n", "two", "1:ncpus=1", None),
        (("-l", "walltime=10", "j"), "#PBS -l select=2,walltime=20\n", "j", "2:ncpus=1", 10),
        (("j",), "#PBS -l walltime=20\n#PBS -l walltime=30 -l select=3\n", "j", "3:ncpus=1", 20),
        (("-l", "walltime=10", "-l", "walltime=20", "j"), "", "j", "1:ncpus=1", 20),
        (("-C", "#X", "j"), "#PBS -N script\n#X -N x\n", "x", "1:ncpus=1", None),
        (("-C", "", "j"), "#PBS -N script\n", "j", "1:ncpus=1", None),
    ],
    ids=["name", "last-directive", "resource", "first-resource", "last-resource", "prefix", "no-prefix"],
)
def test_precedence(argv: tuple[str, ...], script: str, name: str, select: str, walltime_s: int | None) -> None:
    job = spec(*argv, script=script)
    assert (job.name, job.attributes["Resource_List.select"], job.walltime_s) == (name, select, walltime_s)


def test_prefix_from_the_environment() -> None:
    found = submit("j", script="#Q -N q\n", environ={**ENVIRON, "PBS_DPREFIX": "#Q"})
    assert found.submission.spec.name == "q"


def test_shell_from_the_environment() -> None:
    environ = {**ENVIRON, "PBS_SHELL": "/bin/ksh"}
    assert submit("j", environ=environ).submission.spec.interpreter == "/bin/ksh"
    assert submit("-S", "/bin/sh@h,/bin/csh", "j", environ=environ).submission.spec.interpreter == "/bin/csh"


@pytest.mark.parametrize(
    ("options", "stdout", "stderr", "to_stderr"),
    [
        ((), Output(), Output(), False),
        (("-j", "oe"), Output(), None, False),
        (("-j", "eo"), Output(), Output(), True),
        (("-j", "n"), Output(), Output(), False),
        (("-o", "d/", "-e", "./e"), Output(path="/data/d/"), Output(path="/data/e"), False),
        (("-o", "login.site:/a"), Output(path="/a"), Output(), False),
        (("-o", "localhost:a"), Output(path="$HOME/a"), Output(), False),
        (("-o", "login:/a:b"), Output(path="/a:b"), Output(), False),
        (("-o", "/a:b"), Output(path="/a:b"), Output(), False),
        (("-o", "$HOME/x.$PBS_JOBID"), Output(path="$HOME/x.$PBS_JOBID"), Output(), False),
        (("-o", "$HOMES/x"), Output(path="/data/$HOMES/x"), Output(), False),
    ],
)
def test_output_paths(options: tuple[str, ...], stdout: Output, stderr: Output | None, to_stderr: bool) -> None:
    job = spec(*options, "j")
    assert (job.stdout, job.stderr, job.stdout_to_stderr) == (stdout, stderr, to_stderr)


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ("A=1,B=x y", {"A": "1", "B": "x y"}),
        ("T", {"T": "40"}),
        ("T,C", {"T": "40", "C": "a,'b\\"}),
        ('A="x,y",B=\'p"q\'', {"A": "x,y", "B": 'p"q'}),
        ("A=x\\,y", {"A": "x,y"}),
        ("A=", {"A": ""}),
        ("A=b=c", {"A": "b=c"}),
        ("A=c:\\dir", {"A": "c:\\dir"}),
        ("PBS_O_HOME=/x,A=1", {"A": "1"}),
    ],
)
def test_variable_list(option: str, expected: dict[str, str]) -> None:
    found = submit("-v", option, "j").submission.environment
    assert {name: value for name, value in found.items() if not name.startswith("PBS_O_")} == expected


def test_whole_environment() -> None:
    environ = {**ENVIRON, "BASH_FUNC_module%%": "() {  eval x\n}", "PBS_O_HOME": "/other", "PBS_JOBCOOKIE": "secret"}
    found = submit("-V", "-v", "T=1,NEW=2", "j", environ=environ).submission.environment
    assert found["BASH_FUNC_module%%"] == "() {  eval x\n}"
    assert (found["T"], found["NEW"], found["PATH"], found["PBS_O_HOME"]) == ("1", "2", "/bin", "/home/u")
    assert "PBS_JOBCOOKIE" not in found


@pytest.mark.parametrize(
    ("options", "is_asked"),
    [(("-m", "n"), False), (("-m", "e"), True), (("-M", "a@b"), True), (("-M", "a@b", "-m", "n"), False), ((), False)],
)
def test_who_asks_for_mail_may_be_told_that_there_is_none(options: tuple[str, ...], is_asked: bool) -> None:
    found = submit(*options, "j").submission
    assert (bool(found.mail_note), found.notes) == (is_asked, ())


def test_block() -> None:
    assert [submit("-W", f"block={value}", "j").block for value in ("true", "TRUE", "false")] == [True, True, False]
    assert submit("j", script=b"#PBS -W block=true\n").block
    assert not submit("j").block


def test_harmless_options_are_accepted() -> None:
    spec("-f", "-c", "n", "-W", "block=false,interactive=false,sandbox=HOME", "j")


@pytest.mark.parametrize(
    ("value", "kept"), [("PRIVATE", "PRIVATE"), ("private", "PRIVATE"), ("HOME", "HOME"), ("home", "HOME")]
)
def test_the_directory_that_a_job_starts_in(value: str, kept: str) -> None:
    assert spec("-W", f"sandbox={value}", "j").attributes["sandbox"] == kept
    assert spec("j", script=f"#PBS -W umask=022,sandbox={value}\n").attributes["sandbox"] == kept
    assert spec("-W", f"sandbox={value}", "j", script="#PBS -W sandbox=odd\n").attributes["sandbox"] == kept


def test_attributes_by_their_long_names() -> None:
    job = spec("-W", "Job_Name=x,Mail_Users=a@b,c@d,Rerunable=False,Hold_Types=u,Join_Path=oe", "j")
    assert (job.name, job.mail_users, job.rerunnable, job.hold, job.stderr) == ("x", ("a@b", "c@d"), False, True, None)
    assert spec("-N", "cmd", "j", script="#PBS -W Job_Name=x\n").name == "cmd"


def test_placement() -> None:
    job = spec("-l", "select=2,place=scatter:excl", "j")
    assert (job.arrangement, job.sharing) == (Arrangement.SCATTER, Sharing.EXCLUSIVE)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=b", [("a", "b")]),
        (" a = b ", [("a", "b")]),
        ("a=b,c=d", [("a", "b"), ("c", "d")]),
        ("a=b,c,d=e", [("a", "b,c"), ("d", "e")]),
        ('a="x=y",b=c', [("a", "x=y"), ("b", "c")]),
        ("a=", [("a", "")]),
    ],
)
def test_split_attributes(text: str, expected: list[tuple[str, str]]) -> None:
    assert split_attributes(text) == expected


option = st.sampled_from([f"-{c}" for c in "aAcCefhIjJklmMNopqrRSuvVWXzPdt"])
word = st.one_of(
    option, st.text(max_size=8), st.sampled_from(["select=2:ncpus=2", "nodes=1:ppn=2", "oe", "x.sh", "--"])
)


@given(st.lists(word, max_size=6), st.lists(st.lists(word, max_size=4), max_size=4))
def test_anything_is_a_submission_or_a_clean_error(argv: list[str], directives: list[list[str]]) -> None:
    text = "".join(f"#PBS {' '.join(words)}\n" for words in directives)
    try:
        found = submit(*argv, script=text.encode("utf-8", "replace"))
    except HpcBatchError as error:
        printed, code = describe(error, "qsub")
        assert printed
        assert 0 < code < 256
    else:
        assert found.submission.spec.name


IMAGES: list[tuple[list[str], str, dict[str, str], str | None]] = [
    ([], "", {}, None),
    (["-v", "CONTAINER_IMAGE=reg.io/a/b:1"], "", {}, "reg.io/a/b:1"),
    ([], "#PBS -v CONTAINER_IMAGE=a:1,X=2\n", {}, "a:1"),
    (["-v", "X=1"], "#PBS -v CONTAINER_IMAGE=a\n", {}, None),  # the command line's list goes over the script's
    (["-v", "CONTAINER_IMAGE"], "", {"CONTAINER_IMAGE": "a"}, "a"),
    (["-V"], "", {"CONTAINER_IMAGE": "a"}, "a"),
    ([], "", {"CONTAINER_IMAGE": "a"}, None),  # does not travel with the job
    ([], "", {"HPCBATCH_IMAGE": "d"}, "d"),
    ([], "#PBS -v CONTAINER_IMAGE=a\n", {"HPCBATCH_IMAGE": "d"}, "a"),
    (["-V"], "", {"CONTAINER_IMAGE": "a", "HPCBATCH_IMAGE": "d"}, "a"),
    (["-v", "CONTAINER_IMAGE="], "", {"HPCBATCH_IMAGE": ""}, None),
]


@pytest.mark.parametrize(("argv", "script", "variables", "image"), IMAGES)
def test_image(argv: list[str], script: str, variables: dict[str, str], image: str | None) -> None:
    found = submit(*argv, "job", script=script, environ=ENVIRON | variables).submission
    assert found.spec.image == image
    if image not in {None, "d"}:
        assert found.environment["CONTAINER_IMAGE"] == image


def test_image_that_is_none() -> None:
    text = "CONTAINER_IMAGE: '/x.sif' is no image in a registry: expected [registry/]name[:tag]"
    script = "#PBS -N x\n#PBS -v CONTAINER_IMAGE=/x.sif\n"
    assert refusal("job", script=script) == (f"qsub: {text}\nqsub: job:2:6: refused here", 166)
    assert refusal("-v", "CONTAINER_IMAGE=/x.sif", "job") == (f"qsub: {text}", 166)


def test_gpus_are_told_to_the_job() -> None:
    found = spec("-l", "select=2:ncpus=4:ngpus=2", "job")
    assert found.chunks == (Chunk(count=2, cpus=4, resources=(("ngpus", 2),)),)
    assert found.attributes["Resource_List.ngpus"] == "4"


@pytest.mark.parametrize("options", [("-R", "oe", "j"), ("-W", "Remove_Files=oe", "j"), ("-Roe", "j")])
def test_files_to_remove(options: tuple[str, ...]) -> None:
    assert spec(*options).remove_output == "oe"
    assert spec("j", script="#PBS -R e\n").remove_output == "e"
    assert not spec("j").remove_output


def test_output_on_another_host_of_the_cluster() -> None:
    """All of its hosts share the files."""

    def read(host: str) -> PbsSubmission:
        return read_submission(
            ["-o", f"{host}:/data/x", "-e", f"{host}:y", "j"],
            script=lambda path: (path, b""),
            environ=ENVIRON,
            cwd="/data",
            host="login.site",
            user="u",
            server="pbs1",
            now=NOW,
            is_host=lambda name: name == "node-1",
        )

    found = read("node-1").submission.spec
    assert (found.stdout, found.stderr) == (Output(path="/data/x"), Output(path="$HOME/y"))
    with pytest.raises(ObstaclesError, match="node-2 is neither this host nor one of the cluster's"):
        read("node-2")


@pytest.mark.parametrize(
    ("argv", "shown"),
    [
        (["-v", "PW=x,T,C='a,b'", "job"], "-v PW=***,T,C=*** job"),
        (["-zvPW=x", "-N", "n", "job"], "-zvPW=*** -N n job"),
        (["-v", "T", "job"], "-v T job"),
        (["-v", "A=1", "-v", "B=2", "-V", "job"], "-v A=*** -v B=*** -V job"),
        (["-v", "PW=x", "--", "/bin/echo", "PW=x"], "-v PW=*** -- /bin/echo PW=x"),
        (["--", "sh", "-c", "a\nb\x1b"], "-- sh -c a^Jb^["),
    ],
)
def test_the_command_line_is_shown_without_the_values_of_variables(argv: list[str], shown: str) -> None:
    assert spec(*argv).attributes["Submit_arguments"] == shown


@pytest.mark.parametrize("argv", [("-I",), ("-W", "interactive=true")])
def test_an_interactive_job(argv: tuple[str, ...]) -> None:
    found = submit(*argv, environ={"TERM": "vt100"})
    assert found.interactive
    spec = found.submission.spec
    assert (spec.interactive, spec.rerunnable, spec.command) == (Interactive.SESSION, False, ())
    assert (found.submission.script, found.submission.environment["TERM"]) == (b"", "vt100")


def test_of_an_interactive_jobs_script_the_directives_count() -> None:
    found = submit("-I", "job.pbs", script="#PBS -N named\ntrue\n")
    assert (found.submission.spec.name, found.submission.script, found.submission.spec.script_path) == (
        "named",
        b"",
        None,
    )
