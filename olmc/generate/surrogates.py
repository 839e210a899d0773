"""Instead of copied CSVs: a ConfigMap in each target namespace that owns what a copy would own (R-INST-11)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from olmc.generate.csvs import homes_of_copies
from olmc.generate.world import World, rendered
from olmc.model.cluster import Name
from olmc.model.coerce import text
from olmc.model.objects import KubernetesObject, Rendered, namespace_of, owner_references
from olmc.model.operators import CSV_KIND
from olmc.model.profile import Profile
from olmc.profiles.ownership import COPIED_FROM, managed_labels, owner_labels, owner_reference

RULE = "R-INST-11"
PREFIX = "olm-surrogate."


def surrogates(world: World) -> Iterator[Rendered]:
    """A surrogate for each copied CSV that there would be, or that the workspace has.

    >>> workspace = {"namespaces": {"docks": {}}, "groups": {"ns/og": ["docks"]}, "operators": ["beacon.v1.0.0"]}
    >>> show(surrogates, workspace, "metadata.labels", copied_csvs=False)
    ConfigMap/docks/olm-surrogate.beacon.v1.0.0
      labels: {olm.copiedFrom: ns, olm.managed: 'true', olm.owner: beacon.v1.0.0, ...}
    """
    if _has_copies(world):
        return
    for name, home in sorted(_homes(world).items()):
        original = world.cluster.csvs.get(Name(home, name.name))
        yield rendered(_surrogate(world.profile, name, home), "surrogates", RULE, original.source if original else None)


def owned_by_surrogates(world: World, objects: Sequence[Rendered]) -> Sequence[Rendered]:
    """The objects; where copied CSVs are replaced, what belongs to a copy belongs to its surrogate."""
    homes = {} if _has_copies(world) else _homes(world)
    return [_repointed(found, homes.keys()) for found in objects] if homes else objects


def _has_copies(world: World) -> bool:
    """Whether CSVs are copied; what is applied without OLM has neither copies nor surrogates."""
    return world.options.copied_csvs or world.options.purpose == "apply"


def _homes(world: World) -> dict[Name, str]:
    """The copies that surrogates stand for, each with the namespace of the original."""
    given = {name: home for name, home in world.cluster.copies.items() if name not in world.cluster.csvs}
    return given | homes_of_copies(world)


def _surrogate(profile: Profile, name: Name, home: str) -> KubernetesObject:
    labels = {COPIED_FROM: home, **owner_labels(profile, name.name, home)}
    labels |= managed_labels(profile.csv_label_managed)
    metadata = {"name": PREFIX + name.name, "namespace": name.namespace, "labels": dict(sorted(labels.items()))}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


def _repointed(found: Rendered, replaced: Collection[Name]) -> Rendered:
    references, namespace = owner_references(found.object), namespace_of(found.object)
    mine = [r.get("kind") == CSV_KIND and Name(namespace, text(r.get("name"))) in replaced for r in references]
    if not any(mine):
        return found
    changed = [
        owner_reference("v1", "ConfigMap", PREFIX + reference["name"]) if is_mine else reference
        for reference, is_mine in zip(references, mine, strict=True)
    ]
    return found._replace(object={**found.object, "metadata": {**found.object["metadata"], "ownerReferences": changed}})
