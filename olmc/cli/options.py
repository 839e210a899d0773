"""Options that several commands have, what shells complete for them, and which of them had no effect."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from olmc.cli.console import (
    BAD_INPUT,
    UNTIMED,
    Input,
    Timings,
    bad_value,
    folder_from_here,
    is_single,
    progress,
    say,
    tell,
    tell_approvals,
    wrong_usage,
)
from olmc.cli.declared import Choice, DeclaredOption, F, PathOf, Whole, namespaces, olm_versions, option
from olmc.compiler.cache import NO_CACHE, clear, default_folder, is_off, is_own, open_cache, usage
from olmc.compiler.model.options import Options
from olmc.k8s.diagnostics import Diagnostic, Report, Severity
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import APIResource
from olmc.k8s.semver import full_kube_version

if TYPE_CHECKING:
    import click

    from olmc.compiler.api import Compilation
    from olmc.compiler.load.releases import Release
    from olmc.compiler.load.workspace import Beside
    from olmc.compiler.model.workspace import LeftOut
    from olmc.compiler.reconcile.loop import SettledCluster
    from olmc.k8s.api.restmapper import RestMapping
    from olmc.review.diff.both_sides import BegunCluster


def as_option(*params: DeclaredOption) -> Callable[[F], F]:
    """A decorator that adds options to a command of click."""

    def decorate(function: F) -> F:
        from olmc.cli.as_click import decorated

        for param in reversed(params):
            function = decorated(param, function)
        return function

    return decorate


def check_kinds(include: Sequence[str], exclude: Sequence[str], known: Iterable[RestMapping]) -> None:
    """Raise BadParameter for a kind that is none of those that are known."""
    from olmc.compiler.reconcile.misspelling import unknown_kinds

    for kind, hint in unknown_kinds((*include, *exclude), known):
        option = "--include" if kind in include else "--exclude"
        bad_value(f"nothing is of kind {kind}. {hint}", option)


CompileWith: TypeAlias = "Callable[[Options, Callable[[Options], Compilation]], Compilation]"


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
    "--olm-version", callback=_canonical, default=Options().olm_version, show_default=True, metavar="VERSION",
    shell_complete=olm_versions,
    help="The OLM version of the cluster: a release (0.25), an OpenShift release (ocp-4.18), OLM v1 (v1), or docs.",
)  # fmt: skip


def _range(ctx: click.Context, param: click.Parameter, value: str) -> tuple[str, ...]:
    """The versions of `A..B`, or the one there is."""
    old, dots, new = value.partition("..")
    return (canonical_version(old), canonical_version(new)) if dots else (_canonical(ctx, param, value),)


olm_versions_option = option(
    "--olm-version", "olm_version", callback=_range, default=Options().olm_version, show_default=True,
    metavar="VERSION|A..B", help="The OLM of the cluster; A..B with one PATH: what upgrading OLM itself changes.",
)  # fmt: skip


def given_version(ctx: click.Context) -> frozenset[str]:
    """The field of Options that olmc.yaml must not override, if the command line names a version."""
    return frozenset({"olm_version"} if is_given(ctx, "olm_version") else ())


def _full(ctx: click.Context, param: click.Parameter, value: str) -> str:  # noqa: ARG001
    """The version of Kubernetes as a cluster reports it; what is no version is wrong usage."""
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
    """What a file says that the cluster serves; one that can't be read ends the command."""
    if value is None:
        return ()
    from olmc.compiler.load.files import read_text
    from olmc.compiler.load.live_objects import read_apis

    findings = Report()
    # Not as given: `read_text` goes by a folder and a name in it.
    text = read_text(value.parent, value.name, findings)
    resources = read_apis(value.as_posix(), text, findings) if text is not None else ()
    if findings.failed:
        tell(tuple(findings))
        raise SystemExit(BAD_INPUT)
    return resources


CLUSTER = (
    option("--kube-version", callback=_full, default=Options().kube_version, show_default=True, metavar="VERSION",
                 help="The Kubernetes version of the cluster."),
    option("--api", "apis", multiple=True, callback=_apis, metavar="GROUP/VERSION/Kind",
                 help="An additional kind that the cluster serves (may be repeated)."),
    option("--apis-from", "api_resources", type=PathOf(exists=True, dir_okay=False),
                 callback=_apis_from, metavar="FILE",
                 help="The APIs that the cluster serves: output of kubectl api-resources -o wide, or discovery JSON."),
)  # fmt: skip
certs_option = option(
    "--certs", type=Choice(("none", "cert-manager", "service-ca")), default="none", show_default=True,
    help="For apply: what issues serving certificates.",
)  # fmt: skip
approve_option = option(
    "--approve", multiple=True, metavar="NS/CSV|all", help="Treat waiting InstallPlans as approved.",
)  # fmt: skip


allow_empty_option = option(
    "--allow-empty", is_flag=True, help="Accept a workspace that has nothing in it.",
)  # fmt: skip


def emptiness(root: Path | None, compilation: Compilation) -> tuple[Diagnostic, ...]:
    """That a workspace has nothing in it, if that is so; a bundle by itself is no workspace.

    `root` is None for files and streams. What is refused is something, and is reported by itself.
    """
    from olmc.compiler.load.workspace import is_empty

    workspace = compilation.workspace
    something = compilation.failed or compilation.findings or compilation.suppressed
    if workspace is None or something or not is_empty(workspace):
        return ()
    return (empty_finding(root),)


def empty_finding(root: Path | None) -> Diagnostic:
    """That there is nothing in the workspace at `root`, or in the files and streams that were given."""
    from olmc.compiler.rules.texts.foreign import EMPTY

    path = root.as_posix() if root is not None else "what was given"
    return EMPTY.finding(None, path="this directory" if path == "." else path)


def output_option(formats: Sequence[str], text: str) -> DeclaredOption:
    """The option `-o`; the first format is the default."""
    return option(
        "-o", "--output", type=Choice(tuple(formats)), default=formats[0], show_default=True, help=text,
    )  # fmt: skip


show_secrets_option = option(
    "--show-secrets", is_flag=True, help="Show the values of Secrets, which are masked otherwise."
)


def watched(namespace: str, watch: str | None, all_namespaces: bool) -> tuple[str, ...] | None:
    """What a bundle installed in `namespace` ("" for its own choice) watches, as `Options.watch` has it.

    Both options at once and names that no namespace can have are wrong usage.
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


PROPOSED_APIS = (
    option("--descoped", is_flag=True,
                 help="Descoped operators: those without install modes, or with AllNamespaces only."),
    option("--allow-shared-api", "shared_apis", multiple=True, metavar="PLURAL.GROUP",
                 help="With --descoped: an API that several operators may provide (may be repeated)."),
    option("--enable-v2alpha1", "operators_and_installs", is_flag=True,
                 help="Enable Operator and Install of operators.coreos.com/v2alpha1."),
    option("--approve-installs", is_flag=True, help="With v2alpha1: treat every Install as approved."),
    option("--as", "user", default="", metavar="USER",
                 help="With v2alpha1: check that USER may create the Operators and approve the Installs."),
    option("--as-group", "user_groups", multiple=True, metavar="GROUP",
                 help="With --as: a group that USER is in (may be repeated)."),
    option("--migrate-subscriptions", is_flag=True, help="With v2alpha1: convert Subscriptions to Operators."),
    option("--component-label", type=Choice(("adopted", "seed")), default="adopted", show_default=True,
                 help="With v2alpha1: the component label as OLM implements it, or as in the proposal."),
    option("--olm-namespace", default="olm", show_default=True, metavar="NS",
                 help="With v2alpha1: the namespace of OLM."),
)  # fmt: skip


STATE = (
    option("--from", "from_", multiple=True, metavar="FROM",
                 help="Start from this cluster instead of an empty one: a workspace, git:REF, a rendering, or a state "
                      "file of olmc import. Twice: a state, and the workspace or git:REF last applied to it."),
    option("--prune/--no-prune", default=True, show_default=True,
                 help="With --from: delete objects that FROM applied and PATH no longer has."),
    option("--delete", multiple=True, metavar="KIND/NS/NAME", callback=_deletions,
                 help="With --from: an object deleted by hand afterwards (may be repeated)."),
)  # fmt: skip


PROPOSED_OPTIONS = frozenset(each.name for each in PROPOSED_APIS)
"""The names of what is about the proposed APIs."""
kube_version_option = as_option(*CLUSTER)
proposed_options = as_option(*PROPOSED_APIS)
state_options = as_option(*STATE)


resolve_timeout_option = option(
    "--resolve-timeout", type=Whole(1, 1_000_000), metavar="SECONDS",
    callback=lambda ctx, option, value: value or 0,  # noqa: ARG005
    help="Limit of the dependency solver; counted in conflicts, so the same on every machine. [default: 30]",
)  # fmt: skip
timings_option = option("--timings", is_flag=True, help="Print the time of each stage to stderr.")
# What most commands that compile have: approvals, the state to begin with, versions, what the proposed APIs need, how
# long to search, and how long all of it took.
COMPILE = (approve_option, *STATE, *CLUSTER, olm_version_option, resolve_timeout_option, timings_option, *PROPOSED_APIS)
compile_options = as_option(*COMPILE)


def timings_of(ctx: click.Context, values: dict[str, Any]) -> Timings:
    """Who hears what --timings asks for, which is taken out of the values of a command."""
    if not values.pop("timings", False):
        return UNTIMED
    from olmc.cli.inputs import timed  # most runs are for their output

    timings: Timings = ctx.with_resource(timed())
    return timings


def with_proposed(options: Options, given: dict[str, Any], ctx: click.Context) -> Options:
    """The options with the values that the command line gave for the proposed APIs.

    As for everything else in `given` that has the name of a field, such as `kube_version`; and with the state that
    `from_` names.
    """
    options = _with_fields(options, given)
    if not given.get("from_"):
        return options
    from olmc.cli.inputs import state_from  # most runs begin with a fresh cluster

    found = state_from(given["from_"], _beside(ctx), options, _known_fields(ctx))
    return options._replace(state=found.state, api_resources=(*options.api_resources, *found.served))


def with_begun(
    options: Options, given: dict[str, Any], ctx: click.Context, *, may_be_absent: bool = False
) -> tuple[Options, BegunCluster]:  # fmt: skip
    """The same, and the cluster that `from_` names as a side; with `may_be_absent` a revision need not have it."""
    from olmc.cli.inputs import begun_from

    options = _with_fields(options, given)
    found = begun_from(given["from_"], _beside(ctx), options, _known_fields(ctx), may_be_absent=may_be_absent)
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
    """Whether the command line, or a variable, says something about a parameter."""
    source = ctx.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"


def is_typed(ctx: click.Context, name: str) -> bool:
    """Whether the command line itself does."""
    source = ctx.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def given_fields(ctx: click.Context, given: dict[str, Any]) -> frozenset[str]:
    """The fields of Options that the command line has set, so that olmc.yaml may not."""
    return frozenset(name for name in given if is_given(ctx, name))


entry_option = option(
    "--entry", "entries", multiple=True, metavar="NAME",
    help="In a repository: a folder, or the name of an Application, Kustomization or HelmRelease (may be repeated).",
)  # fmt: skip


def inputs_of(ctx: click.Context, paths: Sequence[Path], entries: Sequence[str] = ()) -> list[Input]:
    """What to compile for the paths of a command line, the current directory for none.

    With `entries` the one path is a repository, and they are names of its entries. Directories are compiled one by
    one. Files and streams make one workspace together, with the one directory that may stand among them. They are put
    into a folder that is gone when the command ends.
    """
    paths = paths or (Path(),)
    if not entries and not any(map(is_single, paths)):
        return [Input(path) for path in paths]
    from olmc.cli.inputs import staged_inputs  # most runs compile directories

    return staged_inputs(ctx, paths, entries)


# A workspace's olmc.yaml may choose what is printed of the cluster, but not what there is to look at.
_EVERYTHING = frozenset({"purpose", "include", "exclude"})


def tell_left_out(root: Path, done: Compilation) -> tuple[LeftOut, ...]:
    """Say on stderr what is left out of a directory that was compiled, and give it."""
    from olmc.review.explain.left_out import left_out_of  # reviews need it, and what only prints does not

    found = left_out_of(root, done)
    say(left_out_note(root, found), nl=False)
    return found


def left_out_note(root: Path, left: tuple[LeftOut, ...]) -> str:
    """What is reported about what is left out of a directory."""
    from olmc.review.explain.left_out import note

    folder = folder_from_here(root)
    return note(left, f"{folder}/" if folder else "")


def compiled(
    ctx: click.Context, path: Path, olm_version: str, proposed: dict[str, Any], *, approve: tuple[str, ...] = (),
    least: Severity, beside: Beside | None = None, compile_with: CompileWith | None = None,
    release: Release | None = None, timings: Timings | None = None,
) -> tuple[Compilation, SettledCluster]:  # fmt: skip
    """The compilation of a path and its cluster at rest; findings from `least` on are reported on stderr, and what has
    no
    effect.

    `proposed` are the values of the options that have the name of a field of Options, `beside` is a folder whose files
    count as well; `compile_with` compiles with options, by `compile` if need be with others; `release` says how a Helm
    chart is installed, `timings` hears how long it takes, which without it is the matter of `proposed`.

    Ends the command if the path can't be compiled.
    """
    from olmc.compiler.load.request import CompileRequest
    from olmc.targets.pipeline import compile  # commands that only print what olmc knows have options, too

    timings = timings or timings_of(ctx, proposed)

    given = _EVERYTHING | given_version(ctx) | given_fields(ctx, proposed) | ({"approve"} if approve else frozenset())
    options = with_proposed(Options(approve=approve, olm_version=olm_version), proposed, ctx)

    def compile_once(options: Options) -> Compilation:
        done = compile(CompileRequest(path, options, given, beside=beside, release=release, stage=timings.stage))
        timings.compiled(path, done)
        return done

    with progress() as doing:
        doing(f"compiling {path}")
        done = compile_once(options) if compile_with is None else compile_with(options, compile_once)
    tell(done.diagnostics, None if beside == path else path, least=least)
    tell_idle(ctx, given_of([done]))
    if done.failed or done.settled is None:
        if not done.failed:
            from olmc.targets.v1.rules import NO_STATE

            tell([NO_STATE.finding(None, path=path, version=done.options.olm_version)])
        raise SystemExit(BAD_INPUT)
    tell_approvals(approve, [done.settled.cluster])
    return done, done.settled


class GivenInput(NamedTuple):
    """What options have an effect on: the options that hold, with what olmc.yaml says, and whether it is a bundle."""

    options: Options
    is_bundle: bool = False


class OptionNeed(NamedTuple):
    """What an option needs, and whether that is given."""

    text: str
    is_met: Callable[[GivenInput], bool]


def _is_extension(given: GivenInput) -> bool:
    """Whether what is given is a bundle that a ClusterExtension installs, which asks for certificates by itself."""
    from olmc.compiler.olm.profiles.data import SUBSCRIPTION, profile_of

    return given.is_bundle and profile_of(given.options.olm_version).bundles_by != SUBSCRIPTION


_FROM = OptionNeed("--from", lambda given: given.options.state is not None)
_WORKSPACE = OptionNeed("a workspace as PATH", lambda given: not given.is_bundle)
_V2ALPHA1 = OptionNeed("--enable-v2alpha1", lambda given: given.options.operators_and_installs)
_APPLY = OptionNeed("--for apply", lambda given: given.options.purpose == "apply")
_CERTIFIED = OptionNeed("--for apply", lambda given: given.options.purpose == "apply" or _is_extension(given))
_BUNDLE = OptionNeed("the directory of a bundle as PATH", lambda given: given.is_bundle)

# By the names of parameters; the first need that is not met is reported.
PROPOSED: Mapping[str, Sequence[OptionNeed]] = {
    "from_": [_WORKSPACE],
    "prune": [_FROM],
    "delete": [_FROM],
    "shared_apis": [OptionNeed("--descoped", lambda given: given.options.descoped)],
    "approve_installs": [_V2ALPHA1],
    "user": [_V2ALPHA1],
    "user_groups": [_V2ALPHA1, OptionNeed("--as", lambda given: bool(given.options.user))],
    "migrate_subscriptions": [_V2ALPHA1],
    "component_label": [_V2ALPHA1],
    "olm_namespace": [_V2ALPHA1],
    "install_namespace": [_BUNDLE],
    "watch": [_BUNDLE],
    "watch_all": [_BUNDLE],
}
RENDERED: Mapping[str, Sequence[OptionNeed]] = {
    "certs": [_CERTIFIED],
    "phase": [_APPLY],
    "keep_going": [_APPLY],
    "namespace": [_BUNDLE],
    "all_namespaces": [_BUNDLE],
    **PROPOSED,
}


def given_of(made: Iterable[Compilation]) -> list[GivenInput]:
    """What compilations that did not fail were given."""
    return [GivenInput(each.options, is_bundle=each.workspace is None) for each in made if not each.failed]


def tell_idle(
    ctx: click.Context, given: Sequence[GivenInput], needs: Mapping[str, Sequence[OptionNeed]] = PROPOSED
) -> None:
    """Say on stderr which options have no effect on anything that was given, and what they need.

    Only those of the command line: variables of the environment and olmc.yaml are meant for several commands.
    """
    for text in _idle(ctx, given, needs) if given else ():
        say(f"olmc: {text}")


def _idle(ctx: click.Context, given: Sequence[GivenInput], needs: Mapping[str, Sequence[OptionNeed]]) -> Iterator[str]:
    for param in ctx.command.params:
        name = param.name or ""
        if not is_typed(ctx, name):
            continue
        if ctx.params.get(name) == param.get_default(ctx):
            continue
        missing = [need for need in needs.get(name, ()) if not any(map(need.is_met, given))]
        if missing:
            yield f"{max(param.opts, key=len)} has no effect, it needs {missing[0].text}"


# `olmc cache`: what olmc keeps for the next run, and away with it.


@click.command()
@click.argument("action", type=click.Choice(["info", "clear"]))
@as_option(output_option(["text", "json"], "Text, or JSON."))
@click.pass_context
def cache(ctx: click.Context, /, action: str, output: str) -> None:
    """Show or clear the cache of large catalogs.

    Parsed catalogs are cached for the next run. info: the folder, its size and its limit. clear: remove everything;
    the next run parses catalogs again.

    \b
    Examples:
      olmc cache info               its folder and size
      olmc cache clear              remove everything
      OLMC_NO_CACHE=1 olmc check .  neither read nor write it

    Exit codes: 0 done, 2 wrong usage, 3 the folder belongs to somebody else, or can't be emptied.
    """
    try:
        folder = default_folder()
    except RuntimeError:
        say("olmc: this user has no home directory, so nothing is kept. Set XDG_CACHE_HOME to have a cache.")
        ctx.exit(BAD_INPUT)
    unused = _unused(folder)
    if action == "clear" and not is_own(folder):
        say(f"olmc: {unused}; nothing was removed.")
        ctx.exit(BAD_INPUT)
    held = clear(open_cache(folder)) if action == "clear" else usage(open_cache(folder))
    if output == "json":
        fields = {"folder": str(folder), "used": not unused, **held._asdict()}
        say(json.dumps({"removed": held._asdict()} if action == "clear" else fields, indent=2), out=True)
        return
    size = f"{held.entries} {'entry' if held.entries == 1 else 'entries'}, {held.bytes / 1e6:.1f} MB"
    if action == "clear":
        say(f"removed {size}", out=True)
        return
    say(f"{folder}\n{size} of at most {held.most / 1e6:.0f} MB", out=True)
    if unused:
        say(f"not used: {unused}", out=True)


def _unused(folder: Path) -> str:
    """Why the cache is not used, "" if it is."""
    if not is_own(folder):
        return "the folder belongs to somebody else, or others may write into it"
    return f"{NO_CACHE} is set" if is_off() else ""


# Where a bundle by itself is installed and what it watches: the options of every command that looks into one.


def _namespace(ctx: click.Context, param: click.Parameter, value: str) -> str:  # noqa: ARG001
    watched(value, None, all_namespaces=False)
    return value


def _everywhere(ctx: click.Context, param: click.Parameter, value: bool) -> None:  # noqa: ARG001
    ctx.meta[_ALL_NAMESPACES] = value


def _scope(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, ...] | None:  # noqa: ARG001
    return watched("", value, ctx.meta.get(_ALL_NAMESPACES, False))


_ALL_NAMESPACES = "olmc.all_namespaces"
# What a bundle by itself is given, as with `olmc render`; the values have the names of fields of Options.
SCOPE = (
    option("-n", "--namespace", "install_namespace", default="", metavar="NS", callback=_namespace,
                 shell_complete=namespaces, help="For a bundle: the namespace to install it in."),
    option("--watch", metavar="NS,NS", callback=_scope, help="For a bundle: the namespaces that it watches."),
    # Its callback comes first, since that of --watch asks for it.
    option("--all-namespaces", "watch_all", is_flag=True, is_eager=True, expose_value=False, callback=_everywhere,
                 help="For a bundle: watch all namespaces."),
)  # fmt: skip
scope_options = as_option(*SCOPE)
