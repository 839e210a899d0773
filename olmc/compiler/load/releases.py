"""How a chart of the repository is installed: what Argo CD's Applications and Flux' HelmReleases say of its values."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from olmc.compiler.load.files import Folder, fits_parts, read_text
from olmc.compiler.load.kustomization import NAMES
from olmc.k8s.diagnostics import Location, Report, Source
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.objects import as_text, mapping, mappings, name_of, namespace_of, spec_of, texts
from olmc.k8s.yaml import locate, read

HELM_RELEASE = "helm.toolkit.fluxcd.io/"
_URL = regex(r"^[A-Za-z][A-Za-z0-9+.-]*://")
_COMMA = regex(r"(?<!\\),")


class ValueFile(NamedTuple):
    """A file of values: its path in the repository, how it is written, and where; `problem` says why it is none."""

    path: str
    text: str
    place: Location
    problem: str = ""
    may_be_absent: bool = False


class Parameter(NamedTuple):
    """A single value, as `--set` has it, or `--set-string` where it is always a text."""

    name: str
    value: str
    is_text: bool = False

    def __str__(self) -> str:
        # As Argo CD does it: a comma begins the next value, unless it is in a list.
        is_list = self.value.startswith("{") and self.value.endswith("}")
        return f"{self.name}={self.value if is_list else _COMMA.sub(chr(92) + ',', self.value)}"


class Release(NamedTuple):
    """A chart as it is installed: under which name and where, and with which values, the later over the earlier.

    `applier` is who installs it, `values` those that stand in it, as JSON. `unknown` are the fields with values that
    only the cluster knows. `top` is the folder that the paths of value files count from.
    """

    name: str = "release-name"
    namespace: str = ""
    applier: str = ""
    place: Location | None = None
    value_files: tuple[ValueFile, ...] = ()
    values: str = ""
    parameters: tuple[Parameter, ...] = ()
    kube_version: str = ""
    api_versions: tuple[str, ...] = ()
    with_crds: bool = True
    unknown: tuple[str, ...] = ()
    top: Path | None = None


OWN_VALUES = Release()
"""A chart by itself, as `helm template` has it."""


def application_releases(application: Mapping[str, Any], source: Source) -> Iterator[tuple[str, Release]]:
    """The paths in the repository that an Application has Helm render if they are charts, each with its release."""
    spec = spec_of(application)
    several = mappings(spec.get("sources"))
    places: list[tuple[str | int, ...]] = [("spec", "sources", number) for number in range(len(several))]
    here = {as_text(other.get("ref")) for other in several if other.get("ref")}
    for part, keys in zip(several or [mapping(spec.get("source"))], places or [("spec", "source")], strict=True):
        path = as_text(part.get("path"))
        if not path:
            continue
        helm = mapping(part.get("helm"))
        # What another source calls itself is a part of this repository where both are of one.
        same = {as_text(o.get("ref")) for o in several if o.get("ref") and o.get("repoURL") == part.get("repoURL")}
        files = tuple(
            _of_argo(text, path, locate(source, (*keys, "helm", "valueFiles", number)), same, here, helm)
            for number, text in enumerate(texts(helm.get("valueFiles")))
        )
        values, problem = _values(helm.get("valuesObject") or helm.get("values"))
        if problem:
            files += (ValueFile("", "values", locate(source, (*keys, "helm", "values")), problem),)
        given = [Parameter(as_text(p.get("name")), _plain(p.get("value")), p.get("forceString") is True)
                 for p in mappings(helm.get("parameters"))]  # fmt: skip
        yield path, Release(
            as_text(helm.get("releaseName")) or name_of(application),
            as_text(helm.get("namespace")) or as_text(mapping(spec.get("destination")).get("namespace")),
            applier_of(application), locate(source, ()), files, values, tuple(p for p in given if p.name),
            as_text(helm.get("kubeVersion")), tuple(texts(helm.get("apiVersions"))), helm.get("skipCrds") is not True,
            tuple(f"source.{field}" for field in ("plugin",) if part.get(field))
            + tuple(f"source.helm.{field}" for field in ("fileParameters",) if helm.get(field)),
        )  # fmt: skip


def flux_release(release: Mapping[str, Any], source: Source) -> tuple[str, Release] | None:
    """The path in the repository of the chart that a HelmRelease installs, None where it is from elsewhere."""
    spec = spec_of(release)
    chart = mapping(mapping(spec.get("chart")).get("spec"))
    path, origin = as_text(chart.get("chart")), as_text(mapping(chart.get("sourceRef")).get("kind"))
    if not path or origin not in ("GitRepository", "Bucket"):
        return None
    keys = ("spec", "chart", "spec", "valuesFiles")
    # Unlike Argo CD, Flux names files of values from the top of the repository.
    files = tuple(
        ValueFile(posixpath.normpath(text), text, locate(source, (*keys, number)),
                  may_be_absent=chart.get("ignoreMissingValuesFiles") is True)
        for number, text in enumerate(texts(chart.get("valuesFiles")))
    )  # fmt: skip
    target = as_text(spec.get("targetNamespace"))
    name = as_text(spec.get("releaseName")) or "-".join(filter(None, (target, name_of(release))))
    values, problem = _values(spec.get("values"))
    if problem:
        files += (ValueFile("", "values", locate(source, ("spec", "values")), problem),)
    unknown = tuple(f"spec.{field}" for field in ("valuesFrom", "postRenderers") if spec.get(field))
    return path, Release(
        name, target or namespace_of(release), applier_of(release), locate(source, ()), files, values, unknown=unknown
    )


def applier_of(obj: Mapping[str, Any]) -> str:
    """An object as `Kind/namespace/name`."""
    return "/".join(filter(None, (as_text(obj.get("kind")), namespace_of(obj), name_of(obj))))


def _of_argo(
    text: str, chart: str, place: Location, same: set[str], known: set[str], helm: Mapping[str, Any]
) -> ValueFile:
    """A file of values as an Application names it: from the chart, from the top, or from another source."""
    may_be_absent = helm.get("ignoreMissingValueFiles") is True
    if _URL.match(text):
        return ValueFile("", text, place, "which is remote")
    if text.startswith("$"):
        ref, _, below = text[1:].partition("/")
        if ref in same:
            return ValueFile(posixpath.normpath(below), text, place, may_be_absent=may_be_absent)
        origin = "is of another repository" if ref in known else "names no source of it"
        return ValueFile("", text, place, f"which {origin}")
    path = text.lstrip("/") if text.startswith("/") else posixpath.join(chart, text)
    return ValueFile(posixpath.normpath(path), text, place, may_be_absent=may_be_absent)


def _values(given: Any) -> tuple[str, str]:
    """Values that stand in an object as JSON, and what is wrong with them; Argo CD has them as text as well."""
    if isinstance(given, str):
        report = Report()
        documents = read("values", given, report)
        if report.failed or len(documents) > 1 or not isinstance(documents[0].value if documents else {}, dict | None):
            return "", "which are no mapping in YAML"
        given = documents[0].value if documents else None
    return (json.dumps(given) if isinstance(given, Mapping) and given else ""), ""


def _plain(value: Any) -> str:
    """A parameter's value as text: people write numbers as well, though it has to be a text."""
    return as_text(value) if isinstance(value, str) else "" if value is None else json.dumps(value)


# The Applications that an ApplicationSet makes, as far as what its generators read is plain data in the repository.

_FIELD = regex(r"\{\{-?\s*\.?([A-Za-z_][\w.\[\]/-]*)\s*-?\}\}")
_MOST = 20_000
_EFFORT = 2_000_000
_CHARACTERS, _FILE = 16, 50
"""How many characters cost as much as one value, and as how many values a file that is read counts."""

Parameters = Mapping[str, Any]


class _OpenError(Exception):
    """Something that only the tool, or the cluster, knows, or that would take too long to find out."""


class Effort:
    """What may be done for all ApplicationSets of a repository: generators multiply, and templates are filled in for
    each combination, so that a small file may ask for more than anybody can do."""

    def __init__(self, most: int = _EFFORT) -> None:
        self.left = most

    def spend(self, count: int) -> None:
        """Count so many values, or names that are compared with a pattern."""
        self.left -= count
        if self.left < 0:
            raise _OpenError


def applications_of(
    applicationset: Mapping[str, Any], root: Path, files: Sequence[str], effort: Effort
) -> tuple[dict[str, Any], ...]:
    """The Applications of an ApplicationSet in the repository at `root`, whose files are `files`; () where any of its
    generators, or anything in its template, is not to be determined from the repository alone, or not with so much
    effort.

    Of templates only fields are filled in (`{{path.basename}}`, `{{ .cluster.name }}`), no functions.
    """
    spec = spec_of(applicationset)
    if spec.get("templatePatch"):
        return ()
    is_go = spec.get("goTemplate") is True
    repository = _Repository(root, files, effort)
    made = []
    try:
        for generator in mappings(spec.get("generators")):
            for parameters in _generated(generator, repository, is_go):
                template = _filled(spec.get("template"), parameters, effort)
                metadata = {"namespace": namespace_of(applicationset), **mapping(mapping(template).get("metadata"))}
                body = mapping(template).get("spec")
                made.append({"kind": "Application", "metadata": metadata, "spec": body})
                if len(made) > _MOST:
                    return ()
    except _OpenError:
        return ()
    return tuple(application for application in made if name_of(application))


class _Repository(NamedTuple):
    """What generators read, and how much may be done for it."""

    root: Path
    files: Sequence[str]
    effort: Effort


def _generated(generator: Mapping[str, Any], repository: _Repository, is_go: bool) -> list[Parameters]:
    kinds = generator.keys() - {"selector"}
    repository.effort.spend(1)
    if kinds == {"list"} and not generator.get("selector"):
        of_list = mapping(generator["list"])
        if of_list.get("elementsYaml") or of_list.get("template"):
            raise _OpenError
        return _within([_named(element, is_go) for element in mappings(of_list.get("elements"))])
    if kinds == {"git"} and not generator.get("selector"):
        return _within(list(_of_git(mapping(generator["git"]), repository, is_go)))
    if kinds == {"matrix"} and not generator.get("selector"):
        several = mappings(mapping(generator["matrix"]).get("generators"))
        if len(several) != 2 or "{{" in json.dumps(several, default=str):
            raise _OpenError
        # What does not depend on the other is generated once: in each other, matrices multiply.
        rows, columns = (_generated(one, repository, is_go) for one in several)
        if len(rows) * len(columns) > _MOST:
            raise _OpenError
        repository.effort.spend(len(columns) * sum(map(len, rows)) + len(rows) * sum(map(len, columns)))
        return [{**row, **column} for row in rows for column in columns]
    raise _OpenError


def _within(parameters: list[Parameters]) -> list[Parameters]:
    if len(parameters) > _MOST:
        raise _OpenError
    return parameters


def _named(values: Mapping[str, Any], is_go: bool) -> Parameters:
    """Parameters as templates name them: nested for Go's, else by whole paths."""
    return values if is_go else dict(_flat(values, ""))


def _flat(value: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flat(inner, f"{prefix}.{key}" if prefix else str(key))
    else:
        yield prefix, value


def _of_git(git: Mapping[str, Any], repository: _Repository, is_go: bool) -> Iterator[Parameters]:
    """The parameters of folders, or of files with their content, that patterns name."""
    if git.get("pathParamPrefix") or git.get("template") or git.get("values"):
        raise _OpenError
    root, files, effort = repository
    wanted = mappings(git.get("directories"))
    effort.spend(len(files))
    folders = sorted({above for path in files for above in _above(path)}) if wanted else []
    effort.spend(len(folders) * len(wanted))
    kept = [as_text(entry.get("path")) for entry in wanted if entry.get("exclude") is not True]
    left_out = [as_text(entry.get("path")) for entry in wanted if entry.get("exclude") is True]
    for folder in folders:
        if _fits(folder, kept) and not _fits(folder, left_out):
            yield _path(folder, "", is_go)
    patterns = [as_text(entry.get("path")) for entry in mappings(git.get("files"))]
    effort.spend(len(files) * len(patterns))
    for path in files:
        if _fits(path, patterns):
            report = Report()
            text = read_text(root, path, report) or ""
            effort.spend(_FILE + len(text) // _CHARACTERS)
            documents = read(path, text, report)
            if report.failed or len(documents) != 1 or not isinstance(documents[0].value, dict):
                raise _OpenError
            folder, _, name = path.rpartition("/")
            yield {**_named(documents[0].value, is_go), **_path(folder, name, is_go)}


def _above(path: str) -> Iterator[str]:
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


def _fits(path: str, patterns: Iterable[str]) -> bool:
    """Whether a pattern fits a path part by part; `**` stands for any number of them."""
    parts = path.split("/")
    return any(fits_parts(parts, pattern.removeprefix("./").split("/")) for pattern in patterns if pattern)


def _path(folder: str, name: str, is_go: bool) -> Parameters:
    values: dict[str, Any] = {"path": folder, "basename": posixpath.basename(folder)}
    values |= {"filename": name} if name else {}
    if is_go:
        return {"path": values}
    segments = {f"path[{number}]": part for number, part in enumerate(folder.split("/"))}
    return {"path": folder, **{f"path.{key}": value for key, value in values.items() if key != "path"}, **segments}


def _filled(value: Any, parameters: Parameters, effort: Effort) -> Any:
    """A template with its fields; raises _OpenError where there is more in it than fields that are known."""
    effort.spend(1)
    if isinstance(value, str):
        effort.spend(len(value) // _CHARACTERS)
        text = _FIELD.sub(lambda match: _field(match[1], parameters, effort), value)
        if "{{" in _FIELD.sub("", value):
            raise _OpenError
        return text
    if isinstance(value, Mapping):
        return {key: _filled(inner, parameters, effort) for key, inner in value.items()}
    return [_filled(inner, parameters, effort) for inner in value] if isinstance(value, list) else value


def _field(name: str, parameters: Parameters, effort: Effort) -> str:
    value: Any = parameters
    for part in (name,) if name in parameters else name.split("."):
        if not isinstance(value, Mapping) or part not in value:
            raise _OpenError
        value = value[part]
    text = _text(value)
    effort.spend(_FILE + len(text) // _CHARACTERS)
    return text


def _text(value: Any) -> str:
    if isinstance(value, Mapping | list) or value is None:
        raise _OpenError
    return value if isinstance(value, str) else json.dumps(value)


# Who applies the folders of a repository: Applications of Argo CD, Kustomizations and HelmReleases of Flux.

_APPLIES = regex(r"argoproj\.io/|(?:kustomize|helm)\.toolkit\.fluxcd\.io/")
_FLUX = "kustomize.toolkit.fluxcd.io/"
# What changes the objects of a folder when Flux applies it.
_FLUX_CHANGES = ("targetNamespace", "patches", "postBuild", "components", "images", "namePrefix", "nameSuffix")


class Applier(NamedTuple):
    """An object by which a GitOps tool applies a folder, where it stands, its fields that change what is in the
    folder, and how it installs the folder if that is a Helm chart.

    `made_by` is the ApplicationSet that makes it, "" for an object of its own. `is_recursive`: it applies all files
    below the folder, as far as that has no kustomization.
    """

    name: str
    place: Location
    changes: tuple[str, ...] = ()
    release: Release | None = None
    made_by: str = ""
    is_recursive: bool = False


def read_appliers(root: Path, folder: Folder) -> dict[str, tuple[Applier, ...]]:
    """By the path of a folder the objects by which it is applied."""
    known: dict[str, list[Applier]] = {}
    files, effort = tuple(folder.walk()), Effort()
    for path in files:
        text = (read_text(root, path, Report()) or "") if path.endswith((".yaml", ".yml")) else ""
        if not _APPLIES.search(text):
            continue
        for document in read(path, text, Report()):
            obj = mapping(document.value)
            if not (isinstance(obj.get("kind"), str) and isinstance(mapping(obj.get("metadata")).get("name"), str)):
                continue
            made = applications_of(obj, root, files, effort) if obj["kind"] == "ApplicationSet" else ()
            for one in (obj, *made):
                for source, changes, release in _sources(one, document.source):
                    target = posixpath.normpath(source.strip("/") or ".")
                    release = release and release._replace(top=root)
                    made_by = "" if one is obj else applier_of(obj)
                    place, recurses = locate(document.source, ()), _recurses(one, source, target, files)
                    applier = Applier(applier_of(one), place, changes, release, made_by, recurses)
                    known.setdefault(target, []).append(applier)
    return {target: tuple(appliers) for target, appliers in known.items()}


def _recurses(obj: Mapping[str, Any], path: str, target: str, files: Iterable[str]) -> bool:
    """Whether an object of a GitOps tool applies the files of all folders below a path."""
    if as_text(obj.get("apiVersion")).startswith(_FLUX):
        built = {posixpath.normpath(posixpath.join(target, name)) for name in NAMES}
        return built.isdisjoint(files)
    return any(
        as_text(found["path"]).removeprefix("./") == path and mapping(found.get("directory")).get("recurse") is True
        for found in _with_path(spec_of(obj))
    )


def _sources(obj: Mapping[str, Any], place: Source) -> Iterator[tuple[str, tuple[str, ...], Release | None]]:
    """The paths that an object of Argo CD or Flux applies, each with the fields by which it changes what is there, and
    how it installs what is there if that is a chart."""
    api, spec = as_text(obj.get("apiVersion")), spec_of(obj)
    if api.startswith(HELM_RELEASE):
        installed = flux_release(obj, place) if obj["kind"] == "HelmRelease" else None
        if installed is not None:
            yield installed[0], (), installed[1]
    elif api.startswith(_FLUX):
        for path in _paths([spec]):
            yield path, tuple(field for field in _FLUX_CHANGES if spec.get(field)), None
    elif obj["kind"] == "Application":
        releases = dict(application_releases(obj, place))
        for source in (mapping(spec.get("source")), *mappings(spec.get("sources"))):
            changes = tuple(field for field in ("kustomize", "helm", "plugin") if source.get(field))
            for path in _paths([source]):
                yield path, tuple(f"source.{field}" for field in changes), releases.get(source["path"])
    elif obj["kind"] == "ApplicationSet":
        open_values = ("what its generators fill in",)
        for path in _paths(_with_path(spec)):
            yield path, (), Release(applier=applier_of(obj), place=locate(place, ()), unknown=open_values)


def _with_path(value: Any) -> Iterator[Mapping[str, Any]]:
    """All mappings with a `path`, at any depth: generators of ApplicationSets have theirs at many places."""
    if isinstance(value, dict):
        if isinstance(value.get("path"), str):
            yield value
        for inner in value.values():
            yield from _with_path(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _with_path(inner)


def _paths(values: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for value in values:
        path = value.get("path")
        # A template is filled in by the tool, from what may not even be in the repository.
        if isinstance(path, str) and path and not set(path) & set("{}*"):
            yield path.removeprefix("./")
