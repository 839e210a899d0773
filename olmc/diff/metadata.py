"""What bundles say of themselves besides their objects: channels, edges, and versions of OpenShift."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from olmc.diff import catalog_kinds as kinds
from olmc.diff.change import DiffChange
from olmc.diff.operators import DiffOperator, operators, properties_of
from olmc.gojson import unmarshal
from olmc.lean import regex
from olmc.model.objects import KubernetesObject, ObjectKey, mappings, object_key, text
from olmc.model.workspace import Bundle
from olmc.resolver.upgrade_path import edge_kind, skips_over
from olmc.semver import tolerant_or_none

_OPENSHIFT = "com.redhat.openshift.versions"
_MAX_OPENSHIFT = "olm.maxOpenShiftVersion"
_OLM_PROPERTIES = "olm.properties"
_LOWEST = regex(r">=?\s*v?([0-9][0-9A-Za-z.+-]*)")


def loses_channel(old: Bundle | None, new: Bundle | None) -> bool:
    """Whether the new bundle is in none of the old one's channels, or not in its default channel."""
    if old is None or new is None or not old.channels or not new.channels:
        return False
    return not set(old.channels) & set(new.channels) or _default(old) not in ("", *new.channels)


def _default(bundle: Bundle) -> str:
    """The default channel: a bundle with one channel need not say it."""
    return bundle.default_channel or (bundle.channels[0] if len(bundle.channels) == 1 else "")


def bundle_changes(old: Bundle | None, new: Bundle | None, objects: Iterable[KubernetesObject]) -> Iterator[DiffChange]:
    """How the metadata of two bundles differ; `objects` are those of the new side, with the CSV that it is about."""
    if old is None or new is None:
        return
    known = _csv(new, objects)
    removed = tuple(channel for channel in old.channels if channel not in new.channels)
    if set(old.channels) != set(new.channels):
        yield kinds.bundle_channels_changed(known, old.channels, new.channels, removed, loses_channel(old, new))
    # Without channels in common the other default one is reported with them.
    if old.default_channel != new.default_channel and (old.default_channel in new.channels or not old.default_channel):
        yield kinds.default_channel_changed(known, new.package, old.default_channel, new.default_channel)
    was, now = (text(bundle.annotations.get(_OPENSHIFT)) for bundle in (old, new))
    if was != now:
        yield kinds.openshift_versions_changed(known, was, now)


def _csv(bundle: Bundle, objects: Iterable[KubernetesObject]) -> ObjectKey:
    installed = (operator.csv for operator in operators(objects).values() if operator.name == bundle.name)
    return object_key(next(installed, bundle.csv.object))


def needed_changes(known: ObjectKey, old: DiffOperator, new: DiffOperator) -> Iterator[DiffChange]:
    """Versions that the new CSV no longer upgrades, and the OpenShift that it holds back."""
    if old.name != new.name:
        yield from _narrowed(known, old, new)
    was, now = (_max_openshift(operator) for operator in (old, new))
    if was != now:
        before, after = tolerant_or_none(was), tolerant_or_none(now)
        is_lower = bool(now) and (before is None or after is None or after.compare(before) < 0)
        yield kinds.max_openshift_changed(known, was, now, is_lower)


def _narrowed(known: ObjectKey, old: DiffOperator, new: DiffOperator) -> Iterator[DiffChange]:
    lowest = _LOWEST.search(old.skip_range)
    # A range that holds the old version still leads everybody on, if in more hops; which those are is worth a line.
    if lowest is not None and not skips_over(new, tolerant_or_none(lowest[1])) and new.skip_range:
        yield kinds.skip_range_narrowed(known, old.skip_range, new.skip_range, lowest[1])
    lost = tuple(name for name in old.skips if edge_kind(new, name, tolerant_or_none(_version(name))) is None)
    if lost:
        yield kinds.skips_narrowed(known, lost)


def _version(name: str) -> str:
    return name.partition(".")[2]


def _max_openshift(operator: DiffOperator) -> str:
    for prop in (*properties_of(operator.csv), *_annotated(operator)):
        if prop.get("type") == _MAX_OPENSHIFT:
            return str(prop.get("value") or "")
    return ""


def _annotated(operator: DiffOperator) -> list[Mapping[str, Any]]:
    try:
        return mappings(unmarshal(text(operator.annotations.get(_OLM_PROPERTIES)) or "[]"))
    except ValueError:
        return []
