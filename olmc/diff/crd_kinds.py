"""The kinds of changes of CRDs: of a CRD as a whole, of its versions, and of their schemas.

`path` is the place in the objects: `spec.size`, `spec.hosts[].name` for items of a list, `spec.labels{}` for the values
of a map, "" for the whole object. The severity of a change of a schema is decided where the change is, since it depends
on the place: in the status, which users don't write, and in versions that were not served less breaks.
"""

from __future__ import annotations

from typing import Any

from olmc.diff.change import (
    ABSENT,
    ADDED,
    BREAKING,
    CHANGE,
    CHANGED,
    NOTE,
    REMOVED,
    RISK,
    ChangeGroup,
    Judgement,
    Message,
    change_kind,
    from_to,
    listed,
    shown,
)
from olmc.model.diagnostics import Severity

_MOST = 6


@change_kind("CrdAdded", ChangeGroup.CRDS, ADDED)
def crd_added() -> Judgement:
    """A CRD that only the new side has."""
    return CHANGE, ("new",)


@change_kind("CrdRemoved", ChangeGroup.CRDS, REMOVED)
def crd_removed(deleted: bool) -> Judgement:
    """A CRD that only the old side has; if it is deleted, so are all of its objects. `deleted`: a ClusterExtension had
    it, and takes it along (R-V1-UN-1)."""
    if deleted:
        return BREAKING, ("is gone, and all of its objects with it: OLM v1 deletes what a ClusterExtension has",)
    return BREAKING, ("is gone: deleting it deletes all of its objects (OLM leaves it, pruning does not)",)


@change_kind("ScopeChanged", ChangeGroup.CRDS, CHANGED)
def scope_changed(old: str, new: str) -> Judgement:
    """Namespaced becomes Cluster, or the other way around; the API server refuses that."""
    return BREAKING, ("scope: ", shown(old), " → ", shown(new), ", which the API server refuses")


@change_kind("NameChanged", ChangeGroup.CRDS, CHANGED)
def name_changed(field: str, old: str, new: str) -> Judgement:
    """Another kind, listKind, plural or singular."""
    severity = CHANGE if field in ("singular", "listKind") else BREAKING
    return severity, (f"{field}: ", shown(old), " → ", shown(new))


@change_kind("VersionAdded", ChangeGroup.CRDS, ADDED)
def version_added(version: str) -> Judgement:
    """A version that only the new side has."""
    return CHANGE, ("new version ", shown(version))


@change_kind("VersionRemoved", ChangeGroup.CRDS, REMOVED)
def version_removed(version: str, served: bool, stored: bool) -> Judgement:
    """A version that only the old side has; `served` and `stored` are what it was there."""
    migration = ": objects are stored in it, so OLM refuses the upgrade until they are migrated" if stored else ""
    return BREAKING if served or stored else CHANGE, ("version ", shown(version), " is gone", migration)


@change_kind("VersionServed", ChangeGroup.CRDS, ADDED)
def version_served(version: str) -> Judgement:
    """A version that is served from now on."""
    return CHANGE, ("version ", shown(version), " is served from now on")


@change_kind("VersionUnserved", ChangeGroup.CRDS, REMOVED)
def version_unserved(version: str) -> Judgement:
    """A version that is not served any more: requests for it fail."""
    return BREAKING, ("version ", shown(version), " is no longer served")


@change_kind("StoredVersionChanged", ChangeGroup.CRDS, CHANGED)
def stored_version_changed(old: str, new: str, lost: tuple[str, ...], severity: Severity) -> Judgement:
    """Objects are stored in another version from now on; `lost` are the fields that it neither has nor gets."""
    start: Message = ("stored version: ", shown(old), " → ", shown(new))
    if not lost:
        return severity, start
    fields: Message = ("; without a conversion webhook objects lose ", *listed(lost, _MOST))
    return severity, (*start, *fields, ", which ", shown(new), " does not have")


@change_kind("VersionLossy", ChangeGroup.CRDS, CHANGED)
def version_lossy(version: str, stored: str, lost: tuple[str, ...]) -> Judgement:
    """A served version that lacks fields of the stored one from now on: who writes in it deletes them."""
    start: Message = ("version ", shown(version), " lacks ", *listed(lost, _MOST), " of ", shown(stored))
    return RISK, (*start, ": without a conversion webhook, writing an object in it drops them")


@change_kind("ConversionChanged", ChangeGroup.CRDS, CHANGED)
def conversion_changed(old: str, new: str, needed: bool) -> Judgement:
    """Another conversion strategy; `needed`: several versions with different schemas are served."""
    return BREAKING if new != "Webhook" and needed else CHANGE, ("conversion: ", shown(old), " → ", shown(new))


@change_kind("ConversionWebhookChanged", ChangeGroup.CRDS)
def conversion_webhook_changed(path: str, old: Any, new: Any) -> Judgement:
    """Where objects are sent that are asked for in another version: a URL, or a service of the cluster."""
    # A service that comes with the strategy is how operators convert; one that was another before is no longer theirs.
    severity = CHANGE if new is ABSENT or (old is ABSENT and "url" not in path) else RISK
    return severity, (shown(path), *from_to(old, new), "; objects are sent there to be converted")


@change_kind("CrdFieldChanged", ChangeGroup.CRDS)
def crd_field_changed(path: str, old: Any, new: Any) -> Judgement:
    """Any other field of a CRD: short names, categories, printer columns, subresources, selectable fields, labels."""
    is_used = any(field in path for field in ("subresources", "selectableFields"))
    return RISK if new is ABSENT and is_used else NOTE, (shown(path), *from_to(old, new))


@change_kind("PruningChanged", ChangeGroup.CRDS, CHANGED)
def pruning_changed(kept: bool) -> Judgement:
    """Whether fields that no schema names are kept, in all versions (spec.preserveUnknownFields)."""
    effect = "kept" if kept else "dropped when an object is written"
    return CHANGE if kept else RISK, (f"spec.preserveUnknownFields: fields that the schemas do not name are {effect}",)


# The schema of a version.


@change_kind("PropertyAdded", ChangeGroup.CRDS, ADDED)
def property_added(version: str, path: str, required: bool, severity: Severity) -> Judgement:
    """A field that objects may have from now on, or must."""
    refused = ": objects without it are refused" if severity is BREAKING else ""
    return severity, (*_place(version, path), f" is new and required{refused}" if required else " is new")


@change_kind("PropertyRemoved", ChangeGroup.CRDS, REMOVED)
def property_removed(
    version: str, path: str, kept_in: tuple[str, ...], tolerated: bool, severity: Severity
) -> Judgement:
    """A field that the schema does not have any more.

    `kept_in` are other served versions that still have it, to which a conversion webhook leads; `tolerated`: unknown
    fields are let through there.
    """
    start: Message = (*_place(version, path), " is gone")
    if kept_in:
        return severity, (*start, "; the conversion webhook may keep it in ", *listed(kept_in))
    return severity, (*start, "; unknown fields are kept there" if tolerated else ": what it holds is dropped")


@change_kind("TypeChanged", ChangeGroup.CRDS, CHANGED)
def type_changed(version: str, path: str, old: str, new: str, severity: Severity) -> Judgement:
    """Another type; `anything` and `nothing` stand for schemas without one."""
    return severity, (*_place(version, path), " has another type: ", shown(old), " → ", shown(new))


@change_kind("RequiredAdded", ChangeGroup.CRDS, CHANGED)
def required_added(version: str, path: str, has_default: bool, severity: Severity) -> Judgement:
    """A field that objects could do without so far."""
    default = " (it has a default)" if has_default else ""
    return severity, (*_place(version, path), f" is required from now on{default}")


@change_kind("RequiredRemoved", ChangeGroup.CRDS, CHANGED)
def required_removed(version: str, path: str) -> Judgement:
    """A field that objects had to have so far."""
    return CHANGE, (*_place(version, path), " is no longer required")


@change_kind("EnumChanged", ChangeGroup.CRDS, CHANGED)
def enum_changed(
    version: str, path: str, added: tuple[str, ...], removed: tuple[str, ...], was_open: bool, is_open: bool,
    severity: Severity,
) -> Judgement:  # fmt: skip
    """Other values are allowed; `was_open`, `is_open`: any value was, or is."""
    place = _place(version, path)
    if is_open:
        return severity, (*place, " allows any value")
    if was_open:
        return severity, (*place, " allows only ", *listed(added))
    less: Message = (" no longer allows ", *listed(removed)) if removed else ()
    more: Message = (" and" if removed else "", " allows ", *listed(added)) if added else ()
    return severity, (*place, *less, *more)


@change_kind("BoundChanged", ChangeGroup.CRDS)
def bound_changed(version: str, path: str, keyword: str, old: Any, new: Any, severity: Severity) -> Judgement:
    """Another limit: minimum, maxLength, uniqueItems and their like."""
    return severity, (*_place(version, path), f" {keyword}", *from_to(old, new))


@change_kind("PatternChanged", ChangeGroup.CRDS)
def pattern_changed(version: str, path: str, keyword: str, old: Any, new: Any, severity: Severity) -> Judgement:
    """Another pattern or format; which of two patterns lets more through nobody can say."""
    return severity, (*_place(version, path), f" {keyword}", *from_to(old, new))


@change_kind("DefaultChanged", ChangeGroup.CRDS)
def default_changed(version: str, path: str, old: Any, new: Any, severity: Severity) -> Judgement:
    """Another default: objects that leave the field out mean something else from now on."""
    return severity, (*_place(version, path), " default", *from_to(old, new))


@change_kind("ValidationAdded", ChangeGroup.CRDS, ADDED)
def validation_added(version: str, path: str, rule: str, message: str, obeyed: bool, severity: Severity) -> Judgement:
    """A CEL rule that objects have to satisfy from now on; `obeyed`: all that were valid before do."""
    reason: Message = (" (", shown(message), ")") if message else ()
    so_far = ", as all objects so far do" if obeyed else ""
    return severity, (*_place(version, path), " has to obey ", shown(rule), *reason, so_far)


@change_kind("ValidationRemoved", ChangeGroup.CRDS, REMOVED)
def validation_removed(version: str, path: str, rule: str) -> Judgement:
    """A CEL rule that objects need not satisfy any more."""
    return CHANGE, (*_place(version, path), " need not obey ", shown(rule), " any more")


@change_kind("KeywordChanged", ChangeGroup.CRDS)
def keyword_changed(
    version: str, paths: tuple[str, ...], keyword: str, old: Any, new: Any, severity: Severity
) -> Judgement:
    """Another keyword: combinations (allOf …), nullable, the kind of a list or map; the same at all of these places."""
    others = len(paths) - 1
    more = f" and {others} more place{'s' * (others != 1)}" if others else ""
    return severity, (*_place(version, paths[0]), f"{more} {keyword}", *from_to(old, new))


@change_kind("UnknownFieldsChanged", ChangeGroup.CRDS, CHANGED)
def unknown_fields_changed(version: str, path: str, kept: bool, severity: Severity) -> Judgement:
    """Fields that the schema doesn't name are kept from now on, or dropped."""
    return severity, (*_place(version, path), f" {'keeps' if kept else 'drops'} fields that the schema does not name")


def _place(version: str, path: str) -> Message:
    return (shown(version), " ", shown(path or "the whole object"))
