"""`olmc serve`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from olmc.cli.exits import BAD_INPUT
from olmc.cli.options import approve_option, given_version, kube_version_option, olm_version_option
from olmc.cli.paths import GivenPath
from olmc.cli.proposed import given_fields, proposed_options, with_proposed


@click.command()
@click.argument("path", type=GivenPath(path_type=Path), default=Path(), metavar="[PATH]")
@click.option("--host", default="127.0.0.1", show_default=True, metavar="HOST", help="The address to serve on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=5443,
    show_default=True,
    metavar="PORT",
    help="The port; 0 takes any that is free.",
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
    help="The certificate, as PEM; without it the server makes its own.",
)
@click.option(
    "--tls-private-key-file",
    type=GivenPath(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="The key of the certificate, as PEM.",
)
@click.option("--http", is_flag=True, help="Plain HTTP instead of TLS; only on the local machine.")
@approve_option
@click.option("--print-csv", is_flag=True, help="Print what packageserver's CSV says about the APIs, and end.")
@kube_version_option
@olm_version_option
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
    """Serve a workspace to kubectl, with watches.

    An extension API server for packages.operators.coreos.com, with Installed and PackageManifests. It answers GET, LIST
    and WATCH, refuses every write, and looks at the files of the workspace: what changes there is told to those who
    watch. Needs pip install 'olmc[serve]'.

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
        from olmc.proposed.packageserver import fragment
        from olmc.yaml import dump_one

        click.echo(dump_one(fragment()), nl=False)
        return
    from olmc.cli.idle import Given, tell_idle
    from olmc.cli.talk import tell
    from olmc.load.config import options_from, read_config
    from olmc.model.diagnostic import Report
    from olmc.model.options import Options
    from olmc.rules.installed import NO_SERVER

    try:
        from olmc.serve.server import Place, RefusedError, serve
    except ModuleNotFoundError as error:
        tell([NO_SERVER.finding(None, cause=error)])
        ctx.exit(BAD_INPUT)
    place = Place(host, port, not http, tls_cert_file, tls_private_key_file, kubeconfig)
    options = with_proposed(Options(approve=approve, olm_version=olm_version), proposed)
    given = given_version(ctx) | given_fields(ctx, proposed)
    tell_idle(ctx, [Given(options_from(read_config(path, Report()), options, given))])
    try:
        serve(path, place, options, lambda text: click.echo(text, err=True, nl=False), given)
    except RefusedError as error:
        tell(error.diagnostics)
        ctx.exit(BAD_INPUT)
