"""The Python API: one value for a call, options by name, and results that can be read."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import forks
import pytest

import olmc
from olmc.k8s.diagnostics import Severity
from olmc.review.plan.engine import NoStateError

TRANSITION = "fixtures/transitions/subscription-removed"


@pytest.fixture(autouse=True)
def _inside_project(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)


def with_config(folder: Path, *lines: str) -> Path:
    """A workspace with an olmc.yaml."""
    folder.mkdir()
    head = "apiVersion: olmc.dev/v1alpha1\nkind: Config\nspec:\n"
    (folder / "olmc.yaml").write_text(head + "".join(f"  {line}\n" for line in lines), encoding="utf-8")
    namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: harbour}\n"
    (folder / "namespace.yaml").write_text(namespace, encoding="utf-8")
    return folder


def test_a_named_option_wins_over_the_workspace(tmp_path: Path) -> None:
    path = with_config(tmp_path / "workspace", "kubeVersion: v1.30.0")
    older = olmc.Options(kube_version="v1.29.0")
    assert olmc.compile(path, older).options.kube_version == "v1.30.0"
    assert olmc.compile(path, kube_version="v1.29.0").options.kube_version == "v1.29.0"
    assert olmc.compile(str(path), older, kube_version="v1.28.0").options.kube_version == "v1.28.0"
    request = olmc.CompileRequest(path, older, frozenset({"kube_version"}))
    assert olmc.compile(request).options.kube_version == "v1.29.0"
    assert olmc.compile(request, kube_version="v1.28.0").options.kube_version == "v1.28.0"
    assert olmc.check(path, kube_version="v1.29.0").diagnostics == olmc.check(request).diagnostics


@pytest.mark.parametrize("function", [olmc.compile, olmc.check, olmc.plan])
def test_an_unknown_option_is_refused(function: object) -> None:
    with pytest.raises(TypeError, match="there is no option olm_versoin"):
        function("fixtures/own-namespace", olm_versoin="0.46.0")  # type: ignore[operator]


def test_a_request_compiles_as_its_parts() -> None:
    request = olmc.CompileRequest(Path("fixtures/own-namespace"))
    stages: list[str] = []
    done = olmc.compile(request._replace(stage=stages.append))
    assert done.objects == olmc.compile("fixtures/own-namespace").objects
    assert stages == ["read", "settle", "render"]
    assert olmc.load(request).manifests == olmc.load("fixtures/own-namespace").manifests


def test_results_fit_on_a_terminal() -> None:
    after, before = f"{TRANSITION}/after", f"{TRANSITION}/before"
    assert repr(olmc.compile("fixtures/own-namespace")) == "<Compilation: 25 objects, 1 CSV>"
    assert repr(olmc.compile("nowhere")) == "<Compilation: 0 objects, 1 error>"
    assert repr(olmc.diff(before, after)) == "<DiffResult: 1 risk, 1 change>"
    assert repr(olmc.diff(before, before)) == "<DiffResult: no changes>"
    assert repr(olmc.plan(after, before)) == "<PlanResult: 1 pruned; result: 2 changes, 1 risk>"
    assert repr(olmc.check("fixtures/permissions")) == "<CheckResult: 1 warning, 3 info>"
    assert repr(olmc.plan("nowhere", "nothing")) == "<PlanResult: failed>"
    assert repr(olmc.diff("nowhere", "nothing")) == "<DiffResult: failed>"


@pytest.mark.process
def test_a_plan_is_that_of_the_command() -> None:
    after, before = f"{TRANSITION}/after", f"{TRANSITION}/before"
    made = olmc.plan(after, before)
    assert [(each.package, each.outcome) for each in made.operators] == [("beacon", "left running")]
    assert made.write("json") == command("plan", after, "--from", before, "-o", "json")
    again = olmc.plan(olmc.CompileRequest(Path(after)), olmc.CompileRequest(Path(before)))
    assert (again.operators, again.changes) == (made.operators, made.changes)


@pytest.mark.process
def test_a_difference_is_that_of_the_command() -> None:
    after, before = f"{TRANSITION}/after", f"{TRANSITION}/before"
    made = olmc.diff(before, after)
    assert made.write("markdown") == command("diff", before, after, "-o", "markdown")
    kinds = olmc.diff(before, after, include=("Deployment",))
    assert kinds.write("json") == command("diff", before, after, "--include", "Deployment", "-o", "json")


@pytest.mark.process
def test_findings_are_those_of_the_command() -> None:
    found = olmc.check("fixtures/permissions", ignore=["OLMC27"])
    assert not found.failed
    text = command("check", "fixtures/permissions", "--ignore", "OLMC27", "--all", "-o", "json")
    assert all(f'"{each.code}"' in text for each in found.diagnostics)
    assert text.count('"code"') == len(found.diagnostics)
    with pytest.raises(ValueError, match="there is no optional validator comunity"):
        olmc.check("fixtures/permissions", optional=["comunity"])


def test_what_can_not_be_read_is_in_the_diagnostics(tmp_path: Path) -> None:
    (tmp_path / "broken.yaml").write_text("apiVersion: v1\nkind: Namespace\nmetadata: [", encoding="utf-8")
    for made in (olmc.plan(tmp_path, f"{TRANSITION}/before"), olmc.diff(f"{TRANSITION}/before", tmp_path)):
        assert made.failed
        assert (made.changes, made.write()) == ((), "")
        assert Severity.ERROR in {each.severity for each in made.diagnostics}
    assert olmc.check(tmp_path).failed


def test_a_bundle_is_no_cluster() -> None:
    for arguments in (
        ("fixtures/bare-bundle", f"{TRANSITION}/before"),
        (f"{TRANSITION}/after", "fixtures/bare-bundle"),
    ):
        with pytest.raises(NoStateError, match=r"fixtures/bare-bundle is a bundle by itself, and no cluster"):
            olmc.plan(*arguments)


def test_option_fields_are_the_options(project: Path) -> None:
    """The types of keyword arguments, which type checkers alone see, are those of `Options`."""
    tree = ast.parse((project / "olmc/compiler/model/options.py").read_text(encoding="utf-8"))
    fields = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            annotated = [each for each in node.body if isinstance(each, ast.AnnAssign)]
            fields[node.name] = {ast.unparse(each.target): ast.unparse(each.annotation) for each in annotated}
    assert fields["OptionFields"] == fields["Options"]


@pytest.mark.process
def test_functions_stay_beside_the_packages_of_their_names() -> None:
    """Importing a package sets an attribute of `olmc`, which must not hide the function."""
    code = (
        "import olmc, olmc.review.plan.leftovers, olmc.review.diff.compare, olmc.review.check.check; "
        "import olmc.compiler.load.config; "
    )
    code += "print(*(callable(getattr(olmc, name)) for name in ('plan', 'diff', 'check', 'load', 'compile')))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).split() == ["True"] * 5


@pytest.mark.process
def test_importing_olmc_imports_nothing_of_it() -> None:
    code = "import sys, olmc; print(*sorted(name for name in sys.modules if name.startswith('olmc.')))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).split() == ["olmc.version"]


def command(*arguments: str) -> str:
    """What a command prints on stdout."""
    return forks.run_text(arguments, cwd=Path.cwd(), env=os.environ).stdout
