"""`olmc fn` as kustomize's functions-spec asks for it: ResourceList in, ResourceList out, valid whatever happens."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st
from pipeline_workshop import FIXTURES, Object, name_of, stream
from properties import examples

from olmc.cli.main import main
from olmc.integrations.pipelines.function import RENDERED_FROM, SUBSTITUTE, run

V1 = "config.kubernetes.io/v1"
WITHOUT_OLM = ["Deployment/harbour/beacon-controller"]


@pytest.fixture(autouse=True)
def inside_fixtures(monkeypatch: pytest.MonkeyPatch) -> None:
    """The working directory, to which `path` is relative."""
    monkeypatch.chdir(FIXTURES)


def render(**spec: Any) -> Object:
    """A functionConfig."""
    return {"apiVersion": "olmc.dev/v1alpha1", "kind": "Render", "metadata": {"name": "r"}, "spec": spec}


def called(config: Object | None, items: Sequence[Object] = (), api_version: str = V1) -> Result:
    """What `olmc fn` gives for a ResourceList."""
    given: Object = {"apiVersion": api_version, "kind": "ResourceList", "items": list(items)}
    return fed(yaml.safe_dump(given | ({"functionConfig": config} if config else {})))


def fed(text: str | bytes, *options: str) -> Result:
    """What `olmc fn` gives for a text on stdin."""
    result = CliRunner().invoke(main, ["fn", *options], input=text)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    return result


def listed(result: Result) -> Object:
    """The ResourceList that came out."""
    (document,) = stream(result.stdout)
    assert isinstance(document["items"], list)
    return document


def items_of(result: Result) -> list[str]:
    return [name_of(item) for item in listed(result)["items"]]


def codes(result: Result) -> list[str]:
    return [each["tags"]["code"] for each in listed(result).get("results", [])]


def config_map(name: str, **annotations: str) -> Object:
    metadata: Object = {"name": name, "namespace": "harbour"}
    if annotations:
        metadata["annotations"] = {key.replace("__", "/"): value for key, value in annotations.items()}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


def test_a_path_is_rendered_and_joins_the_items() -> None:
    result = called(render(path="own-namespace", **{"for": "apply"}, include=["Deployment"]), [config_map("mine")])
    assert result.exit_code == 0, result.stderr
    assert items_of(result) == ["ConfigMap/harbour/mine", *WITHOUT_OLM]
    out = listed(result)
    assert (out["apiVersion"], out["kind"]) == (V1, "ResourceList")
    assert out["functionConfig"]["spec"]["path"] == "own-namespace"
    assert "results" not in out


def test_the_objects_are_those_of_render() -> None:
    printed = CliRunner().invoke(main, ["render", "own-namespace", "--for", "apply", "-o", "json"])
    result = called(render(path="own-namespace", **{"for": "apply"}))
    assert listed(result)["items"] == json.loads(printed.stdout)["items"]


@pytest.mark.parametrize("api_version", [V1, "config.kubernetes.io/v1beta1", "config.kubernetes.io/v1alpha1"])
def test_the_list_is_of_the_version_that_was_given(api_version: str) -> None:
    result = called(render(path="own-namespace"), api_version=api_version)
    assert (result.exit_code, listed(result)["apiVersion"]) == (0, api_version)


def test_options_have_the_names_of_render() -> None:
    """As in YAML, or as on the command line."""
    for key in ("kubeVersion", "kube-version"):
        assert called(render(path="own-namespace", **{key: "1.30"})).exit_code == 0
        assert "no version" not in called(render(path="own-namespace", **{key: "1.30"})).stderr
    assert codes(called(render(path="bare-bundle", watch=["a"], allNamespaces=True))) == ["OLMC601"]
    result = called(render(path="bare-bundle", namespace="tools", watch=["tools"], include=["Deployment"]))
    (deployment,) = listed(result)["items"]
    assert deployment["metadata"]["namespace"] == "tools"
    assert deployment["spec"]["template"]["metadata"]["annotations"]["olm.targetNamespaces"] == "tools"


def test_the_proposed_apis_can_be_asked_for() -> None:
    """With the same outcome as on the command line, for what olmc.yaml has and for what is chosen for a run."""
    spec = {"enableV2alpha1": True, "approveInstalls": True, "as": "jane", "asGroup": ["system:masters"]}
    result = called(render(path="operator-v2alpha1", **spec))
    flags = ("--enable-v2alpha1", "--approve-installs", "--as", "jane", "--as-group", "system:masters")
    printed = CliRunner().invoke(main, ["render", "operator-v2alpha1", "-o", "json", *flags])
    assert result.exit_code == 0, result.stderr
    assert listed(result)["items"] == json.loads(printed.stdout)["items"]


def test_every_option_of_render_is_a_setting() -> None:
    """All but those that say where input is, where output goes and which state it begins with, how long a run may take
    and with what, and what of it is proven or shown; `--api` is `apis`."""
    from olmc.integrations.pipelines.argocd import known_settings, option_name

    options = {option.removeprefix("--") for each in main.get_command(None, "render").params for option in each.opts}  # type: ignore[arg-type, union-attr]
    places = {
        "output",
        "output-dir",
        "check",
        "fail-on-change",
        "color",
        "help-all",
        "paths",
        "entry",
        "api",
        "apis-from",
        "from",
        "prune",
        "delete",
        "provenance",
        "locked",
        "resolve-timeout",
        "show-secrets",
        "no-cache",
        "timings",
        "jobs",
        "-n",
        "-o",
        "-v",
    }
    assert options - places == {option_name(name) for name in known_settings()} - {
        "path", "apis", "namespaces", "global-catalog-namespace", "legacy-upgrade-precedence", "legacy-crd-rules"
    }  # fmt: skip


def test_a_config_map_is_a_function_config_too() -> None:
    """What `kpt fn eval -- key=value` makes; its values are texts."""
    data = {"path": "bare-bundle", "for": "apply", "watch": "tools", "namespace": "tools"}
    data["include"] = "Deployment, Role"
    result = called({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "function-input"}, "data": data})
    assert result.exit_code == 0, result.stderr
    assert [name.partition("/")[0] for name in items_of(result)] == ["Role", "Deployment"]


def test_what_the_command_line_says_wins_over_the_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path.parent)
    (tmp_path / "olmc.yaml").write_text(
        "apiVersion: olmc.dev/v1alpha1\nkind: Config\nspec: {for: apply, include: [ConfigMap]}\n", encoding="utf-8"
    )
    group = "{apiVersion: operators.coreos.com/v1, kind: OperatorGroup, metadata: {name: g, namespace: default}}"
    (tmp_path / "a.yaml").write_text(f"{group}\n---\n{json.dumps(config_map('a'))}\n", encoding="utf-8")
    assert items_of(called(render(path=str(tmp_path)))) == ["ConfigMap/harbour/a"]
    chosen = called(render(path=str(tmp_path), include=["OperatorGroup"], **{"for": "review"}))
    assert items_of(chosen) == ["OperatorGroup/default/g"]


def workspace_items() -> list[Object]:
    """A CSV that was applied by hand, with its group, as an orchestrator would hand them over."""
    text = "---\n".join((FIXTURES / "bare-csv" / name).read_text() for name in ("cluster.yaml", "tide.csv.yaml"))
    items = stream(text)
    for number, item in enumerate(items):
        item["metadata"]["annotations"] = {
            "config.kubernetes.io/path": f"deploy/{number}.yaml",
            "config.kubernetes.io/index": "0",
            "internal.config.kubernetes.io/path": f"deploy/{number}.yaml",
            "internal.config.kubernetes.io/index": "0",
            "internal.config.kubernetes.io/seqindent": "compact",
            "internal.config.kubernetes.io/annotations-migration-resource-id": str(number),
            "internal.config.kubernetes.io/id": str(number + 1),
            "config.k8s.io/id": str(number + 1),
            "kustomize.config.k8s.io/id": f"kind: {item['kind']}\nname: {item['metadata']['name']}\nversion: v1\n",
        }
    return items


@pytest.mark.parametrize("path", ["../{name}", "{outside}", "away", "..", "/", "round"])
def test_a_path_leads_nowhere_but_into_the_root(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The functionConfig is a stranger's: what lies beside the package is not for it to read."""
    outside = shutil.copytree(FIXTURES / "own-namespace", tmp_path / "secrets")
    package = tmp_path / "package"
    package.mkdir()
    (package / "away").symlink_to(outside)
    (package / "round").symlink_to("round")
    monkeypatch.chdir(package)
    result = called(render(path=path.format(name="secrets", outside=outside)), [config_map("mine")])
    assert result.exit_code == 3
    assert items_of(result) == ["ConfigMap/harbour/mine"]
    assert codes(result) == ["OLMC601"]
    assert "is not in the folder that olmc plugin fn may read" in result.stdout


def test_whoever_calls_the_function_may_name_another_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(FIXTURES / "own-namespace", tmp_path / "workspace")
    (tmp_path / "package").mkdir()
    monkeypatch.chdir(tmp_path / "package")
    config = render(path="../workspace", include=["Deployment"])
    text = yaml.safe_dump({"apiVersion": V1, "kind": "ResourceList", "items": [], "functionConfig": config})
    assert items_of(fed(text, "--root", "..")) == ["Deployment/harbour/beacon-controller"]


def test_without_a_path_the_items_are_the_workspace() -> None:
    result = called(render(), workspace_items())
    expected = CliRunner().invoke(main, ["render", "bare-csv", "-o", "name"])
    assert result.exit_code == expected.exit_code, result.stderr
    assert items_of(result) == expected.stdout.split()


def test_the_orchestrators_annotations_stay_and_do_not_spread() -> None:
    """They are no part of what is compiled: OLM projects the annotations of a CSV into pods and copies."""
    before = {name_of(item): item["metadata"]["annotations"] for item in workspace_items()}
    after = {name_of(item): item for item in listed(called(render(), workspace_items()))["items"]}
    for name, bookkeeping in before.items():
        assert bookkeeping.items() <= after[name]["metadata"]["annotations"].items(), name
    for name, item in after.items():
        if name not in before:
            assert "config.kubernetes.io" not in json.dumps(item), name
            assert "config.k8s.io" not in json.dumps(item), name


def test_items_for_tools_are_passed_on() -> None:
    kptfile = {"apiVersion": "kpt.dev/v1", "kind": "Kptfile", "metadata": {"name": "pkg"}}
    local = config_map("local", config_kubernetes_io__local_config="true")
    local["metadata"]["annotations"] = {"config.kubernetes.io/local-config": "true"}
    result = called(render(**{"for": "apply"}), [kptfile, local, *workspace_items()])
    assert listed(result)["items"][:2] == [kptfile, local]
    assert items_of(result).count("ConfigMap/harbour/local") == 1


def test_in_a_package_a_second_run_changes_nothing() -> None:
    """Rendered objects are known by their mark and keep their files; what is no longer rendered goes."""
    config = render(path="own-namespace", **{"for": "apply"})
    kptfile = {
        "apiVersion": "kpt.dev/v1",
        "kind": "Kptfile",
        "metadata": {"name": "pkg", "annotations": {"internal.config.kubernetes.io/path": "Kptfile"}},
    }
    first = listed(called(config, [kptfile]))["items"]
    assert all(item["metadata"]["annotations"][RENDERED_FROM] == "own-namespace" for item in first[1:])
    for item in first[1:]:
        item["metadata"]["annotations"]["internal.config.kubernetes.io/path"] = f"out/{item['metadata']['name']}.yaml"
    assert listed(called(config, first))["items"] == first
    fewer = called(render(path="own-namespace", include=["Deployment"], **{"for": "apply"}), first)
    assert items_of(fewer) == ["Kptfile/pkg", *WITHOUT_OLM]
    other = called(render(path="single-namespace", include=["Deployment"], **{"for": "apply"}), [first[0], *first[-1:]])
    assert len(listed(other)["items"]) == 3


def test_no_mark_where_items_are_no_files() -> None:
    assert RENDERED_FROM not in called(render(path="own-namespace"), [config_map("mine")]).stdout


def test_an_item_of_somebody_else_is_not_replaced() -> None:
    """OLMC602."""
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "harbour", "labels": {"a": "b"}}}
    result = called(render(path="own-namespace"), [namespace])
    assert (result.exit_code, codes(result), listed(result)["items"]) == (3, ["OLMC602"], [namespace])
    same = listed(called(render(path="own-namespace", include=["Namespace"])))["items"]
    again = called(render(path="own-namespace", include=["Namespace"]), same)
    assert (again.exit_code, listed(again)["items"]) == (0, same)


def test_findings_are_results() -> None:
    """The exit code is not 0, and the list is there: kustomize reads it all the same."""
    result = called(render(path="requirements-not-met", **{"for": "apply"}), [config_map("mine")])
    assert result.exit_code == 1
    half, found = listed(result)["results"]
    assert (half["severity"], half["tags"]) == ("error", {"code": "OLMC322"})
    assert found["severity"] == "error"
    assert "would stay Pending" in found["message"]
    assert found["file"] == {
        "path": "requirements-not-met/bundles/crane-1.0.0/manifests/crane.clusterserviceversion.yaml"
    }
    assert found["tags"] == {"code": "OLMC302", "line": "4", "column": "9"}
    assert "OLMC302" in result.stderr
    assert "ConfigMap/harbour/mine" in items_of(result)


def test_half_an_output_leaves_the_items_as_they_are() -> None:
    """With a path what an earlier run has rendered stays, without one the workspace; the settings can say otherwise."""
    earlier = listed(called(render(path="own-namespace", **{"for": "apply"}), [in_file("mine")]))["items"]
    assert len(earlier) > 10
    config = render(path="requirements-not-met", **{"for": "apply"})
    assert listed(called(config, earlier))["items"] == earlier
    assert "set keepGoing: true in the functionConfig" in listed(called(config, earlier))["results"][0]["message"]
    going = called(render(path="requirements-not-met", keepGoing=True, **{"for": "apply"}), [config_map("mine")])
    assert (going.exit_code, codes(going)) == (0, ["OLMC302"])
    assert {"Namespace/harbour", "ConfigMap/harbour/mine"} <= set(items_of(going))
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: s}\ndata: {for: apply, keepGoing: 'true', phase: '1'}\n"
    assert called(yaml.safe_load(text), [config_map("mine")]).exit_code == 0


def in_file(name: str) -> Object:
    """An item that is a file of a package."""
    made = config_map(name)
    annotations = {"internal.config.kubernetes.io/path": f"{name}.yaml", "internal.config.kubernetes.io/index": "0"}
    return {**made, "metadata": {**made["metadata"], "annotations": annotations}}


def test_a_finding_about_an_item_names_it_and_its_file() -> None:
    """resourceRef and file, as the results of a function have them."""
    items = workspace_items()
    (group,) = (item for item in items if item["kind"] == "OperatorGroup")
    group["spec"] = {"targetNamespaces": "harbour"}
    result = called(render(), items)
    found = [each for each in listed(result)["results"] if each["tags"]["code"] == "OLMC129"]
    assert found[0]["resourceRef"] == {
        "apiVersion": "operators.coreos.com/v1", "kind": "OperatorGroup", "namespace": "harbour", "name": "quay"
    }  # fmt: skip
    assert found[0]["file"]["path"] == "deploy/1.yaml"
    assert found[0]["severity"] == "error"


@pytest.mark.parametrize(
    ("config", "code", "told"),
    [
        (render(path="nowhere"), "OLMC120", "nowhere does not exist"),
        (render(path="no\0where"), "OLMC120", "no\0where does not exist"),
        (render(path="own-namespace", fore="apply"), "OLMC601", "Did you mean for?"),
        (render(path="own-namespace", **{"for": "fun"}), "OLMC601", "'fun' is not one of"),
        (render(path="bare-bundle", watch="a"), "OLMC601", "'a' is a text, not a list"),
        (render(), "OLMC321", "allowEmpty"),
        (render(path="own-namespace", include=["CronJob"]), "OLMC321", "include leaves none of the 25 that there are"),
        ({"apiVersion": "v1", "kind": "Secret"}, "OLMC601", "not v1 Secret"),
        ({"apiVersion": "olmc.dev/v1alpha1", "kind": "Render", "spec": [1]}, "OLMC601", "spec is no map"),
        ({"kind": "ConfigMap", "apiVersion": "v1", "data": {"verbose": "perhaps"}}, "OLMC601", "'perhaps'"),
    ],
)
def test_what_can_not_be_done_leaves_the_items_alone(config: Object, code: str, told: str) -> None:
    mine = [{"apiVersion": "kpt.dev/v1", "kind": "Kptfile", "metadata": {"name": "pkg"}}]
    result = called(config, mine)
    assert (result.exit_code, codes(result), listed(result)["items"]) == (3, [code], mine)
    assert told in listed(result)["results"][0]["message"]


@pytest.mark.parametrize(
    "text",
    [
        "", "---\n", "a: [", "- 1\n", "text", "{apiVersion: v1, kind: Pod}", "\x00", b"\xff\xfe",
        "{apiVersion: v2, kind: ResourceList, items: []}",
        f"{{apiVersion: {V1}, kind: ResourceList, items: {{}}}}",
        f"{{apiVersion: {V1}, kind: ResourceList, items: [1]}}",
        f"{{apiVersion: {V1}, kind: ResourceList, items: [{{apiVersion: v1, kind: A, metadata: 3}}]}}",
        f"{{apiVersion: {V1}, kind: ResourceList, items: [{{apiVersion: v1, kind: A, metadata: {{name: [a]}}}}]}}",
        f"{{apiVersion: {V1}, kind: ResourceList, items: [], functionConfig: [1]}}",
        f"{{apiVersion: {V1}, kind: ResourceList, items: []}}\n---\n{{apiVersion: {V1}, kind: ResourceList}}",
    ],
)  # fmt: skip
def test_the_output_is_a_list_whatever_comes_in(text: str | bytes) -> None:
    result = fed(text)
    assert result.exit_code == 3
    assert "OLMC600" in codes(result)
    assert listed(result)["kind"] == "ResourceList"


@examples(60)
@given(st.text(alphabet="{}[]:-,#&*! \nabv1\"'", max_size=60))
def test_no_text_makes_it_stumble(text: str) -> None:
    """Property: the output is one YAML document with items."""
    outcome = run(text)
    (document,) = stream(outcome.text)
    assert document["items"] == []
    assert outcome.diagnostics


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["", "a", "v1", "true", "all", "own-namespace"]),
    lambda below: (
        st.lists(below, max_size=2)
        | st.dictionaries(st.sampled_from(["name", "namespace", "annotations", "labels", "a"]), below, max_size=3)
    ),
    max_leaves=5,
)
KINDS = st.sampled_from(["ConfigMap", "Namespace", "OperatorGroup", "Subscription", "ClusterServiceVersion", "List"])
ITEMS = st.fixed_dictionaries(
    {"apiVersion": st.sampled_from(["v1", "operators.coreos.com/v1alpha1", "kpt.dev/v1"]), "kind": KINDS},
    optional={"metadata": VALUES, "spec": VALUES, "data": VALUES, "items": VALUES},
)
NAMES = st.sampled_from(["for", "include", "watch", "verbose", "allowEmpty", "x"])
SETTINGS = st.dictionaries(NAMES, VALUES, max_size=2)
CONFIGS = st.fixed_dictionaries(
    {"apiVersion": st.just("olmc.dev/v1alpha1"), "kind": st.sampled_from(["Render", "ConfigMap"])},
    optional={"spec": SETTINGS | VALUES, "data": SETTINGS | VALUES},
)


@examples(150)
@given(st.lists(ITEMS, max_size=3), CONFIGS | VALUES)
def test_no_resource_list_makes_it_stumble(items: Sequence[Object], config: Any) -> None:
    """Property: a list comes out, and after an error it has the items that came in."""
    given = {"apiVersion": V1, "kind": "ResourceList", "items": items, "functionConfig": config}
    outcome = run(json.dumps(given))
    (document,) = stream(outcome.text)
    assert isinstance(document["items"], list)
    codes = {result["tags"]["code"] for result in document.get("results", ())}
    if codes & {"OLMC601", "OLMC321"}:
        assert document["items"] == items


def test_a_warning_about_the_list_stops_nothing() -> None:
    text = json.dumps({"apiVersion": V1, "kind": "ResourceList", "items": [], "functionConfig": render(path="upgrade")})
    result = fed(text.replace('"kind": "ResourceList"', '"kind": "ResourceList", "kind": "ResourceList"'))
    assert result.exit_code == 0
    (found,) = listed(result)["results"]
    assert (found["severity"], "file" in found) == ("warning", False)
    assert len(listed(result)["items"]) > 10


@pytest.mark.process
def test_a_terminal_is_no_input() -> None:
    """Somebody tries the command: it does not wait for what will never come."""
    main_end, end = os.openpty()
    done = subprocess.run([sys.executable, "-m", "olmc", "fn"], stdin=end, capture_output=True, text=True, check=False)
    os.close(main_end)
    os.close(end)
    assert (done.returncode, "stdin" in done.stderr) == (2, True)


def test_a_plain_list_comes_back_as_one() -> None:
    """The specification lets functions be run on any List."""
    given: Mapping[str, Any] = {"apiVersion": "v1", "kind": "List", "items": workspace_items()}
    out = listed(fed(json.dumps(given)))
    assert (out["apiVersion"], out["kind"], "results" in out) == ("v1", "List", False)
    assert len(out["items"]) > len(given["items"])


def test_remarks_are_results_on_request() -> None:
    assert codes(called(render(path="manual-approval"))) == []
    assert "OLMC312" in codes(called(render(path="manual-approval", verbose=True)))


VARIABLE: Object = {
    "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "script", "namespace": "harbour"},
    "data": {"run.sh": "echo ${HOME}"},
}  # fmt: skip


@pytest.mark.parametrize("wanted", [True, False])
def test_flux_leaves_variables_alone_on_request(wanted: bool) -> None:
    """`flux` is `olmc render --flux`: objects that hold `${` are marked, the others are not."""
    out = listed(called(render(flux=wanted), [*workspace_items(), VARIABLE]))["items"]
    marked = [name_of(item) for item in out if SUBSTITUTE in (item["metadata"].get("annotations") or {})]
    assert "ConfigMap/harbour/script" in [name_of(item) for item in out]
    assert marked == (["ConfigMap/harbour/script"] if wanted else [])
