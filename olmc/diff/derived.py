"""Permissions that follow from something else that is reported: they are counted, and not listed.

Not what a permission is about makes it one of these, but whence it comes: OLM's own roles and bindings have to grant
it, and these are known by all that OLM writes into them. A manifest of a workspace is none, whatever its labels say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from functools import cache

from olmc.diff import permission_kinds as kinds
from olmc.diff.accounts import NO_ACCOUNTS, Accounts, accounts_of
from olmc.diff.change import DiffChange
from olmc.diff.deployments import certificate_accounts
from olmc.diff.operators import DiffOperator
from olmc.diff.permissions import ScopedSubject, SideAccess, access, with_new_names
from olmc.kube.rbac import RuleIndex
from olmc.lean import NamedTuple
from olmc.model.cluster import NamespacedName
from olmc.model.objects import (
    ACCOUNT,
    APIEXTENSIONS,
    CRD_KIND,
    RBAC,
    KubernetesObject,
    ObjectKey,
    PolicyRule,
    labels_of,
    mapping,
    mappings,
    object_key,
    owner_references,
    text,
    texts,
)
from olmc.model.operators import OLM_GROUP
from olmc.rbac_report.builtin_roles import AGGREGATE_TO, USER_ROLES

_OF_USERS = "right of admin, edit and view"
_OF_OLM = "right to its own OperatorCondition"
_OF_CERTIFICATE = "right to its own serving certificate"
_CERTIFICATE = "-service-cert"
"""How the Secrets end in which OLM writes the certificates that webhooks and API services answer with."""
_TYPES = (None, "kubernetes.io/tls")

_OF_APIS = "olm.opgroup.permissions/aggregate-to-"
_VERBS = {"admin": ["*"], "edit": ["create", "update", "patch", "delete"], "view": ["get", "list", "watch"]}
"""What OLM lets the users of an API do, in every version (R-CR-2)."""
_SEE_CRD = "crdview"
_CONDITIONS = (
    ("operatorconditions", ["get"]),
    ("operatorconditions", ["get", "update", "patch"]),
    ("operatorconditions/status", ["get", "update", "patch"]),
)
"""What OLM lets an operator do with its OperatorCondition, in one version or another (R-OC-2)."""


class DerivedRights(NamedTuple):
    """What OLM itself lets whom do on a side, and the CRDs that the side has."""

    rights: SideAccess
    crds: frozenset[str]


def derived_rights(
    objects: Iterable[KubernetesObject], owners: Mapping[NamespacedName, DiffOperator],
    manifests: Collection[ObjectKey] = (), names: Accounts = NO_ACCOUNTS,
) -> DerivedRights:  # fmt: skip
    """Those of a side with these objects and operators; `manifests` are the objects that its workspace has written,
    `names` the ServiceAccounts that have another name on the new side."""
    known = [(object_key(obj), obj) for obj in objects]
    crds = frozenset(key.name for key, _ in known if (key.group, key.kind) == (APIEXTENSIONS, CRD_KIND))
    owned = frozenset(
        text(crd.get("name"))
        for owner in owners.values()
        for crd in mappings(mapping(owner.spec.get("customresourcedefinitions")).get("owned"))
    )
    certificates = certificate_accounts(owners)
    of_olm = [
        obj for key, obj in known
        if key.group == RBAC and key not in manifests
        and (_is_of_api(key, obj, owned) or _is_of_condition(key, obj, owners) or _is_of_secret(key, obj, certificates))
    ]  # fmt: skip
    return DerivedRights(with_new_names(access(of_olm, owners), names.renamed), crds)


def _is_of_api(known: ObjectKey, role: KubernetesObject, owned: Collection[str]) -> bool:
    """Whether OLM made a ClusterRole for the users of an API that a CSV owns (R-CR-2): one rule, with the verbs of its
    suffix, for those users alone."""
    suffix = known.name.rpartition("-")[2]
    user, rules = "view" if suffix == _SEE_CRD else suffix, mappings(role.get("rules"))
    labels = labels_of(role)
    aggregated = {label for label in labels if text(label).startswith(AGGREGATE_TO)}
    is_olms = any(text(label).startswith(_OF_APIS) for label in labels)
    if known.kind != "ClusterRole" or aggregated != {f"{AGGREGATE_TO}{user}"} or not is_olms or len(rules) != 1:
        return False
    rule = rules[0]
    if suffix == _SEE_CRD:
        names = texts(rule.get("resourceNames"))
        seen = {"verbs": ["get"], "apiGroups": [APIEXTENSIONS], "resources": ["customresourcedefinitions"]}
        return len(names) == 1 and names[0] in owned and rule == {**seen, "resourceNames": names}
    groups, resources = texts(rule.get("apiGroups")), texts(rule.get("resources"))
    written = {"verbs": _VERBS.get(suffix), "apiGroups": groups, "resources": resources}
    return len(groups) == len(resources) == 1 and f"{resources[0]}.{groups[0]}" in owned and rule == written


def _is_of_condition(known: ObjectKey, obj: KubernetesObject, owners: Mapping[NamespacedName, DiffOperator]) -> bool:
    """Whether OLM made a Role or RoleBinding for the OperatorCondition of a CSV, for the accounts of that (R-OC-2)."""
    owner = owners.get(NamespacedName(known.namespace, known.name))
    if owner is None:
        return False
    if known.kind == "RoleBinding":
        return _binds_only(known, obj, accounts_of(owner))
    allowed = (
        {"verbs": verbs, "apiGroups": [OLM_GROUP], "resources": [resource], "resourceNames": [known.name]}
        for resource, verbs in _CONDITIONS
    )
    written = list(allowed)
    return known.kind == "Role" and all(rule in written for rule in mappings(obj.get("rules")))


def _is_of_secret(known: ObjectKey, obj: KubernetesObject, accounts: Mapping[NamespacedName, str]) -> bool:
    """Whether OLM made a Role or RoleBinding for a serving certificate, for the account of what serves (R-CERT-2)."""
    account = accounts.get(NamespacedName(known.namespace, known.name))
    if account is None:
        return False
    if known.kind == "RoleBinding":
        return _binds_only(known, obj, (account,))
    written = {"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"], "resourceNames": [known.name]}
    return known.kind == "Role" and obj.get("rules") == [written]


def _binds_only(known: ObjectKey, binding: KubernetesObject, accounts: Collection[str]) -> bool:
    """Whether a binding gives the Role of its own name to these ServiceAccounts of its namespace alone."""
    reference = mapping(binding.get("roleRef"))
    return (text(reference.get("kind")), text(reference.get("name"))) == ("Role", known.name) and all(
        subject.get("kind") == ACCOUNT and text(subject.get("name")) in accounts
        and text(subject.get("namespace")) in ("", known.namespace)
        for subject in mappings(binding.get("subjects"))
    )  # fmt: skip


def without_derived(
    changes: Iterable[DiffChange], old: DerivedRights, new: DerivedRights
) -> tuple[list[DiffChange], Counter[str]]:
    """Changes of permissions without those that OLM makes of CRDs and CSVs, and how many of these there are.

    OLM lets admin, edit and view do something with every API that an operator owns, and every operator read its own
    OperatorCondition. `old` and `new` are what it lets whom do on both sides.
    """
    crds, sides = old.crds | new.crds, {kinds.permission_gained: new.rights, kinds.permission_lost: old.rights}
    index_of = cache(lambda kind, holder: RuleIndex.of(sides[kind].granted(holder)))
    reported: list[DiffChange] = []
    folded: Counter[str] = Counter()
    for change in changes:
        what = _derived(change, crds)
        # All that the rule allows has to come from OLM.
        holder = ScopedSubject(change.identity, change.values["scope"]) if what else None
        if holder is not None and not index_of(change.kind, holder).subtract_from(change.values["rule"]):
            folded[what] += 1
        else:
            reported.append(change)
    return reported, folded


def is_certificate(
    obj: KubernetesObject, owners: Mapping[NamespacedName, DiffOperator], manifests: Collection[ObjectKey] = ()
) -> bool:
    """Whether an object is a Secret with a certificate that OLM makes for one of the CSVs `owners`."""
    known = object_key(obj)
    if (known.group, known.kind) != ("", "Secret") or known in manifests or obj.get("type") not in _TYPES:
        return False
    of_csv = any(reference.get("kind") == "ClusterServiceVersion" for reference in owner_references(obj))
    return of_csv and NamespacedName(known.namespace, known.name) in certificate_accounts(owners)


def _derived(change: DiffChange, crds: frozenset[str]) -> str:
    """What a change is called among those that OLM may make, "" if it makes none like it."""
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
