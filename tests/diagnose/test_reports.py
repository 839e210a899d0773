"""Problems that people reported: each proven remedy cures its case, compiled again from the changed files."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

import olmc
from olmc.cli.main import main
from olmc.compiler.load.request import CompileRequest
from olmc.review.diagnose.engine import diagnose, scene_of
from olmc.review.diagnose.remedies import search
from olmc.targets.pipeline import compile

CURED = {
    "catalog-namespace-of-openshift": "Set spec.sourceNamespace: olm",
    "cr-in-the-same-argocd-application": "Annotate Pipe pipes/main",
    "no-operatorgroup": "Add an OperatorGroup",
    "upgrade-drops-install-mode": "Remove spec.targetNamespaces",
    "v1-pin-outside-channel": "Remove spec.source.catalog.version",
}


@pytest.mark.recorded
@pytest.mark.slow
@pytest.mark.parametrize("name", CURED)
def test_a_proven_remedy_cures(name: str, tmp_path: Path, shared: Path) -> None:
    case = shared / "reports" / name
    source = next(folder for folder in (case / "input", case / "after") if folder.is_dir())
    root = Path(shutil.copytree(source, tmp_path / "case"))
    request = CompileRequest(root)
    done = compile(request)
    (remedy, *_) = search(request, done, diagnose(scene_of(done))).proven()
    assert remedy.candidate.text.startswith(CURED[name])
    for change in remedy.changes:
        (root / change.path).write_text(change.after, encoding="utf-8")
    after = olmc.compile(root)
    assert not after.failed
    assert not after.findings


RECORDED = {
    "cases/synthetic/09-og-selector-no-match": "Remove spec.selector",
    "cases/synthetic/14-og-two-in-namespace": "Remove OperatorGroup",
    "cases/synthetic/21-modes-unsupported": "",
    "cases/synthetic/72-install-starting-missing": "Set spec.startingCSV",
    "cases/synthetic/93-text-unquoted-yes": "Write",
    "transitions/05-second-operatorgroup": "Remove OperatorGroup",
    "transitions/06-operatorgroup-removed": "Add an OperatorGroup",
    "transitions/07e-group-to-unsupported": "",
    "transitions/13c-channel-switched-missing": "Set spec.channel",
}
"""Recordings that end in a failure which an edit of the workspace cures, and the beginning of that edit."""


@pytest.mark.recorded
@pytest.mark.parametrize("name", RECORDED)
def test_what_fails_in_a_recording_is_fixed(name: str, tmp_path: Path, shared: Path) -> None:
    case = shared / "conformance" / name
    source = next(folder for folder in (case / "input", case / "after") if folder.is_dir())
    root = Path(shutil.copytree(source, tmp_path / "case"))
    assert olmc.compile(root).findings
    result = CliRunner().invoke(main, ["fix", str(root)])
    assert f"fixed: {RECORDED[name]}" in result.output
    after = olmc.compile(root)
    assert (after.failed, after.findings) == (False, False), result.output


@pytest.mark.parametrize(("name", "code"), [("", "OLMC126"), ("  name: 5\n", "OLMC160")])
def test_a_csv_without_a_name_belongs_to_no_package(name: str, code: str, tmp_path: Path, project: Path) -> None:
    """No bundle has the name of such a CSV, and the diagnoses of upgrade edges bear that."""
    root = Path(shutil.copytree(project / "fixtures/upgrade", tmp_path / "case"))
    path = min(root.rglob("*.clusterserviceversion.yaml"))
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    place = next(number for number, line in enumerate(lines) if line.startswith("  name: "))
    path.write_text("".join((*lines[:place], name, *lines[place + 1 :])), encoding="utf-8")
    done = compile(CompileRequest(root))
    diagnose(scene_of(done))
    assert code in {each.code for each in done.diagnostics}
