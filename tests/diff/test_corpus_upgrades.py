"""Upgrades of real operators: the versions of the corpus side by side."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import groupby, pairwise
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from kit import line, lines
from test_algebra import permissions

from olmc.compiler.api import Compilation
from olmc.resources import schema
from olmc.review.diff.compare import compare
from olmc.review.diff.crd_kinds import BREAKING
from olmc.review.diff.engine import write
from olmc.review.diff.outputs import LIMIT, as_markdown
from olmc.review.diff.settings import Side

SEVERAL = 30  # operators with more than one version

SAID = {
    ("edp-keycloak-operator/1.33.0", "edp-keycloak-operator/1.34.0"): [
        "edp-keycloak-operator 1.33.0 → 1.34.0, in one hop (skipRange)",
        "container manager: docker.io/epamedp/keycloak-operator :1.33.0 → :1.34.0",
        "v1 spec.realmEventConfig.adminEventsDetailsEnabled and 3 more places nullable: true (new)",
    ],
    ("camel-karavan-operator/3.18.5", "camel-karavan-operator/3.20.0"): [
        "v1 spec.type is gone: what it holds is dropped",
        "camel-karavan-operator: requests.memory is gone; it was 512Mi",
        "camel-karavan-operator 3.18.5 → 3.20.0, in one hop (replaces)",
    ],
    ("etcd/0.9.2", "etcd/0.9.2-clusterwide"): [
        "no longer supports install mode SingleNamespace",
        "targets all namespaces instead of etcd",
        "may get secrets in the whole cluster (high: secrets)",
        "etcd-operator: command with -cluster-wide",
    ],
    ("community-windows-machine-config-operator/6.0.0", "community-windows-machine-config-operator/7.0.0"): [
        "minKubeVersion: 1.24.0 → 1.25.0"
    ],
}
QUIET = [
    ("authorino-operator/0.15.0", "authorino-operator/0.15.1"),
    ("ack-sqs-controller/1.5.4", "ack-sqs-controller/1.6.0"),
]
"""Upgrades of which the version and the image are all there is to say."""


@pytest.fixture(scope="module")
def upgrades(corpus: list[Path], compiled: Callable[..., Compilation]) -> dict[str, Side]:
    """The rendered bundles of the operators with several versions, by `operator/version`."""
    found = {}
    for operator, bundles in groupby(corpus, key=lambda bundle: bundle.parent.name):
        versions = list(bundles)
        for bundle in versions if len(versions) > 1 else ():
            name = f"{operator}/{bundle.name}"
            done = compiled(bundle)
            found[name] = Side(name, tuple(each.object for each in done.objects), done.settled)
    return found


def neighbours(upgrades: dict[str, Side]) -> list[tuple[Side, Side]]:
    return [pair for pair in pairwise(upgrades.values()) if len({side.name.partition("/")[0] for side in pair}) == 1]


@pytest.mark.parametrize(("pair", "said"), SAID.items(), ids=[old for old, _ in SAID])
def test_what_is_said_of_an_upgrade(pair: tuple[str, str], said: list[str], upgrades: dict[str, Side]) -> None:
    found = lines(compare(*(upgrades[name] for name in pair)))
    for sentence in said:
        assert any(line.endswith(f": {sentence}") for line in found), sentence


@pytest.mark.parametrize("pair", QUIET, ids=[old for old, _ in QUIET])
def test_noise_is_folded(pair: tuple[str, str], upgrades: dict[str, Side]) -> None:
    """Copies, hashed names, owner references, digests: none of it is a change."""
    difference = compare(*(upgrades[name] for name in pair))
    assert [change.group for change in difference.changes] == ["versions", "images"]
    assert difference.folded["copied CSV"] == 8
    assert difference.folded["role or binding"] >= 7


def test_every_upgrade(upgrades: dict[str, Side]) -> None:
    """Nothing differs from itself, gains are losses the other way, and every output holds what it promises."""
    pairs = neighbours(upgrades)
    assert len(pairs) == 2 * SEVERAL
    validator = Draft202012Validator(schema("diff"))
    for old, new in pairs:
        there, back = compare(old, new), compare(new, old)
        assert compare(new, new).changes == (), new.name
        assert there.changes, new.name
        assert permissions(there, "PermissionGained") == permissions(back, "PermissionLost"), new.name
        assert list(validator.iter_errors(json.loads(write(there, "json")))) == [], new.name
        assert len(as_markdown(there)) <= LIMIT, new.name
        assert "ABSENT" not in write(there, "text"), new.name


def test_a_wider_schema_the_other_way_is_narrower(upgrades: dict[str, Side]) -> None:
    """What only adds to a CRD one way takes away the other way."""
    old, new = (upgrades[name] for name in ("camel-karavan-operator/3.20.0", "camel-karavan-operator/3.20.1"))
    there, back = compare(old, new), compare(new, old)
    assert there.count(BREAKING) == 0
    gone = [line(change) for change in back.changes if change.severity is BREAKING]
    assert gone == [
        "breaking - CustomResourceDefinition/karavans.camel.apache.org: "
        "v1 spec.gitPullInterval is gone: what it holds is dropped"
    ]
