"""ClusterExtensions that are not installed or upgraded, with the changes of files that may cure them."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from olmc.compiler.model.cluster import NamespacedName
from olmc.compiler.model.workspace import BundleFile
from olmc.k8s.diagnostics import Diagnostic
from olmc.k8s.lean import regex
from olmc.k8s.objects import (
    ACCOUNT,
    CRD_KIND,
    Manifest,
    ObjectKey,
    mapping,
    mappings,
    name_of,
    object_key,
    spec_of,
    text,
)
from olmc.k8s.yaml import dump_one
from olmc.k8s.yaml.edit import value_of
from olmc.review.diagnose.diagnosis import (
    Diagnosis,
    Edit,
    FieldEdit,
    NewDocument,
    RemedyCandidate,
    RemovedDocument,
    Scene,
    Structure,
)
from olmc.review.diagnose.repairs import Complaint, field_of, keys_of, removed_field, repairs, set_field, value_at

if TYPE_CHECKING:
    from olmc.compiler.results import ExtensionOutcome

_CODES = frozenset({"OLMC730", "OLMC732", "OLMC733", "OLMC734"})
_TIE = regex(r"in multiple catalogs with the same priority \[([^\]]*)\]")
_NAME_OF_CATALOG = "olm.operatorframework.io/metadata.name"
_UNKNOWN_FIELD = regex(r'invalid configuration: unknown field "([^"]+)"')
_MISSING_FIELD = 'required field "watchNamespace" is missing'
_ALL = "bundle does not support AllNamespaces install mode"
_THERE = (
    regex(r"\b(?P<kind>\w+) '(?P<name>[^']+)' already exists in namespace '(?P<namespace>[^']*)'"),
    regex(r"Object (?P<kind>[A-Z]\w*)\.[\w.]+ (?:(?P<namespace>[\w.-]+)/)?(?P<name>[\w.-]+)\s+Action: \"Collision\""),
)
_OF_BUNDLE = (
    regex(r"Kind=(?P<kind>\w+) (?:[\w.-]+/)?(?P<name>[\w.-]+): duplicate object found"),
    regex(r'unsupported resource "(?P<name>[^"]+)" with kind "(?P<kind>[^"]+)"'),
)
_BAD_NAME = regex(r"has invalid name '([^']+)'")
_BAD_PORT = "clientConfig.service.port"
_CATALOG = ("spec", "source", "catalog")
_HTTPS = 443
_TWICE = "spec.ports[1]: Duplicate value"
_LEAST_LENGTH = regex(r"[^a-z0-9.-]+")


def failed_extensions(scene: Scene) -> Iterator[Diagnosis]:
    """ClusterExtensions with a problem, each with its finding of the compiler."""
    for result in scene.extensions:
        if not result.problem or result.unknown:
            continue
        finding = _reported(scene, result)
        if finding is not None:
            row = NamespacedName(result.extension.namespace, result.extension.source.package)
            candidates = tuple(candidate for find in _CANDIDATES for candidate in find(scene, result))
            yield Diagnosis(finding, (row,), "", candidates, is_reported=True)


def _reported(scene: Scene, result: ExtensionOutcome) -> Diagnostic | None:
    name, path = f"ClusterExtension {result.extension.name}", result.manifest.source.path
    return next(
        (each for each in scene.reported if each.code in _CODES and each.location is not None
         and each.location.path == path and f"{name}:" in each.message.replace(" can't", ":")),
        None,
    )  # fmt: skip


def _fixed_fields(scene: Scene, result: ExtensionOutcome) -> Iterator[RemedyCandidate]:
    """Fields of a ClusterExtension that can't change, as the cluster has them; and pins that the API server rejects."""
    if not result.is_refused:
        return
    declared = next(
        (each for each in scene.workspace.manifests if object_key(each.object) == object_key(result.manifest.object)),
        result.manifest,
    )
    keys = keys_of(result.problem.partition(":")[0])
    complaint = Complaint(declared.source, keys, result.problem, result.stored)
    yield from repairs(complaint)
    if keys[:3] == _CATALOG and result.stored is None and keys[-1] != "packageName":
        yield removed_field(complaint)


def _missing_accounts(scene: Scene, result: ExtensionOutcome) -> Iterator[RemedyCandidate]:
    """The account of an installer, with its namespace and the smallest roles; or roles alone."""
    from olmc.targets.v1.permissions import installer_roles  # needs what few runs do

    extension = result.extension
    account = ObjectKey("", ACCOUNT, extension.namespace, extension.service_account)
    is_there = account in scene.cluster.objects
    if not extension.service_account or (is_there and not result.missing) or not result.required:
        return
    new: list[Mapping[str, Any]] = []
    if ObjectKey("", "Namespace", "", extension.namespace) not in scene.cluster.objects:
        new.append({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": extension.namespace}})
    if not is_there:
        metadata = {"name": account.name, "namespace": account.namespace}
        new.append({"apiVersion": "v1", "kind": ACCOUNT, "metadata": metadata})
    suffix = "-rights" if _has_roles(scene, result) else ""
    new += [_called(obj, suffix) for obj in installer_roles(extension, result.missing if suffix else result.required)]
    path = posixpath.join(posixpath.dirname(result.manifest.source.path), f"{extension.name}-installer{suffix}.yaml")
    who = f"ServiceAccount {extension.namespace}/{account.name}"
    text_ = (
        f"Add the rights that {who} lacks, in {path}" if is_there else f"Add {who} and its smallest roles, in {path}"
    )
    yield RemedyCandidate(text_, (NewDocument(path, "---\n".join(dump_one(obj) for obj in new)),))


def _has_roles(scene: Scene, result: ExtensionOutcome) -> bool:
    """Return whether the workspace has roles of the names that `olmc rbac --installers` gives."""
    name = f"{result.extension.name}-installer"
    return any(key.name == name and key.kind in ("Role", "ClusterRole") for key in scene.cluster.objects)


def _called(obj: Mapping[str, Any], suffix: str) -> Mapping[str, Any]:
    """A role or a binding under a longer name."""
    if not suffix:
        return obj
    renamed = {**obj, "metadata": {**obj["metadata"], "name": f"{name_of(obj)}{suffix}"}}
    if "roleRef" in obj:
        renamed["roleRef"] = {**obj["roleRef"], "name": f"{obj['roleRef']['name']}{suffix}"}
    return renamed


def _catalogs(scene: Scene, result: ExtensionOutcome) -> Iterator[RemedyCandidate]:
    """One of several catalogs of a package, a catalog that is switched off, or a selector that names none."""
    keys = ("spec", "source", "catalog", "selector")
    source, name = result.manifest.source, result.extension.name
    tie = _TIE.search(result.problem)
    held = scene.state.objects if scene.state is not None else {}
    if tie is not None:
        names = tie[1].split()
        known = [each for each in names if any(key.kind == "ClusterCatalog" and key.name == each for key in held)]
        for catalog in dict.fromkeys((*known, *names)):
            text_ = f"Choose catalog {catalog} by spec.source.catalog.selector in ClusterExtension {name}"
            yield RemedyCandidate(text_, (FieldEdit(source, (*keys, "matchLabels", _NAME_OF_CATALOG), catalog),))
    if result.resolution is None or not result.resolution.error:
        return
    for manifest in scene.workspace.extension_catalogs:
        if spec_of(manifest.object).get("availabilityMode") == "Unavailable":
            edit = FieldEdit(manifest.source, ("spec", "availabilityMode"), "Available")
            yield RemedyCandidate(f"Make ClusterCatalog {name_of(manifest.object)} available", (edit,))
    if value_at(source, keys) is not None and tie is None:
        text_ = f"Remove spec.source.catalog.selector from ClusterExtension {name}"
        yield RemedyCandidate(text_, (FieldEdit(source, keys, None),))


def _configurations(scene: Scene, result: ExtensionOutcome) -> Iterator[RemedyCandidate]:
    """A configuration with a field too many, or without the namespace to watch."""
    source, extension = result.manifest.source, result.extension
    keys = ("spec", "config", "inline")
    unknown = _UNKNOWN_FIELD.search(result.problem)
    if unknown is not None:
        complaint = Complaint(source, (*keys, *unknown[1].split(".")), result.problem)
        if set(mapping(value_at(source, keys))) == {unknown[1]}:
            complaint = complaint._replace(keys=("spec", "config"))
        yield removed_field(complaint)
    if _MISSING_FIELD in result.problem or _ALL in result.problem:
        before = scene.state.objects.get(object_key(result.manifest.object)) if scene.state is not None else None
        old = mapping(spec_of(before.object).get("config")) if before is not None else {}
        for config in filter(None, (old, {"configType": "Inline", "inline": {"watchNamespace": extension.namespace}})):
            edit = FieldEdit(source, ("spec", "config"), Structure.of(config))
            watched = mapping(config.get("inline")).get("watchNamespace")
            yield RemedyCandidate(f"Set watchNamespace {watched} in spec.config of {extension.name}", (edit,))


def _pins(scene: Scene, result: ExtensionOutcome) -> Iterator[RemedyCandidate]:  # noqa: ARG001
    """For an upgrade that fails: stay at the installed version until the next one is corrected."""
    installed, resolution = result.installed, result.resolution
    if installed is None or resolution is None or resolution.error or result.is_refused:
        return
    edit = FieldEdit(result.manifest.source, ("spec", "source", "catalog", "version"), installed.version)
    name = result.extension.name
    text = f"Stay at {installed.name}: set spec.source.catalog.version: {installed.version} in ClusterExtension {name}"
    yield RemedyCandidate(text, (edit,), holds=True)


def _collisions(scene: Scene, result: ExtensionOutcome) -> Iterator[RemedyCandidate]:
    """Objects of the workspace that the bundle brings, too: no other can have them (R-V1-HELM-2)."""
    for pattern in _THERE:
        for found in pattern.finditer(result.problem):
            for manifest in scene.workspace.manifests:
                key = object_key(manifest.object)
                same = (key.kind, key.name, key.namespace) == (found["kind"], found["name"], found["namespace"] or "")
                if same and not _has_instances(scene, manifest):
                    text_ = f"Remove {key} from {manifest.source.path}; the bundle brings it"
                    yield RemedyCandidate(text_, (RemovedDocument(manifest.source),))


def _has_instances(scene: Scene, manifest: Manifest) -> bool:
    """Return whether the removal of a CRD would delete objects of the cluster before."""
    if manifest.object.get("kind") != CRD_KIND:
        return False
    spec = spec_of(manifest.object)
    kind = text(mapping(spec.get("names")).get("kind"))
    held = scene.state.objects if scene.state is not None else {}
    return any((key.group, key.kind) == (spec.get("group"), kind) for key in held)


def _of_bundles(scene: Scene, result: ExtensionOutcome) -> Iterator[RemedyCandidate]:
    """Objects of a bundle that OLM v1 does not install, and webhooks of its CSV that the API server rejects."""
    chosen = result.resolution.bundle if result.resolution is not None else None
    bundles = scene.workspace.bundles
    content = bundles.get(chosen.name) if chosen is not None else None
    if content is None or content.csv.source is None:
        return
    for pattern in _OF_BUNDLE:
        found = pattern.search(result.problem)
        if found is not None:
            files = [file for file in content.files if _is_meant(file, found["kind"], found["name"])]
            edits: tuple[Edit, ...] = tuple(RemovedDocument(file.manifest.source) for file in files)
            paths = ", ".join(file.manifest.source.path for file in files)
            yield RemedyCandidate(f"Remove {found['kind']} {found['name']} from the bundle ({paths})", edits)
    yield from _of_webhooks(content.csv, result.problem)


def _is_meant(file: BundleFile, kind: str, name: str) -> bool:
    obj = file.manifest.object
    return obj.get("kind") == kind and name_of(obj) == name


def _of_webhooks(csv: Manifest, problem: str) -> Iterator[RemedyCandidate]:
    hooks = mappings(mapping(value_of(csv.source).get("spec")).get("webhookdefinitions"))
    bad = _BAD_NAME.search(problem)
    for number, hook in enumerate(hooks):
        complaint = Complaint(csv.source, ("spec", "webhookdefinitions", number, "generateName"), problem)
        name = text(hook.get("generateName"))
        if bad is not None and name and name in (bad[1], bad[1].removesuffix("-")):
            new = _LEAST_LENGTH.sub("-", name.lower()).strip("-.")
            if new and new != name:
                yield set_field(complaint, new)
        first = next((each for each in hooks[:number] if _port(each) == _port(hook)), None)
        if _TWICE in problem and first is not None and first.get("targetPort") != hook.get("targetPort"):
            port = hook.get("targetPort") or first.get("targetPort")
            if isinstance(port, int):
                edit = FieldEdit(csv.source, ("spec", "webhookdefinitions", number, "containerPort"), port)
                own = (edit, FieldEdit(csv.source, (*edit.keys[:-1], "targetPort"), _target(hook)))
                yield RemedyCandidate(f"Set {field_of(edit.keys)}: {port} in {csv.source.path}", own)
        if _BAD_PORT in problem and not hook.get("containerPort"):
            yield set_field(complaint, 443, (*complaint.keys[:-1], "containerPort"))


def _port(hook: Mapping[str, Any]) -> tuple[Any, Any]:
    """The Service of a webhook and its port there."""
    return hook.get("deploymentName"), hook.get("containerPort") or _HTTPS


def _target(hook: Mapping[str, Any]) -> int:
    """The port at which the pod of a webhook listens."""
    port = hook.get("targetPort") or hook.get("containerPort") or _HTTPS
    return port if isinstance(port, int) else _HTTPS


_CANDIDATES: Sequence[Callable[[Scene, ExtensionOutcome], Iterator[RemedyCandidate]]] = (
    _fixed_fields, _missing_accounts, _catalogs, _configurations, _collisions, _of_bundles, _pins,
)  # fmt: skip
FINDERS: tuple[Callable[[Scene], Iterator[Diagnosis]], ...] = (failed_extensions,)
