"""Bundle directories as entries of a catalog."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from catalog_workshop import bundle, crd

from olmc.compiler.catalogs.content import served_properties
from olmc.compiler.catalogs.loading import load_catalog
from olmc.compiler.catalogs.properties import UncataloguedBundle, bundle_properties, related_images
from olmc.k8s.diagnostics import Report
from olmc.k8s.yaml import read

GROUP = "things.example.com"
KETTLE = crd(f"kettles.{GROUP}", "Kettle", "v1alpha1", "v1")


def rendered(loose: UncataloguedBundle) -> list[tuple[str, Any]]:
    report = Report()
    found = bundle_properties(loose, report)
    assert not list(report)
    return [(each.type, each.value) for each in found]


def test_package_and_provided_apis_become_properties() -> None:
    """R-CAT-300 points 2, 4, 5, 6; R-CAT-104: every version of a CRD counts; R-CAT-112: by type and value."""
    assert rendered(bundle("p.v1", "1.0.0", objects=(KETTLE,))) == [
        ("olm.gvk", {"group": GROUP, "kind": "Kettle", "version": "v1"}),
        ("olm.gvk", {"group": GROUP, "kind": "Kettle", "version": "v1alpha1"}),
        ("olm.package", {"packageName": "p", "version": "1.0.0"}),
    ]


def test_api_services_and_requirements_become_properties() -> None:
    """R-CAT-104, R-CAT-300 points 4 and 8."""
    served = {"name": "gauges", "group": GROUP, "version": "v1", "kind": "Gauge"}
    needed = {"name": f"lids.{GROUP}", "version": "v1", "kind": "Lid"}
    spec = {
        "apiservicedefinitions": {"owned": [served], "required": [{**served, "kind": "Dial"}]},
        "customresourcedefinitions": {"required": [needed, needed]},
    }
    assert rendered(bundle("p.v1", "1.0.0", spec=spec)) == [
        ("olm.gvk", {"group": GROUP, "kind": "Gauge", "version": "v1"}),
        ("olm.gvk.required", {"group": GROUP, "kind": "Dial", "version": "v1"}),
        ("olm.gvk.required", {"group": GROUP, "kind": "Lid", "version": "v1"}),
        ("olm.package", {"packageName": "p", "version": "1.0.0"}),
    ]


def test_a_v1beta1_crd_also_provides_its_single_version() -> None:
    """R-CAT-104; a CRD of another version provides nothing."""
    old = {**KETTLE, "apiVersion": "apiextensions.k8s.io/v1beta1", "spec": {**KETTLE["spec"], "version": "v0"}}
    strange = {**KETTLE, "apiVersion": "apiextensions.k8s.io/v2"}
    versions = [value["version"] for kind, value in rendered(bundle("p.v1", objects=(old,))) if kind == "olm.gvk"]
    assert versions == ["v0", "v1", "v1alpha1"]
    assert [kind for kind, _ in rendered(bundle("p.v1", objects=(strange,)))] == ["olm.package"]


def test_the_last_of_several_packages_wins() -> None:
    """R-CAT-300 point 5: the annotation of the CSV comes after metadata/."""
    other = {"type": "olm.package", "value": {"packageName": "q", "version": "9.9.9"}}
    annotations = {
        "olm.properties": '[{"type":"olm.package","value":{"packageName":"r","version":"2.0.0","release":"1"}}]'
    }
    assert rendered(bundle("p.v1", "1.0.0", properties=(other,))) == [
        ("olm.package", {"packageName": "p", "version": "1.0.0"})
    ]
    assert rendered(bundle("p.v1", "1.0.0", properties=(other,), annotations=annotations)) == [
        ("olm.package", {"packageName": "r", "version": "2.0.0", "release": "1"})
    ]


@pytest.mark.parametrize(("release", "text"), [("a.1", "a.1"), (3, "3"), (2.5, "2.5"), (3.0, "3")])
def test_a_release_is_part_of_the_package(release: object, text: str) -> None:
    """R-CAT-108."""
    assert rendered(bundle("p.v1", "1.0.0", spec={"release": release}))[0][1]["release"] == text


def test_other_properties_are_taken_over_once() -> None:
    """R-CAT-300 points 1 and 3: of two with the same type and value the second is dropped."""
    level = {"type": "acme.level", "value": {"b": 1, "a": [True]}}
    annotations = {"olm.properties": '[{"type":"acme.level","value":{"a":[true],"b":1}},{"type":"x","value":"<"}]'}
    assert rendered(bundle("p.v1", "1.0.0", properties=(level, level), annotations=annotations)) == [
        ("acme.level", {"a": [True], "b": 1}),
        ("olm.package", {"packageName": "p", "version": "1.0.0"}),
        ("x", "<"),
    ]


def test_dependencies_become_requirements() -> None:
    """R-CAT-300 point 7, R-CAT-301."""
    dependencies = (
        {"type": "olm.gvk", "value": {"version": "v1", "kind": "Lid", "group": GROUP}},
        {"type": "olm.package", "value": {"version": ">=1.0.0", "packageName": "stove"}},
        {"type": "olm.constraint", "value": {"failureMessage": "no"}},
    )
    found = rendered(bundle("p.v1", "1.0.0", dependencies=dependencies))
    assert found == [
        ("olm.constraint", {"failureMessage": "no"}),
        ("olm.gvk.required", {"group": GROUP, "kind": "Lid", "version": "v1"}),
        ("olm.package", {"packageName": "p", "version": "1.0.0"}),
        ("olm.package.required", {"packageName": "stove", "versionRange": ">=1.0.0"}),
    ]
    assert list(found[1][1]) == ["group", "kind", "version"]


def test_a_label_dependency_is_warned_of() -> None:
    """R-CAT-300, D14: it becomes a label, which satisfies instead of asking."""
    report = Report()
    label = {"type": "olm.label", "value": {"label": "cooking"}}
    found = bundle_properties(bundle("p.v1", "1.0.0", dependencies=(label,)), report)
    assert (found[0].type, found[0].value) == ("olm.label", {"label": "cooking"})
    assert [each.code for each in report] == ["OLMC253"]


@pytest.mark.parametrize("written", ["{}", "not json", '["a"]', '{"type":"x"}', '[{"type":5}]', "[" * 9_000])
def test_an_annotation_that_is_no_list_is_warned_of_and_ignored(written: str) -> None:
    """R-CAT-300 point 3."""
    report = Report()
    found = bundle_properties(bundle("p.v1", "1.0.0", annotations={"olm.properties": written}), report)
    assert [each.type for each in found] == ["olm.package"]
    assert [each.code for each in report] == ["OLMC254"]
    assert next(iter(report)).message.startswith("failed to unmarshal csv annotation properties: ")


@pytest.mark.parametrize(
    ("loose", "cause"),
    [
        (
            bundle("p.v1", properties=({"type": "olm.gvk", "value": 1},)),
            'parse property[0] of type "olm.gvk": json: cannot unmarshal number into Go value of type property.GVK',
        ),
        (
            bundle("p.v1", dependencies=({"type": "olm.package", "value": {"packageName": 1}},)),
            'parse property[0] of type "olm.package": json: cannot unmarshal number into Go struct field '
            "Package.packageName of type string",
        ),
        (
            bundle("p.v1", spec={"customresourcedefinitions": {"required": [{"name": "lids"}]}}),
            "couldn't parse plural.group from crd name: lids",
        ),
        (bundle("p.v1", spec={"release": [1]}), "release field must be a string or number"),
    ],
)
def test_what_can_not_be_read_is_reported(loose: UncataloguedBundle, cause: str) -> None:
    """R-CAT-104, R-CAT-108, R-CAT-300."""
    report = Report()
    assert bundle_properties(loose, report) == ()
    assert [(each.code, each.message) for each in report] == [
        ("OLMC256", f"error converting properties for internal model: {cause}")
    ]


def test_related_images_are_those_listed_its_own_and_those_of_its_containers() -> None:
    """R-CAT-111."""
    pod = {"containers": [{"image": "c"}, {"image": "listed"}], "initContainers": [{"image": "b"}, {"name": "none"}]}
    spec = {
        "relatedImages": [{"name": "x", "image": "listed"}, {"name": "y", "image": "listed"}],
        "install": {
            "strategy": "deployment",
            "spec": {"deployments": [{"name": "d", "spec": {"template": {"spec": pod}}}, {"name": "empty"}]},
        },
    }
    assert related_images(bundle("p.v1", spec=spec, image="own")) == ("b", "c", "listed", "listed", "own")
    assert related_images(bundle("p.v1", spec={**spec, "install": {"strategy": "other"}})) == ("listed", "listed")
    assert related_images(bundle("p.v1", spec={**spec, "relatedImages": 5}, image="own")) == ("b", "c", "listed", "own")


def _read_loose(folder: Path) -> UncataloguedBundle | None:
    """A bundle directory of the conformance cases, read just as far as this test needs it."""

    def first(path: Path) -> Any:
        documents = read(path.name, path.read_text(encoding="utf-8"), Report())
        return documents[0].value if documents else None

    objects = tuple(first(path) for path in sorted((folder / "manifests").iterdir()))
    metadata: dict[str, Any] = {}
    for path in sorted((folder / "metadata").iterdir()):
        found = first(path)
        metadata.update(found if isinstance(found, dict) else {})
    csv = next((obj for obj in objects if isinstance(obj, dict) and obj.get("kind") == "ClusterServiceVersion"), None)
    package = (metadata.get("annotations") or {}).get("operators.operatorframework.io.bundle.package.v1", "")
    if csv is None:
        return None
    kept = tuple(obj for obj in objects if isinstance(obj, dict) and obj.get("kind"))
    properties, dependencies = (tuple(metadata.get(key) or ()) for key in ("properties", "dependencies"))
    return UncataloguedBundle(package, (), "", csv, kept, properties, dependencies)


def test_real_catalogs_list_the_properties_of_their_bundles(shared: Path) -> None:
    """R-CAT-300, R-CAT-112 against what opm rendered from the same bundles into the real cases' catalogs."""
    compared = 0
    for case in sorted((shared / "conformance" / "cases" / "real").iterdir()):
        loose = [_read_loose(folder) for folder in sorted((case / "input" / "bundles").iterdir())]
        by_name = {each.name: each for each in loose if each is not None}
        for folder in sorted((case / "input" / "catalogs").iterdir()):
            files = {"c.yaml": (folder / "catalog.yaml").read_text(encoding="utf-8")}
            for package in load_catalog("", files, Report()).packages.values():
                for name, listed in package.bundles.items():
                    if name in by_name:
                        compared += 1
                        found = bundle_properties(by_name[name], Report())
                        assert found == served_properties(listed), (case.name, name)
    assert compared >= 55
