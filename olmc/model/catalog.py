"""Catalogs: packages, channels and bundles as a file-based catalog, or anything turned into one, has them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from olmc.model.location import Place
from olmc.model.objects import KubernetesObject

if TYPE_CHECKING:
    from olmc.model.workspace import Manifest


class Property(NamedTuple):
    """A property of a bundle: its type (`olm.gvk` …) and its decoded JSON value, its keys in OLM's order."""

    type: str
    value: Any


class ChannelEntry(NamedTuple):
    """An entry of a channel: a bundle's name and its upgrade edges."""

    name: str
    replaces: str = ""
    skips: tuple[str, ...] = ()
    skip_range: str = ""
    location: Place | None = None


class Channel(NamedTuple):
    """A channel of a package with its entries in source order."""

    name: str
    package: str
    entries: tuple[ChannelEntry, ...]
    location: Place | None = None


class CatalogBundle(NamedTuple):
    """A bundle as a catalog lists it.

    `image` is "" for inline content, `properties` are all its properties in source order, `version` is the
    text of its `olm.package` property. `objects` are its manifests where the input had them as objects; those
    inside of properties `olm.bundle.object` stay encoded until someone asks (`inline_objects` in load).
    """

    name: str
    package: str
    image: str
    version: str
    properties: tuple[Property, ...]
    objects: tuple[KubernetesObject, ...] = ()
    related_images: tuple[str, ...] = ()
    location: Place | None = None


class Deprecation(NamedTuple):
    """An entry of `olm.deprecations`: `schema` and `name` of what is deprecated (no name for the package)."""

    schema: str
    name: str
    message: str


class Package(NamedTuple):
    """A package: its default channel, channels, bundles by name, deprecations."""

    name: str
    default_channel: str
    channels: Mapping[str, Channel]
    bundles: Mapping[str, CatalogBundle]
    deprecations: tuple[Deprecation, ...] = ()
    description: str = ""
    icon: Mapping[str, Any] = MappingProxyType({})
    location: Place | None = None


class Catalog(NamedTuple):
    """The content that a CatalogSource serves; `problem` is OLM's text for why it can't be served, or "".

    `images` are the bundles that its templates name and that are no folders of the workspace. `files` are those that
    were read, `unused` the objects in them that count for nothing in a catalog.
    """

    packages: Mapping[str, Package]
    problem: str = ""
    location: Place | None = None
    images: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    unused: tuple[Manifest, ...] = ()
