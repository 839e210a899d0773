"""Building a kustomization with `kustomize` or `kubectl kustomize`: what a GitOps tool would apply of a folder.

The tool runs in an environment of its own, without the user's: no proxies but one that answers nothing, no
credentials, no git, no plugins, and for so long only. What it would have to fetch is refused before it starts.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from olmc.diagnostics.rules import building as rules
from olmc.load.files import MAX_FILE_BYTES
from olmc.load.kustomization import KustomizationTree, read_tree, relative_path
from olmc.load.manifests import SUFFIXES, manifests_in
from olmc.load.tools import relative_to, run
from olmc.model.diagnostics import Location, Report, Source
from olmc.model.objects import KubernetesObject, as_text, name_of, namespace_of
from olmc.model.operators import OLM_GROUP
from olmc.model.workspace import Manifest
from olmc.yaml import read

SECONDS = 60
"""How long a build may take."""

_TOOLS = (("kustomize", "build"), ("kubectl", "kustomize"))
_RESTRICTED = ("--load-restrictor", "LoadRestrictionsRootOnly")


class Build(NamedTuple):
    """What a kustomization builds to, and the files that it was built of, relative to the workspace."""

    manifests: tuple[Manifest, ...]
    files: tuple[str, ...]


def build(root: Path, kustomization: Path, report: Report) -> Build:
    """What the kustomization of the workspace at `root` builds to; nothing, with the reason in `report`, where it can't
    be built without a network or without a tool."""
    tree = read_tree(kustomization, root)
    paths = tuple(relative_path(path, root) for path in (*tree.kustomizations, *tree.files))
    shown = relative_path(kustomization.resolve(), root)
    for remote in tree.remotes:
        rule = rules.HELM_IN_KUSTOMIZATION if remote.is_chart else rules.REMOTE_BASE
        report.add(rule.finding(remote.place, remote=remote.text))
    for outside in tree.outside:
        report.add(rules.BASE_OUTSIDE.finding(outside.place, path=outside.text))
    if tree.remotes or tree.outside:
        return Build((), paths)
    tool = _tool()
    if tool is None:
        report.add(rules.NO_KUSTOMIZE.finding(Location(shown), path=shown))
        return Build((), paths)
    output = run([*tool, *_RESTRICTED, str(kustomization.parent.resolve())], seconds=SECONDS, most=MAX_FILE_BYTES)
    if output.problem:
        problem = relative_to(root, output.problem)
        report.add(rules.NOT_BUILT.finding(Location(shown), path=shown, problem=problem))
        return Build((), paths)
    documents = read(shown, output.text, report)
    manifests = manifests_in([d._replace(source=Source(shown, "")) for d in documents], report)
    origins = _Origins(root, tree)
    return Build(tuple(origins.placed(manifests)), paths)


class _Origins(NamedTuple):
    """Where the objects of a build come from."""

    root: Path
    tree: KustomizationTree

    def placed(self, manifests: Iterable[Manifest]) -> Iterator[Manifest]:
        """The objects with their place: of one that the build leaves as it is, that in its file; of another one the
        file that it comes from, where only one can be meant, or else the kustomization."""
        known = list(self._written())
        for manifest in manifests:
            alike = [other for other in known if _is_origin(other.object, manifest.object)]
            same = [other for other in alike if other.object == manifest.object]
            if same:
                yield same[-1]
            elif len({other.source.path for other in alike}) == 1:
                yield manifest._replace(source=Source(alike[0].source.path, ""))
            else:
                yield manifest

    def _written(self) -> Iterator[Manifest]:
        """OLM's objects in the files that the kustomizations name: those of which there is something to say."""
        for path in self.tree.files:
            if not path.name.endswith(SUFFIXES):
                continue
            try:
                text = path.read_text("utf-8")
            except (OSError, ValueError):
                continue
            if OLM_GROUP in text:
                shown = relative_path(path, self.root)
                yield from manifests_in(read(shown, text, Report()), Report(), judged=False)


def _is_origin(written: KubernetesObject, built: KubernetesObject) -> bool:
    """Whether an object may have become another one in a build, which adds to names and sets namespaces."""
    namespaces = {namespace_of(written), namespace_of(built)}
    return (
        written["kind"] == built["kind"]
        and as_text(written["apiVersion"]) == as_text(built["apiVersion"])
        and name_of(written) in name_of(built)
        and (len(namespaces) == 1 or "" in namespaces or name_of(written) == name_of(built))
    )


def _tool() -> list[str] | None:
    """The command that builds a folder, None where there is none."""
    for name, *arguments in _TOOLS:
        path = shutil.which(name)
        if path is not None:
            return [path, *arguments]
    return None
