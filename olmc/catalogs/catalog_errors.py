"""What is wrong with a catalog: all of it at once and with places, the first error in OLM's words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from olmc.gojson import DecodeError, decode_failure
from olmc.lean import NamedTuple
from olmc.model.diagnostics import DecodeFailure, Location, Place, Report, Severity
from olmc.yaml import locate

if TYPE_CHECKING:
    from olmc.diagnostics.rule import Rule
    from olmc.model.catalog import Catalog
    from olmc.yaml.pieces import Known

Keys = tuple[str | int, ...]


class CatalogError(NamedTuple):
    """One thing wrong: the rule broken, where, and the values that fill the rule's message."""

    rule: Rule
    place: Place | None
    values: Mapping[str, object] = MappingProxyType({})

    @property
    def stops(self) -> bool:
        """Whether it keeps the catalog from being served."""
        return self.rule.severity >= Severity.FAILURE

    @property
    def text(self) -> str:
        """The message, which for what stops OLM is OLM's text."""
        return self.rule.message.format(**self.values)

    @property
    def cause(self) -> DecodeFailure | None:
        """What does not fit the type that it has in Go, if that is what is wrong."""
        cause = self.values.get("cause")
        return decode_failure(cause) if isinstance(cause, DecodeError) else None


def below(place: Place | None, *keys: str | int) -> Place | None:
    """The place to which `keys` lead from `place`, None for none."""
    return Place(place.source, (*place.keys, *keys)) if place is not None else None


def location_of(place: Place | None) -> Location | None:
    """The line and column of a place."""
    return locate(place.source, place.keys) if place is not None else None


def report_errors(errors: Iterable[CatalogError], report: Report, known: Known | None = None) -> None:
    """Report errors where they stand; `known` is what the files of the catalog were read with."""
    for error in errors:
        from olmc.yaml.pieces import locate_in_pieces  # most catalogs have no errors

        place = error.place
        location = location_of(place) if place is None or known is None else locate_in_pieces(*place, known)
        diagnostic = error.rule.finding(location, related=(), **error.values)
        report.add(diagnostic.caused_by(error.cause))


def unavailable(problem: str, place: Place | None = None) -> Catalog:
    """The catalog that can't be served because of `problem`."""
    from olmc.model.catalog import Catalog

    return Catalog({}, problem, place)
