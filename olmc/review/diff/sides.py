"""One side of a comparison: the objects of a compilation or of a rendering, under the name that the user gave it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from olmc.model.objects import KubernetesObject

if TYPE_CHECKING:
    from olmc.settle.rest import Settled

__all__ = ["Side"]


class Side(NamedTuple):
    """`settled` is the cluster at rest where the objects were compiled: it knows the catalogs.

    `shared` is how many more objects the other side has just so; nobody had to read them.
    """

    name: str
    objects: tuple[KubernetesObject, ...]
    settled: Settled | None = None
    shared: int = 0
