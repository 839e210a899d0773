"""The semver template: channels and edges that follow from the versions of bundles (R-CAT-131)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Literal

from olmc.catalogs import properties as props
from olmc.catalogs.blobs import Blobs, BundleBlob, ChannelBlob, PackageBlob
from olmc.catalogs.catalog_errors import Keys
from olmc.catalogs.templates import TemplateContext, template_error
from olmc.gojson import DecodeError, decode
from olmc.kube.api_validation.field import aggregated
from olmc.lean import NamedTuple
from olmc.model.catalog import ChannelEntry
from olmc.model.diagnostics import Place
from olmc.semver import Version, parse_strict
from olmc.strconv import quoted

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
    """Which channels a template asks for, and which kind the default one shall be."""

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
