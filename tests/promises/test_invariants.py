"""What holds for every workspace and every option that changes compilation.

A cluster that a workspace has made is at rest: compiled once more on top of it, the workspace gives the same objects,
and a plan has nothing to report. No rendering has two objects with one key, or a name that an API server rejects.
"""

from __future__ import annotations

import shutil
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tiers import marked_slow
from transition_cases import IN_TURN

import olmc
from olmc.compiler.api import Compilation
from olmc.compiler.load.config import CONFIG_FILE
from olmc.compiler.load.files import IGNORE_FILE
from olmc.compiler.load.request import CompileRequest, request_of
from olmc.compiler.model.options import Narrowing
from olmc.compiler.olm.profiles.data import known_versions
from olmc.k8s.api.validation.metadata import object_name_problems
from olmc.k8s.diagnostics import Report
from olmc.k8s.objects import ObjectKey, Rendered
from olmc.review.diff.deltas import deltas, path_text
from olmc.review.plan import engine
from olmc.targets.pipeline import compile

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
OTHERS = ("bare-bundle", "fleet", "olmv1", "repos", "several-workspaces", "review-upgrade", "transitions")


def deletes(workspace: Path) -> bool:
    """Whether a workspace deletes objects by hand each time: it is never at rest."""
    config = workspace / "olmc.yaml"
    return config.is_file() and "delete:" in config.read_text(encoding="utf-8")


WORKSPACES = (
    *(path.name for path in sorted(FIXTURES.iterdir()) if path.is_dir() and path.name not in OTHERS),
    *(f"several-workspaces/{name}" for name in ("production", "staging")),
    *(f"review-upgrade/{name}" for name in ("before", "after")),
    *sorted(
        f"transitions/{path.name}/after"
        for path in (FIXTURES / "transitions").iterdir()
        if path.is_dir() and not deletes(path / "after")
    ),
)
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "descoped": {"descoped": True},
    "v2alpha1": {"operators_and_installs": True},
    "seed": {"operators_and_installs": True, "component_label": "seed"},
    "without-copies": {"copied_csvs": False},
    "all-proposals": {"descoped": True, "operators_and_installs": True, "copied_csvs": False},
    **{v: {"olm_version": v} for v in ("docs", "0.13", "0.17", "0.22", "0.28", "0.32", "0.38", "ocp-4.14", "ocp-4.18")},
}
EXTENSIONS = (
    *(f"olmv1/{path.parent.name}" for path in sorted((FIXTURES / "olmv1").glob("*/extension.yaml"))),
    "olmv1/migration",
)
V1 = tuple(name for name in known_versions() if name.startswith("v1"))
FEW = {
    ("own-namespace", "plain"), ("own-namespace", "0.17"), ("own-namespace", "all-proposals"),
    ("all-namespaces", "descoped"), ("operator-v2alpha1", "seed"),
}  # fmt: skip
EVERY = marked_slow([(w, o) for w in WORKSPACES for o in OPTIONS], lambda pair: pair not in FEW)


def request(root: Path, fields: dict[str, Any]) -> CompileRequest:
    return request_of(root, olmc.Options(**fields, show_secrets=True), fields)


def by_key(objects: Iterable[Rendered]) -> dict[ObjectKey, Any]:
    return {rendered.identity: rendered.object for rendered in objects}


def wrong_keys(objects: Iterable[Rendered]) -> Iterator[str]:
    """The keys that several objects have, and the names that an API server rejects."""
    for key, number in Counter(rendered.identity for rendered in objects).items():
        if number > 1:
            yield f"{key} is there {number} times"
        yield from (f"{key}: {problem}" for problem in object_name_problems(key.group, key.kind, key.name))


def differences(before: dict[ObjectKey, Any], after: dict[ObjectKey, Any]) -> Iterator[str]:
    for key in sorted(before.keys() | after.keys()):
        if key not in after or key not in before:
            yield f"{key} is {'missing' if key not in after else 'new'}"
        elif before[key] != after[key]:
            paths = [path_text(delta.path) for delta in deltas(before[key], after[key])]
            # The controller of Kubernetes fills the rules of a role that selects others, once it is there.
            is_filled = "aggregationRule" in before[key] and not before[key].get("rules")
            others = [path for path in paths if not (is_filled and path.startswith("rules"))]
            if others or not paths:
                yield f"{key}: {', '.join(others)}"


def compiling_once(compile: Callable[..., Compilation], most: int) -> Callable[..., Compilation]:
    """Return a `compile` that does none of the last requests twice.

    Where a workspace has neither an olmc.yaml nor an .olmcignore, options that no file may override, a tree that was
    scanned before and an empty narrowing change nothing.
    """
    known: deque[tuple[CompileRequest, Compilation]] = deque(maxlen=most)

    def compile_once(request: CompileRequest, *targets: Any) -> Compilation:
        plain = request._replace(tree=None)
        decides = any((request.root / name).exists() for name in (CONFIG_FILE, IGNORE_FILE))
        if not decides and plain.narrowing in (None, Narrowing(())):
            plain = plain._replace(fixed=frozenset(), narrowing=None)
        for earlier, made in known:
            if earlier == plain:
                return made
        known.append((plain, compile(request, *targets)))
        return known[-1][1]

    return compile_once


def unrest(root: Path, fields: dict[str, Any]) -> list[str]:
    """Return what a workspace changes in the cluster that it has made, [] for one that does not compile."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "compile", once := compiling_once(compile, 100))
        return _unrest(root, fields, once)


def _unrest(root: Path, fields: dict[str, Any], compile_once: Callable[[CompileRequest], Compilation]) -> list[str]:
    wanted = request(root, fields)
    made = compile_once(wanted)
    if made.failed or made.settled is None or made.workspace is None:
        return []
    found = [*wrong_keys(made.objects)]
    report = Report()
    begun = engine.begun_at(wanted, str(root), report)
    assert begun is not None, [*report]
    again = compile_once(
        wanted._replace(options=wanted.options._replace(state=begun.state), fixed=wanted.fixed | {"state"})
    )
    found += [*wrong_keys(again.objects), *differences(by_key(made.objects), by_key(again.objects))]
    plan = olmc.plan(wanted, request(root, fields))
    assert plan.plan is not None, plan.diagnostics
    # OLM takes an approval back that nobody may give (R-INSTALL-9), and the manifest gives it again.
    applied = [c for c in plan.plan.applied if {d.path for d in c.deltas} != {("spec", "approval")}]
    found += [f"applied: {change}" for change in applied]
    return (
        found
        + [f"planned: {change.identity}" for change in plan.changes]
        + [f"drift: {d.key}" for d in plan.plan.drift]
    )


@pytest.mark.parametrize("pair", EVERY, ids="-".join)
def test_a_workspace_changes_nothing_in_its_own_cluster(pair: tuple[str, str]) -> None:
    workspace, option = pair
    assert unrest(FIXTURES / workspace, OPTIONS[option]) == []


def rewritten(root: Path, copy: Path, old: str, new: str) -> bool:
    """Copy a workspace with a text replaced in its manifests; whether any has it."""
    shutil.copytree(root, copy)
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(copy.rglob("*.yaml"))}
    for path, text in texts.items():
        path.write_text(text.replace(old, new), encoding="utf-8")
    return any(old in text for text in texts.values())


@pytest.mark.parametrize("workspace", marked_slow(WORKSPACES, lambda name: name != "own-namespace"))
def test_a_group_of_an_older_api_changes_nothing(workspace: str, tmp_path: Path) -> None:
    """The server stores it in the version of the profile, whichever version of the API the manifest is written in."""
    old, new = (f"operators.coreos.com/{version}\nkind: OperatorGroup" for version in ("v1", "v1alpha2"))
    if rewritten(FIXTURES / workspace, tmp_path / "copy", old, new):
        assert unrest(tmp_path / "copy", {}) == []


@pytest.mark.parametrize("option", ["plain", "descoped", "v2alpha1", "0.17"])
def test_a_group_with_a_generated_name_changes_nothing(option: str, tmp_path: Path) -> None:
    """Only a create takes such a manifest, and makes one more each time: the name stands for that of the first."""
    assert rewritten(FIXTURES / "own-namespace", tmp_path / "copy", "  name: quay\n", "  generateName: quay-\n")
    assert unrest(tmp_path / "copy", OPTIONS[option]) == []


@pytest.mark.slow
@pytest.mark.parametrize("version", V1)
@pytest.mark.parametrize("workspace", EXTENSIONS)
def test_extensions_change_nothing_in_their_own_cluster(workspace: str, version: str) -> None:
    """In each release of OLM v1, with its manifests and its experimental ones."""
    assert unrest(FIXTURES / workspace, {"olm_version": version}) == []


@pytest.mark.parametrize("option", ["plain", "without-copies", "descoped", "v2alpha1", "all-proposals", "docs", "0.28"])
def test_no_recorded_workspace_changes_its_own_cluster(option: str, shared: Path) -> None:
    cases = sorted(
        path.parent
        for folder in ("conformance/cases/synthetic", "conformance/cases/real", "waiting/cases")
        for path in (shared / folder).glob("*/input")
    )
    found = {path.name: unrest(path / "input", OPTIONS[option]) for path in cases}
    # By the documents alone OLM writes over the CRD that a manifest has, which the manifest undoes.
    in_turn = IN_TURN | ({"83-upgrade-crd-drops-stored-version"} if option == "docs" else set())
    assert {name: changes for name, changes in found.items() if changes and name not in in_turn} == {}
    assert option == "docs" or all(found[name] for name in in_turn)
