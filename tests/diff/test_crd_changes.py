"""Changes of CRDs, one file each: what the API server would refuse or lose of valid objects (docs/diff.md)."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from kit import HERE, compared, crd, lines

from olmc.review.diff import crd_kinds
from olmc.review.diff.crd_kinds import ChangeGroup, ChangeKind

CASES = sorted((HERE / "crds").glob("*.yaml"))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_crd_change(path: Any) -> None:
    """`old` and `new` are the schema of `spec` in version v1, or whole specs; `changes` is all that is said."""
    case = yaml.safe_load(path.read_text(encoding="utf-8"))
    said = [line.replace(" CustomResourceDefinition/kettles.kitchen.example.com:", "") for line in lines(
        compared([crd(case["old"])], [crd(case["new"])])
    )]  # fmt: skip
    assert said == case["changes"]


def test_every_kind_of_change_has_a_case() -> None:
    """None is forgotten: each kind of change of a CRD is found in some case."""
    found = set()
    for path in CASES:
        case = yaml.safe_load(path.read_text(encoding="utf-8"))
        found |= {change.kind for change in compared([crd(case["old"])], [crd(case["new"])]).changes}
    every = (kind for kind in vars(crd_kinds).values() if isinstance(kind, ChangeKind))
    kinds = {kind for kind in every if kind.group is ChangeGroup.CRDS}
    assert kinds - found == {crd_kinds.crd_added, crd_kinds.crd_removed}  # they are among the objects
