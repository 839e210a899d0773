"""Whole workspaces: a locked plan resolves to itself, and the order of files never matters."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from scenarios import workspace, write

import olmc
from olmc.compiler.load.config import LOCK_FILE, lock_text

EXAMPLES = examples(60)
PACKAGES = ("p", "q", "r")
KINDS = st.sampled_from("ABC")

Files = dict[str, str]


@st.composite
def channels(draw: st.DrawFn, package: str) -> list[str]:
    """The lines of a package: a chain of versions, in one channel or partly in a second one."""
    lines = []
    length = draw(st.integers(1, 4))
    second = draw(st.integers(0, length))
    for number in range(1, length + 1):
        places = f"{package}/s,{package}/t*" if number > second else f"{package}/s"
        words = [f"{package}.v{number}", f"{number}.0.0", places]
        if number > 1:
            words += ["replaces", f"{package}.v{number - 1}"]
            words += ["skips", f"{package}.v1"] if number == 3 and draw(st.booleans()) else []
            words += ["range", f"<{draw(st.integers(1, number))}.0.0"] if draw(st.booleans()) else []
        words += ["provides", *draw(st.lists(KINDS, max_size=2, unique=True)), f"Own{package.upper()}"]
        words += ["requires", draw(KINDS)] if draw(st.integers(0, 2)) == 2 else []
        lines.append(" ".join([*words, *(["image"] if draw(st.booleans()) else [])]))
    return lines


@st.composite
def scenarios(draw: st.DrawFn) -> dict[str, Any]:
    """A namespace with up to three packages of which some are asked for and some are installed."""
    packages = draw(st.lists(st.sampled_from(PACKAGES), min_size=1, max_size=3, unique=True))
    catalog = [line for package in packages for line in draw(channels(package))]
    subs, installed = [], []
    for package in draw(st.lists(st.sampled_from(packages), min_size=1, max_size=2, unique=True)):
        text = f"{package} {package}/{draw(st.sampled_from('sst'))}"
        subs.append(text + draw(st.sampled_from(["", "", " manual", f" starting {package}.v1"])))
        if draw(st.booleans()):
            oldest = next(line for line in catalog if line.startswith(f"{package}.v1 "))
            apis = oldest.partition(" provides ")[2].partition(" requires ")[0].removesuffix(" image")
            needs = oldest.partition(" requires ")[2].removesuffix(" image")
            requires = f" requires {needs}" if needs and draw(st.booleans()) else ""
            installed.append(f"{package}.v1 1.0.0 by {package} provides {apis}{requires}")
    return {"catalog": catalog, "subs": subs, "installed": installed}


def compiled(files: Mapping[str, str], approve: tuple[str, ...] = ("all",)) -> olmc.Compilation:
    with tempfile.TemporaryDirectory() as folder:
        return olmc.compile(write(Path(folder), files), olmc.Options(approve=approve))


def resolved(made: olmc.Compilation) -> bool:
    """Whether every namespace came to rest because nothing was left to do."""
    assert made.settled is not None
    return not any(done.resolution and done.resolution.message for done in made.settled.rounds.values())


def walked(made: olmc.Compilation) -> tuple[object, ...]:
    """Everything that was chosen: the plans in order, the CSVs at rest, what each Subscription is at."""
    assert made.settled is not None
    cluster = made.settled.cluster
    plans = [
        (done.plan.namespace, done.plan.generation, done.plan.csvs, done.plan.approved)
        for done in made.settled.history
        if done.plan is not None
    ]
    states = {name: (s.state, s.current, s.installed) for name, s in cluster.subscriptions.items()}
    return plans, made.phases, states


@EXAMPLES
@given(scenarios(), st.sampled_from([(), ("all",)]))
def test_a_locked_plan_resolves_to_itself(scenario: dict[str, Any], approve: tuple[str, ...]) -> None:
    files = workspace(scenario)
    first = compiled(files, approve)
    assert not first.failed, first.diagnostics
    assert first.lock is not None
    second = compiled({**files, LOCK_FILE: lock_text(first.lock)}, approve)
    assert not second.failed, second.diagnostics
    assert walked(second) == walked(first)
    assert second.lock == first.lock
    assert {found.code for found in second.diagnostics} <= {found.code for found in first.diagnostics}


@EXAMPLES
@given(scenarios(), st.sampled_from(PACKAGES))
def test_a_lock_holds_when_the_catalog_moves_on(scenario: dict[str, Any], package: str) -> None:
    """A new head and a new package change nothing for who has a lock. (What could not be resolved then is not locked,
    and is free to come.)"""
    files = workspace(scenario)
    first = compiled(files)
    assert first.lock is not None
    newest = max((line.split()[0] for line in scenario["catalog"] if line.startswith(f"{package}.v")), default="")
    more = [f"{package}.v9 9.0.0 {package}/s replaces {newest} provides NewHead image"] if newest else []
    moved = {**scenario, "catalog": [*scenario["catalog"], *more, "stranger.v1 1.0.0 stranger/s provides A B C image"]}
    second = compiled({**workspace(moved), LOCK_FILE: lock_text(first.lock)})
    locked = {operator.package for found in first.lock.namespaces.values() for operator in found}
    if resolved(first) and (package in locked or not more):
        assert not second.failed, second.diagnostics
        assert walked(second) == walked(first)


def test_versions_that_only_a_skip_range_leads_from_do_not_break_the_lock(tmp_path: Path) -> None:
    """q.v1.1 came later and is skipped by the new head; for the locked q.v2 it is one more head of the channel."""
    before = ["q.v1 1.0.0 q/s", "q.v2 2.0.0 q/s replaces q.v1 range <2.0.0"]
    first = olmc.compile(write(tmp_path / "one", workspace({"catalog": before, "subs": ["q q/s"]})))
    assert first.lock is not None
    after = [*before, "q.v1.1 1.1.0 q/s replaces q.v1", "q.v3 3.0.0 q/s replaces q.v2 skips q.v1.1"]
    files = workspace({"catalog": after, "subs": ["q q/s"]}) | {LOCK_FILE: lock_text(first.lock)}
    second = olmc.compile(write(tmp_path / "two", files))
    assert not second.failed, second.diagnostics
    assert second.phases == first.phases


def test_the_dependency_of_a_plan_that_waits_is_locked_as_well(tmp_path: Path) -> None:
    """Its Subscription is not there before the plan has run, so the lock knows nothing of it and breaks at once."""
    catalog = ["a.v1 1.0.0 a/s provides A requires B", "b.v1 1.0.0 b/s provides B"]
    files = workspace({"catalog": catalog, "subs": ["a a/s manual"]})
    first = olmc.compile(write(tmp_path, files))
    assert first.lock is not None
    second = olmc.compile(write(tmp_path, {LOCK_FILE: lock_text(first.lock)}))
    assert not second.failed, second.diagnostics


def test_a_provider_that_is_not_installed_does_not_break_the_lock(tmp_path: Path) -> None:
    """R-CAT-583: b.v1 is picked, but nothing installs it; the lock hides it, and the namespace can't be resolved."""
    catalog = ["a.v1 1.0.0 a/s provides A requires B", "b.v1 1.0.0 b/s provides B"]
    installed = ["a.v1 1.0.0 by a provides A requires B"]
    files = workspace({"catalog": catalog, "subs": ["a a/s"], "installed": installed})
    first = olmc.compile(write(tmp_path, files))
    assert first.lock is not None
    second = olmc.compile(write(tmp_path, {LOCK_FILE: lock_text(first.lock)}))
    assert [each.object for each in second.objects] == [each.object for each in first.objects]


def taken_apart(files: Mapping[str, str]) -> list[tuple[str, str]]:
    """Every document with the folder that it has to stay in; what is a bundle's stays whole."""
    found = []
    for path, text in files.items():
        if path.startswith("catalogs/"):
            found += [(path.rpartition("/")[0], each) for each in text.split("---\n") if each]
        elif path == "cluster.json":
            found += [("", json.dumps(each)) for each in json.loads(text)["items"]]
    return found


def put_together(parts: list[tuple[str, str]], choose: Callable[[list[int]], int]) -> Files:
    """The documents in files with any names, one or two a file, as YAML or JSON, at any depth."""
    found: Files = {}
    while parts:
        folder, text = parts.pop(0)
        name = f"{choose(list(range(26)))}-{len(found)}"
        depth = choose([0, 1, 2]) * f"d{choose([0, 1, 2])}/"
        path = "/".join(part for part in (folder, f"{depth}{name}") if part)
        again = next((index for index, (other, _) in enumerate(parts) if other == folder), None)
        if again is not None and choose([0, 1]):
            found[f"{path}.yaml"] = f"{yaml.safe_dump(json.loads(text))}---\n{parts.pop(again)[1]}\n"
        else:
            found[f"{path}.json"] = text
    return found


@EXAMPLES
@given(scenarios(), st.data())
def test_the_order_of_files_never_matters(scenario: dict[str, Any], data: st.DataObject) -> None:
    files = workspace(scenario)
    parts = data.draw(st.permutations(taken_apart(files)))
    other = put_together(list(parts), lambda options: data.draw(st.sampled_from(options)))
    renamed = {path: f"bundles/{data.draw(st.integers(0, 9))}-{path.split('/')[1]}" for path in bundle_folders(files)}
    for path, text in files.items():
        folder = "/".join(path.split("/")[:2])
        if folder in renamed:
            other[f"{renamed[folder]}{path.removeprefix(folder)}"] = text
    first, second = compiled(files), compiled(other)
    assert [each.object for each in second.objects] == [each.object for each in first.objects]
    assert said(second) == said(first)
    assert second.lock == first.lock


def said(made: olmc.Compilation) -> list[tuple[str, str]]:
    return sorted((found.code, found.message) for found in made.diagnostics)


def bundle_folders(files: Mapping[str, str]) -> list[str]:
    return sorted({"/".join(path.split("/")[:2]) for path in files if path.startswith("bundles/")})
