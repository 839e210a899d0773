"""A namespace in the metadata of an object whose kind has none changes nothing, whichever command looks at it."""

from __future__ import annotations

import base64
import json
import shutil
from pathlib import Path

import pytest
import yaml
from commands import identities
from commands import olmc_noticing as olmc
from scenarios import write

BINDING = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: evil
  namespace: foo
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects:
- {kind: ServiceAccount, name: default, namespace: harbour}
"""
LOOSE = BINDING.replace("ClusterRoleBinding", "RoleBinding").replace("  namespace: foo\n", "")
WARNING = "evil.yaml:5:14: warning: ClusterRoleBinding evil names namespace foo, which the API server clears"
CRITICAL = "ServiceAccount harbour/default: critical"


@pytest.fixture
def sides(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a workspace, `old`, and a copy of it, `new`; tests run in it."""
    for side in ("old", "new"):
        shutil.copytree(project / "fixtures" / "own-namespace", tmp_path / side)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_cluster_role_binding_with_a_namespace_is_cluster_admin(sides: Path) -> None:
    write(sides / "new", {"evil.yaml": BINDING})
    assert CRITICAL in olmc("rbac", "new").stdout
    assert "Group" not in (who := olmc("rbac", "who-can", "get", "secrets", "new").stdout)
    assert "ServiceAccount/harbour/default  the whole cluster  any" in who
    done = olmc("diff", "old", "new")
    assert done.exit_code == 1
    assert "may do anything with *.* in the whole cluster (critical: everything)  [risk]" in done.stdout
    assert "namespace foo" not in done.stdout
    assert "ClusterRoleBinding/evil is there" in olmc("why", "ClusterRoleBinding/evil", "new").stdout


def test_it_is_rendered_without_the_namespace_and_said(sides: Path) -> None:
    write(sides / "new", {"evil.yaml": BINDING})
    done = olmc("render", "new")
    assert "ClusterRoleBinding/evil" in identities(done.stdout)
    assert "namespace: foo" not in done.stdout
    assert WARNING in done.stderr
    assert WARNING in olmc("check", "new").stdout


def test_with_and_without_a_namespace_it_is_one_object(sides: Path) -> None:
    write(sides / "new", {"a.yaml": BINDING.replace("  namespace: foo\n", ""), "evil.yaml": BINDING})
    done = olmc("render", "new", "-o", "name")
    assert done.stdout.splitlines().count("ClusterRoleBinding/evil") == 1
    assert "ClusterRoleBinding/evil is defined more than once" in done.stderr


@pytest.mark.parametrize("where", ["manifests", "bundle"])
def test_a_crd_of_the_workspace_says_that_its_kind_has_no_namespaces(where: str, sides: Path) -> None:
    path = sides / "new/bundles/beacon-1.0.0/manifests/beacons.lights.example.com.crd.yaml"
    crd = path.read_text(encoding="utf-8")
    assert "scope: Namespaced" in crd
    beacon = "apiVersion: lights.example.com/v1\nkind: Beacon\nmetadata: {name: sun, namespace: foo}\n"
    write(sides / "new", {"beacon.yaml": beacon})
    assert "Beacon/foo/sun" in olmc("render", "new", "-o", "name").stdout
    if where == "bundle":
        path.write_text(crd.replace("scope: Namespaced", "scope: Cluster"), encoding="utf-8")
    else:
        write(sides / "new", {"crd.yaml": crd.replace("scope: Namespaced", "scope: Cluster")})
    done = olmc("render", "new", "-o", "name")
    assert "Beacon/sun" in done.stdout.splitlines()
    assert "Beacon sun names namespace foo" in done.stderr


def test_in_a_bundle_it_is_said_at_its_line(sides: Path) -> None:
    write(sides / "new", {"bundles/beacon-1.0.0/manifests/evil.yaml": BINDING})
    for path in ("new", "new/bundles/beacon-1.0.0"):
        done = olmc("render", path)
        assert f"manifests/{WARNING}" in done.stderr
        assert "ClusterRoleBinding/evil" in identities(done.stdout)


def test_two_renderings_are_compared_by_scope(tmp_path: Path) -> None:
    """A namespace that means nothing is no change, and hides none."""
    plain = BINDING.replace("  namespace: foo\n", "")
    sides = {"old": plain, "same": BINDING, "none": "apiVersion: v1\nkind: Namespace\nmetadata: {name: harbour}\n"}
    for name, text in sides.items():
        write(tmp_path, {f"{name}.yaml": text})
    assert olmc("diff", tmp_path / "old.yaml", tmp_path / "same.yaml").exit_code == 0
    done = olmc("diff", tmp_path / "none.yaml", tmp_path / "same.yaml")
    assert "may do anything with *.* in the whole cluster (critical: everything)  [risk]" in done.stdout


def test_two_renderings_with_a_crd_that_both_have(tmp_path: Path) -> None:
    """It decides although nobody has to read what both sides have to the letter."""
    crd = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: tides.sea.example.com
spec:
  group: sea.example.com
  names:
    kind: Tide
    plural: tides
  scope: Cluster
"""
    tide = "apiVersion: sea.example.com/v1\nkind: Tide\nmetadata:\n  name: high\n{}spec:\n  metres: 4\n"
    texts = {side: f"{crd}---\n{tide.format(place)}" for side, place in (("old", ""), ("new", "  namespace: foo\n"))}
    for side, text in texts.items():
        write(tmp_path, {f"{side}.yaml": text})
    assert olmc("diff", tmp_path / "old.yaml", tmp_path / "new.yaml").exit_code == 0


def test_a_krm_function_knows_its_item_again() -> None:
    item = {
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "rules": [],
        "metadata": {"name": "a", "namespace": "foo", "annotations": {"config.kubernetes.io/path": "a.yaml"}},
    }  # fmt: skip
    given = {"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": [item]}
    done = olmc("fn", stdin=json.dumps(given))
    assert done.exit_code == 0
    (found,) = yaml.safe_load(done.stdout)["items"]
    assert found["metadata"] == {"name": "a", "annotations": {"config.kubernetes.io/path": "a.yaml"}}


def test_a_role_binding_without_a_namespace_is_not_one_of_the_whole_cluster(sides: Path) -> None:
    """It ends up wherever it is applied to, which is said; permissions are shown in `default`."""
    write(sides / "new", {"evil.yaml": LOOSE})
    done = olmc("rbac", "new", "--subject", "harbour/default")
    assert "* *.*, in default" in done.stdout
    assert "in the whole cluster" not in done.stdout
    said = "evil.yaml:4:3: warning: RoleBinding evil names no namespace, so it ends up wherever it is applied to"
    assert said in olmc("check", "new").stdout
    done = olmc("diff", "old", "new")
    assert "may do anything with *.* in namespace default (high: everything)  [risk]" in done.stdout


def test_what_has_no_namespaces_need_not_name_one(sides: Path) -> None:
    write(sides / "new", {"a.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n"})
    assert "OLMC170" not in (said := olmc("check", "--all", "new").stdout)
    assert "OLMC171" not in said


def test_a_list_is_a_list_whatever_its_kind_is_called(sides: Path) -> None:
    """kubectl and others go by the field `items`."""
    indented = BINDING.replace("\n", "\n  ").rstrip()
    text = f"apiVersion: v1\nkind: Bunch\nmetadata: {{name: a, namespace: harbour}}\nitems:\n- {indented}\n"
    write(sides / "new", {"bunch.yaml": text})
    assert CRITICAL in olmc("rbac", "new").stdout


def test_a_crd_inside_of_a_catalog_says_it_once_it_is_installed(sides: Path) -> None:
    """Its bundle is no folder: the objects are in the catalog itself."""
    root = sides / "new"
    properties = [{"type": "olm.package", "value": {"packageName": "beacon", "version": "1.0.0"}}]
    for path in sorted((root / "bundles/beacon-1.0.0/manifests").iterdir()):
        obj = yaml.safe_load(path.read_text(encoding="utf-8").replace("scope: Namespaced", "scope: Cluster"))
        data = base64.b64encode(json.dumps(obj).encode()).decode()
        properties.append({"type": "olm.bundle.object", "value": {"data": data}})
    shutil.rmtree(root / "bundles")
    entry = {"schema": "olm.channel", "package": "beacon", "name": "stable", "entries": [{"name": "beacon.v1.0.0"}]}
    made = {"schema": "olm.bundle", "package": "beacon", "name": "beacon.v1.0.0", "properties": properties}
    documents = [{"schema": "olm.package", "name": "beacon", "defaultChannel": "stable"}, entry, made]
    write(root, {
        "catalogs/harbour/catalog.yaml": yaml.safe_dump_all(documents),
        "beacon.yaml": "apiVersion: lights.example.com/v1\nkind: Beacon\nmetadata: {name: sun, namespace: foo}\n",
    })  # fmt: skip
    found = olmc("render", "new", "-o", "name").stdout.splitlines()
    assert "Deployment/harbour/beacon-controller" in found
    assert "Beacon/sun" in found


RAW = """\
apiVersion: policy.open-cluster-management.io/v1
kind: ConfigurationPolicy
metadata: {name: roles}
spec:
  remediationAction: enforce
  object-templates-raw: |
"""
ROLE = """\
    - complianceType: musthave
      objectDefinition:
        apiVersion: rbac.authorization.k8s.io/v1
        kind: ClusterRole
        metadata: {name: %s, namespace: %s}
        rules: []
"""
CLUSTER_KIND = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.com}
spec:
  group: example.com
  scope: Cluster
  names: {kind: Gadget, plural: gadgets, singular: gadget, listKind: GadgetList}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
---
apiVersion: example.com/v1
kind: Gadget
metadata: {name: kettle}
"""


def ignored_namespaces(folder: Path) -> list[str]:
    found = json.loads(olmc("check", folder, "-o", "json").stdout)["findings"]
    return [each["message"] for each in found if each["code"] == "OLMC170"]


def test_ignored_namespaces_at_one_place_are_one_finding(tmp_path: Path) -> None:
    """The text of a policy is one place."""
    roles = [("a", "tea"), ("b", "tea"), ("c", "milk"), ("d", "tea")]
    write(tmp_path, {"policy.yaml": RAW + "".join(ROLE % role for role in roles)})
    (said,) = ignored_namespaces(tmp_path)
    assert said.startswith(
        "each of ClusterRole a, ClusterRole b, ClusterRole c and 1 more names namespace tea or milk, which"
    )


def test_the_way_out_of_a_namespace_that_kustomize_writes(tmp_path: Path) -> None:
    """Another kustomization, without `namespace:`."""
    write(tmp_path, {"env/kustomization.yaml": "namespace: tea\nresources: [a.yaml]\n", "env/a.yaml": CLUSTER_KIND})
    (said,) = ignored_namespaces(tmp_path / "env")
    assert said.startswith("Gadget kettle names namespace tea, which")
    assert "to one without that" in olmc("check", tmp_path / "env").stdout
    write(tmp_path, {
        "new/kustomization.yaml": "resources: [env, cluster]\n",
        "new/cluster/kustomization.yaml": "resources: [a.yaml]\n", "new/cluster/a.yaml": CLUSTER_KIND,
        "new/env/kustomization.yaml": "namespace: tea\nresources: [a.yaml]\n", "new/env/a.yaml": LOOSE,
    })  # fmt: skip
    assert ignored_namespaces(tmp_path / "new") == []


@pytest.mark.parametrize(("written", "where"), [("y", "ConfigMap/y/kettle"), ("1_0", "ConfigMap/1_0/kettle")])
def test_a_namespace_that_is_no_text_is_shown_as_written(written: str, where: str, tmp_path: Path) -> None:
    config = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: kettle, namespace: {written}}}\n"
    write(tmp_path, {"old/a.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: tea}\n", "new/a.yaml": config})
    problem = "metadata.namespace: must be a string (put it in quotes)"
    said = olmc("check", tmp_path / "new").stdout
    assert f"a.yaml:3:37: failure: ConfigMap kettle would be refused: {problem}" in said
    assert f"! {where}: refused" in olmc("plan", tmp_path / "new", "--from", tmp_path / "old").stdout
    write(tmp_path, {"new/a.yaml": config.replace(f": {written}}}", f': "{written}"}}')})
    assert "must be a string" not in olmc("check", tmp_path / "new").stdout
