"""Whether the components in a cluster are still what an Install has brought (R-OPERATOR-17)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from olmc.gojson import DecodeError, decode
from olmc.model.coerce import mapping
from olmc.model.objects import Identity, KubernetesObject, identity, metadata_of
from olmc.model.operators import CSV_KIND

_OWN = ("olm.", "operators.coreos.com/", "operatorframework.io/properties")


def diverging(content: Iterable[KubernetesObject], given: Iterable[KubernetesObject]) -> tuple[Identity, ...]:
    """The objects of the content that a cluster, given by its objects, lacks or has with other values.

    () if the cluster does not hold a CSV of the content: then nothing was installed yet that could differ.
    """
    there = {identity(obj): _typed(obj) for obj in given}
    wanted = {identity(obj): obj for obj in content}
    if not any(key.kind == CSV_KIND and key in there for key in wanted):
        return ()
    return tuple(sorted(key for key, obj in wanted.items() if key not in there or not _has(there[key], obj)))


def _typed(obj: KubernetesObject) -> KubernetesObject:
    """A CSV as Go's types keep it, which is how the content has it, too; anything else as it is."""
    if obj.get("kind") != CSV_KIND:
        return obj
    try:
        return {**decode(CSV_KIND, obj), "apiVersion": obj["apiVersion"], "kind": CSV_KIND}
    except DecodeError:
        return obj


def _has(there: KubernetesObject, wanted: KubernetesObject) -> bool:
    return all(_contains(there.get(key), value) for key, value in _compared(wanted))


def _compared(obj: KubernetesObject) -> Iterator[tuple[str, Any]]:
    """What of an object counts: everything its author wrote; labels and annotations without those of OLM."""
    for key, value in obj.items():
        if key not in ("apiVersion", "kind", "status", "metadata"):
            yield key, value
    metadata = metadata_of(obj)
    fields = {
        field: {name: text for name, text in mapping(metadata.get(field)).items() if not name.startswith(_OWN)}
        for field in ("labels", "annotations")
    }
    yield "metadata", {field: texts for field, texts in fields.items() if texts}


def _contains(there: Any, wanted: Any) -> bool:
    """Whether everything that is set in `wanted` has that value; what is empty counts as not set."""
    if wanted is None or wanted == {} or wanted == []:
        return True
    if isinstance(wanted, Mapping):
        return isinstance(there, Mapping) and all(_contains(there.get(key), value) for key, value in wanted.items())
    if isinstance(wanted, list):
        return (
            isinstance(there, list)
            and len(there) == len(wanted)
            and all(_contains(one, other) for one, other in zip(there, wanted, strict=True))
        )
    return bool(there == wanted) and isinstance(there, bool) == isinstance(wanted, bool)
