"""olmc compiles a directory of bundles, catalogs, OperatorGroups and Subscriptions into the objects that the Operator
Lifecycle Manager would leave in a cluster."""

from olmc.api import Compilation, compile, load
from olmc.model.diagnostic import Diagnostic, Report, Severity
from olmc.model.location import Location
from olmc.model.objects import Identity, Provenance, Rendered
from olmc.model.options import Options
from olmc.model.workspace import Workspace
from olmc.version import __version__

__all__ = [
    "Compilation",
    "Diagnostic",
    "Identity",
    "Location",
    "Options",
    "Provenance",
    "Rendered",
    "Report",
    "Severity",
    "Workspace",
    "__version__",
    "compile",
    "load",
]
