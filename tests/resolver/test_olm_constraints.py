"""What properties ask for, OLM's words for it, and which bundles meet it (R-CAT-320, R-CAT-330, R-CAT-540)."""

from __future__ import annotations

from typing import Any

import pytest

from olmc.compiler.model.catalog import Candidate, InstalledEntry, Property
from olmc.compiler.resolver.predicates import MAX_SIZE, ConstraintError, matches, predicate_of, requirements, wording
from olmc.compiler.resolver.snapshot import Entry, entry_of_candidate, entry_of_installed
from olmc.k8s.limits import CelAccount
from olmc.k8s.objects import CatalogKey

GVK = {"group": "g", "version": "v1", "kind": "K"}


def item(*properties: tuple[str, Any], package: str = "p", version: str = "1.0.0") -> Entry:
    found = tuple(Property(name, value) for name, value in properties)
    return entry_of_candidate(Candidate("p.v1", package, "s", CatalogKey("ns", "cat"), version, found))


def required(kind: str, value: Any) -> Any:
    return predicate_of(Property(kind, value), CelAccount())


@pytest.mark.parametrize(
    ("kind", "value", "words"),
    [
        ("olm.gvk.required", GVK, "providing an API with group: g, version: v1, kind: K"),
        ("olm.gvk.required", None, "providing an API with group: , version: , kind: "),
        ("olm.gvk.required", {"Group": "g", "KIND": "K"}, "providing an API with group: g, version: , kind: K"),
        (
            "olm.package.required",
            {"packageName": "q", "versionRange": ">=1.0.0 <2.0.0"},
            "with package: q and with version in range: >=1.0.0 <2.0.0",
        ),
        ("olm.label.required", {"label": "gpu"}, "with label: gpu"),
        ("olm.constraint", {"gvk": GVK, "failureMessage": "m"}, "providing an API with group: g, version: v1, kind: K"),
        ("olm.constraint", {"all": {}}, ""),
        (
            "olm.constraint",
            {"cel": {"rule": 'true || "a" == "b"'}},
            'with constraint: "true || \\"a\\" == \\"b\\"" and message: ""',
        ),
        # The first of several kinds counts, in the order gvk, package, all, any, not, cel.
        ("olm.constraint", {"any": {}, "gvk": GVK}, "providing an API with group: g, version: v1, kind: K"),
    ],
)
def test_wording_r_cat_540(kind: str, value: Any, words: str) -> None:
    assert wording(required(kind, value)) == words


@pytest.mark.parametrize("kind", ["olm.gvk", "olm.package", "olm.label", "olm.maxOpenShiftVersion", "anything"])
def test_other_properties_ask_for_nothing_r_cat_540(kind: str) -> None:
    assert required(kind, {"any": "thing"}) is None


@pytest.mark.parametrize(
    ("kind", "value", "cause"),
    [
        ("olm.constraint", {}, "convert olm.constraint to resolver predicate: constraint is empty"),
        ("olm.constraint", None, "convert olm.constraint to resolver predicate: constraint is empty"),
        ("olm.constraint", {"gvk": None}, "convert olm.constraint to resolver predicate: constraint is empty"),
        (
            "olm.constraint",
            {"any": {"constraints": [{}]}},
            "convert olm.constraint to resolver predicate: constraint is empty",
        ),
        ("olm.constraint", {"nope": {}}, 'parse olm.constraint: json: unknown field "nope"'),
        ("olm.constraint", {"none": {}}, 'parse olm.constraint: json: unknown field "none"'),
        ("olm.constraint", {"gvk": {"kinds": "K"}}, 'parse olm.constraint: json: unknown field "kinds"'),
        (
            "olm.constraint",
            {"not": {"constraints": [{"cel": {"rules": ""}}]}},
            'parse olm.constraint: json: unknown field "rules"',
        ),
        (
            "olm.constraint",
            "text",
            "parse olm.constraint: json: cannot unmarshal string into Go value of type constraints.Constraint",
        ),
        (
            "olm.constraint",
            {"failureMessage": True},
            "parse olm.constraint: json: cannot unmarshal bool into Go struct field Constraint.failureMessage of "
            "type string",
        ),
        (
            "olm.constraint",
            {"package": {"packageName": "q", "versionRange": "1.0"}},
            'convert olm.constraint to resolver predicate: Could not parse Range "1.0": Could not parse version "1.0" '
            'in "1.0": No Major.Minor.Patch elements found',
        ),
        (
            "olm.constraint",
            {"cel": {"rule": "1"}},
            "convert olm.constraint to resolver predicate: cel expressions must have type Bool",
        ),
        ("olm.package.required", {"packageName": "q"}, "Last element in range is '||'"),
        ("olm.gvk.required", {"group": 1}, "json: cannot unmarshal number into Go struct field .group of type string"),
        (
            "olm.label.required",
            ["gpu"],
            'json: cannot unmarshal array into Go value of type struct { Label string "json:\\"label\\"" }',
        ),
    ],
)
def test_refusals_r_cat_330(kind: str, value: Any, cause: str) -> None:
    with pytest.raises(ConstraintError) as refused:
        required(kind, value)
    assert str(refused.value) == cause


def test_a_constraint_may_have_131072_bytes_r_cat_330() -> None:
    around = len('{"gvk":{"kind":"K"},"failureMessage":""}')
    assert required("olm.constraint", {"gvk": {"kind": "K"}, "failureMessage": "m" * (MAX_SIZE - around)})
    with pytest.raises(ConstraintError) as refused:
        required("olm.constraint", {"gvk": {"kind": "K"}, "failureMessage": "m" * (MAX_SIZE - around + 1)})
    assert str(refused.value) == (
        "parse olm.constraint: olm.constraint value is greater than max constraint size 131072 bytes"
    )


def test_requirements_keep_the_order_of_the_properties_r_cat_563() -> None:
    found = requirements(
        [
            Property("olm.label.required", {"label": "b"}),
            Property("olm.package", {"packageName": "p", "version": "1.0.0"}),
            Property("olm.label.required", {"label": "a"}),
        ],
        CelAccount(),
    )
    assert [wording(each) for each in found] == ["with label: b", "with label: a"]


def test_an_api_r_cat_320() -> None:
    predicate = required("olm.gvk.required", GVK)
    assert matches(predicate, item(("olm.gvk", {"kind": "K", "group": "g", "version": "v1"})))
    assert not matches(predicate, item(("olm.gvk", {**GVK, "version": "v2"})))
    # A property that can't be decoded provides nothing.
    assert not matches(predicate, item(("olm.gvk", {**GVK, "group": 5}), ("olm.gvk", "K")))


@pytest.mark.parametrize(
    ("properties", "package", "version", "met"),
    [
        ([], "q", "1.5.0", True),
        ([], "q", "v1.5", True),
        ([], "q", "2.0.0", False),
        ([], "q", "latest", False),
        ([], "p", "1.5.0", False),
        ([("olm.package", {"packageName": "q", "version": "3.0.0"})], "p", "1.5.0", True),
        # The version may come from a property for another package, if it is strict.
        ([("olm.package", {"packageName": "r", "version": "1.5.0"})], "q", "3.0.0", True),
        ([("olm.package", {"packageName": "r", "version": "v1.5.0"})], "q", "3.0.0", False),
    ],
)
def test_a_package_r_cat_320(properties: list[tuple[str, Any]], package: str, version: str, met: bool) -> None:
    predicate = required("olm.package.required", {"packageName": "q", "versionRange": ">=1.0.0 <2.0.0"})
    assert matches(predicate, item(*properties, package=package, version=version)) is met


def test_labels_and_combinations_r_cat_320() -> None:
    both = item(("olm.label", {"label": "a"}), ("olm.gvk", GVK))
    one = item(("olm.gvk", GVK))
    with_gvk, without = {"gvk": GVK}, {"gvk": {**GVK, "kind": "Other"}}
    assert matches(required("olm.label.required", {"label": "a"}), both)
    assert not matches(required("olm.label.required", {"label": "a"}), one)
    for name, members, met in [
        ("all", [with_gvk, with_gvk], True),
        ("all", [with_gvk, without], False),
        ("all", [], True),
        ("any", [without, with_gvk], True),
        ("any", [without], False),
        ("any", [], False),
        ("not", [without], True),
        ("not", [without, with_gvk], False),
        ("not", [], True),
    ]:
        assert matches(required("olm.constraint", {name: {"constraints": members}}), one) is met, (name, members)


def test_an_existing_csv_is_of_its_last_package_r_cat_310() -> None:
    packages = [Property("olm.package", {"packageName": name, "version": "1.0.0"}) for name in ("a", "b")]
    assert entry_of_installed(InstalledEntry("f.v1", "", tuple(packages)), "ns").package == "b"
    csv = entry_of_installed(InstalledEntry("f.v1", "nonsense", ()), "ns")
    assert (csv.package, str(csv.version)) == ("", "0.0.0")
    assert csv.identifier == "@existing/ns//f.v1"
