"""What there is to say about an output for apply: in which order, and how, its objects can be applied."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from olmc.generate.apply_phases import defined_kinds, is_issued, second_phase
from olmc.kube.api_validation.metadata import ANNOTATIONS_LIMIT
from olmc.kube.last_applied import applied_size, is_applied_by_server, is_surely_small
from olmc.model.causes import OversizedAnnotations
from olmc.model.diagnostic import Report
from olmc.model.location import Location
from olmc.model.objects import Rendered
from olmc.model.options import Options
from olmc.model.suggestions import join_limited
from olmc.rules import apply as rules
from olmc.rules.lints import TOO_LARGE_TO_APPLY
from olmc.yaml import at, locate

_SHOWN = 3


def report_large(objects: Iterable[Rendered], options: Options, report: Report) -> None:
    """Report the objects that kubectl can't apply unless the server does it, as it does for Flux and the plugin of
    Argo CD."""
    if options.tool:
        return
    for found in objects:
        source = found.provenance.place.source if found.provenance.place is not None else None
        if (source is not None and is_surely_small(source)) or is_applied_by_server(found.object):
            continue
        size = applied_size(found.object)
        if size > ANNOTATIONS_LIMIT:
            place = at(source) if source is not None else None
            large = TOO_LARGE_TO_APPLY.finding(place, identity=found.identity, size=size, limit=ANNOTATIONS_LIMIT)
            report.add(large.caused_by(OversizedAnnotations(found.identity.kind)))


def report_order(objects: Sequence[Rendered], options: Options, report: Report) -> None:
    """Report the custom resources that can't be applied together with what defines them.

    The plugin of Argo CD puts them into later waves, and Flux applies CRDs first; where cert-manager is to issue the
    certificate of its own webhook, that is not enough for Flux.
    """
    if options.phase or options.tool == "argocd":
        return
    second = second_phase([found.object for found in objects])
    kinds = defined_kinds(found.object for found in objects)
    customs = [found for found in objects if (found.identity.group, found.identity.kind) in kinds]
    issued = [found for found in customs if is_issued(found.object)]
    others = [found for found in customs if not is_issued(found.object)]
    waiting = [found for found in objects if found.identity in second and found not in customs]
    if issued and waiting:
        report.add(rules.ALL_AT_ONCE.finding(_place(issued), objects=_shown(issued)))
    beside = others if issued and waiting else customs
    if beside and not options.tool:
        report.add(rules.BESIDE_THEIR_CRD.finding(_place(beside), objects=_shown(beside)))


def _place(objects: Sequence[Rendered]) -> Location | None:
    """Where the first of some objects comes from."""
    place = objects[0].provenance.place
    return locate(place.source, place.keys) if place is not None else None


def _shown(objects: Sequence[Rendered]) -> str:
    return join_limited([str(found.identity) for found in objects], _SHOWN)
