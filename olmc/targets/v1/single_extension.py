"""A bundle by itself as a ClusterExtension would have it: what `olmc render BUNDLE --olm-version v1` prints."""

from __future__ import annotations

import gzip
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from olmc.compiler.load.bundles import suggested_namespace
from olmc.compiler.load.files import MANIFESTS, METADATA, Folder, read_text
from olmc.compiler.model.options import Certificates, Options
from olmc.compiler.model.workspace import Inputs
from olmc.compiler.olm.naming import CONDITION_NAME
from olmc.compiler.render.selection import select_phase, select_review
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
)
from olmc.k8s.yaml import locate
from olmc.targets.v1 import rules
from olmc.targets.v1.api_server import CONFIGURATIONS, server_errors
from olmc.targets.v1.generators import FeatureGates, InstallRequest, gates_of, render_bundle
from olmc.targets.v1.helm_release import by_helm
from olmc.targets.v1.object_set import (
    EXTENSION_KIND,
    MAX_PHASE,
    PREFIX,
    SET_KIND,
    SYSTEM_NAMESPACE,
    RevisionBundle,
    applied_by_revision,
    is_kept,
    labelled,
    normal_form,
    owner_reference,
    phases_of,
    revision_object,
)
from olmc.targets.v1.registry_bundle import CLUSTER_SCOPED_KINDS, BundleError, RegistryBundle, read_registry_bundle
from olmc.targets.v1.status import release_of

_INCOMPLETE_HINT = "Write in the bundle all that the API server requires: OLM v1 fills in nothing."
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
    """The result for a bundle: its objects, the missing parts of an output for apply, and the files that count."""

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
    """Return the configuration for the namespaces to watch, None if the user names none.

    Raises BundleError for several namespaces, which a ClusterExtension can't have (R-V1-OPT-1).
    """
    if options.watch and len(options.watch) > 1:
        hint = "Name one namespace, or keep the operator on OLM v0, where a group can have several."
        raise BundleError(f"watchNamespace is one namespace, and not {', '.join(options.watch)}", hint=hint)
    return {"watchNamespace": options.watch[0]} if options.watch else None


def _report_refusal(bundle: RegistryBundle, error: BundleError, report: Report) -> None:
    place = error.place or locate(bundle.csv_source, ())
    causes = "".join(f"; {cause}" for cause in error.causes)
    hint = error.hint or "Fix the bundle, or keep the operator on OLM v0."
    for line in error.message.split("\n") if not error.terminal else (error.message + causes,):
        report.add(rules.BUNDLE_NOT_INSTALLED.finding(place, bundle=bundle.name, text=line, hint=hint))


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
    """Yield the API server's errors for rendered objects, and the parts that do not work as elsewhere (R-V1-LIM-4)."""
    for obj in objects:
        for error in server_errors(obj):
            place = _place_of(obj, bundle)
            yield rules.NOT_CREATED.finding(place, object=object_key(obj), text=error, hint=_INCOMPLETE_HINT)
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
    """Return where an object stands in the bundle, or the CSV that it is made of."""
    same = ((obj["kind"], name_of(obj)) == (other["kind"], name_of(other)) for other in (*bundle.crds, *bundle.others))
    return next((source for source, is_it in zip(bundle.sources, same, strict=True) if is_it), bundle.csv_source)


def _place_of(obj: KubernetesObject, bundle: RegistryBundle) -> Location:
    """Return where that is; finding it takes another reading, which only what is reported pays for."""
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
"""The number of bytes of objects in a Secret; the rest of the API's limit is for its metadata."""


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
