"""olmc compiles a directory of bundles, catalogs, OperatorGroups and Subscriptions into the objects that the Operator
Lifecycle Manager would leave in a cluster. The names below are the public API."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from olmc.version import __version__

if TYPE_CHECKING:
    from olmc.api import Compilation, compile, load
    from olmc.model.diagnostic import Diagnostic, Report, Severity
    from olmc.model.location import Location
    from olmc.model.objects import Identity, Provenance, Rendered
    from olmc.model.options import Options
    from olmc.model.workspace import Workspace

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

# Imported when they are asked for, so that the command line can say how before anything is.
_HOMES = {
    "olmc.api": ("Compilation", "compile", "load"),
    "olmc.model.diagnostic": ("Diagnostic", "Report", "Severity"),
    "olmc.model.location": ("Location",),
    "olmc.model.objects": ("Identity", "Provenance", "Rendered"),
    "olmc.model.options": ("Options",),
    "olmc.model.workspace": ("Workspace",),
}


def __getattr__(name: str) -> Any:
    home = next((home for home, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module 'olmc' has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
