"""What OLM saw when it first checked a CSV (observed 17).

The list of requirements is not written again while the CSV stays Pending for the same reason, so it shows the cluster
as it was then. The olm-operator looks while the plan that made the CSV is still at work, hardly a step behind: of what
that plan makes, it finds the CRDs that come directly behind the CSV, and nothing later.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from olmc.model.cluster import InstallPlan, Step
from olmc.model.objects import Identity, Rendered
from olmc.model.operators import Csv

CREATED = "R-CAT-720"
"""The rule that stands at a CRD that a plan made; one that it found and replaced has R-CAT-723."""

_CSV, _CRD, _ACCOUNT = "ClusterServiceVersion", "CustomResourceDefinition", "ServiceAccount"


def at_first_check(
    csv: Csv, stock: Mapping[Identity, Rendered], plans: Iterable[InstallPlan]
) -> Mapping[Identity, Rendered]:
    """The stock without the CRDs and ServiceAccounts that the CSV's own plan made after the first check, and without
    those of its accounts that only a later plan made."""
    local = [plan for plan in plans if plan.namespace == csv.namespace]
    late = {(step.kind, step.name) for plan in local for step in _later_steps(csv, plan)}
    makers = {csv.name, *_later_csvs(csv, local)}
    return {key: found for key, found in stock.items() if not _came_late(csv, key, found, late, makers)}


def _later_csvs(csv: Csv, plans: Sequence[InstallPlan]) -> Iterator[str]:
    """The CSVs that came with plans after the one that made this CSV."""
    own = next((plan.generation for plan in plans if csv.name in plan.csvs), None)
    for plan in plans:
        if own is not None and plan.generation > own:
            yield from plan.csvs


def _later_steps(csv: Csv, plan: InstallPlan) -> tuple[Step, ...]:
    """The steps of a plan behind the CSV's step and the CRDs that follow it; none if the plan doesn't make the CSV."""
    steps = plan.steps
    own = next((at for at, step in enumerate(steps) if (step.kind, step.name) == (_CSV, csv.name)), len(steps))
    later = own + 1
    while later < len(steps) and steps[later].kind == _CRD:
        later += 1
    return steps[later:]


def _came_late(csv: Csv, key: Identity, found: Rendered, late: set[tuple[str, str]], makers: set[str]) -> bool:
    if (key.kind, key.name) not in late:
        return False
    if key.kind == _CRD:
        return found.provenance.rule == CREATED
    owners = {ref.get("name") for ref in found.object["metadata"].get("ownerReferences") or ()}
    return key.kind == _ACCOUNT and key.namespace == csv.namespace and owners <= makers
