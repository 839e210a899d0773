"""What catalogd serves of a catalog: the documents of its files, whatever they say (R-V1-RES-2, R-V1-RES-3).

Other than the registries of v0 it checks nothing of how packages, channels and bundles fit together.
"""

from __future__ import annotations

from olmc.compiler.model.catalog import Catalog
from olmc.k8s.strconv import quoted
from olmc.targets.v1.permissions import ClusterCatalog
from olmc.targets.v1.resolution import ServedCatalog, not_served_problem


def served_content(catalog: ClusterCatalog, content: Catalog) -> ServedCatalog:
    """A ClusterCatalog with the packages that it serves; what can't be read ends every resolution that looks there."""
    if content.unread:
        return ServedCatalog(catalog, {}, not_served_problem(catalog.name), unpacking=unpacking_error(content.unread))
    if content.problem and not content.documents:
        return ServedCatalog(catalog, {}, not_served_problem(catalog.name), unpacking=unpacking_error(content.problem))
    broken = {name: f"error loading package {quoted(name)}: {problem}" for name, problem in content.spoilt.items()}
    return ServedCatalog(catalog, content.documents if content.problem else content.packages, broken=broken)


def unpacking_error(problem: str) -> str:
    """The error of catalogd for content that it can't read (R-V1-CC-4)."""
    return f"error storing fbc: error walking FBC root: {problem}"
