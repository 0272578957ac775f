"""What qsub and sbatch do alike once a script has been read: submit it, or only show what would be made of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Timer

from hpcbatch.cli.common import EndedError, Session, complain, write_now
from hpcbatch.client.pod_nodes import with_nodes
from hpcbatch.client.submit import Submitted, submit
from hpcbatch.dataclass import replace
from hpcbatch.model.spec import Arrangement, Submission

QUIET_S = 2.7
"""A command that has had no answer for so long says that it goes on waiting."""
_WAITS = {
    "slurm": "{}: error: Slurm temporarily unable to accept job, sleeping and retrying",
    "lsf": "LSF is processing your request. Please wait ...",
}
"""What the real commands say then; those of PBS say nothing."""
_PBS_WAITS = "{}: the server has not answered yet, still waiting"


def send(session: Session, submission: Submission, command: str, *, is_quiet: bool = False) -> Submitted:
    """Submit, and print the notes for the submitter."""
    check_strict(submission, command)
    submission = replace(submission, spec=with_nodes(session.api, session.namespace, submission.spec))
    dialect = submission.spec.dialect
    with told_if_slow(dialect, command):
        # sbatch tries again by itself, and in the queue it keeps its place
        submitted = submit(session.api, session.namespace, submission, is_hasty=dialect != "slurm")
    tell(submission, command)
    if not is_quiet:
        tell_ignored((*submission.spec.ignored, *submitted.ignored), command, f"hpcbatch explain {submitted.job_id}")
    if submission.mail_note:
        _print_mail_notes(session, submission, command)
    return submitted


@contextmanager
def told_if_slow(dialect: str, command: str) -> Iterator[None]:
    """The user is, that the command goes on waiting. From a thread: whatever it waits for."""
    text = _WAITS.get(dialect, _PBS_WAITS).format(command)
    timer = Timer(QUIET_S, write_now, (f"{text}\n",))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _print_mail_notes(session: Session, submission: Submission, command: str) -> None:
    """What of the mail that was requested will not come."""
    from hpcbatch.client.queues import mail_rules
    from hpcbatch.model.mail import recipients

    rules = mail_rules(session.api)
    if rules is None:
        complain(f"{command}: {submission.mail_note}")
        return
    spec = submission.spec
    for why in recipients(spec.mail_users, rules, f"{session.user}@{spec.submit_host}")[1]:
        complain(f"{command}: {why}")


def tell(submission: Submission, command: str) -> None:
    for note in submission.notes:
        complain(note if note.startswith(f"{command}:") else f"{command}: {note}")


def tell_ignored(ignored: Sequence[str], command: str, explain: str) -> None:
    """One line for all that has no effect here. Each text is the option as given, a colon, and the reason."""
    if ignored:
        names = dict.fromkeys(text.partition(": ")[0] for text in ignored)
        complain(f"{command}: ignored here: {', '.join(names)} ({explain} says why)")


def check_strict(submission: Submission, command: str) -> None:
    """End the command if --strict was given and anything is ignored. What the site ignores the controller refuses."""
    spec = submission.spec
    if spec.is_strict and spec.ignored:
        start = "sbatch: error: --strict" if command == "sbatch" else f"{command}: --strict"
        raise EndedError("\n".join(f"{start}: {text}" for text in spec.ignored), 1)


def show(session: Session, submission: Submission, command: str, *, is_quiet: bool = False) -> None:
    """--dry-run: print the manifests, and the notes for the submitter."""
    check_strict(submission, command)
    sys.stdout.write(dry_run(session, submission))
    tell(submission, command)
    if not is_quiet:
        tell_ignored(submission.spec.ignored, command, f"{command} --explain")


def dry_run(session: Session, submission: Submission) -> str:
    """The manifests that the controller would make, as YAML. Needs no cluster; the job has the number 0."""
    from hpcbatch.model.array import Membership
    from hpcbatch.model.layout import NodeSize, lay_out
    from hpcbatch.model.site import SiteConfig
    from hpcbatch.policy.admission import with_one_alternative
    from hpcbatch.policy.place import objects, place
    from hpcbatch.policy.stand_in import stand_in
    from hpcbatch.site.identity import Identity
    from hpcbatch.volcano.translate import dry_run_yaml

    spec, site = submission.spec, SiteConfig(server_name=session.server)
    array = spec.array
    if array is not None:
        first = Membership(array_id=0, array_name="array", index=array.indices.first)
        spec = replace(spec, array=None, member_of=first)
    site, translated, names = stand_in(spec, site)
    spec = translated.spec
    cpus = os.cpu_count() or 1
    nodes = [NodeSize(cpus=cpus)] * sum(chunk.count for chunk in spec.chunks)
    queue = site.queue(spec.queue or site.default_queue)
    if queue is None:
        raise AssertionError("a site that names no queues has any")
    owner = Identity(user=session.user, uid=os.getuid(), gid=os.getgid(), home=session.home)
    layout = lay_out(with_one_alternative(spec, nodes), nodes)
    placed = place(0, spec, layout, queue=queue, site=site, owner=owner, array=array)
    made = objects(
        placed,
        site,
        submission_secret="job-0-submission",  # noqa: S106  a name, not a secret
        namespace=_namespace(session),
        export_none=submission.export_none,
    )
    remarks = ["# Dry run: nothing was submitted. The job gets its number, here 0, when it is.\n"]
    if array is not None:
        remarks.append(f"# It is an array of {len(array.indices)}: this is its member {array.indices.first}.\n")
    if spec.arrangement is Arrangement.FILL:
        remarks.append(f"# Tasks are spread as on nodes of {cpus} CPUs, which is what this machine has.\n")
    remarks += [f"# Ignored, unless the site has another use for it: {text}\n" for text in translated.ignored]
    if names:
        remarks.append(f"# What stands for these, as hpcbatch.io/…, is the site's to say: {', '.join(names)}\n")
    remarks.append(
        "# Secret job-0-submission, with script and environment, and the runner's ConfigMap are not shown.\n"
    )
    return "".join(remarks) + dry_run_yaml(made)


def _namespace(session: Session) -> str:
    from hpcbatch.errors import HpcBatchError

    try:
        return session.namespace
    except HpcBatchError:
        return "default"
