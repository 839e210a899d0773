"""What `olmc.lock` holds: the operators that were chosen, namespace by namespace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from olmc.model.location import Place


class LockedOperator(NamedTuple):
    """A bundle that was chosen: where it comes from, and the digest of what the catalog and the bundle said then."""

    package: str
    name: str
    version: str
    channel: str
    catalog: str
    catalog_namespace: str
    digest: str


class Lock(NamedTuple):
    """The bundles that the plans of each namespace go through, those at rest last of their package; and the file."""

    namespaces: Mapping[str, tuple[LockedOperator, ...]]
    place: Place | None = None
