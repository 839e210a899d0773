"""Runs the transition cases (`tests/transition/README.md`): a cluster at rest, its changes, what it is after each."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from building import write_workspace
from operator_manifests import merged
from rule_cases import EXPECTATIONS, KEYS, LOADER, Case, differences, options

import olmc
from olmc.compiler.model.options import Options
from olmc.compiler.model.workspace import ClusterState
from olmc.compiler.transition.state import state_of

IN_TURN = frozenset({
    "77-upgrade-replaces", "79-upgrade-skiprange", "84-upgrade-bundle-objects", "w-n81-crd-in-git",
    "w-n83-clusterrole-in-git",
})  # fmt: skip
"""Recorded cases whose manifests contain an object that OLM changes or removes: each of the two undoes the other."""

DESCRIPTION = KEYS - {"rule", "name", "why"}


def transition_cases(folder: Path) -> list[Case]:
    """The cases of all files of a folder, in order; unknown keys or a repeated id are an error."""
    cases: dict[str, Case] = {}
    for path in sorted(folder.glob("*.yaml")):
        for document in yaml.load_all(path.read_text(encoding="utf-8"), LOADER):
            case = Case(document["rule"], document["name"], document)
            unknown = document.keys() - {"rule", "name", "why", "before", "after", "expect", "then"}
            before, *changed = states(case)
            expected = {*before.get("expect", ())}.union(*(state.get("expect", ()) for state in changed))
            unknown |= {*before}.union(*changed) - DESCRIPTION
            unknown |= expected - EXPECTATIONS
            hollow = not all(state.get("expect") for state in changed)
            if unknown or case.id in cases or hollow or not document["why"]:
                raise ValueError(f"{path.name}: {case.id} is there twice, expects nothing, or has keys {unknown}")
            cases[case.id] = case
    return list(cases.values())


def states(case: Case) -> list[dict[str, Any]]:
    """Return the states of a case in order, each with its `expect`: `before` as it is, `after` and each of `then` as a
    merge patch over the state before it."""
    document = case.document
    after = {**document["after"], **({"expect": document["expect"]} if "expect" in document else {})}
    return [document["before"], after, *document.get("then", ())]


def run_transition(case: Case, root: Path) -> list[str]:
    """Compile the workspaces of a case below `root`, the first one from an empty cluster and each other one from the
    state that the one before it leaves. Return the differences from the expectations, a line each."""
    problems: list[str] = []
    description: Mapping[str, Any] = {}
    made: olmc.Compilation | None = None
    for number, state in enumerate(states(case), 1):
        patch = {key: value for key, value in state.items() if key != "expect"}
        description = merged(description, patch) if made is not None else patch
        made = compiled(root / f"state-{number}", description, state_left(made) if made is not None else None)
        if wrong := list(differences(state.get("expect", {}), made)):
            reports = [f"{d.severity.name} {d.code} {d.message}" for d in made.diagnostics]
            problems += [*(f"state {number}: {line}" for line in wrong), "olmc reported:", *reports]
    return [case.document["why"], *problems] if problems else []


def compiled(root: Path, description: Mapping[str, Any], state: ClusterState | None) -> olmc.Compilation:
    """A described workspace, written to `root` and compiled beginning with `state`."""
    root.mkdir(parents=True)
    write_workspace(root, description)
    return olmc.compile(root, options(description.get("olmc", {}))._replace(state=state))


def state_left(settled: olmc.Compilation) -> ClusterState:
    """The state that a compilation ends in."""
    assert settled.settled is not None, [str(d) for d in settled.diagnostics]
    assert settled.workspace is not None
    return state_of(settled.objects, settled.settled.cluster, settled.workspace)


def state_after(path: Path, state: ClusterState | None = None) -> ClusterState:
    """The state in which the workspace at `path` comes to rest, beginning with `state`."""
    return state_left(olmc.compile(path, Options(state=state), purpose="review"))
