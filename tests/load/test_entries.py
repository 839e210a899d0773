"""A repository with several workspaces in it names them and takes none silently."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from scenarios import write

from olmc.cli.main import main
from olmc.compiler.load.entries import entries_at, may_have_been_repository, repository_at
from olmc.compiler.load.files import scan_workspace
from olmc.compiler.load.repository import build_repository
from olmc.compiler.model.options import Options

KIND = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: "
GROUP = "apiVersion: operators.coreos.com/v1\nkind: OperatorGroup\nmetadata: {name: all, namespace: harbour}\n"
APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: prod, namespace: argocd}
spec:
  source: {repoURL: https://git.example.com/harbour.git, path: overlays/prod}
"""
SEVERAL_SOURCES = APPLICATION.replace("source: {", "sources: [{").replace("prod}", "prod}]")
SET = """\
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: all}
spec:
  generators:
  - list: {elements: [{values: {path: overlays/prod}}]}
  template: {spec: {source: {path: '{{values.path}}'}}}
"""
FLUX = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: prod, namespace: flux-system}
spec: {path: ./overlays/prod, prune: true}
"""
REPOSITORY = {
    "base/kustomization.yaml": f"{KIND}Kustomization\nresources: [group.yaml]\n",
    "base/group.yaml": GROUP,
    "extra/kustomization.yaml": f"{KIND}Component\nresources: [group.yaml]\n",
    "extra/group.yaml": GROUP,
    "overlays/prod/kustomization.yaml": f"{KIND}Kustomization\nresources: [../../base]\n",
    "overlays/test/kustomization.yml": f"{KIND}Kustomization\nresources: [../../base]\ncomponents: [../../extra]\n",
    "settings/Kustomization": f"{KIND}Kustomization\nresources: [settings.yaml]\n",
    "settings/settings.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: harbour}\n",
}


def paths(root: Path) -> list[str]:
    return [str(entry) for entry in entries_at(root)]


def olmc(*arguments: str) -> Result:
    done = CliRunner().invoke(main, list(arguments))
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


def test_entries_are_what_no_other_kustomization_takes_in(tmp_path: Path) -> None:
    """Bases and components are parts of others, and settings have nothing of OLM."""
    write(tmp_path, REPOSITORY)
    assert paths(tmp_path) == ["overlays/prod", "overlays/test"]


@pytest.mark.parametrize(
    ("applied", "expected"),
    [(APPLICATION, "overlays/prod (Application/argocd/prod)"),
     (SEVERAL_SOURCES, "overlays/prod (Application/argocd/prod)"),
     (SET, "overlays/prod (ApplicationSet/all)"),
     (FLUX, "overlays/prod (Kustomization/flux-system/prod)"),
     (APPLICATION.replace("overlays/prod", "plain"), "plain (Application/argocd/prod)"),
     (APPLICATION.replace("overlays/prod", "base"), "base (Application/argocd/prod)")],
)  # fmt: skip
def test_argo_cd_and_flux_name_them(tmp_path: Path, applied: str, expected: str) -> None:
    write(tmp_path, {**REPOSITORY, "apps/apps.yaml": applied, "plain/group.yaml": GROUP})
    assert paths(tmp_path)[0] == expected


@pytest.mark.parametrize(
    ("path", "cluster"),
    [("clusters/north/app.yaml", "north"), ("argo/overlays/north/app.yaml", "north"),
     ("argo/overlays/stable/app.yaml", "in-cluster"), ("argo/overlays/fast-2.1/app.yaml", "in-cluster"),
     ("argo/overlays/4.16/app.yaml", "in-cluster"), ("argo/overlays/ocp-4.x/app.yaml", "in-cluster")],
)  # fmt: skip
def test_a_channel_or_a_version_is_no_name_of_a_cluster(tmp_path: Path, path: str, cluster: str) -> None:
    write(tmp_path, {**REPOSITORY, path: APPLICATION})
    assert entries_at(tmp_path)[0].appliers[0].destination.cluster == cluster


@pytest.mark.parametrize(("secret", "cluster"), [("north-kubeconfig", "north"), ("north", "north"), ("${a}-b", "")])
def test_flux_names_a_cluster_by_a_secret(tmp_path: Path, secret: str, cluster: str) -> None:
    text = FLUX.replace("prune: true", f'prune: true, kubeConfig: {{secretRef: {{name: "{secret}"}}}}')
    write(tmp_path, {**REPOSITORY, "app.yaml": text})
    assert entries_at(tmp_path)[0].appliers[0].destination.cluster == cluster


def test_examples_and_archives_are_entries_only_if_a_tool_applies_them(tmp_path: Path) -> None:
    aside = ("archive", ".archived", "docs/first", "beacon-examples/small", "samples", "tests/one")
    for name in aside:
        copied = {f"{name}/{path}": text for path, text in REPOSITORY.items()}
        write(tmp_path, {**REPOSITORY, **copied, f"{name}/app.yaml": APPLICATION})
    assert paths(tmp_path) == ["overlays/prod", "overlays/test"]
    write(tmp_path, {"app.yaml": APPLICATION.replace("overlays/prod", "docs/first/overlays/prod")})
    assert paths(tmp_path)[0] == "docs/first/overlays/prod (Application/argocd/prod)"


def test_paths_that_are_not_there_or_templates_are_no_entries(tmp_path: Path) -> None:
    for path in ("elsewhere", "../outside", "'{{path}}'", "settings"):
        write(tmp_path, {**REPOSITORY, "app.yaml": APPLICATION.replace("overlays/prod", path)})
        assert paths(tmp_path) == ["overlays/prod", "overlays/test"]


def test_commands_for_one_workspace_ask_for_one_of_them(tmp_path: Path) -> None:
    write(tmp_path, {**REPOSITORY, "app.yaml": APPLICATION})
    for command in ("render", "vendor"):
        done = olmc(command, str(tmp_path))
        assert done.exit_code == 3
        assert "OLMC195" in done.output
        assert "  overlays/prod (Application/argocd/prod)\n    overlays/test" in done.output


def test_kustomizations_that_take_in_each_other_are_no_endless_task(tmp_path: Path) -> None:
    write(tmp_path, {"a/kustomization.yaml": "resources: [../b]\n", "b/kustomization.yaml": "resources: [../a]\n"})
    assert paths(tmp_path) == []


def test_an_entry_is_chosen_by_its_folder_or_by_who_applies_it(tmp_path: Path) -> None:
    changed = APPLICATION.replace("path: overlays", "kustomize: {namePrefix: x}, path: overlays").replace(
        "prod", "plain"
    )
    write(tmp_path, {**REPOSITORY, "app.yaml": changed, "overlays/plain/group.yaml": GROUP})
    names = ("overlays/plain", "./overlays/plain/", "plain", "argocd/plain", "Application/argocd/plain")
    outputs = {olmc("render", str(tmp_path), "--entry", name, "-o", "name").stdout for name in names}
    assert len(outputs) == 1
    assert "OperatorGroup/harbour/all" in outputs.pop()
    assert (
        "with source.kustomize, which does not count here [OLMC196]"
        in olmc("check", str(tmp_path), "--entry", "plain").stderr
    )
    wrong = olmc("check", str(tmp_path), "--entry", "plian")
    assert (wrong.exit_code, "Did you mean plain?" in wrong.stderr) == (2, True)


def test_plain_folders_that_are_applied_each_by_itself_are_entries(tmp_path: Path) -> None:
    """An app of apps without a kustomization or a chart; a single one is the workspace that it always was."""
    one = APPLICATION.replace("overlays/prod", "operators/beacon")
    write(tmp_path, {"apps/one.yaml": one, "operators/beacon/group.yaml": GROUP, "operators/tide/group.yaml": GROUP})
    assert "OLMC195" not in olmc("check", str(tmp_path)).output
    write(tmp_path, {"apps/two.yaml": one.replace("prod", "tide").replace("beacon", "tide")})
    told = olmc("render", str(tmp_path)).output
    assert "this is no workspace but a repository with applications: 2 of its folders" in told
    assert "    operators/tide (Application/argocd/tide)\n" in told
    assert olmc("check", str(tmp_path)).exit_code == 0
    assert "OLMC195" not in olmc("check", str(tmp_path), "--entry", "tide").output


def test_a_folder_without_the_catalog_at_the_top_says_so(project: Path, tmp_path: Path) -> None:
    """A folder by itself has no catalogs of the repository; each command says how it would have them, if it would."""
    own = project / "fixtures/own-namespace"
    for name in ("beacon", "tide"):
        for file in ("cluster.yaml", "operators.yaml"):
            write(tmp_path, {f"operators/{name}/{file}": (own / file).read_text(encoding="utf-8")})
        shutil.copytree(own / "bundles", tmp_path / f"operators/{name}/bundles")
    one = APPLICATION.replace("overlays/prod", "operators/beacon")
    write(tmp_path, {"apps/one.yaml": one, "apps/two.yaml": one.replace("prod", "tide").replace("beacon", "tide")})
    (tmp_path / ".git").mkdir()
    hint = "Commands with --entry operators/beacon at the root of the repository use the catalog that is there."
    folder = str(tmp_path / "operators/beacon")
    commands = [("check", folder), ("resolve", folder), ("render", folder), ("get", "csv", folder), ("fix", folder)]
    assert not any(hint in olmc(*command).output for command in commands)
    shutil.copytree(own / "catalogs", tmp_path / "catalogs")
    for command in commands:
        assert hint in olmc(*command).output, command
    assert olmc("status", str(tmp_path), "--entry", "operators/beacon").exit_code == 0


def test_output_of_olmc_is_no_entry(tmp_path: Path) -> None:
    """A workspace with its rendering in it stays one workspace, whatever the rendering holds."""
    namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: harbour}\n"
    write(tmp_path, {"operators/group.yaml": f"{GROUP}---\n{namespace}"})
    for purpose in ("review", "apply"):
        done = olmc("render", str(tmp_path), "--for", purpose, "--output-dir", str(tmp_path / "rendered"))
        assert done.exit_code == 0, done.output
        assert (tmp_path / "rendered/kustomization.yaml").exists()
        assert "rendered" not in paths(tmp_path)
        assert "OLMC195" not in olmc("render", str(tmp_path)).output


def test_content_of_bundles_and_catalogs_applies_nothing(tmp_path: Path) -> None:
    """A repository of bundles has been none that a tool applies; its thousands of files need not be read for that."""
    bundle = {
        "kettle/1.0.0/metadata/annotations.yaml": "annotations: {}\n",
        "kettle/1.0.0/manifests/application.yaml": APPLICATION,
        "catalogs/cat/application.yaml": APPLICATION,
    }
    write(tmp_path, bundle)
    assert not may_have_been_repository(tmp_path, scan_workspace(tmp_path))
    write(tmp_path, {"apps/application.yaml": APPLICATION})
    assert may_have_been_repository(tmp_path, scan_workspace(tmp_path))


def test_flux_gives_namespaces_and_fills_in_variables(project: Path) -> None:
    """A variable from a Secret stays unknown, and a finding names it."""
    repository = repository_at(project / "fixtures/repos/flux-variables")
    assert repository is not None
    built = build_repository(repository, Options())
    asked = {
        str(manifest.object["metadata"]["namespace"]): (spec["channel"], spec["source"])
        for part in built.parts
        for content in part.contents
        for manifest in content.found.manifests
        if "channel" in (spec := manifest.object.get("spec", {}))
    }
    assert asked["harbour"] == ("stable", "operatorhubio-catalog")
    assert asked["tides"][1] == "operatorhubio-catalog"
    assert [each.code for each in built.findings] == ["OLMC166"]
    assert "${TIDE_CHANNEL}" in built.findings[0].message


def test_values_of_a_pattern_for_a_version_are_no_cluster(tmp_path: Path) -> None:
    """The pattern reads them over those of a group, whatever namespaces they add."""
    group = "clusterGroup:\n  name: hub\n  namespaces: [tides]\n  subscriptions: [{name: tide, namespace: tides}]\n"
    override = group.replace("  name: hub\n", "")
    files = {"values-hub.yaml": group, "values-edge.yaml": override}
    write(tmp_path, {**files, "values-4.20-hub.yaml": override, "values-4.21.yaml": override})
    assert [path.partition(" ")[0] for path in paths(tmp_path)] == ["values-edge.yaml", "values-hub.yaml"]


def test_groups_without_a_namespace_are_not_said_to_share_one(tmp_path: Path) -> None:
    """The tool that applies each folder decides its namespace."""
    homeless = GROUP.replace(", namespace: harbour", "")
    write(tmp_path, {"north/group.yaml": homeless, "south/group.yaml": homeless.replace("name: all", "name: some")})
    done = olmc("check", str(tmp_path))
    assert (done.exit_code, done.stdout.count("OLMC413"), "OLMC306" in done.stdout) == (0, 2, False)


SUBSCRIPTION = """\
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: tug, namespace: harbour}
spec: {name: tug, channel: stable, source: quay, sourceNamespace: olm}
"""
CATALOG = """\
apiVersion: operators.coreos.com/v1alpha1
kind: CatalogSource
metadata: {name: quay, namespace: pier}
spec: {sourceType: grpc, image: registry.example.com/catalog:v1}
"""


@pytest.mark.parametrize("folder", ["", "components/tug/"])
def test_a_group_without_a_namespace_may_be_that_of_a_subscription(folder: str, tmp_path: Path) -> None:
    """The tool that applies both decides that, in a workspace as in an entry of a repository (R-CSV-4)."""
    homeless = GROUP.replace(", namespace: harbour", "")
    write(tmp_path, {
        f"{folder}all.yaml": f"{homeless}---\n{SUBSCRIPTION}", f"{folder}kustomization.yaml": "resources: [all.yaml]\n",
        **({"components/other/kustomization.yaml": "resources: []\n"} if folder else {}),
    })  # fmt: skip
    checked, status, why = (
        olmc(*command, str(tmp_path)) for command in (("check",), ("status", "-o", "json"), ("why", "tug"))
    )
    assert (checked.exit_code, "OLMC315" in checked.stdout) == (0, False), checked.stdout
    assert "OLMC413" in checked.stdout or "OLMC165" in checked.stdout
    [row] = json.loads(status.stdout)["operators"]
    assert (status.exit_code, row["reason"], row["fails"]) == (0, "Unknown", False)
    text = "OLM resolves namespace harbour only if OperatorGroup all, without metadata.namespace, is applied there"
    assert [line["text"] for line in row["missing"]] == [text]
    assert "its operator is unknown" in why.stdout


@pytest.mark.parametrize("folder", ["", "components/tug/"])
def test_a_catalog_without_a_namespace_may_be_that_of_a_subscription(folder: str, tmp_path: Path) -> None:
    """R-CAT-501: olmc asks for no other namespace, and the operator is unknown."""
    homeless = CATALOG.replace(", namespace: pier", "")
    write(tmp_path, {
        f"{folder}all.yaml": f"{homeless}---\n{GROUP}---\n{SUBSCRIPTION}",
        f"{folder}kustomization.yaml": "resources: [all.yaml]\n",
        **({"components/other/kustomization.yaml": "resources: []\n"} if folder else {}),
    })  # fmt: skip
    checked, status, why = (
        olmc(*command, str(tmp_path)) for command in (("check",), ("status", "-o", "json"), ("why", "tug"))
    )
    assert (checked.exit_code, "failure" in checked.stdout) == (0, False), checked.stdout
    [row] = json.loads(status.stdout)["operators"]
    assert (row["reason"], row["fails"]) == ("Unknown", False)
    assert "sourceNamespace:" not in why.stdout
    if not folder:
        assert "If its CatalogSource is applied to namespace olm, add metadata.namespace: olm to it." in checked.stdout


def test_a_catalog_in_another_namespace_is_the_one_that_is_meant(tmp_path: Path) -> None:
    """R-CAT-501"""
    write(tmp_path, {"all.yaml": f"{CATALOG}---\n{GROUP}---\n{SUBSCRIPTION}"})
    done = olmc("check", str(tmp_path))
    assert (done.exit_code, "There is one in pier." in done.stdout) == (1, True)


def test_a_group_in_another_namespace_is_none_of_a_subscription(tmp_path: Path) -> None:
    """R-CSV-4"""
    write(tmp_path, {"all.yaml": f"{GROUP.replace('harbour', 'quay')}---\n{SUBSCRIPTION}"})
    done = olmc("check", str(tmp_path))
    assert (done.exit_code, "OLMC315" in done.stdout) == (1, True)


@pytest.mark.parametrize("kind", ["Application", "ApplicationSet"])
def test_the_one_folder_of_an_application_gets_its_namespace(kind: str, tmp_path: Path) -> None:
    """Objects of OLM without a namespace are in the one that the destination names, and no failure."""
    spec = "{destination: {namespace: harbour}, source: {repoURL: 'https://git.example.com/a.git', path: shop}}"
    if kind == "ApplicationSet":
        spec = f"{{generators: [{{clusters: {{}}}}], template: {{metadata: {{name: '{{{{name}}}}'}}, spec: {spec}}}}}"
    files = {
        "tool.yaml": f"apiVersion: argoproj.io/v1alpha1\nkind: {kind}\nmetadata: {{name: shop}}\nspec: {spec}\n",
        "shop/group.yaml": GROUP.replace(", namespace: harbour", ""),
    }
    write(tmp_path, files)
    found = repository_at(tmp_path)
    assert found is not None
    [part] = build_repository(found, Options()).parts
    [group] = [manifest.object for content in part.contents for manifest in content.found.manifests]
    assert group["metadata"] == {"name": "all", "namespace": "harbour"}
    assert "OLMC413" not in olmc("check", str(tmp_path)).stdout


def test_the_one_folder_of_an_application_is_a_workspace(tmp_path: Path) -> None:
    """Nothing depends on what applies it if its objects name their namespaces, or if that names none."""
    tool = APPLICATION.replace("overlays/prod", "shop")
    named = tool.replace("spec:", "spec:\n  destination: {namespace: other}")
    homeless = GROUP.replace(", namespace: harbour", "")
    for name, application, group in (("a", named, GROUP), ("b", tool, homeless)):
        write(tmp_path / name, {"tool.yaml": application, "shop/group.yaml": group})
        assert repository_at(tmp_path / name) is None
