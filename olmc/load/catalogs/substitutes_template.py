"""The substitutes template: bundles that take the place of others in an update graph (R-CAT-132)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from olmc.gojson import DecodeError, decode, match_keys
from olmc.load.catalogs import properties as props
from olmc.load.catalogs.blobs import Blobs, BundleBlob, ChannelBlob
from olmc.load.catalogs.conversion import packages_of
from olmc.load.catalogs.model_checks import check_model
from olmc.load.catalogs.templates import Workshop, entry_blobs, refused
from olmc.model.catalog import ChannelEntry
from olmc.semver import Version, order_with_release, parse_release, parse_strict
from olmc.strconv import quoted

SUBSTITUTES = "olm.template.substitutes"

_FIELDS = frozenset({"schema", "entries", "substitutions"})


def expand_substitutes(value: Mapping[str, Any], workshop: Workshop) -> Blobs:
    """The file-based catalog of a substitutes template: its entries with the substitutions made in every channel."""
    fields = match_keys(value, _FIELDS)
    try:
        substitutions = decode("[]substitutes.Substitute", fields.get("substitutions"))
    except DecodeError as error:
        raise refused(f"render: unable to parse template: unmarshalling template: {error}", "substitutions") from None
    blobs = entry_blobs(fields.get("entries"), workshop)
    problem = _problem(blobs)
    if problem:
        raise refused(f"render: entries are not valid FBC: {problem}", "entries")
    used: dict[str, str] = {}
    for index, substitution in enumerate(substitutions or ()):
        name, base = substitution["name"], substitution["base"]
        _refuse_reuse(name, base, used, index)
        try:
            _substitute(name, base, blobs, workshop, index)
        except ValueError as error:
            cause = f"render: error processing substitution {base}->{name}: {error}"
            raise refused(cause, "substitutions", index) from None
    return blobs


def _problem(blobs: Blobs) -> str:
    """OLM's text for what is wrong with blobs as a catalog, "" for nothing."""
    packages, troubles = packages_of(blobs)
    first = next((trouble.text for trouble in troubles if trouble.stops), "")
    return first or check_model(packages)[0]


def _refuse_reuse(name: str, base: str, used: dict[str, str], index: int) -> None:
    if base in used.values():
        raise refused(f"render: cannot reuse the same substitution base {quoted(base)}", "substitutions", index)
    if name in used:
        bases = f"{quoted(used[name])} and {quoted(base)}"
        cause = f"render: cannot reuse the same substitution {quoted(name)} for different bases ({bases})"
        raise refused(cause, "substitutions", index)
    if name and base:
        used[name] = base


def _substitute(name: str, base: str, blobs: Blobs, workshop: Workshop, index: int) -> None:
    """Put the bundle of image `name` in the place of bundle `base`; ValueError with opm's text when that can't be."""
    if not name:
        raise ValueError("substitution name cannot be empty")
    if not base:
        raise ValueError("substitution base cannot be empty")
    if name == base:
        raise ValueError("substitution name and base cannot be the same")
    bundle = workshop.rendered(name, "substitutions", index, "name")
    replaced = next((each for each in blobs.bundles if each.name == base), None)
    if replaced is None:
        raise ValueError(f"base bundle {quoted(base)} does not exist in catalog")
    if order_with_release(_composite(replaced), _composite(bundle)) >= 0:
        raise ValueError(f"base bundle {quoted(base)} is not less than substitute bundle {quoted(name)}")
    blobs.channels[:] = [_rewritten(channel, base, bundle.name) for channel in blobs.channels]
    blobs.bundles.append(bundle)
    problem = _problem(blobs)
    if problem:
        raise ValueError(f"resulting config is not valid FBC: {problem}")


def _composite(bundle: BundleBlob) -> tuple[Version, Version | None]:
    value = next(value for kind, value in bundle.properties if kind == props.PACKAGE)
    version, release = props.field_texts(props.PACKAGE, value, "version", "release")
    return parse_strict(version), parse_release(release)


def _rewritten(channel: ChannelBlob, base: str, substitute: str) -> ChannelBlob:
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
