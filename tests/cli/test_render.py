"""`olmc render`: what goes to stdout, to stderr, and with which exit code; where options come from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from commands import BROKEN, identities, kinds, names, olmc
from scenarios import write

from olmc.k8s.diagnostics import Report
from olmc.k8s.yaml import read


def test_three_formats_of_the_same_objects() -> None:
    as_yaml, as_json, as_names = (olmc("render", "own-namespace", "-o", form) for form in ("yaml", "json", "name"))
    assert [each.exit_code for each in (as_yaml, as_json, as_names)] == [0, 0, 0]
    listed = json.loads(as_json.stdout)
    assert (listed["apiVersion"], listed["kind"], list(listed)) == ("v1", "List", ["apiVersion", "kind", "items"])
    assert [document.value for document in read("out.yaml", as_yaml.stdout, Report())] == listed["items"]
    assert identities(as_yaml.stdout) == as_names.stdout.splitlines()
    assert len(listed["items"]) > 20
    assert as_json.stdout.endswith("}\n")
    assert as_yaml.stdout.count("\n---\n") == len(listed["items"]) - 1


def test_yaml_is_the_default_and_the_current_directory_the_path(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = olmc("render", "own-namespace", "-o", "yaml").stdout
    monkeypatch.chdir(project / "fixtures/own-namespace")
    assert olmc("render").stdout == expected
    assert olmc("render", ".").stdout == expected


def test_stdout_is_data_and_stderr_is_talk() -> None:
    result = olmc("render", "requirements-not-met")
    assert result.exit_code == 1
    assert "OLMC302" in result.stderr
    assert "OLMC302" not in result.stdout
    assert len(identities(result.stdout)) > 5


def test_what_is_merely_good_to_know_is_said_on_request() -> None:
    quiet, verbose = olmc("render", "manual-approval"), olmc("render", "manual-approval", "-v")
    assert quiet.stderr == ""
    assert "OLMC312" in verbose.stderr
    assert quiet.stdout == verbose.stdout


# Exit codes


def test_exit_code_0_when_all_is_well() -> None:
    result = olmc("render", "own-namespace")
    assert (result.exit_code, result.stderr) == (0, "")


def test_exit_code_1_when_an_operator_would_fail() -> None:
    result = olmc("render", "unsupported-mode", "-o", "name")
    assert result.exit_code == 1
    assert "ClusterServiceVersion/" in result.stdout
    assert "failure:" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["own-namespace", "--nope"], "No such option"),
        (["own-namespace", "-o", "toml"], "'toml' is not one of"),
        (["own-namespace", "--for", "fun"], "'fun' is not one of"),
        (["own-namespace", "--check"], "--check needs --output-dir"),
        (["bare-bundle", "--watch", "a", "--all-namespaces"], "exclude each other"),
        (["own-namespace", "--output-dir", "README.md"], "is a file"),
        (["own-namespace", "--kube-version", "new"], "v1.36.2"),
        (["bare-bundle", "-n", "Not_A_Name"], "'Not_A_Name' is no name for a namespace"),
        (["bare-bundle", "--watch", "a,B"], "'B' is no name for a namespace"),
    ],
)
def test_exit_code_2_for_wrong_usage(arguments: list[str], says: str) -> None:
    result = olmc("render", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert says in result.stderr


def test_exit_code_3_and_nothing_on_stdout_when_the_input_can_not_be_compiled(tmp_path: Path) -> None:
    result = olmc("render", write(tmp_path, BROKEN))
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr.startswith("b.yaml:1:")
    assert ": error: " in result.stderr


def test_all_or_nothing_over_several_paths(tmp_path: Path) -> None:
    for paths in (("own-namespace", write(tmp_path, BROKEN)), (tmp_path, "own-namespace")):
        result = olmc("render", *paths)
        assert (result.exit_code, result.stdout) == (3, "")


def test_no_objects_are_an_error_unless_they_are_allowed(tmp_path: Path) -> None:
    """An empty stream makes a pruning pipeline delete everything; for readers it is a warning."""
    read = olmc("render", tmp_path)
    assert (read.exit_code, read.stdout, "[OLMC183]" in read.stderr) == (0, "", True)
    applied = ("render", tmp_path, "--for", "apply")
    refused, allowed = olmc(*applied), olmc(*applied, "--allow-empty")
    assert (refused.exit_code, refused.stdout) == (3, "")
    assert "OLMC321" in refused.stderr
    assert "--allow-empty" in refused.stderr
    assert (allowed.exit_code, allowed.stdout, allowed.stderr) == (0, "", "")
    as_json = olmc("render", tmp_path, "--allow-empty", "-o", "json")
    assert json.loads(as_json.stdout) == {"apiVersion": "v1", "kind": "List", "items": []}
    assert olmc("render", "own-namespace", "--include", "CronJob").exit_code == 3


def test_a_path_that_is_not_there() -> None:
    result = olmc("render", "nothing-here")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "nothing-here does not exist [OLMC120]" in result.stderr


# What is shown


def test_several_paths_are_compiled_side_by_side() -> None:
    paths = ("several-workspaces/production", "several-workspaces/staging")
    both = names(*paths)
    assert both == names(paths[0]) + names(paths[1])
    assert {"ClusterServiceVersion/tide/tide.v1.0.0", "ClusterServiceVersion/tide/tide.v1.1.0"} <= set(both)


def test_only_some_kinds_are_shown() -> None:
    all_of_them = names("own-namespace")
    some = names("own-namespace", "--include", "Role", "--include", "Deployment")
    assert some == [name for name in all_of_them if name.startswith(("Role/", "Deployment/"))]
    assert kinds(some) == ["Role", "Deployment"]


def test_some_kinds_are_left_out() -> None:
    all_of_them = names("own-namespace")
    left = names("own-namespace", "--exclude", "Role", "--exclude", "ClusterServiceVersion")
    assert left == [name for name in all_of_them if not name.startswith(("Role/", "ClusterServiceVersion/"))]
    assert len(left) < len(all_of_them)
    assert kinds(names("own-namespace", "--include", "Role", "--include", "Namespace", "--exclude", "Role")) == [
        "Namespace"
    ]


def test_copied_csvs_can_be_replaced_by_surrogates() -> None:
    copies = {f"ClusterServiceVersion/{place}/ferry.v1.0.0" for place in ("north-pier", "south-pier")}
    shown, hidden = names("multi-namespace"), names("multi-namespace", "--no-copied-csvs")
    assert set(shown) - set(hidden) == copies
    surrogates = {f"ConfigMap/{place}/olm-surrogate.ferry.v1.0.0" for place in ("north-pier", "south-pier")}
    assert set(hidden) - set(shown) == surrogates
    assert names("multi-namespace", "--copied-csvs") == shown
    assert "ClusterServiceVersion/harbour/ferry.v1.0.0" in hidden


@pytest.mark.parametrize("approval", ["all", "harbour/beacon.v1.0.0"])
def test_a_plan_that_waits_can_count_as_approved_r_cat_607(approval: str) -> None:
    csv = "ClusterServiceVersion/harbour/beacon.v1.0.0"
    assert csv not in names("manual-approval")
    assert csv in olmc("render", "manual-approval", "-o", "name", "--approve", approval).stdout.splitlines()
    others = ("--approve", "harbour/beacon.v9.9.9", "--approve", "olm/beacon.v1.0.0")
    assert names("manual-approval", *others) == names("manual-approval")


def test_a_bundle_by_itself_is_installed_where_it_is_told_to() -> None:
    suggested, told = names("bare-bundle"), names("bare-bundle", "-n", "tools")
    assert {"Namespace/lighthouse", "Deployment/lighthouse/beacon-controller"} <= set(suggested)
    assert {"Namespace/tools", "Deployment/tools/beacon-controller"} <= set(told)
    assert not any("lighthouse" in name for name in told)


def group_of_bundle(*options: str) -> dict[str, Any]:
    result = olmc("render", "bare-bundle", "-n", "tools", "--include", "OperatorGroup", *options)
    (document,) = read("out.yaml", result.stdout, Report())
    value: dict[str, Any] = document.value
    return value


def test_the_scope_of_a_bundle_by_itself() -> None:
    assert group_of_bundle()["status"]["namespaces"] == [""]
    assert group_of_bundle("--all-namespaces") == group_of_bundle()
    assert group_of_bundle("--watch", "tools")["status"]["namespaces"] == ["tools"]
    assert group_of_bundle("--watch", "b,a")["spec"]["targetNamespaces"] == ["b", "a"]


def test_namespaces_to_watch_are_made_and_what_is_unsupported_is_a_finding() -> None:
    result = olmc("render", "bare-bundle", "-n", "tools", "--watch", "a,b", "-o", "name")
    assert {"Namespace/a", "Namespace/b", "Namespace/tools"} <= set(result.stdout.splitlines())
    assert result.exit_code == 1
    assert "(UnsupportedOperatorGroup)" in result.stderr


def test_for_apply_nothing_of_olm_is_left() -> None:
    shown = names("own-namespace", "--for", "apply")
    assert "Deployment/harbour/beacon-controller" in shown
    olm_kinds = {"OperatorGroup", "Subscription", "InstallPlan", "ClusterServiceVersion", "CatalogSource", "Operator"}
    assert olm_kinds.isdisjoint(kinds(shown))
    text = olmc("render", "own-namespace", "--for", "apply").stdout
    assert "ownerReferences" not in text
    assert "olm.owner" not in text


# Where options come from


@pytest.mark.parametrize(
    ("env", "options"),
    [
        ({"OLMC_RENDER_OUTPUT": "name"}, ["-o", "name"]),
        ({"OLMC_RENDER_INCLUDE": "Role Deployment"}, ["--include", "Role", "--include", "Deployment"]),
        ({"OLMC_RENDER_EXCLUDE": "Role"}, ["--exclude", "Role"]),
        ({"OLMC_RENDER_COPIED_CSVS": "false"}, ["--no-copied-csvs"]),
        ({"OLMC_RENDER_KUBE_VERSION": "v1.20.0"}, ["--kube-version", "v1.20.0"]),
        ({"OLMC_RENDER_VERBOSE": "1"}, ["-v"]),
    ],
)
def test_options_from_the_environment(env: dict[str, str], options: list[str]) -> None:
    plain = olmc("render", "multi-namespace", "-v")
    from_env = olmc("render", "multi-namespace", env=env)
    given = olmc("render", "multi-namespace", *options)
    assert (from_env.exit_code, from_env.stdout, from_env.stderr) == (given.exit_code, given.stdout, given.stderr)
    if "VERSION" not in str(env) and "VERBOSE" not in str(env):
        assert from_env.stdout != plain.stdout


def test_the_command_line_wins_over_the_environment() -> None:
    result = olmc("render", "own-namespace", "-o", "name", "--include", "Role", env={"OLMC_RENDER_INCLUDE": "Secret"})
    assert kinds(result.stdout.splitlines()) == ["Role"]


CONFIG = "apiVersion: olmc.dev/v1alpha1\nkind: Config\nspec:\n  include: [Namespace]\n  for: apply\n"
TWO_KINDS = {
    "a.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n",
    "b.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, namespace: a}\n",
    "c.yaml": "apiVersion: operators.coreos.com/v1\nkind: OperatorGroup\nmetadata: {name: g, namespace: a}\n",
}


def test_olmc_yaml_loses_against_the_command_line_and_the_environment(tmp_path: Path) -> None:
    root = write(tmp_path, {**TWO_KINDS, "olmc.yaml": CONFIG})
    assert names(root) == ["Namespace/a"]
    assert names(root, "--include", "ConfigMap") == ["ConfigMap/a/b"]
    assert names(root, "--for", "review", "--include", "OperatorGroup") == ["OperatorGroup/a/g"]
    by_env = olmc("render", root, "-o", "name", env={"OLMC_RENDER_INCLUDE": "ConfigMap"})
    assert by_env.stdout == "ConfigMap/a/b\n"


def test_each_path_has_its_own_olmc_yaml(tmp_path: Path) -> None:
    one = write(tmp_path / "one", {**TWO_KINDS, "olmc.yaml": CONFIG})
    two = write(tmp_path / "two", {"d.yaml": TWO_KINDS["b.yaml"].replace("name: b", "name: d")})
    assert names(one, two) == ["Namespace/a", "ConfigMap/a/d"]
