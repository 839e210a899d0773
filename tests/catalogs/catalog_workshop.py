"""What the tests of catalogs share: cases from data files, small catalogs and bundles."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from olmc.compiler.catalogs.loading import load_catalog
from olmc.compiler.catalogs.properties import UncataloguedBundle
from olmc.compiler.model.catalog import Catalog
from olmc.k8s.diagnostics import Diagnostic, Report
from olmc.k8s.yaml import read

DATA = Path(__file__).parent / "data"
ROOT = "catalogs/acme"


def cases(name: str) -> list[Any]:
    """The cases in a data file, as parameters."""
    report = Report()
    text = (DATA / name).read_text(encoding="utf-8")
    found = [document.value for document in read(name, text, report) if document.value]
    assert found, list(report)
    return [pytest.param(case, id=case["name"]) for case in found]


def loaded(files: Mapping[str, str], bundles: Mapping[str, UncataloguedBundle] | None = None) -> tuple[Catalog, Report]:
    """The catalog in `files`, whose paths are relative to its root."""
    report = Report()
    return load_catalog(ROOT, {f"{ROOT}/{name}": text for name, text in files.items()}, report, bundles or {}), report


def place(diagnostic: Diagnostic) -> str:
    """Code and place of a diagnostic, with the file where it is not the one of most cases."""
    location = diagnostic.location
    if location is None:
        return diagnostic.code
    path = location.path.removeprefix(f"{ROOT}/")
    return f"{diagnostic.code} {'' if path == 'catalog.yaml' else path + ':'}{location.line}"


def value(text: str) -> Any:
    """The value of one YAML document."""
    report = Report()
    documents = read("value.yaml", text, report)
    assert not list(report)
    return documents[0].value


def bundle(
    name: str,
    version: str = "",
    *,
    package: str = "p",
    channels: str = "stable",
    default: str = "",
    image: str = "",
    spec: Mapping[str, Any] | None = None,
    annotations: Mapping[str, str] | None = None,
    objects: tuple[dict[str, Any], ...] = (),
    properties: tuple[dict[str, Any], ...] = (),
    dependencies: tuple[dict[str, Any], ...] = (),
) -> UncataloguedBundle:
    """A bundle with a minimal CSV, to which `spec` and `annotations` are added."""
    csv: dict[str, Any] = {
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {"name": name, **({"annotations": dict(annotations)} if annotations else {})},
        "spec": {**({"version": version} if version else {}), **(spec or {})},
    }
    return UncataloguedBundle(
        package, tuple(channels.split(",")), default, csv, (csv, *objects), properties, dependencies, image
    )


def crd(name: str, kind: str, *versions: str) -> dict[str, Any]:
    """A CRD with these versions."""
    plural, _, group = name.partition(".")
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": name},
        "spec": {
            "group": group,
            "names": {"kind": kind, "plural": plural},
            "versions": [{"name": version} for version in versions],
        },
    }
