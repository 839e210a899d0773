"""Policies of Open Cluster Management are the objects that they install, rule by rule (R-OCM-1 … R-OCM-15)."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from scenarios import write

from olmc.compiler.load.request import CompileRequest
from olmc.compiler.load.workspace import load
from olmc.compiler.model.workspace import Workspace
from olmc.k8s.diagnostics import Report
from olmc.k8s.objects import Manifest
from olmc.k8s.yaml import dump, locate

GROUP = "policy.open-cluster-management.io"
SUBSCRIPTION = {
    "apiVersion": "operators.coreos.com/v1alpha1",
    "kind": "Subscription",
    "metadata": {"name": "beacon", "namespace": "harbour"},
    "spec": {"name": "beacon", "channel": "stable", "source": "harbour", "sourceNamespace": "olm"},
}
NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "harbour"}}
OPERATOR = {
    "remediationAction": "enforce",
    "complianceType": "musthave",
    "upgradeApproval": "Automatic",
    "operatorGroup": {"name": "harbour", "targetNamespaces": ["harbour"]},
    "subscription": {"name": "beacon", "namespace": "harbour", "source": "harbour", "sourceNamespace": "olm"},
}


def configuration(*objects: Any, compliance: str = "musthave", action: str = "enforce", **spec: Any) -> dict[str, Any]:
    """A ConfigurationPolicy with object templates."""
    templates = [{"complianceType": compliance, "objectDefinition": obj} for obj in objects]
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "ConfigurationPolicy",
        "metadata": {"name": "beacon"},
        "spec": {"remediationAction": action, "object-templates": templates, **spec},
    }


def operator(**spec: Any) -> dict[str, Any]:
    """An OperatorPolicy; fields of its spec that are None are left out."""
    fields = {key: value for key, value in {**OPERATOR, **spec}.items() if value is not None}
    metadata = {"name": "beacon"}
    return {"apiVersion": f"{GROUP}/v1beta1", "kind": "OperatorPolicy", "metadata": metadata, "spec": fields}


def subscription(**fields: Any) -> dict[str, Any]:
    """The subscription of an OperatorPolicy with some fields changed, or left out where they are None."""
    changed = {**OPERATOR["subscription"], **fields}  # type: ignore[dict-item]
    return {key: value for key, value in changed.items() if value is not None}


def policy(*templates: Any, action: str = "", **spec: Any) -> dict[str, Any]:
    """A Policy around others."""
    spec["policy-templates"] = [{"objectDefinition": template} for template in templates]
    spec |= {"remediationAction": action} if action else {}
    metadata = {"name": "operators", "namespace": "policies"}
    return {"apiVersion": f"{GROUP}/v1", "kind": "Policy", "metadata": metadata, "spec": spec}


def loaded(root: Path, *values: Any) -> tuple[Workspace, Report]:
    write(root, {"policies.yaml": dump(values)})
    report = Report()
    return load(CompileRequest(root), report), report


def installed(root: Path, *values: Any) -> list[str]:
    """Kind, namespace and name of what policies install."""
    objects = [manifest.object for manifest in of_policies(loaded(root, *values)[0])]
    return [f"{obj['kind']} {obj['metadata'].get('namespace', '')}/{obj['metadata']['name']}" for obj in objects]


def of_policies(workspace: Workspace) -> list[Manifest]:
    return [m for m in workspace.manifests if not m.object["apiVersion"].startswith(GROUP)]


def of_kind(workspace: Workspace, kind: str) -> Mapping[str, Any]:
    return next(manifest.object for manifest in of_policies(workspace) if manifest.object["kind"] == kind)


def messages(root: Path, *values: Any) -> list[str]:
    return [f"{d.code} {d.location}: {d.message}" for d in loaded(root, *values)[1]]


def test_a_policy_is_what_it_holds(tmp_path: Path) -> None:
    """R-OCM-1: with the place of the inner object; nothing of it is there once the Policy is disabled."""
    value = policy(configuration(NAMESPACE, SUBSCRIPTION), {"apiVersion": f"{GROUP}/v1", "kind": "IamPolicy"})
    workspace, report = loaded(tmp_path, value)
    assert list(report) == []
    manifest = of_policies(workspace)[1]
    text = (tmp_path / "policies.yaml").read_text("utf-8").splitlines()
    place = locate(manifest.source, ("spec", "channel"))
    assert (manifest.object, place.path) == (SUBSCRIPTION, "policies.yaml")
    assert text[place.line - 1][place.column - 1 :] == "stable"
    assert installed(tmp_path, policy(configuration(SUBSCRIPTION), disabled=True)) == []


@pytest.mark.parametrize(
    ("outer", "inner", "counts"),
    [
        ("", "enforce", True), ("", "Enforce", True), ("", "inform", False), ("enforce", "inform", True),
        ("inform", "enforce", False), ("enforce", "informOnly", False), ("", "", False),
    ],
)  # fmt: skip
def test_who_only_informs_installs_nothing(tmp_path: Path, outer: str, inner: str, counts: bool) -> None:
    """R-OCM-2: and it is said."""
    value = policy(configuration(SUBSCRIPTION, action=inner), action=outer)
    assert installed(tmp_path, value) == ["Subscription harbour/beacon"] * counts
    said = "only informs and installs nothing: Subscription harbour/beacon of package beacon"
    assert [said in message for message in messages(tmp_path, value)] == [True] * (not counts)


@pytest.mark.parametrize("compliance", ["musthave", "MustHave", "mustonlyhave", "Mustonlyhave"])
def test_object_templates(tmp_path: Path, compliance: str) -> None:
    """R-OCM-3: also those in a text."""
    assert installed(tmp_path, configuration(NAMESPACE, compliance=compliance)) == ["Namespace /harbour"]
    raw = dump([[{"complianceType": compliance, "objectDefinition": SUBSCRIPTION}]])
    assert installed(tmp_path, configuration(**{"object-templates-raw": raw})) == ["Subscription harbour/beacon"]


def test_what_must_not_be_there(tmp_path: Path) -> None:
    """R-OCM-3: of objects of OLM it is said."""
    value = configuration(NAMESPACE, SUBSCRIPTION, compliance="mustnothave")
    assert installed(tmp_path, value) == []
    (said,) = messages(tmp_path, value)
    assert "is for taking away, what exists of it is deleted: Subscription harbour/beacon" in said
    assert messages(tmp_path, configuration(SUBSCRIPTION, compliance="mustnothave", action="inform")) == []


@pytest.mark.parametrize("part", [{"metadata": {"namespace": "harbour"}}, {"spec": None, "status": {"state": "ok"}}])
def test_who_compares_what_exists_is_not_reported(tmp_path: Path, part: dict[str, Any]) -> None:
    """R-OCM-4: a template without a name, or with a status alone, creates nothing even where it is enforced."""
    checked = {key: value for key, value in {**SUBSCRIPTION, **part}.items() if value is not None}
    for action in ("inform", "enforce"):
        value = configuration(checked, action=action)
        assert (installed(tmp_path, value), messages(tmp_path, value)) == ([], [])


def test_objects_go_to_the_namespaces_that_are_selected(tmp_path: Path) -> None:
    """R-OCM-4: names count as they are, and what depends on the cluster is unknown."""
    homeless = {**SUBSCRIPTION, "metadata": {"name": "beacon"}}
    selector = {"include": ["harbour", "quay-1", "quay-2"], "exclude": ["quay-?"]}
    chosen = configuration(homeless, NAMESPACE, namespaceSelector=selector)
    assert installed(tmp_path, chosen) == ["Subscription harbour/beacon", "Namespace /harbour"]
    assert installed(tmp_path, configuration(homeless)) == []
    (said,) = messages(tmp_path, configuration(homeless))
    assert "OLMC199" in said and "it has no namespace, and the policy has no namespaceSelector" in said
    for open_selector in ({"include": ["quay-*"]}, {"matchLabels": {"sea": "north"}}):
        (said,) = messages(tmp_path, configuration(homeless, namespaceSelector=open_selector))
        assert "OLMC197" in said and "where Subscription beacon of package beacon is is unknown" in said


def test_what_only_checks_installs_nothing(tmp_path: Path) -> None:
    """R-OCM-5: neither objects without a name, nor a status."""
    nameless = {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"app": "beacon"}}}
    csv = {**SUBSCRIPTION, "kind": "ClusterServiceVersion", "status": {"phase": "Succeeded"}}
    del csv["spec"]
    assert installed(tmp_path, configuration(nameless, csv)) == []
    workspace, _ = loaded(tmp_path, configuration({**SUBSCRIPTION, "status": {"state": "AtLatestKnown"}}))
    assert "status" not in of_kind(workspace, "Subscription")


def test_several_policies_for_one_object(tmp_path: Path) -> None:
    """R-OCM-6: it has what all of them say, and that is no mistake."""
    labelled = {**NAMESPACE, "metadata": {"name": "harbour", "labels": {"sea": "north"}}}
    workspace, report = loaded(tmp_path, configuration(labelled), configuration(NAMESPACE), NAMESPACE)
    assert [m.object["metadata"].get("labels") for m in workspace.manifests if m.object["kind"] == "Namespace"] == [
        {"sea": "north"}
    ]
    assert [d.code for d in report] == ["OLMC127", "OLMC127"]  # of the two ConfigurationPolicies, and the plain one


def test_the_subscription_of_an_operator_policy(tmp_path: Path) -> None:
    """R-OCM-7: at the place of spec.subscription."""
    workspace, report = loaded(tmp_path, policy(operator()))
    obj = of_kind(workspace, "Subscription")
    label = "operatorpolicy.policy.open-cluster-management.io/managed"
    assert obj["metadata"] == {"name": "beacon", "namespace": "harbour", "labels": {label: ""}}
    assert obj["spec"] == {
        "name": "beacon", "source": "harbour", "sourceNamespace": "olm", "installPlanApproval": "Automatic",
    }  # fmt: skip
    assert list(report) == []
    source = next(m.source for m in workspace.manifests if m.object is obj)
    assert source.prefix[-4:] == (0, "objectDefinition", "spec", "subscription")


@pytest.mark.parametrize(
    ("fields", "approval"),
    [
        ({}, "Automatic"), ({"versions": [" "]}, "Automatic"), ({"upgradeApproval": "None"}, "Manual"),
        ({"versions": ["beacon.v1.0.0"]}, "Manual"),
    ],
)  # fmt: skip
def test_its_approval(tmp_path: Path, fields: dict[str, Any], approval: str) -> None:
    """R-OCM-8."""
    workspace, _ = loaded(tmp_path, operator(**fields))
    assert of_kind(workspace, "Subscription")["spec"]["installPlanApproval"] == approval


@pytest.mark.parametrize("field", ["namespace", "source", "sourceNamespace"])
def test_what_the_catalog_decides_is_unknown(tmp_path: Path, field: str) -> None:
    """R-OCM-10: but for the channel, for which OLM has the same default."""
    value = operator(subscription=subscription(**{field: None}))
    assert installed(tmp_path, value) == []
    (said,) = messages(tmp_path, value)
    assert "OLMC197 policies.yaml:14:5: Subscription of package beacon" in said
    assert f"is unknown: spec.subscription.{field} left out" in said


def test_the_group_that_is_named_or_made(tmp_path: Path) -> None:
    """R-OCM-11: one for all namespaces, unless there is one."""
    workspace, _ = loaded(tmp_path, operator())
    group = of_kind(workspace, "OperatorGroup")
    assert (group["metadata"], group["spec"]) == (
        {"name": "harbour", "namespace": "harbour"}, {"targetNamespaces": ["harbour"]},
    )  # fmt: skip
    workspace, _ = loaded(tmp_path, operator(operatorGroup=None))
    group = of_kind(workspace, "OperatorGroup")
    assert group["metadata"]["generateName"] == "harbour-"
    assert group["spec"] == {}
    own = {"apiVersion": "operators.coreos.com/v1", "kind": "OperatorGroup"}
    own["metadata"] = {"name": "own", "namespace": "harbour"}  # type: ignore[assignment]
    names = installed(tmp_path, operator(operatorGroup=None), own)
    assert [name for name in names if name.startswith("OperatorGroup")] == ["OperatorGroup harbour/own"]


@pytest.mark.parametrize(("catalogs", "count"), [("openshift-marketplace", 0), ("olm", 1)])
def test_an_openshift_has_a_group_in_its_namespace(tmp_path: Path, catalogs: str, count: int) -> None:
    """R-OCM-11: openshift-operators has global-operators, so that the controller makes no second group."""
    there = subscription(namespace="openshift-operators", sourceNamespace=catalogs)
    names = installed(tmp_path, operator(operatorGroup=None, subscription=there))
    assert sum(name.startswith("OperatorGroup") for name in names) == count


def test_the_namespace_is_created(tmp_path: Path) -> None:
    """R-OCM-12: once, and not if something else does."""
    assert installed(tmp_path, operator()).count("Namespace /harbour") == 1
    assert installed(tmp_path, operator(), NAMESPACE).count("Namespace /harbour") == 1


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"upgradeApproval": None}, "spec.upgradeApproval must be None or Automatic"),
        ({"complianceType": "mustonlyhave"}, "spec.complianceType must be musthave or mustnothave"),
        ({"subscription": None}, "spec.subscription is required"),
        ({"subscription": subscription(name=None)}, "spec.subscription.name is required"),
        ({"subscription": subscription(installPlanApproval="Manual")}, "spec.subscription.installPlanApproval is not"),
        ({"subscription": subscription(chanel="stable")}, "spec.subscription.chanel is no field of a Subscription"),
        ({"subscription": subscription(name="Beacon")}, "spec.subscription.name: a lowercase RFC 1123 label"),
        ({"operatorGroup": {}}, "spec.operatorGroup.name is required"),
        ({"operatorGroup": {"name": "a", "namespace": "quay"}}, "the namespace of the operatorGroup, quay, is not"),
        ({"operatorGroup": {"name": "a", "targets": []}}, "spec.operatorGroup.targets is no field of an OperatorGroup"),
    ],
)
def test_what_is_refused(tmp_path: Path, fields: dict[str, Any], problem: str) -> None:
    """R-OCM-13."""
    assert installed(tmp_path, operator(**fields)) == []
    (said,) = messages(tmp_path, operator(**fields))
    assert "OLMC199" in said and problem in said


def test_what_an_operator_policy_takes_away(tmp_path: Path) -> None:
    """R-OCM-14: with the defaults of its removalBehavior."""
    value = operator(complianceType="mustnothave", removalBehavior={"subscriptions": "Keep"})
    assert installed(tmp_path, value) == []
    (said,) = messages(tmp_path, value)
    assert "Subscription kept, CSV deleted, OperatorGroup deleted if nothing else uses it, CRDs kept" in said


@pytest.mark.parametrize("template", ['{{ fromConfigMap "a" "b" "c" }}', "{{hub .ManagedClusterName hub}}"])
def test_templates_leave_open(tmp_path: Path, template: str) -> None:
    """R-OCM-15: by field and place; an object is not invented, but a Namespace is known by its name."""
    spec = {**SUBSCRIPTION["spec"], "channel": template}  # type: ignore[dict-item]
    labelled = {**NAMESPACE, "metadata": {"name": "harbour", "labels": {"cluster": template, "sea": "north"}}}
    value = configuration({**SUBSCRIPTION, "spec": spec}, labelled)
    workspace, report = loaded(tmp_path, value)
    assert [m.object["metadata"] for m in of_policies(workspace)] == [{"name": "harbour", "labels": {"sea": "north"}}]
    said = [diagnostic.message for diagnostic in report]
    assert "Subscription harbour/beacon of package beacon is unknown: spec.channel is a template" in said[0]
    assert "Namespace harbour (metadata.labels.cluster)" in said[1]
    place = next(iter(report)).location
    assert place is not None
    line = (tmp_path / "policies.yaml").read_text("utf-8").splitlines()[place.line - 1]
    assert line[: place.column - 1].strip() == "channel:"
    named = {**SUBSCRIPTION, "metadata": {"name": "beacon", "namespace": template}}
    assert installed(tmp_path, configuration(named)) == []
    assert installed(tmp_path, operator(subscription=subscription(channel=template))) == []


def test_templates_that_are_switched_off_are_texts(tmp_path: Path) -> None:
    """R-OCM-15: those for the hub are filled in all the same."""
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "harbour"}}
    for text, counts in (("{{ a }}", True), ("{{hub a hub}}", False)):
        value = configuration({**settings, "data": {"text": text}})
        value["metadata"]["annotations"] = {f"{GROUP}/disable-templates": "true"}
        assert installed(tmp_path, value) == ["ConfigMap harbour/a"] * counts


REMOVES = """
{{ range (lookup "operators.coreos.com/v1alpha1" "Subscription" "harbour" "").items }}
- complianceType: mustnothave
  objectDefinition:
    apiVersion: operators.coreos.com/v1alpha1
    kind: KIND
    metadata: {name: "{{ .metadata.name }}", namespace: harbour}
{{ end }}
"""


@pytest.mark.parametrize(
    ("action", "kind", "compliance", "said"),
    [
        ("enforce", "ConfigMap", "mustnothave", ""),
        ("enforce", "Subscription", "mustnothave", "the part of ConfigurationPolicy beacon for OLM is unknown"),
        ("inform", "Subscription", "mustnothave", ""),
        ("inform", "ClusterServiceVersion", "musthave", ""),
        ("inform", "Subscription", "musthave", "installs nothing: objects of OLM in its object-templates-raw"),
    ],
)
def test_a_text_with_templates_asks_for_operators_by_its_kinds(
    tmp_path: Path, action: str, kind: str, compliance: str, said: str
) -> None:
    """R-OCM-3: a text that looks objects of OLM up, checks or removes them would install none."""
    text = REMOVES.replace("KIND", kind).replace("mustnothave", compliance)
    found = messages(tmp_path, configuration(**{"object-templates-raw": text, "remediationAction": action}))
    assert [said in each for each in found] == [True] * bool(said)


def test_a_text_with_templates_is_unknown_if_it_is_about_olm(tmp_path: Path) -> None:
    """R-OCM-3, R-OCM-15."""
    text = "{{ range (lookup) }}\n- objectDefinition:\n    apiVersion: operators.coreos.com/v1\n{{ end }}\n"
    (said,) = messages(tmp_path, configuration(**{"object-templates-raw": text}))
    assert "the part of ConfigurationPolicy beacon for OLM is unknown: spec.object-templates-raw is a template" in said
    assert messages(tmp_path, configuration(**{"object-templates-raw": text.replace("operators", "dns")})) == []
    filled = dump([[{"complianceType": "musthave", "objectDefinition": obj} for obj in (NAMESPACE, SUBSCRIPTION)]])
    plain = configuration(**{"object-templates-raw": filled.replace("channel: stable", "channel: '{{ .channel }}'")})
    assert installed(tmp_path, plain) == ["Namespace /harbour"]
    (said,) = messages(tmp_path, plain)
    assert "Subscription harbour/beacon of package beacon is unknown: spec.channel is a template" in said


def nodes(value: Any, keys: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The keys that lead to everything in a value."""
    yield keys
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in below:
        yield from nodes(inner, (*keys, key))


@pytest.mark.parametrize("odd", [None, 1, [{}], "{{ a }}"])
def test_odd_values_anywhere_are_findings_at_most(tmp_path: Path, odd: Any) -> None:
    """R-OCM-1: whatever strangers write."""
    homeless = {**SUBSCRIPTION, "metadata": {"name": "beacon"}}
    inner = configuration(NAMESPACE, homeless, namespaceSelector={"include": ["harbour"], "exclude": ["quay"]})
    whole = policy(inner, operator(versions=["beacon.v1.0.0"], removalBehavior={"subscriptions": "Keep"}))
    for keys in nodes(whole):
        changed: Any = copy.deepcopy([whole])
        holder, last = changed, 0
        for key in keys:
            holder, last = holder[last], key
        holder[last] = odd
        assert loaded(tmp_path, *changed)


@pytest.mark.parametrize("spec", [None, [], "a", {"policy-templates": "a"}, {"policy-templates": [None, {"a": 1}]}])
def test_odd_policies_are_no_trouble(tmp_path: Path, spec: Any) -> None:
    """R-OCM-1: whatever strangers write."""
    assert installed(tmp_path, {**policy(), "spec": spec}) == []
    odd = {**configuration(), "spec": {"object-templates": [None, {"objectDefinition": {"kind": 1}}], "a": spec}}
    assert installed(tmp_path, policy(odd, operator(subscription=spec, operatorGroup=[]))) == []
