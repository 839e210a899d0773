"""`olmc fn`."""

from __future__ import annotations

import sys

import click

from olmc.cli.exits import BAD_INPUT, DONE, FINDINGS
from olmc.cli.talk import tell


@click.command()
@click.pass_context
def fn(ctx: click.Context) -> None:
    """Render as a KRM function: what kustomize and kpt run.

    Reads a ResourceList (config.kubernetes.io/v1) from stdin and writes one to stdout. Its functionConfig has the
    options of olmc render; with spec.path the workspace there is rendered, without it the items are the workspace.

    \b
    apiVersion: olmc.dev/v1alpha1
    kind: Render
    metadata:
      name: operators
      annotations:
        config.kubernetes.io/function: |
          exec: {path: ./olmc-fn}     # a script: exec olmc fn
    spec:
      path: workspace                 # relative to the working directory
      for: apply

    \b
    Examples:
      kustomize build --enable-alpha-plugins --enable-exec .
      kpt fn eval --exec "olmc fn" . -- path=workspace for=apply

    Exit codes: 0 done, 1 findings (an operator would fail, and keepGoing is not set), 3 input that can't be compiled.
    The ResourceList is valid in any case and says what was found in its results. For apply it has the items as they
    came after 1 and 3.
    """
    from olmc.model.diagnostic import Severity
    from olmc.pipelines.function import run

    if sys.stdin.isatty():
        raise click.UsageError("a ResourceList is to come from stdin, which is a terminal here.")
    outcome = run(sys.stdin.buffer.read().decode("utf-8", errors="replace"))
    tell(outcome.diagnostics, least=Severity.INFO)
    sys.stdout.write(outcome.text)
    worst = max((diagnostic.severity for diagnostic in outcome.diagnostics), default=Severity.INFO)
    ctx.exit(DONE if not outcome.stops else BAD_INPUT if worst is Severity.ERROR else FINDINGS)
