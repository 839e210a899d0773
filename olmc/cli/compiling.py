"""Compile the paths of a command line, report their findings, and name the options that had no effect."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from olmc.cli.console import (
    BAD_INPUT,
    UNTIMED,
    Input,
    Timings,
    bad_value,
    folder_from_here,
    progress,
    say,
    tell,
    tell_approvals,
)
from olmc.cli.options import fixed_of, is_typed, options_of
from olmc.compiler.api import Compilation, emptiness
from olmc.compiler.load.config import options_from, read_config
from olmc.compiler.load.request import CompileRequest
from olmc.compiler.model.options import Options
from olmc.compiler.olm.profiles.data import SUBSCRIPTION, profile_of
from olmc.compiler.output.messages import advice_from
from olmc.k8s.diagnostics import Report, Severity
from olmc.k8s.lean import NamedTuple
from olmc.targets.pipeline import compile

if TYPE_CHECKING:
    import click

    from olmc.compiler.load.releases import Release
    from olmc.compiler.load.repository import ClusterPart, RepositoryCluster
    from olmc.compiler.load.request import Beside
    from olmc.compiler.model.workspace import LeftOut
    from olmc.compiler.reconcile.loop import SettledCluster
    from olmc.k8s.api.restmapper import RestMapping


def check_kinds(include: Sequence[str], exclude: Sequence[str], known: Iterable[RestMapping]) -> None:
    """Raise BadParameter for a kind that is none of those that are known."""
    from olmc.compiler.reconcile.misspelling import unknown_kinds

    for kind, hint in unknown_kinds((*include, *exclude), known):
        option = "--include" if kind in include else "--exclude"
        bad_value(f"nothing is of kind {kind}. {hint}", option)


CompileWith: TypeAlias = "Callable[[Options, Callable[[Options], Compilation]], Compilation]"

EVERYTHING = frozenset({"purpose", "include", "exclude"})
"""A workspace's olmc.yaml may choose what is printed of the cluster, but not what there is to look at."""


def tell_left_out(root: Path, done: Compilation) -> tuple[LeftOut, ...]:
    """Say on stderr what is left out of a directory that was compiled, and give it."""
    from olmc.review.explain.left_out import left_out_of  # reviews need it, and what only prints does not

    found = left_out_of(root, done)
    say(left_out_note(root, found), nl=False)
    return found


def tell_empty(root: Path | None, done: Compilation, params: Mapping[str, Any]) -> bool:
    """Say on stderr that a workspace has nothing for OLM, unless --allow-empty is among the parameters; whether it has
    nothing. `root` is None for files and streams."""
    empty = emptiness(root, done)
    if not params.get("allow_empty"):
        tell(empty, root)
    return bool(empty)


def left_out_note(root: Path, left: tuple[LeftOut, ...]) -> str:
    """Return the note about the content that is left out of a directory."""
    from olmc.review.explain.left_out import note

    folder = folder_from_here(root)
    return note(left, f"{folder}/" if folder else "")


def compiled(
    ctx: click.Context, path: Path, fields: dict[str, Any], *, least: Severity, beside: Beside | None = None,
    compile_with: CompileWith | None = None, release: Release | None = None, timings: Timings = UNTIMED,
    part: ClusterPart | None = None,
) -> tuple[Compilation, SettledCluster]:  # fmt: skip
    """The compilation of a path and its cluster at rest; findings from `least` on are reported on stderr, and what has
    no effect.

    `fields` are those of Options that the command line gave (`fields_of`), `beside` is a folder whose files count as
    well; `compile_with` compiles with options, by `compile` if need be with others; `release` says how a Helm chart is
    installed, `timings` hears how long it takes, and `part` is the cluster of a repository.

    Ends the command if the path can't be compiled.
    """
    given = EVERYTHING | fixed_of(ctx, fields)
    options = options_of(ctx, fields)

    def compile_once(options: Options) -> Compilation:
        request = CompileRequest(path, options, given, beside=beside, release=release, stage=timings.stage, part=part)
        done = compile(request)
        timings.compiled(path, done)
        return done

    with progress() as doing:
        doing(f"compiling {path}")
        done = compile_once(options) if compile_with is None else compile_with(options, compile_once)
    return report_compilation(ctx, Input(path, beside, part=part), done, least)


def cluster_parts(ctx: click.Context, path: Path, fields: dict[str, Any]) -> tuple[ClusterPart | None, ...]:
    """The clusters of the repository at a path, (None,) for a workspace."""
    from olmc.compiler.load.entries import repository_at  # a bundle by itself is in no repository
    from olmc.compiler.load.repository import build_repository

    repository = repository_at(path) if path.is_dir() else None
    if repository is None:
        return (None,)
    config, options = read_config(path, Report()), options_of(ctx, fields)
    return build_repository(repository, options_from(config, options, fixed_of(ctx, fields))).parts


def tell_left_entries(parts: Iterable[ClusterPart], root: Path) -> None:
    """Report on stderr how many entries of the repository at `root` are left out of its clusters."""
    left_out = {path for part in parts for path in part.left_out}
    if left_out:
        entries = "entry is" if len(left_out) == 1 else "entries are"
        check = advice_from(folder_from_here(root), "`olmc check`")
        say(f"olmc: {len(left_out)} {entries} left out; {check} lists them with the reasons")


def is_any_broken(parts: Iterable[ClusterPart | None]) -> bool:
    """Return whether a file of an entry can't be read, in one of the clusters of a repository."""
    return any(part is not None and part.has_broken for part in parts)


def report_compilation(
    ctx: click.Context, one: Input, done: Compilation, least: Severity
) -> tuple[Compilation, SettledCluster]:
    """A compilation and its cluster at rest, after its findings and what has no effect are reported. Ends the command
    if there is none."""
    tell(done.diagnostics, None if one.beside == one.root else one.root, least=least)
    tell_idle(ctx, given_of([done]))
    if one.part is None or not one.part.left_out:
        tell_empty(None if one.beside == one.root else one.root, done, ctx.params)
    if done.failed or done.settled is None:
        if not done.failed:
            from olmc.targets.v1.rules import NO_STATE

            tell([NO_STATE.finding(None, path=one.root, version=done.options.olm_version)])
        raise SystemExit(BAD_INPUT)
    tell_approvals(done.options.approve, [done.settled.cluster])
    return done, done.settled


class CompiledInput(NamedTuple):
    """The compilation of an input; `part` is a cluster of a repository, None for a workspace."""

    compilation: Compilation
    settled: SettledCluster
    part: ClusterPart | None = None

    @property
    def cluster(self) -> RepositoryCluster | None:
        """The cluster of a repository."""
        return self.part.cluster if self.part is not None else None


def compiled_clusters(
    ctx: click.Context, one: Input, fields: dict[str, Any], *, least: Severity, timings: Timings = UNTIMED
) -> tuple[CompiledInput, ...]:
    """The compilations of an input: that of a workspace, or those of the clusters of a repository.

    As `compiled`; entries of a repository that can't be built are counted on stderr.
    """
    given = EVERYTHING | fixed_of(ctx, fields)
    request = one.request(options_of(ctx, fields), given, timings.stage)._replace(without_idle_bundles=True)
    with progress() as doing:
        doing(f"compiling {one.root}")
        done = compile(request)
        timings.compiled(one.root, done)
        repository = done.workspace.repository if done.workspace is not None else None
        if repository is None:
            made = report_compilation(ctx, one, done, least)
            return (CompiledInput(*made),)
        from olmc.review.check.repository import compile_repository

        doing(f"compiling the clusters of {one.root}")
        whole = compile_repository(request, repository)
    tell_left_entries(whole.built.parts, one.root)
    tell_idle(ctx, given_of([cluster.compilation for cluster in whole.clusters]))
    found = []
    for cluster in whole.clusters:
        each = cluster.compilation
        tell(each.diagnostics, one.root, least=Severity.ERROR)
        if each.settled is not None and not each.failed:
            found.append(CompiledInput(each, each.settled, cluster.part))
    tell_approvals(request.options.approve, [each.settled.cluster for each in found])
    if whole.clusters and not found:
        raise SystemExit(BAD_INPUT)
    return tuple(found)


class GivenInput(NamedTuple):
    """The input that options affect: the applied options, with those of olmc.yaml, and whether it is a bundle."""

    options: Options
    is_bundle: bool = False


class OptionNeed(NamedTuple):
    """The need of an option, and whether it is met."""

    text: str
    is_met: Callable[[GivenInput], bool]


def _is_extension(given: GivenInput) -> bool:
    """Return whether what is given is a bundle that a ClusterExtension installs, which asks for certificates by
    itself."""
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
    """Return the inputs of compilations that did not fail."""
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
