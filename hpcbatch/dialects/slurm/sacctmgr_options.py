"""sacctmgr's command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hpcbatch.dataclass import dataclass, field
from hpcbatch.dialects.slurm.errors import VERSION_TEXT, SlurmAnswer, SlurmUsageError
from hpcbatch.dialects.slurm.field_table import Style
from hpcbatch.dialects.slurm.getopt import Option, Parser, Takes
from hpcbatch.dialects.slurm.help import SACCTMGR_HELP, SACCTMGR_USAGE
from hpcbatch.dialects.slurm.sacctmgr_change import Request, read_change
from hpcbatch.model.account_change import Action, Entity

PARSER = Parser(
    "sacctmgr",
    [
        Option(name=name, short=short, takes=Takes.NOTHING)
        for name, short in (
            ("associations", "s"),
            ("help", "h"),
            ("immediate", "i"),
            ("noheader", "n"),
            ("oneliner", "o"),
            ("parsable", "p"),
            ("parsable2", "P"),
            ("quiet", "Q"),
            ("readonly", "r"),
            ("usage", ""),
            ("verbose", "v"),
            ("version", "V"),
        )
    ],
)
ENTITIES = (
    ("accounts", 2, "account"),
    ("acct", 4, "account"),
    ("associations", 2, "association"),
    ("clusters", 2, "cluster"),
    ("configuration", 2, "configuration"),
    ("events", 1, "event"),
    ("federations", 1, "federation"),
    ("problems", 1, "problem"),
    ("runawayjobs", 2, "runaway"),
    ("orphanjobs", 1, "runaway"),
    ("lostjobs", 1, "runaway"),
    ("qos", 1, "qos"),
    ("resource", 4, "resource"),
    ("reservations", 4, "reservation"),
    ("resv", 4, "reservation"),
    ("stats", 1, "stats"),
    ("transactions", 1, "transaction"),
    ("txn", 1, "transaction"),
    ("users", 1, "user"),
    ("wckeys", 1, "wckey"),
    ("tres", 2, "tres"),
)
"""What can be listed, and the least letters of it. Source: _show_it() of sacctmgr.c, in its order."""
_FLAGS = {
    "where": 5,
    "set": 3,
    "tree": 4,
    "withassoc": 5,
    "withcoordinators": 5,
    "withdeleted": 5,
    "withrawqoslevel": 5,
    "withsubaccounts": 5,
    "withfed": 5,
    "withclusters": 5,
    "onlydefaults": 4,
    "wolimits": 4,
    "wopinfo": 4,
    "woplimits": 4,
}
_KEYS = {
    "account": {"accounts": "Account", "acct": "Account", "names": "Account", "descriptions": "Descr"}
    | {"organizations": "Org", "clusters": "Cluster", "users": "User", "parents": "ParentName", "qoslevel": "QOS"},
    "association": {"associations": "ID", "accounts": "Account", "acct": "Account", "clusters": "Cluster"}
    | {"ids": "ID", "users": "User", "partitions": "Partition", "parents": "ParentName", "qoslevel": "QOS"},
    "cluster": {"clusters": "Cluster", "names": "Cluster", "rpcversions": "RPC", "classification": "Class"},
    "qos": {"qos": "Name", "names": "Name", "ids": "ID", "descriptions": "Descr", "clusters": ""},
    "tres": {"names": "Name", "ids": "ID", "types": "Type"},
    "user": {"users": "User", "names": "User", "accounts": "Account", "acct": "Account", "adminlevel": "Admin"}
    | {"clusters": "Cluster", "defaultaccount": "Def Acct", "partitions": "Partition", "qoslevel": "QOS"},
}
"""The conditions of each entity, and the field that each restricts."""
_BARE = {"account": "Account", "cluster": "Cluster", "qos": "Name", "tres": "Name", "user": "User"}
"""The field that a word without `=` restricts."""
_LIST_TEXT = """\
No valid entity in list command
Input line must include "Account", "Association", "Cluster", "Configuration",
"Event", "Federation", "Problem", "QOS", "Resource", "Reservation",
"RunAwayJobs", "Stats", "Transaction", "TRES", "User", or "WCKey\""""
_CHANGE_TEXT = """\
No valid entity in {0} command
Input line must include "Account", "Cluster", "Coordinator", "Federation", "QOS", "Resource", or "User\""""
_MODIFY_TEXT = """\
No valid entity in modify command
Input line must include "Account", "Cluster", "Federation", "Job", "QOS", "Resource" or "User\""""
_NO_RIGHT = "Your user doesn't have privilege to perform this action"
_DENIED = " Error with request: Access/permission denied"
_HERE = "sacctmgr: hpcbatch: the accounts are kept in ConfigMap hpcbatch-accounts, of which kubectl saves a copy"
_REFUSED = {
    "problem": f"sacctmgr: error: Access/permission denied\n{_DENIED}",
    "runaway": "sacctmgr: error: You must have an AdminLevel>=Operator to fix runaway jobs",
    "stats": f"sacctmgr: accounting_storage/slurmdbd: acct_storage_p_get_stats: RC:2002 {_NO_RIGHT}",
    "wckey": f"sacctmgr: error: {_NO_RIGHT}\n{_DENIED}",
}
_COLUMNS = Style()


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What is listed. `wanted` restricts fields to values, in lower case."""

    entity: str
    format: str | None = None
    style: Style = _COLUMNS
    wanted: Mapping[str, frozenset[str]] = field(default_factory=dict)
    with_associations: bool = False
    only_defaults: bool = False
    own_limits: bool = False
    """Without those that it has from above."""
    tree: bool = False


def read_command(argv: Sequence[str]) -> Listing | Request | None:
    """None: there is nothing to do. Raises SlurmUsageError with the real texts."""
    given, operands = PARSER.parse(argv, permute=True)
    asked = {option.option.name for option in given}
    for name, text in (("help", SACCTMGR_HELP), ("usage", SACCTMGR_USAGE), ("version", VERSION_TEXT)):
        if name in asked:
            raise SlurmAnswer(text)
    words = [argv[index] for index in operands]
    command, rest = words[0].lower(), words[1:]
    if _is(command, "show", 3) or _is(command, "list", 3):
        parsable = next((option.option.name for option in reversed(given) if option.option.name.startswith("pars")), "")
        style = Style("noheader" not in asked, "|" if parsable else None, parsable == "parsable")
        return _listing(rest, style, with_associations="associations" in asked)
    for action, names in ACTIONS.items():
        if any(_is(command, name, least) for name, least in names):
            if "readonly" in asked:
                raise SlurmUsageError("Can't run this command in readonly mode.")
            return _change(action, rest)
    _other(command, words[0])
    return None


def has_no_command(argv: Sequence[str]) -> bool:
    """Whether the requests come from standard input."""
    given, operands = PARSER.parse(argv, permute=True)
    return not operands and not {"help", "usage", "version"} & {option.option.name for option in given}


def kept_options(options: Sequence[str], words: Sequence[str]) -> list[str]:
    """The command line's options after a request at the prompt, of which some hold for those that follow."""
    kept = next((option for name, least, option in _KEPT if words and _is(words[0].lower(), name, least)), None)
    return [*options, *([] if kept is None else [kept])]


_KEPT = (
    ("associations", 3, "-s"),
    ("oneliner", 1, "-o"),
    ("quiet", 4, "-Q"),
    ("readonly", 4, "-r"),
    ("verbose", 4, "-v"),
)


def asks_nothing(argv: Sequence[str]) -> bool:
    """Whether changes are committed at once (-i)."""
    return any(option.option.name == "immediate" for option in PARSER.parse(argv, permute=True)[0])


ACTIONS = {
    Action.ADD: (("add", 3), ("create", 3)),
    Action.MODIFY: (("modify", 1), ("update", 1)),
    Action.DELETE: (("delete", 3), ("remove", 3)),
}
CHANGEABLE = (
    ("accounts", 1, Entity.ACCOUNT),
    ("acct", 4, Entity.ACCOUNT),
    ("coordinators", 2, Entity.COORDINATOR),
    ("qos", 1, Entity.QOS),
    ("users", 1, Entity.USER),
)
_ONE_CLUSTER = {
    "cluster": "there is one cluster, by the name of the kubeconfig's",
    "federation": "there is one cluster",
    "resource": "licences stand in site.yaml",
    "job": "jobs are changed by scontrol update",
}


def _change(action: Action, words: Sequence[str]) -> Request:
    name = words[0].lower() if words else ""
    entity = next((entity for full, least, entity in CHANGEABLE if _is(name, full, least)), None)
    if entity is not None and not (action is Action.MODIFY and entity is Entity.COORDINATOR):
        return read_change(action, entity, words[1:])
    for full, why in _ONE_CLUSTER.items():
        if name and (full.startswith(name) or name == f"{full}s") and (full != "job" or action is Action.MODIFY):
            raise SlurmUsageError(f"{denied(action, full)}\nsacctmgr: hpcbatch: {why}")
    raise SlurmUsageError(_MODIFY_TEXT if action is Action.MODIFY else _CHANGE_TEXT.format(action.value))


def denied(action: Action, entity: Entity | str) -> str:
    """What users are told who may not change it."""
    name = entity.value if isinstance(entity, Entity) else entity
    if action is Action.ADD:
        return f" Problem adding {_PLURALS.get(name, name)}: Access/permission denied"
    return f"sacctmgr: error: {_NO_RIGHT}\n{_DENIED}"


def _is(word: str, name: str, least: int) -> bool:
    return len(word) >= least and name.startswith(word)


def _listing(words: Sequence[str], style: Style, *, with_associations: bool) -> Listing:
    name = words[0].lower() if words else ""
    entity = next((entity for full, least, entity in ENTITIES if _is(name, full, least)), None)
    if entity is None:
        raise SlurmUsageError(_LIST_TEXT)
    if entity in _REFUSED:
        raise SlurmUsageError(_REFUSED[entity])
    wanted: dict[str, frozenset[str]] = {}
    flags: set[str] = set()
    form = None
    for word in words[1:]:
        key, equals, value = word.partition("=")
        key = key.rstrip("+-").lower()
        if not equals:
            flag = next((flag for flag, least in _FLAGS.items() if _is(key, flag, least)), None)
            if flag is not None:
                flags.add(flag)
                continue
            at = _bare_field(entity, word)
            values = word
        elif _is(key, "format", 1):
            form = value
            continue
        else:
            at, values = _field_of(entity, key, word), value
        wanted[at] = wanted.get(at, frozenset()) | {each.strip().lower() for each in values.strip("\"'").split(",")}
    return Listing(
        entity=entity,
        format=form,
        style=style,
        wanted=wanted,
        with_associations=with_associations or "withassoc" in flags,
        only_defaults="onlydefaults" in flags,
        own_limits=bool(flags & {"woplimits", "wopinfo"}),
        tree="tree" in flags,
    )


def _bare_field(entity: str, word: str) -> str:
    if entity in _BARE:
        return _BARE[entity]
    if entity == "association":
        if not word.isdigit():
            raise SlurmUsageError(f"sacctmgr: error: Invalid value for AssocId ({word})")
        return "ID"
    return ""


def _field_of(entity: str, key: str, word: str) -> str:
    if entity not in _KEYS:
        return ""
    for name, field_name in _KEYS[entity].items():
        if _is(key, name, 1):
            return field_name
    raise SlurmUsageError(f" Unknown condition: {word}\n Use keyword 'set' to modify value")


def _other(command: str, word: str) -> None:
    """Requests that list and change nothing. Raises SlurmUsageError, or SlurmAnswer for help and version."""
    if _is(command, "help", 2):
        raise SlurmAnswer(SACCTMGR_HELP)
    if _is(command, "version", 4):
        raise SlurmAnswer(VERSION_TEXT)
    if any(_is(command, full, least) for full, least in _SILENT.items()):
        return
    for full, (least, text) in _OTHERS.items():
        if _is(command, full, least):
            raise SlurmUsageError(f"{text}\n{_HERE}")
    raise SlurmUsageError(f"invalid keyword: {word}")


_SILENT = {"exit": 4, "quit": 4, "quiet": 4, "verbose": 4, "readonly": 4, "associations": 3, "oneliner": 1}
_SILENT |= {"reconfigure": 4}
_OTHERS = {
    "archive": (3, f"sacctmgr: error: {_NO_RIGHT}"),
    "clear": (3, f"sacctmgr: error: {_NO_RIGHT}"),
    "dump": (3, " Your uid is not in the accounting system, can't dump cluster."),
    "load": (2, " Your uid is not in the accounting system, can't load file."),
    "rollup": (2, f"sacctmgr: error: {_NO_RIGHT}"),
    "shutdown": (4, " Problem shutting down server: Access/permission denied"),
}
_PLURALS = {"user": "users", "account": "accounts", "cluster": "clusters", "qos": "QOS"}
