"""Lines of a review: what breaks first, and changes that are alike on one line."""

from __future__ import annotations

from typing import Any

from bundles import pair_difference
from kit import HERE, compared, crd
from test_changes import rbac

from olmc.review.diff.compare import Difference
from olmc.review.diff.outputs import heading, line_groups, review_sections
from olmc.review.diff.text import as_text


def text_lines(difference: Difference) -> list[str]:
    return as_text(difference, everything=True).splitlines()


def config_map(name: str, **data: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "kitchen"}, "data": data}


def schema(*parts: str, **fields: Any) -> dict[str, Any]:
    """The schema of `spec` with the same fields in each part."""
    part = {"type": "object", "properties": fields}
    return {"type": "object", "properties": dict.fromkeys(parts, part)}


TEXT = {"type": "string"}


def test_what_breaks_comes_first() -> None:
    """Then the risks, then the rest by group; no change is in two sections."""
    difference = pair_difference(HERE / "pairs" / "outside-api.yaml")
    sections = review_sections(difference.changes)
    assert [section.name for section in sections] == ["risk", "versions", "images", "other"]
    assert sum(len(section.changes) for section in sections) == len(difference.changes)


def test_a_field_that_goes_everywhere_is_one_line() -> None:
    parts = ("cup", "kettle", "pot")
    old, new = schema(*parts, size=TEXT, devFlags=TEXT), schema(*parts, size=TEXT)
    said = text_lines(compared([crd(old)], [crd(new)]))
    assert said[3:] == [
        "Breaking",
        "  CustomResourceDefinition/kettles.kitchen.example.com: - 3 × devFlags is removed; stored values are dropped; "
        "at spec.cup.devFlags, spec.kettle.devFlags, spec.pot.devFlags  [breaking]",
    ]


def test_new_fields_are_one_line() -> None:
    said = text_lines(compared([crd(schema("cup", size=TEXT))], [crd(schema("cup", size=TEXT, lid=TEXT, ear=TEXT))]))
    assert said[-1] == (
        "  CustomResourceDefinition/kettles.kitchen.example.com: + v1 has 2 new fields: spec.cup.ear, spec.cup.lid"
    )


def test_new_fields_that_several_crds_share_are_one_line() -> None:
    """And not one for each field, with its path as often as there are CRDs."""
    names = [f"{name}.kitchen.example.com" for name in ("cups", "kettles", "pots")]
    old = [{**crd(schema("cup", size=TEXT)), "metadata": {"name": name}} for name in names]
    more = {"lid": TEXT, "ear": TEXT}
    new = [{**crd(schema("cup", size=TEXT, **more)), "metadata": {"name": name}} for name in names[:2]]
    new.append({**crd(schema("cup", size=TEXT, saucer=TEXT, **more)), "metadata": {"name": names[2]}})
    assert text_lines(compared(old, new))[-2:] == [
        f"  CustomResourceDefinition/{', '.join(names)}: + v1 has 2 new fields: spec.cup.ear, spec.cup.lid",
        "  CustomResourceDefinition/pots.kitchen.example.com: + v1 spec.cup.saucer is new",
    ]


def test_objects_that_change_alike_are_one_line() -> None:
    """Of one kind; the names of the first are there, and how many more there are."""
    names = [f"settings-{number}" for number in range(7)]
    said = text_lines(compared([config_map(name) for name in names], []))
    assert said[-1] == (
        "  ConfigMap/kitchen/settings-0, kitchen/settings-1, kitchen/settings-2, kitchen/settings-3, "
        "kitchen/settings-4 and 2 more: - removed"
    )


def test_nothing_is_lost_by_joining() -> None:
    """Each change is in one line, and with everything listed each object is named."""
    difference = pair_difference(HERE / "pairs" / "whole-things.yaml")
    groups = line_groups(difference.changes, None)
    assert sum(line.total for group in groups for line in group.lines) == len(difference.changes)
    named = " ".join(heading(group.objects, len(group.objects)) for group in groups)
    assert all(str(change.identity).partition("/")[2] in named for change in difference.changes)


def test_harmless_permissions_of_a_holder_are_one_line() -> None:
    """A risk stands by itself."""
    old = rbac({"roles": [["one", "", [["get", "pods"]], "kettle"]]})
    rules = [["get", "pods"], ["list", "events"], ["create", "leases.coordination.k8s.io"], ["get", "secrets"]]
    said = text_lines(compared(old, rbac({"roles": [["one", "", rules, "kettle"]]})))
    assert said[3:] == [
        "Risks",
        "  ServiceAccount/kitchen/kettle: + may get secrets in the whole cluster (high: secrets)  [risk]",
        "",
        "Permissions",
        "  ServiceAccount/kitchen/kettle: + may create leases.coordination.k8s.io; list events in the whole cluster",
    ]
