"""Permissions that follow from something else that is reported: they are counted, and not listed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from olmc.diff import permission_kinds as kinds
from olmc.diff.change import DiffChange
from olmc.model.objects import APIEXTENSIONS, CRD_KIND, KubernetesObject, PolicyRule, object_key, owner_references
from olmc.model.operators import OLM_GROUP
from olmc.rbac_report.builtin_roles import USER_ROLES

_OF_USERS = "right of admin, edit and view"
_OF_OLM = "right to its own OperatorCondition"
_OF_CERTIFICATE = "right to its own serving certificate"
_CERTIFICATE = "-service-cert"
"""How the Secrets end in which OLM writes the certificates that webhooks and API services answer with."""


def without_derived(
    changes: Iterable[DiffChange], objects: Iterable[KubernetesObject]
) -> tuple[list[DiffChange], Counter[str]]:
    """Changes of permissions without those that OLM makes of CRDs and CSVs, and how many of these there are.

    OLM lets admin, edit and view do something with every API that an operator owns, and every operator read its own
    OperatorCondition. `objects` are those of both sides.
    """
    keys = map(object_key, objects)
    crds = frozenset(key.name for key in keys if (key.group, key.kind) == (APIEXTENSIONS, CRD_KIND))
    reported: list[DiffChange] = []
    folded: Counter[str] = Counter()
    for change in changes:
        what = _derived(change, crds)
        if what:
            folded[what] += 1
        else:
            reported.append(change)
    return reported, folded


def is_certificate(obj: KubernetesObject) -> bool:
    """Whether an object is a Secret with a certificate that OLM makes for a CSV."""
    of_csv = any(reference.get("kind") == "ClusterServiceVersion" for reference in owner_references(obj))
    known = object_key(obj)
    return of_csv and (known.group, known.kind) == ("", "Secret") and known.name.endswith(_CERTIFICATE)


def _derived(change: DiffChange, crds: frozenset[str]) -> str:
    if change.kind not in (kinds.permission_gained, kinds.permission_lost):
        return ""
    rule: PolicyRule = change.values["rule"]
    if change.identity.kind == "ClusterRole" and change.identity.name in USER_ROLES:
        return _OF_USERS if _is_of_crds(rule, crds) else ""
    if rule.groups == ("",) and rule.resources == ("secrets",) and len(rule.names) == 1:
        return _OF_CERTIFICATE if rule.names[0].endswith(_CERTIFICATE) and rule.verbs == ("get",) else ""
    own = rule.groups == (OLM_GROUP,) and set(rule.resources) <= {"operatorconditions", "operatorconditions/status"}
    return _OF_OLM if own and rule.names and change.identity.kind == "ServiceAccount" else ""


def _is_of_crds(rule: PolicyRule, crds: frozenset[str]) -> bool:
    """Whether a rule is about the objects of CRDs, or about reading the CRDs themselves."""
    if rule.groups == (APIEXTENSIONS,) and rule.names:
        return set(rule.names) <= crds
    plurals = (f"{resource.partition('/')[0]}.{group}" for group in rule.groups for resource in rule.resources)
    return bool(rule.resources) and all(plural in crds for plural in plurals)
