"""The hooks of the proposed APIs in a compilation: before the cluster settles, and before its objects are written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from olmc.compiler.hooks import SettledInput, TargetStage
from olmc.compiler.model.options import Options
from olmc.compiler.model.workspace import Workspace
from olmc.compiler.reconcile.loop import SettledCluster, reconcile
from olmc.compiler.render.rbac import Rewrite
from olmc.compiler.render.webhooks import Pass
from olmc.compiler.results import InstallDecision, OperatorResult
from olmc.k8s.diagnostics import Report
from olmc.targets.proposed.descoped import install_topology
from olmc.targets.proposed.descoped.install_topology import (
    descopable,
    descoped_rbac,
    with_operators_renamed,
    without_former_bindings,
)
from olmc.targets.proposed.operator_api.controller import followed, rewriting
from olmc.targets.proposed.operator_api.installs import InitialInstalls, begin


def settled_with_installs(
    workspace: Workspace, options: Options, report: Report
) -> tuple[InitialInstalls, SettledCluster | None]:
    """The settled cluster of a workspace with what its Installs bring; None if they can't be read."""
    begun = begin(workspace, options, report)
    if report.failed:
        return begun, None
    return begun, reconcile(begun.workspace, options, report, direct=begun.steps, installed=begun.installed)


def proposed(given: SettledInput, report: Report) -> TargetStage:
    """Apply the APIs that the options switch on to a settled cluster; their findings go to `report`."""
    settled, options = given.settled, given.options
    further: tuple[Pass, ...] = ()
    rewrites: list[Rewrite] = []
    results: dict[str, tuple[Any, ...]] = {}
    absent: tuple[str, ...] = ()
    if options.descoped:
        cluster = settled.cluster
        for finding in (
            *install_topology.rbac_findings(cluster, given.bundles, options),
            *install_topology.findings(cluster, descopable(cluster)),
        ):
            report.add(finding)
        further = (descoped_rbac,)
        rewrites.append(with_operators_renamed)
        settled = settled._replace(cluster=without_former_bindings(cluster, options))
    if given.begun is not None:
        found = followed(given.begun, settled.cluster, options)
        for finding in found.diagnostics:
            report.add(finding)
        settled = settled._replace(cluster=found.cluster)
        rewrites.append(rewriting(found, options))
        results = {"operators": found.outcomes, "installs": found.installs}
        absent = tuple(_absent(found.outcomes, given.begun.judged))
    return TargetStage(settled, further, tuple(rewrites), results, absent=absent)


def _absent(operators: Iterable[OperatorResult], installs: Iterable[InstallDecision]) -> Iterator[str]:
    """Name the Operators of which nothing is applied, and the Installs that are not."""
    for outcome in operators:
        if not outcome.installed and not any(each.applied for each in outcome.installs):
            yield f"Operator {outcome.operator.name} (nothing is installed)"
    for judged in installs:
        if not judged.applied and not judged.install.operator:
            yield f"Install {judged.install.name} (it is not applied)"
