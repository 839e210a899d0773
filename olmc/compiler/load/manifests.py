"""Kubernetes manifests: every object of every YAML and JSON file outside of bundles and catalogs, and whether it is
sound."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from olmc.compiler.load.json_schema import SchemaProblem, problems, without_nulls
from olmc.compiler.model.operators import CSV_KIND
from olmc.compiler.model.workspace import Reason, Unused
from olmc.compiler.olm.facts import is_copy, is_copy_by_metadata
from olmc.compiler.olm.naming import CORE_KINDS, named
from olmc.compiler.rules.findings import workspace as misspelt_rules
from olmc.compiler.rules.findings import workspace as rules
from olmc.k8s.api.applied import PROCESSED_GROUP, is_for_tools, is_list, is_object, items_of
from olmc.k8s.api.restmapper import builtin_kinds
from olmc.k8s.api.validation.metadata import (
    api_version_problems,
    kind_problems,
    namespace_problems,
    object_name_problems,
)
from olmc.k8s.diagnostics import Diagnostic, Location, RefusedObject, Report, Source, closest
from olmc.k8s.gojson import DecodeError, decode
from olmc.k8s.lean import regex, sha256
from olmc.k8s.objects import (
    CRD_KIND,
    CRD_V1,
    OLM_GROUP,
    OLM_V1_GROUP,
    KubernetesObject,
    Manifest,
    ObjectKey,
    gvk_of,
    mapping,
    object_key,
)
from olmc.k8s.yaml import Document, locate


def name_problems(obj: KubernetesObject) -> Iterator[SchemaProblem]:
    """Yield the problems of the name of an object, which is a text, with that of its namespace, and with what it is
    called a kind of."""
    metadata, gvk = obj["metadata"], gvk_of(obj)
    given = (
        (("metadata", "name"), metadata["name"], object_name_problems(gvk.group, gvk.kind, metadata["name"])),
        (("metadata", "namespace"), namespace := metadata.get("namespace"), namespace_problems(namespace)),
        (("apiVersion",), obj["apiVersion"], api_version_problems(obj["apiVersion"])),
        (("kind",), gvk.kind, kind_problems(gvk.kind)),
    )
    for keys, value, details in given:
        for detail in details:
            yield SchemaProblem(keys, _invalid(value, detail))


def _invalid(value: str, problem: str) -> str:
    return f'Invalid value: "{value}": {problem}'


PACKAGES_GROUP = "packages.operators.coreos.com"
SUFFIXES = (".yaml", ".yml", ".json")

_TYPED = {"Deployment": "apps/v1"}
_SCHEMAS = {
    "OperatorGroup": "operatorgroup",
    "Subscription": "subscription",
    "CatalogSource": "catalogsource",
    "ClusterServiceVersion": "clusterserviceversion",
    "InstallPlan": "installplan",
    "OLMConfig": "olmconfig",
}


def manifests_in(documents: Sequence[Document], report: Report, *, judged: bool = True) -> Iterator[Manifest]:
    """The objects in the documents of a file: lists are flattened, what is no object is reported and left out.

    With `judged` so are objects that the API server would refuse for what is particular to their kind.
    """
    for document in documents:
        if document.value is None:
            continue
        if not isinstance(document.value, dict) or not is_object(document.value):
            report.add(_no_object(document))
            continue
        yield from _flatten(Manifest(document.value, document.source), report, judged)


def _no_object(document: Document) -> Diagnostic:
    value, source = document.value, document.source
    if isinstance(value, list):
        objects = [item for item in value if isinstance(item, dict) and is_object(item)]
        if objects:
            shown = ", ".join(dict.fromkeys(item["kind"] for item in objects))
            return misspelt_rules.LIST_OF_OBJECTS.finding(locate(source, ()), objects=shown)
    kind, api = (value.get(key) if isinstance(value, dict) else None for key in ("kind", "apiVersion"))
    if isinstance(kind, str) and kind[:1].isupper() and (_is_builtin(kind) or _misspelt_key(value, "apiVersion")):
        place, hint = _missing_key(document, "apiVersion")
        return rules.NO_API_VERSION.finding(place, kind=kind, hint=hint)
    # Helm's Chart.yaml has an apiVersion as well, and it is not meant for a cluster.
    if isinstance(api, str) and api and (isinstance(value.get("metadata"), dict) or _misspelt_key(value, "kind")):
        place, hint = _missing_key(document, "kind")
        return misspelt_rules.NO_KIND.finding(place, api=api, hint=hint)
    lack = "apiVersion" if isinstance(kind, str) and kind else "apiVersion and kind"
    return rules.NOT_AN_OBJECT.finding(locate(source, ()), path=source.path, lack=lack)


def of_other_tools(documents: Sequence[Document], report: Report) -> Iterator[int]:
    """The numbers of the documents that only another tool reads, which are reported: a part of an object without a
    name, in a file that is called a patch or of a kind that neither Kubernetes nor OLM has."""
    for number, document in enumerate(documents):
        value, source = document.value, document.source
        if not isinstance(value, dict) or not is_object(value) or is_list(value) or is_for_tools(value):
            continue
        metadata = mapping(value.get("metadata"))
        is_part = not metadata.get("name") and not metadata.get("generateName")
        group = gvk_of(value).group_kind
        is_known = group in builtin_kinds() or group.group in _OLM_GROUPS
        if is_part and (_PATCH.search(source.path.rpartition("/")[2]) or not is_known):
            report.add(rules.NOT_AN_OBJECT.finding(locate(source, ()), path=source.path, lack="metadata.name"))
            yield number


_PATCH = regex(r"(?:^|[-_.])patch(?:es)?(?=[-_.])", re.IGNORECASE)


_OLM_GROUPS = (OLM_GROUP, OLM_V1_GROUP, PACKAGES_GROUP)


def _is_builtin(kind: str) -> bool:
    """Return whether Kubernetes or OLM has a kind of this name."""
    return any(each.kind == kind for each in builtin_kinds())


def _missing_key(document: Document, key: str) -> tuple[Location, str]:
    """Return where a key is misspelt, or where the object begins, and what to do."""
    wrong = _misspelt_key(document.value, key)
    if wrong:
        return locate(document.source, (wrong,), of_key=True), f"Write {key} in place of {wrong}."
    return locate(document.source, ()), f"Add the {key}."


def _misspelt_key(value: dict[str, Any], key: str) -> str:
    """A key that is nearly `key`, "" if there is none."""
    return closest(key, (str(written) for written in value if written != key), cutoff=0.8)


def _flatten(manifest: Manifest, report: Report, judged: bool) -> Iterator[Manifest]:
    obj, source = manifest.object, manifest.source
    if is_for_tools(obj):
        return
    if is_list(obj):
        for below in items_of(manifest):
            if isinstance(below.object, dict) and is_object(below.object):
                yield from _flatten(below, report, judged)
            else:
                place = locate(below.source, ())
                report.add(rules.NOT_AN_OBJECT.finding(place, path=source.path, lack="apiVersion and kind"))
        return
    # The API server drops these nulls before it validates, so they are no reason to refuse an object.
    manifest = _with_name(manifest._replace(object=_stored(obj)), report)
    if is_sound(manifest, report, judged=judged and not _is_encrypted(obj)):
        yield manifest


def _is_encrypted(obj: KubernetesObject) -> bool:
    """Return whether sops has encrypted values of an object: the tool that applies it decrypts them first."""
    return "version" in mapping(obj.get("sops"))


def _with_name(manifest: Manifest, report: Report) -> Manifest:
    """A manifest with a name in the place of the one that the API server makes of its generateName (D3)."""
    obj = manifest.object
    metadata = obj.get("metadata")
    prefix = metadata.get("generateName") if isinstance(metadata, dict) and not metadata.get("name") else None
    if not isinstance(prefix, str) or not prefix or not isinstance(metadata, dict):
        return manifest
    others = {key: value for key, value in metadata.items() if key not in ("name", "generateName")}
    stored = named({**obj, "metadata": others}, prefix)
    place, name = locate(manifest.source, ("metadata", "generateName")), stored["metadata"]["name"]
    report.add(rules.GENERATED_NAME.finding(place, kind=obj["kind"], prefix=prefix, name=name))
    return manifest._replace(object=stored)


def is_copy_by_status(obj: KubernetesObject) -> bool:
    """Return whether only its status makes a CSV a copy (R-COPY-1): of a manifest the API server does not take the
    status."""
    is_csv = obj["kind"] == CSV_KIND and obj["apiVersion"].startswith(f"{OLM_GROUP}/")
    return is_csv and is_copy(obj) and not is_copy_by_metadata(obj)


def _stored(obj: KubernetesObject) -> KubernetesObject:
    """An object of OLM's without the nulls that the API server drops; any other as it is."""
    return without_nulls(_SCHEMAS[obj["kind"]], obj) if _has_schema(obj) else obj


def _has_schema(obj: KubernetesObject) -> bool:
    # A plan in another version is reported as an unknown kind.
    if obj["kind"] == "InstallPlan":
        return bool(obj["apiVersion"] == f"{OLM_GROUP}/v1alpha1")
    return bool(obj["apiVersion"].startswith(OLM_GROUP + "/")) and obj["kind"] in _SCHEMAS


def is_sound(manifest: Manifest, report: Report, *, judged: bool = True) -> bool:
    """Return whether an object has a name and, if that is judged, the shape that the API server asks for."""
    obj, source = manifest.object, manifest.source
    if obj["kind"] == "Installed" and PACKAGES_GROUP in obj["apiVersion"].split("/"):
        report.add(rules.INSTALLED_IS_READ_ONLY.finding(locate(source, ())))
        return False
    metadata = obj.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not isinstance(name, str) or not name:
        report.add(missing_name(obj["kind"], metadata, source))
        return False
    schema_problems = [SchemaProblem((key,), text) for key, text in _metadata_problems(obj)]
    schema_problems += _namespace_problems(obj["metadata"])
    schema_problems += (*name_problems(obj), *_kind_problems(obj)) if judged else ()
    for problem in schema_problems:
        place, where = problem.place(source), problem.where or "the object"
        report.add(_with_place(refusal(obj, place, where, problem.text), source, problem))
    return not schema_problems


def _with_place(finding: Diagnostic, source: Source, problem: SchemaProblem) -> Diagnostic:
    """A refusal that knows where its mistake stands."""
    cause = finding.cause
    assert isinstance(cause, RefusedObject)
    if problem.keys == _NAMESPACE:
        cause = cause._replace(namespace=_written_at(finding.location, source) or cause.namespace)
    return finding.caused_by(cause._replace(source=source, keys=problem.keys, problem=problem.text))


_NAMESPACE = ("metadata", "namespace")
_PLAIN_SCALAR = regex(r"[\w.+-]+")


def _written_at(place: Location | None, source: Source) -> str:
    """A number or a boolean as it is written at a place: YAML takes `y` for true. "" for any other value."""
    lines = source.text.splitlines()
    found = (
        _PLAIN_SCALAR.match(lines[place.line - 1], place.column - 1) if place and 0 < place.line <= len(lines) else None
    )
    return found[0] if found is not None else ""


def refusal(obj: KubernetesObject, place: Location | None, where: str, problem: object) -> Diagnostic:
    """Report that the API server refuses an object, because of a `problem` in its field `where`."""
    kind, name = obj["kind"], obj["metadata"]["name"]
    finding = rules.REFUSED.finding(place, kind=kind, name=name, where=where, problem=problem)
    key, written = object_key(obj), written_object(obj)
    content = sha256(written.encode("utf-8", "surrogatepass")).hexdigest()
    return finding.caused_by(
        RefusedObject(kind, name, None, (), "", key.group, key.namespace, content, "${" in written)
    )


def written_object(obj: KubernetesObject) -> str:
    """Return an object as one text, to compare it also where it is no object of the API server."""
    return json.dumps(obj, sort_keys=True, default=str)


def missing_name(kind: str, metadata: Any, source: Source) -> Diagnostic:
    """Return the problems of the metadata of an object that has no text as its name."""
    if metadata is not None and not isinstance(metadata, dict):
        hint = "Write the name below metadata: `name: …`."
        problem = "has metadata that are no mapping"
        return rules.NO_NAME.finding(locate(source, ("metadata",)), kind=kind, problem=problem, hint=hint)
    name = (metadata or {}).get("name")
    if name is None or name == "":
        hint = "Give it a name."
        place = locate(source, ("metadata",))
        return rules.NO_NAME.finding(place, kind=kind, problem="has no metadata.name", hint=hint)
    what = {bool: "boolean", int: "number", float: "number"}.get(type(name))
    hint = "Put the name in quotes." if what else "Write a text as the name."
    shown = f"the {what} {json.dumps(name)}" if what else "a list" if isinstance(name, list) else "a mapping"
    problem = f"has {shown} as metadata.name, which must be a text"
    return rules.NO_NAME.finding(locate(source, ("metadata", "name")), kind=kind, problem=problem, hint=hint)


def _kind_problems(obj: KubernetesObject) -> Iterable[SchemaProblem]:
    """Return the API server's errors for the kinds that olmc knows."""
    if _has_schema(obj):
        return problems(_SCHEMAS[obj["kind"]], obj)
    if obj["apiVersion"] == CRD_V1 and obj["kind"] == CRD_KIND:
        return problems("customresourcedefinition", obj)
    if CORE_KINDS.get(obj["kind"], _TYPED.get(obj["kind"])) == obj["apiVersion"]:
        return _typed_problems(obj)
    return ()


def _typed_problems(obj: KubernetesObject) -> Iterator[SchemaProblem]:
    """Yield the errors of Go's types for a core object."""
    if obj["kind"] == "ConfigMap":
        for field in ("data", "binaryData"):
            values = obj.get(field) or {}
            if not isinstance(values, dict) or not all(isinstance(value, str) for value in values.values()):
                yield SchemaProblem((field,), "must be a map of strings")
        return
    try:
        decode(obj["kind"], obj)
    except DecodeError as error:
        yield SchemaProblem(error.path, str(error))


def _metadata_problems(obj: KubernetesObject) -> Iterator[tuple[str, str]]:
    metadata = obj["metadata"]
    refs = metadata.get("ownerReferences") or []
    if not isinstance(refs, list) or not all(isinstance(ref, dict) for ref in refs):
        yield "metadata", "ownerReferences must be a list of references"
    elif not all(isinstance(ref.get(key) or "", str) for ref in refs for key in ("apiVersion", "kind", "name")):
        yield "metadata", "ownerReferences: apiVersion, kind and name must be strings"
    for field in ("labels", "annotations"):
        values = metadata.get(field)
        if values is None:
            continue
        if not isinstance(values, dict):
            yield "metadata", f"{field} must be a map of strings"
        elif not all(isinstance(value, str) for value in values.values()):
            wrong = next(key for key, value in values.items() if not isinstance(value, str))
            yield "metadata", f"{field}: the value of {wrong!r} must be a string (put it in quotes)"


def _namespace_problems(metadata: Mapping[str, Any]) -> Iterator[SchemaProblem]:
    namespace = metadata.get("namespace") or ""
    if not isinstance(namespace, str):
        way = " (put it in quotes)" if isinstance(namespace, bool | int | float) else ""
        yield SchemaProblem(_NAMESPACE, f"must be a string{way}")


def redefined(manifests: Iterable[Manifest], default_namespace: str = "") -> Iterator[Unused]:
    """The manifests that another one for the same object follows which differs from them. Those without a namespace are
    in the default one."""
    last: dict[ObjectKey, Manifest] = {}
    for manifest in manifests:
        key = object_key(manifest.object)
        key = key._replace(namespace=key.namespace or default_namespace)
        before = last.get(key)
        if before is not None and _without_namespace(before.object) != _without_namespace(manifest.object):
            yield Unused(before, Reason.REDEFINED)
        last[key] = manifest


def _without_namespace(obj: KubernetesObject) -> KubernetesObject:
    return {**obj, "metadata": {**obj["metadata"], "namespace": ""}}


# A few objects that two folders define are mistakes, more of them are variants of folders.
_MISTAKES = 3
_PLACES = 5


def without_duplicates(manifests: Sequence[Manifest], report: Report) -> tuple[Manifest, ...]:
    """The manifests, of several for one object only the last one (what a cluster would keep)."""
    last: dict[ObjectKey, Manifest] = {}
    twice: list[tuple[ObjectKey, Location, Location]] = []
    for manifest in manifests:
        key = object_key(manifest.object)
        if key in last:
            if key.namespace or key.group != PROCESSED_GROUP:
                twice.append((key, locate(last[key].source, ()), locate(manifest.source, ())))
            # Out first, since a key that is set again would keep its old place.
            del last[key]
        last[key] = manifest
    for finding in _twice(twice):
        report.add(finding)
    return tuple(last.values())


def _twice(found: Sequence[tuple[ObjectKey, Location, Location]]) -> Iterator[Diagnostic]:
    """The findings about objects with two definitions: one each, or one for all whose definitions are in two folders
    where these are many."""
    of_folders: dict[ObjectKey, tuple[Location, Location]] = {}
    for key, *places in found:
        if not _in_one_folder(places):
            of_folders.setdefault(key, (places[0], places[1]))
    has_variants = len(of_folders) > _MISTAKES
    for key, *places in found:
        if not has_variants or _in_one_folder(places):
            yield rules.TWICE.finding(places[1], identity=key, related=(("the other one", places[0]),))
    if has_variants:
        listed = [(str(key), place) for key, places in list(of_folders.items())[:_PLACES] for place in places]
        yield rules.IN_FOLDERS.finding(listed[0][1], count=len(of_folders), related=tuple(listed[1:]))


def _in_one_folder(places: Sequence[Location]) -> bool:
    return len({PurePosixPath(place.path).parent for place in places}) == 1
