"""The bundle validator: the CSV and the rest of the bundle together (R-CAT-230 … R-CAT-234)."""

from __future__ import annotations

from collections.abc import Iterator

from olmc.catalogs.properties import pull_spec_problem
from olmc.catalogs.rendering import loose, release_of
from olmc.check.validators.findings import Finding, containers, csv_of, result_text
from olmc.check.validators.folders import MAX_SIZE, BundleFolder
from olmc.check.validators.manifests import CRD_KIND, CRD_V1, CRD_V1BETA1
from olmc.diagnostics.rules import validation as rules
from olmc.kube.crd import Crd
from olmc.model.coerce import mappings, text
from olmc.model.diagnostics import Place
from olmc.model.objects import GVK, metadata_of
from olmc.model.operators import Csv
from olmc.model.workspace import Bundle, BundleFile
from olmc.semver import tolerant_or_none
from olmc.strconv import quoted

_WARN_SHARE = 0.85
_UNIT = 1000


def bundle_findings(bundle: Bundle) -> Iterator[Finding]:
    """What is wrong with a bundle as a whole, except for its size."""
    csv = csv_of(bundle.csv)
    yield from _crd_findings(bundle, csv)
    yield from _service_account_findings(bundle, csv)
    yield from _release_findings(bundle, csv)
    yield from _image_findings(csv)


def _crd_findings(bundle: Bundle, csv: Csv) -> Iterator[Finding]:
    provided: dict[GVK, Place] = {}
    for file in bundle.files:
        for api, place in _crd_apis(file):
            if api in provided:
                told = f"duplicate CRD {quoted(str(api))} in bundle {quoted(csv.name)}"
                yield Finding(rules.BUNDLE_CRDS, result_text(told, value=str(api)), place)
            provided[api] = place
    owned_kinds = set()
    for index, item in enumerate(csv.owned_crds):
        api = GVK(item.api.group or item.name, item.version, item.kind)
        if provided.pop(api, None) is not None:
            owned_kinds.add((api.group, api.kind))
        else:
            told = f"owned CRD {quoted(str(api))} not found in bundle {quoted(csv.name)}"
            place = csv.place("spec", "customresourcedefinitions", "owned", index)
            yield Finding(rules.BUNDLE_CRDS, result_text(told, value=str(api)), place)
    for api, place in provided.items():
        if (api.group, api.kind) not in owned_kinds:
            told = f"CRD {quoted(str(api))} is present in bundle {quoted(csv.name)} but not defined in CSV"
            yield Finding(rules.BUNDLE_CRDS, result_text(told, value=str(api)), place)


def _crd_apis(file: BundleFile) -> Iterator[tuple[GVK, Place]]:
    """The APIs of the CRD in a file, one a version, each with its place."""
    obj, source = file.manifest.object, file.manifest.source
    version = obj.get("apiVersion")
    if obj.get("kind") != CRD_KIND or version not in (CRD_V1, CRD_V1BETA1):
        return
    crd = Crd(obj)
    for index, each in enumerate(crd.versions):
        yield GVK(crd.group, each.name, crd.kind), Place(source, ("spec", "versions", index))
    if not crd.versions and version == CRD_V1BETA1:
        yield GVK(crd.group, crd.only_version, crd.kind), Place(source, ("spec", "version"))


def _service_account_findings(bundle: Bundle, csv: Csv) -> Iterator[Finding]:
    used = {text(container.pod.get("serviceAccountName")) for container in containers(csv)}
    for file in bundle.files:
        obj = file.manifest.object
        name = text(metadata_of(obj).get("name"))
        if (obj.get("apiVersion"), obj.get("kind")) == ("v1", "ServiceAccount") and name in used:
            told = (
                f"invalid service account found in bundle. This service account {name} in your bundle is not valid, "
                "because a service account with the same name was already specified in your CSV. If this was "
                "unintentional, please remove the service account manifest from your bundle. If it was intentional to "
                "specify a separate service account, please rename the SA in either the bundle manifest or the CSV."
            )
            place = Place(file.manifest.source, ("metadata", "name"))
            yield Finding(rules.SERVICE_ACCOUNT, result_text(told, value=name), place)


def _release_findings(bundle: Bundle, csv: Csv) -> Iterator[Finding]:
    try:
        release = release_of(loose(bundle))
    except ValueError:
        # That it is none is said when the bundle is decoded.
        return
    version = tolerant_or_none(text(csv.spec.get("version")))
    expected = f"{bundle.package}-v{version or '0.0.0'}-{release}"
    if release and csv.name != expected:
        told = f"bundle name with release versioning {quoted(csv.name)} does not match expected name {quoted(expected)}"
        place = csv.place("metadata", "name")
        yield Finding(rules.RELEASE_NAME, result_text(told, value=csv.name), place)


def _image_findings(csv: Csv) -> Iterator[Finding]:
    for index, item in enumerate(mappings(csv.spec.get("relatedImages"))):
        image = text(item.get("image"))
        problem = pull_spec_problem(image) if image else ""
        if image and not problem:
            continue
        told = f"relatedImages[{index}] has an empty image field"
        if problem:
            told = f"relatedImages[{index}] has an invalid image pullspec {quoted(image)}: {problem}"
        place = csv.place("spec", "relatedImages", index, "image")
        value = f"spec.relatedImages[{index}].image"
        yield Finding(rules.RELATED_IMAGES, result_text(told, value=value), place)


def size_findings(folder: BundleFolder, name: str) -> Iterator[Finding]:
    """What is said about the size of a bundle whose CSV has this name (R-CAT-232)."""
    sizes = folder.sizes()
    problem = "" if sizes.compressed else "unable to check the bundle compressed size"
    problem = problem or ("" if sizes.whole else "unable to check the bundle size")
    if problem:
        yield Finding(rules.NEARLY_TOO_LARGE, result_text(problem, value=name), folder.place)
        return
    figures = (
        f"size=~{readable(sizes.compressed)} , max={readable(MAX_SIZE)}. "
        f"Bundle uncompressed size is {readable(sizes.whole)}"
    )
    if sizes.compressed > MAX_SIZE:
        told = f"maximum bundle compressed size with gzip size exceeded: {figures}"
        yield Finding(rules.TOO_LARGE, result_text(told, value=name), folder.place)
    elif sizes.compressed > MAX_SIZE * _WARN_SHARE:
        told = f"nearing maximum bundle compressed size with gzip: {figures}"
        yield Finding(rules.NEARLY_TOO_LARGE, result_text(told, value=name), folder.place)


def readable(size: int) -> str:
    """A number of bytes in decimal units with one digit behind the point, such as `1.0 MB`."""
    if size < _UNIT:
        return f"{size} B"
    value, exponent = float(size), -1
    while value >= _UNIT:
        value /= _UNIT
        exponent += 1
    return f"{value:.1f} {'kMGTPE'[exponent]}B"
