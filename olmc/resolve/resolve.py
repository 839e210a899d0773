"""One round of the resolver for one namespace: what OLM would install next, or why it can't say (R-CAT-500 …
R-CAT-572).
"""

from __future__ import annotations

from collections.abc import Iterable

from olmc.model.diagnostic import Report
from olmc.model.objects import CatalogKey
from olmc.model.resolution import Answer, Candidate, Pick, Present, Question
from olmc.resolve.cel import CelMissingError
from olmc.resolve.remarks import failure, remarks
from olmc.resolve.solver import Selection, select
from olmc.resolve.variables import Draft, Trouble, add_existing, add_subscription, problem_of
from olmc.resolve.view import EXISTING, view_of
from olmc.rules import resolve as rules

__all__ = ["NOT_SATISFIABLE", "PREVENTED", "answer", "drafted", "surviving"]

# The reasons of the Subscription condition ResolutionFailed (R-CAT-653).
NOT_SATISFIABLE = "ConstraintsNotSatisfiable"
PREVENTED = "ErrorPreventedResolution"


def answer(question: Question, report: Report | None = None) -> Answer:
    """What OLM's resolver answers in a namespace: one hop for each Subscription, and the dependencies
    (R-CAT-415).

    `report` gets what a person should know besides: that the namespace can't be resolved, skipRanges that can't be
    read, and CEL rules that can't be judged for want of the library.
    """
    # Without a Subscription nothing is resolved, whatever the CSVs of the namespace lack (R-CAT-500).
    if not question.wishes:
        return Answer()
    try:
        draft, errors = drafted(question)
    except CelMissingError as error:
        if report is not None:
            report.add(rules.CEL_MISSING.finding(None, namespace=question.namespace, cause=error))
        return Answer(message=f"a CEL constraint can't be judged: {error}", reason=PREVENTED)
    selection = Selection() if errors else select(problem_of(draft))
    given = _refused(each.text for each in errors) if errors else _answered(draft, selection)
    if report is not None:
        if given.message:
            rule = rules.NOT_SATISFIABLE if given.reason == NOT_SATISFIABLE else rules.PREVENTED
            report.add(failure(question, draft, errors, given, rule))
        for remark in remarks(question, draft, selection.picked):
            report.add(remark)
    return given


def drafted(question: Question) -> tuple[Draft, list[Trouble]]:
    """The variables of a question, and the errors that stand in the way of a resolution (R-CAT-510 …
    R-CAT-514).

    Raises cel.CelMissingError.
    """
    present, failure = surviving(question)
    draft = Draft(view_of(question, present), unheeded=question.unheeded)
    wishes = sorted(question.wishes, key=lambda each: each.name)
    # Errors of existing CSVs hide those of catalogs, and these hide those of Subscriptions (R-CAT-510). A catalog that
    # can't be read stops the namespace even if no Subscription names it (R-CAT-511).
    errors = add_existing(draft, wishes) or _catalog_errors(question, failure)
    if not errors:
        for wish in wishes:
            errors += add_subscription(draft, wish, legacy_precedence=question.legacy_precedence)
    return draft, errors


def surviving(question: Question) -> tuple[tuple[Present, ...], str]:
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


def _catalog_errors(question: Question, failure: str) -> list[Trouble]:
    """One text for each catalog that can't be used, ordered by namespace and name (R-CAT-511, R-CAT-512)."""
    problems = {catalog.key: catalog.problem for catalog in question.catalogs if catalog.problem}
    if failure:
        problems[CatalogKey(EXISTING, question.namespace)] = failure
    return [
        Trouble(f"error using catalogsource {key.namespace}/{key.name}: {problems[key]}", None)
        for key in sorted(problems, key=lambda each: (each.namespace, each.name))
    ]


def _refused(errors: Iterable[str]) -> Answer:
    """Several errors are one message, as Kubernetes aggregates them: each text once (R-CAT-512)."""
    texts = list(dict.fromkeys(errors))
    return Answer(message=texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]", reason=PREVENTED)


def _answered(draft: Draft, selection: Selection) -> Answer:
    if selection.conflict:
        message = f"constraints not satisfiable: {', '.join(selection.conflict)}"
        return Answer(message=message, reason=NOT_SATISFIABLE, conflict=selection.conflict)
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
        picks.append(Pick(item.origin, draft.replaced.get(picked.identifier) or item.origin.replaces))
    return _refused(errors) if errors else Answer(tuple(picks))
