"""The installation of a chart of the repository: its values in Argo CD's Applications and Flux' HelmReleases."""

from __future__ import annotations

import itertools
import json
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any

from olmc.compiler.load.application_sets import (
    FIELD,
    BuildEnvironment,
    Effort,
    applications_of,
    build_environment,
    flat_values,
    folders_above,
    needs_cluster,
)
from olmc.compiler.load.files import Folder, read_text
from olmc.compiler.load.kustomization import NAMES
from olmc.compiler.load.patterns import cluster_groups
from olmc.k8s.diagnostics import Location, Report, Source
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.objects import Manifest, as_text, mapping, mappings, name_of, namespace_of, spec_of, texts
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
        environment, given = build_environment(application, part), mappings(helm.get("parameters"))
        files = tuple(
            _of_argo(text if text.startswith("$") else environment.filled(text), path,
                     locate(source, (*keys, "helm", "valueFiles", number)), same, here, helm)
            for number, text in enumerate(texts(helm.get("valueFiles")))
        )  # fmt: skip
        values, problem = _values(helm.get("valuesObject") or helm.get("values"))
        if problem:
            files += (ValueFile("", "values", locate(source, (*keys, "helm", "values")), problem),)
        open_values = any(needs_cluster(_plain(p.get("value"))) for p in given)
        yield path, Release(
            as_text(helm.get("releaseName")) or name_of(application),
            as_text(helm.get("namespace")) or as_text(mapping(spec.get("destination")).get("namespace")),
            applier_of(application), locate(source, ()), files, values, tuple(_parameters(given, environment)),
            as_text(helm.get("kubeVersion")), tuple(texts(helm.get("apiVersions"))), helm.get("skipCrds") is not True,
            tuple(f"source.{field}" for field in ("plugin",) if part.get(field))
            + ("source.helm.fileParameters",) * bool(helm.get("fileParameters"))
            + ("source.helm.parameters",) * open_values,
        )  # fmt: skip


def _parameters(given: Iterable[Mapping[str, Any]], environment: BuildEnvironment) -> Iterator[Parameter]:
    for each in given:
        if name := as_text(each.get("name")):
            yield Parameter(name, environment.filled(_plain(each.get("value"))), each.get("forceString") is True)


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


_ENCRYPTED = regex(r"secrets(\+[\w-]+)*://", re.IGNORECASE)
"""Paths by which the plugin helm-secrets reads a file, as `secrets+age-import://KEY?FILE`."""


def _of_argo(
    text: str, chart: str, place: Location, same: set[str], known: set[str], helm: Mapping[str, Any]
) -> ValueFile:
    """A file of values as an Application names it: from the chart, from the top, or from another source."""
    may_be_absent = helm.get("ignoreMissingValueFiles") is True
    if _ENCRYPTED.match(text):
        return ValueFile("", text, place, "which helm-secrets decrypts with a key of the cluster")
    if "{{" in text:
        return ValueFile("", text, place, "whose path is a template that is not filled in")
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


# Who applies the folders of a repository: Applications of Argo CD, Kustomizations and HelmReleases of Flux.

_APPLIES = regex(r"argoproj\.io/|(?:kustomize|helm)\.toolkit\.fluxcd\.io/")
_APPLYING_KIND = regex(r"kind[\"']?\s*:\s*[\"']?(?:Application|ApplicationSet|Kustomization|HelmRelease)\b")
_FLUX = "kustomize.toolkit.fluxcd.io/"
# The fields by which Flux changes the objects of a folder, apart from its namespace and its variables.
_FLUX_CHANGES = ("patches", "components", "images", "namePrefix", "nameSuffix")
_APPLYING = ("Application", "ApplicationSet", "Kustomization", "HelmRelease")
_IN_CLUSTER = ("", "in-cluster", "https://kubernetes.default.svc", "https://kubernetes.default.svc:443")
LOCAL_CLUSTER = "in-cluster"
"""The cluster in which a GitOps tool runs, where the repository names it nowhere."""

_FOLDERS_OF_CLUSTERS = frozenset(
    "clusters cluster environments environment envs env sites site hubs hub spokes managed-clusters overlays".split()
)
_NO_CLUSTERS = frozenset("base bases common default shared all".split())
# Overlays are called after channels and versions of an operator as well.
_CHANNEL = regex(
    r"(?:stable|fast|latest|candidate|preview|alpha|beta|rapid)(?:[-_.]?v?\d[\w.]*)?|(?:v|ocp-?|openshift-?)?\d+(?:\.(?:\d+|x))+",
    re.IGNORECASE,
)
_SECRET_OF_CLUSTER = "-kubeconfig"


class VariableSource(NamedTuple):
    """A ConfigMap or a Secret from which Flux takes the values of variables."""

    kind: str
    name: str


class Variables(NamedTuple):
    """The values that Flux fills into the objects of a folder: values by name, and the objects with further ones."""

    values: tuple[tuple[str, str], ...] = ()
    sources: tuple[VariableSource, ...] = ()


class Destination(NamedTuple):
    """The destination of a folder that a GitOps tool applies, and the changes of the folder on the way.

    `cluster` is "" where the repository names none. `namespace` is for objects that name none; with `replaces` it is
    the namespace of all objects. `variables` are those of Flux, None where it fills in none.
    """

    cluster: str = ""
    namespace: str = ""
    replaces: bool = False
    variables: Variables | None = None


class DirectoryReading(NamedTuple):
    """The files that a tool applies of a folder without a kustomization: those of its subfolders only if it is
    recursive; and the patterns of the files that count, "" for all, and of those that do not, "" for none."""

    is_recursive: bool = False
    include: str = ""
    exclude: str = ""

    def takes(self, path: str) -> bool:
        """Return whether the file at a path below the folder is applied."""
        if "/" in path and not self.is_recursive:
            return False
        if self.exclude and _fits_glob(path, self.exclude):
            return False
        return not self.include or _fits_glob(path, self.include) is not False


_CHOICE = regex(r"\{([^{}]*)\}")
_MOST_CHOICES = 64


def _fits_glob(path: str, pattern: str) -> bool | None:
    """Return whether a pattern of Argo CD fits a path: `*` stands for any characters, `{a,b}` for one of several texts;
    None for a pattern with too many of these."""
    waiting, plain = [pattern], list[str]()
    while waiting and len(waiting) + len(plain) <= _MOST_CHOICES:
        one = waiting.pop()
        choice = _CHOICE.search(one)
        if choice is None:
            plain.append(one)
        else:
            waiting += [one[: choice.start()] + text + one[choice.end() :] for text in choice[1].split(",")]
    return any(fnmatchcase(path, one) for one in plain) if not waiting else None


Settings = tuple[tuple[str, str], ...]
"""Fields of an object by name, each with its value as JSON."""


class Applier(NamedTuple):
    """An object by which a GitOps tool applies a folder, where it stands, its fields that change what is in the
    folder, and how it installs the folder if that is a Helm chart.

    `made_by` is the ApplicationSet that makes it, "" for an object of its own; `destination` is where it applies it.
    `reading` are the files that it applies of a folder without a kustomization. `is_server_side`: the
    API server merges what it applies, so that no object keeps a copy of itself. `settings` are the fields that change
    what it applies and that olmc does not follow. `is_pruning`: the tool removes what is not applied any more.
    """

    name: str
    place: Location
    changes: tuple[str, ...] = ()
    release: Release | None = None
    made_by: str = ""
    destination: Destination = Destination()
    reading: DirectoryReading = DirectoryReading()
    is_server_side: bool = False
    settings: Settings = ()
    is_pruning: bool = True


class _AppliedSource(NamedTuple):
    """A path that an object applies, the fields by which it changes what is there, how it installs a chart, where, and
    the fields that olmc does not follow."""

    path: str
    changes: tuple[str, ...] = ()
    release: Release | None = None
    destination: Destination = Destination()
    settings: Settings = ()


class OpenSource(NamedTuple):
    """Paths that an ApplicationSet applies for clusters that only Argo CD knows: the segments of a path, in which a
    field that is unknown is `{NAME}`; the fields `parts` name something else than a cluster."""

    segments: tuple[str, ...]
    applier: Applier
    parts: frozenset[str] = frozenset()

    def at(self, path: str) -> Applier | None:
        """Return who applies the folder at a path, with the cluster that its name stands for; None for others."""
        parts, values = path.split("/"), dict[str, str]()
        for number, segment in enumerate(self.segments):
            pattern = _OPEN_FIELD.sub("*", segment)
            if number >= len(parts):
                if pattern != "*":
                    return None
                continue  # a value may be empty
            if not fnmatchcase(parts[number], pattern):
                return None
            if field := _OPEN_FIELD.fullmatch(segment):
                values[field[1]] = parts[number]
        if len(parts) > len(self.segments):
            return None
        named = ((name, value) for name, value in values.items() if name not in self.parts)
        cluster = next((value for name, value in named if _is_cluster(name, value)), "")
        destination = self.applier.destination
        return self.applier._replace(destination=destination._replace(cluster=cluster or destination.cluster))


class ReadSet(NamedTuple):
    """An ApplicationSet: its file, its fields that make Applications, and whether olmc can determine these."""

    file: str
    settings: Settings
    is_followed: bool


class Appliers(NamedTuple):
    """The appliers of the folders of a repository: by path, by patterns of paths, and by paths whose parts are in
    several ApplicationSets. `sets` are all ApplicationSets by name."""

    by_path: Mapping[str, tuple[Applier, ...]]
    open_sources: tuple[OpenSource, ...] = ()
    by_values: Mapping[str, tuple[Applier, ...]] = MappingProxyType({})
    sets: Mapping[str, ReadSet] = MappingProxyType({})

    def of(self, path: str) -> tuple[Applier, ...]:
        """Return those that apply the folder at a path."""
        found = (applier for source in self.open_sources if (applier := source.at(path)) is not None)
        return tuple(dict.fromkeys((*self.by_path.get(path, ()), *self.by_values.get(path, ()), *found)))


_OPEN_FIELD = regex(r"\{([\w.\[\]-]*)\}")
_CLUSTER_FIELDS = frozenset("name namenormalized cluster clustername clusterdir clusterfolder server".split())


_KEPT_ASIDE = regex(
    r"(?:^|/)(?:\.?archived?|archives|docs?|tests|testdata|(?:[^/]*[-_])?(?:examples?|samples?))(?:/|$)", re.IGNORECASE
)


def is_kept_aside(path: str) -> bool:
    """Return whether a path leads through an archive, a documentation, examples, or data of tests, which no tool
    applies."""
    return _KEPT_ASIDE.search(path) is not None


def speaks_of_tools(text: str) -> bool:
    """Return whether a text may have an object by which a GitOps tool applies something."""
    return _APPLIES.search(text) is not None and _APPLYING_KIND.search(text) is not None


def read_appliers(
    root: Path, folder: Folder, rendered: Mapping[str, Sequence[Manifest]] = MappingProxyType({})
) -> Appliers:
    """Read the objects by which the folders of a repository are applied; those that are kept aside apply nothing.

    `rendered` are the objects that charts of the repository become, by the folders of their templates, in whose place
    they count.
    """
    known: dict[str, list[Applier]] = {}
    sets: list[tuple[dict[str, Any], Location]] = []
    followed: dict[str, ReadSet] = {}
    files, effort = tuple(folder.walk()), Effort()
    for obj, document in _applying(root, files, rendered):
        made = applications_of(obj, root, files, effort) if obj["kind"] == "ApplicationSet" else ()
        place = locate(document, ())
        if obj["kind"] == "ApplicationSet" and not made:
            sets.append((dict(obj), place))
        if obj["kind"] == "ApplicationSet":
            followed[applier_of(obj)] = ReadSet(place.path, _settings(spec_of(obj), _SET_FIELDS), made is not None)
        for one in made or (obj,):
            for source in _sources(one, document):
                target = posixpath.normpath(source.path.strip("/") or ".")
                release = source.release and source.release._replace(top=root)
                made_by = "" if one is obj else applier_of(obj)
                applier = Applier(
                    applier_of(one), place, source.changes, release, made_by, source.destination,
                    _reading(one, source.path, target, files), _is_server_side(one), source.settings,
                    _is_pruning(one),
                )  # fmt: skip
                known.setdefault(target, []).append(applier)
    for target, applier in _of_patterns(root, folder):
        known.setdefault(target, []).append(applier)
    open_sources: list[OpenSource] = []
    possible: dict[str, list[Applier]] = {}
    folders = {above for path in files for above in folders_above(path)} if sets else set()
    for found in _open_sources(sets):
        release = found.applier.release and found.applier.release._replace(top=root)
        one_source = found._replace(applier=found.applier._replace(release=release))
        path = "/".join(found.segments)
        if any(map(_OPEN_FIELD.search, found.segments)):
            open_sources.append(one_source)
        elif path in folders:
            possible.setdefault(path, []).append(one_source.applier)
    by_path, by_values = ({k: tuple(dict.fromkeys(v)) for k, v in paths.items()} for paths in (known, possible))
    return Appliers(by_path, tuple(dict.fromkeys(open_sources)), by_values, followed)


def _applying(
    root: Path, files: Iterable[str], rendered: Mapping[str, Sequence[Manifest]]
) -> Iterator[tuple[Mapping[str, Any], Source]]:
    """The objects by which folders are applied, each with the place that it is read from."""
    templates = tuple(f"{folder}/" for folder in rendered)
    for path in files:
        if not path.endswith((".yaml", ".yml")) or path.startswith(templates) or is_kept_aside(posixpath.dirname(path)):
            continue
        text = read_text(root, path, Report()) or ""
        if not speaks_of_tools(text):
            continue
        for document in read(path, text, Report()):
            obj = mapping(document.value)
            if _is_applying(obj):
                yield obj, document.source
    for manifest in chain.from_iterable(rendered.values()):
        if _is_applying(manifest.object):
            yield manifest.object, manifest.source


def _is_applying(obj: Mapping[str, Any]) -> bool:
    return obj.get("kind") in _APPLYING and isinstance(mapping(obj.get("metadata")).get("name"), str)


def _of_patterns(root: Path, folder: Folder) -> Iterator[tuple[str, Applier]]:
    """The folders that validated patterns apply, and their files of values, which are entries themselves."""
    for group in cluster_groups(root, folder):
        place = Location(group.path)
        yield group.path, Applier(f"clusterGroup/{group.name}", place, destination=Destination(group.name))
        files = tuple(
            ValueFile(name, name, place, may_be_absent=True) for name in ("values-global.yaml", group.path)
        )  # fmt: skip
        for application in group.applications:
            name = f"clusterGroup/{group.name}/{application.name}"
            release = Release(
                application.name, application.namespace, name, application.place, files, top=root,
            )  # fmt: skip
            there = Destination(group.name, application.namespace)
            yield application.path, Applier(name, application.place, (), release, "", there, DirectoryReading(True))


def _is_server_side(obj: Mapping[str, Any]) -> bool:
    """Return whether an object of a GitOps tool has the API server merge; Flux always does."""
    spec = spec_of(obj)
    if obj["kind"] == "ApplicationSet":
        spec = mapping(mapping(spec.get("template")).get("spec"))
    options = texts(mapping(spec.get("syncPolicy")).get("syncOptions"))
    return as_text(obj.get("apiVersion")).startswith((_FLUX, HELM_RELEASE)) or any(
        option in ("ServerSideApply=true", "Replace=true") for option in options
    )


def _reading(obj: Mapping[str, Any], path: str, target: str, files: Iterable[str]) -> DirectoryReading:
    """Return which files of a folder without a kustomization an object of a GitOps tool applies."""
    if as_text(obj.get("apiVersion")).startswith(_FLUX):
        built = {posixpath.normpath(posixpath.join(target, name)) for name in NAMES}
        return DirectoryReading(built.isdisjoint(files))
    own = (s for s in _with_path(spec_of(obj)) if as_text(s["path"]).removeprefix("./") == path)
    return next((_directory(source) for source in own if source.get("directory")), DirectoryReading())


def _directory(source: Mapping[str, Any]) -> DirectoryReading:
    given = mapping(source.get("directory"))
    return DirectoryReading(given.get("recurse") is True, as_text(given.get("include")), as_text(given.get("exclude")))


def _is_pruning(obj: Mapping[str, Any]) -> bool:
    """Return whether a tool removes what an object of it no longer applies: a Kustomization of Flux says so."""
    return not as_text(obj.get("apiVersion")).startswith(_FLUX) or spec_of(obj).get("prune") is True


def _sources(obj: Mapping[str, Any], place: Source) -> Iterator[_AppliedSource]:
    """The paths that an object of Argo CD or Flux applies, each with the fields by which it changes what is there, how
    it installs what is there if that is a chart, and where."""
    api, spec = as_text(obj.get("apiVersion")), spec_of(obj)
    if api.startswith(HELM_RELEASE):
        installed = flux_release(obj, place) if obj["kind"] == "HelmRelease" else None
        if installed is not None:
            there = Destination(_cluster_of_flux(spec, place.path), installed[1].namespace)
            yield _AppliedSource(installed[0], (), installed[1], there, _settings(spec, _FLUX_FIELDS))
    elif api.startswith(_FLUX):
        for path in _paths([spec]):
            changes, there = tuple(f for f in _FLUX_CHANGES if spec.get(f)), _of_flux(spec, place.path)
            yield _AppliedSource(path, changes, None, there, _settings(spec, _FLUX_FIELDS))
    elif obj["kind"] == "Application":
        releases, destination = dict(application_releases(obj, place)), _of_application(spec, place.path)
        for source in (mapping(spec.get("source")), *mappings(spec.get("sources"))):
            changes = tuple(field for field in ("kustomize", "helm", "plugin") if source.get(field))
            namespace = as_text(mapping(source.get("kustomize")).get("namespace"))
            there = destination._replace(namespace=namespace, replaces=True) if namespace else destination
            if mapping(source.get("kustomize")).keys() == {"namespace"}:
                changes = tuple(field for field in changes if field != "kustomize")
            for path in _paths([source]):
                fields = tuple(f"source.{field}" for field in changes)
                yield _AppliedSource(
                    path, fields, releases.get(source["path"]), there, _of_source(source, mappings(spec.get("sources")))
                )
    elif obj["kind"] == "ApplicationSet":
        open_values = ("what its generators fill in",)
        body = mapping(mapping(spec.get("template")).get("spec"))
        release = Release(applier=applier_of(obj), place=locate(place, ()), unknown=open_values)
        for path in _paths(_with_path(spec)):
            yield _AppliedSource(path, (), release, _of_application(body, place.path))


_SOURCE_FIELDS = ("repoURL", "targetRevision", "chart", "kustomize", "plugin", "directory")
_FLUX_FIELDS = (
    "sourceRef", "suspend", "patches", "patchesStrategicMerge", "patchesJson6902", "images", "components",
    "commonMetadata", "namePrefix", "nameSuffix", "valuesFrom", "postRenderers", "chartRef",
)  # fmt: skip
_SET_FIELDS = ("generators", "template", "templatePatch", "goTemplate", "goTemplateOptions")
_FOLLOWED = {"kustomize": ("namespace",), "directory": ("recurse", "include", "exclude")}
"""Fields in fields of a source that olmc follows."""


def _settings(obj: Mapping[str, Any], fields: Iterable[str]) -> Settings:
    """Those of the fields that an object has."""
    return tuple((name, json.dumps(obj[name], sort_keys=True, default=str)) for name in fields if obj.get(name))


def _of_source(source: Mapping[str, Any], others: Iterable[Mapping[str, Any]]) -> Settings:
    """The fields of a source of an Application that olmc does not follow, and those of the sources to which its files
    of values refer."""
    followed = {
        name: {key: value for key, value in mapping(source[name]).items() if key not in inner}
        for name, inner in _FOLLOWED.items()
        if name in source
    }
    referred = {f"ref {other['ref']}": dict(_settings(other, _SOURCE_FIELDS)) for other in others if other.get("ref")}
    return (*_settings({**source, **followed}, _SOURCE_FIELDS), *_settings(referred, sorted(referred)))


def _of_application(spec: Mapping[str, Any], path: str) -> Destination:
    """Return where an Application applies its sources; a template's field stands for nothing that is known."""
    destination = mapping(spec.get("destination"))
    cluster, namespace = (as_text(destination.get("name")) or as_text(destination.get("server"))), ""
    if "{{" not in as_text(destination.get("namespace")):
        namespace = as_text(destination.get("namespace"))
    if cluster in _IN_CLUSTER:
        cluster = _cluster_of(path) or LOCAL_CLUSTER
    return Destination("" if "{{" in cluster else cluster, namespace)


def _of_flux(spec: Mapping[str, Any], path: str) -> Destination:
    """Return where a Kustomization of Flux applies its folder, and with which variables."""
    given = mapping(spec.get("postBuild"))
    variables = None
    if given:
        values = tuple((str(name), _plain(value)) for name, value in mapping(given.get("substitute")).items())
        held = mappings(given.get("substituteFrom"))
        variables = Variables(
            values, tuple(VariableSource(as_text(o.get("kind")), as_text(o.get("name"))) for o in held)
        )
    namespace = as_text(spec.get("targetNamespace"))
    return Destination(_cluster_of_flux(spec, path), namespace, bool(namespace), variables)


def _cluster_of_flux(spec: Mapping[str, Any], path: str) -> str:
    remote = as_text(mapping(mapping(spec.get("kubeConfig")).get("secretRef")).get("name"))
    if "${" in remote:
        return ""  # Flux fills it in
    return remote.removesuffix(_SECRET_OF_CLUSTER) or _cluster_of(path) or LOCAL_CLUSTER


def _cluster_of(path: str) -> str:
    """The cluster that the folder of a file is called after, as in `clusters/NAME/apps.yaml`; "" for none."""
    parts = path.split("/")[:-1]
    for above, name in itertools.pairwise(parts):
        if above in _FOLDERS_OF_CLUSTERS and name not in _FOLDERS_OF_CLUSTERS and _may_be_cluster(name):
            return name
    return ""


def _may_be_cluster(name: str) -> bool:
    """Return whether a name is neither that of a part for several clusters nor of a channel or a version."""
    return name not in _NO_CLUSTERS and _CHANNEL.fullmatch(name) is None


def _open_sources(sets: Sequence[tuple[Mapping[str, Any], Location]]) -> Iterator[OpenSource]:
    """The paths of ApplicationSets whose generators ask clusters, as far as the repository has their values.

    Values with a slash in them are folders of the repository. Any other value may be another one in a cluster: overlays
    of an ApplicationSet give it one that other sets have.
    """
    values = [_values_by_name(obj) for obj, _ in sets]
    others: dict[str, dict[str, None]] = {name: {} for known in values for name in known}
    for known in values:
        plain = {name: {text: None for text in texts if "/" not in text} for name, texts in known.items()}
        others.update({name: {**others[name], **texts} for name, texts in plain.items()})
    for (obj, place), known in zip(sets, values, strict=True):
        yield from _sources_of_set(obj, place, known, others)


def _values_by_name(obj: Mapping[str, Any]) -> dict[str, dict[str, None]]:
    values: dict[str, dict[str, None]] = {}
    for name, value in _generator_values(spec_of(obj).get("generators")):
        values.setdefault(name, {})[value] = None
    return values


def _sources_of_set(
    obj: Mapping[str, Any], place: Location, values: Mapping[str, Iterable[str]], others: Mapping[str, Iterable[str]]
) -> Iterator[OpenSource]:
    body = mapping(mapping(spec_of(obj).get("template")).get("spec"))
    destination = _of_application(body, place.path)
    release = Release(
        namespace=destination.namespace, applier=applier_of(obj), place=place, unknown=("what its generators fill in",)
    )
    parts = _part_fields(obj, body)
    for source in (mapping(body.get("source")), *mappings(body.get("sources"))):
        template = as_text(source.get("path"))
        if "{{" not in template:
            continue
        applier = Applier(
            applier_of(obj), place, (), release, "", destination, _directory(source), _is_server_side(obj)
        )
        fields = tuple(dict.fromkeys(match[1] for match in FIELD.finditer(template)))
        # A value without a slash is one among others, which overlays of the ApplicationSet may have.
        folders = [[v for v in values.get(name, ()) if "/" in v] or [f"{{{name}}}"] for name in fields]
        known = [list((values if folder != [f"{{{name}}}"] else others).get(name, ()))
                 for name, folder in zip(fields, folders, strict=True)]  # fmt: skip
        for choice in itertools.islice(chain(itertools.product(*folders), itertools.product(*known)), _MOST_VALUES):
            path = FIELD.sub(partial(_chosen, dict(zip(fields, choice, strict=True))), template)
            segments = tuple(part for part in path.strip("/").split("/") if part not in ("", "."))
            # A folder that overlays include is no folder of a cluster.
            is_whole = segments[-1:] and segments[-1] not in _NO_CLUSTERS
            if is_whole and "{{" not in path and any("{" not in part and set(part) != {"*"} for part in segments):
                named = ((name, v) for name, v in zip(fields, choice, strict=True) if name not in parts)
                cluster = next((v for name, v in named if _is_cluster(name, v)), "")
                there = destination._replace(cluster=cluster or destination.cluster)
                yield OpenSource(segments, applier._replace(destination=there), parts)


def _part_fields(obj: Mapping[str, Any], body: Mapping[str, Any]) -> frozenset[str]:
    """The fields that name parts of each cluster: a matrix takes them from a list beside the clusters, and no
    destination has them."""
    destination = mapping(body.get("destination"))
    there = {m[1] for name in ("name", "server") for m in FIELD.finditer(as_text(destination.get(name)))}
    found: set[str] = set()
    for matrix in _matrices(spec_of(obj).get("generators")):
        several = mappings(matrix.get("generators"))
        listed = [one for one in several if "list" in one]
        if len(listed) < len(several):
            names = (name for one in listed for each in mappings(mapping(one["list"]).get("elements")) for name in each)
            found.update(map(str, names))
    return frozenset(found - there)


def _matrices(generators: Any) -> Iterator[Mapping[str, Any]]:
    """The matrices among generators, at any depth."""
    for generator in mappings(generators):
        for kind, given in generator.items():
            body = mapping(given)
            if kind == "matrix":
                yield body
            yield from _matrices(body.get("generators"))


def _chosen(values: Mapping[str, str], match: re.Match[str]) -> str:
    return values[match[1]]


def _is_cluster(field: str, value: str) -> bool:
    """Return whether the value of a field is the name of a cluster."""
    is_known = bool(value) and not value.startswith("{") and _may_be_cluster(value)
    return is_known and field.rpartition(".")[2].lower() in _CLUSTER_FIELDS


_MOST_VALUES = 1_000


def _generator_values(generators: Any) -> Iterator[tuple[str, str]]:
    """The names and texts that generators have for templates, at any depth: values, elements of lists, and folders."""
    for generator in mappings(generators):
        for kind, given in generator.items():
            body = mapping(given)
            yield from _generator_values(body.get("generators"))
            for name, value in flat_values(mapping(body.get("values")), "values"):
                yield name, _plain(value)
            for element in mappings(body.get("elements")):
                for name, value in flat_values(element, ""):
                    yield name, _plain(value)
            for folder in mappings(body.get("directories")) if kind == "git" else ():
                if folder.get("exclude") is not True:
                    yield from ((name, as_text(folder.get("path"))) for name in ("path", "path.path"))


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
