"""Commands of the proposed APIs: `olmc get`, `olmc serve`, `olmc migrate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from olmc.cli.compiling import GivenInput, compiled, tell_idle
from olmc.cli.console import BAD_INPUT, DONE, FINDINGS, bad_value, say, say_table, tell, wrong_usage
from olmc.cli.declared import PathOf, Whole, argument, beginning, command, flag, namespaces, option
from olmc.cli.options import (
    ClusterOptions,
    CompileOptions,
    ProposedOptions,
    approve_option,
    fields_of,
    fixed_of,
    olm_version_option,
    options_of,
    output_option,
    timings_of,
)
from olmc.compiler.load.config import options_from, read_config
from olmc.compiler.model.options import Options
from olmc.compiler.olm.profiles.data import profile_of
from olmc.k8s.diagnostics import POSSIBLE, Report, Severity, closest, did_you_mean
from olmc.k8s.lean import NamedTuple
from olmc.k8s.yaml import dump_one
from olmc.targets.proposed.installed.resources import (
    INSTALLED,
    OLM_RESOURCES,
    RESOURCES,
    packageserver_csv,
    resource_called,
)
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
from olmc.targets.proposed.rules import NO_SERVER

if TYPE_CHECKING:
    import click


def complete_resource(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """Complete a resource that `olmc get` shows."""
    return beginning(incomplete, (resource.plural for resource in (*RESOURCES, *OLM_RESOURCES)))


class GetOptions(NamedTuple):
    """The options of `olmc get`."""

    resource: str = argument(shell_complete=complete_resource)
    words: tuple[str, ...] = argument(multiple=True, metavar="[NAME] [PATH]")
    namespace: str = option(
        "-n", "--namespace", default="default", show_default=True, metavar="NS", shell_complete=namespaces,
        help="The namespace.",
    )  # fmt: skip
    all_namespaces: bool = flag("-A", "--all-namespaces", help="All namespaces.")
    output: str = output_option(
        ["table", "wide", "yaml", "json", "name"], "A table, one with more columns, the objects, or their names."
    )
    workspace: Path | None = option(type=PathOf(), metavar="DIR", old_names=("-C", "--workspace"), help="PATH.")
    icons: bool = flag("--icons", help="Show the icons of packages.")
    compiling: CompileOptions = CompileOptions()


@command(GetOptions)
def get(ctx: click.Context, opts: GetOptions) -> None:
    """List the operators or packages of a namespace.

    Which operators watch the namespace, which packages it can install, and the objects of OLM in it.

    RESOURCE is `installed` (the operators that are installed and configured to watch the namespace), `packagemanifests`
    (the packages of the catalogs), or a kind of OLM: `operators`, `installs`, `csv`, `sub`, `ip`, `og`, `catsrc`. NAME
    shows one of them. PATH is a workspace or a bundle; the default is the current directory. A word that is a file or a
    folder here is the PATH.

    \b
    Examples:
      olmc get installed -n harbour                    operators that watch it
      olmc get installed -A                            and those of all namespaces
      olmc get installed beacon.v1.0.0 -n harbour -o yaml
      olmc get packagemanifests fixtures/upgrade -o wide
      olmc get csv -A                                  CSVs, as kubectl prints

    Exit codes: 0 done, 1 findings (an operator would fail, or nothing has this name), 2 wrong usage, 3 input that can't
    be compiled.
    """
    resource, words, namespace, all_namespaces, output, _, icons, compiling = opts
    name, workspace = _name_and_path(words, opts.workspace)
    resources = (*RESOURCES, *OLM_RESOURCES)
    found = resource_called(resource, resources)
    if found is None:
        known = {name: each.plural for each in resources for name in (each.plural, each.singular, *each.short_names)}
        meant = did_you_mean(known.get(closest(resource.lower(), known, POSSIBLE), ""))
        hint = meant or f"Choose one of {', '.join(each.plural for each in resources)}."
        bad_value(f"there is no resource {resource}. {hint}", "RESOURCE")
    if name and all_namespaces:
        wrong_usage("a resource can't be looked up by NAME in all namespaces; give -n NS.")
    fields, timings = fields_of(compiling), timings_of(ctx, compiling.timings)
    given, options = fixed_of(ctx, fields), Options(kube_version=compiling.cluster.kube_version)
    done, settled = compiled(ctx, workspace, fields, least=Severity.WARNING, timings=timings)
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
        say(f"olmc: there are some in {others}; choose with -n, or take all with -A")
    missing = bool(name) and not got.items
    raise SystemExit(FINDINGS if done.findings or missing else DONE)


def _name_and_path(words: tuple[str, ...], workspace: Path | None) -> tuple[str, Path]:
    """The name and the path that the words behind RESOURCE are; more than these is wrong usage."""
    *names, last = words or ("",)
    is_path = workspace is None and bool(last) and ("/" in last or Path(last).exists())
    names = names if is_path else [*names, last]
    if len(names) > 1:
        wrong_usage(f"{names[1]} is no file or folder; give one NAME, and then a PATH.")
    place = Path(last) if is_path else workspace or Path()
    return (names[0] if names else ""), place


class ServeOptions(NamedTuple):
    """The options of `olmc serve`."""

    path: Path = argument(type=PathOf(), default=Path(), metavar="[PATH]")
    host: str = option(
        "--host", default="127.0.0.1", show_default=True, metavar="HOST", help="The address to serve on."
    )
    port: int = option(
        "--port", type=Whole(0, 65535), default=5443, show_default=True, metavar="PORT",
        help="The port; 0 picks a free one.",
    )  # fmt: skip
    kubeconfig: Path | None = option(
        "--kubeconfig", type=PathOf(dir_okay=False), metavar="FILE", help="Write a kubeconfig for the server to FILE."
    )
    tls_cert_file: Path | None = option(
        "--tls-cert-file", type=PathOf(dir_okay=False), metavar="FILE",
        help="The certificate (PEM). [default: a generated one]",
    )  # fmt: skip
    tls_private_key_file: Path | None = option(
        "--tls-private-key-file", type=PathOf(dir_okay=False), metavar="FILE",
        help="The private key of the certificate (PEM).",
    )  # fmt: skip
    http: bool = flag("--http", help="Plain HTTP instead of TLS; only on the local machine.")
    approve: tuple[str, ...] = approve_option
    print_csv: bool = flag("--print-csv", help="Print packageserver's CSV with both APIs, and exit.")
    cluster: ClusterOptions = ClusterOptions()
    olm_version: str = olm_version_option
    proposed: ProposedOptions = ProposedOptions()


@command(ServeOptions)
def serve(ctx: click.Context, opts: ServeOptions) -> None:
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
    path, host, http = opts.path, opts.host, opts.http
    tls_cert_file, tls_private_key_file = opts.tls_cert_file, opts.tls_private_key_file
    if (tls_cert_file is None) != (tls_private_key_file is None):
        wrong_usage("--tls-cert-file and --tls-private-key-file go together.")
    if http and tls_cert_file is not None:
        wrong_usage("--http has no use for a certificate.")
    if http and host not in ("127.0.0.1", "::1", "localhost"):
        wrong_usage("--http is only for the local machine (--host 127.0.0.1).")
    if opts.print_csv:
        say(dump_one(packageserver_csv(profile_of(opts.olm_version))), nl=False, out=True)
        return
    try:
        from olmc.integrations.serve.server import RefusedError, ServeAddress, serve
    except ModuleNotFoundError as error:
        tell([NO_SERVER.finding(None, command="serve", cause=error)])
        raise SystemExit(BAD_INPUT) from error
    place = ServeAddress(host, opts.port, not http, tls_cert_file, tls_private_key_file, opts.kubeconfig)
    fields = fields_of(opts.cluster, opts.proposed, approve=opts.approve, olm_version=opts.olm_version)
    options, given = options_of(ctx, fields), fixed_of(ctx, fields)
    tell_idle(ctx, [GivenInput(options_from(read_config(path, Report()), options, given))])
    try:
        serve(path, place, options, lambda text: say(text, nl=False), given)
    except RefusedError as error:
        tell(error.diagnostics, path)
        raise SystemExit(BAD_INPUT) from error
