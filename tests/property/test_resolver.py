"""The resolver for any namespace: order never matters, strangers change nothing, answers hold what they promise."""

from __future__ import annotations

from itertools import combinations
from random import Random
from typing import TypeVar

from hypothesis import given
from hypothesis import strategies as st

from olmc.compiler.model.catalog import (
    Candidate,
    InstalledEntry,
    Property,
    ResolveRequest,
    SubscriptionRequest,
    VisibleCatalog,
)
from olmc.compiler.resolver.explain import derivation, reasons
from olmc.compiler.resolver.resolve import resolve
from olmc.k8s.objects import CatalogKey

T = TypeVar("T")
KINDS = st.sampled_from("ABCD")
PACKAGES = ("p", "q", "r")
CATALOGS = (CatalogKey("ns", "cat"), CatalogKey("ns", "aux"), CatalogKey("olm", "glob"))


def api(kind: str) -> dict[str, str]:
    return {"group": "g", "version": "v1", "kind": kind}


@st.composite
def properties(draw: st.DrawFn, package: str, version: str) -> tuple[Property, ...]:
    found = [Property("olm.package", {"packageName": package, "version": version})]
    found += [Property("olm.gvk", api(kind)) for kind in draw(st.lists(KINDS, max_size=2, unique=True))]
    found += [Property("olm.gvk.required", api(kind)) for kind in draw(st.lists(KINDS, max_size=1))]
    if draw(st.integers(0, 9)) == 0:
        found.append(Property("olm.deprecated", {}))
    if draw(st.integers(0, 5)) == 0:
        wanted = {
            "packageName": draw(st.sampled_from(PACKAGES)),
            "versionRange": draw(st.sampled_from([">1.0.0", "<3.0.0"])),
        }
        found.append(Property("olm.package.required", wanted))
    return tuple(found)


@st.composite
def channels(draw: st.DrawFn, catalog: CatalogKey, package: str, channel: str) -> list[Candidate]:
    """A chain of versions; some skip versions between, or have a skipRange."""
    entries: list[Candidate] = []
    for number in range(1, draw(st.integers(1, 4)) + 1):
        version = f"{number}.0.0"
        entries.append(
            Candidate(
                name=f"{package}.v{number}",
                package=package,
                channel=channel,
                catalog=catalog,
                version=version,
                properties=draw(properties(package, version)),
                default_channel=channel == "s",
                replaces=f"{package}.v{number - 1}" if number > 1 else "",
                skips=(f"{package}.v{number - 2}",) if number > 2 and draw(st.booleans()) else (),
                skip_range=draw(st.sampled_from(["", f"<{version}"])),
            )
        )
    return entries


@st.composite
def resolve_requests(draw: st.DrawFn) -> ResolveRequest:
    catalogs = []
    for key in draw(st.lists(st.sampled_from(CATALOGS), min_size=1, max_size=3, unique=True)):
        places = st.tuples(st.sampled_from(PACKAGES), st.sampled_from("st"))
        chosen = draw(st.lists(places, min_size=1, max_size=3, unique=True))
        entries = [entry for package, channel in chosen for entry in draw(channels(key, package, channel))]
        catalogs.append(VisibleCatalog(key, draw(st.sampled_from([0, 0, 5])), tuple(entries)))
    requests = []
    present = []
    for package in draw(st.lists(st.sampled_from(PACKAGES), min_size=1, max_size=3, unique=True)):
        key = draw(st.sampled_from(catalogs)).key
        installed = f"{package}.v1" if draw(st.booleans()) else ""
        starting = draw(st.sampled_from(["", "", f"{package}.v2"]))
        channel = draw(st.sampled_from(["s", "s", "t", ""]))
        requests.append(SubscriptionRequest(f"sub-{package}", package, channel, key, starting, installed))
        if installed:
            present.append(InstalledEntry(installed, "1.0.0", draw(properties(package, "1.0.0"))))
    if draw(st.integers(0, 3)) == 0:
        present.append(InstalledEntry("free.v1", "1.0.0", draw(properties("free", "1.0.0"))))
    return ResolveRequest("ns", tuple(catalogs), tuple(requests), tuple(present))


@given(resolve_requests(), st.randoms(use_true_random=False))
def test_the_order_of_the_input_never_matters_d2(resolve_request: ResolveRequest, random: Random) -> None:
    def shuffled(items: tuple[T, ...]) -> tuple[T, ...]:
        return tuple(random.sample(items, len(items)))

    catalogs = [catalog._replace(entries=shuffled(tuple(catalog.entries))) for catalog in resolve_request.catalogs]
    other = resolve_request._replace(
        catalogs=shuffled(tuple(catalogs)),
        requests=shuffled(resolve_request.requests),
        present=shuffled(resolve_request.present),
    )
    assert resolve(other) == resolve(resolve_request)
    assert derivation(other, resolve(other)) == derivation(resolve_request, resolve(resolve_request))


@given(resolve_requests(), st.sampled_from(CATALOGS), st.booleans())
def test_an_unrelated_package_never_changes_an_answer(
    resolve_request: ResolveRequest, key: CatalogKey, own: bool
) -> None:
    version = "1.0.0"
    found = (
        Property("olm.package", {"packageName": "stranger", "version": version}),
        Property("olm.gvk", api("Stranger")),
        Property("olm.gvk.required", api("A")),
    )
    stranger = Candidate("stranger.v1", "stranger", "s", key, version, found, default_channel=True)
    known = {catalog.key: catalog for catalog in resolve_request.catalogs}
    if own and key in known:
        known[key] = known[key]._replace(entries=(stranger, *known[key].entries))
    else:
        other = CatalogKey("olm", "others")
        known[other] = VisibleCatalog(other, 9, (stranger._replace(catalog=other),))
    assert resolve(resolve_request._replace(catalogs=tuple(known.values()))) == resolve(resolve_request)


@given(resolve_requests())
def test_what_is_picked_fits_together(resolve_request: ResolveRequest) -> None:
    given_answer = resolve(resolve_request)
    if given_answer.message:
        assert given_answer.selections == ()
        assert derivation(resolve_request, given_answer)
        return
    assert len(reasons(resolve_request)) == len(given_answer.selections)
    replaced = {selection.replaces for selection in given_answer.selections}
    staying = [csv for csv in resolve_request.present if csv.name not in replaced]
    together: list[Candidate | InstalledEntry] = [
        *(selection.candidate for selection in given_answer.selections),
        *staying,
    ]
    provided = [api_of(found) for each in together for found in each.properties if found.type == "olm.gvk"]
    assert len(provided) == len(set(provided))
    for each in together:
        for found in each.properties:
            assert found.type != "olm.gvk.required" or api_of(found) in provided
    assert all(
        left.package != right.package
        for left, right in combinations([selection.candidate for selection in given_answer.selections], 2)
    )
    names = {selection.candidate.name for selection in given_answer.selections} | {csv.name for csv in staying}
    assert all(any(name.startswith(f"{request.package}.v") for name in names) for request in resolve_request.requests)


def api_of(found: Property) -> str:
    return str(found.value["kind"])


@given(resolve_requests())
def test_asking_twice_gives_the_same_answer(resolve_request: ResolveRequest) -> None:
    assert resolve(resolve_request) == resolve(resolve_request)
