"""Explain ClusterExtensions: rows of a status, hops of a resolution, and the findings about each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from olmc.compiler.resolver.explain import ExplanationLine
from olmc.k8s.objects import ObjectKey
from olmc.k8s.yaml import locate
from olmc.review.explain.resolution import ResolutionHop
from olmc.review.explain.status import UNKNOWN, OperatorStatus

if TYPE_CHECKING:
    from olmc.compiler.results import ExtensionOutcome


def extension_states(results: Iterable[ExtensionOutcome]) -> Iterator[OperatorStatus]:
    """A row for each ClusterExtension; its phase is the reason of the condition Progressing."""
    for result in results:
        extension, installed = result.extension, result.installed
        reasons = {condition.type: condition.reason for condition in result.conditions}
        is_unknown = _is_unknown(result)
        yield OperatorStatus(
            namespace=extension.namespace,
            package=extension.source.package,
            subscription="",
            csv=installed.name if installed is not None else "",
            version=installed.version if installed is not None else "",
            channel=",".join(extension.source.channels),
            phase=reasons.get("Progressing", ""),
            reason=UNKNOWN if is_unknown else reasons.get("Installed", ""),
            upgrade=result.further,
            waits=UNKNOWN if is_unknown else "Automatic" if result.further else "",
            missing=tuple(_problem(result)),
            fails=bool(result.problem) and not is_unknown,
            extension=extension.name,
            controller=result.controller,
        )


def _is_unknown(result: ExtensionOutcome) -> bool:
    """Return whether the installed version is unknown; a chosen bundle without content fails."""
    return result.unknown and (result.resolution is None or result.resolution.bundle is None)


def extension_hops(results: Iterable[ExtensionOutcome]) -> Iterator[ResolutionHop]:
    """From what to what each ClusterExtension goes, and why."""
    for result in results:
        extension, before, after = result.extension, result.extension.installed, result.installed
        why = f"ClusterExtension {extension.name}"
        if result.problem:
            why += (
                " can't be resolved" if result.resolution is None or result.resolution.error else " can't be installed"
            )
        elif before == after:
            why += ": nothing to upgrade to"
        elif result.resolution is not None:
            why += f": from catalog {result.resolution.catalog}"
        old, new = (bundle.name if bundle is not None else "-" for bundle in (before, after))
        channels = ",".join(extension.source.channels) or "-"
        yield ResolutionHop(extension.namespace, extension.source.package, old, new, channels, why)


def resolutions_data(results: Iterable[ExtensionOutcome]) -> list[dict[str, Any]]:
    """The resolutions in the format of `schemas/resolution.schema.json`."""
    return [
        {
            "name": result.extension.name,
            "package": result.extension.source.package,
            "bundle": result.resolution.bundle.name if result.resolution and result.resolution.bundle else "",
            "catalog": result.resolution.catalog if result.resolution is not None else "",
            "installed": result.installed.name if result.installed is not None else "",
            "version": result.installed.version if result.installed is not None else "",
            "message": result.problem,
            "catalogs": list(result.derivation),
        }
        for result in results
    ]


def _problem(result: ExtensionOutcome) -> Iterator[ExplanationLine]:
    """Yield the reason why an extension is not installed: the controller's message, and its causes below."""
    head, *rest = result.problem.split("\n")
    if not head:
        return
    yield ExplanationLine(0, head, locate(result.manifest.source, ("spec",)))
    yield from (ExplanationLine(1, line.strip()) for line in rest)
    yield from (ExplanationLine(1, line) for line in result.derivation)
    if result.advice:
        yield ExplanationLine(1, result.advice)


def about_extension(result: ExtensionOutcome) -> Iterator[ExplanationLine]:
    """All that there is to say about a ClusterExtension."""
    yield from _problem(result)
    for condition in result.conditions:
        if condition.type in ("Progressing", "Installed", "Available") and condition.message != result.problem:
            text = f"{condition.type} is {condition.status} ({condition.reason}): {condition.message}"
            yield ExplanationLine(0, text)
    if not result.problem and result.resolution is not None:
        yield ExplanationLine(0, f"it resolves to {_bundle(result)} of catalog {result.resolution.catalog}")
        yield from (ExplanationLine(1, line) for line in result.derivation)
    if result.via:
        yield ExplanationLine(0, f"it passes {', '.join(result.via)} on the way")
    if result.further:
        yield ExplanationLine(0, f"the next resolution goes on to {result.further}")
    if result.missing:
        yield ExplanationLine(0, f"service account {result.extension.service_account} lacks rights")
        yield from (ExplanationLine(1, rule.line) for rule in result.missing)


def refused_extension(name: str, results: Iterable[ExtensionOutcome]) -> Iterator[ExplanationLine]:
    """Yield why the API server refuses a ClusterExtension, nothing for one that it takes."""
    for result in results:
        if result.extension.name == name and result.is_refused:
            yield ExplanationLine(
                0, f"the API server refuses it: {result.problem}", locate(result.manifest.source, ("spec",))
            )


def _bundle(result: ExtensionOutcome) -> str:
    return result.installed.name if result.installed is not None else "-"


def behind_object(key: ObjectKey, results: Sequence[ExtensionOutcome]) -> Iterator[ExplanationLine]:
    """Yield which ClusterExtension brought an object."""
    for result in results:
        if any(rendered.identity == key for rendered in result.objects):
            text = f"because of ClusterExtension {result.extension.name}, which installed {_bundle(result)}"
            yield ExplanationLine(0, text, locate(result.manifest.source, ()))
