"""`sbatch`: submit a Slurm script."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from hpcbatch.cli.common import EndedError, Session, complain, run
from hpcbatch.cli.slurm.common import describe
from hpcbatch.errors import RefusedError
from hpcbatch.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbatch.dialects.slurm.submit import SlurmSubmission


def main() -> None:
    run("sbatch", _body, partial(describe, "sbatch"))


def _body(session: Session) -> int:
    from hpcbatch.dialects.slurm import errors

    arguments = sys.argv[1:]
    read = reader(session, arguments, partial(_script, session))
    if "--explain" in arguments:
        from hpcbatch.cli.explanation import explained
        from hpcbatch.dialects.slurm.options import PARSER
        from hpcbatch.dialects.slurm.plugins import plugin_option

        given, _ = PARSER.parse(arguments, unknown=lambda name: plugin_option(name, partial(_plugin_options, session)))
        if any(each.option.name == "explain" for each in given):
            return explained(session, "sbatch", read, describe("sbatch", session))
    wanted = read()
    if wanted.verbose and not wanted.quiet:
        complain("\n".join(wanted.told))
        if wanted.verbose > 1:
            complain(f"sbatch: debug:  cluster {session.connection.server}, namespace {session.namespace}")
    from hpcbatch.cli.submission import send, show

    if wanted.dry_run:
        show(session, wanted.submission, "sbatch", is_quiet=wanted.quiet)
        return 0
    if wanted.test_only:
        from hpcbatch.cli.slurm.sbatch_test import tested

        return tested(session, wanted.submission, "sbatch")
    wanted = _with_submit_line(session, wanted, arguments)
    try:
        if wanted.priority or wanted.submission.spec.nice < 0:
            from hpcbatch.cli.slurm.sbatch_priority import send_with_priority

            submitted = send_with_priority(session, wanted)
        else:
            submitted = send(session, wanted.submission, "sbatch", is_quiet=wanted.quiet)
    except RefusedError as refused:
        # The controller's message names the partition that there is none of, also where it is the site's default.
        raise EndedError(*errors.describe(refused, "sbatch", str(refused))) from None
    if wanted.parsable:
        print(submitted.job_id)
    elif not wanted.quiet:
        print(f"Submitted batch job {submitted.job_id}")
    if wanted.wait:
        from hpcbatch.cli.slurm.wait import wait

        return wait(session, submitted)
    return 0


def _with_submit_line(session: Session, wanted: SlurmSubmission, arguments: Sequence[str]) -> SlurmSubmission:
    from hpcbatch.dataclass import replace
    from hpcbatch.dialects.slurm.read_request import submit_line

    spec = wanted.submission.spec
    attributes = {**spec.attributes, "submit_line": submit_line(arguments, partial(_plugin_options, session))}
    submission = replace(wanted.submission, spec=replace(spec, attributes=attributes))
    return wanted._replace(submission=submission)


def reader(
    session: Session,
    arguments: Sequence[str],
    script: Callable[[str | None], tuple[str | None, bytes]],
    site_options: Mapping[str, str] | None = None,
) -> partial[SlurmSubmission]:
    """Reads the command line and its script, which `script` reads, in the user's surroundings. `site_options` are the
    options of plugins that the site ignores; None: those of the cluster.
    """
    from hpcbatch.cli.limits import SoftLimits
    from hpcbatch.cli.script import read_script
    from hpcbatch.dialects.slurm.submit import read_submission

    return partial(
        read_submission,
        arguments,
        script=script,
        environ=session.environ,
        cwd=session.cwd,
        host=session.host,
        user=session.user,
        server=session.server,
        now=session.now,
        umask=session.umask,
        reader=lambda path: read_script(session, path, prompt=False),
        limits=SoftLimits(),
        plugin_options=partial(_plugin_options, session) if site_options is None else lambda: site_options,
    )


def _plugin_options(session: Session) -> Mapping[str, str]:
    """The options of plugins that the site ignores; none without a cluster."""
    from hpcbatch.client.queues import plugin_options
    from hpcbatch.errors import HpcBatchError

    try:
        return plugin_options(session.api)
    except HpcBatchError:
        return {}


def _script(session: Session, path: str | None) -> tuple[str | None, bytes]:
    from hpcbatch.cli.script import read_script, search_path

    try:
        return read_script(session, None if path is None else search_path(session, path), prompt=False)
    except OSError as error:
        reason = "" if isinstance(error, FileNotFoundError) else f": {error.strerror}"
        raise EndedError(f"sbatch: error: Unable to open file {path}{reason}", 1) from None
