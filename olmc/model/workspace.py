"""The workspace: everything that a directory holds, as it stands there."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from olmc.model.location import Source
from olmc.model.objects import KubernetesObject, name_of

if TYPE_CHECKING:
    from olmc.model.catalog import Catalog
    from olmc.model.left_out import Reason
    from olmc.model.lock import Lock, LockedImage


class Manifest(NamedTuple):
    """A Kubernetes object as a file holds it."""

    object: KubernetesObject
    source: Source


class BundleFile(NamedTuple):
    """A file of a bundle's `manifests/`: its name and the first object in it (R-CAT-101)."""

    name: str
    manifest: Manifest


class Bundle(NamedTuple):
    """A registry+v1 bundle directory (R-CAT-100 … R-CAT-106).

    `directory` is relative to the workspace ("" for the workspace itself), `files` are in byte order of their names and
    include the CSV; `annotations`, `dependencies` and `properties` are the contents of `metadata/`. `unused` are
    objects that stand behind the first one of a file.
    """

    directory: str
    package: str
    channels: tuple[str, ...]
    default_channel: str
    csv: Manifest
    files: tuple[BundleFile, ...]
    annotations: Mapping[str, str]
    dependencies: tuple[Mapping[str, Any], ...] = ()
    properties: tuple[Mapping[str, Any], ...] = ()
    unused: tuple[Manifest, ...] = ()

    @property
    def name(self) -> str:
        """The bundle's name: that of its CSV."""
        return name_of(self.csv.object)

    @property
    def objects(self) -> tuple[KubernetesObject, ...]:
        """The objects of all files, in order."""
        return tuple(file.manifest.object for file in self.files)


class Unused(NamedTuple):
    """An object in a file that is read for something else, and why the object itself counts for nothing."""

    manifest: Manifest
    reason: Reason


class Inputs(NamedTuple):
    """What of a directory was read as input: the paths of the files, and what in them is not used."""

    files: frozenset[str] = frozenset()
    unused: tuple[Unused, ...] = ()


class Workspace(NamedTuple):
    """What `load` found.

    Manifests in path order, bundles by CSV name, catalogs by the name of their CatalogSource, and the lock, if there is
    one that chooses operators. `images` is what the lock says of `vendor/`, `vendored` the bundles in it by image.
    `inputs` is what of the directory was read.
    """

    manifests: tuple[Manifest, ...]
    bundles: Mapping[str, Bundle]
    catalogs: Mapping[str, Catalog]
    lock: Lock | None = None
    images: tuple[LockedImage, ...] = ()
    vendored: Mapping[str, Bundle] = MappingProxyType({})
    inputs: Inputs = Inputs()
