"""Answers to reading requests: lists, objects, icons."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping, Sequence

from olmc.model.cluster import Name
from olmc.proposed.package_manifests import Offer, first_called, icon_of, offers_in
from olmc.proposed.resources import INSTALLED, PACKAGE_MANIFESTS, Listed, Resource
from olmc.serve.feed import Feed
from olmc.serve.pages import page_of, place_of
from olmc.serve.query import Query, versions_of
from olmc.serve.shapes import Page
from olmc.serve.snapshots import Packages, Snapshot
from olmc.serve.status import expired, not_found, too_large_version

_CONTINUE = "The provided continue parameter is too old; list again from the beginning."
_EXACT = "The resourceVersion for the provided list is too old."
# Shown for a package without an icon (R-CAT-805).
NO_ICON = (
    b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64"><path d="M32 6 56 19v26L32 58 8 45V19z" '
    b'fill="none" stroke="#5f6b7a" stroke-width="4" stroke-linejoin="round"/><path d="M8 19l24 13 24-13M32 32v26" '
    b'fill="none" stroke="#5f6b7a" stroke-width="4" stroke-linejoin="round"/></svg>'
)


def page_for(feed: Feed, resource: Resource, namespace: str | None, query: Query) -> Page:
    """The part of a list that a query asks for.

    StatusError: 400 for a continue token or a version that can't be read, 410 for one that is too old, 504 for a
    version that is still to come.
    """
    place = place_of(query.token) if query.token else None
    if resource is INSTALLED:
        snapshot = _snapshot(feed, query, place.version if place else "")
        items: Sequence[Listed] = tuple(snapshot.in_namespace(namespace).values())
        version = snapshot.version
    else:
        version = f"packages:{feed.packages.generation}"
        if place is not None and place.version != version:
            raise expired(_CONTINUE)
        items = [offer.listed for offer in packages_in(feed.packages, namespace)]
    chosen = [item for item in items if query.selection.selects(item)]
    return page_of(chosen, version, place.offset if place else 0, query.limit)


def _snapshot(feed: Feed, query: Query, continued: str) -> Snapshot:
    if continued:
        found = feed.at(continued)
        if found is None:
            raise expired(_CONTINUE)
        return found
    asked = versions_of(query.version)
    if asked is None:
        return feed.current
    if any(asked[name] > version for name, version in feed.current.versions.items()):
        raise too_large_version(query.version, feed.current.version)
    if query.match != "Exact":
        return feed.current
    found = feed.at(query.version)
    if found is None:
        raise expired(_EXACT)
    return found


def packages_in(packages: Packages, namespace: str | None) -> tuple[Offer, ...]:
    """The packages that a namespace sees, or all of them (None) (R-CAT-801)."""
    return offers_in(packages.offers, namespace, packages.global_namespace)


def item_for(feed: Feed, resource: Resource, name: Name) -> Listed:
    """The object with a namespace and name; StatusError (404)."""
    if resource is INSTALLED:
        found = feed.current.in_namespace(name.namespace).get(name)
    else:
        offer = first_called(packages_in(feed.packages, name.namespace), name.name)
        found = offer.listed if offer is not None else None
    if found is None:
        raise not_found(resource, name.name)
    return found


def icon_for(feed: Feed, name: Name) -> tuple[bytes, Mapping[str, str]]:
    """The icon of a package and its headers, a drawing when it has none; StatusError (404) without the package."""
    offer = first_called(packages_in(feed.packages, name.namespace), name.name)
    if offer is None:
        raise not_found(PACKAGE_MANIFESTS, name.name)
    icon, tag = icon_of(offer)
    # Whatever a catalog calls an icon, a browser must not take it for a page or run it.
    headers = {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'; sandbox"}
    headers |= {"ETag": f'"{_plain(tag)}"', "Content-Type": "image/svg+xml"}
    media = str((icon or {}).get("mediatype") or "")
    try:
        data = base64.b64decode(str((icon or {}).get("base64data") or ""), validate=True)
    except (binascii.Error, ValueError):
        data = b""
    if not data:
        return NO_ICON, headers
    known = re.fullmatch(r"image/[a-z0-9.+-]{1,60}", media)
    return data, {**headers, "Content-Type": media if known else "application/octet-stream"}


def _plain(text: str) -> str:
    """A text that can stand in a header."""
    return re.sub(r"[^\x21\x23-\x7e]", "_", text)
