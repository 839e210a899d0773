"""What there is to say about Operators and Installs of v2alpha1."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from olmc.model.cluster import Cluster
from olmc.model.diagnostic import Diagnostic
from olmc.model.objects import Identity
from olmc.model.options import Options
from olmc.model.proposed import Operator
from olmc.proposed.gate import Judged, as_json
from olmc.proposed.outcome import Outcome
from olmc.resolve.resolve import NOT_SATISFIABLE
from olmc.resolve.visibility import needed_catalogs
from olmc.rules import v2alpha1 as rules
from olmc.settle.diagnose import without_content
from olmc.yaml import at


def findings(
    outcomes: Sequence[Outcome], installs: Sequence[Judged], refused: Sequence[Operator],
    differing: Mapping[str, tuple[Identity, ...]], cluster: Cluster, options: Options,
) -> Iterator[Diagnostic]:  # fmt: skip
    """What is to say about what became of Operators and Installs, about those that were refused, and about components
    that are not as they were resolved."""
    for operator in refused:
        ref = operator.catalog.ref if operator.catalog else None
        if ref is not None:
            place = at(operator.source, "spec", "updates", "catalogSource", "ref")
            yield rules.CATALOG_DENIED.finding(
                place, user=options.user, catalog=f"{ref.namespace}/{ref.name}", namespace=ref.namespace
            )
    for judged in installs:
        yield from _about_install(judged, options)
    failures: dict[tuple[str, str], list[Outcome]] = {}
    for outcome in outcomes:
        if outcome.failure:
            failures.setdefault(outcome.failure, []).append(outcome)
        if outcome.problem and outcome.operator.catalog is not None:
            place = at(outcome.operator.source, "metadata", "name")
            yield rules.NOT_APPLIED.finding(place, name=outcome.operator.name, problem=outcome.problem)
        if outcome.missing and outcome.operator.catalog is not None:
            place = at(outcome.operator.source, "spec", "updates")
            yield rules.NO_CONTENT.finding(place, who=f"Operator {outcome.operator.name}", image=outcome.missing)
        found = differing.get(outcome.operator.name, ())
        if found:
            shown = ", ".join(map(str, found[:5])) + (", …" if len(found) > 5 else "")
            place = at(outcome.operator.source, "metadata", "name")
            yield rules.DIVERGES.finding(place, operator=outcome.operator.name, count=len(found), components=shown)
    for (reason, message), failed in failures.items():
        yield _unresolved(reason, message, failed, cluster)


def _unresolved(reason: str, message: str, failed: Sequence[Outcome], cluster: Cluster) -> Diagnostic:
    hint = "Loosen what the Operators ask for, or remove what stands in the way."
    if reason != NOT_SATISFIABLE:
        hint = "Correct the catalog that the message names."
    elif any(s.package in {outcome.package for outcome in failed} for s in cluster.subscriptions.values()):
        hint = "A Subscription asks for the same package; --migrate-subscriptions lets the Operator take its place."
    names = ", ".join(f"Operator {outcome.operator.name}" for outcome in failed)
    place = at(failed[0].operator.source, "spec", "updates")
    return rules.UNRESOLVED.finding(place, operators=names, message=message, hint=hint)


def _about_install(judged: Judged, options: Options) -> Iterator[Diagnostic]:
    install = judged.install
    place = at(install.source, "metadata", "name")
    if judged.missing:
        yield rules.APPROVAL_DENIED.finding(
            place, user=options.user, name=install.name, missing=as_json(judged.missing)
        )
    elif judged.pending:
        count = sum(len(entry["verbs"]) * len(entry.get("resources") or [1]) for entry in judged.pending)
        yield rules.PENDING.finding(place, name=install.name, why=f"{count} permissions are not granted")
    elif not judged.applied and not (judged.content.missing or judged.content.problem):
        yield rules.PENDING.finding(place, name=install.name, why="its updates are approved by hand")
    for image in judged.content.missing:
        yield rules.NO_CONTENT.finding(place, who=f"Install {install.name}", image=image)
    if judged.content.problem:
        yield rules.NOT_APPLIED.finding(place, name=install.name, problem=judged.content.problem)
    for item in judged.content.items:
        named = item.get("manifestImage")
        if named and "@" not in named:
            yield rules.NOT_PINNED.finding(place, image=named)


def unread_catalogs(outcomes: Sequence[Outcome], cluster: Cluster, options: Options) -> Iterator[Diagnostic]:
    """Catalogs without content that only Operators are resolved in: those of Subscriptions are told anyway."""
    if not any(outcome.operator.catalog for outcome in outcomes):
        return
    told = {catalog.key for catalog in needed_catalogs(cluster, options)}
    every = needed_catalogs(cluster, options, clusterwide=True)
    yield from without_content([catalog for catalog in every if catalog.key not in told], options)
