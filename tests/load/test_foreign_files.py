"""What a repository holds besides manifests: files of other tools, and charts. None of it stops anything."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from commands import olmc
from scenarios import write
from small_files import bundle, catalog, loaded, names, namespace

from olmc.cli.main import main
from olmc.compiler.load.workspace_files import is_for_cluster

CHART = "apiVersion: v2\nname: kettle\nversion: 1.0.0\n"
SUBSCRIPTION = (
    "{{- if .Values.kettle }}\n---\napiVersion: operators.coreos.com/v1alpha1\nkind: Subscription\n"
    "metadata:\n  name: {{ .Values.kettle.name }}\n{{- end }}\n"
)
GROUP = "apiVersion: operators.coreos.com/v1\nkind: OperatorGroup\nmetadata: {name: all, namespace: harbour}\n"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("stack.yaml", "Resources:\n  Bucket:\n    Name: !Ref Harbour\n"),
        ("vars.yml", "password: !vault |\n  $ANSIBLE_VAULT;1.1;AES256\n"),
        ("play.yml", "- hosts: all\n  tasks:\n  - debug: {msg: {{ greeting }}}\n"),
        ("tsconfig.json", '{\n  // how strict\n  "compilerOptions": {"strict": true,}\n}\n'),
        ("values.gotmpl.yaml", "{{- range .hosts }}\nhost: {{ . }}\n{{- end }}\n"),
        ("apis.yaml", "# apiVersion: v1\n# kind: Namespace\nx: [\n"),
        ("config.yaml", "apiVersion: of our own\nkind: [\n"),
    ],
)
def test_a_file_of_another_tool_stops_nothing(path: str, text: str, tmp_path: Path) -> None:
    workspace, said = loaded(tmp_path, {path: text, "harbour.yaml": namespace("harbour")})
    assert names(workspace) == ["Namespace harbour"]
    assert [line.split(":")[0] for line in said] == [f"info OLMC180 {path}"]


@pytest.mark.parametrize(
    "text",
    [
        namespace("a") + "x: [\n",
        "- apiVersion: v1\n  kind: Namespace\n  x: [\n",
        '{"apiVersion": "apps/v1", "kind": "Deployment",}',
        '{"apiVersion": "v1" "kind": "Namespace"}',
        "'apiVersion': operators.coreos.com/v1alpha1\n'kind': Subscription\nspec: !odd x\n",
        "schema: olm.package\nname: [\n",
        '{"schema": "olm.bundle", "name": "kettle"',
    ],
)
def test_what_shows_that_it_is_for_a_cluster_is_an_error(text: str, tmp_path: Path) -> None:
    assert is_for_cluster(text)
    _, said = loaded(tmp_path, {"a.yaml": text})
    assert [line.split()[0] for line in said] == ["error"]


def test_catalogs_and_bundles_are_read_strictly(tmp_path: Path) -> None:
    given = {**bundle("kettle"), "catalogs/fleet/a.yaml": catalog("kettle", "1.0.0"), "catalogs/fleet/b.yaml": "x: [\n"}
    given["kettle/metadata/annotations.yaml"] = "x: [\n"
    _, said = loaded(tmp_path, given)
    assert [line.split(":")[0] for line in said] == [
        "failure OLMC200 catalogs/fleet/b.yaml", "error OLMC132 kettle/metadata/annotations.yaml",
    ]  # fmt: skip


def test_templates_of_a_chart_are_unknown_and_said_to_be(tmp_path: Path) -> None:
    given = {
        "charts/kettle/Chart.yaml": CHART,
        "charts/kettle/values.yaml": "kettle: {name: kettle}\n",
        "charts/kettle/templates/subscription.yaml": SUBSCRIPTION,
        "charts/kettle/templates/plain.yaml": namespace("plain"),
        "charts/kettle/crds/own.yaml": namespace("beside"),
        "charts/deck/Chart.yaml": CHART,
        "charts/deck/templates/deck.yaml": "{{ .Values.all }}\n",
        "charts/bare/Chart.yaml": CHART,
        "group.yaml": GROUP,
    }
    workspace, said = loaded(tmp_path, given)
    assert names(workspace) == ["Namespace beside", "OperatorGroup all"]
    assert [line for line in said if "OLMC18" in line] == [
        "info OLMC182 charts/deck/Chart.yaml", "warning OLMC181 charts/kettle/Chart.yaml",
    ]  # fmt: skip
    result = CliRunner().invoke(main, ["check", str(tmp_path)])
    assert "1 template in charts/deck" not in result.stdout
    assert "not rendered: 2 templates in charts/kettle/templates/; " in result.stdout
    assert "is unknown (Subscription)" in result.stdout
    assert "left out" not in result.stdout, "the templates are, and the line above says so"


def test_a_folder_called_templates_is_nothing_special_without_a_chart(tmp_path: Path) -> None:
    workspace, _ = loaded(tmp_path, {"templates/a.yaml": namespace("a")})
    assert names(workspace) == ["Namespace a"]


@pytest.mark.parametrize("command", ["check", "status", "resolve", "render"])
def test_one_line_says_what_is_left_aside(command: str, tmp_path: Path) -> None:
    given = {"a.yaml": namespace("a"), "stack.yaml": "x: !Ref y\n", "more.yaml": "x: !Ref y\n"}
    given |= {"deck/Chart.yaml": CHART, "deck/templates/deck.yaml": "{{ .Values.all }}\n"}
    result = CliRunner().invoke(main, [command, str(write(tmp_path, given))])
    line = (
        "olmc: left aside: 2 files of other tools that can't be read, 1 Helm chart that is not rendered "
        f"(olmc check --all {tmp_path} lists them)"
    )
    assert result.stderr.splitlines().count(line) == 1


def test_verbose_lists_what_is_left_aside(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["check", "-v", str(write(tmp_path, {"stack.yaml": "x: !Ref y\n"}))])
    assert "stack.yaml:1:4: info: stack.yaml is left aside" in result.stdout
    assert "left aside" not in result.stderr


PARTS = {
    "deploy/ingress/10-replicas.yaml": "apiVersion: operator.example.com/v1\nkind: Ingress\nspec: {replicas: 3}\n",
    "deploy/labels/01-harbour.patch.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {labels: {a: b}}\n",
    "resources/template.yaml": "kind: RoleTemplate\nid: beacon\n",
}


def test_parts_of_objects_for_other_tools_are_left_aside(tmp_path: Path) -> None:
    """A patch has no name, and a file of another tool no apiVersion; the API server gets neither of them."""
    namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: harbour}\n"
    write(tmp_path, {**PARTS, "deploy/namespace.yaml": namespace})
    done = olmc("check", tmp_path)
    assert (done.exit_code, "OLMC126" in done.output, "OLMC145" in done.output) == (0, False, False), done.output
    assert olmc("check", tmp_path, "--all").output.count("OLMC125") == len(PARTS)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("apiVersion: v1\nkind: ConfigMap\nmetadata: {namespace: harbour}\n", "OLMC126"),
        ("apiVersion: operators.coreos.com/v1\nkind: OperatorGroup\nmetadata: {namespace: harbour}\n", "OLMC126"),
        ("apiVersion: olm.operatorframework.io/v1\nkind: ClusterExtension\nspec: {namespace: a}\n", "OLMC126"),
        ("kind: Deployment\nmetadata: {name: beacon}\n", "OLMC145"),
        ("apiversion: example.com/v1\nkind: Beacon\nmetadata: {name: beacon}\n", "OLMC145"),
    ],
)
def test_objects_that_olmc_knows_need_a_name_and_a_version(tmp_path: Path, text: str, code: str) -> None:
    write(tmp_path, {"a.yaml": text})
    assert code in olmc("check", tmp_path).output
