"""The pipeline with all its targets: the functions by which the rest of olmc compiles.

Each hook imports its target when it has work: most workspaces have neither objects of the proposed APIs nor
ClusterExtensions.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olmc.compiler import api
from olmc.compiler.api import Compilation
from olmc.compiler.hooks import BundleObjects, SettledInput, Target, TargetStage
from olmc.compiler.load.request import CompileRequest, request_of
from olmc.compiler.model.options import Certificates, Options
from olmc.compiler.model.workspace import Workspace
from olmc.k8s.diagnostics import Report
from olmc.k8s.objects import Manifest
from olmc.targets.proposed.operator_api import KINDS, OPERATOR_API

if TYPE_CHECKING:
    from typing import Unpack

    from olmc.compiler.load.files import Folder
    from olmc.compiler.model.options import OptionFields
    from olmc.compiler.reconcile.loop import SettledCluster


def _check_proposed(workspace: Workspace, options: Options, report: Report) -> None:
    if any(manifest.object["apiVersion"] == OPERATOR_API for manifest in workspace.manifests):
        from olmc.targets.proposed.operator_api.manifests import check_fields

        check_fields(workspace, options, report)


def _settle_proposed(
    workspace: Workspace, options: Options, report: Report
) -> tuple[Any, SettledCluster | None] | None:
    if not options.operators_and_installs:
        return None
    from olmc.targets.proposed.pipeline_hooks import settled_with_installs

    return settled_with_installs(workspace, options, report)


def _rework_proposed(given: SettledInput, report: Report) -> TargetStage | None:
    if not given.options.descoped and not given.options.operators_and_installs:
        return None
    from olmc.targets.proposed.pipeline_hooks import proposed

    return proposed(given, report)


def _install_extensions(given: SettledInput, report: Report) -> TargetStage | None:
    if given.live is None or not given.live.has_extensions:
        return None
    from olmc.targets.v1.extensions import install_extensions

    made = install_extensions(given.live, given.settled.cluster, given.options, report)
    settled = given.settled._replace(cluster=made.without_held(given.settled.cluster))
    return TargetStage(settled, (made.written,), (made.rewrite,), {"extensions": made.results}, made.locked)


def _install_bundle(
    root: Path, folder: Folder, options: Options, certificates: Certificates | None, report: Report
) -> BundleObjects:
    from olmc.targets.v1.single_extension import single_extension

    made = single_extension(root, folder, options, certificates, report)
    return BundleObjects(made.objects, made.inputs, made.missing)


PROPOSED = Target({OPERATOR_API: KINDS}, check=_check_proposed, settle=_settle_proposed, rework=_rework_proposed)
EXTENSIONS = Target(extend=_install_extensions, bundle=_install_bundle)
TARGETS = (PROPOSED, EXTENSIONS)


def compile(
    root: CompileRequest | Path | str, options: Options | None = None, **fields: Unpack[OptionFields]
) -> Compilation:
    """Compile a workspace or a bundle.

    `root` is its directory, or a request with all that a compilation depends on. `options` are those that hold where
    `olmc.yaml` has none; an option that is given by its name takes precedence over `olmc.yaml`. Bad input raises
    nothing: the diagnostics of the compilation have all its problems. Raises TypeError for an unknown option.

        olmc.compile("clusters/prod", olm_version="ocp-4.14", purpose="apply")
    """
    return api.compile(request_of(root, options, fields), TARGETS)


def compile_manifests(manifests: Iterable[Manifest], options: Options, report: Report) -> Compilation:
    """Compile manifests that no directory holds; `report` has the earlier findings."""
    return api.compile_manifests(manifests, options, report, TARGETS)


def compile_workspace(workspace: Workspace, options: Options, report: Report) -> Compilation:
    """Compile a workspace that was read already; `report` has the earlier findings."""
    return api.compile_workspace(workspace, options, report, TARGETS)
