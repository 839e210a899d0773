"""Compare ClusterExtensions: their requests, their installed bundles, their progress, and the result of OLM v1's check
of their CRDs.

All of it is in the objects, so that renderings are compared like workspaces.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from olmc.compiler.catalogs.content import content_value, inline_objects
from olmc.compiler.catalogs.properties import BUNDLE_OBJECT
from olmc.compiler.load.vendored import VENDOR_FOLDER
from olmc.compiler.model.catalog import Catalog, CatalogBundle, Channel, Package, Property
from olmc.compiler.model.cluster import NamespacedName
from olmc.compiler.model.operators import CSV_KIND
from olmc.compiler.model.workspace import EXTENSIONS_V1
from olmc.compiler.olm.facts import EXTENSION, is_copy, is_extension, owner_of, serves_catalog
from olmc.compiler.resolver.steps import content_of
from olmc.k8s.api.applied import is_object
from olmc.k8s.diagnostics import Report
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.objects import (
    CRD_KIND,
    OLM_GROUP,
    CatalogKey,
    KubernetesObject,
    ObjectKey,
    as_text,
    is_floating,
    mapping,
    mappings,
    name_of,
    object_key,
    registry_of,
    spec_of,
    status_of,
    text,
    texts,
)
from olmc.k8s.semver import tolerant_or_none
from olmc.review.diff import catalog_kinds as kinds
from olmc.review.diff.crd_kinds import (
    ADDED,
    BREAKING,
    CHANGE,
    CHANGED,
    NOTE,
    REMOVED,
    RISK,
    ChangeGroup,
    DiffChange,
    Judgement,
    Message,
    change_kind,
    changed,
    image_name,
    listed,
    shown,
)
from olmc.review.diff.matching import Pair
from olmc.review.diff.operators import CSV, DiffOperator, operators, parts_of
from olmc.review.diff.settings import Side
from olmc.review.diff.workloads import catalog_image
from olmc.review.explain.left_out import SettledCompilation
from olmc.review.graph.upgrade_graph import upgrade_graph

if TYPE_CHECKING:
    from olmc.compiler.reconcile.loop import SettledCluster

# The kinds of changes of ClusterExtensions: what they ask for, what they have installed, and what stops them; and what
# OLM v1's own check says of a CRD.

_LINES = 3
_RECKLESS = {"upgradeConstraintPolicy": "SelfCertified", "crdUpgradeSafety": "None"}


@change_kind("ExtensionAdded", ChangeGroup.VERSIONS, ADDED)
def extension_added(package: str, version: str, asks: str, admin: bool) -> Judgement:
    """A ClusterExtension that only the new side has, its request, and the version that it gets ("" for none).

    `admin`: the controller installs any bundle with the rights of cluster-admin (R-V1-REL-1).
    """
    by_whom = "; the controller installs it with the rights of cluster-admin" if admin else ""
    gets = shown(version or "(nothing is installed)")
    return RISK if admin else CHANGE, ("new operator ", shown(package), " ", gets, *_asked(asks), by_whom)


@change_kind("ExtensionMoved", ChangeGroup.VERSIONS, CHANGED)
def extension_moved(package: str, new: str, asks: str, old: str, namespace: str) -> Judgement:
    """An operator that OLM v0 has on the old side and a ClusterExtension on the new one: its versions ("" for nothing
    installed), where its Subscription was, and what the ClusterExtension asks for (R-V1-MIG-2)."""
    version: Message = changed(old, new or "(nothing is installed)")
    steps = "; take the steps of olmc migrate --to olm-v1 --steps before this is applied, or nothing gets installed"
    return RISK, (
        shown(package),
        " ",
        *version,
        ", from OLM v0 in ",
        shown(namespace),
        " to OLM v1",
        *_asked(asks),
        steps,
    )


@change_kind("ExtensionRemoved", ChangeGroup.VERSIONS, REMOVED)
def extension_removed(package: str, version: str, crds: tuple[str, ...], is_idle: bool) -> Judgement:
    """A ClusterExtension that only the old side has; `crds` are those that go with it (R-V1-UN-1).

    `is_idle`: it is known to have nothing installed. Without its content in the workspace, that is unknown.
    """
    if is_idle:
        return CHANGE, ("removed: package ", shown(package), ", of which nothing was installed")
    lost: Message = (", with all objects of ", *listed(crds)) if crds else ()
    of: Message = (" ", shown(version)) if version else ()
    return BREAKING, ("operator ", shown(package), *of, " is removed, and all that it installed", *lost)


@change_kind("ExtensionChanged", ChangeGroup.VERSIONS, CHANGED)
def extension_changed(field: str, old: str, new: str) -> Judgement:
    """A ClusterExtension that asks for something else; "" for nothing."""
    # With the change OLM no longer makes sure that a new version is an upgrade, or that objects survive.
    effect = ""
    if field == "version" and _is_exact(old) and not _is_exact(new):
        effect = "; OLM installs later versions without a change here"
    elif field == "channels" and old and (not new or set(old.split(", ")) < set(new.split(", "))):
        effect = "; bundles of other channels count as well"
    elif field == "selector" and old:
        effect = "; the content may come from another catalog"
    severity = RISK if effect or _RECKLESS.get(field) == new else CHANGE
    return severity, (f"{field}: ", *changed(old or "none", new or "none"), effect)


def _is_exact(version: str) -> bool:
    """Tell whether a ClusterExtension asks for one version alone."""
    return tolerant_or_none(version) is not None and version.partition("-")[0].count(".") == 2


@change_kind("ExtensionUpgraded", ChangeGroup.VERSIONS, CHANGED)
def extension_upgraded(
    package: str, old: str, new: str, old_version: str, new_version: str, downgrade: bool
) -> Judgement:
    """Another bundle of a ClusterExtension: the names of both, and their versions."""
    remark = " (a downgrade)" * downgrade
    versions: Message = changed(old_version or old, new_version or new)
    return RISK if downgrade else CHANGE, (shown(package), " ", *versions, remark)


@change_kind("ExtensionStopped", ChangeGroup.VERSIONS, CHANGED)
def extension_stopped(reason: str, message: str, installed: str) -> Judgement:
    """A ClusterExtension that gets no further, with reason and message of its condition Progressing; `installed` is
    what runs on, "" for nothing."""
    stays: Message = (shown(installed), " runs on") if installed else ("nothing is installed",)
    # What is not in a terminal's first lines is in the finding of the same message.
    return BREAKING, ("gets no further (", shown(reason), "), ", *stays, ": ", shown(message))


@change_kind("ExtensionUnknown", ChangeGroup.VERSIONS, CHANGED)
def extension_unknown(bundle: str) -> Judgement:
    """A ClusterExtension that resolves to a bundle whose content is not in the workspace."""
    return RISK, ("what it installs is unknown: the workspace has no content of bundle ", shown(bundle))


@change_kind("ExtensionRecovered", ChangeGroup.VERSIONS, CHANGED)
def extension_recovered(reason: str) -> Judgement:
    """A ClusterExtension that got no further on the old side, and does on the new one."""
    return CHANGE, ("gets on again (", shown(reason), ")")


@change_kind("CrdUpgradeChecked", ChangeGroup.CRDS, CHANGED)
def crd_upgrade_checked(problems: tuple[str, ...], enforced: bool) -> Judgement:
    """The result of OLM v1's check for a CRD that changes: `problems` is () if it accepts it; `enforced`: the
    ClusterExtension has the check decide (R-V1-CRD-1)."""
    if not problems:
        return NOTE, ("the check of CRD upgrade safety lets this through",)
    lines = listed(problems, _LINES)
    if not enforced:
        return RISK, ("the check of CRD upgrade safety is off, and would refuse this: ", *lines)
    return BREAKING, ("the check of CRD upgrade safety refuses this, and with it the whole upgrade: ", *lines)


def _asked(asks: str) -> Message:
    return (" (", shown(asks), ")") if asks else ()


_GETS_ON = ("", "Succeeded", "RollingOut", "Absent")
_REPORTED_FIELDS = ("version", "channels", "selector")


# As the controller says it of an image that is not there (R-V1-CND-5).
_UNREAD = regex(
    r'for resolved bundle "(?P<bundle>[^"]+)" with version "(?P<version>[^"]*)": error creating image source: '
    r"reading manifest \S+ in \S+: manifest unknown"
)


class DiffExtension(NamedTuple):
    """A ClusterExtension with what it has installed: bundle and version, "" for nothing; `reason` and `message` are
    those of its condition Progressing."""

    object: KubernetesObject
    package: str
    bundle: str
    version: str
    reason: str
    message: str

    @property
    def unread(self) -> tuple[str, str]:
        """The bundle that it resolves to and whose content olmc does not have, and its version; "" for none."""
        match = _UNREAD.search(self.message)
        return (match["bundle"], match["version"]) if match is not None else ("", "")

    @property
    def is_stopped(self) -> bool:
        """Return whether it gets no further."""
        return self.reason not in _GETS_ON and not self.unread[0]

    @property
    def content(self) -> str:
        """The version of what it has installed, or of what it resolves to; "" for nothing."""
        return self.version or self.bundle or self.unread[1] or self.unread[0]


def extensions(objects: Iterable[KubernetesObject]) -> dict[str, DiffExtension]:
    """The ClusterExtensions among objects, by name."""
    return {name_of(obj): _extension(obj) for obj in objects if is_extension(obj)}


def _extension(obj: KubernetesObject) -> DiffExtension:
    status = status_of(obj)
    installed = mapping(mapping(status.get("install")).get("bundle"))
    conditions = mappings(status.get("conditions"))
    progressing = next((each for each in conditions if each.get("type") == "Progressing"), {})
    return DiffExtension(
        obj, text(_catalog(obj).get("packageName")), text(installed.get("name")), as_text(installed.get("version")),
        text(progressing.get("reason")), text(progressing.get("message")),
    )  # fmt: skip


def _catalog(obj: KubernetesObject) -> Mapping[str, object]:
    return mapping(mapping(spec_of(obj).get("source")).get("catalog"))


def apis_by_owner(objects: Iterable[KubernetesObject]) -> Mapping[str, frozenset[str]]:
    """By ClusterExtension the CRDs that it has."""
    crds: dict[str, set[str]] = defaultdict(set)
    for obj in objects:
        if obj.get("kind") == CRD_KIND and owner_of(obj):
            crds[owner_of(obj)].add(name_of(obj))
    return {name: frozenset(some) for name, some in crds.items()}


def extension_changes(
    pair: Pair, crds: Iterable[str] = (), moved_from: DiffOperator | None = None, *, admin: bool = False
) -> Iterator[DiffChange]:
    """Yield the changes of a ClusterExtension that both sides have, or one of them; `crds` are those that it had,
    `moved_from` is the operator of OLM v0 that it replaces. `admin`: the controller of the new side writes with the
    rights of cluster-admin."""
    old, new = (_extension(obj) if obj is not None else None for obj in (pair.old, pair.new))
    if new is None:
        if old is not None:
            is_idle = not old.content and bool(old.reason)
            yield extension_removed(pair.identity, old.package, old.content, tuple(sorted(crds)), is_idle)
        return
    if old is None:
        fields = _REPORTED_FIELDS if moved_from is None else _REPORTED_FIELDS[:2]
        asks = ", ".join(f"{field} {value}" for field, value in asked(new.object).items() if value and field in fields)
        now = new.package, new.content, asks
        if moved_from is None:
            yield extension_added(pair.identity, *now, admin)
        else:
            yield extension_moved(pair.identity, *now, moved_from.version, moved_from.namespace)
    else:
        before, after = asked(old.object), asked(new.object)
        yield from (
            extension_changed(pair.identity, field, before[field], after[field])
            for field in before
            if before[field] != after[field]
        )
        if old.bundle and new.bundle and (old.bundle, old.version) != (new.bundle, new.version):
            yield upgrade(pair.identity, old, new)
    yield from _progress(pair.identity, old, new)


def bundle_upgrade(old: Side, new: Side) -> Iterator[DiffChange]:
    """The upgrade from one bundle by itself to another one, as a ClusterExtension called like the package has it."""
    was, now = old.bundle, new.bundle
    if was is None or now is None or was.name == now.name or not any(map(owner_of, new.objects)):
        return
    sides = [
        DiffExtension({}, each.package, each.name, as_text(spec_of(each.csv.object).get("version")), "", "")
        for each in (was, now)
    ]
    yield upgrade(ObjectKey(EXTENSIONS_V1.partition("/")[0], EXTENSION, "", now.package), *sides)


def upgrade(known: ObjectKey, old: DiffExtension, new: DiffExtension) -> DiffChange:
    """Report that another bundle is installed."""
    before, after = tolerant_or_none(old.version), tolerant_or_none(new.version)
    downgrade = before is not None and after is not None and after.compare(before) < 0
    return extension_upgraded(known, new.package, old.bundle, new.bundle, old.version, new.version, downgrade)


def _progress(known: ObjectKey, old: DiffExtension | None, new: DiffExtension) -> Iterator[DiffChange]:
    unread = new.unread[0]
    if unread and (old is None or old.unread[0] != unread):
        yield extension_unknown(known, unread)
    elif new.is_stopped and (old is None or old.message != new.message):
        yield extension_stopped(known, new.reason, new.message, new.bundle)
    elif old is not None and old.is_stopped and not new.is_stopped and new.reason:
        yield extension_recovered(known, new.reason)


def asked(obj: KubernetesObject) -> dict[str, str]:
    """Return the request of a ClusterExtension, by field; "" for an open one."""
    catalog, spec = _catalog(obj), spec_of(obj)
    selector = catalog.get("selector")
    preflight = mapping(mapping(spec.get("install")).get("preflight"))
    enforcement = text(mapping(preflight.get("crdUpgradeSafety")).get("enforcement"))
    return {
        "package": text(catalog.get("packageName")),
        "version": as_text(catalog.get("version")) if catalog.get("version") is not None else "",
        "channels": ", ".join(texts(catalog.get("channels"))),
        "selector": json.dumps(selector, sort_keys=True, ensure_ascii=False, default=str) if selector else "",
        "upgradeConstraintPolicy": text(catalog.get("upgradeConstraintPolicy")) or "CatalogProvided",
        "serviceAccount": text(mapping(spec.get("serviceAccount")).get("name")),
        "crdUpgradeSafety": enforcement or "Strict",
    }


def spec_of_others(obj: KubernetesObject) -> dict[str, object]:
    """Return the fields of a ClusterExtension except those of `asked`."""
    left = ("source", "serviceAccount", "install")
    return {key: value for key, value in spec_of(obj).items() if key not in left}


def checked_crd(pair: Pair, changes: Iterable[DiffChange], new: Mapping[str, DiffExtension]) -> Iterator[DiffChange]:
    """Yield the results of OLM v1's check for a CRD of a ClusterExtension, if that is stricter or less strict than
    `changes`; `new` are the ClusterExtensions of the new side."""
    if pair.old is None or pair.new is None or not owner_of(pair.new):
        return
    from olmc.targets.v1.crd_upgrade import crd_errors  # few comparisons are of OLM v1

    problems = tuple(crd_errors(pair.old, pair.new))
    extension = new.get(owner_of(pair.new))
    enforced = extension is None or asked(extension.object)["crdUpgradeSafety"] != "None"
    if problems or any(change.severity is BREAKING for change in changes):
        yield crd_upgrade_checked(pair.identity, problems, enforced)


def stopped_parts(now: Iterable[KubernetesObject], fresh: Iterable[KubernetesObject]) -> Iterator[ObjectKey]:
    """The ClusterExtensions that get no further on one side and do on the other, with all that either has of them."""
    now, fresh = tuple(now), tuple(fresh)
    onward = {name for name, each in extensions(fresh).items() if not each.is_stopped}
    stopped = {name for name, each in extensions(now).items() if each.is_stopped} & onward
    for obj in (*now, *fresh) if stopped else ():
        if owner_of(obj) in stopped or (is_extension(obj) and name_of(obj) in stopped):
            yield object_key(obj)


# Catalog against catalog: packages, channels, heads, entries and their edges, deprecations, and who is stranded.

_DEPRECATED = {"olm.package": "package", "olm.channel": "channel", "olm.bundle": "version"}


class _Use(NamedTuple):
    """The requests of the Subscriptions of both sides, and the installed versions: packages, their channels, names of
    CSVs; `who` is the kind of the requesting object."""

    packages: frozenset[str]
    channels: frozenset[tuple[str, str]]
    csvs: frozenset[str]
    who: str = "Subscription"


def catalog_changes(old: Side, new: Side) -> Iterator[DiffChange]:
    """Yield how the catalogs that both sides have differ; what only one of them has is an object that comes or goes."""
    yield from _kept_content(old, new)
    if old.settled is not None and new.settled is not None:
        before, after = old.settled.cluster.catalogs, new.settled.cluster.catalogs
        for key in sorted(before.keys() & after.keys()):
            known = ObjectKey(OLM_GROUP, "CatalogSource", key.namespace, key.name)
            yield from _catalog_text(
                known, before[key].catalog, after[key].catalog, _use(key, old.settled, new.settled)
            )
    use = _use_of_extensions(old, new)
    for name in sorted(old.served.keys() & new.served.keys()):
        known = ObjectKey(EXTENSIONS_V1.partition("/")[0], "ClusterCatalog", "", name)
        yield from _catalog_text(known, old.served[name], new.served[name], use)


def _kept_content(old: Side, new: Side) -> Iterator[DiffChange]:
    """The catalogs with another image whose content in the workspace is the same; content that was vendored is that of
    the image."""
    was, now = (_served_by_key(side) for side in (old, new))
    if not was.keys() & now.keys():
        return
    images = [{object_key(obj): catalog_image(obj) for obj in side.objects} for side in (old, new)]
    for known in sorted(was.keys() & now.keys()):
        before, after = (each.get(known, "") for each in images)
        served = now[known]
        is_vendored = any(file.startswith(f"{VENDOR_FOLDER}/") for file in served.files)
        if before and after and before != after and served.packages == was[known].packages and not is_vendored:
            yield kinds.catalog_content_kept(known, after)


def _served_by_key(side: Side) -> dict[ObjectKey, Catalog]:
    """The catalogs of a side that have content, by their objects."""
    sources = side.settled.cluster.catalogs if side.settled is not None else {}
    found = {
        ObjectKey(OLM_GROUP, "CatalogSource", key.namespace, key.name): source.catalog
        for key, source in sources.items()
        if source.catalog is not None and source.catalog.packages
    }
    group = EXTENSIONS_V1.partition("/")[0]
    found |= {ObjectKey(group, "ClusterCatalog", "", name): served for name, served in side.served.items()}
    return found


def _catalog_text(known: ObjectKey, was: Catalog | None, now: Catalog | None, use: _Use) -> Iterator[DiffChange]:
    if was is None or now is None or was.packages == now.packages:
        return
    if was.problem or now.problem:  # the packages of a catalog that can't be served are unknown
        if not was.problem:
            yield kinds.catalog_broken(known, now.problem)
        return
    for name in sorted(was.packages.keys() | now.packages.keys()):
        yield from _package(known, name, was.packages.get(name), now.packages.get(name), use)


def _use_of_extensions(*sides: Side) -> _Use:
    """The same of ClusterExtensions, whichever catalog they get it from."""
    asking = [extension for side in sides for extension in extensions(side.objects).values()]
    channels = ((each.package, asked(each.object)["channels"].split(", ")) for each in asking)
    return _Use(
        frozenset(extension.package for extension in asking),
        frozenset((package, channel) for package, some in channels for channel in some),
        frozenset(extension.bundle for extension in asking),
        "ClusterExtension",
    )


def _use(key: CatalogKey, *sides: SettledCluster) -> _Use:
    subscriptions = [
        subscription
        for side in sides
        for subscription in side.cluster.subscriptions.values()
        if subscription.catalog == key
    ]
    return _Use(
        frozenset(subscription.package for subscription in subscriptions),
        frozenset((subscription.package, text(subscription.spec.get("channel"))) for subscription in subscriptions),
        frozenset(name.name for side in sides for name in side.cluster.csvs),
    )


def _package(known: ObjectKey, name: str, old: Package | None, new: Package | None, use: _Use) -> Iterator[DiffChange]:
    if new is None:
        yield kinds.package_removed(known, name, name in use.packages, use.who)
        return
    if old is None:
        yield kinds.package_added(known, name)
        return
    if old.default_channel != new.default_channel:
        yield kinds.default_channel_changed(known, name, old.default_channel, new.default_channel)
    for channel in sorted(old.channels.keys() | new.channels.keys()):
        if channel not in new.channels:
            yield kinds.channel_removed(known, name, channel, (name, channel) in use.channels, use.who)
        elif channel not in old.channels:
            yield kinds.channel_added(known, name, channel, _heads(new.channels[channel]))
        elif old.channels[channel].entries != new.channels[channel].entries:
            yield from _channel(known, name, old.channels[channel], new.channels[channel])
    yield from _bundles(known, old, new)
    yield from _stranded(known, old, new)
    yield from _deprecations(known, old, new, use)


def _heads(channel: Channel) -> str:
    """The heads of a channel as a text: what nothing in it replaces or skips."""
    passed = {name for entry in channel.entries for name in (entry.replaces, *entry.skips)}
    return ", ".join(sorted(entry.name for entry in channel.entries if entry.name not in passed))


def _channel(known: ObjectKey, package: str, old: Channel, new: Channel) -> Iterator[DiffChange]:
    before, after = ({entry.name: entry for entry in channel.entries} for channel in (old, new))
    added, removed = tuple(n for n in after if n not in before), tuple(n for n in before if n not in after)
    heads = _heads(old), _heads(new)
    if added or removed or heads[0] != heads[1]:
        yield kinds.channel_changed(known, package, new.name, *heads, added, removed)
    for name, entry in after.items():
        was = before.get(name)
        for field, value in (
            ("replaces", entry.replaces), ("skips", ", ".join(entry.skips)), ("skipRange", entry.skip_range),
        ):  # fmt: skip
            past = _edge(was, field) if was is not None else value
            if past != value:
                yield kinds.edges_changed(known, package, new.name, name, field, past, value)
        dangles = bool(entry.replaces) and entry.replaces not in after
        dangled = was is not None and was.replaces == entry.replaces and entry.replaces not in before
        # The first entry of a channel often replaces one that was in another channel.
        if dangles and not dangled and (was is not None or len(after) > 1):
            yield kinds.replaces_nothing(known, package, new.name, name, entry.replaces)


def _edge(entry: object, field: str) -> str:
    value = getattr(entry, {"skipRange": "skip_range"}.get(field, field))
    return value if isinstance(value, str) else ", ".join(value)


def _bundles(known: ObjectKey, old: Package, new: Package) -> Iterator[DiffChange]:
    """Yield how the content of bundles differs: by image, related images and properties.

    A bundle that only the new side has is compared with the images of all bundles before.
    """
    images = [image for bundle in old.bundles.values() for image in _images(bundle)]
    registries, had_floating = frozenset(map(registry_of, images)), any(map(is_floating, images))
    for name in sorted(new.bundles):
        was, now = old.bundles.get(name), new.bundles[name]
        if was is not None:
            yield from _bundle(known, was, now)
            continue
        foreign = tuple(image for image in _images(now) if registry_of(image) not in registries)
        floating = tuple(image for image in _images(now) if is_floating(image) and not had_floating)
        if registries and (foreign or floating):
            yield kinds.bundle_less_certain(known, new.name, name, foreign, floating)


def _images(bundle: CatalogBundle) -> tuple[str, ...]:
    """The images of a bundle: its own first, then the related ones, each once."""
    return tuple(dict.fromkeys(filter(None, (bundle.image, *bundle.related_images))))


def _bundle(known: ObjectKey, old: CatalogBundle, new: CatalogBundle) -> Iterator[DiffChange]:
    if old.image != new.image:
        yield kinds.bundle_image_changed(known, new.package, new.name, old.image, new.image)
    # The registry lists the image of the bundle among those that it relates to.
    was, now = ([image for image in _images(b) if image != b.image] for b in (old, new))
    for before, after in _moved(was, now):
        if before and after:
            yield kinds.related_image_changed(known, new.package, new.name, before, after)
        elif after:
            is_foreign = registry_of(after) not in map(registry_of, _images(old))
            yield kinds.related_image_added(known, new.package, new.name, after, is_foreign)
        else:
            yield kinds.related_image_removed(known, new.package, new.name, before)
    yield from _properties(known, old, new)


def _moved(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The images of two lists that differ, each with the one whose place it takes, "" for none.

    The surest sign comes first: the repository, then the last part of its name; what is left follows in order.
    """
    deleted, come = [image for image in old if image not in new], [image for image in new if image not in old]
    for sign in (image_name, lambda image: image_name(image).rpartition("/")[2], lambda _: ""):
        waiting: dict[str, list[str]] = {}
        for image in deleted:
            waiting.setdefault(sign(image), []).append(image)
        for image in list(come):
            rivals = waiting.get(sign(image))
            if rivals:
                yield rivals[0], image
                deleted.remove(rivals.pop(0))
                come.remove(image)
    yield from ((image, "") for image in deleted)
    yield from (("", image) for image in come)


def _properties(known: ObjectKey, old: CatalogBundle, new: CatalogBundle) -> Iterator[DiffChange]:
    """Yield how the properties differ; the objects that a bundle carries are compared as objects."""
    before, after = inline_objects(old, Report()), inline_objects(new, Report())
    was, now = ({object_key(obj): obj for obj in objects} for objects in (before, after))
    edited = tuple(str(key) for key in sorted(was.keys() | now.keys()) if was.get(key) != now.get(key))
    if edited or (not was and not now and _encoded(old) != _encoded(new)):
        yield kinds.bundle_content_changed(known, new.package, new.name, edited)
    counts = [Counter((prop.type, _as_text(prop)) for prop in b.properties if prop.type != BUNDLE_OBJECT)
              for b in (old, new)]  # fmt: skip
    deleted, come = ((counts[side] - counts[1 - side]).elements() for side in (0, 1))
    left: dict[str, list[str]] = {}
    for kind, value in sorted(deleted):
        left.setdefault(kind, []).append(value)
    for kind, value in sorted(come):
        past = left[kind].pop(0) if left.get(kind) else ""
        yield kinds.bundle_property_changed(known, new.package, new.name, kind, past, value)
    for kind, values in left.items():
        yield from (kinds.bundle_property_changed(known, new.package, new.name, kind, value, "") for value in values)


def _encoded(bundle: CatalogBundle) -> list[str]:
    return sorted(_as_text(prop) for prop in bundle.properties if prop.type == BUNDLE_OBJECT)


def _as_text(prop: Property) -> str:
    return json.dumps(content_value(prop), sort_keys=True, default=str, ensure_ascii=False)


def _stranded(known: ObjectKey, old: Package, new: Package) -> Iterator[DiffChange]:
    before, after = (
        {(channel, vertex.name) for vertex in upgrade_graph(package).versions for channel in vertex.stranded}
        for package in (old, new)
    )
    was_in = {(channel.name, entry.name) for channel in old.channels.values() for entry in channel.entries}
    lost: dict[str, list[str]] = {}
    for channel, name in sorted((after - before) & was_in):
        lost.setdefault(channel, []).append(name)
    for channel, names in lost.items():
        yield kinds.versions_stranded(known, new.name, channel, tuple(names))


def _deprecations(known: ObjectKey, old: Package, new: Package, use: _Use) -> Iterator[DiffChange]:
    before = {(entry.schema, entry.name) for entry in old.deprecations}
    for entry in new.deprecations:
        if (entry.schema, entry.name) not in before:
            what = _DEPRECATED.get(entry.schema, entry.schema)
            reached = {
                "package": new.name in use.packages,
                "channel": (new.name, entry.name) in use.channels,
                "version": entry.name in use.csvs,
            }.get(what, False)
            yield kinds.deprecated(known, new.name, what, entry.name or new.name, entry.message, reached)
    after = {(entry.schema, entry.name) for entry in new.deprecations}
    for schema, name in sorted(before - after):
        yield kinds.deprecation_removed(known, new.name, _DEPRECATED.get(schema, schema), name or new.name)


# Which objects of a side are not compared because they are derived from others, and change with them.

Folded = tuple[str, KubernetesObject]
"""The kind of noise that an object is, and the object."""


def unfolded(side: Side) -> tuple[list[KubernetesObject], dict[ObjectKey, Folded]]:
    """The objects that are compared, and those that are folded with what kind of noise they are.

    A ClusterObjectSet that no ClusterExtension has is compared with the objects in it, which OLM makes.
    """
    keyed = [(object_key(obj), obj) for obj in side.objects]
    owners, there = extensions(side.objects), {known for known, _ in keyed}
    kept: list[KubernetesObject] = []
    folded: dict[ObjectKey, Folded] = {}
    for known, obj in keyed:
        noise = _folded_kind(obj, there, () if known in side.manifests else owners)
        if noise:
            folded[known] = noise, obj
            continue
        kept.append(obj)
        for within in objects_within(obj) if is_object_set(obj) else ():
            if object_key(within) not in there:
                there.add(object_key(within))
                kept.append(within)
    return kept, folded


def _folded_kind(obj: KubernetesObject, there: Collection[ObjectKey], owners: Collection[str]) -> str:
    """Return the kind of noise of an object, "" if it is none; `there` are the objects of its side, `owners` the
    ClusterExtensions that may have it."""
    kind = obj.get("kind")
    if is_object_set(obj):
        # What is in the set of a ClusterExtension is on the side as well, where it is compared.
        is_derived = owner_of(obj) in owners and all(object_key(within) in there for within in objects_within(obj))
        return "ClusterObjectSet" if is_derived else ""
    if serves_catalog(obj):
        return "catalog's object"
    if not text(obj.get("apiVersion")).startswith(f"{OLM_GROUP}/"):
        return ""
    if kind == CSV and is_copy(obj):
        return "copied CSV"
    return text(kind) if kind in ("InstallPlan", "Operator") else ""


def is_object_set(obj: KubernetesObject) -> bool:
    """Return whether an object is a ClusterObjectSet."""
    return (obj.get("apiVersion"), obj.get("kind")) == (EXTENSIONS_V1, "ClusterObjectSet")


def objects_within(object_set: KubernetesObject) -> list[KubernetesObject]:
    """The objects that a ClusterObjectSet has OLM make: none of one that is archived."""
    spec = spec_of(object_set)
    if spec.get("lifecycleState") == "Archived":
        return []
    entries = (entry for phase in mappings(spec.get("phases")) for entry in mappings(phase.get("objects")))
    return [obj for obj in (dict(mapping(entry.get("object"))) for entry in entries) if is_object(obj)]


def folded_differences(old: Mapping[ObjectKey, Folded], new: Mapping[ObjectKey, Folded]) -> Iterator[str]:
    """The kind of noise of every folded object that is not the same on both sides."""
    nothing: Folded = "", {}
    for known in old.keys() | new.keys():
        was, now = old.get(known, nothing), new.get(known, nothing)
        if was[1] != now[1]:
            yield was[0] or now[0]


def excluded_differences(old: Side, new: Side) -> Iterator[str]:
    """The kind of every object that is not compared, and that is not the same on both sides."""
    before, after = ({object_key(obj): obj for obj in side.excluded} for side in (old, new))
    return (f"excluded {key.kind}" for key in before.keys() | after.keys() if before.get(key) != after.get(key))


# What is kept back: what an operator would bring if it was not stuck, as in a cluster that held nothing before.


def has_stuck(side: Side) -> bool:
    """Return whether an operator does not become what is asked for."""
    of_v0 = side.settled is not None and any(_packages(side.settled, is_stuck=True))
    return of_v0 or any(each.is_stopped for each in extensions(side.objects).values())


def edited_csvs(before: SettledCompilation, after: SettledCompilation) -> tuple[ObjectKey, ...]:
    """The CSVs that the cluster keeps as they are, although what they were installed from is not the same any more.

    OLM installs nothing again under a name that is there (R-CAT-410).
    """
    was, now = _contents(before), _contents(after)
    names = sorted(name for name in was.keys() & now.keys() if was[name] != now[name])
    return tuple(ObjectKey(OLM_GROUP, CSV_KIND, *name) for name in names)


def _contents(made: SettledCompilation) -> dict[NamespacedName, list[KubernetesObject]]:
    """The content that the catalogs have of the CSVs that Subscriptions have installed."""
    from olmc.review.explain.resolution import channel_entries  # with the resolver, which renderings do not need

    contents: dict[NamespacedName, list[KubernetesObject]] = {}
    if made.settled is None or made.workspace is None:
        return contents
    cluster = made.settled.cluster
    for name, subscription in cluster.subscriptions.items():
        entries = (entry for entry in channel_entries(cluster, subscription) if entry.name == subscription.installed)
        content = content_of(made.workspace, cluster, entry) if (entry := next(entries, None)) is not None else None
        if content is not None:
            others = [manifest.object for _, manifest in content.others]
            contents[NamespacedName(name.namespace, subscription.installed)] = [content.csv.object, *others]
    return contents


def kept_back_objects(now: Side, fresh: Side, edited: Iterable[ObjectKey]) -> frozenset[ObjectKey]:
    """The objects of operators that are stuck in a cluster, and are not in the one that held nothing before; and of
    CSVs whose content was edited."""
    if now.settled is None or fresh.settled is None:
        return frozenset()
    stuck = set(_packages(now.settled, is_stuck=True)) & set(_packages(fresh.settled, is_stuck=False))
    names = {NamespacedName(csv.namespace, csv.name) for csv in edited}
    keys: set[ObjectKey] = set()
    for side in (now, fresh):
        of_side = {
            name: operator
            for name, operator in operators(side.objects).items()
            if name in names or NamespacedName(operator.namespace, operator.package) in stuck
        }
        keys |= set(parts_of(of_side, side.objects)) if of_side else set()
        keys |= set(_steps(side.settled, of_side))
    keys.update(stopped_parts(now.objects, fresh.objects))
    # What operators say of their upgrades to OLM is there already.
    return frozenset(key for key in keys if key.kind != "OperatorCondition")


def _steps(settled: SettledCluster | None, installed: Collection[NamespacedName]) -> Iterator[ObjectKey]:
    """The objects that InstallPlans write for CSVs."""
    for plan in settled.cluster.plans.values() if settled is not None else ():
        if any(NamespacedName(plan.namespace, csv) in installed for csv in plan.csvs):
            yield from (object_key(step.object) for step in plan.steps)


def _packages(settled: SettledCluster, *, is_stuck: bool) -> Iterator[NamespacedName]:
    """The namespace and the package of each operator that is stuck, or of each that is not."""
    from olmc.review.explain.status import HELD_BACK, operators  # with the resolver, as above

    for row in operators(settled):
        if (row.fails or row.waits == HELD_BACK) is is_stuck:
            yield NamespacedName(row.namespace, row.package)
