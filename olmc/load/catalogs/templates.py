"""Catalog templates: what they have in common, and the basic one (R-CAT-130)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from posixpath import dirname, join, normpath
from typing import Any

from olmc.gojson import fold, match_keys
from olmc.load.catalogs.blobs import Blobs, BundleBlob, add_document
from olmc.load.catalogs.rendering import LooseBundle, bundle_properties, related_images
from olmc.load.catalogs.troubles import Keys, Trouble
from olmc.model.diagnostic import Report
from olmc.model.location import Place, Source
from olmc.rules import catalogs as rules
from olmc.rules.rule import Rule

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


def refused(cause: object, *keys: str | int) -> TemplateError:
    """The error that opm reports with the text `cause`."""
    return TemplateError(rules.BAD_TEMPLATE, keys, cause=cause)


@dataclass(frozen=True, slots=True)
class Workshop:
    """What it takes to expand a template: its document, the bundles by reference, and where findings go."""

    source: Source
    bundles: Mapping[str, LooseBundle]
    report: Report

    def bundle(self, image: str, *keys: str | int) -> LooseBundle:
        """The content of a bundle; TemplateError with the place `keys` when it isn't in the workspace."""
        found = self._found(image)
        if found is None:
            raise TemplateError(rules.TEMPLATE_BUNDLE, keys, image=image)
        return found

    def is_image(self, reference: str) -> bool:
        """Whether a reference names an image rather than a folder of the workspace."""
        found = self._found(reference)
        return found is None or bool(found.image)

    def _found(self, image: str) -> LooseBundle | None:
        beside = normpath(join(dirname(self.source.path), image))
        return next((self.bundles[each] for each in (image, beside, normpath(image)) if each in self.bundles), None)

    def rendered(self, image: str, *keys: str | int) -> BundleBlob:
        """The `olm.bundle` that opm renders from an image, or from a folder, which then is inline (R-CAT-110)."""
        bundle = self.bundle(image, *keys)
        return BundleBlob(
            bundle.name,
            bundle.package,
            bundle.image,
            tuple((each.type, each.value) for each in bundle_properties(bundle, self.report)),
            related_images(bundle),
            Source(self.source.path, self.source.text, self.source.document, (*self.source.prefix, *keys)),
            () if bundle.image else bundle.objects,
        )


Expand = Callable[[Mapping[str, Any], Workshop], Blobs]


def expanded(value: Mapping[str, Any], expand: Expand, workshop: Workshop, blobs: Blobs) -> list[Trouble]:
    """Add what a template stands for to `blobs`; what is wrong with it comes back."""
    try:
        found = expand(value, workshop)
    except TemplateError as error:
        return [Trouble(error.rule, Place(workshop.source, error.keys), error.values)]
    blobs.packages.extend(found.packages)
    blobs.channels.extend(found.channels)
    blobs.bundles.extend(found.bundles)
    blobs.deprecations.extend(found.deprecations)
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
            names = [match_keys(each, _NAME).get("name") for each in item if isinstance(each, Mapping)]
            yield from (name for name in names if isinstance(name, str) and name)
        else:
            yield from named_images(item)


def entry_blobs(value: Any, workshop: Workshop) -> Blobs:
    """The blobs in a template's `entries`."""
    blobs = Blobs()
    if not isinstance(value, list | None):
        raise refused("unmarshalling template: entries is no list", "entries")
    for index, entry in enumerate(value or ()):
        keys: Keys = ("entries", index)
        outer = workshop.source
        inner = Source(outer.path, outer.text, outer.document, (*outer.prefix, *keys))
        for trouble in add_document(entry, inner, blobs, is_yaml=False):
            if trouble.stops:
                raise refused(trouble.text, *keys, *(trouble.place.keys if trouble.place else ()))
    return blobs


def expand_basic(value: Mapping[str, Any], workshop: Workshop) -> Blobs:
    """The file-based catalog of a basic template: its bundles rendered, all else as it is."""
    blobs = entry_blobs(match_keys(value, _FIELDS).get("entries"), workshop)
    bundles: Sequence[BundleBlob] = tuple(blobs.bundles)
    blobs.bundles.clear()
    for bundle in bundles:
        keys = bundle.source.prefix[len(workshop.source.prefix) :]
        if not bundle.image or bundle.package or bundle.properties or bundle.related_images:
            raise refused("unexpected fields present in basic template bundle", *keys)
        blobs.bundles.append(workshop.rendered(bundle.image, *keys))
    return blobs
