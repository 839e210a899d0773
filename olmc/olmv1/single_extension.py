"""A bundle by itself as a ClusterExtension would have it: what `olmc render BUNDLE --olm-version v1` prints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from olmc.diagnostics.rules import olmv1 as rules
from olmc.lean import NamedTuple
from olmc.load.bundles import MANIFESTS, METADATA, suggested_namespace
from olmc.load.files import Folder, read_text
from olmc.model.diagnostics import Diagnostic, Location, Place, Report, Source
from olmc.model.objects import (
    KubernetesObject,
    ObjectKey,
    Origin,
    Provenance,
    Rendered,
    annotations_of,
    mappings,
    metadata_of,
    name_of,
    object_key,
    pod_of,
    spec_of,
)
from olmc.model.options import Certificates, Options
from olmc.model.workspace import Inputs
from olmc.olm.naming import CONDITION_NAME
from olmc.olmv1.feature_gates import FeatureGates, gates_of
from olmc.olmv1.object_set import (
    EXTENSION_KIND,
    MAX_PHASE,
    SET_KIND,
    RevisionBundle,
    is_kept,
    labelled,
    normal_form,
    owner_reference,
    phases_of,
    revision_object,
)
from olmc.olmv1.registry_bundle import BundleError, RegistryBundle, read_registry_bundle
from olmc.olmv1.render import InstallRequest, render_bundle
from olmc.olmv1.server_errors import CONFIGURATIONS, server_errors
from olmc.olmv1.validators import CLUSTER_SCOPED_KINDS
from olmc.render.selection import select_phase, select_review
from olmc.yaml import locate

_MEND = "Write in the bundle what the API server wants to see: OLM v1 fills in nothing."
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
        rendered = render_bundle(bundle, InstallRequest(namespace, gates, config, certificates))
    except BundleError as error:
        _report_refusal(bundle, error, report)
        missing = (f"{namespace}/{bundle.name}",) if options.purpose == "apply" else ()
        return SingleExtension(tuple(_with_provenance(there, bundle)), missing, inputs)
    resolved = RevisionBundle(bundle.name, bundle.package, str(spec_of(bundle.csv).get("version") or ""), "")
    installed = extension_objects(bundle, rendered, bundle.package, resolved, gates, options, report)
    objects = (*_with_provenance(there, bundle), *installed)
    return SingleExtension(_selected(objects, options, report), (), inputs)


def extension_objects(
    bundle: RegistryBundle, rendered: Iterable[KubernetesObject], extension: str, resolved: RevisionBundle,
    gates: FeatureGates, options: Options, report: Report,
) -> tuple[Rendered, ...]:  # fmt: skip
    """The rendered objects of a bundle as the ClusterExtension of that name has them in the cluster, or for apply; what
    can't be created is reported."""
    kept = tuple(_once(rendered, gates, report, bundle))
    for finding in _findings(kept, bundle, gates, extension):
        report.add(finding)
    return tuple(_with_provenance((_written(obj, extension, resolved, options, gates) for obj in kept), bundle))


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
    for text in error.message.split("\n") if not error.terminal else (error.message + causes,):
        report.add(rules.BUNDLE_NOT_INSTALLED.finding(place, bundle=bundle.name, text=text, hint=hint))


def _once(
    objects: Iterable[KubernetesObject], gates: FeatureGates, report: Report, bundle: RegistryBundle
) -> Iterator[KubernetesObject]:
    """The objects without those that are there twice; Helm makes one of two that are the same (R-V1-LIM-3)."""
    seen: dict[ObjectKey, KubernetesObject] = {}
    for obj in objects:
        earlier = seen.setdefault(object_key(obj), obj)
        if earlier is obj:
            yield obj
            continue
        same = normal_form(earlier) == normal_form(obj)
        if not same or gates.boxcutter_runtime:
            difference = "" if same else ", and not the same"
            place = _place_of(obj, bundle)
            report.add(rules.RENDERED_TWICE.finding(place, object=object_key(obj), difference=difference))


def _findings(
    objects: Sequence[KubernetesObject], bundle: RegistryBundle, gates: FeatureGates, extension: str
) -> Iterator[Diagnostic]:
    """What the API server refuses of rendered objects, and what does not work as elsewhere (R-V1-LIM-4)."""
    for obj in objects:
        for text in server_errors(obj):
            place = _place_of(obj, bundle)
            yield rules.NOT_CREATED.finding(place, object=object_key(obj), text=text, hint=_MEND)
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
    obj: KubernetesObject, extension: str, resolved: RevisionBundle, options: Options, gates: FeatureGates
) -> KubernetesObject:
    """An object as it is in the cluster, or for apply as it runs without a controller."""
    metadata = {key: value for key, value in metadata_of(obj).items() if value is not None}
    if obj["kind"] in CLUSTER_SCOPED_KINDS | CONFIGURATIONS:
        metadata.pop("namespace", None)  # as the API server does
    obj = {**{key: value for key, value in obj.items() if key != "status"}, "metadata": metadata}
    if options.purpose == "apply":
        return obj
    if gates.boxcutter_runtime:
        revised = revision_object(obj, extension, resolved)
        return _owned(revised, SET_KIND, f"{extension}-{resolved.revision}")
    return labelled(obj, extension) if is_kept(obj) else _owned(labelled(obj, extension), EXTENSION_KIND, extension)


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
    from olmc.render.apply import report_large  # review output needs none of it

    selected = select_phase(objects, options, report)
    report_large(selected, options, report)
    return selected
