"""A bundle by itself as a ClusterExtension would have it: what `olmc render BUNDLE --olm-version v1` prints."""

from __future__ import annotations

import gzip
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from olmc.compiler.load.bundles import MANIFESTS, METADATA, suggested_namespace
from olmc.compiler.load.files import Folder, read_text
from olmc.compiler.model.options import Certificates, Options
from olmc.compiler.model.workspace import Inputs
from olmc.compiler.olm.naming import CONDITION_NAME
from olmc.compiler.render.rbac import select_phase, select_review
from olmc.k8s.diagnostics import Diagnostic, Location, Place, Report, Source
from olmc.k8s.gojson import encode, encode_plain
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import (
    KubernetesObject,
    ObjectKey,
    Origin,
    Provenance,
    Rendered,
    annotations_of,
    labels_of,
    mappings,
    metadata_of,
    name_of,
    object_key,
    pod_of,
    spec_of,
    split_api_version,
    text,
)
from olmc.k8s.yaml import locate
from olmc.targets.v1 import rules
from olmc.targets.v1.generators import FeatureGates, InstallRequest, gates_of, render_bundle
from olmc.targets.v1.helm_release import by_helm
from olmc.targets.v1.registry_bundle import PROPERTIES_ANNOTATION, BundleError, RegistryBundle, read_registry_bundle
from olmc.targets.v1.releases import release_of
from olmc.targets.v1.revision_rollout import applied_by_revision
from olmc.targets.v1.server_errors import CONFIGURATIONS, server_errors
from olmc.targets.v1.validators import CLUSTER_SCOPED_KINDS

# The ClusterObjectSet that the COS runtime makes of rendered objects: labels, phases, probes (R-V1-COS-2 … 6).

API_VERSION = "olm.operatorframework.io/v1"
EXTENSION_KIND, SET_KIND = "ClusterExtension", "ClusterObjectSet"
PREFIX = "olm.operatorframework.io/"
SYSTEM_NAMESPACE = "olmv1-system"

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_METADATA = ("annotations", "labels", "name", "namespace")
_RBAC, _CONSOLE, _MONITORING = "rbac.authorization.k8s.io", "console.openshift.io", "monitoring.coreos.com"

# Whatever is not listed is deployed with the Deployments (R-V1-COS-3).
_REST = "deploy"
_PHASES: Mapping[str, Mapping[str, str]] = {
    # phase: kinds by their group
    "namespaces": {"": "Namespace"},
    "policies": {
        "networking.k8s.io": "NetworkPolicy",
        "policy": "PodDisruptionBudget",
        "scheduling.k8s.io": "PriorityClass",
    },
    "identity": {"": "ServiceAccount"},
    "configuration": {"": "Secret ConfigMap"},
    "storage": {"": "PersistentVolume PersistentVolumeClaim", "storage.k8s.io": "StorageClass"},
    "crds": {"apiextensions.k8s.io": "CustomResourceDefinition"},
    "roles": {_RBAC: "ClusterRole Role"},
    "bindings": {_RBAC: "ClusterRoleBinding RoleBinding"},
    "infrastructure": {"": "Service", "cert-manager.io": "Issuer Certificate"},
    _REST: {"apps": "Deployment"},
    "scaling": {"autoscaling.k8s.io": "VerticalPodAutoscaler"},
    "publish": {
        _MONITORING: "PrometheusRule ServiceMonitor PodMonitor",
        "networking.k8s.io": "Ingress",
        "route.openshift.io": "Route",
        _CONSOLE: "ConsoleYAMLSample ConsoleQuickStart ConsoleCLIDownload ConsoleLink ConsolePlugin",
    },
    "admission": {"admissionregistration.k8s.io": "ValidatingWebhookConfiguration MutatingWebhookConfiguration"},
}

MAX_PHASE = 50
"""How many objects the API takes in one phase (R-V1-COS-1)."""


class Owner(NamedTuple):
    """The ClusterExtension that a ClusterObjectSet belongs to, as far as it shows there; "" for an account that the
    release does not use."""

    name: str
    namespace: str
    service_account: str
    deadline_minutes: int | None = None


class RevisionBundle(NamedTuple):
    """The bundle that was resolved: its name, package and version, the image, the release where one is set, and the
    number of the revision that it is applied as."""

    name: str
    package: str
    version: str
    image: str
    release: str | None = None
    revision: int = 1


def is_kept(obj: KubernetesObject) -> bool:
    """Whether Helm deletes an object neither with its release nor in an upgrade (R-V1-HELM-2)."""
    return str(annotations_of(obj).get("helm.sh/resource-policy", "")).strip().lower() == "keep"


def owner_labels(extension: str) -> dict[str, str]:
    """The labels of everything that a ClusterExtension has applied (R-V1-HELM-2)."""
    return {f"{PREFIX}owner-kind": EXTENSION_KIND, f"{PREFIX}owner-name": extension}


def labelled(obj: KubernetesObject, extension: str) -> KubernetesObject:
    """An object with these labels over its own; pod templates have none of them (R-V1-HELM-2)."""
    labels = dict(sorted({**labels_of(obj), **owner_labels(extension)}.items()))
    return {**obj, "metadata": {**metadata_of(obj), "labels": labels}}


def normal_form(obj: KubernetesObject) -> KubernetesObject:
    """An object without its status and without all metadata but annotations, labels and names (R-V1-COS-2)."""
    metadata = {key: value for key, value in metadata_of(obj).items() if key in _METADATA}
    return {**{key: value for key, value in obj.items() if key != "status"}, "metadata": metadata}


def revision_object(obj: KubernetesObject, extension: str, resolved: RevisionBundle) -> KubernetesObject:
    """A rendered object as it stands in a revision (R-V1-COS-2)."""
    normal = normal_form(labelled(obj, extension))
    annotations = {key: value for key, value in annotations_of(obj).items() if key != _LAST_APPLIED}
    added = {f"{PREFIX}bundle-version": resolved.version, f"{PREFIX}package-name": resolved.package}
    annotations |= {key: value for key, value in added.items() if value}
    metadata = {key: value for key, value in normal["metadata"].items() if key != "annotations"}
    if annotations:
        metadata["annotations"] = dict(sorted(annotations.items()))
    return {**normal, "metadata": metadata}


def phase_of(obj: KubernetesObject) -> str:
    """The phase in which an object is applied, by its group and kind (R-V1-COS-3)."""
    group, _ = split_api_version(obj.get("apiVersion"))
    kinds = ((phase, names.get(group, "").split()) for phase, names in _PHASES.items())
    return next((phase for phase, names in kinds if obj["kind"] in names), _REST)


class RevisionPhase(NamedTuple):
    """A phase of a revision: its name and its objects, in the order in which they are listed."""

    name: str
    objects: tuple[KubernetesObject, ...]


def phases_of(objects: Sequence[KubernetesObject]) -> tuple[RevisionPhase, ...]:
    """Objects by phases, in their order; phases without objects are left out (R-V1-COS-3)."""
    by_phase: dict[str, list[KubernetesObject]] = {name: [] for name in _PHASES}
    for obj in objects:
        by_phase[phase_of(obj)].append(obj)
    return tuple(
        RevisionPhase(name, tuple(sorted(members, key=_phase_key))) for name, members in by_phase.items() if members
    )


def _phase_key(obj: KubernetesObject) -> tuple[str, ...]:
    metadata = metadata_of(obj)
    return (*split_api_version(obj.get("apiVersion")), obj["kind"], text(metadata.get("namespace")), name_of(obj))


def object_set(
    bundle: RegistryBundle,
    objects: Sequence[KubernetesObject],
    owner: Owner,
    resolved: RevisionBundle,
    revision: int = 1,
) -> KubernetesObject:
    """The ClusterObjectSet with these rendered objects of a bundle, each inline (R-V1-COS-4).

    The uid of the owner can't be known and is empty.
    """
    members = phases_of([revision_object(obj, owner.name, resolved) for obj in objects])
    deadline = {} if owner.deadline_minutes is None else {"progressDeadlineMinutes": owner.deadline_minutes}
    metadata = {
        "name": f"{owner.name}-{revision}",
        "labels": owner_labels(owner.name),
        "annotations": _set_annotations(bundle, owner, resolved),
        "ownerReferences": [owner_reference(EXTENSION_KIND, owner.name)],
    }
    spec = {
        "lifecycleState": "Active",
        "revision": revision,
        "phases": [{"name": phase.name, "objects": [{"object": obj} for obj in phase.objects]} for phase in members],
        "progressionProbes": _probes(),
        "collisionProtection": "Prevent",
        **deadline,
    }
    return {"apiVersion": API_VERSION, "kind": SET_KIND, "metadata": metadata, "spec": spec}


def _set_annotations(bundle: RegistryBundle, owner: Owner, resolved: RevisionBundle) -> dict[str, str]:
    annotations = {
        f"{PREFIX}bundle-name": resolved.name,
        f"{PREFIX}package-name": resolved.package,
        f"{PREFIX}bundle-version": resolved.version,
        f"{PREFIX}bundle-reference": resolved.image,
    }
    if owner.service_account:  # releases that use none leave both out (R-V1-REL-1)
        annotations[f"{PREFIX}service-account-name"] = owner.service_account
        annotations[f"{PREFIX}service-account-namespace"] = owner.namespace
    if resolved.release is not None:
        annotations[f"{PREFIX}bundle-release"] = resolved.release
    properties = annotations_of(bundle.csv).get(PROPERTIES_ANNOTATION)
    if properties is not None:
        annotations[PROPERTIES_ANNOTATION] = properties
    return dict(sorted(annotations.items()))


def owner_reference(kind: str, name: str) -> dict[str, Any]:
    """The reference to a ClusterExtension or ClusterObjectSet that controls an object; the uid can't be known."""
    flags = {"controller": True, "blockOwnerDeletion": True}
    return {"apiVersion": API_VERSION, "kind": kind, "name": name, "uid": "", **flags}


def _probes() -> list[dict[str, Any]]:
    """What has to hold of objects before the next phase, by kind (R-V1-COS-6)."""
    established, ready, available = map(_condition, ("Established", "Ready", "Available"))
    updated = {"type": "FieldsEqual", "fieldsEqual": {"fieldA": "status.updatedReplicas", "fieldB": "status.replicas"}}
    return [
        _probe("apiextensions.k8s.io", "CustomResourceDefinition", established),
        _probe("cert-manager.io", "Certificate", ready),
        _probe("cert-manager.io", "Issuer", ready),
        _probe("", "Namespace", _phase_is("Active")),
        _probe("", "PersistentVolumeClaim", _phase_is("Bound")),
        _probe("apps", "StatefulSet", updated, available),
        _probe("apps", "Deployment", updated, available),
    ]


def _probe(group: str, kind: str, *assertions: Mapping[str, Any]) -> dict[str, Any]:
    selector = {"type": "GroupKind", "groupKind": {"group": group, "kind": kind}}
    return {"selector": selector, "assertions": list(assertions)}


def _condition(name: str) -> dict[str, Any]:
    return {"type": "ConditionEqual", "conditionEqual": {"type": name, "status": "True"}}


def _phase_is(phase: str) -> dict[str, Any]:
    return {"type": "FieldValue", "fieldValue": {"fieldPath": "status.phase", "value": phase}}


_MEND = "Write in the bundle all that the API server requires: OLM v1 fills in nothing."
_TYPED = frozenset(
    "ServiceAccount Role RoleBinding ClusterRole ClusterRoleBinding CustomResourceDefinition Deployment Service "
    "ValidatingWebhookConfiguration MutatingWebhookConfiguration".split()
)
_RULES = {
    "ServiceAccount": "R-V1-GEN-3",
    "Role": "R-V1-GEN-4",
    "RoleBinding": "R-V1-GEN-4",
    "ClusterRole": "R-V1-GEN-5",
    "ClusterRoleBinding": "R-V1-GEN-5",
    "CustomResourceDefinition": "R-V1-GEN-6",
    "Deployment": "R-V1-GEN-8",
    "Service": "R-V1-GEN-11",
    "Issuer": "R-V1-CERT-2",
    "Certificate": "R-V1-CERT-2",
    **dict.fromkeys(CONFIGURATIONS, "R-V1-GEN-10"),
}


class ExtensionOwner(NamedTuple):
    """The ClusterExtension that objects are written for: its name, and the namespace that it installs into."""

    name: str
    namespace: str


class SingleExtension(NamedTuple):
    """What comes of a bundle: its objects, what is missing in an output for apply, and the files that count."""

    objects: tuple[Rendered, ...]
    missing: tuple[str, ...]
    inputs: Inputs


def single_extension(
    root: Path, folder: Folder, options: Options, certificates: Certificates | None, report: Report
) -> SingleExtension:
    """The objects of the bundle in `folder` of the directory `root`; what is wrong goes to `report`.

    `certificates` are what somebody has asked for, None for what the feature gates of the profile choose. The
    ClusterExtension that would install the bundle is called like its package.
    """
    files, inputs = _files(root, folder, report)
    if report.failed:
        return SingleExtension((), (), inputs)
    try:
        bundle = _in_folder(read_registry_bundle(files), folder)
    except BundleError as error:
        place = error.place._replace(path=folder.join(error.place.path)) if error.place is not None else None
        report.add(rules.BUNDLE_NOT_READ.finding(place, text=error.message))
        return SingleExtension((), (), inputs)
    namespace = options.install_namespace or suggested_namespace(annotations_of(bundle.csv)) or bundle.package
    labels = {"kubernetes.io/metadata.name": namespace}
    home = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace, "labels": labels}}
    # The controller does not create it, but nothing can be applied without it.
    there = [home] if namespace != "default" else []
    gates = gates_of(options.olm_version)
    try:
        config = _config(options)
        rendered = render_bundle(bundle, _request(namespace, gates, config, certificates, options))
    except BundleError as error:
        _report_refusal(bundle, error, report)
        missing = (f"{namespace}/{bundle.name}",) if options.purpose == "apply" else ()
        return SingleExtension(tuple(_with_provenance(there, bundle)), missing, inputs)
    resolved = RevisionBundle(bundle.name, bundle.package, str(spec_of(bundle.csv).get("version") or ""), "")
    owner = ExtensionOwner(bundle.package, namespace)
    installed = extension_objects(bundle, rendered, owner, resolved, gates, options, report)
    objects = (*_with_provenance(there, bundle), *installed)
    return SingleExtension(_selected(objects, options, report), (), inputs)


def _request(
    namespace: str, gates: FeatureGates, config: Mapping[str, Any] | None, certificates: Certificates | None,
    options: Options,
) -> InstallRequest:  # fmt: skip
    annotated = release_of(options.olm_version).sets_operator_namespace
    return InstallRequest(namespace, gates, config, certificates, annotated)


def extension_objects(
    bundle: RegistryBundle, rendered: Iterable[KubernetesObject], owner: ExtensionOwner, resolved: RevisionBundle,
    gates: FeatureGates, options: Options, report: Report,
) -> tuple[Rendered, ...]:  # fmt: skip
    """The rendered objects of a bundle as a ClusterExtension has them in the cluster, or for apply; what can't be
    created is reported."""
    kept = _once(rendered, gates, report, bundle)
    for finding in _findings(kept, bundle, gates, owner.name):
        report.add(finding)
    return tuple(_with_provenance((_written(obj, owner, resolved, options, gates) for obj in kept), bundle))


def _files(root: Path, folder: Folder, report: Report) -> tuple[dict[str, str], Inputs]:
    """The texts of a bundle's files by their paths in it."""
    below = [part for name in (MANIFESTS, METADATA) if (part := folder.folder(name)) is not None]
    paths = [path for part in below for path in part.walk()]
    texts = {path: read_text(root, path, report) for path in paths}
    start = len(folder.path) + 1 if folder.path else 0
    inputs = Inputs(frozenset(path for path in paths if path[start:].startswith(f"{MANIFESTS}/")))
    return {path[start:]: text for path, text in texts.items() if text is not None}, inputs


def _in_folder(bundle: RegistryBundle, folder: Folder) -> RegistryBundle:
    """The bundle with its files where they are in the directory that is compiled."""
    csv, *sources = (source._replace(path=folder.join(source.path)) for source in (bundle.csv_source, *bundle.sources))
    return bundle._replace(csv_source=csv, sources=tuple(sources))


def _config(options: Options) -> Mapping[str, Any] | None:
    """The configuration that stands for the namespaces to watch, None where nobody has asked for any.

    Raises BundleError for several, which no ClusterExtension can ask for (R-V1-OPT-1).
    """
    if options.watch and len(options.watch) > 1:
        hint = "Name one namespace, or keep the operator on OLM v0, where a group can have several."
        raise BundleError(f"watchNamespace is one namespace, and not {', '.join(options.watch)}", hint=hint)
    return {"watchNamespace": options.watch[0]} if options.watch else None


def _report_refusal(bundle: RegistryBundle, error: BundleError, report: Report) -> None:
    place = error.place or locate(bundle.csv_source, ())
    causes = "".join(f"; {cause}" for cause in error.causes)
    hint = error.hint or "Mend the bundle, or keep the operator on OLM v0."
    for line in error.message.split("\n") if not error.terminal else (error.message + causes,):
        report.add(rules.BUNDLE_NOT_INSTALLED.finding(place, bundle=bundle.name, line=line, hint=hint))


def _once(
    objects: Iterable[KubernetesObject], gates: FeatureGates, report: Report, bundle: RegistryBundle
) -> tuple[KubernetesObject, ...]:
    """The objects, one of each name: Helm patches the first one to each that follows it in its order (R-V1-LIM-3)."""
    seen: dict[ObjectKey, KubernetesObject] = {}
    for obj in objects:
        key = object_key(obj)
        earlier = seen.get(key)
        if earlier is not None and gates.boxcutter_runtime:
            difference = "" if normal_form(earlier) == normal_form(obj) else ", and not the same"
            report.add(rules.RENDERED_TWICE.finding(_place_of(obj, bundle), object=key, difference=difference))
        if earlier is None or (not gates.boxcutter_runtime and _is_behind(obj, earlier, bundle)):
            seen[key] = obj
    return tuple(seen.values())


def _is_behind(obj: KubernetesObject, other: KubernetesObject, bundle: RegistryBundle) -> bool:
    return chart_file(obj, bundle) > chart_file(other, bundle)


def chart_file(obj: KubernetesObject, bundle: RegistryBundle) -> str:
    """What orders objects of one kind in a chart: the hash of their JSON, which has the fields of generated objects in
    the order of their Go types (R-V1-HELM-1).

    See https://github.com/operator-framework/operator-controller/blob/v1.10.0/internal/operator-controller/applier/provider.go#L172.
    """
    packaged = any(_without_namespace(obj) == _without_namespace(other) for other in bundle.others)
    written = encode(obj["kind"], obj) if obj["kind"] in _TYPED and not packaged else encode_plain(obj)
    return sha256(written).hexdigest()[:16]


def _without_namespace(obj: KubernetesObject) -> KubernetesObject:
    return {**obj, "metadata": {key: value for key, value in metadata_of(obj).items() if key != "namespace"}}


def _findings(
    objects: Sequence[KubernetesObject], bundle: RegistryBundle, gates: FeatureGates, extension: str
) -> Iterator[Diagnostic]:
    """What the API server refuses of rendered objects, and what does not work as elsewhere (R-V1-LIM-4)."""
    for obj in objects:
        for error in server_errors(obj):
            place = _place_of(obj, bundle)
            yield rules.NOT_CREATED.finding(place, object=object_key(obj), text=error, hint=_MEND)
        if is_kept(obj) and not gates.boxcutter_runtime:
            yield rules.SURVIVES_EXTENSION.finding(_place_of(obj, bundle), object=object_key(obj))
        containers = mappings(pod_of(obj).get("containers")) if obj["kind"] == "Deployment" else []
        if any(CONDITION_NAME in _variables(container) for container in containers):
            yield rules.ASKS_CONDITION.finding(_place_of(obj, bundle), deployment=name_of(obj))
    for phase in phases_of(objects) if gates.boxcutter_runtime else ():
        if len(phase.objects) > MAX_PHASE:
            text = f"spec.phases: Too many: {len(phase.objects)}: must have at most {MAX_PHASE} items"
            hint = (
                f"The phase {phase.name} has too many objects for a ClusterObjectSet; close the gate BoxcutterRuntime."
            )
            yield rules.NOT_CREATED.finding(
                locate(bundle.csv_source, ()), object=f"{SET_KIND}/{extension}-1", text=text, hint=hint
            )


def _variables(container: Mapping[str, Any]) -> set[str]:
    """The names of a container's variables, and what its command line refers to in $(...)."""
    named = {str(entry.get("name")) for entry in mappings(container.get("env"))}
    parts = [part for key in ("command", "args") for part in container.get(key) or () if isinstance(part, str)]
    return named | {CONDITION_NAME for part in parts if f"$({CONDITION_NAME})" in part}


def _written(
    obj: KubernetesObject, owner: ExtensionOwner, resolved: RevisionBundle, options: Options, gates: FeatureGates
) -> KubernetesObject:
    """An object as it is in the cluster, or for apply as it runs without a controller."""
    metadata = {key: value for key, value in metadata_of(obj).items() if value is not None}
    if obj["kind"] in CLUSTER_SCOPED_KINDS | CONFIGURATIONS:
        metadata.pop("namespace", None)  # as the API server does
    obj = {**{key: value for key, value in obj.items() if key != "status"}, "metadata": metadata}
    if options.purpose == "apply":
        return obj
    if gates.boxcutter_runtime:
        revised = applied_by_revision(revision_object(obj, owner.name, resolved), resolved.revision)
        return _owned(revised, SET_KIND, f"{owner.name}-{resolved.revision}")
    marked = by_helm(labelled(obj, owner.name), owner.name, owner.namespace)
    return marked if is_kept(obj) else _owned(marked, EXTENSION_KIND, owner.name)


def _owned(obj: KubernetesObject, kind: str, name: str) -> KubernetesObject:
    return {**obj, "metadata": {**obj["metadata"], "ownerReferences": [owner_reference(kind, name)]}}


def _with_provenance(objects: Iterable[KubernetesObject], bundle: RegistryBundle) -> Iterator[Rendered]:
    for obj in objects:
        rule = _RULES.get(obj["kind"], "R-V1-GEN-7")
        place = Place(_source_of(obj, bundle))
        yield Rendered(obj, Provenance(place, "olmv1", rule, Origin.EXTENSION))


def _source_of(obj: KubernetesObject, bundle: RegistryBundle) -> Source:
    """Where an object stands in the bundle, or the CSV that it is made of."""
    same = ((obj["kind"], name_of(obj)) == (other["kind"], name_of(other)) for other in (*bundle.crds, *bundle.others))
    return next((source for source, is_it in zip(bundle.sources, same, strict=True) if is_it), bundle.csv_source)


def _place_of(obj: KubernetesObject, bundle: RegistryBundle) -> Location:
    """Where that is; finding it takes another reading, which only what is reported pays for."""
    return locate(_source_of(obj, bundle), ())


def _selected(objects: tuple[Rendered, ...], options: Options, report: Report) -> tuple[Rendered, ...]:
    if options.purpose == "review":
        return select_review(objects, options)
    from olmc.compiler.render.apply_phases import report_large  # review output needs none of it

    selected = select_phase(objects, options, report)
    report_large(selected, options, report)
    return selected


# The Secrets that hold the objects of a ClusterObjectSet in the cluster (R-V1-COS-5).

MAX_DATA = 921_600
"""How many bytes of objects a Secret holds; the rest of what the API takes is for its metadata."""


class PackedSet(NamedTuple):
    """A ClusterObjectSet that refers to its objects, and the Secrets that hold these."""

    object_set: KubernetesObject
    secrets: tuple[KubernetesObject, ...]


def pack(object_set: KubernetesObject, system_namespace: str = SYSTEM_NAMESPACE) -> PackedSet:
    """The set with its objects in Secrets, filled in the order of the phases.

    Raises BundleError for an object that is too large for a Secret even if it is compressed. The bytes of those that
    are compressed, and with them keys and names, differ from upstream's.
    """
    bins: list[dict[str, bytes]] = [{}]
    size = 0
    places: list[list[tuple[str, int]]] = []
    phases = mappings(spec_of(object_set).get("phases"))
    for number, phase in enumerate(phases):
        places.append([])
        for index, entry in enumerate(mappings(phase["objects"])):
            data = _data(entry["object"], number, index)
            key = urlsafe_b64encode(sha256(data).digest()).rstrip(b"=").decode()
            if key not in bins[-1]:
                if bins[-1] and size + len(data) > MAX_DATA:
                    bins.append({})
                    size = 0
                bins[-1][key] = data
                size += len(data)
            places[-1].append((key, len(bins) - 1))
    names = [f"{name_of(object_set)}-{_content_hash(content)}" for content in bins]
    packed = [
        {**phase, "objects": [_reference(names[at], system_namespace, key) for key, at in listed]}
        for phase, listed in zip(phases, places, strict=True)
    ]
    secrets = (
        _secret(name, content, object_set, system_namespace)
        for name, content in zip(names, bins, strict=True)
        if content
    )
    return PackedSet({**object_set, "spec": {**object_set["spec"], "phases": packed}}, tuple(secrets))


def _data(obj: KubernetesObject, phase: int, index: int) -> bytes:
    data = encode_plain(obj)
    if len(data) <= MAX_DATA:
        return data
    compressed = gzip.compress(data, 9, mtime=0)
    if len(compressed) > MAX_DATA:
        raise BundleError(
            f"object in phase {phase} index {index} exceeds maximum Secret data size ({len(compressed)} bytes > "
            f"{MAX_DATA} bytes) even after compression"
        )
    return compressed


def _content_hash(content: Mapping[str, bytes]) -> str:
    return sha256(b"".join(key.encode() + content[key] for key in sorted(content))).hexdigest()[:16]


def _reference(secret: str, namespace: str, key: str) -> dict[str, Any]:
    return {"ref": {"name": secret, "namespace": namespace, "key": key}}


def _secret(name: str, content: Mapping[str, bytes], object_set: KubernetesObject, namespace: str) -> KubernetesObject:
    owner = labels_of(object_set)[f"{PREFIX}owner-name"]
    labels = {f"{PREFIX}owner-name": owner, f"{PREFIX}revision-name": name_of(object_set)}
    references = [owner_reference(SET_KIND, name_of(object_set))]
    metadata = {"name": name, "namespace": namespace, "labels": labels, "ownerReferences": references}
    data = {key: b64encode(content[key]).decode() for key in sorted(content)}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata,
        "immutable": True,
        "type": f"{PREFIX}object-data",
        "data": data,
    }
