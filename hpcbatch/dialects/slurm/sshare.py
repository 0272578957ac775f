"""sshare: accounts, their users, their shares, and what they have used. At a site without priority/multifactor nothing
is counted against a share, which is what Slurm shows then.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from hpcbatch.dialects.slurm.associations import ROOT, Association, Directory
from hpcbatch.dialects.slurm.errors import VERSION_TEXT, SlurmAnswer
from hpcbatch.dialects.slurm.field_table import Style, headings, list_of_fields, style_of, table
from hpcbatch.dialects.slurm.getopt import Option, Parser, Takes
from hpcbatch.dialects.slurm.help import SSHARE_HELP
from hpcbatch.dialects.slurm.sacctmgr_values import format_tres
from hpcbatch.model.accounts import PARENT_SHARES
from hpcbatch.model.share import Share
from hpcbatch.typed import NamedTuple

PARSER = Parser(
    "sshare",
    [
        Option(name=name, short=short, takes=takes, aliases=aliases)
        for name, short, takes, aliases in (
            ("accounts", "A", Takes.VALUE, ()),
            ("all", "a", Takes.NOTHING, ()),
            ("clusters", "M", Takes.VALUE, ("cluster",)),
            ("format", "o", Takes.VALUE, ()),
            ("help", "", Takes.NOTHING, ()),
            ("helpformat", "e", Takes.NOTHING, ()),
            ("long", "l", Takes.NOTHING, ()),
            ("noheader", "n", Takes.NOTHING, ()),
            ("parsable", "p", Takes.NOTHING, ()),
            ("parsable2", "P", Takes.NOTHING, ()),
            ("partition", "m", Takes.NOTHING, ()),
            ("usage", "", Takes.NOTHING, ()),
            ("users", "u", Takes.VALUE, ("uid",)),
            ("Users", "U", Takes.NOTHING, ()),
            ("verbose", "v", Takes.NOTHING, ()),
            ("version", "V", Takes.NOTHING, ()),
        )
    ],
)
_FIELDS = {
    "Account": -20,
    "Cluster": 10,
    "EffectvUsage": 13,
    "FairShare": 10,
    "GrpTRESMins": 30,
    "GrpTRESRaw": 30,
    "ID": 6,
    "LevelFS": 10,
    "NormShares": 11,
    "NormUsage": 11,
    "Partition": 12,
    "RawShares": 10,
    "RawUsage": 11,
    "TRESRunMins": 30,
    "User": 10,
}
"""With their widths, in the order of `sshare -e`."""
_SHORT = "Account,User,RawShares,NormShares,RawUsage,EffectvUsage,FairShare"
_LONG = "Account,User,RawShares,NormShares,RawUsage,NormUsage,EffectvUsage,FairShare,LevelFS,GrpTRESMins,TRESRunMins"
_NOTHING = f"{0:.6f}"


class SshareOptions(NamedTuple):
    fields: str
    style: Style
    users: frozenset[str] | None
    """None: all."""
    accounts: frozenset[str] | None
    users_only: bool
    clusters: str | None


def read_options(argv: Sequence[str], user: str) -> SshareOptions:
    """`user` is whose shares are shown where none are named. Raises SlurmAnswer for help and version."""
    given, _ = PARSER.parse(argv, permute=True)
    asked: Mapping[str, str] = {option.option.name: option.value or "" for option in given}
    if "help" in asked or "usage" in asked:
        raise SlurmAnswer(SSHARE_HELP)
    if "version" in asked:
        raise SlurmAnswer(VERSION_TEXT)
    if "helpformat" in asked:
        raise SlurmAnswer(list_of_fields(_FIELDS, 17, 4))
    fields = asked.get("format") or (_LONG if "long" in asked else _SHORT)
    if "partition" in asked and "format" not in asked:
        fields = fields.replace("User,", "User,Partition,", 1)
    users = None if "all" in asked else frozenset({user})
    if "users" in asked:
        users = frozenset(asked["users"].split(","))
    return SshareOptions(
        fields=fields,
        style=style_of(asked),
        users=users,
        accounts=frozenset(asked["accounts"].split(",")) if asked.get("accounts") else None,
        users_only="Users" in asked,
        clusters=asked.get("clusters"),
    )


class Fairness(NamedTuple):
    """How associations stand, by number; None: nothing is counted."""

    shares: Mapping[int, Share] | None = None
    is_fair_tree: bool = True
    committed: Mapping[int, Mapping[str, int]] = {}
    """Seconds that running jobs have left, times their `cpu`, `mem` (MiB) and `node`."""


def format_shares(
    directory: Directory, options: SshareOptions, cluster: str, fairness: Fairness | None = None
) -> Iterator[str]:
    """The lines. Raises SlurmUsageError for a field that there is not."""
    fields = options.fields
    if fairness is not None and not fairness.is_fair_tree and fields == _LONG:
        fields = fields.replace("LevelFS,", "")
    columns = headings(fields, _FIELDS, "sshare")
    chosen = [one for one in directory.associations if _is_selected(one, options)]
    rows = [{**_row(one, cluster, options), **_counted(one, fairness)} for one in chosen]
    return table(columns, ([row.get(column.name, "") for column in columns] for row in rows), options.style)


def _counted(one: Association, fairness: Fairness | None) -> dict[str, str]:
    if fairness is None or fairness.shares is None:
        return {}
    share = fairness.shares[one.number]
    has_factor = bool(one.user) or not fairness.is_fair_tree
    is_parent = one.own.shares == PARENT_SHARES
    is_root = one.account == ROOT and not one.user
    return {
        "RawShares": "" if is_root else "parent" if is_parent else str(one.own.shares),
        "NormShares": f"{share.norm_shares:.6f}",
        "RawUsage": f"{share.raw_usage:.0f}",
        "NormUsage": f"{share.norm_usage:.6f}",
        "EffectvUsage": f"{share.effective_usage:.6f}",
        "FairShare": f"{share.factor:.6f}" if has_factor else "",
        "LevelFS": "" if is_root or is_parent else f"{share.level_fs:.6f}",
        "GrpTRESMins": format_tres(one.own.limits.amounts("GrpTRESMins")),
        "TRESRunMins": _minutes(fairness.committed.get(one.number, {})),
    }


def _minutes(seconds: Mapping[str, int]) -> str:
    """Billed are CPUs, as where no weights are set."""
    cpu, mem, node = (seconds.get(name, 0) // 60 for name in ("cpu", "mem", "node"))
    return f"cpu={cpu},mem={mem},energy=0,node={node},billing={cpu},fs/disk=0,vmem=0,pages=0"


def _is_selected(one: Association, options: SshareOptions) -> bool:
    if options.accounts is not None and one.account not in options.accounts:
        return False
    if not one.user:
        return not options.users_only
    return options.users is None or one.user in options.users


def _row(one: Association, cluster: str, options: SshareOptions) -> dict[str, str]:
    depth = 0 if options.users_only else one.depth
    if options.accounts is not None and not options.users_only:
        depth = int(bool(one.user))  # the accounts above are not shown
    return {
        "Account": " " * depth + one.account,
        "User": one.user,
        "Cluster": cluster,
        "ID": str(one.number),
        "RawShares": "" if one.account == ROOT and not one.user else "1",
        "RawUsage": "0",
        "EffectvUsage": _NOTHING,
        "FairShare": _NOTHING if one.user else "",
        "LevelFS": _NOTHING,
        "TRESRunMins": _minutes({}),
    }
