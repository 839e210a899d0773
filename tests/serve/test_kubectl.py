"""The real kubectl against `olmc serve`: what the document shows, and what else people type."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from serve_processes import Served, needs_kubectl, serving, until

from olmc.cli.main import main

pytestmark = [needs_kubectl, pytest.mark.process]

TABLE = """\
NAME                        INSTALLATION_NAMESPACE   CHANNEL             CURRENT_VERSION   TARGET_VERSION   PHASE
beacon.v0.9.4-clusterwide   operators                clusterwide-alpha   0.9.4             0.9.4            Succeeded
gauge.v0.27.0               monitoring               beta                0.27.0            0.27.0           Succeeded
"""
INSTALLED = """\
apiVersion: packages.operators.coreos.com/v2alpha1
kind: Installed
metadata:
  name: gauge.v0.27.0
"""
VERSION = "/apis/packages.operators.coreos.com/v2alpha1"
REFUSED = "the server does not allow this method on the requested resource"


@pytest.fixture(scope="module")
def served(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(project / "fixtures" / "installed", tmp_path_factory.mktemp("served")) as server:
        yield server


def test_get_prints_the_table_of_the_document_r_inst_7(served: Served) -> None:
    for name in ("installed", "installed.packages.operators.coreos.com"):
        assert served.kubectl("get", name, "-n", "default").stdout == TABLE
    nobody = served.kubectl("get", "installed", "-n", "mojave")
    assert (nobody.stdout, nobody.stderr, nobody.returncode) == ("", "No resources found in mojave namespace.\n", 0)


def test_get_in_other_formats_r_inst_1(served: Served) -> None:
    found = json.loads(served.kubectl("get", "installed", "-A", "-o", "json").stdout)
    assert [each["kind"] for each in found["items"]] == ["Installed", "Installed"]
    one = served.kubectl("get", "installed", "gauge.v0.27.0", "-o", "yaml").stdout
    assert one.startswith("apiVersion: packages.operators.coreos.com/v2alpha1\nkind: Installed\n")
    names = served.kubectl("get", "installed", "-o", "name", "--chunk-size=1").stdout.split()
    assert names == [f"installed.packages.operators.coreos.com/{each}" for each in (TABLE.split()[6], "gauge.v0.27.0")]
    assert served.kubectl("get", "installed", "-o", "wide").stdout.splitlines()[0].endswith("SUBSCRIPTION   CATALOG")
    column = served.kubectl("get", "installed", "-o", "custom-columns=P:.status.clusterServiceVersion.status.phase")
    assert column.stdout.split() == ["P", "Succeeded", "Succeeded"]


def test_olmc_and_kubectl_agree(served: Served) -> None:
    """But for the version of each object, which only a server has."""
    workspace = str(Path(__file__).resolve().parents[2] / "fixtures" / "installed")
    mine = json.loads(CliRunner().invoke(main, ["get", "installed", "-C", workspace, "-o", "json"]).stdout)
    theirs = json.loads(served.kubectl("get", "--raw", f"{VERSION}/namespaces/default/installed").stdout)
    for each in theirs["items"]:
        del each["metadata"]["resourceVersion"]
    assert mine == theirs


def test_selectors(served: Served) -> None:
    found = served.kubectl("get", "installed", "-l", "operators.coreos.com/sub in (gauge)", "-o", "name")
    assert found.stdout == "installed.packages.operators.coreos.com/gauge.v0.27.0\n"
    nothing = served.kubectl("get", "installed", "--field-selector", "metadata.name=x")
    assert nothing.stderr.startswith("No resources found")
    refused = served.kubectl("get", "packagemanifests", "--field-selector", "spec.x=1")
    assert "field label not supported: spec.x" in refused.stderr


def test_package_manifests_r_cat_809(served: Served) -> None:
    lines = served.kubectl("get", "packagemanifests", "-n", "mojave").stdout.splitlines()
    assert [line.split() for line in lines] == [
        ["NAME", "CATALOG", "AGE"], ["beacon", "Harbour", "<unknown>"], ["gauge", "Harbour", "<unknown>"],
    ]  # fmt: skip
    channel = served.kubectl("get", "packagemanifest", "beacon", "-o", "jsonpath={.status.defaultChannel}").stdout
    assert channel == "clusterwide-alpha"


def test_discovery_r_inst_1(served: Served) -> None:
    lines = [line.split() for line in served.kubectl("api-resources").stdout.splitlines()]
    assert lines[1:] == [
        ["catalogsources", "catsrc", "operators.coreos.com/v1alpha1", "true", "CatalogSource"],
        ["clusterserviceversions", "csv,csvs", "operators.coreos.com/v1alpha1", "true", "ClusterServiceVersion"],
        ["installplans", "ip", "operators.coreos.com/v1alpha1", "true", "InstallPlan"],
        ["installs", "operators.coreos.com/v2alpha1", "false", "Install"],
        ["operatorgroups", "og", "operators.coreos.com/v1", "true", "OperatorGroup"],
        ["operators", "operators.coreos.com/v1", "false", "Operator"],
        ["subscriptions", "sub,subs", "operators.coreos.com/v1alpha1", "true", "Subscription"],
        ["installed", "packages.operators.coreos.com/v2alpha1", "true", "Installed"],
        ["packagemanifests", "packages.operators.coreos.com/v1", "true", "PackageManifest"],
    ]
    versions = served.kubectl("api-versions").stdout.split()
    assert versions == [
        "operators.coreos.com/v1", "operators.coreos.com/v1alpha1", "operators.coreos.com/v2alpha1",
        "packages.operators.coreos.com/v1", "packages.operators.coreos.com/v2alpha1",
    ]  # fmt: skip
    assert json.loads(served.kubectl("version", "-o", "json").stdout)["serverVersion"]["minor"] == "36"
    assert served.kubectl("get", "--raw", "/readyz").stdout == "ok"


@pytest.mark.parametrize("name", ["csv", "sub", "ip", "og", "catsrc", "operators", "installs"])
def test_olms_own_kinds_as_olmc_prints_them(served: Served, name: str) -> None:
    """By their short names, in all namespaces or those of the cluster."""
    workspace = str(Path(__file__).resolve().parents[2] / "fixtures" / "installed")
    mine = CliRunner().invoke(main, ["get", name, "-A", "-C", workspace]).stdout
    theirs = served.kubectl("get", name, "-A")
    assert (theirs.stdout or theirs.stderr) == mine.replace("found.", "found") if name == "installs" else mine


def test_explain(served: Served) -> None:
    shown = served.kubectl("explain", "installed.status").stdout
    assert "subscription\t<Subscription>" in shown
    assert "clusterServiceVersion\t<ClusterServiceVersion> -required-" in shown
    assert "currentCSV\t<string> -required-" in served.kubectl("explain", "packagemanifests.status.channels").stdout


def test_a_create_is_refused_as_in_the_document_r_inst_8(served: Served) -> None:
    """Also after kubectl has held the manifest against the OpenAPI schema."""
    created = served.kubectl("-n", "mojave", "create", "-f", "-", given=INSTALLED)
    error = f'Error from server (MethodNotAllowed): error when creating "STDIN": {REFUSED}\n'
    assert (created.stderr, created.returncode) == (error, 1)
    wrong = served.kubectl("create", "-f", "-", given=INSTALLED + "spec: {}\n")
    assert 'unknown field "spec"' in wrong.stderr


@pytest.mark.parametrize(
    "arguments",
    [("delete", "installed", "gauge.v0.27.0"), ("label", "installed", "gauge.v0.27.0", "a=b"),
     ("patch", "installed", "gauge.v0.27.0", "--type=merge", "-p", "{}"), ("delete", "installed", "--all"),
     ("delete", "packagemanifests", "beacon")],
    ids=lambda arguments: arguments[0],
)  # fmt: skip
def test_every_write_is_refused_r_inst_8(served: Served, arguments: tuple[str, ...]) -> None:
    done = served.kubectl(*arguments)
    assert done.returncode == 1
    assert done.stderr.splitlines()[0] == f"Error from server (MethodNotAllowed): {REFUSED}"


@pytest.mark.parametrize("kind", ["installed", "packagemanifests"])
def test_what_is_served_is_valid_to_kubectl_r_inst_8(kind: str, served: Served, tmp_path: Path) -> None:
    """All that the server has, embedded CSVs with their finalizers among it, passes validation by its own OpenAPI."""
    shown = served.kubectl("get", kind, "-A", "-o", "json").stdout
    items = json.loads(shown)["items"]
    assert items
    assert kind == "packagemanifests" or '"finalizers"' in shown
    for number, item in enumerate(items):
        path = tmp_path / f"{number}.json"
        path.write_text(json.dumps(item), encoding="utf-8")
        done = served.kubectl("replace", "-f", str(path))
        assert "MethodNotAllowed" in done.stderr, done.stderr
        assert "ValidationError" not in done.stderr


def test_watching_files_change_r_inst_9(project: Path, tmp_path: Path) -> None:
    """As in the document: a row for each operator, then one for each change, and the watch ends with the server."""
    workspace = shutil.copytree(project / "fixtures" / "installed", tmp_path / "workspace")
    csv = workspace / "bundles" / "beacon-0.9.4" / "manifests" / "beacon.clusterserviceversion.yaml"
    groups = workspace / "operators.yaml"
    with serving(workspace, tmp_path) as server:
        command = ["kubectl", "get", "installed", "--watch"]
        with (tmp_path / "seen").open("wb") as seen:
            watch = subprocess.Popen(command, env=server.environment, stdout=seen)
        try:

            def lines() -> list[str]:
                return (tmp_path / "seen").read_text(encoding="utf-8").splitlines()

            until(lambda: len(lines()) == 3)
            text = csv.read_text(encoding="utf-8").replace("spec:\n", "spec:\n  minKubeVersion: 1.99.0\n", 1)
            csv.write_text(text, encoding="utf-8")
            until(lambda: len(lines()) == 4)
            (workspace / "broken.yaml").write_text("x: [{apiVersion: v1, kind: Pod},\n", encoding="utf-8")
            until(lambda: "OLMC655" in server.said())
            (workspace / "broken.yaml").unlink()
            groups.write_text("", encoding="utf-8")
            until(lambda: len(lines()) == 6)
            listed = json.loads(server.kubectl("get", "--raw", f"{VERSION}/installed").stdout)
            assert listed["metadata"]["resourceVersion"] == "clusterserviceversions:2,subscriptions:1"
            assert server.stop() == 0
            assert watch.wait(30) == 0
        finally:
            watch.kill()
        shown = [(line.partition(".")[0], line.split()[-1]) for line in lines()[1:]]
        assert shown[:3] == [("beacon", "Succeeded"), ("gauge", "Succeeded"), ("beacon", "Pending")]
        assert [name for name, _ in shown[3:]] == ["beacon", "gauge"]
        assert server.said().splitlines()[-1] == "olmc: stopped"
