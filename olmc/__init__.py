"""olmc compiles a directory of bundles, catalogs, OperatorGroups and Subscriptions into the objects that the Operator
Lifecycle Manager would leave in a cluster. The names below are the public API."""

import gc

# Importing makes no garbage, and looking for some meanwhile takes a tenth of a short run.
_collecting = gc.isenabled()
gc.disable()

from olmc.api import Compilation, compile, load  # noqa: E402
from olmc.model.diagnostic import Diagnostic, Report, Severity  # noqa: E402
from olmc.model.location import Location  # noqa: E402
from olmc.model.objects import Identity, Provenance, Rendered  # noqa: E402
from olmc.model.options import Options  # noqa: E402
from olmc.model.workspace import Workspace  # noqa: E402
from olmc.version import __version__  # noqa: E402

if _collecting:
    # Both together make all that there is old: otherwise the first thing made from now on would have it looked through.
    gc.freeze()
    gc.unfreeze()
    gc.enable()

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
