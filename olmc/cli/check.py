"""`olmc check`, and its options whose values have to be known names."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olmc.cli.compiling import GivenInput, given_of, tell_idle
from olmc.cli.console import (
    BAD_INPUT,
    DONE,
    FINDINGS,
    UNTIMED,
    Input,
    Timings,
    approvals_in,
    bad_value,
    folder_from_here,
    progress,
    say,
    tell,
    tell_aside,
    tell_unknown,
    wrong_usage,
)
from olmc.cli.declared import PathOf, argument, codes, command, flag, option
from olmc.cli.jobs import do_each, jobs_for, jobs_of, jobs_option
from olmc.cli.options import (
    CompileOptions,
    ScopeOptions,
    allow_empty_option,
    entry_option,
    fields_of,
    fixed_of,
    inputs_of,
    no_remedies_option,
    options_of,
    output_option,
    show_secrets_option,
    timings_of,
)
from olmc.compiler.api import emptiness
from olmc.compiler.load.config import read_config
from olmc.compiler.load.files import read_bounded, real_path
from olmc.compiler.model.options import Options
from olmc.compiler.output.messages import as_counts, as_json, as_text_with_source, clean, json_text
from olmc.compiler.rules.findings.building import OPENSHIFT
from olmc.compiler.rules.findings.workspace import EMPTY
from olmc.k8s.diagnostics import Diagnostic, Report, Severity, close_matches, did_you_mean, join_limited
from olmc.k8s.lean import NamedTuple
from olmc.resources import docs_url
from olmc.review.check.check import (
    CheckRules,
    CheckScope,
    cel_problem,
    check_compiled,
    check_each_package,
    check_package,
    check_repository_of_bundles,
    located_diagnostics,
    scanned,
)
from olmc.review.check.excerpts import line_reader
from olmc.review.check.validators.findings import (
    OPTIONAL,
    SUITES,
    Categories,
    Platform,
    ValidatorSettings,
    select_validators,
)
from olmc.review.diagnose.remedies import MOST_SECONDS
from olmc.review.explain.left_out import counted, note
from olmc.review.rules.catalogue import all_rules, code_start, rule_page
from olmc.targets.pipeline import compile
from olmc.version import __version__

if TYPE_CHECKING:
    import click

    from olmc.cli.inputs import FoundBefore
    from olmc.compiler.load.files import ScannedFolder
    from olmc.compiler.load.repository import RepositoryCluster
    from olmc.review.check.check import CheckedPart, CheckResult, PackageTask
    from olmc.review.check.repository import BundleRepository

# The output of `olmc check`, in each of its formats.


def _skipped(done: Sequence[CheckResult]) -> str:
    """Return the numbers of skipped versions and packages and of known findings, for the last line."""
    older, known = sum(each.older for each in done), sum(each.known for each in done)
    text = f", {older} older version{'s' * (older != 1)} not looked at" if older else ""
    text += f", {known} finding{'s' * (known != 1)} known" if known else ""
    unchanged = sum(each.unchanged for each in done)
    return text + (f", {unchanged} unchanged package{'s' * (unchanged != 1)} not looked at" if unchanged else "")


def print_statistics(done: Sequence[CheckResult], output: str, least: Severity) -> None:
    """Print how often each finding occurs, the most frequent first."""
    reported = [each for one in done for each in one.diagnostics if each.severity >= least]
    titles = {rule.code: rule.title for rule in all_rules()}
    counts = Counter((each.code, str(each.severity)) for each in reported)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    if output == "json":
        listed = [
            {"code": code, "severity": severity, "count": count, "title": titles[code]}
            for (code, severity), count in ordered
        ]
        say(json_text({"version": 1, "statistics": listed}), out=True)
        return
    width = len(str(max(counts.values(), default=0)))
    for (code, severity), count in ordered:
        say(f"{count:>{width}}  {code} {severity}: {titles[code]}", out=True)
    bundles = sum(each.bundles for each in done)
    say(f"{len(reported)} findings ({bundles} bundle{'s' * (bundles != 1)} validated{_skipped(done)})", out=True)


def clusters_as_data(repositories: Sequence[Sequence[RepositoryCluster]]) -> list[dict[str, Any]]:
    """The clusters of repositories with their entries, as in schemas/findings.schema.json."""
    return [
        {"names": list(cluster.names), "entries": list(cluster.paths)}
        for clusters in repositories
        for cluster in clusters
    ]


def shown_as(root: Path | None, output: str, count: int) -> str:
    """Return the prefix of the paths of a directory: for people from their current directory, for programs relative to
    the directory (as it was given, if there are several), for a CI system as in its checkout. None for a folder that is
    not the user's."""
    if root is None:
        return ""
    if output == "text":
        folder = folder_from_here(root)
        return f"{folder}/" if folder else ""
    if output == "json":
        return f"{root.as_posix()}/" if count > 1 else ""
    base = real_path(Path(os.environ.get("GITHUB_WORKSPACE") or "."))
    here = real_path(root)
    below = here.relative_to(base).as_posix() if here.is_relative_to(base) else "."
    return "" if below == "." else f"{below}/"


def print_findings(
    done: Sequence[CheckResult], output: str, least: Severity, failing: Severity, *, show_secrets: bool = False,
    is_empty: bool = False,
) -> None:  # fmt: skip
    """Print what was found; `is_empty`: there was nothing to look at."""
    found = [diagnostic for each in done for diagnostic in located_diagnostics(each)]
    left = tuple(left for each in done for left in each.left_out)
    if output == "text":
        text = as_text_with_source(found, line_reader(done, show_secrets=show_secrets), least=least, color=True)
        say(text, nl=False, out=True)
        bundles, suppressed = sum(each.bundles for each in done), sum(len(each.suppressed) for each in done)
        aside = f"{bundles} bundle{'s' * (bundles != 1)} validated" + f", {suppressed} suppressed" * bool(suppressed)
        aside += f", {amount} left out" if (amount := counted(left)) else ""
        clusters = [cluster for each in done for cluster in each.clusters]
        if clusters:
            say(clusters_as_text(clusters, verbose=least < Severity.WARNING), nl=False, out=True)
            aside += f", {in_short(clusters)}"
        # Features of an OpenShift are in no other cluster, and the finding itself is only for users who ask for all.
        aside += ", taken for OpenShift" * any(each.code == OPENSHIFT.code for each in found)
        aside += _skipped(done)
        is_empty = is_empty and not any(each.severity >= least for each in found)
        say(f"{'nothing to check' if is_empty else as_counts(found, least=least)} ({aside})", out=True)
    elif output == "json":
        repositories = [each.clusters for each in done if each.clusters]
        say(as_json(found, least=least, clusters=clusters_as_data(repositories)), nl=False, out=True)
    else:
        _print_report(found, done, output, failing=failing, least=least, show_secrets=show_secrets)
    tell_aside(found, done[0].shown_as.rstrip("/") if len(done) == 1 else "", least=least)
    for each in done if output != "text" else ():
        say(note(each.left_out, each.shown_as), nl=False)


def _print_report(
    found: Sequence[Diagnostic], done: Sequence[CheckResult], output: str, *, failing: Severity, least: Severity,
    show_secrets: bool,
) -> None:  # fmt: skip
    """Print findings in the format of a CI system."""
    from olmc.compiler.output.ci_reports import RuleHelp, Tool, as_github, as_junit, as_sarif
    from olmc.compiler.rules.rulebook import linked

    rules = {rule.code: rule for rule in all_rules()}
    if output == "github":
        say(as_github(found, {code: rule.title for code, rule in rules.items()}, least=least), nl=False)
    elif output == "junit":
        say(as_junit(found, least=least, failing=failing), nl=False, out=True)
    else:
        reported = {code: rules[code] for code in {each.code for each in found} & rules.keys()}
        more = {code: RuleHelp(rule_page(code), linked(rule.explanation, docs_url)) for code, rule in reported.items()}
        made = as_sarif(
            found, Tool(__version__, rules, more), line_reader(done, show_secrets=show_secrets), least=least
        )
        say(made.text, nl=False, out=True)
        if made.left_out:
            say(f"olmc: {made.left_out} findings, the least grave, are beyond GitHub's limits")


_KEYS = ("k8s-version", "index-path", "container-tools", "platforms")
_CATEGORIES = "OPERATOR_BUNDLE_CATEGORIES"


def settings_of(optional: tuple[str, ...], values: tuple[str, ...]) -> ValidatorSettings:
    """Return the settings of the validators from the command line; UsageError for an unknown or unreadable one."""
    names, unknown = select_validators(optional)
    if unknown:
        known = ", ".join((*OPTIONAL, *SUITES))
        bad_value(f"{unknown[0]} is none of {known}.", "--optional")
    given = dict(value.partition("=")[::2] for value in values)
    for value in values:
        if "=" not in value:
            bad_value(f"{value} has no value; write {value}=VALUE.", "--optional-value")
    for key in given:
        if key not in _KEYS:
            bad_value(f"{key} is none of {', '.join(_KEYS)}.", "--optional-value")
    return ValidatorSettings(
        names,
        kubernetes=given.get("k8s-version", ""),
        dockerfile=_given_file("index-path", given["index-path"]) if "index-path" in given else None,
        container_tool=given.get("container-tools", ""),
        categories=_categories(os.environ.get(_CATEGORIES, "")),
        platforms=_platforms(given["platforms"]) if "platforms" in given else {},
        cel_problem=cel_problem,
    )


def check_codes(*given: tuple[str, Sequence[str]]) -> None:
    """UsageError for the beginning of a code that no rule has, with the codes that are like it."""
    if not any(starts for _, starts in given):
        return
    known = [rule.code for rule in all_rules()]
    for name, starts in given:
        for code in starts:
            if not any(each.startswith(code_start(code)) for each in known):
                near = close_matches(code_start(code), known, 3)
                hint = did_you_mean(*near) or "`olmc explain` lists all of them."
                bad_value(f"no rule begins with {code}. {hint}", name)


def _given_file(key: str, path: str) -> str:
    try:
        return read_bounded(Path(path)).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        cause = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        bad_value(f"{path} can't be read: {cause}.", f"--optional-value {key}")


def _platforms(path: str) -> dict[str, tuple[Platform, ...]]:
    hint = "--optional-value platforms"
    try:
        images = json.loads(_given_file("platforms", path))
        return {image: tuple(Platform(*each.split("/", 1)) for each in listed) for image, listed in images.items()}
    except (ValueError, AttributeError, TypeError):
        problem = f'{path} does not map images to lists like ["linux/amd64"].'
        bad_value(problem, hint)


def _categories(path: str) -> Categories | None:
    """The categories in the file that the environment names; that it can't be read is a finding of the validator."""
    if not path:
        return None
    try:
        names = json.loads(read_bounded(Path(path))).get("categories") or ()
        return Categories(frozenset(str(name) for name in names))
    except OSError as error:
        cause = (error.strerror or str(error)).lower()
        return Categories(problem=f"reading category file: open {path}: {cause}")
    except (ValueError, AttributeError, TypeError) as error:
        return Categories(problem=f"unmarshaling category file: {error}")


class CheckOrder(NamedTuple):
    """The task for each path: options with those that olmc.yaml must not override, the settings of the check, and
    whether a workspace may be empty."""

    options: Options
    given: frozenset[str]
    rules: CheckRules
    may_be_empty: bool


class CheckedPath(NamedTuple):
    """The findings in a path, the options that applied, None if it failed, and the plans that could be approved."""

    result: CheckResult
    given: GivenInput | None
    approvals: tuple[str, ...]


PartsCheck = Callable[[Sequence["PackageTask"]], Iterable["CheckedPart"]]


def checked_path(
    order: CheckOrder, one: Input, timings: Timings = UNTIMED, check_each: PartsCheck | None = None
) -> CheckedPath:
    """Check a path; `check_each` checks the packages of a repository of bundles."""
    request = scanned(one.request(order.options, order.given, timings.stage))
    if order.options.state is None and timings is UNTIMED and one.is_plain:
        found = check_repository_of_bundles(request, order.rules, check_each or check_each_package)
        if found is not None:
            return CheckedPath(found, GivenInput(order.options, is_bundle=False), ())
    made = compile(request)
    timings.compiled(one.root, made)
    timings.stage("check")
    # A change of files that olmc has written for itself helps no person.
    rules = order.rules._replace(remedies=0) if one.is_staged else order.rules
    empty = emptiness(None if one.is_staged else one.root, made) if not order.may_be_empty else ()
    return CheckedPath(
        check_compiled(request, made, rules, empty),
        next(iter(given_of([made])), None),
        approvals_in(made.settled.cluster) if order.options.approve and made.settled is not None else (),
    )


def check_task(order: None, task: PackageTask, timings: Timings = UNTIMED) -> CheckedPart:  # noqa: ARG001
    """Check a package of a repository of bundles."""
    return check_package(task)


def complete_validator(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """Complete an optional validator, or a suite of them."""
    return [name for name in (*OPTIONAL, *SUITES) if name.startswith(incomplete)]


class CheckOptions(NamedTuple):
    """The options of `olmc check`."""

    paths: tuple[Path, ...] = argument(multiple=True, type=PathOf(), metavar="[PATH]...")
    output: str = output_option(
        ["text", "json", "github", "sarif", "junit"], "Text with the source line, or a format for machines."
    )
    everything: bool = flag("-v", "--all", help="Also show findings of severity info.")
    strict: bool = flag("--strict", help="Treat warnings as findings.")
    select: tuple[str, ...] = option(
        "--select", multiple=True, metavar="CODE", shell_complete=codes,
        help="Only codes with this prefix (may be repeated).",
    )  # fmt: skip
    ignore: tuple[str, ...] = option(
        "--ignore", multiple=True, metavar="CODE", shell_complete=codes,
        help="Exclude codes with this prefix (may be repeated).",
    )  # fmt: skip
    optional: tuple[str, ...] = option(
        "--optional", multiple=True, metavar="NAME", shell_complete=complete_validator,
        help="Also run an optional bundle validator, a suite, or all (may be repeated).",
    )  # fmt: skip
    values: tuple[str, ...] = option(
        "--optional-value", multiple=True, metavar="KEY=VALUE",
        help="A setting of the optional validators: k8s-version, index-path, container-tools, platforms.",
    )  # fmt: skip
    since: str = option(
        "--since", default="", metavar="REV", help="Only findings that this git revision does not have."
    )
    all_versions: bool = flag("--all-versions", help="In a folder of bundles: check all versions, not only the newest.")
    author: bool | None = flag(
        "--author/--no-author",
        help="Whether you author the bundles; if not, problems that only authors can fix are info.",
    )
    show_secrets: bool = show_secrets_option
    statistics: bool = flag("--statistics", help="Print counts by code instead of the findings.")
    allow_empty: bool = allow_empty_option
    no_remedies: bool = no_remedies_option
    entries: tuple[str, ...] = entry_option
    jobs: int | None = jobs_option
    scope: ScopeOptions = ScopeOptions()
    compiling: CompileOptions = CompileOptions()


@command(CheckOptions)
def check(ctx: click.Context, opts: CheckOptions) -> None:
    """Find mistakes before a cluster does.

    \b
    Examples:
      olmc check                                what is wrong in this workspace
      olmc check --ignore OLMC27 --strict       for CI: all but OLMC270 to OLMC279
      olmc check --since origin/main            only what a branch adds
      olmc check operators --statistics         which findings there are most of
      olmc check -o github                      annotations for GitHub Actions
      olmc check my-bundle --optional all       with all optional validators
      kustomize build prod | olmc check -       what another tool prints

    Compiles PATH (a workspace, a bundle, a file, or - for stdin; the default is the current directory) and reports the
    findings of every stage, of the validators of opm and operator-sdk for every bundle, and of olmc's own lints. To
    accept a finding, write `# olmc: ignore[CODE] reason` on its line or above it, or list it in olmc.yaml.

    Exit codes: 0 no findings, 1 findings, 2 wrong usage, 3 input that can't be compiled.
    \f

    More examples:

    \b
      olmc check -o sarif > olmc.sarif          for GitHub code scanning
      olmc check clusters/prod                  a folder that kustomize builds
      olmc check charts/operators               a Helm chart, with its own values
      olmc check --entry prod-operators         what a GitOps tool applies
      olmc check --optional multiarch           with a validator that is optional

    File paths are relative to the current directory; in JSON they are relative to PATH, or begin with it if there are
    several; in the other formats to GITHUB_WORKSPACE if that is set. Errors, which stop the compilation, are always
    shown.

    A bundle, or a folder of bundles of one package, is taken to be your own. In other bundles, warnings of the
    validators become info. In a folder of bundles, only the newest version of each package is checked.

    Optional validators: operatorhubv2, standardcapabilities, standardcategories (suite operatorframework), community,
    alpha-deprecated-apis, good-practices, multiarch, bundle-objects, operatorhub (deprecated). `platforms` is a JSON
    file that maps images to lists of os/arch, for multiarch.
    """
    output = opts.output
    if opts.statistics and output not in ("text", "json"):
        wrong_usage("--statistics prints text or json.")
    timings = timings_of(ctx, opts.compiling.timings)
    settings = settings_of(opts.optional, opts.values)
    check_codes(("--select", opts.select), ("--ignore", opts.ignore))
    fields = fields_of(opts.scope, opts.compiling)
    options, given = options_of(ctx, fields), fixed_of(ctx, fields)
    inputs = inputs_of(ctx, opts.paths, opts.entries)
    rules = CheckRules(settings, CheckScope(opts.author, opts.all_versions), opts.select, opts.ignore)
    rules = rules if opts.no_remedies else rules._replace(remedies=MOST_SECONDS)
    order = CheckOrder(options, given, rules, may_be_empty=opts.allow_empty)
    checked: dict[int, CheckedPath] = {}
    with progress() as doing:

        def in_processes(tasks: Sequence[PackageTask]) -> list[CheckedPart]:
            parts: dict[int, CheckedPart] = {}
            do_each(check_task, None, tasks, jobs_for(opts.jobs, len(tasks), timings), parts.__setitem__, doing)
            return [parts[number] for number in range(len(tasks))]

        def found_at(one: Input) -> FoundBefore:
            doing(f"checking {one.root}")
            found = checked_path(order._replace(may_be_empty=True), one, timings).result
            return FoundBefore(found.diagnostics, found.suppressed, read_config(one.root, Report()))

        def found_in_changed(
            place: Path, tree: ScannedFolder, packages: frozenset[str], known: BundleRepository | None
        ) -> CheckResult | None:
            doing(f"checking {len(packages)} packages in {place}")
            request = Input(place).request(options, given)._replace(tree=tree)
            return check_repository_of_bundles(request, rules, in_processes, packages, known)

        before = now = None
        accepted: list[str] = []
        if opts.since:
            from olmc.cli.inputs import FoundBefore, accepted_since, findings_at, findings_of_changed_packages, only_new

            changed = findings_of_changed_packages(opts.since, inputs, found_in_changed)
            if changed is not None:
                now, before = changed.now, [changed.before]
            else:
                before = findings_at(opts.since, inputs, found_at)
        count = jobs_of(opts.jobs, inputs, timings, alone=options.state is not None)

        if now is not None:
            checked[0] = CheckedPath(now, GivenInput(options, is_bundle=False), ())
        elif len(inputs) == 1:
            doing(f"compiling {inputs[0].root}")
            checked[0] = checked_path(order, inputs[0], timings, in_processes)
        else:
            do_each(checked_path, order, inputs, count, checked.__setitem__, doing, timings)
        done = [
            checked[number].result._replace(shown_as=shown_as(None if one.is_staged else one.root, output, len(inputs)))
            for number, one in enumerate(inputs)
        ]
        if before is not None:
            accepted = [accepted_since(opts.since, now, then) for now, then in zip(done, before, strict=True)]
            fresh = [only_new(now.diagnostics, then.diagnostics) for now, then in zip(done, before, strict=True)]
            done = [each._replace(diagnostics=new.new, known=new.known) for each, new in zip(done, fresh, strict=True)]
    in_order = [checked[number] for number in range(len(inputs))]
    tell_idle(ctx, [one.given for one in in_order if one.given is not None])
    tell_unknown(options.approve, (name for one in in_order for name in one.approvals))
    least = Severity.INFO if opts.everything else Severity.WARNING
    failing = Severity.WARNING if opts.strict else Severity.FAILURE
    worst = max((d.severity for each in done for d in each.diagnostics), default=Severity.INFO)
    if output == "text":  # that there is nothing is no finding about a place, and all commands say it alike
        empty = [d for each in done for d in each.diagnostics if d.code == EMPTY.code]
        tell(empty)
        done = [each._replace(diagnostics=tuple(d for d in each.diagnostics if d.code != EMPTY.code)) for each in done]
    if opts.statistics:
        print_statistics(done, output, least)
    else:
        print_findings(
            done, output, least, failing, show_secrets=opts.show_secrets, is_empty=output == "text" and bool(empty)
        )
    say("".join(accepted), nl=False)
    raise SystemExit(BAD_INPUT if worst is Severity.ERROR else FINDINGS if worst >= failing else DONE)


_SHOWN = 6


def in_short(clusters: Sequence[RepositoryCluster]) -> str:
    """Return how many clusters and entries there are: `2 clusters with 9 entries`."""
    named = sum(len(cluster.names) for cluster in clusters)
    entries = len({path for cluster in clusters for path in cluster.paths})
    listed = f"{entries} entr{'ies' if entries != 1 else 'y'}"
    return f"{named} cluster{'s' * (named != 1)} with {listed}" if named else listed


def clusters_as_text(clusters: Sequence[RepositoryCluster], *, verbose: bool) -> str:
    """Return a line for each group of clusters with the same entries, and one for entries without a cluster; all
    entries if it is `verbose`. Without any name of a cluster, the number of entries says enough."""
    most = len({path for cluster in clusters for path in cluster.paths}) if verbose else _SHOWN
    lines = [
        f"cluster{'s' * (len(cluster.names) != 1)} {', '.join(cluster.names)}: {join_limited(cluster.paths, most)}"
        for cluster in clusters
        if cluster.names
    ]
    named = {path for cluster in clusters if cluster.names for path in cluster.paths}
    alone = list(dict.fromkeys(path for c in clusters if not c.names for path in c.paths if path not in named))
    if alone and (named or verbose):
        lines.append(f"no cluster is named for: {join_limited(alone, most)}")
    return "".join(f"{clean(line)}\n" for line in lines)
