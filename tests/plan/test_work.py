"""What a plan of a fleet does once, however often the like is there: files, rules and values that both sides have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner
from transition_cases import state_after, state_left

import olmc
from olmc.cli.main import main
from olmc.compiler.model.options import Options
from olmc.k8s.yaml import dump

OPERATORS, TARGETS = 2, 6


@pytest.fixture
def fleet(benchmark: Callable[[str], ModuleType], tmp_path: Path) -> Callable[[str, int, int], Path]:
    """A function that writes a workspace of operators for some namespaces, of which some are upgraded."""

    def written(name: str, targets: int, upgraded: int) -> Path:
        benchmark("plan").write_workspace(tmp_path / name, OPERATORS, OPERATORS + targets, upgraded, 0)
        return tmp_path / name

    return written


Fleet = Callable[[str, int, int], Path]


def counted(monkeypatch: pytest.MonkeyPatch, name: str, key: Callable[..., Any]) -> Counter[Any]:
    """How often a function of olmc is called, by what `key` makes of its arguments."""
    module, _, attribute = name.rpartition(".")
    whole = __import__(module, fromlist=[attribute])
    function, calls = getattr(whole, attribute), Counter[Any]()

    def counting(*args: Any, **named: Any) -> Any:
        calls[key(*args)] += 1
        return function(*args, **named)

    monkeypatch.setattr(whole, attribute, counting)
    return calls


def plan(after: Path, before: Path) -> None:
    result = CliRunner().invoke(main, ["plan", str(after), "--from", str(before)])
    assert result.exit_code in (0, 1), result.output


def test_files_that_both_sides_have_are_read_once(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    before, after = fleet("before", TARGETS, 0), fleet("after", TARGETS, 1)
    calls = counted(monkeypatch, "olmc.k8s.yaml.reader._read_yaml", lambda path, *_: path)
    plan(after, before)
    read = {path: times for path, times in calls.items() if "manifests" in path or path == "cluster.yaml"}
    own = {f"bundles/op00-1/manifests/{name}.yaml" for name in ("csv", "crd")}
    both = {f"bundles/op0{number}-0/manifests/{name}.yaml" for number in range(2) for name in ("csv", "crd")}
    assert read == dict.fromkeys(own | both | {"cluster.yaml"}, 1)


def test_a_file_that_changed_is_read_again(fleet: Fleet) -> None:
    """What is known of a file is known of its text."""
    before, after = fleet("before", TARGETS, 0), fleet("after", TARGETS, 0)
    cluster = after / "cluster.yaml"
    added = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "new", "namespace": "op00"}}
    cluster.write_text(f"{cluster.read_text(encoding='utf-8')}---\n{dump([added])}", encoding="utf-8")
    result = CliRunner().invoke(main, ["plan", str(after), "--from", str(before)])
    assert "+ ConfigMap/op00/new" in result.output


def test_findings_of_a_file_that_both_sides_have_are_told(fleet: Fleet) -> None:
    """A file with something to say about is read again, so that the second compilation says it as well."""
    path = fleet("before", TARGETS, 0)
    (path / "odd.yaml").write_text("apiVersion: v1\nkind: Namespace\nmetadata: {name: odd, name: odd}\n")
    alone = olmc.compile(path)
    again = olmc.compile(path, Options(state=state_left(alone)))
    assert alone.diagnostics
    assert set(alone.diagnostics) <= set(again.diagnostics)


def test_rules_of_copies_are_decoded_once(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice as many target namespaces are no more rules: their Roles have those of the operator's namespace."""

    def decoded(targets: int) -> int:
        sides = [fleet(f"{targets}-{upgraded}", targets, upgraded) for upgraded in (0, 1)]
        with monkeypatch.context() as patch:
            calls = counted(patch, "olmc.k8s.api.rbac.decode_rule", lambda *_: "rules")
            plan(sides[1], sides[0])
        return calls["rules"]

    assert 0 < decoded(2 * TARGETS) == decoded(TARGETS)


def test_rights_of_copies_are_held_against_a_need_once(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    def judged(targets: int) -> int:
        path = fleet(f"{targets}", targets, 0)
        state = state_after(path)
        with monkeypatch.context() as patch:
            calls = counted(patch, "olmc.compiler.reconcile.requirements.rule_satisfied", lambda *_: "rules")
            olmc.compile(path, Options(state=state))
        return calls["rules"]

    assert 0 < judged(2 * TARGETS) == judged(TARGETS)


def test_what_is_the_same_is_the_same_value(fleet: Fleet) -> None:
    """What a state and its successor have in common is compared by what it is, not part by part."""
    path = fleet("before", TARGETS, 0)
    state = state_after(path)
    after = olmc.compile(path, Options(state=state))
    # The rules of these are in the state alone: Kubernetes fills them in.
    entries = [entry for entry in after.objects if "aggregationRule" not in entry.object]
    assert len(entries) > len(after.objects) / 2
    assert [entry.identity for entry in entries if entry.object is not state.objects[entry.identity].object] == []


def test_no_place_is_looked_up_where_nothing_is_said(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    before, after = fleet("before", TARGETS, 0), fleet("after", TARGETS, 1)
    calls = counted(monkeypatch, "olmc.k8s.yaml.places.find", lambda *_: "places")
    plan(after, before)
    assert not calls
