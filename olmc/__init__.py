"""olmc compiles a directory of bundles, catalogs, OperatorGroups and Subscriptions into the objects that the Operator
Lifecycle Manager would leave in a cluster. The names below are the public API."""

import gc

# Importing makes no garbage, and looking for some meanwhile takes a tenth of a short run.
_collecting = gc.isenabled()
gc.disable()

try:
    from olmc.api import Compilation, compile, load
    from olmc.model.diagnostics import Diagnostic, Location, Report, Severity
    from olmc.model.objects import ObjectKey, Provenance, Rendered
    from olmc.model.options import Options
    from olmc.model.workspace import Workspace
    from olmc.version import __version__
except KeyboardInterrupt:
    # This takes most of a short run. Whoever imports olmc is told as ever; for the command nobody is there to tell yet.
    from olmc.cli.process import interrupted, is_command

    if is_command():
        interrupted()
    raise

if _collecting:
    # Both together make all that there is old: otherwise the first thing made from now on would have it looked through.
    gc.freeze()
    gc.unfreeze()
    gc.enable()

__all__ = [
    "Compilation",
    "Diagnostic",
    "Location",
    "ObjectKey",
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
