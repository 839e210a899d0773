"""Kubernetes objects as olmc handles them: tolerant accessors, group-version-kinds, identity, RBAC, and origin."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from olmc.lean import NamedTuple
from olmc.model.diagnostics import Place


def mapping(value: Any) -> Mapping[str, Any]:
    """The value if it is a mapping, else an empty one."""
    # Readers give dicts, and asking whether something is a Mapping takes several times as long; every value is asked.
    return value if isinstance(value, dict) else {}


def mappings(value: Any) -> list[Mapping[str, Any]]:
    """The items of a list, each a mapping."""
    return [mapping(item) for item in value] if isinstance(value, list) else []


def text(value: Any) -> str:
    """The value if it is a text, else ""."""
    return value if isinstance(value, str) else ""


def texts(value: Any) -> list[str]:
    """The texts in a list."""
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


class GroupKind(NamedTuple):
    """A kind in whatever version: two kinds of one name in different groups have nothing to do with each other."""

    group: str
    kind: str


class GVK(NamedTuple):
    """An API by group ("" for the core one), version and kind."""

    group: str
    version: str
    kind: str

    def __str__(self) -> str:
        """Kubernetes' form."""
        return f"{self.group}/{self.version}, Kind={self.kind}"

    @property
    def group_kind(self) -> GroupKind:
        return GroupKind(self.group, self.kind)

    @property
    def api_version(self) -> str:
        """As manifests write it."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def dotted(self) -> str:
        """The form used in `olm.providedAPIs` (R-OG-11)."""
        return f"{self.kind}.{self.version}.{self.group}"

    @property
    def bracketed(self) -> str:
        """The form used by OLM's resolver."""
        return f"{self.kind} ({self.group}/{self.version})"

    @property
    def path(self) -> str:
        """The form used in the option `apis`."""
        return f"{self.group}/{self.version}/{self.kind}"


def split_api_version(api_version: Any) -> tuple[str, str]:
    """The group and the version in an `apiVersion`; what is no text has neither, as in apimachinery."""
    group, _, version = text(api_version).rpartition("/")
    return group, version


def gvk_of(obj: Mapping[str, Any]) -> GVK:
    """The API of an object, in texts whatever is written there."""
    return GVK(*split_api_version(obj.get("apiVersion")), text(obj.get("kind")))


KubernetesObject = dict[str, Any]


class ObjectKey(NamedTuple):
    """What makes an object the same object: the API group (not the version), kind, namespace ("" for none) and name."""

    group: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return "/".join(part for part in (self.kind, self.namespace, self.name) if part)


class CatalogKey(NamedTuple):
    """The namespace and the name of a CatalogSource."""

    namespace: str
    name: str


class Origin(Enum):
    """How an object came to be: what decides how it is treated, where stage and rule are for people to read."""

    MANIFEST = "a manifest of the workspace, passed through"
    BUNDLE = "made by an InstallPlan from a file of a bundle"
    BUNDLE_UPDATE = "the same, in the place of one that was there"
    STRATEGY = "made by an InstallPlan from an install strategy"
    OPERATOR_GROUP = "a ClusterRole of an OperatorGroup"
    OPERATOR_CONDITION = "an OperatorCondition, or RBAC for one"
    CERTIFICATE = "what serves and trusts a certificate of OLM"
    EXTENSION = "made by operator-controller for a ClusterExtension"
    OLM = "anything else that OLM makes"
    KUBERNETES = "there in every cluster"


class Provenance(NamedTuple):
    """Why an object is in the output: the place in the input it stems from, the pass that wrote it, the rule applied,
    and how it came to be."""

    place: Place | None
    stage: str
    rule: str
    origin: Origin = Origin.OLM


class Rendered(NamedTuple):
    """An object of the output together with its provenance."""

    object: KubernetesObject
    provenance: Provenance

    @property
    def identity(self) -> ObjectKey:
        return object_key(self.object)


def object_key(obj: KubernetesObject) -> ObjectKey:
    """The identity of an object (`apiVersion`, `kind`, `metadata.namespace`, `metadata.name`), in texts whatever is
    written there: objects of a bundle are looked at before anybody refuses them."""
    # With the calls of the accessors below it would take three times as long, and everything is asked for it.
    metadata, api_version = obj.get("metadata"), obj.get("apiVersion")
    if not isinstance(metadata, dict):
        metadata = {}
    group = api_version.rpartition("/")[0] if isinstance(api_version, str) else ""
    namespace, name = str(metadata.get("namespace") or ""), str(metadata.get("name") or "")
    return ObjectKey(group, obj.get("kind") or "", namespace, name)


def crd_key(name: str) -> ObjectKey:
    """The identity of a CRD."""
    return ObjectKey("apiextensions.k8s.io", "CustomResourceDefinition", "", name)


def apiservice_key(name: str) -> ObjectKey:
    """The identity of an APIService, whose name is `<version>.<group>`."""
    return ObjectKey("apiregistration.k8s.io", "APIService", "", name)


# In untrusted objects each of these may be missing, null or of another type. Go's decoder would have refused the last
# or read the others as empty, so here all of that is "nothing there", and nobody else has to ask.


def metadata_of(obj: Mapping[str, Any]) -> Mapping[str, Any]:
    """The metadata of an object, or of a pod template."""
    return mapping(obj.get("metadata"))


def spec_of(obj: Mapping[str, Any]) -> Mapping[str, Any]:
    """The spec of an object, of a pod template or of a Deployment in an install strategy."""
    return mapping(obj.get("spec"))


def status_of(obj: Mapping[str, Any]) -> Mapping[str, Any]:
    """The status of an object."""
    return mapping(obj.get("status"))


def labels_of(obj: Mapping[str, Any]) -> Mapping[str, str]:
    """The labels of an object."""
    return mapping(metadata_of(obj).get("labels"))


def annotations_of(obj: Mapping[str, Any]) -> Mapping[str, str]:
    """The annotations of an object."""
    return mapping(metadata_of(obj).get("annotations"))


def owner_references(obj: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The owner references of an object."""
    return mappings(metadata_of(obj).get("ownerReferences"))


def namespace_of(obj: Mapping[str, Any]) -> str:
    """The namespace of an object, "" for one without."""
    return as_text(metadata_of(obj).get("namespace"))


def name_of(obj: Mapping[str, Any]) -> str:
    """The name of an object, "" for one without."""
    return as_text(metadata_of(obj).get("name"))


def pod_of(obj: Mapping[str, Any]) -> Mapping[str, Any]:
    """The pod spec of a Deployment, or of anything else with a template."""
    return spec_of(mapping(spec_of(obj).get("template")))


def as_text(value: Any) -> str:
    """A scalar as text, "" for one that says nothing: a number that an author forgot to quote stands for its digits."""
    return str(value or "")


RBAC = "rbac.authorization.k8s.io"
RBAC_V1 = f"{RBAC}/v1"
ANY = "*"
ACCOUNT = "ServiceAccount"
POLICY_GROUP = "policy.open-cluster-management.io"
"""What policies of Open Cluster Management belong to."""

APIEXTENSIONS = "apiextensions.k8s.io"
CRD_KIND = "CustomResourceDefinition"
CRD_V1, CRD_V1BETA1 = f"{APIEXTENSIONS}/v1", f"{APIEXTENSIONS}/v1beta1"


class PolicyRule(NamedTuple):
    """What may be done: each verb, on each resource of each API group under each name, or on each URL.

    `names` () means any name; `resources` has subresources as `pods/log`.
    """

    verbs: tuple[str, ...]
    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()


class Request(NamedTuple):
    """What somebody wants to do: `resource` as `pods/log`, or `url` for what is no resource.

    `name` is "" where the request has none, as one to list or to create has, and None for any, which a rule without
    names stands for.
    """

    verb: str
    group: str = ""
    resource: str = ""
    name: str | None = ""
    url: str = ""


class Subject(NamedTuple):
    """Who has permissions: a ServiceAccount with its namespace, a User, a Group.

    The kind `ClusterRole` stands for whoever is going to be bound to an aggregated role such as `edit`.
    """

    kind: str
    namespace: str
    name: str

    @property
    def user_name(self) -> str:
        """What Kubernetes calls it when it makes a request."""
        return f"system:serviceaccount:{self.namespace}:{self.name}" if self.kind == ACCOUNT else self.name

    def __str__(self) -> str:
        return "/".join(part for part in self if part)


def identical(old: Any, new: Any) -> bool:
    """Whether two values are the same to the letter, but for the order of keys."""
    return old is new or (bool(old == new) and not _differ_in_type(old, new))


def _differ_in_type(old: Any, new: Any) -> bool:
    """Whether what Python takes to be equal is not: to Python, 1 is true."""
    if old is new:
        return False
    if isinstance(old, dict) and isinstance(new, dict):
        return any(_differ_in_type(value, new[key]) for key, value in old.items())
    if isinstance(old, list) and isinstance(new, list):
        return any(map(_differ_in_type, old, new))
    return isinstance(old, bool) is not isinstance(new, bool)
