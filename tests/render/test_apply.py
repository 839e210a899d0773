"""Output for apply: a case of `apply/` each (see ../settle/README.md), and what holds for all of it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from building import write_workspace
from rule_cases import Case, cases, run
from tiers import marked_slow

import olmc
from olmc.k8s.diagnostics import Severity

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
WORKSPACES = sorted(path for path in FIXTURES.iterdir() if path.is_dir() and path.name != "several-workspaces")
BY_SIZE = marked_slow(WORKSPACES, lambda path: path.name == "transitions" or WORKSPACES.index(path) % 3)


@pytest.mark.parametrize("case", cases(Path(__file__).parent / "apply"), ids=lambda case: case.name)
def test_apply(case: Case, tmp_path: Path) -> None:
    problems = run(case, tmp_path)
    if problems:
        pytest.fail("\n".join(problems), pytrace=False)


def spaces(made: olmc.Compilation) -> list[str]:
    return [found.identity.name for found in made.objects if found.identity.kind == "Namespace"]


def test_of_a_bundle_that_watches_another_namespace_only_its_own_is_ours(tmp_path: Path) -> None:
    """Applied and deleted again, the output must not take the watched namespace with it."""
    write_workspace(tmp_path, {"operators": [{"name": "kettle.v1.0.0", "permissions": {"brewer": ["get pods"]}}]})
    root = next((tmp_path / "bundles").iterdir())
    made = olmc.compile(root, olmc.Options(purpose="apply", install_namespace="a", watch=("b", "default")))
    assert not made.missing
    assert spaces(made) == ["a"]
    assert "b" in {found.identity.namespace for found in made.objects}
    (told,) = [each for each in made.diagnostics if each.code == "OLMC326"]
    assert told.message.startswith("the output has objects for namespace b and does not create it")
    review = olmc.compile(root, olmc.Options(install_namespace="a", watch=("b",)))
    assert {"a", "b"} <= set(spaces(review))
    assert "OLMC326" not in {each.code for each in review.diagnostics}


def test_the_default_namespace_is_not_ours_either() -> None:
    made = olmc.compile(
        FIXTURES / "bare-bundle", olmc.Options(purpose="apply", install_namespace="default", watch=("default",))
    )
    assert spaces(made) == []
    assert "Deployment/default/beacon-controller" in {str(found.identity) for found in made.objects}


@pytest.mark.parametrize("workspace", BY_SIZE, ids=lambda path: path.name)
def test_both_phases_together_are_the_whole(workspace: Path) -> None:
    whole, first, second = (
        olmc.compile(workspace, olmc.Options(purpose="apply", certificates="cert-manager", phase=phase)).objects
        for phase in (0, 1, 2)
    )
    assert Counter(found.identity for found in whole) == Counter(found.identity for found in (*first, *second))
    assert [found for found in whole if found in first] == list(first)


def test_an_object_that_kubectl_can_not_apply_is_reported_where_it_is_rendered(tmp_path: Path) -> None:
    """The CRD of a bundle and a manifest, in bytes; not what the server applies."""
    description = {"spec": {"versions": [
        {"name": "v1", "served": True, "storage": True,
         "schema": {"openAPIV3Schema": {"type": "object", "description": "<" * 50_000}}},
    ]}}  # fmt: skip
    metadata = {"name": "big", "namespace": "ns"}
    big = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "x" * 262_144}}
    operator = {"name": "kettle.v1.0.0", "owned": ["Kettle"], "crd": {"kettles.kettle.example.com": description}}
    write_workspace(tmp_path, {"groups": {"ns/og": "own"}, "operators": [operator], "manifests": [big]})

    def told(**options: object) -> list[str]:
        made = olmc.compile(tmp_path, olmc.Options()._replace(**options))  # type: ignore[arg-type]
        return [each.message.partition(" would")[0] for each in made.diagnostics if each.code == "OLMC410"]

    assert told(purpose="apply") == ["CustomResourceDefinition/kettles.kettle.example.com", "ConfigMap/ns/big"]
    assert told(purpose="apply", exclude=("ConfigMap",)) == ["CustomResourceDefinition/kettles.kettle.example.com"]
    assert told(purpose="apply", tool="flux") == told(purpose="apply", tool="argocd") == told() == []


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    """Operators with their phase, and those that wait for somebody's approval; for review nothing is missing."""
    operators = [
        {"name": "kettle.v1.0.0", "required": ["Water.v1.water.example.com"]},
        {"name": "pot.v1.0.0", "subscription": {"spec": {"installPlanApproval": "Manual"}}, "into": ["other"]},
        {"name": "cup.v1.0.0", "into": ["third"]},
    ]
    groups = {"ns/og": "own", "other/og": "own", "third/og": "own"}
    write_workspace(tmp_path, {"groups": groups, "operators": operators})
    made = olmc.compile(tmp_path, olmc.Options(purpose="apply"))
    assert made.missing == ("ns/kettle (nothing is installed)", "other/pot (to be approved as other/pot.v1.0.0)")
    assert olmc.compile(tmp_path).missing == ()
    approved = olmc.compile(tmp_path, olmc.Options(purpose="apply", approve=("all",)))
    assert approved.missing == ("ns/kettle (nothing is installed)",)


def test_an_accepted_finding_does_not_make_the_objects_be_there(tmp_path: Path) -> None:
    config = "apiVersion: olmc.dev/v1alpha1\nkind: Config\nspec: {suppress: [{code: OLMC302, reason: so}]}\n"
    operator = {"name": "kettle.v1.0.0", "applied": "csv", "required": ["Water.v1.water.example.com"]}
    write_workspace(tmp_path, {"groups": {"ns/og": "own"}, "operators": [operator], "files": {"olmc.yaml": config}})
    made = olmc.compile(tmp_path, olmc.Options(purpose="apply"))
    assert Severity.FAILURE not in {each.severity for each in made.diagnostics}
    assert made.missing == ("ns/kettle.v1.0.0 (Pending)",)


def test_an_object_that_is_refused_is_missing(tmp_path: Path) -> None:
    write_workspace(tmp_path, {"groups": {"ns/og": {"targetNamespaces": "ns"}}, "operators": []})
    made = olmc.compile(tmp_path, olmc.Options(purpose="apply"))
    (text,) = made.missing
    assert text.endswith("[OLMC129]")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("operator-v2alpha1", "Operator ferry (nothing is installed)"),
        ("install-v2alpha1", "Install tide-plan (it is not applied)"),
    ],
)
def test_what_waits_for_approval_under_the_proposed_apis_is_missing(name: str, told: str) -> None:
    options = olmc.Options(purpose="apply", operators_and_installs=True)
    assert olmc.compile(FIXTURES / name, options).missing == (told,)
    assert olmc.compile(FIXTURES / name, options._replace(approve_installs=True)).missing == ()


def test_configurations_of_webhooks_come_behind_everything_else(tmp_path: Path) -> None:
    """Also behind custom resources, which they might refuse."""
    monitor = {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "ServiceMonitor",
        "metadata": {"name": "zz"},
        "spec": {},
    }
    webhooks = [{"generateName": "check.kettle.example.com"}]
    operator = {"name": "kettle.v1.0.0", "webhooks": webhooks, "files": {"m.yaml": monitor}}
    write_workspace(tmp_path, {"groups": {"ns/og": "own"}, "operators": [operator]})
    made = olmc.compile(tmp_path, olmc.Options(apis=("monitoring.coreos.com/v1/ServiceMonitor",)))
    kinds = [found.identity.kind for found in made.objects]
    assert kinds[-2:] == ["ServiceMonitor", "ValidatingWebhookConfiguration"]


def test_a_limit_of_configs_counts_what_each_container_gets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """R-DEP-6: three entries for each of four containers are twelve."""
    containers = [{"name": f"c{number}", "image": "registry.example.com/c:v1"} for number in range(2)]
    spec = {"template": {"spec": {"containers": containers}}}
    deployments = [{"name": name, "spec": spec} for name in ("one", "two")]
    config = {"env": [{"name": name, "value": "1"} for name in "abc"]}
    operator = {"name": "kettle.v1.0.0", "deployments": deployments, "subscription": {"spec": {"config": config}}}
    write_workspace(tmp_path, {"groups": {"ns/og": "own"}, "operators": [operator]})
    for most, fails in ((12, False), (11, True)):
        monkeypatch.setenv("OLMC_LIMIT_CONFIG", str(most))
        assert olmc.compile(tmp_path).failed == fails, most
