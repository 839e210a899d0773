"""Objects of a bundle that could harm the cluster they come to (R-CAT-270).

Where the tools print a dump of their memory of an object as the value, its kind and name stand here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from olmc.load.validation.result import Finding, result_text
from olmc.load.validation.settings import Settings
from olmc.load.validation.views import Keys
from olmc.model.coerce import mapping, mappings, text, texts
from olmc.model.location import Place
from olmc.model.objects import KubernetesObject, spec_of
from olmc.model.workspace import Bundle
from olmc.rules import validation as rules
from olmc.rules.rule import Rule

DEFAULT_CONSTRAINTS = frozenset(
    "privileged restricted anyuid hostaccess hostmount-anyuid hostnetwork node-exporter nonroot".split()
)
_BUDGETS, _CONSTRAINTS = "poddisruptionbudgets", "securitycontextconstraints"
_IMPACT = "which could impact cluster stability"
_Remark = tuple[Rule, Keys, str]


def bundle_object_findings(bundle: Bundle, settings: Settings) -> Iterator[Finding]:  # noqa: ARG001
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
