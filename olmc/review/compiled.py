"""What reviews need of a compilation of a directory, whoever made it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from olmc.model.diagnostic import Diagnostic
    from olmc.model.objects import Rendered
    from olmc.model.options import Options
    from olmc.model.workspace import Inputs, Workspace
    from olmc.settle.rest import Settled

__all__ = ["Compiled"]


class Compiled(Protocol):
    """The objects and what was said of them; `settled` and `workspace` are None where an error stopped it before."""

    @property
    def objects(self) -> tuple[Rendered, ...]: ...

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]: ...

    @property
    def settled(self) -> Settled | None: ...

    @property
    def workspace(self) -> Workspace | None: ...

    @property
    def inputs(self) -> Inputs: ...

    @property
    def options(self) -> Options: ...
