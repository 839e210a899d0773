"""What PolicyGenerators make of manifests is compiled, though kustomize has no plugin (R-OCM-16 … R-OCM-19)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from scenarios import write
from test_kustomize import GROUP, KIND, SUBSCRIPTION, needs_tool
from test_policies import NAMESPACE, configuration, operator

from olmc.compiler.load.entries import entries_at
from olmc.compiler.load.request import CompileRequest
from olmc.compiler.load.workspace import load
from olmc.k8s.diagnostics import Report
from olmc.k8s.objects import POLICY_GROUP, Manifest
from olmc.k8s.yaml import dump

KUSTOMIZATION = f"{KIND}generators: [generator.yaml]\n"
HARBOUR = SUBSCRIPTION.replace("name: beacon\nspec", "name: beacon\n  namespace: harbour\nspec")


def generator(*policies: Any, **defaults: Any) -> str:
    value = {
        "apiVersion": f"{POLICY_GROUP}/v1", "kind": "PolicyGenerator", "metadata": {"name": "a"},
        "policyDefaults": {"namespace": "policies", "remediationAction": "enforce", **defaults},
        "policies": [{"name": f"policy-{number}", **policy} for number, policy in enumerate(policies)],
    }  # fmt: skip
    return dump([value])


def manifests(*paths: str, **options: Any) -> dict[str, Any]:
    """A policy of a generator, with options for all of its manifests."""
    return {"manifests": [{"path": path, **options} for path in paths]}


def loaded(root: Path, files: dict[str, str]) -> tuple[tuple[Manifest, ...], list[str]]:
    write(root, {"kustomization.yaml": KUSTOMIZATION, **files})
    report = Report()
    return load(CompileRequest(root), report).manifests, [f"{d.code} {d.location}: {d.message}" for d in report]


def policies(found: tuple[Manifest, ...]) -> list[Any]:
    return [manifest.object for manifest in found if manifest.object["kind"] == "Policy"]


def others(found: tuple[Manifest, ...]) -> list[str]:
    return [f"{m.object['kind']}/{m.object['metadata']['name']}" for m in found if m.object["kind"] != "Policy"]


@needs_tool
def test_what_it_makes(tmp_path: Path) -> None:
    """R-OCM-16: policies as they are, everything else in one ConfigurationPolicy, or in one each."""
    both = f"{GROUP}---\n{HARBOUR}"
    files = {"both.yaml": both, "operator.yaml": dump([operator()])}
    found, _ = loaded(tmp_path, {**files, "generator.yaml": generator(manifests("both.yaml", "operator.yaml"))})
    (policy,) = policies(found)
    templates = [template["objectDefinition"] for template in policy["spec"]["policy-templates"]]
    assert policy["metadata"] == {"name": "policy-0", "namespace": "policies"}
    assert [template["kind"] for template in templates] == ["OperatorPolicy", "ConfigurationPolicy"]
    assert len(templates[1]["spec"]["object-templates"]) == 2
    assert "Subscription/beacon" in others(found)
    assert {m.source.path for m in found if m.object["kind"] == "OperatorGroup"} == {"both.yaml", "operator.yaml"}
    apart = generator({**manifests("both.yaml"), "consolidateManifests": False})
    (policy,) = policies(loaded(tmp_path, {**files, "generator.yaml": apart})[0])
    names = [template["objectDefinition"]["metadata"]["name"] for template in policy["spec"]["policy-templates"]]
    assert names == ["policy-0", "policy-02"]


@needs_tool
def test_manifests_of_object_templates(tmp_path: Path) -> None:
    """R-OCM-16: a manifest of nothing but these is the content of a ConfigurationPolicy."""
    templates = configuration(NAMESPACE)["spec"]["object-templates"]
    for content in ({"object-templates": templates}, {"object-templates-raw": dump([templates])}):
        files = {"raw.yaml": dump([content]), "generator.yaml": generator(manifests("raw.yaml"))}
        assert others(loaded(tmp_path, files)[0]) == ["Namespace/harbour"]


@needs_tool
def test_where_manifests_are(tmp_path: Path) -> None:
    """R-OCM-17: files, folders without what is below them, and kustomizations; nothing outside."""
    files = {
        "plain/b.yaml": GROUP, "plain/a.yml": HARBOUR, "plain/c.json": "{}", "plain/below/d.yaml": "kind: [",
        "built/kustomization.yaml": f"{KIND}resources: [group.yaml]\nnamePrefix: north-\n",
        "built/group.yaml": GROUP,
    }  # fmt: skip
    found, said = loaded(tmp_path, {**files, "generator.yaml": generator(manifests("plain", "built/"))})
    assert said == []
    assert others(found) == ["Subscription/beacon", "OperatorGroup/all", "OperatorGroup/north-all"]
    place = next(m.source for m in found if m.object["kind"] == "Subscription")
    assert (place.path, place.text) == ("plain/a.yml", HARBOUR)
    write(tmp_path, {"above.yaml": GROUP})
    for path, problem in (("../above.yaml", "is not below"), ("none.yaml", "does not exist")):
        found, said = loaded(tmp_path / "inner", {"generator.yaml": generator(manifests(path))})
        assert found == ()
        assert "OLMC194" in said[0] and problem in said[0]


@needs_tool
@pytest.mark.parametrize(
    ("options", "counts"),
    [
        ({}, True), ({"complianceType": "mustonlyhave"}, True), ({"complianceType": "mustnothave"}, False),
        ({"remediationAction": "inform"}, False), ({"disabled": True}, False),
    ],
)  # fmt: skip
def test_options(tmp_path: Path, options: dict[str, Any], counts: bool) -> None:
    """R-OCM-18: of the policy, or the defaults."""
    expected = ["Subscription/beacon"] * counts
    for text in (generator({**manifests("a.yaml"), **options}), generator(manifests("a.yaml"), **options)):
        found, said = loaded(tmp_path, {"a.yaml": HARBOUR, "generator.yaml": text})
        assert others(found) == expected
        assert ["OLMC198 a.yaml:1:1" in message for message in said] == [True] * (not counts)


@needs_tool
def test_an_environment_that_only_informs_is_told_once(tmp_path: Path) -> None:
    """The patch decides it and not the files of the policies, which another environment enforces."""
    files = {f"{name}.yaml": HARBOUR.replace("beacon", name) for name in ("buoy", "tide")}
    inform = '[{"op": "replace", "path": "/spec/remediationAction", "value": "inform"}]'
    patched = f"{KIND}resources: [../policies]\npatches:\n- {{target: {{kind: Policy}}, patch: '{inform}'}}\n"
    given = {**files, "generator.yaml": generator(*(manifests(path) for path in files))}
    write(tmp_path / "policies", {**given, "kustomization.yaml": KUSTOMIZATION})
    found, said = loaded(tmp_path / "environment", {"kustomization.yaml": patched})
    objects = "Subscription harbour/buoy of package buoy, Subscription harbour/tide of package tide"
    text = "each of 2 policies only informs and installs nothing"
    assert (others(found), said) == ([], [f"OLMC198 kustomization.yaml: {text}: {objects}"])
    assert others(loaded(tmp_path / "policies", {})[0]) == ["Subscription/buoy", "Subscription/tide"]


@needs_tool
def test_findings_have_the_place_of_the_manifest(tmp_path: Path) -> None:
    """Of any kind; and not that of another object with its name."""
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "harbour"}}
    other = {**settings, "metadata": {"name": "a", "namespace": "quay"}, "data": {"a": "plain"}}
    files = {
        "one.yaml": dump([{**settings, "data": {"a": "{{ a }}"}}]), "two.yaml": f"{dump([other])}---\n{GROUP}",
        "generator.yaml": generator(manifests("one.yaml", "two.yaml")),
    }  # fmt: skip
    assert ["OLMC197 one.yaml:7:6: a part of" in message for message in loaded(tmp_path, files)[1]] == [True]


@needs_tool
def test_options_of_a_manifest(tmp_path: Path) -> None:
    """R-OCM-18: where manifests are not consolidated each has its own, and the Policy has none."""
    policy = {
        "consolidateManifests": False,
        "manifests": [{"path": "a.yaml", "remediationAction": "inform"}, {"path": "group.yaml"}],
    }
    found, _ = loaded(tmp_path, {"a.yaml": HARBOUR, "group.yaml": GROUP, "generator.yaml": generator(policy)})
    assert others(found) == ["OperatorGroup/all"]
    assert "remediationAction" not in policies(found)[0]["spec"]


@needs_tool
def test_patches(tmp_path: Path) -> None:
    """R-OCM-19: as kustomize applies them; a single one may rename a single object."""
    patch = {"metadata": {"name": "lamp"}, "spec": {"channel": "stable"}}
    policy = manifests("a.yaml", patches=[patch])
    found, _ = loaded(tmp_path, {"a.yaml": HARBOUR, "generator.yaml": generator(policy)})
    (subscription,) = [m.object for m in found if m.object["kind"] == "Subscription"]
    assert (subscription["metadata"]["name"], subscription["spec"]["channel"]) == ("lamp", "stable")
    wrong = manifests("both.yaml", patches=[{**patch, "kind": "Subscription"}])
    files = {"both.yaml": f"{HARBOUR}---\n{GROUP}", "generator.yaml": generator(wrong)}
    assert "OLMC194" in loaded(tmp_path, files)[1][0]


@needs_tool
@pytest.mark.parametrize("path", ["\0", "in", "a.yaml/", "plain"])
def test_what_can_not_be_read_stops_the_build(tmp_path: Path, path: str) -> None:
    """R-OCM-17: it is said, and nothing is compiled."""
    write(tmp_path, {"plain": "- a list", "in/a.yaml": "{"})
    found, said = loaded(tmp_path, {"generator.yaml": generator(manifests(path))})
    assert found == ()
    assert "OLMC194" in said[0]


@needs_tool
def test_a_generator_outside_of_the_repository_is_not_read(tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": HARBOUR, "generator.yaml": generator(manifests("a.yaml"))})
    (tmp_path / "inner" / ".git").mkdir(parents=True)
    found, said = loaded(tmp_path / "inner", {"kustomization.yaml": f"{KIND}generators: [../generator.yaml]\n"})
    assert found == ()
    assert "OLMC192" in said[0]


@needs_tool
def test_what_the_kustomization_does_with_policies_counts(tmp_path: Path) -> None:
    patch = '[{"op": "replace", "path": "/spec/disabled", "value": true}]'
    text = f"{KUSTOMIZATION}resources: [group.yaml]\npatches: [{{target: {{kind: Policy}}, patch: '{patch}'}}]\n"
    files = {"a.yaml": HARBOUR, "group.yaml": GROUP, "generator.yaml": generator(manifests("a.yaml"))}
    found, _ = loaded(tmp_path, {**files, "kustomization.yaml": text})
    assert others(found) == ["OperatorGroup/all"]


def test_entries_with_generators(tmp_path: Path) -> None:
    """They count by the manifests that they name. Folders with objects of OLM beside all kustomizations count, too."""
    write(tmp_path, {
        "prod/kustomization.yaml": KUSTOMIZATION, "prod/generator.yaml": generator(manifests("in")),
        "prod/in/a.yaml": HARBOUR,
        "other/kustomization.yaml": KUSTOMIZATION, "other/generator.yaml": generator(manifests("a.yaml")),
        "other/a.yaml": HARBOUR.replace("operators.coreos.com", "apps.example.com"),
        "plain/north/policy.yaml": dump([operator()]), "plain/north/east/policy.yaml": dump([operator()]),
        "plain/south/group.yaml": GROUP,
    })  # fmt: skip
    assert [entry.path for entry in entries_at(tmp_path)] == ["plain/north", "plain/south", "prod"]


def test_parts_of_objects_are_no_manifests(tmp_path: Path) -> None:
    """Patches of a kustomization, and what a PolicyGenerator wraps, stop nothing where plain manifests are read."""
    write(tmp_path, {
        "group.yaml": GROUP,
        "app/kustomization.yaml": f"{KIND}resources: [app.yaml]\npatches: [{{path: patch.yaml}}]\n"
        "patchesStrategicMerge: [../old.yaml]\n",
        "app/app.yaml": dump([NAMESPACE]), "app/patch.yaml": "apiVersion: v1\nkind: Pod\n", "old.yaml": "kind: Pod\n",
        "checks/kustomization.yaml": KUSTOMIZATION, "checks/generator.yaml": generator(manifests("in")),
        "checks/in/pods.yaml": "apiVersion: v1\nkind: Pod\nstatus: {phase: Failed}\n",
    })  # fmt: skip
    report = Report()
    workspace = load(CompileRequest(tmp_path), report)
    assert [f"{d.code} {d.location}" for d in report] == []
    names = {manifest.object["kind"] for manifest in workspace.manifests}
    assert names == {"OperatorGroup", "Namespace"}
    assert {"app/patch.yaml", "old.yaml", "checks/in/pods.yaml"} <= workspace.inputs.files
