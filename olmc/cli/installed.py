"""Commands of the proposed APIs: `olmc get`, `olmc serve`, `olmc migrate`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from olmc.cli.as_click import GivenPath
from olmc.cli.console import BAD_INPUT, DONE, FINDINGS, say_table, tell, writing
from olmc.cli.declared import namespaces, resources
from olmc.cli.options import (
    approve_option,
    as_option,
    compile_options,
    given_fields,
    given_version,
    kube_version_option,
    olm_version_option,
    output_option,
    proposed_options,
    with_proposed,
)

if TYPE_CHECKING:
    from olmc.compiler.migration import FileChange


@click.command()
@click.argument("resource", shell_complete=resources)
@click.argument("name", default="")
@click.option(
    "-n",
    "--namespace",
    default="default",
    show_default=True,
    metavar="NS",
    shell_complete=namespaces,
    help="The namespace.",
)
@click.option("-A", "--all-namespaces", is_flag=True, help="All namespaces.")
@as_option(
    output_option(
        ["table", "wide", "yaml", "json", "name"], "A table, one with more columns, the objects, or their names."
    )
)
@click.option(
    "-C",
    "--workspace",
    type=GivenPath(path_type=Path),
    default=Path(),
    metavar="DIR",
    help="The workspace. [default: the current directory]",
)
@click.option("--icons", is_flag=True, help="Show the icons of packages.")
@compile_options
@click.pass_context
def get(
    ctx: click.Context, /, resource: str, name: str, namespace: str, all_namespaces: bool, output: str, workspace: Path,
    icons: bool, approve: tuple[str, ...], olm_version: str, **proposed: Any,
) -> None:  # fmt: skip
    """List the operators or packages of a namespace.

    Which operators watch the namespace, which packages it can install, and the objects of OLM in it.

    RESOURCE is `installed` (the operators that are installed and configured to watch the namespace), `packagemanifests`
    (the packages of the catalogs), or a kind of OLM: `operators`, `installs`, `csv`, `sub`, `ip`, `og`, `catsrc`. NAME
    shows one of them.

    \b
    Examples:
      olmc get installed -n harbour                    the operators that watch a namespace
      olmc get installed -A                            and those of all namespaces
      olmc get installed beacon.v1.0.0 -n harbour -o yaml
      olmc get packagemanifests -o wide -C fixtures/upgrade
      olmc get csv -A                                  ClusterServiceVersions, as kubectl prints them

    Exit codes: 0 done, 1 findings (an operator would fail, or nothing has this name), 2 wrong usage, 3 input that can't
    be compiled.
    """
    from olmc.k8s.diagnostics import POSSIBLE, Severity, closest, did_you_mean
    from olmc.targets.proposed.installed.resources import INSTALLED, OLM_RESOURCES, RESOURCES, resource_called

    resources = (*RESOURCES, *OLM_RESOURCES)
    found = resource_called(resource, resources)
    if found is None:
        known = {name: each.plural for each in resources for name in (each.plural, each.singular, *each.short_names)}
        meant = did_you_mean(known.get(closest(resource.lower(), known, POSSIBLE), ""))
        hint = meant or f"Choose one of {', '.join(each.plural for each in resources)}."
        raise click.BadParameter(f"there is no resource {resource}. {hint}", param_hint="RESOURCE")
    if name and all_namespaces:
        raise click.UsageError("a resource can't be looked up by NAME in all namespaces; give -n NS.")
    from olmc.cli.console import tell
    from olmc.cli.options import compiled
    from olmc.compiler.model.options import Options
    from olmc.targets.proposed.installed.view import (
        ObjectQuery,
        answer,
        elsewhere,
        list_version,
        view_as_text,
        view_of,
        viewing,
        waiting_plans,
    )

    given, options = given_fields(ctx, proposed), Options(kube_version=proposed["kube_version"])
    done, settled = compiled(ctx, workspace, olm_version, proposed, approve=approve, least=Severity.WARNING)
    view = view_of(
        settled, done.objects, done.workspace, viewing(workspace, options, given), operators=done.operators, icons=icons
    )
    asked = ObjectQuery(found, None if all_namespaces else namespace, name)
    got = answer(view, asked)
    tell(got.findings, workspace)
    say_table(view_as_text(asked, got, list_version(view, found), output), wide=output != "table")
    if found is INSTALLED:
        tell(waiting_plans(settled.cluster, asked), workspace, least=Severity.INFO)
    others = elsewhere(view, asked) if not got.items else ""
    if others:
        click.echo(f"olmc: there are some in {others}; choose with -n, or take all with -A", err=True)
    missing = bool(name) and not got.items
    ctx.exit(FINDINGS if done.findings or missing else DONE)


@click.command()
@click.argument("path", type=GivenPath(path_type=Path), default=Path(), metavar="[PATH]")
@click.option("--host", default="127.0.0.1", show_default=True, metavar="HOST", help="The address to serve on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=5443,
    show_default=True,
    metavar="PORT",
    help="The port; 0 picks a free one.",
)
@click.option(
    "--kubeconfig",
    type=GivenPath(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write a kubeconfig for the server to FILE.",
)
@click.option(
    "--tls-cert-file",
    type=GivenPath(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="The certificate (PEM). [default: a generated one]",
)
@click.option(
    "--tls-private-key-file",
    type=GivenPath(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="The private key of the certificate (PEM).",
)
@click.option("--http", is_flag=True, help="Plain HTTP instead of TLS; only on the local machine.")
@as_option(approve_option)
@click.option("--print-csv", is_flag=True, help="Print packageserver's CSV with both APIs, and exit.")
@kube_version_option
@as_option(olm_version_option)
@proposed_options
@click.pass_context
def serve(
    ctx: click.Context,
    /,
    path: Path,
    host: str,
    port: int,
    kubeconfig: Path | None,
    tls_cert_file: Path | None,
    tls_private_key_file: Path | None,
    http: bool,
    approve: tuple[str, ...],
    print_csv: bool,
    olm_version: str,
    **proposed: Any,
) -> None:
    """Serve a workspace to kubectl as an API server.

    An extension API server for packages.operators.coreos.com, with Installed and PackageManifests. It answers GET,
    LIST and WATCH and refuses writes. It reloads the workspace when files change, and notifies watches. Needs pip
    install 'olmc[serve]'.

    \b
    Examples:
      olmc serve --kubeconfig /tmp/olmc.yaml           this workspace
      kubectl --kubeconfig /tmp/olmc.yaml get installed -A --watch
      kubectl --kubeconfig /tmp/olmc.yaml get packagemanifests
      olmc serve fixtures/installed --http --port 8001

    Exit codes: 0 stopped by a signal, 2 wrong usage, 3 a workspace that can't be compiled, or an address, a certificate
    or a kubeconfig that can't be used.
    """
    if (tls_cert_file is None) != (tls_private_key_file is None):
        raise click.UsageError("--tls-cert-file and --tls-private-key-file go together.")
    if http and tls_cert_file is not None:
        raise click.UsageError("--http has no use for a certificate.")
    if http and host not in ("127.0.0.1", "::1", "localhost"):
        raise click.UsageError("--http is only for the local machine (--host 127.0.0.1).")
    if print_csv:
        from olmc.compiler.olm.profiles.data import profile_of
        from olmc.k8s.yaml import dump_one
        from olmc.targets.proposed.installed.resources import packageserver_csv

        click.echo(dump_one(packageserver_csv(profile_of(olm_version))), nl=False)
        return
    from olmc.cli.console import tell
    from olmc.cli.options import GivenInput, tell_idle
    from olmc.compiler.load.config import options_from, read_config
    from olmc.compiler.model.options import Options
    from olmc.k8s.diagnostics import Report
    from olmc.targets.proposed.rules import NO_SERVER

    try:
        from olmc.integrations.serve.server import RefusedError, ServeAddress, serve
    except ModuleNotFoundError as error:
        tell([NO_SERVER.finding(None, command="serve", cause=error)])
        ctx.exit(BAD_INPUT)
    place = ServeAddress(host, port, not http, tls_cert_file, tls_private_key_file, kubeconfig)
    options = with_proposed(Options(approve=approve, olm_version=olm_version), proposed, ctx)
    given = given_version(ctx) | given_fields(ctx, proposed)
    tell_idle(ctx, [GivenInput(options_from(read_config(path, Report()), options, given))])
    try:
        serve(path, place, options, lambda text: click.echo(text, err=True, nl=False), given)
    except RefusedError as error:
        tell(error.diagnostics, path)
        ctx.exit(BAD_INPUT)


@click.command()
@click.argument("path", type=GivenPath(path_type=Path), default=Path(), metavar="[PATH]")
@click.option("--to", required=True, type=click.Choice(["descoped", "v2alpha1", "olm-v1"]), help="The target.")
@click.option("--dry-run", is_flag=True, help="Print the changes as a patch and write nothing.")
@click.option(
    "--steps", is_flag=True, help="With olm-v1: print the steps for a live cluster as a script, and write nothing."
)
@as_option(olm_version_option)
@click.pass_context
def migrate(ctx: click.Context, /, path: Path, to: str, dry_run: bool, steps: bool, olm_version: str) -> None:
    """Convert a workspace to OLM v1 or to the proposed APIs.

    olm-v1: Subscriptions become ClusterExtensions, with a ServiceAccount and its permissions, and CatalogSources
    become ClusterCatalogs; lists what each operator loses, and keeps those that can't move. descoped: operators that
    can watch all namespaces get a global OperatorGroup, and several instances of one version become one; lists
    permissions that come or go. v2alpha1: Subscriptions become Operators, unless the operator would change by it.
    Comments are kept. What needs a decision is reported and left unchanged.

    \b
    Examples:
      olmc migrate --to descoped --dry-run              what would change, as a patch
      olmc migrate --to v2alpha1 --dry-run | git apply  the same as without --dry-run
      olmc migrate fleet --to v2alpha1                  change the files
      olmc migrate --to olm-v1 --steps > move.sh        how to move running operators first
      olmc migrate --to olm-v1 --olm-version v1-experimental --dry-run

    Exit codes: 0 done, 1 something is lost or needs a decision, 2 wrong usage, 3 input that can't be compiled.
    """
    from olmc.compiler.migration import as_patch
    from olmc.k8s.diagnostics import Severity

    script = ""
    if to == "olm-v1":
        from olmc.review.migrate.to_extensions import migrate_to_extensions

        done, _, script = migrate_to_extensions(path, olm_version if given_version(ctx) else "")
    else:
        from olmc.review.migrate.proposed import migrate as migrated

        if steps or given_version(ctx):
            raise click.UsageError("--steps and --olm-version are for --to olm-v1.")
        done = migrated(path, "descoped" if to == "descoped" else "operators")
    # What changes by a migration is reported once it is written, or shown: where that fails, nothing changes.
    if not (done.failed or dry_run or steps):
        _write(path, done.changes)
    tell(done.remarks, path, least=Severity.INFO)
    if done.failed:
        ctx.exit(BAD_INPUT)
    if steps or dry_run:
        click.echo(script if steps else as_patch(done.changes), nl=False)
    ctx.exit(FINDINGS if done.unfinished else DONE)


def _write(root: Path, changes: Sequence[FileChange]) -> None:
    from olmc.compiler.output.directory import rewrite

    texts = {root / change.path: change.after for change in changes}
    empty = [path for path, text in texts.items() if not text]
    new = [root / change.path for change in changes if not change.before]
    with writing(*texts):
        rewrite({path: text for path, text in texts.items() if text}, new=new)
        for path in empty:
            path.unlink()
    for path in texts:
        click.echo(f"{path}: {'removed, nothing is left in it' if path in empty else 'written'}", err=True)
