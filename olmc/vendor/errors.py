"""What goes wrong with an image, as an exception that carries the finding."""

from __future__ import annotations

from olmc.model.causes import Cause
from olmc.model.diagnostic import Diagnostic
from olmc.rules.rule import Rule


class VendorError(Exception):
    """An image can't be vendored; `diagnostic` says why."""

    def __init__(self, rule: Rule, **values: object) -> None:
        self.diagnostic: Diagnostic = rule.finding(None, related=(), **values)
        super().__init__(self.diagnostic.message)


class SourceError(VendorError):
    """One source does not have the image, or not as it should be; another one may."""

    @property
    def cause(self) -> Cause | None:
        """Why, as data."""
        return self.diagnostic.cause
