"""What is said of differences of all kinds but CRDs, case by case (docs/diff.md)."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from kit import HERE, compared, lines

from olmc.k8s.objects import PolicyRule, object_key
from olmc.review.diff.compare import compare
from olmc.review.diff.crd_kinds import plain
from olmc.review.diff.settings import Side
from olmc.review.diff.webhooks import joined_message, permission_gained


def cases(name: str) -> list[Any]:
    listed = yaml.safe_load((HERE / f"{name}.yaml").read_text(encoding="utf-8"))
    return [pytest.param(case, id=case["title"]) for case in listed]


@pytest.mark.parametrize("case", cases("cases"))
def test_objects(case: dict[str, Any]) -> None:
    assert lines(compared(case["old"], case["new"])) == case["changes"]


@pytest.mark.parametrize("case", [*cases("operators"), *cases("extensions")])
def test_operators(case: dict[str, Any]) -> None:
    difference = compared(case["old"], case["new"])
    assert lines(difference) == case["changes"]
    assert difference.folded == case.get("folded", difference.folded)


@pytest.mark.parametrize("case", cases("noise"))
def test_only_what_olm_makes_is_folded(case: dict[str, Any]) -> None:
    """`manifests` are those of the new side that the workspace has written, by kind and name."""
    new = Side("new", tuple(case["new"]))
    keys = {f"{key.kind}/{key.name}": key for key in map(object_key, new.objects)}
    new = new._replace(manifests=frozenset(keys[name] for name in case.get("manifests", ())))
    difference = compare(Side("old", tuple(case["old"])), new)
    assert lines(difference) == case["changes"]
    assert difference.folded == case.get("folded", {})


@pytest.mark.parametrize("case", cases("rbac"))
def test_permissions(case: dict[str, Any]) -> None:
    difference = compared(rbac(case["old"]), rbac(case["new"]))
    said = [line.replace("ServiceAccount/kitchen/", "") for line in lines(difference)]
    assert said == case.get("changes", [])
    assert difference.folded == case.get("folded", difference.folded)


def rbac(short: dict[str, Any]) -> list[dict[str, Any]]:
    """Roles with their bindings: name, namespace ("" for a ClusterRole), rules, service account, aggregated into.

    A rule is verbs and resources (or URLs), and the names that it is for.
    """
    made = []
    for name, namespace, rules, account, *into in short["roles"]:
        role = _object("" if namespace else "Cluster", "Role", name, namespace)
        role["rules"] = [_rule(*rule) for rule in rules]
        if into:
            role["metadata"]["labels"] = {f"rbac.authorization.k8s.io/aggregate-to-{into[0]}": "true"}
        made.append(role)
        if account:
            made.append(_binding(name, "" if namespace else "Cluster", namespace, account))
    for name, namespace, account in short.get("bindings", ()):
        made.append(_binding(name, "Cluster", namespace, account))
    return made


def _rule(verbs: str, resources: str, names: str = "") -> dict[str, Any]:
    rule: dict[str, Any] = {"verbs": verbs.split(",")}
    if resources.startswith("/"):
        return {**rule, "nonResourceURLs": resources.split(",")}
    whole = [each.partition("/") for each in resources.split(",")]
    rule["apiGroups"] = list(dict.fromkeys(each[0].partition(".")[2] for each in whole))
    rule["resources"] = [each[0].partition(".")[0] + "".join(each[1:]) for each in whole]
    return {**rule, "resourceNames": names.split(",")} if names else rule


def _binding(role: str, scope: str, namespace: str, account: str) -> dict[str, Any]:
    made = _object("" if namespace else "Cluster", "RoleBinding", role, namespace)
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": f"{scope}Role", "name": role}
    subjects = [{"kind": "ServiceAccount", "name": account, "namespace": "kitchen"}]
    return {**made, "roleRef": reference, "subjects": subjects}


def _object(scope: str, kind: str, name: str, namespace: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": f"{scope}{kind}", "metadata": metadata}


def test_a_rule_that_stands_for_billions() -> None:
    """A stranger's rule is a box of verbs, groups, resources and names; nobody writes out what is in it."""
    many = [f"x{number}" for number in range(2000)]
    rule = {"verbs": many, "apiGroups": many, "resources": many, "resourceNames": many}
    old, new = (rbac({"roles": [["one", "kitchen", [], "kettle"]]}) for _ in range(2))
    old[0]["rules"], new[0]["rules"] = [rule], [{**rule, "verbs": [*many, "y"]}]
    (said,) = lines(compared(old, new))
    assert said.startswith("change + ServiceAccount/kitchen/kettle: may y x0, x1, x10, ")


def test_what_may_be_dangerous_is_first_in_what_is_cut() -> None:
    """Names that come before it in the alphabet would hide it."""
    harmless = [f"aa{number:03}" for number in range(120)]
    rule = {
        "verbs": [*harmless, "escalate", "impersonate"],
        "apiGroups": [*harmless, "rbac.authorization.k8s.io"],
        "resources": [*harmless, "clusterroles"],
    }
    old, new = (rbac({"roles": [["one", "kitchen", [], "kettle"]]}) for _ in range(2))
    old[0]["rules"], new[0]["rules"] = [], [rule]
    (line,) = lines(compared(old, new))
    assert ": may escalate, impersonate, aa000, aa001, " in line
    assert " and 82 more clusterroles, aa000, " in line
    assert " in the API groups rbac.authorization.k8s.io, aa000, " in line


def test_so_it_is_where_rules_are_joined() -> None:
    """What is harmless fills the list, and stands for more than is looked at."""
    many = tuple(f"aa{number:03}" for number in range(120))
    rules = [PolicyRule(("get",), many, many), PolicyRule(("get",), ("", "x.org"), ("pods", "quotas", "secrets"))]
    first = permission_gained(object_key({"kind": "ServiceAccount"}), "", rules[0], (), "none", "")
    message = plain(joined_message(rules, first, None))
    assert message.startswith("may get pods, secrets, aa000.aa000, aa001.aa000, ")
    assert message.endswith(" and 14394 more in the whole cluster")
    few = plain(joined_message([rules[1]], first, None))
    assert few == "may get pods, quotas, secrets, pods.x.org, quotas.x.org, secrets.x.org in the whole cluster"
