"""Find misspellings in manifests: kinds that no cluster has, fields that are dropped, and approvals with another
meaning."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import islice
from pathlib import Path
from typing import Any

from olmc.compiler.load.config import CONFIG_FILE
from olmc.compiler.load.files import read_text
from olmc.compiler.load.json_schema import Keys, unlisted
from olmc.compiler.model.cluster import Cluster
from olmc.compiler.model.operators import CONVERSION
from olmc.compiler.model.options import Options, Profile
from olmc.compiler.model.workspace import Reason, Unused, Workspace
from olmc.compiler.olm.naming import unknown_config
from olmc.compiler.olm.profiles.data import is_of_documents, olm_in_texts, profile_of
from olmc.compiler.rules.findings import workspace as rules
from olmc.k8s.api.restmapper import (
    BUILTIN,
    RestMapper,
    RestMapping,
    builtin_kinds,
    closest_kind,
    find_kinds,
    is_native,
    known_kinds,
    removal_of,
    rest_mapper,
    versions_of,
)
from olmc.k8s.api.selectors import is_empty
from olmc.k8s.diagnostics import Diagnostic, Report, Source, closest, did_you_mean, further_findings, misspelt
from olmc.k8s.gojson import unknown_keys
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import GVK, OLM_GROUP, GroupKind, KubernetesObject, Manifest, gvk_of, mapping, object_key, spec_of
from olmc.k8s.yaml import locate
from olmc.resources import schema

# The kinds whose fields are in the table of Go structs; those of the others are in their JSON Schemas.
_TYPED = frozenset({"ClusterServiceVersion", "Operator", "OperatorCondition", "OperatorGroup"})
_LISTED = frozenset({"CatalogSource", "InstallPlan", "OLMConfig", "Subscription"})
_OBJECT_META = "k8s.io/apimachinery/pkg/apis/meta/v1.ObjectMeta"
_TOP = ("apiVersion", "kind", "metadata", "spec", "status")
_CONFIG = ("spec", "config")
_DEPLOYMENTS = ("spec", "install", "spec", "deployments")

# A hint with more fields is too long to read.
_MOST = 12
_WRITE_KIND = "Write a kind of Kubernetes, of OLM, or of a CRD here, by any name that kubectl takes."

# The effect of a missing field on its object.
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


_MISPLACED = (("metadata", "spec"), ("metadata", "status"))


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
        """Return the hint."""
        if self.keys in _MISPLACED:
            return f"Write {self.keys[-1]} beside metadata: it belongs one level up."
        if self.meant:
            return did_you_mean(self.meant)
        listed = 0 < len(self.others) <= _MOST
        return f"Remove it, or write a field that there is: {', '.join(self.others)}." if listed else "Remove it."


def dropped_fields(obj: KubernetesObject, profile: Profile, *, exact: bool = True) -> Iterator[DroppedField]:
    """Yield the fields of one of OLM's objects that are dropped, apart from its status.

    Without `exact` it is a CSV of a bundle, which OLM reads before the API server does, and OLM ignores the case of
    keys.
    """
    return (_described(obj, field) for field in _dropped(obj, profile, exact))


def _dropped(obj: KubernetesObject, profile: Profile, exact: bool) -> Iterator[DroppedField]:
    """The same, without what takes its time: what could be meant, and what comes of it."""
    yield from (DroppedField(keys, _UNJUDGED, others, "") for keys, others in _unknown(obj, profile, exact))
    if obj["kind"] == "Subscription":
        known = _absent(profile.subscription_config or (), _at(obj, _CONFIG))
        yield from (DroppedField(keys, "", known, "") for keys in _of_newer(obj, profile))
    for keys in _unused(obj, profile) if obj["kind"] == "ClusterServiceVersion" else ():
        yield DroppedField(keys, "", (), "", version=True)


def _described(obj: KubernetesObject, field: DroppedField) -> DroppedField:
    if field.meant != _UNJUDGED or field.keys in _MISPLACED:
        field = field._replace(meant="")
        return field._replace(effect=_effect(obj, field.keys))
    meant = closest(str(field.keys[-1]), field.others)
    return field._replace(meant=meant, effect=_effect(obj, (*field.keys[:-1], meant)))


def _unknown(obj: KubernetesObject, profile: Profile, exact: bool) -> Iterator[tuple[Keys, tuple[str, ...]]]:
    kind = obj["kind"]
    if kind == "OperatorGroup":
        yield from _of_group(obj, profile)
    elif kind in _TYPED:
        yield from ((keys, others) for keys, others in unknown_keys(kind, obj, exact=exact) if keys[0] != "status")
    elif kind in _LISTED:
        yield from (((key,), _absent(_TOP, obj)) for key in obj if key not in _TOP)
        yield from _below(("metadata",), unknown_keys(_OBJECT_META, obj.get("metadata"), exact=True))
        of_spec = unlisted(schema(kind.lower())["properties"]["spec"], obj.get("spec"), ("spec",))
        # The schema tells of a config's containers only what people write; the Go structs have all of it.
        yield from ((keys, others) for keys, others in of_spec if kind != "Subscription" or keys[:2] != _CONFIG)
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


def _below(keys: Keys, fields: Iterator[tuple[Keys, tuple[str, ...]]]) -> Iterator[tuple[Keys, tuple[str, ...]]]:
    return (((*keys, *below), others) for below, others in fields)


def _absent(names: Sequence[str], value: Any) -> tuple[str, ...]:
    return tuple(name for name in names if name not in (value or ()))


def _at(value: Any, keys: Keys) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


_OF_TARGETS = ("spec", "spec.", "spec.targetNamespaces", "spec.selector", "metadata.spec")


def _effect(obj: KubernetesObject, keys: Keys) -> str:
    """Return the effect of the missing field on the object."""
    where = ".".join(str(key) for key in keys)
    kind = obj["kind"]
    if kind == "OperatorGroup" and where in _OF_TARGETS:
        spec = spec_of(obj)
        everything = not spec.get("targetNamespaces") and is_empty(spec.get("selector"))
        return "the group targets all namespaces" if everything else ""
    return _WITHOUT.get((kind, where), "")


_UNJUDGED = "?"
"""A mark for a probable field that is not looked up yet; no field has this name."""

_SHOWN_BY_DOCUMENTS = frozenset({("OperatorGroup", "spec.serviceAccount"), ("OperatorGroup", "metadata.spec")})
"""Fields in examples of OLM's documents that no API server keeps (differences.md)."""
_APPROVALS = ("Automatic", "Manual")
_GROUPS_ALIKE = 0.85
# MutatingAdmissionPolicyBinding and ValidatingAdmissionPolicyBinding are 0.87 alike, and an API server may have both.
_KINDS_ALIKE = 0.88
_ALIKE = 0.75
# The kinds that OLM's API server does not have, but output may: those of the proposed APIs and of OLM v1, of bundles,
# and certificates.
_FURTHER = (
    GroupKind(OLM_GROUP, "Install"),
    *(GroupKind("olm.operatorframework.io", f"Cluster{kind}") for kind in ("Catalog", "Extension", "ObjectSet")),
    *(GroupKind("cert-manager.io", kind) for kind in ("Certificate", "Issuer")),
    *(GroupKind("monitoring.coreos.com", kind) for kind in ("PrometheusRule", "ServiceMonitor")),
    GroupKind("autoscaling.k8s.io", "VerticalPodAutoscaler"),
    *(
        GroupKind("console.openshift.io", f"Console{kind}")
        for kind in ("CLIDownload", "Link", "Plugin", "QuickStart", "YAMLSample")
    ),
)


def check_spelling(
    workspace: Workspace, options: Options, report: Report, added: Set[tuple[str, str]] = frozenset()
) -> Workspace:
    """Report kinds that are none, fields of OLM's objects that are dropped, and approvals that mean something else.

    Return the workspace without the manifests that the API server refuses because OLM does not have their kind. `added`
    are the kinds of OLM's group that other targets add, each with its apiVersion.
    """
    profile = profile_of(options.olm_version)
    refused: list[Manifest] = []
    for manifest in workspace.manifests:
        unknown = _unknown_kind(manifest, workspace, profile, options, added)
        api = gvk_of(manifest.object)
        # Of a kind that is none, no field is right: one message is enough.
        if unknown is not None:
            report.add(unknown)
            refused += [manifest] if api.group == OLM_GROUP else []
        elif api.group == OLM_GROUP and api.version in versions_of(api.group_kind):
            for diagnostic in (*_fields(manifest, profile, report), *_approval(manifest)):
                report.add(diagnostic)
    if not refused:
        return workspace
    keys = {object_key(manifest.object) for manifest in refused}
    unused = (*workspace.inputs.unused, *(Unused(manifest, Reason.REFUSED) for manifest in refused))
    kept = tuple(manifest for manifest in workspace.manifests if object_key(manifest.object) not in keys)
    return workspace._replace(
        manifests=kept, inputs=workspace.inputs._replace(unused=unused), refused=workspace.refused | keys
    )


def _fields(manifest: Manifest, profile: Profile, report: Report) -> Iterator[Diagnostic]:
    obj = manifest.object
    subject = (rules.DROPPED_FIELD.code, rules.DROPPED_FIELD.severity, manifest.source.path)
    dropped = _dropped(obj, profile, exact=True)
    for field in (_described(obj, field) for field in islice(dropped, report.capacity(subject))):
        place = locate(manifest.source, field.keys, of_key=True)
        owner, why = olm_in_texts(profile), "does not know: the API server drops it"
        if is_of_documents(profile) and (obj["kind"], field.where) in _SHOWN_BY_DOCUMENTS:
            owner, why = "the documents", "show and OLM does not read: the API server drops it"
        yield rules.DROPPED_FIELD.finding(
            place,
            kind=obj["kind"],
            name=name_of(obj),
            where=field.where,
            owner=owner,
            why="makes no use of" if field.version else why,
            effect=field.consequence,
            hint=field.hint,
        ).caused_by(misspelt(str(field.keys[-1]), field.meant))
    if further := sum(1 for _ in dropped):
        yield further_findings(subject, further)


def _approval(manifest: Manifest) -> Iterator[Diagnostic]:
    """An approval of a Subscription that OLM takes for Automatic although it does not say so (R-CAT-602)."""
    obj = manifest.object
    text = spec_of(obj).get("installPlanApproval") if obj["kind"] == "Subscription" else ""
    if text and text not in _APPROVALS:
        meant = [closest(text, _APPROVALS)] if closest(text, _APPROVALS) else ["Manual", "Automatic"]
        place = locate(manifest.source, ("spec", "installPlanApproval"))
        finding = rules.NOT_MANUAL.finding(place, name=name_of(obj), text=text, meant=" or ".join(meant))
        yield finding.caused_by(misspelt(text, *meant))


def _unknown_kind(
    manifest: Manifest, workspace: Workspace, profile: Profile, options: Options, added: Set[tuple[str, str]]
) -> Diagnostic | None:
    """Return the problem of a manifest's kind or API group; None if a cluster may have it."""
    api = gvk_of(manifest.object)
    if (manifest.object["apiVersion"], api.kind) in added:
        return None
    diagnostic = _about_olm(manifest, profile) if api.group == OLM_GROUP else _about_other(manifest, options)
    # Asked last, as reading all CRDs takes its time, and nearly every kind is one that there is.
    if diagnostic is not None and (api.path in options.apis or api.group_kind in _crds(workspace, options).custom):
        return None
    return diagnostic


def name_of(obj: KubernetesObject) -> str:
    """The namespace and name of an object, or its name alone."""
    named = object_key(obj)
    return "/".join(filter(None, (named.namespace, named.name)))


def _crds(workspace: Workspace, options: Options) -> RestMapper:
    """Return the kinds of the CRDs of the workspace, those of its bundles included, and the other kinds that the
    cluster serves."""
    bundles = (*workspace.bundles.values(), *workspace.vendored.values())
    shipped = (obj for bundle in bundles for obj in bundle.objects)
    objects = (*(manifest.object for manifest in workspace.manifests), *shipped)
    return rest_mapper(objects, options.api_resources)


def _about_olm(manifest: Manifest, profile: Profile) -> Diagnostic | None:
    obj, source = manifest.object, manifest.source
    api, kind, name = obj["apiVersion"], obj["kind"], name_of(obj)
    owner = f"{api} of {olm_in_texts(profile)}"
    served = _served(kind, profile)
    if api in served:
        return None
    if served:
        hint = f"Write {' or '.join(served)}."
        place = locate(source, ("apiVersion",))
        finding = rules.NO_SUCH_KIND.finding(place, owner=owner, kind=kind, name=name, hint=hint)
        return finding.caused_by(misspelt(api, *served))
    kinds = [name for group, name in builtin_kinds() if group == OLM_GROUP and _served(name, profile)]
    meant = closest(kind, kinds)
    hint = did_you_mean(meant) or f"The kinds are {', '.join(kinds)}."
    if versions_of(GroupKind(OLM_GROUP, kind)):
        meant, hint = "", "Leave it out, or compile for a later version of OLM (--olm-version)."
    finding = rules.NO_SUCH_KIND.finding(locate(source, ("kind",)), owner=owner, kind=kind, name=name, hint=hint)
    return finding.caused_by(misspelt(kind, meant))


def _served(kind: str, profile: Profile) -> tuple[str, ...]:
    """The apiVersions in which the profile's OLM serves one of its kinds."""
    newest = {
        "OLMConfig": profile.olmconfig_api,
        "Operator": profile.operator_api,
        "OperatorCondition": profile.operatorcondition,
    }
    versions = (f"{OLM_GROUP}/{version}" for version in versions_of(GroupKind(OLM_GROUP, kind)))
    return tuple(api for api in versions if kind not in newest or api <= newest[kind])


def _about_other(manifest: Manifest, options: Options) -> Diagnostic | None:
    """For a kind of Kubernetes' groups that is nearly one that there is, or a known kind in nearly its group."""
    api = gvk_of(manifest.object)
    group, _, kind = api
    known = builtin_kinds()
    if api.group_kind in known or kind.endswith("List"):
        return None
    homes = [other for other, name in known if name == kind]
    here = [name for other, name in known if other == group]
    # Neither the kind nor the group is known: a custom resource of something that the workspace does not have.
    if not homes and not here:
        return None
    # Another finding reports a kind that Kubernetes has removed, with its replacement.
    if is_native(api, options.kube_version) or removal_of(api, options.kube_version) is not None:
        return None
    place, meant = ("kind",), ""
    if homes:
        close = homes[0] if here else closest(group, filter(None, homes), cutoff=_GROUPS_ALIKE, parts=False)
        if here or close:
            place = ("apiVersion",)
            meant = GVK(close, versions_of(GroupKind(close, kind))[-1], kind).api_version
    else:
        meant = closest(kind, here, cutoff=_KINDS_ALIKE, parts=False)
    if not meant:
        return None
    name, where = name_of(manifest.object), locate(manifest.source, place)
    api_version = manifest.object["apiVersion"]
    finding = rules.STRANGE_KIND.finding(where, api=api_version, kind=kind, name=name, meant=meant)
    return finding.caused_by(misspelt(kind if place == ("kind",) else api_version, meant))


def unknown_kinds(names: Iterable[str], known: Iterable[RestMapping]) -> Iterator[tuple[str, str]]:
    """Those of `names` that none of the known kinds goes by, each with what to write in its place.

    Names are those that kubectl takes: kinds, plurals and short names, in any case.
    """
    kinds = (*known, *(BUILTIN.mapping(kind) for kind in _FURTHER))
    for name in names:
        if not find_kinds(name, kinds):
            yield name, did_you_mean(closest_kind(name, kinds)) or _WRITE_KIND


def possible_kinds(cluster: Cluster, workspace: Workspace | None) -> tuple[RestMapping, ...]:
    """The kinds that there could be among the objects of a cluster at rest; `workspace` as in `possible_objects`."""
    return known_kinds(possible_objects(cluster, workspace))


def possible_objects(cluster: Cluster, workspace: Workspace | None) -> Iterator[KubernetesObject]:
    """The objects of a cluster at rest and of bundles that may yet be installed, and the kinds that catalogs speak of.

    `workspace` is None for a bundle by itself, which is installed.
    """
    yield from (rendered.object for rendered in cluster.objects.values())
    if workspace is not None:
        for bundle in (*workspace.bundles.values(), *workspace.vendored.values()):
            yield from bundle.objects
    for source in cluster.catalogs.values():
        for entry in source.entries:
            for api in (mapping(each.value) for each in entry.properties if each.type == "olm.gvk"):
                yield {"apiVersion": f"{api.get('group')}/{api.get('version')}", "kind": api.get("kind")}


def approvable(cluster: Cluster) -> Iterator[str]:
    """Yield the CSVs of InstallPlans, each as `namespace/csv`."""
    return (f"{plan.namespace}/{csv}" for plan in cluster.plans.values() for csv in plan.csvs)


def unknown_approvals(approve: Iterable[str], approvals: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Those of `approve`, each `namespace/csv`, that no InstallPlan is for, with the name that is like it, or ""."""
    known = list(approvals)
    for name in approve:
        if name != "all" and name not in known:
            yield name, closest(name, known, _ALIKE)


def report_config(
    root: Path,
    config: Mapping[str, Any],
    given: frozenset[str],
    cluster: Cluster,
    workspace: Workspace | None,
    report: Report,
) -> None:
    """Report the kinds and the approvals in a workspace's olmc.yaml, whose `spec` is `config`, that mean nothing there.

    What the command line has set in their place, the names of options in `given`, is left alone.
    """
    lists = {name: config.get(name) or () for name in ("include", "exclude", "approve") if name not in given}
    if not any(lists.values()):
        return
    source = Source(CONFIG_FILE, read_text(root, CONFIG_FILE, Report()) or "")
    for name in ("include", "exclude"):
        for kind, hint in unknown_kinds(lists.get(name, ()), possible_kinds(cluster, workspace)):
            place = locate(source, ("spec", name, lists[name].index(kind)))
            report.add(rules.MISSPELT_KIND.finding(place, name=name, kind=kind, hint=hint))
    for plan, meant in unknown_approvals(lists.get("approve", ()), approvable(cluster)):
        place = locate(source, ("spec", "approve", lists["approve"].index(plan)))
        hint = did_you_mean(meant) or "Plans are named by namespace and CSV; olmc resolve lists them."
        report.add(rules.NO_SUCH_PLAN.finding(place, plan=plan, hint=hint))
