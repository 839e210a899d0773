"""A plan from A to B ends in a fresh B, but for what OLM leaves; `leftovers.yaml` lists that, with the rules.

A is a fixture and B the same with one change, or both are a transition of the fixtures. A value in which the end of
the plan differs from a fresh B is `kept`, if A has it, too, or else `new`. The end is at rest: one more plan for B is
empty.
"""

from __future__ import annotations

import functools
import json
import re
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from one_change import CHANGES
from test_invariants import FIXTURES, OTHERS, deletes
from tiers import marked_slow
from transition_cases import state_left

import olmc
from olmc.compiler.api import Compilation
from olmc.compiler.load.request import request_of
from olmc.compiler.model.workspace import ClusterState
from olmc.review.diff.deltas import Delta, deltas, path_text
from olmc.targets.pipeline import compile

Object = dict[str, Any]
Name = tuple[str, str, str]

EXTENSIONS = tuple(f"olmv1/{name}" for name in ("extension", "upgrade"))
BEFORE = (*(path.name for path in sorted(FIXTURES.iterdir()) if path.is_dir() and path.name not in OTHERS), *EXTENSIONS)
TRANSITIONS = tuple(path.parent.name for path in sorted((FIXTURES / "transitions").glob("*/before")) if path.is_dir())
FEW = {
    ("own-namespace", "upgraded"), ("own-namespace", "to-all"), ("descoped", "upgraded"),
    ("operator-v2alpha1", "upgraded"), ("own-namespace", "operators-removed"),
}  # fmt: skip
ITEM = re.compile(r"\[[^\]]*\]")
# The manifest of an object that OLM removes makes it once more.
RESTLESS = {"upgrade-let-through"}


class Difference(NamedTuple):
    """A place in which the end of a plan differs from a fresh B, as a leftover names it: `kept` or not, and where."""

    kept: bool
    place: str

    def __str__(self) -> str:
        return f"{'kept' if self.kept else 'new'} {self.place}"


class Leftover(NamedTuple):
    """What OLM leaves after some changes (all, if none is named), as patterns of places, and the rule."""

    rule: str
    changes: Collection[str]
    kept: Sequence[str]
    new: Sequence[str]

    def covers(self, change: str, found: Difference) -> bool:
        patterns = self.kept if found.kept else self.new
        return (not self.changes or change in self.changes) and any(fnmatchcase(found.place, p) for p in patterns)


def leftovers() -> list[Leftover]:
    text = Path(__file__).with_name("leftovers.yaml").read_text(encoding="utf-8")
    rows = yaml.safe_load(text)
    assert all(row.keys() <= {"rule", "why", "after", "kept", "new"} and row["why"] for row in rows)
    return [
        Leftover(row["rule"], row.get("after", "").split(), row.get("kept", ()), row.get("new", ())) for row in rows
    ]


LEFTOVERS = leftovers()


def compiled(root: Path, state: ClusterState | None, fields: Mapping[str, Any]) -> Compilation:
    options = olmc.Options(**fields, show_secrets=True, purpose="review")
    request = request_of(root, options, {**fields, "purpose": "review"})
    fixed = request.fixed if state is None else request.fixed | {"state"}
    return compile(request._replace(options=request.options._replace(state=state), fixed=fixed))


@functools.lru_cache(maxsize=4)
def begun_in(root: Path, fields: tuple[tuple[str, Any], ...]) -> Compilation:
    """A fixture at rest, for all changes that begin with it; none may change it."""
    return compiled(root, None, dict(fields))


def by_name(objects: Sequence[Object]) -> dict[Name, Object]:
    return {(o["kind"], o["metadata"].get("namespace", ""), o["metadata"]["name"]): o for o in objects}


def plans(objects: Sequence[Object]) -> dict[str, list[str]]:
    """The names of InstallPlans by namespace, the newest first."""
    found = sorted((o for o in objects if o["kind"] == "InstallPlan"), key=lambda o: -o["spec"].get("generation", 0))
    names: dict[str, list[str]] = {}
    for plan in found:
        names.setdefault(plan["metadata"]["namespace"], []).append(plan["metadata"]["name"])
    return names


def named_alike(objects: Sequence[Object], end: Mapping[str, list[str]], fresh: Mapping[str, list[str]]) -> Any:
    """The objects with the names of a fresh B in the place of those that the newest InstallPlans have at the end."""
    text = json.dumps(objects)
    for namespace, names in end.items():
        wanted = fresh.get(namespace, [])
        for index, name in enumerate(names):
            new = wanted[index] if index < len(wanted) else f"earlier-{index}"
            text = text.replace(f'"{name}"', f'"<{new}>"')
    return json.loads(re.sub(r'"<([^"<>]*)>"', r'"\1"', text))


def place(name: Name, delta: Delta | None = None) -> str:
    """The kind of an object, and the path of a value in it without the names of items: `Role metadata.labels{}`."""
    return f"{name[0]} {ITEM.sub('{}', path_text(delta.path)) if delta is not None else '(left)'}"


def differences(before: Compilation, fresh: Compilation, end: Compilation) -> Iterator[Difference]:
    new = [r.object for r in fresh.objects]
    is_plan, was_plan = plans([r.object for r in end.objects]), plans(new)
    was, is_, now = (
        by_name(objects)
        for objects in (
            named_alike([r.object for r in before.objects], is_plan, was_plan),
            named_alike([r.object for r in end.objects], is_plan, was_plan),
            json.loads(json.dumps(new)),
        )
    )
    for name in sorted(now.keys() | is_.keys()):
        if name not in is_:
            yield Difference(name not in was, f"{name[0]} (missing)")
        elif name not in now:
            yield from _of_object(name, {}, is_[name], was.get(name))
        else:
            yield from _of_object(name, now[name], is_[name], was.get(name))


def _of_object(name: Name, fresh: Object, end: Object, before: Object | None) -> Iterator[Difference]:
    """How an object differs from a fresh one, or ({}) from what there was before."""
    if not fresh:
        yield Difference(before is not None, place(name))
        if before is not None:
            yield from (Difference(kept=False, place=place(name, delta)) for delta in deltas(before, end))
        return
    changed = [delta.path for delta in deltas(before, end)] if before is not None else [()]
    for delta in deltas(fresh, end):
        kept = not any(path[: len(delta.path)] == delta.path[: len(path)] for path in changed)
        yield Difference(kept, place(name, delta))


def unrest(root: Path, end: Compilation, fields: Mapping[str, Any]) -> list[str]:
    """What one more plan for a workspace would change."""
    again = compiled(root, state_left(end), fields)
    was, now = ({r.identity: r.object for r in each.objects} for each in (end, again))
    return [f"not at rest: {key}" for key in sorted(was.keys() | now.keys()) if was.get(key) != now.get(key)]


def surplus(change: str, before: Path, after: Path, fields: Mapping[str, Any]) -> list[str]:
    """What a plan leaves that no rule of OLM does, and what is not at rest at its end."""
    begun, fresh = begun_in(before, tuple(fields.items())), compiled(after, None, fields)
    if begun.settled is None or fresh.settled is None:
        return []
    end = compiled(after, state_left(begun), fields)
    found = {d for d in differences(begun, fresh, end) if not any(each.covers(change, d) for each in LEFTOVERS)}
    moved = unrest(after, end, fields) if change not in RESTLESS and not deletes(after) else []
    return [*sorted(map(str, found)), *moved]


@pytest.mark.parametrize(
    "pair", marked_slow([(b, c) for b in BEFORE for c in CHANGES], lambda pair: pair not in FEW), ids="-".join
)
def test_a_change_ends_in_a_fresh_cluster(pair: tuple[str, str], tmp_path: Path) -> None:
    before, change = pair
    after = shutil.copytree(FIXTURES / before, tmp_path / "after")
    if CHANGES[change](after):
        assert surplus(change, FIXTURES / before, after, {}) == []


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("before", ["operator-v2alpha1", "install-v2alpha1"])
def test_a_change_of_approved_installs_ends_in_a_fresh_cluster(before: str, change: str, tmp_path: Path) -> None:
    after = shutil.copytree(FIXTURES / before, tmp_path / "after")
    if CHANGES[change](after):
        assert surplus(change, FIXTURES / before, after, {"approve_installs": True}) == []


@pytest.mark.parametrize("name", marked_slow(TRANSITIONS, lambda name: name > "b"))
def test_a_transition_ends_in_a_fresh_cluster(name: str) -> None:
    root = FIXTURES / "transitions" / name
    assert surplus(name, root / "before", root / "after", {}) == []


def test_no_recorded_transition_changes_its_own_end(shared: Path) -> None:
    """Those in which a person deletes an object, or a manifest makes one again that OLM removes, are left out."""
    found = {}
    for path in sorted(shared.glob("*/transitions/*/after")):
        if not deletes(path) and path.parent.name != "23b-upgradeable-override":
            end = compiled(path, state_left(compiled(path.parent / "before", None, {})), {})
            found[path.parent.name] = unrest(path, end, {})
    assert {name: moved for name, moved in found.items() if moved} == {}


def test_leftovers_have_rules(project: Path) -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in sorted((project / "docs" / "spec").glob("*.md")))
    known = set(re.findall(r"^### (\S+)$", text, re.MULTILINE))
    assert {each.rule for each in LEFTOVERS} - known == set()
    named = {change for each in LEFTOVERS for change in each.changes}
    assert named - CHANGES.keys() - set(TRANSITIONS) == set()
