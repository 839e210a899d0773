"""Catalog templates: what they have in common, the basic one, and that for substitutes (R-CAT-130)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from posixpath import dirname, join, normpath
from typing import Any

from olmc.catalogs import properties as props
from olmc.catalogs.blobs import Blobs, BundleBlob, ChannelBlob, add_document
from olmc.catalogs.catalog_errors import CatalogError, Keys
from olmc.catalogs.conversion import packages_of
from olmc.catalogs.model_checks import check_model
from olmc.catalogs.rendering import UncataloguedBundle, bundle_properties, related_images
from olmc.diagnostics.rule import Rule
from olmc.diagnostics.rules import catalogs as rules
from olmc.gojson import DecodeError, decode, fold, match_keys
from olmc.model.catalog import ChannelEntry
from olmc.model.diagnostics import Place, Report, Source
from olmc.semver import Version, order_with_release, parse_release, parse_strict
from olmc.strconv import quoted

BASIC = "olm.template.basic"

_FIELDS = frozenset({"schema", "entries"})
_NAME = frozenset({"name"})


class TemplateError(Exception):
    """What keeps a template from being expanded: a broken rule with its values, and the keys to where it stands."""

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
    """What it takes to expand a template: its document, the bundles by reference, and where findings go."""

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
        """Whether a reference names an image rather than a folder of the workspace."""
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
