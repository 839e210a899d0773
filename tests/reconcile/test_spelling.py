"""What is said about misspelt kinds, fields and approvals of manifests, and of what nothing is said."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from scenarios import write

import olmc
from olmc.k8s.api.restmapper import CLUSTER_SCOPED

CONFIG = "apiVersion: olmc.dev/v1alpha1\nkind: Config\nspec:\n  "
CASES = yaml.safe_load(Path(__file__).with_name("spelling.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["title"])
def test_spelling(case: dict[str, Any], tmp_path: Path) -> None:
    files = {"file.yaml": case["text"]} | ({"olmc.yaml": CONFIG + case["config"]} if "config" in case else {})
    options = olmc.Options(olm_version=case["olm"]) if "olm" in case else olmc.Options()
    made = olmc.compile(write(tmp_path, files), options)
    found = [each for each in made.diagnostics if "OLMC148" <= each.code <= "OLMC151"]
    places = [each.location or olmc.Location("") for each in found]
    said = [
        f"{place.line}:{place.column} {each.code} {each.message} | {each.hint}"
        for place, each in zip(places, found, strict=True)
    ]
    assert said == case["said"]


@pytest.mark.parametrize(
    ("api_version", "kind"),
    [
        ("admissionregistration.k8s.io/v1", "MutatingAdmissionPolicyBinding"),
        ("apps.kruise.io/v1alpha1", "StatefulSet"),
        ("apps.open-cluster-management.io/v1", "Subscription"),
        ("apps.openshift.io/v1", "DeploymentConfig"),
        ("authorization.openshift.io/v1", "ClusterRole"),
        ("batch.volcano.sh/v1alpha1", "Job"),
        ("networking.internal.knative.dev/v1alpha1", "Ingress"),
        ("operator.openshift.io/v1", "Network"),
        ("operators.operatorframework.io/v1alpha1", "Operator"),
        ("packages.operators.coreos.com/v1", "PackageManifest"),
        ("resource.k8s.io/v1alpha2", "ResourceClass"),
        ("v1", "Volume"),
    ],
)
def test_kinds_of_others_are_not_misspelt(api_version: str, kind: str, tmp_path: Path) -> None:
    """Real APIs that are named much like others, or that only some API servers have."""
    place = {} if (api_version.rpartition("/")[0], kind) in CLUSTER_SCOPED else {"namespace": "default"}
    obj = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a", **place}}
    assert codes(write(tmp_path, {"a.json": json.dumps(obj)})) == []


def test_a_bundle_may_bring_the_kind(project: Path, tmp_path: Path) -> None:
    """A CRD of a bundle counts as well as one among the manifests."""
    root = tmp_path / "workspace"
    shutil.copytree(project / "fixtures/own-namespace", root)
    strange = {"apiVersion": "operator.coreos.com/v1", "kind": "Subscription"}
    write(root, {"a.json": json.dumps({**strange, "metadata": {"name": "a", "namespace": "harbour"}})})
    assert codes(root) == ["OLMC149"]
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "subscriptions.operator.coreos.com"},
        "spec": {"group": "operator.coreos.com", "names": {"kind": "Subscription"}},
    }
    write(root, {"bundles/beacon-1.0.0/manifests/crd.json": json.dumps(crd)})
    assert "OLMC149" not in codes(root)


def codes(root: Path) -> list[str]:
    return [each.code for each in olmc.compile(root).diagnostics]
