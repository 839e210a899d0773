"""Catalogs of which only a part was vendored: what is resolved over that part is what is resolved over the whole."""

from __future__ import annotations

import tarfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from test_resolver import resolve_requests

from olmc.compiler.catalogs.content import served_candidates
from olmc.compiler.catalogs.loading import load_catalog
from olmc.compiler.model.catalog import Candidate, ResolveRequest, SubscriptionRequest, VisibleCatalog
from olmc.compiler.resolver.explain import derivation, held_back, reasons
from olmc.compiler.resolver.predicates import package_of_entries, reachable
from olmc.compiler.resolver.resolve import resolve
from olmc.k8s.diagnostics import Report
from olmc.k8s.objects import CatalogKey

KEY = CatalogKey("olm", "community")


def trimmed(resolve_request: ResolveRequest) -> ResolveRequest:
    """The question over what `olmc vendor` would keep of all its catalogs."""
    reached = reachable(
        resolve_request.catalogs,
        resolve_request.requests,
        [csv.properties for csv in resolve_request.present],
        any_catalog=resolve_request.legacy_precedence,
    )
    catalogs = []
    for catalog in resolve_request.catalogs:
        entries = tuple(entry for entry in catalog.entries if (catalog.key, entry.package) in reached)
        gone = sorted({entry.package for entry in catalog.entries} - {entry.package for entry in entries})
        left_out = [package_of_entries(name, (e for e in catalog.entries if e.package == name)) for name in gone]
        catalogs.append(catalog._replace(entries=entries, left_out=tuple(left_out)))
    return resolve_request._replace(catalogs=tuple(catalogs))


def everything_said(resolve_request: ResolveRequest) -> object:
    """The answer, all findings, the derivation of a failure, the reasons of the picks, and what is held back."""
    report = Report()
    resolution = resolve(resolve_request, report)
    because = () if resolution.message else reasons(resolve_request)
    return (
        resolution,
        tuple(report),
        derivation(resolve_request, resolution),
        because,
        held_back(resolve_request, resolution),
    )


@given(resolve_requests(), st.booleans())
def test_a_part_that_is_kept_resolves_as_the_whole(resolve_request: ResolveRequest, any_catalog: bool) -> None:
    resolve_request = resolve_request._replace(legacy_precedence=any_catalog)
    assert everything_said(trimmed(resolve_request)) == everything_said(resolve_request)


@given(resolve_requests(), st.sampled_from("pqr"))
def test_what_was_left_out_is_never_said_to_be_missing(resolve_request: ResolveRequest, package: str) -> None:
    """Over what was kept for others, a new Subscription gets the answer of the whole or hears that it is not known."""
    first, *others = resolve_request.requests
    part = trimmed(resolve_request._replace(requests=tuple(others), present=()))
    later = resolve_request._replace(requests=(first._replace(package=package, installed="", starting=""),), present=())
    over_part = later._replace(catalogs=part.catalogs)
    given_answer, report = resolve(over_part), Report()
    if "is not vendored" in given_answer.message:
        resolve(over_part, report)
        assert [finding.code for finding in report] == ["OLMC644"]
    else:
        assert everything_said(over_part) == everything_said(later)


@pytest.fixture(scope="module")
def entries(shared: Path) -> Sequence[Candidate]:
    """The entries of a real catalog."""
    files = {}
    with tarfile.open(shared / "corpus" / "catalog-v4.20.tar.xz") as archive:
        for member in archive:
            stream = archive.extractfile(member)
            if stream is not None:
                files[member.name.removeprefix("./")] = stream.read().decode()
    return served_candidates(KEY, load_catalog("catalogs/v4.20", files, Report()))


@examples(40)
@given(data=st.data())
def test_a_part_of_a_real_catalog_resolves_as_the_whole(entries: Sequence[Candidate], data: st.DataObject) -> None:
    """Any set of Subscriptions, to packages, channels and versions that there are and to some that there are not."""
    packages = sorted({entry.package for entry in entries})
    requests = []
    for package in data.draw(st.lists(st.sampled_from(packages), min_size=1, max_size=4, unique=True)):
        served = [entry for entry in entries if entry.package == package]
        channel = data.draw(st.sampled_from(["", "no-such-channel", *sorted({entry.channel for entry in served})]))
        starting = data.draw(st.sampled_from(["", "", "no-such.v1.0.0", *sorted({entry.name for entry in served})]))
        asked = data.draw(st.sampled_from([package, package, package, package, package[:-1]]))
        requests.append(SubscriptionRequest(f"sub-{package}", asked, channel, KEY, starting))
    resolve_request = ResolveRequest("ns", (VisibleCatalog(KEY, 0, tuple(entries)),), tuple(requests))
    part = trimmed(resolve_request)
    assert everything_said(part) == everything_said(resolve_request)
    kept = {entry.package for entry in part.catalogs[0].entries}
    assert kept.isdisjoint(package.name for package in part.catalogs[0].left_out)
    assert len(kept) < len(packages) / 2


def test_what_is_required_is_kept_over_all_versions(entries: Sequence[Candidate]) -> None:
    request = SubscriptionRequest("messages", "rabbitmq-messaging-topology-operator", "stable", KEY)
    catalog = VisibleCatalog(KEY, 0, tuple(entries))
    reached = reachable([catalog], [request], [], any_catalog=False)
    assert {name for _, name in reached} == {request.package, "rabbitmq-cluster-operator"}
