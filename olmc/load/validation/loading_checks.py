"""What keeps the validators from loading a bundle at all (R-CAT-202).

The tools read the folder that holds the CSV; here that is always manifests/. Where they print paths on their machine,
these are relative to the workspace; what their YAML and JSON decoders say is said in this program's words.
"""

from __future__ import annotations

from collections.abc import Iterator

from olmc.golang import GoTypeError, decode
from olmc.golang.errors import decode_failure
from olmc.load.bundles import is_almost_csv
from olmc.load.catalogs.shapes import Misfit, anything, flag, list_of, struct, text
from olmc.load.refusal_words import way_out
from olmc.load.validation.folders import BundleFolder, FolderFile
from olmc.load.validation.result import Finding
from olmc.model.causes import DecodeFailure, Missing
from olmc.model.location import Location, Place
from olmc.model.objects import KubernetesObject
from olmc.model.operators import CSV_KIND
from olmc.rules import validation as rules

CRD_KIND = "CustomResourceDefinition"
CRD_V1, CRD_V1BETA1 = "apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1"

_TEXTS = list_of(text, "[]string")
_NAMES = struct(
    "v1.CustomResourceDefinitionNames",
    {**dict.fromkeys(("plural", "singular", "kind", "listKind"), text), "shortNames": _TEXTS, "categories": _TEXTS},
)
_VERSION = struct(
    "v1.CustomResourceDefinitionVersion",
    {
        **dict.fromkeys(("served", "storage", "deprecated"), flag),
        "name": text,
        "schema": struct("v1.CustomResourceValidation", {"openAPIV3Schema": anything}),
    },
)
_SPEC = struct(
    "v1.CustomResourceDefinitionSpec",
    {
        **dict.fromkeys(("group", "scope", "version"), text),
        "names": _NAMES,
        "versions": list_of(_VERSION, "[]v1.CustomResourceDefinitionVersion"),
        "preserveUnknownFields": flag,
        "conversion": struct("v1.CustomResourceConversion", {"strategy": text, "conversionReviewVersions": _TEXTS}),
    },
)
_CRD = struct("v1.CustomResourceDefinition", {"apiVersion": text, "kind": text, "spec": _SPEC})


def loading_findings(folder: BundleFolder) -> Iterator[Finding]:
    """What is wrong with the files of a bundle as such, file by file."""
    for path in folder.subfolders:
        yield Finding(rules.LOADING, f"bundle manifests dir contains directory: {path}", Location(path))
    csvs = 0
    for file in folder.manifests or ():
        if file.name.startswith("."):
            text_of_it = f"bundle manifests dir has hidden file: {file.path}"
            yield Finding(rules.LOADING, text_of_it, Location(file.path))
            continue
        csvs += file.kind == CSV_KIND
        yield from _file_findings(file, csvs)
    if not csvs:
        yield from _without_csv(folder)
    for file in (*(folder.manifests or ()), *(folder.metadata or ())):
        if file.name.startswith("annotations") and file.problem:
            text_of_it = f"unable to load the annotations file {file.path}: {file.problem}"
            yield Finding(rules.LOADING, text_of_it, file.place, hint=file.hint, cause=file.cause)


def _without_csv(folder: BundleFolder) -> Iterator[Finding]:
    """That there is no CSV: for a file that was meant to be one but can't be read, that is told already."""
    files = folder.manifests or ()
    if any(file.says_csv for file in files):
        return
    almost = next((file for file in files if file.source is not None and is_almost_csv(file.kind)), None)
    told = f"unable to find a csv in bundle directory {folder.directory or '.'}"
    if almost is not None and almost.source is not None:
        hint = f"Did you mean {CSV_KIND} instead of {almost.kind}?"
        yield Finding(rules.LOADING, told, Place(almost.source, ("kind",)), hint=hint, cause=Missing.CSV)
    else:
        hint = "Add the ClusterServiceVersion to manifests/."
        yield Finding(rules.LOADING, told, folder.place, hint=hint, cause=Missing.CSV)


def _file_findings(file: FolderFile, csvs: int) -> Iterator[Finding]:
    if not file.kind or file.source is None:
        cause = file.problem or "Object 'Kind' is missing"
        yield Finding(rules.LOADING, f"unable to decode object: {cause}", file.place, hint=file.hint, cause=file.cause)
    elif file.kind == CSV_KIND:
        whole = Place(file.source)
        if csvs > 1:
            several = "error loading objs in directory: invalid bundle: contains multiple CSVs"
            yield Finding(rules.LOADING, several, whole)
            yield Finding(rules.LOADING, "no bundle csv found", whole)
        refusal = csv_refusal(file.value)
        if refusal is not None and not is_forgiven(refusal):
            text_of_it = f"unable to parse CSV {file.name}: {refusal}"
            place, failure = Place(file.source, refusal.path), decode_failure(refusal)
            yield Finding(rules.LOADING, text_of_it, place, hint=way_out(refusal), cause=failure)
    elif file.kind == CRD_KIND:
        version = file.value.get("apiVersion") or ""
        if version not in (CRD_V1, CRD_V1BETA1):
            text_of_it = f"unsupported CRD version {version} for {file.name}"
            yield Finding(rules.LOADING, text_of_it, Place(file.source, ("apiVersion",)))
            return
        misfit = crd_misfit(file.value)
        if misfit is not None:
            text_of_it = f"unable to parse CRD {file.name}: {misfit}"
            place, failure = Place(file.source, misfit.keys), DecodeFailure(str(misfit))
            yield Finding(rules.LOADING, text_of_it, place, hint="Correct the value.", cause=failure)


def csv_refusal(csv: KubernetesObject) -> GoTypeError | None:
    """Why Go refuses to decode an object as a CSV, None when it doesn't."""
    try:
        decode(CSV_KIND, csv)
    except GoTypeError as error:
        return error
    return None


def is_forgiven(refusal: GoTypeError) -> bool:
    """Whether the loader of the tools decodes such a CSV all the same: it turns numbers and booleans into texts."""
    return refusal.expected == "string" and refusal.got in ("number", "bool")


def crd_misfit(crd: KubernetesObject) -> Misfit | None:
    """Why an object can't be decoded as a CRD, as far as the fields go that are validated."""
    return _CRD(crd)
