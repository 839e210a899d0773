"""Who would bring an object: the CSVs whose install strategy or bundle has it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from olmc.load.catalogs.content import has_inline_content
from olmc.model.location import Location
from olmc.model.objects import CatalogKey, KubernetesObject
from olmc.model.operators import Csv
from olmc.model.profile import Profile
from olmc.resolve.contents import inline_content
from olmc.resolve.steps import Content, UndecodableCSVError, bundle_content, csv_object, strategy_steps
from olmc.review.targets import Scene, Wanted
from olmc.yaml import at

_NO_CATALOG = CatalogKey("", "")


class Maker(NamedTuple):
    """A CSV that would bring an object, the namespace that it is in ("" for one that is not), and where it says so."""

    csv: Csv
    namespace: str
    place: Location | None


def makers(wanted: Wanted, scene: Scene) -> tuple[Maker, ...]:
    """The CSVs that would bring an object, each once for its namespace; those of the cluster first."""
    found: dict[tuple[str, str], Maker] = {}
    for maker in (*_installed(wanted, scene), *_available(wanted, scene)):
        found.setdefault((maker.namespace, maker.csv.name), maker)
    return tuple(found.values())


def _installed(wanted: Wanted, scene: Scene) -> Iterator[Maker]:
    for name, csv in sorted(scene.settled.cluster.csvs.items()):
        for place in _in_strategy(csv, wanted, scene.settled.cluster.profile):
            yield Maker(csv, name.namespace, place)


def _available(wanted: Wanted, scene: Scene) -> Iterator[Maker]:
    """The CSVs of bundles in the workspace and in catalogs, under the namespaces where they are installed."""
    homes: dict[str, list[str]] = {}
    for name in sorted(scene.settled.cluster.csvs):
        homes.setdefault(name.name, []).append(name.namespace)
    profile = scene.settled.cluster.profile
    for content in _contents(scene):
        try:
            csv = Csv(csv_object(content, wanted.namespace, "", "", profile), content.csv.source)
        except UndecodableCSVError:
            continue
        places = [at(manifest.source) for _, manifest in content.others if _is(manifest.object, wanted)]
        if csv.name not in homes:
            places += _in_strategy(csv, wanted, profile)
        for place in places:
            yield from (Maker(csv, namespace, place) for namespace in homes.get(csv.name, [""]))


def _contents(scene: Scene) -> Iterator[Content]:
    yield from map(bundle_content, scene.bundles.values())
    for source in scene.settled.cluster.catalogs.values():
        for package in source.catalog.packages.values() if source.catalog is not None else ():
            for bundle in package.bundles.values():
                content = inline_content(bundle) if has_inline_content(bundle) else None
                if content is not None:
                    yield content


def _is(obj: KubernetesObject, wanted: Wanted) -> bool:
    metadata = obj.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return obj.get("kind") in {kind.kind for kind in wanted.kinds} and name == wanted.name


def _in_strategy(csv: Csv, wanted: Wanted, profile: Profile) -> list[Location | None]:
    """Where a CSV's install strategy has a Deployment, or an account and its RBAC; at most one place."""
    kinds = {kind.kind for kind in wanted.kinds}
    if "Deployment" in kinds:
        for index, deployment in enumerate(csv.deployments):
            if deployment.name == wanted.name:
                return [at(csv.source, "spec", "install", "spec", "deployments", index)]
    for step in strategy_steps(csv, _NO_CATALOG, csv.source, profile):
        if step.kind in kinds and step.name == wanted.name:
            return [at(csv.source, "spec", "install", "spec")]
    return []
