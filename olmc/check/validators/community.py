"""The validators for community operators: APIs that Kubernetes has removed, and what the community asks for
(R-CAT-255, R-CAT-256)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from olmc.check.validators.findings import (
    Finding,
    ValidatorSettings,
    about,
    ascii_list,
    csv_of,
    policy_rules,
    result_text,
)
from olmc.check.validators.objects import PROPERTIES
from olmc.diagnostics.rules import validation as rules
from olmc.gojson import decode, unmarshal
from olmc.kube.builtin_kinds import removed_in
from olmc.lean import NamedTuple, regex
from olmc.model.objects import CRD_KIND, GVK, gvk_of, mappings, metadata_of, split_api_version, text
from olmc.model.workspace import Bundle
from olmc.semver import Version, VersionError, parse_tolerant, tolerant_or_none

GUIDE = "https://kubernetes.io/docs/reference/using-api/deprecation-guide/"

# Kubernetes removed them as well, but the validator of operator-framework/api does not know it (R-CAT-256).
_UNNOTICED = frozenset({"FlowSchema", "PriorityLevelConfiguration", "SelfSubjectRulesReview"})

_SOFT_GROUP, _SOFT_RESOURCE = "policy", "podsecuritypolicies"
_CRDS = "ClusterServiceVersion.Spec.CustomResourceDefinitions"
_STRATEGY = "ClusterServiceVersion.Spec.InstallStrategy.StrategySpec"

NamesByKind = Mapping[str, list[str]]
"""Names of objects by the kind, or what stands for it in messages."""


class Removed(NamedTuple):
    """What a bundle has of the APIs that a release of Kubernetes removed; `soft` may be for another version."""

    minor: int
    names: NamesByKind
    soft: NamesByKind


def removed_api_findings(bundle: Bundle, settings: ValidatorSettings) -> Iterator[Finding]:
    """APIs in a bundle that Kubernetes has removed: a failure in the version that is asked for, else advice."""
    csv = csv_of(bundle.csv)
    place = csv.place("spec", "minKubeVersion")
    wanted, least = settings.kubernetes, csv.min_kube_version
    for given, message in (
        (wanted, f"invalid value informed via the k8s key option : {wanted}"),
        (
            least,
            "unable to use csv.Spec.MinKubeVersion to verify the CRD/Webhook apis because it has an invalid value: "
            f"{least}",
        ),
    ):
        if given and tolerant_or_none(given) is None:
            yield Finding(rules.REMOVED_APIS, result_text(message, value=csv.name), place)
    versions = [version for version in map(tolerant_or_none, (wanted, least)) if version is not None]
    for removed in (removed_in_1_22(bundle), _removed_in_1_25(bundle), Removed(26, _objects(bundle, 26), {})):
        # R-CAT-255: it is a failure only if the author stated that the bundle is for such a cluster.
        gone = any(version >= Version(1, removed.minor) for version in versions)
        for names, rule in (
            (removed.names, rules.REMOVED_APIS if gone else rules.REMOVED_APIS_ADVICE),
            (removed.soft, rules.REMOVED_APIS_ADVICE),
        ):
            if names:
                message = result_text(_message(removed.minor, names), value=csv.name)
                yield Finding(rule, message, csv.place())


def _message(minor: int, names: NamesByKind) -> str:
    return (
        f"this bundle is using APIs which were deprecated and removed in v1.{minor}. More info: {GUIDE}#v1-{minor}. "
        f"Migrate the API(s) for {format_kinds(names)}"
    )


def format_kinds(names: NamesByKind) -> str:
    """Kinds with the names of their objects, as the messages have them."""
    return ",".join(f"{kind}: ({ascii_list(names[kind])})" for kind in sorted(names))


def removed_in_1_22(bundle: Bundle) -> Removed:
    """What Kubernetes 1.22 has removed."""
    return Removed(22, _objects(bundle, 22), {})


def checked_apis(minor: int) -> frozenset[GVK]:
    """The APIs that are looked for of those that a minor version of Kubernetes 1 has removed."""
    return frozenset(api for api in removed_in(minor) if api.kind not in _UNNOTICED)


def _objects(bundle: Bundle, minor: int) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    removed = checked_apis(minor)
    for file in bundle.files:
        obj = file.manifest.object
        if gvk_of(obj) in removed:
            kind = "CRD" if obj["kind"] == CRD_KIND else obj["kind"]
            names.setdefault(kind, []).append(text(metadata_of(obj).get("name")))
    return names


def _removed_in_1_25(bundle: Bundle) -> Removed:
    csv = csv_of(bundle.csv)
    names = _objects(bundle, 25)
    described: set[str] = set()
    for relation in ("owned", "required"):
        for index, item in enumerate(csv.crd_descriptions(relation)):
            for number, resource in enumerate(mappings(item.get("resources"))):
                kind = text(resource.get("kind"))
                # A CRD described under that plural may be what the permission is about, so it silences the remark
                # (R-CAT-256).
                described.add(f"{kind.lower()}s")
                if GVK(*split_api_version(resource.get("version")), kind) in checked_apis(25):
                    name = f"{_CRDS}.{relation.capitalize()}[{index}].Resource[{number}]"
                    names.setdefault(kind, []).append(name)
    soft = [
        f"{_STRATEGY}.{field[0].upper()}{field[1:]}[{rule.permission}].Rules[{rule.number}]"
        for field in ("clusterPermissions", "permissions")
        for rule in policy_rules(csv, field)
        if _SOFT_GROUP in rule.names("apiGroups") and _SOFT_RESOURCE in rule.names("resources")
    ]
    return Removed(25, names, {_SOFT_RESOURCE: soft} if soft and _SOFT_RESOURCE not in described else {})


LABEL = "com.redhat.openshift.versions"
MAX_VERSION = "olm.maxOpenShiftVersion"

_LIMIT = Version(4, 9)
_REMOVED = f"using APIs which were deprecated and removed in v1.22. More info: {GUIDE}#v1-22"
_SAMPLE = """'[{"type": "key name", "value": "key value"}]'"""
_VALUE = regex(rf"{re.escape(LABEL)}[^=\n]*=([^\n]*)")


class _Verdict(NamedTuple):
    """What is reported about the annotation: as an error, or as a warning."""

    error: str = ""
    warning: str = ""


def community_findings(bundle: Bundle, settings: ValidatorSettings) -> Iterator[Finding]:
    """Whether a bundle with removed APIs keeps OpenShift 4.9 from installing it."""
    names = removed_in_1_22(bundle).names
    if not names:
        return
    csv, apis = csv_of(bundle.csv), format_kinds(names)
    verdict = _judge_annotation(csv.annotations.get(PROPERTIES, ""), apis)
    errors = [verdict.error] if verdict.error else []
    warnings = [verdict.warning] if verdict.warning else []
    if settings.dockerfile is None:
        # The tools build this list anew from the errors: those come twice, an earlier warning is lost.
        warnings = [*errors, _ask_for_dockerfile(apis)]
    elif label := _label_problem(settings.dockerfile, apis):
        errors.append(label)
    place = csv.place("metadata", "annotations", PROPERTIES)
    for texts, rule in ((errors, rules.COMMUNITY), (warnings, rules.COMMUNITY_ADVICE)):
        for detail in texts:
            yield Finding(rule, about(csv.name, detail), place)


def _judge_annotation(written: str, apis: str) -> _Verdict:
    if not written:
        return _Verdict(
            f"csv.Annotations not specified {MAX_VERSION} for an OCP version < 4.9. This annotation is required to "
            "prevent the user from upgrading their OCP cluster before they have installed a version of their operator "
            f"which is compatible with 4.9. This bundle is {_REMOVED} which are no longer supported on 4.9. Migrate "
            f"the API(s) for {apis} or use the annotation"
        )
    try:
        items = decode("[]internal.propertiesAnnotation", unmarshal(written)) or ()
    except ValueError:
        return _Verdict(
            f"csv.Annotations has an invalid value specified for {PROPERTIES}. Please, check the value  ({written}) "
            f'and ensure that it is an array such as: "{PROPERTIES}": {_SAMPLE}'
        )
    value = next((item["value"] for item in items if item["type"] == MAX_VERSION), None)
    if value is None:
        return _Verdict(
            f"csv.Annotations.{PROPERTIES} with the key `{MAX_VERSION}` and a value with an OCP version which is < 4.9 "
            f"is required for any operator bundle that is {_REMOVED}. Migrate the API(s) for {apis} or use the "
            "annotation"
        )
    return _judge_version(value, apis)


def _judge_version(value: str, apis: str) -> _Verdict:
    try:
        version = parse_tolerant(value)
    except VersionError as error:
        return _Verdict(
            f"csv.Annotations.{PROPERTIES} has an invalid value. Unable to parse ({value}) using semver : {error}"
        )
    # First problem wins: a version that is truncated is not held against 4.9 any more (R-CAT-250).
    truncated = Version(version.major, version.minor)
    if version != truncated:
        return _Verdict(
            warning=f"csv.Annotations.{PROPERTIES} has an invalid value. {MAX_VERSION} must specify only major.minor "
            f"versions, {version} will be truncated to {truncated}"
        )
    if version < _LIMIT:
        return _Verdict()
    return _Verdict(
        f"csv.Annotations.{PROPERTIES} with the key and value for {MAX_VERSION} has the OCP version value {value} "
        f"which is >= of 4.9. This bundle is {_REMOVED}. Migrate the API(s) for {apis} or inform in this property an "
        "OCP version which is < 4.9"
    )


def _ask_for_dockerfile(apis: str) -> str:
    return (
        "please, inform the path of its index image file via the the optional key values and the key index-path to "
        f"allow this validator check the labels configuration or migrate the API(s) for {apis}. (e.g. "
        f"index-path=./mypath/bundle.Dockerfile). This bundle is {_REMOVED} "
    )


def _label_problem(dockerfile: str, apis: str) -> str:
    """What is wrong with the label in a Dockerfile, "" when it ends below OpenShift 4.9."""
    if LABEL not in dockerfile:
        return (
            f"this bundle is {_REMOVED}. Migrate the APIs for {apis} or provide compatible version(s) via the labels. "
            f"(e.g. LABEL {LABEL}='4.6-4.8')"
        )
    match = _VALUE.search(dockerfile)
    value = match[1].replace('"', "").replace("'", "").strip() if match else ""
    bound = value[1:] if value.startswith("=") else value.partition("-")[2]
    version = tolerant_or_none(bound) if bound else None
    if bound and version is None:
        return f"unable to parse the value ({bound}) on ({LABEL})"
    if version is not None and version < _LIMIT:
        return ""
    return f"this bundle is {_REMOVED}. {LABEL}={value} allows to distribute it on >= 4.9"
