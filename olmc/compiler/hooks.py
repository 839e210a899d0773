"""The hooks by which other targets join the pipeline of OLM v0, each at one stage of it.

`olmc.targets.pipeline` has the targets and passes them to `olmc.compiler.api`, which knows only these types.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olmc.compiler.model.options import Certificates, Options
from olmc.compiler.model.workspace import Bundle, Inputs, LockedExtension, Workspace
from olmc.k8s.diagnostics import Report
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import Rendered

if TYPE_CHECKING:
    from olmc.compiler.load.files import Folder
    from olmc.compiler.reconcile.loop import SettledCluster
    from olmc.compiler.render.rbac import Rewrite
    from olmc.compiler.render.webhooks import Pass


class SettledInput(NamedTuple):
    """The input of a hook that runs after the cluster has settled.

    `begun`: the value that the hook `settle` gave. `live`: the workspace with all that its cluster holds, None for a
    bundle by itself.
    """

    settled: SettledCluster
    bundles: Mapping[str, Bundle]
    live: Workspace | None
    begun: Any
    options: Options


class TargetStage(NamedTuple):
    """The part of a target in one compilation.

    `further` passes run after those of OLM v0, and `rewrites` change the objects of all passes. `results` are fields of
    the Compilation by name, `locked` the entries of `olmc.lock`, `absent` the operators that are not there, for people.
    """

    settled: SettledCluster
    further: tuple[Pass, ...] = ()
    rewrites: tuple[Rewrite, ...] = ()
    results: Mapping[str, tuple[Any, ...]] = {}
    locked: Mapping[str, LockedExtension] = {}
    absent: tuple[str, ...] = ()


class BundleObjects(NamedTuple):
    """The objects of a bundle by itself; `missing`: the objects that its output lacks, each with the reason."""

    objects: tuple[Rendered, ...]
    inputs: Inputs
    missing: tuple[str, ...] = ()


def _keep(_: SettledInput, __: Report) -> None:
    """Change nothing."""


def _check_nothing(_: Workspace, __: Options, ___: Report) -> None:
    """Report nothing."""


class Target(NamedTuple):
    """A target by its hooks; one that it does not have is the function that changes nothing.

    `kinds`: the kinds of OLM's group that the target adds, by apiVersion. `check` reports problems of the manifests.
    `settle` settles the cluster in the place of OLM v0 alone; it gives the value for `begun` and the cluster, or None
    where the options do not ask for it. `rework` sees the settled cluster before the scope of custom resources counts,
    `extend` after it; None leaves the cluster as it is. `bundle` compiles a bundle by itself for a release that has no
    Subscriptions.
    """

    kinds: Mapping[str, tuple[str, ...]] = {}
    check: Callable[[Workspace, Options, Report], None] = _check_nothing
    settle: Callable[[Workspace, Options, Report], tuple[Any, SettledCluster | None] | None] | None = None
    rework: Callable[[SettledInput, Report], TargetStage | None] = _keep
    extend: Callable[[SettledInput, Report], TargetStage | None] = _keep
    bundle: Callable[[Path, Folder, Options, Certificates | None, Report], BundleObjects] | None = None
