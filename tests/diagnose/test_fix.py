"""`olmc fix`: what it changes cures the diagnosis, compiled again; everything else stays as it is."""

from __future__ import annotations

import json
import shutil
import statistics
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import olmc
from olmc.cli.main import main
from olmc.compiler.api import Compilation
from olmc.compiler.load.request import CompileRequest
from olmc.k8s.diagnostics import Source
from olmc.k8s.yaml.edit import EditError
from olmc.review.diagnose import remedies
from olmc.review.diagnose.diagnosis import FieldEdit, RemedyCandidate
from olmc.review.diagnose.engine import diagnose, scene_of
from olmc.review.diagnose.remedies import applicable, search
from olmc.targets.pipeline import compile

FIXTURE = Path(__file__).resolve().parents[2] / "fixtures" / "own-namespace"


def fix(root: Path, *options: str) -> Result:
    """The command, in this process."""
    result = CliRunner().invoke(main, ["fix", *options, str(root)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    return result


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return Path(shutil.copytree(FIXTURE, tmp_path / "workspace"))


def changed(root: Path, old: str, new: str) -> None:
    """Change a text that stands once in the YAML files of a workspace."""
    (path,) = [path for path in root.glob("*.yaml") if old in path.read_text(encoding="utf-8")]
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")


def phases(root: Path) -> list[str]:
    """The phases of all CSVs, compiled again."""
    return [phase for phase, _ in olmc.compile(root).phases.values()]


def test_nothing_to_fix(workspace: Path) -> None:
    assert fix(workspace).exit_code == 0


def test_a_channel_is_set_to_one_that_there_is(workspace: Path) -> None:
    changed(workspace, "channel: stable", "channel: stabel  # the one of production")
    assert phases(workspace) == []
    result = fix(workspace)
    assert (result.exit_code, "Set spec.channel: stable" in result.output) == (0, True), result.output
    assert phases(workspace) == ["Succeeded"]
    text = "".join(path.read_text(encoding="utf-8") for path in workspace.glob("*.yaml"))
    assert "channel: stable  # the one of production" in text


def test_a_dry_run_writes_nothing(workspace: Path) -> None:
    changed(workspace, "channel: stable", "channel: stabel")
    before = {path: path.read_bytes() for path in workspace.rglob("*") if path.is_file()}
    result = fix(workspace, "--dry-run")
    assert "+  channel: stable" in result.output
    assert {path: path.read_bytes() for path in workspace.rglob("*") if path.is_file()} == before


def test_a_catalog_in_another_namespace(workspace: Path) -> None:
    changed(workspace, "sourceNamespace: olm", "sourceNamespace: catalogs")
    assert fix(workspace).exit_code == 0
    assert phases(workspace) == ["Succeeded"]


def test_changes_are_applied_together_if_all_still_help(workspace: Path) -> None:
    changed(workspace, "channel: stable", "channel: stabel")
    request = CompileRequest(workspace)
    done = olmc.compile(workspace)
    found = diagnose(scene_of(done))
    tried = search(request, done, found)
    (remedy,) = tried.proven()
    again = remedy._replace(candidate=remedy.candidate._replace(text="the same once more"))
    assert applicable(request, done, found, (remedy, again)) == (remedy, again)
    (csv,) = (bundle.csv.source for bundle in (done.workspace.bundles.values() if done.workspace else ()))
    edit = FieldEdit(csv, ("spec", "install", "strategy"), "other")
    harmful = remedy._replace(candidate=RemedyCandidate("break it", (edit,)))
    assert applicable(request, done, found, (remedy, harmful)) == (remedy,)


def test_a_file_behind_a_link_is_left_alone(workspace: Path) -> None:
    """An absolute link in the copy of a workspace leads to the workspace itself."""
    changed(workspace, "channel: stable", "channel: stabel")
    (path,) = [path for path in workspace.glob("*.yaml") if "stabel" in path.read_text(encoding="utf-8")]
    hidden = workspace / "files" / path.name
    hidden.parent.mkdir()
    path.rename(hidden)
    (workspace / ".olmcignore").write_text("/files/\n", encoding="utf-8")
    path.symlink_to(hidden)
    before = hidden.stat().st_mtime_ns
    result = fix(workspace)
    assert (result.exit_code, "does not help" in result.output) == (1, False)
    assert hidden.stat().st_mtime_ns == before  # it was not even written for a trial
    assert path.is_symlink()


def test_select_leaves_other_diagnoses_alone(workspace: Path) -> None:
    changed(workspace, "channel: stable", "channel: stabel")
    assert fix(workspace, "--select", "OLMC301").exit_code == 0
    assert phases(workspace) == []


def test_a_secret_that_nothing_creates_is_diagnosed(workspace: Path) -> None:
    (csv,) = workspace.glob("bundles/*/manifests/*clusterserviceversion.yaml")
    text = csv.read_text(encoding="utf-8")
    mounted = text.replace(
        "containers:\n", "volumes: [{name: token, secret: {secretName: beacon-token}}]\n__containers:\n", 1
    )
    indent = text[: text.index("containers:\n")].rpartition("\n")[2]
    mounted = mounted.replace("__containers:\n", f"{indent}containers:\n")
    first = mounted.index("- name:", mounted.index("containers:\n"))
    line = mounted[mounted.rindex("\n", 0, first) + 1 : first]
    end = mounted.index("\n", first) + 1
    csv.write_text(
        f"{mounted[:end]}{line}  volumeMounts: [{{name: token, mountPath: /token}}]\n{mounted[end:]}", encoding="utf-8"
    )
    found = [each.finding for each in diagnose(scene_of(olmc.compile(workspace)))]
    assert [finding.code for finding in found] == ["OLMC810"], found
    assert "Secret beacon-token" in found[0].message
    secret = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: beacon-token, namespace: harbour}\n"
    with (workspace / "cluster.yaml").open("a", encoding="utf-8") as file:
        file.write(secret)
    assert diagnose(scene_of(olmc.compile(workspace))) == ()


def test_a_version_gets_its_quotes(workspace: Path) -> None:
    """YAML reads 4.20 as a number; both the bundle and the catalog have it, each with an edit of its own."""
    (metadata,) = workspace.glob("bundles/*/metadata")
    maximum = "- type: olm.maxOpenShiftVersion\n  value: {}  # the newest that we test\n"
    properties, catalog = metadata / "properties.yaml", workspace / "catalogs/harbour/catalog.yaml"
    properties.write_text("properties:\n" + maximum.format("4.20"), encoding="utf-8")
    text = catalog.read_text(encoding="utf-8")
    assert text.count("\nproperties:\n") == 1
    catalog.write_text(text.replace("\nproperties:\n", "\nproperties:\n" + maximum.format("4.20")), encoding="utf-8")
    found = diagnose(scene_of(olmc.compile(workspace)))
    assert [each.finding.code for each in found] == ["OLMC815", "OLMC815"]
    result = fix(workspace)
    assert result.exit_code == 0
    assert "bundle beacon.v1.0.0 changes: a cluster gets the change when you publish its image again." in result.output
    for path in (properties, catalog):
        assert maximum.format("'4.20'") in path.read_text(encoding="utf-8").replace('"', "'")


@pytest.mark.parametrize("value", ["4.2", "'4.20'", "4.19"])
def test_a_version_that_reads_as_it_is_written_is_fine(value: str, workspace: Path) -> None:
    (metadata,) = workspace.glob("bundles/*/metadata")
    (metadata / "properties.yaml").write_text(
        f"properties: [{{type: olm.maxOpenShiftVersion, value: {value}}}]\n", encoding="utf-8"
    )
    assert diagnose(scene_of(olmc.compile(workspace))) == ()


def test_a_bundle_alone_is_checked_for_its_quotes(workspace: Path) -> None:
    (metadata,) = workspace.glob("bundles/*/metadata")
    properties = metadata / "properties.yaml"
    properties.write_text("properties: [{type: olm.maxOpenShiftVersion, value: 4.10}]\n", encoding="utf-8")
    found = [each for each in olmc.check(metadata.parent).diagnostics if each.code == "OLMC815"]
    assert [str(each.location) for each in found] == ["metadata/properties.yaml:1:53"]


@pytest.mark.parametrize(("version", "phase"), [("0.18.3", []), ("0.19.0", ["Succeeded"])])
def test_files_that_fit_only_when_they_are_compressed(version: str, phase: list[str], workspace: Path) -> None:
    (manifests,) = workspace.glob("bundles/*/manifests")
    for number in range(2):
        page = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: page-{number}}}\ndata: {{text: {'a' * 600_000}}}\n"
        (manifests / f"page-{number}.yaml").write_text(page, encoding="utf-8")
    done = olmc.compile(workspace, olm_version=version)
    assert [each for each, _ in done.phases.values()] == phase
    assert ["OLMC309" in {each.code for each in done.diagnostics}] == [not phase]


def test_a_version_that_the_channel_lacks(workspace: Path) -> None:
    changed(workspace, "  channel: stable", "  channel: stable\n  startingCSV: beacon.v0.9.0")
    result = fix(workspace)
    assert "Set spec.startingCSV: beacon.v1.0.0" in result.output
    assert phases(workspace) == ["Succeeded"]


def test_a_catalog_that_the_namespace_does_not_see(workspace: Path) -> None:
    """The CatalogSource moves to where all see it, and the Subscription follows."""
    changed(workspace, "sourceNamespace: olm", "sourceNamespace: store")
    changed(workspace, "  name: harbour\n  namespace: olm", "  name: harbour\n  namespace: store")
    result = fix(workspace)
    assert "Move CatalogSource harbour to namespace olm" in result.output
    assert phases(workspace) == ["Succeeded"]


def test_a_failure_without_a_diagnosis_is_reported(workspace: Path) -> None:
    changed(workspace, "source: harbour", "source: elsewhere")
    result = fix(workspace)
    assert (result.exit_code, "not fixed: " in result.output) == (1, True)


def test_a_bystander_names_the_subscription_that_blocks_it(workspace: Path) -> None:
    other = (
        "---\napiVersion: operators.coreos.com/v1alpha1\nkind: Subscription\n"
        "metadata: {name: other, namespace: harbour}\n"
        "spec: {name: beakon, source: harbour, sourceNamespace: olm}\n"
    )
    with (workspace / "operators.yaml").open("a", encoding="utf-8") as file:
        file.write(other)
    (found,) = diagnose(scene_of(olmc.compile(workspace)))
    assert found.culprit == ("harbour", "beakon")
    assert ("harbour", "beacon") in found.operators
    assert found.finding.message.endswith("it has beacon; beacon is not installed until then")


def test_two_mistakes_of_a_namespace_are_cured_together(workspace: Path) -> None:
    """Neither change helps alone, and each row of status shows its own mistake."""
    changed(workspace, "channel: stable", "channel: stabel")
    with (workspace / "operators.yaml").open("a", encoding="utf-8") as file:
        file.write(
            "---\napiVersion: operators.coreos.com/v1alpha1\nkind: Subscription\n"
            "metadata: {name: other, namespace: harbour}\nspec: {name: beakon, source: harbour, sourceNamespace: olm}\n"
        )
    done = olmc.compile(workspace)
    rows = CliRunner().invoke(main, ["status", str(workspace), "--no-remedies"]).output
    assert "has no channel stabel" in rows
    assert "Subscription harbour/other asks for name beakon" in rows
    tried = search(CompileRequest(workspace), done, diagnose(scene_of(done))).tried
    assert [remedy.candidate.text for remedy in tried][-1].count("; ") == 1
    assert len(tried) <= remedies.MOST_TRIALS


def test_a_default_catalog_of_a_platform_is_no_slip(workspace: Path) -> None:
    changed(workspace, "source: harbour", "source: operatorhubio-catalog")
    assert diagnose(scene_of(olmc.compile(workspace))) == ()


def test_a_misspelt_catalog(workspace: Path) -> None:
    changed(workspace, "source: harbour", "source: harbor")
    assert fix(workspace).exit_code == 0
    assert phases(workspace) == ["Succeeded"]


@pytest.mark.parametrize(
    ("right", "wrong", "cure"),
    [
        ("kind: OperatorGroup", "kind: OperatorGrop", "Set kind: OperatorGroup in "),
        ("kind: Subscription", "kind: subscription", "Set kind: Subscription in "),
        ("operators.coreos.com/v1\nkind: OperatorGroup", "operators.coreos.com/v1alpha1\nkind: OperatorGroup",
         "Set apiVersion: operators.coreos.com/"),
    ],
    ids=["group", "subscription", "version"],
)  # fmt: skip
def test_a_misspelt_kind_is_corrected(workspace: Path, right: str, wrong: str, cure: str) -> None:
    """A group in the place of the misspelt one would be the second one as soon as the kind is right."""
    changed(workspace, right, wrong)
    files = sorted(workspace.rglob("*"))
    result = fix(workspace)
    assert (result.exit_code, cure in result.output) == (0, True), result.output
    assert sorted(workspace.rglob("*")) == files
    assert phases(workspace) == ["Succeeded"]


def test_a_refused_group_gets_no_second_one_beside_it(workspace: Path) -> None:
    changed(workspace, "  - harbour\n", "  - harbour\n  - harbour\n")
    result = fix(workspace)
    assert (result.exit_code, "fixed: Add" in result.output) == (0, False)
    assert "Remove spec.targetNamespaces[1], which is there twice" in result.output
    assert phases(workspace) == ["Succeeded"]


def test_check_offers_the_change_for_the_cluster_as_it_is(project: Path, tmp_path: Path) -> None:
    """`check --from` has the diagnosis of a change, and its fix; `--no-remedies` tries none."""
    case = Path(shutil.copytree(project / "fixtures/transitions/subscription-renamed", tmp_path / "case"))
    arguments = ["check", str(case / "after"), "--from", str(case / "before"), "-o", "json"]
    for more, titles in (([], ["Call the Subscription beacon again"]), (["--no-remedies"], [])):
        report = json.loads(CliRunner().invoke(main, [*arguments, *more]).output)
        assert [each["fix"]["title"] for each in report["findings"] if "fix" in each] == titles


def test_sarif_has_the_lines_to_replace(workspace: Path) -> None:
    changed(workspace, "channel: stable", "channel: stabel")
    log = json.loads(CliRunner().invoke(main, ["check", str(workspace), "-o", "sarif"]).output)
    (fixed,) = [fix for result in log["runs"][0]["results"] for fix in result.get("fixes", ())]
    assert fixed["description"]["text"] == "Set spec.channel: stable in Subscription harbour/beacon"
    ((replacement,),) = [change["replacements"] for change in fixed["artifactChanges"]]
    assert replacement["insertedContent"] == {"text": "  channel: stable\n"}
    assert replacement["deletedRegion"]["endLine"] == replacement["deletedRegion"]["startLine"] + 1


def test_the_search_compiles_little(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A workspace without a diagnosis is compiled once; a mistake with one candidate costs one compilation more."""
    compiled = []
    real = compile

    def counting(request: CompileRequest) -> Compilation:
        compiled.append(request)
        return real(request)

    monkeypatch.setattr("olmc.review.diagnose.remedies.compile", counting)
    for old, new, most in (("channel: stable", "channel: stable", 0), ("channel: stable", "channel: stabel", 1)):
        changed(workspace, old, new)
        CliRunner().invoke(main, ["check", str(workspace)])
        assert len(compiled) == most


@pytest.mark.recorded
def test_the_search_costs_at_most_twice_a_compilation(shared: Path) -> None:
    """The median over the recordings that end in a failure, counted in compilations: with remedies a workspace costs at
    most three times as much as without."""
    tried = []
    for root in sorted(shared.glob("conformance/cases/synthetic/*/input")):
        done = olmc.compile(root)
        if done.findings and not done.failed:
            tried.append(len(search(CompileRequest(root), done, diagnose(scene_of(done))).tried))
    assert statistics.median(tried) <= 2
    assert max(tried) <= remedies.MOST_TRIALS


def test_what_olmc_vendor_fetched_stays(tmp_path: Path) -> None:
    """The digest of a published image is in olmc.lock: a change of its copy would change no cluster."""
    (tmp_path / "vendor").mkdir()
    text = "apiVersion: v1\nkind: Service\nmetadata:\n  name: quay\n"
    (tmp_path / "vendor/service.yaml").write_text(text, encoding="utf-8")
    edit = FieldEdit(Source("vendor/service.yaml", text, 0), ("metadata", "name"), "pier")
    with pytest.raises(EditError, match=r"digest is in olmc\.lock"):
        remedies.changes_of(tmp_path, [edit])


@pytest.mark.parametrize(("package", "code"), [("beakon", 0), ("windlass", 1)])
def test_a_namespace_without_a_group_may_have_another_mistake(workspace: Path, package: str, code: int) -> None:
    """What is not enough by itself is no change that does not help; the advice is to make it."""
    changed(workspace, "  name: beacon\n  source", f"  name: {package}\n  source")
    changed(workspace, "kind: OperatorGroup", "kind: ConfigMap")
    changed(workspace, "apiVersion: operators.coreos.com/v1\n", "apiVersion: v1\n")
    result = fix(workspace)
    assert (result.exit_code, "does not help: Add an OperatorGroup" in result.output) == (code, False)
    if code:
        assert "not enough: Add an OperatorGroup for namespace harbour" in result.output
        assert "; then Subscription harbour/beacon asks for name windlass" in result.output
