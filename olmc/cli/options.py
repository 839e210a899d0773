"""Options that several commands have, what shells complete for them, and which of them had no effect."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olmc.cli.console import BAD_INPUT, UNTIMED, Input, Timings, bad_value, is_single, tell, wrong_usage
from olmc.cli.declared import Choice, PathOf, Whole, flag, namespaces, olm_versions, option
from olmc.compiler.model.options import Options
from olmc.k8s.diagnostics import Report, Severity
from olmc.k8s.lean import NamedTuple

if TYPE_CHECKING:
    import click

    from olmc.k8s.objects import APIResource
    from olmc.review.diff.both_sides import BegunCluster
    from olmc.review.plan.engine import NamedState


_DEFAULTS = Options()


def _canonical(ctx: click.Context, param: click.Parameter, value: str) -> str:
    """The version by its full name; another one than the default is looked up."""
    is_default = not is_given(ctx, param.name or "")
    return value if is_default else canonical_version(value)


def canonical_version(value: str) -> str:
    """The full name of an OLM version; one that olmc does not know is wrong usage."""
    from olmc.compiler.olm.profiles.data import UnknownVersionError, canonical

    try:
        return canonical(value)
    except UnknownVersionError as error:
        bad_value(f"{error}. {error.hint}")


olm_version_option = option(
    "--olm-version", callback=_canonical, default=_DEFAULTS.olm_version, show_default=True, metavar="VERSION",
    shell_complete=olm_versions,
    help="The OLM of the cluster: 0.25, ocp-4.18 for OpenShift, v1 for OLM v1, or docs.",
)  # fmt: skip


def _range(ctx: click.Context, param: click.Parameter, value: str) -> tuple[str, ...]:
    """The versions of `A..B`, or the one there is."""
    old, dots, new = value.partition("..")
    return (canonical_version(old), canonical_version(new)) if dots else (_canonical(ctx, param, value),)


olm_versions_option = option(
    "--olm-version", callback=_range, default=_DEFAULTS.olm_version, show_default=True,
    metavar="VERSION|A..B", help="The OLM of the cluster; A..B with one PATH: the effect of upgrading OLM itself.",
)  # fmt: skip


def _full(ctx: click.Context, param: click.Parameter, value: str) -> str:  # noqa: ARG001
    """The version of Kubernetes as a cluster reports it; what is no version is wrong usage."""
    if value == _DEFAULTS.kube_version:
        return value
    from olmc.k8s.strconv import full_kube_version  # with the semver package, which imports argparse

    version = full_kube_version(value)
    if not version:
        bad_value("a version looks like v1.36.2")
    return version


def _deletions(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:  # noqa: ARG001
    """Objects as `KIND/NAMESPACE/NAME` or `KIND/NAME`; anything else is wrong usage."""
    for text in value:
        if text.count("/") not in (1, 2) or not all(text.split("/")):
            bad_value(f"{text!r} is no KIND/NAMESPACE/NAME, nor a KIND/NAME of what has no namespace")
    return value


def _apis(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:  # noqa: ARG001
    """APIs as `group/version/Kind`; anything else is wrong usage."""
    for api in value:
        if api.count("/") != 2 or not all(api.split("/")):
            bad_value(f"{api!r} is no GROUP/VERSION/Kind such as monitoring.coreos.com/v1/ServiceMonitor")
    return value


def _apis_from(ctx: click.Context, param: click.Parameter, value: Path | None) -> tuple[APIResource, ...]:  # noqa: ARG001
    """Return the kinds in a file that the cluster serves; an unreadable one ends the command."""
    if value is None:
        return ()
    from olmc.compiler.load.live_objects import read_api_file  # few runs have such a file

    findings = Report()
    resources = read_api_file(value, findings)
    if findings.failed:
        tell(tuple(findings))
        raise SystemExit(BAD_INPUT)
    return resources


class ClusterOptions(NamedTuple):
    """The Kubernetes that the cluster is, with the APIs that it serves."""

    kube_version: str = option(
        "--kube-version", callback=_full, default=_DEFAULTS.kube_version, show_default=True, metavar="VERSION",
        help="The Kubernetes version of the cluster.",
    )  # fmt: skip
    apis: tuple[str, ...] = option(
        "--api", multiple=True, callback=_apis, metavar="GROUP/VERSION/Kind",
        help="An additional kind that the cluster serves (may be repeated).",
    )  # fmt: skip
    api_resources: tuple[APIResource, ...] = option(
        "--apis-from", type=PathOf(exists=True, dir_okay=False), callback=_apis_from, metavar="FILE",
        help="The APIs that the cluster serves: output of kubectl api-resources -o wide, or discovery JSON.",
    )  # fmt: skip


certs_option = option(
    "--certs", type=Choice(("none", "cert-manager", "service-ca")), default="none", show_default=True,
    help="For apply: the issuer of serving certificates.",
)  # fmt: skip
approve_option = option(
    "--approve", multiple=True, metavar="NS/CSV|all", help="Treat waiting InstallPlans as approved.",
)  # fmt: skip


allow_empty_option = flag("--allow-empty", help="Print no note about a workspace that has nothing for OLM.")


def output_option(formats: Sequence[str], text: str) -> Any:
    """The option `-o`; the first format is the default."""
    return option(
        "-o", "--output", type=Choice(tuple(formats)), default=formats[0], show_default=True, help=text,
    )  # fmt: skip


fail_on_option = option(
    "--fail-on", type=Choice(("breaking", "risk", "any")),
    help="Exit 1 for changes of this severity or higher. [default: changes alone are no failure]",
)  # fmt: skip
exit_code_option = flag("--exit-code", help="Exit 1 for any change, as git diff has it; the same as --fail-on any.")
_LEAST = {"breaking": Severity.ERROR, "risk": Severity.FAILURE, "any": Severity.INFO}


def least_of(fail_on: str | None, *, exit_code: bool) -> Severity | None:
    """The severity from which on changes are a failure, None where they are not."""
    level = "any" if exit_code else fail_on
    return _LEAST[level] if level is not None else None


show_secrets_option = flag("--show-secrets", help="Show the values of Secrets, which are masked otherwise.")


def watched(namespace: str, watch: str | None, all_namespaces: bool) -> tuple[str, ...] | None:
    """Return the namespaces that a bundle installed in `namespace` ("" for its own choice) watches, as `Options.watch`
    has it.

    Both options at once and invalid names of namespaces are wrong usage.
    """
    if watch is not None and all_namespaces:
        wrong_usage("--watch and --all-namespaces exclude each other.")
    from olmc.k8s.api.selectors import is_dns1123_label

    for name in (namespace or None, *(watch.split(",") if watch is not None else ())):
        if name is not None and is_dns1123_label(name):
            bad_value(f"{name!r} is no name for a namespace", "--namespace, --watch")
    if all_namespaces:
        return ()
    return tuple(watch.split(",")) if watch is not None else None


class ProposedOptions(NamedTuple):
    """The proposed APIs, all off unless asked for."""

    descoped: bool = flag(
        "--descoped", help="Descoped operators: those without install modes, or with AllNamespaces only."
    )
    shared_apis: tuple[str, ...] = option(
        "--allow-shared-api", multiple=True, metavar="PLURAL.GROUP",
        help="With --descoped: an API that several operators may provide (may be repeated).",
    )  # fmt: skip
    operators_and_installs: bool = flag(
        "--enable-v2alpha1", help="Enable Operator and Install of operators.coreos.com/v2alpha1."
    )
    approve_installs: bool = flag("--approve-installs", help="With v2alpha1: treat every Install as approved.")
    user: str = option(
        "--as", default="", metavar="USER",
        help="With v2alpha1: check that USER may create the Operators and approve the Installs.",
    )  # fmt: skip
    user_groups: tuple[str, ...] = option(
        "--as-group", multiple=True, metavar="GROUP", help="With --as: a group that USER is in (may be repeated).",
    )  # fmt: skip
    migrate_subscriptions: bool = flag(
        "--migrate-subscriptions", help="With v2alpha1: convert Subscriptions to Operators."
    )
    component_label: str = option(
        "--component-label", type=Choice(("adopted", "seed")), default="adopted", show_default=True,
        help="With v2alpha1: the component label as OLM implements it, or as in the proposal.",
    )  # fmt: skip
    olm_namespace: str = option(
        "--olm-namespace", default="olm", show_default=True, metavar="NS", help="With v2alpha1: the namespace of OLM.",
    )  # fmt: skip


class StateOptions(NamedTuple):
    """The state to begin with."""

    from_: tuple[str, ...] = option(
        "--from", multiple=True, metavar="FROM",
        help="Start from this cluster: a workspace, git:REF, a rendering, or a state file of olmc import. Without it "
             "plan starts from git:HEAD, other commands from an empty cluster. Twice: a state, and the workspace or "
             "git:REF last applied to it.",
    )  # fmt: skip
    prune: bool = flag(
        "--prune/--no-prune", default=True, show_default=True,
        help="With --from: delete objects that FROM applied and PATH no longer has.",
    )  # fmt: skip
    delete: tuple[str, ...] = option(
        "--delete", multiple=True, metavar="KIND/NS/NAME", callback=_deletions,
        help="With --from: an object deleted by hand afterwards (may be repeated).",
    )  # fmt: skip


PROPOSED_OPTIONS = frozenset(ProposedOptions._fields)
"""The names of what is about the proposed APIs."""


timings_option = flag("--timings", help="Print the time of each stage to stderr.")


class CompileOptions(NamedTuple):
    """The options of most commands that compile: approvals, the initial state, versions, the limit of the search,
    timings, and the options of the proposed APIs."""

    approve: tuple[str, ...] = approve_option
    state: StateOptions = StateOptions()
    cluster: ClusterOptions = ClusterOptions()
    olm_version: str = olm_version_option
    resolve_timeout: int = option(
        "--resolve-timeout", type=Whole(1, 1_000_000), metavar="SECONDS",
        callback=lambda ctx, option, value: value or 0,  # noqa: ARG005
        help="Limit of the dependency solver; counted in conflicts, so the same on every machine. [default: 30]",
    )  # fmt: skip
    timings: bool = timings_option
    proposed: ProposedOptions = ProposedOptions()


def timings_of(ctx: click.Context, wanted: bool) -> Timings:
    """Return the listener for --timings."""
    if not wanted:
        return UNTIMED
    from olmc.cli.inputs import timed  # most runs are for their output

    timings: Timings = ctx.with_resource(timed())
    return timings


def fields_of(*given: Any, **more: Any) -> dict[str, Any]:
    """Return the values that classes of options have for fields of Options, with `from_` for its state, and `more` of
    them."""
    fields = {}
    for options in given:
        for name, value in zip(options._fields, options, strict=True):
            if isinstance(value, (StateOptions, ClusterOptions, ProposedOptions)):
                fields.update(fields_of(value))
            elif name in Options._fields or name == "from_":
                fields[name] = value
    return fields | more


def options_of(ctx: click.Context, fields: dict[str, Any], base: Options = _DEFAULTS) -> Options:
    """Return the options with the fields that the command line gave, and with the state that `from_` names."""
    options = _with_fields(base, fields)
    if not fields.get("from_"):
        return options
    from olmc.cli.inputs import state_from  # most runs begin with a fresh cluster

    entries: Sequence[str] = ctx.params.get("entries") or ()
    asked = (fields["from_"], _beside(ctx), options, _known_fields(ctx), entries[0] if len(entries) == 1 else "")
    known: list[tuple[Any, NamedState]] = ctx.meta.setdefault("olmc.states", [])
    found = next((state for one, state in known if one == asked), None)
    if found is None:  # a command that asks for the state again has it compiled, and reported, once
        found = state_from(*asked)
        known.append((asked, found))
    return options._replace(state=found.state, api_resources=(*options.api_resources, *found.served))


def options_and_begun(
    ctx: click.Context, fields: dict[str, Any], base: Options = _DEFAULTS, *, may_be_absent: bool = False,
    entry: str = "",
) -> tuple[Options, BegunCluster]:  # fmt: skip
    """The same, and the cluster that `from_` names as a side; with `may_be_absent` a revision need not have it. `entry`
    is the entry of a repository that is meant."""
    from olmc.cli.inputs import begun_from

    options = _with_fields(base, fields)
    found = begun_from(
        fields["from_"], _beside(ctx), options, _known_fields(ctx), may_be_absent=may_be_absent, entry=entry
    )
    return options._replace(state=found.state, api_resources=(*options.api_resources, *found.served)), found.begun


def _with_fields(options: Options, given: dict[str, Any]) -> Options:
    return options._replace(**{name: value for name, value in given.items() if name != "from_"})


def _beside(ctx: click.Context) -> str:
    """The path that the command line is about, beside which a revision without a path is."""
    names = ("paths", "path", "workspace", "new", "old")
    beside = next((ctx.params[name] for name in names if ctx.params.get(name)), ".")
    return os.fspath(beside[0] if isinstance(beside, tuple) else beside)


def _known_fields(ctx: click.Context) -> frozenset[str]:
    return frozenset(name for name in Options._fields if is_given(ctx, name))


def is_given(ctx: click.Context, name: str) -> bool:
    """Return whether the command line, or a variable, says something about a parameter."""
    source = ctx.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"


def is_typed(ctx: click.Context, name: str) -> bool:
    """Return whether the command line itself does."""
    source = ctx.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def fixed_of(ctx: click.Context, fields: Iterable[str]) -> frozenset[str]:
    """The fields of Options that the command line has set, so that olmc.yaml may not."""
    return frozenset(name for name in fields if is_given(ctx, name))


no_remedies_option = flag("--no-remedies", help="Do not search for changes that cure what is wrong.")


entry_option = option(
    "--entry", multiple=True, metavar="NAME",
    help="In a repository: a folder, or the name of an Application, Kustomization or HelmRelease (may be repeated).",
)  # fmt: skip


def inputs_of(ctx: click.Context, paths: Sequence[Path], entries: Sequence[str] = ()) -> list[Input]:
    """Return the inputs for the paths of a command line, the current directory for none.

    With `entries` the one path is a repository, and they are names of its entries. Directories are compiled one by one.
    Files and streams make one workspace together, with at most one directory among them. olmc writes them into a
    temporary folder and removes it when the command ends.
    """
    paths = paths or (Path(),)
    if not entries and not any(map(is_single, paths)):
        return [Input(path) for path in paths]
    from olmc.cli.inputs import staged_inputs  # most runs compile directories

    return staged_inputs(ctx, paths, entries)


# Where a bundle by itself is installed and what it watches: the options of every command that looks into one.


def _namespace(ctx: click.Context, param: click.Parameter, value: str) -> str:  # noqa: ARG001
    watched(value, None, all_namespaces=False)
    return value


def _everywhere(ctx: click.Context, param: click.Parameter, value: bool) -> bool:  # noqa: ARG001
    ctx.meta[_ALL_NAMESPACES] = value
    return value


def _scope(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, ...] | None:  # noqa: ARG001
    return watched("", value, ctx.meta.get(_ALL_NAMESPACES, False))


_ALL_NAMESPACES = "olmc.all_namespaces"


class ScopeOptions(NamedTuple):
    """The namespaces of a bundle by itself: where it is installed and which it watches, as with `olmc render`."""

    install_namespace: str = option(
        "-n", "--namespace", default="", metavar="NS", callback=_namespace, shell_complete=namespaces,
        help="For a bundle: the namespace to install it in.",
    )  # fmt: skip
    watch: tuple[str, ...] | None = option(
        "--watch", metavar="NS,NS", callback=_scope, help="For a bundle: the namespaces that it watches.",
    )  # fmt: skip
    # Its callback comes first, since that of --watch asks for it.
    watch_all: bool = flag(
        "--all-namespaces", is_eager=True, callback=_everywhere, help="For a bundle: watch all namespaces.",
    )  # fmt: skip
