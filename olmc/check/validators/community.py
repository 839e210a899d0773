"""The validator of the community catalog, deprecated (R-CAT-250): bundles with APIs that Kubernetes 1.22 removed.

Of what the tools say about a label in the Dockerfile, one message stands for all that mean the same (D13).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from olmc.check.validators.findings import Finding, about, csv_of
from olmc.check.validators.objects import PROPERTIES
from olmc.check.validators.removed_apis import GUIDE, listed, removed_in_1_22
from olmc.check.validators.settings import Settings
from olmc.gojson import decode, unmarshal
from olmc.model.workspace import Bundle
from olmc.rules import validation as rules
from olmc.semver import Version, VersionError, parse_tolerant, tolerant_or_none

LABEL = "com.redhat.openshift.versions"
MAX_VERSION = "olm.maxOpenShiftVersion"

_LIMIT = Version(4, 9)
_REMOVED = f"using APIs which were deprecated and removed in v1.22. More info: {GUIDE}#v1-22"
_SAMPLE = """'[{"type": "key name", "value": "key value"}]'"""
_VALUE = re.compile(rf"{re.escape(LABEL)}[^=\n]*=([^\n]*)")


class _Told(NamedTuple):
    """What is said about the annotation: as an error, or as a warning."""

    error: str = ""
    warning: str = ""


def community_findings(bundle: Bundle, settings: Settings) -> Iterator[Finding]:
    """Whether a bundle with removed APIs keeps OpenShift 4.9 from installing it."""
    found = removed_in_1_22(bundle).found
    if not found:
        return
    csv, apis = csv_of(bundle.csv), listed(found)
    told = _about_annotation(csv.annotations.get(PROPERTIES, ""), apis)
    errors = [told.error] if told.error else []
    warnings = [told.warning] if told.warning else []
    if settings.dockerfile is None:
        # The tools build this list anew from the errors: those are told twice, an earlier warning is lost.
        warnings = [*errors, _ask_for_dockerfile(apis)]
    elif label := _about_label(settings.dockerfile, apis):
        errors.append(label)
    place = csv.place("metadata", "annotations", PROPERTIES)
    for texts, rule in ((errors, rules.COMMUNITY), (warnings, rules.COMMUNITY_ADVICE)):
        for each in texts:
            yield Finding(rule, about(csv.name, each), place)


def _about_annotation(written: str, apis: str) -> _Told:
    if not written:
        return _Told(
            f"csv.Annotations not specified {MAX_VERSION} for an OCP version < 4.9. This annotation is required to "
            "prevent the user from upgrading their OCP cluster before they have installed a version of their operator "
            f"which is compatible with 4.9. This bundle is {_REMOVED} which are no longer supported on 4.9. Migrate "
            f"the API(s) for {apis} or use the annotation"
        )
    try:
        items = decode("[]internal.propertiesAnnotation", unmarshal(written)) or ()
    except ValueError:
        return _Told(
            f"csv.Annotations has an invalid value specified for {PROPERTIES}. Please, check the value  ({written}) "
            f'and ensure that it is an array such as: "{PROPERTIES}": {_SAMPLE}'
        )
    value = next((item["value"] for item in items if item["type"] == MAX_VERSION), None)
    if value is None:
        return _Told(
            f"csv.Annotations.{PROPERTIES} with the key `{MAX_VERSION}` and a value with an OCP version which is < 4.9 "
            f"is required for any operator bundle that is {_REMOVED}. Migrate the API(s) for {apis} or use the "
            "annotation"
        )
    return _about_version(value, apis)


def _about_version(value: str, apis: str) -> _Told:
    try:
        version = parse_tolerant(value)
    except VersionError as error:
        return _Told(
            f"csv.Annotations.{PROPERTIES} has an invalid value. Unable to parse ({value}) using semver : {error}"
        )
    truncated = Version(version.major, version.minor)
    if version != truncated:
        return _Told(
            warning=f"csv.Annotations.{PROPERTIES} has an invalid value. {MAX_VERSION} must specify only major.minor "
            f"versions, {version} will be truncated to {truncated}"
        )
    if version < _LIMIT:
        return _Told()
    return _Told(
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


def _about_label(dockerfile: str, apis: str) -> str:
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
