"""The requirements of a bundle, read from its properties, and whether a bundle meets them (R-CAT-320, R-CAT-330,
R-CAT-331).

Rules in CEL go through cel-expr-python, the CEL project's own binding of its C++ library. It is the only Python library
with CEL's type checker, which OLM runs: a rule that does not compile, or is not of type Bool, stops the resolution with
the checker's message. It is imported for the first rule, since few workspaces have one.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from olmc.compiler.model.catalog import Candidate, LeftOutPackage, Property, SubscriptionRequest, VisibleCatalog
from olmc.compiler.resolver.snapshot import Entry, Snapshot, entry_of_candidate, is_of_package
from olmc.k8s.api.cel_cost import bundle_size, rule_cost
from olmc.k8s.diagnostics import Location
from olmc.k8s.gojson import DecodeError, decode
from olmc.k8s.limits import CelAccount, CelCostError, CelMissingError
from olmc.k8s.objects import GVK, CatalogKey
from olmc.k8s.semver import Range, RangeError, parse_range, parse_tolerant
from olmc.k8s.strconv import quoted

if TYPE_CHECKING:
    from cel_expr_python import cel  # type: ignore[import-untyped]

__all__ = [
    "MAX_SIZE",
    "REQUIREMENTS",
    "And",
    "CelError",
    "CelPredicate",
    "ConstraintError",
    "LabelPredicate",
    "Not",
    "NotVendoredError",
    "Or",
    "PackageKey",
    "PackagePredicate",
    "Predicate",
    "ProvidingAPIPredicate",
    "Rule",
    "check_request",
    "check_requirement",
    "compile_rule",
    "matches",
    "package_of_entries",
    "predicate_of",
    "printed",
    "reachable",
    "requirements",
    "semver_compare",
    "wording",
]

Rule = Callable[[Sequence[tuple[str, object]]], bool]


class CelError(ValueError):
    """A rule that doesn't compile or isn't of type Bool; its message is OLM's."""


def compile_rule(rule: str, account: CelAccount | None = None) -> Rule:
    """A function that says whether `rule` holds for the (type, value) pairs of a bundle's properties.

    An error while it is evaluated counts as "does not hold". What it costs goes to the account, once for each bundle;
    without one it counts for itself. Raises CelError, CelMissingError and CelCostError, and the function
    the last.
    """
    cost, account = rule_cost(rule), account or CelAccount()
    # One that is too much even for a bundle without properties is not worth compiling.
    account.compile(rule, max(cost.compilation, cost.steps()))
    program = _program(rule)
    if program.return_type().name() != "BOOL":
        raise CelError("cel expressions must have type Bool")

    def holds(properties: Sequence[tuple[str, object]]) -> bool:
        # Which lives as long as the account: the properties of a bundle stay the same object from request to request.
        key = rule, id(properties)
        if key not in account.results:
            account.spend(cost.steps(bundle_size(properties)))
            account.results[key] = properties, _holds(program, properties)
        return account.results[key][1]

    return holds


@lru_cache(maxsize=256)
def _program(rule: str) -> Any:
    environment = _environment()
    try:
        return environment.compile(rule)
    except RuntimeError as error:
        _check_own_limits(error)
        raise CelError(_message(str(error))) from None


def _check_own_limits(error: RuntimeError) -> None:
    """Raises CelCostError where the library has met a limit of its own, which OLM's has not."""
    limit = next((limit for limit in _OWN_LIMITS if limit in str(error)), "")
    if limit:
        raise CelCostError(f"it is too much for the CEL library ({limit})") from None


_OWN_LIMITS = ("Iteration budget exceeded", "Expression recursion limit exceeded", "Exceeded max recursion depth")


def _holds(program: Any, properties: Sequence[tuple[str, object]]) -> bool:
    data = {"properties": [{"type": name, "value": _as_decoded(value)} for name, value in properties]}
    try:
        result = program.eval(data=data)
    # Rules look into properties of any shape, so a missing key only means that this bundle is none (R-CAT-331).
    except RuntimeError as error:
        _check_own_limits(error)
        return False
    return result.type().name() == "BOOL" and bool(result.value())


def cel_problem(rule: str) -> str:
    """Return the problem of a CEL rule, "" for nothing."""
    try:
        compile_rule(rule)
    except CelError as error:
        return str(error)
    except CelCostError as error:
        return f"it can't be judged: {error}"
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


def matches(predicate: Predicate, entry: Entry) -> bool:
    """Return whether `entry` meets the predicate (R-CAT-320)."""
    match predicate:
        case ProvidingAPIPredicate(api):
            return api in entry.apis
        case PackagePredicate():
            return _in_package(predicate, entry)
        case LabelPredicate(label):
            return label in entry.labels
        case And(members):
            return all(matches(member, entry) for member in members)
        case Or(members):
            return any(matches(member, entry) for member in members)
        case Not(members):
            return not any(matches(member, entry) for member in members)
        case CelPredicate():
            return predicate.holds(entry.properties)


def _in_package(predicate: PackagePredicate, entry: Entry) -> bool:
    # The package that it was served in counts as well as those that its properties name (R-CAT-320).
    if not is_of_package(entry, predicate.name):
        return False
    return any(predicate.range.contains(version) for version in entry.versions)


def requirements(properties: Iterable[Property], account: CelAccount) -> tuple[Predicate, ...]:
    """The requirements among the properties of a bundle, in their order; other properties ask for nothing.

    What rules in CEL cost goes to the account. Raises ConstraintError for the first that can't be read, CelMissingError
    and CelCostError.
    """
    predicates = (predicate_of(predicate, account) for predicate in properties)
    return tuple(predicate for predicate in predicates if predicate is not None)


def predicate_of(declared: Property, account: CelAccount) -> Predicate | None:
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
                return _constraint(declared.value, account)
            case _:
                return None
    except (DecodeError, RangeError) as error:
        raise ConstraintError(str(error)) from None


def _package_predicate(fields: Mapping[str, str]) -> PackagePredicate:
    text = fields["versionRange"]
    return PackagePredicate(fields["packageName"], text, parse_range(text))


def _constraint(value: object, account: CelAccount) -> Predicate:
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
        return _convert(constraint, account)
    except (ConstraintError, RangeError, CelError) as error:
        raise ConstraintError(f"convert olm.constraint to resolver predicate: {error}") from None


def _convert(constraint: Mapping[str, Any], account: CelAccount) -> Predicate:
    """The predicate of a decoded constraint: of several kinds given, the first in OLM's order counts."""
    # More than one kind is no error to OLM: the rest is ignored (R-CAT-330).
    if (api := constraint["gvk"]) is not None:
        return ProvidingAPIPredicate(GVK(**api))
    if (package := constraint["package"]) is not None:
        return _package_predicate(package)
    for name, combination in (("all", And), ("any", Or), ("not", Not)):
        if (compound := constraint[name]) is not None:
            return combination(tuple(_convert(member, account) for member in compound["constraints"] or ()))
    if (cel := constraint["cel"]) is not None:
        return CelPredicate(cel["rule"], constraint["failureMessage"], compile_rule(cel["rule"], account))
    raise ConstraintError("constraint is empty")


# Packages of a catalog that `olmc vendor` has left out: whether a resolution would have to look at one, and which
# packages a resolution can look at in the first place.

PackageKey = tuple[CatalogKey, str]
"""A package in a catalog."""


class NotVendoredError(Exception):
    """A package that was left out would have to be looked at: which, who asks for it, and where that stands."""

    def __init__(self, catalog: CatalogKey, package: str, asking: str, location: Location | None) -> None:
        where = f"catalog {catalog.name} in {catalog.namespace}"
        super().__init__(f"package {package} of {where} is not vendored: {asking}")
        self.catalog = catalog
        self.package = package
        self.asking = asking
        self.location = location


def check_request(snapshot: Snapshot, request: SubscriptionRequest, *, any_catalog: bool) -> None:
    """Raise NotVendoredError for a Subscription whose package was left out of its catalog, or of any that may serve its
    upgrades."""
    for key, packages in snapshot.left_out.items():
        for package in packages:
            if _is_asked_for(request, key, package, any_catalog=any_catalog):
                asking = f"{request.kind} {request.name} asks for it"
                raise NotVendoredError(key, package.name, asking, request.place_of("name"))


def check_requirement(snapshot: Snapshot, predicate: Predicate, entry: Entry) -> None:
    """Raise NotVendoredError for a requirement of `entry` that a package which was left out may meet."""
    for key, packages in snapshot.left_out.items():
        for package in packages:
            if may_meet(predicate, package):
                asking = f"{entry.name} requires an operator {wording(predicate)}"
                raise NotVendoredError(key, package.name, asking, entry.location)


def _is_asked_for(request: SubscriptionRequest, key: CatalogKey, package: LeftOutPackage, *, any_catalog: bool) -> bool:
    # A Subscription that names no catalog takes the package from any (R-CAT-571).
    seen = any_catalog or request.catalog in (key, CatalogKey("", ""))
    return seen and (not request.package or request.package in (package.name, *package.packages))


def may_meet(predicate: Predicate, package: LeftOutPackage) -> bool:
    """Return whether some bundle of a package may meet a requirement, by the facts about the whole package.

    Versions do not count: without the bundles it is unknown whether any version is in a range.
    """
    match predicate:
        case ProvidingAPIPredicate(api):
            return api in package.apis
        case PackagePredicate(name):
            return name == package.name or name in package.packages
        case LabelPredicate(label):
            return label in package.labels
        case And(members):
            return all(may_meet(member, package) for member in members)
        case Or(members):
            return any(may_meet(member, package) for member in members)
        # Whether a bundle meets these takes all that it says about itself.
        case Not() | CelPredicate():
            return True


def package_of_entries(name: str, entries: Iterable[Candidate]) -> LeftOutPackage:
    """Return the facts to keep of a package that may be left out; everything in order."""
    items = [entry_of_candidate(candidate) for candidate in entries]
    return LeftOutPackage(
        name,
        tuple(sorted({package for entry in items for package, _ in entry.packages} - {name})),
        tuple(sorted({api for entry in items for api in entry.apis})),
        tuple(sorted({label for entry in items for label in entry.labels})),
    )


def reachable(
    catalogs: Sequence[VisibleCatalog],
    requests: Iterable[SubscriptionRequest],
    present: Iterable[Sequence[Property]],
    *,
    any_catalog: bool,
) -> frozenset[PackageKey]:
    """Return the packages that a resolution over `catalogs` can look at with any choice of versions. These are the
    requested packages, and those with a bundle that may meet a requirement of a bundle of these, or of a CSV, and so
    on.

    `present` are the properties of each CSV that exists; `any_catalog`: upgrades may come from other catalogs. Packages
    that are left out of a catalog are in the result if they can be looked at.
    """
    entries = _entries_by_package(catalogs)
    offers = {key: package_of_entries(key[1], members) for key, members in entries.items()}
    offers |= {(catalog.key, package.name): package for catalog in catalogs for package in catalog.left_out}
    asked = [
        key
        for request in requests
        for key, offer in offers.items()
        if _is_asked_for(request, key[0], offer, any_catalog=any_catalog)
    ]
    seen: dict[Predicate, None] = {}
    account = CelAccount()
    reached: dict[PackageKey, None] = {}
    pending = [*asked, *_meeting(offers, present, seen, account)]
    while pending:
        key = pending.pop()
        if key not in reached:
            reached[key] = None
            pending += _meeting(offers, (entry.properties for entry in entries.get(key, ())), seen, account)
    return frozenset(reached)


def _entries_by_package(catalogs: Iterable[VisibleCatalog]) -> Mapping[PackageKey, Sequence[Candidate]]:
    """Return the bundles of each package, each once for all its channels; two of one name may have other
    requirements."""
    entries: dict[PackageKey, dict[tuple[str, int], Candidate]] = defaultdict(dict)
    for catalog in catalogs:
        for entry in catalog.entries:
            entries[catalog.key, entry.package].setdefault((entry.name, id(entry.properties)), entry)
    return {key: tuple(members.values()) for key, members in entries.items()}


def _meeting(
    offers: Mapping[PackageKey, LeftOutPackage],
    bundles: Iterable[Sequence[Property]],
    seen: dict[Predicate, None],
    account: CelAccount,
) -> Iterator[PackageKey]:
    """The packages that may meet requirements of bundles, given by their properties, that were not `seen` before."""
    for properties in bundles:
        try:
            predicates = requirements(properties, account)
        except ConstraintError:
            continue  # the resolution ends there, with an error that names this bundle
        except CelMissingError:
            yield from offers
            continue
        for predicate in predicates:
            if predicate not in seen:
                seen[predicate] = None
                yield from (key for key, offer in offers.items() if may_meet(predicate, offer))
