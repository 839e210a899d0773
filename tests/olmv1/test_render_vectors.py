"""Bundles against what the real renderer, provider and revision generator made of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from olmv1_bundles import bundle_files, canonical, identity, normal_objects, row, vectors

from olmc.targets.v1.generators import (
    NO_CONFIG,
    FeatureGates,
    InstallRequest,
    read_deployment_config,
    render_bundle,
    render_objects,
)
from olmc.targets.v1.object_set import Owner, RevisionBundle, object_set
from olmc.targets.v1.registry_bundle import BundleError, RegistryBundle, read_registry_bundle
from olmc.targets.v1.single_extension import pack

PROFILES = {
    "upstream-standard": FeatureGates(webhook_provider_cert_manager=True),
    "upstream-experimental": FeatureGates(
        webhook_provider_cert_manager=True, single_own_namespace_install_support=True, deployment_config=True
    ),
    "openshift-experimental": FeatureGates(
        webhook_provider_openshift_service_ca=True, single_own_namespace_install_support=True
    ),
    "no-certs": FeatureGates(),
}


def rendered(bundle: RegistryBundle, variant: str, document: Mapping[str, Any]) -> Any:
    """The objects of a variant, or the error."""
    targets = {"own": (document["installNamespace"],), "single": (document["watchNamespace"],)}
    scope, _, certificates = variant.partition("+")
    config = NO_CONFIG
    if scope == "deploymentConfig":
        config = read_deployment_config(document["deploymentConfig"])
        certificates = "cert-manager" if bundle.webhooks else ""
    provider: Any = certificates or "none"
    try:
        return render_objects(bundle, document["installNamespace"], targets.get(scope), provider, config)
    except BundleError as error:
        return error.message


def provided(bundle: RegistryBundle, request: InstallRequest) -> Any:
    """The objects, or the error as Go prints it."""
    try:
        return render_bundle(bundle, request)
    except BundleError as error:
        return f"{'terminal error: ' if error.terminal else ''}{error.message}"


def loaded(files: Mapping[str, str]) -> RegistryBundle | str:
    try:
        return read_registry_bundle(files)
    except BundleError as error:
        return error.message


def check_provider(bundle: RegistryBundle, entry: Mapping[str, Any], namespace: str) -> None:
    for profile, expected in entry["provider"].items():
        result = provided(bundle, InstallRequest(namespace, PROFILES[profile]))
        outcome = {"error": result} if isinstance(result, str) else {"objects": len(result)}
        assert outcome == expected, f"{entry['bundle']} {profile}"


def test_every_bundle_of_the_corpus(shared: Path, corpus: list[Path]) -> None:
    """R-V1-LOAD-3, R-V1-LOAD-5, R-V1-LOAD-6, R-V1-OPT-1, R-V1-GEN-1 … 12, R-V1-CERT-1 … 4: every object of every
    variant has the recorded hash."""
    document = vectors(shared, "render")
    root = corpus[0].parents[1]
    assert len(document["bundles"]) == len(corpus)
    for entry in document["bundles"]:
        bundle = loaded(bundle_files(root / entry["bundle"]))
        assert isinstance(bundle, RegistryBundle), entry["bundle"]
        for variant, expected in entry["variants"].items():
            result = rendered(bundle, variant, document)
            where = f"{entry['bundle']} {variant}"
            if isinstance(result, str):
                assert {"error": result} == expected, where
            else:
                rows = [row(obj) for obj in normal_objects(result)]
                assert rows == [entry["table"][number] for number in expected["objects"]], where
        check_provider(bundle, entry, document["installNamespace"])


def test_instructive_bundles_in_full(shared: Path, corpus: list[Path]) -> None:
    """R-V1-GEN-8, R-V1-CFG-5: the objects themselves, so that a difference can be seen."""
    document = vectors(shared, "render-full")
    root = corpus[0].parents[1]
    for name, variants in document["bundles"].items():
        bundle = loaded(bundle_files(root / name))
        assert isinstance(bundle, RegistryBundle), name
        for variant, expected in variants.items():
            scope, _, kinds = variant.partition(": ")
            result = rendered(bundle, scope, document)
            if isinstance(expected, dict):
                assert {"error": result} == expected, f"{name} {variant}"
                continue
            kept = [obj for obj in result if not kinds or f"{obj['kind']}s" == kinds]
            assert list(map(canonical, normal_objects(kept))) == list(map(canonical, expected)), f"{name} {variant}"


def test_synthetic_bundles(shared: Path) -> None:
    """R-V1-LOAD-1 … 5, R-V1-VAL-1, R-V1-VAL-2, R-V1-OPT-1, R-V1-GEN-1 … 12: small bundles, one rule each."""
    document = vectors(shared, "render-synthetic")
    for entry in document["bundles"]:
        bundle = loaded(entry["files"])
        if isinstance(bundle, str):
            assert bundle == entry.get("loadError"), entry["bundle"]
            continue
        assert "loadError" not in entry, entry["bundle"]
        for variant, expected in entry["variants"].items():
            result = rendered(bundle, variant, document)
            where = f"{entry['bundle']} {variant}"
            if isinstance(result, str):
                assert {"error": result} == expected, where
            else:
                assert list(map(canonical, normal_objects(result))) == list(map(canonical, expected["objects"])), where
        check_provider(bundle, entry, document["installNamespace"])


def test_configurations(shared: Path) -> None:
    """R-V1-CFG-1 … 5: what is refused of a configuration, and what it makes of the Deployment."""
    document = vectors(shared, "config")
    for case in document["cases"]:
        csv = {**document["bundle"], "spec": {**document["bundle"]["spec"]}}
        csv["spec"]["installModes"] = [{"type": mode, "supported": True} for mode in case["modes"]]
        annotations = "annotations: {operators.operatorframework.io.bundle.package.v1: mini}"
        bundle = loaded({"metadata/annotations.yaml": annotations, "manifests/csv.json": canonical(csv)})
        assert isinstance(bundle, RegistryBundle)
        gates = FeatureGates(
            webhook_provider_cert_manager=True,
            single_own_namespace_install_support=case["singleOwnNamespace"],
            deployment_config=case["deploymentConfig"],
        )
        result = provided(bundle, InstallRequest(document["installNamespace"], gates, case["config"] or None))
        where = f"{case['config']} {case['modes']}"
        if isinstance(result, str):
            # Upstream tells errors of several properties in random order, and here they are sorted.
            order = set if case.get("errorOrderRandom") else list
            assert order(result.split("\n")) == order(case["error"].split("\n")), where
        else:
            objects = normal_objects(result)
            deployment = next(obj for obj in objects if obj["kind"] == "Deployment")
            role = next(obj for obj in objects if obj["kind"] in ("Role", "ClusterRole"))
            assert canonical(deployment) == canonical(case["deployment"]), where
            assert [role["kind"], role["metadata"].get("namespace")] == case["rbac"], where


def without_uids(value: Any) -> Any:
    """The vectors have made-up uids, which nobody can know."""
    if isinstance(value, dict):
        return {key: without_uids(below) for key, below in value.items() if key != "uid"}
    return [without_uids(below) for below in value] if isinstance(value, list) else value


def test_object_sets(shared: Path, corpus: list[Path]) -> None:
    """R-V1-COS-2 … 6: revisions, and the Secrets that hold their objects."""
    document = vectors(shared, "cos")
    root = corpus[0].parents[1]
    prefix = "olm.operatorframework.io/"
    for case in document["cases"]:
        spec, given = case["ext"]["spec"], case["revisionAnnotations"]
        bundle = loaded(bundle_files(root / case["dir"]))
        assert isinstance(bundle, RegistryBundle)
        gates = FeatureGates(single_own_namespace_install_support=True, deployment_config=True, boxcutter_runtime=True)
        config = spec.get("config", {}).get("inline")
        result = provided(bundle, InstallRequest(spec["namespace"], gates, config, case["certs"] or "none"))
        if isinstance(result, str):
            assert result == case["error"], case["dir"]
            continue
        deadline = spec.get("progressDeadlineMinutes")
        owner = Owner(case["ext"]["metadata"]["name"], spec["namespace"], spec["serviceAccount"]["name"], deadline)
        names = ("bundle-name", "package-name", "bundle-version", "bundle-reference")
        release = given.get(f"{prefix}bundle-release")
        name, package, version, image = (given[prefix + name] for name in names)
        resolved = RevisionBundle(name, package, version, image, release)
        inline = object_set(bundle, result, owner, resolved)
        check_revision(inline, case)
        check_packed(inline, case, document["systemNamespace"])


def check_revision(inline: dict[str, Any], case: Mapping[str, Any]) -> None:
    if "phases" in case:
        phases = [
            {"phase": phase["name"], "objects": [" ".join(identity(entry["object"])) for entry in phase["objects"]]}
            for phase in inline["spec"]["phases"]
        ]
        assert phases == case["phases"], case["dir"]
        return
    # The generator leaves the name, the owner and the number to the applier.
    metadata = {key: value for key, value in inline["metadata"].items() if key != "ownerReferences"}
    revision = {**inline, "metadata": {**metadata, "name": ""}}
    expected = case["revision"]
    revision["spec"] = {key: value for key, value in revision["spec"].items() if key != "revision"}
    assert canonical(revision) == canonical(expected), case["dir"]


def check_packed(inline: dict[str, Any], case: Mapping[str, Any], namespace: str) -> None:
    packed = pack(inline, namespace)
    if case["dir"].startswith("argocd-operator/"):
        # One of its objects is compressed, to bytes that depend on who compresses.
        keys = {key for secret in packed.secrets for key in secret["data"]}
        expected = {key for secret in case["secrets"] for key in secret["dataSizes"]}
        assert len(keys - expected) == len(expected - keys) == 1
        return
    assert canonical(without_uids(packed.object_set)) == canonical(without_uids(case["applied"])), case["dir"]
    for secret, expected in zip(packed.secrets, case["secrets"], strict=True):
        sizes = {key: len(data) // 4 * 3 - data.count("=") for key, data in secret["data"].items()}
        seen = {**secret, "dataSizes": sizes}
        assert canonical({key: without_uids(seen[key]) for key in expected}) == canonical(without_uids(expected))


@pytest.mark.parametrize("name", ["render", "render-full", "render-synthetic", "config", "cos"])
def test_no_vector_is_left_out(shared: Path, name: str) -> None:
    """The tests above go through all there is."""
    document = vectors(shared, name)
    counts = {"render": 224, "render-full": 42, "render-synthetic": 66, "config": 144, "cos": 13}
    assert len(document.get("bundles") or document["cases"]) >= counts[name]
