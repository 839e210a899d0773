"""`olmc plan --to`: a blocked, a broken, a stranded and a clean operator, what OLM says, and what to do."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from jsonschema import Draft202012Validator

from olmc.cli.main import main
from olmc.compiler.model.cluster import NamespacedName
from olmc.compiler.olm.naming import (
    BlockingCsv,
    OpenShiftMaximum,
    blocking_message,
    maximum_of_annotations,
    maximum_of_values,
)
from olmc.resources import schema

FOLDER = Path(__file__).with_name("platform-upgrade")
OLD_HEAD = "ClusterServiceVersions blocking minor version upgrades to 4.19.0 or higher:"
NEW_HEAD = "ClusterServiceVersions blocking minor version upgrades to 4.23 or major version upgrades to 5.0:"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A copy of the workspace that a test may change, with the next catalogs beside it."""
    shutil.copytree(FOLDER, tmp_path / "all")
    return tmp_path / "all" / "cluster"


def run(workspace: Path, *options: str) -> Result:
    return CliRunner().invoke(main, ["plan", str(workspace), *options])


def planned(workspace: Path, *options: str, catalogs: bool = True) -> Any:
    """The plan as data."""
    given = ["--to-catalog", f"harbour={workspace.parent / 'next'}"] if catalogs else []
    result = run(workspace, *(options or ("--to", "ocp-4.19")), *given, "-o", "json")
    assert result.exit_code in (0, 1), result.output
    data = json.loads(result.stdout)
    assert list(Draft202012Validator(schema("platform-upgrade")).iter_errors(data)) == []
    return data


def row(data: Any, package: str) -> Any:
    return next(operator for operator in data["operators"] if operator["package"] == package)


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def beside_openshift(workspace: Path) -> None:
    """Without OpenShift's OLM its namespace of catalogs has to be named."""
    path = workspace / "olmc.yaml"
    path.write_text(f"{path.read_text(encoding='utf-8')}  globalCatalogNamespace: openshift-marketplace\n", "utf-8")


def test_each_verdict(workspace: Path) -> None:
    data = planned(workspace)
    verdicts = {operator["package"]: operator["verdict"] for operator in data["operators"]}
    assert verdicts == {"beacon": "blocked", "buoy": "clean", "lantern": "stranded", "tide": "broken"}
    assert data["from"] == {"openshift": "4.18", "kubernetes": "v1.31.0"}
    assert data["to"] == {"openshift": "4.19", "kubernetes": "v1.32.0"}


def test_message_of_olm(workspace: Path) -> None:
    """R-OCP-6, as OpenShift has shipped it."""
    line = "- maximum supported OCP version for beacon/beacon.v1.0.0 is 4.18"
    assert planned(workspace)["messages"] == [{"release": "4.19", "text": f"{OLD_HEAD}\n{line}"}]


def test_message_of_the_newest_olm(workspace: Path) -> None:
    """R-OCP-6: it names the same releases wherever the cluster stands."""
    beside_openshift(workspace)
    (message,) = planned(workspace, "--to", "ocp-4.19", "--olm-version", "0.46.0")["messages"]
    assert message["text"].splitlines()[0] == NEW_HEAD


def test_a_blocked_operator_is_upgraded_before(workspace: Path) -> None:
    step = row(planned(workspace), "beacon")["step"]
    assert step == {
        "when": "before", "channel": "stable-1.1", "csvs": ["beacon.v1.1.0"], "version": "1.1.0", "approvedOnly": False,
    }  # fmt: skip


def test_a_blocked_operator_without_a_version_that_helps(workspace: Path) -> None:
    change(workspace / "catalogs/harbour/beacon.yaml", "4.20", "4.18")
    data = planned(workspace)
    assert row(data, "beacon")["step"] is None
    assert any("beacon/beacon.v1.0.0: no version that is known" in task["text"] for task in data["tasks"])


def test_a_broken_operator_needs_an_api_that_goes(workspace: Path) -> None:
    """R-REQ-1, of which no condition speaks (R-OCP-7)."""
    tide = row(planned(workspace), "tide")
    assert [finding["verdict"] for finding in tide["findings"]] == ["broken"]
    assert "v1beta3 FlowSchema is not served any more from Kubernetes 1.32 on" in tide["findings"][0]["text"]
    assert tide["step"]["csvs"] == ["tide.v1.1.0"]


def test_a_stranded_operator_goes_on_in_another_channel_afterwards(workspace: Path) -> None:
    """observed-38."""
    lantern = row(planned(workspace), "lantern")
    assert lantern["step"]["when"] == "after"
    assert (lantern["step"]["channel"], lantern["step"]["csvs"]) == ("stable", ["lantern.v2.0.0"])


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("package: lantern", "package: torch", "has no package lantern"),
        ("name: stable", "name: alpha\nentries:\n- name: lantern.v2.0.0\n---\nschema: olm.channel\npackage: lantern\n"
         "name: other", "channel alpha of the next catalog harbour has neither lantern.v1.0.0 nor an upgrade of it"),
    ],
)  # fmt: skip
def test_a_stranded_operator(workspace: Path, old: str, new: str, text: str) -> None:
    path = workspace.parent / "next/lantern.yaml"
    if old == "package: lantern":
        path.write_text(path.read_text(encoding="utf-8").replace("lantern", "torch"), encoding="utf-8")
    else:
        change(path, old, new)
        change(path, "defaultChannel: stable", "defaultChannel: alpha")
    (finding,) = row(planned(workspace), "lantern")["findings"]
    assert text in finding["text"]


def test_catalogs_that_nobody_knows_strand_nobody(workspace: Path) -> None:
    data = planned(workspace, catalogs=False)
    assert row(data, "lantern")["verdict"] == "clean"
    assert data["unknownCatalogs"] == [{"namespace": "openshift-marketplace", "name": "harbour"}]


def test_manifests_whose_api_goes(workspace: Path) -> None:
    (lost,) = planned(workspace)["manifests"]
    assert lost["place"] == "cluster.yaml:16:13"
    assert lost["object"]["kind"] == "FlowSchema"


def test_another_kubernetes(workspace: Path) -> None:
    """Without OpenShift nothing blocks, and what breaks is the same."""
    beside_openshift(workspace)
    data = planned(workspace, "--to-kube", "1.32", "--kube-version", "1.31", "--olm-version", "0.46.0")
    verdicts = {operator["package"]: operator["verdict"] for operator in data["operators"]}
    assert verdicts["beacon"] == "stranded"
    assert verdicts["tide"] == "broken"
    assert data["messages"] == []


def test_two_releases_at_once_say_what_blocks_each(workspace: Path) -> None:
    """R-OCP-5: OLM looks at the next release alone, wherever the cluster is on its way."""
    data = planned(workspace, "--to", "ocp-4.20", catalogs=False)
    assert [message["release"] for message in data["messages"]] == ["4.19", "4.20"]


def test_min_kube_version(workspace: Path) -> None:
    """R-REQ-2: no upgrade before the move to what runs on the next release only."""
    path = workspace / "bundles/tide-1.1.0/manifests/tide.clusterserviceversion.yaml"
    change(path, "  version: 1.1.0", "  version: 1.1.0\n  minKubeVersion: 1.32.0")
    step = row(planned(workspace), "tide")["step"]
    assert (step["when"], step["csvs"]) == ("after", ["tide.v1.1.0"])


def test_removed_apis_in_bundles_and_webhooks(workspace: Path) -> None:
    bundle = workspace / "bundles/buoy-1.0.0/manifests"
    pdb = {"apiVersion": "policy/v1beta1", "kind": "PodDisruptionBudget", "metadata": {"name": "buoy"}, "spec": {}}
    (bundle / "pdb.yaml").write_text(yaml.safe_dump(pdb), encoding="utf-8")
    path = bundle / "buoy.clusterserviceversion.yaml"
    csv = yaml.safe_load(path.read_text(encoding="utf-8"))
    rule = {"apiGroups": ["batch"], "apiVersions": ["v1beta1"], "resources": ["cronjobs"], "operations": ["CREATE"]}
    csv["spec"]["webhookdefinitions"] = [{
        "type": "ValidatingAdmissionWebhook", "generateName": "jobs.example.com", "deploymentName": "buoy-controller",
        "rules": [rule], "sideEffects": "None", "admissionReviewVersions": ["v1"], "failurePolicy": "Fail",
    }]  # fmt: skip
    path.write_text(yaml.safe_dump(csv), encoding="utf-8")
    data = planned(workspace, "--to", "ocp-4.12", "--olm-version", "ocp-4.11", catalogs=False)
    texts = [finding["text"] for finding in row(data, "buoy")["findings"]]
    assert any(text.startswith("the PodDisruptionBudget buoy of its bundle: policy/v1beta1") for text in texts)
    assert any(text.startswith("its webhook jobs.example.com is not called any more") for text in texts)


def test_an_operator_that_forbids_its_upgrade(workspace: Path) -> None:
    """R-CSV-15a: what has to be upgraded first, and says that it must not be, blocks."""
    condition = {
        "apiVersion": "operators.coreos.com/v2", "kind": "OperatorCondition",
        "metadata": {"name": "tide.v1.0.0", "namespace": "tide"},
        "spec": {"conditions": [{"type": "Upgradeable", "status": "False", "message": "tide is out"}]},
    }  # fmt: skip
    (workspace / "condition.yaml").write_text(yaml.safe_dump(condition), encoding="utf-8")
    data = planned(workspace)
    assert row(data, "tide")["verdict"] == "blocked"
    assert row(data, "tide")["held"] == "tide is out"
    assert "kubectl -n tide patch operatorcondition tide.v1.0.0" in "".join(task["command"] for task in data["tasks"])


def test_what_another_needs_comes_first(workspace: Path) -> None:
    """The new version of beacon needs the new one of tide, which comes later by name."""
    value = "\n- type: olm.package.required\n  value: {packageName: tide, versionRange: '>=1.1.0'}\n"
    path = workspace / "catalogs/harbour/beacon.yaml"
    path.write_text(path.read_text(encoding="utf-8").rstrip("\n") + value, encoding="utf-8")
    upgrades = [task["text"] for task in planned(workspace)["tasks"] if task["stage"] == "before"]
    assert [text.split()[1] for text in upgrades[:1]] == ["tide"]


def test_a_clean_cluster(workspace: Path) -> None:
    for name in ("beacon", "tide", "lantern"):
        path = workspace / "operators.yaml"
        kept = [d for d in yaml.safe_load_all(path.read_text(encoding="utf-8")) if d["metadata"]["name"] != name]
        path.write_text(yaml.safe_dump_all(kept), encoding="utf-8")
    change(workspace / "cluster.yaml", "v1beta3", "v1")
    result = run(workspace, "--to", "ocp-4.19", "--to-catalog", f"harbour={workspace.parent / 'next'}")
    assert result.exit_code == 0
    assert "1 clean" in result.stdout
    assert "What to do" not in result.stdout


@pytest.mark.parametrize("output", ["text", "markdown"])
def test_outputs_name_all_operators(workspace: Path, output: str) -> None:
    result = run(workspace, "--to", "ocp-4.19", "-o", output)
    assert result.exit_code == 1
    assert OLD_HEAD in result.stdout
    assert all(name in result.stdout for name in ("beacon", "tide", "lantern", "buoy"))


@pytest.mark.parametrize(
    "options",
    [
        ("--to", "0.46.0"), ("--to", "ocp-9.9"), ("--to-kube", "later"), ("--to-catalog", "harbour=x"),
        ("--to", "ocp-4.19", "--to-catalog", "harbour"), ("--to", "ocp-4.19", "--to-catalog", f"quay={FOLDER}/next"),
    ],
)  # fmt: skip
def test_wrong_usage(workspace: Path, options: Sequence[str]) -> None:
    assert run(workspace, *options).exit_code == 2


PROPERTIES = "operatorframework.io/properties"


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ({}, OpenShiftMaximum()),
        ({PROPERTIES: '{"properties":[]}'}, OpenShiftMaximum()),
        ({PROPERTIES: '{"properties":[{"type":"olm.maxOpenShiftVersion","value":"4.18"}]}'}, OpenShiftMaximum((4, 18))),
        ({PROPERTIES: '{"properties":[{"type":"olm.maxOpenShiftVersion","value":4.10}]}'}, OpenShiftMaximum((4, 10))),
    ],
)
def test_maximum_in_annotations(annotations: dict[str, str], expected: OpenShiftMaximum) -> None:
    """R-OCP-3: the number 4.10 is not 4.1."""
    assert maximum_of_annotations(annotations) == expected


@pytest.mark.parametrize(
    ("values", "error"),
    [
        (["4.18", "4.19"], 'defining more than one "olm.maxOpenShiftVersion" property is not allowed'),
        ([""], 'value cannot be "" (an empty string)'),
        (['""'], 'value cannot be "" (an empty string)'),
        (["4.18.3"], "property olm.maxOpenShiftVersion must specify only <major>.<minor> version, got invalid value "
         "4.18.3"),
    ],
)  # fmt: skip
def test_values_that_are_errors(values: list[str], error: str) -> None:
    """R-OCP-4: and an error blocks every upgrade."""
    maximum = maximum_of_values(values)
    assert maximum.error == error
    assert maximum.blocks((4, 1))


def test_what_is_no_version_is_an_error() -> None:
    """R-OCP-4."""
    assert maximum_of_values(["soon"]).error.startswith('failed to parse "soon" as semver: ')
    assert maximum_of_annotations({PROPERTIES: "{"}).error.startswith("failed to unmarshal properties annotation: ")


@pytest.mark.parametrize(
    ("maximum", "following", "blocks"),
    [((4, 18), (4, 19), True), ((4, 19), (4, 19), False), ((4, 22), (4, 23), True), ((5, 0), (4, 23), False),
     ((4, 23), (5, 0), False), ((4, 22), (5, 0), True)],
)  # fmt: skip
def test_4_23_and_5_0_are_one_release(maximum: tuple[int, int], following: tuple[int, int], blocks: bool) -> None:
    """R-OCP-5."""
    assert OpenShiftMaximum(maximum).blocks(following) is blocks


def test_order_of_the_message() -> None:
    """R-OCP-6: errors first and in order, then the others backwards."""
    csvs = [
        BlockingCsv(NamespacedName("a", "one"), OpenShiftMaximum((4, 17))),
        BlockingCsv(NamespacedName("b", "two"), OpenShiftMaximum(error="no")),
        BlockingCsv(NamespacedName("c", "three"), OpenShiftMaximum((4, 18))),
    ]
    assert blocking_message(csvs, (4, 19), "0.46.0").splitlines() == [
        NEW_HEAD,
        "- b/two has invalid olm.maxOpenShiftVersion properties: no",
        "- maximum supported OCP version for c/three is 4.18",
        "- maximum supported OCP version for a/one is 4.17",
    ]
