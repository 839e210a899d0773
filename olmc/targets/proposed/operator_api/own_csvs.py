"""Which CSVs among the components of an Operator are of its own package, and not what that needs (R-OPERATOR-7)."""

from __future__ import annotations

from olmc.compiler.model.catalog import named
from olmc.compiler.model.cluster import Cluster
from olmc.compiler.model.operators import CSV_KIND, Csv
from olmc.compiler.olm.facts import package_of
from olmc.compiler.results import OperatorResult


def is_own(csv: Csv, outcome: OperatorResult, cluster: Cluster) -> bool:
    """Whether a CSV is of the package that an Operator follows, or of the image that it installs.

    An Operator that follows nothing, or of which nothing is known, has no package: every component is its own then.
    """
    if csv.name == outcome.installed:
        return True
    if outcome.operator.image:
        brought = {step.name for install in outcome.installs for step in install.content.steps if step.kind == CSV_KIND}
        return csv.name in brought or not brought
    return not outcome.package or outcome.package in _packages(csv, cluster)


def _packages(csv: Csv, cluster: Cluster) -> frozenset[str]:
    """The packages that catalogs have a CSV in; else the one that it names itself."""
    served = {entry.package for source in cluster.catalogs.values() for entry in named(source.entries, csv.name)}
    return frozenset(served or {package_of(csv.object)})
