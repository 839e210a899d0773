"""The nouns of the olm-operator: APIs, CSVs with their descriptions, OperatorGroups.

All code that reads a CSV or an OperatorGroup uses this module. The accessors take untrusted input: a value of a wrong
type counts as absent, and callers rely on that. The classes that describe a part of a CSV have the names of OLM's Go
types, shortened where OLM's repeat themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Literal

from olmc.k8s.diagnostics import Place, Source
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import (
    GVK,
    CatalogKey,
    KubernetesObject,
    annotations_of,
    as_text,
    labels_of,
    mapping,
    mappings,
    metadata_of,
    name_of,
    namespace_of,
    pod_of,
    spec_of,
    text,
    texts,
)

CSV_KIND = "ClusterServiceVersion"
CONVERSION = "ConversionWebhook"
DEFAULT_PORT = 443

Scope = Literal["plain", "global", "scoped"]


class OwnedAPI(NamedTuple):
    """An API that a CSV describes: `name` as in the description, the resource's plural, and how it is served."""

    key: GVK
    plural: str
    name: str
    is_crd: bool


class InstallMode(NamedTuple):
    """A kind of OperatorGroup, such as AllNamespaces, and whether the operator supports it."""

    type: str
    supported: bool


class CRDDescription(NamedTuple):
    """A CRD that a CSV owns or requires."""

    name: str
    version: str
    kind: str

    @property
    def plural(self) -> str:
        return self.name.partition(".")[0]

    @property
    def api(self) -> GVK:
        return GVK(self.name.partition(".")[2], self.version, self.kind)


class APIServiceDescription(NamedTuple):
    """An API that a CSV owns or requires and that an APIService serves; `name` is the resource's plural.

    `port` is that of the container behind it, `target_port` what its Service leads to instead, None for the same.
    """

    group: str
    version: str
    kind: str
    name: str
    deployment: str
    port: int
    target_port: int | str | None

    @property
    def api(self) -> GVK:
        return GVK(self.group, self.version, self.kind)

    @property
    def service_name(self) -> str:
        """The name of the APIService: `<version>.<group>`."""
        return f"{self.version}.{self.group}"


class WebhookDescription(NamedTuple):
    """A webhook of a CSV; `port` and `target_port` as in APIServiceDescription."""

    object: Mapping[str, Any]
    type: str
    name: str
    deployment: str
    port: int
    target_port: int | str | None

    @property
    def rules(self) -> list[Mapping[str, Any]]:
        return mappings(self.object.get("rules"))

    @property
    def converted_crds(self) -> list[str]:
        """The names of the CRDs whose objects it converts."""
        return texts(self.object.get("conversionCRDs"))


class StrategyDeployment(NamedTuple):
    """A Deployment of an install strategy: its name, the labels and the spec that OLM gives it."""

    object: Mapping[str, Any]
    name: str

    @property
    def labels(self) -> Mapping[str, str]:
        return mapping(self.object.get("label"))

    @property
    def spec(self) -> Mapping[str, Any]:
        return spec_of(self.object)

    @property
    def pod(self) -> Mapping[str, Any]:
        return pod_of(self.object)


class StrategyPermissions(NamedTuple):
    """The permissions that an install strategy gives a service account."""

    object: Mapping[str, Any]
    account: str
    rules: list[Mapping[str, Any]]


class _CsvFields(NamedTuple):
    object: KubernetesObject
    source: Source | None = None


# Derived, since a NamedTuple has no space for what was decoded once.
class Csv(_CsvFields):
    """A ClusterServiceVersion; `object` is not to be changed.

    `source` is where its text stands (the bundle's file, or a manifest of the workspace). What it describes is decoded
    once, on demand, in lists with an entry for each one that is written there, so that positions stay what they are.
    """

    @property
    def metadata(self) -> Mapping[str, Any]:
        return metadata_of(self.object)

    @property
    def name(self) -> str:
        return text(self.metadata.get("name"))

    @property
    def namespace(self) -> str:
        return namespace_of(self.object)

    @property
    def labels(self) -> Mapping[str, str]:
        return labels_of(self.object)

    @cached_property
    def annotations(self) -> Mapping[str, str]:
        # Validators look at CSVs that Go refuses; there a value may be no text, which reads as an empty one.
        return {key: text(value) for key, value in annotations_of(self.object).items()}

    @cached_property
    def spec(self) -> Mapping[str, Any]:
        return spec_of(self.object)

    def place(self, *keys: str | int) -> Place:
        """The place of a value in its text."""
        return Place(self.source or Source("", ""), keys)

    @property
    def scope(self) -> Scope:
        """For descoping: plain without install modes, global with AllNamespaces alone, else scoped (R-DESCOPE-1)."""
        if not self.install_modes:
            return "plain"
        return "global" if {m.type for m in self.install_modes if m.supported} == {"AllNamespaces"} else "scoped"

    @property
    def version(self) -> str:
        return as_text(self.spec.get("version"))

    @property
    def replaces(self) -> str:
        return as_text(self.spec.get("replaces"))

    @property
    def min_kube_version(self) -> str:
        return text(self.spec.get("minKubeVersion"))

    @property
    def install_modes(self) -> list[InstallMode]:
        # A list, with duplicates: they are a mistake of their own (R-CSV-7).
        listed = mappings(self.spec.get("installModes"))
        return [InstallMode(text(mode.get("type")), bool(mode.get("supported"))) for mode in listed]

    @property
    def native_apis(self) -> list[GVK]:
        """The built-in APIs that it requires."""
        return [
            GVK(text(item.get("group")), text(item.get("version")), text(item.get("kind")))
            for item in mappings(self.spec.get("nativeAPIs"))
        ]

    @property
    def strategy_name(self) -> str:
        return text(mapping(self.spec.get("install")).get("strategy"))

    @cached_property
    def strategy(self) -> Mapping[str, Any]:
        """`spec.install.spec`: Deployments and permissions."""
        return spec_of(mapping(self.spec.get("install")))

    @cached_property
    def deployments(self) -> list[StrategyDeployment]:
        listed = mappings(self.strategy.get("deployments"))
        return [StrategyDeployment(item, text(item.get("name"))) for item in listed]

    @cached_property
    def permissions(self) -> list[StrategyPermissions]:
        return self._permissions("permissions")

    @cached_property
    def cluster_permissions(self) -> list[StrategyPermissions]:
        return self._permissions("clusterPermissions")

    def _permissions(self, field: str) -> list[StrategyPermissions]:
        return [
            StrategyPermissions(item, text(item.get("serviceAccountName")), mappings(item.get("rules")))
            for item in mappings(self.strategy.get(field))
        ]

    @cached_property
    def webhooks(self) -> list[WebhookDescription]:
        return [
            WebhookDescription(item, text(item.get("type")), text(item.get("generateName")), *_serving(item))
            for item in mappings(self.spec.get("webhookdefinitions"))
        ]

    @cached_property
    def owned_crds(self) -> list[CRDDescription]:
        return self._crds("owned")

    @cached_property
    def required_crds(self) -> list[CRDDescription]:
        return self._crds("required")

    def crd_descriptions(self, relation: str) -> list[Mapping[str, Any]]:
        """Return the descriptions of the CRDs that are "owned" or "required"."""
        return mappings(mapping(self.spec.get("customresourcedefinitions")).get(relation))

    def _crds(self, relation: str) -> list[CRDDescription]:
        return [
            CRDDescription(text(item.get("name")), text(item.get("version")), text(item.get("kind")))
            for item in self.crd_descriptions(relation)
        ]

    @cached_property
    def owned_apiservices(self) -> list[APIServiceDescription]:
        return self._apiservices("owned")

    @cached_property
    def required_apiservices(self) -> list[APIServiceDescription]:
        return self._apiservices("required")

    def _apiservices(self, relation: str) -> list[APIServiceDescription]:
        return [
            APIServiceDescription(
                text(item.get("group")),
                text(item.get("version")),
                text(item.get("kind")),
                text(item.get("name")),
                *_serving(item),
            )
            for item in mappings(mapping(self.spec.get("apiservicedefinitions")).get(relation))
        ]

    @cached_property
    def owned_apis(self) -> tuple[OwnedAPI, ...]:
        """The APIs that the CSV provides, CRDs first, in order; none when a CRD's name can't be read (R-OG-12)."""
        if not self.surface_is_readable:
            return ()
        # The order is that of OLM, and of two APIs that make roles of one name the last one stays (R-CR-3).
        crds = (OwnedAPI(item.api, item.plural, item.name, True) for item in self.owned_crds)
        services = (OwnedAPI(item.api, item.name, item.service_name, False) for item in self.owned_apiservices)
        return (*crds, *services)

    @property
    def required_apis(self) -> tuple[GVK, ...]:
        """The APIs that the CSV requires, CRDs first, in order; none as with `owned_apis`."""
        if not self.surface_is_readable:
            return ()
        return (*(item.api for item in self.required_crds), *(item.api for item in self.required_apiservices))

    @cached_property
    def surface_is_readable(self) -> bool:
        """Return whether every CRD name, owned or required, has a dot (R-OG-12)."""
        return all("." in item.name for item in (*self.owned_crds, *self.required_crds))

    @cached_property
    def service_account_names(self) -> tuple[str, ...]:
        """Distinct service accounts of permissions, then clusterPermissions, in order (R-SA-1)."""
        return tuple(dict.fromkeys(entry.account for entry in self.permissions + self.cluster_permissions))


def _serving(item: Mapping[str, Any]) -> tuple[str, int, int | str | None]:
    """The Deployment that serves an API or a webhook, its port and its target port (R-CERT-2)."""
    # OLM tests for "greater than 0" wherever it needs the port, so that negative ones mean 443 as well.
    port = item.get("containerPort")
    served = port if isinstance(port, int) and port > 0 else DEFAULT_PORT
    return text(item.get("deploymentName")), served, item.get("targetPort") or None


class OperatorGroup(NamedTuple):
    """An OperatorGroup with the targets that its selection gives (R-OG-1).

    `targets`: status.namespaces, sorted; `("",)` for all namespaces, `()` when nothing matches or the sync failed.
    `problem`: why the group's sync ends early ("" when it doesn't); `missing_account`: its serviceAccountName when that
    account does not exist; `recorded`: the status.namespaces that it came with.
    """

    object: KubernetesObject
    source: Source | None
    targets: tuple[str, ...]
    problem: str = ""
    missing_account: str = ""
    recorded: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return name_of(self.object)

    @property
    def namespace(self) -> str:
        return namespace_of(self.object)

    @property
    def annotations(self) -> Mapping[str, str]:
        return annotations_of(self.object)

    @property
    def spec(self) -> Mapping[str, Any]:
        return spec_of(self.object)

    @property
    def account(self) -> str:
        """The service account that restricts what its members may do, "" for none."""
        return text(self.spec.get("serviceAccountName"))

    @property
    def is_global(self) -> bool:
        return self.targets == ("",)

    @property
    def is_static(self) -> bool:
        return bool(self.spec.get("staticProvidedAPIs"))

    @property
    def fails_forward(self) -> bool:
        """Return whether a failed CSV may be replaced (R-OG-9); any other upgradeStrategy means the default."""
        return bool(self.spec.get("upgradeStrategy") == "TechPreviewUnsafeFailForward")

    @property
    def given_apis(self) -> str | None:
        """The annotation `olm.providedAPIs` as the input has it."""
        value = self.annotations.get("olm.providedAPIs")
        return None if value is None else str(value)


class CatalogUpdates(NamedTuple):
    """The source of the updates of an Operator: `spec.updates.catalogSource`.

    `package` and `channel` are both "" when only an entrypoint is named.
    """

    ref: CatalogKey
    package: str = ""
    channel: str = ""
    entrypoint: str = ""
    manual: bool = False


class Operator(NamedTuple):
    """An Operator: from a catalog, from an image (""), or neither, which only collects components."""

    object: KubernetesObject
    source: Source | None
    catalog: CatalogUpdates | None = None
    image: str = ""

    @property
    def name(self) -> str:
        return str(self.object["metadata"]["name"])


class ContentItem(NamedTuple):
    """An item of an Install's `spec.content`: an image, or else objects; `given` is the item as it stands there."""

    given: dict[str, Any]
    image: str = ""
    objects: tuple[KubernetesObject, ...] = ()


class Install(NamedTuple):
    """An Install: what to apply, with which namespaces replaced, and whether its input says that it is approved.

    `operator` is the name of the Operator that it was generated for, "" for one that a user wrote.
    """

    name: str
    object: KubernetesObject
    source: Source | None
    content: tuple[ContentItem, ...]
    namespaces: tuple[tuple[str, str], ...] = ()
    approved: bool = False
    operator: str = ""
