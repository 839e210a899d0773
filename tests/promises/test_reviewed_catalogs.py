"""Nobody changes the content of a catalog behind a review (docs/diff.md, "Catalogs")."""

from __future__ import annotations

from typing import Any

import pytest

from olmc.compiler.model.catalog import CatalogBundle, Channel, ChannelEntry, Deprecation, Package, Property
from olmc.k8s.objects import ObjectKey
from olmc.review.diff.compare import compare
from olmc.review.diff.crd_kinds import RISK, DiffChange, plain
from olmc.review.diff.extensions import _package
from olmc.review.diff.extensions import _Use as Use
from olmc.review.diff.settings import Side

_CATALOG = ObjectKey("operators.coreos.com", "CatalogSource", "olm", "acme")
_VERSION = Property("olm.package", {"packageName": "kettle", "version": "1.0.0"})
_DIGEST = f"registry.example.com/bundle@sha256:{'0' * 64}"


def _bundle(name: str = "kettle.v1.0.0", **fields: Any) -> CatalogBundle:
    given = {"image": _DIGEST, "properties": (_VERSION,), "related_images": ("registry.example.com/kettle:v1",)}
    return CatalogBundle(name, "kettle", version="1.0.0", **{**given, **fields})


def _changes(old: CatalogBundle, *new: CatalogBundle) -> list[DiffChange]:
    before, after = (
        Package("kettle", "stable", {"stable": Channel("stable", "kettle", tuple(ChannelEntry(b.name) for b in side))},
                {b.name: b for b in side})
        for side in ((old,), new)
    )  # fmt: skip
    return list(_package(_CATALOG, "kettle", before, after, Use(frozenset(), frozenset(), frozenset())))


_ATTACKS = {
    "another registry": [_bundle(image="evil.example.com/bundle@sha256:" + "0" * 64)],
    "a tag for a digest": [_bundle(image="registry.example.com/bundle:v1.0.0")],
    "another digest": [_bundle(image="registry.example.com/bundle@sha256:" + "1" * 64)],
    "no image": [_bundle(image="")],
    "a related image": [_bundle(related_images=("evil.example.com/kettle:v1",))],
    "one more related image": [_bundle(related_images=("registry.example.com/kettle:v1", "evil.example.com/lid:v1"))],
    "a related image that floats": [_bundle(related_images=("registry.example.com/kettle",))],
    "a dependency": [_bundle(properties=(_VERSION, Property("olm.package.required", {"packageName": "evil"})))],
    "an API": [_bundle(properties=(_VERSION, Property("olm.gvk.required", {"kind": "Evil"})))],
    "an API that others ask for": [_bundle(properties=(_VERSION, Property("olm.gvk", {"kind": "Evil"})))],
    "a constraint": [_bundle(properties=(_VERSION, Property("olm.constraint", {"package": {"packageName": "evil"}})))],
    "another version": [_bundle(properties=(Property("olm.package", {"packageName": "kettle", "version": "9.0.0"}),))],
    "objects": [_bundle(properties=(_VERSION, Property("olm.bundle.object", {"data": "eyJraW5kIjoiUm9sZSJ9"})))],
    "a new bundle": [_bundle(), _bundle("kettle.v2.0.0", image="evil.example.com/bundle@sha256:" + "0" * 64)],
    "a new bundle that floats": [_bundle(), _bundle("kettle.v2.0.0", image="registry.example.com/bundle:latest")],
    "a new related image": [_bundle(), _bundle("kettle.v2.0.0", related_images=("evil.example.com/kettle:v2",))],
}


@pytest.mark.parametrize("attack", _ATTACKS)
def test_other_content_of_a_bundle_is_a_risk(attack: str) -> None:
    assert any(change.severity is RISK for change in _changes(_bundle(), *_ATTACKS[attack]))


@pytest.mark.parametrize(
    "check",
    [
        Property("olm.maxOpenShiftVersion", "4.15"),
        Property("olm.constraint", {"failureMessage": "no", "cel": {"rule": "false"}}),
        Property("olm.constraint", {"all": {"constraints": [{"cel": {"rule": "false"}}]}}),
    ],
)
def test_a_check_that_a_bundle_loses_is_a_risk(check: Property) -> None:
    assert any(change.severity is RISK for change in _changes(_bundle(properties=(_VERSION, check)), _bundle()))


def test_a_deprecation_that_ends_is_reported() -> None:
    old, new = (
        Package("kettle", "stable", {"stable": Channel("stable", "kettle", (ChannelEntry("kettle.v1.0.0"),))},
                {"kettle.v1.0.0": _bundle()}, deprecations=deprecations)
        for deprecations in ((Deprecation("olm.bundle", "kettle.v1.0.0", "CVE"),), ())
    )  # fmt: skip
    changes = _package(_CATALOG, "kettle", old, new, Use(frozenset(), frozenset(), frozenset()))
    assert [plain(change.message) for change in changes] == ["version kettle.v1.0.0 of kettle is no longer deprecated"]


def _asking(**catalog: Any) -> Side:
    spec = {"namespace": "n", "source": {"sourceType": "Catalog", "catalog": {"packageName": "kettle", **catalog}}}
    api = "olm.operatorframework.io/v1"
    return Side("", ({"apiVersion": api, "kind": "ClusterExtension", "metadata": {"name": "k"}, "spec": spec},))


def _subscribed(**spec: Any) -> Side:
    api, metadata = "operators.coreos.com/v1alpha1", {"name": "k", "namespace": "n"}
    given = {"name": "kettle", "source": "acme", "sourceNamespace": "olm", **spec}
    return Side("", ({"apiVersion": api, "kind": "Subscription", "metadata": metadata, "spec": given},))


def _labels(name: str) -> dict[str, Any]:
    return {"matchLabels": {"olm.operatorframework.io/metadata.name": name}}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (_asking(version="1.0.0"), _asking(version=">=1.0.0")),
        (_asking(version="1.0.0"), _asking()),
        (_asking(version="1.0.0-rc.1"), _asking(version="1.x")),
        (_asking(selector=_labels("acme")), _asking(selector=_labels("evil"))),
        (_asking(selector=_labels("acme")), _asking()),
        (_subscribed(), _subscribed(source="evil")),
        (_subscribed(), _subscribed(sourceNamespace="evil")),
    ],
)
def test_less_certain_requests_are_risks(old: Side, new: Side) -> None:
    assert any(change.severity is RISK for change in compare(old, new).changes)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (_asking(version=">=1.0.0"), _asking(version="1.0.0")),
        (_asking(version="1.0.0"), _asking(version="1.0.1")),
        (_asking(), _asking(selector=_labels("acme"))),
        (_subscribed(channel="a"), _subscribed(channel="b")),
    ],
)
def test_more_certain_requests_are_none(old: Side, new: Side) -> None:
    assert not any(change.severity is RISK for change in compare(old, new).changes)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (_bundle(), [_bundle(), _bundle("kettle.v2.0.0", image="registry.example.com/bundle:v2.0.0")]),
        (_bundle(image="registry.example.com/bundle:v1"),
         [_bundle(image=f"registry.example.com/bundle:v1@sha256:{'0' * 64}")]),
        (_bundle(), [_bundle(related_images=())]),
        (_bundle(), [_bundle(related_images=("registry.example.com/kettle:v2", "registry.example.com/lid:v1"))]),
        (_bundle(), [_bundle(properties=(_VERSION, Property("olm.csv.metadata", {"description": "x"})))]),
        (_bundle(properties=(_VERSION, Property("olm.package.required", {"packageName": "a"}))), [_bundle()]),
    ],
)  # fmt: skip
def test_more_certain_content_is_no_risk(old: CatalogBundle, new: list[CatalogBundle]) -> None:
    assert not any(change.severity is RISK for change in _changes(old, *new))


def test_the_same_content_is_no_change() -> None:
    assert not _changes(_bundle(), _bundle())


def _catalog_source(**spec: Any) -> Side:
    given = {"sourceType": "grpc", "image": _DIGEST, **spec}
    api, metadata = "operators.coreos.com/v1alpha1", {"name": "acme", "namespace": "olm"}
    return Side("", ({"apiVersion": api, "kind": "CatalogSource", "metadata": metadata, "spec": given},))


def _cluster_catalog(**spec: Any) -> Side:
    given = {"source": {"type": "Image", "image": {"ref": _DIGEST}}, **spec}
    api = "olm.operatorframework.io/v1"
    return Side("", ({"apiVersion": api, "kind": "ClusterCatalog", "metadata": {"name": "a"}, "spec": given},))


def _extracted(folder: str) -> Side:
    return _catalog_source(grpcPodConfig={"extractContent": {"catalogDir": folder, "cacheDir": "/tmp/cache"}})


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (_catalog_source(), _extracted("/evil")),
        (_extracted("/configs"), _extracted("/evil")),
        (_catalog_source(), _catalog_source(runAsRoot=True)),
        (_catalog_source(), _catalog_source(image="evil.example.com/bundle@sha256:" + "0" * 64)),
        (_catalog_source(), _catalog_source(image="registry.example.com/bundle:v1")),
        (_catalog_source(), _catalog_source(grpcPodConfig={"priorityClassName": "system-node-critical"})),
        (_cluster_catalog(availabilityMode="Unavailable"), _cluster_catalog(availabilityMode="Available")),
        (_cluster_catalog(availabilityMode="Unavailable"), _cluster_catalog()),
        (_cluster_catalog(), _cluster_catalog(priority=100)),
    ],
)
def test_another_source_of_a_catalog_is_a_risk(old: Side, new: Side) -> None:
    assert any(change.severity is RISK for change in compare(old, new).changes)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (_catalog_source(), _extracted("/configs")),
        (_catalog_source(), _catalog_source(runAsRoot=False)),
        (_cluster_catalog(availabilityMode="Available"), _cluster_catalog()),
        (
            _catalog_source(grpcPodConfig={"memoryTarget": "1Gi"}),
            _catalog_source(grpcPodConfig={"memoryTarget": "2Gi"}),
        ),
    ],
)
def test_the_same_source_of_a_catalog_is_none(old: Side, new: Side) -> None:
    assert not any(change.severity is RISK for change in compare(old, new).changes)


def test_a_setting_that_is_removed_has_no_value() -> None:
    old = _catalog_source(grpcPodConfig={"securityContextConfig": "restricted"})
    messages = [plain(change.message) for change in compare(old, _catalog_source()).changes]
    assert any("spec.grpcPodConfig.securityContextConfig: the pod" in message for message in messages), messages
