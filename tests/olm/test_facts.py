"""The facts of olmc.compiler.olm.facts against independent statements of OLM's rules, by brute force over made objects
and over the fixtures; and that no other module answers these questions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from building import write_workspace
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from olmc.cli.main import main
from olmc.compiler.model.cluster import NamespacedName
from olmc.compiler.model.operators import Csv
from olmc.compiler.olm.facts import (
    account_of_deployment,
    condition_accounts,
    csv_by_label,
    group_by_label,
    has_copy_label,
    home_of_copy,
    is_copy,
    is_copy_by_metadata,
    operator_accounts,
    operator_name,
    original_by_label,
    original_of,
    owner_csvs,
    package_of,
    version_in,
    without_version,
)
from olmc.compiler.olm.naming import component_label_key
from olmc.k8s.diagnostics import Report
from olmc.k8s.objects import Provenance, Rendered
from olmc.k8s.yaml import read
from olmc.review.diff.operators import operators
from olmc.review.explain.status import is_copied

Object = dict[str, Any]

NAMES = """beacon.v1.2.3 beacon-1.2.3 beacon-operator-1.2.3 beacon.v1.2.3-rc.1 beacon.v1.2.3-rc.v2 beacon.v2 beacon-v2
    beacon beacon.1.2 deep.beacon.v1.0.0 beacon-3-lamps.v1.0.0 k8s-2go.v1.0.0 a.v2ray.v1.0.0 3lamps.v0.1.0
    beacon.v1-alpha""".split()
STEMS_OF_NAMES = """beacon beacon beacon-operator beacon beacon beacon beacon beacon
    beacon deep.beacon beacon-3-lamps k8s-2go a.v2ray 3lamps beacon""".split()
LABELS: tuple[Any, ...] = (
    None,
    {},
    {"olm.copiedFrom": ""},
    {"olm.copiedFrom": "home"},
    {"olm.copiedFrom": "ns"},
    {"olm.copiedFrom": 5},
)
HOMES = (None, "ns", "home", "", 5)
REASONS = (None, "Copied", "copied", "InstallSucceeded")


def csv(name: str = "beacon.v1.2.3", labels: Any = None, annotations: Any = None, reason: Any = None) -> Object:
    """A CSV in namespace `ns`; None leaves a field out."""
    metadata = {"name": name, "namespace": "ns", "labels": labels, "annotations": annotations}
    kept = {key: value for key, value in metadata.items() if value is not None}
    status = {"status": {"reason": reason}} if reason is not None else {}
    return {"apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion", "metadata": kept, **status}


def made_csvs() -> Iterator[Object]:
    for labels, home, reason in product(LABELS, HOMES, REASONS):
        yield csv(labels=labels, annotations=None if home is None else {"olm.operatorNamespace": home}, reason=reason)


def fixture_csvs(project: Path) -> Iterator[Object]:
    for path in sorted((project / "fixtures").rglob("*.yaml")):
        source = path.read_text(encoding="utf-8")
        if "kind: ClusterServiceVersion" in source:
            for document in read(path.name, source, Report()):
                if isinstance(document.value, dict) and document.value.get("kind") == "ClusterServiceVersion":
                    yield document.value


def olm_is_copied(obj: Object) -> bool:
    """IsCopied of OLM's API, statement by statement; Go reads a value of another type as an error or as empty."""
    metadata, status = obj["metadata"], obj.get("status", {})
    if status.get("reason") == "Copied":
        return True
    annotations = metadata.get("annotations")
    if annotations is not None and "olm.operatorNamespace" in annotations:
        home = annotations["olm.operatorNamespace"]
        if metadata.get("namespace", "") != (home if isinstance(home, str) else ""):
            return True
    labels = metadata.get("labels")
    return labels is not None and "olm.copiedFrom" in labels


def test_copies_are_those_of_olm_r_copy_1(project: Path) -> None:
    found = [*made_csvs(), *fixture_csvs(project)]
    assert len(found) > len(LABELS) * len(HOMES) * len(REASONS)
    for obj in found:
        assert is_copy(obj) is olm_is_copied(obj), obj
        assert is_copy_by_metadata(obj) is olm_is_copied({**obj, "status": {}}), obj


def test_parts_of_olmc_agree_about_copies(project: Path) -> None:
    """The diff, which has no other place to ask, and the explanations."""
    for obj in (*made_csvs(), *fixture_csvs(project)):
        rendered = Rendered(obj, Provenance(None, "csvs", "R-COPY-1"))
        assert (operators([obj]) == {}) is is_copied(rendered) is is_copy(obj), obj
        if original_of(obj) is not None:
            assert is_copy(obj)
            assert original_of(obj) == (home_of_copy(obj), obj["metadata"]["name"])


def packages(*names: Any) -> str:
    """The annotation with these packages; what is no text is a value that OLM can't decode."""
    values = [{"packageName": name, "version": "1.0.0"} if isinstance(name, str) else name for name in names]
    return json.dumps({"properties": [{"type": "olm.package", "value": value} for value in values]})


def olm_package(annotation: str | None) -> str:
    """The package that OLM's resolver keeps for an existing CSV: the last property that it can decode."""
    try:
        properties = json.loads(annotation or "{}").get("properties") or []
    except (ValueError, AttributeError):
        return ""
    found = ""
    for prop in properties:
        if isinstance(prop["value"], Mapping) and isinstance(prop["value"].get("packageName", ""), str):
            found = prop["value"].get("packageName", "")
    return found


ANNOTATIONS = (None, "", "{", "5", "{}", packages("lamp"), packages("lamp", "lens"), packages("lamp", 5), packages(""))
COMPONENTS: tuple[dict[str, str], ...] = (
    {},
    {component_label_key("lighthouse", "ns"): ""},
    {component_label_key("light.house", "ns"): "", component_label_key("a", "other"): ""},
    {component_label_key("a" * 80, "ns"): ""},
)


def test_packages_by_certainty_r_cat_310() -> None:
    """What OLM knows, then what the Subscription left, then the name."""
    for name, annotation, labels in product(NAMES, ANNOTATIONS, COMPONENTS):
        annotations = {} if annotation is None else {"operatorframework.io/properties": annotation}
        obj = csv(name, labels, annotations)
        by_label = ["lighthouse"] * (labels is COMPONENTS[1]) or ["light.house"] * (labels is COMPONENTS[2])
        assert package_of(obj) == (olm_package(annotation) or next(iter(by_label), operator_name(name))), obj


STEMS = st.from_regex(r"[a-z][a-z0-9]{0,6}([-.][a-z][a-z0-9]{0,4}){0,3}", fullmatch=True)
SEMVERS = st.from_regex(r"[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{1,2}(-[0-9a-z]{1,3}(\.[0-9a-z]{1,3})?)?", fullmatch=True)


@given(STEMS, st.sampled_from([".v", "-v", "-", "."]), SEMVERS)
def test_names_of_operators(stem: str, separator: str, version: str) -> None:
    name = f"{stem}{separator}{version}"
    assert operator_name(name) == stem
    assert version_in(name) == version


@pytest.mark.parametrize(("name", "stem"), list(zip(NAMES, STEMS_OF_NAMES, strict=True)))
def test_odd_names_of_operators(name: str, stem: str) -> None:
    assert operator_name(name) == stem


@given(st.text("a1v-.+ é٣", max_size=14))
def test_an_operator_has_a_name(name: str) -> None:
    """Any name: what is left begins it, and is empty only where the name is."""
    stem = operator_name(name)
    assert name.startswith(stem)
    assert bool(stem) is bool(name)


@pytest.mark.parametrize("name", ["1" * 200_000, "-1" * 200_000, ".v1" * 200_000, "1.1-" * 100_000, "-1.1" * 100_000])
def test_long_names_take_no_long_search(name: str) -> None:
    for answer in (operator_name, version_in, without_version):
        answer(name)


OWNERS = (None, "beacon.v1.2.3", "")
KINDS = (None, "ClusterServiceVersion", "OperatorGroup", "Deployment")


def test_owners_by_label_and_reference_r_comp_4() -> None:
    for name, namespace, kind, home in product(OWNERS, (None, "ns", "other"), KINDS, (None, "home")):
        given_labels = {
            "olm.owner": name, "olm.owner.namespace": namespace, "olm.owner.kind": kind, "olm.copiedFrom": home,
        }  # fmt: skip
        labels = {key: value for key, value in given_labels.items() if value is not None}
        for references in ((), ("ClusterServiceVersion",), ("OperatorCondition", "ClusterServiceVersion")):
            metadata: Object = {"name": "role", "namespace": "there", "labels": labels}
            metadata["ownerReferences"] = [{"kind": each, "name": "lens.v1.0.0"} for each in references]
            obj: Object = {"apiVersion": "v1", "kind": "Role", "metadata": metadata}
            # GetOwnerByKindLabel: the labels for the namespace and for the name have to be there, whatever they say.
            labelled = NamespacedName(namespace, name) if name is not None and namespace is not None else None
            by_csv = labelled if kind in (None, "ClusterServiceVersion") else None
            assert csv_by_label(obj) == by_csv
            assert group_by_label(obj) == (labelled if kind == "OperatorGroup" else None)
            original = by_csv._replace(namespace=home) if by_csv is not None and home is not None else by_csv
            assert original_by_label(obj) == original
            by_reference = [("there", "lens.v1.0.0")] * ("ClusterServiceVersion" in references)
            assert list(owner_csvs(obj)) == by_reference + [by_csv] * (by_csv is not None)
            assert has_copy_label(obj) is (home is not None)


def strategy(permissions: Any, cluster: Any, pods: Any, webhooks: Any) -> Csv:
    """A CSV with accounts of permissions and clusterPermissions, and a Deployment for each pod."""
    deployments = [{"name": f"d{n}", "spec": {"template": {"spec": pod}}} for n, pod in enumerate(pods)]
    entries = {
        "permissions": [{"serviceAccountName": account} for account in permissions],
        "clusterPermissions": [{"serviceAccountName": account} for account in cluster],
        "deployments": deployments,
    }
    spec = {"install": {"strategy": "deployment", "spec": entries}, "webhookdefinitions": webhooks}
    return Csv({**csv(), "spec": spec})


ACCOUNTS = ((), ("keeper",), ("", "keeper"), ("lamp", "keeper", "lamp"))
PODS: tuple[Object, ...] = (
    {}, {"serviceAccountName": ""}, {"serviceAccountName": "keeper"}, {"serviceAccount": "old"},
    {"serviceAccountName": "keeper", "serviceAccount": "old"},
)  # fmt: skip


def test_accounts_r_oc_1_r_cert_4() -> None:
    for local, everywhere, pod, serves in product(ACCOUNTS, ACCOUNTS, PODS, (False, True)):
        webhooks = [{"type": "ValidatingAdmissionWebhook", "generateName": "v", "deploymentName": "d0"}] * serves
        found = strategy(local, everywhere, [pod], webhooks)
        named = [account for account in (*everywhere, *local) if account]
        assert condition_accounts(found) == (named or ["default"])
        # What a certificate is for OLM makes run as `default`, and the API server then looks no further.
        runs_as = pod.get("serviceAccountName") or ("" if serves else pod.get("serviceAccount")) or "default"
        assert account_of_deployment(found, found.deployments[0]) == runs_as
        assert operator_accounts(found) == tuple(dict.fromkeys((*local, *everywhere, runs_as)))


# Modules that write these keys, and texts about them. Only facts.py reads them.
WRITERS = """targets/v1/status.py compiler/olm/facts.py compiler/olm/naming.py compiler/render/apply_phases.py
    compiler/render/components.py compiler/render/deployments.py compiler/render/rbac.py
    compiler/render/webhooks.py compiler/reconcile/apply_step.py compiler/reconcile/diagnose.py
    compiler/resolver/steps.py review/explain/provenance.py compiler/rules/findings/reconcile.py
    review/diff/compare.py review/diff/noise.py review/diff/operators.py review/diff/both_sides.py
    compiler/load/live_objects.py review/migrate/extension_losses.py review/plan/repair.py
    review/check/validators/objects.py review/check/validators/findings.py review/explain/spec_text.py""".split()
KEYS = re.compile(
    r"olm\.copiedFrom|olm\.operatorNamespace|olm\.owner\b|\bCOPIED_FROM\b|\bOWNER(_KIND|_NAMESPACE)?\b|\"\.v\""
)


def test_facts_have_one_home(project: Path) -> None:
    found = {
        path.relative_to(project / "olmc").as_posix()
        for path in (project / "olmc").rglob("*.py")
        if KEYS.search(re.sub(r"_OWNER\b", "", path.read_text(encoding="utf-8")))
    }
    assert sorted(found - set(WRITERS)) == []


WORKSPACE = """
apiVersion: v1
kind: Namespace
metadata: {{name: harbour}}
---
apiVersion: operators.coreos.com/v1
kind: OperatorGroup
metadata: {{name: pier, namespace: harbour}}
spec: {{targetNamespaces: [harbour]}}
---
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {{name: {name}, namespace: harbour{more}}}
spec:
  displayName: Beacon
  version: {version}
  installModes:
  - {{type: OwnNamespace, supported: true}}
  - {{type: SingleNamespace, supported: true}}
  - {{type: MultiNamespace, supported: false}}
  - {{type: AllNamespaces, supported: false}}
  install:
    strategy: deployment
    spec:
      deployments:
      - name: beacon
        spec:
          selector: {{matchLabels: {{app: beacon}}}}
          template:
            metadata: {{labels: {{app: beacon}}}}
            spec:
              containers: [{{name: beacon, image: "registry.example.com/beacon:{version}"}}]
"""


def answer(*arguments: str | Path) -> Any:
    result = CliRunner().invoke(main, [*map(str, arguments), "-o", "json"])
    return json.loads(result.stdout)


@pytest.mark.parametrize(
    ("before", "after", "more", "package"),
    [
        ("beacon-operator-1.2.3", "beacon-operator-1.2.4", "", "beacon-operator"),
        ("beacon-3-lamps.v1.2.3", "beacon-3-lamps.v1.2.4", "", "beacon-3-lamps"),
        ("beacon.v1.2.3", "beacon.v1.2.4", ", labels: {operators.coreos.com/lighthouse.harbour: ''}", "lighthouse"),
    ],
)
def test_a_new_version_is_an_upgrade(before: str, after: str, more: str, package: str, tmp_path: Path) -> None:
    """plan, diff and status have the same package of a CSV that has no properties."""
    for folder, name in (("before", before), ("after", after)):
        (tmp_path / folder).mkdir()
        written = WORKSPACE.format(name=name, version=name[-5:], more=more)
        (tmp_path / folder / "workspace.yaml").write_text(written, encoding="utf-8")
    planned = answer("plan", tmp_path / "after", "--from", tmp_path / "before")
    assert [(row["package"], row["outcome"]) for row in planned["operators"]] == [(package, "upgraded")]
    (row,) = answer("status", tmp_path / "after")["operators"]
    assert row["package"] == package
    changed = answer("diff", tmp_path / "before", tmp_path / "after")["changes"]
    assert [change["details"]["package"] for change in changed if change["kind"] == "OperatorUpgraded"] == [package]


def test_permissions_that_another_namespace_needs_are_no_leftovers(tmp_path: Path) -> None:
    """The same CSV in two namespaces has its permissions lifted to one ClusterRole, which the labels give to one."""
    kettle = {"name": "kettle.v1.0.0", "into": ["ns", "bar"], "permissions": {"kettle": ["get pods"]}}
    for folder, target in (("before", "all"), ("after", "own")):
        (tmp_path / folder).mkdir()
        groups = {"ns/og": target, "bar/og": "all"}
        write_workspace(
            tmp_path / folder, {"namespaces": {"ns": {}, "bar": {}}, "groups": groups, "operators": [kettle]}
        )
    planned = answer("plan", tmp_path / "after", "--from", tmp_path / "before")
    assert [task for task in planned["tasks"] if "whole cluster" in task["text"]] == []
