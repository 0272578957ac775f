"""Every failure of the recorded runs that can be known before a run, and more, is found; a good run is left alone."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcbatch.wrf.check import check, exit_code
from hpcbatch.wrf.finding import Finding, Severity
from hpcbatch.wrf.run import Program, Run
from tests.thoroughness import examples
from tests.unit.wrf.cases import NAMELIST, changed, run_of
from tests.unit.wrf.check_cases import CASES, DYNAMICS, ERROR, NEST, REAL, WRF, with_file, without


@pytest.mark.parametrize("program", list(Program))
@pytest.mark.parametrize("namelist", [NAMELIST, NEST], ids=["one domain", "nest"])
def test_a_good_run(program: Program, namelist: str) -> None:
    assert check(run_of(program, namelist, ranks=4 if namelist is NAMELIST else 1)) == []


@pytest.mark.parametrize("case", CASES)
def test_what_is_found(case: str) -> None:
    run, severity, key, value, rule = CASES[case]
    findings = check(run())
    found = [each for each in findings if (each.severity, each.key, each.value) == (severity, key, value)]
    assert found, findings
    assert any(re.search(rule, each.rule) for each in found), found
    assert exit_code(findings) == (1 if any(each.severity is ERROR for each in findings) else 0)


def test_lines_are_those_of_the_file() -> None:
    line = NAMELIST.splitlines().index(" e_sn = 52, 31,") + 1
    (finding,) = check(run_of(WRF, ranks=24))
    assert (finding.file, finding.line) == ("namelist.input", line)


def test_what_could_not_be_looked_at_is_no_error() -> None:
    hdf5 = with_file("wrfinput_d01", b"\x89HDF\r\n\x1a\n")
    (finding,) = check(run_of(WRF, files=hdf5))
    assert (finding.key, finding.value) == ("wrfinput_d01", "netCDF-4 (HDF5)")


def test_errors_come_first_and_once() -> None:
    findings: list[Finding] = check(run_of(WRF, "&domains\n time_stepp = 3,\n e_we = 5\n", ranks=30))
    assert findings == list(dict.fromkeys(findings))
    order = [each.severity for each in findings]
    assert order == sorted(order, key=list(Severity).index)


ONCE: dict[str, tuple[Callable[[], Run], str]] = {
    "a misspelt group": (lambda: run_of(WRF, NAMELIST.replace("&domains", "&domain")), "&domain"),
    "a group's keys": (lambda: run_of(WRF, NAMELIST.partition("&physics")[0] + DYNAMICS), "&physics"),
    "a value of another type": (lambda: run_of(WRF, changed("time_step = 60", "time_step = 6O")), "domains.time_step"),
    "a size that is not set": (lambda: run_of(WRF, changed(" e_we = 62, 31,\n", "")), "domains.e_we"),
    "every met_em": (
        lambda: run_of(REAL, changed("num_metgrid_levels = 20", "num_metgrid_levels = 21")),
        "domains.num_metgrid_levels",
    ),
    "a scheme in all domains": (
        lambda: run_of(WRF, NEST.replace("mp_physics = 6, 6", "mp_physics = 77, 77"), ranks=1),
        "physics.mp_physics",
    ),
}


@pytest.mark.parametrize("case", ONCE)
def test_each_finding_is_told_once(case: str) -> None:
    run, key = ONCE[case]
    assert [each.key for each in check(run())] == [key]


def test_one_of_the_files_and_more() -> None:
    gone = [f"met_em.d01.2024-01-15_{hour}:00:00.nc" for hour in (12, 13)]
    for missing, words in (
        (gone, "reads 2 files of domain 1, .*, and 2 are missing: "),
        (gone[1:], "reads 2 files of domain 1, .*, and this one is missing: "),
    ):
        (finding,) = check(run_of(REAL, files=without(*missing)))
        assert re.search(words, finding.rule)


def test_an_empty_namelist() -> None:
    assert exit_code(check(run_of(WRF, ""))) == 1
    assert exit_code(check(run_of(REAL, "", {}))) == 1


NUMBERS = [match.span() for match in re.finditer(r"(?<= )[0-9.]+(?=,)", NEST)]
ODD = [
    "0",
    "-1",
    "1",
    "7",
    "99999999",
    "99999999999999999999",
    "1e308",
    "-1e308",
    ".5",
    "6O",
    "",
    "''",
    "3*2",
    ".true.",
    "1e-300",
]


def test_each_number_can_be_huge() -> None:
    for begin, end in NUMBERS:
        assert all(finding.rule for finding in check(run_of(WRF, f"{NEST[:begin]}1e308{NEST[end:]}", ranks=6)))


@settings(max_examples=examples(50))
@given(st.dictionaries(st.sampled_from(NUMBERS), st.sampled_from(ODD), max_size=5), st.sampled_from(list(Program)))
def test_any_number_can_be_checked(changes: dict[tuple[int, int], str], program: Program) -> None:
    text = NEST
    for (begin, end), odd in sorted(changes.items(), reverse=True):
        text = text[:begin] + odd + text[end:]
    for finding in check(run_of(program, text, ranks=6)):
        assert finding.rule
        assert "\n" not in finding.rule
