"""One run of the resolver for one namespace: what is installed next, or why nothing can be (R-CAT-500 … R-CAT-572)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from olmc.compiler.model.catalog import (
    Candidate,
    InstalledEntry,
    Resolution,
    ResolveRequest,
    Selection,
    SubscriptionRequest,
)
from olmc.compiler.olm.profiles.data import init_command
from olmc.compiler.resolver.predicates import (
    LabelPredicate,
    NotVendoredError,
    PackagePredicate,
    Predicate,
    ProvidingAPIPredicate,
    wording,
)
from olmc.compiler.resolver.snapshot import EXISTING, Entry, Snapshot, snapshot_of
from olmc.compiler.resolver.variables import (
    AppliedConstraint,
    ConflictBudget,
    ConstraintKind,
    ConstraintProblem,
    Oracle,
    ResolveError,
    UnfinishedError,
    VariableSet,
    add_existing,
    add_subscription,
    applied,
    conflict,
    problem_of,
    subscription_variable,
)
from olmc.compiler.rules.findings import reconcile as rules
from olmc.compiler.rules.findings import vendor as vendor_rules
from olmc.k8s.diagnostics import (
    POSSIBLE,
    Diagnostic,
    Location,
    Misspelling,
    Report,
    Rule,
    closest,
    did_you_mean,
    join_limited,
    misspelt,
)
from olmc.k8s.lean import NamedTuple
from olmc.k8s.limits import CONFLICTS, CelAccount, CelCostError, CelMissingError
from olmc.k8s.objects import CatalogKey
from olmc.k8s.semver import RangeError, parse_range

__all__ = [
    "NOT_SATISFIABLE",
    "PREVENTED",
    "Decision",
    "Solution",
    "absent_hint",
    "absent_place",
    "collect_variables",
    "failure",
    "remarks",
    "resolve",
    "select",
    "unmet_hint",
    "without_superseded",
]

# Choosing what to install: the problem, and OLM's preferences among its solutions (R-CAT-560 … R-CAT-570).
#
# OLM searches depth first with backtracking over a queue of choices, asking a SAT solver whether the guesses
# made so far still fit the formula F of all constraints. `select` walks the same queue without backtracking,
# and gets the same set: a guess is only kept if F together with all guesses so far has a solution, so a prefix
# that was kept can always be completed, and nothing is ever taken back. Which solver answers "does it have a
# solution" can't matter, because it only ever says yes or no.
#
# Most problems need no solver. First the walk is done with the cheapest test there is, one that refuses only
# what can never be chosen in any solution. If the set that comes out satisfies every constraint, then it is itself
# a solution that contains each of its prefixes, so the exact test would have let each of its selections pass; and it
# would have refused everything that was passed over. Otherwise the walk is repeated with the SAT solver as the
# test.
#
# Nothing is installed but what was selected (R-CAT-561): the set is closed under its dependencies, so making
# everything else false is a solution, and no solution that contains the selections is smaller.


@dataclass(frozen=True, slots=True)
class Decision:
    """A variable that was selected, and the constraint that called for it."""

    identifier: str
    because: AppliedConstraint


@dataclass(frozen=True, slots=True)
class Solution:
    """The selections in order, or, when there is no solution, the texts of the constraints that can't hold
    together.
    """

    picked: tuple[Decision, ...] = ()
    conflict: tuple[str, ...] = ()


Acceptable = Callable[[Sequence[str], str], bool]


def select(problem: ConstraintProblem, conflicts: int = CONFLICTS.default) -> Solution:
    """The solution of `problem` that OLM prefers, or the conflict (D22); UnfinishedError where finding it takes
    more than `conflicts`."""
    # Every solution holds all anchors: if one of them can be in none, the search need not begin.
    dead = _impossible(problem)
    if not dead.isdisjoint(problem.anchors):
        return Solution(conflict=_conflict(problem, conflicts))
    picked = _walk(problem, lambda _, name: name not in dead)
    if picked is None or not _satisfies(problem, {name.identifier for name in picked}):
        # The solver costs more to import than all the rest of a small resolution.

        oracle = Oracle(applied(problem), ConflictBudget(conflicts))
        if not oracle.satisfiable(problem.anchors):
            return Solution(conflict=_conflict(problem, conflicts))
        picked = _walk(problem, lambda chosen, name: oracle.satisfiable((*problem.anchors, *chosen, name)))
    if picked is None:
        raise AssertionError("a choice without an acceptable candidate in a problem that has a solution")
    return Solution(tuple(picked))


def _conflict(problem: ConstraintProblem, conflicts: int) -> tuple[str, ...]:
    return conflict(applied(problem), ConflictBudget(conflicts))


def _walk(problem: ConstraintProblem, acceptable: Acceptable) -> list[Decision] | None:
    """The selections of R-CAT-560, None when a choice is left without an acceptable candidate."""
    queue: deque[tuple[tuple[str, ...], AppliedConstraint]] = deque(
        ((anchor,), constraint)
        for anchor in problem.anchors
        for constraint in problem.variables[anchor]
        if constraint.kind is ConstraintKind.MANDATORY
    )
    chosen: dict[str, Decision] = {}
    order: list[str] = []
    while queue:
        candidates, because = queue.popleft()
        # A requirement that an earlier selection meets is met, even if a better bundle exists (R-CAT-564).
        if any(candidate in chosen for candidate in candidates):
            continue
        # Candidates are in the order of preference, and a worse one is taken rather than none: so OLM falls back to an
        # older version when the channel head can't be installed (R-CAT-411, R-CAT-420).
        selection = next((candidate for candidate in candidates if acceptable(order, candidate)), None)
        if selection is None:
            return None
        chosen[selection] = Decision(selection, because)
        order.append(selection)
        # Behind the anchors that still wait: what they prefer goes before what a dependency prefers (R-CAT-560).
        # https://github.com/operator-framework/operator-lifecycle-manager/blob/v0.46.0/pkg/controller/registry/resolver/solver/search.go
        queue.extend(
            (constraint.others, constraint)
            for constraint in problem.variables[selection]
            if constraint.kind is ConstraintKind.DEPENDS and constraint.others
        )
    return list(chosen.values())


def _impossible(problem: ConstraintProblem) -> set[str]:
    """The variables that no solution contains, because they are prohibited or need only such variables."""
    # Of each variable the dependencies that it could meet, with the options that those have left: every loss is looked
    # at once, so that a catalog of thousands of bundles costs no more than its edges.
    waiting: dict[str, list[tuple[str, set[str]]]] = {}
    dead: set[str] = set()
    fresh: list[str] = []
    for name, constraints in problem.variables.items():
        for constraint in constraints:
            if constraint.rules_out_subject:
                fresh.append(name)
            elif constraint.kind is ConstraintKind.DEPENDS:
                left = set(constraint.others)
                for candidate in left:
                    waiting.setdefault(candidate, []).append((name, left))
    while fresh:
        name = fresh.pop()
        if name in dead:
            continue
        dead.add(name)
        for dependent, left in waiting.get(name, ()):
            left.discard(name)
            if not left:
                fresh.append(dependent)
    return dead


def _satisfies(problem: ConstraintProblem, chosen: set[str]) -> bool:
    """Return whether the chosen variables, all others being false, satisfy every constraint."""
    return all(_holds(constraint, chosen) for constraints in problem.variables.values() for constraint in constraints)


def _holds(constraint: AppliedConstraint, chosen: set[str]) -> bool:
    match constraint.kind:
        case ConstraintKind.AT_MOST_ONE:
            return sum(each in chosen for each in constraint.others) <= 1
        case ConstraintKind.MANDATORY:
            return constraint.subject in chosen
        case ConstraintKind.PROHIBITED:
            return constraint.subject not in chosen
        case ConstraintKind.DEPENDS:
            return constraint.subject not in chosen or any(each in chosen for each in constraint.others)
        case ConstraintKind.CONFLICTS:
            return constraint.subject not in chosen or not any(each in chosen for each in constraint.others)


_MOST = 5


def absent_hint(snapshot: Snapshot, request: SubscriptionRequest) -> str:
    """For a Subscription whose selection is empty (R-CAT-571): which name is wrong, what is there."""
    return _find_absent(snapshot, request).hint


def absent_place(snapshot: Snapshot, request: SubscriptionRequest) -> Location | None:
    """For a Subscription whose selection is empty: the place of the field that is wrong."""
    return request.place_of(_find_absent(snapshot, request).field)


class AbsentField(NamedTuple):
    """A field of a Subscription's spec that asks for what is not there: the message, what it asks for, and
    what was probably meant, "" if nothing is like it."""

    field: str
    hint: str
    asked: str = ""
    meant: str = ""


def _find_absent(snapshot: Snapshot, request: SubscriptionRequest) -> AbsentField:
    """The field of a Subscription's spec that asks for what is not there, and what there is."""
    catalogs = list(snapshot.catalogs)
    items = snapshot.catalogs.get(request.catalog)
    if items is None:
        names = {f"{key.name} in {key.namespace}": key.name for key in catalogs}
        field = "sourceNamespace" if request.catalog.name in names.values() else "source"
        problem = f"no catalog {request.catalog.name} in {request.catalog.namespace} is visible"
        command = init_command(request.catalog.name, request.catalog.namespace)
        if command and not any(key.name == request.catalog.name for key in catalogs):
            return AbsentField(field, f"{problem}; `{command}` notes in olmc.yaml that the cluster has it")
        if not names:
            return AbsentField(field, f"{problem}; the namespace sees no catalog")
        absent = _with_alternatives(field, problem, request.catalog.name, names)
        return absent if field == "source" else absent._replace(meant="")
    left_out = snapshot.left_out.get(request.catalog, ())
    if not items and not left_out:
        return AbsentField("source", f"the catalog {request.catalog.name} is empty")
    packages = items.index.counts.keys() | {package.name for package in left_out}
    # An Operator may ask for an entry alone, without its package (R-OPERATOR-8).
    if request.package not in packages and (request.package or request.kind == "Subscription"):
        problem = f"the catalog {request.catalog.name} has no package {request.package}"
        return _with_alternatives("name", problem, request.package, packages)
    entries = list(items.of([request.package]) if request.package else items)
    channels = {entry.channel for entry in entries}
    if request.channel and request.channel not in channels:
        problem = f"the package {request.package} has no channel {request.channel}"
        return _with_alternatives("channel", problem, request.channel, channels)
    entries = [entry for entry in entries if request.channel in ("", entry.channel)]
    where = f"the catalog {request.catalog.name}"
    if request.package:
        where = f"the channel {request.channel}" if request.channel else f"the package {request.package}"
    names = {entry.name: entry.name for entry in entries}
    return _with_alternatives("startingCSV", f"{where} has no entry {request.starting}", request.starting, names)


def _with_alternatives(field: str, problem: str, name: str, names: Iterable[str] | dict[str, str]) -> AbsentField:
    shown = names if isinstance(names, dict) else {each: each for each in names}
    best = closest(name, shown.values(), POSSIBLE)
    if best:
        meant = min(text for text, name in shown.items() if name == best)
        return AbsentField(field, f"{problem}; {did_you_mean(meant, inside=True)}", name, best)
    there = f"there is {join_limited(sorted(shown), _MOST)}" if shown else "there is none at all"
    return AbsentField(field, f"{problem}; {there}")


def unmet_hint(snapshot: Snapshot, predicate: Predicate) -> str:
    """For a requirement without candidates: what comes close, "" when there is nothing to say."""
    match predicate:
        case ProvidingAPIPredicate(api):
            providers = tuple(snapshot.providing(api))
            if providers:
                # They exist and still are no candidates: R-CAT-402 leaves out what another entry skips.
                names = join_limited([entry.name for entry in providers], _MOST)
                return f"only entries that another one skips provide it: {names}"
            # A slip in the kind, or the right kind in another group or version.
            known = snapshot.apis | {each for package in snapshot.unvendored for each in package.apis}
            best = closest(api.kind, sorted(each.kind for each in known if each.group == api.group), POSSIBLE)
            alike = sorted(each.bracketed for each in known if each.kind == api.kind)
            alike = alike or sorted(each.bracketed for each in known if each.group_kind == (api.group, best))
            return did_you_mean(join_limited(alike, _MOST), inside=True)
        case PackagePredicate(name, text):
            items = tuple(snapshot.of_package(name))
            if not items:
                others = (other for package in snapshot.unvendored for other in (package.name, *package.packages))
                resolve_request = did_you_mean(closest(name, (*snapshot.packages, *others), POSSIBLE), inside=True)
                return f"there is no package {name}" + (f"; {resolve_request}" if resolve_request else "")
            versions = sorted({entry.origin.version for entry in items})
            return f"no version of {name} on a channel is inside {text}; there is {join_limited(versions, _MOST)}"
        case LabelPredicate(label):
            labels = (*snapshot.labels, *(other for package in snapshot.unvendored for other in package.labels))
            return did_you_mean(closest(label, labels, POSSIBLE), inside=True)
        case _:
            return ""


def failure(
    resolve_request: ResolveRequest,
    variables: VariableSet,
    errors: Sequence[ResolveError],
    given: Resolution,
    rule: Rule,
) -> Diagnostic:
    """The diagnostic for a namespace that can't be resolved: where the cause stands, else at its first Subscription."""
    requests = sorted(resolve_request.requests, key=lambda each: each.name)
    placed = [(request.name, request.location) for request in requests if request.location]
    cause = next((each.location for each in errors if each.location), None)
    first = next(iter(placed), ("", None))
    name, place, slip = ("", cause, None) if cause else _blamed(resolve_request, requests, variables) or (*first, None)
    related: tuple[tuple[str, Location], ...] = tuple(
        (f"{resolve_request.kind} {each}", location) for each, location in placed if each != name
    )
    found = rule.finding(place, related=related, scope=resolve_request.scope, message=given.message).caused_by(slip)
    broken = next((each.text for each in errors if each.text.endswith(_BREAKS_CHAIN)), "")
    if not broken:
        return found
    csv = broken.partition(": csv ")[2].partition(" ")[0]
    return found._replace(hint=rules.CHAIN_HINT.format(csv=csv))


def _not_vendored(resolve_request: ResolveRequest, error: NotVendoredError) -> Diagnostic:
    return vendor_rules.NOT_VENDORED.finding(
        error.location,
        package=error.package,
        catalog=error.catalog.name,
        namespace=error.catalog.namespace,
        asking=error.asking,
        scope=resolve_request.scope,
    )


def _blamed(
    resolve_request: ResolveRequest, requests: Sequence[SubscriptionRequest], variables: VariableSet
) -> tuple[str, Location, Misspelling | None] | None:
    """The first Subscription that asks for what is not there or can't be read, the place of the field that does, and
    what was probably meant."""
    unusable = {catalog.key for catalog in resolve_request.catalogs if catalog.problem}
    for request in requests:
        place, slip = request.place_of("source") if request.catalog in unusable else None, None
        kinds = {each.kind for each in variables.constraints.get(subscription_variable(request.name), ())}
        if ConstraintKind.PROHIBITED in kinds:
            absent = _find_absent(variables.snapshot, request)
            place, slip = request.place_of(absent.field), misspelt(absent.asked, absent.meant)
        if place is not None:
            return request.name, place, slip
    return None


def remarks(
    resolve_request: ResolveRequest, variables: VariableSet, picked: tuple[Decision, ...]
) -> Iterator[Diagnostic]:
    """Findings about a resolution that came to a result."""
    yield from _unreadable_skip_ranges(variables)
    requests = {subscription_variable(request.name): request for request in resolve_request.requests}
    for each in picked:
        entry = variables.items.get(each.identifier)
        if entry is None or entry.existing or each.because.kind is not ConstraintKind.DEPENDS:
            continue
        others = [variables.items[other] for other in each.because.others]
        if each.because.requirement is None:
            yield from _other_channels(requests[each.because.subject], entry, others)
        else:
            yield from _other_providers(variables.items[each.because.subject], each.because.requirement, entry, others)


def _unreadable_skip_ranges(variables: VariableSet) -> Iterator[Diagnostic]:
    for entry in variables.items.values():
        if entry.skip_range:
            try:
                parse_range(entry.skip_range)
            except RangeError as error:
                yield rules.SKIP_RANGE_UNREADABLE.finding(
                    entry.location, text=entry.skip_range, bundle=entry.name, cause=error
                )


def _other_channels(request: SubscriptionRequest, entry: Entry, others: list[Entry]) -> Iterator[Diagnostic]:
    channels = [other.channel for other in others if other.name == entry.name]
    if not request.channel and len(channels) > 1:
        yield rules.CHANNEL_LEFT_OPEN.finding(
            request.location, name=request.name, bundle=entry.name, channels=", ".join(channels), channel=entry.channel
        )


def _other_providers(
    requiring: Entry, requirement: Predicate, entry: Entry, others: list[Entry]
) -> Iterator[Diagnostic]:
    packages = sorted({other.package for other in others} - {entry.package})
    if packages:
        yield rules.SEVERAL_PROVIDERS.finding(
            requiring.location,
            bundle=requiring.name,
            wanted=wording(requirement),
            chosen=entry.name,
            others=", ".join(packages),
        )


# The reasons of the Subscription condition ResolutionFailed (R-CAT-653).
NOT_SATISFIABLE = "ConstraintsNotSatisfiable"
PREVENTED = "ErrorPreventedResolution"
_BREAKS_CHAIN = " instead of Replacing"


def resolve(resolve_request: ResolveRequest, report: Report | None = None) -> Resolution:
    """Return the answer of OLM's resolver in a namespace: one hop for each Subscription, and the dependencies
    (R-CAT-415).

    `report` gets further findings: that the namespace can't be resolved, skipRanges that can't be read, and CEL rules
    that can't be evaluated without the library.
    """
    # OLM resolves only for a Subscription, also if CSVs of the namespace lack requirements (R-CAT-500).
    if not resolve_request.requests:
        return Resolution()
    try:
        variables, errors = collect_variables(resolve_request)
    except CelMissingError as error:
        if report is not None:
            is_cost = isinstance(error, CelCostError)
            rule = rules.CEL_COST if is_cost else rules.CEL_MISSING
            report.add(rule.finding(None, scope=resolve_request.scope, cause=error))
        return Resolution(message=f"a CEL constraint can't be judged: {error}", reason=PREVENTED)
    except NotVendoredError as error:
        if report is not None:
            report.add(_not_vendored(resolve_request, error))
        return Resolution(message=str(error), reason=PREVENTED)
    try:
        selection = Solution() if errors else select(problem_of(variables), resolve_request.conflicts)
    except UnfinishedError:
        if report is not None:
            report.add(rules.UNFINISHED.finding(None, scope=resolve_request.scope, conflicts=resolve_request.conflicts))
        return Resolution(message="no solution and no conflict was found in time", reason=PREVENTED)
    resolution = _prevented(each.text for each in errors) if errors else _resolution_of(variables, selection)
    if report is not None:
        if resolution.message:
            rule = rules.NOT_SATISFIABLE if resolution.reason == NOT_SATISFIABLE else rules.PREVENTED
            report.add(failure(resolve_request, variables, errors, resolution, rule))
        for remark in remarks(resolve_request, variables, selection.picked):
            report.add(remark)
    return resolution


def collect_variables(resolve_request: ResolveRequest) -> tuple[VariableSet, list[ResolveError]]:
    """The variables of a request, and the errors that stand in the way of a resolution (R-CAT-510 …
    R-CAT-514).

    Raises cel.CelMissingError, and left_out.NotVendoredError.
    """
    present, failure = without_superseded(resolve_request)
    variables = VariableSet(
        snapshot_of(resolve_request, present),
        unheeded=resolve_request.unheeded,
        cel=resolve_request.cel or CelAccount(),
    )
    if resolve_request.kind != "Subscription":
        variables.asking = f"an {resolve_request.kind}"
    # By name, since their order decides whose preference counts first; OLM's is that of a map, which is none (D20).
    requests = sorted(resolve_request.requests, key=lambda request: request.name)
    # Errors of existing CSVs hide those of catalogs, and these hide those of Subscriptions (R-CAT-510). A catalog that
    # can't be read stops the namespace even if no Subscription names it (R-CAT-511).
    errors = add_existing(variables, requests) or _catalog_errors(resolve_request, failure)
    if not errors:
        for request in requests:
            errors += add_subscription(variables, request, legacy_precedence=resolve_request.legacy_precedence)
    return variables, errors


def without_superseded(resolve_request: ResolveRequest) -> tuple[tuple[InstalledEntry, ...], str]:
    """The CSVs that count, and the error of R-CAT-504 or "".

    With fail-forward, a CSV that is being replaced by a chain of CSVs that ends in a failed one does not
    count.
    """
    if not resolve_request.fail_forward:
        return resolve_request.present, ""
    present = sorted(resolve_request.present, key=lambda csv: csv.name)
    successors = {csv.replaces: csv for csv in present if csv.replaces}
    left = []
    for csv in present:
        seen: set[str] = set()
        last = csv
        # OLM walks from every CSV, not only from those that end in a failed one, so any chain in which a CSV that has a
        # successor is not Replacing stops the namespace (R-CAT-504).
        # https://github.com/operator-framework/operator-lifecycle-manager/blob/v0.46.0/pkg/controller/registry/resolver/fail_forward.go
        while last.name in successors:
            if last.phase != "Replacing":
                return (), f"csv {resolve_request.namespace}/{last.name} in phase {last.phase}{_BREAKS_CHAIN}"
            if last.name in seen:
                return (), f"csv {resolve_request.namespace}/{last.name} has already been seen"
            seen.add(last.name)
            last = successors[last.name]
        if not (csv.phase == "Replacing" and last.phase == "Failed"):
            left.append(csv)
    return tuple(left), ""


def _catalog_errors(resolve_request: ResolveRequest, failure: str) -> list[ResolveError]:
    """One text for each catalog that can't be used, ordered by namespace and name (R-CAT-511, R-CAT-512)."""
    problems = {catalog.key: catalog.problem for catalog in resolve_request.catalogs if catalog.problem}
    if failure:
        problems[CatalogKey(resolve_request.namespace, EXISTING)] = failure
    return [
        ResolveError(
            f"{resolve_request.catalog_error.format(name=key.name, namespace=key.namespace)}: {problems[key]}", None
        )
        for key in sorted(problems, key=lambda each: (each.namespace, each.name))
    ]


def _prevented(errors: Iterable[str]) -> Resolution:
    """Several errors are one message, as Kubernetes aggregates them: each text once (R-CAT-512)."""
    texts = list(dict.fromkeys(errors))
    return Resolution(message=texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]", reason=PREVENTED)


def _resolution_of(variables: VariableSet, selection: Solution) -> Resolution:
    if selection.conflict:
        message = f"constraints not satisfiable: {', '.join(selection.conflict)}"
        return Resolution(message=message, reason=NOT_SATISFIABLE, conflict=selection.conflict)
    selections = []
    errors = []
    for picked in selection.picked:
        entry = variables.items.get(picked.identifier)
        # Existing CSVs were selected to stay, and are nothing to install (R-CAT-565).
        if entry is None or not isinstance(entry.origin, Candidate):
            continue
        # OLM looks up what was selected by its name and channel, and a catalog may have that twice (R-CAT-566).
        if picked.identifier in variables.snapshot.copies:
            errors.append(f"expected exactly one operator, got {variables.snapshot.copies[picked.identifier]}")
        selections.append(Selection(entry.origin, variables.replaced.get(picked.identifier) or entry.origin.replaces))
    return _prevented(errors) if errors else Resolution(tuple(selections))
