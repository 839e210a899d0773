"""What an Install applies: bundles and objects, with namespaces replaced (R-INSTALL-2 … R-INSTALL-4)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from olmc.catalogs.properties import properties_text
from olmc.catalogs.rendering import bundle_properties, uncatalogued
from olmc.kube.restmapper import RestMapper, rest_mapper
from olmc.lean import NamedTuple
from olmc.load.bundles import SUGGESTED
from olmc.model.cluster import Step
from olmc.model.diagnostics import Report
from olmc.model.objects import CRD_KIND, CatalogKey, KubernetesObject, metadata_of
from olmc.model.operators import CSV_KIND, Install
from olmc.model.options import Options, Profile
from olmc.model.workspace import Bundle, Workspace
from olmc.olm.naming import CORE_KINDS
from olmc.olm.profiles.data import profile_of
from olmc.resolver.steps import (
    Content,
    UndecodableCSV,
    UndecodableCSVError,
    bundle_content,
    bundle_steps,
    csv_object,
    inline_content,
)

DEFAULT = "default"
OPERATORS = "operators"
"""Where operators are installed that suggest no namespace (D42)."""

NO_CATALOG = CatalogKey("", "")


class Resolved(NamedTuple):
    """The content of an Install, resolved.

    `items` are those of the status, with images pinned; `steps` carry out its bundles, in the order of the items; `raw`
    are the objects that it names itself. In both, namespaces are replaced. `namespace` is the install namespace,
    `missing` are images whose content is not known, `problem` says why a bundle can't be unpacked ("" if all can), and
    `unreadable` where that stands.
    """

    items: tuple[dict[str, Any], ...]
    steps: tuple[Step, ...]
    raw: tuple[KubernetesObject, ...]
    namespace: str
    missing: tuple[str, ...] = ()
    problem: str = ""
    unreadable: UndecodableCSV | None = None

    @property
    def objects(self) -> tuple[KubernetesObject, ...]:
        """Everything that is applied, the RBAC of CSVs included."""
        return (*(step.object for step in self.steps), *self.raw)


def resolved(install: Install, workspace: Workspace, options: Options) -> Resolved:
    """The content of an Install that names its content itself."""
    images = dict.fromkeys(item.image for item in install.content if item.image)
    contents = {image: content_of_image(workspace, image, options) for image in images}
    raw = [obj for item in install.content for obj in item.objects]
    shipped = [manifest for content in contents.values() if content is not None for manifest in objects_of(content)]
    known = rest_mapper((*(m.object for m in workspace.manifests), *raw, *shipped))
    mapping = dict(install.namespaces)
    mapped = [with_namespaces(obj, mapping, known) for obj in raw]
    home = _install_namespace(install, mapped, [c for c in contents.values() if c is not None], known)
    steps: list[Step] = []
    profile = profile_of(options.olm_version)
    problem, unreadable = "", None
    for content in contents.values():
        if content is not None:
            try:
                found = placed_steps(content, home, "", bundle_text(content), NO_CATALOG, known, profile)
                steps += calling(found, mapping)
            except UndecodableCSVError as error:
                problem, unreadable = str(error), error.undecodable
    missing = tuple(image for image, content in contents.items() if content is None)
    items = tuple(pinned(item.given, workspace, options) for item in install.content)
    return Resolved(items, tuple(steps), tuple(mapped), home, missing, problem, unreadable)


def objects_of(content: Content) -> Iterator[KubernetesObject]:
    """All objects of a bundle."""
    yield content.csv.object
    yield from (_as_taken(manifest.object) for _, manifest in content.others)


def _as_taken(obj: KubernetesObject) -> KubernetesObject:
    """An object of a bundle as OLM takes it: what a core kind is, its name alone decides (R-CAT-712)."""
    core = CORE_KINDS.get(obj["kind"])
    return obj if core in (None, obj.get("apiVersion")) else {**obj, "apiVersion": core}


def bundle_text(content: Content) -> str:
    """The text of a bundle's properties for the annotation of its CSV; "" where only a catalog knows them."""
    return properties_text(content.served) if content.served else ""


def placed_steps(
    content: Content, namespace: str, replaces: str, properties: str, catalog: CatalogKey, known: RestMapper,
    profile: Profile,
) -> Iterator[Step]:  # fmt: skip
    """The steps of a bundle with its objects in a namespace. Raises UndecodableCSVError."""
    csv = csv_object(content, namespace, replaces, properties, profile)
    for step in bundle_steps(content, csv, catalog, profile):
        obj = _as_taken(step.object)
        if known.of(obj).namespaced and step.kind != CSV_KIND:
            obj = {**obj, "metadata": {**metadata_of(obj), "namespace": namespace}}
        yield step._replace(object=obj)


def calling(steps: Iterable[Step], mapping: Mapping[str, str]) -> Iterator[Step]:
    """The steps of a bundle, with namespaces replaced in the fields of its objects that name one (R-INSTALL-4).

    The objects themselves are in the install namespace by then, as is what stems from the CSV.
    """
    for step in steps:
        yield step if step.derived else step._replace(object=_with_fields(step.object, mapping))


def content_of_image(workspace: Workspace, image: str, options: Options) -> Content | None:
    """What is in a bundle image, as far as the workspace knows: by the option `images`, by a catalog that has it, or
    because `olmc vendor` has fetched it."""
    named = next((known.bundle for known in options.images if known.image == image and known.bundle), "")
    if named in workspace.bundles:
        return _of_bundle(workspace.bundles[named])
    by_digest = pinned_image(image, workspace, options)
    for catalog in workspace.catalogs.values():
        for package in catalog.packages.values():
            for entry in package.bundles.values():
                if entry.image and entry.image in (image, by_digest):
                    bundle = workspace.bundles.get(entry.name) or workspace.vendored.get(entry.image)
                    return _of_bundle(bundle) if bundle is not None else inline_content(entry)
    vendored = workspace.vendored.get(image)
    return _of_bundle(vendored) if vendored is not None else None


def _of_bundle(bundle: Bundle) -> Content:
    return bundle_content(bundle)._replace(served=tuple(bundle_properties(uncatalogued(bundle), Report())))


def pinned_image(image: str, workspace: Workspace, options: Options) -> str:
    """The image by digest where olmc.yaml, else olmc.lock, knows its digest (R-INSTALL-3)."""
    given = next((each.digest for each in options.images if each.image == image), "")
    digest = given or next((each.digest for each in workspace.images if each.image == image), "")
    if "@" in image or not digest:
        return image
    repository, colon, tag = image.rpartition(":")
    return f"{repository if colon and '/' not in tag else image}@{digest}"


def pinned(item: Mapping[str, Any], workspace: Workspace, options: Options) -> dict[str, Any]:
    """An item of an Install's content as its status has it."""
    if item.get("type") != "ManifestImage":
        return dict(item)
    return {**item, "manifestImage": pinned_image(str(item["manifestImage"]), workspace, options)}


def with_namespaces(obj: KubernetesObject, mapping: Mapping[str, str], known: RestMapper) -> KubernetesObject:
    """An object with namespaces replaced wherever it names one that things are applied in (R-INSTALL-4, D45)."""
    metadata = obj["metadata"]
    if known.of(obj).namespaced:
        home = metadata.get("namespace") or DEFAULT
        obj = {**obj, "metadata": {**metadata, "namespace": mapping.get(home, home)}}
    elif obj["kind"] == "Namespace" and obj["apiVersion"] == "v1":
        obj = {**obj, "metadata": {**metadata, "name": mapping.get(metadata["name"], metadata["name"])}}
    return _with_fields(obj, mapping)


def _with_fields(obj: KubernetesObject, mapping: Mapping[str, str]) -> KubernetesObject:
    change = _FIELDS.get(obj["kind"])
    return obj if change is None else change(obj, mapping)


def _in_subjects(obj: KubernetesObject, mapping: Mapping[str, str]) -> KubernetesObject:
    subjects = obj.get("subjects")
    if not isinstance(subjects, list):
        return obj
    return {**obj, "subjects": [_replaced(subject, mapping) for subject in subjects]}


def _in_apiservice(obj: KubernetesObject, mapping: Mapping[str, str]) -> KubernetesObject:
    changed: KubernetesObject = _at(obj, ("spec", "service"), mapping)
    return changed


def _in_webhooks(obj: KubernetesObject, mapping: Mapping[str, str]) -> KubernetesObject:
    hooks = obj.get("webhooks")
    if not isinstance(hooks, list):
        return obj
    return {**obj, "webhooks": [_at(hook, ("clientConfig", "service"), mapping) for hook in hooks]}


def _in_conversion(obj: KubernetesObject, mapping: Mapping[str, str]) -> KubernetesObject:
    changed: KubernetesObject = _at(obj, ("spec", "conversion", "webhook", "clientConfig", "service"), mapping)
    return changed


_FIELDS: Mapping[str, Callable[[KubernetesObject, Mapping[str, str]], KubernetesObject]] = {
    "RoleBinding": _in_subjects,
    "ClusterRoleBinding": _in_subjects,
    "APIService": _in_apiservice,
    "ValidatingWebhookConfiguration": _in_webhooks,
    "MutatingWebhookConfiguration": _in_webhooks,
    CRD_KIND: _in_conversion,
}


def _at(value: Any, keys: Sequence[str], mapping: Mapping[str, str]) -> Any:
    """A value in which the `namespace` below a path of keys is replaced, if it is there."""
    if not keys:
        return _replaced(value, mapping)
    if not isinstance(value, dict) or keys[0] not in value:
        return value
    return {**value, keys[0]: _at(value[keys[0]], keys[1:], mapping)}


def _replaced(value: Any, mapping: Mapping[str, str]) -> Any:
    namespace = value.get("namespace") if isinstance(value, dict) else None
    if not isinstance(namespace, str) or namespace not in mapping:
        return value
    return {**value, "namespace": mapping[namespace]}


def suggested_namespace(content: Content) -> str:
    """The namespace that a bundle wants to be installed in (R-OPERATOR-10)."""
    metadata = content.csv.object.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    wanted = annotations.get(SUGGESTED) if isinstance(annotations, dict) else None
    return wanted if isinstance(wanted, str) and wanted else OPERATORS


def namespaces_of(contents: Iterable[Content], known: RestMapper) -> tuple[str, ...]:
    """The namespaces that the objects of bundles are in; `default` for those that name none."""
    found = {
        str(metadata_of(obj).get("namespace") or DEFAULT)
        for content in contents
        for obj in objects_of(content)
        if known.of(obj).namespaced
    }
    return tuple(sorted(found))


def _install_namespace(
    install: Install, raw: Sequence[KubernetesObject], contents: Sequence[Content], known: RestMapper
) -> str:
    """R-INSTALL-5: what the first replacement leads to, else where the content is."""
    if install.namespaces:
        return install.namespaces[0][1]
    first = next((obj["metadata"]["namespace"] for obj in raw if known.of(obj).namespaced), "")
    return first or (suggested_namespace(contents[0]) if contents else DEFAULT)
