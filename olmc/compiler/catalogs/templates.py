"""Catalog templates: what they have in common, the basic one, and that for substitutes (R-CAT-130)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from posixpath import dirname, join, normpath
from typing import Any, Literal

from olmc.compiler.catalogs import properties as props
from olmc.compiler.catalogs.content import check_model
from olmc.compiler.catalogs.conversion import Blobs, BundleBlob, ChannelBlob, PackageBlob, add_document, packages_of
from olmc.compiler.catalogs.properties import CatalogError, Keys, UncataloguedBundle, bundle_properties, related_images
from olmc.compiler.model.catalog import ChannelEntry
from olmc.compiler.rules.findings import catalogs as rules
from olmc.k8s.api.validation.field import aggregated
from olmc.k8s.diagnostics import Place, Report, Rule, Source
from olmc.k8s.gojson import DecodeError, decode, fold, match_keys
from olmc.k8s.lean import NamedTuple
from olmc.k8s.semver import Version, order_with_release, parse_release, parse_strict
from olmc.k8s.strconv import quoted

BASIC = "olm.template.basic"

_FIELDS = frozenset({"schema", "entries"})
_NAME = frozenset({"name"})


class TemplateError(Exception):
    """The reason why a template can't be expanded: a broken rule with its values, and the keys to its place."""

    def __init__(self, rule: Rule, keys: Keys = (), **values: object) -> None:
        super().__init__(rule.message.format(**values))
        self.rule = rule
        self.keys = keys
        self.values = values


def template_error(cause: object, *keys: str | int) -> TemplateError:
    """The error that opm reports with the text `cause`."""
    return TemplateError(rules.BAD_TEMPLATE, keys, cause=cause)


@dataclass(frozen=True, slots=True)
class TemplateContext:
    """The context of expanding a template: its document, the bundles by reference, and the report."""

    source: Source
    bundles: Mapping[str, UncataloguedBundle]
    report: Report

    def bundle(self, image: str, *keys: str | int) -> UncataloguedBundle:
        """The content of a bundle; TemplateError with the place `keys` when it isn't in the workspace."""
        bundle = self._lookup(image)
        if bundle is None:
            raise TemplateError(rules.TEMPLATE_BUNDLE, keys, image=image)
        return bundle

    def is_image(self, reference: str) -> bool:
        """Return whether a reference names an image rather than a folder of the workspace."""
        bundle = self._lookup(reference)
        return bundle is None or bool(bundle.image)

    def _lookup(self, image: str) -> UncataloguedBundle | None:
        beside = normpath(join(dirname(self.source.path), image))
        return next((self.bundles[each] for each in (image, beside, normpath(image)) if each in self.bundles), None)

    def render(self, image: str, *keys: str | int) -> BundleBlob:
        """The `olm.bundle` that opm renders from an image, or from a folder, which then is inline (R-CAT-110)."""
        bundle = self.bundle(image, *keys)
        return BundleBlob(
            bundle.name,
            bundle.package,
            bundle.image,
            tuple((prop.type, prop.value) for prop in bundle_properties(bundle, self.report)),
            related_images(bundle),
            self.source._replace(prefix=(*self.source.prefix, *keys)),
            () if bundle.image else bundle.objects,
        )


Expand = Callable[[Mapping[str, Any], TemplateContext], Blobs]


def expand_template(
    value: Mapping[str, Any], expand: Expand, context: TemplateContext, blobs: Blobs
) -> list[CatalogError]:
    """Add what a template stands for to `blobs`; what is wrong with it comes back."""
    try:
        expansion = expand(value, context)
    except TemplateError as error:
        return [CatalogError(error.rule, Place(context.source, error.keys), error.values)]
    blobs.packages.extend(expansion.packages)
    blobs.channels.extend(expansion.channels)
    blobs.bundles.extend(expansion.bundles)
    blobs.deprecations.extend(expansion.deprecations)
    return []


def named_images(value: Any) -> Iterator[str]:
    """The bundles that a template names: all values of `image`, and the names of substitutions."""
    if isinstance(value, list):
        for item in value:
            yield from named_images(item)
        return
    for key, item in value.items() if isinstance(value, Mapping) else ():
        field = fold(key)
        if field == "image" and isinstance(item, str) and item:
            yield item
        elif field == "substitutions" and isinstance(item, list):
            names = [
                match_keys(substitution, _NAME).get("name")
                for substitution in item
                if isinstance(substitution, Mapping)
            ]
            yield from (name for name in names if isinstance(name, str) and name)
        else:
            yield from named_images(item)


def entry_blobs(value: Any, context: TemplateContext) -> Blobs:
    """The blobs in a template's `entries`."""
    blobs = Blobs()
    if not isinstance(value, list | None):
        raise template_error("unmarshalling template: entries is no list", "entries")
    for index, entry in enumerate(value or ()):
        keys: Keys = ("entries", index)
        outer = context.source
        inner = outer._replace(prefix=(*outer.prefix, *keys))
        for error in add_document(entry, inner, blobs, is_yaml=False):
            if error.stops:
                raise template_error(error.text, *keys, *(error.place.keys if error.place else ()))
    return blobs


def expand_basic(value: Mapping[str, Any], context: TemplateContext) -> Blobs:
    """The file-based catalog of a basic template: its bundles rendered, all else as it is."""
    blobs = entry_blobs(match_keys(value, _FIELDS).get("entries"), context)
    bundles: Sequence[BundleBlob] = tuple(blobs.bundles)
    blobs.bundles.clear()
    for bundle in bundles:
        keys = bundle.source.prefix[len(context.source.prefix) :]
        # All of this comes from the image, and what was written beside it would be lost without a word (R-CAT-130).
        if not bundle.image or bundle.package or bundle.properties or bundle.related_images:
            raise template_error("unexpected fields present in basic template bundle", *keys)
        blobs.bundles.append(context.render(bundle.image, *keys))
    return blobs


SUBSTITUTES = "olm.template.substitutes"

_SUBSTITUTES_FIELDS = frozenset({"schema", "entries", "substitutions"})


def expand_substitutes(value: Mapping[str, Any], context: TemplateContext) -> Blobs:
    """The file-based catalog of a substitutes template: its entries with the substitutions made in every channel."""
    fields = match_keys(value, _SUBSTITUTES_FIELDS)
    try:
        substitutions = decode("[]substitutes.Substitute", fields.get("substitutions"))
    except DecodeError as error:
        raise template_error(
            f"render: unable to parse template: unmarshalling template: {error}", "substitutions"
        ) from None
    blobs = entry_blobs(fields.get("entries"), context)
    problem = _problem(blobs)
    if problem:
        raise template_error(f"render: entries are not valid FBC: {problem}", "entries")
    used: dict[str, str] = {}
    for index, substitution in enumerate(substitutions or ()):
        name, base = substitution["name"], substitution["base"]
        _refuse_reuse(name, base, used, index)
        try:
            _substitute(name, base, blobs, context, index)
        except ValueError as error:
            cause = f"render: error processing substitution {base}->{name}: {error}"
            raise template_error(cause, "substitutions", index) from None
    return blobs


def _problem(blobs: Blobs) -> str:
    """OLM's text for what is wrong with blobs as a catalog, "" for nothing."""
    packages, errors = packages_of(blobs)
    first = next((error.text for error in errors if error.stops), "")
    return first or check_model(packages)[0]


def _refuse_reuse(name: str, base: str, used: dict[str, str], index: int) -> None:
    if base in used.values():
        raise template_error(f"render: cannot reuse the same substitution base {quoted(base)}", "substitutions", index)
    if name in used:
        bases = f"{quoted(used[name])} and {quoted(base)}"
        cause = f"render: cannot reuse the same substitution {quoted(name)} for different bases ({bases})"
        raise template_error(cause, "substitutions", index)
    if name and base:
        used[name] = base


def _substitute(name: str, base: str, blobs: Blobs, context: TemplateContext, index: int) -> None:
    """Put the bundle of image `name` in the place of bundle `base`; ValueError with opm's text when that can't be."""
    if not name:
        raise ValueError("substitution name cannot be empty")
    if not base:
        raise ValueError("substitution base cannot be empty")
    if name == base:
        raise ValueError("substitution name and base cannot be the same")
    bundle = context.render(name, "substitutions", index, "name")
    replaced = next((candidate for candidate in blobs.bundles if candidate.name == base), None)
    if replaced is None:
        raise ValueError(f"base bundle {quoted(base)} does not exist in catalog")
    if order_with_release(_composite(replaced), _composite(bundle)) >= 0:
        raise ValueError(f"base bundle {quoted(base)} is not less than substitute bundle {quoted(name)}")
    blobs.channels[:] = [_substitute_in(channel, base, bundle.name) for channel in blobs.channels]
    blobs.bundles.append(bundle)
    problem = _problem(blobs)
    if problem:
        raise ValueError(f"resulting config is not valid FBC: {problem}")


def _composite(bundle: BundleBlob) -> tuple[Version, Version | None]:
    value = next(value for kind, value in bundle.properties if kind == props.PACKAGE)
    version, release = props.field_texts(props.PACKAGE, value, "version", "release")
    return parse_strict(version), parse_release(release)


def _substitute_in(channel: ChannelBlob, base: str, substitute: str) -> ChannelBlob:
    """A channel in which `substitute` has taken over the edges of `base`."""
    entries: list[ChannelEntry] = []
    added: list[ChannelEntry] = []
    for entry in channel.entries:
        if entry.name == base:
            added.insert(0, entry._replace(name=substitute, skips=(*entry.skips, base)))
            entries.append(ChannelEntry(base, location=entry.location))
        elif entry.replaces == base:
            entries.append(entry._replace(replaces=substitute, skips=(*entry.skips, base)))
        elif base in entry.skips:
            kept = tuple(skip for skip in entry.skips if skip != base)
            entries.append(entry._replace(skips=(*kept, substitute)))
        else:
            entries.append(entry)
    return replace(channel, entries=(*entries, *added))


# The semver template: channels and edges that follow from the versions of bundles (R-CAT-131).

SEMVER = "olm.semver"

Kind = Literal["major", "minor"]

STREAMS = ("candidate", "fast", "stable")
"""The streams from the least to the most stable."""

_READ = "render: unable to read file: "
_PROCESS = "render: unable to post-process bundle info: "


class _Member(NamedTuple):
    """A bundle of a stream with its version."""

    version: Version
    name: str


@dataclass(frozen=True, slots=True)
class _Settings:
    """The channels that a template asks for, and the kind of the default one."""

    kinds: tuple[Kind, ...]
    preference: Kind


def expand_semver(value: Mapping[str, Any], context: TemplateContext) -> Blobs:
    """The file-based catalog of a semver template."""
    try:
        fields = decode("semver.SemverTemplateData", value, strict=True)
    except DecodeError as error:
        raise template_error(f"{_READ}error unmarshaling JSON: while decoding JSON: {error}", *error.path) from None
    settings = _settings(fields)
    references = dict(_references(fields))
    rendered = {image: context.render(image, *keys) for image, keys in references.items()}
    if not rendered:
        raise template_error("render: no bundles specified or no bundles could be rendered")
    package = ""
    streams: dict[str, list[_Member]] = {}
    for stream in STREAMS:
        streams[stream], package = _members(fields, stream, rendered, package)
    channels, default = _channels(streams, settings, package, context)
    return _blobs(package, channels, default, rendered, context)


def _settings(fields: Mapping[str, Any]) -> _Settings:
    """Points 2 and 3: what is generated, and the preference."""
    major, minor = fields["generateMajorChannels"], fields["generateMinorChannels"]
    minor = minor or not major
    kinds: tuple[Kind, ...] = (*(("major",) if major else ()), *(("minor",) if minor else ()))
    preference = fields["defaultChannelTypePreference"]
    if not preference:
        return _Settings(kinds, "minor" if minor else "major")
    for kind in ("major", "minor"):
        if preference == kind:
            if kind in kinds:
                return _Settings(kinds, kind)
            cause = (
                f"schema attribute mismatch: DefaultChannelTypePreference set to '{kind}' doesn't make sense "
                f"if not generating {kind}-version channels"
            )
            raise template_error(_READ + cause, "defaultChannelTypePreference")
    cause = f"unknown DefaultChannelTypePreference: {quoted(preference)}\nValid values are 'major' or 'minor'"
    raise template_error(_READ + cause, "defaultChannelTypePreference")


def _images(fields: Mapping[str, Any], stream: str) -> Iterator[tuple[str, Keys]]:
    for index, bundle in enumerate(fields[stream]["bundles"] or ()):
        yield bundle["image"], (stream, "bundles", index)


def _references(fields: Mapping[str, Any]) -> Iterator[tuple[str, Keys]]:
    """Each image with the first place that names it."""
    seen: set[str] = set()
    for stream in STREAMS:
        for image, keys in _images(fields, stream):
            if image not in seen:
                seen.add(image)
                yield image, keys


def _members(
    fields: Mapping[str, Any], stream: str, rendered: Mapping[str, BundleBlob], package: str
) -> tuple[list[_Member], str]:
    """The bundles of a stream by ascending version, and the package that all of them must belong to (point 5)."""
    members: dict[str, _Member] = {}
    for image, keys in _images(fields, stream):
        bundle = rendered[image]
        own, version = _identity(bundle, keys)
        package = package or own
        if own != package:
            cause = f"bundle {quoted(own)} does not belong to this package: {quoted(package)}"
            raise template_error(_PROCESS + cause, *keys)
        if bundle.name in members:
            raise template_error(f"{_PROCESS}duplicate bundle name {quoted(bundle.name)}", *keys)
        members[bundle.name] = _Member(version, bundle.name)
    _refuse_equal_versions([member.version for member in members.values()], stream)
    return sorted(members.values(), key=lambda member: member.version), package


def _identity(bundle: BundleBlob, keys: Keys) -> tuple[str, Version]:
    packages = [value for kind, value in bundle.properties if kind == props.PACKAGE]
    if len(packages) != 1:
        cause = f'bundle {quoted(bundle.name)} has multiple "olm.package" properties, expected exactly 1'
        raise template_error(_PROCESS + cause, *keys)
    package, version = props.field_texts(props.PACKAGE, packages[0], "packageName", "version")
    try:
        return package, parse_strict(version)
    except ValueError as error:
        cause = f"bundle {quoted(bundle.name)} has invalid version {quoted(version)}: {error}"
        raise template_error(_PROCESS + cause, *keys) from None


def _refuse_equal_versions(versions: Sequence[Version], stream: str) -> None:
    """Versions that differ in build metadata only have no order."""
    seen: set[str] = set()
    problems = []
    for version in sorted(versions, key=str):
        without_build = str(version.replace(build=None))
        if without_build in seen:
            problems.append(f"bundle version {quoted(str(version))} cannot be compared to {quoted(without_build)}")
        seen.add(without_build)
    if problems:
        cause = "encountered bundle versions which differ only by build metadata, which cannot be ordered: "
        raise template_error(_PROCESS + cause + aggregated(problems), stream)


def _channels(
    streams: Mapping[str, Sequence[_Member]], settings: _Settings, package: str, context: TemplateContext
) -> tuple[list[ChannelBlob], str]:
    """The channels by name, and the name of the default one (points 6 to 8)."""
    entries: dict[str, list[ChannelEntry]] = {}
    default = ""
    # More stable, then higher, then of the kind preferred, then minor (point 7).
    highest = (0, Version(0), False, False)
    for rank, stream in enumerate(STREAMS):
        edges = _edges(streams[stream], context)
        for member in streams[stream]:
            for kind in settings.kinds:
                name = f"{stream}-v{member.version.major}"
                if kind == "minor":
                    name += f".{member.version.minor}"
                quality = (rank, member.version, kind == settings.preference, kind == "minor")
                if name not in entries and quality > highest:
                    highest, default = quality, name
                entries.setdefault(name, []).append(edges[member.name])
    by_name = sorted(entries.items())
    return [ChannelBlob(name, package, tuple(members), context.source) for name, members in by_name], default


def _edges(members: Sequence[_Member], context: TemplateContext) -> dict[str, ChannelEntry]:
    """The entry of each bundle of a stream: heads of minor versions replace and skip what lies below (point 8)."""
    place = Place(context.source)
    entries = {member.name: ChannelEntry(member.name, location=place) for member in members}
    for _, of_major in groupby(members, key=lambda member: member.version.major):
        # No edge leads from one major version to the next: who wants it changes the channel (R-CAT-131, point 8).
        before = ""
        passed: list[str] = []
        for _, of_minor in groupby(of_major, key=lambda member: member.version.minor):
            *others, head = [member.name for member in of_minor]
            # Never emptied at a minor version: a head skips all below it in its major, so that from any of them one hop
            # is enough.
            passed += others
            skips = tuple(sorted(name for name in passed if name != before))
            entries[head] = entries[head]._replace(replaces=before, skips=skips)
            passed.append(head)
            before = head
    return entries


def _blobs(
    package: str,
    channels: Sequence[ChannelBlob],
    default: str,
    rendered: Mapping[str, BundleBlob],
    context: TemplateContext,
) -> Blobs:
    description, icon = _looks(channels, default, rendered, context)
    blob = PackageBlob(package, default, description, icon, context.source)
    return Blobs([blob], list(channels), list(rendered.values()), [])


def _looks(
    channels: Sequence[ChannelBlob], default: str, rendered: Mapping[str, BundleBlob], context: TemplateContext
) -> tuple[str, Mapping[str, Any]]:
    """Description and icon of the package: those of the last entry of the default channel (point 9)."""
    channel = next((candidate for candidate in channels if candidate.name == default), None)
    if channel is None:
        return "", {}
    image = next(image for image, blob in rendered.items() if blob.name == channel.entries[-1].name)
    spec = context.bundle(image).spec
    description, icons = spec.get("description"), spec.get("icon")
    icon = icons[0] if isinstance(icons, list) and icons and isinstance(icons[0], dict) else {}
    return description if isinstance(description, str) else "", icon
