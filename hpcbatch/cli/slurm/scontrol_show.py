"""`scontrol show` of what is no job, node or partition."""

from __future__ import annotations

import sys

from hpcbatch.cli.common import EndedError, Session, complain
from hpcbatch.dialects.slurm import scontrol_show
from hpcbatch.dialects.slurm.errors import SlurmAnswer
from hpcbatch.dialects.slurm.scontrol_command import ScontrolCommand, Verb


def show(session: Session, command: ScontrolCommand) -> int:
    match command.verb:
        case Verb.SHOW_LICENSES:
            return _licenses(session, command)
        case Verb.SHOW_CONFIG:
            return _config(session, command)
        case Verb.SHOW_ASSOC_MGR:
            return _associations(session, command)
        case Verb.SHOW_STEP:
            return _steps(session, command)
        case Verb.SHOW_ALIASES:
            from hpcbatch.client.nodes import list_nodes

            names = [node.name for node in list_nodes(session.api, session.namespace)]
            sys.stdout.write(scontrol_show.format_aliases(names, command.operand))
        case Verb.SHOW_RESERVATION:
            from hpcbatch.cli.slurm.scontrol_reservation import show_reservations

            return show_reservations(session, command)
        case Verb.SHOW_TOPOLOGY:
            _topology(session, command.operand)
        case Verb.SHOW_FRONTEND:
            sys.stdout.write(scontrol_show.NO_FRONTENDS)
        case Verb.SHOW_SLURMD:
            raise EndedError(scontrol_show.NO_SLURMD, 1)
        case Verb.SHOW_DAEMONS:
            from hpcbatch.api.url import split_url
            from hpcbatch.client.nodes import list_nodes

            controller = split_url(session.connection.server).host
            nodes = [node.name for node in list_nodes(session.api, session.namespace)]
            sys.stdout.write(scontrol_show.format_daemons(session.host, controller, nodes))
        case _:
            pass  # burst buffers, federations: there are none, of which Slurm says nothing
    return 0


def _topology(session: Session, asked: str) -> None:
    from hpcbatch.client.nodes import node_labels, with_hypernodes
    from hpcbatch.client.queues import read_topology

    levels = [label for _, label in read_topology(session.api)]
    nodes = with_hypernodes(session.api, node_labels(session.api), levels) if levels else {}
    if text := scontrol_show.format_topology(levels, nodes, asked):
        sys.stdout.write(text)
    else:
        complain(scontrol_show.topology_error(asked))


def _licenses(session: Session, command: ScontrolCommand) -> int:
    from hpcbatch.client.licenses import held_licenses
    from hpcbatch.client.queues import list_licenses

    total = list_licenses(session.api)
    used = held_licenses(session.api, session.namespace) if total else {}
    sys.stdout.write(scontrol_show.format_licenses(total, used, command.operand, one_line=command.one_line))
    return 0


def write_config(session: Session, command: ScontrolCommand) -> int:
    """To a file that is named, or a new one beside where slurm.conf would be."""
    from pathlib import Path

    from hpcbatch.dialects.slurm.errors import SlurmUsageError
    from hpcbatch.dialects.slurm.scontrol_config import as_file

    stamp = session.now.astimezone(session.zone).strftime("%Y%m%d%H%M%S")
    usual = Path(session.environ.get("SLURM_CONF", "slurm.conf"))
    path = Path(command.words[0]) if command.words else usual.with_name(f"slurm.conf.{stamp}")
    try:
        path.write_text(as_file(_config_text(session, command)))
    except OSError as error:
        raise SlurmUsageError(f"Could not create file {path}: {error.strerror}") from None
    print(f"Slurm config saved to {path.absolute()}")
    return 0


def _config(session: Session, command: ScontrolCommand) -> int:
    sys.stdout.write(_config_text(session, command))
    return 0


def _config_text(session: Session, command: ScontrolCommand) -> str:
    from hpcbatch.api.queuelist import (
        enforced_from_json,
        licenses_from_json,
        preemption_from_json,
        priority_from_json,
        settings_from_json,
    )
    from hpcbatch.api.url import split_url
    from hpcbatch.client.nodes import count_nodes
    from hpcbatch.client.queues import published
    from hpcbatch.dialects.slurm.scontrol_config import Cluster, format_config

    site, server = published(session.api), split_url(session.connection.server)
    settings = settings_from_json(site)
    cluster = Cluster(
        name=session.server,
        host=server.host,
        port=server.port or 443,
        nodes=count_nodes(session.api),
        licenses=licenses_from_json(site),
        kill_delay_s=settings.get("killDelaySeconds"),
        max_array_size=settings.get("maxArraySize"),
        refuses_oversize=bool(settings.get("refuseOversize")),
        enforced=enforced_from_json(site),
        priority=priority_from_json(site),
        preemption=preemption_from_json(site),
    )
    return format_config(cluster, session.now, session.zone, command.time_format)


def _associations(session: Session, command: ScontrolCommand) -> int:
    from hpcbatch.cli.unix_names import uid_of
    from hpcbatch.client.accounts import read_accounts
    from hpcbatch.client.priorities import Ranks
    from hpcbatch.client.queues import read_priority
    from hpcbatch.dialects.slurm.assoc_mgr import Counted, format_state, read_words
    from hpcbatch.dialects.slurm.associations import accounts_of, directory_of

    wanted = read_words(command.words)
    accounts, config = read_accounts(session.api), read_priority(session.api)
    ranks = Ranks(session.api, session.namespace, accounts, config, session.now)
    rows = ranks.rows()
    is_counted = not accounts.is_bare and config.is_multifactor
    if accounts.is_bare:
        accounts = accounts_of(rows, accounts)
    counted = Counted(ranks.in_use(accounts, rows), ranks.shares(rows) if is_counted else None)
    found = directory_of(accounts)
    sys.stdout.write(format_state(found, wanted, session.server, uid_of, counted, one_line=command.one_line))
    return 0


def _steps(session: Session, command: ScontrolCommand) -> int:
    from hpcbatch.client import listing
    from hpcbatch.client.arrays import own_rows
    from hpcbatch.client.records import exactly, running_records
    from hpcbatch.dialects.slurm.steps import steps_of

    named, step = scontrol_show.read_step(command.operand)
    if named is None:
        rows = listing.list_rows(session.api, session.namespace, finished=False)
        records = running_records(session.api, session.namespace)
    else:
        found = listing.find_all(session.api, session.namespace, [named.number]).get(named.number)
        if found is None:
            raise EndedError(scontrol_show.NO_JOB, 1)
        rows = [found]
        if found.array_indices:
            rows = list(own_rows(session.api, found, named.members, ended=False).values())
        records = {one.job_id: one for row in rows for one in exactly(session.api, session.namespace, row.job_id)}
    steps = [one for one in steps_of(rows, records) if step in {"", one.name}]
    if not steps and named is not None:
        raise SlurmAnswer(scontrol_show.step_not_found(command.operand), 1)
    text = scontrol_show.format_steps(steps, session.zone, time_format=command.time_format, one_line=command.one_line)
    sys.stdout.write(text or scontrol_show.NO_STEPS)
    return 0
