"""One side of a comparison: the objects of a compilation or of a rendering, under the name that the user gave it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from olmc.load.suppressions import Suppression
from olmc.model.left_out import LeftOut
from olmc.model.objects import KubernetesObject

if TYPE_CHECKING:
    from olmc.settle.rest import Settled

__all__ = ["Settings", "Side"]


class Settings(NamedTuple):
    """What a workspace says about itself: the `spec` of olmc.yaml, the patterns of .olmcignore, and what it accepts.

    `builds` are the files by which other tools build what they apply, each with a digest.
    """

    config: Mapping[str, Any]
    ignore_lines: tuple[str, ...] = ()
    suppressions: tuple[Suppression, ...] = ()
    builds: Mapping[str, str] = MappingProxyType({})


class Side(NamedTuple):
    """`settled` is the cluster at rest where the objects were compiled: it knows the catalogs.

    `shared` is how many more objects the other side has just so; nobody had to read them. `excluded` are objects of
    kinds that are not compared, `left_out` what the directory holds besides; `settings` are those of a workspace, None
    for a rendering.
    """

    name: str
    objects: tuple[KubernetesObject, ...]
    settled: Settled | None = None
    shared: int = 0
    excluded: tuple[KubernetesObject, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    settings: Settings | None = None
