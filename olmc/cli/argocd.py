"""`olmc argocd`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from olmc.cli.exits import BAD_INPUT, DONE, FINDINGS
from olmc.cli.talk import tell


@click.group()
def argocd() -> None:
    """Work as a config management plugin of Argo CD.

    Argo CD runs these commands in the directory of an Application's source, as the plugin.yaml that olmc init argocd
    writes tells it to.

    \b
    Try out what Argo CD would get:
      cd workspace && ARGOCD_APP_NAMESPACE=tools olmc argocd generate
      cd workspace && ARGOCD_ENV_OLMC_CERTS=cert-manager olmc argocd generate
    """


@argocd.command()
@click.pass_context
def generate(ctx: click.Context) -> None:
    """Print the objects of an Application.

    Renders the current directory for apply. Options come from the Application's parameters (ARGOCD_APP_PARAMETERS),
    from its env (OLMC_CERTS there is ARGOCD_ENV_OLMC_CERTS here), from what Argo CD says of the application and the
    cluster (ARGOCD_APP_NAMESPACE, KUBE_VERSION, KUBE_API_VERSIONS), and from olmc.yaml, in this order.

    Exit codes: 0 done, 1 an operator would fail (and keep-going is not set), 3 input that can't be compiled. Only after
    0 is anything printed to stdout: else pruning would remove what a failing operator lacks.
    """
    from olmc.emit.text import as_yaml
    from olmc.model.diagnostic import Severity
    from olmc.pipelines.argocd import generate as generated

    made = generated(Path(), os.environ)
    tell(made.diagnostics)
    if made.refused:
        failed = any(diagnostic.severity is Severity.ERROR for diagnostic in made.diagnostics)
        ctx.exit(BAD_INPUT if failed else FINDINGS)
    sys.stdout.write(as_yaml(made.objects))
    ctx.exit(DONE)


@argocd.command()
def parameters() -> None:
    """Announce the parameters that an Application can set.

    Prints the JSON of dynamic parameter announcements. Defaults are those of the olmc.yaml in the current directory;
    Argo CD shows them and does not send them back, and olmc argocd generate applies them itself.
    """
    from olmc.pipelines.argocd import parameters as announced

    text, diagnostics = announced(Path())
    tell(diagnostics)
    sys.stdout.write(text)
