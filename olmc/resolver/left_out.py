"""Packages of a catalog that `olmc vendor` has left out: whether a resolution would have to look at one, and which
packages a resolution can look at in the first place."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from olmc.model.catalog import Candidate, LeftOutPackage, Property, SubscriptionRequest, VisibleCatalog
from olmc.model.cel_account import CelAccount, CelMissingError
from olmc.model.diagnostics import Location
from olmc.model.objects import CatalogKey
from olmc.resolver.predicates import (
    And,
    CelPredicate,
    ConstraintError,
    LabelPredicate,
    Not,
    Or,
    PackagePredicate,
    Predicate,
    ProvidingAPIPredicate,
    requirements,
    wording,
)
from olmc.resolver.snapshot import Entry, Snapshot, entry_of_candidate

__all__ = ["NotVendoredError", "PackageKey", "check_request", "check_requirement", "package_of_entries", "reachable"]

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
    """Whether some bundle of a package may meet a requirement, by what is known of all of them together.

    Versions don't count: that none is in a range is known only to whoever has them.
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
    """What is to be known of a package, should it be left out; everything in order."""
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
    """The packages that a resolution over `catalogs` can look at, whatever versions it chooses: those that are asked
    for, and those with a bundle that may meet a requirement of a bundle of these, or of a CSV, again and again.

    `present` are the properties of each CSV that exists; `any_catalog`: upgrades may come from other catalogs. What is
    left out of a catalog already is among the outcome where it can be looked at.
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
    """The bundles of each package, each once, whatever channels it is in; two of one name may ask for other things."""
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
