"""Changes of a document that cure what the API server or a decoder rejects in it, by the kind of complaint."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from olmc.k8s.diagnostics import POSSIBLE, Source, close_matches
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.objects import mapping, mappings, text
from olmc.k8s.yaml import at
from olmc.k8s.yaml.edit import scalar_at, value_of
from olmc.review.diagnose.diagnosis import AddedItem, Edit, FieldEdit, RemedyCandidate, RemovedItem, Structure

_DECODING = regex(r"cannot unmarshal \w+ into Go (?:struct field|value) .*?of type (\S+)")
_SUPPORTED = regex(r'supported values: ((?:"[^"]*"(?:, )?)+)')
_QUOTED = regex(r'"([^"]*)"')
_NOT_FOUND = regex(r"\bNot found\b")
_WRONG_TYPE = regex(
    r"is (?:a number|an integer|a boolean|true or false), not a (?:text|string)|put it in quotes|must be a string"
)
_DUPLICATE = regex(r"\bDuplicate value\b|list contains duplicates")
_FIXED = regex(
    r"is immutable|may not (?:be )?change|cannot change|may not be (?:changed|updated|specified)|cannot be changed"
)
_LABEL = regex(r"a lowercase RFC 1123 (?:label|subdomain)|a DNS-1035 label|must not contain dots")
_STORAGE = "must have exactly one version marked as storage version"
_CRD_NAME = 'must be spec.names.plural+"."+spec.group'
_NO_DOTS = regex(r"[^a-z0-9-]+")
_DOTS = regex(r"[^a-z0-9.-]+")
_INTEGER = regex(r"-?[0-9]{1,18}\Z")
_INDEX = regex(r"[0-9]{1,9}\Z")
_HINTS_OF_TYPE = (
    ("properties", "object"), ("additionalProperties", "object"), ("items", "array"), ("minItems", "array"),
    ("maxItems", "array"), ("pattern", "string"), ("minLength", "string"), ("maxLength", "string"),
    ("minimum", "integer"), ("maximum", "integer"), ("multipleOf", "integer"),
)  # fmt: skip
_TYPES = ((bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"), (list, "array"), (dict, "object"))
_FORMATS = {"int32": "integer", "int64": "integer", "float": "number", "double": "number"}


class Complaint(NamedTuple):
    """A rejected field: its document, the keys that lead to it, the message, and the object that the cluster has."""

    source: Source
    keys: tuple[str | int, ...]
    text: str
    old: Mapping[str, Any] | None = None


def repairs(complaint: Complaint) -> Iterator[RemedyCandidate]:
    """The changes that may cure a complaint, the least invasive first."""
    if complaint.keys:
        for change in (_retyped, _chosen, _kept, _renamed, _named_crd, _stored, _typed, _without):
            yield from change(complaint)


def field_of(keys: Sequence[str | int]) -> str:
    """Keys as messages name a field: `spec.ports[0].name`."""
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys).lstrip(".")


def keys_of(field: str) -> tuple[str | int, ...]:
    """The keys that lead to a field, as messages name it: `spec.channels[0]`."""
    parts = field.replace("[", ".").replace("]", "").split(".")
    return tuple(int(part) if _INDEX.match(part) else part for part in parts)


def value_at(source: Source, keys: Sequence[str | int]) -> Any:
    """The value at a path of keys in a document as it is written, None where there is none."""
    return _below(value_of(source), keys)


def _below(value: Any, keys: Sequence[str | int]) -> Any:
    for key in keys:
        inside = isinstance(value, Mapping) and key in value
        inside = inside or (isinstance(value, (list, tuple)) and isinstance(key, int) and key < len(value))
        if not inside:
            return None
        value = value[key]
    return value


def set_field(complaint: Complaint, value: Any, keys: Sequence[str | int] = ()) -> RemedyCandidate:
    """The candidate that sets a field, that of the complaint if none is given."""
    where = tuple(keys or complaint.keys)
    structure = Structure.of(value) if isinstance(value, (dict, list)) else value
    shown = structure.json if isinstance(structure, Structure) else _shown(value)
    edit = FieldEdit(complaint.source, where, structure)
    return RemedyCandidate(f"Set {field_of(where)}: {shown} in {complaint.source.path}", (edit,))


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def written_at(source: Source, keys: tuple[str | int, ...]) -> str:
    """A number or a boolean as it is written behind its key, "" for anything else."""
    place = at(source, *keys)
    return scalar_at(source.text, place.line, place.column) if place is not None else ""


def quoted(source: Source, keys: tuple[str | int, ...]) -> RemedyCandidate | None:
    """The candidate that puts a scalar in quotes, None for what is no number or boolean."""
    written = written_at(source, keys)
    if not written:
        return None
    return RemedyCandidate(f'Write "{written}" in quotes in {source.path}', (FieldEdit(source, keys, written),))


def _retyped(complaint: Complaint) -> Iterator[RemedyCandidate]:
    """A scalar of another type: quotes that are missing or too many, or an item that is no list."""
    found = _DECODING.search(complaint.text)
    if found is None:
        if _WRONG_TYPE.search(complaint.text):
            yield from filter(None, [quoted(complaint.source, complaint.keys)])
        return
    wanted, value = found[1].rstrip(",;"), value_at(complaint.source, complaint.keys)
    if wanted == "string" and not isinstance(value, str):
        candidate = quoted(complaint.source, complaint.keys)
        yield from filter(None, [candidate])
    elif isinstance(value, str) and wanted == "bool" and value.lower() in ("true", "false"):
        yield _unquoted(complaint, value, value.lower() == "true")
    elif isinstance(value, str) and "int" in wanted and _INTEGER.match(value.strip()):
        yield _unquoted(complaint, value, int(value))
    elif wanted.startswith("[]") and isinstance(value, (str, dict)):
        yield set_field(complaint, [value])


def _unquoted(complaint: Complaint, written: str, value: bool | int) -> RemedyCandidate:
    edit = FieldEdit(complaint.source, complaint.keys, value)
    return RemedyCandidate(
        f'Write {_shown(value)} without quotes for {field_of(complaint.keys)} in {complaint.source.path}'
        if written.lower() == _shown(value) else set_field(complaint, value).text, (edit,)
    )  # fmt: skip


def _chosen(complaint: Complaint) -> Iterator[RemedyCandidate]:
    """The value that a field can have and that is like its own, or none, so that the default applies."""
    found = _SUPPORTED.search(complaint.text)
    if found is None:
        return
    values, written = _QUOTED.findall(found[1]), text(value_at(complaint.source, complaint.keys))
    alike = [each for each in values if each.lower() == written.lower()]
    alike = alike or [each for each in values if written and (each.startswith(written) or written.startswith(each))]
    alike = alike or list(close_matches(written, values, 1, POSSIBLE))
    yield from (set_field(complaint, value) for value in alike)
    if not alike:
        yield removed_field(complaint)


def _kept(complaint: Complaint) -> Iterator[RemedyCandidate]:
    """The value that the cluster has, of a field that can't change."""
    if complaint.old is None or not _FIXED.search(complaint.text):
        return
    old, new = _below(complaint.old, complaint.keys), value_at(complaint.source, complaint.keys)
    if old is not None and old != new:
        yield set_field(complaint, old)
    elif old is None and new is not None:
        yield removed_field(complaint)


def removed_field(complaint: Complaint) -> RemedyCandidate:
    """The candidate that takes a field out."""
    edit = FieldEdit(complaint.source, complaint.keys, None)
    return RemedyCandidate(f"Remove {field_of(complaint.keys)} from {complaint.source.path}", (edit,))


def _renamed(complaint: Complaint) -> Iterator[RemedyCandidate]:
    """A name with characters that it can't have, without them."""
    value = value_at(complaint.source, complaint.keys)
    if not isinstance(value, str) or not _LABEL.search(complaint.text):
        return
    invalid = _DOTS if "subdomain" in complaint.text else _NO_DOTS
    name = invalid.sub("-", value.lower()).strip("-.")
    if name and name != value:
        yield set_field(complaint, name)


def _named_crd(complaint: Complaint) -> Iterator[RemedyCandidate]:
    """A CRD whose name and plural do not agree: its name is what a CSV and other objects refer to."""
    if _CRD_NAME not in complaint.text:
        return
    spec, name = mapping(value_at(complaint.source, ("spec",))), text(value_at(complaint.source, ("metadata", "name")))
    group, names = text(spec.get("group")), mapping(spec.get("names"))
    if name.endswith(f".{group}"):
        yield set_field(complaint, name.removesuffix(f".{group}"), ("spec", "names", "plural"))
    plural, _, other = name.partition(".")
    if plural == names.get("plural") and other:
        yield set_field(complaint, other, ("spec", "group"))
    yield set_field(complaint, f"{text(names.get('plural'))}.{group}", ("metadata", "name"))


def _stored(complaint: Complaint) -> Iterator[RemedyCandidate]:
    """The version of a CRD to store: the last one that is served."""
    if _STORAGE not in complaint.text:
        return
    versions = mappings(value_at(complaint.source, ("spec", "versions")))
    marked = [number for number, each in enumerate(versions) if each.get("storage") is True]
    served = [number for number, each in enumerate(versions) if each.get("served") is True]
    if not marked and served:
        yield set_field(complaint, True, ("spec", "versions", served[-1], "storage"))
    elif len(marked) > 1:
        wrong = tuple(
            FieldEdit(complaint.source, ("spec", "versions", number, "storage"), value=False) for number in marked[:-1]
        )
        name = versions[marked[-1]].get("name")
        yield RemedyCandidate(f"Store only version {name} in {complaint.source.path}", wrong)


def _typed(complaint: Complaint) -> Iterator[RemedyCandidate]:
    """The type of a schema that has none, where the rest of it shows one; else it takes every value."""
    if complaint.keys[-1] != "type" or "Required value" not in complaint.text:
        return
    schema = mapping(value_at(complaint.source, complaint.keys[:-1]))
    types = [kind for key, kind in _HINTS_OF_TYPE if key in schema]
    given = [schema["default"]] if "default" in schema else list(schema.get("enum") or ())[:1]
    types += [kind for value in given for of, kind in _TYPES if isinstance(value, of)]
    types += [_FORMATS.get(text(schema["format"]), "string")] if "format" in schema else []
    if types:
        yield set_field(complaint, types[0])
    else:
        keys = (*complaint.keys[:-1], "x-kubernetes-preserve-unknown-fields")
        yield set_field(complaint, True, keys)


def _without(complaint: Complaint) -> Iterator[RemedyCandidate]:
    """A reference to nothing, an item that is there twice, or a rule without a verb taken out of its list."""
    keys = complaint.keys
    last = max((number for number, key in enumerate(keys) if isinstance(key, int)), default=-1)
    if last < 0:
        return
    item, inner = keys[: last + 1], keys[last + 1 :]
    if _NOT_FOUND.search(complaint.text):
        yield from _of_volume(complaint, item)
    if _NOT_FOUND.search(complaint.text) or _DUPLICATE.search(complaint.text) or inner == ("verbs",):
        edit = RemovedItem(complaint.source, item)
        yield RemedyCandidate(f"Remove {field_of(item)} from {complaint.source.path}", (edit,))


def _of_volume(complaint: Complaint, item: tuple[str | int, ...]) -> Iterator[RemedyCandidate]:
    """The volume of the pod that a mount may mean."""
    if "volumeMounts" not in item:
        return
    pod = item[: next(number for number, key in enumerate(item) if key in ("containers", "initContainers"))]
    volumes = [text(each.get("name")) for each in mappings(value_at(complaint.source, (*pod, "volumes")))]
    name = text(value_at(complaint.source, complaint.keys))
    for value in close_matches(name, volumes, 1, POSSIBLE):
        yield set_field(complaint, value)


def without_duplicates(source: Source, keys: tuple[str | int, ...]) -> RemedyCandidate | None:
    """The candidate that leaves each value of a list once, None for a list without duplicates."""
    values = value_at(source, keys)
    seen: list[Any] = []
    twice: list[int] = []
    for number, value in enumerate(values if isinstance(values, list) else ()):
        name = value.get("type") if isinstance(value, dict) and "type" in value else value
        if name in seen:
            twice.append(number)
        seen.append(name)
    edits: tuple[Edit, ...] = tuple(RemovedItem(source, (*keys, number)) for number in reversed(twice))
    shown = ", ".join(field_of((*keys, number)) for number in twice)
    return RemedyCandidate(f"Remove {shown}, which is there twice, from {source.path}", edits) if twice else None


def kept_version(complaint: Complaint, name: str) -> Iterator[RemedyCandidate]:
    """The version that a new CRD lacks and objects are stored in, as the cluster has it."""
    versions = mappings(_below(complaint.old or {}, ("spec", "versions")))
    for version in versions:
        if version.get("name") == name:
            edit = AddedItem(complaint.source, ("spec", "versions"), Structure.of({**version, "storage": False}))
            yield RemedyCandidate(f"Keep version {name} of the old CRD in {complaint.source.path}", (edit,))
