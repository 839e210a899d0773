"""The facts that clients know about kinds: scope, plural, other names, and the versions that a cluster serves.

Kubernetes' own kinds are built in, and CRDs can't change them. CRDs define all other kinds. OLM's and OpenShift's are
known without a CRD (R-CAT-750). Group and name identify a kind: an Operator of example.com is not OLM's Operator.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Mapping
from functools import cache, cached_property, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from olmc.k8s.diagnostics import POSSIBLE, closest
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.objects import (
    APIEXTENSIONS,
    CRD_KIND,
    GVK,
    OLM_GROUP,
    APIResource,
    GroupKind,
    KubernetesObject,
    gvk_of,
    mapping,
    mappings,
    metadata_of,
    spec_of,
    split_api_version,
    status_of,
    text,
    texts,
)
from olmc.k8s.strconv import minor_of

# The kinds that every API server with OLM has: in which versions, until when it had others, and what they are called.
#
# Kinds that only some clusters have are in the tables as far as bundles may hold them (R-CAT-750).

_SERVED = {
    ("", "v1"): "Binding ComponentStatus ConfigMap Endpoints Event LimitRange Namespace Node PersistentVolume "
    "PersistentVolumeClaim Pod PodTemplate ReplicationController ResourceQuota Secret Service ServiceAccount",
    ("admissionregistration.k8s.io", "v1"): "MutatingWebhookConfiguration ValidatingAdmissionPolicy "
    "ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration",
    ("apiextensions.k8s.io", "v1"): "CustomResourceDefinition",
    ("apiregistration.k8s.io", "v1"): "APIService",
    ("apps", "v1"): "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet",
    ("authentication.k8s.io", "v1"): "SelfSubjectReview TokenReview",
    ("authorization.k8s.io", "v1"): "LocalSubjectAccessReview SelfSubjectAccessReview SelfSubjectRulesReview "
    "SubjectAccessReview",
    ("autoscaling", "v1"): "HorizontalPodAutoscaler Scale",
    ("autoscaling", "v2"): "HorizontalPodAutoscaler",
    ("batch", "v1"): "CronJob Job",
    ("certificates.k8s.io", "v1"): "CertificateSigningRequest",
    ("coordination.k8s.io", "v1"): "Lease",
    ("discovery.k8s.io", "v1"): "EndpointSlice",
    ("events.k8s.io", "v1"): "Event",
    ("flowcontrol.apiserver.k8s.io", "v1"): "FlowSchema PriorityLevelConfiguration",
    ("networking.k8s.io", "v1"): "IPAddress Ingress IngressClass NetworkPolicy ServiceCIDR",
    ("node.k8s.io", "v1"): "RuntimeClass",
    ("operators.coreos.com", "v1"): "OLMConfig Operator OperatorCondition OperatorGroup",
    ("operators.coreos.com", "v1alpha1"): "CatalogSource ClusterServiceVersion InstallPlan Subscription",
    ("operators.coreos.com", "v1alpha2"): "OperatorGroup",
    ("operators.coreos.com", "v2"): "OperatorCondition",
    ("policy", "v1"): "Eviction PodDisruptionBudget",
    ("rbac.authorization.k8s.io", "v1"): "ClusterRole ClusterRoleBinding Role RoleBinding",
    ("resource.k8s.io", "v1"): "DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice",
    ("scheduling.k8s.io", "v1"): "PriorityClass",
    ("storage.k8s.io", "v1"): "CSIDriver CSINode CSIStorageCapacity StorageClass VolumeAttachment "
    "VolumeAttributesClass",
}


class Removal(NamedTuple):
    """The minor version of Kubernetes 1 that removes an API, and the apiVersion that replaces it."""

    minor: int
    replacement: str


@cache
def _data() -> Mapping[str, Any]:
    """Return the lists of `kinds.json`.

    `removed`: APIs, the minor version of Kubernetes 1 that was the first not to serve them, and replacements, from
    the "Deprecated API Migration Guide" of kubernetes.io. `scopeByRules`: APIs with rules of their own about the
    namespaces of their objects.
    """
    lists: dict[str, Any] = json.loads(Path(__file__).with_name("kinds.json").read_bytes())
    return lists


@cache
def removed_apis() -> Mapping[GVK, Removal]:
    """Return the APIs that a version of Kubernetes has removed."""
    return {
        GVK(*split_api_version(api_version), kind): Removal(minor, replacement)
        for api_version, minor, replacement, kinds in _data()["removed"]
        for kind in kinds.split()
    }


CLUSTER_SCOPED: frozenset[GroupKind] = frozenset(
    GroupKind(group, kind)
    for group, kinds in {
        "": "ComponentStatus Namespace Node PersistentVolume",
        "admissionregistration.k8s.io": "MutatingAdmissionPolicy MutatingAdmissionPolicyBinding "
        "MutatingWebhookConfiguration ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding "
        "ValidatingWebhookConfiguration",
        "apiextensions.k8s.io": "CustomResourceDefinition",
        "apiregistration.k8s.io": "APIService",
        "authentication.k8s.io": "SelfSubjectReview TokenReview",
        "authorization.k8s.io": "SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview",
        "certificates.k8s.io": "CertificateSigningRequest ClusterTrustBundle",
        "console.openshift.io": "ConsoleCLIDownload ConsoleLink ConsolePlugin ConsoleQuickStart ConsoleYAMLSample",
        "extensions": "PodSecurityPolicy",
        "flowcontrol.apiserver.k8s.io": "FlowSchema PriorityLevelConfiguration",
        "networking.k8s.io": "IPAddress IngressClass ServiceCIDR",
        "node.k8s.io": "RuntimeClass",
        "operators.coreos.com": "Install OLMConfig Operator",
        "policy": "PodSecurityPolicy",
        "rbac.authorization.k8s.io": "ClusterRole ClusterRoleBinding",
        "resource.k8s.io": "DeviceClass ResourceSlice",
        "scheduling.k8s.io": "PriorityClass",
        "storage.k8s.io": "CSIDriver CSINode StorageClass VolumeAttachment VolumeAttributesClass",
    }.items()
    for kind in kinds.split()
)
"""Kinds whose objects have no namespace: those of every API server with OLM, and those of OpenShift in bundles."""

SHORT_NAMES = {
    "CatalogSource": "catsrc",
    "CertificateSigningRequest": "csr",
    "ClusterServiceVersion": "csv csvs",
    "ComponentStatus": "cs",
    "ConfigMap": "cm",
    "CronJob": "cj",
    "CustomResourceDefinition": "crd crds",
    "DaemonSet": "ds",
    "Deployment": "deploy",
    "Endpoints": "ep",
    "Event": "ev",
    "HorizontalPodAutoscaler": "hpa",
    "Ingress": "ing",
    "InstallPlan": "ip",
    "LimitRange": "limits",
    "Namespace": "ns",
    "NetworkPolicy": "netpol",
    "Node": "no",
    "OperatorCondition": "condition",
    "OperatorGroup": "og",
    "PersistentVolume": "pv",
    "PersistentVolumeClaim": "pvc",
    "Pod": "po",
    "PodDisruptionBudget": "pdb",
    "PriorityClass": "pc",
    "ReplicaSet": "rs",
    "ReplicationController": "rc",
    "ResourceQuota": "quota",
    "Service": "svc",
    "ServiceAccount": "sa",
    "StatefulSet": "sts",
    "StorageClass": "sc",
    "Subscription": "sub subs",
    "VolumeAttributesClass": "vac",
}
"""The names of kinds that kubectl knows in addition to kind and plural."""

# Groups whose kinds are built in here, but come from CRDs in a real API server.
_BY_CRDS = frozenset({OLM_GROUP, "console.openshift.io"})


@cache
def builtin_kinds() -> tuple[GroupKind, ...]:
    """Every kind that an API server with OLM serves today, each once, sorted."""
    return tuple(sorted({GroupKind(group, kind) for (group, _), kinds in _SERVED.items() for kind in kinds.split()}))


@cache
def kubernetes_kinds() -> frozenset[GroupKind]:
    """The kinds that Kubernetes itself has or had, so that no CRD has a say in them."""
    known = {*builtin_kinds(), *(api.group_kind for api in removed_apis()), *CLUSTER_SCOPED}
    return frozenset(kind for kind in known if kind.group not in _BY_CRDS)


def versions_of(kind: GroupKind) -> tuple[str, ...]:
    """The versions in which an API server with OLM serves a kind today, () if it does not."""
    return tuple(v for (group, v), kinds in _SERVED.items() if group == kind.group and kind.kind in kinds.split())


def is_native(api: GVK, kube_version: str) -> bool:
    """Return whether an API server of this version serves a kind without any CRD."""
    if api.kind in _SERVED.get((api.group, api.version), "").split():
        return True
    removal = removed_apis().get(api)
    return removal is not None and minor_of(kube_version) < removal.minor


def has_native_kinds(group: str, version: str, kube_version: str) -> bool:
    """Return whether an API server of this version serves any kind of a group and version without any CRD."""
    removed = (removal.minor for api, removal in removed_apis().items() if (api.group, api.version) == (group, version))
    return (group, version) in _SERVED or any(minor_of(kube_version) < minor for minor in removed)


def removal_of(api: GVK, kube_version: str) -> Removal | None:
    """Since when an API server of this version no longer serves a kind, None if it may."""
    removal = removed_apis().get(api)
    return removal if removal is not None and minor_of(kube_version) >= removal.minor else None


@cache
def removed_in(minor: int) -> frozenset[GVK]:
    """The APIs that a minor version of Kubernetes 1 was the first not to serve."""
    return frozenset(api for api, removal in removed_apis().items() if removal.minor == minor)


def plural_of(kind: str) -> str:
    """The plural that Kubernetes gives a kind where nothing else says it."""
    # client-go guesses: it knows one exception, and doesn't ask what stands before a y.
    name = kind.lower()
    if name == "endpoints":
        return name
    if name.endswith("s"):
        return f"{name}es"
    return f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"


def plural_kind(kind: str) -> str:
    """Return the plural of a kind for sentences: `NetworkPolicies`.

    >>> plural_kind("NetworkPolicy"), plural_kind("Ingress"), plural_kind("Role")
    ('NetworkPolicies', 'Ingresses', 'Roles')
    """
    return kind[:-1] + plural_of(kind)[len(kind) - 1 :]


Scope = Literal["Namespaced", "Cluster"]

_CRD = GroupKind(APIEXTENSIONS, CRD_KIND)


class RestMapping(NamedTuple):
    """A kind: its group, name and plural (what RBAC calls the resource), whether it has namespaces, other names.

    `versions` are those that its CRD or another API server serves, () without one.
    """

    group: str
    kind: str
    plural: str
    namespaced: bool
    names: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()

    @property
    def group_kind(self) -> GroupKind:
        return GroupKind(self.group, self.kind)

    def is_called(self, name: str) -> bool:
        """Return whether the kind goes by a name, in any case; `plural.group` and `kind.group` are names, too."""
        lowered = name.lower()
        own = {self.kind.lower(), self.plural, *self.names}
        base, _, group = lowered.partition(".")
        return lowered in own or (base in own and group == self.group)


class RestMapper(NamedTuple):
    """The kinds of a cluster; `custom` are those of its CRDs."""

    custom: Mapping[GroupKind, RestMapping] = MappingProxyType({})

    def mapping(self, kind: GroupKind) -> RestMapping:
        """Return the facts about a kind. An unknown kind has namespaces and the usual plural."""
        return self.custom.get(kind) or _builtin(kind)

    def of(self, obj: KubernetesObject) -> RestMapping:
        """Return the facts about an object's kind."""
        return self.mapping(gvk_of(obj).group_kind)

    def scope(self, api: GVK, kube_version: str) -> Scope | None:
        """The scope of an API, None if neither an API server of this version nor a CRD has it."""
        if not self.mapping(api.group_kind).namespaced:
            return "Cluster"
        return "Namespaced" if is_native(api, kube_version) or api.group_kind in self.custom else None

    def serves_kind(self, api: GVK, extra: Container[str], kube_version: str) -> bool:
        """Return whether the cluster serves a kind: a built-in one, one of a CRD, or one of `extra` (as `GVK.path`)."""
        crd = self.custom.get(api.group_kind)
        return is_native(api, kube_version) or api.path in extra or (crd is not None and api.version in crd.versions)

    def serves_version(self, group: str, version: str, extra: Iterable[str], kube_version: str) -> bool:
        """Return whether the cluster serves any kind of a group and version, wherever that comes from (see
        `serves_kind`)."""
        return (
            has_native_kinds(group, version, kube_version)
            or any(path.startswith(f"{group}/{version}/") for path in extra)
            or any(crd.group == group and version in crd.versions for crd in self.custom.values())
        )

    def ignored_namespace(self, obj: KubernetesObject) -> Any:
        """Return the namespace in an object that the API server clears, None where it clears none."""
        namespace = metadata_of(obj).get("namespace")
        if not namespace or self.of(obj).namespaced or obj.get("apiVersion") in _data()["scopeByRules"]:
            return None
        return namespace

    def in_its_scope(self, obj: KubernetesObject) -> KubernetesObject:
        """An object as the API server stores it: the kind decides whether it has a namespace, not what is written."""
        if self.ignored_namespace(obj) is None:
            return obj
        return {**obj, "metadata": {key: value for key, value in obj["metadata"].items() if key != "namespace"}}


BUILTIN = RestMapper()
"""The kinds that are known without any CRD."""


@lru_cache(maxsize=512)
def _builtin(kind: GroupKind) -> RestMapping:
    names = tuple(SHORT_NAMES.get(kind.kind, "").split()) if kind in builtin_kinds() else ()
    return RestMapping(*kind, plural_of(kind.kind), kind not in CLUSTER_SCOPED, names)


def rest_mapper(objects: Iterable[KubernetesObject], resources: Iterable[APIResource] = ()) -> RestMapper:
    """Return the kinds of the CRDs among `objects`. The first CRD of a kind counts, as the API server rejects the names
    of later ones. `resources` are the kinds of the cluster without a CRD here."""
    custom: dict[GroupKind, RestMapping] = {}
    for obj in objects:
        if obj.get("kind") == CRD_KIND and gvk_of(obj).group_kind == _CRD:
            crd = _custom(spec_of(obj))
            if crd.kind and crd.group_kind not in kubernetes_kinds():
                custom.setdefault(crd.group_kind, crd)
    served: dict[GroupKind, RestMapping] = {}
    for group, kind, plural, namespaced, versions, _ in resources:
        # Several may know of versions of one kind.
        known = served.get(GroupKind(group, kind), RestMapping(group, kind, plural, namespaced))
        served[known.group_kind] = known._replace(versions=(*known.versions, *versions))
    return RestMapper({**served, **custom})


def _custom(spec: Mapping[str, Any]) -> RestMapping:
    """The kind that a CRD defines."""
    names = mapping(spec.get("names"))
    kind = text(names.get("kind"))
    others = (text(names.get("singular")) or kind, *texts(names.get("shortNames")))
    return RestMapping(
        text(spec.get("group")),
        kind,
        text(names.get("plural")) or plural_of(kind),
        spec.get("scope") != "Cluster",
        tuple(name.lower() for name in others),
        tuple(text(version.get("name")) for version in mappings(spec.get("versions")) if version.get("served")),
    )


def known_kinds(objects: Iterable[KubernetesObject]) -> tuple[RestMapping, ...]:
    """Return the built-in kinds, those of CRDs among the objects, and the other kinds of the objects, sorted.

    The first object of an unknown kind decides whether the kind has namespaces.
    """
    objects = tuple(objects)
    mapper = rest_mapper(objects)
    mappings_by_kind = {kind: mapper.mapping(kind) for kind in (*builtin_kinds(), *mapper.custom)}
    for obj in objects:
        kind = gvk_of(obj).group_kind
        if kind not in mappings_by_kind:
            namespaced = bool(metadata_of(obj).get("namespace"))
            mappings_by_kind[kind] = mapper.mapping(kind)._replace(namespaced=namespaced)
    return tuple(sorted(mappings_by_kind.values()))


def resources_outside_namespaces(objects: Iterable[KubernetesObject]) -> frozenset[tuple[str, str]]:
    """Group and plural of the built-in kinds without a namespace, and of those of CRDs among the objects: a Role gives
    nothing for them. Of Namespaces it gives its own."""
    mapper = rest_mapper(tuple(objects))
    known = map(mapper.mapping, (*builtin_kinds(), *mapper.custom))
    return frozenset((each.group, each.plural) for each in known if not each.namespaced) - {("", "namespaces")}


@cache
def has_no_resource(group: str, plural: str) -> bool:
    """Return whether Kubernetes itself has a group, and no resource of that name in it."""
    mapper = rest_mapper(())
    own = {mapper.mapping(kind).plural for kind in kubernetes_kinds() if kind.group == group}
    return bool(own) and plural not in own


_WITH_VERSION = regex(r"(?P<kind>[^.]+)\.v\d[a-z0-9]*\.(?P<group>.+)")


def without_version(name: str) -> str:
    """The name of a kind as kubectl takes it, without its version: `deployments.v1.apps` becomes `deployments.apps`."""
    versioned = _WITH_VERSION.fullmatch(name)
    return f"{versioned['kind']}.{versioned['group']}" if versioned else name


def find_kinds(name: str, kinds: Iterable[RestMapping]) -> tuple[RestMapping, ...]:
    """The kinds that go by a name."""
    return tuple(kind for kind in kinds if kind.is_called(name))


def chosen_kinds(
    objects: Iterable[KubernetesObject], include: Iterable[str], exclude: Iterable[str]
) -> frozenset[GroupKind]:
    """The kinds of objects, and all others that are known, that go by a name to include, if there is any, and by none
    to exclude."""
    kinds = known_kinds(objects)
    included = [kind for name in include for kind in find_kinds(name, kinds)] if include else kinds
    excluded = {kind.group_kind for name in exclude for kind in find_kinds(name, kinds)}
    return frozenset(kind.group_kind for kind in included) - excluded


def closest_kind(name: str, kinds: Iterable[RestMapping]) -> str:
    """Return the probable kind, as it is written in manifests; "" when none is similar."""
    names = {alias: kind.kind for kind in kinds for alias in (kind.kind.lower(), kind.plural)}
    return names.get(closest(name, names, POSSIBLE), "")


class CrdVersion(NamedTuple):
    """A version of a CRD, and the schema that its objects have."""

    name: str
    served: bool
    storage: bool
    schema: Mapping[str, Any]


class _CrdFields(NamedTuple):
    object: KubernetesObject


# Derived, since a NamedTuple has no space for what was decoded once.
class Crd(_CrdFields):
    """A CRD; of several spellings of the same thing it knows those of v1."""

    @property
    def group(self) -> str:
        return text(self._spec.get("group"))

    @property
    def kind(self) -> str:
        return text(self._names.get("kind"))

    @property
    def plural(self) -> str:
        return text(self._names.get("plural"))

    @property
    def singular(self) -> str:
        return text(self._names.get("singular"))

    @property
    def preserves_unknown_fields(self) -> bool:
        return bool(self._spec.get("preserveUnknownFields"))

    @property
    def conversion(self) -> Mapping[str, Any]:
        return mapping(self._spec.get("conversion"))

    @property
    def client_config(self) -> Mapping[str, Any]:
        """Return how the API server reaches the webhook that converts objects."""
        return mapping(mapping(self.conversion.get("webhook")).get("clientConfig"))

    @cached_property
    def versions(self) -> list[CrdVersion]:
        return [
            CrdVersion(
                text(item.get("name")),
                bool(item.get("served")),
                bool(item.get("storage")),
                mapping(mapping(item.get("schema")).get("openAPIV3Schema")),
            )
            for item in mappings(self._spec.get("versions"))
        ]

    @property
    def only_version(self) -> str:
        """The one version that v1beta1 may name instead of a list, or in front of it."""
        return text(self._spec.get("version"))

    @property
    def served_versions(self) -> list[str]:
        return [version.name for version in self.versions if version.served]

    @property
    def stored_versions(self) -> list[str]:
        """The versions that objects may be stored in: those known so far, and the storage version (R-CAT-724)."""
        known = texts(status_of(self.object).get("storedVersions"))
        current = (version.name for version in self.versions if version.storage)
        return [*known, *(name for name in current if name not in known)]

    @cached_property
    def _spec(self) -> Mapping[str, Any]:
        return spec_of(self.object)

    @property
    def _names(self) -> Mapping[str, Any]:
        return mapping(self._spec.get("names"))
