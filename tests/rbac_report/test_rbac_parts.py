"""What the commands about permissions are made of: risks, words, kinds, questions (docs/review.md)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from olmc.compiler.output.document import aligned, paragraph
from olmc.compiler.output.messages import QueryError
from olmc.k8s.objects import Origin, PolicyRule, Provenance, Rendered
from olmc.review.rbac.risks import RISKS, Level, level_of, risks_of
from olmc.review.rbac.subjects import Permissions, holders, permissions, select_holders
from olmc.review.rbac.who_can import as_text, find_able, in_words, parse_question

RBAC = "rbac.authorization.k8s.io"
NOTHING = Permissions((), (), ())
EVERYTHING = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}


def rule(verbs: str, group: str, resources: str, *names: str) -> PolicyRule:
    return PolicyRule(tuple(verbs.split()), (group,), tuple(resources.split()), names)


@pytest.mark.parametrize(
    ("wanted", "namespace", "level", "names"),
    [
        (rule("*", "*", "*"), "", Level.CRITICAL, ["everything"]),
        (rule("*", "*", "*"), "harbour", Level.HIGH, ["everything"]),
        (rule("escalate", RBAC, "clusterroles"), "", Level.CRITICAL, ["escalate"]),
        (rule("escalate", RBAC, "clusterroles"), "harbour", Level.NONE, []),
        (rule("escalate", RBAC, "roles", "one"), "harbour", Level.HIGH, ["escalate"]),
        (rule("bind", RBAC, "clusterroles", "one"), "", Level.CRITICAL, ["bind"]),
        (rule("impersonate", "", "users"), "", Level.CRITICAL, ["impersonate"]),
        (rule("get", "", "secrets"), "", Level.HIGH, ["secrets"]),
        (rule("get", "", "secrets"), "harbour", Level.MEDIUM, ["secrets"]),
        (rule("get", "", "secrets", "one"), "", Level.NONE, []),
        (rule("list watch", "", "secrets", ""), "", Level.HIGH, ["secrets"]),
        (rule("get", "", "secrets", "", "one"), "", Level.NONE, []),
        (rule("create", "", "pods", ""), "", Level.HIGH, ["workloads"]),
        (rule("create", "", "pods/exec", ""), "", Level.NONE, []),
        (rule("deletecollection", "", "namespaces", "one", ""), "", Level.HIGH, ["deleting namespaces"]),
        (rule("*", "", "pods", ""), "", Level.HIGH, ["workloads", "every verb"]),
        (rule("list", "*", "kettles", ""), "", Level.MEDIUM, ["every API group"]),
        (rule("get", "", "pods", ""), "", Level.NONE, []),
        (rule("delete", "", "secrets"), "", Level.NONE, []),
        (rule("update", "", "secrets"), "", Level.HIGH, ["writing secrets"]),
        (rule("update", "", "secrets"), "harbour", Level.LOW, ["writing secrets"]),
        (rule("patch", "", "serviceaccounts"), "", Level.MEDIUM, ["ServiceAccounts"]),
        (rule("create", "", "pods"), "", Level.HIGH, ["workloads"]),
        (rule("create", "apps", "daemonsets"), "", Level.HIGH, ["workloads"]),
        (rule("create", "apps", "daemonsets"), "harbour", Level.LOW, ["workloads"]),
        (rule("create", "machineconfiguration.openshift.io", "machineconfigs"), "", Level.CRITICAL,
         ["machine configs"]),
        (rule("patch", "config.openshift.io", "oauths", "cluster"), "", Level.CRITICAL, ["logins"]),
        (rule("create", "oauth.openshift.io", "oauthclients"), "", Level.HIGH, ["logins"]),
        (rule("delete", "", "namespaces"), "", Level.HIGH, ["deleting namespaces"]),
        (rule("update", "operators.coreos.com", "clusterserviceversions"), "", Level.CRITICAL,
         ["installing operators"]),
        (rule("update", "discovery.k8s.io", "endpointslices"), "", Level.MEDIUM, ["traffic"]),
        (rule("get", "", "services/proxy"), "", Level.HIGH, ["services/proxy"]),
        (rule("impersonate", "authentication.k8s.io", "uids"), "", Level.HIGH, ["impersonate"]),
        (rule("impersonate", "authentication.k8s.io", "userextras/team"), "", Level.HIGH, ["impersonate"]),
        (rule("impersonate", "authentication.k8s.io", "userextras"), "", Level.NONE, []),
        (rule("use", "security.openshift.io", "securitycontextconstraints", "nonroot-v2", "restricted"), "",
         Level.NONE, []),
        (rule("use", "security.openshift.io", "securitycontextconstraints", "anyuid", "nonroot"), "", Level.MEDIUM,
         ["pods as root"]),
        (rule("use", "security.openshift.io", "securitycontextconstraints"), "", Level.HIGH, ["privileged pods"]),
        (rule("bind", RBAC, "clusterroles", "view"), "", Level.LOW, ["bind to view"]),
        (rule("bind", RBAC, "clusterroles", "edit", "view"), "", Level.CRITICAL, ["bind", "bind to view"]),
        (rule("create", "", "pods/exec"), "", Level.HIGH, ["pods/exec"]),
        (rule("create", "", "*/exec"), "", Level.HIGH, ["pods/exec"]),
        (rule("patch", "admissionregistration.k8s.io", "mutatingwebhookconfigurations"), "", Level.CRITICAL,
         ["mutating admission"]),
        (rule("delete", "admissionregistration.k8s.io", "validatingwebhookconfigurations"), "", Level.HIGH,
         ["validating admission"]),
        (rule("get", "", "nodes/proxy"), "", Level.CRITICAL, ["nodes/proxy"]),
        (rule("create", "", "serviceaccounts/token"), "harbour", Level.HIGH, ["serviceaccounts/token"]),
        (rule("update", "certificates.k8s.io", "certificatesigningrequests/approval"), "", Level.CRITICAL,
         ["CSR approval"]),
        (rule("approve", "certificates.k8s.io", "signers", "one"), "", Level.CRITICAL, ["CSR approval"]),
        (rule("use", "security.openshift.io", "securitycontextconstraints", "privileged"), "", Level.HIGH,
         ["privileged pods"]),
        (rule("create", "operators.coreos.com", "subscriptions"), "", Level.CRITICAL, ["installing operators"]),
        (rule("create", "", "serviceaccounts/token", "beacon"), "", Level.HIGH, ["serviceaccounts/token"]),
        (rule("create", "", "serviceaccounts/token", "beacon"), "harbour", Level.MEDIUM, ["serviceaccounts/token"]),
        (rule("patch", RBAC, "clusterrolebindings", "one"), "", Level.LOW, ["role bindings"]),
        (rule("patch", RBAC, "rolebindings", "one"), "harbour", Level.LOW, ["role bindings"]),
        (rule("patch", RBAC, "clusterroles", "one"), "", Level.LOW, ["roles"]),
        (rule("patch", "admissionregistration.k8s.io", "mutatingwebhookconfigurations", "one"), "", Level.MEDIUM,
         ["mutating admission"]),
        (rule("delete", "admissionregistration.k8s.io", "validatingwebhookconfigurations", "one"), "", Level.MEDIUM,
         ["validating admission"]),
        (rule("patch", "apps", "daemonsets", "kube-proxy"), "", Level.MEDIUM, ["workloads"]),
        (rule("patch", "apps", "daemonsets", "one"), "harbour", Level.NONE, []),
        (rule("update", "apiregistration.k8s.io", "apiservices", "v1.example.com"), "", Level.MEDIUM, ["API services"]),
        (rule("patch", "", "configmaps", "aws-auth"), "harbour", Level.HIGH, ["logins"]),
        (rule("update", "", "configmaps", "extension-apiserver-authentication", "one"), "", Level.CRITICAL, ["logins"]),
        (rule("get", "", "configmaps", "extension-apiserver-authentication"), "", Level.NONE, []),
        (rule("update", "", "configmaps", "one"), "", Level.NONE, []),
        (rule("update", "", "configmaps"), "", Level.NONE, []),
        (rule("patch", "operators.coreos.com", "subscriptions", "one"), "", Level.HIGH, ["installing operators"]),
        (rule("create", "olm.operatorframework.io", "clusterextensions"), "", Level.CRITICAL, ["installing operators"]),
        (rule("patch", "olm.operatorframework.io", "clustercatalogs", "one"), "", Level.HIGH, ["installing operators"]),
        (rule("get", "olm.operatorframework.io", "clusterextensions"), "", Level.NONE, []),
        (rule("impersonate", "authentication.k8s.io", "*/scopes"), "", Level.HIGH, ["impersonate"]),
        (rule("get", "*", "kettles"), "", Level.MEDIUM, ["every API group"]),
        (rule("get", "example.com", "*"), "", Level.LOW, ["every resource"]),
        (rule("*", "example.com", "kettles"), "", Level.LOW, ["every verb"]),
        (rule("get", "example.com", "kettles"), "", Level.NONE, []),
        (PolicyRule(("get",), urls=("*",)), "", Level.MEDIUM, ["every URL"]),
        (PolicyRule(("get",), urls=("/metrics",)), "", Level.NONE, []),
        (PolicyRule(("get",), urls=("/metrics/*",)), "", Level.NONE, []),
        (PolicyRule(("get",), urls=("/*",)), "", Level.MEDIUM, ["every URL"]),
        (PolicyRule(("get",), urls=("/**",)), "", Level.MEDIUM, ["every URL"]),
    ],
)  # fmt: skip
def test_risks(wanted: PolicyRule, namespace: str, level: Level, names: list[str]) -> None:
    assert (level_of(wanted, namespace), [risk.name for risk in risks_of(wanted, namespace)]) == (level, names)


def test_reading_everything_is_more_than_reading() -> None:
    """Secrets are part of it, and get on nodes/proxy runs commands."""
    found = {risk.name for risk in risks_of(rule("get list watch", "*", "*"), "")}
    assert found == {"nodes/proxy", "secrets", "pods/exec", "services/proxy", "every API group", "every resource"}


def test_roles_of_openshift_for_constraints_are_known() -> None:
    """Every OpenShift has them, whatever the constraint is called; they allow nothing but its use."""
    binding = {
        "apiVersion": f"{RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "b", "namespace": "harbour"},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "system:openshift:scc:hostnetwork-v2"},
        "subjects": [{"kind": "ServiceAccount", "name": "crane"}],
    }
    found = permissions([Rendered(binding, Provenance(None, "test", "", Origin.MANIFEST))])
    use = rule("use", "security.openshift.io", "securitycontextconstraints", "hostnetwork-v2")
    assert ([grant.rule for grant in found.grants], found.dangling) == ([use], ())


def test_every_risk_says_why_and_is_documented(project: Path) -> None:
    page = " ".join((project / "docs" / "review.md").read_text(encoding="utf-8").split())
    for risk in RISKS:
        assert re.fullmatch(r"[A-Z][^\n]+\.", risk.why), risk.name
        assert risk.cluster >= risk.namespaced, risk.name
        assert f"| {risk.name} | {risk.cluster} | " in page, risk.name
        assert f" {risk.why} |" in page, risk.name


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (rule("get list", "", "pods pods/log"), "get, list pods, pods/log"),
        (rule("get", "apps", "deployments/scale", "a", "b"), "get deployments.apps/scale named a, b"),
        (rule("list", "", "secrets", "", "a"), 'list secrets named "", a'),
        (PolicyRule(("get",), ("", "apps"), ("things",)), "get things.{core,apps}"),
        (rule("*", "*", "*"), "* *.*"),
        (PolicyRule(("get",), urls=("/a", "/b/*")), "get /a, /b/*"),
    ],
)
def test_words(wanted: PolicyRule, words: str) -> None:
    assert in_words(wanted) == words


@pytest.mark.parametrize(
    ("verb", "resource", "requests"),
    [
        ("get", "secrets", [("", "secrets")]),
        ("list", "events", [("", "events"), ("events.k8s.io", "events")]),
        ("create", "po/exec", [("", "pods/exec")]),
        ("update", "deployments.v1.apps/status", [("apps", "deployments/status")]),
        ("impersonate", "users", [("", "users")]),
        ("approve", "signers", [("certificates.k8s.io", "signers")]),
        ("get", "*", [("*", "*")]),
        ("get", "*.apps", [("apps", "*")]),
    ],
)
def test_questions(verb: str, resource: str, requests: list[tuple[str, str]]) -> None:
    question = parse_question(verb, resource, "", None, NOTHING, ())
    assert [(request.group, request.resource) for request in question.requests] == requests


@pytest.mark.parametrize(("verb", "resource"), [("get", "secretz"), ("look", "secrets"), ("get", "secrets.apps")])
def test_questions_that_nobody_understands(verb: str, resource: str) -> None:
    with pytest.raises(QueryError):
        parse_question(verb, resource, "", None, NOTHING, ())


def rendered(kind: str, name: str, namespace: str = "", **body: Any) -> Rendered:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    made = {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": metadata, **body}
    return Rendered(made, Provenance(None, "manifests", "input", Origin.MANIFEST))


def binding(who: Any, rules: Any) -> list[Rendered]:
    ref = {"apiGroup": RBAC, "kind": "Role", "name": "r"}
    return [rendered("Role", "r", "ns", rules=rules), rendered("RoleBinding", "b", "ns", subjects=who, roleRef=ref)]


def test_a_role_gives_nothing_of_what_has_no_namespace() -> None:
    """But it does give the namespace itself."""
    ada = [{"kind": "User", "name": "ada"}]
    made = binding(ada, [{"verbs": ["get"], "apiGroups": [""], "resources": ["nodes", "namespaces"]}])
    found = permissions(made)
    assert find_able(parse_question("get", "nodes", "", None, found, made), found).able == ()
    assert len(find_able(parse_question("get", "namespaces", "", "ns", found, made), found).able) == 1


def test_names_do_not_limit_what_is_created() -> None:
    """So such a rule gives nothing; a subresource has a name when it is created."""
    ada = [{"kind": "User", "name": "ada"}]
    wanted = {"verbs": ["create"], "apiGroups": [""], "resources": ["pods", "pods/exec"], "resourceNames": ["a"]}
    made = binding(ada, [wanted])
    found = permissions(made)
    assert find_able(parse_question("create", "pods", "a", "ns", found, made), found).able == ()
    (able,) = find_able(parse_question("create", "pods/exec", "a", "ns", found, made), found).able
    assert able.names == ("a",)


def test_a_role_of_a_namespace_is_not_aggregated() -> None:
    """It has no such field, so the API server drops it, and the rules count."""
    ada = [{"kind": "User", "name": "ada"}]
    role, bound = binding(ada, [{"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"]}])
    selecting = {**role.object, "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}}
    found = permissions([role._replace(object=selecting), bound])
    assert [grant.rule for grant in found.grants] == [rule("get", "", "secrets")]


OPENSHIFT = "authorization.openshift.io/v1"
BEACON = "system:serviceaccount:harbour:beacon"


def other(api: str, kind: str, name: str, **body: Any) -> Rendered:
    made = {"apiVersion": api, "kind": kind, "metadata": {"name": name}, **body}
    return Rendered(made, Provenance(None, "manifests", "input", Origin.MANIFEST))


@pytest.mark.parametrize(
    ("made", "who", "level"),
    [
        ([rendered("ClusterRole", "system:basic-user", rules=[EVERYTHING])], "Group/system:authenticated", "critical"),
        ([rendered("ClusterRole", "system:controller:job-controller", rules=[EVERYTHING])],
         "ServiceAccount/kube-system/job-controller", "critical"),
        ([other(OPENSHIFT, "ClusterRoleBinding", "b", roleRef={"name": "cluster-admin"}, userNames=[BEACON])],
         "ServiceAccount/harbour/beacon", "critical"),
        ([other(OPENSHIFT, "ClusterRoleBinding", "b", roleRef={"name": "cluster-admin"},
                subjects=[{"kind": "SystemGroup", "name": "crew"}, {"kind": 7}])], "Group/crew", "critical"),
        ([other(OPENSHIFT, "ClusterRole", "r", rules=[{"verbs": ["get"], "apiGroups": None, "resources": ["secrets"]}]),
          other(OPENSHIFT, "ClusterRoleBinding", "b", roleRef={"name": "r"}, groupNames=["crew"])],
         "Group/crew", "high"),
        ([other("security.openshift.io/v1", "SecurityContextConstraints", "scc", users=[BEACON], groups=None)],
         "ServiceAccount/harbour/beacon", "high"),
    ],
    ids=["basic-user", "controller", "userNames", "subjects", "role", "constraint"],
)  # fmt: skip
def test_rights_that_are_given_otherwise(made: list[Rendered], who: str, level: str) -> None:
    """By an API of OpenShift's own, by a constraint, or by the name of a role that every cluster binds."""
    (holder,) = holders(permissions(made), made)
    assert (str(holder.subject), str(holder.level)) == (who, level)


def test_the_empty_name_is_that_of_requests_without_one() -> None:
    """So it gives all of them, and no object by its name."""
    ada = [{"kind": "User", "name": "ada"}]
    verbs = ["create", "deletecollection", "list", "watch", "get", "patch"]
    made = binding(
        ada, [{"verbs": verbs, "apiGroups": [""], "resources": ["pods", "pods/exec"], "resourceNames": [""]}]
    )
    found = permissions(made)

    def able(verb: str, resource: str = "pods", name: str = "") -> list[tuple[str, ...]]:
        return [one.names for one in find_able(parse_question(verb, resource, name, "ns", found, made), found).able]

    assert [able(verb) for verb in verbs] == [[()], [()], [()], [()], [], []]
    assert [able("list", name="a"), able("get", name="a"), able("create", "pods/exec")] == [[()], [], []]


@pytest.mark.parametrize(
    ("who_it_is_for", "rules"),
    [
        (None, None), ("ada", "all"), ([None, 7, {}], [None, 7, {}]), ({"kind": "User"}, {"verbs": ["get"]}),
        ([{"kind": "User", "name": None}], [{"verbs": "get", "apiGroups": [""], "resources": ["pods"]}]),
        ([{"kind": ["User"], "name": {"a": 1}}], [{"verbs": [["get"]], "apiGroups": [{}], "resources": [1]}]),
    ],
)  # fmt: skip
def test_odd_rbac_gives_nothing(who_it_is_for: Any, rules: Any) -> None:
    assert permissions(binding(who_it_is_for, rules)).grants == ()


@pytest.mark.parametrize("ref", [None, [], {"kind": 1}, {"name": "x"}])
@pytest.mark.parametrize(
    "selectors",
    [None, [7], [{"matchLabels": {"a": ["b"]}}], [{"matchExpressions": ["a"]}], [{"matchExpressions": [{"key": "a"}]}]],
)
def test_odd_references_and_selectors(ref: Any, selectors: Any) -> None:
    made = [
        rendered("RoleBinding", "b", "ns", subjects=[{"kind": "User", "name": "ada"}], roleRef=ref),
        rendered("ClusterRole", "r", aggregationRule={"clusterRoleSelectors": selectors}),
    ]
    assert permissions(made).grants == ()


def test_subjects_by_all_their_names() -> None:
    account = [{"kind": "ServiceAccount", "namespace": "ns", "name": "beacon"}]
    made = binding(account, [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}])
    everybody = holders(permissions(made), made)
    for name in ("beacon", "ns/beacon", "ServiceAccount/ns/beacon", "sa/ns/beacon", "system:serviceaccount:ns:beacon"):
        assert select_holders(everybody, name) == everybody
    with pytest.raises(QueryError, match="Did you mean beacon"):
        select_holders(everybody, "beacn")


def test_names_of_strangers_do_nothing_to_the_terminal() -> None:
    evil = "ada\x1b[31m\u202e"
    made = binding([{"kind": "User", "name": evil}], [{"verbs": ["get"], "apiGroups": [""], "resources": ["\x07"]}])
    text = as_text(holders(permissions(made), made), (), lambda _: None)
    assert text == "User ada\ufffd[31m\ufffd\n  - get \ufffd, in ns\n"
    assert aligned([["a\x1b", "b"], ["c"]]) == "a\ufffd  b\nc\n"
    assert paragraph("a\x9b b", "- ") == "- a\ufffd b\n"


def test_a_rule_with_billions_of_combinations_costs_no_more_than_another() -> None:
    """R-PERM-2 spells every combination out; nothing here does."""
    many = [f"v{number}" for number in range(1500)]
    rules = [{"verbs": many, "apiGroups": many, "resources": many, "resourceNames": many}] * 3
    made = binding([{"kind": "User", "name": "ada"}], rules)
    found = permissions(made)
    assert as_text(holders(found, made), (), lambda _: None).startswith("User ada\n  - v0, v1, ")


def test_long_lists_are_folded() -> None:
    def names(letter: str, count: int) -> tuple[str, ...]:
        return tuple(f"{letter}{i}" for i in range(count))

    few = PolicyRule(names("v", 100), names("g", 20), names("r", 100), names("n", 100))
    assert "more" not in in_words(few)
    many = in_words(PolicyRule(names("v", 101), names("g", 22), names("r", 103), names("n", 104)))
    assert re.findall("and ([0-9]+) more", many) == ["1", *["2"] * 100, "3", "4"]
    assert in_words(PolicyRule(("get",), urls=names("/u", 105))).endswith("/u99 and 5 more")


def test_what_may_be_dangerous_is_first_in_what_is_folded() -> None:
    def behind(*risky: str) -> tuple[str, ...]:
        return (*(f"a{number:03}" for number in range(120)), *risky)

    words = in_words(
        PolicyRule(
            behind("escalate", "impersonate"), behind(RBAC), behind("*/exec", "clusterroles", "secrets", "userextras/x")
        )
    )
    assert words.startswith("escalate, impersonate, a000, a001, ")
    assert f" and 22 more clusterroles.{{{RBAC},a000," in words
    resources = re.findall(r"([a-z0-9*]+)\.{", words)
    assert resources[:5] == ["clusterroles", "*", "secrets", "userextras", "a000"]
    few = PolicyRule(("a", "escalate"), ("a", RBAC), ("a", "roles"))
    assert in_words(few) == f"a, escalate a.{{a,{RBAC}}}, roles.{{a,{RBAC}}}"
