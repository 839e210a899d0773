"""What Flux gets: a directory of manifests, its variables left alone, and the objects that fetch and apply it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from pipeline_workshop import Object, copied, name_of, run, stream
from scenarios import write

from olmc.integrations.pipelines.function import PRUNE, SUBSTITUTE

pytestmark = pytest.mark.process

URL = "oci://registry.example.com/harbour/rendered"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A workspace of which two objects hold what looks like a variable of Flux."""
    folder = copied("own-namespace", tmp_path / "workspace")
    config_map = {"apiVersion": "v1", "kind": "ConfigMap"}
    home = {"namespace": "harbour"}
    return write(folder, {
        "a.json": json.dumps({**config_map, "metadata": {**home, "name": "a"}, "data": {"b": "echo ${HOME}"}}),
        "kept.json": json.dumps({
            **config_map, "metadata": {**home, "name": "kept", "annotations": {SUBSTITUTE: "enabled"}},
            "data": {"b": "echo ${HOME}"},
        }),
        "plain.json": json.dumps({**config_map, "metadata": {**home, "name": "plain"}, "data": {"b": "echo $HOME"}}),
    })  # fmt: skip


def annotated(objects: list[Object]) -> dict[str, str]:
    found = {name_of(obj): (obj["metadata"].get("annotations") or {}).get(SUBSTITUTE) for obj in objects}
    return {name: value for name, value in found.items() if value is not None}


def test_objects_that_hold_a_variable_are_exempt(workspace: Path) -> None:
    """What the object says itself stays."""
    plain = run(["olmc", "render", ".", "--for", "apply"], workspace)
    flux = run(["olmc", "render", ".", "--for", "apply", "--flux"], workspace)
    assert (plain.returncode, flux.returncode) == (0, 0)
    assert annotated(stream(plain.stdout)) == {"ConfigMap/harbour/kept": "enabled"}
    assert annotated(stream(flux.stdout)) == {"ConfigMap/harbour/kept": "enabled", "ConfigMap/harbour/a": "disabled"}
    assert [name_of(obj) for obj in stream(flux.stdout)] == [name_of(obj) for obj in stream(plain.stdout)]


def test_a_variable_in_a_bundle_is_found(workspace: Path) -> None:
    """Wherever it stands: 35 of 1500 bundle files hold one."""
    csv = next((workspace / "bundles").rglob("*.clusterserviceversion.yaml"))
    text = csv.read_text(encoding="utf-8")
    image = "image: registry.example.com/beacon:v1.0.0"
    assert image in text
    csv.write_text(text.replace(image, f"{image}\n                args: ['--x=$${{A}}']"), encoding="utf-8")
    objects = stream(run(["olmc", "render", ".", "--for", "apply", "--flux"], workspace).stdout)
    assert annotated(objects)["Deployment/harbour/beacon-controller"] == "disabled"


def test_namespaces_and_crds_are_not_pruned(workspace: Path) -> None:
    """They take with them what others have put there. What a manifest says of it itself stays."""
    write(workspace, {"x.json": json.dumps({
        "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x", "annotations": {PRUNE: "enabled"}},
    })})  # fmt: skip
    made = stream(run(["olmc", "render", ".", "--for", "apply", "--flux"], workspace).stdout)
    found = {name_of(obj): (obj["metadata"].get("annotations") or {}).get(PRUNE) for obj in made}
    assert {name: value for name, value in found.items() if value is not None} == {
        "Namespace/harbour": "disabled",
        "Namespace/olm": "disabled",
        "Namespace/x": "enabled",
        "CustomResourceDefinition/beacons.lights.example.com": "disabled",
    }
    assert PRUNE not in run(["olmc", "render", ".", "--for", "apply"], workspace).stdout.replace("prune: enabled", "")


def test_a_job_that_fails_pushes_nothing(workspace: Path) -> None:
    """The directory stays as it was, and the exit code ends the job before it pushes."""
    command = ["olmc", "render", ".", "--for", "apply", "--flux", "--output-dir", "../out"]
    assert run(command, workspace).returncode == 0
    before = {path.name: path.read_bytes() for path in (workspace.parent / "out").iterdir()}
    group = {"apiVersion": "operators.coreos.com/v1", "kind": "OperatorGroup"}
    write(workspace, {"g.json": json.dumps({**group, "metadata": {"name": "second", "namespace": "harbour"}})})
    assert run(command, workspace).returncode == 1
    assert {path.name: path.read_bytes() for path in (workspace.parent / "out").iterdir()} == before


def test_a_directory_holds_nothing_but_manifests(workspace: Path) -> None:
    """And kustomization.yaml, by which Flux knows them."""
    assert run(["olmc", "render", ".", "--for", "apply", "--flux", "--output-dir", "../out"], workspace).returncode == 0
    folder = workspace.parent / "out"
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    kustomization = yaml.safe_load((folder / "kustomization.yaml").read_text(encoding="utf-8"))
    assert files == {"kustomization.yaml", *kustomization["resources"]}
    for name in kustomization["resources"]:
        (obj,) = stream((folder / name).read_text(encoding="utf-8"))
        assert {"apiVersion", "kind", "metadata"} <= obj.keys()


@pytest.mark.parametrize("ci", ["github", "gitlab"])
def test_the_objects_of_flux(ci: str, tmp_path: Path) -> None:
    """Their versions and fields, as its CRDs have them."""
    done = run(["olmc", "init", "flux", "--url", URL, "--name", "harbour", "--ci", ci], tmp_path)
    assert done.returncode == 0, done.stderr
    source = yaml.safe_load((tmp_path / "flux/ocirepository.yaml").read_text(encoding="utf-8"))
    sync = yaml.safe_load((tmp_path / "flux/sync.yaml").read_text(encoding="utf-8"))
    assert (source["apiVersion"], source["kind"]) == ("source.toolkit.fluxcd.io/v1", "OCIRepository")
    assert source["spec"].keys() <= {
        "certSecretRef", "ignore", "insecure", "interval", "layerSelector", "provider", "proxySecretRef", "ref",
        "secretRef", "serviceAccountName", "suspend", "timeout", "url", "verify",
    }  # fmt: skip
    assert source["spec"]["url"] == URL
    assert source["spec"]["interval"]
    assert source["spec"]["ref"].keys() <= {"digest", "semver", "semverFilter", "tag"}
    assert (sync["apiVersion"], sync["kind"]) == ("kustomize.toolkit.fluxcd.io/v1", "Kustomization")
    assert sync["spec"].keys() <= {
        "commonMetadata", "components", "decryption", "deletionPolicy", "dependsOn", "force", "healthChecks",
        "healthCheckExprs", "images", "interval", "kubeConfig", "namePrefix", "nameSuffix", "patches", "path",
        "postBuild", "prune", "retryInterval", "serviceAccountName", "sourceRef", "suspend", "targetNamespace",
        "timeout", "wait",
    }  # fmt: skip
    assert {"interval", "prune", "sourceRef"} <= sync["spec"].keys()
    assert sync["spec"]["sourceRef"] == {"kind": "OCIRepository", "name": source["metadata"]["name"]}
    assert source["metadata"] == sync["metadata"] == {"name": "harbour", "namespace": "flux-system"}


def test_a_url_is_one_of_a_registry(tmp_path: Path) -> None:
    assert run(["olmc", "init", "flux"], tmp_path).returncode == 2
    wrong = run(["olmc", "init", "flux", "--url", "https://registry.example.com/a"], tmp_path)
    assert (wrong.returncode, "oci://" in wrong.stderr) == (2, True)
    assert list(tmp_path.iterdir()) == []
