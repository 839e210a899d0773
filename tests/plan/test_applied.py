"""What a GitOps tool applies: only what differs from what it has applied before."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from olmc.cli.main import main

GROUP = """
apiVersion: operators.coreos.com/v1
kind: OperatorGroup
metadata: {name: harbour, namespace: harbour}
spec:
  targetNamespaces: [harbour]
  selector: {matchLabels: {}}
  serviceAccountName: ''
"""


def test_what_olm_leaves_out_of_a_group_is_no_change(project: Path, tmp_path: Path) -> None:
    """R-OG-13: with the annotation OLM writes the spec without what is empty, and the repository still has it."""
    folder = tmp_path / "repository"
    shutil.copytree(project / "fixtures/transitions/subscription-removed/before", folder)
    operators = (folder / "operators.yaml").read_text(encoding="utf-8")
    others = [text for text in operators.split("---\n") if "kind: OperatorGroup" not in text]
    (folder / "operators.yaml").write_text("---\n".join([*others, GROUP]), encoding="utf-8")
    result = CliRunner().invoke(main, ["plan", str(folder), "--from", str(folder), "-o", "json"])
    plan = json.loads(result.stdout)
    assert plan["operators"][0]["phase"] == "Succeeded"
    assert plan["applied"] == []


ROLES = """
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: kettle-sum}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {kettle/to-sum: "true"}}]}
rules: []
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: kettle-part, labels: {kettle/to-sum: "true"}}
rules: [{apiGroups: [""], resources: [pods], verbs: [VERB]}]
"""


def test_rules_that_kubernetes_fills_into_a_role_are_no_change(project: Path, tmp_path: Path) -> None:
    """An apply leaves the rules of a ClusterRole with an aggregationRule to the controller of Kubernetes."""
    folders = [tmp_path / verb for verb in ("get", "list")]
    for folder in folders:
        shutil.copytree(project / "fixtures/own-namespace", folder)
        (folder / "roles.yaml").write_text(ROLES.replace("VERB", folder.name), encoding="utf-8")
    result = CliRunner().invoke(main, ["plan", str(folders[1]), "--from", str(folders[0]), "-o", "json"])
    applied = json.loads(result.stdout)["applied"]
    assert [change["object"]["name"] for change in applied] == ["kettle-part"]


@pytest.mark.parametrize("static", [False, True])
def test_the_apis_that_olm_writes_into_a_group_are_no_change(project: Path, tmp_path: Path, static: bool) -> None:
    """R-OG-13: OLM replaces the annotation of a group that is not static, whatever a manifest has in it."""
    folders = [tmp_path / kind for kind in ("Kettle", "Tide")]
    for folder in folders:
        shutil.copytree(project / "fixtures/own-namespace", folder)
        spec = f"spec: {{targetNamespaces: [tools], staticProvidedAPIs: {str(static).lower()}}}"
        annotation = f"annotations: {{olm.providedAPIs: {folder.name}.v1.example.com}}"
        text = f"{{name: tools, namespace: tools, {annotation}}}\n{spec}\n---\n"
        namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: tools}\n"
        group = f"apiVersion: operators.coreos.com/v1\nkind: OperatorGroup\nmetadata: {text}"
        (folder / "tools.yaml").write_text(group + namespace, encoding="utf-8")
    result = CliRunner().invoke(main, ["plan", str(folders[1]), "--from", str(folders[0]), "-o", "json"])
    names = [change["object"]["name"] for change in json.loads(result.stdout)["applied"]]
    assert names == (["tools"] if static else [])


SUBSCRIPTION = "kind: Subscription\n"


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (SUBSCRIPTION, "kind: Subscripton\n"),
        ("apiVersion: operators.coreos.com/v1alpha1\nkind: Subscription\n",
         "apiVersion: operators.coreos.com/v1\nkind: Subscription\n"),
        ("  channel: ", "  channel: [1]\n  startingCSV: "),
    ],
    ids=["kind", "apiVersion", "field"],
)  # fmt: skip
def test_what_the_api_server_refuses_stays(project: Path, tmp_path: Path, right: str, wrong: str) -> None:
    """A Subscription whose new manifest is refused is not pruned, and its operator needs no removal."""
    before, after = tmp_path / "before", tmp_path / "after"
    for folder in (before, after):
        shutil.copytree(project / "fixtures/transitions/subscription-removed/before", folder)
    text = (after / "operators.yaml").read_text(encoding="utf-8")
    assert right in text
    (after / "operators.yaml").write_text(text.replace(right, wrong), encoding="utf-8")

    def planned(begin: Path) -> tuple[int, Any]:
        result = CliRunner().invoke(main, ["plan", str(after), "--from", str(begin), "-o", "json"])
        return result.exit_code, json.loads(result.stdout)

    code, plan = planned(before)
    assert code == 1
    assert [(change["action"], change["object"]["kind"]) for change in plan["applied"]] == [("refuse", "Subscription")]
    assert {change["kind"] for change in plan["difference"]["changes"]} <= {"LeftOutAdded"}
    assert [row["outcome"] for row in plan["operators"]] == ["unchanged"]
    assert not any(task["command"] for task in plan["tasks"])
    # What was refused before as well is no news.
    assert planned(after)[1]["applied"] == []


@pytest.mark.parametrize("output", ["text", "markdown", "html"])
def test_a_refused_object_is_in_each_output(project: Path, tmp_path: Path, output: str) -> None:
    before = project / "fixtures/transitions/subscription-removed/before"
    after = tmp_path / "after"
    shutil.copytree(before, after)
    text = (after / "operators.yaml").read_text(encoding="utf-8")
    (after / "operators.yaml").write_text(text.replace(SUBSCRIPTION, "kind: Subscripton\n"), encoding="utf-8")
    result = CliRunner().invoke(main, ["plan", str(after), "--from", str(before), "-o", output])
    assert result.exit_code == 1
    assert "Subscription/harbour/beacon: refused, so it stays as it is" in result.stdout.replace("<wbr>", "")


HELD = """
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: held, namespace: shop, finalizers: [example.org/hold, kubernetes.io/other]}
---
apiVersion: operators.coreos.com/v1
kind: OperatorGroup
metadata: {name: keepers, namespace: shop}
---
"""


def test_a_finalizer_of_no_controller_is_named(tmp_path: Path) -> None:
    """observed-83: the namespace stays Terminating, and the plan names the finalizer that holds it."""
    before, after = tmp_path / "before", tmp_path / "after"
    for folder, text in ((before, HELD + GROUP), (after, GROUP)):
        folder.mkdir()
        (folder / "objects.yaml").write_text(text, encoding="utf-8")
    shown = CliRunner().invoke(main, ["plan", str(after), "--from", str(before)]).stdout
    along = "and with it 3 ClusterRoles, 1 OperatorGroup, and it stays Terminating while a finalizer holds it"
    assert f"- Namespace/shop: pruned, {along}\n" in shown
    task = (
        "  ConfigMap/shop/held has the finalizer example.org/hold, and olmc finds no controller for it in the cluster: "
        "it and namespace shop stay in Terminating until the finalizer is removed."
    )
    assert task in shown
    assert "    $ kubectl -n shop edit configmap held\n" in shown
    (before / "objects.yaml").write_text(HELD.replace("example.org/hold, ", "") + GROUP, encoding="utf-8")
    assert "Terminating" not in CliRunner().invoke(main, ["plan", str(after), "--from", str(before)]).stdout
