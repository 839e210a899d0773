"""What OLM saw when it first checked a CSV (observed-17).

The list of requirements is not written again while the CSV stays Pending for the same reason, so it shows the cluster
as it was then. The olm-operator looks while the plan that made the CSV is still at work, hardly a step behind: of what
that plan makes, it finds the CRDs that come directly behind the CSV, and nothing later.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from olmc.model.cluster import InstallPlan, Step
from olmc.model.objects import Identity, Origin, Rendered, owner_references
from olmc.model.operators import Csv

_CSV, _CRD, _ACCOUNT = "ClusterServiceVersion", "CustomResourceDefinition", "ServiceAccount"
_RBAC = frozenset({"Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"})


def at_first_check(
    csv: Csv, stock: Mapping[Identity, Rendered], plans: Iterable[InstallPlan]
) -> Mapping[Identity, Rendered]:
    """The stock without the CRDs, ServiceAccounts and RBAC that the CSV's own plan made after the first check, and
    without those of its accounts that only a later plan made."""
    local = [plan for plan in plans if plan.namespace == csv.namespace]
    late = {(step.kind, step.name) for plan in local for step in _later_steps(csv, plan)}
    makers = {csv.name, *_later_csvs(csv, local)}
    then = ((key, _at_that_time(csv, key, found, late, makers)) for key, found in stock.items())
    return {key: found for key, found in then if found is not None}


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


def _at_that_time(
    csv: Csv, key: Identity, found: Rendered, late: set[tuple[str, str]], makers: set[str]
) -> Rendered | None:
    """An object as it was when the CSV was first checked; None if it was not there yet."""
    if (key.kind, key.name) not in late or key.namespace not in ("", csv.namespace):
        return found
    if key.kind == _CRD:
        return None if found.provenance.origin is Origin.BUNDLE else found
    if key.kind in _RBAC:
        return None
    return _account_before(makers, found) if key.kind == _ACCOUNT else found


def _account_before(makers: set[str], found: Rendered) -> Rendered | None:
    """A ServiceAccount as it was before the CSVs `makers` came to own it; None if nobody else owns it, since it was
    made for them."""
    others = [ref for ref in owner_references(found.object) if ref.get("name") not in makers]
    if not others:
        return None
    return found._replace(object={**found.object, "metadata": {**found.object["metadata"], "ownerReferences": others}})
