"""One side of a comparison: the objects of a compilation or of a rendering, under the name that the user gave it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from olmc.model.diagnostic import Diagnostic
from olmc.model.objects import KubernetesObject, Rendered

if TYPE_CHECKING:
    from olmc.settle.rest import Settled

__all__ = ["Compiled", "Side", "side_of"]


class Compiled(Protocol):
    """What a comparison needs of a compilation."""

    @property
    def objects(self) -> tuple[Rendered, ...]: ...

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]: ...

    @property
    def settled(self) -> Settled | None: ...


class Side(NamedTuple):
    """`settled` is the cluster at rest where the objects were compiled: it knows the catalogs.

    `shared` is how many more objects the other side has just so; nobody had to read them.
    """

    name: str
    objects: tuple[KubernetesObject, ...]
    settled: Settled | None = None
    shared: int = 0


def side_of(name: str, compiled: Compiled) -> Side:
    """A compilation as a side."""
    return Side(name, tuple(each.object for each in compiled.objects), compiled.settled)
