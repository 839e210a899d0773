"""Why a workspace gives no objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from olmc.generate.passes import generate
from olmc.model.cluster import Cluster
from olmc.model.diagnostic import Report
from olmc.model.options import Options


class LeftOut(NamedTuple):
    """That the options include, exclude and phase have left out everything: `problem` as in "PATH gives no objects: …",
    and what there would be."""

    problem: str
    hint: str


def left_out(compiled: Sequence[tuple[Cluster, Options]]) -> LeftOut | None:
    """What is left out of compilations that gave no objects; None if there are no objects at all."""
    chosen = [options for _, options in compiled]
    filters = [name for name in ("include", "exclude") if any(getattr(options, name) for options in chosen)]
    filters += sorted({f"phase {options.phase}" for options in chosen if options.phase and options.purpose == "apply"})
    if not filters:
        return None
    whole = [
        found.identity.kind
        for cluster, options in compiled
        for found in generate(cluster, options._replace(include=(), exclude=(), phase=0), Report())
    ]
    if not whole:
        return None
    verb = "leave" if len(filters) > 1 else "leaves"
    return LeftOut(
        f": {' and '.join(filters)} {verb} none of the {len(whole)} that there are",
        f"There are objects of kind {', '.join(sorted(set(whole)))}.",
    )
