"""How a chart of the repository is installed: what Argo CD's Applications and Flux' HelmReleases say of its values."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from olmc.lean import NamedTuple, regex
from olmc.model.diagnostics import Location, Report, Source
from olmc.model.objects import as_text, mapping, mappings, name_of, namespace_of, spec_of, texts
from olmc.yaml import locate, read

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
