"""Output for Flux (kustomize-controller, kustomize.toolkit.fluxcd.io/v1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from olmc.model.objects import Rendered
from olmc.yaml import dump_one

SUBSTITUTE = "kustomize.toolkit.fluxcd.io/substitute"
_VARIABLE = "${"


def for_flux(objects: Iterable[Rendered]) -> Iterator[Rendered]:
    """The objects, with those that hold `${` exempt from a Kustomization's postBuild substitution.

    Flux replaces variables in the whole text of an object, those that nobody defines by nothing. An annotation that is
    there already stays.
    """
    for found in objects:
        if _VARIABLE not in dump_one(found.object):
            yield found
            continue
        metadata = found.object["metadata"]
        annotations = {SUBSTITUTE: "disabled", **(metadata.get("annotations") or {})}
        yield found._replace(object={**found.object, "metadata": {**metadata, "annotations": annotations}})
