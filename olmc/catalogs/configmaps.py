"""Catalogs in ConfigMaps (R-CAT-150)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from olmc.catalogs.catalog_errors import CatalogError, tell, unavailable
from olmc.catalogs.csv_graphs import base_of, database_bundle, package_manifest, package_of, wrapped
from olmc.catalogs.properties import APIKey, crd_apis, described_crds, required_apis
from olmc.catalogs.rendering import UncataloguedBundle
from olmc.diagnostics.rules import catalogs as rules
from olmc.gojson import DecodeError, decode_error, json_kind
from olmc.kube.api_validation.field import aggregated
from olmc.model.catalog import Catalog, Package
from olmc.model.diagnostics import Place, Report, Severity, Source
from olmc.model.objects import KubernetesObject
from olmc.model.operators import Csv
from olmc.yaml import read

_NO_CAUSE = "%!s(<nil>)"
"""What OLM prints in these places, where it means to print an error and has none."""

CRDS, CSVS, PACKAGES = "customResourceDefinitions", "clusterServiceVersions", "packages"


@dataclass(slots=True)
class _ConfigMapReading:
    """What is known while a ConfigMap is read; `source` is its document."""

    data: Mapping[str, Any]
    source: Source
    report: Report
    crds: dict[APIKey, KubernetesObject] = field(default_factory=dict)
    bundles: dict[str, UncataloguedBundle] = field(default_factory=dict)
    packages: dict[str, Package] = field(default_factory=dict)
    troubles: list[CatalogError] = field(default_factory=list)

    def place(self, key: str) -> Place:
        return Place(self.source, ("data", key) if key in self.data else ())

    def refuse(self, key: str, cause: object) -> None:
        self.troubles.append(CatalogError(rules.BAD_CONFIGMAP, self.place(key), {"cause": cause}))


class _ConfigMapStop(Exception):  # noqa: N818  (the end of the reading, told already)
    """OLM reads no further."""


def catalog_from_configmap(obj: KubernetesObject, source: Source, report: Report) -> Catalog:
    """The catalog in the ConfigMap `obj`, whose document is `source`, or an unavailable one (R-CAT-150)."""
    data = obj.get("data")
    work = _ConfigMapReading(data if isinstance(data, dict) else {}, source, report)
    try:
        _read_crds(work)
        _read_csvs(work)
        _read_packages(work)
    except _ConfigMapStop:
        pass
    tell(work.troubles, report)
    if work.troubles:
        return unavailable(aggregated(each.text for each in work.troubles), Place(source))
    return Catalog(work.packages, location=Place(source))


def _list_in(work: _ConfigMapReading, key: str, what: str) -> list[dict[str, Any]]:
    """The items of the list in the text under `key`; `what` names it in OLM's errors."""
    if key not in work.data:
        work.refuse(key, f"couldn't find expected key {key} in configmap")
        raise _ConfigMapStop
    found = Report()
    written = work.data[key]
    documents = read(work.source.path, written if isinstance(written, str) else "", found)
    problem = next((each.message for each in found if each.severity is Severity.ERROR), "")
    if problem:
        work.refuse(key, f"error loading {what} list: {problem}" if what else problem)
        raise _ConfigMapStop
    value = documents[0].value if documents else None
    wrong = value if not isinstance(value, list | None) else _first_wrong(value or [])
    if wrong is not None:
        cause = f"json: cannot unmarshal {json_kind(wrong)} into an item of {key}"
        work.refuse(key, f"error parsing {what} list: {cause}" if what else cause)
        raise _ConfigMapStop
    return [item for item in value or () if item is not None]


def _first_wrong(items: list[Any]) -> Any:
    return next((item for item in items if item is not None and not isinstance(item, dict)), None)


def _read_crds(work: _ConfigMapReading) -> None:
    for crd in _list_in(work, CRDS, ""):
        whole = _with_versions(crd)
        for api in crd_apis(whole):
            if api in work.crds:
                work.refuse(CRDS, f"can't add the same CRD twice in one configmap: {api}")
            work.crds.setdefault(api, whole)


def _with_versions(crd: KubernetesObject) -> KubernetesObject:
    spec = crd.get("spec")
    # OLM decodes them all as v1beta1, whatever they say.
    whole = {"apiVersion": "apiextensions.k8s.io/v1beta1", **crd}
    if isinstance(spec, dict) and spec.get("versions") is None and spec.get("version"):
        version = {"name": spec["version"], "served": True, "storage": True}
        whole["spec"] = {**spec, "versions": [version]}
    return whole


def _read_csvs(work: _ConfigMapReading) -> None:
    found = _list_in(work, CSVS, "CSV")
    error = decode_error("[]registry.ClusterServiceVersion", found)
    if error is not None:
        work.refuse(CSVS, f"error parsing CSV list: {error}")
        raise _ConfigMapStop
    for csv in found:
        bundle = UncataloguedBundle("", (), "", csv, (csv, *_owned_crds(csv, work)), location=work.place(CSVS))
        if base_of(bundle):
            work.troubles.append(CatalogError(rules.SUBSTITUTES_FOR, bundle.location))
        try:
            required_apis(bundle.objects)
        except ValueError as error:
            work.refuse(CSVS, f"error adding operator bundle {bundle.name}/{bundle.version}/: {error}")
            continue
        work.bundles.setdefault(bundle.name, bundle)


def _owned_crds(csv: KubernetesObject, work: _ConfigMapReading) -> list[KubernetesObject]:
    """The CRDs that a CSV owns in the order in which it lists them, each once (D9)."""
    found: list[KubernetesObject] = []
    try:
        for api in described_crds(Csv(csv).owned_crds):
            crd = work.crds.get(api)
            if crd is None:
                work.refuse(CSVS, f"couldn't find owned CRD in crd list {api}: {_NO_CAUSE}")
            elif not any(crd is each for each in found):
                found.append(crd)
    except ValueError:
        work.refuse(CSVS, f"error parsing owned name: {_NO_CAUSE}")
    return found


def _read_packages(work: _ConfigMapReading) -> None:
    for item in _list_in(work, PACKAGES, "package"):
        try:
            manifest = package_manifest(item, work.place(PACKAGES))
        except DecodeError as error:
            work.refuse(PACKAGES, f"error parsing package list: {error}")
            raise _ConfigMapStop from None
        work.packages[manifest.name], problems = package_of(manifest, work.bundles, database_bundle, work.report)
        if problems:
            work.refuse(PACKAGES, wrapped(problems, f"error loading package {manifest.name}"))
