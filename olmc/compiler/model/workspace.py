"""The workspace: everything that a directory holds, as it stands there, with its lock and what is left out of it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from olmc.k8s.diagnostics import Location, Place, Source
from olmc.k8s.lean import NamedTuple
from olmc.k8s.limits import CelAccount
from olmc.k8s.objects import CatalogKey, KubernetesObject, Manifest, ObjectKey, mapping, name_of, spec_of
from olmc.k8s.objects import text as as_text

if TYPE_CHECKING:
    from olmc.compiler.model.catalog import Catalog

EXTENSIONS_V1 = "olm.operatorframework.io/v1"
"""The apiVersion of what OLM v1 has instead of Subscriptions and CatalogSources."""
OPENSHIFT_CATALOGS = MappingProxyType({
    "openshift-redhat-operators": -100,
    "openshift-certified-operators": -200,
    "openshift-community-operators": -400,
})  # fmt: skip
"""The priorities of OpenShift's own ClusterCatalogs, which rank behind all others (R-V1-CC-3)."""
METADATA_NAME = "olm.operatorframework.io/metadata.name"
"""The label of a ClusterCatalog with its name (R-V1-CC-2)."""

# olmc knows its own files by these lines, those of earlier versions included, and overwrites no others.
GENERATED = "# Written by olmc render; changes will be lost."
SCAFFOLDED = "# Written by olmc init; it is no part of a workspace."
IMPORTED = "# Written by olmc import; it is the state of a cluster, and no part of a workspace."
OWN_OUTPUT = (GENERATED, SCAFFOLDED, IMPORTED)


class Reason(StrEnum):
    """The reason why an object or a file is left out."""

    IGNORED = "ignored"
    GIT_IGNORED = "gitignored"
    HIDDEN = "hidden"
    BUNDLE = "bundle"
    BROKEN = "broken"
    FURTHER = "further"
    REPLACED = "replaced"
    REDEFINED = "redefined"
    UNINSTALLED = "uninstalled"
    STOPPED = "stopped"
    CATALOG = "catalog"
    VENDORED = "vendored"
    RENDERED = "rendered"
    SCAFFOLDED = "scaffolded"
    STATE = "state"
    TOOLS = "tools"
    COPY = "copy"
    REFUSED = "refused"
    UNFILLED = "unfilled"
    LINK = "link"
    TEMPLATE = "template"
    PROJECT = "project"
    OTHER = "other"

    @property
    def text(self) -> str:
        """The reason as the end of a sentence about what is left out."""
        return _TEXTS[self]

    @property
    def is_chosen(self) -> bool:
        """Return whether somebody asked for it by the usual ways: a pattern, or output that is kept beside its
        input."""
        return self in _CHOSEN


_TEXTS = {
    Reason.IGNORED: "named by .olmcignore or by ignore in olmc.yaml",
    Reason.GIT_IGNORED: "named by .gitignore, so not in the repository unless it was added by force",
    Reason.HIDDEN: "in a hidden folder",
    Reason.BUNDLE: "in the folder of a bundle, and not among its manifests",
    Reason.BROKEN: "in the folder of a bundle, in a file that can't be read",
    Reason.FURTHER: "behind the one object that OLM reads of a bundle's file",
    Reason.REPLACED: "in a bundle of which the workspace has another with the same name",
    Reason.REDEFINED: "which a later definition of the same object replaces",
    Reason.UNINSTALLED: "in a bundle that nothing installs",
    Reason.STOPPED: "in a bundle whose installation fails",
    Reason.CATALOG: "in a catalog, which holds no objects",
    Reason.VENDORED: "in vendor/, and no part of a bundle or a catalog",
    Reason.RENDERED: "marked as written by olmc render, and not what it writes now",
    Reason.SCAFFOLDED: "marked as written by olmc init",
    Reason.STATE: "marked as written by olmc import, as the state of a cluster",
    Reason.TOOLS: "in a list that is for tools",
    Reason.COPY: "a copy of a CSV by its status alone, which no server takes from a manifest",
    Reason.REFUSED: "which the API server refuses",
    Reason.UNFILLED: "which the API server takes only once Flux fills in its variables",
    Reason.LINK: "behind a link that is not followed",
    Reason.TEMPLATE: "a template of a Helm chart, which is not rendered",
    Reason.PROJECT: "beside the bundle of a project of operator-sdk",
    Reason.OTHER: "in a file that is not read",
}
_CHOSEN = frozenset({Reason.IGNORED, Reason.GIT_IGNORED, Reason.RENDERED, Reason.SCAFFOLDED, Reason.STATE})


class Unseen(StrEnum):
    """The reason why not all objects of a file are known, in words that name the unknown content."""

    NOTHING = ""
    UNREADABLE = "unreadable content"
    IN_LFS = "content in Git LFS"
    UNKNOWN = "content that olmc does not read"
    UNRENDERED = "what Helm makes of it"


class LeftObject(NamedTuple):
    """An object that is left out, and the digest of what is written of it."""

    identity: ObjectKey
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


class LockedOperator(NamedTuple):
    """A bundle that was chosen: where it comes from, and the digest of the contents of catalog and bundle then."""

    package: str
    name: str
    version: str
    channel: str
    catalog: str
    catalog_namespace: str
    digest: str


class LockedExtension(NamedTuple):
    """The bundle that a ClusterExtension was resolved to: the ClusterCatalog that it is from, and the digest of what
    that and the bundle had then."""

    package: str
    name: str
    version: str
    catalog: str
    digest: str


ImageKind = Literal["catalog", "bundle"]


class LockedImage(NamedTuple):
    """An image whose content lies in `vendor/`.

    `image` is the reference as the workspace has it, `kind` what it holds, `digest` that of the manifest or index which
    the reference named, `platform` the one chosen from an index ("" where there was no choice), `content` the digest of
    the files taken out of it. `packages` says how many of a catalog's were taken ("2 of 37"), "" for all; `file` from
    which file it came in place of an image, and then `digest` is that of its content.
    """

    image: str
    kind: ImageKind
    digest: str
    platform: str
    content: str
    packages: str = ""
    file: str = ""


class Lock(NamedTuple):
    """The bundles that the plans of each namespace go through, those at rest last of their package; the file; and by
    name what ClusterExtensions were resolved to."""

    namespaces: Mapping[str, tuple[LockedOperator, ...]]
    place: Place | None = None
    extensions: Mapping[str, LockedExtension] = MappingProxyType({})


class LockFile(NamedTuple):
    """The whole file: the operators (None where it only lists images), and the images by their reference."""

    operators: Lock | None = None
    images: tuple[LockedImage, ...] = ()


class BundleFile(NamedTuple):
    """A file of a bundle's `manifests/`: its name and the first object in it (R-CAT-101)."""

    name: str
    manifest: Manifest


class Bundle(NamedTuple):
    """A registry+v1 bundle directory (R-CAT-100 … R-CAT-106).

    `directory` is relative to the workspace ("" for the workspace itself), `files` are in byte order of their names and
    include the CSV; `annotations`, `dependencies` and `properties` are the contents of `metadata/`. `unused` are
    objects that stand behind the first one of a file. `unpacked_csv`: the CSV that OLM installs where there are
    several, None where that is the one by which the bundle goes. `properties_source`: where the properties stand.
    `subfolder`: a folder inside of `manifests/`, "" for none.
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
    unpacked_csv: Manifest | None = None
    properties_source: Source | None = None
    subfolder: str = ""

    @property
    def name(self) -> str:
        """The bundle's name: that of its CSV."""
        return name_of(self.csv.object)

    @property
    def installed(self) -> Manifest:
        """The CSV that OLM installs (R-CAT-614)."""
        return self.unpacked_csv or self.csv

    @property
    def objects(self) -> tuple[KubernetesObject, ...]:
        """The objects of all files, in order."""
        return tuple(file.manifest.object for file in self.files)


class Unused(NamedTuple):
    """An object in a file that is read for something else, and why the object itself counts for nothing."""

    manifest: Manifest
    reason: Reason


class Inputs(NamedTuple):
    """The input in a directory: the paths of the files, their unused parts, and the files that manifests were built of.
    `parts` are the built files without manifests, since they are parts of other tools' builds, and `content` the files
    of bundles and catalogs. `has_own_values`: they were built of a chart with its own values only."""

    files: frozenset[str] = frozenset()
    unused: tuple[Unused, ...] = ()
    built: frozenset[str] = frozenset()
    parts: frozenset[str] = frozenset()
    content: frozenset[str] = frozenset()
    has_own_values: bool = False


class PolicyApproval(NamedTuple):
    """A policy's approval of InstallPlans for a Subscription: `csvs` are those that it allows, () for all, and
    `upgrades` is whether it also allows upgrades of an existing operator (R-OCM-9). `place` is that of the list."""

    namespace: str
    name: str
    csvs: tuple[str, ...] = ()
    upgrades: bool = False
    place: Location | None = None


class PolicyRemoval(NamedTuple):
    """The deletion of an object by a policy if it has the fields of `fields`, and the kinds that it deletes. With a
    Subscription these are also its CSV, and the OperatorGroup that policies made, if no other Subscription needs it
    (R-OCM-3, R-OCM-14)."""

    key: ObjectKey
    kinds: frozenset[str]
    fields: Mapping[str, Any] = MappingProxyType({})


class Workspace(NamedTuple):
    """The result of `load`.

    Manifests in path order, bundles by CSV name, catalogs by the name of their CatalogSource, and the lock, if there is
    one that chooses operators. `images` is the lock's list for `vendor/`, `vendored` the bundles in it by image.
    `inputs` is the part of the directory that was read. `asked_catalogs` are those that Operators name,
    `cluster_catalogs` the CatalogSources that the cluster has already; `approvals` are what policies approve.
    `without_csv`: the images of catalogs whose bundle holds no CSV.
    `refused` are objects in its files that the API server refuses, so that no manifest is one of them.
    `is_live`: the manifests are all that a cluster holds, so that what is not among them does not exist. `documents` is
    what files hold, by path and text, of which there was nothing to say. `unpacked` is what plans of the cluster that
    are not finished have unpacked, by image.
    `cel`: the cost of rules in CEL so far, for all compilations of it. `repository`: the entries of what is no
    workspace (`olmc.compiler.load.entries.Repository`). `is_of_repository`: it is one cluster of a repository, and has
    what its platform brings. `has_idle_bundles`: there are bundles that olmc has not read, as nothing installs one.
    """

    manifests: tuple[Manifest, ...]
    bundles: Mapping[str, Bundle]
    catalogs: Mapping[str, Catalog]
    lock: Lock | None = None
    images: tuple[LockedImage, ...] = ()
    vendored: Mapping[str, Bundle] = MappingProxyType({})
    inputs: Inputs = Inputs()
    asked_catalogs: frozenset[CatalogKey] = frozenset()
    cluster_catalogs: tuple[Manifest, ...] = ()
    without_csv: frozenset[str] = frozenset()
    approvals: tuple[PolicyApproval, ...] = ()
    is_live: bool = False
    documents: Mapping[tuple[str, str], Any] = MappingProxyType({})
    cel: CelAccount | None = None
    unpacked: Mapping[str, Bundle] = MappingProxyType({})
    repository: Any = None
    is_of_repository: bool = False
    has_idle_bundles: bool = False
    of_policies: frozenset[ObjectKey] = frozenset()
    removals: tuple[PolicyRemoval, ...] = ()
    refused: frozenset[ObjectKey] = frozenset()

    @property
    def extensions(self) -> tuple[Manifest, ...]:
        """The ClusterExtensions of OLM v1, by name."""
        return self._of_v1("ClusterExtension")

    @property
    def extension_catalogs(self) -> tuple[Manifest, ...]:
        """The ClusterCatalogs of OLM v1, by name."""
        return self._of_v1("ClusterCatalog")

    @property
    def has_extensions(self) -> bool:
        """Return whether OLM v1 has anything to do with it, or had when it was locked."""
        is_locked = self.lock is not None and bool(self.lock.extensions)
        return is_locked or bool(self.extensions) or bool(self.extension_catalogs)

    @property
    def extension_catalog_names(self) -> frozenset[str]:
        """The catalogs that ClusterCatalogs serve: those that are called after one, and, where there are
        ClusterExtensions, folders that no CatalogSource is called after (R-V1-CC-1). If the workspace declares
        ClusterCatalogs, only OpenShift's own and those that a ClusterExtension selects by name are such folders."""
        declared = frozenset(name_of(manifest.object) for manifest in self.extension_catalogs)
        if not self.extensions:
            return declared
        sources = {name_of(m.object) for m in self.manifests if m.object["kind"] == "CatalogSource"}
        folders = {name for name in self.catalogs.keys() - sources if "/" not in name}
        if declared:
            folders &= OPENSHIFT_CATALOGS.keys() | {_selected_catalog(each.object) for each in self.extensions}
        return declared | folders

    def _of_v1(self, kind: str) -> tuple[Manifest, ...]:
        listed = (manifest for manifest in self.manifests if manifest.object["kind"] == kind)
        own = (manifest for manifest in listed if manifest.object["apiVersion"] == EXTENSIONS_V1)
        return tuple(sorted(own, key=lambda manifest: name_of(manifest.object)))


def _selected_catalog(extension: KubernetesObject) -> str:
    """The name of the ClusterCatalog that a ClusterExtension selects, "" for none (R-V1-CC-2)."""
    catalog = mapping(mapping(spec_of(extension).get("source")).get("catalog"))
    return as_text(mapping(mapping(catalog.get("selector")).get("matchLabels")).get(METADATA_NAME))


# The state of a cluster that a compilation begins with.


class ClusterState(NamedTuple):
    """Everything that a cluster holds, as the API server would return it.

    `objects`: all of them, with their status. `applied`: the manifests that were applied, by what they are: what an
    apply compares with. `tracked`: those of the repository that the state is compared with, which are what a GitOps
    tool prunes; the objects of other appliers are unknown. `expected`: the end state of the repository, if the user
    names it in addition to the cluster. `ignored`: the patterns of files that the repository leaves out of itself,
    None where that is unknown. `documents` is what its files hold, by path and text, so that
    what is still in it need not be read again. `unpacked` is what plans that are not finished have unpacked, by image.
    `is_whole`: a compilation made it, so that an object that it lacks does not exist. `of_policies` are objects that
    policies put there: they stay without the policy, and while it only informs. `refused` are objects that the API
    server refused while the repository was applied.
    """

    objects: Mapping[ObjectKey, Manifest]
    applied: Mapping[ObjectKey, KubernetesObject] = MappingProxyType({})
    tracked: frozenset[ObjectKey] = frozenset()
    expected: Mapping[ObjectKey, Manifest] = MappingProxyType({})
    ignored: tuple[str, ...] | None = None
    documents: Mapping[tuple[str, str], Any] = MappingProxyType({})
    unpacked: Mapping[str, Bundle] = MappingProxyType({})
    is_whole: bool = False
    of_policies: frozenset[ObjectKey] = frozenset()
    refused: frozenset[ObjectKey] = frozenset()

    @property
    def is_of_repository(self) -> bool:
        """Return whether it is what a repository comes to rest in, or an empty cluster, and no recording of a
        cluster."""
        return (bool(self.tracked) and not self.expected) or not self.objects

    @property
    def applied_by_repository(self) -> dict[ObjectKey, KubernetesObject]:
        """The manifests of the repository that were applied."""
        return {key: self.applied[key] for key in sorted(self.tracked)}
