"""All validators, in order (R-CAT-201)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from olmc.gojson import decode_error
from olmc.load.validation.bundle_checks import bundle_findings, size_findings
from olmc.load.validation.content_checks import content_findings
from olmc.load.validation.crd_checks import crd_findings
from olmc.load.validation.csv_checks import csv_findings
from olmc.load.validation.dependency_checks import dependency_findings
from olmc.load.validation.folders import BundleFolder
from olmc.load.validation.format_checks import annotation_findings, missing_folders
from olmc.load.validation.loading_checks import CRD_KIND, crd_error, is_forgiven, loading_findings
from olmc.load.validation.optional.bundle_objects import bundle_object_findings
from olmc.load.validation.optional.community import community_findings
from olmc.load.validation.optional.good_practices import good_practice_findings
from olmc.load.validation.optional.multiarch import multiarch_findings
from olmc.load.validation.optional.operatorhub import (
    capability_findings,
    category_findings,
    operatorhub_findings,
    operatorhub_v2_findings,
)
from olmc.load.validation.optional.removed_apis import removed_api_findings
from olmc.load.validation.result import Finding
from olmc.load.validation.settings import Settings
from olmc.model.operators import CSV_KIND
from olmc.model.workspace import Bundle, BundleFile, Manifest

Validator = Callable[[Bundle, Settings], Iterator[Finding]]

OPTIONAL_VALIDATORS: Mapping[str, Validator] = MappingProxyType(
    {
        "operatorhub": operatorhub_findings,
        "operatorhubv2": operatorhub_v2_findings,
        "standardcapabilities": capability_findings,
        "standardcategories": category_findings,
        "community": community_findings,
        "alpha-deprecated-apis": removed_api_findings,
        "good-practices": good_practice_findings,
        "multiarch": multiarch_findings,
        "bundle-objects": bundle_object_findings,
    }
)
"""The optional validators by name; each looks at a bundle that can be loaded."""


class Subject(NamedTuple):
    """What is validated: the folder of a bundle, and the bundle in it (None when there is no CSV)."""

    folder: BundleFolder
    bundle: Bundle | None


def subject_of(folder: BundleFolder, bundle: Bundle | None) -> Subject:
    """The folder with its bundle; one that could not be loaded, for want of annotations, is put together here."""
    return Subject(folder, bundle or _assembled(folder))


def _assembled(folder: BundleFolder) -> Bundle | None:
    files = [
        BundleFile(file.name, Manifest(file.value, file.source))
        for file in folder.manifests or ()
        if file.kind and file.source is not None and not file.name.startswith(".")
    ]
    csvs = [file for file in files if file.manifest.object["kind"] == CSV_KIND]
    if not csvs:
        return None
    others = [file for file in files if file is csvs[0] or file not in csvs]
    return Bundle(folder.directory, "", (), "", csvs[0].manifest, tuple(others), {})


def subject_findings(subject: Subject, settings: Settings) -> Iterator[Finding]:
    """What all default validators, and the optional ones that are asked for, find in a bundle.

    As with the tools, a folder that is no bundle is not looked into, and what can't be decoded is not validated.
    """
    folder, bundle = subject
    if folder.manifests is None or folder.metadata is None:
        yield from missing_folders(folder)
        return
    yield from annotation_findings(folder)
    yield from dependency_findings(folder, settings)
    yield from loading_findings(folder)
    yield from content_findings(folder)
    if bundle is None:
        return
    for file in bundle.files:
        if file.manifest.object.get("kind") == CRD_KIND and crd_error(file.manifest.object) is None:
            yield from crd_findings(file.manifest)
    error = decode_error(CSV_KIND, bundle.csv.object)
    if error is not None and not is_forgiven(error):
        return
    yield from csv_findings(bundle.csv, modes_optional=settings.modes_optional)
    yield from bundle_findings(bundle)
    yield from size_findings(folder, bundle.name)
    for name, validator in OPTIONAL_VALIDATORS.items():
        if name in settings.optional:
            yield from validator(bundle, settings)
