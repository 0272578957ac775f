"""The help of `hpcbatch` and its groups of commands: what each does, not cut; those of `hpcbatch` itself by subject."""

from __future__ import annotations

import click

GROUPS = {
    "This machine as a cluster": ("up", "down", "status", "demo"),
    "Jobs": ("new", "explain", "watch", "why", "web"),
    "Weather forecasts": ("wrf",),
    "Your login": ("login-check", "completion"),
    "Administration": ("check", "site", "user", "report", "accounting", "controller"),
}
EXAMPLES = """\b
Examples:
  hpcbatch up --nodes 4 --cpus 8      a cluster on this machine
  qsub job.pbs; sbatch job.sh         submit scripts as they are
  hpcbatch watch                      follow what is submitted
  hpcbatch web                        the queue in a browser
  hpcbatch explain job.pbs            what becomes of each option
  hpcbatch new wrf --help             job scripts for a forecast
  hpcbatch user add anna              a user of the cluster
  hpcbatch COMMAND --help, man hpcbatch-COMMAND"""


def group_of(command: str) -> str:
    return next((title for title, commands in GROUPS.items() if command in commands), "")


class Whole(click.Group):
    """click cuts what a command does to the rest of its line."""

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        found = [(name, self.get_command(context, name)) for name in self.list_commands(context)]
        rows = [(name, _what_it_does(command)) for name, command in found if command is not None]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)


def _what_it_does(command: click.Command) -> str:
    return command.get_short_help_str(limit=200)


class Grouped(click.Group):
    def list_commands(self, _context: click.Context) -> list[str]:
        order = [name for names in GROUPS.values() for name in names]
        return sorted(self.commands, key=lambda name: (order.index(name) if name in order else len(order), name))

    def format_commands(self, _context: click.Context, formatter: click.HelpFormatter) -> None:
        for title, names in GROUPS.items():
            rows = [(name, _what_it_does(self.commands[name])) for name in names if name in self.commands]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)
