"""Operators and Installs behind an object: which brought it, and the reasons why they do not install more."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from olmc.compiler.model.operators import CSV_KIND
from olmc.compiler.resolver.explain import ExplanationLine, explain_unresolved, reasons
from olmc.compiler.resolver.resolve import resolve
from olmc.k8s.objects import CatalogKey, ObjectKey, object_key
from olmc.k8s.yaml import at, located

if TYPE_CHECKING:
    from olmc.compiler.model.catalog import Selection
    from olmc.compiler.results import InstallDecision, OperatorResult

IMPORT_FAILED = "ContentImportError"
"""The condition of an Operator whose image is not available (R-OPERATOR-16)."""


def of_operator(outcome: OperatorResult) -> Iterator[ExplanationLine]:
    """Yield the reasons why an Operator does not install or upgrade; the last lines may be about an approval."""
    place = at(outcome.operator.source, "metadata", "name")
    if outcome.failure:
        lines = explain_unresolved(*outcome.unresolved) if outcome.unresolved is not None else ()
        yield from lines or (ExplanationLine(0, outcome.failure[1], place),)
    if outcome.missing:
        text = f"the content of image {outcome.missing} is not in the workspace"
        if outcome.lacking is not None:
            text = f"the content of bundle {outcome.lacking.name} ({outcome.missing}) is not in the workspace"
            place = located(outcome.lacking.location) or place
        elif outcome.operator.image:
            place = at(outcome.operator.source, "spec", "updates", "manifestImage")
        yield ExplanationLine(0, text, place)
    if outcome.problem:
        unreadable = outcome.unreadable
        wrong = at(unreadable.content.csv.source, *unreadable.keys) if unreadable is not None else place
        yield ExplanationLine(0, outcome.problem, wrong)
    if outcome.waiting and not (outcome.waiting.content.missing or outcome.waiting.content.problem):
        yield from of_waiting(outcome.waiting)


def of_waiting(judged: InstallDecision) -> Iterator[ExplanationLine]:
    """Report that an Install waits for somebody, for what, and how to see what comes then."""
    install = judged.install
    place = at(install.source, *(("metadata", "name") if install.operator else ("spec", "approval")))
    yield ExplanationLine(0, f"Install {install.name} waits for approval", place)
    if judged.pending:
        account = f"ServiceAccount {judged.account.namespace}/{judged.account.name}"
        yield ExplanationLine(1, f"{judged.pending_count} permissions are not granted to {account}")
    yield ExplanationLine(1, "--approve-installs shows what approving it would do")


def brought_by(
    key: ObjectKey, operators: Iterable[OperatorResult], installs: Iterable[InstallDecision]
) -> Iterator[ExplanationLine]:
    """The Installs that brought an object, or are applied with it, and the Operators that they were made for."""
    by_name = {outcome.operator.name: outcome for outcome in operators}
    for judged in installs:
        install = judged.install
        is_content = judged.applied and key in set(_content(judged))
        if not is_content and key not in set(map(object_key, judged.made)):
            continue
        verb = "installed it" if is_content else "is applied with it"
        yield ExplanationLine(0, f"Install {install.name} {verb}", None if install.operator else at(install.source))
        for reason in _reasons(key, judged) if is_content else ():
            yield ExplanationLine(0, f"since {reason}")
        if install.operator in by_name:
            yield followed(by_name[install.operator])


def _content(judged: InstallDecision) -> Iterator[ObjectKey]:
    for obj in judged.content.objects:
        key = object_key(obj)
        yield from (key, key._replace(namespace=key.namespace or judged.content.namespace))


def _reasons(key: ObjectKey, judged: InstallDecision) -> Iterator[str]:
    """Return the reason of a CSV's selection, if it was not the Operator itself."""
    for selection, reason, is_own in picked(judged):
        if key.kind == CSV_KIND and selection.candidate.name == key.name and not is_own:
            yield reason


def picked(judged: InstallDecision) -> Iterator[tuple[Selection, str, bool]]:
    """Yield the selections for an Install, the Operator's own first, with the reason of each and whether it was the
    Operator."""
    if judged.resolve_request is None:
        return

    answered = zip(resolve(judged.resolve_request).selections, reasons(judged.resolve_request), strict=True)
    by_entry = {_entry(selection): reason for selection, reason in answered}
    for selection in judged.selections:
        reason = by_entry[_entry(selection)]
        yield selection, reason.text, reason.is_subscription


def _entry(selection: Selection) -> tuple[str, str, CatalogKey]:
    return selection.candidate.name, selection.candidate.channel, selection.candidate.catalog


def followed(outcome: OperatorResult) -> ExplanationLine:
    """Return the request of an Operator, at its place."""
    operator, name = outcome.operator, f"Operator {outcome.operator.name}"
    place = at(operator.source, "spec", "updates")
    if operator.image:
        return ExplanationLine(0, f"{name} installs image {operator.image}", place)
    if operator.catalog is None:
        return ExplanationLine(0, f"{name} only collects components", at(operator.source, "metadata", "name"))
    catalog = f"catalog {outcome.ref.name} in {outcome.ref.namespace}"
    if outcome.fixed:
        return ExplanationLine(0, f"{name} stays at {operator.catalog.entrypoint} of {catalog}", place)
    what = f"package {outcome.package}, channel {outcome.channel}"
    return ExplanationLine(0, f"{name} follows {what} of {catalog}", place)


def of_install(judged: InstallDecision, operators: Iterable[OperatorResult]) -> Iterator[ExplanationLine]:
    """Yield the CSVs that an Install has installed, or waits for, and its Operator."""
    csvs = [str(obj["metadata"]["name"]) for obj in judged.content.objects if obj["kind"] == CSV_KIND]
    if judged.applied and csvs:
        yield ExplanationLine(0, f"it installed {', '.join(csvs)} in namespace {judged.content.namespace}")
    elif judged.applied:
        yield ExplanationLine(0, "its content is applied")
    for image in judged.content.missing:
        yield ExplanationLine(0, f"the content of image {image} is not in the workspace")
    if judged.content.problem:
        yield ExplanationLine(0, judged.content.problem)
    if not (judged.applied or judged.content.missing or judged.content.problem):
        yield from of_waiting(judged)
    for outcome in operators:
        if outcome.operator.name == judged.install.operator:
            yield followed(outcome)
