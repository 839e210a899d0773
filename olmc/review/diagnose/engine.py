"""`diagnose`: all causes in a compilation, for every command that judges health."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from olmc.compiler.api import Compilation
from olmc.compiler.model.cluster import Cluster, NamespacedName
from olmc.compiler.model.operators import CSV_KIND
from olmc.compiler.resolver.explain import ExplanationLine
from olmc.compiler.rules.findings.reconcile import HELD_BACK, NOT_SATISFIABLE
from olmc.k8s.diagnostics import Diagnostic, Severity
from olmc.k8s.objects import ObjectKey
from olmc.review.diagnose import bundles, extensions, failures, gitops, installs, upgrades, workloads
from olmc.review.diagnose.diagnosis import Diagnosis, Scene, by_operator, operator_of, row_of
from olmc.review.explain.missing import WhyAnswer
from olmc.review.explain.resolution import ResolutionHop
from olmc.review.explain.status import OperatorStatus

_FINDERS = (*workloads.FINDERS, *gitops.FINDERS, *bundles.FINDERS, upgrades.deprecations)

CURE = "`olmc fix` cures it"
"""The start of a hint with a proven change."""


def scene_of(done: Compilation, *, only_operators: bool = False) -> Scene | None:
    """The scene of a compilation, None for one that failed or is of a bundle by itself; see `Scene`."""
    if done.settled is None or done.workspace is None:
        return None
    return Scene(
        done.settled, done.workspace, done.objects, done.options, done.extensions, done.diagnostics, only_operators
    )


def diagnose(scene: Scene | None, removed: Collection[ObjectKey] = ()) -> tuple[Diagnosis, ...]:
    """All diagnoses of a scene, each once, in the order of their subjects; `removed` are the objects that a plan
    removes from the cluster before."""
    return tuple(dict.fromkeys(_found(scene, removed))) if scene is not None else ()


def _found(scene: Scene, removed: Collection[ObjectKey]) -> Iterator[Diagnosis]:
    for resolving in upgrades.FINDERS:
        yield from (diagnosis._replace(of_resolution=True) for diagnosis in resolving(scene))
    for failing in (*failures.FINDERS, *installs.FINDERS, *extensions.FINDERS):
        yield from (diagnosis._replace(is_shown=True) for diagnosis in failing(scene))
    for find in _FINDERS:
        yield from find(scene)
    yield from gitops.hanging_removals(scene, removed)


def with_diagnoses(rows: Iterable[OperatorStatus], found: Sequence[Diagnosis]) -> tuple[OperatorStatus, ...]:
    """The rows of a status, each with the diagnoses of its operator among what is missing."""
    grouped = by_operator(found)
    return tuple(
        row._replace(
            missing=(*row.missing, *_lines(row, own)),
            causes=_causes_of(row, name, grouped.get(name, ())),
            remedy=next((fix.title for each in grouped.get(name, ()) if (fix := each.finding.fix) is not None), ""),
            is_stalled=any(each.stalls for each in own),
        )
        for row in rows
        for name in (NamespacedName(row.namespace, row.package),)
        for own in ([each for each in grouped.get(name, ()) if not is_shown(each, name)],)
    )


def _causes_of(row: OperatorStatus, name: NamespacedName, found: Sequence[Diagnosis]) -> tuple[str, ...]:
    """The diagnoses that explain a row; its own mistake comes before that of another one, and may be shown already."""
    own = [each for each in found if each.is_shown and each.culprit == name]
    if own and any(line.subscription == row.subscription for line in row.missing):
        return ()
    explaining = own or [each for each in found if not is_shown(each, name) and _explains(each, row)]
    return tuple(dict.fromkeys(each.finding.message for each in explaining))


def _explains(diagnosis: Diagnosis, row: OperatorStatus) -> bool:
    """Return whether a diagnosis is the reason of what a row shows, and not only a remark about its operator."""
    return diagnosis.of_resolution or diagnosis.finding.severity is Severity.FAILURE or not row.missing


def is_shown(diagnosis: Diagnosis, row: NamespacedName) -> bool:
    """Return whether a row shows a diagnosis already: one of another operator that blocks it, it does not."""
    return diagnosis.is_shown and diagnosis.culprit in (None, row)


def _lines(row: OperatorStatus, found: Sequence[Diagnosis]) -> Iterator[ExplanationLine]:
    for diagnosis in found:
        yield from _news(diagnosis, row.missing)


def _news(diagnosis: Diagnosis, known: Iterable[ExplanationLine]) -> Iterator[ExplanationLine]:
    """The lines of a diagnosis without those that are known, also where they go on with a reason."""
    begun = [line.text for line in known]
    for line in diagnosis.lines():
        if not any(line.text == text or line.text.startswith(f"{text} in ") for text in begun):
            yield line


def with_causes(answers: Iterable[WhyAnswer], found: Sequence[Diagnosis], cluster: Cluster) -> tuple[WhyAnswer, ...]:
    """The answers about objects, each with the diagnoses that are about its object or its operator."""
    return tuple(answer._replace(lines=(*answer.lines, *_causes(answer, found, cluster))) for answer in answers)


def _causes(answer: WhyAnswer, found: Sequence[Diagnosis], cluster: Cluster) -> Iterator[ExplanationLine]:
    name = NamespacedName(answer.what.namespace, answer.what.name)
    row = None
    if answer.what.kind == "Subscription" and name in cluster.subscriptions:
        row = row_of(cluster.subscriptions[name])
    elif answer.what.kind == CSV_KIND and name in cluster.csvs:
        row = operator_of(cluster.csvs[name], cluster)
    for diagnosis in found:
        is_about = answer.what in diagnosis.objects or row in diagnosis.operators
        if is_about and (row is None or not is_shown(diagnosis, row)):
            yield from _news(diagnosis, answer.lines)


def hops_with_causes(hops: Iterable[ResolutionHop], found: Sequence[Diagnosis]) -> Iterator[ResolutionHop]:
    """The rows of a resolution; those that go nowhere with the reason, where there is one."""
    grouped = by_operator(found)
    for hop in hops:
        causes = grouped.get(NamespacedName(hop.namespace, hop.operator), ()) if hop.before == hop.after else ()
        # A row has the reason of an upgrade that is held back already.
        texts = [each.finding.message for each in causes if each.of_resolution and each.finding.code != HELD_BACK.code]
        yield hop._replace(why=texts[0]) if texts else hop


def findings(found: Iterable[Diagnosis]) -> Iterator[Diagnostic]:
    """The diagnoses as findings of a check, without those that the compiler or a lint reports already."""
    return (diagnosis.finding for diagnosis in found if not diagnosis.is_reported)


def explained(reported: Iterable[Diagnostic], found: Iterable[Diagnosis]) -> tuple[Diagnostic, ...]:
    """The findings of the compiler, each that a diagnosis explains with its way out."""
    findings = list(reported)
    for diagnosis in (each for each in found if each.is_reported):
        number = next((number for number, each in enumerate(findings) if _is_same(each, diagnosis)), None)
        if number is None:
            number = next((number for number, each in enumerate(findings) if _is_of_namespace(each, diagnosis)), None)
        if number is not None:
            findings[number] = _with_way_out(findings[number], diagnosis)
    return tuple(findings)


def _is_same(reported: Diagnostic, diagnosis: Diagnosis) -> bool:
    own = diagnosis.finding
    return (reported.code, reported.location) == (own.code, own.location)


def _is_of_namespace(reported: Diagnostic, diagnosis: Diagnosis) -> bool:
    """Return whether a finding is that nothing is installed in a namespace of a diagnosis."""
    namespaces = {each.namespace for each in diagnosis.operators}
    return reported.code == NOT_SATISFIABLE.code and any(
        f"namespace {each}:" in reported.message for each in namespaces
    )


def _with_way_out(reported: Diagnostic, diagnosis: Diagnosis) -> Diagnostic:
    own = diagnosis.finding
    fix = reported.fix or own.fix
    if _is_same(reported, diagnosis):
        return reported._replace(hint=own.hint, fix=fix)
    # A failure of the resolver has the derivation of it; what the diagnoses of upgrades find is not in that.
    lines = [*([f"{own.message.rstrip('.')}."] if not diagnosis.is_shown else []), *own.hint.splitlines()]
    known = reported.hint.splitlines()
    return reported._replace(hint="\n".join((*known, *(line for line in lines if line not in known))), fix=fix)
