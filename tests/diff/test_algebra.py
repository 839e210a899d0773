"""What holds of any difference: nothing differs from itself, and the other way around is the mirror image."""

from __future__ import annotations

import copy
import random
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from kit import HERE, compared, crd, lines
from test_changes import rbac

from olmc.compiler.olm.facts import without_version
from olmc.k8s.gojson.scalars import amount, quantity
from olmc.review.diff.crd_kinds import ChangeType
from olmc.review.diff.deltas import deltas, same


def sides() -> Iterator[tuple[list[Any], list[Any]]]:
    """The objects of all cases, and roles that grant something."""
    for name in ("cases", "operators", "extensions", "noise"):
        for case in yaml.safe_load((HERE / f"{name}.yaml").read_text(encoding="utf-8")):
            yield case["old"], case["new"]
    for case in yaml.safe_load((HERE / "rbac.yaml").read_text(encoding="utf-8")):
        yield rbac(case["old"]), rbac(case["new"])
    for path in sorted((HERE / "crds").glob("*.yaml")):
        case = yaml.safe_load(path.read_text(encoding="utf-8"))
        yield [crd(case["old"])], [crd(case["new"])]


CASES = [(old, new) for old, new in sides() if old or new]

scalars = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "b", "1Gi", "1024Mi", "1"])
keys = st.sampled_from(["name", "type", "args", "rules", "limits", "memory", "containers", "env", "spec", "x.y"])
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3))
objects = st.lists(
    st.builds(
        lambda kind, name, spec: {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, "spec": spec},
        st.sampled_from("ConfigMap Deployment CustomResourceDefinition ClusterRole ClusterServiceVersion".split()),
        st.sampled_from(["a", "b"]),
        values,
    ),
    max_size=4,
    unique_by=lambda obj: (obj["kind"], obj["metadata"]["name"]),
)
verbs = st.lists(st.sampled_from(["get", "list", "create", "*"]), min_size=1, max_size=3).map(",".join)
resources = st.lists(st.sampled_from("pods secrets deployments.apps *".split()), min_size=1, max_size=2).map(",".join)
roles = st.lists(
    st.tuples(
        st.sampled_from(["one", "two", "three"]),
        st.sampled_from(["", "kitchen", "garden"]),
        st.lists(st.tuples(verbs, resources), min_size=1, max_size=2),
        st.sampled_from(["kettle", "teapot"]),
    ),
    max_size=3,
    unique_by=lambda role: role[:2],
)


def shuffled(value: Any, chance: random.Random) -> Any:
    """The same object with the keys of its mappings in another order."""
    if isinstance(value, dict):
        items = [(key, shuffled(each, chance)) for key, each in value.items()]
        chance.shuffle(items)
        return dict(items)
    return [shuffled(each, chance) for each in value] if isinstance(value, list) else value


@given(objects, st.randoms(use_true_random=False))
def test_nothing_differs_from_itself(side: list[dict[str, Any]], chance: random.Random) -> None:
    """In whatever order objects and their keys stand, and whatever is in them."""
    other = [shuffled(obj, chance) for obj in copy.deepcopy(side)]
    chance.shuffle(other)
    difference = compared(side, other)
    assert difference.changes == ()
    assert difference.pairs == ()
    assert difference.unchanged == len(side)


@given(objects, objects)
def test_the_mirror_image(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> None:
    """What comes one way goes the other way, as far as whole objects are concerned; and nothing is an exception."""
    there, back = compared(old, new), compared(new, old)
    assert whole(there, ChangeType.ADDED) == whole(back, ChangeType.REMOVED)
    assert whole(there, ChangeType.REMOVED) == whole(back, ChangeType.ADDED)
    assert bool(there.changes) == bool(back.changes)


def whole(difference: Any, type: ChangeType) -> set[tuple[str, str]]:
    names = [f"{what}{way}" for what in ("Object", "Workload", "Crd", "Operator") for way in ("Added", "Removed")]
    return {
        (str(change.identity), change.kind.name.removesuffix("Added").removesuffix("Removed"))
        for change in difference.changes
        if change.kind.name in names and change.type is type
    }


def permissions(difference: Any, kind: str) -> set[tuple[Any, ...]]:
    return {
        (change.identity, change.values["scope"], change.values["rule"])
        for change in difference.changes
        if change.kind.name == kind
    }


@given(roles, roles)
def test_gained_is_what_is_lost_the_other_way(old: list[Any], new: list[Any]) -> None:
    sides = rbac({"roles": old}), rbac({"roles": new})
    there, back = compared(*sides), compared(*reversed(sides))
    assert permissions(there, "PermissionGained") == permissions(back, "PermissionLost")
    assert permissions(there, "PermissionLost") == permissions(back, "PermissionGained")


@given(roles)
def test_names_of_roles_mean_nothing(some: list[Any]) -> None:
    renamed = [(f"{name}-x7f", *rest) for name, *rest in some]
    assert compared(rbac({"roles": some}), rbac({"roles": renamed})).changes == ()


@given(values, values)
def test_values_differ_both_ways_or_not_at_all(old: Any, new: Any) -> None:
    there = [(delta.path, delta.old, delta.new) for delta in deltas(old, new)]
    back = [(delta.path, delta.new, delta.old) for delta in deltas(new, old)]
    assert sorted(map(repr, there)) == sorted(map(repr, back))
    assert same(old, new) == (not there)


@given(st.integers(0, 10**12), st.sampled_from(["", "k", "M", "G", "Ki", "Mi", "Gi", "m", "e3", "E2"]))
def test_quantities_are_amounts(number: int, suffix: str) -> None:
    """R-JSON-9: what is written canonically is the same amount."""
    text = f"{number}{suffix}"
    assert amount(text) == amount(quantity(text))
    assert amount("1Gi") == amount("1024Mi") == amount(2**30)
    assert amount("1500m") == amount("1.5")


VERSION = re.compile(r"[-.]?v?[0-9]+([.-][0-9]+)+([-.+][0-9A-Za-z]+)*\Z|-v[0-9]+\Z")


versioned = st.from_regex(r"[a-z]{0,3}[-.]?v?[0-9]\.[0-9]([-.+v]?[0-9a]){0,4}", fullmatch=True)


@given(st.text("a1v-.+ é٣", max_size=14) | versioned)
def test_versions_at_the_end_of_names(name: str) -> None:
    assert without_version(name) == VERSION.sub("", name)


def test_long_names_are_no_long_search() -> None:
    assert without_version("1-" * 100_000 + "_") == "1-" * 100_000 + "_"
    assert without_version("a-" + "1." * 100_000 + "0") == "a"


@given(st.data())
def test_odd_objects_are_no_exception(data: st.DataObject) -> None:
    """Any value anywhere in the objects of the cases: bad input is told of or compared, never a traceback."""
    case = data.draw(st.sampled_from(CASES))
    old, new = copy.deepcopy(case)
    target = data.draw(st.sampled_from(old + new))
    place = data.draw(st.sampled_from([each for each in places(target) if each[0] not in ("apiVersion", "kind")]))
    for key in place[:-1]:
        target = target[key]
    if place not in (["metadata"], ["metadata", "name"], ["metadata", "namespace"]):
        target[place[-1]] = data.draw(values)
    lines(compared(old, new))


@pytest.mark.parametrize("keyword", ["format", "pattern"])
@pytest.mark.parametrize("new", [[], {}, 1])
def test_a_format_that_is_no_text_is_compared(keyword: str, new: object) -> None:
    old, changed = (
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "kettles.kitchen.example.com"},
            "spec": {"versions": [{"name": "v1", "served": True, "schema": {"openAPIV3Schema": {"properties": at}}}]},
        }
        for at in ({"at": {"type": "string"}}, {"at": {"type": "string", keyword: new}})
    )
    assert [line for line in lines(compared([old], [changed])) if keyword in line]


def places(value: Any) -> list[list[Any]]:
    found: list[list[Any]] = []
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in pairs:
        found.append([key])
        found += [[key, *rest] for rest in places(below)]
    return found
