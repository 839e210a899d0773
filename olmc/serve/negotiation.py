"""Which form of an answer a client accepts: the object, its table, or its metadata alone; as JSON or YAML."""

from __future__ import annotations

from typing import Literal, NamedTuple

from olmc.serve.status import not_acceptable

Shape = Literal["object", "table", "metadata"]
JSON, YAML = "application/json", "application/yaml"
META = "meta.k8s.io"
META_VERSIONS = ("v1", "v1beta1")

_SHAPES: dict[str, Shape] = {
    "": "object",
    "Table": "table",
    "PartialObjectMetadata": "metadata",
    "PartialObjectMetadataList": "metadata",
}
_PLAIN = frozenset({"*/*", "application/*", JSON})


class Accepted(NamedTuple):
    """The form that is sent: `version` is that of meta.k8s.io."""

    shape: Shape = "object"
    version: str = "v1"
    media: str = JSON


class _Clause(NamedTuple):
    media: str
    parameters: dict[str, str]
    quality: float


def accepted(header: str) -> Accepted:
    """The best form that an Accept header names; StatusError (406) when there is none."""
    for clause in _clauses(header or "*/*"):
        found = _form(clause)
        if found is not None:
            return found
    raise not_acceptable((JSON, YAML))


def accepts(header: str, media: str, **parameters: str) -> bool:
    """Whether the header names a media type with these parameters, and nothing that is served before it."""
    for clause in _clauses(header):
        if clause.media == media and all(clause.parameters.get(key) == value for key, value in parameters.items()):
            return True
        if clause.media in _PLAIN and "as" not in clause.parameters:
            return False
    return False


def _form(clause: _Clause) -> Accepted | None:
    media = JSON if clause.media in _PLAIN else clause.media
    shape = _SHAPES.get(clause.parameters.get("as", ""))
    if media not in (JSON, YAML) or shape is None:
        return None
    if shape == "object":
        return Accepted(media=media)
    version = clause.parameters.get("v", "")
    if clause.parameters.get("g") != META or version not in META_VERSIONS:
        return None
    return Accepted(shape, version, media)


def _clauses(header: str) -> list[_Clause]:
    """The clauses of an Accept header, best first; those with a quality of 0 are left out."""
    found = []
    for text in header.split(","):
        media, *rest = (part.strip() for part in text.split(";"))
        parameters = {key.strip(): value.strip() for key, _, value in (part.partition("=") for part in rest)}
        found.append(_Clause(media.lower(), parameters, _quality(parameters.get("q", "1"))))
    return sorted((clause for clause in found if clause.quality > 0), key=lambda clause: -clause.quality)


def _quality(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0
