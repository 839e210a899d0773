"""What changed in a CRD, and which of it breaks objects that were valid before.

What breaks is judged for those who have objects or write them, as the API server treats them: a version that is not
served can't be asked for, one that was stored must be read for ever, and without a conversion webhook fields that a
version doesn't have are lost when an object is written in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from olmc.diff import crd_kinds as kinds
from olmc.diff.change import BREAKING, CHANGE, NOTE, RISK, DiffChange
from olmc.diff.deltas import deltas, path_text, same
from olmc.diff.schemas import lost_fields, schema_changes
from olmc.lean import NamedTuple
from olmc.model.objects import KubernetesObject, ObjectKey, mapping, mappings, spec_of, text
from olmc.model.operators import DEFAULT_PORT

_COMPARED = frozenset("group scope names versions version validation conversion preserveUnknownFields".split())
# What v1beta1 may have once for all versions.
_OF_VERSIONS = ("subresources", "additionalPrinterColumns")
_CONVERSION = frozenset(("strategy", "webhook", "webhookClientConfig", "conversionReviewVersions"))


class _Version(NamedTuple):
    """A version of a CRD; `other` is what it has besides its schema."""

    name: str
    served: bool
    stored: bool
    schema: Mapping[str, Any]
    other: Mapping[str, Any]


class _Definition(NamedTuple):
    """A CRD of v1 or v1beta1 in the shape of v1; `webhook` is what converts, without the certificates that others fill
    in, `other` what its specification has besides."""

    scope: str
    names: Mapping[str, Any]
    versions: Mapping[str, _Version]
    conversion: str
    webhook: Mapping[str, Any]
    is_unpruned: bool
    other: Mapping[str, Any]

    @property
    def stored(self) -> str:
        return next((version.name for version in self.versions.values() if version.stored), "")

    @property
    def served(self) -> list[_Version]:
        return [version for version in self.versions.values() if version.served]


def _definition(crd: KubernetesObject) -> _Definition:
    """The CRD as v1 has it; what is missing or of the wrong type is empty."""
    spec = spec_of(crd)
    common = mapping(mapping(spec.get("validation")).get("openAPIV3Schema"))
    of_all = {key: spec[key] for key in _OF_VERSIONS if key in spec}
    written = mappings(spec.get("versions"))
    if not written and text(spec.get("version")):  # v1beta1 may have one version and no list of them
        written = [{"name": spec["version"], "served": True, "storage": True}]
    versions = {}
    for version in written:
        schema = mapping(mapping(version.get("schema")).get("openAPIV3Schema")) or common
        other = {key: value for key, value in version.items() if key not in ("name", "served", "storage", "schema")}
        name = text(version.get("name"))
        is_served, is_stored = bool(version.get("served")), bool(version.get("storage"))
        versions[name] = _Version(name, is_served, is_stored, schema, {**of_all, **other})
    conversion = mapping(spec.get("conversion"))
    # v1beta1 keeps what no schema names by default, v1 drops it.
    unpruned = spec.get("preserveUnknownFields", text(crd.get("apiVersion")).endswith("/v1beta1"))
    return _Definition(
        text(spec.get("scope")) or "Namespaced", mapping(spec.get("names")), versions,
        text(conversion.get("strategy")) or "None", _webhook(conversion), bool(unpruned),
        {key: value for key, value in spec.items() if key not in (*_COMPARED, *_OF_VERSIONS)},
    )  # fmt: skip


def _webhook(conversion: Mapping[str, Any]) -> Mapping[str, Any]:
    """The webhook of a conversion as v1 has it, with the port that the API server fills in."""
    webhook = mapping(conversion.get("webhook"))
    client = {**mapping(conversion.get("webhookClientConfig")), **mapping(webhook.get("clientConfig"))}
    client = {key: value for key, value in client.items() if key != "caBundle"}
    if client.get("service"):
        client["service"] = {"port": DEFAULT_PORT, **mapping(client["service"])}
    reviewed = webhook.get("conversionReviewVersions", conversion.get("conversionReviewVersions"))
    left = {key: value for key, value in conversion.items() if key not in _CONVERSION}
    return {**left, **webhook, "clientConfig": client, "conversionReviewVersions": reviewed}


def crd_changes(identity: ObjectKey, old: KubernetesObject, new: KubernetesObject) -> Iterator[DiffChange]:
    """How a CRD and its predecessor differ, schemas included."""
    before, after = _definition(old), _definition(new)
    if before.scope != after.scope:
        yield kinds.scope_changed(identity, before.scope, after.scope)
    yield from _name_changes(identity, before, after)
    yield from _version_changes(identity, before, after)
    if before.stored and after.stored and before.stored != after.stored:
        yield _stored(identity, before, after)
    yield from _lossy_versions(identity, before, after)
    if before.conversion != after.conversion:
        needed = any(not same(version.schema, after.served[0].schema) for version in after.served[1:])
        yield kinds.conversion_changed(identity, before.conversion, after.conversion, needed)
    yield from _conversion_changes(identity, before, after)
    if before.is_unpruned != after.is_unpruned:
        yield kinds.pruning_changed(identity, after.is_unpruned)
    for delta in deltas(dict(before.other), dict(after.other), ("spec",)):
        yield kinds.crd_field_changed(identity, path_text(delta.path), delta.old, delta.new)
    for name, version in before.versions.items():
        if name in after.versions:
            yield from _other_changes(identity, version, after.versions[name])
            yield from _schemas(identity, version, after.versions[name], after)


def _name_changes(identity: ObjectKey, old: _Definition, new: _Definition) -> Iterator[DiffChange]:
    for field in ("kind", "listKind", "plural", "singular"):
        before, after = text(old.names.get(field)), text(new.names.get(field))
        if before and after and before != after:
            yield kinds.name_changed(identity, field, before, after)
    for field in ("shortNames", "categories"):
        for delta in deltas({field: old.names.get(field)}, {field: new.names.get(field)}):
            yield kinds.crd_field_changed(identity, path_text(("names", *delta.path)), delta.old, delta.new)


def _conversion_changes(identity: ObjectKey, old: _Definition, new: _Definition) -> Iterator[DiffChange]:
    """Where objects are sent to be converted, as far as that is no matter of the strategy."""
    if new.conversion != "Webhook":
        return
    before = old.webhook if old.conversion == "Webhook" else {}
    for field in ("url", "service"):
        clients = [mapping(webhook.get("clientConfig")).get(field) for webhook in (before, new.webhook)]
        for delta in deltas(clients[0], clients[1], ("conversion", "webhook", "clientConfig", field)):
            yield kinds.conversion_webhook_changed(identity, path_text(delta.path), delta.old, delta.new)
    was, now = ({k: v for k, v in each.items() if k != "clientConfig"} for each in (before, new.webhook))
    for delta in deltas(was, now, ("conversion", "webhook")) if before else ():
        yield kinds.crd_field_changed(identity, path_text(delta.path), delta.old, delta.new)


def _version_changes(identity: ObjectKey, old: _Definition, new: _Definition) -> Iterator[DiffChange]:
    for name, version in old.versions.items():
        after = new.versions.get(name)
        if after is None:
            yield kinds.version_removed(identity, name, version.served, version.stored)
        elif version.served and not after.served:
            yield kinds.version_unserved(identity, name)
        elif after.served and not version.served:
            yield kinds.version_served(identity, name)
    yield from (kinds.version_added(identity, name) for name in new.versions if name not in old.versions)


def _stored(identity: ObjectKey, old: _Definition, new: _Definition) -> DiffChange:
    """The change of the stored version: what objects lose when they are written in the new one.

    Whatever only reads differently, or has more fields, loses nothing.
    """
    names = old.stored, new.stored
    if new.conversion == "Webhook":
        return kinds.stored_version_changed(identity, *names, (), CHANGE)
    before, after = old.versions[old.stored].schema, new.versions[new.stored].schema
    lost = tuple(lost_fields(before, after))
    if any(not _in_status(path) for path in lost):
        return kinds.stored_version_changed(identity, *names, lost, BREAKING)
    differences = schema_changes(identity, new.stored, before, after, (), BREAKING)
    stricter = any(change.severity is BREAKING for change in differences)
    return kinds.stored_version_changed(identity, *names, lost, RISK if lost or stricter else CHANGE)


def _in_status(path: str) -> bool:
    return path.partition(".")[0] == "status"


def _lossy_versions(identity: ObjectKey, old: _Definition, new: _Definition) -> Iterator[DiffChange]:
    """The versions that lack fields of the stored one, without a webhook to keep them: those that are served from now
    on, and all of them where another version is stored from now on."""
    stored = new.versions.get(new.stored)
    if stored is None or new.conversion == "Webhook":
        return
    for version in new.served:
        was = old.versions.get(version.name)
        if version.name != stored.name and (was is None or not was.served or old.stored != new.stored):
            lost = tuple(path for path in lost_fields(stored.schema, version.schema) if not _in_status(path))
            if lost and version.schema:
                yield kinds.version_lossy(identity, version.name, stored.name, lost)


def _schemas(identity: ObjectKey, old: _Version, new: _Version, crd: _Definition) -> Iterator[DiffChange]:
    """How the schema of a version differs from what it was; `crd` is the whole new definition.

    A version that was not served before can't break anybody.
    """
    others = (version for version in crd.served if version.name != new.name)
    elsewhere = tuple((version.name, version.schema) for version in others) if crd.conversion == "Webhook" else ()
    most = BREAKING if old.served else NOTE
    yield from schema_changes(identity, new.name, old.schema, new.schema, elsewhere, most)


def _other_changes(identity: ObjectKey, old: _Version, new: _Version) -> Iterator[DiffChange]:
    for delta in deltas(dict(old.other), dict(new.other)):
        yield kinds.crd_field_changed(identity, path_text((old.name, *delta.path)), delta.old, delta.new)
