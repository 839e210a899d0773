"""The workspaces of `fixtures/olmv1`: what the commands print for each is a snapshot."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from snapshot_files import TextFile
from syrupy.assertion import SnapshotAssertion

from olmc.cli.main import main

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "olmv1"
WORKSPACES = sorted(path.parent.name for path in FIXTURES.glob("*/extension.yaml"))
COMMANDS = (
    ("check", "--all"),
    ("resolve",),
    ("resolve", "-o", "json"),
    ("status", "-o", "wide"),
    ("why", "ClusterExtension/kettle"),
    ("render", "-o", "yaml"),
    ("render", "-o", "name", "--for", "apply"),
    ("render", "-o", "name", "--olm-version", "v1-experimental"),
)


@pytest.fixture
def snapshot(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    return snapshot.use_extension(TextFile)


@pytest.fixture(autouse=True)
def inside_fixtures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths in messages are then the same in every checkout."""
    monkeypatch.chdir(FIXTURES)


def run(*arguments: str) -> tuple[int, str]:
    """The exit code of a command, and all that it prints."""
    result = CliRunner().invoke(main, arguments)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    return result.exit_code, result.output


@pytest.mark.parametrize("name", WORKSPACES)
def test_commands(name: str, snapshot: SnapshotAssertion) -> None:
    texts = []
    for command, *options in COMMANDS:
        target = [options.pop(0)] if command == "why" else []
        exit_code, printed = run(command, *target, name, *options)
        shown = " ".join((command, *target, name, *options))
        texts.append(f"$ olmc {shown}\n{printed}exit code {exit_code}\n")
    assert "\n".join(texts) == snapshot


def test_every_workspace_is_explained() -> None:
    for name in WORKSPACES:
        title, blank, *text = (FIXTURES / name / "README.md").read_text(encoding="utf-8").splitlines()
        assert title.startswith("# ") and not blank and text, name


@pytest.mark.process
def test_a_workspace_of_olm_v0_needs_nothing_of_v1() -> None:
    """No module of OLM v1 is imported for one, whatever the command."""
    fixture = FIXTURES.parent / "all-namespaces"
    for command in (["render"], ["status"], ["resolve"], ["check"], ["why", "beacon"]):
        code = (
            "import sys\nfrom contextlib import suppress\nfrom olmc.cli.main import main\n"
            f"with suppress(SystemExit):\n  main({[*command, str(fixture)]!r}, standalone_mode=False)\n"
            "names = ('olmc.targets.v1', 'olmc.review.explain.ext')\n"
            "loaded = [name for name in sys.modules if name.startswith(names)]\n"
            "sys.stderr.write(repr(loaded))"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert done.stderr.endswith("[]"), (command, done.stderr)


def test_catalogs_that_the_cluster_has(tmp_path: Path) -> None:
    """R-V1-CC-3: a folder in catalogs/ stands for a catalog that is there, OpenShift's with their priorities."""
    for name in ("openshift-redhat-operators", "openshift-community-operators", "mine"):
        folder = tmp_path / "catalogs" / name
        folder.mkdir(parents=True)
        source = FIXTURES / "ambiguous" / "catalogs" / "tools" / "catalog.yaml"
        (folder / "catalog.yaml").write_text(source.read_text(encoding="utf-8"), encoding="utf-8")
    extension = (FIXTURES / "extension" / "extension.yaml").read_text(encoding="utf-8")
    (tmp_path / "extension.yaml").write_text(extension, encoding="utf-8")
    account, _, _ = read_fixture("extension/cluster.yaml").rpartition("---\n")
    (tmp_path / "cluster.yaml").write_text(account, encoding="utf-8")
    _, printed = run("resolve", str(tmp_path), "-o", "json")
    assert '"catalog": "mine"' in printed
    assert "catalog openshift-community-operators (priority -400)" in printed


@pytest.mark.parametrize("is_selected", [False, True])
def test_a_folder_beside_declared_catalogs_is_none_unless_it_is_selected(tmp_path: Path, is_selected: bool) -> None:
    """R-V1-CC-1, R-V1-CC-2: the cluster has the ClusterCatalogs of the workspace, and the selected ones."""
    extension = read_fixture(EXTENSION)
    if is_selected:
        label = "      selector: {matchLabels: {olm.operatorframework.io/metadata.name: quay}}\n"
        extension = extension.replace("    catalog:\n", f"    catalog:\n{label}")
        assert label in extension
    root = workspace(tmp_path, "extension", extension=extension)
    (root / "catalogs" / "tools").rename(root / "catalogs" / "quay")
    shutil.copytree(FIXTURES / "extension" / "catalogs" / "tools", root / "catalogs" / "tools")
    code, printed = run("resolve", str(root), "-o", "json")
    assert (code, "in multiple catalogs with the same priority" in printed) == (0, False)
    assert f'"catalog": "{"quay" if is_selected else "tools"}"' in printed


def workspace(tmp_path: Path, name: str, **files: str) -> Path:
    """A copy of a fixture with other files in it, by their names without the suffix; "" removes one."""
    root = tmp_path / name
    shutil.copytree(FIXTURES / name, root)
    for file, text in files.items():
        path = root / f"{file}.yaml"
        path.write_text(text, encoding="utf-8") if text else path.unlink()
    return root


def read_fixture(path: str) -> str:
    return (FIXTURES / path).read_text(encoding="utf-8")


def codes(root: Path, *options: str) -> set[str]:
    """The codes of what `olmc check` finds of OLM v1."""
    return set(re.findall(r"OLMC73\d", run("check", str(root), "--all", *options)[1]))


EXTENSION = "extension/extension.yaml"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("extension", set()),
        ("refused", {"OLMC730", "OLMC731", "OLMC732"}),
        ("ambiguous", {"OLMC732"}),
        ("unsafe-crd", {"OLMC733"}),
        ("installer-rights", {"OLMC733"}),
        ("upgrade", {"OLMC739"}),
    ],
)
def test_findings(name: str, expected: set[str]) -> None:
    """R-V1-LIM-4, R-V1-RES-15."""
    assert codes(FIXTURES / name) == expected


def test_an_account_that_is_missing(tmp_path: Path) -> None:
    """R-V1-SA-1: nothing is installed without it, and the rights that it has are not judged."""
    catalog = read_fixture("installer-rights/cluster.yaml").rpartition("---\n")[2]
    root = workspace(tmp_path, "installer-rights", cluster=catalog)
    assert codes(root) == {"OLMC734"}
    printed = run("render", str(root))[1]
    assert "status: Unknown\n    reason: Failed" in printed
    assert "kind: Deployment" not in printed
    # Releases that use no account need none, and none of its rights (R-V1-REL-1).
    (root / "namespace.yaml").write_text(
        "{apiVersion: v1, kind: Namespace, metadata: {name: brewing}}", encoding="utf-8"
    )
    assert codes(root, "--olm-version", "v1.11") == set()
    assert "kind: Deployment" in run("render", str(root), "--olm-version", "v1.11")[1]


def test_content_that_is_missing(tmp_path: Path) -> None:
    """A catalog or a bundle that nobody has is said so, in place of an error that the controller would not have."""
    root = workspace(tmp_path, "extension")
    shutil.rmtree(root / "bundles" / "kettle-1.1.0")
    assert codes(root) == {"OLMC737"}
    shutil.rmtree(root / "catalogs" / "tools")
    assert codes(root) == {"OLMC736"}


def test_something_deprecated(tmp_path: Path) -> None:
    """R-V1-CND-2."""
    pinned = read_fixture("upgrade/extension.yaml").replace("channels: [stable]", "version: 1.0.0")
    root = workspace(tmp_path, "upgrade", extension=pinned)
    assert codes(root) == {"OLMC738"}
    assert "message: kettle 1.0.0 boils over; move to a later version" in run("render", str(root))[1]


def test_an_object_belongs_to_one_extension(tmp_path: Path) -> None:
    """R-V1-LIM-2, R-V1-HELM-4: the second by name finds what the first has, which Helm does not take over."""
    second = read_fixture(EXTENSION).replace("name: kettle\n", "name: pot\n", 1)
    root = workspace(tmp_path, "extension", second=second)
    exit_code, printed = run("status", str(root), "-o", "wide")
    assert exit_code == 1
    taken = "ServiceAccount 'kettle' already exists in namespace 'brewing' and cannot be managed by operator-controller"
    assert taken in printed
    assert "It belongs to ClusterExtension kettle, and an object has one owner" in run("check", str(root))[1]


def test_a_revision_takes_nothing_from_another_extension(tmp_path: Path) -> None:
    """R-V1-COS-7, R-V1-LIM-2: with the COS runtime as well, and by its conditions."""
    second = read_fixture(EXTENSION).replace("name: kettle\n", "name: pot\n", 1)
    root = workspace(tmp_path, "extension", second=second)
    exit_code, printed = run("check", str(root), "--olm-version", "v1-experimental")
    assert exit_code == 1
    assert "ClusterExtension pot: revision object collisions in phase 0" in printed
    assert "It belongs to ClusterExtension kettle, and an object has one owner" in printed
    rendered = run("render", str(root), "--olm-version", "v1-experimental", "-o", "name")[1].splitlines()
    assert "ClusterObjectSet/kettle-1" in rendered
    assert "ClusterObjectSet/pot-1" in rendered
    assert len(rendered) == len(set(rendered))


def test_fields_that_no_crd_has(tmp_path: Path) -> None:
    """R-V1-CE-1, R-V1-CC-1: the API server drops them, so that a misspelt one constrains nothing."""
    catalog = read_fixture("extension/cluster.yaml").replace("spec:\n  source:", "spec:\n  priorty: 3\n  source:")
    given = read_fixture(EXTENSION).replace("version: 1.x", "vers: 1.x\n      selector: {matchLabels: {}, more: 1}")
    root = workspace(tmp_path, "extension", extension=given, cluster=catalog)
    printed = run("check", str(root))[1]
    dropped = "that OLM v1 does not know: the API server drops it [OLMC150]"
    assert f"ClusterCatalog tools has a field spec.priorty {dropped}" in printed
    assert "Did you mean priority?" in printed
    assert f"ClusterExtension kettle has a field spec.source.catalog.vers {dropped}" in printed
    assert "Did you mean version?" in printed
    assert f"spec.source.catalog.selector.more {dropped}" in printed
    assert "The fields there are matchExpressions, matchLabels." in printed
    assert re.search(r"extension\.yaml:\d+:7: warning: ClusterExtension kettle has a field", printed)


def test_a_package_that_is_misspelt(tmp_path: Path) -> None:
    """R-V1-RES-14, R-V1-SA-1: what was meant is asked; without the account the controller does not get that far."""
    given = read_fixture(EXTENSION).replace("packageName: kettle", "packageName: kettel")
    root = workspace(tmp_path / "a", "extension", extension=given)
    printed = run("check", str(root))[1]
    assert "Catalog tools (priority 0): it does not have the package. Did you mean kettle?" in printed
    root = workspace(tmp_path / "b", "extension", extension=given.replace("kettle-installer", "nobody"))
    printed = run("check", str(root))[1]
    assert 'service account "nobody" not found in namespace "brewing" [OLMC734]' in printed
    assert "OLMC732" not in printed


def test_what_a_configuration_lacks_deep_inside(tmp_path: Path) -> None:
    """R-V1-CFG-4a: the controller says no more than `validation failed`, and olmc where and why."""
    config = "  config: {configType: Inline, inline: {deploymentConfig: {env: [{value: x}]}}}\n  source:\n"
    root = workspace(tmp_path, "extension", extension=read_fixture(EXTENSION).replace("  source:\n", config))
    printed = run("check", str(root), "--olm-version", "v1-experimental")[1]
    assert "invalid configuration: validation failed [OLMC733]" in printed
    assert 'deploymentConfig.env.0: required field "name" is missing. Correct spec.config.' in printed


def test_an_invalid_configuration_is_final(tmp_path: Path) -> None:
    """R-V1-CND-1: the controller does not try again."""
    config = "  config: {configType: Inline, inline: {colour: red}}\n  source:\n"
    root = workspace(tmp_path, "extension", extension=read_fixture(EXTENSION).replace("  source:\n", config))
    _, printed = run("render", str(root), "--olm-version", "v1-experimental")
    assert "reason: InvalidConfiguration" in printed
    assert codes(root, "--olm-version", "v1-experimental") == {"OLMC733"}


def test_the_preflight_of_permissions_ends_an_installation() -> None:
    """R-V1-PERM-2, with the gate that asks for it."""
    _, printed = run("why", "ClusterExtension/kettle", "installer-rights", "--olm-version", "v1-experimental")
    assert "is there and does not work" in printed
    assert "pre-authorization failed: service account requires the following permissions" in " ".join(printed.split())


def test_the_printed_roles_are_enough(tmp_path: Path) -> None:
    """R-V1-PERM-1, R-V1-SA-1: with them nothing is missing, and without any one rule something is."""
    _, roles = run("rbac", "installer-rights", "--installers")
    assert codes(workspace(tmp_path, "installer-rights", roles=roles)) == set()
    fewer = roles.replace("- deployments\n", "- daemonsets\n", 1)
    assert codes(workspace(tmp_path / "fewer", "installer-rights", roles=fewer)) == {"OLMC733"}
    # What only a later upgrade needs is a warning.
    less = roles.replace("- delete\n  - get", "- get", 1)
    assert less != roles
    assert codes(workspace(tmp_path / "less", "installer-rights", roles=less)) == {"OLMC735"}


def test_what_is_installed_stays_when_an_upgrade_fails(tmp_path: Path) -> None:
    """R-V1-CND-1: the objects of the bundle that is there remain."""
    root = workspace(tmp_path, "unsafe-crd")
    shutil.copytree(FIXTURES / "extension" / "bundles" / "kettle-1.0.0", root / "bundles" / "kettle-1.0.0")
    _, printed = run("render", str(root), "-o", "yaml")
    assert "image: registry.example.com/kettle:v1.0.0" in printed
    assert "kettle:v1.1.0" not in printed


def test_a_catalog_that_can_not_be_read_and_one_that_does_not_fit(tmp_path: Path) -> None:
    """R-V1-CC-4, R-V1-RES-2, R-V1-RES-3: documents are read and not compared with each other."""
    heads = "---\n{schema: olm.channel, package: kettle, name: stable, entries: [{name: kettle.v1.0.0}, {name: x}]}\n"
    content = FIXTURES / "extension" / "catalogs" / "tools" / "catalog.yaml"
    for name, more in (("heads", heads), ("broken", "---\na: 1\nb: [x\n")):
        root = workspace(tmp_path / name, "extension")
        text = content.read_text(encoding="utf-8") + more
        (root / "catalogs" / "tools" / "catalog.yaml").write_text(text, encoding="utf-8")
        printed = run("render", str(root))[1]
        if name == "heads":
            assert "reason: Available" in printed
            assert "Installed bundle registry.example.com/bundles/kettle:v1.1.0 successfully" in printed
        else:
            assert "error storing fbc: error walking FBC root: error converting YAML to JSON: yaml: line" in printed
            assert 'catalog "tools" is not being served' in printed
            assert "resolvedSource" not in printed


def test_what_stays_of_a_status(tmp_path: Path) -> None:
    """R-V1-CND-3, R-V1-CND-4, R-V1-CND-5: names that the status can't have, and images that are not there."""
    root = workspace(tmp_path, "extension")
    for path in root.rglob("*.yaml"):
        text = path.read_text(encoding="utf-8").replace("kettle.v1.1.0", "kettle.v1.1.0+1")
        path.write_text(text, encoding="utf-8")
    printed = run("render", str(root))[1]
    assert "kind: Deployment" in printed
    assert 'catalog "tools" is not being served' in printed
    assert "\n  install:\n    bundle:" not in printed
    printed = run("render", str(root), "--olm-version", "v1-experimental")[1]
    assert "message: Revision 1.1.0 is rolling out." in printed
    assert "Object Deployment.apps/v1 brewing/kettle-controller: missing .status.conditions" in printed
    assert "message: Revision succeeded rolling out." in printed  # of the ClusterObjectSet
    shutil.rmtree(root / "bundles" / "kettle-1.1.0")
    printed = run("render", str(root))[1]
    assert (
        "error creating image source: reading manifest v1.1.0 in registry.example.com/bundles/kettle: manifest"
        in printed
    )


VERBS = ("get", "list", "watch", "create", "update", "patch", "delete", "escalate", "bind")
RESOURCES = ("serviceaccounts", "customresourcedefinitions", "clusterroles", "clusterrolebindings", "deployments")
CREATED = {"ServiceAccount/brewing/kettle"}
INSTALLED = {*CREATED, "Deployment/brewing/kettle-controller"}


@pytest.mark.parametrize(
    ("without", "resource", "problem", "there"),
    [
        (("get",), "deployments", "could not get information about the resource Deployment", set()),
        (("create",), "deployments", "failed to create resource: deployments.apps is forbidden", CREATED),
        (("patch",), "customresourcedefinitions", "patch error: customresourcedefinitions.api", INSTALLED),
        (("list",), "deployments", "waiting for sync: failed to list *unstructured.Unstructured: dep", INSTALLED),
        (("escalate", "bind"), "clusterroles", "attempting to grant RBAC permissions not currently held", INSTALLED),
    ],
    ids=["get", "create", "patch", "list", "escalate"],
)  # fmt: skip
def test_what_each_right_is_needed_for(
    tmp_path: Path, without: tuple[str, ...], resource: str, problem: str, there: set[str]
) -> None:
    """R-V1-HELM-6, R-V1-HELM-7, R-V1-HELM-8, R-V1-SRV-1: an installation without a right leaves what Helm leaves."""
    fewer = [verb for verb in VERBS if verb not in without]
    rules = [
        {"apiGroups": ["*"], "resources": [each], "verbs": fewer if each == resource else list(VERBS)}
        for each in RESOURCES
    ]
    metadata = {"name": "installing"}
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": metadata, "rules": rules}
    cluster = read_fixture("extension/cluster.yaml").replace("name: cluster-admin", "name: installing")
    root = workspace(tmp_path, "extension", cluster=cluster, role=json.dumps(role))
    exit_code, printed = run("render", str(root))
    assert exit_code == 1
    assert problem in " ".join(printed.split())
    names = set(run("render", str(root), "-o", "name")[1].splitlines())
    assert names & INSTALLED == there
    assert any(name.startswith("ClusterRole/kettle.v") for name in names) == bool(there and "bind" not in without)


def test_revisions_that_get_stuck(tmp_path: Path) -> None:
    """R-V1-COS-9, R-V1-COS-10, R-V1-COS-11, R-V1-COS-12: what is there, and what both statuses say."""
    account = "{apiVersion: v1, kind: ServiceAccount, metadata: {name: kettle, labels: {a: b}}}"
    root = workspace(tmp_path / "twice", "extension")
    (root / "bundles" / "kettle-1.1.0" / "manifests" / "account.yaml").write_text(account, encoding="utf-8")
    printed = run("render", str(root), "--olm-version", "v1-experimental")[1]
    assert (
        'phase "identity": /v1, Kind=ServiceAccount brewing/kettle: duplicate object found in phases: identity'
        in printed
    )
    assert "kind: Deployment\n  metadata" not in printed
    assert "digest: sha256:" in printed
    assert "deprecation status unknown: catalog data unavailable" in printed
    assert "activeRevisions:\n  - name: kettle-1" in printed
    printed = run("render", str(root), "--olm-version", "v1-experimental+PreflightPermissions=false", "-o", "name")[1]
    assert "Deployment/brewing/kettle-controller" not in printed
    cluster = read_fixture("extension/cluster.yaml").replace("name: cluster-admin", "name: nothing")
    root = workspace(tmp_path / "rights", "extension", cluster=cluster)
    version = "v1-experimental+PreflightPermissions=false"
    printed = run("render", str(root), "--olm-version", version)[1]
    assert "reconciling object: validating: /v1, Kind=ServiceAccount brewing/kettle: serviceaccounts" in printed
    assert 'RBAC: clusterrole.rbac.authorization.k8s.io "nothing" not found' in " ".join(printed.split())
