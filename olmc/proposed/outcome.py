"""What becomes of an Operator, and what it is resolved in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from olmc.model.objects import CatalogKey
from olmc.model.options import Options
from olmc.model.proposed import Install, Operator
from olmc.model.workspace import Workspace
from olmc.proposed.gate import Judged
from olmc.proposed.permission_atoms import Atom


class Outcome(NamedTuple):
    """What became of an Operator.

    `package` and `channel` are what it follows; `fixed`: it stays at its entrypoint. `installed` is its CSV's name,
    `installs` are its Installs in order, the last of which may wait. `failure` is the reason and message of
    ResolutionFailed, `missing` the image whose content is not known, `problem` why content could not be applied.
    """

    operator: Operator
    package: str = ""
    channel: str = ""
    fixed: bool = False
    installed: str = ""
    installs: tuple[Judged, ...] = ()
    failure: tuple[str, str] | None = None
    missing: str = ""
    problem: str = ""

    @property
    def ref(self) -> CatalogKey:
        return self.operator.catalog.ref if self.operator.catalog else CatalogKey("", "")

    @property
    def waiting(self) -> Judged | None:
        """The Install that is not applied."""
        return next((each for each in self.installs if not each.applied), None)

    @property
    def approvals(self) -> frozenset[Atom]:
        """All that was approved for the Operator so far."""
        return frozenset(atom for each in self.installs if each.applied for atom in each.approvals)


class Scene(NamedTuple):
    """What Operators are resolved in, which does not change: the workspace, Installs that approve, and the options."""

    workspace: Workspace
    records: Mapping[str, Install]
    options: Options
