"""What catalogd serves of a catalog: the documents of its files → packages (R-V1-RES-3).

Other than the registries of v0 it checks nothing of how packages, channels and bundles fit together; of documents with
the same schema, package and name the last one counts.
"""

from __future__ import annotations

from collections.abc import Mapping

from olmc.compiler.catalogs.conversion import ABSENT, Blobs, BundleBlob
from olmc.compiler.model.catalog import CatalogBundle, Channel, Deprecation, Package, Property
from olmc.k8s.objects import mapping, text


def served_packages(blobs: Blobs) -> Mapping[str, Package]:
    """The packages of a catalog by name, whatever is reported about one."""
    defaults = {package.name: package.default_channel for package in blobs.packages}
    channels: dict[str, dict[str, Channel]] = {}
    for channel in blobs.channels:
        channels.setdefault(channel.package, {})[channel.name] = Channel(channel.name, channel.package, channel.entries)
    bundles: dict[str, dict[str, CatalogBundle]] = {}
    for bundle in blobs.bundles:
        bundles.setdefault(bundle.package, {})[bundle.name] = _bundle(bundle)
    deprecations: dict[str, tuple[Deprecation, ...]] = {blob.package: blob.entries for blob in blobs.deprecations}
    names = {**defaults, **channels, **bundles, **deprecations}
    return {
        name: Package(
            name, defaults.get(name, ""), channels.get(name, {}), bundles.get(name, {}), deprecations.get(name, ())
        )
        for name in names
    }


def _bundle(blob: BundleBlob) -> CatalogBundle:
    properties = tuple(Property(kind, None if value is ABSENT else value) for kind, value in blob.properties)
    package = next((prop.value for prop in properties if prop.type == "olm.package"), None)
    return CatalogBundle(
        blob.name, blob.package, blob.image, text(mapping(package).get("version")), properties,
        blob.objects, blob.related_images,
    )  # fmt: skip
