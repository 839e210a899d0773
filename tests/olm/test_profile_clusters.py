"""What clusters with OLM 0.28.0, 0.22.0 and 0.17.0 made of recorded cases, where the newest makes something else.

Each row names the case, the last version that behaves in the old way and the first that does not, and the outcome of
both.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest

import olmc

CSV = "ClusterServiceVersion/kitchen/kettle.v1.0.0"
DEPLOYMENT = "Deployment/kitchen/kettle-controller"
SUBSCRIPTION = "Subscription/kitchen/kettle"


class Row(NamedTuple):
    """A difference: `path` leads to what both sides are compared by, None standing for an object that is not there."""

    says: str
    case: str
    name: str
    path: tuple[str | int, ...]
    until: str
    old: Any
    since: str
    new: Any


UNEXPECTED = (
    "installing: unexpected annotation on deployment. Expected capabilities:Basic Install, found "
    "capabilities:from-template"
)
TWO_SOURCES = (
    'install strategy failed: Deployment.apps "kettle-controller" is invalid: spec.template.spec.containers[0].env[2]'
    '.valueFrom: Invalid value: "": may not be specified when `value` is not empty'
)
NO_SECRET = "the service account does not have any API secret sa=kitchen/installer"
SEVERAL, CONFIG, WEAK = "45-deployments-several", "48-subconfig-everything", "18-og-serviceaccount-weak"
AFFINITY = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]
        }
    }
}
FINALIZER = ["operators.coreos.com/csv-cleanup"]

ROWS = [
    Row("no finalizer csv-cleanup on CSVs", SEVERAL, CSV, ("metadata", "finalizers"), "0.26.0", None,
        "0.27.0", FINALIZER),
    Row("no finalizer in 0.22", SEVERAL, CSV, ("metadata", "finalizers"), "0.22.0", None, "0.28.0", FINALIZER),
    Row("catalogSources of images are empty", SEVERAL, "InstallPlan/kitchen/install-*", ("status", "catalogSources"),
        "0.24.0", [], "0.25.0", ["cat"]),
    Row("no condition BundleUnpacking", WEAK, SUBSCRIPTION, ("status", "conditions", 1, "type"),
        "0.24.0", "InstallPlanFailed", "0.25.0", "BundleUnpacking"),
    Row("the plan fails without a token", WEAK, "InstallPlan/kitchen/install-*", ("status", "conditions"), "0.28.0",
        [{"type": "Installed", "status": "False", "reason": "InstallComponentFailed", "message": NO_SECRET}],
        "0.29.0", None),
    Row("the plan is Failed without a token", WEAK, "InstallPlan/kitchen/install-*", ("status", "phase"),
        "0.28.0", "Failed", "0.29.0", "Installing"),
    Row("no spec.cleanup", SEVERAL, CSV, ("spec", "cleanup"), "0.17.0", None, "0.18.0", {"enabled": False}),
    Row("case 45 never succeeds", SEVERAL, CSV, ("status", "message"), "0.17.0", UNEXPECTED,
        "0.18.0", "install strategy completed with no errors"),
    Row("case 45 loops", SEVERAL, CSV, ("status", "phase"), "0.17.0", "InstallReady", "0.18.0", "Succeeded"),
    Row("the Deployment of case 48 is refused", CONFIG, CSV, ("status", "message"), "0.17.0", TWO_SOURCES,
        "0.18.0", "install strategy completed with no errors"),
    Row("there is no Deployment in case 48", CONFIG, DEPLOYMENT, ("kind",), "0.17.0", None, "0.18.0", "Deployment"),
    Row("spec.config.affinity is pruned", CONFIG, SUBSCRIPTION, ("spec", "config", "affinity"),
        "0.21.2", None, "0.22.0", AFFINITY),
    Row("spec.config.annotations are pruned", CONFIG, SUBSCRIPTION, ("spec", "config", "annotations", "ticket"),
        "0.22.0", None, "0.28.0", "T-1"),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.says)
def test_row(row: Row, shared: Path) -> None:
    folder = shared / "conformance/cases/synthetic" / row.case / "input"
    assert (value_in(folder, row, row.until), value_in(folder, row, row.since)) == (row.old, row.new)


def value_in(folder: Path, row: Row, version: str) -> Any:
    """What stands at the path of a row in a version, None if it is not there."""
    made = olmc.compile(folder, olmc.Options(olm_version=version))
    prefix = row.name.removesuffix("*")
    found: Any = next((each.object for each in made.objects if str(each.identity).startswith(prefix)), None)
    for key in row.path:
        if isinstance(found, list):
            found = found[key] if isinstance(key, int) and key < len(found) else None
        else:
            found = found.get(key) if isinstance(found, dict) else None
    return found
