"""CRDs that InstallPlans write: when an update is refused, and what is stored (R-CAT-720 … R-CAT-725)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from typing import Any

from olmc.compiler.model.cluster import Cluster, NamespacedName
from olmc.compiler.olm.facts import is_copy_by_metadata
from olmc.compiler.olm.naming import ALONGSIDE, fnv64a_hex, managed_labels, with_labels
from olmc.compiler.rules.findings import reconcile as rules
from olmc.k8s.api.restmapper import Crd
from olmc.k8s.api.validation.crds import creation_errors, update_errors
from olmc.k8s.api.validation.field import Keys, invalid_text
from olmc.k8s.diagnostics import Cause, Diagnostic, Location, StoredVersion, UnfitResource, join_limited
from olmc.k8s.gojson import DecodeError, decode, decode_failure
from olmc.k8s.objects import (
    CRD_KIND,
    CRD_V1,
    KubernetesObject,
    Rendered,
    annotations_of,
    labels_of,
    mapping,
    name_of,
    spec_of,
    split_api_version,
)


class StepError(Exception):
    """A step can't be carried out; the text is the one that ends up in the InstallPlan, and `keys` lead to the mistake
    in the object, as far as it has a place there."""

    def __init__(self, text: str, keys: Keys = (), cause: Cause | None = None) -> None:
        super().__init__(text)
        self.keys = keys
        self._cause = cause

    @property
    def cause(self) -> Cause | None:
        """Return the cause as data: the given one, or the failure of Go's decoder."""
        return self._cause or decode_failure(self)


def updated_crd(
    given: KubernetesObject, existing: Rendered | None, cluster: Cluster, csv: NamespacedName, *, legacy: bool = False
) -> KubernetesObject:
    """A CRD as it is stored, in v1, once the plan of `csv` has written it.

    Raises StepError when OLM doesn't write it, or the API server doesn't take it; the older rules for one of v1beta1
    are not known here. `legacy`: whether OLM writes it is decided as its documents have it (D29).
    """
    crd = _decode(given)
    name = name_of(crd)
    before = None if existing is None else Crd(existing.object)
    if before is not None:
        check = _legacy_problems if legacy else _update_problems
        problem = next(check(name, Crd(crd), before, cluster, csv), None)
        if problem is not None:
            raise problem
    if _is_v1(given):
        _require_accepted(crd, existing, legacy=legacy)
    annotations = _with_installers(crd, existing, cluster, csv)
    labels = {**labels_of(crd), **managed_labels(cluster.profile.csv_label_managed)}
    metadata = with_labels(crd["metadata"], labels)
    metadata |= {"annotations": annotations} if annotations else {}
    metadata.pop("namespace", None)
    stored = _stored_versions(Crd(crd), before)
    if legacy:
        stored = [version for version in stored if version in _version_names(Crd(crd))]
    kept = {key: value for key, value in crd.items() if key != "status"}
    return {**kept, "metadata": metadata, "status": {"storedVersions": stored}}


def _decode(crd: KubernetesObject) -> KubernetesObject:
    """A CRD as Go's types of v1 keep it; raises StepError with OLM's words if it doesn't fit them."""
    try:
        # OLM decodes into the types of the version that is written there, and says which; what is stored is v1 (D28).
        return decode("CustomResourceDefinition", as_v1(crd), exact=True)  # type: ignore[no-any-return]
    except DecodeError as error:
        _, version = split_api_version(crd.get("apiVersion"))
        keys = error.path if _is_v1(crd) else ()
        raise StepError(f"{version} crd unmarshaling failed: {error}", keys) from error


def _is_v1(crd: KubernetesObject) -> bool:
    return not str(crd.get("apiVersion")).endswith("/v1beta1")


def _require_accepted(crd: KubernetesObject, existing: Rendered | None, *, legacy: bool) -> None:
    """Raises StepError with the API server's answer, in OLM's words, if it doesn't take a CRD."""
    name = name_of(crd)
    if existing is None:
        errors, doing = creation_errors(crd), ""
    else:
        before = {**as_v1(existing.object), "status": {"storedVersions": Crd(existing.object).stored_versions}}
        errors, doing = update_errors(crd, before), f'error updating CRD "{name}": '
    # The documents expect OLM to remove deleted versions from the status before it writes (R-CAT-725).
    if legacy:
        errors = [error for error in errors if not error.field.startswith("status.storedVersions")]
    if errors:
        text = invalid_text("CustomResourceDefinition", "apiextensions.k8s.io", name, errors)
        raise StepError(doing + text, errors[0].keys)


def _with_installers(
    crd: KubernetesObject, existing: Rendered | None, cluster: Cluster, csv: NamespacedName
) -> dict[str, Any]:
    """The annotations of a CRD, with the CSVs that it was installed with (R-CAT-722)."""
    prefix = cluster.profile.crd_annotation_alongside
    if not prefix:
        return {**annotations_of(crd)}
    # CSVs that installed it before stay in the list if they exist, as a CSV reads here which CSV brought the CRD
    # (R-REQ-3).
    values = [
        str(value)
        for source in (crd, existing.object if existing else {})
        for key, value in annotations_of(source).items()
        if key.startswith(prefix)
    ]
    # A bundle may ship a CRD with such annotations, taken from a cluster: OLM writes all of them again.
    annotations = {key: value for key, value in annotations_of(crd).items() if not key.startswith(prefix)}
    installers = (*(value for value in values if _installer_exists(value, cluster)), str(csv))
    return {**annotations, **{prefix + fnv64a_hex(value): value for value in installers}}


def _installer_exists(value: str, cluster: Cluster) -> bool:
    namespace, _, name = value.partition("/")
    csv = cluster.csvs.get(NamespacedName(namespace, name))
    return csv is not None and not is_copy_by_metadata(csv.object)


def without_installers(crd: KubernetesObject, removed: NamespacedName) -> KubernetesObject:
    """Return a CRD without the annotation of a deleted CSV. A CRD without another installer keeps it."""
    annotations = annotations_of(crd)
    if not any(key.startswith(ALONGSIDE) and value != str(removed) for key, value in annotations.items()):
        return crd
    kept = {k: v for k, v in annotations.items() if not (k.startswith(ALONGSIDE) and v == str(removed))}
    return {**crd, "metadata": {**crd["metadata"], "annotations": kept}}


def _version_names(crd: Crd) -> list[str]:
    return [version.name for version in crd.versions]


def _update_problems(name: str, new: Crd, old: Crd, cluster: Cluster, _: NamespacedName) -> Iterator[StepError]:
    """R-CAT-723: existing objects against the new schema, then stored versions."""
    yield from _resource_problems(name, new, old, cluster)
    versions = _version_names(new)
    storage = next((version.name for version in old.versions if version.storage), "")
    for version in old.stored_versions:
        if version not in versions:
            yield StepError(
                f'risk of data loss updating "{name}": new CRD removes version {version} that is listed as a stored '
                "version on the existing CRD",
                cause=StoredVersion(name, new.kind, version, storage),
            )


def _legacy_problems(name: str, new: Crd, old: Crd, cluster: Cluster, csv: NamespacedName) -> Iterator[StepError]:
    """R-CAT-725: only where several CSVs own the CRD; its served versions must stay, and existing objects must fit."""
    others = (other for key, other in cluster.csvs.items() if key != csv and not is_copy_by_metadata(other.object))
    owners = [other for other in others if any(item.name == name for item in other.owned_crds)]
    # OLM upgrades a CRD with one owner at once, without a check of its objects (R-CAT-725).
    if len(owners) <= 1:
        return
    kept = _version_names(new)
    for version in old.served_versions:
        if version not in kept:
            yield StepError(f"not allowing CRD ({name}) update with unincluded version {version}")
    yield from _resource_problems(name, new, old, cluster)


def _stored_versions(crd: Crd, before: Crd | None) -> list[str]:
    """The versions that objects may be stored in once a CRD is written over the one before (R-CAT-724)."""
    if before is None:
        return crd.stored_versions
    # Objects that were written earlier may still be stored in the old version, and only who migrates them may say that
    # none is.
    known = before.stored_versions
    return [*known, *(version.name for version in crd.versions if version.storage and version.name not in known)]


def _resource_problems(name: str, new: Crd, old: Crd, cluster: Cluster) -> Iterator[StepError]:
    # A conversion webhook may make objects fit, so OLM only warns of those that do not (R-CAT-723).
    if new.conversion.get("strategy") == "Webhook":
        return
    group, kind = new.group, new.kind
    objects = [rendered.object for _, rendered in sorted(cluster.objects.within((group, kind)).items())]
    if not objects:
        return
    from olmc.k8s.api.validation.schema_values import stored_object, violations  # few CRDs have instances

    served_before = old.served_versions
    schemas = {} if old.preserves_unknown_fields else {version.name: version.schema for version in old.versions}
    written = [(obj, schemas.get(split_api_version(obj.get("apiVersion"))[1])) for obj in objects]
    objects = [{**stored_object(obj, schema)} if schema else obj for obj, schema in written]
    for version in new.versions:
        # OLM lists the objects version by version, and lists none in a version that was not served before.
        if not version.served or version.name not in served_before:
            continue
        for obj in objects:
            problem = violations(version.schema, obj)
            if problem:
                metadata = obj["metadata"]
                where = "/".join(part for part in (metadata.get("namespace"), metadata.get("name")) if part)
                yield StepError(
                    f'error validating existing CRs against new CRD\'s schema for "{name}": error validating '
                    f'{group}/{version.name}, Kind={kind} "{where}": updated validation is too restrictive: '
                    f"{problem}",
                    cause=UnfitResource(kind, where),
                )


def as_v1(crd: KubernetesObject) -> KubernetesObject:
    """A v1beta1 CRD as the API server returns it in v1 (D28); a v1 CRD without its status."""
    if _is_v1(crd):
        return {key: value for key, value in crd.items() if key != "status"}
    old = spec_of(crd)
    moved = ("version", "versions", "validation", "subresources", "additionalPrinterColumns", "conversion")
    spec = {key: value for key, value in old.items() if key not in moved}
    versions = old.get("versions") or [{"name": old.get("version"), "served": True, "storage": True}]
    spec["versions"] = [_v1_version(version, old) for version in versions]
    spec.pop("preserveUnknownFields", None)
    # In v1beta1 nothing was pruned unless one asked for it, and the server keeps to that.
    if old.get("preserveUnknownFields") is not False:
        spec["preserveUnknownFields"] = True
    spec["conversion"] = _v1_conversion(mapping(old.get("conversion")))
    metadata = crd.get("metadata") or {}
    return {"apiVersion": CRD_V1, "kind": crd["kind"], "metadata": metadata, "spec": spec}


def _v1_version(version: Mapping[str, Any], spec: Mapping[str, Any]) -> dict[str, Any]:
    converted = dict(version)
    if spec.get("validation") and "schema" not in converted:
        converted["schema"] = spec["validation"]
    if spec.get("subresources") and "subresources" not in converted:
        converted["subresources"] = spec["subresources"]
    columns = converted.pop("additionalPrinterColumns", None) or spec.get("additionalPrinterColumns")
    if columns:
        converted["additionalPrinterColumns"] = [
            {("jsonPath" if key == "JSONPath" else key): value for key, value in column.items()} for column in columns
        ]
    return converted


def _v1_conversion(old: Mapping[str, Any]) -> dict[str, Any]:
    strategy = old.get("strategy") or "None"
    if strategy != "Webhook":
        return {"strategy": strategy}
    webhook = {
        "clientConfig": old.get("webhookClientConfig") or {},
        "conversionReviewVersions": old.get("conversionReviewVersions") or ["v1beta1"],
    }
    return {"strategy": strategy, "webhook": webhook}


_RULES = "x-kubernetes-validations"
_SHOWN = 3


def unjudged_rules(cluster: Cluster) -> Iterator[Diagnostic]:
    """Report that rules of CRDs are taken for sound where the library that judges them is not installed: there is none
    of it for musl, and it is most of what an installation takes."""
    crds = ((key.name, rendered) for key, rendered in cluster.objects.items() if key.kind == CRD_KIND)
    possible = [(name, crd, crd.provenance.place) for name, crd in crds]
    # The text is looked at first: a file without the word has no CRD with rules.
    having = [(name, crd, place) for name, crd, place in possible if place and _RULES in place.source.text]
    if not having:
        return
    if find_spec("cel_expr_python") is None:
        with_rules = sorted((name, place.source.path) for name, crd, place in having if _RULES in str(crd.object))
        if with_rules:
            names = join_limited([name for name, _ in with_rules], _SHOWN)
            yield rules.CEL_RULES_UNJUDGED.finding(Location(with_rules[0][1]), names=names)
