"""Objects of manifests and bundles: their size, their kind, and texts that Flux takes for variables."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from olmc.check.lints import LintSubject
from olmc.check.validators.manifests import SUPPORTED
from olmc.diagnostics.rules import lints as rules
from olmc.kube.api_validation.metadata import ANNOTATIONS_LIMIT
from olmc.kube.applied import annotations_of, applied_size, is_applied_by_server, is_surely_small, size_of
from olmc.model.diagnostics import Diagnostic, Location, OversizedAnnotations, Source
from olmc.model.objects import KubernetesObject, object_key
from olmc.model.workspace import Bundle, Manifest
from olmc.olm.profiles.data import profile_of
from olmc.yaml import at, locate
from olmc.yaml.events import LINE_BREAK

_FLUX = "kustomize.toolkit.fluxcd.io/"
_VARIABLE = re.compile(r"(?<!\$)\$\{([A-Za-z_][A-Za-z0-9_]*)[^}\n]*\}")
_WAVE = "argocd.argoproj.io/sync-wave"
_INTEGER = re.compile("[+-]?[0-9]+")

Keys = tuple[str | int, ...]


class _Held(NamedTuple):
    """An object of a file, and the bundle that it belongs to."""

    manifest: Manifest
    bundle: Bundle | None


def _held(subject: LintSubject) -> Iterator[_Held]:
    for manifest in subject.workspace.manifests:
        yield _Held(manifest, None)
    for _, bundle in sorted(subject.workspace.bundles.items()):
        for file in bundle.files:
            yield _Held(file.manifest, bundle)


def sizes(subject: LintSubject) -> Iterator[Diagnostic]:
    """Annotations that no cluster takes, and objects that client-side apply can't put into an annotation."""
    applied = subject.options.purpose == "apply"
    for manifest, bundle in _held(subject):
        obj = manifest.object
        if is_surely_small(manifest.source):
            continue
        size = size_of(annotations_of(obj))
        if size > ANNOTATIONS_LIMIT:
            place = at(manifest.source, "metadata", "annotations")
            yield rules.ANNOTATIONS_TOO_LARGE.finding(
                place, identity=object_key(obj), size=size, limit=ANNOTATIONS_LIMIT
            )
            continue
        size = applied_size(obj)
        if size <= ANNOTATIONS_LIMIT or is_applied_by_server(obj):
            continue
        rule = rules.TOO_LARGE_TO_APPLY if bundle is None or applied else rules.LARGE_IN_BUNDLE
        found = rule.finding(at(manifest.source), identity=object_key(obj), size=size, limit=ANNOTATIONS_LIMIT)
        yield found.caused_by(OversizedAnnotations(object_key(obj).kind))


def waves(subject: LintSubject) -> Iterator[Diagnostic]:
    """Sync waves of Argo CD that are no integers."""
    for manifest in subject.workspace.manifests:
        text = annotations_of(manifest.object).get(_WAVE, "0")
        if not _INTEGER.fullmatch(text):
            place = at(manifest.source, "metadata", "annotations", _WAVE)
            yield rules.BAD_WAVE.finding(place, identity=object_key(manifest.object), text=text)


def not_installable(subject: LintSubject) -> Iterator[Diagnostic]:
    """Kinds that the validators accept in a bundle and the catalog operator does not (R-CAT-107, R-CAT-705)."""
    profile = profile_of(subject.options.olm_version)
    for manifest, bundle in _held(subject):
        kind = manifest.object.get("kind")
        if bundle is not None and kind in SUPPORTED and kind not in profile.bundle_kinds:
            name = object_key(manifest.object).name
            yield rules.NOT_INSTALLABLE.finding(at(manifest.source, "kind"), bundle=bundle.name, kind=kind, name=name)


def variables(subject: LintSubject) -> Iterator[Diagnostic]:
    """The first `${…}` of an object: a certain loss where a Kustomization of the workspace substitutes variables."""
    applied = subject.options.purpose == "apply"
    flux = next(filter(_substitutes, (manifest.object for manifest in subject.workspace.manifests)), None)
    held = list(_held(subject))
    # Most files have none; and many objects may share one, which is looked through once.
    suspects = {text for text in {each.manifest.source.text for each in held} if "${" in text}
    for manifest, bundle in held:
        if manifest.source.text not in suspects or _is_exempt(manifest.object):
            continue
        first = next(_variables_in(manifest.object), None)
        if first is None:
            continue
        found, keys, of_key = first
        place = _written(manifest.source, locate(manifest.source, keys, of_key=of_key), found[0])
        if flux is None or (bundle is not None and not applied):
            yield rules.SUBSTITUTABLE.finding(place, text=found[0])
        else:
            name = f"Kustomization {flux['metadata']['name']}"
            yield rules.SUBSTITUTED.finding(place, text=found[0], name=found[1], kustomization=name)


def _variables_in(value: Any, keys: Keys = ()) -> Iterator[tuple[re.Match[str], Keys, bool]]:
    """The first `${…}` of each text in a value, the keys that lead to the text, and whether it is a key itself."""
    if isinstance(value, str):
        found = _VARIABLE.search(value)
        if found:
            yield found, keys, False
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _variables_in(item, (*keys, index))
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from ((found, (*keys, key), True) for found, _, _ in _variables_in(key))
            yield from _variables_in(item, (*keys, key))


def _written(source: Source, start: Location, variable: str) -> Location:
    """Where a variable stands in a text that begins at `start`; there, where it is written with escapes."""
    lines = _line_starts(source.text)
    offset = lines[start.line - 1] + start.column - 1
    found = re.compile(r"(?<!\$)" + re.escape(variable)).search(source.text, offset)
    if found is None:
        return start
    line = bisect(lines, found.start())
    return Location(source.path, line, found.start() - lines[line - 1] + 1)


@lru_cache(maxsize=2)
def _line_starts(text: str) -> tuple[int, ...]:
    return (0, *(end.end() for end in LINE_BREAK.finditer(text)))


def _substitutes(obj: KubernetesObject) -> bool:
    """Whether an object is a Kustomization of Flux that substitutes variables."""
    spec = obj.get("spec")
    is_flux = obj["kind"] == "Kustomization" and obj["apiVersion"].startswith("kustomize.toolkit.fluxcd.io/")
    return is_flux and isinstance(spec, dict) and bool(spec.get("postBuild"))


def _is_exempt(obj: KubernetesObject) -> bool:
    metadata = obj.get("metadata")
    marks = [metadata.get(key) for key in ("annotations", "labels")] if isinstance(metadata, dict) else []
    return any(isinstance(mark, dict) and mark.get(f"{_FLUX}substitute") == "disabled" for mark in marks)
