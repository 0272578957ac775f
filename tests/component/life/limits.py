"""Limits of what runs at a time, as an operator has set them; and that nobody exceeds them, nor starves."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from hpcbatch.api.account_text import accounts_to_json
from hpcbatch.api.names import ACCOUNTS_CONFIGMAP, ACCOUNTS_KEY, SITE_CONFIGMAP, SYSTEM_NAMESPACE
from hpcbatch.api.resources import CONFIGMAPS
from hpcbatch.engine.registry.registry import Registry
from hpcbatch.model.account_change import AccountChange, Action, Entity
from hpcbatch.model.accounts import Accounts, ServerLimit, first_accounts
from hpcbatch.policy.account_changes import changed
from hpcbatch.site.file import FILE_KEY
from tests.component.life.play import Run

if TYPE_CHECKING:
    from tests.component.life.user import Asked, Life

USER = "alice"
ACCOUNTS = PLAIN, NARROW = "chem", "phys"
"""The first is the user's default and has no limits."""
SHORT = "short"
"""A quality of service."""
NARROW_CPUS, NARROW_JOBS, SHORT_JOBS, ALL_JOBS = 3, 2, 2, 5
_TOGETHER_S = 5.0
"""Between the first and the last start of one plan, with one or two kills meanwhile."""
_FEW = 10
"""Of jobs that may start before a wide one that came earlier: with the plan there are 3 at most, else up to 90."""
_SITE = """\
apiVersion: hpcbatch.io/v1alpha1
kind: SiteConfiguration
accountingEnforce: [limits]
historyMovedAfter: 1s
"""


def set_limits(registry: Registry) -> None:
    """Before a controller looks for them."""
    accounts = accounts_to_json(_with_limits(first_accounts()))
    for name, data in ((ACCOUNTS_CONFIGMAP, {ACCOUNTS_KEY: accounts}), (SITE_CONFIGMAP, {FILE_KEY: _SITE})):
        made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}
        registry.create(CONFIGMAPS, made, SYSTEM_NAMESPACE)


def _with_limits(accounts: Accounts) -> Accounts:
    users = [
        AccountChange(action=Action.ADD, entity=Entity.USER, names=(USER,), accounts=(PLAIN,)),
        AccountChange(
            action=Action.ADD, entity=Entity.USER, names=(USER,), accounts=(NARROW,), settings={"MaxJobs": NARROW_JOBS}
        ),
    ]
    for change in (
        AccountChange(action=Action.ADD, entity=Entity.QOS, names=(SHORT,), settings={"MaxJobsPerUser": SHORT_JOBS}),
        AccountChange(action=Action.ADD, entity=Entity.ACCOUNT, names=(PLAIN,)),
        AccountChange(
            action=Action.ADD,
            entity=Entity.ACCOUNT,
            names=(NARROW,),
            settings={"GrpTRES": {"cpu": NARROW_CPUS}},
        ),
        *users,
    ):
        accounts = changed(accounts, change).accounts
    everybody = ServerLimit(word="max_run", kind="o", name="PBS_ALL", amount=ALL_JOBS)
    return replace(accounts, server_limits=(everybody,), default_accounts={USER: PLAIN})


def check_limits(life: Life) -> None:
    """A run that has lost a pod makes room before all of it has gone; and one that begins although its job is being
    deleted, in a pod that Volcano has just made anew, is broken off at once.
    """
    whole = [run for run in life.stage.log.runs if not run.is_wounded and not _is_late(life, run)]
    narrow = [run for run in whole if life.specs[_base(run)].account == NARROW]
    short = [run for run in whole if life.specs[_base(run)].attributes.get("qos") == SHORT]
    # a limit of jobs of the quality of service goes before that of the association
    others = [run for run in narrow if run not in short]
    for what, runs, weight, most in (
        ("CPUs of an account", narrow, _cpus, NARROW_CPUS),
        ("jobs of a user in an account", others, _one, NARROW_JOBS),
        ("jobs of a quality of service", short, _one, SHORT_JOBS),
        ("jobs of all", whole, _one, ALL_JOBS),
    ):
        found, when = overlap((run, weight(run)) for run in runs)
        at_once = [run for run in runs if run.begun <= when <= (run.ended or when)]
        told = "\n".join(f"{run}\n  {life.asked.get(_base(run))}" for run in at_once)
        assert found <= most, f"{found} {what} at once, the limit is {most}\n{told}"


def check_reservations(life: Life) -> None:
    """Nobody starts on a node that is kept for maintenance, for no walltime ends before that begins. But for what had
    been released when it was granted, and pods that Volcano makes anew.
    """
    for asked in life.asked.values():
        runs = life.stage.log.of(asked.spec.name)[:1]
        for run in runs:
            for kept in life.kept:
                is_in = kept.granted + _TOGETHER_S < run.begun < kept.until
                assert not (is_in and kept.node in run.nodes), f"{run} started in {kept}\n{asked}"


def _is_late(life: Life, run: Run) -> bool:
    asked = life.asked.get(_base(run))
    return asked is not None and asked.deleted_at is not None and run.begun > asked.deleted_at


def _one(_run: Run) -> int:
    return 1


def _cpus(run: Run) -> int:
    return run.cpus


def _base(run: Run) -> str:
    return run.name.partition("[")[0]


def overlap(runs: Iterable[tuple[Run, int]]) -> tuple[int, float]:
    """The most that ran at one instant, each with its weight; and when that was."""
    changes = sorted(
        change for run, weight in runs for change in ((run.begun, weight), (run.ended or run.begun, -weight))
    )
    most, now, when = 0, 0, 0.0
    for at, change in changes:
        now += change
        most, when = max((most, when), (now, at), key=lambda pair: pair[0])
    return most, when


def check_no_starvation(life: Life, put_back: set[int]) -> None:
    """While a job that needs the whole cluster waits, hardly any starts that came after it: none has a walltime by
    which it would end before. A few may start together with one that came before it, and so end no later than that;
    also if that one was held or deleted just then, or starts again and again as its nodes are lost. `put_back`:
    which the controller has put behind others, since Volcano did not start them.
    """
    for wide in life.asked.values():
        runs = life.stage.log.of(wide.spec.name)
        if not wide.is_wide or wide.job_id in put_back or not (runs or wide.deleted_at):
            continue
        until = min([*(run.begun for run in runs[:1]), *([wide.deleted_at] if wide.deleted_at else [])])
        started = [run for run in life.stage.log.runs if wide.came < run.begun < until]
        passed = [run for run in started if _came_after(life, run, wide)]
        older = sum(not _came_after(life, run, wide) for run in started)
        assert len(passed) <= _FEW + 2 * older, f"started before {wide}:\n" + "\n".join(map(str, passed))


def _came_after(life: Life, run: Run, wide: Asked) -> bool:
    """And is known to have no higher priority, and no walltime."""
    other = life.asked.get(_base(run))
    return other is not None and other.job_id > wide.job_id and other.shown == {}
