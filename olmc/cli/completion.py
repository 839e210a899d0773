"""`olmc completion`."""

from __future__ import annotations

import click


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print what makes a shell complete what is typed.

    That is commands, options, codes of rules, kinds, and names of validators.

    \b
    Examples:
      olmc completion bash > ~/.local/share/bash-completion/completions/olmc
      olmc completion zsh > ~/.zfunc/_olmc       with fpath+=~/.zfunc before compinit in ~/.zshrc
      olmc completion fish > ~/.config/fish/completions/olmc.fish
    """
    from click.shell_completion import get_completion_class

    made = get_completion_class(shell)
    if made is not None:
        click.echo(made(ctx.find_root().command, {}, "olmc", "_OLMC_COMPLETE").source())
