"""Kustomizations in a place of their own, with the Policies that their PolicyGenerators make in the place of these.

kustomize itself then does with the Policies what the kustomizations say: patches, labels, names.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from olmc.load.files import MAX_FILE_BYTES, is_file
from olmc.load.kustomization import KustomizationTree, policy_generators, read_kustomization
from olmc.load.policy_generators import GenerationError, policies_of
from olmc.model.diagnostics import Report
from olmc.model.objects import KubernetesObject
from olmc.yaml import dump, read

Run = Callable[[Path], str]
"""What kustomize makes of a folder; raises GenerationError."""

_POLICIES = "olmc-policies.yaml"


def staged(tree: KustomizationTree, start: Path, place: Path, run: Run) -> tuple[Path, Path]:
    """Write a copy of all that a build of the kustomization `start` reads into the folder `place`.

    Gives the folder that everything was below of, and the folder to build. Raises GenerationError, and OSError.
    """
    sources = (*tree.kustomizations, *tree.files)
    top = Path(os.path.commonpath([path.parent for path in sources]))
    for path in sources:
        if not is_file(path) or path.stat().st_size > MAX_FILE_BYTES:
            continue  # kustomize says what it lacks
        target = place / path.relative_to(top)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
    for kustomization in tree.generated:
        _replace_generators(kustomization, place / kustomization.relative_to(top), place, run)
    return top, place / start.resolve().parent.relative_to(top)


def _replace_generators(kustomization: Path, target: Path, place: Path, run: Run) -> None:
    content, _ = read_kustomization(kustomization, "")
    generators = policy_generators(content, kustomization.parent)
    policies = [
        policy
        for generator in generators.values()
        for configuration in generator
        for policy in policies_of(
            configuration, kustomization.parent, lambda folder: _objects(run(folder)), _patching(place, run)
        )
    ]
    others = [entry for number, entry in enumerate(content["generators"]) if number not in generators]
    resources = content.get("resources")
    rewritten: dict[str, Any] = {key: value for key, value in content.items() if key != "generators"}
    rewritten["resources"] = [*(resources if isinstance(resources, list) else []), _POLICIES]
    if others:
        rewritten["generators"] = others
    target.write_text(dump([rewritten]), "utf-8")
    target.with_name(_POLICIES).write_text(dump(policies), "utf-8")


def _patching(place: Path, run: Run) -> Callable[[list[dict[str, Any]], list[Mapping[str, Any]]], list[dict[str, Any]]]:
    """How patches of manifests are applied: by a kustomization that holds nothing else."""

    def patched(objects: list[dict[str, Any]], patches: list[Mapping[str, Any]]) -> list[dict[str, Any]]:
        folder = place / ".olmc-patched"
        folder.mkdir(exist_ok=True)
        names = [f"patch-{number}.yaml" for number in range(len(patches))]
        for name, patch in zip(names, patches, strict=True):
            (folder / name).write_text(dump([patch]), "utf-8")
        (folder / "objects.yaml").write_text(dump(objects), "utf-8")
        content = {"resources": ["objects.yaml"], "patches": [{"path": name} for name in names]}
        (folder / "kustomization.yaml").write_text(dump([content]), "utf-8")
        return [dict(obj) for obj in _objects(run(folder))]

    return patched


def _objects(text: str) -> list[KubernetesObject]:
    report = Report()
    values = [document.value for document in read("", text, report) if isinstance(document.value, dict)]
    if report.failed:
        raise GenerationError("what kustomize prints can't be read")
    return values
