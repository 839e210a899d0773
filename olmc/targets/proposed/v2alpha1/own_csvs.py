"""Which CSVs among the components of an Operator are of its own package, and not what that needs (R-OPERATOR-7)."""

from __future__ import annotations

from collections.abc import Mapping

from olmc.compiler.model.catalog import named
from olmc.compiler.model.cluster import Cluster
from olmc.compiler.model.operators import CSV_KIND, Csv
from olmc.compiler.resolver.rounds import UnreadablePropertiesError, csv_properties
from olmc.targets.proposed.v2alpha1.approval import OperatorResult


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
    """The packages that catalogs have a CSV in; else those that it names itself, else what its name begins with."""
    served = {entry.package for source in cluster.catalogs.values() for entry in named(source.entries, csv.name)}
    return frozenset(served or _annotated(csv) or {csv.name.partition(".v")[0]})


def _annotated(csv: Csv) -> set[str]:
    try:
        values = [stated.value for stated in csv_properties(csv, frozenset()) if stated.type == "olm.package"]
    except UnreadablePropertiesError:
        return set()
    return {str(value.get("packageName")) for value in values if isinstance(value, Mapping)}
