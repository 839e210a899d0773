"""CatalogSources that OLM refuses before it looks for what they serve (R-CAT-161)."""

from __future__ import annotations

from collections.abc import Iterator

from olmc.model.diagnostic import Diagnostic
from olmc.model.objects import spec_of
from olmc.review.lints.subject import Lint, Subject, full_name, of_kind
from olmc.rules import lints as rules
from olmc.settle.sources import spec_problem
from olmc.yaml import at


def refused_sources(subject: Subject) -> Iterator[Diagnostic]:
    """CatalogSources whose spec does not say where the catalog comes from."""
    for manifest in of_kind(subject, "CatalogSource"):
        problem = spec_problem(spec_of(manifest.object))
        if problem:
            place = at(manifest.source, "spec", "sourceType")
            yield rules.REFUSED_SOURCE.finding(place, source=full_name(manifest.object), problem=problem)


LINTS: tuple[Lint, ...] = (refused_sources,)
