"""What `answer` reports besides: failures, channels left open, other providers, skipRanges that can't be read."""

from __future__ import annotations

import pytest
from scenes import Scene, scenes

from olmc.compiler.model.catalog import Candidate, ResolveRequest, SubscriptionRequest, VisibleCatalog
from olmc.compiler.resolver.explain import derivation
from olmc.compiler.resolver.resolve import resolve
from olmc.k8s.diagnostics import Diagnostic, Location, Report, Severity
from olmc.k8s.objects import CatalogKey

SCENES = {scene.id: scene for name in ("seed.yaml", "further.yaml", "rules.yaml") for scene in scenes(name)}


def reported(scene: Scene) -> list[Diagnostic]:
    report = Report()
    resolve(scene.resolve_request, report)
    return list(report)


def test_a_conflict_is_a_failure_at_the_first_subscription() -> None:
    scene = SCENES["T-CAT-46"]
    (found,) = reported(scene)
    assert (found.code, found.severity) == ("OLMC510", Severity.FAILURE)
    assert found.message == f"nothing can be installed or upgraded in namespace ns: {scene.message}"
    assert found.location == Location("further.yaml/p")
    assert found.related == (("Subscription q", Location("further.yaml/q")),)


def test_an_error_is_a_failure_r_cat_514() -> None:
    (found,) = reported(SCENES["T-CAT-53"])
    assert (found.code, found.severity) == ("OLMC511", Severity.FAILURE)


def test_a_channel_left_open_d19() -> None:
    (found,) = reported(SCENES["T-CAT-31"])
    assert (found.code, found.severity, found.location) == ("OLMC502", Severity.WARNING, Location("further.yaml/p"))
    assert found.message.endswith("in the channels m, a, b: OLM picks one of them at random, olmc m")


def test_other_providers_r_cat_540() -> None:
    (found,) = reported(SCENES["R-CAT-531 default channels first, of whatever package, then packages by name"])
    assert (found.code, found.severity, found.location) == ("OLMC503", Severity.INFO, Location("rules.yaml/p.v1"))
    assert found.message == (
        "p.v1 requires an operator providing an API with group: example.com, version: v1, kind: X: c.v1 is installed, "
        "the packages a, d would do as well"
    )


def test_a_skip_range_that_cannot_be_read_r_cat_456() -> None:
    scene = SCENES["T-CAT-44"]
    (catalog,) = scene.resolve_request.catalogs
    entries = tuple(entry._replace(skip_range="~1.0.0") for entry in catalog.entries)
    report = Report()
    resolve(scene.resolve_request._replace(catalogs=(catalog._replace(entries=entries),)), report)
    assert [(each.code, each.severity) for each in report] == [("OLMC501", Severity.WARNING)] * 2
    assert report.found[0].message == (
        'the skipRange "~1.0.0" of e.v2 can\'t be read and skips no version: '
        'Could not parse Range "~1.0.0": Could not parse comparator "~" in "~1.0.0"'
    )


@pytest.mark.parametrize("scene_id", ["T-CAT-1", "T-CAT-4", "T-CAT-8", "T-CAT-33", "T-CAT-44"])
def test_nothing_is_said_of_what_is_in_order(scene_id: str) -> None:
    assert reported(SCENES[scene_id]) == []


def test_without_subscriptions_nothing_happens_r_cat_500() -> None:
    broken = VisibleCatalog(CatalogKey("ns", "cat"), problem="failed to list bundles: x")
    report = Report()
    given = resolve(ResolveRequest("ns", (broken,), ()), report)
    assert (given.selections, given.message, list(report)) == ((), "", [])


def test_a_csv_whose_properties_cannot_be_read_is_a_problem_of_the_existing_ones_r_cat_310() -> None:
    scene = SCENES["T-CAT-56"]
    problem = 'failed to retrieve properties of csv "p.v1": failed to unmarshal properties annotation: unexpected EOF'
    broken = VisibleCatalog(CatalogKey("ns", "@existing"), problem=problem)
    given = resolve(scene.resolve_request._replace(catalogs=(*scene.resolve_request.catalogs, broken)))
    assert given.message == f"error using catalogsource ns/@existing: {problem}"


FIELDS = {field: Location("sub.yaml", line) for line, field in enumerate(("name", "channel", "source", "startingCSV"))}


@pytest.mark.parametrize(
    ("wants", "source", "starting", "field"),
    [
        ("q/c", "cat", "", "name"),
        ("p/d", "cat", "", "channel"),
        ("p/c", "other", "", "source"),
        ("p/c", "cat", "p.v9", "startingCSV"),
    ],
)
def test_what_is_not_there_is_pointed_to_by_its_field(wants: str, source: str, starting: str, field: str) -> None:
    key = CatalogKey("ns", "cat")
    package, _, channel = wants.partition("/")
    entry = Candidate("p.v1", "p", "c", key, "1.0.0", ())
    request = SubscriptionRequest(
        "s", package, channel, CatalogKey("ns", source), starting, location=Location("sub.yaml", 9)
    )
    report = Report()
    asked = ResolveRequest("ns", (VisibleCatalog(key, 0, (entry,)),), (request._replace(fields=tuple(FIELDS.items())),))
    given = resolve(asked, report)
    (found,) = report
    assert (found.code, found.location) == ("OLMC510", FIELDS[field])
    assert derivation(asked, given)[-1].location == FIELDS[field]


def test_a_catalog_that_can_not_be_read_is_pointed_to_by_the_source() -> None:
    key = CatalogKey("ns", "cat")
    request = SubscriptionRequest("s", "p", "c", key, location=Location("sub.yaml", 9), fields=tuple(FIELDS.items()))
    report = Report()
    resolve(ResolveRequest("ns", (VisibleCatalog(key, 0, (), "no"),), (request,)), report)
    (found,) = report
    assert (found.code, found.location, found.related) == ("OLMC511", FIELDS["source"], ())
