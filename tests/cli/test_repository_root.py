"""The commands that answer for a whole repository at its root, on the shapes in fixtures/repos."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import jsonschema
import pytest
from commands import as_typed, clone_repository, commit_all, git, olmc, replace_text
from snapshot_files import TextFile
from syrupy.assertion import SnapshotAssertion

from olmc.compiler.load import helm

COMMANDS: dict[str, list[tuple[str, ...]]] = {
    "clusters": [("check",), ("status",), ("plan", "--from", "git:HEAD~1")],
    "library": [("check",), ("status",)],
    "flux-variables": [("check",), ("status",)],
    "pattern": [("check",), ("status",)],
}
CHANGES = {
    "clusters": ("components/beacon/base/beacon.yaml", "channel: stable", "channel: candidate"),
    "library": ("operators/global/operator.yaml", "channel: stable", "channel: fast"),
    "pattern": ("values-hub.yaml", "channel: stable", "channel: fast"),
    "flux-variables": ("clusters/home/beacon.yaml", "BEACON_CHANNEL: stable", "BEACON_CHANNEL: fast"),
}
needs_kustomize = pytest.mark.skipif(
    not (shutil.which("kustomize") or shutil.which("kubectl")), reason="needs kustomize or kubectl"
)


@pytest.fixture
def clone(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """A function that makes a clone of a fixture, with a second commit that changes something."""

    def cloned(name: str) -> Path:
        path, old, new = CHANGES[name]
        root = clone_repository(
            project / "fixtures/repos" / name, tmp_path / name, lambda root: replace_text(root / path, old, new)
        )
        monkeypatch.chdir(root)
        return root

    return cloned


@pytest.mark.process
@pytest.mark.slow
@needs_kustomize
@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_the_root_answers_for_all_entries(name: str, clone: Callable[[str], Path], snapshot: SnapshotAssertion) -> None:
    if name == "pattern" and not (shutil.which("helm") or find_spec(helm.LIBRARY)):
        pytest.skip("needs helm, or the extra olmc[helm]")
    clone(name)
    text = "".join(as_typed(*command) for command in COMMANDS[name])
    assert text == snapshot.use_extension(TextFile)
    assert "Add an OperatorGroup to namespace openshift-operators" not in text


@pytest.mark.process
@needs_kustomize
def test_the_report_lists_all_entries_by_cluster(project: Path, clone: Callable[[str], Path]) -> None:
    clone("clusters")
    data = json.loads(olmc("check", "-o", "json").stdout)
    schema = json.loads((project / "schemas/findings.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(data, schema)
    assert data["clusters"] == [
        {
            "names": ["north"],
            "entries": ["components/beacon/north", "components/kettle/north", "components/shared/north"],
        },
        {"names": ["south"], "entries": ["components/beacon/south", "components/shared/south"]},
        {"names": ["west"], "entries": ["components/beacon/west", "components/shared/west"]},
    ]


@pytest.mark.process
@needs_kustomize
def test_a_plan_for_a_repository_is_as_its_schema_has_it(project: Path, clone: Callable[[str], Path]) -> None:
    clone("clusters")
    data = json.loads(olmc("plan", "--from", "git:HEAD~1", "-o", "json").stdout)
    schema = json.loads((project / "schemas/repository-plan.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(data, schema)
    assert [each["names"] for each in data["clusters"]] == [["north", "south"]]
    assert data["unchanged"] == ["west"]


@pytest.mark.process
@pytest.mark.slow
@needs_kustomize
def test_permissions_and_reports_are_of_each_cluster(clone: Callable[[str], Path], tmp_path: Path) -> None:
    clone("clusters")
    lines = [line for line in olmc("rbac").stdout.splitlines() if line.startswith("== ")]
    assert lines == ["== north", "== south", "== west"]
    data = json.loads(olmc("rbac", "-o", "json").stdout)
    assert [each["names"] for each in data["clusters"]] == [["north"], ["south"], ["west"]]
    assert olmc("report", "-o", str(tmp_path / "site")).exit_code == 0
    assert sorted(path.parent.name for path in (tmp_path / "site").glob("*/index.html")) == ["north", "south", "west"]


@pytest.mark.process
@needs_kustomize
def test_what_status_advises_at_the_root_shows_the_same_failure(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The catalogs at the top of the repository count for `olmc resolve` and `olmc why` as well."""
    monkeypatch.chdir(tmp_path)
    root = Path("own")
    for name in ("north", "south"):
        write_entry(root / "clusters" / name)
    write_catalog(root / "catalogs" / "harbour")
    shown = olmc("status", str(root), "--no-remedies").stdout
    assert f"`olmc resolve {root}` shows the candidates" in shown
    done = olmc("resolve", str(root))
    assert (done.exit_code, done.stdout.splitlines()[0]) == (1, "== clusters/north, clusters/south")
    assert "the package beacon has no channel edge; there is stable" in done.stderr
    why = olmc("why", "beacon", str(root))
    assert (why.exit_code, why.stdout.count("the package beacon has no channel edge; there is stable")) == (1, 2)
    for name, command in (("resolution", ("resolve",)), ("why", ("why", "beacon"))):
        data = json.loads(olmc(*command, str(root), "-o", "json").stdout)
        schema = json.loads((project / f"schemas/{name}.schema.json").read_text(encoding="utf-8"))
        jsonschema.validate(data, schema)
        assert [each["names"] for each in data["clusters"]] == [["clusters/north"], ["clusters/south"]]
    unknown = olmc("why", "tide", str(root))
    assert (unknown.exit_code, "There is no CSV, package or object tide" in unknown.stderr) == (2, True)


@pytest.mark.process
@needs_kustomize
@pytest.mark.parametrize(
    ("is_accepted", "expected"), [(False, ["OLMC510"]), (True, [])], ids=["catalog", "and-settings"]
)
def test_an_entry_has_what_the_top_of_its_repository_has(
    is_accepted: bool, expected: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The catalogs and the settings at the top count for `--entry` as they do at the root."""
    monkeypatch.chdir(tmp_path)
    for name in ("north", "south"):
        write_entry(Path("clusters", name))
    write_catalog(Path("catalogs/harbour"))
    if is_accepted:
        suppress = "spec: {suppress: [{code: OLMC510, reason: the channel comes}]}"
        Path("olmc.yaml").write_text(f"apiVersion: olmc.dev/v1alpha1\nkind: Config\n{suppress}\n", encoding="utf-8")
    done = json.loads(olmc("check", "--entry", "clusters/north", "-o", "json").stdout)
    assert [each["code"] for each in done["findings"]] == expected


@pytest.mark.process
@needs_kustomize
@pytest.mark.parametrize("name", ["north", "south"])
def test_an_entry_may_leave_the_suppressions_of_others_unused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A suppression at the top, or a comment in another entry, is not in vain because this entry does not use it."""
    monkeypatch.chdir(tmp_path)
    for each in ("north", "south"):
        write_entry(Path("clusters", each))
    write_catalog(Path("catalogs/harbour"))
    suppress = "spec: {suppress: [{code: OLMC510, path: clusters/north/, reason: the channel comes}]}"
    Path("olmc.yaml").write_text(f"apiVersion: olmc.dev/v1alpha1\nkind: Config\n{suppress}\n", encoding="utf-8")
    manifest = next(Path("clusters/south").glob("*.yaml"))
    commented = f"# olmc: ignore[OLMC140] for a while\n{manifest.read_text(encoding='utf-8')}"
    manifest.write_text(commented, encoding="utf-8")
    done = json.loads(olmc("check", "--entry", f"clusters/{name}", "-o", "json").stdout)
    assert [each["code"] for each in done["findings"]] == (["OLMC510"] if name == "south" else [])


@pytest.mark.process
@needs_kustomize
def test_since_compares_an_entry_with_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the top of the repository has catalogs for it, and where it has them since then."""
    monkeypatch.chdir(tmp_path)
    for name in ("north", "south"):
        write_entry(Path("clusters", name))
    git("init", "--quiet", cwd=tmp_path)
    commit_all(tmp_path, "entries")
    write_catalog(Path("catalogs/harbour"))
    commit_all(tmp_path, "catalog")

    def new(revision: str) -> list[str]:
        done = olmc("check", "--entry", "clusters/north", "--since", revision, "-o", "json")
        return [each["code"] for each in json.loads(done.stdout)["findings"]]

    assert (new("HEAD"), new("HEAD~1")) == ([], ["OLMC510"])
    assert "2 findings known" in olmc("check", "--entry", "clusters/north", "--since", "HEAD").stdout


def write_entry(folder: Path) -> None:
    """A kustomization with a Subscription to a channel that its package does not have."""
    folder.mkdir(parents=True)
    (folder / "kustomization.yaml").write_text("resources: [beacon.yaml]\n", encoding="utf-8")
    (folder / "beacon.yaml").write_text(
        """\
apiVersion: v1
kind: Namespace
metadata: {name: harbour}
---
apiVersion: operators.coreos.com/v1
kind: OperatorGroup
metadata: {name: keepers, namespace: harbour}
---
apiVersion: operators.coreos.com/v1alpha1
kind: CatalogSource
metadata: {name: harbour, namespace: olm}
spec: {sourceType: grpc, image: "registry.example.com/harbour/catalog:v1"}
---
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: beacon, namespace: harbour}
spec: {name: beacon, channel: edge, source: harbour, sourceNamespace: olm}
""",
        encoding="utf-8",
    )


def write_catalog(folder: Path) -> None:
    """A catalog with one version of the package beacon, in channel stable."""
    folder.mkdir(parents=True)
    (folder / "catalog.yaml").write_text(
        """\
{schema: olm.package, name: beacon, defaultChannel: stable}
---
{schema: olm.channel, package: beacon, name: stable, entries: [{name: beacon.v1.0.0}]}
---
schema: olm.bundle
package: beacon
name: beacon.v1.0.0
image: registry.example.com/beacon-bundle:v1.0.0
properties:
- {type: olm.package, value: {packageName: beacon, version: 1.0.0}}
""",
        encoding="utf-8",
    )


@pytest.mark.process
@pytest.mark.slow
def test_the_way_to_the_content_of_a_catalog_is_where_olmc_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder of a repository is checked by itself, and its own catalogs/ counts."""
    monkeypatch.chdir(tmp_path)
    for name in ("kettle", "pan"):
        write_entry(Path("apps", name))
    found = olmc("check", "apps").output
    assert "[OLMC669]" in found
    place = found.partition("Put its file-based catalog into ")[2].partition("/,")[0]
    assert place == "apps/catalogs/harbour"
    Path(place).mkdir(parents=True)
    Path(place, "catalog.yaml").write_text("schema: olm.package\nname: other\n", encoding="utf-8")
    assert "OLMC669" not in olmc("check", "apps").output
