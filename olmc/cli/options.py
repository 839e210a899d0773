"""Options that several commands have, what shells complete for them, and which of them had no effect."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from olmc.api import Compilation, compile
from olmc.cli.console import folder_from_here, progress, tell, tell_approvals
from olmc.cli.process import BAD_INPUT, Input, is_single
from olmc.kube.names import is_dns1123_label
from olmc.lean import NamedTuple
from olmc.model.diagnostics import Diagnostic, Report, Severity
from olmc.model.objects import KubernetesObject
from olmc.model.options import APIResource, Options, full_kube_version
from olmc.model.workspace import LeftOut
from olmc.reconcile.loop import SettledCluster

if TYPE_CHECKING:
    from olmc.load.releases import Release


class GivenPath(click.Path):
    """A path that is not empty: one made of a variable that is not set would be the current directory unasked for."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not os.fspath(value):
            self.fail("the path is empty; write . for the current directory.", param, ctx)
        return super().convert(value, param, ctx)


def codes(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """The codes of rules."""
    from olmc.diagnostics.catalogue import all_rules

    return [rule.code for rule in all_rules() if rule.code.startswith(incomplete.upper())]


def codes_and_rules(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """The codes of rules, and once something is written the ids of the rule book."""
    from olmc.diagnostics.rulebook import rules_beginning

    ids = [rule.id for rule in rules_beginning(incomplete)] if incomplete else []
    return [*codes(ctx, param, incomplete), *ids]


def kinds(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """The kinds that every cluster with OLM has."""
    from olmc.kube.builtin_kinds import builtin_kinds

    known = sorted({kind for _, kind in builtin_kinds()})
    return [kind for kind in known if kind.lower().startswith(incomplete.lower())]


def check_kinds(include: Sequence[str], exclude: Sequence[str], objects: Iterable[KubernetesObject]) -> None:
    """Raise BadParameter for a kind that nothing can be of among objects."""
    from olmc.reconcile.misspelling import unknown_kinds

    for kind, hint in unknown_kinds((*include, *exclude), objects):
        option = "--include" if kind in include else "--exclude"
        raise click.BadParameter(f"nothing is of kind {kind}. {hint}", param_hint=option)


def optional_validators(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """The names of optional validators and of suites of them."""
    from olmc.check.validators.findings import OPTIONAL, SUITES

    return [name for name in (*OPTIONAL, *SUITES) if name.startswith(incomplete)]


def olm_versions(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """The versions of OLM that one can ask for."""
    from olmc.olm.profiles.data import known_versions

    return [version for version in known_versions() if version.startswith(incomplete)]


CompileWith = Callable[[Options, Callable[[Options], Compilation]], Compilation]
F = TypeVar("F", bound=Callable[..., Any])


def _canonical(ctx: click.Context, param: click.Parameter, value: str) -> str:
    """The version by its full name; another one than the default is looked up."""
    is_default = ctx.get_parameter_source(param.name or "") is click.core.ParameterSource.DEFAULT
    return value if is_default else canonical_version(value)


def canonical_version(value: str) -> str:
    """The full name of an OLM version; one that olmc does not know is wrong usage."""
    from olmc.olm.profiles.data import UnknownVersionError, canonical

    try:
        return canonical(value)
    except UnknownVersionError as error:
        raise click.BadParameter(f"{error}. {error.hint}") from error


olm_version_option = click.option(
    "--olm-version", callback=_canonical, default=Options().olm_version, show_default=True, metavar="VERSION",
    shell_complete=olm_versions,
    help="The OLM of the cluster: a release, an OpenShift release with all that it sets (ocp-4.18), or docs.",
)  # fmt: skip


def _range(ctx: click.Context, param: click.Parameter, value: str) -> tuple[str, ...]:
    """The versions of `A..B`, or the one there is."""
    old, dots, new = value.partition("..")
    return (canonical_version(old), canonical_version(new)) if dots else (_canonical(ctx, param, value),)


olm_versions_option = click.option(
    "--olm-version", "olm_version", callback=_range, default=Options().olm_version, show_default=True,
    metavar="VERSION|A..B", help="The OLM of the cluster; A..B with one PATH: what upgrading OLM itself changes.",
)  # fmt: skip


def given_version(ctx: click.Context) -> frozenset[str]:
    """The field of Options that olmc.yaml must not override, if the command line names a version."""
    source = ctx.get_parameter_source("olm_version")
    return frozenset() if source is click.core.ParameterSource.DEFAULT else frozenset({"olm_version"})


def _full(ctx: click.Context, param: click.Parameter, value: str) -> str:  # noqa: ARG001
    """The version of Kubernetes as a cluster reports it; what is no version is wrong usage."""
    version = full_kube_version(value)
    if not version:
        raise click.BadParameter("a version looks like v1.36.2")
    return version


def _deletions(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:  # noqa: ARG001
    """Objects as `KIND/NAMESPACE/NAME` or `KIND/NAME`; anything else is wrong usage."""
    for text in value:
        if text.count("/") not in (1, 2) or not all(text.split("/")):
            raise click.BadParameter(f"{text!r} is no KIND/NAMESPACE/NAME, nor a KIND/NAME of what has no namespace")
    return value


def _apis(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:  # noqa: ARG001
    """APIs as `group/version/Kind`; anything else is wrong usage."""
    for api in value:
        if api.count("/") != 2 or not all(api.split("/")):
            raise click.BadParameter(
                f"{api!r} is no GROUP/VERSION/Kind such as monitoring.coreos.com/v1/ServiceMonitor"
            )
    return value


def _apis_from(ctx: click.Context, param: click.Parameter, value: Path | None) -> tuple[APIResource, ...]:  # noqa: ARG001
    """What a file says that the cluster serves; one that can't be read ends the command."""
    if value is None:
        return ()
    from olmc.load.apis import read_apis
    from olmc.load.files import read_text

    findings = Report()
    # Not as given: `read_text` goes by a folder and a name in it.
    text = read_text(value.parent, value.name, findings)
    resources = read_apis(value.as_posix(), text, findings) if text is not None else ()
    if findings.failed:
        tell(tuple(findings))
        ctx.exit(BAD_INPUT)
    return resources


def kube_version_option(function: F) -> F:
    """Adds what the cluster is: the version of its Kubernetes, and what it serves."""
    for option in reversed(_CLUSTER):
        function = option(function)
    return function


_CLUSTER = (
    click.option("--kube-version", callback=_full, default=Options().kube_version, show_default=True, metavar="VERSION",
                 help="The Kubernetes version of the cluster."),
    click.option("--api", "apis", multiple=True, callback=_apis, metavar="GROUP/VERSION/Kind",
                 help="A kind that the cluster serves besides (may be repeated)."),
    click.option("--apis-from", "api_resources", type=GivenPath(path_type=Path, exists=True, dir_okay=False),
                 callback=_apis_from, metavar="FILE",
                 help="What the cluster serves: kubectl api-resources -o wide, or discovery as JSON."),
)  # fmt: skip
certs_option = click.option(
    "--certs", type=click.Choice(["none", "cert-manager", "service-ca"]), default="none", show_default=True,
    help="For apply: who issues serving certificates.",
)  # fmt: skip
approve_option = click.option(
    "--approve", multiple=True, metavar="NS/CSV|all", help="Treat waiting InstallPlans as approved.",
)  # fmt: skip


allow_empty_option = click.option(
    "--allow-empty", is_flag=True, help="A workspace with nothing in it is no finding.",
)  # fmt: skip


def emptiness(root: Path | None, compilation: Compilation) -> tuple[Diagnostic, ...]:
    """That a workspace has nothing in it, if that is so; a bundle by itself is no workspace.

    `root` is None for files and streams. What is refused is something, and is reported by itself.
    """
    from olmc.load.workspace import is_empty

    workspace = compilation.workspace
    something = compilation.failed or compilation.findings or compilation.suppressed
    if workspace is None or something or not is_empty(workspace):
        return ()
    return (empty_finding(root),)


def empty_finding(root: Path | None) -> Diagnostic:
    """That there is nothing in the workspace at `root`, or in the files and streams that were given."""
    from olmc.diagnostics.rules.foreign import EMPTY

    path = root.as_posix() if root is not None else "what was given"
    return EMPTY.finding(None, path="this directory" if path == "." else path)


def output_option(formats: Sequence[str], text: str) -> Callable[[F], F]:
    """The option `-o`; the first format is the default."""
    return click.option(
        "-o", "--output", type=click.Choice(formats), default=formats[0], show_default=True, help=text,
    )  # fmt: skip


def watched(namespace: str, watch: str | None, all_namespaces: bool) -> tuple[str, ...] | None:
    """What a bundle installed in `namespace` ("" for its own choice) watches, as `Options.watch` has it.

    Both options at once and names that no namespace can have are wrong usage.
    """
    if watch is not None and all_namespaces:
        raise click.UsageError("--watch and --all-namespaces exclude each other.")
    for name in (namespace or None, *(watch.split(",") if watch is not None else ())):
        if name is not None and is_dns1123_label(name):
            raise click.BadParameter(f"{name!r} is no name for a namespace", param_hint="--namespace, --watch")
    if all_namespaces:
        return ()
    return tuple(watch.split(",")) if watch is not None else None


_OPTIONS = (
    click.option("--descoped", is_flag=True,
                 help="Proposed: operators without install modes, or with AllNamespaces alone, are descoped."),
    click.option("--allow-shared-api", "shared_apis", multiple=True, metavar="PLURAL.GROUP",
                 help="With --descoped: several operators may provide this API (may be repeated)."),
    click.option("--enable-v2alpha1", "v2alpha1", is_flag=True,
                 help="Proposed: Operator and Install of operators.coreos.com/v2alpha1."),
    click.option("--approve-installs", is_flag=True, help="With v2alpha1: every Install counts as approved."),
    click.option("--as", "user", default="", metavar="USER",
                 help="With v2alpha1: check that USER may create the Operators and approve the Installs."),
    click.option("--as-group", "user_groups", multiple=True, metavar="GROUP",
                 help="With --as: a group that USER is in (may be repeated)."),
    click.option("--migrate-subscriptions", is_flag=True, help="With v2alpha1: Subscriptions become Operators."),
    click.option("--component-label", type=click.Choice(["adopted", "seed"]), default="adopted", show_default=True,
                 help="With v2alpha1: the label of components as OLM adopted it, or as the proposal has it."),
    click.option("--olm-namespace", default="olm", show_default=True, metavar="NS",
                 help="With v2alpha1: where OLM runs."),
)  # fmt: skip


def proposed_options(function: F) -> F:
    """Adds the options; the command gets their values as keyword arguments, for `with_proposed`."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


_STATE = (
    click.option("--from", "from_", multiple=True, metavar="FROM",
                 help="Begin with the cluster that FROM leaves: a workspace, git:REF, a rendering, or a state file of "
                      "olmc import; or with a state, and what a workspace or git:REF has applied to it."),
    click.option("--prune/--no-prune", default=True, show_default=True,
                 help="With --from: whether what FROM has applied, and PATH does not have any more, is deleted."),
    click.option("--delete", multiple=True, metavar="KIND/NS/NAME", callback=_deletions,
                 help="With --from: what a person deletes by hand after that (may be repeated)."),
)  # fmt: skip


def state_options(function: F) -> F:
    """Adds the state that a compilation begins with, and what is done to it besides applying."""
    for option in reversed(_STATE):
        function = option(function)
    return function


def compile_options(function: F) -> F:
    """Adds what most commands that compile have: approvals, the state to begin with, versions, and the options of the
    proposed APIs."""
    return approve_option(state_options(kube_version_option(olm_version_option(proposed_options(function)))))


def with_proposed(options: Options, given: dict[str, Any], *, may_be_absent: bool = False) -> Options:
    """The options with the values that the command line gave for the proposed APIs.

    As for everything else in `given` that has the name of a field, such as `kube_version`; and with the state that
    `from_` names, which with `may_be_absent` a revision need not have.
    """
    values = {name: value for name, value in given.items() if name != "from_"}
    options = options._replace(**values)
    if not given.get("from_"):
        return options
    from olmc.cli.state import state_from  # most runs begin with a fresh cluster

    ctx = click.get_current_context()
    known = frozenset(name for name in Options._fields if _is_given(ctx, name))
    beside = next((ctx.params[name] for name in ("paths", "path", "workspace", "new") if ctx.params.get(name)), ".")
    beside = beside[0] if isinstance(beside, tuple) else beside
    found = state_from(given["from_"], os.fspath(beside), options, known, may_be_absent=may_be_absent)
    return options._replace(state=found.state, api_resources=(*options.api_resources, *found.served))


def _is_given(ctx: click.Context, name: str) -> bool:
    source = ctx.get_parameter_source(name)
    return source is not None and source is not click.core.ParameterSource.DEFAULT


def given_fields(ctx: click.Context, given: dict[str, Any]) -> frozenset[str]:
    """The fields of Options that the command line has set, so that olmc.yaml may not."""
    default = click.core.ParameterSource.DEFAULT
    return frozenset(name for name in given if ctx.get_parameter_source(name) is not default)


entry_option = click.option(
    "--entry", "entries", multiple=True, metavar="NAME",
    help="Of a repository: a folder, or what an Application, Kustomization or HelmRelease applies (may be repeated).",
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
    from olmc.explain.left_out import left_out_of, note  # reviews need it, and what only prints does not

    found = left_out_of(root, done)
    folder = folder_from_here(root)
    click.echo(note(found, f"{folder}/" if folder else ""), err=True, nl=False)
    return found


def compiled(
    ctx: click.Context, path: Path, olm_version: str, proposed: dict[str, Any], *, approve: tuple[str, ...] = (),
    least: Severity, beside: Path | None = None, compile_with: CompileWith | None = None,
    release: Release | None = None,
) -> tuple[Compilation, SettledCluster]:  # fmt: skip
    """The compilation of a path and its cluster at rest; findings from `least` on are told on stderr, and what has no
    effect.

    `proposed` are the values of the options that have the name of a field of Options, `beside` is a folder whose files
    count as well; `compile_with` compiles with options, by `compile` if need be with others; `release` says how a Helm
    chart is installed.

    Ends the command if the path can't be compiled.
    """
    given = _EVERYTHING | given_version(ctx) | given_fields(ctx, proposed) | ({"approve"} if approve else frozenset())
    options = with_proposed(Options(approve=approve, olm_version=olm_version), proposed)

    def compile_once(options: Options) -> Compilation:
        return compile(path, options, given=given, beside=beside, release=release)

    with progress() as doing:
        doing(f"compiling {path}")
        done = compile_once(options) if compile_with is None else compile_with(options, compile_once)
    tell(done.diagnostics, None if beside == path else path, least=least)
    tell_idle(ctx, given_of([done]))
    if done.failed or done.settled is None:
        ctx.exit(BAD_INPUT)
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


_FROM = OptionNeed("--from", lambda given: given.options.state is not None)
_WORKSPACE = OptionNeed("a workspace as PATH", lambda given: not given.is_bundle)
_V2ALPHA1 = OptionNeed("--enable-v2alpha1", lambda given: given.options.v2alpha1)
_APPLY = OptionNeed("--for apply", lambda given: given.options.purpose == "apply")
_BUNDLE = OptionNeed("the directory of a bundle as PATH", lambda given: given.is_bundle)

# By the names of parameters; the first need that is not met is told.
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
    "certs": [_APPLY],
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
        click.echo(f"olmc: {text}", err=True)


def _idle(ctx: click.Context, given: Sequence[GivenInput], needs: Mapping[str, Sequence[OptionNeed]]) -> Iterator[str]:
    for option in ctx.command.params:
        name = option.name or ""
        if ctx.get_parameter_source(name) is not click.core.ParameterSource.COMMANDLINE:
            continue
        if ctx.params.get(name) == option.get_default(ctx):
            continue
        missing = [need for need in needs.get(name, ()) if not any(map(need.is_met, given))]
        if missing:
            yield f"{max(option.opts, key=len)} has no effect, it needs {missing[0].text}"
