"""What a migration comes to."""

from __future__ import annotations

from typing import NamedTuple

from olmc.model.diagnostic import Diagnostic, Severity
from olmc.proposed.changes import Change


class Migration(NamedTuple):
    """The changes to make, and what is left to people."""

    changes: tuple[Change, ...]
    remarks: tuple[Diagnostic, ...]

    @property
    def failed(self) -> bool:
        """Whether the workspace could not be compiled."""
        return any(remark.severity is Severity.ERROR for remark in self.remarks)
