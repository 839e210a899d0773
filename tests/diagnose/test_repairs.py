"""What `olmc fix` writes into bundles, catalogs and manifests: each result is compiled, and comments stay."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from building import write_workspace
from click.testing import CliRunner

import olmc
from olmc.cli.main import main
from olmc.compiler.load.request import CompileRequest
from olmc.review.diagnose.engine import diagnose, scene_of
from olmc.review.diagnose.remedies import MOST_TRIALS, search

GROUPS = {"ns/og": "all"}
ROLE = "bundles/kettle-1.0.0/manifests/extra.yaml"


def workspace(root: Path, *operators: Mapping[str, Any] | str, **case: Any) -> Path:
    write_workspace(root, {"groups": GROUPS, "operators": operators or ("kettle.v1.0.0",), **case})
    return root


def fixed(root: Path, *options: object) -> str:
    """What `olmc fix` prints; afterwards nothing fails."""
    assert olmc.compile(root).findings
    result = CliRunner().invoke(main, ["fix", str(root), *map(str, options)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    done = olmc.compile(root)
    assert {phase for phase, _ in done.phases.values()} == {"Succeeded"}, result.output
    assert not done.findings, result.output
    return result.output


def with_text(root: Path, path: str, old: str, new: str) -> Path:
    text = (root / path).read_text(encoding="utf-8")
    assert old in text
    (root / path).write_text(text.replace(old, new, 1), encoding="utf-8")
    return root


def with_file(root: Path, text: str, name: str = "extra.yaml") -> Path:
    """The workspace with one more file in the bundle of kettle."""
    (csv,) = root.glob("bundles/*/manifests/*clusterserviceversion*")
    csv.with_name(name).write_text(text, encoding="utf-8")
    return root


def extra(root: Path) -> str:
    (path,) = root.glob("bundles/*/manifests/extra.yaml")
    return path.read_text(encoding="utf-8")


CRD = """\
# who keeps it
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: cups.kettle.example.com
spec:
  group: kettle.example.com
  names: {plural: cups, kind: Cup}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          size:
            minLength: 1  # why
            type: string
"""


@pytest.mark.parametrize(
    ("old", "new", "after"),
    [
        ("scope: Namespaced", "scope: namespaced", "scope: Namespaced"),
        ("minLength: 1  # why", "minLength: '1'  # why", "minLength: 1  # why"),
        ("storage: true", "storage: false", "storage: true"),
        ("served: true", "served: 'true'", "served: true"),
        ("plural: cups", "plural: cup", "plural: cups"),
        ("            type: string\n", "", "            type: string\n"),
    ],
)
def test_a_field_of_a_crd(old: str, new: str, after: str, tmp_path: Path) -> None:
    root = with_file(workspace(tmp_path), CRD.replace(old, new, 1))
    fixed(root)
    assert after in extra(root)
    assert extra(root).startswith("# who keeps it\n")


OLD_CRD = """\
apiVersion: apiextensions.k8s.io/{version}
kind: CustomResourceDefinition
metadata:
  name: cups.kettle.example.com
spec:
  group: kettle.example.com
  names: {plural: cups, kind: Cup}
  scope: Namespaced
  version: v2
  validation:
    # the shape
    openAPIV3Schema:
      type: object
  subresources:
    status: {}
  additionalPrinterColumns:
  - JSONPath: .spec.size  # in ml
    name: Size
    type: string
  preserveUnknownFields: true
  versions:
  - name: v2
    served: true
    storage: true
  - name: v1
    served: false
    storage: false
"""


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_the_fields_of_v1beta1_move_to_the_versions(version: str, tmp_path: Path) -> None:
    root = with_file(workspace(tmp_path), OLD_CRD.replace("{version}", version))
    assert "Move the fields of v1beta1 to their place" in fixed(root)
    crd = yaml.safe_load(extra(root))
    assert "# the shape" in extra(root)
    assert "jsonPath: .spec.size  # in ml" in extra(root)
    assert crd["spec"].keys() == {"group", "names", "scope", "versions"}
    for entry in crd["spec"]["versions"]:
        assert entry["additionalPrinterColumns"] == [{"jsonPath": ".spec.size", "name": "Size", "type": "string"}]
        assert entry["subresources"] == {"status": {}}
        assert entry["schema"]["openAPIV3Schema"]["x-kubernetes-preserve-unknown-fields"] is True


def test_a_label_that_is_no_text(tmp_path: Path) -> None:
    account = "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: helper\n  labels:\n    release: 1.10  # ours\n"
    root = with_file(workspace(tmp_path), account)
    fixed(root)
    assert 'release: "1.10"  # ours' in extra(root).replace("'", '"')


def test_objects_of_a_kind_that_the_cluster_lacks(tmp_path: Path) -> None:
    monitor = "apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nmetadata: {name: kettle}\n"
    root = with_file(workspace(tmp_path), monitor)
    assert "Remove ServiceMonitor kettle from the bundle" in fixed(root)
    assert not list(root.glob("bundles/*/manifests/extra.yaml"))


# Subscriptions and catalogs.


def test_two_subscriptions_to_one_package(tmp_path: Path) -> None:
    root = workspace(tmp_path)
    more = {
        "apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription",
        "metadata": {"name": "a-kettle-too", "namespace": "ns"},
        "spec": {"name": "kettle", "source": "cat", "sourceNamespace": "olm", "startingCSV": "kettle.v9.0.0"},
    }  # fmt: skip
    (root / "second.yaml").write_text(yaml.safe_dump(more), encoding="utf-8")
    assert "Remove Subscription ns/a-kettle-too" in fixed(root)
    assert not (root / "second.yaml").exists()


def test_a_number_in_a_catalog(tmp_path: Path) -> None:
    root = workspace(tmp_path)
    (catalog,) = root.glob("catalogs/*/catalog.yaml")
    text = "schema: olm.package\nname: pot\ndefaultChannel: 4.10  # the newest\n---\n"
    text += "schema: olm.channel\npackage: pot\nname: '4.10'\nentries:\n- name: pot.v1.0.0\n---\n"
    text += "schema: olm.bundle\npackage: pot\nname: pot.v1.0.0\nimage: registry.example.com/pot:1\nproperties:\n"
    text += "- type: olm.package\n  value: {packageName: pot, version: 1.0.0}\n"
    catalog.write_text(f"{text}---\n{catalog.read_text(encoding='utf-8')}", encoding="utf-8")
    fixed(root)
    assert 'defaultChannel: "4.10"  # the newest' in catalog.read_text(encoding="utf-8")


def test_the_search_is_bounded(tmp_path: Path) -> None:
    broken = CRD.replace("scope: Namespaced", "scope: x").replace("minLength: 1", "minLength: x")
    root = with_file(workspace(tmp_path), broken)
    done = olmc.compile(root)
    assert len(search(CompileRequest(root), done, diagnose(scene_of(done))).tried) <= MOST_TRIALS
