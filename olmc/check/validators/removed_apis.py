"""APIs that Kubernetes has removed (R-CAT-255, R-CAT-256)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from olmc.check.validators.findings import Finding, ascii_list, csv_of, policy_rules, result_text
from olmc.check.validators.manifests import CRD_KIND
from olmc.check.validators.settings import Settings
from olmc.kube.builtin_kinds import removed_in
from olmc.model.coerce import mappings, text
from olmc.model.gvk import GVK, gvk_of, split_api_version
from olmc.model.objects import metadata_of
from olmc.model.workspace import Bundle
from olmc.rules import validation as rules
from olmc.semver import Version, tolerant_or_none

GUIDE = "https://kubernetes.io/docs/reference/using-api/deprecation-guide/"

# Kubernetes removed them as well, but the validator of operator-framework/api does not know it (R-CAT-256).
_UNNOTICED = frozenset({"FlowSchema", "PriorityLevelConfiguration", "SelfSubjectRulesReview"})

_SOFT_GROUP, _SOFT_RESOURCE = "policy", "podsecuritypolicies"
_CRDS = "ClusterServiceVersion.Spec.CustomResourceDefinitions"
_STRATEGY = "ClusterServiceVersion.Spec.InstallStrategy.StrategySpec"

Found = Mapping[str, list[str]]
"""Names of objects by the kind, or what stands for it in messages."""


class Removed(NamedTuple):
    """What a bundle has of the APIs that a release of Kubernetes removed; `soft` may be for another version."""

    minor: int
    found: Found
    soft: Found


def removed_api_findings(bundle: Bundle, settings: Settings) -> Iterator[Finding]:
    """APIs in a bundle that Kubernetes has removed: a failure in the version that is asked for, else advice."""
    csv = csv_of(bundle.csv)
    place = csv.place("spec", "minKubeVersion")
    wanted, least = settings.kubernetes, csv.min_kube_version
    for given, told in (
        (wanted, f"invalid value informed via the k8s key option : {wanted}"),
        (
            least,
            "unable to use csv.Spec.MinKubeVersion to verify the CRD/Webhook apis because it has an invalid value: "
            f"{least}",
        ),
    ):
        if given and tolerant_or_none(given) is None:
            yield Finding(rules.REMOVED_APIS, result_text(told, value=csv.name), place)
    versions = [version for version in map(tolerant_or_none, (wanted, least)) if version is not None]
    for removed in (removed_in_1_22(bundle), _removed_in_1_25(bundle), _removed_in_1_26(bundle)):
        gone = any(version >= Version(1, removed.minor) for version in versions)
        for found, rule in (
            (removed.found, rules.REMOVED_APIS if gone else rules.REMOVED_APIS_ADVICE),
            (removed.soft, rules.REMOVED_APIS_ADVICE),
        ):
            if found:
                told = result_text(_message(removed.minor, found), value=csv.name)
                yield Finding(rule, told, csv.place())


def _message(minor: int, found: Found) -> str:
    return (
        f"this bundle is using APIs which were deprecated and removed in v1.{minor}. More info: {GUIDE}#v1-{minor}. "
        f"Migrate the API(s) for {listed(found)}"
    )


def listed(found: Found) -> str:
    """Kinds with the names of their objects, as the messages have them."""
    return ",".join(f"{kind}: ({ascii_list(found[kind])})" for kind in sorted(found))


def removed_in_1_22(bundle: Bundle) -> Removed:
    """What Kubernetes 1.22 has removed."""
    return Removed(22, _objects(bundle, 22), {})


def noticed(minor: int) -> frozenset[GVK]:
    """The APIs that are looked for of those that a minor version of Kubernetes 1 has removed."""
    return frozenset(api for api in removed_in(minor) if api.kind not in _UNNOTICED)


def _objects(bundle: Bundle, minor: int) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    removed = noticed(minor)
    for file in bundle.files:
        obj = file.manifest.object
        if gvk_of(obj) in removed:
            kind = "CRD" if obj["kind"] == CRD_KIND else obj["kind"]
            found.setdefault(kind, []).append(text(metadata_of(obj).get("name")))
    return found


def _removed_in_1_25(bundle: Bundle) -> Removed:
    csv = csv_of(bundle.csv)
    found = _objects(bundle, 25)
    described: set[str] = set()
    for relation in ("owned", "required"):
        for index, item in enumerate(csv.crd_descriptions(relation)):
            for number, resource in enumerate(mappings(item.get("resources"))):
                kind = text(resource.get("kind"))
                described.add(f"{kind.lower()}s")
                if GVK(*split_api_version(resource.get("version")), kind) in noticed(25):
                    name = f"{_CRDS}.{relation.capitalize()}[{index}].Resource[{number}]"
                    found.setdefault(kind, []).append(name)
    soft = [
        f"{_STRATEGY}.{field[0].upper()}{field[1:]}[{rule.permission}].Rules[{rule.number}]"
        for field in ("clusterPermissions", "permissions")
        for rule in policy_rules(csv, field)
        if _SOFT_GROUP in rule.names("apiGroups") and _SOFT_RESOURCE in rule.names("resources")
    ]
    return Removed(25, found, {_SOFT_RESOURCE: soft} if soft and _SOFT_RESOURCE not in described else {})


def _removed_in_1_26(bundle: Bundle) -> Removed:
    return Removed(26, _objects(bundle, 26), {})
