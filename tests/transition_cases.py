"""Runs the transition cases (`tests/transition/README.md`): a cluster at rest, a change, and the cluster then."""

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
            unknown = document.keys() - {"rule", "name", "why", "before", "after", "expect"}
            unknown |= {*document["before"], *document["after"]} - DESCRIPTION
            unknown |= {*document["expect"], *document["before"].get("expect", ())} - EXPECTATIONS
            if unknown or case.id in cases or not document["expect"] or not document["why"]:
                raise ValueError(f"{path.name}: {case.id} is there twice, expects nothing, or has keys {unknown}")
            cases[case.id] = case
    return list(cases.values())


def run_transition(case: Case, root: Path) -> list[str]:
    """Compile both workspaces of a case below `root`, the second one from what the first one leaves; what differs from
    the expectations, a line each."""
    before = case.document["before"]
    settled = compiled(root / "before", before, None)
    problems = [f"before: {line}" for line in differences(before.get("expect", {}), settled)]
    description = merged({key: value for key, value in before.items() if key != "expect"}, case.document["after"])
    after = compiled(root / "after", description, state_left(settled))
    problems += differences(case.document["expect"], after)
    if not problems:
        return []
    reports = [f"{d.severity.name} {d.code} {d.message}" for d in after.diagnostics]
    return [case.document["why"], *problems, "olmc reported:", *reports]


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
