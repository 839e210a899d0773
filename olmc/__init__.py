"""olmc compiles a directory of bundles, catalogs, OperatorGroups and Subscriptions into the objects that the Operator
Lifecycle Manager would leave in a cluster. The names below are the public API, imported when they are asked for."""

from __future__ import annotations

import gc

from olmc.version import __version__

# As `typing` has it, whose import is longer than all else before the command line hears Ctrl-C.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from olmc.compiler.api import Compilation, load
    from olmc.compiler.load.request import CompileRequest
    from olmc.compiler.model.options import Options
    from olmc.compiler.model.workspace import Workspace
    from olmc.k8s.diagnostics import Diagnostic, Location, Report, Severity
    from olmc.k8s.objects import ObjectKey, Provenance, Rendered
    from olmc.review.check.check import CheckResult, check
    from olmc.review.diff.engine import DiffResult, diff
    from olmc.review.plan.engine import PlanResult, plan
    from olmc.targets.pipeline import compile

__all__ = [
    "CheckResult",
    "Compilation",
    "CompileRequest",
    "Diagnostic",
    "DiffResult",
    "Location",
    "ObjectKey",
    "Options",
    "PlanResult",
    "Provenance",
    "Rendered",
    "Report",
    "Severity",
    "Workspace",
    "__version__",
    "check",
    "compile",
    "diff",
    "load",
    "plan",
]

_MODULES = {
    "olmc.compiler.api": ("Compilation", "load"),
    "olmc.targets.pipeline": ("compile",),
    "olmc.review.check.check": ("CheckResult", "check"),
    "olmc.review.diff.engine": ("DiffResult", "diff"),
    "olmc.compiler.load.request": ("CompileRequest",),
    "olmc.k8s.diagnostics": ("Diagnostic", "Location", "Report", "Severity"),
    "olmc.k8s.objects": ("ObjectKey", "Provenance", "Rendered"),
    "olmc.compiler.model.options": ("Options",),
    "olmc.compiler.model.workspace": ("Workspace",),
    "olmc.review.plan.engine": ("PlanResult", "plan"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: each command needs few of them."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = _imported(name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _imported(name: str) -> Any:
    """What has a public name. Importing makes no garbage, and looking for some would take a tenth of a short run."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        return getattr(__import__(_MODULE_OF[name], fromlist=[name]), name)
    finally:
        if collecting:
            gc.enable()
