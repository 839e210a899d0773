"""Who applies the folders of a repository: Applications of Argo CD, Kustomizations and HelmReleases of Flux."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from olmc.lean import NamedTuple, regex
from olmc.load.applicationsets import Effort, applications_of
from olmc.load.files import Folder, read_text
from olmc.load.releases import HELM_RELEASE, Release, application_releases, applier_of, flux_release
from olmc.model.diagnostics import Location, Report, Source
from olmc.model.objects import as_text, mapping, mappings, spec_of
from olmc.yaml import locate, read

_APPLIES = regex(r"argoproj\.io/|(?:kustomize|helm)\.toolkit\.fluxcd\.io/")
_FLUX = "kustomize.toolkit.fluxcd.io/"
# What changes the objects of a folder when Flux applies it.
_FLUX_CHANGES = ("targetNamespace", "patches", "postBuild", "components", "images", "namePrefix", "nameSuffix")


class Applier(NamedTuple):
    """An object by which a GitOps tool applies a folder, where it stands, its fields that change what is in the
    folder, and how it installs the folder if that is a Helm chart.

    `made_by` is the ApplicationSet that makes it, "" for an object of its own.
    """

    name: str
    place: Location
    changes: tuple[str, ...] = ()
    release: Release | None = None
    made_by: str = ""


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
                    applier = Applier(applier_of(one), locate(document.source, ()), changes, release, made_by)
                    known.setdefault(target, []).append(applier)
    return {target: tuple(appliers) for target, appliers in known.items()}


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
