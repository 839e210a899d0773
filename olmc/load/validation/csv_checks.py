"""The CSV validator (R-CAT-210 … R-CAT-216), for CSVs that Go can decode."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from olmc.golang import is_label_value
from olmc.load.validation.examples import example_findings
from olmc.load.validation.names import subdomain_problems
from olmc.load.validation.result import Finding, about, result_text
from olmc.load.validation.views import csv_of
from olmc.model.coerce import text
from olmc.model.location import Place
from olmc.model.objects import annotations_of, metadata_of
from olmc.model.operators import Csv
from olmc.model.workspace import Manifest
from olmc.rules import validation as rules
from olmc.semver import VersionError, parse_strict
from olmc.strconv import SPACES, quoted

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


def csv_findings(manifest: Manifest, *, modes_optional: bool = False) -> Iterator[Finding]:
    """What is wrong with a CSV, in the order of the rules; with descoping, install modes are optional."""
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
        problems = [*subdomain_problems(name), *is_label_value(name)]
        if problems and (name or field == "metadata.name"):
            told = about(csv.name, f"{field} {quoted(name)} is invalid: {','.join(problems)}")
            yield Finding(rules.CSV_NAME, told, csv.place(*field.split(".")))


def _install_mode_findings(csv: Csv) -> Iterator[Finding]:
    place = csv.place("spec", "installModes")
    modes = csv.install_modes
    if not modes:
        yield Finding(rules.INSTALL_MODES, about(csv.name, "install modes not found"), place)
        return
    only_all = all(supported == (mode == _ALL_NAMESPACES) for mode, supported in modes)
    for index, webhook in enumerate(csv.webhooks):
        if webhook.object.get("conversionCRDs") and not only_all:
            told = "only AllNamespaces InstallModeType is supported when conversionCRDs is present"
            where = csv.place("spec", "webhookdefinitions", index, "conversionCRDs")
            yield Finding(rules.INSTALL_MODES, about(csv.name, told), where)
    if not any(supported for _, supported in modes):
        yield Finding(rules.INSTALL_MODES, about(csv.name, "none of InstallModeTypes are supported"), place)


def min_kube_version_findings(csv: Csv) -> Iterator[Finding]:
    """What is wrong with spec.minKubeVersion (R-CAT-213)."""
    version = csv.min_kube_version
    place = csv.place("spec", "minKubeVersion")
    if not version.strip(SPACES):
        yield Finding(rules.NO_MIN_KUBE_VERSION, about(csv.name, NO_MIN_KUBE_VERSION), place)
        return
    try:
        parse_strict(version)
    except VersionError:
        told = about(csv.name, f"csv.Spec.MinKubeVersion has an invalid value: {version}")
        yield Finding(rules.BAD_MIN_KUBE_VERSION, told, place)


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
        told = f"found {PROPERTIES} annotation, please define these properties in metadata/properties.yaml instead"
        place = csv.place("metadata", "annotations", PROPERTIES)
        yield Finding(rules.PROPERTIES_ANNOTATION, result_text(told, value=""), place, of_key=True)


def miscased_annotations(annotations: Mapping[str, str], name: str, place: Place) -> Iterator[Finding]:
    """Keys that differ in case from one that OLM knows (R-CAT-215); `place` is that of the annotations."""
    for key in annotations:
        right = _CASED.get(key.lower(), key)
        if right != key:
            told = result_text(f"provided annotation {key} uses wrong case and should be {right} instead", value=name)
            yield Finding(rules.ANNOTATION_CASE, told, place._replace(keys=(*place.keys, key)), of_key=True)


def operator_group_findings(manifest: Manifest) -> Iterator[Finding]:
    """What is wrong with an OperatorGroup: the case of its annotations is all that the tools look at."""
    name, place = text(metadata_of(manifest.object).get("name")), Place(manifest.source, ("metadata", "annotations"))
    yield from miscased_annotations(annotations_of(manifest.object), name, place)


def _kind_findings(csv: Csv) -> Iterator[Finding]:
    for field in ("apiVersion", "kind"):
        if not csv.object.get(field):
            yield Finding(rules.REQUIRED_FIELD, about(csv.name, f"'{field}' is missing"), csv.place(field))
