"""Commands that other programs start: `olmc lsp` by editors, `olmc plugin` by Argo CD, kustomize and kpt."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from olmc.cli.console import BAD_INPUT, DONE, FINDINGS, tell, wrong_usage
from olmc.cli.declared import NoOptions, PathOf, command, flag, group, option
from olmc.compiler.cache import NO_CACHE
from olmc.compiler.load.files import MAX_FILE_BYTES
from olmc.compiler.output.text import as_yaml
from olmc.integrations.pipelines.argocd import generate as generated
from olmc.integrations.pipelines.argocd import parameters as announced
from olmc.integrations.pipelines.function import run
from olmc.k8s.diagnostics import Severity
from olmc.k8s.lean import NamedTuple
from olmc.targets.proposed.rules import NO_SERVER

if TYPE_CHECKING:
    import click


class LspOptions(NamedTuple):
    """The options of `olmc lsp`."""

    everything: bool = flag("-v", "--all", help="Also show findings of severity info.")
    stdio: bool = flag("--stdio", help="Ignored: stdio is always used. Many editors pass it.")


@command(LspOptions)
def lsp(_: click.Context, opts: LspOptions) -> None:
    """Run the language server for your editor.

    A server of the Language Server Protocol on stdin and stdout, started by the editor (see docs/editor.md): findings
    of `olmc check` while you type, unsaved changes included, hover, completion, and go to definition. It opens no port.
    Needs pip install 'olmc[lsp]'.

    \b
    Examples:
      olmc lsp                          what an editor starts
      olmc lsp --all                    with findings of severity info

    Exit codes: 0 ended by the editor, 1 lost the editor, 2 wrong usage, 3 a library is missing.
    """
    try:
        from olmc.integrations.lsp.server import serve
    except ModuleNotFoundError as error:
        tell([NO_SERVER.finding(None, command="lsp", cause=error)])
        raise SystemExit(BAD_INPUT) from error
    raise SystemExit(serve(least=Severity.INFO if opts.everything else Severity.WARNING))


@command(NoOptions)
def generate(_: click.Context, __: NoOptions) -> None:
    """Print the objects of an Application.

    Renders the current directory for apply. Options come from the Application's parameters (ARGOCD_APP_PARAMETERS),
    from its env (OLMC_CERTS there is ARGOCD_ENV_OLMC_CERTS here), from what Argo CD says of the application and the
    cluster (ARGOCD_APP_NAMESPACE, KUBE_VERSION, KUBE_API_VERSIONS), and from olmc.yaml, in this order.

    Exit codes: 0 done, 1 an operator would fail (and keep-going is not set), 3 input that can't be compiled. Only after
    0 is anything printed to stdout: else pruning would remove what a failing operator lacks.
    """
    made = generated(Path(), os.environ)
    tell(made.diagnostics)
    if made.refused:
        failed = any(diagnostic.severity is Severity.ERROR for diagnostic in made.diagnostics)
        raise SystemExit(BAD_INPUT if failed else FINDINGS)
    sys.stdout.write(as_yaml(made.objects))
    raise SystemExit(DONE)


@command(NoOptions)
def parameters(_: click.Context, __: NoOptions) -> None:
    """Announce the parameters that an Application can set.

    Prints the JSON of dynamic parameter announcements. Defaults are those of the olmc.yaml in the current directory;
    Argo CD shows them and does not send them back, and olmc plugin argocd generate applies them itself.
    """
    text, diagnostics = announced(Path())
    tell(diagnostics)
    sys.stdout.write(text)


argocd = group(
    {"generate": generate, "parameters": parameters},
    """Run as a config management plugin of Argo CD.

    Argo CD runs these commands in the directory of an Application's source, as configured in the plugin.yaml of olmc
    init argocd.

    \b
    To try what Argo CD would get:
      cd workspace && ARGOCD_APP_NAMESPACE=tools olmc plugin argocd generate
      cd prod && ARGOCD_ENV_OLMC_CERTS=cert-manager olmc plugin argocd generate
    """,
)


def _given_list() -> bytes:
    data = sys.stdin.buffer.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        wrong_usage(f"stdin gives more than {MAX_FILE_BYTES:,} bytes; OLMC_LIMIT_FILE_BYTES raises that.")
    return data


class FunctionOptions(NamedTuple):
    """The options of `olmc plugin fn`."""

    root: Path = option(
        "--root", type=PathOf(exists=True, file_okay=False), default=Path(), metavar="DIR",
        help="The folder that spec.path must be in. [default: .]",
    )  # fmt: skip


@command(FunctionOptions)
def fn(_: click.Context, opts: FunctionOptions) -> None:
    """Run as a KRM function of kustomize or kpt.

    Reads a ResourceList (config.kubernetes.io/v1) from stdin and writes one to stdout. Its functionConfig has the
    options of olmc render; spec.path names the workspace to render, without it the items are the workspace.

    \b
    apiVersion: olmc.dev/v1alpha1
    kind: Render
    metadata:
      name: operators
      annotations:
        config.kubernetes.io/function: |
          exec: {path: ./olmc-fn}     # a script: exec olmc plugin fn
    spec:
      path: workspace                 # in the working directory or --root
      for: apply

    \b
    Examples:
      kustomize build --enable-alpha-plugins --enable-exec .
      kpt fn eval --exec "olmc plugin fn" . -- path=workspace for=apply

    Exit codes: 0 done, 1 findings (an operator would fail, and keepGoing is not set), 3 input that can't be compiled.
    The ResourceList is always valid and has the findings in its results. With for: apply, its items are unchanged after
    1 and 3.
    """
    # A function runs in a container that is thrown away, and leaves nothing where it runs unless configured to.
    if "XDG_CACHE_HOME" not in os.environ:
        os.environ.setdefault(NO_CACHE, "1")
    if sys.stdin.isatty():
        wrong_usage("a ResourceList is to come from stdin, which is a terminal here.")
    outcome = run(_given_list().decode("utf-8", errors="replace"), opts.root)
    tell(outcome.diagnostics, least=Severity.INFO)
    sys.stdout.write(outcome.text)
    worst = max((diagnostic.severity for diagnostic in outcome.diagnostics), default=Severity.INFO)
    raise SystemExit(DONE if not outcome.stops else BAD_INPUT if worst is Severity.ERROR else FINDINGS)


plugin = group(
    {"argocd": argocd, "fn": fn},
    """Run as a plugin of Argo CD, kustomize or kpt.

    \b
    Examples:
      olmc plugin argocd generate      print the objects of an Application
      olmc plugin fn                   a KRM function, from stdin to stdout
    """,
)
