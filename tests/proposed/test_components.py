"""Components of the dependency graph: nothing is lost, and nothing that belongs together is split (R-OPERATOR-9)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from olmc.compiler.model.catalog import Candidate, Property, ResolveRequest, SubscriptionRequest, VisibleCatalog
from olmc.compiler.resolver.cluster_wide import components
from olmc.k8s.objects import CatalogKey

CATALOG = CatalogKey("olm", "cat")


def gvk(kind: str, required: bool = False) -> Property:
    value = {"group": "example.com", "version": "v1", "kind": kind}
    return Property("olm.gvk.required" if required else "olm.gvk", value)


def entry(package: str, provides: str = "", requires: str = "") -> Candidate:
    properties = [Property("olm.package", {"packageName": package, "version": "1.0.0"})]
    properties += [gvk(kind) for kind in provides] + [gvk(kind, required=True) for kind in requires]
    return Candidate(f"{package}.v1", package, "stable", CATALOG, "1.0.0", tuple(properties))


def resolve_request(*entries: Candidate) -> ResolveRequest:
    requests = tuple(SubscriptionRequest(each.package, each.package, "stable", CATALOG) for each in entries)
    return ResolveRequest("cluster", (VisibleCatalog(CATALOG, entries=entries),), requests)


def parts(asked: ResolveRequest) -> list[list[str]]:
    return [[request.name for request in part.requests] for part in components(asked)]


def test_a_requirement_connects() -> None:
    assert parts(resolve_request(entry("a", requires="K"), entry("b"), entry("c", provides="K"))) == [["a", "c"], ["b"]]


def test_an_api_connects_its_providers() -> None:
    assert parts(resolve_request(entry("a", provides="K"), entry("b", provides="K"))) == [["a", "b"]]


def test_what_nobody_provides_connects_nothing() -> None:
    assert parts(resolve_request(entry("a", requires="K"), entry("b", requires="K"))) == [["a"], ["b"]]


def test_cel_may_mean_anything() -> None:
    rule = {"failureMessage": "no", "cel": {"rule": "properties.exists(p, p.type == 'x')"}}
    odd = entry("a")._replace(properties=(Property("olm.constraint", rule),))
    assert parts(resolve_request(odd, entry("b"), entry("c"))) == [["a", "b", "c"]]


@given(st.lists(st.tuples(st.text("KLMN", max_size=2), st.text("KLMN", max_size=2)), max_size=8))
def test_components_are_a_partition(described: list[tuple[str, str]]) -> None:
    """Every wish is in one component, with its package; no API is in two; the order is that of the lowest wishes."""
    entries = [entry(f"p{number}", *each) for number, each in enumerate(described)]
    found = components(resolve_request(*entries))
    names = [[request.name for request in part.requests] for part in found]
    assert sorted(name for part in names for name in part) == sorted(each.package for each in entries)
    assert [min(part) for part in names] == sorted(min(part) for part in names)
    for part in found:
        mine = {each.package for catalog in part.catalogs for each in catalog.entries}
        assert mine == {request.package for request in part.requests}
        provided = {str(p.value) for c in part.catalogs for e in c.entries for p in e.properties if p.type == "olm.gvk"}
        others = {
            str(p.value) for e in entries if e.package not in mine for p in e.properties if p.type.startswith("olm.gvk")
        }
        assert not provided & others
