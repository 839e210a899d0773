"""Options that have no effect on what was given: it is said, in a line each, and changes nothing else."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from commands import olmc
from scenarios import write

V2ALPHA1 = "it needs --enable-v2alpha1"
BUNDLE = "it needs the directory of a bundle as PATH"

IDLE = [
    ("render own-namespace --certs cert-manager", ["--certs has no effect, it needs --for apply"]),
    ("render own-namespace -n x", [f"--namespace has no effect, {BUNDLE}"]),
    ("render own-namespace --watch a", [f"--watch has no effect, {BUNDLE}"]),
    ("render own-namespace --all-namespaces", [f"--all-namespaces has no effect, {BUNDLE}"]),
    ("render own-namespace --as ada", [f"--as has no effect, {V2ALPHA1}"]),
    ("check own-namespace --as-group g", [f"--as-group has no effect, {V2ALPHA1}"]),
    ("resolve own-namespace --as-group g --enable-v2alpha1", ["--as-group has no effect, it needs --as"]),
    ("status own-namespace --approve-installs", [f"--approve-installs has no effect, {V2ALPHA1}"]),
    ("rbac own-namespace --migrate-subscriptions", [f"--migrate-subscriptions has no effect, {V2ALPHA1}"]),
    ("why beacon own-namespace --component-label seed", [f"--component-label has no effect, {V2ALPHA1}"]),
    ("get installed -A -C own-namespace --olm-namespace o", [f"--olm-namespace has no effect, {V2ALPHA1}"]),
    ("render own-namespace --allow-shared-api a.b", ["--allow-shared-api has no effect, it needs --descoped"]),
    ("serve own-namespace --as ada --http --kubeconfig nowhere/x", [f"--as has no effect, {V2ALPHA1}"]),
    (
        "diff own-namespace own-namespace -n x --certs service-ca",
        [f"--namespace has no effect, {BUNDLE}", "--certs has no effect, it needs --for apply"],
    ),
    ("status manual-approval --approve foo", ["--approve foo: there is no such InstallPlan."]),
    ("diff manual-approval manual-approval --approve foo", ["--approve foo: there is no such InstallPlan."]),
    ("rbac manual-approval --approve foo", ["--approve foo: there is no such InstallPlan."]),
]
AT_WORK = [
    "render own-namespace --certs cert-manager --for apply",
    "render own-namespace --certs none",
    "render bare-bundle -n x --watch x",
    "render own-namespace bare-bundle -n x --watch x",
    "diff own-namespace bare-bundle --all-namespaces",
    "diff bare-bundle own-namespace -n x",
    "render own-namespace --component-label adopted",
    "check own-namespace --as ada --as-group g --enable-v2alpha1",
    "render own-namespace --descoped --allow-shared-api a.b",
]


def said(command: str) -> list[str]:
    """The lines on stderr in which olmc itself speaks of options."""
    lines = olmc(*shlex.split(command)).stderr.splitlines()
    return sorted(line.removeprefix("olmc: ") for line in lines if line.startswith("olmc: -"))


@pytest.mark.parametrize(("command", "expected"), IDLE)
def test_options_without_effect(command: str, expected: list[str]) -> None:
    assert said(command) == sorted(expected)


@pytest.mark.parametrize("command", AT_WORK)
def test_options_with_an_effect(command: str) -> None:
    assert said(command) == []


def test_olmc_yaml_may_be_what_an_option_needs(tmp_path: Path) -> None:
    text = "apiVersion: olmc.dev/v1alpha1\nkind: Config\nspec: {enableV2alpha1: true, for: apply}\n"
    write(tmp_path, {"olmc.yaml": text, "a.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n"})
    assert said(f"render {tmp_path} --as ada --certs service-ca") == []


def test_the_environment_is_for_many_commands() -> None:
    assert olmc("render", "own-namespace", env={"OLMC_RENDER_CERTS": "service-ca"}).stderr == ""


def test_an_output_that_is_not_printed(tmp_path: Path) -> None:
    """Files are YAML; anything else can only be a mistake, unless it comes from the environment."""
    folder = tmp_path / "out"
    for output in ("json", "name"):
        result = olmc("render", "own-namespace", "-o", output, "--output-dir", folder)
        assert (result.exit_code, folder.exists()) == (2, False)
        assert f"-o {output} prints, and --output-dir writes YAML files" in result.stderr
    assert olmc("render", "own-namespace", "-o", "yaml", "--output-dir", folder).exit_code == 0
    environment = {"OLMC_RENDER_OUTPUT": "json"}
    assert olmc("render", "own-namespace", "--output-dir", folder, env=environment).exit_code == 0


def test_a_value_without_a_value() -> None:
    result = olmc("check", "own-namespace", "--optional-value", "k8s-version")
    assert result.exit_code == 2
    assert "--optional-value: k8s-version has no value; write k8s-version=VALUE." in result.stderr
