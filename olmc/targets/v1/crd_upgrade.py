"""CRD upgrade safety: the CRDs of a cluster and those of a bundle → the errors of the preflight (R-V1-CRD-1 …
R-V1-CRD-5).

It is stricter and blinder than `olmc.diff`, which judges what breaks for those who have objects, and shares no
judgement with it. Here every difference in a field that was there is an error unless a check knows that it is harmless:
another default, a field that may be null from now on, another title or type of list. Fields that are new are not looked
at, not even what they require, and a version that is no longer served is no error while it stays in the list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from itertools import combinations
from typing import Any

from olmc.k8s.gojson import DecodeError, decode, encode_plain
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.objects import identical, mapping, mappings, name_of, spec_of, text, texts
from olmc.k8s.strconv import quoted

Schema = Mapping[str, Any]

UNHANDLED = "unhandled changes found"
_LOWEST_COUNTS = ("minItems", "minLength", "minProperties")
_HIGHEST_COUNTS = ("maxItems", "maxLength", "maxProperties")
_NOT_COMPARED = frozenset({"properties", "items", "description"})
_IN_ONE_OF = frozenset({"description", "title", "example", "externalDocs"})
_BRANCHES = ("allOf", "anyOf", "oneOf")
_MAPS = ("patternProperties", "definitions", "dependencies")
# To Kubernetes a number that is too large for it makes another name of it.
_VERSION = regex(r"v([0-9]{1,18})(?:(alpha|beta)([0-9]{1,18}))?")
_MATURITY = {"alpha": 0, "beta": 1, None: 2}


class SchemaIssue(NamedTuple):
    """A difference between two versions of a schema at a path: the check that reports it, its text, and the compared
    values for a difference that no check knows."""

    versions: str
    path: str
    check: str
    text: str
    residues: tuple[Schema, Schema] | None = None

    @property
    def line(self) -> str:
        return f"{self.versions}: {self.path}: {self.check}: {self.text}"


def upgrade_errors(installed: Iterable[Schema], rendered: Iterable[Schema]) -> str:
    """The error of the preflight for the CRDs of a bundle, "" for none; `installed` are those in the cluster
    (R-V1-CRD-1). Lines of one CRD and check are sorted, since upstream's order is random."""
    before = {name_of(crd): crd for crd in installed if is_checked(crd)}
    after = {name_of(crd): crd for crd in rendered if is_checked(crd)}
    problems = []
    for name, crd in sorted(after.items()):
        lines = crd_errors(before[name], crd) if name in before else []
        if lines:
            problems.append(f"validating upgrade for CRD {quoted(name)}: " + "\n".join(lines))
    return "\n".join(problems)


def is_checked(obj: Schema) -> bool:
    """Return whether the preflight looks at an object at all."""
    return obj.get("kind") == "CustomResourceDefinition" and obj.get("apiVersion") == "apiextensions.k8s.io/v1"


def crd_errors(old: Schema, new: Schema) -> list[str]:
    """The errors of one CRD: of the whole, of versions before and after, and of served versions against each other."""
    try:
        old, new = (decode("CustomResourceDefinition", crd, exact=True) for crd in (old, new))
    except DecodeError as error:
        return [str(error)]
    before, after = _schemas(old), _schemas(new)
    same = [issue for name in before if name in after for issue in schema_issues(name, before[name], after[name])]
    return [
        *sorted(_whole_errors(old, new, before, after)),
        *sorted(issue.line for issue in same),
        *sorted(issue.line for issue in _served_issues(old, new)),
    ]


def _schemas(crd: Schema) -> dict[str, Schema]:
    versions = mappings(spec_of(crd).get("versions"))
    return {
        text(version.get("name")): mapping(mapping(version.get("schema")).get("openAPIV3Schema"))
        for version in versions
    }


def _whole_errors(old: Schema, new: Schema, before: Mapping[str, Schema], after: Mapping[str, Schema]) -> Iterator[str]:
    """R-V1-CRD-2."""
    scopes = [text(spec_of(crd).get("scope")) for crd in (old, new)]
    if scopes[0] != scopes[1]:
        yield f"scope: scope changed : {quoted(scopes[0])} -> {quoted(scopes[1])}"
    stored = texts(mapping(old.get("status")).get("storedVersions")) or [
        text(version.get("name"))
        for version in mappings(spec_of(old).get("versions"))
        if version.get("storage") is True
    ]
    deleted = [name for name in stored if name not in after]
    if deleted:
        yield f"storedVersionRemoval: stored versions removed : [{' '.join(deleted)}]"
    for name, schema in before.items():
        if name in after:
            for path in flatten(schema).keys() - flatten(after[name]).keys():
                yield f"existingFieldRemoval: removed field : {name}.{path}"


def flatten(schema: Schema) -> dict[str, Schema]:
    """The schemas inside a schema by their paths (R-V1-CRD-3); where two share one, the later visited counts."""
    flat: dict[str, Schema] = {}
    _flatten(schema, "^", flat)
    return flat


def _flatten(schema: Schema, path: str, flat: dict[str, Schema]) -> None:
    flat[path] = schema
    for step, inner in _inner(schema):
        _flatten(inner, path + step, flat)


def _inner(schema: Schema) -> Iterator[tuple[str, Schema]]:
    """The schemas right inside of one, in the order in which they are visited."""
    items = schema.get("items")
    if isinstance(items, Mapping):
        yield ".items", items
    for keyword, listed in (("items", items), *((keyword, schema.get(keyword)) for keyword in _BRANCHES)):
        if isinstance(listed, list):
            yield from ((f".{keyword}[{index}]", mapping(inner)) for index, inner in enumerate(listed))
    if isinstance(schema.get("not"), Mapping):
        yield ".not", schema["not"]
    yield from ((f".{name}", mapping(inner)) for name, inner in sorted(mapping(schema.get("properties")).items()))
    for keyword in ("additionalProperties", "additionalItems"):
        if isinstance(schema.get(keyword), Mapping):
            yield f".{keyword}", schema[keyword]
    for keyword in _MAPS:
        for name, inner in sorted(mapping(schema.get(keyword)).items()):
            if isinstance(inner, Mapping):
                yield f".{keyword}[{name}]", inner


def schema_issues(versions: str, old: Schema, new: Schema) -> list[SchemaIssue]:
    """Return the differences at the paths of the old schema (R-V1-CRD-4); `versions` is the prefix of lines."""
    before, after = flatten(old), flatten(new)
    return [
        issue
        for path, schema in sorted(before.items())
        for issue in _issues(versions, path, schema, after.get(path, {}))
    ]


def _issues(versions: str, path: str, old: Schema, new: Schema) -> Iterator[SchemaIssue]:
    left = {key: value for key, value in old.items() if key not in _NOT_COMPARED}
    right = {key: value for key, value in new.items() if key not in _NOT_COMPARED}
    if identical(left, right):
        return
    for keyword, compare in _CHECKS.items():
        problem = compare(left.pop(keyword, None), right.pop(keyword, None))
        if problem:
            yield SchemaIssue(versions, path, keyword, problem)
    if not identical(left, right):
        yield SchemaIssue(versions, path, "unhandled", UNHANDLED, (left, right))


def _type(old: Any, new: Any) -> str:
    return f"type changed : {quoted(text(old))} -> {quoted(text(new))}" if old != new else ""


def _default(old: Any, new: Any) -> str:
    before, after = (None if value is None else quoted(_json(value)) for value in (old, new))
    if before == after:
        return ""
    if before is None:
        return f"default added when there was none previously : {after}"
    return f"default value removed : {before}" if after is None else f"default value changed : {before} -> {after}"


def _enum(old: Any, new: Any) -> str:
    before, after = ([_json(value) for value in values or ()] for values in (old, new))
    if not before and after:
        return f"enum constraint added when there was none previously : [{' '.join(sorted(after))}]"
    removed = sorted({*before} - {*after})
    return f"allowed enum values removed : [{' '.join(removed)}]" if removed else ""


def _json(value: Any) -> str:
    return encode_plain(value).decode()


def _bound(name: str, verb: str, sign: int, shown: Callable[[Any], str]) -> Callable[[Any, Any], str]:
    """The check of a lower or an upper bound; `sign` is that of a change that lets less through."""

    def compare(old: Any, new: Any) -> str:
        if new is None or old == new:
            return ""
        if old is None:
            return f"{name} constraint added when there was none previously : {shown(new)}"
        return f"{name} {verb} : {shown(old)} -> {shown(new)}" if (new - old) * sign > 0 else ""

    return compare


def _float(value: float) -> str:
    """A float as Go's %v prints it: with an exponent from a million on."""
    number = Decimal(repr(value)).normalize()
    exponent = number.adjusted()
    if not value or -4 <= exponent < 6:
        return f"{number:f}"
    return f"{number.scaleb(-exponent):f}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def _required(old: Any, new: Any) -> str:
    added = sorted({*texts(new)} - {*texts(old)})
    return f"new required fields: [{' '.join(added)}]" if added else ""


def _pattern(old: Any, new: Any) -> str:
    before, after = text(old), text(new)
    if before == after:
        return ""
    verb = "added" if not before else "removed" if not after else "changed"
    return f"pattern {verb} : {quoted(before)} -> {quoted(after)}"


def _nullable(old: Any, new: Any) -> str:
    if bool(old) == bool(new):
        return ""
    return "nullable added : false -> true" if new else "nullable removed : true -> false"


def _one_of(old: Any, new: Any) -> str:
    before, after = ({_json(_without_words(branch)) for branch in mappings(value)} for value in (old, new))
    if not before and after:
        return f"oneOf constraint added when there was none previously: [{' '.join(sorted(after))}]"
    if before - after:
        return f"allowed oneOf schemas removed: [{' '.join(sorted(before - after))}]"
    return f"allowed oneOf schemas added: [{' '.join(sorted(after - before))}]" if after - before else ""


def _without_words(schema: Schema) -> Schema:
    return {key: value for key, value in schema.items() if key not in _IN_ONE_OF}


_CHECKS: Mapping[str, Callable[[Any, Any], str]] = {
    "type": _type,
    "default": _default,
    "enum": _enum,
    "minimum": _bound("minimum", "increased", 1, _float),
    "maximum": _bound("maximum", "decreased", -1, _float),
    **{keyword: _bound("minimum", "increased", 1, str) for keyword in _LOWEST_COUNTS},
    **{keyword: _bound("maximum", "decreased", -1, str) for keyword in _HIGHEST_COUNTS},
    "required": _required,
    "pattern": _pattern,
    "nullable": _nullable,
    "oneOf": _one_of,
}


def _served_issues(old: Schema, new: Schema) -> list[SchemaIssue]:
    """Return the differences between the served versions of the new CRD that the old one does not have (R-V1-CRD-5)."""
    if text(mapping(spec_of(new).get("conversion")).get("strategy")) == "Webhook":
        return []
    known = _between_served(old)
    return [issue for issue in _between_served(new) if issue not in known]


def _between_served(crd: Schema) -> list[SchemaIssue]:
    schemas = _schemas(crd)
    served = [text(version.get("name")) for version in mappings(spec_of(crd).get("versions")) if version.get("served")]
    pairs = combinations(sorted(served, key=_priority), 2)
    return [issue for one, other in pairs for issue in schema_issues(f"{one} -> {other}", schemas[one], schemas[other])]


def _priority(version: str) -> tuple[int, int, int, tuple[int, ...]]:
    """The order of Kubernetes' versions, the most stable and newest last; other names come before all of them."""
    match = _VERSION.fullmatch(version)
    if match is None:
        # Among these the first by name has the highest priority, so one before those that begin with it.
        return (-1, 0, 0, (*(-byte for byte in version.encode()), 1))
    return (_MATURITY[match[2]], int(match[1]), int(match[3] or 0), ())
