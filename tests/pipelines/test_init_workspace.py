"""`olmc init workspace`: the catalogs that the cluster has, as data in olmc.yaml; and what comes of these."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from scenarios import write

import olmc
from olmc.cli.main import main
from olmc.compiler.olm.profiles.data import openshift

GROUP = """\
apiVersion: v1
kind: Namespace
metadata: {name: tea}
---
apiVersion: operators.coreos.com/v1
kind: OperatorGroup
metadata: {name: tea, namespace: tea}
"""
MARKETPLACE = "openshift-marketplace"


def subscription(name: str, source: str, namespace: str = MARKETPLACE) -> str:
    return f"""\
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {{name: {name}, namespace: tea}}
spec: {{name: {name}, channel: stable, source: {source}, sourceNamespace: {namespace}}}
"""


def catalog_source(name: str, namespace: str) -> str:
    return f"""\
apiVersion: operators.coreos.com/v1alpha1
kind: CatalogSource
metadata: {{name: {name}, namespace: {namespace}}}
spec: {{sourceType: grpc, image: 'registry.example.com/{name}:v1'}}
"""


KETTLE = """\
schema: olm.package
name: kettle
defaultChannel: stable
---
schema: olm.channel
package: kettle
name: stable
entries: [{name: kettle.v1.0.0}]
---
schema: olm.bundle
name: kettle.v1.0.0
package: kettle
image: registry.example.com/kettle:v1.0.0
properties: [{type: olm.package, value: {packageName: kettle, version: 1.0.0}}]
"""


def run(*arguments: str | Path) -> Result:
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    return result


def init(root: Path, *arguments: str) -> Result:
    return run("init", "workspace", root, *arguments)


def spec_in(root: Path) -> Mapping[str, Any]:
    spec: Mapping[str, Any] = yaml.safe_load((root / "olmc.yaml").read_text(encoding="utf-8"))["spec"]
    return spec


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """Subscriptions in two folders of a repository, one beside a template that is no YAML."""
    files = {
        "base/group.yaml": GROUP,
        "base/kettle.yaml": subscription("kettle", "redhat-operators"),
        "extra/pot.yaml": subscription("pot", "certified-operators"),
        "extra/chart.yaml": "{{ if .Values.operators.coreos.com }}\nkind: Subscription\n{{ end }}\n",
    }
    return write(tmp_path, files)


def test_the_catalogs_that_subscriptions_name(workspace: Path) -> None:
    result = init(workspace, "--openshift", "4.18")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("new ")
    assert "olmc vendor" in result.stdout
    index = "registry.redhat.io/redhat/{}-operator-index:v4.18"
    assert spec_in(workspace) == {
        "olmVersion": "ocp-4.18",
        "globalCatalogNamespace": MARKETPLACE,
        "catalogs": [
            {"name": "redhat-operators", "namespace": MARKETPLACE, "image": index.format("redhat"), "priority": -100},
            {"name": "certified-operators", "namespace": MARKETPLACE, "image": index.format("certified"),
             "priority": -200},
        ],
    }  # fmt: skip
    (workspace / "extra/chart.yaml").unlink()
    assert not olmc.compile(workspace).failed


def test_the_others_of_the_cluster_wait_as_comments(workspace: Path) -> None:
    init(workspace, "--openshift", "4.18")
    file = workspace / "olmc.yaml"
    text = file.read_text(encoding="utf-8")
    lines = [line.replace("  # ", "  ", 1) for line in text.splitlines() if not line.startswith("  # No ")]
    file.write_text("\n".join(lines), encoding="utf-8")
    named = {item["name"]: item["priority"] for item in spec_in(workspace)["catalogs"]}
    assert named == {item["name"]: item["priority"] for item in openshift()["catalogs"]}


def test_a_workspace_without_subscriptions_gets_them_all(tmp_path: Path) -> None:
    assert init(tmp_path, "--openshift", "ocp-4.12").exit_code == 0
    assert [item["image"].rpartition(":")[2] for item in spec_in(tmp_path)["catalogs"]] == ["v4.12"] * 4


def test_operatorhub_is_told_by_the_subscriptions(tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": subscription("kettle", "operatorhubio-catalog", "olm")})
    assert init(tmp_path).exit_code == 0
    image = "quay.io/operatorhubio/catalog:latest"
    assert spec_in(tmp_path) == {
        "globalCatalogNamespace": "olm",
        "catalogs": [{"name": "operatorhubio-catalog", "namespace": "olm", "image": image}],
    }


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "which release it is: --openshift 4.18."),
        (["--openshift", "5"], "olmc knows no release 5 of OpenShift; it knows 4.1"),
        (["--openshift", "4.18", "--operatorhub"], "exclude each other"),
    ],
)
def test_wrong_usage_writes_nothing(arguments: list[str], says: str, workspace: Path) -> None:
    result = init(workspace, *arguments)
    assert result.exit_code == 2
    assert says in result.stderr
    assert not (workspace / "olmc.yaml").exists()


def test_a_workspace_that_tells_nothing_of_its_cluster(tmp_path: Path) -> None:
    result = init(tmp_path)
    assert result.exit_code == 2
    assert "give --openshift RELEASE or --operatorhub" in result.stderr


def test_an_olmc_yaml_that_is_there_stays(workspace: Path) -> None:
    own = "apiVersion: olmc.dev/v1alpha1\nkind: Config\nspec: {namespaces: [team-a]}\n"
    write(workspace, {"olmc.yaml": own})
    result = init(workspace, "--openshift", "4.18")
    assert result.exit_code == 1
    assert "Add this to it, or overwrite it with --force:\nspec:\n  olmVersion: ocp-4.18\n" in result.stderr
    assert (workspace / "olmc.yaml").read_text(encoding="utf-8") == own
    assert init(workspace, "--openshift", "4.18", "--force").exit_code == 0
    again = init(workspace, "--openshift", "4.18")
    assert (again.exit_code, again.stdout.split()[0]) == (0, "unchanged")


@pytest.mark.parametrize(
    ("source", "namespace", "says"),
    [
        ("harbour", MARKETPLACE, "add it to spec.catalogs in olmc.yaml, with its image"),
        ("redhat-operator", MARKETPLACE, "did you mean redhat-operators?"),
        ("redhat-operators", "olm", "it is in namespace openshift-marketplace"),
    ],
)
def test_catalogs_that_nobody_knows_are_said(source: str, namespace: str, says: str, workspace: Path) -> None:
    write(workspace, {"base/pan.yaml": subscription("pan", source, namespace)})
    result = init(workspace, "--openshift", "4.18")
    assert result.exit_code == 0
    (line,) = result.stderr.splitlines()
    assert f"catalog {source} in namespace {namespace} (base/pan.yaml:4:" in line
    assert says in line


def test_a_catalog_source_of_the_workspace_needs_no_entry(tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": subscription("pan", "harbour"), "b.yaml": catalog_source("harbour", MARKETPLACE)})
    result = init(tmp_path, "--openshift", "4.18")
    assert (result.exit_code, result.stderr) == (0, "")


def config_with(*catalogs: str) -> str:
    listed = "".join(f"  - {catalog}\n" for catalog in catalogs)
    return (
        f"apiVersion: olmc.dev/v1alpha1\nkind: Config\nspec:\n  globalCatalogNamespace: market\n  catalogs:\n{listed}"
    )


HARBOUR = "{name: harbour, namespace: market, image: 'registry.example.com/harbour:v1', priority: -100}"


def test_a_catalog_of_the_cluster_is_resolved_over_and_never_rendered(tmp_path: Path) -> None:
    """R-CAT-502: all namespaces see it, as it is in the global catalog namespace."""
    files = {
        "olmc.yaml": config_with(HARBOUR),
        "group.yaml": GROUP,
        "a.yaml": subscription("kettle", "harbour", "market"),
        "catalogs/harbour/catalog.yaml": KETTLE,
    }
    made = olmc.compile(write(tmp_path, files))
    assert made.settled is not None
    (catalog,) = made.settled.cluster.catalogs.values()
    assert (*catalog.key, catalog.priority, catalog.of_cluster) == ("market", "harbour", -100, True)
    assert not made.settled.cluster.plans
    (done,) = made.settled.rounds.values()
    assert [missing.name for missing in done.missing] == ["kettle.v1.0.0"]  # its bundle, which olmc vendor would fetch
    assert "CatalogSource" not in {entry.object["kind"] for entry in made.objects}


def test_one_without_content_is_a_warning_with_its_place(tmp_path: Path) -> None:
    files = {
        "olmc.yaml": config_with(HARBOUR),
        "group.yaml": GROUP,
        "a.yaml": subscription("kettle", "harbour", "market"),
    }
    write(tmp_path, files)
    (told,) = [each for each in olmc.compile(tmp_path).diagnostics if each.code == "OLMC620"]
    assert str(told.location) == "olmc.yaml:6:5"
    for command in ("check", "status", "resolve"):
        assert run(command, tmp_path).exit_code == 0
    checked = run("vendor", "--check", tmp_path)
    assert (checked.exit_code, "missing: registry.example.com/harbour:v1" in checked.output) == (1, True)


def test_a_catalog_source_of_the_workspace_counts_in_its_place(tmp_path: Path) -> None:
    files = {"olmc.yaml": config_with(HARBOUR), "b.yaml": catalog_source("harbour", "market")}
    made = olmc.compile(write(tmp_path, files))
    assert made.settled is not None
    (catalog,) = made.settled.cluster.catalogs.values()
    assert (catalog.of_cluster, catalog.priority) == (False, 0)
    catalogs = [entry.object for entry in made.objects if entry.object["kind"] == "CatalogSource"]
    assert [each["metadata"]["name"] for each in catalogs] == ["harbour"]


@pytest.mark.parametrize(
    ("catalog", "place", "says"),
    [
        ("{name: harbour, namespace: market}", "olmc.yaml:6:5", "image is missing"),
        ("{name: harbour, namespace: market, imgae: x, image: z}", "olmc.yaml:6:40", "did you mean image?"),
        (
            "{name: harbour, namespace: market, image: x, priority: high}",
            "olmc.yaml:6:60",
            "is a text, not a whole number",
        ),
    ],
)
def test_mistakes_in_the_list_olmc138(catalog: str, place: str, says: str, tmp_path: Path) -> None:
    made = olmc.compile(write(tmp_path, {"olmc.yaml": config_with(catalog)}))
    (told,) = [each for each in made.diagnostics if each.code == "OLMC138"]
    assert str(told.location) == place
    assert says in told.message


def test_until_then_the_command_is_named(workspace: Path) -> None:
    result = run("check", workspace / "base")
    assert result.exit_code == 0
    assert "catalog openshift-marketplace/redhat-operators is" in result.output
    assert f"`olmc init workspace --openshift RELEASE {workspace / 'base'}`, which notes in olmc.yaml" in result.output
