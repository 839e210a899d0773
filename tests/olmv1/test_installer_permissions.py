"""What an installer must be allowed to do."""

from __future__ import annotations

from typing import Any

from olmc.k8s.api.rbac import EVERYTHING
from olmc.k8s.api.rbac_access import Access
from olmc.k8s.api.restmapper import RestMapper
from olmc.k8s.objects import PolicyRule
from olmc.targets.v1.permissions import (
    CatalogFilter,
    ClusterExtension,
    installer,
    missing_rules,
    preflight_error,
    required_rules,
)

EXTENSION = ClusterExtension("kettle", "brewing", "installer", CatalogFilter("kettle"))
RBAC = "rbac.authorization.k8s.io"


def _object(kind: str, name: str, api: str = "v1", namespace: str = "", **fields: Any) -> dict[str, Any]:
    where = {"namespace": namespace} if namespace else {}
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name, **where}, **fields}


ACCOUNT = _object("ServiceAccount", "kettle", namespace="brewing")
RULE = {"verbs": ["get", "list"], "apiGroups": ["", "apps"], "resources": ["pods"]}
ROLE = _object("ClusterRole", "kettle", f"{RBAC}/v1", rules=[RULE])
BINDING = _object(
    "ClusterRoleBinding", "kettle", f"{RBAC}/v1", roleRef={"apiGroup": RBAC, "kind": "ClusterRole", "name": "kettle"}
)
FINALIZERS = (
    'Namespace:"" APIGroups:[olm.operatorframework.io] Resources:[clusterextensions/finalizers] '
    "ResourceNames:[kettle] Verbs:[update]"
)


def _lines(*objects: dict[str, Any], granted: tuple[PolicyRule, ...] = (), revision: str = "") -> list[str]:
    access = Access({installer(EXTENSION): granted}, {})
    missing = missing_rules(EXTENSION, objects, RestMapper(), access, revision=revision)
    return sorted(rule.line for rule in missing)


def test_every_object_is_read_and_written_by_name() -> None:
    """R-V1-PERM-1, R-V1-PERM-2: a core group prints nothing between its brackets."""
    assert _lines(ACCOUNT) == [
        'Namespace:"" APIGroups:[] Resources:[serviceaccounts] Verbs:[list,watch]',
        FINALIZERS,
        'Namespace:"brewing" APIGroups:[] Resources:[serviceaccounts] ResourceNames:[kettle] '
        "Verbs:[delete,get,patch,update]",
        'Namespace:"brewing" APIGroups:[] Resources:[serviceaccounts] Verbs:[create]',
    ]


def test_an_object_set_needs_no_watches() -> None:
    """R-V1-PERM-1."""
    lines = _lines(ACCOUNT, revision="kettle-1")
    assert lines[0] == (
        'Namespace:"" APIGroups:[olm.operatorframework.io] Resources:[clusterobjectsets/finalizers] '
        "ResourceNames:[kettle-1] Verbs:[update]"
    )
    assert not any("watch" in line for line in lines)


def test_who_gives_rights_holds_them() -> None:
    """R-V1-PERM-1: of a role, and of the role of the manifest that a binding names."""
    rights = ['Namespace:"" APIGroups:[] Resources:[pods] Verbs:[get,list]']
    rights.append('Namespace:"" APIGroups:[apps] Resources:[pods] Verbs:[get,list]')
    for obj, verb, objects in ((ROLE, "escalate", [ROLE]), (BINDING, "bind", [BINDING, ROLE])):
        lines = _lines(*objects)
        assert [line for line in lines if "pods" in line] == rights
        excused = PolicyRule((verb,), (RBAC,), ("clusterroles",), ("kettle",))
        left = [line for line in _lines(obj, granted=(excused,)) if "pods" in line]
        assert left == []


def test_what_is_granted_is_not_missing() -> None:
    """R-V1-PERM-1: only RBAC in the cluster counts; the minimum is what is missing where nothing is granted."""
    assert _lines(ACCOUNT, ROLE, BINDING, granted=EVERYTHING) == []
    every = required_rules(EXTENSION, [ACCOUNT, ROLE], RestMapper())
    assert sorted(rule.line for rule in every) == _lines(ACCOUNT, ROLE)
    granted = tuple(rule.rule for rule in every)
    assert _lines(ACCOUNT, ROLE, granted=granted) == []


def test_the_text_of_the_preflight() -> None:
    """R-V1-PERM-2."""
    missing = missing_rules(EXTENSION, [], RestMapper(), Access({}, {}))
    head = "pre-authorization failed: service account requires the following permissions to manage cluster extension:"
    assert preflight_error(missing) == f"{head}\n  {FINALIZERS}"
    assert preflight_error(()) == ""


def test_the_empty_name_is_no_more_than_itself() -> None:
    """What is given away under the name "" stays limited to it, in what is lacked and in the roles for it."""
    wide = _object("ClusterRole", "kettle", f"{RBAC}/v1", rules=[{**RULE, "resourceNames": [""]}])
    assert [line for line in _lines(wide) if "pods" in line] == [
        f'Namespace:"" APIGroups:[{group}] Resources:[pods] ResourceNames:[] Verbs:[get,list]' for group in ("", "apps")
    ]
