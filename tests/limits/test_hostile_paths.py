"""Paths in a stranger's files that no file system takes are findings, or nothing; never a traceback."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from olmc.cli.main import main

GROUP = "apiVersion: operators.coreos.com/v1\nkind: OperatorGroup\nmetadata: {name: g, namespace: ns}\n"
POLICIES = """apiVersion: policy.open-cluster-management.io/v1
kind: PolicyGenerator
metadata: {name: p}
policyDefaults: {namespace: policies}
policies: [{name: a, manifests: [{path: PATH}]}]
"""
FILES = {
    "resources": {"kustomization.yaml": "resources: [PATH]\n"},
    "part": {"kustomization.yaml": "resources: [below, PATH.yaml]\n", "below/kustomization.yaml": "bases: [PATH]\n"},
    "patch": {"kustomization.yaml": "patches: [{path: PATH}]\npatchesStrategicMerge: [PATH]\n"},
    "component": {"kustomization.yaml": "components: [PATH]\nconfigurations: [PATH]\ncrds: [PATH]\n"},
    "values": {"kustomization.yaml": "helmCharts: [{name: a, valuesFile: PATH}]\nhelmGlobals: {chartHome: PATH}\n"},
    "generator": {"kustomization.yaml": "generators: [PATH, p.yaml]\n", "p.yaml": POLICIES},
    "chart": {
        "Chart.yaml": 'name: a\nversion: 1.0.0\ndependencies: [{name: b, repository: "file://PLAIN"}]\n',
        "templates/a.yaml": GROUP,
    },
    "apis": {"olmc.yaml": "apiVersion: olmc.dev/v1alpha1\nkind: Config\nspec: {apisFrom: PATH}\n"},
    "release": {
        "app.yaml": "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a, namespace: argocd}\nspec:"
        " {destination: {namespace: ns}, source: {repoURL: https://example.com/r, path: PATH,"
        " helm: {valueFiles: [PATH]}}}\n"
    },
}
PATHS = {
    "long": "a" * 5000, "deep": "a/" * 3000, "climbing": "../" * 400 + "etc/passwd", "nul": "a\0b", "half": "\ud800",
    "device": "/dev/zero", "newline": "a\n::error::b",
}  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("files", FILES)
def test_a_path_that_can_not_be(files: str, path: str, tmp_path: Path) -> None:
    for name, text in {"all.yaml": GROUP, **FILES[files]}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        written = json.dumps(PATHS[path])
        text = text.replace("PATH.yaml", json.dumps(PATHS[path] + ".yaml")).replace("PATH", written)
        (tmp_path / name).write_text(text.replace("PLAIN", written[1:-1]), encoding="utf-8")
    for command in (["render"], ["check", "--all"]):
        done = CliRunner().invoke(main, [*command, str(tmp_path)])
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exc_info
        assert done.exit_code in (0, 1, 3), done.output
