"""What bundles say of themselves besides their objects: channels, edges, and versions of OpenShift."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from olmc.diff import catalog_kinds as kinds
from olmc.diff.change import DiffChange
from olmc.diff.operators import DiffOperator, operators, properties_of
from olmc.gojson import unmarshal
from olmc.lean import regex
from olmc.model.objects import KubernetesObject, ObjectKey, mappings, object_key, text, texts
from olmc.model.workspace import Bundle
from olmc.resolver.upgrade_path import edge_kind, precedence, skips_over
from olmc.semver import Version, range_or_none, tolerant_or_none

_OPENSHIFT = "com.redhat.openshift.versions"
_MAX_OPENSHIFT = "olm.maxOpenShiftVersion"
_OLM_PROPERTIES = "olm.properties"
_FEATURE = "features.operators.openshift.io/"
_FEATURES = "operators.openshift.io/infrastructure-features"
_SUBSCRIPTION = "operators.openshift.io/valid-subscription"
_LOWEST = regex(r">=?\s*v?([0-9][0-9A-Za-z.+-]*)")
_FIRST = Version(0, 0, 0)


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
    if old.name != new.name and not is_downgrade(old, new):
        yield from _narrowed(known, old, new)
        yield from _widened(known, old, new)
    was, now = (_max_openshift(operator) for operator in (old, new))
    if was != now:
        before, after = tolerant_or_none(was), tolerant_or_none(now)
        is_lower = bool(now) and (before is None or after is None or after.compare(before) < 0)
        yield kinds.max_openshift_changed(known, was, now, is_lower)
    features, others = _features(new), _features(old)
    if features != others:
        yield kinds.features_changed(known, tuple(sorted(features - others)), tuple(sorted(others - features)))
    was, now = (text(operator.annotations.get(_SUBSCRIPTION)) for operator in (old, new))
    if was != now:
        yield kinds.valid_subscription_changed(known, was, now)


def _narrowed(known: ObjectKey, old: DiffOperator, new: DiffOperator) -> Iterator[DiffChange]:
    lowest = _LOWEST.search(old.skip_range)
    # A range that holds the old version still leads everybody on, if in more hops; which those are is worth a line.
    if lowest is not None and not skips_over(new, tolerant_or_none(lowest[1])) and new.skip_range:
        yield kinds.skip_range_narrowed(known, old.skip_range, new.skip_range, lowest[1])
    lost = tuple(name for name in old.skips if edge_kind(new, name, tolerant_or_none(_version(name))) is None)
    if lost:
        yield kinds.skips_narrowed(known, lost)


def _widened(known: ObjectKey, old: DiffOperator, new: DiffOperator) -> Iterator[DiffChange]:
    # Whoever is further behind jumps past versions that may have migrated data, also where `replaces` leads as well.
    before, after, installed = _lowest(old), _lowest(new), tolerant_or_none(old.version)
    if after is None or installed is None or after.compare(installed) >= 0:
        return
    if before is None or after.compare(before) < 0:
        yield kinds.skip_range_widened(known, old.skip_range, new.skip_range, "" if after == _FIRST else str(after))


def _lowest(operator: DiffOperator) -> Version | None:
    """Where the skipRange of a CSV begins, `_FIRST` without a lower end; None without a range that can be read."""
    # Several ranges may be joined by ||, and one of them may have no lower end.
    if skips_over(operator, _FIRST):
        return _FIRST
    bounds = map(tolerant_or_none, _LOWEST.findall(operator.skip_range) if range_or_none(operator.skip_range) else ())
    return min((bound for bound in bounds if bound is not None), key=precedence, default=None)


def is_downgrade(old: DiffOperator, new: DiffOperator) -> bool:
    """Whether the new CSV has a lower version than the old one."""
    before, after = tolerant_or_none(old.version), tolerant_or_none(new.version)
    return before is not None and after is not None and after.compare(before) < 0


def _version(name: str) -> str:
    return name.partition(".")[2]


def _features(operator: DiffOperator) -> frozenset[str]:
    """What of OpenShift an operator claims to support, by annotations of either form; the older form is one list."""
    claimed = {
        key.removeprefix(_FEATURE) for key, value in operator.annotations.items()
        if key.startswith(_FEATURE) and value == "true"
    }  # fmt: skip
    listed = (name.lower() for name in texts(_decoded(operator.annotations.get(_FEATURES))))
    return frozenset(claimed.union("fips-compliant" if name == "fips" else name for name in listed))


def _max_openshift(operator: DiffOperator) -> str:
    for prop in (*properties_of(operator.csv), *_annotated(operator)):
        if prop.get("type") == _MAX_OPENSHIFT:
            return str(prop.get("value") or "")
    return ""


def _annotated(operator: DiffOperator) -> list[Mapping[str, Any]]:
    return mappings(_decoded(operator.annotations.get(_OLM_PROPERTIES)))


def _decoded(annotation: Any) -> Any:
    """What the text of an annotation says as JSON, None if it is none."""
    try:
        return unmarshal(text(annotation) or "null")
    except ValueError:
        return None
