"""What a review of permissions looks at: operators as they would be once they run, and what keeps them from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from olmc.api import Compilation, load
from olmc.cli.options import compiled
from olmc.explain.wanted import WantedOperators, in_words, outside_apis, wanted_operators, with_outside_apis
from olmc.lean import NamedTuple
from olmc.model.cluster import Cluster, NamespacedName
from olmc.model.diagnostics import Severity
from olmc.model.objects import Rendered
from olmc.model.operators import Csv
from olmc.model.options import APIResource, Options
from olmc.model.workspace import Workspace
from olmc.output.unicode import clean
from olmc.rbac_report.requested import asked_permissions


class Review(NamedTuple):
    """What permissions are read from.

    `objects`: those of the compilation, and what operators would bring that would not run; `cluster` has their CSVs as
    well. `assumed`: APIs that nothing here brings and that are taken as served. `waiting`: why the operators would not
    run, by name. `unknown`: a sentence about each whose permissions nobody knows.
    """

    compilation: Compilation
    objects: tuple[Rendered, ...]
    cluster: Cluster
    assumed: tuple[APIResource, ...]
    waiting: dict[NamespacedName, str]
    unknown: tuple[str, ...]


def review(
    ctx: click.Context, path: Path, olm_version: str, proposed: dict[str, Any], approve: Sequence[str]
) -> Review:
    """What permissions at a path are read from; ends the command if it can't be compiled.

    What operators ask for counts even where they would not be installed, and what others bring is taken as there: an
    object that fails must not hide the permissions that come behind it.
    """
    assumed: list[APIResource] = []
    loaded: list[Workspace] = []

    def workspace_of(made: Compilation) -> Workspace:
        if made.workspace is not None:
            return made.workspace
        if not loaded:  # a bundle by itself
            loaded.append(load(path))
        return loaded[0]

    def lacking(made: Compilation, _: Options) -> tuple[APIResource, ...]:
        return outside_apis(made.settled, workspace_of(made), made.options) if made.settled is not None else ()

    def assuming(options: Options, compile_once: Callable[[Options], Compilation]) -> Compilation:
        made, apis = with_outside_apis(options, compile_once, lacking)
        assumed.extend(apis)
        return made

    done, settled = compiled(
        ctx, path, olm_version, proposed, approve=tuple(approve), least=Severity.FAILURE, compile_with=assuming
    )
    wanted: WantedOperators = wanted_operators(settled, workspace_of(done))
    asked = asked_permissions(wanted.known, settled.cluster, done.objects)
    csvs = {NamespacedName(each.namespace, each.csv.name): each for each in wanted.known}
    more = {
        NamespacedName(each.identity.namespace, each.identity.name): Csv(each.object, each.provenance.place.source)
        for each in asked.objects
        if each.identity.kind == "ClusterServiceVersion" and each.provenance.place is not None
    }
    return Review(
        done,
        (*done.objects, *asked.objects),
        settled.cluster._replace(csvs=settled.cluster.csvs.updated(more)),
        tuple(assumed),
        {name: each.why for name, each in csvs.items()},
        (*wanted.unknown, *(f"permissions of {text}" for text in asked.unreadable)),
    )


def tell_review(found: Review) -> None:
    """Say on stderr what is assumed, which operators would not run, and what is not known."""
    if found.assumed:
        apis = f"taken as served, although nothing here brings it: {in_words(found.assumed)}"
        hint = "without it an installation fails; --api says that the cluster serves it"
        click.echo(clean(f"olmc: {apis}; {hint}"), err=True)
    for name, why in sorted(found.waiting.items()):
        click.echo(clean(f"olmc: {name} would not run ({why}); what it asks for counts all the same"), err=True)
    for text in found.unknown:
        click.echo(clean(f"olmc: unknown: {text}"), err=True)


def review_data(found: Review) -> dict[str, Any]:
    """The same in the format of `schemas/rbac.schema.json`."""
    return {
        "assumed": in_words(found.assumed).split(", ") if found.assumed else [],
        "waiting": [{**name._asdict(), "why": why} for name, why in sorted(found.waiting.items())],
        "unknown": list(found.unknown),
    }
