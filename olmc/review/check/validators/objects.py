"""The CRD validator (R-CAT-225), and the CSV validator (R-CAT-210 … R-CAT-216) for CSVs that Go can decode.

For a CRD the tools validate what Kubernetes validates at its creation. They contain an older release of Kubernetes than
clusters, and differ from the API server (`olmc.k8s.api.validation.crds`). They count characters where it counts bytes,
dump memory where it prints JSON, and judge CRDs of v1beta1 by their own rules. They drop all errors below
`openAPIV3Schema` or `status`. That module validates the common part: group, scope, names, conversion and
preserveUnknownFields. This one validates versions, since errors print all of them. It reports a version of v1 without a
schema although the tools drop that error, as the API server reports it. Not covered are subresources, printer columns,
the approval annotation of Kubernetes' own groups, and per-version fields that are all alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from olmc.compiler.model.operators import Csv
from olmc.compiler.rules.findings import validation as rules
from olmc.k8s.api.selectors import is_label_value
from olmc.k8s.api.validation.crd_internal import defaulted_names
from olmc.k8s.api.validation.crds import group_errors, name_errors, preserve_errors, scope_errors
from olmc.k8s.api.validation.field import FieldError, Path
from olmc.k8s.api.validation.metadata import metadata_errors
from olmc.k8s.api.validation.webhooks import conversion_errors
from olmc.k8s.diagnostics import Place
from olmc.k8s.gojson import encode_plain, mismatch_text, unmarshal
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import (
    CRD_V1,
    CRD_V1BETA1,
    GVK,
    KubernetesObject,
    Manifest,
    annotations_of,
    gvk_of,
    mapping,
    mappings,
    metadata_of,
    spec_of,
    text,
)
from olmc.k8s.semver import VersionError, parse_strict
from olmc.k8s.strconv import SPACES, quoted
from olmc.review.check.validators.findings import (
    Finding,
    about,
    csv_of,
    dns1035_label_problems,
    in_characters,
    result_text,
    subdomain_problems,
)

# The examples of custom resources that a CSV carries in an annotation (R-CAT-211), and where Go stops reading them.

_SPACE = re.compile(rb"[ \t\r\n]*")
_STRING_PART = re.compile(rb'[^"\\\x00-\x1f]*')
_DIGITS = re.compile(rb"[0-9]*")
_HEX = b"0123456789abcdefABCDEF"
_LITERALS = {ord("t"): b"true", ord("f"): b"false", ord("n"): b"null"}
_CLOSING = {ord("{"): ord("}"), ord("["): ord("]")}
_END = b"\x00"
"""Behind the last byte, so that no function has to ask for the end: it can stand nowhere in JSON."""
_KEYS = ("alm-examples", "olm.examples")


class _OffenceError(Exception):
    """The index of the first byte that can't be there."""


def invalid_offset(text: bytes) -> int | None:
    """Return how many bytes Go has read when it finds that `text` is no JSON value; None if it is one."""
    data = text + _END
    try:
        end = _after_space(data, _value(data))
        if end < len(text):
            raise _OffenceError(end)
    except _OffenceError as offence:
        return min(int(offence.args[0]) + 1, len(text))
    return None


def _value(data: bytes) -> int:
    """The index behind the value; without recursion, since the depth is untrusted input."""
    at = 0
    closing: list[int] = []
    while True:
        at = _after_space(data, at)
        if data[at] in _CLOSING:
            end = _CLOSING[data[at]]
            inside = _after_space(data, at + 1)
            if data[inside] != end:
                closing.append(end)
                at = _item_start(data, inside, end)
                continue
            at = inside + 1
        else:
            at = _scalar(data, at)
        at = _after_space(data, at)
        while closing and data[at] == closing[-1]:
            closing.pop()
            at = _after_space(data, at + 1)
        if not closing:
            return at
        if data[at] != ord(","):
            raise _OffenceError(at)
        at = _item_start(data, _after_space(data, at + 1), closing[-1])


def _after_space(data: bytes, at: int) -> int:
    match = _SPACE.match(data, at)
    assert match is not None
    return match.end()


def _item_start(data: bytes, at: int, closing: int) -> int:
    """Return where the value of an item begins: in an object, behind its key."""
    if closing != ord("}"):
        return at
    if data[at] != ord('"'):
        raise _OffenceError(at)
    at = _after_space(data, _string(data, at))
    if data[at] != ord(":"):
        raise _OffenceError(at)
    return at + 1


def _scalar(data: bytes, at: int) -> int:
    first = data[at]
    if first == ord('"'):
        return _string(data, at)
    if first in _LITERALS:
        for index, byte in enumerate(_LITERALS[first]):
            if data[at + index] != byte:
                raise _OffenceError(at + index)
        return at + len(_LITERALS[first])
    if first in b"-0123456789":
        return _number(data, at)
    raise _OffenceError(at)


def _string(data: bytes, at: int) -> int:
    at += 1
    while True:
        match = _STRING_PART.match(data, at)
        assert match is not None
        at = match.end()
        if data[at] == ord('"'):
            return at + 1
        if data[at] != ord("\\"):
            raise _OffenceError(at)
        at = _escape(data, at + 1)


def _escape(data: bytes, at: int) -> int:
    if data[at] == ord("u"):
        for index in range(at + 1, at + 5):
            if data[index] not in _HEX:
                raise _OffenceError(index)
        return at + 5
    if data[at] not in b'"\\/bfnrt':
        raise _OffenceError(at)
    return at + 1


def _number(data: bytes, at: int) -> int:
    at += data[at] == ord("-")
    at = at + 1 if data[at] == ord("0") else _digits(data, at)
    if data[at] == ord("."):
        at = _digits(data, at + 1)
    if data[at] in b"eE":
        at += 2 if data[at + 1] in b"+-" else 1
        at = _digits(data, at)
    return at


def _digits(data: bytes, at: int) -> int:
    match = _DIGITS.match(data, at)
    assert match is not None
    if match.end() == at:
        raise _OffenceError(at)
    return match.end()


def example_findings(csv: Csv) -> Iterator[Finding]:
    """Yield the problems of the examples of a CSV, and which of its APIs have none."""
    key = next((name for name in _KEYS if name in csv.annotations), "")
    if not csv.annotations or not key:
        missing = "example annotations not found" if csv.annotations else "annotations not found"
        yield Finding(rules.EXAMPLES_ADVICE, about(csv.name, missing), csv.place("metadata", "annotations"))
        return
    place = csv.place("metadata", "annotations", key)
    if all(name in csv.annotations for name in _KEYS):
        message = "both `alm-examples` and `olm.examples` are present. Checking only `alm-examples`"
        yield Finding(rules.EXAMPLES_ADVICE, about(csv.name, message), place, of_key=True)
    problem, examples = _decoded(csv.annotations[key])
    if problem:
        yield Finding(rules.EXAMPLES, problem, place)
        return
    yield from _nameless(csv)
    provided = _provided(csv)
    for api in sorted(set(examples) - provided.keys()):
        yield Finding(rules.EXAMPLES, result_text("example must have a provided API", value=str(api)), place)
    for api in sorted(provided.keys() - set(examples)):
        message = result_text("provided API should have an example annotation", value=str(api))
        yield Finding(rules.EXAMPLES_ADVICE, message, provided[api])


def _decoded(written: str) -> tuple[str, list[GVK]]:
    """The text of what keeps the examples from being read ("" for nothing), and the APIs that they are of."""
    data = written.encode("utf-8", "surrogatepass")
    offset = invalid_offset(data) if data else None
    if offset is not None:
        read = data[:offset].decode("utf-8", "replace")
        cause = f"invalid character at {offset}\n {read}<--(see the invalid character)"
        return result_text("invalid example", value=cause), []
    try:
        items = unmarshal(written) if written else None
        cause = _misfit(items)
    except ValueError as error:
        items, cause = None, str(error)
    if cause:
        return result_text("error decoding example CustomResource", value=cause), []
    return "", [_api(item) for item in items or ()]


def _misfit(items: Any) -> str:
    """Return why a JSON value is no list of objects, in the manner of Kubernetes' decoder."""
    if items is None:
        return ""
    if not isinstance(items, list):
        return mismatch_text(items, "[]unstructured.Unstructured")
    for item in items:
        if not isinstance(item, dict):
            return mismatch_text(item, "map[string]interface {}")
        if not text(item.get("kind")):
            return f"Object 'Kind' is missing in '{encode_plain(item).decode()}'"
    return ""


def _api(item: dict[str, Any]) -> GVK:
    api = gvk_of(item)
    # Go's parser of apiVersions gives up at a second slash, and the tools don't ask why.
    return GVK("", "", "") if "/" in api.group else api


def _nameless(csv: Csv) -> Iterator[Finding]:
    for index, item in enumerate(csv.owned_crds):
        if "." not in item.name:
            message = result_text(f"couldn't parse plural.group from crd name: {item.name}")
            place = csv.place("spec", "customresourcedefinitions", "owned", index, "name")
            yield Finding(rules.EXAMPLES, message, place)


def _provided(csv: Csv) -> dict[GVK, Place]:
    """The APIs that a CSV owns, each with where it says so."""
    places: dict[GVK, Place] = {}
    for index, item in enumerate(csv.owned_crds):
        if "." in item.name:
            places.setdefault(GVK(*item.api), csv.place("spec", "customresourcedefinitions", "owned", index))
    for index, service in enumerate(csv.owned_apiservices):
        places.setdefault(GVK(*service.api), csv.place("spec", "apiservicedefinitions", "owned", index))
    return places


NO_MIN_KUBE_VERSION = (
    "csv.Spec.minKubeVersion is not informed. It is recommended you provide this information. Otherwise, it would mean "
    "that your operator project can be distributed and installed in any cluster version available, which is not "
    "necessarily the case for all projects."
)
PROPERTIES = "olm.properties"
_CASED = {
    key.lower(): key
    for key in (
        "olm.operatorGroup",
        "olm.operatorNamespace",
        "olm.targetNamespaces",
        "olm.providedAPIs",
        "olm.skipRange",
    )
}
_ALL_NAMESPACES = "AllNamespaces"


class _Spec(NamedTuple):
    """The spec of a CRD of any version with Kubernetes' defaults filled in."""

    is_v1: bool
    group: str
    scope: str
    names: Mapping[str, Any]
    version: str
    versions: list[Mapping[str, Any]]
    preserves_unknown: bool
    conversion: Mapping[str, Any]


def crd_findings(manifest: Manifest) -> Iterator[Finding]:
    """Yield the problems of a CRD of v1 or v1beta1; other versions are none of this validator's business."""
    if manifest.object.get("apiVersion") not in (CRD_V1, CRD_V1BETA1):
        return
    for error in _errors(manifest.object):
        message = result_text(str(error), field=error.field, value=error.bare_value)
        yield Finding(rules.CRD, message, Place(manifest.source, error.keys))


def _errors(crd: KubernetesObject) -> Iterator[FieldError]:
    spec = _defaulted(spec_of(crd), is_v1=crd.get("apiVersion") == CRD_V1)
    wanted = f"{text(spec.names.get('plural'))}.{spec.group}"

    def name_problems(name: str) -> list[str]:
        wrong = [] if name == wanted else ['must be spec.names.plural+"."+spec.group']
        return [*subdomain_problems(name), *wrong]

    yield from metadata_errors(crd, name_problems)
    for error in _spec_errors(spec):
        yield error._replace(detail=in_characters(error.detail))


def _spec_errors(spec: _Spec) -> Iterator[FieldError]:
    yield from group_errors(spec.group)
    yield from scope_errors(spec.scope)
    yield from _version_errors(spec)
    yield from name_errors(spec.names)
    yield from conversion_errors(
        spec.conversion, preserves_unknown=spec.preserves_unknown, any_review_version=False, any_certificate=True
    )
    yield from preserve_errors(spec.preserves_unknown)


def _defaulted(spec: Mapping[str, Any], *, is_v1: bool) -> _Spec:
    names = defaulted_names(mapping(spec.get("names")))
    version = text(spec.get("version"))
    versions = mappings(spec.get("versions"))
    conversion = dict(mapping(spec.get("conversion")) or {"strategy": "None"})
    preserves = bool(spec.get("preserveUnknownFields"))
    scope = text(spec.get("scope"))
    if not is_v1:
        # What v1beta1 leaves open, v1 decides otherwise: this is why its CRDs preserve unknown fields.
        scope = scope or "Namespaced"
        preserves = spec.get("preserveUnknownFields") is not False
        if not versions and version:
            versions = [{"name": version, "served": True, "storage": True}]
        reviewed = conversion.get("conversionReviewVersions")
        if conversion.get("strategy") == "Webhook":
            reviewed = reviewed or ["v1beta1"]
        webhook = {"clientConfig": conversion.get("webhookClientConfig"), "conversionReviewVersions": reviewed}
        conversion = {"strategy": conversion.get("strategy"), "webhook": webhook}
    return _Spec(is_v1, text(spec.get("group")), scope, names, version, versions, preserves, conversion)


def _version_errors(spec: _Spec) -> Iterator[FieldError]:
    path, old_path = Path("spec.versions", ("spec", "versions")), Path("spec.version", ("spec", "version"))
    names = tuple(text(version.get("name")) for version in spec.versions)
    for index, (name, version) in enumerate(zip(names, spec.versions, strict=True)):
        place = path.item(index)
        if spec.is_v1 and not isinstance(mapping(version.get("schema")).get("openAPIV3Schema"), dict):
            yield place.child("schema").called("openAPIV3Schema").required("schemas are required")
        if problems := dns1035_label_problems(name):
            yield place.child("name").invalid(name, ",".join(problems))
    if len(set(names)) < len(names):
        yield path.invalid(names, "must contain unique version names")
    if sum(bool(version.get("storage")) for version in spec.versions) != 1:
        yield path.invalid(names, "must have exactly one version marked as storage version")
    if spec.version and not spec.is_v1:
        if problems := dns1035_label_problems(spec.version):
            yield old_path.invalid(spec.version, ",".join(problems))
        if names and names[0] != spec.version:
            yield old_path.invalid(spec.version, "must match the first version in spec.versions")


def csv_findings(manifest: Manifest, *, modes_optional: bool = False) -> Iterator[Finding]:
    """Yield the problems of a CSV, in the order of the rules; with descoping, install modes are optional."""
    csv = csv_of(manifest)
    yield from _name_findings(csv)
    yield from example_findings(csv)
    if csv.spec.get("installModes") or not modes_optional:
        yield from _install_mode_findings(csv)
    yield from min_kube_version_findings(csv)
    yield from _field_findings(csv)
    yield from _annotation_findings(csv)
    yield from _kind_findings(csv)


def _name_findings(csv: Csv) -> Iterator[Finding]:
    named = (("metadata.name", csv.name), ("spec.replaces", text(csv.spec.get("replaces"))))
    for field, name in named:
        # OLM writes names of CSVs into labels, hence both rules (R-CAT-210).
        problems = [*subdomain_problems(name), *is_label_value(name)]
        if problems and (name or field == "metadata.name"):
            message = about(csv.name, f"{field} {quoted(name)} is invalid: {','.join(problems)}")
            yield Finding(rules.CSV_NAME, message, csv.place(*field.split(".")))


def _install_mode_findings(csv: Csv) -> Iterator[Finding]:
    place = csv.place("spec", "installModes")
    modes = csv.install_modes
    if not modes:
        yield Finding(rules.INSTALL_MODES, about(csv.name, "install modes not found"), place)
        return
    # A CRD has one conversion webhook for the whole cluster, so its operator must be able to watch all of it
    # (R-CAT-212).
    only_all = all(supported == (mode == _ALL_NAMESPACES) for mode, supported in modes)
    for index, webhook in enumerate(csv.webhooks):
        if webhook.object.get("conversionCRDs") and not only_all:
            message = "only AllNamespaces InstallModeType is supported when conversionCRDs is present"
            where = csv.place("spec", "webhookdefinitions", index, "conversionCRDs")
            yield Finding(rules.INSTALL_MODES, about(csv.name, message), where)
    if not any(supported for _, supported in modes):
        yield Finding(rules.INSTALL_MODES, about(csv.name, "none of InstallModeTypes are supported"), place)


def min_kube_version_findings(csv: Csv) -> Iterator[Finding]:
    """Yield the problems of spec.minKubeVersion (R-CAT-213)."""
    version = csv.min_kube_version
    place = csv.place("spec", "minKubeVersion")
    if not version.strip(SPACES):
        yield Finding(rules.NO_MIN_KUBE_VERSION, about(csv.name, NO_MIN_KUBE_VERSION), place)
        return
    try:
        parse_strict(version)
    except VersionError:
        message = about(csv.name, f"csv.Spec.MinKubeVersion has an invalid value: {version}")
        yield Finding(rules.BAD_MIN_KUBE_VERSION, message, place)


def _field_findings(csv: Csv) -> Iterator[Finding]:
    """Required fields, by the names of Go's fields; a structure that is empty counts as missing."""
    for field, what, place in _missing_fields(csv):
        yield Finding(rules.REQUIRED_FIELD, result_text("required field missing", field=field, value=what), place)


def _missing_fields(csv: Csv) -> Iterator[tuple[str, str, Place]]:
    obj, spec, strategy = csv.object, csv.spec, csv.strategy
    if not obj.get("apiVersion") and not obj.get("kind"):
        yield "TypeMeta", "struct", csv.place()
    if not any(csv.metadata.values()):
        yield "ObjectMeta", "struct", csv.place("metadata")
    # An empty spec is one finding; all that it lacks would be noise (R-CAT-214).
    if not any(spec.values()):
        yield "Spec", "struct", csv.place("spec")
        return
    name = csv.strategy_name
    if not name and not any(strategy.values()):
        yield "Spec.InstallStrategy", "struct", csv.place("spec", "install")
    else:
        if not name:
            yield "Spec.InstallStrategy.StrategyName", "field", csv.place("spec", "install")
        if any(strategy.values()) and not strategy.get("deployments"):
            field = "Spec.InstallStrategy.StrategySpec.DeploymentSpecs"
            yield field, "field", csv.place("spec", "install", "spec")
    if not spec.get("displayName"):
        yield "Spec.DisplayName", "field", csv.place("spec", "displayName")


def _annotation_findings(csv: Csv) -> Iterator[Finding]:
    yield from miscased_annotations(csv.annotations, csv.name, csv.place("metadata", "annotations"))
    if PROPERTIES in csv.annotations:
        message = f"found {PROPERTIES} annotation, please define these properties in metadata/properties.yaml instead"
        place = csv.place("metadata", "annotations", PROPERTIES)
        yield Finding(rules.PROPERTIES_ANNOTATION, result_text(message, value=""), place, of_key=True)


def miscased_annotations(annotations: Mapping[str, str], name: str, place: Place) -> Iterator[Finding]:
    """Keys that differ in case from one that OLM knows (R-CAT-215); `place` is that of the annotations."""
    for key in annotations:
        right = _CASED.get(key.lower(), key)
        if right != key:
            detail = result_text(f"provided annotation {key} uses wrong case and should be {right} instead", value=name)
            yield Finding(rules.ANNOTATION_CASE, detail, place._replace(keys=(*place.keys, key)), of_key=True)


def operator_group_findings(manifest: Manifest) -> Iterator[Finding]:
    """Yield the problems of an OperatorGroup: the case of its annotations is all that the tools look at."""
    name, place = text(metadata_of(manifest.object).get("name")), Place(manifest.source, ("metadata", "annotations"))
    yield from miscased_annotations(annotations_of(manifest.object), name, place)


def _kind_findings(csv: Csv) -> Iterator[Finding]:
    for field in ("apiVersion", "kind"):
        if not csv.object.get(field):
            yield Finding(rules.REQUIRED_FIELD, about(csv.name, f"'{field}' is missing"), csv.place(field))
