"""One run of the resolver for one namespace: what is installed next, or why nothing can be (R-CAT-500 … R-CAT-572)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from olmc.diagnostics.rule import Rule
from olmc.diagnostics.rules import reconcile as rules
from olmc.lean import NamedTuple
from olmc.model.catalog import Candidate, InstalledEntry, Resolution, ResolveRequest, Selection, SubscriptionRequest
from olmc.model.cel_account import CelAccount, CelCostError, CelMissingError
from olmc.model.diagnostics import (
    POSSIBLE,
    Diagnostic,
    Location,
    Misspelling,
    Report,
    closest,
    did_you_mean,
    join_limited,
    misspelt,
)
from olmc.model.objects import CatalogKey
from olmc.olm.profiles.platform_catalogs import init_command
from olmc.resolver.left_out import NotVendoredError
from olmc.resolver.predicates import LabelPredicate, PackagePredicate, Predicate, ProvidingAPIPredicate, wording
from olmc.resolver.snapshot import EXISTING, Entry, Snapshot, view_of
from olmc.resolver.solver import Decision, Solution, select
from olmc.resolver.variables import (
    ConstraintKind,
    ResolveError,
    UnfinishedError,
    VariableSet,
    add_existing,
    add_subscription,
    problem_of,
    subscription_variable,
)
from olmc.semver import RangeError, parse_range

__all__ = [
    "NOT_SATISFIABLE",
    "PREVENTED",
    "absent_hint",
    "absent_place",
    "answer",
    "collect_variables",
    "failure",
    "remarks",
    "unmet_hint",
    "without_superseded",
]


_MOST = 5


def absent_hint(view: Snapshot, wish: SubscriptionRequest) -> str:
    """For a Subscription whose selection is empty (R-CAT-571): which name is wrong, what is there."""
    return _find_absent(view, wish).hint


def absent_place(view: Snapshot, wish: SubscriptionRequest) -> Location | None:
    """For a Subscription whose selection is empty: the place of the field that is wrong."""
    return wish.place_of(_find_absent(view, wish).field)


class AbsentField(NamedTuple):
    """A field of a Subscription's spec that asks for what is not there: what is said about it, what it asks for, and
    what was probably meant, "" if nothing is like it."""

    field: str
    hint: str
    asked: str = ""
    meant: str = ""


def _find_absent(view: Snapshot, wish: SubscriptionRequest) -> AbsentField:
    """The field of a Subscription's spec that asks for what is not there, and what there is."""
    catalogs = list(view.catalogs)
    items = view.catalogs.get(wish.catalog)
    if items is None:
        names = {f"{key.name} in {key.namespace}": key.name for key in catalogs}
        field = "sourceNamespace" if wish.catalog.name in names.values() else "source"
        problem = f"no catalog {wish.catalog.name} in {wish.catalog.namespace} is visible"
        command = init_command(wish.catalog.name, wish.catalog.namespace)
        if command and not any(key.name == wish.catalog.name for key in catalogs):
            return AbsentField(field, f"{problem}; `{command}` notes in olmc.yaml that the cluster has it")
        absent = _with_alternatives(field, problem, wish.catalog.name, names)
        return absent if field == "source" else absent._replace(meant="")
    left_out = view.left_out.get(wish.catalog, ())
    if not items and not left_out:
        return AbsentField("source", f"the catalog {wish.catalog.name} is empty")
    packages = items.index.counts.keys() | {package.name for package in left_out}
    # An entry alone may be asked for by an Operator, whatever its package (R-OPERATOR-8).
    if wish.package not in packages and (wish.package or wish.kind == "Subscription"):
        problem = f"the catalog {wish.catalog.name} has no package {wish.package}"
        return _with_alternatives("name", problem, wish.package, packages)
    entries = list(items.of([wish.package]) if wish.package else items)
    channels = {item.channel for item in entries}
    if wish.channel and wish.channel not in channels:
        problem = f"the package {wish.package} has no channel {wish.channel}"
        return _with_alternatives("channel", problem, wish.channel, channels)
    entries = [item for item in entries if wish.channel in ("", item.channel)]
    where = f"the catalog {wish.catalog.name}"
    if wish.package:
        where = f"the channel {wish.channel}" if wish.channel else f"the package {wish.package}"
    names = {item.name: item.name for item in entries}
    return _with_alternatives("startingCSV", f"{where} has no entry {wish.starting}", wish.starting, names)


def _with_alternatives(field: str, problem: str, name: str, names: Iterable[str] | dict[str, str]) -> AbsentField:
    shown = names if isinstance(names, dict) else {each: each for each in names}
    best = closest(name, shown.values(), POSSIBLE)
    if best:
        meant = min(text for text, name in shown.items() if name == best)
        return AbsentField(field, f"{problem}; {did_you_mean(meant, inside=True)}", name, best)
    there = f"there is {join_limited(sorted(shown), _MOST)}" if shown else "there is none at all"
    return AbsentField(field, f"{problem}; {there}")


def unmet_hint(view: Snapshot, predicate: Predicate) -> str:
    """For a requirement without candidates: what comes close, "" when there is nothing to say."""
    match predicate:
        case ProvidingAPIPredicate(api):
            providers = tuple(view.providing(api))
            if providers:
                # They exist and still are no candidates: R-CAT-402 leaves out what another entry skips.
                names = join_limited([item.name for item in providers], _MOST)
                return f"only entries that another one skips provide it: {names}"
            # A slip in the kind, or the right kind in another group or version.
            known = view.apis | {each for package in view.unvendored for each in package.apis}
            best = closest(api.kind, sorted(each.kind for each in known if each.group == api.group), POSSIBLE)
            alike = sorted(each.bracketed for each in known if each.kind == api.kind)
            alike = alike or sorted(each.bracketed for each in known if each.group_kind == (api.group, best))
            return did_you_mean(join_limited(alike, _MOST), inside=True)
        case PackagePredicate(name, text):
            items = tuple(view.of_package(name))
            if not items:
                others = (other for package in view.unvendored for other in (package.name, *package.packages))
                question = did_you_mean(closest(name, (*view.packages, *others), POSSIBLE), inside=True)
                return f"there is no package {name}" + (f"; {question}" if question else "")
            versions = sorted({item.origin.version for item in items})
            return f"no version of {name} on a channel is inside {text}; there is {join_limited(versions, _MOST)}"
        case LabelPredicate(label):
            labels = (*view.labels, *(other for package in view.unvendored for other in package.labels))
            return did_you_mean(closest(label, labels, POSSIBLE), inside=True)
        case _:
            return ""


def failure(
    question: ResolveRequest, draft: VariableSet, errors: Sequence[ResolveError], given: Resolution, rule: Rule
) -> Diagnostic:
    """The diagnostic for a namespace that can't be resolved: where the cause stands, else at its first Subscription."""
    wishes = sorted(question.wishes, key=lambda each: each.name)
    placed = [(wish.name, wish.location) for wish in wishes if wish.location]
    cause = next((each.location for each in errors if each.location), None)
    first = next(iter(placed), ("", None))
    name, place, slip = ("", cause, None) if cause else _blamed(question, wishes, draft) or (*first, None)
    related: tuple[tuple[str, Location], ...] = tuple(
        (f"{question.kind} {each}", location) for each, location in placed if each != name
    )
    return rule.finding(place, related=related, scope=question.scope, message=given.message).caused_by(slip)


def _not_vendored(question: ResolveRequest, error: NotVendoredError) -> Diagnostic:
    from olmc.diagnostics.rules import vendor as vendor_rules  # most catalogs are whole

    return vendor_rules.NOT_VENDORED.finding(
        error.location,
        package=error.package,
        catalog=error.catalog.name,
        namespace=error.catalog.namespace,
        asking=error.asking,
        scope=question.scope,
    )


def _blamed(
    question: ResolveRequest, wishes: Sequence[SubscriptionRequest], draft: VariableSet
) -> tuple[str, Location, Misspelling | None] | None:
    """The first Subscription that asks for what is not there or can't be read, the place of the field that does, and
    what was probably meant."""
    unusable = {catalog.key for catalog in question.catalogs if catalog.problem}
    for wish in wishes:
        place, slip = wish.place_of("source") if wish.catalog in unusable else None, None
        kinds = {each.kind for each in draft.constraints.get(subscription_variable(wish.name), ())}
        if ConstraintKind.PROHIBITED in kinds:
            absent = _find_absent(draft.view, wish)
            place, slip = wish.place_of(absent.field), misspelt(absent.asked, absent.meant)
        if place is not None:
            return wish.name, place, slip
    return None


def remarks(question: ResolveRequest, draft: VariableSet, picked: tuple[Decision, ...]) -> Iterator[Diagnostic]:
    """Findings about a resolution that came to a result."""
    yield from _unreadable_skip_ranges(draft)
    wishes = {subscription_variable(wish.name): wish for wish in question.wishes}
    for each in picked:
        item = draft.items.get(each.identifier)
        if item is None or item.existing or each.because.kind is not ConstraintKind.DEPENDS:
            continue
        others = [draft.items[other] for other in each.because.others]
        if each.because.requirement is None:
            yield from _other_channels(wishes[each.because.subject], item, others)
        else:
            yield from _other_providers(draft.items[each.because.subject], each.because.requirement, item, others)


def _unreadable_skip_ranges(draft: VariableSet) -> Iterator[Diagnostic]:
    for item in draft.items.values():
        if item.skip_range:
            try:
                parse_range(item.skip_range)
            except RangeError as error:
                yield rules.SKIP_RANGE_UNREADABLE.finding(
                    item.location, text=item.skip_range, bundle=item.name, cause=error
                )


def _other_channels(wish: SubscriptionRequest, item: Entry, others: list[Entry]) -> Iterator[Diagnostic]:
    channels = [other.channel for other in others if other.name == item.name]
    if not wish.channel and len(channels) > 1:
        yield rules.CHANNEL_LEFT_OPEN.finding(
            wish.location, name=wish.name, bundle=item.name, channels=", ".join(channels), channel=item.channel
        )


def _other_providers(
    requiring: Entry, requirement: Predicate, item: Entry, others: list[Entry]
) -> Iterator[Diagnostic]:
    packages = sorted({other.package for other in others} - {item.package})
    if packages:
        yield rules.SEVERAL_PROVIDERS.finding(
            requiring.location,
            bundle=requiring.name,
            wanted=wording(requirement),
            chosen=item.name,
            others=", ".join(packages),
        )


# The reasons of the Subscription condition ResolutionFailed (R-CAT-653).
NOT_SATISFIABLE = "ConstraintsNotSatisfiable"
PREVENTED = "ErrorPreventedResolution"


def answer(question: ResolveRequest, report: Report | None = None) -> Resolution:
    """What OLM's resolver answers in a namespace: one hop for each Subscription, and the dependencies
    (R-CAT-415).

    `report` gets what a person should know besides: that the namespace can't be resolved, skipRanges that can't be
    read, and CEL rules that can't be judged for want of the library.
    """
    # Without a Subscription nothing is resolved, whatever the CSVs of the namespace lack (R-CAT-500).
    if not question.wishes:
        return Resolution()
    try:
        draft, errors = collect_variables(question)
    except CelMissingError as error:
        if report is not None:
            is_cost = isinstance(error, CelCostError)
            rule = rules.CEL_COST if is_cost else rules.CEL_MISSING
            report.add(rule.finding(None, scope=question.scope, cause=error))
        return Resolution(message=f"a CEL constraint can't be judged: {error}", reason=PREVENTED)
    except NotVendoredError as error:
        if report is not None:
            report.add(_not_vendored(question, error))
        return Resolution(message=str(error), reason=PREVENTED)
    try:
        selection = Solution() if errors else select(problem_of(draft), question.conflicts)
    except UnfinishedError:
        if report is not None:
            report.add(rules.UNFINISHED.finding(None, scope=question.scope, conflicts=question.conflicts))
        return Resolution(message="no solution and no conflict was found in time", reason=PREVENTED)
    resolution = _prevented(each.text for each in errors) if errors else _resolution_of(draft, selection)
    if report is not None:
        if resolution.message:
            rule = rules.NOT_SATISFIABLE if resolution.reason == NOT_SATISFIABLE else rules.PREVENTED
            report.add(failure(question, draft, errors, resolution, rule))
        for remark in remarks(question, draft, selection.picked):
            report.add(remark)
    return resolution


def collect_variables(question: ResolveRequest) -> tuple[VariableSet, list[ResolveError]]:
    """The variables of a question, and the errors that stand in the way of a resolution (R-CAT-510 …
    R-CAT-514).

    Raises cel.CelMissingError, and left_out.NotVendoredError.
    """
    present, failure = without_superseded(question)
    draft = VariableSet(view_of(question, present), unheeded=question.unheeded, cel=question.cel or CelAccount())
    if question.kind != "Subscription":
        draft.asking = f"an {question.kind}"
    # By name, since their order decides whose preference counts first; OLM's is that of a map, which is none (D20).
    wishes = sorted(question.wishes, key=lambda wish: wish.name)
    # Errors of existing CSVs hide those of catalogs, and these hide those of Subscriptions (R-CAT-510). A catalog that
    # can't be read stops the namespace even if no Subscription names it (R-CAT-511).
    errors = add_existing(draft, wishes) or _catalog_errors(question, failure)
    if not errors:
        for wish in wishes:
            errors += add_subscription(draft, wish, legacy_precedence=question.legacy_precedence)
    return draft, errors


def without_superseded(question: ResolveRequest) -> tuple[tuple[InstalledEntry, ...], str]:
    """The CSVs that count, and the error of R-CAT-504 or "".

    With fail-forward, a CSV that is being replaced by a chain of CSVs that ends in a failed one does not
    count.
    """
    if not question.fail_forward:
        return question.present, ""
    present = sorted(question.present, key=lambda csv: csv.name)
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
                return (), f"csv {question.namespace}/{last.name} in phase {last.phase} instead of Replacing"
            if last.name in seen:
                return (), f"csv {question.namespace}/{last.name} has already been seen"
            seen.add(last.name)
            last = successors[last.name]
        if not (csv.phase == "Replacing" and last.phase == "Failed"):
            left.append(csv)
    return tuple(left), ""


def _catalog_errors(question: ResolveRequest, failure: str) -> list[ResolveError]:
    """One text for each catalog that can't be used, ordered by namespace and name (R-CAT-511, R-CAT-512)."""
    problems = {catalog.key: catalog.problem for catalog in question.catalogs if catalog.problem}
    if failure:
        problems[CatalogKey(question.namespace, EXISTING)] = failure
    return [
        ResolveError(f"error using catalogsource {key.namespace}/{key.name}: {problems[key]}", None)
        for key in sorted(problems, key=lambda each: (each.namespace, each.name))
    ]


def _prevented(errors: Iterable[str]) -> Resolution:
    """Several errors are one message, as Kubernetes aggregates them: each text once (R-CAT-512)."""
    texts = list(dict.fromkeys(errors))
    return Resolution(message=texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]", reason=PREVENTED)


def _resolution_of(draft: VariableSet, selection: Solution) -> Resolution:
    if selection.conflict:
        message = f"constraints not satisfiable: {', '.join(selection.conflict)}"
        return Resolution(message=message, reason=NOT_SATISFIABLE, conflict=selection.conflict)
    picks = []
    errors = []
    for picked in selection.picked:
        item = draft.items.get(picked.identifier)
        # Existing CSVs were picked to stay, and are nothing to install (R-CAT-565).
        if item is None or not isinstance(item.origin, Candidate):
            continue
        # OLM looks up what was picked by its name and channel, and a catalog may have that twice (R-CAT-566).
        if picked.identifier in draft.view.copies:
            errors.append(f"expected exactly one operator, got {draft.view.copies[picked.identifier]}")
        picks.append(Selection(item.origin, draft.replaced.get(picked.identifier) or item.origin.replaces))
    return _prevented(errors) if errors else Resolution(tuple(picks))
