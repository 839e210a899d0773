"""Without click, a command line says what it says with it, and a start imports what it needs alone."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import forks
import pytest
from hypothesis import given
from hypothesis import strategies as st

from olmc.cli.main import main
from olmc.cli.running import REGISTRY, declared_command, quick_call

pytestmark = pytest.mark.process

# Whatever is slow to import, and what a bundle and its rendering have nothing to do with.
HEAVY = set(
    """click ruamel.yaml _ruamel_yaml dataclasses inspect ast hashlib _hashlib uuid platform datetime locale gettext
    tempfile threading subprocess importlib.metadata jsonschema random pickle multiprocessing olmc.integrations.fleet
    base64 binascii struct""".split()
)
COMPILER = {
    "olmc.compiler.api",
    "olmc.compiler.load",
    "olmc.compiler.reconcile",
    "olmc.compiler.render",
    "olmc.compiler.resolver",
    "olmc.k8s.api",
    "olmc.k8s.gojson",
}

IMPORTED = """\
import atexit, sys
sys.argv = ["olmc", *sys.argv[1:]]
atexit.register(lambda: print("\\n".join(sys.modules), file=sys.stderr))
from olmc.__main__ import run
run()
"""


def imported(*arguments: str) -> set[str]:
    """The modules that a run of olmc has imported at its end."""
    command = [sys.executable, "-c", IMPORTED, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1, 2), done.stderr
    return set(done.stderr.split("\n"))


@pytest.mark.parametrize("command", ["version", "explain OLMC301", "explain profile", "completion bash"])
def test_what_olmc_knows_takes_no_compiler(command: str) -> None:
    assert COMPILER.isdisjoint(imported(*command.split()))


@pytest.mark.parametrize("command", ["--help", "-h", "help", "", "rendr"])
def test_the_list_of_commands_imports_no_command(command: str) -> None:
    own = {f"olmc.cli.{entry.module}" for entry in REGISTRY.values()} - {"olmc.cli.main"}
    assert own.isdisjoint(imported(*command.split()))


def test_completion_of_a_name_imports_no_command(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"COMP_WORDS": "olmc re", "COMP_CWORD": "1", "_OLMC_COMPLETE": "zsh_complete"}.items():
        monkeypatch.setenv(name, value)
    own = {f"olmc.cli.{entry.module}" for entry in REGISTRY.values()} - {"olmc.cli.main"}
    assert own.isdisjoint(imported())


def test_the_version_takes_hardly_anything() -> None:
    assert HEAVY.isdisjoint(imported("version"))


@pytest.mark.parametrize(
    "options",
    [
        "",
        "-n tools",
        "-n tools --watch a,b",
        "--for apply",
        "-o json",
        "--include Deployment",
        "--exclude=Deployment -o name",
    ],
)
def test_a_bundle_takes_no_more_than_the_compiler(project: Path, options: str) -> None:
    bundle = project / "fixtures" / "own-namespace" / "bundles" / "beacon-1.0.0"
    assert HEAVY.isdisjoint(imported("render", str(bundle), *options.split()))


COMPILED = """\
import re._compiler, sys
sys.argv = ["olmc", *sys.argv[1:]]
compile = re._compiler.compile
def counted(pattern, flags=0):
    print(repr(pattern), file=sys.stderr)
    return compile(pattern, flags)
re._compiler.compile = counted
from olmc.__main__ import run
run()
"""


def test_a_bundle_takes_few_patterns(project: Path) -> None:
    """Compiling one takes as long as importing a module. Seven are those of the standard library."""
    bundle = project / "fixtures" / "own-namespace" / "bundles" / "beacon-1.0.0"
    command = [sys.executable, "-c", COMPILED, "render", str(bundle)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr.count("\n") <= 13, done.stderr


@pytest.mark.parametrize("command", ["status", "resolve", "plan --from DIR", "check", "why beacon"])
def test_who_looks_into_a_workspace_takes_no_click(project: Path, command: str) -> None:
    workspace = str(project / "fixtures" / "own-namespace")
    assert "click" not in imported(*command.replace("DIR", workspace).split(), workspace)


def test_a_comparison_of_renderings_takes_no_solver(tmp_path: Path) -> None:
    """Nor what explains resolutions: there are none."""
    for name in ("old", "new"):
        (tmp_path / name).write_text(f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n", encoding="utf-8")
    modules = imported("diff", str(tmp_path / "old"), str(tmp_path / "new"))
    assert modules.isdisjoint(
        {"click", "pysat", "olmc.compiler.resolver.explain", "olmc.review.explain.provenance", "olmc.review.diff.html"}
    )


@pytest.mark.parametrize("module", ["olmc.compiler.load", "olmc.compiler.load.files", "olmc.compiler.load.workspace"])
def test_load_is_the_function(module: str) -> None:
    """Whatever was imported before: a package of the compiler has the same name."""
    program = f"import {module}, olmc; from olmc import load; print(callable(olmc.load), load is olmc.load)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "True True\n"


QUICK = tuple(name for name in REGISTRY if not declared_command(name).commands or name == "rbac")
WORDS = st.sampled_from(
    """. olmc - no/such -n --namespace tools --watch a,b --watch= --all-namespaces -o json -ojson --output=name
    --for apply --for=review --include Deployment --exclude=Role --no-copied-csvs --copied-csvs --prune --no-prune
    --phase 1 -v -vv --verbose --check --output-dir --approve all --kube-version 1.30 v1.x --olm-version 0.25 docs --api
    a/b/C --delete a/b --as me --descoped --entry --help -h -- --color never --nope --keep-going=yes --certs
    -o=table wide -o=text --author --no-author --strict --select OLMC2 --since --fail-on risk --at 0 --at=-1 --walk --to
    --locked --pin beacon=1 beacon --all-metrics --allow-empty --optional all --no-cache --timings --all""".split()
) | st.just("")


@pytest.mark.parametrize("name", QUICK)
@given(words=st.lists(WORDS, max_size=6))
def test_it_reads_what_click_reads(name: str, words: list[str]) -> None:
    call = quick_call([name, *words], {})
    if call is None:
        return
    command = main.get_command(click.Context(main), name)
    assert command is not None
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("OLMC_")]:
            patch.delenv(name)
        ctx = command.make_context(name, words, parent=click.Context(main, info_name="olmc"))
    assert dict(call.params) == {name: value for name, value in ctx.params.items() if name != "color"}
    for name in call.params:
        source = ctx.get_parameter_source(name)
        assert source is not None
        assert source.name == call.get_parameter_source(name).name


@pytest.mark.parametrize(
    "command",
    """
    version;version --nope;version x;--version;;explain R-DEP-1;explain nothing;explain OLMC301 x;explain profile 9.9
    completion;completion tcsh;completion zsh;render --help;render -h;render -o nope;render own-namespace -o name
    render own-namespace --include Nope;render own-namespace --check;render own-namespace --watch a --all-namespaces
    render own-namespace -n A;render own-namespace --olm-version 9;render nowhere;render '';rendr
    render own-namespace -o
    render own-namespace --kube-version x;render own-namespace --certs cert-manager;render own-namespace --phase 1
    render own-namespace --approve x;render own-namespace own-namespace/cluster.yaml;render own-namespace --entry x
    render own-namespace/cluster.yaml -o name --allow-empty;render own-namespace --from x
    render own-namespace --from own-namespace -o name;render - --for apply;render own-namespace --flux
    render own-namespace --output-dir own-namespace/bundles/beacon-1.0.0/manifests
    status own-namespace;status own-namespace -o prometheus;status own-namespace own-namespace -o prometheus
    status own-namespace --all-metrics;status own-namespace --watch a --all-namespaces;status nowhere;status -o
    status own-namespace --from own-namespace;status own-namespace --from x;status --help;why --help;why
    status own-namespace/bundles/beacon-1.0.0 --watch a --all-namespaces;status own-namespace --as me
    why beacon own-namespace;why nobody own-namespace;why '' own-namespace;why beacon own-namespace -o json
    resolve own-namespace;resolve own-namespace --locked --update;resolve own-namespace --locked;resolve --help
    resolve own-namespace --pin beacon;resolve own-namespace --pin beacon=9;resolve own-namespace own-namespace
    plan own-namespace --from own-namespace;plan own-namespace --from x;plan own-namespace;plan nowhere;plan --help
    plan own-namespace --from own-namespace --at 9;plan own-namespace --to 4.1;plan own-namespace --to-kube x
    plan own-namespace --from own-namespace --at -1;plan own-namespace --from own-namespace/bundles/beacon-1.0.0
    check own-namespace;check own-namespace --statistics -o sarif;check own-namespace --select NOPE;check nowhere
    check own-namespace --optional nope;check own-namespace --optional-value k8s-version;check own-namespace --no-author
    check own-namespace --since HEAD;check own-namespace -o sarif;check own-namespace --all -n A;check --help
    check own-namespace --no-cache;check own-namespace -o json --author;check - -o json
    """.strip().replace("\n", ";").split(";"),
)  # fmt: skip
def test_with_and_without_click_it_says_the_same(project: Path, tmp_path: Path, command: str) -> None:
    """A variable with the default of --color has it read by click."""
    shutil.copytree(project / "fixtures" / "own-namespace", tmp_path / "own-namespace")
    quick, clicked = (
        forks.run(shlex.split(command), cwd=tmp_path, env={**os.environ, **variables})
        for variables in ({}, {"OLMC_COLOR": "auto"})
    )
    assert (quick.returncode, quick.stdout, quick.stderr) == (clicked.returncode, clicked.stdout, clicked.stderr)
    assert b"internal error" not in quick.stderr
