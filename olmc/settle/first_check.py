"""What OLM saw when it first checked a CSV (observed 17).

The list of requirements is not written again while the CSV stays Pending for the same reason, so it shows the cluster
as it was then. The olm-operator looks while the plan that made the CSV is still at work, hardly a step behind: of what
that plan makes, it finds the CRDs that come directly behind the CSV, and nothing later.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from olmc.model.cluster import InstallPlan, Step
from olmc.model.objects import Identity, Rendered
from olmc.model.operators import Csv

CREATED = "R-CAT-720"
"""The rule that stands at a CRD that a plan made; one that it found and replaced has R-CAT-723."""

_CSV, _CRD, _ACCOUNT = "ClusterServiceVersion", "CustomResourceDefinition", "ServiceAccount"


def at_first_check(
    csv: Csv, stock: Mapping[Identity, Rendered], plans: Iterable[InstallPlan]
) -> Mapping[Identity, Rendered]:
    """The stock without the CRDs and ServiceAccounts that the CSV's own plan made after the first check."""
    late = {(step.kind, step.name) for plan in plans for step in _later_steps(csv, plan)}
    return {key: found for key, found in stock.items() if not _came_late(csv, key, found, late)}


def _later_steps(csv: Csv, plan: InstallPlan) -> tuple[Step, ...]:
    """The steps of a plan behind the CSV's step and the CRDs that follow it; none if the plan doesn't make the CSV."""
    steps = plan.steps if plan.namespace == csv.namespace else ()
    own = next((at for at, step in enumerate(steps) if (step.kind, step.name) == (_CSV, csv.name)), len(steps))
    later = own + 1
    while later < len(steps) and steps[later].kind == _CRD:
        later += 1
    return steps[later:]


def _came_late(csv: Csv, key: Identity, found: Rendered, late: set[tuple[str, str]]) -> bool:
    if (key.kind, key.name) not in late:
        return False
    if key.kind == _CRD:
        return found.provenance.rule == CREATED
    owners = {ref.get("name") for ref in found.object["metadata"].get("ownerReferences") or ()}
    return key.kind == _ACCOUNT and key.namespace == csv.namespace and owners <= {csv.name}
