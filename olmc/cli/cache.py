"""`olmc cache`: what olmc keeps for the next run, and away with it."""

from __future__ import annotations

import json
from pathlib import Path

import click

from olmc.cache import NO_CACHE, clear, default_folder, is_off, is_own, open_cache, usage
from olmc.cli.console import say
from olmc.cli.options import as_option, output_option
from olmc.cli.process import BAD_INPUT


@click.command()
@click.argument("action", type=click.Choice(["info", "clear"]))
@as_option(output_option(["text", "json"], "Text, or JSON."))
@click.pass_context
def cache(ctx: click.Context, /, action: str, output: str) -> None:
    """Show or clear the cache of large catalogs.

    Parsed catalogs are cached for the next run. info: the folder, its size and its limit. clear: remove everything;
    the next run parses catalogs again.

    \b
    Examples:
      olmc cache info               its folder and size
      olmc cache clear              remove everything
      OLMC_NO_CACHE=1 olmc check .  neither read nor write it

    Exit codes: 0 done, 2 wrong usage, 3 the folder belongs to somebody else, or can't be emptied.
    """
    try:
        folder = default_folder()
    except RuntimeError:
        say("olmc: this user has no home directory, so nothing is kept. Set XDG_CACHE_HOME to have a cache.")
        ctx.exit(BAD_INPUT)
    unused = _unused(folder)
    if action == "clear" and not is_own(folder):
        say(f"olmc: {unused}; nothing was removed.")
        ctx.exit(BAD_INPUT)
    held = clear(open_cache(folder)) if action == "clear" else usage(open_cache(folder))
    if output == "json":
        fields = {"folder": str(folder), "used": not unused, **held._asdict()}
        say(json.dumps({"removed": held._asdict()} if action == "clear" else fields, indent=2), out=True)
        return
    size = f"{held.entries} {'entry' if held.entries == 1 else 'entries'}, {held.bytes / 1e6:.1f} MB"
    if action == "clear":
        say(f"removed {size}", out=True)
        return
    say(f"{folder}\n{size} of at most {held.most / 1e6:.0f} MB", out=True)
    if unused:
        say(f"not used: {unused}", out=True)


def _unused(folder: Path) -> str:
    """Why the cache is not used, "" if it is."""
    if not is_own(folder):
        return "the folder belongs to somebody else, or others may write into it"
    return f"{NO_CACHE} is set" if is_off() else ""
