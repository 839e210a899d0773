"""`olmc vendor`: what it brings from a real registry, and what the other commands make of it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from commands import names, olmc
from image_workspaces import CATALOG, CATALOG_SOURCE, located, paths, state, with_images
from vendoring import BEACON, FERRY, at_registry, locked, push_all, refused

SERVES_THE_IMAGE = {
    "ServiceAccount/olm/harbour",
    "Service/olm/harbour",
    "NetworkPolicy/olm/harbour-grpc-server",
    "NetworkPolicy/olm/harbour-unpack-bundles",
}


@pytest.mark.parametrize("compression", ["gzip", "zstd", ""])
@pytest.mark.parametrize("fixture", ["dependency", "upgrade"])
def test_what_is_vendored_renders_as_folders_do(tmp_path: Path, host: str, fixture: str, compression: str) -> None:
    """Catalogs, then what the resolution picks, dependencies and hops of upgrades included."""
    root = tmp_path / "workspace"
    images = with_images(root, fixture, compression)
    push_all(host, f"renders-{fixture}{compression and '-'}{compression}", images)
    result = olmc("vendor", root)
    assert result.exit_code == 0, result.stderr
    assert locked(root).keys() == images.keys()
    assert {key: each.digest for key, each in locked(root).items()} == {k: i.digest for k, i in images.items()}
    located("127.0.0.1:1")
    # OLM runs a catalog that is an image, and makes nothing for one that has an address.
    assert [name for name in names(root) if name not in SERVES_THE_IMAGE] == names(fixture)
    assert set(names(root)) >= SERVES_THE_IMAGE
    assert operator_objects(root) == operator_objects(fixture)


def operator_objects(workspace: Path | str) -> list[dict[str, object]]:
    """The rendered objects of a workspace in order, but for the catalog and the objects that serve it."""
    items = json.loads(olmc("render", workspace, "--exclude", "CatalogSource", "-o", "json").stdout)["items"]
    served = {tuple(name.split("/")) for name in SERVES_THE_IMAGE}
    key = ("namespace", "name")
    return [each for each in items if (each["kind"], *(each["metadata"].get(part) for part in key)) not in served]


def test_without_it_the_way_out_is_named(root: Path) -> None:
    result = olmc("render", root)
    assert result.exit_code == 0
    said = f"cluster.yaml:16:10: warning: the content of CatalogSource olm/harbour is not in the workspace: {CATALOG} "
    way_out = f"  Run `olmc vendor`, or put its file-based catalog into {root}/catalogs/harbour/.\n"
    needs = "  operators.yaml:17:11: Subscription harbour/ferry needs it\n"
    assert f"{said}[OLMC620]\n{needs}{way_out}" in result.stderr


def test_a_bundle_that_is_missing_is_named_with_its_place(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    shutil.copytree("dependency", root, ignore=shutil.ignore_patterns("bundles"))
    result = olmc("render", root)
    said = f"catalogs/harbour/ferry.yaml:14:8: failure: bundle content for ferry.v1.0.0 ({FERRY}) is not available "
    assert said in result.stderr
    assert "Run `olmc vendor`, or unpack" in result.stderr


def test_only_what_is_picked_is_brought(tmp_path: Path, host: str) -> None:
    """The catalog lists tide 1.0.0 and 1.1.0; the Subscription starts at 1.1.0."""
    root = at_registry(tmp_path, host, "picked", "upgrade")
    text = (root / "operators.yaml").read_text().replace("startingCSV: tide.v1.0.0", "startingCSV: tide.v1.1.0")
    (root / "operators.yaml").write_text(text)
    assert olmc("vendor", root).exit_code == 0
    assert locked(root).keys() == {CATALOG, "registry.example.com/bundles/tide:v1.1.0"}


def test_a_second_run_asks_nobody_and_changes_nothing(root: Path) -> None:
    assert olmc("vendor", root).exit_code == 0
    before = state(root)
    result = olmc("vendor", root, "--offline")
    assert (result.exit_code, result.stderr) == (
        0,
        "vendor: 1 catalog, 2 bundles; 0 fetched, 0 removed, olmc.lock unchanged\n",
    )
    assert state(root) == before
    assert olmc("vendor", root, "--check").stderr == "vendor/ and olmc.lock are up to date\n"


def test_the_output_names_what_was_fetched(root: Path) -> None:
    result = olmc("vendor", root)
    digests = {key: each.digest[:19] for key, each in locked(root).items()}
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.splitlines() == [
        f"fetched bundle {BEACON} ({digests[BEACON]})",
        f"fetched bundle {FERRY} ({digests[FERRY]})",
        f"fetched catalog {CATALOG} ({digests[CATALOG]})",
        "vendor: 1 catalog, 2 bundles; 3 fetched, 0 removed, olmc.lock written",
    ]


def test_the_same_images_give_the_same_bytes(root: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(root, other)
    assert olmc("vendor", root, "--jobs", "1").exit_code == olmc("vendor", other, "--jobs", "8").exit_code == 0
    assert state(root) == state(other)


def test_what_is_no_longer_needed_goes(root: Path) -> None:
    assert olmc("vendor", root).exit_code == 0
    (root / "operators.yaml").unlink()
    assert olmc("vendor", root, "--check").exit_code == 1
    result = olmc("vendor", root)
    assert result.stderr == "vendor: no images are needed; olmc.lock written\n"
    assert paths(root) == ["vendor/.gitattributes"]
    assert "images" not in (root / "olmc.lock").read_text()


def test_a_check_says_what_is_missing_and_fetches_nothing(root: Path) -> None:
    before = state(root)
    result = olmc("vendor", root, "--check")
    assert result.exit_code == 1
    assert result.stderr.startswith(f"missing: {CATALOG}\n")
    assert state(root) == before
    assert olmc("vendor", root, "--check", "--update").exit_code == 2


def test_bundles_of_the_workspace_go_before_images(root: Path, project: Path) -> None:
    shutil.copytree(project / "fixtures/dependency/bundles/ferry-1.0.0", root / "mine/ferry")
    assert olmc("vendor", root).exit_code == 0
    assert locked(root).keys() == {CATALOG, BEACON}
    assert "Deployment/harbour/ferry-controller" in names(root)


def test_a_catalog_of_the_workspace_goes_before_its_image(root: Path, project: Path) -> None:
    shutil.copytree(project / "fixtures/dependency/catalogs", root / "catalogs")
    assert olmc("vendor", root).exit_code == 0
    assert locked(root).keys() == {BEACON, FERRY}


def test_templates_name_bundles_by_image(tmp_path: Path, host: str) -> None:
    """A basic template is expanded from what its images hold (R-CAT-130)."""
    root = at_registry(tmp_path, host, "templates")
    template = {
        "schema": "olm.template.basic",
        "entries": [
            {"schema": "olm.package", "name": "beacon", "defaultChannel": "stable"},
            {"schema": "olm.channel", "package": "beacon", "name": "stable", "entries": [{"name": "beacon.v1.0.0"}]},
            {"schema": "olm.bundle", "image": BEACON},
        ],
    }
    (root / "catalogs/harbour").mkdir(parents=True)
    (root / "catalogs/harbour/template.json").write_text(json.dumps(template))
    text = (root / "operators.yaml").read_text().replace("ferry", "beacon")
    (root / "operators.yaml").write_text(text)
    missing = olmc("render", root)
    assert f"bundle content for {BEACON} is not available offline" in missing.stderr
    assert olmc("vendor", root).exit_code == 0
    assert locked(root).keys() == {BEACON}
    assert "Deployment/harbour/beacon-controller" in names(root)


def test_an_image_by_kubernetes_version(root: Path) -> None:
    """The annotation olm.catalogImageTemplate wins over spec.image (R-CAT-162)."""
    text = (root / "cluster.yaml").read_text()
    annotations = "{olm.catalogImageTemplate: 'registry.example.com/catalogs/harbour:v{kube_major_version}'}"
    text = text.replace("metadata: {name: harbour,", f"metadata: {{annotations: {annotations}, name: harbour,")
    (root / "cluster.yaml").write_text(text.replace("image: registry", "image: elsewhere"))
    assert olmc("vendor", root).exit_code == 0
    assert CATALOG in locked(root)
    assert "Deployment/harbour/ferry-controller" in names(root)


def test_what_olm_unpacked_before_is_brought_as_well(root: Path) -> None:
    """An operator that is installed at the start left objects of its bundle behind, which its CSV does not show."""
    assert olmc("vendor", root).exit_code == 0
    rendered = json.loads(olmc("render", root, "-o", "json").stdout)["items"]
    kept = [each for each in rendered if each["kind"] in ("Subscription", "ClusterServiceVersion", "OperatorGroup")]
    (root / "operators.yaml").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": kept}))
    shutil.rmtree(root / "vendor")
    (root / "olmc.lock").unlink()
    assert "CustomResourceDefinition/ferries.water.example.com" not in olmc("render", root, "-o", "name").stdout
    assert olmc("vendor", root).exit_code == 0
    assert locked(root).keys() == {CATALOG, BEACON, FERRY}
    assert "CustomResourceDefinition/ferries.water.example.com" in names(root)


def test_no_other_command_touches_the_network(root: Path) -> None:
    """Python tells of every connection and every look at a name; a command that made one would end with 9."""
    assert olmc("vendor", root).exit_code == 0
    told = "('socket.connect', 'socket.getaddrinfo', 'socket.gethostbyname', 'socket.sendto')"
    watch = f"import os, sys; sys.addaudithook(lambda event, _: event in {told} and os._exit(9))"
    run = f"{watch}; from olmc.cli.main import main; main(sys.argv[1:])"
    for command in ("render", "resolve", "check", "vendor --check", "vendor --offline"):
        name, *options = command.split()
        arguments = [sys.executable, "-c", run, name, str(root), *options]
        done = subprocess.run(arguments, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{command}: {done.stderr}"
    update = [*arguments[:3], "vendor", str(root), "--update"]
    assert subprocess.run(update, capture_output=True, check=False).returncode == 9


def test_what_a_killed_run_left_goes(root: Path) -> None:
    (root / ".olmc-vendor-abc/blobs").mkdir(parents=True)
    (root / ".olmc-vendor-abc/blobs/sha256-1").write_text("half of a lay")
    assert olmc("vendor", root).exit_code == 0
    assert not list(root.glob(".olmc-*"))


def test_paths_and_options_that_are_none(tmp_path: Path) -> None:
    result = olmc("vendor", tmp_path / "nowhere")
    assert (result.exit_code, "[OLMC120]" in result.stderr) == (3, True)
    (tmp_path / "empty").mkdir()
    result = olmc("vendor", tmp_path / "empty", "--allow-empty")
    assert (result.exit_code, result.stderr) == (0, "vendor: no images are needed; olmc.lock unchanged\n")
    result = olmc("vendor", tmp_path / "empty")
    assert (result.exit_code, "[OLMC183]" in result.stderr) == (0, True)
    assert olmc("vendor", "--check", tmp_path / "empty").exit_code == 0
    assert olmc("vendor", "--check", tmp_path / "empty", "--allow-empty").exit_code == 0
    assert not list((tmp_path / "empty").iterdir())
    assert olmc("vendor", tmp_path / "empty", "--jobs", "0").exit_code == 2
    result = olmc("vendor", tmp_path / "empty", "--from", tmp_path / "nothing.tar")
    assert (result.exit_code, "nothing.tar is no OCI layout: No such file" in result.stderr) == (3, True)


def test_a_workspace_that_cannot_be_read(root: Path) -> None:
    (root / "broken.yaml").write_text("x: [{apiVersion: v1, kind: Pod},\n")
    assert "broken.yaml:1:4: error: not valid YAML" in refused(root)


def test_a_namespace_that_does_not_resolve(root: Path) -> None:
    (root / "operators.yaml").write_text((root / "operators.yaml").read_text().replace("name: ferry", "name: gondola"))
    result = olmc("vendor", root)
    assert result.exit_code == 1
    assert "warning: namespace harbour does not resolve, so the bundles for it are not known: " in result.stderr
    assert locked(root).keys() == {CATALOG}


SUBSCRIPTION = """apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {{name: {0}, namespace: harbour}}
spec: {{name: {0}, channel: stable, source: fleet-operators, sourceNamespace: marketplace}}
"""


@pytest.mark.parametrize(
    ("command", "code"),
    [(["vendor"], 1), (["vendor", "--check"], 1), (["check"], 0), (["check", "--strict"], 1), (["status"], 0)],
)
def test_an_unknown_catalog_is_named(command: list[str], code: int, tmp_path: Path) -> None:
    """The finding lists all Subscriptions that need it, and the way out; there is something left to fetch."""
    group = "apiVersion: operators.coreos.com/v1\nkind: OperatorGroup\nmetadata: {name: all, namespace: harbour}\n"
    (tmp_path / "a.yaml").write_text(f"{group}---\n{SUBSCRIPTION.format('tea')}---\n{SUBSCRIPTION.format('kettle')}")
    result = olmc(*command, tmp_path)
    assert result.exit_code == code
    assert (
        "catalog marketplace/fleet-operators is not defined in this workspace; "
        "olmc can't resolve these Subscriptions: harbour/kettle, harbour/tea [OLMC643]\n"
    ) in result.output
    there = f"{tmp_path}/catalogs/fleet-operators/"
    said = result.output.replace(f" {tmp_path}`", "`")
    assert f"Add the CatalogSource and run `olmc vendor`, or fill {there}." in said
    assert "OLMC510" not in result.output
    assert "no images are needed" not in result.output and "up to date" not in result.output


@pytest.mark.parametrize(
    ("code", "source", "namespace", "hint"),
    [
        (0, "redhat-operators", "openshift-marketplace", "Run `olmc init workspace --openshift RELEASE`, which"),
        (0, "operatorhubio-catalog", "olm", "Run `olmc init workspace --operatorhub`, which notes in olmc.yaml"),
        (1, "fleet-operator", "marketplace", "Did you mean fleet-operators? Correct spec.source of the Subscription."),
        (1, "fleet-operators", "olm", "There is one in marketplace. Correct spec.sourceNamespace of the Subscription."),
    ],
)
def test_an_unknown_catalog_is_one_finding_with_the_way_out(
    code: int, source: str, namespace: str, hint: str, tmp_path: Path
) -> None:
    """It is a failure where the workspace has the catalog that is meant."""
    group = "apiVersion: operators.coreos.com/v1\nkind: OperatorGroup\nmetadata: {name: all, namespace: harbour}\n"
    catalog = CATALOG_SOURCE.replace("harbour, namespace: olm", "fleet-operators, namespace: marketplace")
    text = (
        SUBSCRIPTION.format("tea")
        .replace("fleet-operators", source)
        .replace("sourceNamespace: marketplace", f"sourceNamespace: {namespace}")
    )
    (tmp_path / "a.yaml").write_text(f"{group}---\n{catalog}---\n{text}")
    result = olmc("resolve", tmp_path)
    assert result.exit_code == code
    assert (result.stderr.count("warning: "), result.stderr.count("failure: ")) == (1 - code, code)
    assert hint in result.stderr


@pytest.mark.process
def test_without_the_libraries_the_way_to_install_them_is_named(tmp_path: Path) -> None:
    run = "import sys; sys.modules['urllib3'] = None; from olmc.cli.main import main; main(sys.argv[1:])"
    command = [sys.executable, "-c", run, "vendor", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (3, "")
    expected = "error: olmc vendor needs urllib3, which is not installed [OLMC642]\n"
    assert done.stderr == f"{expected}  Install it with pip install urllib3 zstandard.\n"
