"""`hpcbatch completion`: the script for a shell."""

from __future__ import annotations

import click


@click.command()
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
def completion(shell: str) -> None:
    """Print the completion of all commands for a shell: options, queues, ids of jobs, nodes, files.

    \b
    source <(hpcbatch completion bash)      # in ~/.bashrc
    source <(hpcbatch completion zsh)       # in ~/.zshrc, behind compinit
    hpcbatch completion fish | source       # in ~/.config/fish/config.fish
    """
    from hpcbatch.cli.completion import bash, fish, zsh

    scripts = {"bash": bash.script, "zsh": zsh.script, "fish": fish.script}
    click.echo(scripts[shell](), nl=False)
