"""Copies of CSVs: what operators that watch many namespaces cost the cluster."""

from __future__ import annotations

import json
from collections.abc import Iterator

from olmc.generate.csvs import copy_targets
from olmc.generate.world import world
from olmc.model.diagnostic import Diagnostic
from olmc.review.lints.subject import Lint, Subject
from olmc.rules import lints as rules
from olmc.yaml import at

MUCH = 5_000_000
"""Bytes of all copies of one CSV from which on they are worth a word."""


def many_copies(subject: Subject) -> Iterator[Diagnostic]:
    """CSVs whose copies in target namespaces take much room together (R-COPY-2)."""
    if subject.settled is None:
        return
    cluster = subject.settled.cluster
    scene = world(cluster, subject.options)
    for name, member in sorted(cluster.members.items()):
        count = len(copy_targets(scene, member))
        size = count * len(json.dumps(member.csv.object, separators=(",", ":"), default=str)) if count else 0
        if size >= MUCH:
            place = at(member.csv.source, "metadata", "name")
            yield rules.MANY_COPIES.finding(place, csv=name.name, count=count, size=round(size / 1e6))


LINTS: tuple[Lint, ...] = (many_copies,)
