"""`olmc version`."""

from __future__ import annotations

import platform

import click

from olmc.version import __version__
from olmc.yaml import c_reader_active


@click.command()
def version() -> None:
    """Print the versions of olmc, of the OLM it compiles for, and of what it runs on."""
    from importlib.metadata import version as version_of

    reader = "C reader active" if c_reader_active() else "C reader missing: olmc works, but slowly"
    click.echo(f"olmc {__version__}")
    click.echo("OLM v0.46.0")
    click.echo(f"Python {platform.python_version()}")
    click.echo(f"ruamel.yaml {version_of('ruamel.yaml')} ({reader})")
