"""olmc as a KRM function, and its output as Flux takes it (kustomize.toolkit.fluxcd.io/v1).

A function reads a ResourceList, what the orchestrators hand over, and writes one back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from olmc.compiler.api import Compilation
from olmc.compiler.load.manifests import manifests_in
from olmc.compiler.load.request import CompileRequest
from olmc.compiler.rules.findings import output as rules
from olmc.integrations.pipelines.argocd import (
    KEPT_KINDS,
    bad_setting,
    by_its_name,
    choose_options,
    empty_output,
    find_misspelt,
    parse_value,
    problems_in,
)
from olmc.k8s.api.applied import is_for_tools, is_object
from olmc.k8s.api.restmapper import BUILTIN
from olmc.k8s.diagnostics import Diagnostic, Location, Report, Severity, Source
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import KubernetesObject, ObjectKey, Rendered, annotations_of, mapping, object_key
from olmc.k8s.yaml import Document, dump_one, read
from olmc.review.explain.left_out import incomplete
from olmc.targets.pipeline import compile, compile_manifests

API_VERSION = "config.kubernetes.io/v1"
_GROUP = "config.kubernetes.io/"
STDIN = "stdin"
_MOST_DIGITS = 9

# By these an orchestrator knows its objects again; they are no part of what is applied.
_BOOKKEEPING = (
    "config.kubernetes.io/path",
    "config.kubernetes.io/index",
    "config.k8s.io/id",
    "kustomize.config.k8s.io/id",
)
_INTERNAL = "internal.config.kubernetes.io/"
_PATHS = ("internal.config.kubernetes.io/path", "config.kubernetes.io/path")
_INDEXES = ("internal.config.kubernetes.io/index", "config.kubernetes.io/index")


class ResourceList(NamedTuple):
    """A ResourceList, or a plain List: its `items` are objects unless an error says otherwise.

    `function_config` is None where there is none; `text` is what the list was read from.
    """

    api_version: str
    kind: str
    items: tuple[KubernetesObject, ...]
    function_config: Mapping[str, Any] | None
    text: str

    def source(self, index: int) -> Source:
        """Return where an item stands: it is called by its file, if it has one."""
        path, number = file_of(self.items[index])
        name = f"{path}[{number}]" if path else f"items[{index}]"
        return Source(name, self.text, 0, ("items", index))


EMPTY = ResourceList(API_VERSION, "ResourceList", (), None, "")


def read_list(text: str, report: Report) -> ResourceList:
    """The ResourceList in a text; when it is none, that is reported, and as much as can be read of it comes back."""
    own = Report()
    documents = [document for document in read(STDIN, text, own) if document.value is not None]
    problem = next((diagnostic.message for diagnostic in own), "") if not documents else ""
    report.found.extend(own if documents else ())
    value = documents[0].value if documents else None
    if not problem:
        problem = "it is empty" if value is None else _problem(value, len(documents))
    if problem:
        report.add(rules.NO_RESOURCE_LIST.finding(None, problem=problem))
    if not isinstance(value, dict) or not is_object(value) or not value["kind"].endswith("List"):
        return EMPTY
    items = value.get("items")
    config = value.get("functionConfig")
    return ResourceList(
        value["apiVersion"],
        value["kind"],
        tuple(items) if isinstance(items, list) else (),
        config if isinstance(config, dict) else None,
        text,
    )


def _problem(value: Any, documents: int) -> str:
    """Return the reason why a document is no ResourceList or List, "" if it is one."""
    if not isinstance(value, dict) or not is_object(value):
        return "it has no apiVersion and kind"
    if documents > 1:
        return f"it has {documents} documents"
    if not value["kind"].endswith("List"):
        return f"it is a {value['kind']}"
    if value["kind"] == "ResourceList" and not value["apiVersion"].startswith(f"{_GROUP}v1"):
        return f"its apiVersion is {value['apiVersion']}, not {API_VERSION}"
    if not isinstance(value.get("functionConfig") or {}, dict):
        return "functionConfig is no map"
    items = value.get("items")
    if items is not None and not isinstance(items, list):
        return "items is no list"
    for index, item in enumerate(items or ()):
        if not isinstance(item, dict) or not is_object(item):
            return f"items[{index}] has no apiVersion and kind"
        metadata = item.get("metadata") or {}
        if not isinstance(metadata, dict):
            return f"items[{index}].metadata is no map"
        for key in ("name", "namespace"):
            if not isinstance(metadata.get(key) or "", str):
                return f"items[{index}].metadata.{key} is no text"
    return ""


def list_text(given: ResourceList, items: Iterable[KubernetesObject], results: Sequence[Mapping[str, Any]]) -> str:
    """Return the output of a function: a list of the kind that it was given, with its results."""
    result: dict[str, Any] = {"apiVersion": given.api_version, "kind": given.kind, "items": list(items)}
    if given.function_config is not None:
        result["functionConfig"] = given.function_config
    if given.kind == "ResourceList" and results:
        result["results"] = list(results)
    return dump_one(result)


def file_of(item: KubernetesObject) -> tuple[str, int]:
    """The file that an item was read from, "" if none is known, and which of its objects the item is, from 0."""
    annotations = annotations_of(item)
    path = next((str(annotations[key]) for key in _PATHS if annotations.get(key)), "")
    index = next((str(annotations[key]) for key in _INDEXES if annotations.get(key)), "")
    # A longer number exceeds the number of objects in any file.
    is_number = index.isascii() and index.isdigit() and len(index) <= _MOST_DIGITS
    return path, int(index) if is_number else 0


def bookkeeping_of(item: KubernetesObject) -> dict[str, Any]:
    """Those annotations of an item by which the orchestrator knows it again."""
    return {
        key: value for key, value in annotations_of(item).items() if key in _BOOKKEEPING or key.startswith(_INTERNAL)
    }


def without_bookkeeping(item: KubernetesObject) -> KubernetesObject:
    """The item as its author wrote it."""
    annotations, extra = annotations_of(item), bookkeeping_of(item)
    if not extra:
        return item
    kept = {key: value for key, value in annotations.items() if key not in extra}
    metadata = {key: value for key, value in item["metadata"].items() if key != "annotations"}
    return {**item, "metadata": {**metadata, **({"annotations": kept} if kept else {})}}


def annotated(obj: KubernetesObject, extra: Mapping[str, Any]) -> KubernetesObject:
    """An object with more annotations."""
    if not extra:
        return obj
    return {**obj, "metadata": {**obj["metadata"], "annotations": {**annotations_of(obj), **extra}}}


SUBSTITUTE = "kustomize.toolkit.fluxcd.io/substitute"
PRUNE = "kustomize.toolkit.fluxcd.io/prune"
_VARIABLE = "${"


def for_flux(objects: Iterable[Rendered]) -> Iterator[Rendered]:
    """Exempt objects with `${` from a Kustomization's postBuild substitution, and Namespaces and CRDs from pruning.

    Flux replaces variables in the whole text of an object, and undefined ones by an empty text. An existing annotation
    stays.
    """
    for rendered in objects:
        # In the YAML, where Flux replaces, and not in the object: keys count as well.
        added = {SUBSTITUTE: "disabled"} if _VARIABLE in dump_one(rendered.object) else {}
        if rendered.object["kind"] in KEPT_KINDS:
            added[PRUNE] = "disabled"
        metadata = rendered.object["metadata"]
        annotations = {**added, **mapping(metadata.get("annotations"))}
        obj = {**rendered.object, "metadata": {**metadata, "annotations": annotations}}
        yield rendered._replace(object=obj) if added else rendered


RENDERED_FROM = "olmc.dev/rendered-from"
_LOCAL = "config.kubernetes.io/local-config"
_KIND_HINT = "Write apiVersion: olmc.dev/v1alpha1, kind: Render, and the options as the keys of spec."
_SEVERITIES = {Severity.INFO: "info", Severity.WARNING: "warning", Severity.FAILURE: "error", Severity.ERROR: "error"}


class FunctionResult(NamedTuple):
    """The output of a function to stdout, the findings, and whether they stop the caller."""

    text: str
    diagnostics: tuple[Diagnostic, ...]
    stops: bool


def run(text: str, root: Path = Path()) -> FunctionResult:
    """Return the output of `olmc plugin fn` for the text of a ResourceList.

    With `spec.path` in its functionConfig the workspace there, which must lie in the folder `root`, is rendered and its
    objects join the items; without it the items are the workspace, and the rendered objects replace them. The text is
    always a valid list: after an error it has the input items, and the results give the reason. The same applies where
    an operator would fail and the output is for apply, unless the settings say to keep going.
    """
    report = Report()
    given = read_list(text, report)
    settings = {} if report.failed else _settings(given.function_config, report)
    items = given.items if report.failed else _render(given, settings, root, report)
    if report.failed:
        # A caller that ignores the exit code gets its own items, not a part of an output.
        items = given.items
    least = Severity.INFO if settings.get("verbose") else Severity.WARNING
    shown = tuple(diagnostic for diagnostic in report if diagnostic.severity >= least)
    results = [_result(diagnostic, given, settings.get("path")) for diagnostic in shown]
    worst = report.worst() or Severity.INFO
    stops = worst is Severity.ERROR or (worst is Severity.FAILURE and not settings.get("keepGoing"))
    return FunctionResult(list_text(given, items, results), shown, stops)


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
        report.add(bad_setting("functionConfig", f"{section} is no map", _KIND_HINT))
        return {}
    named = {by_its_name(str(key)): value for key, value in given.items()}
    settings = {name: parse_value(name, v) if texts and isinstance(v, str) else v for name, v in named.items()}
    for name, problem, hint in problems_in(settings):
        report.add(bad_setting(f"functionConfig, {name}", problem, hint))
    return settings


def _check_kind(config: Mapping[str, Any], report: Report) -> None:
    api = (config.get("apiVersion"), config.get("kind"))
    if api != ("olmc.dev/v1alpha1", "Render"):
        what = " ".join(str(part) for part in api if part) or "neither"
        problem = f"it is to be a Render of olmc.dev/v1alpha1 or a ConfigMap, not {what}"
        report.add(bad_setting("functionConfig", problem, _KIND_HINT))


def _render(
    given: ResourceList, settings: Mapping[str, Any], root: Path, report: Report
) -> tuple[KubernetesObject, ...]:
    """The items that come out."""
    choice = choose_options(settings)
    path = settings.get("path")
    if path is not None and not _is_inside(Path(path), root):
        problem = f"{path} is not in the folder that olmc plugin fn may read"
        hint = "Give a path below the working directory, or name the folder in the command: olmc plugin fn --root DIR."
        report.add(bad_setting("functionConfig, path", problem, hint))
        return given.items
    if path is not None:
        compilation = compile(CompileRequest(Path(path), choice.options, choice.given))
    else:
        compilation = _compile_items(given, settings)
    report.found.extend(compilation.diagnostics)
    if settings.get("flux"):
        compilation = compilation._replace(objects=tuple(for_flux(compilation.objects)))
    for name, problem, meant in find_misspelt(settings, compilation):
        report.add(bad_setting(f"functionConfig, {name}", problem, meant))
    if compilation.missing and not compilation.failed and not settings.get("keepGoing"):
        how = "set keepGoing: true in the functionConfig"
        report.add(incomplete(compilation.missing, done="rendered", keep_going=how))
        return given.items
    if not compilation.objects and not compilation.failed and not settings.get("allowEmpty"):
        hint = "With allowEmpty: true in the functionConfig this is no error."
        report.add(empty_output(compilation, path or "the list of items", hint))
    if path is not None:
        return tuple(_join(given, compilation, path, report))
    # The output has the scope in which a cluster stores it, so items are found again by that.
    stored = (BUILTIN.in_its_scope(item) for item in given.items if not _is_passed_on(item))
    known = {object_key(item): bookkeeping_of(item) for item in stored}
    objects = (annotated(rendered.object, known.get(rendered.identity, {})) for rendered in compilation.objects)
    return (*(item for item in given.items if _is_passed_on(item)), *objects)


def _is_inside(path: Path, root: Path) -> bool:
    """Return whether a path, links followed, is in a folder: the functionConfig is part of a package, so of untrusted
    input."""
    try:
        return path.resolve().is_relative_to(root.resolve())
    except ValueError:  # a NUL: it names nothing, which is reported as of every path
        return True
    except (OSError, RuntimeError):  # links that go round
        return False


def _compile_items(given: ResourceList, settings: Mapping[str, Any]) -> Compilation:
    report = Report()
    documents = [
        Document(without_bookkeeping(item), given.source(index))
        for index, item in enumerate(given.items)
        if not _is_passed_on(item)
    ]
    manifests = tuple(manifests_in(documents, report))
    return compile_manifests(manifests, choose_options(settings).options, report)


def _is_passed_on(item: KubernetesObject) -> bool:
    """Return whether an item is for tools and no part of what is compiled."""
    return is_for_tools(item) or annotations_of(item).get(_LOCAL) == "true"


def _join(given: ResourceList, compilation: Compilation, path: str, report: Report) -> Iterator[KubernetesObject]:
    """The items, without what an earlier run has rendered from the path, and the rendered objects.

    Where items are files of a package, rendered objects are marked, so that the next run knows them again; they stay
    in their files.
    """
    mark = {RENDERED_FROM: path} if any(file_of(item)[0] for item in given.items) else {}
    known: dict[ObjectKey, KubernetesObject] = {}
    rendered = {rendered.identity: rendered.object for rendered in compilation.objects}
    for item in given.items:
        if annotations_of(item).get(RENDERED_FROM) != path:
            yield item
            # An item of the package wins over a rendered object: a function must not overwrite it.
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
    message = "\n".join(part for part in (f"{diagnostic.message} [{diagnostic.code}]", diagnostic.hint) if part)
    result: dict[str, Any] = {"message": message, "severity": _SEVERITIES[diagnostic.severity]}
    place = diagnostic.location
    if place is not None and place.path != STDIN:
        result |= _place_in_files(place, path) if path is not None else _place_in_items(place, given)
    return {**result, "tags": {"code": diagnostic.code, **result.get("tags", {})}}


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
