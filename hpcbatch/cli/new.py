"""`hpcbatch new`: job scripts from templates (docs/new.md)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import click

from hpcbatch.cli.columns import aligned
from hpcbatch.cli.common import Session, complain
from hpcbatch.cli.groups import Whole
from hpcbatch.errors import HpcBatchError, UsageError
from hpcbatch.typed import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hpcbatch.new.catalog import Catalog
    from hpcbatch.new.definition import Definition
    from hpcbatch.new.parameters import Parameter, Value

_LIST = "list"


class _Templates(Whole):
    """A command for each template, with its parameters as options."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [_LIST, *_catalog(ctx).names()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name == _LIST:
            return super().get_command(ctx, cmd_name)
        return _command(_catalog(ctx).definition(cmd_name), _catalog(ctx))


@click.group(cls=_Templates)
@click.option("--templates", type=click.Path(path_type=Path), help="A directory whose templates go before all others.")
def new(templates: Path | None) -> None:
    """Write a job script from a template; `hpcbatch new TEMPLATE --help` shows what it takes."""


@new.command(_LIST)
@click.argument("names", metavar="[TEMPLATE]...", nargs=-1)
@click.pass_context
def list_templates(context: click.Context, names: tuple[str, ...]) -> None:
    """Show templates and their parameters. Exits with 1 if one of them has a fault."""
    catalog, shown, faults = _catalog(context), 0, 0
    for name in names or catalog.names():
        try:
            definition = catalog.definition(name)
        except UsageError:
            raise
        except HpcBatchError as error:
            complain(f"hpcbatch: template {name}: {error}")
            faults += 1
            continue
        click.echo(("\n" if shown else "") + f"{name}: {definition.description}")
        shown += 1
        rows = [(f"  {_shown(parameter)}", _remark(parameter)) for parameter in definition.parameters]
        for line in aligned(rows):
            click.echo(line)
    if faults:
        raise SystemExit(1)


class _Command(click.Command):
    """Its errors are one line that names template and parameter."""

    def __init__(self, definition: Definition, **rest: Any) -> None:
        self.definition = definition
        super().__init__(definition.name, **rest)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        from hpcbatch.new.parameters import unknown_parameter

        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            raise unknown_parameter(self.name or "", error.option_name, self.definition.parameters) from None
        except click.BadOptionUsage as error:
            expected = {p.option: p.expected for p in self.definition.parameters}.get(error.option_name, "a value")
            raise UsageError(f"template {self.name}: {error.option_name}: expected {expected}, found nothing") from None
        except click.UsageError as error:
            raise UsageError(f"template {self.name}: {error.format_message()}") from None


def _command(definition: Definition, catalog: Catalog) -> click.Command:
    """Words after the first that is no option are the program's own."""
    return _Command(
        definition,
        callback=click.pass_obj(_writer(definition, catalog)),
        help=f"{definition.description}.",
        params=[*map(_option, definition.parameters), *_OWN],
        context_settings={"allow_interspersed_args": all(p.kind != "command" for p in definition.parameters)},
    )


_OWN = (
    click.Option(["--dialect"], metavar="pbs|slurm|lsf", help="For qsub, sbatch or bsub. Required."),
    click.Option(["-o", "--output"], metavar="FILE", help="Where to write; without it, standard output."),
    click.Option(["--force"], is_flag=True, help="Overwrite FILE."),
)


def _option(parameter: Parameter) -> click.Parameter:
    from hpcbatch.new.parameters import REPEATED

    if parameter.kind == "command":
        return click.Argument(
            [parameter.variable], nargs=-1, type=click.UNPROCESSED, metavar=f"{parameter.name.upper()} [ARGUMENT]..."
        )
    if parameter.kind == "flag":
        declared = f"--{parameter.name}" + (f"/--no-{parameter.name}" if parameter.default else "")
        return click.Option([declared, parameter.variable], is_flag=True, default=None, help=_remark(parameter))
    return click.Option(
        [f"--{parameter.name}", parameter.variable],
        metavar=_metavar(parameter),
        multiple=parameter.kind in REPEATED,
        help=_remark(parameter),
    )


def _writer(definition: Definition, catalog: Catalog) -> Callable[..., None]:
    def write(session: Session, /, *, dialect: str | None, output: str | None, force: bool, **given: Any) -> None:
        from hpcbatch.dialects.registry import DIALECTS
        from hpcbatch.new.parameters import read_values
        from hpcbatch.new.render import render

        written = [name for name, door in DIALECTS.items() if door.has_templates]
        if dialect not in written:
            known = " or ".join(filter(None, (", ".join(written[:-1]), *written[-1:])))
            found = f"is missing: expected {known}" if dialect is None else f"must be {known}, not {dialect!r}"
            raise UsageError(f"template {definition.name}: --dialect {found}")
        named = {parameter.name: given[parameter.variable] for parameter in definition.parameters}
        values: Mapping[str, Value] = read_values(definition.name, definition.parameters, named)

        def script(values: Mapping[str, Value]) -> str:
            text = render(definition.name, values, dialect, catalog.read)
            _check_accepted(session, definition.name, text, dialect)
            return text

        if definition.name == "wrf":
            from hpcbatch.cli.wrf.new import prepared

            values = prepared(session, values)
        if values.get("chain"):
            from hpcbatch.cli.wrf.new import chain

            if output is None:
                raise UsageError(f"template {definition.name}: --chain: expected -o FILE, for what submits the jobs")
            made = chain(Path(session.absolute(output)), values, dialect, script, catalog.read)
            _write_all(made, overwrite=force)
        elif output is None:
            click.echo(script(values), nl=False)
        else:
            _write_all({Path(session.absolute(output)): script(values)}, overwrite=force)
        if definition.name == "wrf":
            from hpcbatch.cli.wrf.new import NAMED, is_sound, set_up

            if values.keys() >= set(NAMED):
                set_up(session, values)
                if not is_sound(session, values):
                    raise SystemExit(1)

    return write


def _check_accepted(session: Session, template: str, script: str, dialect: str) -> None:
    """Have the script read as the command that submits it will read it, so that its user does not meet its refusal. A
    template of a site's own may know fewer dialects.
    """
    from hpcbatch.dialects.registry import DIALECTS, door

    directives = {name: each.directive for name, each in DIALECTS.items() if each.directive}
    has = {name for name, start in directives.items() if any(line.startswith(start) for line in script.splitlines())}
    if has and dialect not in has:
        other = directives[min(has)]
        raise HpcBatchError(f"template {template}: it is not made for {dialect}: it writes lines with {other}")
    try:
        door(dialect).read_script(f"{template}.sh", script.encode(), session.now, [], {})
    except HpcBatchError as error:
        command = door(dialect).submit_command
        what = " ".join(str(error).removeprefix(f"{command}: ").split())
        raise HpcBatchError(f"template {template}: {command} would refuse the script: {what}") from None


def _write_all(scripts: Mapping[Path, str], *, overwrite: bool) -> None:
    """All or none, where one is there already."""
    for path in scripts if not overwrite else ():
        if path.exists():
            raise HpcBatchError(f"{path} is there already: --force overwrites it")
    for path, script in scripts.items():
        _write(path, script, overwrite=overwrite)


def _write(path: Path, script: str, *, overwrite: bool) -> None:
    """A file of that name stays as it is unless `overwrite`."""
    try:
        with path.open("w" if overwrite else "x", encoding="utf-8") as file:
            file.write(script)
    except FileExistsError:
        raise HpcBatchError(f"{path} is there already: --force overwrites it") from None
    except OSError as error:
        raise HpcBatchError(f"cannot write {path}: {error.strerror}") from None


# What is shown of a parameter

_METAVAR = {"count": "N", "duration": "TIME", "memory": "SIZE", "path": "FILE", "words": "COMMAND"}


def _metavar(parameter: Parameter) -> str:
    if parameter.kind == "choice":
        return "|".join(parameter.choices)
    return _METAVAR.get(parameter.kind, "TEXT")


def _shown(parameter: Parameter) -> str:
    if parameter.kind == "command":
        return f"{parameter.name.upper()} [ARGUMENT]..."
    return parameter.option if parameter.kind == "flag" else f"{parameter.option} {_metavar(parameter)}"


def _remark(parameter: Parameter) -> str:
    if parameter.is_required:
        return f"{parameter.help} (required)"
    default = parameter.default
    if default in (None, (), False) or (default == 0 and parameter.kind == "count"):
        return parameter.help
    shown = " ".join(default) if isinstance(default, tuple) else str(default)
    return f"{parameter.help} (default: {shown})"


def _catalog(context: click.Context) -> Catalog:
    """Without a session, as for the manual and completion, only those that come with hpcbatch."""
    from hpcbatch.new.catalog import find, packaged

    while "templates" not in context.params and context.parent is not None:
        context = context.parent
    session = context.find_object(Session)
    if session is None:
        return packaged()
    return find(context.params.get("templates"), session.environ, session.environ.get("HOME") or session.home)
