"""Where the proposed APIs come into a compilation: before the cluster settles, and before its objects are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from olmc.compiler.model.options import Options
from olmc.compiler.model.workspace import Bundle, Workspace
from olmc.compiler.reconcile.loop import SettledCluster, reconcile
from olmc.compiler.render.rbac import Rewrite
from olmc.compiler.render.webhooks import Pass, RenderContext
from olmc.k8s.diagnostics import Report
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import Rendered
from olmc.targets.proposed.descoped import install_topology
from olmc.targets.proposed.descoped import install_topology as descoped_findings
from olmc.targets.proposed.descoped.install_topology import descopable, descoped_rbac, with_operators_renamed
from olmc.targets.proposed.v2alpha1.approval import InstallDecision, OperatorResult
from olmc.targets.proposed.v2alpha1.controller import followed, rewriting
from olmc.targets.proposed.v2alpha1.installs import InitialInstalls, begin


class ProposedHooks(NamedTuple):
    """What the proposed APIs make of a settled cluster, and how they change what is generated from it.

    `operators` is what became of the Operators, `installs` of all Installs.
    """

    settled: SettledCluster
    operators: tuple[OperatorResult, ...] = ()
    further: tuple[Pass, ...] = ()
    rewrites: tuple[Rewrite, ...] = ()
    installs: tuple[InstallDecision, ...] = ()

    def rewrite(self, world: RenderContext, objects: Sequence[Rendered]) -> Sequence[Rendered]:
        """All changes to the objects, one after the other."""
        for change in self.rewrites:
            objects = change(world, objects)
        return objects


def settled_with_installs(
    workspace: Workspace, options: Options, report: Report
) -> tuple[InitialInstalls, SettledCluster | None]:
    """The settled cluster of a workspace with what its Installs bring; None if they can't be read."""
    begun = begin(workspace, options, report)
    if report.failed:
        return begun, None
    return begun, reconcile(begun.workspace, options, report, direct=begun.steps, installed=begun.installed)


def proposed(
    begun: InitialInstalls | None,
    settled: SettledCluster,
    bundles: Mapping[str, Bundle],
    options: Options,
    report: Report,
) -> ProposedHooks:
    """The stages of the APIs that the options switch on; their findings go to `report`."""
    further: tuple[Pass, ...] = ()
    rewrites: list[Rewrite] = []
    operators: tuple[OperatorResult, ...] = ()
    installs: tuple[InstallDecision, ...] = ()
    if options.descoped:
        cluster = settled.cluster
        for finding in (
            *descoped_findings.rbac_findings(cluster, bundles, options),
            *install_topology.findings(cluster, descopable(cluster)),
        ):
            report.add(finding)
        further = (descoped_rbac,)
        rewrites.append(with_operators_renamed)
    if begun is not None:
        found = followed(begun, settled.cluster, options)
        for finding in found.diagnostics:
            report.add(finding)
        settled = settled._replace(cluster=found.cluster)
        rewrites.append(rewriting(found, options))
        operators, installs = found.outcomes, found.installs
    return ProposedHooks(settled, operators, further, tuple(rewrites), installs)
