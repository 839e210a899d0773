"""`--kube-version`: what the chosen version of Kubernetes no longer serves is refused (OLMC603)."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from scenarios import write

import olmc
from olmc.k8s.api import restmapper as builtin_kinds
from olmc.k8s.api.restmapper import is_native, removal_of
from olmc.k8s.objects import GVK, split_api_version
from olmc.k8s.strconv import full_kube_version
from olmc.review.check.validators.community import checked_apis

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
BUDGET = "apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: {name: pdb, namespace: harbour}\n"


def compiled(root: Path, version: str, **options: object) -> olmc.Compilation:
    chosen = olmc.Options(purpose="apply", kube_version=full_kube_version(version))
    return olmc.compile(root, chosen._replace(**options))  # type: ignore[arg-type]


def refused(made: olmc.Compilation) -> list[olmc.Diagnostic]:
    return [diagnostic for diagnostic in made.diagnostics if diagnostic.code == "OLMC603"]


def test_a_manifest_is_refused_with_its_place_and_what_to_write(tmp_path: Path) -> None:
    root = write(tmp_path, {"a.yaml": f"# a budget\n{BUDGET}"})
    (found,) = refused(made := compiled(root, "1.25"))
    assert made.objects == ()
    assert made.failed
    assert str(found.location) == "a.yaml:2:13"
    assert found.message == (
        "Kubernetes v1.25.0 does not serve PodDisruptionBudget harbour/pdb as policy/v1beta1, which was removed in 1.25"
    )
    assert "policy/v1," in found.hint
    assert refused(compiled(root, "1.24")) == []
    assert "PodDisruptionBudget" in [each.object["kind"] for each in compiled(root, "1.24").objects]


def test_an_object_of_a_bundle_is_refused(tmp_path: Path) -> None:
    """OLM's plan stops at it, so it is no part of what would be rendered; it is named all the same."""
    root = Path(shutil.copytree(FIXTURES / "own-namespace", tmp_path / "w"))
    write(root / "bundles/beacon-1.0.0/manifests", {"pdb.yaml": BUDGET})
    (found,) = refused(made := compiled(root, "1.36"))
    assert made.failed
    assert str(found.location) == "bundles/beacon-1.0.0/manifests/pdb.yaml:1:13"
    assert refused(compiled(root, "1.24")) == []


def test_what_has_no_replacement_says_so(tmp_path: Path) -> None:
    root = write(tmp_path, {"a.yaml": "apiVersion: policy/v1beta1\nkind: PodSecurityPolicy\nmetadata: {name: psp}\n"})
    (found,) = refused(compiled(root, "1.30"))
    assert "Pod Security admission" in found.hint


def test_what_is_left_out_or_served_by_the_cluster_is_not_refused(tmp_path: Path) -> None:
    root = write(tmp_path, {"a.yaml": BUDGET})
    assert refused(compiled(root, "1.30", exclude=("PodDisruptionBudget",))) == []
    assert refused(compiled(root, "1.30", apis=("policy/v1beta1/PodDisruptionBudget",))) == []


def test_review_shows_the_cluster_as_it_is(tmp_path: Path) -> None:
    root = write(tmp_path, {"a.yaml": BUDGET})
    assert refused(olmc.compile(root)) == []


@pytest.mark.parametrize("api", sorted(builtin_kinds.removed_apis()), ids=str)
def test_a_removed_api_is_served_until_then_and_its_replacement_after(api: GVK) -> None:
    removal = builtin_kinds.removed_apis()[api]
    for minor, served in ((removal.minor - 1, True), (removal.minor, False)):
        assert is_native(api, f"v1.{minor}.0") is served
        assert (removal_of(api, f"v1.{minor}.0") is None) is served
    if removal.replacement:
        assert is_native(GVK(*split_api_version(removal.replacement), api.kind), "v1.36.2")


@pytest.mark.parametrize(
    ("minor", "kinds"),
    [
        (22, {
            "admissionregistration.k8s.io/v1beta1": "MutatingWebhookConfiguration ValidatingWebhookConfiguration",
            "apiextensions.k8s.io/v1beta1": "CustomResourceDefinition",
            "apiregistration.k8s.io/v1beta1": "APIService",
            "authentication.k8s.io/v1beta1": "TokenReview",
            "authorization.k8s.io/v1beta1": "LocalSubjectAccessReview SelfSubjectAccessReview SubjectAccessReview",
            "certificates.k8s.io/v1beta1": "CertificateSigningRequest",
            "coordination.k8s.io/v1beta1": "Lease",
            "extensions/v1beta1": "Ingress",
            "networking.k8s.io/v1beta1": "Ingress IngressClass",
            "rbac.authorization.k8s.io/v1beta1": "ClusterRole ClusterRoleBinding Role RoleBinding",
            "scheduling.k8s.io/v1beta1": "PriorityClass",
            "storage.k8s.io/v1beta1": "CSIDriver CSINode StorageClass VolumeAttachment",
        }),
        (25, {
            "autoscaling/v2beta1": "HorizontalPodAutoscaler",
            "batch/v1beta1": "CronJob",
            "discovery.k8s.io/v1beta1": "EndpointSlice",
            "events.k8s.io/v1beta1": "Event",
            "node.k8s.io/v1beta1": "RuntimeClass",
            "policy/v1beta1": "PodDisruptionBudget PodSecurityPolicy",
        }),
        (26, {"autoscaling/v2beta2": "HorizontalPodAutoscaler"}),
    ],
)  # fmt: skip
def test_bundles_are_warned_of_the_removed_apis_that_the_rule_lists(minor: int, kinds: dict[str, str]) -> None:
    """R-CAT-256."""
    listed = {GVK(*split_api_version(api), kind) for api, names in kinds.items() for kind in names.split()}
    assert checked_apis(minor) == listed


@pytest.mark.parametrize(
    ("text", "full"),
    [("1.36", "v1.36.0"), ("v1.36.2", "v1.36.2"), ("1.30.2+k3s1", "v1.30.2+k3s1"), ("1.29-gke.100", "v1.29.0-gke.100"),
     ("1", ""), ("", ""), ("latest", ""), ("v1.2.3.4", "")],
)  # fmt: skip
def test_versions_as_clusters_report_them(text: str, full: str) -> None:
    assert full_kube_version(text) == full
