"""`olmc migrate`: patches that `git apply` takes, comments kept, and what is left to people."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from building import write_workspace
from click.testing import CliRunner, Result

import olmc
from olmc.cli.main import main
from olmc.compiler.migration import with_settings
from olmc.k8s.yaml.edit import EditError
from olmc.targets.proposed.operator_api import OPERATOR_API

TWO = {
    "olmc": {"descoped": True},
    "groups": {},
    "operators": [{"name": "kettle.v1.0.0", "modes": ["Own", "Multi"], "into": ["aa", "bb"]}],
}
GROUPS = """\
# The first team.
apiVersion: operators.coreos.com/v1
kind: OperatorGroup
metadata: {name: og, namespace: aa}
spec:
  # What it watches.
  targetNamespaces: [aa]
  upgradeStrategy: Default  # stays
---
# The second team.
apiVersion: operators.coreos.com/v1
kind: OperatorGroup
metadata: {name: og, namespace: bb}
spec: {targetNamespaces: [bb]}
"""
NAMESPACES = "---\n".join(f"{{apiVersion: v1, kind: Namespace, metadata: {{name: {name}}}}}\n" for name in ("aa", "bb"))


def subscription(namespace: str) -> str:
    return (
        f"# For {namespace}.\napiVersion: operators.coreos.com/v1alpha1\nkind: Subscription\n"
        f"metadata: {{name: kettle, namespace: {namespace}}}\n"
        "spec: {name: kettle, channel: stable, source: cat, sourceNamespace: olm}\n"
    )


def workspace(root: Path, case: Mapping[str, Any], **files: str) -> None:
    write_workspace(root, {**case, "files": {}})
    text = (root / "cluster.json").read_text()
    assert "Subscription" in text
    (root / "cluster.json").unlink()
    for name, content in files.items():
        (root / f"{name}.yaml").write_text(content)


def migrate(root: Path, *options: str) -> Result:
    result = CliRunner().invoke(main, ["migrate", str(root), *options])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    return result


def test_instances_become_one(tmp_path: Path) -> None:
    """R-DESCOPE-10: one instance is kept, its group targets all; comments elsewhere stay."""
    workspace(tmp_path, TWO, groups=GROUPS, subs=subscription("aa") + "---\n" + subscription("bb"), ns=NAMESPACES)
    result = migrate(tmp_path, "--to", "descoped")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "subs.yaml").read_text() == subscription("aa")
    first = GROUPS.partition("---\n")[0]
    assert (tmp_path / "groups.yaml").read_text() == first.replace(
        "  targetNamespaces: [aa]\n", "  targetNamespaces:\n  - aa\n  - bb\n"
    )
    made = olmc.compile(tmp_path, olmc.Options(descoped=True))
    assert [d.code for d in made.diagnostics if d.severity >= olmc.Severity.WARNING] == ["OLMC664"]


@pytest.mark.parametrize("option", [["--descoped"], []], ids=["descoped", "plain"])
def test_a_plan_after_a_migration_does_not_advise_the_opposite(tmp_path: Path, option: list[str]) -> None:
    """R-DESCOPE-10: the left operator is to be uninstalled; its group, which the migration removes, need not return."""
    files = {"groups": GROUPS, "subs": subscription("aa") + "---\n" + subscription("bb"), "ns": NAMESPACES}
    for name in ("before", "after"):
        workspace(tmp_path / name, TWO, **files)
    assert migrate(tmp_path / "after", "--to", "descoped").exit_code == 0
    result = CliRunner().invoke(main, ["plan", str(tmp_path / "after"), "--from", str(tmp_path / "before"), *option])
    assert "bb         kettle    1.0.0  1.0.0  Failed  left running\n      it runs on" in result.output
    assert "$ kubectl -n bb delete clusterserviceversion kettle.v1.0.0" in result.output
    assert "Add an OperatorGroup" not in result.output


def test_the_single_instance_is_widened(tmp_path: Path) -> None:
    """R-DESCOPE-10: an operator that supports all namespaces gets a group for all of them."""
    case = {**TWO, "operators": [{"name": "kettle.v1.0.0", "into": ["aa"]}]}
    workspace(tmp_path, case, groups=GROUPS.partition("---\n")[0], subs=subscription("aa"))
    assert migrate(tmp_path, "--to", "descoped").exit_code == 0
    assert "targetNamespaces" not in (tmp_path / "groups.yaml").read_text()
    made = olmc.compile(tmp_path, olmc.Options(descoped=True))
    assert [d.code for d in made.diagnostics if d.severity >= olmc.Severity.WARNING] == []


@pytest.mark.parametrize("modes", [["Own"], ["Own", "Single"]])
def test_what_needs_a_decision_is_left_alone(tmp_path: Path, modes: list[str]) -> None:
    """R-DESCOPE-10: without a mode for several namespaces somebody has to clean up."""
    case = {**TWO, "operators": [{"name": "kettle.v1.0.0", "modes": modes, "into": ["aa", "bb"]}]}
    workspace(tmp_path, case, groups=GROUPS, subs=subscription("aa") + "---\n" + subscription("bb"))
    result = migrate(tmp_path, "--to", "descoped")
    assert result.exit_code == 1
    assert "operator kettle is left as it is" in result.output
    assert (tmp_path / "groups.yaml").read_text() == GROUPS


def test_no_configuration_goes_with_an_instance(tmp_path: Path) -> None:
    """R-DESCOPE-10: instances whose Subscriptions say different things don't become one without a decision."""
    configured = subscription("bb").replace(": olm}", ": olm, config: {nodeSelector: {a: b}}}")
    subs = f"{subscription('aa')}---\n{configured}"
    workspace(tmp_path, TWO, groups=GROUPS, subs=subs, ns=NAMESPACES)
    result = migrate(tmp_path, "--to", "descoped")
    assert result.exit_code == 1
    assert "operator kettle is left as it is: its Subscriptions differ in config" in result.output
    assert ((tmp_path / "subs.yaml").read_text(), (tmp_path / "groups.yaml").read_text()) == (subs, GROUPS)


def test_json_is_left_alone(tmp_path: Path) -> None:
    """What olmc can't edit without touching anything else stays, and is named."""
    write_workspace(tmp_path, {**TWO, "groups": {"aa/og": "own", "bb/og": "own"}})
    before = (tmp_path / "cluster.json").read_text()
    result = migrate(tmp_path, "--to", "descoped")
    assert result.exit_code == 1
    assert "left as it is" in result.output
    assert (tmp_path / "cluster.json").read_text() == before


SUBSCRIPTION = """\
# The kettle.
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata:
  name: kettle  # as ever
  namespace: aa
  labels: {team: tea}
spec:
  # Never another one.
  name: kettle
  source: cat  # ours
  sourceNamespace: olm
  channel: stable
  startingCSV: kettle.v1.0.0
  installPlanApproval: Manual # careful
"""
OPERATOR = """\
# The kettle.
# as ever
apiVersion: operators.coreos.com/v2alpha1
kind: Operator
metadata:
  name: kettle
  labels:
    team: tea
spec:
  updates:
    type: CatalogSource
    catalogSource:
      # Never another one.
      package: kettle
      channel: stable
      entrypoint: kettle.v1.0.0
      approval: Manual  # careful
      ref:
        name: cat  # ours
        namespace: olm
"""
CONFIG = """\
apiVersion: olmc.dev/v1alpha1
kind: Config
spec:
  enableV2alpha1: true
  approvedInstalls:
  - kettle
"""


def install(operator: str) -> str:
    """The Install that keeps kettle.v1.0.0 of an Operator in the namespace aa."""
    return (
        "---\napiVersion: operators.coreos.com/v2alpha1\nkind: Install\nmetadata:\n  name: kettle.v1.0.0\n  labels:\n"
        f"    operators.coreos.com/{operator}: ''\nspec:\n  namespaces:\n  - from: default\n    to: aa\n"
        "  approval: Approved\n  content:\n  - type: ManifestImage\n"
        "    manifestImage: registry.example.com/kettle.v1.0.0\n"
    )


def running(root: Path) -> dict[str, object]:
    """The phase of every CSV, with the namespaces that it watches."""
    made = olmc.compile(root)
    csvs = {
        f"{r.identity.namespace}/{r.identity.name}": r.object
        for r in made.objects
        if r.identity.kind == "ClusterServiceVersion"
    }
    return {
        str(name): (phase, csvs[str(name)]["metadata"]["annotations"]["olm.targetNamespaces"])
        for name, phase in made.phases.items()
    }


def test_a_subscription_becomes_an_operator(tmp_path: Path) -> None:
    """R-OPERATOR-13: fields and comments go where they belong, and its operator stays where it is, as it is."""
    case = {**TWO, "olmc": {}, "operators": [{"name": "kettle.v1.0.0", "into": ["aa"]}]}
    text = SUBSCRIPTION.replace("Manual", "Automatic")
    workspace(tmp_path, case, groups=GROUPS, subs=text, ns=NAMESPACES)
    before = running(tmp_path)
    assert before == {"aa/kettle.v1.0.0": (("Succeeded", "InstallSucceeded"), "aa")}
    result = migrate(tmp_path, "--to", "v2alpha1")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "subs.yaml").read_text() == OPERATOR.replace("Manual", "Automatic") + install("kettle")
    assert (tmp_path / "groups.yaml").read_text() == GROUPS
    assert (tmp_path / "olmc.yaml").read_text() == CONFIG
    assert "ServiceAccount olm/kettle.v1.0.0, which is granted" in result.output
    assert running(tmp_path) == before
    assert migrate(tmp_path, "--to", "v2alpha1", "--dry-run").stdout == ""


def test_what_waits_goes_on_waiting(tmp_path: Path) -> None:
    """R-OPERATOR-11, R-OPERATOR-13: a Manual Subscription becomes a Manual Operator, of which as much is approved."""
    versions = [
        {"name": "kettle.v1.0.0", "into": ["aa"]},
        {"name": "kettle.v2.0.0", "replaces": "kettle.v1.0.0", "into": []},
    ]
    for approve, entries in (([], []), (["aa/kettle.v1.0.0"], ["kettle/kettle.v1.0.0"])):
        root = tmp_path / str(len(approve))
        root.mkdir()
        config = {"apiVersion": "olmc.dev/v1alpha1", "kind": "Config", "spec": {"approve": approve}}
        files = {"groups": GROUPS, "subs": SUBSCRIPTION, "ns": NAMESPACES, "olmc": yaml.safe_dump(config)}
        workspace(root, {**TWO, "olmc": {}, "operators": versions}, **files)
        before = running(root)
        assert len(before) == len(approve)
        assert migrate(root, "--to", "v2alpha1").exit_code == 0
        assert running(root) == before
        spec = yaml.safe_load((root / "olmc.yaml").read_text())["spec"]
        assert spec.get("approvedInstalls", []) == entries
        assert ("approval: Approved" in (root / "subs.yaml").read_text()) == bool(approve)


def test_an_update_stays_where_its_predecessor_is(tmp_path: Path) -> None:
    """R-OPERATOR-10, R-OPERATOR-13: the Install of an earlier version says where its Operator is installed."""
    case = {**TWO, "olmc": {}, "operators": [{"name": "kettle.v1.0.0", "into": ["aa"]}]}
    workspace(tmp_path, case, groups=GROUPS, subs=subscription("aa"), ns=NAMESPACES)
    assert migrate(tmp_path, "--to", "v2alpha1").exit_code == 0
    later = [*case["operators"], {"name": "kettle.v2.0.0", "replaces": "kettle.v1.0.0", "into": []}]
    migrated = {name: (tmp_path / f"{name}.yaml").read_text() for name in ("groups", "subs", "ns", "olmc")}
    workspace(tmp_path, {**case, "operators": later}, **migrated)
    assert running(tmp_path) == {"aa/kettle.v2.0.0": (("Succeeded", "InstallSucceeded"), "aa")}


def test_an_operator_that_is_there_takes_over(tmp_path: Path) -> None:
    """R-OPERATOR-13: the Subscription goes if an Operator asks for the same; what keeps its namespace stays."""
    case = {**TWO, "olmc": {}, "operators": [{"name": "kettle.v1.0.0", "into": ["aa"]}]}
    other = OPERATOR.replace("name: kettle\n  l", "name: t\n  l").replace("Manual", "Automatic")
    text = SUBSCRIPTION.replace("Manual", "Automatic")
    workspace(tmp_path, case, groups=GROUPS, subs=text, ops=other, ns=NAMESPACES)
    assert migrate(tmp_path, "--to", "v2alpha1").exit_code == 0
    assert yaml.safe_load((tmp_path / "subs.yaml").read_text())["kind"] == "Install"
    assert (tmp_path / "ops.yaml").read_text() == other
    assert running(tmp_path) == {"aa/kettle.v1.0.0": (("Succeeded", "InstallSucceeded"), "aa")}


def test_an_operator_of_another_package_takes_nothing_over(tmp_path: Path) -> None:
    """R-OPERATOR-13: the Subscription's Operator gets another name than the one that is there already."""
    case = {**TWO, "olmc": {}, "operators": [{"name": "kettle.v1.0.0", "into": ["aa"]}]}
    other = f"apiVersion: {OPERATOR_API}\nkind: Operator\nmetadata: {{name: kettle}}\n"
    workspace(tmp_path, case, groups=GROUPS, subs=SUBSCRIPTION, ops=other, ns=NAMESPACES)
    assert migrate(tmp_path, "--to", "v2alpha1").exit_code == 0
    operator = OPERATOR.replace("  name: kettle\n  l", "  name: kettle.aa\n  l")
    assert (tmp_path / "subs.yaml").read_text() == operator + install("kettle.aa").replace("Approved", "Unapproved")
    assert (tmp_path / "ops.yaml").read_text() == other


def test_several_that_ask_for_the_same_stay(tmp_path: Path) -> None:
    """R-OPERATOR-13: one Operator would drop the scope of all but one of them, which a person has to decide."""
    text = f"{subscription('aa')}---\n{subscription('bb')}"
    workspace(tmp_path, {**TWO, "olmc": {}}, groups=GROUPS, subs=text, ns=NAMESPACES)
    result = migrate(tmp_path, "--to", "v2alpha1")
    assert result.exit_code == 1
    assert "bb/kettle asks for the same package" in result.output
    assert "aa/kettle asks for the same package" in result.output
    assert ((tmp_path / "subs.yaml").read_text(), (tmp_path / "groups.yaml").read_text()) == (text, GROUPS)
    assert not (tmp_path / "olmc.yaml").exists()


def test_what_would_be_moved_stays(tmp_path: Path) -> None:
    """R-OPERATOR-10, R-OPERATOR-13: without an image no Install can say where a bundle goes, so that it would move."""
    case = {**TWO, "olmc": {}, "operators": [{"name": "kettle.v1.0.0", "into": ["aa"], "inline": True}]}
    workspace(tmp_path, case, groups=GROUPS, subs=subscription("aa"), ns=NAMESPACES)
    result = migrate(tmp_path, "--to", "v2alpha1")
    assert result.exit_code == 1
    assert "kettle.v1.0.0 would be installed in namespace operators instead of aa" in result.output
    assert (tmp_path / "subs.yaml").read_text() == subscription("aa")


def test_settings_that_cannot_be_written_change_nothing(tmp_path: Path) -> None:
    """Without what olmc.yaml has to say for them, Operators would install nothing: then no file is changed."""
    case = {**TWO, "olmc": {}, "operators": [{"name": "kettle.v1.0.0", "into": ["aa"]}]}
    config = "{apiVersion: olmc.dev/v1alpha1, kind: Config, spec: {copiedCSVs: true}}\n"
    workspace(tmp_path, case, groups=GROUPS, subs=subscription("aa"), ns=NAMESPACES, olmc=config)
    result = migrate(tmp_path, "--to", "v2alpha1")
    assert result.exit_code == 1
    assert "enableV2alpha1" in result.output
    assert ((tmp_path / "subs.yaml").read_text(), (tmp_path / "olmc.yaml").read_text()) == (subscription("aa"), config)


def test_permissions_that_grow_are_named(tmp_path: Path) -> None:
    """R-DESCOPE-10: what an operator may do in more namespaces once it watches all of them is said, each permission."""
    operator = {
        "name": "kettle.v1.0.0", "into": ["aa"], "modes": ["Own", "All"], "permissions": {"brewer": ["delete secrets"]},
    }  # fmt: skip
    workspace(tmp_path, {**TWO, "operators": [operator]}, groups=GROUPS.partition("---\n")[0], subs=subscription("aa"))
    result = migrate(tmp_path, "--to", "descoped")
    assert result.exit_code == 0, result.output
    assert "ServiceAccount/aa/brewer may delete secrets in the whole cluster" in result.output
    assert "OLMC693" in result.output


def test_permissions_that_go_with_an_instance_are_named(tmp_path: Path) -> None:
    """R-DESCOPE-10: the account of an instance that is removed loses what it had, which is said as well."""
    into = {"modes": ["Own", "Multi"], "into": ["aa", "bb"]}
    operator = {"name": "kettle.v1.0.0", **into, "permissions": {"brewer": ["get pods"]}}
    subs = f"{subscription('aa')}---\n{subscription('bb')}"
    workspace(tmp_path, {**TWO, "operators": [operator]}, groups=GROUPS, subs=subs, ns=NAMESPACES)
    output = migrate(tmp_path, "--to", "descoped").output
    assert "ServiceAccount/aa/brewer may get pods in namespace bb [OLMC693]" in output
    assert "ServiceAccount/bb/brewer may no longer get pods in namespace bb [OLMC693]" in output


def test_configuration_is_not_lost(tmp_path: Path) -> None:
    """R-OPERATOR-13: what an Operator can't say keeps a Subscription, and its group, where it is."""
    case = {**TWO, "operators": [{"name": "kettle.v1.0.0", "into": ["aa"]}]}
    text = SUBSCRIPTION + "  config: {env: [{name: A, value: b}]}\n"
    workspace(tmp_path, case, groups=GROUPS, subs=text)
    result = migrate(tmp_path, "--to", "v2alpha1")
    assert result.exit_code == 1
    assert "OLMC679" in result.output
    assert ((tmp_path / "subs.yaml").read_text(), (tmp_path / "groups.yaml").read_text()) == (text, GROUPS)


@pytest.mark.parametrize("to", ["descoped", "v2alpha1"])
def test_the_patch_is_what_would_be_written(to: str, tmp_path: Path, project: Path) -> None:
    """`--dry-run` writes nothing, and `git apply` makes of its patch what olmc would have written."""
    here, there = tmp_path / "here", tmp_path / "there"
    for root in (here, there):
        shutil.copytree(project / "fixtures/descoped", root)
    result = migrate(here, "--to", to, "--dry-run")
    files = sorted(path.relative_to(here) for path in here.rglob("*.yaml"))
    original = project / "fixtures/descoped"
    assert all((here / path).read_bytes() == (original / path).read_bytes() for path in files)
    subprocess.run(["git", "apply", "-"], cwd=here, input=result.stdout.encode(), check=True)
    assert migrate(there, "--to", to).stdout == ""
    assert sorted(path.relative_to(there) for path in there.rglob("*.yaml")) == sorted(
        path.relative_to(here) for path in here.rglob("*.yaml")
    )
    assert all((here / path).read_bytes() == (there / path).read_bytes() for path in files if (here / path).exists())


def test_input_that_cannot_be_compiled(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("apiVersion: v1\nkind: Namespace\nmetadata: [\n")
    result = migrate(tmp_path, "--to", "descoped")
    assert result.exit_code == 3
    assert "error" in result.output


def test_a_file_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All files stay as they were, and the one that can't be written is named."""
    workspace(tmp_path, TWO, groups=GROUPS, subs=subscription("aa") + "---\n" + subscription("bb"), ns=NAMESPACES)
    before = {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}

    def refused(*_: object) -> None:
        raise PermissionError(13, "Permission denied", str(tmp_path / "subs.yaml"))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "chmod", refused)
        result = migrate(tmp_path, "--to", "descoped")
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr == f"error: {tmp_path / 'subs.yaml'} can't be written: Permission denied\n"
    assert {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before


@pytest.mark.parametrize("to", ["descoped", "v2alpha1"])
def test_files_outside_of_the_folder_are_left_alone(tmp_path: Path, to: str) -> None:
    """The files of a base are other overlays' as well: no file is changed."""
    overlay, base = tmp_path / "overlay", tmp_path / "base"
    case = {**TWO, "olmc": {}, "operators": [{"name": "kettle.v1.0.0", "into": ["aa"]}]}
    workspace(overlay, case)
    base.mkdir()
    files = {"groups.yaml": GROUPS, "subs.yaml": subscription("aa"), "ns.yaml": NAMESPACES}
    for name, text in {**files, "kustomization.yaml": yaml.safe_dump({"resources": list(files)})}.items():
        (base / name).write_text(text)
    (overlay / "kustomization.yaml").write_text("resources: [../base]\n")
    result = migrate(overlay, "--to", to)
    if shutil.which("kubectl") or shutil.which("kustomize"):
        assert result.exit_code == 1, result.output
        named = {"descoped": "groups.yaml", "v2alpha1": "subs.yaml"}[to]
        assert f"base/{named} is outside of the folder that is migrated [OLMC695]" in result.output
    else:
        assert "OLMC193" in result.output
    assert {name: (base / name).read_text() for name in files} == files
    assert not (overlay / "olmc.yaml").exists()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\n", "apiVersion: olmc.dev/v1alpha1\nkind: Config\nspec:\n  a: 1\n"),
        ("# ours\n", "# ours\napiVersion: olmc.dev/v1alpha1\nkind: Config\nspec:\n  a: 1\n"),
        ("[1]\n", None), ("null\n", None), ("--- \n", None), ("{}\n", None), ("spec: [1]\n", None), ("x\n", None),
    ],
)  # fmt: skip
def test_settings_of_a_file_that_is_no_mapping(text: str, expected: str | None) -> None:
    """Where there is nothing but comments they are added; what is something else is not edited."""
    if expected is None:
        with pytest.raises(EditError):
            with_settings(text, lambda _: {"a": 1})
    else:
        assert with_settings(text, lambda _: {"a": 1}) == expected
