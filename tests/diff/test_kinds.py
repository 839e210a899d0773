"""All kinds of changes: each has a case, says a message, and is in the JSON with everything that it knows."""

from __future__ import annotations

import json
from functools import cache
from importlib import import_module
from inspect import get_annotations
from pkgutil import iter_modules
from typing import Any, get_origin

import pytest
from bundles import PAIRS, pair_difference
from test_algebra import CASES
from test_settings import SIDES

from olmc.k8s.objects import ObjectKey
from olmc.review import diff
from olmc.review.diff.compare import Difference, compare
from olmc.review.diff.crd_kinds import SEVERITY_WORDS, ChangeGroup, ChangeKind, ChangeType, DiffChange, UntrustedText
from olmc.review.diff.outputs import as_json, subject
from olmc.review.diff.settings import Side
from olmc.review.diff.version_kinds import UpgradePath, operator_upgraded

MODULES = [import_module(f"{diff.__name__}.{module.name}") for module in iter_modules(diff.__path__)]
# A kind counts once, also where another module imports it.
KINDS = list(
    dict.fromkeys(kind for module in MODULES for kind in vars(module).values() if isinstance(kind, ChangeKind))
)


def of_many() -> Side:
    """Hundreds of users with a role of so many resources that not each is listed."""
    rbac = "rbac.authorization.k8s.io"
    rule = {"verbs": ["get"], "apiGroups": ["example.com"], "resources": [f"r{number}" for number in range(1_000)]}
    role = {"apiVersion": f"{rbac}/v1", "kind": "ClusterRole", "metadata": {"name": "many"}, "rules": [rule]}
    bound = {"apiVersion": f"{rbac}/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "many"}}
    ref = {"apiGroup": rbac, "kind": "ClusterRole", "name": "many"}
    subjects = [{"kind": "User", "name": f"u{number}"} for number in range(101)]
    return Side("many", (role, {**bound, "roleRef": ref, "subjects": subjects}))


@cache
def differences() -> tuple[Difference, ...]:
    """Those of all cases, both ways, of each object with nothing, of settings, and with what versions of OLM change."""
    sides = [(Side("old", tuple(old)), Side("new", tuple(new))) for old, new in CASES]
    pairs = [*sides, *((new, old) for old, new in sides), *((Side("none", ()), new) for _, new in sides)]
    pairs += SIDES
    pairs += [(Side("none", ()), of_many()), (of_many(), Side("none", ()))]
    pairs += [(difference.new, difference.old) for difference in map(pair_difference, PAIRS)]
    both = (*(compare(*pair) for pair in pairs), *(compare(*pair, formats=True) for pair in sides))
    return (*both, *map(pair_difference, PAIRS))


@cache
def changes() -> tuple[DiffChange, ...]:
    return tuple(change for difference in differences() for change in difference.changes)


@pytest.fixture(scope="module", autouse=True)
def _compared() -> None:
    """Compare all cases before the first test, so that it counts for none of them."""
    changes()


def test_there_are_kinds() -> None:
    assert len(KINDS) > 40
    assert len({kind.name for kind in KINDS}) == len(KINDS)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_kind_has_a_case(kind: ChangeKind[...]) -> None:
    """None of them is dead; each is named as its function is, documented, and has only values of the types it says."""
    cases = [change for change in changes() if change.kind is kind]
    assert cases
    assert kind.judge.__doc__
    assert kind.name == "".join(map(str.capitalize, kind.judge.__name__.split("_")))
    types: dict[str, Any] = get_annotations(kind.judge, eval_str=True)
    assert kind.type is not None or {"old", "new"} <= types.keys()
    for change in cases:
        assert tuple(change.values) == kind.fields
        for field, value in change.values.items():
            expected = get_origin(types[field]) or types[field]
            assert expected is Any or isinstance(value, expected), (field, value)


def test_messages() -> None:
    """They are not empty, what comes from the input is quoted, and olmc's own words are plain."""
    for change in changes():
        own = [piece for piece in change.message if not isinstance(piece, UntrustedText)]
        assert "".join(own).strip(), change
        assert all("\n" not in piece and "`" not in piece for piece in own), change
        assert isinstance(change.group, ChangeGroup)
        assert change.severity in SEVERITY_WORDS
        assert isinstance(change.type, ChangeType)


def test_details_are_whole() -> None:
    """JSON has every value of a change: the object, the severity, and the details."""
    names = {kind.name for kind in KINDS}
    for difference in differences():
        data = json.loads(as_json(difference))["changes"]
        for change, record in zip(difference.changes, data, strict=True):
            named = set(change.kind.fields) - {"severity", "old", "new"}
            assert len(named) == len(set(record["details"]) - {"old", "new"}), record
            assert record["kind"] in names


@pytest.mark.parametrize(
    ("package", "version", "shown"),
    [
        ("lantern", "1.1.0", "lantern 1.0.0 → 1.1.0"),
        ("community-harbour-machine-operator", "8.0.0", "community-harbour-machine-operator 1.0.0 → 8.0.0"),
        ("l" * 60, "8" * 40, f"{'l' * 47}… 1.0.0 → {'8' * 29}…"),
    ],
)
def test_a_long_package_leaves_the_versions_in_the_first_line(package: str, version: str, shown: str) -> None:
    key = ObjectKey("operators.coreos.com", "ClusterServiceVersion", "harbour", "new")
    change = operator_upgraded(key, package, "old", "new", "1.0.0", version, UpgradePath(), False, False, "")
    side = Side("old", ())
    assert subject(Difference(side, side, (change,), (), {}, 0)) == shown
