"""Every era of every feature shows in the objects of a workspace (`eras.yaml`)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from building import write_workspace
from rule_cases import LOADER, differences, options

import olmc
from olmc.compiler.olm.profiles.data import canonical, eras, formats

DOCUMENT = yaml.load(Path(__file__).with_name("eras.yaml").read_text(encoding="utf-8"), LOADER)


def rows() -> Iterator[Any]:
    for feature, found in DOCUMENT["features"].items():
        for version, expected in found["eras"].items():
            yield pytest.param(found, version, expected, id=f"{feature}-{version}")


@pytest.mark.parametrize(("found", "version", "expected"), list(rows()))
def test_era(found: dict[str, Any], version: str, expected: Any, tmp_path: Path) -> None:
    """What the OLM of an era makes of the workspace; a list of expectations is one of objects."""
    write_workspace(tmp_path, DOCUMENT["workspaces"][found["workspace"]])
    chosen = options({**found.get("olmc", {}), "olm_version": version})
    # OLM's own formats are looked at here, not what else an OpenShift release sets.
    made = olmc.compile(olmc.CompileRequest(tmp_path, chosen, frozenset({"kube_version", "global_catalog_namespace"})))
    problems = list(differences({"objects": expected} if isinstance(expected, list) else expected, made))
    said = [f"{d.severity.name} {d.code} {d.message}" for d in made.diagnostics]
    if problems:
        pytest.fail("\n".join([*problems, "olmc said:", *said]), pytrace=False)


@pytest.mark.parametrize("version", ["0.17.0", "0.18.2", "0.46.0"])
def test_operators_do_not_list_copies(version: str, tmp_path: Path) -> None:
    """The copy of a CSV has no component label, so the Operator refers to the original alone."""
    write_workspace(tmp_path, DOCUMENT["workspaces"]["plain"])
    made = olmc.compile(tmp_path, olmc.Options(olm_version=version))
    objects = {str(rendered.identity): rendered.object for rendered in made.objects}
    assert "ClusterServiceVersion/one/kettle.v1.0.0" in objects
    refs = objects["Operator/kettle.ns"]["status"]["components"]["refs"]
    assert [ref["namespace"] for ref in refs if ref["kind"] == "ClusterServiceVersion"] == ["ns"]


@pytest.mark.parametrize(("version", "labels"), [("0.17.0", 2), ("0.18.2", 1)])
def test_a_label_that_a_csv_brings_along_is_copied_with_it(version: str, labels: int, tmp_path: Path) -> None:
    """Up to 0.17 a copy is the whole CSV, of which OLM's own label is no part yet."""
    write_workspace(tmp_path, DOCUMENT["workspaces"]["labelled"])
    made = olmc.compile(tmp_path, olmc.Options(olm_version=version))
    objects = {str(rendered.identity): rendered.object for rendered in made.objects}
    found = objects["ClusterServiceVersion/one/kettle.v1.0.0"]["metadata"]["labels"]
    assert len([key for key in found if not key.startswith("olm.api.")]) == labels
    assert "operators.coreos.com/kettle.ns" not in found


@pytest.mark.parametrize(
    ("secret", "kube_version", "phase"),
    [(None, "v1.24.0", "Failed"), (None, "v1.23.17", "Installing"), ("token", "v1.24.0", "Installing"),
     ("other", "v1.36.2", "Failed")],
)  # fmt: skip
def test_the_token_that_olm_finds(secret: str | None, kube_version: str, phase: str, tmp_path: Path) -> None:
    """Kubernetes makes the Secret up to 1.23; later OLM 0.28 needs one that somebody asked for, for this account."""
    workspace = DOCUMENT["workspaces"]["no-token"]
    token = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": "agent-token",
            "namespace": "ns",
            "annotations": {"kubernetes.io/service-account.name": "agent" if secret == "token" else "cook"},
        },
        "type": "kubernetes.io/service-account-token",
    }
    given = [*workspace["manifests"], *([token] if secret else ())]
    write_workspace(tmp_path, {**workspace, "manifests": given})
    made = olmc.compile(tmp_path, olmc.Options(olm_version="0.28", kube_version=kube_version))
    (plan,) = (rendered.object for rendered in made.objects if rendered.identity.kind == "InstallPlan")
    assert plan["status"]["phase"] == phase


def test_an_operator_that_runs_goes_on_without_a_token(tmp_path: Path) -> None:
    """OLM leaves a CSV that has succeeded as it is when it can't act as the account."""
    workspace = DOCUMENT["workspaces"]["no-token"]
    runs = {"name": "pot.v1.0.0", "into": ["applied"], "applied": "csv", "csv": {"status": {"phase": "Succeeded"}}}
    write_workspace(tmp_path, {**workspace, "operators": [runs]})
    made = olmc.compile(tmp_path, olmc.Options(olm_version="0.28"))
    assert {str(name): phase[0] for name, phase in made.phases.items()} == {"applied/pot.v1.0.0": "Succeeded"}


@pytest.mark.parametrize("feature", formats()["features"])
def test_no_era_is_forgotten(feature: str) -> None:
    """Some are shown at both ends, and where a cluster of that version was looked at."""
    seen = {dict(eras(canonical(version)))[feature]["since"] for version in DOCUMENT["features"][feature]["eras"]}
    assert seen == {era["since"] for era in formats()["features"][feature]["eras"]}
