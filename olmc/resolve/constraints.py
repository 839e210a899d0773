"""What a bundle requires of another one, read from its properties, and whether a bundle meets it (R-CAT-320,
R-CAT-330).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from olmc.golang.ranges import Range, RangeError, parse_range
from olmc.golang.semver import VersionError, parse_strict, quoted
from olmc.model.catalog import Property
from olmc.model.gvk import GVK
from olmc.resolve.cel import CelError, Rule, compile_rule
from olmc.resolve.decode import DecodeError, kind, lookup, text_fields
from olmc.resolve.view import Item

__all__ = ["Cel", "ConstraintError", "Every", "InPackage", "Labelled", "NoneOf", "Predicate", "Provides", "Some"]
__all__ += ["MAX_SIZE", "REQUIREMENTS", "matches", "predicate_of", "requirements", "wording"]

MAX_SIZE = 131072
REQUIREMENTS = frozenset({"olm.gvk.required", "olm.package.required", "olm.label.required", "olm.constraint"})
"""The types of properties that state a requirement."""


class ConstraintError(ValueError):
    """A requirement that can't be read, which stops the whole resolution; its message is OLM's."""


@dataclass(frozen=True, slots=True)
class Provides:
    """Provides this API."""

    api: GVK


@dataclass(frozen=True, slots=True)
class InPackage:
    """Is of this package, in a version inside the range."""

    name: str
    text: str
    range: Range = field(compare=False)


@dataclass(frozen=True, slots=True)
class Labelled:
    """Carries this label."""

    label: str


@dataclass(frozen=True, slots=True)
class Every:
    """Meets all of these, one bundle by itself."""

    members: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Some:
    """Meets at least one of these."""

    members: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class NoneOf:
    """Meets none of these."""

    members: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Cel:
    """Satisfies a CEL rule."""

    rule: str
    message: str
    holds: Rule = field(compare=False)


Predicate = Provides | InPackage | Labelled | Every | Some | NoneOf | Cel


def wording(predicate: Predicate) -> str:
    """The predicate in OLM's words (R-CAT-540)."""
    match predicate:
        case Provides(api):
            return f"providing an API with group: {api.group}, version: {api.version}, kind: {api.kind}"
        case InPackage(name, text):
            return f"with package: {name} and with version in range: {text}"
        case Labelled(label):
            return f"with label: {label}"
        case Every(members):
            return " and ".join(map(wording, members))
        case Some(members):
            return " or ".join(map(wording, members))
        case NoneOf(members):
            return " and not ".join(map(wording, members))
        case Cel(rule, message):
            return f"with constraint: {quoted(rule)} and message: {quoted(message)}"


def matches(predicate: Predicate, item: Item) -> bool:
    """Whether `item` meets the predicate (R-CAT-320)."""
    match predicate:
        case Provides(api):
            return api in item.apis
        case InPackage():
            return _in_package(predicate, item)
        case Labelled(label):
            return label in item.labels
        case Every(members):
            return all(matches(member, item) for member in members)
        case Some(members):
            return any(matches(member, item) for member in members)
        case NoneOf(members):
            return not any(matches(member, item) for member in members)
        case Cel():
            return predicate.holds([(each.type, each.value) for each in item.properties])


def _in_package(wanted: InPackage, item: Item) -> bool:
    if item.package != wanted.name and all(name != wanted.name for name, _ in item.packages):
        return False
    if any(_declared_inside(version, wanted.range) for _, version in item.packages):
        return True
    version = item.version
    return version is not None and wanted.range.contains(version)


def _declared_inside(text: str, wanted: Range) -> bool:
    try:
        return wanted.contains(parse_strict(text))
    except VersionError:
        return False


def requirements(properties: Iterable[Property]) -> tuple[Predicate, ...]:
    """The requirements among the properties of a bundle, in their order; other properties ask for nothing.

    Raises ConstraintError for the first that can't be read, and cel.CelMissingError.
    """
    found = (predicate_of(each) for each in properties)
    return tuple(each for each in found if each is not None)


def predicate_of(each: Property) -> Predicate | None:
    """The requirement that a property states, None when it states none; raises as `requirements` does."""
    try:
        match each.type:
            case "olm.gvk.required":
                return Provides(GVK(*text_fields(each.value, "group", "version", "kind")))
            case "olm.package.required":
                name, text = text_fields(each.value, "packageName", "versionRange")
                return InPackage(name, text, parse_range(text))
            case "olm.label.required":
                return Labelled(*text_fields(each.value, "label"))
            case "olm.constraint":
                return _constraint(each.value)
            case _:
                return None
    except (DecodeError, RangeError) as error:
        raise ConstraintError(str(error)) from None


def _constraint(value: object) -> Predicate:
    try:
        _check(value)
    except DecodeError as error:
        raise ConstraintError(f"parse olm.constraint: {error}") from None
    try:
        return _converted(value)
    except (DecodeError, RangeError, CelError) as error:
        raise ConstraintError(f"convert olm.constraint to resolver predicate: {error}") from None


# The fields of each struct and what they hold, as the API's package `constraints` declares them.
_STRUCTS: Mapping[str, Mapping[str, str]] = {
    "Constraint": {
        "failureMessage": "string",
        "cel": "Cel",
        "package": "PackageConstraint",
        "gvk": "GVKConstraint",
        "all": "CompoundConstraint",
        "any": "CompoundConstraint",
        "not": "CompoundConstraint",
    },
    "Cel": {"rule": "string"},
    "PackageConstraint": {"packageName": "string", "versionRange": "string"},
    "GVKConstraint": {"group": "string", "kind": "string", "version": "string"},
    "CompoundConstraint": {"constraints": "[]Constraint"},
}


def _check(value: object) -> None:
    """Refuse what OLM's decoder refuses: sizes, unknown fields, wrong types (R-CAT-330)."""
    if len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()) > MAX_SIZE:
        raise DecodeError(f"olm.constraint value is greater than max constraint size {MAX_SIZE} bytes")
    _check_struct("Constraint", value, "Constraint", "")


def _check_struct(struct: str, value: object, owner: str, path: str) -> None:
    if value is None:
        return
    if not isinstance(value, Mapping):
        raise _mismatch(value, owner, path, f"constraints.{struct}")
    names = {name.lower(): name for name in _STRUCTS[struct]}
    for key, each in value.items():
        name = names.get(key.lower())
        if name is None:
            raise DecodeError(f"json: unknown field {quoted(key)}")
        _check_field(_STRUCTS[struct][name], each, struct, f"{path}.{name}".lstrip("."))


def _check_field(wanted: str, value: object, owner: str, path: str) -> None:
    if wanted == "string":
        if value is not None and not isinstance(value, str):
            raise _mismatch(value, owner, path, "string")
    elif wanted.startswith("[]"):
        if value is not None and not isinstance(value, list | tuple):
            raise _mismatch(value, owner, path, "[]constraints.Constraint")
        for each in value or ():
            _check_struct("Constraint", each, owner, path)
    else:
        _check_struct(wanted, value, owner, path)


def _mismatch(value: object, owner: str, path: str, wanted: str) -> DecodeError:
    place = f"struct field {owner}.{path}" if path else "value"
    return DecodeError(f"json: cannot unmarshal {kind(value)} into Go {place} of type {wanted}")


def _converted(value: object) -> Predicate:
    """The predicate of a checked constraint: of several kinds given, the first in OLM's order counts."""
    constraint = value if isinstance(value, Mapping) else {}
    if (gvk := lookup(constraint, "gvk")) is not None:
        return Provides(GVK(*text_fields(gvk, "group", "version", "kind")))
    if (package := lookup(constraint, "package")) is not None:
        name, text = text_fields(package, "packageName", "versionRange")
        return InPackage(name, text, parse_range(text))
    for name, combination in (("all", Every), ("any", Some), ("not", NoneOf)):
        if isinstance(compound := lookup(constraint, name), Mapping):
            members = lookup(compound, "constraints")
            return combination(tuple(map(_converted, members if isinstance(members, list | tuple) else ())))
    if (cel := lookup(constraint, "cel")) is not None:
        (rule,) = text_fields(cel, "rule")
        (message,) = text_fields(constraint, "failureMessage")
        return Cel(rule, message, compile_rule(rule))
    raise DecodeError("constraint is empty")
