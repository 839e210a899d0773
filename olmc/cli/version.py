"""`olmc version`."""

from __future__ import annotations

import platform

import click

from olmc.cli.options import canonical_version
from olmc.cli.values import olm_versions
from olmc.model.options import Options
from olmc.version import __version__
from olmc.yaml import c_reader_active


@click.command()
@click.option(
    "--profile",
    metavar="VERSION",
    shell_complete=olm_versions,
    help="Print what olmc can't reproduce of this OLM version.",
)
def version(profile: str | None) -> None:
    """Print the versions of olmc, OLM and what runs it.

    \b
    Examples:
      olmc version
      olmc version --profile ocp-4.3     what olmc can't reproduce of that OLM
    """
    from importlib.metadata import version as version_of

    if profile is not None:
        from olmc.profiles.table import gaps_text

        click.echo(gaps_text(canonical_version(profile)), nl=False)
        return
    reader = "C reader active" if c_reader_active() else "C reader missing: olmc works, but slowly"
    click.echo(f"olmc {__version__}")
    click.echo(f"OLM v{Options().olm_version}")
    click.echo(f"Python {platform.python_version()}")
    click.echo(f"ruamel.yaml {version_of('ruamel.yaml')} ({reader})")
