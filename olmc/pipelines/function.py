"""olmc as a KRM function, and its output as Flux takes it (kustomize.toolkit.fluxcd.io/v1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from olmc.api import Compilation, compile, compile_manifests
from olmc.diagnostics.rules import output as rules
from olmc.explain.left_out import incomplete
from olmc.kube.applied import is_for_tools
from olmc.kube.restmapper import BUILTIN
from olmc.load.manifests import manifests_in
from olmc.model.diagnostics import Diagnostic, Location, Report, Severity
from olmc.model.objects import KubernetesObject, ObjectKey, Rendered, mapping, object_key
from olmc.pipelines.resource_list import (
    STDIN,
    ResourceList,
    annotated,
    annotations_of,
    bookkeeping_of,
    file_of,
    list_text,
    read_list,
    without_bookkeeping,
)
from olmc.pipelines.settings import by_its_name, chosen, misspelt, nothing, problems_in, typed
from olmc.yaml import Document, dump_one

SUBSTITUTE = "kustomize.toolkit.fluxcd.io/substitute"
PRUNE = "kustomize.toolkit.fluxcd.io/prune"
_VARIABLE = "${"
# Deleting one of these deletes what others have put there: everything in a namespace, every custom resource.
_KEPT_KINDS = ("Namespace", "CustomResourceDefinition")


def for_flux(objects: Iterable[Rendered]) -> Iterator[Rendered]:
    """The objects, with those that hold `${` exempt from a Kustomization's postBuild substitution, and Namespaces and
    CRDs from pruning.

    Flux replaces variables in the whole text of an object, those that nobody defines by nothing. An annotation that is
    there already stays.
    """
    for found in objects:
        added = {SUBSTITUTE: "disabled"} if _VARIABLE in dump_one(found.object) else {}
        if found.object["kind"] in _KEPT_KINDS:
            added[PRUNE] = "disabled"
        metadata = found.object["metadata"]
        annotations = {**added, **mapping(metadata.get("annotations"))}
        obj = {**found.object, "metadata": {**metadata, "annotations": annotations}}
        yield found._replace(object=obj) if added else found


RENDERED_FROM = "olmc.dev/rendered-from"
_LOCAL = "config.kubernetes.io/local-config"
_KIND_HINT = "Write apiVersion: olmc.dev/v1alpha1, kind: Render, and the options as the keys of spec."
_SEVERITIES = {Severity.INFO: "info", Severity.WARNING: "warning", Severity.FAILURE: "error", Severity.ERROR: "error"}


class FunctionResult(NamedTuple):
    """What a function prints to stdout, what was found, and whether that is to stop who runs it."""

    text: str
    diagnostics: tuple[Diagnostic, ...]
    stops: bool


def run(text: str) -> FunctionResult:
    """What `olmc fn` makes of the text of a ResourceList.

    With `spec.path` in its functionConfig the workspace there is rendered and its objects join the items; without it
    the items are the workspace, and the rendered objects take their place. The text is a valid list whatever happens:
    after an error it has the items as they came, and the results say why. So it has where an operator would fail and
    the output is for apply, unless the settings say to keep going.
    """
    report = Report()
    given = read_list(text, report)
    settings = {} if report.failed else _settings(given.function_config, report)
    items = given.items if report.failed else _rendered(given, settings, report)
    if report.failed:
        items = given.items
    least = Severity.INFO if settings.get("verbose") else Severity.WARNING
    told = tuple(diagnostic for diagnostic in report if diagnostic.severity >= least)
    results = [_result(diagnostic, given, settings.get("path")) for diagnostic in told]
    worst = report.worst() or Severity.INFO
    stops = worst is Severity.ERROR or (worst is Severity.FAILURE and not settings.get("keepGoing"))
    return FunctionResult(list_text(given, items, results), told, stops)


def _settings(config: Mapping[str, Any] | None, report: Report) -> dict[str, Any]:
    """The settings in a functionConfig: a Render with its spec, or a ConfigMap whose data are texts."""
    if config is None:
        return {}
    texts = config.get("kind") == "ConfigMap"
    if not texts:
        _check_kind(config, report)
    section = "data" if texts else "spec"
    given = config.get(section) or {}
    if not isinstance(given, dict):
        report.add(_bad("functionConfig", f"{section} is no map", _KIND_HINT))
        return {}
    named = {by_its_name(str(key)): value for key, value in given.items()}
    settings = {name: typed(name, v) if texts and isinstance(v, str) else v for name, v in named.items()}
    for name, problem, hint in problems_in(settings):
        report.add(_bad(f"functionConfig, {name}", problem, hint))
    return settings


def _check_kind(config: Mapping[str, Any], report: Report) -> None:
    found = (config.get("apiVersion"), config.get("kind"))
    if found != ("olmc.dev/v1alpha1", "Render"):
        what = " ".join(str(part) for part in found if part) or "neither"
        problem = f"it is to be a Render of olmc.dev/v1alpha1 or a ConfigMap, not {what}"
        report.add(_bad("functionConfig", problem, _KIND_HINT))


def _bad(where: str, problem: str, hint: str) -> Diagnostic:
    return rules.BAD_SETTING.finding(None, where=where, problem=problem, hint=hint)


def _rendered(given: ResourceList, settings: Mapping[str, Any], report: Report) -> tuple[KubernetesObject, ...]:
    """The items that come out."""
    choice = chosen(settings)
    path = settings.get("path")
    if path is not None:
        made = compile(Path(path), choice.options, given=choice.given)
    else:
        made = _compiled_items(given, settings)
    report.found.extend(made.diagnostics)
    if settings.get("flux"):
        made = replace(made, objects=tuple(for_flux(made.objects)))
    for name, problem, meant in misspelt(settings, made):
        report.add(_bad(f"functionConfig, {name}", problem, meant))
    if made.missing and not made.failed and not settings.get("keepGoing"):
        how = "set keepGoing: true in the functionConfig"
        report.add(incomplete(made.missing, done="rendered", keep_going=how))
        return given.items
    if not made.objects and not made.failed and not settings.get("allowEmpty"):
        hint = "With allowEmpty: true in the functionConfig this is no error."
        report.add(nothing(made, path or "the list of items", hint))
    if path is not None:
        return tuple(_joined(given, made, path, report))
    stored = (BUILTIN.in_its_scope(item) for item in given.items if not _is_passed_on(item))
    known = {object_key(item): bookkeeping_of(item) for item in stored}
    objects = (annotated(found.object, known.get(found.identity, {})) for found in made.objects)
    return (*(item for item in given.items if _is_passed_on(item)), *objects)


def _compiled_items(given: ResourceList, settings: Mapping[str, Any]) -> Compilation:
    report = Report()
    documents = [
        Document(without_bookkeeping(item), given.source(index))
        for index, item in enumerate(given.items)
        if not _is_passed_on(item)
    ]
    manifests = tuple(manifests_in(documents, report))
    return compile_manifests(manifests, chosen(settings).options, report)


def _is_passed_on(item: KubernetesObject) -> bool:
    """Whether an item is for tools and no part of what is compiled."""
    return is_for_tools(item) or annotations_of(item).get(_LOCAL) == "true"


def _joined(given: ResourceList, made: Compilation, path: str, report: Report) -> Iterator[KubernetesObject]:
    """The items, without what an earlier run has rendered from the path, and the rendered objects.

    Where items are files of a package, rendered objects are marked, so that the next run knows them again; they stay
    in their files.
    """
    mark = {RENDERED_FROM: path} if any(file_of(item)[0] for item in given.items) else {}
    known: dict[ObjectKey, KubernetesObject] = {}
    rendered = {found.identity: found.object for found in made.objects}
    for item in given.items:
        if annotations_of(item).get(RENDERED_FROM) != path:
            yield item
            if object_key(item) not in rendered:
                continue
            if without_bookkeeping(item) != rendered[object_key(item)]:
                report.add(rules.IN_THE_WAY.finding(None, identity=object_key(item)))
            del rendered[object_key(item)]
        else:
            known[object_key(item)] = item
    for key, obj in rendered.items():
        yield annotated(obj, {**mark, **(bookkeeping_of(known[key]) if key in known else {})})


def _result(diagnostic: Diagnostic, given: ResourceList, path: str | None) -> dict[str, Any]:
    """A diagnostic as the result of a function."""
    told = "\n".join(part for part in (f"{diagnostic.message} [{diagnostic.code}]", diagnostic.hint) if part)
    made: dict[str, Any] = {"message": told, "severity": _SEVERITIES[diagnostic.severity]}
    place = diagnostic.location
    if place is not None and place.path != STDIN:
        made |= _place_in_files(place, path) if path is not None else _place_in_items(place, given)
    return {**made, "tags": {"code": diagnostic.code, **made.get("tags", {})}}


def _place_in_files(place: Location, path: str) -> dict[str, Any]:
    lines = {name: str(number) for name, number in (("line", place.line), ("column", place.column)) if number}
    return {"file": {"path": (PurePosixPath(path) / place.path).as_posix()}, "tags": lines}


def _place_in_items(place: Location, given: ResourceList) -> dict[str, Any]:
    for index, item in enumerate(given.items):
        if given.source(index).path == place.path:
            metadata = item.get("metadata") or {}
            ref = {key: item[key] for key in ("apiVersion", "kind")}
            ref |= {key: metadata[key] for key in ("namespace", "name") if metadata.get(key)}
            path, number = file_of(item)
            return {"resourceRef": ref, **({"file": {"path": path, "index": number}} if path else {})}
    return {}
