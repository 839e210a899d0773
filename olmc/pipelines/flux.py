"""Output for Flux (kustomize-controller, kustomize.toolkit.fluxcd.io/v1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from olmc.model.coerce import mapping
from olmc.model.objects import Rendered
from olmc.yaml import dump_one

SUBSTITUTE = "kustomize.toolkit.fluxcd.io/substitute"
PRUNE = "kustomize.toolkit.fluxcd.io/prune"
_VARIABLE = "${"
# Deleting one of these deletes what others have put there: everything in a namespace, every custom resource.
_KEPT_KINDS = ("Namespace", "CustomResourceDefinition")


def for_flux(objects: Iterable[Rendered]) -> Iterator[Rendered]:
    """The objects, with those that hold `${` exempt from a Kustomization's postBuild substitution, and Namespaces and
    CRDs from pruning.

    Flux replaces variables in the whole text of an object, those that nobody defines by nothing. An annotation that is
    there already stays.
    """
    for found in objects:
        added = {SUBSTITUTE: "disabled"} if _VARIABLE in dump_one(found.object) else {}
        if found.object["kind"] in _KEPT_KINDS:
            added[PRUNE] = "disabled"
        metadata = found.object["metadata"]
        annotations = {**added, **mapping(metadata.get("annotations"))}
        obj = {**found.object, "metadata": {**metadata, "annotations": annotations}}
        yield found._replace(object=obj) if added else found
