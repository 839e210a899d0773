"""`olmc migrate`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from olmc.cli.exits import BAD_INPUT, DONE, FINDINGS
from olmc.cli.paths import GivenPath
from olmc.cli.talk import tell, writing


@click.command()
@click.argument("path", type=GivenPath(path_type=Path), default=Path(), metavar="[PATH]")
@click.option("--to", required=True, type=click.Choice(["descoped", "v2alpha1"]), help="What to migrate to.")
@click.option("--dry-run", is_flag=True, help="Print the changes as a patch and write nothing.")
@click.pass_context
def migrate(ctx: click.Context, /, path: Path, **given: Any) -> None:
    """Change a workspace so that it fits the proposed APIs.

    descoped: operators that can watch all namespaces get an OperatorGroup for all of them, and several instances of one
    version become one. v2alpha1: Subscriptions become Operators, and OperatorGroups that nobody needs any more go.
    Comments are kept. What needs a decision is left alone and named.

    \b
    Examples:
      olmc migrate --to descoped --dry-run              what would change, as a patch
      olmc migrate --to v2alpha1 --dry-run | git apply  the same as without --dry-run
      olmc migrate fleet --to v2alpha1                  change the files

    Exit codes: 0 done, 1 something is left to people, 2 wrong usage, 3 input that can't be compiled.
    """
    from olmc.api import migrate as migrated
    from olmc.proposed.changes import as_patch

    done = migrated(path, given["to"])
    tell(done.remarks)
    if done.failed:
        ctx.exit(BAD_INPUT)
    if given["dry_run"]:
        click.echo(as_patch(done.changes), nl=False)
    else:
        _write({path / change.path: change.after for change in done.changes})
    ctx.exit(FINDINGS if done.remarks else DONE)


def _write(texts: dict[Path, str]) -> None:
    from olmc.emit.files import rewrite

    empty = [path for path, text in texts.items() if not text]
    with writing(*texts):
        rewrite({path: text for path, text in texts.items() if text})
        for path in empty:
            path.unlink()
    for path in texts:
        click.echo(f"{path}: {'removed, nothing is left in it' if path in empty else 'changed'}", err=True)
