"""What a directory holds for a cluster and olmc does not compile: found by whoever reviews it, never hidden."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from olmc.model.location import Location
from olmc.model.objects import Identity


class Reason(StrEnum):
    """Why something is left out."""

    IGNORED = "ignored"
    HIDDEN = "hidden"
    BUNDLE = "bundle"
    BROKEN = "broken"
    FURTHER = "further"
    REPLACED = "replaced"
    UNINSTALLED = "uninstalled"
    CATALOG = "catalog"
    VENDORED = "vendored"
    RENDERED = "rendered"
    SCAFFOLDED = "scaffolded"
    TOOLS = "tools"
    COPY = "copy"
    LINK = "link"
    SUBMODULE = "submodule"
    OTHER = "other"

    @property
    def text(self) -> str:
        """The reason as the end of a sentence about what is left out."""
        return _TEXTS[self]

    @property
    def is_chosen(self) -> bool:
        """Whether somebody asked for it by the usual ways: a pattern, or output that is kept beside its input."""
        return self in _CHOSEN


_TEXTS = {
    Reason.IGNORED: "named by .olmcignore or by ignore in olmc.yaml",
    Reason.HIDDEN: "in a hidden folder",
    Reason.BUNDLE: "in the folder of a bundle, and not among its manifests",
    Reason.BROKEN: "in the folder of a bundle, in a file that can't be read",
    Reason.FURTHER: "behind the one object that OLM reads of a bundle's file",
    Reason.REPLACED: "in a bundle of which the workspace has another with the same name",
    Reason.UNINSTALLED: "in a bundle that nothing installs",
    Reason.CATALOG: "in a catalog, which holds no objects",
    Reason.VENDORED: "in vendor/, and no part of a bundle or a catalog",
    Reason.RENDERED: "marked as written by olmc render, and not what it writes now",
    Reason.SCAFFOLDED: "marked as written by olmc init",
    Reason.TOOLS: "in a list that is for tools",
    Reason.COPY: "a copy of a CSV by its status alone, which no server takes from a manifest",
    Reason.LINK: "behind a link that is not followed",
    Reason.SUBMODULE: "which is another repository",
    Reason.OTHER: "in a file that is not read",
}
_CHOSEN = frozenset({Reason.IGNORED, Reason.RENDERED, Reason.SCAFFOLDED})


class Unseen(StrEnum):
    """Why not all objects of a file are known, in words that stand for them."""

    NOTHING = ""
    UNREADABLE = "what can't be read"
    IN_LFS = "what is in Git LFS"
    UNKNOWN = "what nobody has looked at"
    SUBMODULE = "what is in the submodule"


class LeftObject(NamedTuple):
    """An object that is left out, and the digest of what is written of it."""

    identity: Identity
    digest: str


class LeftOut(NamedTuple):
    """A file with something that `kubectl apply -R`, Argo CD or Flux would apply, and that olmc does not compile.

    `objects` are those in it, as far as they can be read; `problem` says what else there may be.
    `digest` is that of the whole text.
    """

    location: Location
    reason: Reason
    objects: tuple[LeftObject, ...]
    digest: str = ""
    problem: Unseen = Unseen.NOTHING
