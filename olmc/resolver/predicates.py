"""What a bundle requires of another one, read from its properties, and whether a bundle meets it (R-CAT-320,
R-CAT-330, R-CAT-331).

Rules in CEL go through cel-expr-python, the CEL project's own binding of its C++ library. It is the only Python
library with CEL's type checker, which OLM runs: a rule that does not compile, or is not of type Bool, stops the
resolution with the checker's message. It is imported when the first rule is met, since hardly any workspace has one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from olmc.gojson import DecodeError, decode
from olmc.model.catalog import Property
from olmc.model.limits import CEL_STEPS, Limit
from olmc.model.objects import GVK
from olmc.resolver.cel_cost import longest_in, rule_cost
from olmc.resolver.snapshot import Entry
from olmc.semver import Range, RangeError, VersionError, parse_range, parse_strict, parse_tolerant
from olmc.strconv import quoted

__all__ = [
    "MAX_SIZE",
    "REQUIREMENTS",
    "And",
    "CelCostError",
    "CelError",
    "CelMissingError",
    "CelPredicate",
    "ConstraintError",
    "LabelPredicate",
    "Not",
    "Or",
    "PackagePredicate",
    "Predicate",
    "ProvidingAPIPredicate",
    "Rule",
    "compile_rule",
    "matches",
    "predicate_of",
    "printed",
    "requirements",
    "semver_compare",
    "wording",
]

if TYPE_CHECKING:
    from cel_expr_python import cel  # type: ignore[import-untyped]


Rule = Callable[[Sequence[tuple[str, object]]], bool]


class CelError(ValueError):
    """A rule that doesn't compile or isn't of type Bool; its message is OLM's."""


class CelMissingError(Exception):
    """The CEL library is not installed (there is none for musl), so a rule can't be judged."""


class CelCostError(CelMissingError):
    """A rule may take more steps than anybody waits for, so it can't be judged."""

    def __init__(self, steps: int, limit: Limit) -> None:
        most = f"{steps:,}" if steps < _SHOWN_STEPS else "more steps than can be counted"
        super().__init__(f"it may take {most} steps, more than {limit.most:,} ({limit.variable} raises the limit)")


_SHOWN_STEPS = 10**18


@lru_cache(maxsize=256)
def compile_rule(rule: str) -> Rule:
    """A function that says whether `rule` holds for the (type, value) pairs of a bundle's properties.

    An error while it is evaluated counts as "does not hold". Raises CelError and CelMissingError, as the function
    raises CelCostError.
    """
    cost = rule_cost(rule)
    if cost.steps(1) > CEL_STEPS.most:  # compiling it may already be too much
        raise CelCostError(cost.steps(1), CEL_STEPS)
    environment = _environment()
    try:
        program = environment.compile(rule)
    except RuntimeError as error:
        raise CelError(_message(str(error))) from None
    if program.return_type().name() != "BOOL":
        raise CelError("cel expressions must have type Bool")

    def holds(properties: Sequence[tuple[str, object]]) -> bool:
        steps = cost.steps(max(len(properties), *(longest_in(value) for _, value in properties), 0))
        if steps > CEL_STEPS.most:
            raise CelCostError(steps, CEL_STEPS)
        data = {"properties": [{"type": name, "value": _as_decoded(value)} for name, value in properties]}
        try:
            result = program.eval(data=data)
        # Rules look into properties of any shape, so a missing key only means that this bundle is none (R-CAT-331).
        except RuntimeError:
            return False
        return result.type().name() == "BOOL" and bool(result.value())

    return holds


def cel_problem(rule: str) -> str:
    """What is wrong with a CEL rule, "" for nothing."""
    try:
        compile_rule(rule)
    except CelError as error:
        return str(error)
    except CelMissingError as error:
        return f"it can't be judged, since the CEL library can't be loaded ({error})"
    return ""


@lru_cache(maxsize=1)
def _environment() -> cel.Env:
    try:
        from cel_expr_python import cel
    except ImportError as error:
        raise CelMissingError(str(error)) from error
    anything = cel.Type("google.protobuf.Any")
    overload = cel.Overload(
        "semver_compare", return_type=cel.Type.INT, parameters=[anything, anything], impl=semver_compare
    )
    return cel.NewEnv(
        variables={"properties": cel.Type.List(cel.Type.Map(cel.Type.STRING, cel.Type.DYN))},
        functions=[cel.FunctionDecl("semver_compare", [overload])],
    )


def _message(error: str) -> str:
    """The checker's report without the status that the C++ library wraps around it."""
    return error.removeprefix("INVALID_ARGUMENT: ").removesuffix(" [INVALID_ARGUMENT]")


def _as_decoded(value: object) -> object:
    """A JSON value as Go decodes it: every number is a double."""
    match value:
        # Before the numbers, as Python counts it among them.
        case bool():
            return value
        case int() | float() | Decimal():
            return float(value)
        case Mapping():
            return {str(key): _as_decoded(each) for key, each in value.items()}
        case list() | tuple():
            return [_as_decoded(each) for each in value]
        case _:
            return value


def semver_compare(left: Any, right: Any) -> int:
    """-1, 0 or 1 as the version that `left` prints is lower, equal or higher; VersionError when one is no
    version.
    """
    return parse_tolerant(printed(left)).compare(parse_tolerant(printed(right)))


def printed(value: Any) -> str:
    """`value` as Go's fmt.Sprint prints it, as far as the result could be read as a version."""
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return _printed_float(value)
        case _:
            # Lists, maps, null, bytes, times: Go prints something that is never a version.
            return repr(value)


def _printed_float(value: float) -> str:
    """Outside this span Go writes an exponent, which no version has."""
    if value == 0 or 1e-4 <= abs(value) < 1e6:
        return format(Decimal(repr(value)), "f").removesuffix(".0")
    return f"{value:e}"


MAX_SIZE = 131072
REQUIREMENTS = frozenset({"olm.gvk.required", "olm.package.required", "olm.label.required", "olm.constraint"})
"""The types of properties that state a requirement."""


class ConstraintError(ValueError):
    """A requirement that can't be read, which stops the whole resolution; its message is OLM's."""


@dataclass(frozen=True, slots=True)
class ProvidingAPIPredicate:
    """Provides this API."""

    api: GVK


@dataclass(frozen=True, slots=True)
class PackagePredicate:
    """Is of this package, in a version inside the range."""

    name: str
    text: str
    range: Range = field(compare=False)


@dataclass(frozen=True, slots=True)
class LabelPredicate:
    """Carries this label."""

    label: str


@dataclass(frozen=True, slots=True)
class And:
    """Meets all of these, one bundle by itself."""

    members: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Meets at least one of these."""

    members: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """Meets none of these."""

    members: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class CelPredicate:
    """Satisfies a CEL rule."""

    rule: str
    message: str
    holds: Rule = field(compare=False)


Predicate = ProvidingAPIPredicate | PackagePredicate | LabelPredicate | And | Or | Not | CelPredicate


def wording(predicate: Predicate) -> str:
    """The predicate in OLM's words (R-CAT-540)."""
    match predicate:
        case ProvidingAPIPredicate(api):
            return f"providing an API with group: {api.group}, version: {api.version}, kind: {api.kind}"
        case PackagePredicate(name, text):
            return f"with package: {name} and with version in range: {text}"
        case LabelPredicate(label):
            return f"with label: {label}"
        case And(members):
            return " and ".join(map(wording, members))
        case Or(members):
            return " or ".join(map(wording, members))
        case Not(members):
            # Without a "not" in front: of a single member OLM's text says the opposite of what is meant (R-CAT-540).
            return " and not ".join(map(wording, members))
        case CelPredicate(rule, message):
            return f"with constraint: {quoted(rule)} and message: {quoted(message)}"


def matches(predicate: Predicate, item: Entry) -> bool:
    """Whether `item` meets the predicate (R-CAT-320)."""
    match predicate:
        case ProvidingAPIPredicate(api):
            return api in item.apis
        case PackagePredicate():
            return _in_package(predicate, item)
        case LabelPredicate(label):
            return label in item.labels
        case And(members):
            return all(matches(member, item) for member in members)
        case Or(members):
            return any(matches(member, item) for member in members)
        case Not(members):
            return not any(matches(member, item) for member in members)
        case CelPredicate():
            return predicate.holds([(each.type, each.value) for each in item.properties])


def _in_package(predicate: PackagePredicate, item: Entry) -> bool:
    # The package that it was served in counts as well as those that its properties name (R-CAT-320).
    if item.package != predicate.name and all(name != predicate.name for name, _ in item.packages):
        return False
    if any(_declared_inside(version, predicate.range) for _, version in item.packages):
        return True
    version = item.version
    return version is not None and predicate.range.contains(version)


def _declared_inside(text: str, allowed: Range) -> bool:
    try:
        return allowed.contains(parse_strict(text))
    except VersionError:
        return False


def requirements(properties: Iterable[Property]) -> tuple[Predicate, ...]:
    """The requirements among the properties of a bundle, in their order; other properties ask for nothing.

    Raises ConstraintError for the first that can't be read, and cel.CelMissingError.
    """
    predicates = (predicate_of(predicate) for predicate in properties)
    return tuple(predicate for predicate in predicates if predicate is not None)


def predicate_of(declared: Property) -> Predicate | None:
    """The requirement that a property states, None when it states none; raises as `requirements` does."""
    try:
        match declared.type:
            case "olm.gvk.required":
                return ProvidingAPIPredicate(GVK(**decode(declared.type, declared.value)))
            case "olm.package.required":
                return _package_predicate(decode(declared.type, declared.value))
            case "olm.label.required":
                return LabelPredicate(**decode(declared.type, declared.value))
            case "olm.constraint":
                return _constraint(declared.value)
            case _:
                return None
    except (DecodeError, RangeError) as error:
        raise ConstraintError(str(error)) from None


def _package_predicate(fields: Mapping[str, str]) -> PackagePredicate:
    text = fields["versionRange"]
    return PackagePredicate(fields["packageName"], text, parse_range(text))


def _constraint(value: object) -> Predicate:
    """The predicate of an `olm.constraint`; unknown fields are errors, and so is more than MAX_SIZE (R-CAT-330)."""
    if len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()) > MAX_SIZE:
        cause = f"olm.constraint value is greater than max constraint size {MAX_SIZE} bytes"
        raise ConstraintError(f"parse olm.constraint: {cause}")
    # Strictly, unlike all other types of properties: an unknown field of a constraint stops the resolution (R-CAT-330).
    try:
        constraint = decode("olm.constraint", value, strict=True)
    except DecodeError as error:
        raise ConstraintError(f"parse olm.constraint: {error}") from None
    try:
        return _convert(constraint)
    except (ConstraintError, RangeError, CelError) as error:
        raise ConstraintError(f"convert olm.constraint to resolver predicate: {error}") from None


def _convert(constraint: Mapping[str, Any]) -> Predicate:
    """The predicate of a decoded constraint: of several kinds given, the first in OLM's order counts."""
    # More than one kind is no error to OLM: the rest is ignored (R-CAT-330).
    if (api := constraint["gvk"]) is not None:
        return ProvidingAPIPredicate(GVK(**api))
    if (package := constraint["package"]) is not None:
        return _package_predicate(package)
    for name, combination in (("all", And), ("any", Or), ("not", Not)):
        if (compound := constraint[name]) is not None:
            return combination(tuple(map(_convert, compound["constraints"] or ())))
    if (cel := constraint["cel"]) is not None:
        return CelPredicate(cel["rule"], constraint["failureMessage"], compile_rule(cel["rule"]))
    raise ConstraintError("constraint is empty")
