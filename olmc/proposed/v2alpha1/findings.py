"""What there is to say about Operators and Installs of v2alpha1, at the field or line of a catalog that is meant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from olmc.diagnostics.rules import proposed as rules
from olmc.diagnostics.rules import reconcile as resolver_rules
from olmc.lean import NamedTuple
from olmc.model.catalog import Candidate, ResolveRequest
from olmc.model.cluster import Cluster
from olmc.model.diagnostics import Diagnostic, Location, Report, Severity
from olmc.model.objects import ObjectKey
from olmc.model.operators import Operator
from olmc.model.options import Options
from olmc.model.workspace import Bundle
from olmc.proposed.v2alpha1.approval import Entry, InstallDecision, OperatorResult
from olmc.proposed.v2alpha1.requests import explanation
from olmc.reconcile.diagnose import without_content
from olmc.reconcile.unresolved import with_causes, without_bundle
from olmc.resolver.resolve import NOT_SATISFIABLE, resolve
from olmc.resolver.snapshot import needed_catalogs
from olmc.resolver.steps import UndecodableCSV
from olmc.yaml import at, locate, located

_UPDATES = ("spec", "updates")
_SHOWN_PERMISSIONS = 3
_ASK_FOR_IT = "Add an Operator for the one that you want; it is then used for the requirement."


class FindingContext(NamedTuple):
    """What findings are about besides Operators and Installs: the cluster before them, bundles by CSV name, options."""

    cluster: Cluster
    bundles: Mapping[str, Bundle]
    options: Options


def findings(
    outcomes: Sequence[OperatorResult],
    installs: Sequence[InstallDecision],
    differing: Mapping[str, tuple[ObjectKey, ...]],
    context: FindingContext,
) -> Iterator[Diagnostic]:
    """What became of Operators and Installs, and which components are not as they were resolved."""
    for judged in installs:
        yield from _about_install(judged, context.options)
        if judged.resolve_request is not None:
            yield from _remarks(judged.resolve_request)
    failures: dict[tuple[str, str], list[OperatorResult]] = {}
    for outcome in outcomes:
        if outcome.failure:
            failures.setdefault(outcome.failure, []).append(outcome)
        yield from _about_operator(outcome, context)
        components = differing.get(outcome.operator.name, ())
        if components:
            shown = ", ".join(map(str, components[:5])) + (", …" if len(components) > 5 else "")
            place = at(outcome.operator.source, "metadata", "name")
            yield rules.DIVERGES.finding(place, operator=outcome.operator.name, count=len(components), components=shown)
    for (reason, message), failed in failures.items():
        yield _unresolved(reason, message, failed, context.cluster)


def denied(refused: Iterable[Operator], options: Options) -> Iterator[Diagnostic]:
    """The Operators whose catalog the user may not install from (R-OPERATOR-12)."""
    for operator in refused:
        ref = operator.catalog.ref if operator.catalog else None
        if ref is not None:
            place = at(operator.source, *_UPDATES, "catalogSource", "ref")
            yield rules.CATALOG_DENIED.finding(
                place, user=options.user, catalog=f"{ref.namespace}/{ref.name}", namespace=ref.namespace
            )


def unread_catalogs(outcomes: Sequence[OperatorResult], cluster: Cluster, options: Options) -> Iterator[Diagnostic]:
    """Catalogs without content that only Operators are resolved in: those of Subscriptions are reported anyway."""
    if not any(outcome.operator.catalog for outcome in outcomes):
        return
    of_subscriptions = {catalog.key for catalog in needed_catalogs(cluster, options)}
    every = needed_catalogs(cluster, options, clusterwide=True)
    yield from without_content([catalog for catalog in every if catalog.key not in of_subscriptions], options, {})


def _about_operator(outcome: OperatorResult, context: FindingContext) -> Iterator[Diagnostic]:
    """What an Operator of a catalog could not install; of one from an image its Install tells."""
    operator = outcome.operator
    if operator.catalog is None:
        return
    who = f"Operator {operator.name}"
    if outcome.problem:
        yield _not_applied(who, outcome.problem, outcome.unreadable, at(operator.source, *_UPDATES))
    if outcome.missing:
        finding = rules.NO_CONTENT.finding(at(operator.source, *_UPDATES), who=who, image=outcome.missing)
        if outcome.lacking is not None:
            alike = without_bundle(outcome.lacking, context.cluster, context.bundles)
            finding = finding._replace(location=alike.location or finding.location, related=alike.related)
            finding = finding._replace(hint=alike.hint) if alike.related else finding
        yield finding


def _not_applied(who: str, problem: str, unreadable: UndecodableCSV | None, place: Location | None) -> Diagnostic:
    """That content can't be applied: at what can't be read of a CSV, if it is that."""
    finding = rules.NOT_APPLIED.finding(place, who=who, problem=problem)
    wrong = at(unreadable.content.csv.source, *unreadable.keys) if unreadable is not None else None
    if unreadable is None or wrong is None:
        return finding
    return finding._replace(location=wrong, hint=unreadable.hint, related=((who, place),) if place is not None else ())


def _unresolved(reason: str, message: str, failed: Sequence[OperatorResult], cluster: Cluster) -> Diagnostic:
    """That Operators can't be resolved: at the field that asks for what there is not, with all causes."""
    hint = "Loosen what the Operators ask for, or remove what stands in the way."
    if reason != NOT_SATISFIABLE:
        hint = "Correct the catalog that the message names."
    elif any(s.package in {outcome.package for outcome in failed} for s in cluster.subscriptions.values()):
        hint = "A Subscription asks for the same package; --migrate-subscriptions lets the Operator take its place."
    first = failed[0]
    names = ", ".join(f"Operator {outcome.operator.name}" for outcome in failed)
    place = at(first.operator.source, *_UPDATES)
    finding = rules.UNRESOLVED.finding(place, operators=names, message=message, hint=hint)
    if first.unresolved is None:
        return finding
    resolve_request, given = first.unresolved
    lines = explanation(first)
    if reason == NOT_SATISFIABLE and not given.conflict:  # an entrypoint alone that its catalog does not have
        return finding._replace(location=lines[-1].location or place, hint="\n".join(map(str, lines)))
    report = Report()
    resolve(resolve_request, report)
    failure = next((remark for remark in report if remark.severity is Severity.FAILURE), None)
    if failure is None:
        return finding
    finding = finding._replace(location=failure.location or place, related=failure.related)
    caused = with_causes(finding, resolve_request, given, cluster)
    return caused._replace(hint=f"{caused.hint}\n{hint}") if given.conflict and "--migrate" in hint else caused


def _remarks(resolve_request: ResolveRequest) -> Iterator[Diagnostic]:
    """What else there is to say about a resolution that came to a result, as for Subscriptions."""
    report = Report()
    resolve(resolve_request, report)
    for remark in report:
        if remark.severity is not Severity.FAILURE:
            several = remark.code == resolver_rules.SEVERAL_PROVIDERS.code
            yield remark._replace(hint=_ASK_FOR_IT) if several else remark


def _about_install(judged: InstallDecision, options: Options) -> Iterator[Diagnostic]:
    install = judged.install
    place = _place_of_approval(judged)
    if judged.missing:
        shown, hint = _missing_in_words(judged)
        yield rules.APPROVAL_DENIED.finding(place, user=options.user, name=install.name, missing=shown, hint=hint)
    elif judged.pending:
        why = f"{judged.pending_count} permissions are not granted"
        yield rules.PENDING.finding(place, name=install.name, why=why)
    elif not judged.applied and not (judged.content.missing or judged.content.problem):
        yield rules.PENDING.finding(place, name=install.name, why="its updates are approved by hand")
    who = f"Operator {install.operator}" if install.operator else f"Install {install.name}"
    for image in judged.content.missing:
        yield rules.NO_CONTENT.finding(_place_of_image(judged, image), who=who, image=image)
    if judged.content.problem:
        place = at(install.source, *(_UPDATES if install.operator else ("spec", "content")))
        yield _not_applied(who, judged.content.problem, judged.content.unreadable, place)
    for index, item in enumerate(judged.content.items):
        named = item.get("manifestImage")
        if named and "@" not in named:
            yield rules.NOT_PINNED.finding(_place_of_content(judged, index), image=named)


def _missing_in_words(judged: InstallDecision) -> tuple[str, str]:
    """The permissions that the approving user lacks, the first of them for a message, all of them for its hint."""
    words = [_in_words(entry) for entry in judged.missing]
    more = len(words) - _SHOWN_PERMISSIONS
    shown = "; ".join(words[:_SHOWN_PERMISSIONS]) + (f"; and {more} more" if more > 0 else "")
    hint = "Let somebody approve it who has these permissions."
    return shown, "\n".join((hint, *(f"  {permission}" for permission in words))) if more > 0 else hint


def _in_words(entry: Entry) -> str:
    """An entry for people: get, list on roles.rbac.authorization.k8s.io in namespace a."""
    verbs = ", ".join(entry["verbs"])
    if "nonResourceURLs" in entry:
        return f"{verbs} on {', '.join(entry['nonResourceURLs'])}"
    resources = (_resource(group, name) for group in entry["apiGroups"] for name in entry["resources"])
    named = f" called {', '.join(entry['resourceNames'])}" if "resourceNames" in entry else ""
    spaces = entry.get("namespaces") or ()
    where = f"in namespace{'s' * (len(spaces) > 1)} {', '.join(spaces)}" if spaces else "in the whole cluster"
    return f"{verbs} on {', '.join(resources)}{named} {where}"


def _resource(group: str, name: str) -> str:
    """A resource as kubectl writes it: deployments.apps/scale."""
    resource, slash, rest = name.partition("/")
    return f"{resource}.{group}{slash}{rest}" if group else name


def _place_of_approval(judged: InstallDecision) -> Location | None:
    """Where somebody says whether an Install is approved, or would."""
    install = judged.install
    if not install.operator:
        return at(install.source, "spec", "approval")
    by_hand = not (judged.pending or judged.missing)
    return at(install.source, *_UPDATES, *(("catalogSource", "approval") if by_hand else ()))


def _place_of_image(judged: InstallDecision, image: str) -> Location | None:
    images = [item.image for item in judged.install.content]
    return _place_of_content(judged, images.index(image))


def _place_of_content(judged: InstallDecision, index: int) -> Location | None:
    """Where an item of an Install's content stands: in its own manifest, in the Operator's, or in the catalog."""
    install = judged.install
    if not install.operator:
        return at(install.source, "spec", "content", index, "manifestImage")
    image = install.content[index].image
    entry = next(
        (selection.candidate for selection in judged.selections if image and selection.candidate.image == image), None
    )
    return _in_catalog(entry) if entry is not None else at(install.source, *_UPDATES, "manifestImage")


def _in_catalog(entry: Candidate) -> Location | None:
    place = entry.bundle
    return locate(place.source, (*place.keys, "image")) if place is not None else located(entry.location)
