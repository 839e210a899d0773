"""`olmc get`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from commands import BROKEN, olmc
from scenarios import write

from olmc.k8s.diagnostics import Report
from olmc.k8s.yaml import read

TABLE = """\
NAME                        INSTALLATION_NAMESPACE   CHANNEL             CURRENT_VERSION   TARGET_VERSION   PHASE
beacon.v0.9.4-clusterwide   operators                clusterwide-alpha   0.9.4             0.9.4            Succeeded
gauge.v0.27.0               monitoring               beta                0.27.0            0.27.0           Succeeded
"""


@pytest.mark.parametrize("name", ["installed", "Installed", "installed.packages.operators.coreos.com"])
def test_the_table_of_the_document_r_inst_7(name: str) -> None:
    result = olmc("get", name, "-C", "installed")
    assert (result.stdout, result.stderr, result.exit_code) == (TABLE, "", 0)


def test_a_namespace_that_nobody_watches_r_inst_7() -> None:
    """The line of the document is data; where there is something is talk."""
    result = olmc("get", "installed", "-C", "installed", "-n", "mojave")
    assert (result.stdout, result.exit_code) == ("No resources found.\n", 0)
    assert result.stderr == "olmc: there are some in default; choose with -n, or take all with -A\n"
    assert olmc("get", "installed", "-C", "requirements-not-met", "-n", "kube-system").exit_code == 1
    with_nothing = olmc("get", "packagemanifests", "-C", "unsupported-mode", "-A")
    assert with_nothing.stdout == "No resources found.\n"
    assert "there are some" not in with_nothing.stderr


@pytest.mark.parametrize("options", [("-A",), ("-n", "harbour")])
def test_a_plan_that_waits_is_mentioned(options: tuple[str, ...]) -> None:
    """Nothing is installed, and what would be is said on stderr, where it is about the namespace."""
    result = olmc("get", "installed", "-C", "manual-approval", *options)
    assert (result.stdout, result.exit_code) == ("No resources found.\n", 0)
    assert result.stderr == (
        "info: the InstallPlan for beacon.v1.0.0 in namespace harbour waits for approval and is not carried out "
        "[OLMC312]\n  Use --approve harbour/beacon.v1.0.0 to see what approving it would do.\n"
    )
    assert "waits" not in olmc("get", "installed", "-C", "manual-approval", "-n", "default").stderr
    assert "waits" not in olmc("get", "packagemanifests", "-C", "manual-approval", *options).stderr


def test_olms_own_kinds() -> None:
    """By any name that kubectl takes; what belongs to the cluster has no namespace."""
    csvs = olmc("get", "csv", "-C", "installed", "-n", "operators").stdout
    assert csvs == (
        "NAME                        DISPLAY   VERSION   REPLACES   PHASE\n"
        "beacon.v0.9.4-clusterwide   Beacon    0.9.4     <none>     Succeeded\n"
    )
    for name in ("ClusterServiceVersions", "csvs", "clusterserviceversion.v1alpha1.operators.coreos.com"):
        assert olmc("get", name, "-C", "installed", "-n", "operators").stdout == csvs
    operators = olmc("get", "operators", "-C", "operator-v2alpha1", "--approve-installs")
    assert [line.split() for line in operators.stdout.splitlines()] == [
        ["NAME", "PACKAGE", "CHANNEL", "VERSION", "CONDITIONS"], ["ferry", "ferry", "stable", "1.0.0", "<none>"],
    ]  # fmt: skip
    install = olmc("get", "install", "ferry.v1.0.0", "-C", "operator-v2alpha1", "-o", "name")
    assert install.stdout == "install.operators.coreos.com/ferry.v1.0.0\n"


def test_a_resource_that_there_is_not() -> None:
    result = olmc("get", "subscrption", "-C", "installed")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "there is no resource subscrption. Did you mean subscriptions?" in " ".join(result.stderr.split())


def test_all_namespaces_are_in_front() -> None:
    lines = olmc("get", "installed", "-C", "all-namespaces", "-A").stdout.splitlines()
    assert lines[0].split() == ["NAMESPACE", *TABLE.splitlines()[0].split()]
    assert [line.split()[0] for line in lines[1:]][:2] == ["default", "harbour"]


def test_wide_has_more_columns() -> None:
    lines = olmc("get", "installed", "-C", "installed", "-o", "wide").stdout.splitlines()
    assert lines[0].split()[-3:] == ["REASON", "SUBSCRIPTION", "CATALOG"]
    assert lines[1].split()[-3:] == ["InstallSucceeded", "beacon", "olm/harbour"]


def test_lists_and_objects_as_yaml_and_json_r_inst_1() -> None:
    """Both formats hold the same; with a name it is the object alone."""
    as_json = json.loads(olmc("get", "installed", "-C", "installed", "-o", "json").stdout)
    (document,) = read("out.yaml", olmc("get", "installed", "-C", "installed", "-o", "yaml").stdout, Report())
    assert document.value == as_json
    assert (as_json["kind"], len(as_json["items"])) == ("InstalledList", 2)
    one = json.loads(olmc("get", "installed", "gauge.v0.27.0", "-C", "installed", "-o", "json").stdout)
    assert one == as_json["items"][1]


def test_names_are_those_of_kubectl() -> None:
    result = olmc("get", "installed", "-C", "installed", "-o", "name")
    assert result.stdout == (
        "installed.packages.operators.coreos.com/beacon.v0.9.4-clusterwide\n"
        "installed.packages.operators.coreos.com/gauge.v0.27.0\n"
    )
    assert olmc("get", "installed", "-C", "installed", "-o", "name", "-n", "mojave").stdout == ""
    packages = olmc("get", "packagemanifests", "-C", "installed", "-o", "name").stdout
    assert packages.splitlines()[0] == "packagemanifest.packages.operators.coreos.com/beacon"


def test_a_name_that_is_not_there_says_what_is() -> None:
    result = olmc("get", "installed", "gauge", "-C", "installed", "-o", "yaml")
    assert (result.stdout, result.exit_code) == ("", 1)
    assert result.stderr == (
        'failure: installed.packages.operators.coreos.com "gauge" not found in namespace default [OLMC652]\n'
        "  In namespace default there is gauge.v0.27.0.\n"
    )
    elsewhere = olmc("get", "installed", "gauge.v0.27.0", "-C", "installed", "-n", "mojave")
    assert elsewhere.stderr.endswith("  It is in default.\n")
    nothing = olmc("get", "installed", "zzz", "-C", "installed", "-n", "mojave")
    assert nothing.stderr.endswith("  In namespace mojave there is nothing.\n")


def test_a_namespace_that_does_not_exist_is_a_warning() -> None:
    result = olmc("get", "installed", "-C", "installed", "-n", "mojav")
    assert "namespace mojav does not exist in the workspace [OLMC653]\n  Did you mean one of these? mojave\n" in (
        result.stderr
    )
    assert result.exit_code == 0


def test_a_package_without_a_csv_is_a_warning_r_cat_803() -> None:
    result = olmc("get", "packagemanifests", "-C", "own-namespace")
    assert result.stdout == "No resources found.\n"
    assert result.stderr.startswith(
        "own-namespace/catalogs/harbour/catalog.yaml:1:1: warning: package beacon of catalog harbour: "
        "packagemanifest has no valid channels [OLMC654]\n"
    )


def test_findings_of_the_workspace_are_findings() -> None:
    """An operator that would fail is shown, and the exit code says so, as that of olmc render does."""
    result = olmc("get", "installed", "-C", "requirements-not-met", "-n", "harbour")
    assert (result.stdout.splitlines()[1].split()[-1], result.exit_code) == ("Pending", 1)
    assert "OLMC302" in result.stderr


def test_what_limits_the_output_of_render_does_not_count(tmp_path: Path) -> None:
    """olmc.yaml may want apply output of few kinds; what is installed is the same."""
    workspace = shutil.copytree("installed", tmp_path / "w")
    config = "apiVersion: olmc.dev/v1alpha1\nkind: Config\nspec: {for: apply, include: [Role], copiedCSVs: false}\n"
    write(workspace, {"olmc.yaml": config})
    assert olmc("get", "installed", "-C", workspace).stdout == TABLE


def test_other_options_of_the_workspace_count(tmp_path: Path) -> None:
    """With another global namespace the catalog in olm is out of sight (R-CAT-801)."""
    workspace = shutil.copytree("installed", tmp_path / "w")
    assert len(olmc("get", "packagemanifests", "-C", workspace).stdout.splitlines()) == 3
    config = "apiVersion: olmc.dev/v1alpha1\nkind: Config\nspec: {globalCatalogNamespace: mojave}\n"
    write(workspace, {"olmc.yaml": config})
    assert olmc("get", "packagemanifests", "-C", workspace).stdout == "No resources found.\n"


def test_plans_can_be_approved() -> None:
    arguments = ("get", "installed", "-C", "manual-approval", "-n", "harbour")
    assert olmc(*arguments).stdout == "No resources found.\n"
    assert "beacon.v1.0.0" in olmc(*arguments, "--approve", "all").stdout


def test_wrong_usage() -> None:
    assert olmc("get", "installd", "-C", "installed").exit_code == 2
    assert "installed" in olmc("get", "installd", "-C", "installed").stderr
    assert olmc("get", "installed", "x", "-A").exit_code == 2
    assert olmc("get", "installed", "-o", "xml").exit_code == 2


def test_a_workspace_that_can_not_be_compiled(tmp_path: Path) -> None:
    result = olmc("get", "installed", "-C", write(tmp_path, BROKEN))
    assert (result.stdout, result.exit_code) == ("", 3)
    assert "b.yaml:1:" in result.stderr
    assert olmc("get", "installed", "-C", tmp_path / "nowhere").exit_code == 3
