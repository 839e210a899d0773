"""What `olmc vendor` keeps of catalogs, and what is said of the rest."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import pytest
from commands import names, olmc
from image_kit import Image, catalog_image, write_layout
from image_workspaces import CATALOG, PROJECT, state, with_images
from tiers import sampled
from vendoring import locked

from olmc.compiler.load.config import read_lock
from olmc.compiler.load.request import CompileRequest
from olmc.compiler.load.workspace import WorkspaceSettings, load
from olmc.compiler.model.catalog import Catalog
from olmc.k8s.diagnostics import Report
from olmc.k8s.yaml import dump, read

LANTERN = """\
schema: olm.package
name: lantern
defaultChannel: stable
---
schema: olm.channel
package: lantern
name: stable
entries:
- name: lantern.v1.0.0
---
schema: olm.bundle
package: lantern
name: lantern.v1.0.0
image: registry.example.com/bundles/lantern:v1.0.0
properties:
- type: olm.package
  value: {packageName: lantern, version: 1.0.0}
- type: olm.gvk
  value: {group: light.example.com, kind: Lantern, version: v1}
- type: olm.package.required
  value: {packageName: wick, versionRange: '>=1.0.0'}
"""
WICK = LANTERN.replace("lantern", "wick").replace("Lantern", "Wick").partition("- type: olm.package.required")[0]


def as_written(folder: Path, catalog: Path, layout: str) -> None:
    """A catalog whose documents are in a file for each package, or in one, in YAML or in JSON."""
    texts = {path.stem: path.read_text() for path in sorted(catalog.iterdir())} | {"lantern": LANTERN, "wick": WICK}
    folder.mkdir()
    if layout == "folders":
        for name, text in texts.items():
            (folder / name).mkdir()
            (folder / name / "catalog.yaml").write_text(text)
        return
    whole = "---\n".join(texts.values())
    if layout == "json":
        whole = "".join(json.dumps(document.value, indent=4) + "\n" for document in read("c.yaml", whole, Report()))
    (folder / f"catalog.{'json' if layout == 'json' else 'yaml'}").write_text(whole)


class Workspace:
    """A workspace whose catalog has two packages that it needs and two that it does not, and images for all of it."""

    def __init__(self, folder: Path, layout: str = "folders") -> None:
        self.root = folder / "workspace"
        self.images: dict[str, Image] = with_images(self.root, "dependency")
        as_written(folder / "catalog", PROJECT / "fixtures/dependency/catalogs/harbour", layout)
        self.catalog = folder / "catalog"
        self.images[CATALOG] = catalog_image(self.catalog)
        self.layout = write_layout(folder / "layout", self.images)

    def vendor(self, *options: str, code: int = 0) -> str:
        result = olmc("vendor", self.root, "--offline", "--from", self.layout, *options)
        assert (result.exit_code, result.stdout) == (code, ""), result.stderr
        return result.stderr

    def add_subscription(self, package: str) -> None:
        (self.root / "added.yaml").write_text(
            "apiVersion: operators.coreos.com/v1alpha1\nkind: Subscription\n"
            f"metadata: {{name: {package}, namespace: harbour}}\n"
            f"spec: {{name: {package}, channel: stable, source: harbour, sourceNamespace: olm}}\n"
        )

    def loaded(self) -> Catalog:
        report = Report()
        catalog = load(
            CompileRequest(self.root), report, WorkspaceSettings(lock=read_lock(self.root, report))
        ).catalogs["olm/harbour"]
        assert not report.failed
        return catalog


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


@pytest.mark.parametrize("layout", ["folders", "yaml", "json"])
def test_what_can_be_needed_is_kept_as_it_was(tmp_path: Path, layout: str) -> None:
    workspace = Workspace(tmp_path, layout)
    said = workspace.vendor("--whole-catalogs")
    assert "kept" not in said
    assert locked(workspace.root)[CATALOG].packages == ""
    whole = workspace.loaded()
    said = workspace.vendor()
    assert f"kept 2 of 4 packages of {CATALOG}: " in said
    assert locked(workspace.root)[CATALOG].packages == "2 of 4"
    part = workspace.loaded()
    assert list(part.packages) == ["beacon", "ferry"]
    assert [package.name for package in part.left_out] == ["lantern", "wick"]
    for name, package in part.packages.items():
        assert package.channels.keys() == whole.packages[name].channels.keys()
        plain = {key: bundle._replace(location=None) for key, bundle in package.bundles.items()}
        assert plain == {key: bundle._replace(location=None) for key, bundle in whole.packages[name].bundles.items()}
    assert "Deployment/harbour/ferry-controller" in names(workspace.root)


@pytest.mark.parametrize("layout", sampled(["folders", "yaml", "json"], 3))
def test_the_same_is_kept_whatever_was_there_before(tmp_path: Path, layout: str) -> None:
    """From the whole, from a larger part, and a second time: what is kept follows from the workspace and the image."""
    workspace = Workspace(tmp_path, layout)
    workspace.vendor()
    first = state(workspace.root)
    assert "; 0 fetched, 0 removed, olmc.lock unchanged" in workspace.vendor()
    assert "; 0 fetched, 0 removed, olmc.lock unchanged" in workspace.vendor("--update")
    assert olmc("vendor", workspace.root, "--check").exit_code == 0
    workspace.add_subscription("wick")
    assert olmc("vendor", workspace.root, "--check").exit_code == 1
    workspace.vendor("--catalog", f"harbour={workspace.catalog}", code=1)  # no layout has the bundle of wick
    assert locked(workspace.root)[CATALOG].packages == "3 of 4"
    (workspace.root / "added.yaml").unlink()
    checked = olmc("vendor", workspace.root, "--check")
    assert checked.exit_code == 1
    assert "not needed: vendor/catalogs/harbour-" in checked.stderr
    assert ": 1 package\n" in checked.stderr
    shutil.rmtree(workspace.root / "vendor")
    (workspace.root / "olmc.lock").unlink()
    workspace.vendor("--whole-catalogs")
    workspace.vendor()
    assert state(workspace.root) == first


def test_a_later_subscription_is_not_vendored_rather_than_wrong(workspace: Workspace) -> None:
    workspace.vendor()
    workspace.add_subscription("lantern")
    for command in (["resolve"], ["check"], ["render", "-o", "name"], ["status"]):
        result = olmc(*command, workspace.root)
        assert result.exit_code != 0, command
        assert "package lantern of catalog harbour in olm is not vendored" in result.stderr + result.stdout, command
        assert "no package lantern" not in result.stderr + result.stdout, command
    result = olmc("resolve", workspace.root)
    place = "added.yaml:4:14: failure: package lantern of catalog harbour in olm is not vendored, so namespace harbour"
    assert f"{place} can't be resolved: Subscription lantern asks for it [OLMC644]\n  Run `olmc vendor`.\n" in (
        result.stderr
    )
    checked = olmc("vendor", workspace.root, "--check")
    assert (checked.exit_code, f"missing: {CATALOG}\n" in checked.stderr) == (1, True)


def test_a_misspelt_package_is_told_by_the_names_of_the_others(workspace: Workspace) -> None:
    workspace.vendor()
    workspace.add_subscription("lanterm")
    assert "the catalog harbour has no package lanterm; did you mean lantern?" in olmc("resolve", workspace.root).stderr


def test_more_is_taken_when_more_is_asked_for(workspace: Workspace) -> None:
    workspace.vendor()
    workspace.add_subscription("lantern")
    before = state(workspace.root)
    said = workspace.vendor(code=3)  # the bundles are nowhere
    assert "registry.example.com/bundles/lantern:v1.0.0 is not vendored" in said
    assert state(workspace.root) == before


def test_whole_catalogs_stay_whole_where_olmc_yaml_says_so(workspace: Workspace) -> None:
    (workspace.root / "olmc.yaml").write_text(
        "apiVersion: olmc.dev/v1alpha1\nkind: Config\nspec:\n  vendor:\n    wholeCatalogs: true\n"
    )
    workspace.vendor()
    assert len(workspace.loaded().packages) == 4
    assert olmc("vendor", workspace.root, "--check").exit_code == 0


def test_a_file_stands_for_the_image(workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of JSON, packed or not, of YAML, and a folder; the lock says where the content came from."""
    monkeypatch.chdir(tmp_path)
    documents = [
        document.value
        for path in sorted(workspace.catalog.rglob("*.yaml"))
        for document in read(path.name, path.read_text(), Report())
    ]
    stream = "".join(json.dumps(value) + "\n" for value in documents)
    (tmp_path / "catalog.json").write_text(stream)
    (tmp_path / "catalog.json.gz").write_bytes(gzip.compress(stream.encode()))
    (tmp_path / "catalog.yaml").write_text(dump(documents))
    for given in ("catalog.json", "catalog.json.gz", "catalog.yaml", "catalog", "../" + tmp_path.name + "/catalog"):
        said = workspace.vendor("--catalog", f"harbour={given}")
        assert f"fetched catalog {CATALOG} from {given} (sha256:" in said
        entry = locked(workspace.root)[CATALOG]
        assert (entry.file, entry.packages) == (given, "2 of 4")
        assert list(workspace.loaded().packages) == ["beacon", "ferry"]
        assert "Deployment/harbour/ferry-controller" in names(workspace.root)
    assert str(tmp_path) not in (workspace.root / "olmc.lock").read_text()
    assert "; 0 fetched, 0 removed, olmc.lock unchanged" in workspace.vendor()


def test_without_registry_the_catalog_is_kept_and_bundles_are_named(workspace: Workspace) -> None:
    result = olmc("vendor", workspace.root, "--offline", "--catalog", f"olm/harbour={workspace.catalog}")
    assert result.exit_code == 1
    assert "error: registry.example.com/bundles/ferry:v1.0.0 is not vendored, and --offline forbids" in result.stderr
    assert list(locked(workspace.root)) == [CATALOG]
    table = olmc("resolve", workspace.root).stdout
    assert "ferry" in table
    assert olmc("vendor", workspace.root, "--check").exit_code == 1


def test_what_came_from_a_file_is_asked_for_by_its_file(workspace: Workspace) -> None:
    workspace.vendor("--catalog", f"harbour={workspace.catalog}")
    shutil.rmtree(workspace.root / "vendor")
    before = state(workspace.root)
    said = workspace.vendor(code=3)
    assert f"the content of {CATALOG} came from catalog, and is not in vendor/ as it is needed now [OLMC645]" in said
    assert state(workspace.root) == before
    workspace.vendor("--update")
    assert locked(workspace.root)[CATALOG].file == ""


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("harbour", "", "catalog.json can't replace catalog harbour: there is no package in it [OLMC646]"),
        ("harbour", "{", "catalog.json can't replace catalog harbour: "),
        (
            "harbour",
            '{"apiVersion": "v1", "kind": "List", "items": []}',
            "catalog.json can't replace catalog harbour: ",
        ),
        ("harbour", "\x1f\x8bnothing", "catalog.json can't replace catalog harbour: "),
        ("harbor", LANTERN, "the workspace knows no CatalogSource of this name; there is harbour [OLMC646]"),
        ("redhat-operators", LANTERN, "Run `olmc init workspace --openshift RELEASE` first"),
    ],
)
def test_files_that_are_of_no_use(workspace: Workspace, tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / "catalog.json").write_text(content, encoding="latin-1")
    before = state(workspace.root)
    assert message in workspace.vendor("--catalog", f"{name}={tmp_path / 'catalog.json'}", code=3)
    assert state(workspace.root) == before
    assert not [path for path in workspace.root.rglob("*") if path.name.startswith(".olmc-")]


def test_a_file_that_is_not_there(workspace: Workspace, tmp_path: Path) -> None:
    said = workspace.vendor("--catalog", f"harbour={tmp_path / 'none.json'}", code=3)
    assert "error: none.json can't replace catalog harbour: No such file or directory [OLMC646]" in said


def test_options_that_don_t_go_together(workspace: Workspace) -> None:
    for options in (["--catalog", "harbour"], ["--catalog", "=x"], ["--check", "--catalog", "harbour=x"]):
        assert olmc("vendor", workspace.root, *options).exit_code == 2


def test_no_socket_is_opened_for_a_file(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        raise AssertionError(f"a socket is opened: {arguments} {options}")

    monkeypatch.setattr("socket.socket", refuse)
    workspace.vendor("--catalog", f"harbour={workspace.catalog}")


def test_the_graph_of_a_package_that_was_left_out(workspace: Workspace) -> None:
    workspace.vendor()
    result = olmc("graph", "lantern", workspace.root)
    assert result.exit_code != 0
    assert "lantern of catalog olm/harbour is not vendored" in result.stderr
    assert olmc("graph", "ferry", workspace.root).exit_code == 0
