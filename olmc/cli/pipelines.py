"""Commands for pipelines: `olmc init`, `olmc argocd`, `olmc fn`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from olmc.cli.as_click import GivenPath
from olmc.cli.console import BAD_INPUT, DONE, FINDINGS, tell, writing


@click.group()
def init() -> None:
    """Write the olmc files of a pipeline or a workspace.

    Existing files are only overwritten with --force.

    \b
    Examples:
      olmc init argocd --image registry.example.com/olmc:1.0   a plugin for Argo CD, in argocd/
      olmc init flux --url oci://ghcr.io/example/rendered      a job that renders, and what Flux needs
      olmc init github --path operators                        comments on pull requests
      olmc init gitlab                                         notes on merge requests
      olmc init workspace --openshift 4.18                     olmc.yaml with the default catalogs
    """


def _scaffold(default: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The argument and the options that all scaffolds have."""
    options = (
        click.argument("folder", type=GivenPath(path_type=Path, file_okay=False), default=default, metavar="[DIR]"),
        click.option("--force", is_flag=True, help="Overwrite existing files."),
        click.option("--dry-run", is_flag=True, help="Show what would be written, and write nothing."),
        click.pass_context,
    )

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


@init.command("argocd")
@_scaffold("argocd")
@click.option(
    "--image",
    default="registry.example.com/olmc-argocd:latest",
    show_default=True,
    metavar="IMAGE",
    help="The image of the sidecar.",
)
def argocd_plugin(ctx: click.Context, folder: Path, force: bool, dry_run: bool, image: str) -> None:
    """A config management plugin for Argo CD.

    Writes plugin.yaml, a Containerfile for the sidecar's image and the patch that adds it to Argo CD's repo server to
    DIR (by default argocd/).
    """
    _write(ctx, "argocd", folder, {"image": image}, force=force, dry_run=dry_run)


@init.command()
@_scaffold(".")
@click.option("--url", required=True, metavar="oci://…", help="The repository to push the manifests to.")
@click.option("--path", default=".", show_default=True, metavar="PATH", help="The workspace in the repository.")
@click.option("--name", default="operators", show_default=True, metavar="NAME", help="The name of the Flux objects.")
@click.option(
    "--ci", type=click.Choice(["github", "gitlab"]), default="github", show_default=True, help="The CI system."
)
def flux(ctx: click.Context, folder: Path, force: bool, dry_run: bool, url: str, path: str, name: str, ci: str) -> None:
    """A CI job that renders for Flux, and what Flux needs.

    No plugin runs in Flux, so a job renders the workspace and pushes the manifests to a registry. Writes the job,
    flux/ocirepository.yaml and flux/sync.yaml below DIR (by default the current directory).
    """
    if not url.startswith("oci://"):
        raise click.BadParameter("it begins with oci://", param_hint="--url")
    values = {"url": url, "path": path, "name": name}
    _write(ctx, f"flux-{ci}", folder, values, force=force, dry_run=dry_run)


@init.command()
@_scaffold(".")
@click.option("--path", default=".", show_default=True, metavar="PATH", help="The workspace in the repository.")
def github(ctx: click.Context, folder: Path, force: bool, dry_run: bool, path: str) -> None:
    """A GitHub action that comments on pull requests.

    Writes .github/actions/olmc/action.yml and a workflow that uses it below DIR (by default the current directory).
    """
    _write(ctx, "github", folder, {"path": path}, force=force, dry_run=dry_run)


@init.command()
@_scaffold(".")
@click.option("--path", default=".", show_default=True, metavar="PATH", help="The workspace in the repository.")
def gitlab(ctx: click.Context, folder: Path, force: bool, dry_run: bool, path: str) -> None:
    """A GitLab job that comments on merge requests.

    Writes the template .gitlab/olmc.yml below DIR (by default the current directory).
    """
    _write(ctx, "gitlab", folder, {"path": path}, force=force, dry_run=dry_run)


@init.command("workspace")
@_scaffold(".")
@click.option("--openshift", metavar="RELEASE", help="The OpenShift release of the cluster, such as 4.18.")
@click.option("--operatorhub", is_flag=True, help="Add the catalog of OperatorHub.io, in namespace olm.")
def workspace_config(
    ctx: click.Context, folder: Path, force: bool, dry_run: bool, openshift: str | None, operatorhub: bool
) -> None:
    """The catalogs that the cluster has, as data in olmc.yaml.

    Looks for the catalogs that the Subscriptions below DIR name and no CatalogSource there defines, and writes
    DIR/olmc.yaml with those that OpenShift or OperatorHub.io brings. They count as being in the cluster: olmc resolves
    over them and olmc vendor fetches their images, but nothing renders or applies them.

    \b
    Examples:
      olmc init workspace --openshift 4.18     redhat-operators and others, as far as Subscriptions name them
      olmc init workspace --operatorhub        operatorhubio-catalog
      olmc init workspace                      what the Subscriptions say, where that is enough

    Exit codes: 0 done, 1 there is another olmc.yaml, 2 wrong usage.
    """
    from olmc.integrations.pipelines.cluster_catalogs import PlatformError, config_for, named_sources

    if openshift is not None and operatorhub:
        raise click.UsageError("--openshift and --operatorhub exclude each other.")
    if not folder.is_dir():
        raise click.BadParameter(f"there is no folder {folder}", param_hint="DIR")
    try:
        config = config_for(named_sources(folder), openshift, operatorhub=operatorhub)
    except PlatformError as error:
        raise click.UsageError(str(error)) from error
    for note in config.unknown:
        click.echo(f"olmc: {note}", err=True)
    _write_files(
        ctx, {"olmc.yaml": config.text}, folder, config.next_step, force=force, dry_run=dry_run, add=config.part
    )


def _write(ctx: click.Context, name: str, folder: Path, values: dict[str, Any], *, force: bool, dry_run: bool) -> None:
    from olmc.integrations.pipelines.scaffolds import SCAFFOLDS, files_of

    next_step = SCAFFOLDS[name].next_step.format(folder=folder.as_posix(), **values)
    _write_files(ctx, files_of(name, values), folder, next_step, force=force, dry_run=dry_run)


def _write_files(
    ctx: click.Context,
    files: dict[str, str],
    folder: Path,
    next_step: str,
    *,
    force: bool,
    dry_run: bool,
    add: str = "",
) -> None:
    """Write files that are not there yet and say what to do next; `add` is what to add to one that is."""
    from olmc.integrations.pipelines.scaffolds import State, states, write

    with writing(folder):
        found = states(folder, files)
    in_the_way = [file for file, state in found.items() if state is State.DIFFERENT]
    listed = "".join(f"{state:<9} {(folder / file).as_posix()}\n" for file, state in found.items())
    if in_the_way and not force:
        click.echo(listed, nl=False)
        click.echo(f"error: nothing is written, for there is something else already: {', '.join(in_the_way)}", err=True)
        way_out = (
            f"Add this to it, or overwrite it with --force:\n{add}"
            if add
            else "Give another DIR, or --force to overwrite it."
        )
        click.echo(f"  {way_out}", err=True)
        ctx.exit(FINDINGS)
    if dry_run:
        click.echo(listed, nl=False)
        ctx.exit(DONE)
    with writing(folder):
        write(folder, files)
    click.echo(f"{listed}\nNext:\n{next_step}")


@click.group()
def argocd() -> None:
    """Run as a config management plugin of Argo CD.

    Argo CD runs these commands in the directory of an Application's source, as configured in the plugin.yaml of olmc
    init argocd.

    \b
    To try what Argo CD would get:
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
    from olmc.compiler.output.text import as_yaml
    from olmc.integrations.pipelines.argocd import generate as generated
    from olmc.k8s.diagnostics import Severity

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
    from olmc.integrations.pipelines.argocd import parameters as announced

    text, diagnostics = announced(Path())
    tell(diagnostics)
    sys.stdout.write(text)


def _given_list() -> bytes:
    from olmc.compiler.load.files import MAX_FILE_BYTES

    data = sys.stdin.buffer.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise click.UsageError(f"stdin gives more than {MAX_FILE_BYTES:,} bytes; OLMC_LIMIT_FILE_BYTES raises that.")
    return data


@click.command()
@click.option(
    "--root", type=click.Path(exists=True, file_okay=False, path_type=Path), default=Path(), metavar="DIR",
    help="The folder that spec.path must be in. [default: .]",
)  # fmt: skip
@click.pass_context
def fn(ctx: click.Context, root: Path) -> None:
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
          exec: {path: ./olmc-fn}     # a script: exec olmc fn
    spec:
      path: workspace                 # relative to the working directory, and in it (or in --root)
      for: apply

    \b
    Examples:
      kustomize build --enable-alpha-plugins --enable-exec .
      kpt fn eval --exec "olmc fn" . -- path=workspace for=apply

    Exit codes: 0 done, 1 findings (an operator would fail, and keepGoing is not set), 3 input that can't be compiled.
    The ResourceList is always valid and has the findings in its results. With for: apply, its items are unchanged after
    1 and 3.
    """
    from olmc.compiler.cache import NO_CACHE
    from olmc.integrations.pipelines.function import run
    from olmc.k8s.diagnostics import Severity

    # A function runs in a container that is thrown away, and leaves nothing where it runs unless configured to.
    if "XDG_CACHE_HOME" not in os.environ:
        os.environ.setdefault(NO_CACHE, "1")
    if sys.stdin.isatty():
        raise click.UsageError("a ResourceList is to come from stdin, which is a terminal here.")
    outcome = run(_given_list().decode("utf-8", errors="replace"), root)
    tell(outcome.diagnostics, least=Severity.INFO)
    sys.stdout.write(outcome.text)
    worst = max((diagnostic.severity for diagnostic in outcome.diagnostics), default=Severity.INFO)
    ctx.exit(DONE if not outcome.stops else BAD_INPUT if worst is Severity.ERROR else FINDINGS)
