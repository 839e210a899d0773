"""An object that the API server refuses is a risk where it is new: whoever applies it fails, or knows better."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from running import PROJECT, run_here
from tiers import sampled

_ROLE = "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}"
_REFUSED = {
    "a name": "{apiVersion: v1, kind: ConfigMap, metadata: {name: BAD_name, namespace: default}}",
    "a namespace": "{apiVersion: v1, kind: Namespace, metadata: {name: BAD_}}",
    "a type": "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: x}\n"
    f"{_ROLE}\nsubjects: [{{kind: User, name: evil, namespace: 5}}]",
    "a label": "{apiVersion: v1, kind: Service, metadata: {name: s, namespace: default, labels: {a: 5}}}",
}
_COMMANDS = (("diff", "v", "w"), ("plan", "w", "--from", "v"))


def _sides(folder: Path, fixture: str) -> tuple[Path, Path]:
    for side in ("v", "w"):
        shutil.copytree(PROJECT / "fixtures" / fixture, folder / side)
    return folder / "v", folder / "w"


@pytest.mark.parametrize("command", _COMMANDS, ids=lambda command: command[0])
@pytest.mark.parametrize("what", _REFUSED)
def test_a_new_refused_object_is_a_risk(what: str, command: tuple[str, ...], tmp_path: Path) -> None:
    old, new = _sides(tmp_path, "own-namespace")
    (new / "x.yaml").write_text(_REFUSED[what])
    done = run_here([*command, "--fail-on", "risk"], tmp_path)
    assert done.code == 1
    assert "which the API server refuses" in done.output
    (old / "x.yaml").write_text(_REFUSED[what])
    assert run_here([*command, "--fail-on", "any"], tmp_path).code == 0


@pytest.mark.parametrize("place", sampled(["infrastructure/lighthouse", "operators/base"], 2))
def test_a_plan_of_a_repository_reports_it(place: str, tmp_path: Path) -> None:
    """Read as a file, or built by a kustomization."""
    old, new = _sides(tmp_path, "repos/flux")
    assert "x.yaml" not in run_here(["plan", "w", "--from", "v"], tmp_path).output
    for side, refused in ((old, False), (new, True)):
        (side / place / "x.yaml").write_text(_REFUSED["a name"] if refused else "{}")
        kustomization = side / place / "kustomization.yaml"
        if kustomization.is_file() and refused:
            kustomization.write_text(kustomization.read_text().replace("resources:", "resources:\n- x.yaml"))
    done = run_here(["plan", "w", "--from", "v", "--fail-on", "risk"], tmp_path)
    assert done.code == 1
    assert "ConfigMap" in done.output and "which the API server refuses" in done.output


def test_an_object_that_is_refused_from_now_on_is_a_risk(tmp_path: Path) -> None:
    old, new = _sides(tmp_path, "own-namespace")
    (old / "x.yaml").write_text("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: n}, data: {a: b}}")
    (new / "x.yaml").write_text("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: n}, data: [b]}")
    done = run_here(["plan", "w", "--from", "v", "--fail-on", "risk"], tmp_path)
    assert done.code == 1
    assert "which the API server refuses" in done.output


_CHANGED = {
    "a role": ("name: cluster-admin}", "name: view}"),
    "a subject": ("name: evil", "name: crew"),
    "a label": ("metadata: {name: x}", "metadata: {name: x, labels: {a: b}}"),
}


@pytest.mark.parametrize("command", _COMMANDS, ids=lambda command: command[0])
@pytest.mark.parametrize("what", _CHANGED)
def test_a_refused_object_that_changes_is_a_risk(what: str, command: tuple[str, ...], tmp_path: Path) -> None:
    """Its message is the same on both sides: the mistake is elsewhere, and a later version may take the object."""
    old, new = _sides(tmp_path, "own-namespace")
    (old / "x.yaml").write_text(_REFUSED["a type"].replace(*_CHANGED[what]))
    (new / "x.yaml").write_text(_REFUSED["a type"])
    done = run_here([*command, "--fail-on", "risk"], tmp_path)
    assert done.code == 1
    assert "left out on both sides, and another: ClusterRoleBinding/x" in done.output


@pytest.mark.parametrize("place", sampled(["infrastructure/lighthouse", "operators/base"], 2))
def test_a_plan_of_a_repository_reports_the_change(place: str, tmp_path: Path) -> None:
    old, new = _sides(tmp_path, "repos/flux")
    for side, role in ((old, "view"), (new, "cluster-admin")):
        (side / place / "x.yaml").write_text(_REFUSED["a type"].replace("cluster-admin", role))
        kustomization = side / place / "kustomization.yaml"
        if kustomization.is_file():
            kustomization.write_text(kustomization.read_text().replace("resources:", "resources:\n- x.yaml"))
    done = run_here(["plan", "w", "--from", "v", "--fail-on", "risk"], tmp_path)
    assert done.code == 1
    assert "another: ClusterRoleBinding/x; which the API server refuses" in done.output


_STOPPING = {
    "a label": ("apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: x, labels: {a: 5}}\n"
                'rules: [{apiGroups: [""], resources: [pods], verbs: ["*"]}]', "[pods]", '["*"]'),
    "a kind": ("apiVersion: v1\nkind: Pod\nmetadata: {name: x}\n"
               "spec: {containers: [{name: a, image: b, securityContext: {privileged: false}}]}", "false", "true"),
    "a name": ("apiVersion: v1\nkind: Service\nmetadata: {name: BAD_x}\nspec: {ports: [{port: 80}], type: ClusterIP}",
               "ClusterIP", "LoadBalancer"),
    "a schema": ("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: BAD_x}\nspec: "
                 "{group: a.example.com, scope: Cluster, names: {kind: A, plural: as}}", "Cluster", "Namespaced"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", _STOPPING)
def test_an_object_that_stops_both_bundles_is_a_risk_where_it_changes(mistake: str, tmp_path: Path) -> None:
    """Both bundles fail alike, so neither has the object; the next version, or another OLM, may take it."""
    text, old, new = _STOPPING[mistake]
    for side, written in (("v", text), ("w", text.replace(old, new))):
        shutil.copytree(PROJECT / "fixtures/own-namespace/bundles/beacon-1.0.0", tmp_path / side)
        (tmp_path / side / "manifests/x.yaml").write_text(written)
    done = run_here(["diff", "v", "w", "-n", "tools", "--fail-on", "risk"], tmp_path)
    assert done.code == 1
    assert "left out on both sides, and another: " in done.output
    assert "in a bundle whose installation fails" in done.output
    assert run_here(["diff", "w", "w", "-n", "tools", "--fail-on", "any"], tmp_path).code == 0


_WIDER = {
    "rules": ({"apiGroups: [lights.example.com]": "apiGroups: ['*']", "resources: [beacons]": "resources: ['*']"},
              "may do anything with *.*"),
    "an account": ({"apiGroups: [lights.example.com]": "apiGroups: ['*']", "resources: [beacons]": "resources: ['*']",
                    "serviceAccountName: beacon": "serviceAccountName: boss"}, "ServiceAccount/tools/boss: + may"),
    "secrets": ({"resources: [configmaps]": "resources: [secrets]"}, "secrets"),
}  # fmt: skip


@pytest.mark.parametrize("is_broken_before", [True, False])
@pytest.mark.parametrize("wider", _WIDER)
def test_more_rights_of_a_bundle_that_fails_are_a_risk(wider: str, is_broken_before: bool, tmp_path: Path) -> None:
    """OLM writes roles after the objects of a bundle, so neither side has them."""
    written, shown = _WIDER[wider]
    for side in ("v", "w"):
        shutil.copytree(PROJECT / "fixtures/own-namespace/bundles/beacon-1.0.0", tmp_path / side)
        if side == "w" or is_broken_before:
            (tmp_path / side / "manifests/x.yaml").write_text(_STOPPING["a label"][0])
    command = ["diff", "v", "w", "-n", "tools", "--fail-on", "risk"]
    assert not is_broken_before or run_here(command, tmp_path).code == 0
    csv = tmp_path / "w/manifests/beacon.clusterserviceversion.yaml"
    for old, new in written.items():
        csv.write_text(csv.read_text().replace(old, new))
    done = run_here(command, tmp_path)
    assert done.code == 1
    assert shown in done.output.partition("Kept back: Risks")[2]


_PROJECT = "layout: [go.kubebuilder.io/v4]\nprojectName: beacon\n"


@pytest.mark.parametrize("change", ["an object that stops it", "rules", "secrets", "the channels"])
def test_a_project_is_compared_as_its_bundle(change: str, tmp_path: Path) -> None:
    """Whoever adds a file PROJECT hides nothing of a bundle that fails, nor of its metadata."""
    for side in ("v", "w"):
        bundle = tmp_path / side / "bundle"
        shutil.copytree(PROJECT / "fixtures/own-namespace/bundles/beacon-1.0.0", bundle)
        (tmp_path / side / "PROJECT").write_text(_PROJECT)
        (bundle / "manifests/x.yaml").write_text(_STOPPING["a label"][0])
    command = ["diff", "v", "w", "-n", "tools", "--fail-on", "risk"]
    assert run_here(command, tmp_path).code == 0
    written, shown = _WIDER.get(change, ({}, "bundle/manifests/x.yaml: ~ left out on both sides, and another"))
    csv, notes = bundle / "manifests/beacon.clusterserviceversion.yaml", bundle / "metadata/annotations.yaml"
    for old, new in written.items():
        csv.write_text(csv.read_text().replace(old, new))
    if change == "an object that stops it":
        (bundle / "manifests/x.yaml").write_text(_STOPPING["a label"][0].replace(*_STOPPING["a label"][1:]))
    if change == "the channels":
        notes.write_text(notes.read_text().replace("channels.v1: stable", "channels.v1: evil"))
        shown = "channels"
    done = run_here(command, tmp_path)
    assert done.code == 1
    assert shown in done.output


_DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: tug, namespace: harbour}
spec:
  replicas: REPLICAS
  selector: {matchLabels: {app: tug}}
  template:
    metadata: {labels: {app: tug}}
    spec: {hostNetwork: NETWORK, containers: [{name: tug, image: "registry.example.com/tug:v1"}]}
"""


@pytest.mark.parametrize("replicas", ["${R:=2}", "${R}", "${#R}", "'${R:-1}${S}'"])
@pytest.mark.parametrize("is_there", [True, False])
def test_an_object_that_flux_completes_is_not_refused(is_there: bool, replicas: str, tmp_path: Path) -> None:
    """The API server never sees the variable; the object is graded with its default, against itself."""
    old, new = _sides(tmp_path, "own-namespace")
    text = _DEPLOYMENT.replace("NETWORK", "false")
    if is_there:
        (old / "x.yaml").write_text(text.replace("REPLICAS", "1"))
    (new / "x.yaml").write_text(text.replace("REPLICAS", replicas))
    output = run_here(["diff", "v", "w", "--fail-on", "any"], tmp_path).output
    assert "takes only once Flux fills in its variables" in output
    assert "the API server refuses" not in output
    (new / "x.yaml").write_text(text.replace("REPLICAS", replicas).replace("false", "'${N:=true}'"))
    done = run_here(["diff", "v", "w", "--fail-on", "risk"], tmp_path)
    assert done.code == 1
    assert f"hostNetwork: {'false → ' * is_there}true" in done.output
    assert ("new: runs" in done.output) is not is_there
