"""Upgrades of real operators: the versions of the corpus side by side."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator
from kit import compared, line, lines
from test_algebra import permissions

from olmc.compiler.api import Compilation
from olmc.compiler.output.document import LIMIT
from olmc.k8s.lean import regex
from olmc.resources import schema
from olmc.review.diff import crd_kinds
from olmc.review.diff.compare import compare
from olmc.review.diff.crd_kinds import BREAKING, RISK
from olmc.review.diff.engine import write
from olmc.review.diff.outputs import as_markdown
from olmc.review.diff.settings import Side
from olmc.review.diff.text import MOST_LINES, WIDTH, as_text

SEVERAL = 30  # operators with more than one version

SAID = {
    ("edp-keycloak-operator/1.33.0", "edp-keycloak-operator/1.34.0"): [
        "edp-keycloak-operator 1.33.0 → 1.34.0, in one hop (skipRange)",
        "container manager: docker.io/epamedp/keycloak-operator :1.33.0 → :1.34.0",
        "v1 spec.realmEventConfig.adminEventsDetailsEnabled and 3 more places nullable: true (new)",
    ],
    ("camel-karavan-operator/3.18.5", "camel-karavan-operator/3.20.0"): [
        "v1 spec.type is removed; stored values are dropped",
        "camel-karavan-operator: requests.memory is removed; it was 512Mi",
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


def test_every_upgrade_fits_on_a_screen(upgrades: dict[str, Side]) -> None:
    """In both directions, and over all versions at once: the verdict first, and at most 60 lines of 160 characters."""
    ends = [
        (old, new) for old in upgrades.values() for new in upgrades.values() if _is_first_and_last(old, new, upgrades)
    ]
    for old, new in (pair for both in (*neighbours(upgrades), *ends) for pair in (both, both[::-1])):
        text = as_text(compare(old, new)).splitlines()
        assert len(text) <= MOST_LINES, (old.name, new.name)
        assert max(map(len, text)) <= WIDTH, (old.name, new.name)
        assert regex(r": ([0-9]+ (breaking|new critical|risk)|no action needed|no change)").search(text[0]), text[0]


def _is_first_and_last(old: Side, new: Side, upgrades: dict[str, Side]) -> bool:
    operator = old.name.partition("/")[0]
    versions = [name for name in upgrades if name.partition("/")[0] == operator]
    return [old.name, new.name] == [versions[0], versions[-1]]


def test_a_wider_schema_the_other_way_is_narrower(upgrades: dict[str, Side]) -> None:
    """What only adds to a CRD one way takes away the other way."""
    old, new = (upgrades[name] for name in ("camel-karavan-operator/3.20.0", "camel-karavan-operator/3.20.1"))
    there, back = compare(old, new), compare(new, old)
    assert there.count(BREAKING) == 0
    gone = [line(change) for change in back.changes if change.severity is BREAKING]
    assert gone == [
        "breaking - CustomResourceDefinition/karavans.camel.apache.org: "
        "v1 spec.gitPullInterval is removed; stored values are dropped"
    ]


GAINED = {
    "argocds.argoproj.io": "argocd-operator",
    "apicurioregistries3.registry.apicur.io": "apicurio-api-controller",
    "opentelemetrycollectors.opentelemetry.io": "opentelemetry-operator",
    "instrumentations.opentelemetry.io": "opentelemetry-operator",
    "elasticsearches.logging.logging.opstreelabs.in": "logging-operator",
    "ndbclusters.mysql.oracle.com": "ndb-operator",
    "gateways.security.brcmlabs.com": "layer7-operator",
}
"""CRDs that embed many types of Kubernetes, with the operators that have them."""
OF_KUBERNETES = frozenset(
    """affinity annotations dnsConfig env envFrom extraEnv hostAliases imagePullSecrets initContainers labelSelector
    labels lifecycle limits livenessProbe matchLabels metadata nodeSelector readinessProbe requests resources
    securityContext selector sidecars startupProbe template tolerations topologySpreadConstraints volumeClaimTemplate
    volumeMounts volumes""".split()
)
GENERATED = frozenset("anyOf default format pattern required x-kubernetes-int-or-string x-kubernetes-map-type".split())
OWN = ("enum", "maximum", "minimum")
"""What no schema of a type of Kubernetes has."""
BELOW = ("items", "additionalProperties")


def untyped(schema: Any) -> Any:
    """The schema as a generator writes it that knows only the names of fields."""
    if not isinstance(schema, dict):
        return schema
    kept = {key: value for key, value in schema.items() if key not in GENERATED}
    if kept.get("type") not in ("object", "array"):
        kept.pop("type", None)
    if "properties" in kept:
        kept["properties"] = {name: untyped(below) for name, below in kept["properties"].items()}
    return kept | {key: untyped(kept[key]) for key in BELOW if key in kept}


def unknown(schema: Any) -> Any:
    """A schema in the place of another one that keeps whatever stands there."""
    return {"type": schema["type"], "x-kubernetes-preserve-unknown-fields": True} if schema["type"] == "object" else {}


def replaced(schema: Any, change: Callable[[Any], Any], without: tuple[str, ...] = ()) -> Any:
    """A schema with its fields of Kubernetes changed, and its own without some keywords."""
    if not isinstance(schema, dict):
        return schema
    kept = {key: value for key, value in schema.items() if key not in without}
    if "properties" in kept:
        kept["properties"] = {
            name: change(below) if name in OF_KUBERNETES else replaced(below, change, without)
            for name, below in kept["properties"].items()
        }
    return kept | {key: replaced(kept[key], change, without) for key in BELOW if key in kept}


def own_constraints(schema: Any) -> Iterator[str]:
    """The keywords of the operator's own fields that refuse something."""
    if not isinstance(schema, dict):
        return
    yield from (keyword for keyword in OWN if keyword in schema)
    for name, below in (schema.get("properties") or {}).items():
        yield from own_constraints(below) if name not in OF_KUBERNETES else ()
    for key in BELOW:
        yield from own_constraints(schema.get(key))


def with_specs(crd: Mapping[str, Any], change: Callable[[Any], Any]) -> dict[str, Any]:
    """A CRD whose versions have another schema of `spec`."""
    made: dict[str, Any] = json.loads(json.dumps(crd, default=str))
    for version in made["spec"]["versions"]:
        properties = version["schema"]["openAPIV3Schema"]["properties"]
        properties["spec"] = change(properties["spec"])
    return made


@pytest.fixture(scope="module")
def real_crds(corpus: list[Path]) -> dict[str, dict[str, Any]]:
    """The CRDs of `GAINED`, the newest of each."""
    bundles = [bundle for bundle in corpus if bundle.parent.name in GAINED.values()]
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    texts = (path.read_text(encoding="utf-8") for bundle in bundles for path in bundle.glob("manifests/*.yaml"))
    read = [yaml.load(text, loader) for text in texts if "kind: CustomResourceDefinition" in text]
    return {crd["metadata"]["name"]: crd for crd in read if crd["metadata"]["name"] in GAINED}


@pytest.mark.parametrize("change", [untyped, unknown], ids=["untyped", "unknown fields"])
@pytest.mark.parametrize("name", GAINED)
def test_types_of_kubernetes_that_a_crd_gains_are_no_risk(
    name: str, change: Callable[[Any], Any], real_crds: dict[str, dict[str, Any]]
) -> None:
    """One change per version counts all places, whatever the schema said before."""
    new = real_crds[name]
    old = with_specs(new, lambda spec: replaced(spec, change))
    changes = compared([old], [new]).changes
    assert [line(change) for change in changes if change.severity >= RISK] == []
    implied = [change for change in changes if change.kind is crd_kinds.constraints_implied]
    assert 1 <= len(implied) <= len(new["spec"]["versions"])
    assert sum(len(change.values["paths"]) for change in implied) >= 10


@pytest.mark.parametrize("name", GAINED)
def test_constraints_of_the_operator_stay_breaking(name: str, real_crds: dict[str, dict[str, Any]]) -> None:
    """Each enum and bound of the operator's own fields is reported beside the types of Kubernetes."""
    new = real_crds[name]
    old = with_specs(new, lambda spec: replaced(spec, untyped, OWN))
    constraints = [
        keyword
        for version in new["spec"]["versions"]
        for keyword in own_constraints(version["schema"]["openAPIV3Schema"]["properties"]["spec"])
    ]
    found = [change for change in compared([old], [new]).changes if change.severity is BREAKING]
    assert len(found) >= len(constraints), name
