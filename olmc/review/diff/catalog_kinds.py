"""The kinds of changes of what a catalog offers: channels, heads, edges, deprecations, and versions of OpenShift.

Bundles by themselves say in their metadata in which channels of a catalog they are going to be.
"""

from __future__ import annotations

from olmc.k8s.objects import doubts_about, has_digest
from olmc.review.diff.crd_kinds import (
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
    changed,
    listed,
    shown,
)

_MOST = 8


@change_kind("BundleChannelsChanged", ChangeGroup.VERSIONS, CHANGED)
def bundle_channels_changed(
    old: tuple[str, ...], new: tuple[str, ...], removed: tuple[str, ...], is_left: bool
) -> Judgement:
    """Other channels that a bundle says it is in; `is_left`: its default channel, or every one of them, is removed."""
    channels: Message = ("channels: ", *listed(old), " → ", *listed(new))
    if not removed:
        return NOTE, channels
    stays: Message = ("; who subscribes to ", *listed(removed), " does not get this version")
    return RISK if is_left else CHANGE, (*channels, *stays)


@change_kind("DefaultChannelChanged", ChangeGroup.VERSIONS, CHANGED)
def default_channel_changed(package: str, old: str, new: str) -> Judgement:
    """Another channel for Subscriptions that name none; "" for none."""
    return CHANGE, ("default channel of ", shown(package), ": ", *changed(old or "none", new or "none"))


@change_kind("SkipRangeNarrowed", ChangeGroup.VERSIONS, CHANGED)
def skip_range_narrowed(old: str, new: str, lowest: str) -> Judgement:
    """A skipRange that no longer has the lowest version of the one before it; "" for no skipRange."""
    ranges: Message = ("skipRange: ", *changed(old, new or "none"))
    return CHANGE, (*ranges, "; from ", shown(lowest), " on it was one hop so far, and now other versions come between")


@change_kind("SkipRangeWidened", ChangeGroup.VERSIONS, CHANGED)
def skip_range_widened(old: str, new: str, lowest: str) -> Judgement:
    """A skipRange that begins at a lower version than the one before it ("" for none); `lowest` is "" for no lower
    end."""
    ranges: Message = ("skipRange: ", *changed(old or "none", new))
    start: Message = ("from ", shown(lowest), " on") if lowest else ("from any version before",)
    return CHANGE, (*ranges, "; ", *start, " it is one hop now, past all versions between")


@change_kind("SkipsNarrowed", ChangeGroup.VERSIONS, REMOVED)
def skips_narrowed(removed: tuple[str, ...]) -> Judgement:
    """Versions that the old CSV skipped and the new one neither skips nor has in its skipRange."""
    return CHANGE, ("no longer skips ", *listed(removed, _MOST), ": from there other versions come between")


@change_kind("OpenshiftVersionsChanged", ChangeGroup.VERSIONS, CHANGED)
def openshift_versions_changed(old: str, new: str) -> Judgement:
    """Other versions of OpenShift whose catalogs are to have a bundle (com.redhat.openshift.versions); "" for all."""
    return CHANGE, ("com.redhat.openshift.versions: ", *changed(old or "all", new or "all"))


@change_kind("FeaturesChanged", ChangeGroup.VERSIONS, CHANGED)
def features_changed(gained: tuple[str, ...], lost: tuple[str, ...]) -> Judgement:
    """Other features of OpenShift that a CSV claims to support (fips-compliant, disconnected)."""
    no_longer: Message = ("no longer ", *listed(lost, _MOST)) if lost else ()
    now: Message = ("; " if lost else "", "now ", *listed(gained, _MOST)) if gained else ()
    return CHANGE if lost else NOTE, ("features of OpenShift that it claims: ", *no_longer, *now)


@change_kind("ValidSubscriptionChanged", ChangeGroup.VERSIONS, CHANGED)
def valid_subscription_changed(old: str, new: str) -> Judgement:
    """Other subscriptions of the vendor, of which one is needed to use an operator; "" for none."""
    named: Message = changed(old or "none", new or "none")
    return CHANGE, ("subscriptions of the vendor that entitle to it: ", *named)


@change_kind("MaxOpenshiftChanged", ChangeGroup.VERSIONS, CHANGED)
def max_openshift_changed(old: str, new: str, is_lower: bool) -> Judgement:
    """Another olm.maxOpenShiftVersion, beyond which no cluster with the operator is upgraded; "" for none."""
    stops = "; clusters with this operator are not upgraded beyond it" if is_lower else ""
    return RISK if is_lower else CHANGE, (
        "olm.maxOpenShiftVersion: ", *changed(old or "none", new or "none"), stops
    )  # fmt: skip


# Catalog against catalog: `identity` is the CatalogSource.


@change_kind("CatalogBroken", ChangeGroup.VERSIONS, CHANGED)
def catalog_broken(problem: str) -> Judgement:
    """A catalog that was served and can't be served any more, so that no operator can be installed from it."""
    return BREAKING, ("can't be served any more: ", shown(problem))


@change_kind("CatalogContentKept", ChangeGroup.IMAGES, CHANGED)
def catalog_content_kept(image: str) -> Judgement:
    """Another image of a catalog whose content in the workspace stays as it was, and was not vendored by image."""
    return RISK, ("its content in the workspace stays as it was; olmc does not know the content of ", shown(image))


@change_kind("PackageAdded", ChangeGroup.VERSIONS, ADDED)
def package_added(package: str) -> Judgement:
    """A package that only the new catalog has."""
    return NOTE, ("has a new package ", shown(package))


@change_kind("PackageRemoved", ChangeGroup.VERSIONS, REMOVED)
def package_removed(package: str, subscribed: bool, asking: str) -> Judgement:
    """A package that only the old catalog has; `asking` is the kind of what asks for packages."""
    return RISK if subscribed else CHANGE, (
        "package ",
        shown(package),
        " is removed from the catalog",
        _who(subscribed, asking),
    )


@change_kind("ChannelAdded", ChangeGroup.VERSIONS, ADDED)
def channel_added(package: str, channel: str, head: str) -> Judgement:
    """A channel that only the new catalog has, and its head."""
    return NOTE, (shown(package), " has a new channel ", shown(channel), " with the head ", shown(head or "none"))


@change_kind("ChannelRemoved", ChangeGroup.VERSIONS, REMOVED)
def channel_removed(package: str, channel: str, subscribed: bool, asking: str) -> Judgement:
    """A channel that only the old catalog has; `asking` is the kind of what asks for channels."""
    start: Message = ("channel ", shown(channel), " of ", shown(package), " is removed from the catalog")
    return RISK if subscribed else CHANGE, (*start, _who(subscribed, asking))


def _who(subscribed: bool, asking: str) -> str:
    return f": a {asking} asks for it" if subscribed else "; who subscribes to it gets no upgrades any more"


@change_kind("ChannelChanged", ChangeGroup.VERSIONS, CHANGED)
def channel_changed(
    package: str, channel: str, old: str, new: str, added: tuple[str, ...], removed: tuple[str, ...]
) -> Judgement:
    """Another head of a channel ("" for none), and the versions that come into it and go out of it."""
    heads: Message = ("; its head: ", *changed(old or "none", new or "none")) if old != new else ()
    more: Message = ("; it has ", *listed(added, _MOST)) if added else ()
    less: Message = ("; it no longer has ", *listed(removed, _MOST)) if removed else ()
    start: Message = ("channel ", shown(channel), " of ", shown(package), " changes")
    return CHANGE if removed else NOTE, (*start, *heads, *more, *less)


@change_kind("EdgesChanged", ChangeGroup.VERSIONS, CHANGED)
def edges_changed(package: str, channel: str, entry: str, field: str, old: str, new: str) -> Judgement:
    """An entry of a channel that replaces or skips other versions than before; "" for none."""
    values: Message = changed(old or "none", new or "none")
    place: Message = (" in channel ", shown(channel), " of ", shown(package))
    return CHANGE, (f"{field} of ", shown(entry), *place, ": ", *values)


@change_kind("ReplacesNothing", ChangeGroup.VERSIONS, CHANGED)
def replaces_nothing(package: str, channel: str, entry: str, replaces: str) -> Judgement:
    """An entry that replaces a version that its channel does not have, so that no installed version leads to it."""
    place: Message = (" in channel ", shown(channel), " of ", shown(package))
    return RISK, (shown(entry), *place, " replaces ", shown(replaces), ", which is not in the channel")


@change_kind("VersionsStranded", ChangeGroup.VERSIONS, CHANGED)
def versions_stranded(package: str, channel: str, versions: tuple[str, ...]) -> Judgement:
    """Versions whose upgrades led to the head of a channel, and do not any more."""
    place: Message = (" in channel ", shown(channel), " of ", shown(package))
    return RISK, ("no path leads from ", *listed(versions, _MOST), " to the head any more,", *place)


@change_kind("Deprecated", ChangeGroup.VERSIONS, CHANGED)
def deprecated(package: str, what: str, name: str, message: str, reached: bool) -> Judgement:
    """A package, a channel or a version that the new catalog says is deprecated; `reached`: something here uses it."""
    of_package: Message = () if what == "package" else (" of ", shown(package))
    reason: Message = (": ", shown(message)) if message else ()
    return RISK if reached else CHANGE, (f"{what} ", shown(name), *of_package, " is deprecated", *reason)


@change_kind("DeprecationRemoved", ChangeGroup.VERSIONS, CHANGED)
def deprecation_removed(package: str, what: str, name: str) -> Judgement:
    """A package, a channel or a version that only the old catalog says is deprecated."""
    of_package: Message = () if what == "package" else (" of ", shown(package))
    return CHANGE, (f"{what} ", shown(name), *of_package, " is no longer deprecated")


# The content of a bundle under the same name.

_OF_CONTENT = frozenset(("olm.package", "olm.package.required", "olm.gvk", "olm.gvk.required", "olm.constraint"))
"""Properties that decide what OLM installs: the version, the operators and APIs that have to come along, and the APIs
for which others bring the bundle along."""
_MAX_OPENSHIFT, _CONSTRAINT = "olm.maxOpenShiftVersion", "olm.constraint"


@change_kind("BundleImageChanged", ChangeGroup.IMAGES, CHANGED)
def bundle_image_changed(package: str, bundle: str, old: str, new: str) -> Judgement:
    """Another image for the bundle of the same name; a digest for the same tag makes it more certain, not less."""
    doubts = doubts_about(old, new)
    is_pinned = not has_digest(old) and new.startswith(old) and has_digest(new)
    images: Message = (shown(bundle), " of ", shown(package), ": bundle image ", *changed(old or "none", new or "none"))
    remarks = (*doubts, "the same version has other content") if not is_pinned else ()
    return RISK if remarks else CHANGE, (*images, "".join(f"; {remark}" for remark in remarks))


@change_kind("RelatedImageChanged", ChangeGroup.IMAGES, CHANGED)
def related_image_changed(package: str, bundle: str, old: str, new: str) -> Judgement:
    """Another image that a bundle of the same name relates to; graded as the image of a container."""
    doubts = doubts_about(old, new)
    start: Message = (shown(bundle), " of ", shown(package), ": related image ", *changed(old, new))
    return RISK if doubts else CHANGE, (*start, "".join(f"; {doubt}" for doubt in doubts))


@change_kind("RelatedImageAdded", ChangeGroup.IMAGES, ADDED)
def related_image_added(package: str, bundle: str, image: str, is_foreign: bool) -> Judgement:
    """Another related image; `is_foreign`: the bundle had no image of its registry."""
    doubt = "; from another registry" * is_foreign
    return RISK if is_foreign else CHANGE, (
        shown(bundle), " of ", shown(package), ": related image ", shown(image), f" (new){doubt}"
    )  # fmt: skip


@change_kind("RelatedImageRemoved", ChangeGroup.IMAGES, REMOVED)
def related_image_removed(package: str, bundle: str, image: str) -> Judgement:
    """A related image that the bundle of the same name does not have any more."""
    return NOTE, (shown(bundle), " of ", shown(package), ": related image ", shown(image), " is removed")


@change_kind("BundleLessCertain", ChangeGroup.IMAGES, ADDED)
def bundle_less_certain(package: str, bundle: str, foreign: tuple[str, ...], floating: tuple[str, ...]) -> Judgement:
    """A new bundle with images of registries that no bundle of its package had, or with tags that move."""
    others: Message = ("; from another registry: ", *listed(foreign, _MOST)) if foreign else ()
    moving: Message = ("; the tag may move at any time: ", *listed(floating, _MOST)) if floating else ()
    return RISK, ("new bundle ", shown(bundle), " of ", shown(package), *others, *moving)


@change_kind("BundleContentChanged", ChangeGroup.VERSIONS, CHANGED)
def bundle_content_changed(package: str, bundle: str, objects: tuple[str, ...]) -> Judgement:
    """Other objects inside of the bundle of the same name; none are named where they can't be decoded."""
    named: Message = (": ", *listed(objects, _MOST)) if objects else ()
    return RISK, (shown(bundle), " of ", shown(package), ": the same version has other content", *named)


@change_kind("BundlePropertyChanged", ChangeGroup.VERSIONS, CHANGED)
def bundle_property_changed(package: str, bundle: str, property: str, old: str, new: str) -> Judgement:
    """Another property of the bundle of the same name, as JSON; "" for none."""
    start: Message = (shown(bundle), " of ", shown(package), ": property ", shown(property), " ")
    is_check = property == _MAX_OPENSHIFT or (property == _CONSTRAINT and "cel" in old)
    less = "; a check is removed or another" * bool(old and is_check)
    severity = RISK if less or (new and property in _OF_CONTENT) else CHANGE
    return severity, (*start, *changed(old or "none", new or "none"), less)
