"""What the registry of a catalog serves, as the resolver sees it (R-CAT-129, R-CAT-303)."""

from __future__ import annotations

from olmc.load.catalogs import properties as props
from olmc.load.catalogs.apis import required_apis
from olmc.model.catalog import Catalog, CatalogBundle, Property
from olmc.model.location import Location, Place
from olmc.model.objects import CatalogKey
from olmc.model.resolution import Candidate
from olmc.yaml import locate


def served_properties(bundle: CatalogBundle) -> tuple[Property, ...]:
    """The properties that the registry shows: all but those that carry content (R-CAT-129)."""
    return tuple([each for each in bundle.properties if each.type not in props.CONTENT])


def served_candidates(key: CatalogKey, catalog: Catalog) -> tuple[Candidate, ...]:
    """The entries of a catalog by package, channel name and place in the channel (R-CAT-303).

    An entry whose bundle the catalog doesn't have is not served (R-CAT-143). The location is that of the document
    that holds the entry: a line each would cost more than all the rest.
    """
    found: list[Candidate] = []
    places: dict[int, Location] = {}
    for _, package in sorted(catalog.packages.items()):
        effective = {name: _effective(bundle) for name, bundle in package.bundles.items()}
        for _, channel in sorted(package.channels.items()):
            is_default = channel.name == package.default_channel
            for entry in channel.entries:
                bundle = package.bundles.get(entry.name)
                if bundle is None:
                    continue
                found.append(
                    Candidate(
                        entry.name,
                        package.name,
                        channel.name,
                        key,
                        bundle.version,
                        effective[entry.name],
                        is_default,
                        entry.replaces,
                        entry.skips,
                        entry.skip_range,
                        bundle.image,
                        _document(entry.location or bundle.location, places),
                        bundle=bundle.location,
                    )
                )
    return tuple(found)


def _document(place: Place | None, known: dict[int, Location]) -> Location | None:
    """The place of a whole document; `known` holds those found already."""
    if place is None:
        return None
    found = known.get(id(place.source))
    if found is None:
        found = known[id(place.source)] = locate(place.source, ())
    return found


def _effective(bundle: CatalogBundle) -> tuple[Property, ...]:
    """The properties that count in resolution: those served and the requirements derived from them once more."""
    served = served_properties(bundle)
    derived = [_again(each) for each in served if each.type in (props.GVK_REQUIRED, props.PACKAGE_REQUIRED)]
    if not derived and bundle.objects:
        # Not from a file-based catalog: there the required APIs of the CSV are served beside the properties.
        apis = sorted(required_apis(bundle.objects), key=lambda api: (api.group, api.version, api.kind))
        derived = [_gvk_required(api.group, api.version, api.kind) for api in apis]
    package: tuple[Property, ...] = ()
    if all(each.type != props.PACKAGE for each in served):
        package = (Property(props.PACKAGE, {"packageName": bundle.package, "version": bundle.version}),)
    return (*served, *derived, *package)


def _again(each: Property) -> Property:
    if each.type == props.GVK_REQUIRED:
        return _gvk_required(*props.field_texts(each.type, each.value, "group", "version", "kind"))
    name, versions = props.field_texts(each.type, each.value, "packageName", "versionRange")
    return Property(props.PACKAGE_REQUIRED, {"packageName": name, "versionRange": versions})


def _gvk_required(group: str, version: str, kind: str) -> Property:
    return Property(props.GVK_REQUIRED, {"group": group, "version": version, "kind": kind})
