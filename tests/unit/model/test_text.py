from __future__ import annotations

import pytest

from hpcbatch.errors import HpcBatchError
from hpcbatch.model.dialect import Dialect
from hpcbatch.model.free_text import check_text
from hpcbatch.model.spec import JobSpec, Output
from hpcbatch.model.text import is_printable, printable, printable_lines, printable_tree


@pytest.mark.parametrize(
    "text", ["výpočet 模拟 محاكاة", "a b", "naïve|x=1;'\"", "e\u0301", "نمی\u200cخواهم", "a\u00a0b", "\U0001f600"]
)
def test_letters_of_any_language_stay(text: str) -> None:
    assert is_printable(text)
    assert printable(text) == printable_lines(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred", "^[[31mred"),
        ("a\nb\tc\rd", "a^Jb^Ic^Md"),
        ("\x00\x7f", "^@^?"),
        ("\x9b31m \x85", "?31m ?"),
        ("a\u202eb\u2028c\u2066d\u200f", "a?b?c?d?"),
    ],
)
def test_what_steers_a_terminal_is_shown_instead(text: str, shown: str) -> None:
    assert not is_printable(text)
    assert printable(text) == shown
    assert is_printable(shown)


def test_lines_and_tabs_of_a_whole_text_stay() -> None:
    assert printable_lines("a\tb\n\x1b[2Jc\r\n") == "a\tb\n^[[2Jc^M\n"


def test_a_tree_is_printable_to_its_last_leaf() -> None:
    tree = {"a\n": ["b\x1b", {"c": "d\r"}, 1, None, True]}
    assert printable_tree(tree) == {"a^J": ["b^[", {"c": "d^M"}, 1, None, True]}


def job(**more: object) -> JobSpec:
    return JobSpec(**{"dialect": Dialect.PBS, "name": "x", **more})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "spec",
    [
        job(),
        job(name="výpočet 模拟", account="a b|c", attributes={"comment": "x=1; y", "Resource_List.select": "1"}),
        job(command=("/bin/sh", "-c", "true\ntrue"), script_args=("\x1b",)),  # the job's own business
        job(server="arn:aws:eks:eu-1:1:cluster/x", submit_host="login-1.site"),
    ],
)
def test_text_that_a_job_may_have(spec: JobSpec) -> None:
    check_text(spec)


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        (job(name="a\x1b[31m"), r"job name 'a\^\[\[31m' has a character that cannot be printed"),
        (job(queue="a\nb"), "queue"),
        (job(account="a\u202eb"), "account"),
        (job(work_dir="/a\rb"), "working directory"),
        (job(script_path="/a\nb"), "script's path"),
        (job(stdout=Output(path="/a\x07")), "output path"),
        (job(mail_users=("a\x1b@b",)), "mail address"),
        (job(attributes={"comment": "a\nb"}), "comment 'a\\^Jb'"),
        (job(attributes={"Resource_List.x user=bob": "1"}), "is not the name of an attribute"),
        (job(server="a\n12.b"), "server"),
        (job(server="a;E;b"), "is not the name of a server"),
        (job(server=""), "is not the name of a server"),
        (job(submit_host="a b"), "is not the name of a host"),
    ],
)
def test_text_that_no_job_may_have(spec: JobSpec, says: str) -> None:
    with pytest.raises(HpcBatchError, match=says):
        check_text(spec)
