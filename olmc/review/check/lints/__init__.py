"""Find suspicious content that compiles.

A lint takes a `LintSubject` and yields diagnostics; `olmc.review.check.check.LINTS` has all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from olmc.compiler.model.options import Options
from olmc.compiler.model.workspace import Workspace
from olmc.compiler.reconcile.loop import SettledCluster
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import Manifest


class LintSubject(NamedTuple):
    """A workspace as it was read, its settled cluster (None where an error stopped the compilation), and its options.
    `whole` has the older versions of bundles as well, which are not checked."""

    workspace: Workspace
    settled: SettledCluster | None
    options: Options
    whole: Workspace | None = None


def of_kind(subject: LintSubject, *kinds: str) -> Iterator[Manifest]:
    """The manifests of OLM's own kinds with one of these names."""
    for manifest in subject.workspace.manifests:
        if manifest.object["kind"] in kinds and manifest.object["apiVersion"].startswith("operators.coreos.com/"):
            yield manifest


def full_name(obj: dict[str, Any]) -> str:
    """The namespace and name of an object, or its name alone."""
    metadata = obj["metadata"]
    return "/".join(filter(None, (metadata.get("namespace"), metadata["name"])))
