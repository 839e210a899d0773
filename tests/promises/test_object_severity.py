"""Whoever gains power by an object finds no review that lets it pass (docs/diff.md, "Objects that give power")."""

from __future__ import annotations

import json
from pathlib import Path
from time import process_time
from typing import Any

import pytest
import yaml
from running import run

from olmc.review.diff.compare import compare
from olmc.review.diff.crd_kinds import BREAKING, RISK, plain
from olmc.review.diff.settings import Side
from olmc.review.rbac.risks import RISKS, Level

_HERE = Path(__file__).parent
_ATTACKS = yaml.safe_load((_HERE / "object_attacks.yaml").read_text(encoding="utf-8"))
_HARMLESS = yaml.safe_load((_HERE / "harmless_objects.yaml").read_text(encoding="utf-8"))
_VARIANTS = [
    pytest.param(case, id=f"{kind} {number}") for kind, cases in _ATTACKS.items() for number, case in enumerate(cases)
]


def graved(old: list[Any], new: list[Any]) -> list[str]:
    """List the changes that `--fail-on risk` fails on, as texts."""
    difference = compare(Side("old", tuple(old)), Side("new", tuple(new)))
    return [str(change.message) for change in difference.changes if change.severity in (RISK, BREAKING)]


def objects(one: Any) -> list[Any]:
    """Give what a case has on a side: an object, several ones or none."""
    return one if isinstance(one, list) else [one] if one else []


@pytest.mark.parametrize("case", _VARIANTS)
def test_power_by_an_object_is_a_risk(case: dict[str, Any]) -> None:
    assert graved(objects(case["old"]), objects(case["new"]))
    if "harmless" in case:
        assert graved(objects(case["old"]), objects(case["harmless"])) == []


def test_every_kind_has_three_variants() -> None:
    assert all(len(cases) >= 3 for cases in _ATTACKS.values())


@pytest.mark.parametrize("case", _HARMLESS, ids=lambda case: f"{case['kind']} {json.dumps(case['then'])[-40:]}")
def test_what_adds_no_power_is_no_risk(case: dict[str, Any]) -> None:
    old = {key: value for key, value in case.items() if key != "then"}
    assert graved([old], [case["then"]]) == []


_NEW: list[dict[str, Any]] = [
    {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "spec": {"rules": [{"host": "a.example.com"}]}},
    {"apiVersion": "route.openshift.io/v1", "kind": "Route", "spec": {"to": {"kind": "Service", "name": "s"}}},
    {"apiVersion": "v1", "kind": "Service", "spec": {"type": "NodePort", "selector": {"a": "b"}, "ports": []}},
    {"apiVersion": "v1", "kind": "Service", "spec": {"type": "LoadBalancer", "selector": {"a": "b"}, "ports": []}},
    {"apiVersion": "operators.coreos.com/v1alpha1", "kind": "CatalogSource", "spec": {"image": "r.example.com/c:v1"}},
]  # fmt: skip


@pytest.mark.parametrize("obj", _NEW, ids=lambda obj: f"{obj['kind']} {obj['spec'].get('type', '')}")
def test_a_new_object_that_gives_nobody_power_is_no_risk(obj: dict[str, Any]) -> None:
    """A catalog is reported with its image, as a container is."""
    new = {**obj, "metadata": {"name": "o", "namespace": "n"}}
    assert graved([], [new]) == []
    texts = [plain(change.message) for change in compare(Side("old", ()), Side("new", (new,))).changes]
    assert any("r.example.com/c:v1" in text for text in texts) is (obj["kind"] == "CatalogSource")


def _account(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "s", "namespace": "n"},
        "spec": {"template": {"spec": {"serviceAccountName": name, "containers": [{"name": "c"}]}}},
    }  # fmt: skip


def _binding(kind: str, name: str, role: str) -> dict[str, Any]:
    rbac = "rbac.authorization.k8s.io"
    subject = {"kind": kind, "name": name, **({"namespace": "n"} if kind == "ServiceAccount" else {})}
    return {
        "apiVersion": f"{rbac}/v1", "kind": "ClusterRoleBinding", "metadata": {"name": f"{name}-{role}"},
        "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": role}, "subjects": [subject],
    }  # fmt: skip


@pytest.mark.parametrize("role", ["cluster-admin", "admin", "a-role-of-the-cluster"])
def test_a_stronger_account_is_a_risk(role: str) -> None:
    bindings = [_binding("ServiceAccount", "strong", role)]
    assert graved([*bindings, _account("weak")], [*bindings, _account("strong")])
    assert not graved([*bindings, _account("strong")], [*bindings, _account("weak")])


def test_a_new_object_that_runs_nothing_is_none_by_an_account_in_it() -> None:
    bindings = [_binding("ServiceAccount", "strong", "cluster-admin")]
    named = {"metadata": {"name": "o", "namespace": "n"}, "data": {"serviceAccountName": "strong"}}
    assert not graved(bindings, [*bindings, {"apiVersion": "v1", "kind": "ConfigMap", **named}])
    assert graved(bindings, [*bindings, {"apiVersion": "x.example.com/v1", "kind": "Runner", **named}])


def test_an_account_that_may_do_no_more_is_none() -> None:
    bindings = [_binding("ServiceAccount", name, "cluster-admin") for name in ("one", "other")]
    assert not graved([*bindings, _account("one")], [*bindings, _account("other")])


def test_a_secret_that_its_own_account_or_operator_reads_is_none() -> None:
    """A Secret that pods of the account, or of another Deployment of the operator, read already is no more power."""

    def reader(name: str, account: str, secret: str, csv: str) -> dict[str, Any]:
        volumes = [{"name": "s", "secret": {"secretName": secret}}] if secret else []
        owned = {"olm.owner": csv, "olm.owner.kind": "ClusterServiceVersion", "olm.owner.namespace": "n"}
        metadata = {"name": name, "namespace": "n", "labels": owned if csv else {}}
        pod = {"serviceAccountName": account, "volumes": volumes, "containers": [{"name": "c"}]}
        return {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": metadata,
            "spec": {"template": {"spec": pod}},
        }

    for account, csv, is_risk in (("a", "", False), ("b", "x.v1", False), ("b", "", True)):
        other = reader("other", account, "s", csv)
        old, new = (reader("d", "a", secret, csv) for secret in ("", "s"))
        assert bool(graved([other, old], [other, new])) is is_risk


@pytest.mark.parametrize("role", ["cluster-admin", "edit", "a-role-of-the-cluster"])
def test_a_new_member_of_a_bound_group_is_a_risk(role: str) -> None:
    group = {"apiVersion": "user.openshift.io/v1", "kind": "Group", "metadata": {"name": "g"}, "users": ["a"]}
    bindings = [_binding("Group", "g", role)]
    assert graved([*bindings, group], [*bindings, {**group, "users": ["a", "evil"]}])
    assert not graved([*bindings, {**group, "users": ["a", "b"]}], [*bindings, group])
    assert not graved([group], [{**group, "users": ["a", "b"]}])


def _namespace(**labels: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "nest", "labels": labels}}


def _policy(name: str, spec: dict[str, Any], group: str = "networking.k8s.io", kind: str = "NetworkPolicy") -> Any:
    metadata = {"name": name, "namespace": "nest"} if kind == "NetworkPolicy" else {"name": name}
    return {"apiVersion": f"{group}/v1", "kind": kind, "metadata": metadata, "spec": spec}


_CHECKED = {"namespaceSelector": {"matchLabels": {"checked": "yes"}}}
_OF_ADMISSION = "admissionregistration.k8s.io"


@pytest.mark.parametrize(
    "other",
    [
        _policy("p", {"matchConstraints": _CHECKED}, _OF_ADMISSION, "ValidatingAdmissionPolicy"),
        _policy("p", {"matchResources": _CHECKED}, _OF_ADMISSION, "ValidatingAdmissionPolicyBinding"),
        {**_policy("p", {}, _OF_ADMISSION, "ValidatingWebhookConfiguration"), "webhooks": [{"name": "a", **_CHECKED}]},
    ],
)
def test_a_namespace_that_leaves_a_check_is_a_risk(other: Any) -> None:
    assert graved([other, _namespace(checked="yes")], [other, _namespace(checked="no")])
    assert not graved([other, _namespace(checked="no")], [other, _namespace(checked="yes")])


def test_a_namespace_that_joins_the_peers_of_a_policy_is_a_risk() -> None:
    peers = [{"from": [{"namespaceSelector": {"matchLabels": {"trusted": "yes"}}}]}]
    policy = _policy("p", {"podSelector": {}, "ingress": peers})
    assert graved([policy, _namespace()], [policy, _namespace(trusted="yes")])


def test_a_policy_that_opens_a_closed_namespace_is_a_risk() -> None:
    closed = _policy("closed", {"podSelector": {}, "policyTypes": ["Ingress"]})
    assert graved([closed], [closed, _policy("open", {"podSelector": {}, "ingress": [{}]})])
    assert not graved([], [_policy("open", {"podSelector": {}, "ingress": [{}]})])
    assert not graved([closed], [closed, _policy("dns", {"podSelector": {}, "egress": [{"ports": [{"port": 53}]}]})])


def test_rules_that_join_a_role_of_the_cluster_are_a_risk() -> None:
    rule = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}
    metadata = {"name": "r"}
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": metadata, "rules": [rule]}
    labels = {"rbac.authorization.k8s.io/aggregate-to-cluster-reader": "true"}
    assert graved([role], [{**role, "metadata": {**metadata, "labels": labels}}])


@pytest.mark.parametrize("label", ["kubernetes.io/bootstrapping", "rbac.authorization.k8s.io/aggregate-to-edit", ""])
def test_roles_of_every_cluster_join_a_bound_role(label: str) -> None:
    """The API server labels its own roles, cluster-admin among them."""
    selector = {"matchLabels": {label: "rbac-defaults" if "boot" in label else "true"}} if label else {}
    api = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": "crew"}}
    old = {**api, "kind": "ClusterRole", "rules": []}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "crew"}
    binding = {**api, "kind": "ClusterRoleBinding", "roleRef": reference, "subjects": [{"kind": "User", "name": "u"}]}
    assert graved([old, binding], [{**old, "aggregationRule": {"clusterRoleSelectors": [selector]}}, binding])


def test_every_right_to_write_that_is_graded_has_rows() -> None:
    """The table of objects covers the kinds of the table of rights; other modules compare the rest in words."""
    from olmc.review.diff.object_risks import OBJECT_RISKS

    in_words = {"rbac.authorization.k8s.io", "apps", "batch", "apiextensions.k8s.io", "operators.coreos.com"}
    groups = {pattern.rpartition("/")[0] for row in OBJECT_RISKS for pattern in row.kinds} | in_words
    writing = {"create", "update", "patch"}
    graded = {risk.group for risk in RISKS if risk.cluster >= Level.MEDIUM and writing & set(risk.verbs)}
    assert graded - groups <= {"*", "authentication.k8s.io"}


@pytest.mark.process
def test_the_commands_fail_on_it(repository: Path) -> None:
    """An attack that no role is needed for, in a workspace of a repository: `diff` and `plan` both fail."""
    attack = {"apiVersion": "config.openshift.io/v1", "kind": "OAuth", "metadata": {"name": "cluster"}}
    attack["spec"] = {"identityProviders": [{"name": "evil", "type": "HTPasswd"}]}
    (repository / "x").mkdir()
    for name, content in (("old", {}), ("new", attack)):
        folder = repository / "x" / name
        folder.mkdir()
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "nest"}}
        (folder / "cluster.yaml").write_text(yaml.safe_dump_all([namespace, *([content] if content else [])]))
    commands = ("diff x/old x/new --fail-on risk", "plan x/new --from x/old --fail-on risk", "diff x/old x/old")
    outcomes = run([command.split() for command in commands], repository)
    assert [outcome.code for outcome in outcomes] == [1, 1, 0], [outcome.output for outcome in outcomes]


@pytest.mark.slow
def test_policies_with_many_rules_cost_little() -> None:
    """Each rule is not compared with every other one, nor all of them again for each difference."""

    def policy(first: int) -> Any:
        blocks = [
            {"from": [{"ipBlock": {"cidr": f"10.{n // 256}.{n % 256}.0/24"}}]} for n in range(first, first + 1_500)
        ]
        return _policy("p", {"podSelector": {}, "ingress": blocks})

    start = process_time()
    assert graved([policy(0)], [policy(40)])
    assert process_time() - start < 5
