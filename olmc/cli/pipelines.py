"""`olmc init`: the files of a pipeline or a workspace."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olmc.cli.console import BAD_INPUT, DONE, FINDINGS, bad_value, say, writing, wrong_usage
from olmc.cli.declared import Choice, PathOf, argument, command, flag, group, option
from olmc.integrations.pipelines.scaffolds import (
    EXAMPLE,
    SCAFFOLDS,
    PlatformError,
    State,
    config_for,
    files_of,
    named_sources,
    states,
    write,
    write_example,
)
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.yaml.scalars import replace_surrogates

if TYPE_CHECKING:
    import click


class ScaffoldOptions(NamedTuple):
    """The options of all scaffolds behind their folder."""

    force: bool = flag("--force", help="Overwrite existing files.")
    dry_run: bool = flag("--dry-run", help="Show the files without writing them.")


_FOLDER = argument(type=PathOf(file_okay=False), default=Path(), metavar="[DIR]")
_WORKSPACE = option("--path", default=".", show_default=True, metavar="PATH", help="The workspace in the repository.")


def _installable(ctx: click.Context, param: click.Parameter, value: str) -> str:  # noqa: ARG001
    """A requirement of pip that is one word in a script; other texts are wrong usage."""
    if value and not _INSTALLABLE.fullmatch(value):
        bad_value("give git+https://HOST/PATH@COMMIT, the address of a wheel, or olmc==VERSION", "--install")
    return value


_INSTALLABLE = regex(r"[A-Za-z0-9][A-Za-z0-9@:/._+=#&?~%-]*")
_INSTALL = option(
    "--install", default="", metavar="REQUIREMENT", callback=_installable,
    help="The olmc that pip installs, such as git+https://HOST/PATH@COMMIT. [default: the commit that pip has "
    "installed here, else the tag of this version]",
)  # fmt: skip


class PluginOptions(NamedTuple):
    """The options of `olmc init argocd`."""

    folder: Path = argument(type=PathOf(file_okay=False), default=Path("argocd"), metavar="[DIR]")
    scaffold: ScaffoldOptions = ScaffoldOptions()
    image: str = option(
        "--image", default="registry.example.com/olmc-argocd:latest", show_default=True, metavar="IMAGE",
        help="The image of the sidecar.",
    )  # fmt: skip
    install: str = _INSTALL


@command(PluginOptions)
def argocd_plugin(_: click.Context, opts: PluginOptions) -> None:
    """A config management plugin for Argo CD.

    Writes plugin.yaml, a Containerfile for the sidecar's image and the patch that adds it to Argo CD's repo server to
    DIR (by default argocd/).
    """
    _write("argocd", opts.folder, {"image": opts.image, "install": opts.install}, opts.scaffold)


class FluxOptions(NamedTuple):
    """The options of `olmc init flux`."""

    folder: Path = _FOLDER
    scaffold: ScaffoldOptions = ScaffoldOptions()
    url: str = option("--url", required=True, metavar="oci://…", help="The repository to push the manifests to.")
    path: str = _WORKSPACE
    name: str = option(
        "--name", default="operators", show_default=True, metavar="NAME", help="The name of the Flux objects."
    )
    ci: str = option(
        "--ci", type=Choice(("github", "gitlab")), default="github", show_default=True, help="The CI system."
    )
    install: str = _INSTALL


@command(FluxOptions)
def flux(_: click.Context, opts: FluxOptions) -> None:
    """A CI job that renders for Flux, and its Flux objects.

    No plugin runs in Flux, so a job renders the workspace and pushes the manifests to a registry. Writes the job,
    flux/ocirepository.yaml and flux/sync.yaml below DIR (by default the current directory).
    """
    if not opts.url.startswith("oci://"):
        bad_value("it begins with oci://", "--url")
    values = {"url": opts.url, "path": opts.path, "name": opts.name, "install": opts.install}
    _write(f"flux-{opts.ci}", opts.folder, values, opts.scaffold)


class RepositoryOptions(NamedTuple):
    """The options of `olmc init github` and `olmc init gitlab`."""

    folder: Path = _FOLDER
    scaffold: ScaffoldOptions = ScaffoldOptions()
    path: str = _WORKSPACE
    install: str = _INSTALL


@command(RepositoryOptions)
def github(_: click.Context, opts: RepositoryOptions) -> None:
    """A GitHub action that comments on pull requests.

    Writes .github/actions/olmc/action.yml and a workflow that uses it below DIR (by default the current directory).
    """
    _write("github", opts.folder, {"path": opts.path, "install": opts.install}, opts.scaffold)


@command(RepositoryOptions)
def gitlab(_: click.Context, opts: RepositoryOptions) -> None:
    """A GitLab job that comments on merge requests.

    Writes the template .gitlab/olmc.yml below DIR (by default the current directory).
    """
    _write("gitlab", opts.folder, {"path": opts.path, "install": opts.install}, opts.scaffold)


class WorkspaceOptions(NamedTuple):
    """The options of `olmc init workspace`."""

    folder: Path = _FOLDER
    scaffold: ScaffoldOptions = ScaffoldOptions()
    openshift: str | None = option(
        "--openshift", metavar="RELEASE", help="The OpenShift release of the cluster, such as 4.18."
    )
    operatorhub: bool = flag("--operatorhub", help="Add the catalog of OperatorHub.io, in namespace olm.")


@command(WorkspaceOptions)
def workspace_config(_: click.Context, opts: WorkspaceOptions) -> None:
    """The catalogs that the cluster has, as data in olmc.yaml.

    Looks for the catalogs that the Subscriptions below DIR name and no CatalogSource there defines, and writes
    DIR/olmc.yaml with those that OpenShift or OperatorHub.io brings. They count as being in the cluster: olmc resolves
    over them and olmc vendor fetches their images, but olmc does not render or apply them.

    \b
    Examples:
      olmc init workspace --openshift 4.18     catalogs that Subscriptions name
      olmc init workspace --operatorhub        operatorhubio-catalog
      olmc init workspace                      what the Subscriptions say

    Exit codes: 0 done, 1 there is another olmc.yaml, 2 wrong usage.
    """
    folder, scaffold, openshift, operatorhub = opts
    if openshift is not None and operatorhub:
        wrong_usage("--openshift and --operatorhub exclude each other.")
    if not folder.is_dir():
        bad_value(f"there is no folder {folder}", "DIR")
    try:
        config = config_for(named_sources(folder), openshift, operatorhub=operatorhub)
    except PlatformError as error:
        wrong_usage(str(error))
    for note in config.unknown:
        say(f"olmc: {note}")
    _write_files({"olmc.yaml": config.text}, folder, config.next_step, scaffold, add=config.part)


class ExampleOptions(NamedTuple):
    """The options of `olmc init example`."""

    folder: Path = argument(type=PathOf(file_okay=False), default=Path("olmc-example"), metavar="[DIR]")


@command(ExampleOptions)
def example(_: click.Context, opts: ExampleOptions) -> None:
    """A small repository with two commits, for the tutorials.

    Writes a cluster with one operator and its catalog to DIR (by default olmc-example/), which must be empty or absent.
    The second commit updates the catalog, so that OLM upgrades the operator.

    Exit codes: 0 done, 1 DIR is not empty, 2 wrong usage, 3 git can't be run.
    """
    folder = opts.folder
    if folder.is_dir() and any(folder.iterdir()):
        say(f"error: nothing is written, for {folder.as_posix()} is not empty\n  Give another DIR.")
        raise SystemExit(FINDINGS)
    if shutil.which("git") is None:
        say("error: git can't be run: there is none on PATH; nothing is written\n  Install git.")
        raise SystemExit(BAD_INPUT)
    with writing(folder):
        write_example(folder)
    messages = "".join(f"  {message}\n" for _, message in EXAMPLE)
    say(f"{folder.as_posix()}: a repository with {len(EXAMPLE)} commits\n{messages}\nNext:", out=True)
    say(f"  cd {shlex.quote(folder.as_posix())}\n  olmc plan --from git:HEAD~1", out=True)


def _write(name: str, folder: Path, values: dict[str, Any], scaffold: ScaffoldOptions) -> None:
    for key, value in values.items():
        if isinstance(value, str) and value != replace_surrogates(value):
            bad_value("it is not UTF-8, as the files are.", f"--{key}")
    values = {key: value for key, value in values.items() if key != "install" or value}
    next_step = SCAFFOLDS[name].next_step.format(folder=folder.as_posix(), **values)
    _write_files(files_of(name, values), folder, next_step, scaffold)


def _write_files(
    files: dict[str, str], folder: Path, next_step: str, scaffold: ScaffoldOptions, *, add: str = ""
) -> None:
    """Write files that are not there yet and say what to do next; `add` is what to add to one that is."""
    with writing(folder):
        found = states(folder, files)
    in_the_way = [file for file, state in found.items() if state is State.DIFFERENT]
    listed = _listed(folder, found)
    if in_the_way and not scaffold.force:
        say(listed, nl=False, out=True)
        say(f"error: nothing is written, for there is something else already: {', '.join(in_the_way)}")
        way_out = (
            f"Add this to it, or overwrite it with --force:\n{add}"
            if add
            else "Give another DIR, or --force to overwrite it."
        )
        say(f"  {way_out}")
        raise SystemExit(FINDINGS)
    if scaffold.dry_run:
        say(listed, nl=False, out=True)
        raise SystemExit(DONE)
    with writing(folder):
        write(folder, files)
    done = {file: State.REPLACED if state is State.DIFFERENT else state for file, state in found.items()}
    say(f"{_listed(folder, done)}\nNext:\n{next_step}", out=True)


def _listed(folder: Path, files: Mapping[str, State]) -> str:
    return "".join(f"{state:<9} {(folder / file).as_posix()}\n" for file, state in files.items())


init = group(
    {
        "argocd": argocd_plugin,
        "example": example,
        "flux": flux,
        "github": github,
        "gitlab": gitlab,
        "workspace": workspace_config,
    },
    """Write the olmc files of a pipeline or a workspace.

    Existing files are only overwritten with --force.

    \b
    Examples:
      olmc init argocd --image example.com/olmc:1.0    a plugin for Argo CD
      olmc init flux --url oci://example.com/rendered  a job and objects for Flux
      olmc init github --path operators                comments on pull requests
      olmc init gitlab                                 notes on merge requests
      olmc init workspace --openshift 4.18             olmc.yaml with its catalogs
      olmc init example                                a repository to try olmc
    """,
)
