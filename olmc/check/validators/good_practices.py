"""What the operator-sdk takes for good practice (R-CAT-260), and objects that could harm a cluster (R-CAT-270).

Where the tools print a dump of their memory of an object as the value, its kind and name stand here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from olmc.check.validators.findings import (
    Finding,
    Keys,
    ValidatorSettings,
    ascii_list,
    containers,
    csv_of,
    policy_rules,
    result_text,
)
from olmc.diagnostics.rule import Rule
from olmc.diagnostics.rules import validation as rules
from olmc.lean import regex
from olmc.model.diagnostics import Place
from olmc.model.objects import KubernetesObject, mapping, mappings, spec_of, text, texts
from olmc.model.operators import Csv
from olmc.model.workspace import Bundle
from olmc.semver import VersionError, parse_strict
from olmc.strconv import SPACES, quoted

_CONVENTIONAL = ("candidate", "stable", "fast")
_ALL = ("*", "[*]")
_RESOURCES = {"customresourcedefinitions", *_ALL}
_VERBS = {"create", "patch", *_ALL}
_VERSION = regex(r"[0-9]+\.[0-9]+\.[0-9]+(?:-[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?(?:\+[0-9A-Za-z-]+)?\Z", re.ASCII)
_NO_REQUESTS = (
    "It is recommended to ensure the resource request for CPU and Memory. Be aware that for some clusters "
    "configurations it is required to specify requests or limits for those values. Otherwise, the system or quota may "
    "reject Pod creation. More info: https://master.sdk.operatorframework.io/docs/best-practices/managing-resources/"
)
_MAKES_CRDS = (
    "CSV contains permissions to create CRD. An Operator shouldn't deploy or manage other operators (such patterns "
    "are known as meta or super operators or include CRDs in its Operands). It's the Operator Lifecycle Manager's job "
    "to manage the deployment and lifecycle of operators.  Please, review the design of your solution and if you "
    "should not be using Dependency Resolution from OLM instead. More info: "
    "https://sdk.operatorframework.io/docs/best-practices/common-recommendation/"
)

DEFAULT_CONSTRAINTS = frozenset(
    "privileged restricted anyuid hostaccess hostmount-anyuid hostnetwork node-exporter nonroot".split()
)
_BUDGETS, _CONSTRAINTS = "poddisruptionbudgets", "securitycontextconstraints"
_IMPACT = "which could impact cluster stability"
_Remark = tuple[Rule, Keys, str]


def good_practice_findings(bundle: Bundle, settings: ValidatorSettings) -> Iterator[Finding]:  # noqa: ARG001
    """Where a bundle departs from good practice."""
    csv = csv_of(bundle.csv)
    if csv.strategy.get("deployments") is None:
        message = result_text("unable to find a deployment to install in the CSV", value=csv.name)
        yield Finding(rules.NO_DEPLOYMENT, message, csv.place("spec", "install", "spec"))
    for keys, detail in (
        *_resource_remarks(csv),
        *_description_remarks(csv),
        *_channel_remarks(bundle),
        *_permission_remarks(csv),
        *_name_remarks(csv.name),
    ):
        yield Finding(rules.GOOD_PRACTICES, result_text(detail, value=csv.name), csv.place(*keys))


def _resource_remarks(csv: Csv) -> Iterator[tuple[Keys, str]]:
    for container in containers(csv):
        # Requests for one resource alone are enough to the tools.
        if mapping(container.object.get("resources")).get("requests") is None:
            message = f"unable to find the resource requests for the container: ({container.name}). {_NO_REQUESTS}"
            yield container.keys, message


def _description_remarks(csv: Csv) -> Iterator[tuple[Keys, str]]:
    for relation in ("owned", "required"):
        for index, item in enumerate(csv.crd_descriptions(relation)):
            if not text(item.get("description")):
                keys = ("spec", "customresourcedefinitions", relation, index)
                yield keys, f"{relation} CRD {quoted(text(item.get('name')))} has an empty description"


def _channel_remarks(bundle: Bundle) -> Iterator[tuple[Keys, str]]:
    channels = {channel.strip(SPACES) for channel in (*bundle.channels, bundle.default_channel)} - {""}
    odd = sorted(channel for channel in channels if not channel.startswith(_CONVENTIONAL))
    if odd:
        yield (
            (),
            f"channel(s) {ascii_list(odd)} are not following the recommended naming convention: "
            "https://olm.operatorframework.io/docs/best-practices/channel-naming",
        )


def _permission_remarks(csv: Csv) -> Iterator[tuple[Keys, str]]:
    for field in ("permissions", "clusterPermissions"):
        for rule in policy_rules(csv, field):
            if (
                "apiextensions.k8s.io" in rule.names("apiGroups")
                and _RESOURCES & {*rule.names("resources")}
                and _VERBS & {*rule.names("verbs")}
            ):
                # The tools say it once, however many rules do it.
                yield rule.keys, _MAKES_CRDS
                return


def _name_remarks(name: str) -> Iterator[tuple[Keys, str]]:
    keys = ("metadata", "name")
    match = _VERSION.search(name)
    try:
        parse_strict(match[0] if match else "")
    except VersionError:
        yield (
            keys,
            f"csv.metadata.Name {name} is not following the versioning convention (MAJOR.MINOR.PATCH e.g 0.0.1): "
            "https://semver.org/",
        )
    if name.count(".v") != 1:
        yield (
            keys,
            f"csv.metadata.Name {name} is not following the recommended naming convention: <operator-name>.v<semver> "
            "e.g. memcached-operator.v0.0.1",
        )


def bundle_object_findings(bundle: Bundle, settings: ValidatorSettings) -> Iterator[Finding]:  # noqa: ARG001
    """What is wrong with disruption budgets, priority classes and roles of a bundle."""
    for file in bundle.files:
        obj = file.manifest.object
        value = f"{obj.get('kind')} {text(mapping(obj.get('metadata')).get('name'))}"
        for rule, keys, detail in _remarks(obj):
            yield Finding(rule, result_text(detail, value=value), Place(file.manifest.source, keys))


def _remarks(obj: KubernetesObject) -> Iterator[_Remark]:
    match obj.get("kind"):
        case "PodDisruptionBudget":
            yield from _budget_remarks(spec_of(obj))
        case "PriorityClass":
            if obj.get("globalDefault") is True:
                yield rules.BUNDLE_OBJECT, ("globalDefault",), "globalDefault field cannot be set to true"
        case "Role" | "ClusterRole":
            for index, rule in enumerate(mappings(obj.get("rules"))):
                yield from _role_remarks(rule, ("rules", index))


def _budget_remarks(spec: Mapping[str, Any]) -> Iterator[_Remark]:
    most = spec.get("maxUnavailable")
    if most == "0%" or (most == 0 and not isinstance(most, bool)):
        yield rules.BUNDLE_OBJECT, ("spec", "maxUnavailable"), "maxUnavailable field cannot be set to 0 or 0%"
    if spec.get("minAvailable") == "100%":
        yield rules.BUNDLE_OBJECT, ("spec", "minAvailable"), "minAvailable field cannot be set to 100%"


def _role_remarks(rule: Mapping[str, Any], keys: Keys) -> Iterator[_Remark]:
    groups, resources, verbs, names = (
        set(texts(rule.get(field))) for field in ("apiGroups", "resources", "verbs", "resourceNames")
    )
    if "policy" in groups and _BUDGETS in resources and verbs & {"*", "create", "update", "patch"}:
        yield rules.BUNDLE_OBJECT_ADVICE, keys, f"RBAC includes permission to create/update {_BUDGETS}, {_IMPACT}"
    if (
        "security.openshift.io" in groups
        and _CONSTRAINTS in resources
        and verbs & {"*", "delete", "update", "patch"}
        and names & DEFAULT_CONSTRAINTS
    ):
        yield rules.BUNDLE_OBJECT, keys, f"RBAC includes permission to modify default {_CONSTRAINTS}, {_IMPACT}"
