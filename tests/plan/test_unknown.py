"""A catalog whose content is not in the workspace: what OLM would make of it is unknown, and no failure of it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from commands import olmc

from olmc.cli.main import main


def ran(*arguments: str | Path) -> tuple[int, dict[str, Any]]:
    result = CliRunner().invoke(main, [*map(str, arguments), "-o", "json"])
    data: dict[str, Any] = json.loads(result.stdout)
    return result.exit_code, data


@pytest.fixture
def without_content(project: Path, tmp_path: Path) -> Path:
    """A workspace that names a catalog by its image, and has nothing of it."""
    folder = tmp_path / "after"
    shutil.copytree(project / "fixtures/transitions/subscription-removed/before", folder)
    for gone in ("catalogs", "bundles"):
        shutil.rmtree(folder / gone)
    cluster = (folder / "cluster.yaml").read_text(encoding="utf-8")
    source = cluster.replace("address: fbc:harbour", "image: registry.example.com/harbour:v1")
    (folder / "cluster.yaml").write_text(source, encoding="utf-8")
    return folder


def test_what_would_be_installed_is_unknown(without_content: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    _, planned = ran("plan", without_content, "--from", tmp_path / "empty", "--allow-empty")
    (row,) = planned["operators"]
    why = "the workspace has no content of CatalogSource olm/harbour"
    assert (row["phase"], row["outcome"], row["why"]) == ("Unknown", "unknown", why)
    code, status = ran("status", without_content)
    (operator,) = status["operators"]
    assert (code, operator["reason"], operator["waits"], operator["fails"]) == (0, "Unknown", "Unknown", False)
    assert [line["text"] for line in operator["missing"]] == [
        why, "Run `olmc vendor`, or put its file-based catalog into catalogs/harbour/.",
    ]  # fmt: skip


def test_what_becomes_of_what_runs_is_unknown(project: Path, without_content: Path) -> None:
    """Nothing fails: it runs on, and nobody knows whether there is an upgrade."""
    before = project / "fixtures/transitions/subscription-removed/before"
    _, planned = ran("plan", without_content, "--from", before)
    (row,) = planned["operators"]
    assert (row["phase"], row["outcome"], row["to"]["csv"]) == ("Succeeded", "unknown", "beacon.v1.0.0")
    assert [problem["code"] for problem in planned["problems"]] == ["OLMC620"]


@pytest.mark.parametrize(("options", "code"), [((), 0), (("--fail-on", "breaking"), 0), (("--fail-on", "risk"), 1)])
def test_an_unknown_operator_is_a_risk(
    options: tuple[str, ...], code: int, without_content: Path, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    plan = ("plan", str(without_content), "--from", str(tmp_path / "empty"), "--allow-empty")
    assert olmc(*plan, *options).exit_code == code


def test_what_is_unknown_is_not_applied(without_content: Path) -> None:
    """A pruning pipeline would remove the operator."""
    done = olmc("render", str(without_content), "--for", "apply")
    assert (done.exit_code, done.stdout, "[OLMC322]" in done.stderr) == (1, "", True)


def test_another_failure_is_one(without_content: Path) -> None:
    """A second group keeps everything from being resolved, whatever the catalog has."""
    group = "apiVersion: operators.coreos.com/v1\nkind: OperatorGroup\nmetadata: {name: shore, namespace: harbour}\n"
    (without_content / "group.yaml").write_text(group, encoding="utf-8")
    _, status = ran("status", without_content)
    (operator,) = status["operators"]
    assert (operator["reason"], operator["fails"]) == ("TooManyOperatorGroups", True)


def test_the_way_out_of_unknown_content_is_named(without_content: Path) -> None:
    """`why` calls the operator unknown, not failing, and `why` and `fix` name the way to the content."""
    code, answered = ran("why", "Subscription/harbour/beacon", without_content)
    (answer,) = answered["answers"]
    assert (code, answer["state"]) == (0, "unknown")
    assert any("Run `olmc vendor`" in line["text"] for line in answer["because"])
    done = olmc("fix", "--dry-run", str(without_content))
    assert (done.exit_code, "\n  Run `olmc vendor`" in done.stderr) == (1, True)


def test_a_diff_between_unknown_sides_does_not_promise_safety(without_content: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(without_content, other)
    path = other / "operators.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("channel: stable", "channel: fast"), encoding="utf-8")
    done = olmc("diff", str(without_content), str(other))
    assert "1 operator is unknown; no risk in the rest (1 change)" in " ".join(done.stdout.split())
    assert "harbour/beacon is unknown: the content of CatalogSource olm/harbour is not vendored" in done.stderr


def test_an_unknown_operator_of_a_fleet_does_not_fail(without_content: Path) -> None:
    done = olmc("fleet", "status", str(without_content), "--jobs", "1", "--no-cache")
    assert (done.exit_code, done.stdout.splitlines()[0]) == (0, "1 cluster, 1 outcome: 1 with warnings")
    assert "1 of 1 operator is unknown" in done.stdout
    assert "failing" not in done.stdout


OTHER = """\
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: NAME, namespace: NAME}
spec: {name: NAME, channel: CHANNEL, source: harbour, sourceNamespace: olm}
---
apiVersion: operators.coreos.com/v1
kind: OperatorGroup
metadata: {name: all, namespace: NAME}
"""
CATALOG = """\
apiVersion: operators.coreos.com/v1alpha1
kind: CatalogSource
metadata: {name: harbour, namespace: olm}
spec: {sourceType: grpc, image: "registry.example.com/harbour:TAG"}
"""


def _two(folder: Path, channel: str, tag: str, extra: str = "") -> Path:
    folder.mkdir()
    for name, text in (("tide", channel), ("buoy", "stable")):
        (folder / f"{name}.yaml").write_text(OTHER.replace("NAME", name).replace("CHANNEL", text), encoding="utf-8")
    (folder / "catalog.yaml").write_text(CATALOG.replace("TAG", tag) + extra, encoding="utf-8")
    return folder


CONFIG = '---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: tides, namespace: harbour}\ndata: {a: "1"}\n'


@pytest.mark.parametrize(
    ("channel", "tag", "extra", "decision", "rows"),
    [
        ("fast", "v1", "", "1 operator is unknown", ["tide"]),
        ("stable", "v2", "", "2 operators are unknown", ["buoy", "tide"]),
        ("stable", "v1", CONFIG, "2 operators are unknown as before", []),
        ("stable", "v1", "", "nothing happens; 2 operators are unknown as before", []),
    ],
    ids=["one", "all", "none", "nothing"],
)
def test_a_plan_lists_the_unknown_operators_that_the_change_touches(
    tmp_path: Path, channel: str, tag: str, extra: str, decision: str, rows: list[str]
) -> None:
    before, after = _two(tmp_path / "before", "stable", "v1"), _two(tmp_path / "after", channel, tag, extra)
    printed = CliRunner().invoke(main, ["plan", str(after), "--from", str(before)]).stdout
    assert decision in printed.splitlines()[0]
    listed = [line.split()[1] for line in printed.splitlines() if line.endswith("Unknown  unknown")]
    assert listed == rows
    markdown = CliRunner().invoke(main, ["plan", str(after), "--from", str(before), "-o", "markdown"]).stdout
    assert [name for name in ("buoy", "tide") if f"| {name} |" in markdown.replace("`", "")] == rows
    _, data = ran("plan", after, "--from", before)
    assert [row["outcome"] for row in data["operators"]] == ["unknown", "unknown"]


def test_an_operator_whose_content_the_change_removes_was_known_before(without_content: Path, tmp_path: Path) -> None:
    """Its manifests are the same on both sides; the content of its catalog is there on the old side alone."""
    before = tmp_path / "before"
    shutil.copytree(without_content, before)
    fixture = Path(__file__).parents[2] / "fixtures/transitions/subscription-removed/before"
    for name in ("catalogs", "bundles"):
        shutil.copytree(fixture / name, before / name)
    printed = CliRunner().invoke(main, ["plan", str(without_content), "--from", str(before)]).stdout
    assert "nothing: the manifests are the same" in printed
    assert "as before" not in printed
    assert any(line.split()[:3] == ["harbour", "beacon", "1.0.0"] for line in printed.splitlines())


TEMPLATE = """\
schema: olm.template.basic
entries:
- {schema: olm.package, name: beacon, defaultChannel: stable}
- {schema: olm.channel, package: beacon, name: stable, entries: [{name: beacon.v1.0.0}]}
- {schema: olm.bundle, image: "registry.example.com/beacon:v1"}
"""


@pytest.fixture(params=["an image", "an address"])
def template_alone(request: pytest.FixtureRequest, without_content: Path) -> Path:
    """A workspace with the template of a catalog, and without the bundles that it names."""
    if request.param == "an address":
        cluster = (without_content / "cluster.yaml").read_text(encoding="utf-8")
        source = cluster.replace("image: registry.example.com/harbour:v1", "address: fbc:harbour")
        (without_content / "cluster.yaml").write_text(source, encoding="utf-8")
    (without_content / "catalogs/harbour").mkdir(parents=True)
    (without_content / "catalogs/harbour/template.yaml").write_text(TEMPLATE, encoding="utf-8")
    return without_content


def test_what_a_template_without_its_bundles_installs_is_unknown(template_alone: Path, tmp_path: Path) -> None:
    """A pipeline has the bundles, so nothing fails."""
    code, checked = ran("check", template_alone)
    assert (code, [each["code"] for each in checked["findings"]]) == (0, ["OLMC246"])
    code, status = ran("status", template_alone)
    (operator,) = status["operators"]
    assert (code, operator["reason"], operator["fails"]) == (0, "Unknown", False)
    why = "the workspace lacks bundles of the template of CatalogSource olm/harbour"
    assert [line["text"] for line in operator["missing"]][:1] == [why]
    assert "unknown" in olmc("resolve", template_alone).stdout
    (tmp_path / "empty").mkdir()
    code, planned = ran("plan", template_alone, "--from", tmp_path / "empty", "--allow-empty")
    (row,) = planned["operators"]
    assert (code, row["outcome"], row["why"]) == (0, "unknown", why)


def test_a_template_with_a_mistake_besides_fails(template_alone: Path) -> None:
    (template_alone / "catalogs/harbour/more.yaml").write_text("schema: olm.package\nname: 1\n", encoding="utf-8")
    code, checked = ran("check", template_alone)
    assert (code, "OLMC511" in [each["code"] for each in checked["findings"]]) == (1, True)


def test_a_cluster_extension_from_a_template_without_its_bundles_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "catalogs/harbour").mkdir(parents=True)
    (tmp_path / "catalogs/harbour/template.yaml").write_text(TEMPLATE, encoding="utf-8")
    (tmp_path / "cluster.yaml").write_text(
        """\
apiVersion: v1
kind: Namespace
metadata: {name: harbour}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: installer, namespace: harbour}
---
apiVersion: olm.operatorframework.io/v1
kind: ClusterCatalog
metadata: {name: harbour}
spec: {source: {type: Image, image: {ref: "registry.example.com/harbour:v1"}}}
---
apiVersion: olm.operatorframework.io/v1
kind: ClusterExtension
metadata: {name: beacon}
spec:
  namespace: harbour
  serviceAccount: {name: installer}
  source: {sourceType: Catalog, catalog: {packageName: beacon}}
""",
        encoding="utf-8",
    )
    _, status = ran("status", tmp_path)
    (operator,) = status["operators"]
    assert (operator["reason"], operator["fails"]) == ("Unknown", False)
