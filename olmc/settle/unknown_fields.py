"""The fields of OLM's objects that nobody knows, so that they are dropped: by the API server, or by an older OLM."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from olmc.gojson import unknown_keys
from olmc.kube.selectors import is_empty
from olmc.load.json_schema import Keys, unlisted
from olmc.model.objects import KubernetesObject, spec_of
from olmc.model.operators import CONVERSION
from olmc.model.profile import Profile
from olmc.model.suggestions import closest, did_you_mean
from olmc.resources import schema
from olmc.settle.known import unknown_config

_TYPED = frozenset({"ClusterServiceVersion", "Operator", "OperatorCondition", "OperatorGroup"})
"""The kinds whose fields are in the table of Go structs; those of the others are in their JSON Schemas."""
_LISTED = frozenset({"CatalogSource", "InstallPlan", "OLMConfig", "Subscription"})
_OBJECT_META = "k8s.io/apimachinery/pkg/apis/meta/v1.ObjectMeta"
_TOP = ("apiVersion", "kind", "metadata", "spec", "status")
_CONFIG = ("spec", "config")
_DEPLOYMENTS = ("spec", "install", "spec", "deployments")

_MOST = 12

# What becomes of an object without the field.
_WITHOUT = {
    ("CatalogSource", "spec.address"): "nothing is served from there",
    ("CatalogSource", "spec.image"): "nothing is served from it",
    ("CatalogSource", "spec.priority"): "its priority is 0",
    ("ClusterServiceVersion", "spec.apiservicedefinitions"): "it has no API services",
    ("ClusterServiceVersion", "spec.customresourcedefinitions"): "it owns and requires no CRDs",
    ("ClusterServiceVersion", "spec.install.spec.clusterPermissions"): "the operator does not get these permissions",
    ("ClusterServiceVersion", "spec.install.spec.deployments"): "nothing is deployed",
    ("ClusterServiceVersion", "spec.install.spec.permissions"): "the operator does not get these permissions",
    ("ClusterServiceVersion", "spec.installModes"): "it supports no install mode",
    ("ClusterServiceVersion", "spec.minKubeVersion"): "it is installed on every version of Kubernetes",
    ("ClusterServiceVersion", "spec.webhookdefinitions"): "it has no webhooks",
    ("InstallPlan", "spec.approved"): "the plan is not approved",
    ("OLMConfig", "spec.features"): "CSVs are copied",
    ("OLMConfig", "spec.features.disableCopiedCSVs"): "CSVs are copied",
    ("OperatorGroup", "spec.serviceAccountName"): "operators are installed with OLM's own rights",
    ("OperatorGroup", "spec.staticProvidedAPIs"): "OLM rewrites the annotation olm.providedAPIs",
    ("OperatorGroup", "spec.upgradeStrategy"): "a failed operator can't be upgraded",
    ("Subscription", "spec.channel"): "OLM takes the default channel of the package",
    ("Subscription", "spec.config"): "nothing is changed in the Deployments",
    ("Subscription", "spec.config.affinity"): "the pods have the affinity of the CSV",
    ("Subscription", "spec.config.annotations"): "the Deployments and their pods have the annotations of the CSV",
    ("Subscription", "spec.installPlanApproval"): "upgrades do not wait for approval",
    ("Subscription", "spec.startingCSV"): "OLM starts with the newest version of the channel",
}
_EVERYTHING = "the group targets all namespaces"


class DroppedField(NamedTuple):
    """A field that is dropped: the keys that lead to it, the field that could be meant ("" if none is like it), the
    others that could stand there, what the object is like without it ("" if nothing is known of that), and whether only
    the chosen version of OLM does not have it."""

    keys: Keys
    meant: str
    others: tuple[str, ...]
    effect: str
    version: bool = False

    @property
    def where(self) -> str:
        """The keys with dots between them."""
        return ".".join(str(key) for key in self.keys)

    @property
    def consequence(self) -> str:
        """The end of a sentence that says what the object is like without the field."""
        return f", so that {self.effect}" if self.effect else ""

    @property
    def hint(self) -> str:
        """What to do."""
        if self.meant:
            return did_you_mean(self.meant)
        listed = 0 < len(self.others) <= _MOST
        return f"Remove it, or write a field that there is: {', '.join(self.others)}." if listed else "Remove it."


def dropped_fields(obj: KubernetesObject, profile: Profile, *, exact: bool = True) -> Iterator[DroppedField]:
    """The fields of one of OLM's objects that are dropped, apart from its status.

    Without `exact` it is a CSV of a bundle, which OLM reads before the API server does, whatever the case of its keys.
    """
    for keys, others in _unknown(obj, profile, exact):
        meant = closest(str(keys[-1]), others)
        yield DroppedField(keys, meant, others, _effect(obj, (*keys[:-1], meant)))
    if obj["kind"] == "Subscription":
        known = _absent(profile.subscription_config or (), _at(obj, _CONFIG))
        yield from (DroppedField(keys, "", known, _effect(obj, keys)) for keys in _of_newer(obj, profile))
    for keys in _unused(obj, profile) if obj["kind"] == "ClusterServiceVersion" else ():
        yield DroppedField(keys, "", (), _effect(obj, keys), version=True)


def _unknown(obj: KubernetesObject, profile: Profile, exact: bool) -> Iterator[tuple[Keys, tuple[str, ...]]]:
    kind = obj["kind"]
    if kind == "OperatorGroup":
        yield from _of_group(obj, profile)
    elif kind in _TYPED:
        yield from (each for each in unknown_keys(kind, obj, exact=exact) if each[0][0] != "status")
    elif kind in _LISTED:
        yield from (((key,), _absent(_TOP, obj)) for key in obj if key not in _TOP)
        yield from _below(("metadata",), unknown_keys(_OBJECT_META, obj.get("metadata"), exact=True))
        of_spec = unlisted(schema(kind.lower())["properties"]["spec"], obj.get("spec"), ("spec",))
        # The schema tells of a config's containers only what people write; the Go structs have all of it.
        yield from (each for each in of_spec if kind != "Subscription" or each[0][:2] != _CONFIG)
        if kind == "Subscription":
            yield from _below(_CONFIG, unknown_keys("SubscriptionConfig", _at(obj, _CONFIG), exact=True))


def _of_group(obj: KubernetesObject, profile: Profile) -> Iterator[tuple[Keys, tuple[str, ...]]]:
    """The same for an OperatorGroup: the profile knows its spec, and its selector has a rule of its own (OLMC141)."""
    known = profile.operatorgroup_api["spec"]
    for keys, others in unknown_keys("OperatorGroup", obj, exact=True):
        of_selector = keys[:2] == ("spec", "selector") and len(keys) == 3
        if keys[0] != "status" and not of_selector and (keys[0] != "spec" or len(keys) > 2):
            yield keys, others
    spec = obj.get("spec")
    yield from ((("spec", key), _absent(known, spec)) for key in spec or () if key not in known)


def _unused(obj: KubernetesObject, profile: Profile) -> Iterator[Keys]:
    """The fields of a CSV that today's OLM has and that of the profile does not."""
    webhooks = _at(obj, ("spec", "webhookdefinitions"))
    if webhooks and not profile.webhook_admission and profile.webhook_conversion != CONVERSION:
        yield "spec", "webhookdefinitions"
    if not profile.csv_cleanup and _at(obj, ("spec", "cleanup")) is not None:
        yield "spec", "cleanup"
    deployments = _at(obj, _DEPLOYMENTS)
    for index, deployment in enumerate(deployments if isinstance(deployments, list) else ()):
        if not profile.deploy_label_custom and isinstance(deployment, dict) and deployment.get("label"):
            yield (*_DEPLOYMENTS, index, "label")


def _of_newer(subscription: KubernetesObject, profile: Profile) -> Iterator[Keys]:
    """The fields of a Subscription's config that today's OLM has and the CRD of the profile's does not."""
    config = _at(subscription, _CONFIG)
    foreign = {keys[0] for keys, _ in unknown_keys("SubscriptionConfig", config, exact=True) if len(keys) == 1}
    return ((*_CONFIG, key) for key in unknown_config(subscription, profile) if key not in foreign)


def _below(keys: Keys, found: Iterator[tuple[Keys, tuple[str, ...]]]) -> Iterator[tuple[Keys, tuple[str, ...]]]:
    return (((*keys, *each), others) for each, others in found)


def _absent(names: Sequence[str], value: Any) -> tuple[str, ...]:
    return tuple(name for name in names if name not in (value or ()))


def _at(value: Any, keys: Keys) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _effect(obj: KubernetesObject, keys: Keys) -> str:
    """What the object is like without the field that was meant."""
    where = ".".join(str(key) for key in keys)
    kind = obj["kind"]
    if kind == "OperatorGroup" and where in ("spec", "spec.", "spec.targetNamespaces", "spec.selector"):
        spec = spec_of(obj)
        everything = not spec.get("targetNamespaces") and is_empty(spec.get("selector"))
        return _EVERYTHING if everything else ""
    return _WITHOUT.get((kind, where), "")
