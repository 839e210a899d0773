"""Answers to reading requests: lists in parts, objects, icons, by the parameters of a request."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping, Sequence

from olmc.kube.selectors import FieldTerm, Requirement, SelectorError, parse_field_selector, parse_label_selector
from olmc.lean import NamedTuple, regex
from olmc.model.cluster import NamespacedName
from olmc.proposed.installed.installed import TRACKED
from olmc.proposed.installed.olm_resources import stored_in
from olmc.proposed.installed.package_manifests import PackageOffer, first_called, icon_of, offers_in
from olmc.proposed.installed.resources import GROUP, INSTALLED, PACKAGE_MANIFESTS, Listed, Resource
from olmc.serve.encoders import ListPage, bad_request, expired, invalid, not_found, too_large_version
from olmc.serve.store import InstalledSnapshot, Packages, Store

_LONGEST = 4096


class ListPosition(NamedTuple):
    """Where a list goes on: in the state of a version, behind so many of its objects."""

    version: str
    offset: int


def page_of(items: Sequence[Listed], version: str, offset: int, limit: int) -> ListPage:
    """At most `limit` (0: all) of the objects from `offset` on, of a list of that version."""
    end = offset + limit if limit else len(items)
    rest = max(len(items) - end, 0)
    return ListPage(items[offset:end], version, token_for(ListPosition(version, end)) if rest else "", rest)


def token_for(place: ListPosition) -> str:
    """The text that stands for a place; clients hand it back as it is."""
    data = json.dumps({"v": "olmc/v1", "rv": place.version, "offset": place.offset}, separators=(",", ":"))
    return base64.urlsafe_b64encode(data.encode()).decode().rstrip("=")


def place_of(token: str) -> ListPosition:
    """The place that a text stands for; StatusError (400) for a text that is none."""
    try:
        padded = token[:_LONGEST] + "=" * (-len(token) % 4)
        data = json.loads(base64.urlsafe_b64decode(padded.encode("ascii")))
        place = ListPosition(data["rv"], data["offset"])
        valid = data["v"] == "olmc/v1" and isinstance(place.version, str) and type(place.offset) is int
    except (ValueError, TypeError, KeyError, RecursionError):
        valid = False
    if not valid or not 0 <= place.offset <= 2**31:
        raise bad_request("continue key is not valid")
    return place


WATCH_SECONDS = 1800
"""How long a watch lasts unless the client says so, and at most."""

_INTEGER = regex(r"-?[0-9]{1,18}")
_TRUE = frozenset({"true", "1", "t", "T", "TRUE", "True"})
_FALSE = frozenset({"false", "0", "f", "F", "FALSE", "False"})
_MATCHES = ("", "Exact", "NotOlderThan")


class SelectedObjects(NamedTuple):
    """What a request selects: by labels, and by fields."""

    labels: tuple[Requirement, ...] = ()
    fields: tuple[FieldTerm, ...] = ()

    def selects(self, item: Listed) -> bool:
        """Whether an object is selected."""
        labels = item.object["metadata"].get("labels") or {}
        values = {"metadata.name": item.name, "metadata.namespace": item.namespace}
        return all(requirement.holds(labels) for requirement in self.labels) and all(
            (values[term.field] == term.value) == term.equal for term in self.fields
        )


class Query(NamedTuple):
    """What a client asks of a list: the fields of Kubernetes' ListOptions."""

    selection: SelectedObjects
    limit: int
    token: str
    version: str
    match: str
    watch: bool
    bookmarks: bool
    initial: bool | None
    seconds: int


def query_of(resource: Resource, given: Mapping[str, str]) -> Query:
    """The parameters of a URL; StatusError (400, 422) for what can't be read."""
    seconds = _integer(given, "timeoutSeconds")
    query = Query(
        selection(resource, given.get("labelSelector", ""), given.get("fieldSelector", "")),
        _integer(given, "limit"),
        given.get("continue", ""),
        given.get("resourceVersion", ""),
        given.get("resourceVersionMatch", ""),
        _flag(given, "watch"),
        _flag(given, "allowWatchBookmarks"),
        _flag(given, "sendInitialEvents") if given.get("sendInitialEvents") else None,
        min(seconds, WATCH_SECONDS) if seconds > 0 else WATCH_SECONDS,
    )
    _check(query)
    return query


def selection(resource: Resource, labels: str, fields: str) -> SelectedObjects:
    """The selectors of a query; StatusError (400) when one can't be read or names an unsupported field (R-CAT-809)."""
    try:
        terms = []
        requirements = tuple(parse_label_selector(labels))
        for term in parse_field_selector(fields):
            if term.field not in resource.fields:
                raise bad_request(f"field label not supported: {term.field}")
            terms.append(term)
    except SelectorError as error:
        raise bad_request(str(error)) from error
    return SelectedObjects(requirements, tuple(terms))


def _check(query: Query) -> None:
    if query.limit < 0:
        raise bad_request("limit: Invalid value: must not be negative")
    if query.match not in _MATCHES:
        raise invalid('resourceVersionMatch: Unsupported value: supported values: "Exact", "NotOlderThan"')
    if query.initial is not None and not query.watch:
        raise invalid("sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list")
    # As ValidateListOptions of Kubernetes has it: the two parameters of a streaming list go together.
    if query.watch and (query.match != "") != (query.initial is not None):
        raise invalid("resourceVersionMatch: Forbidden: it goes with sendInitialEvents, and only with that, in a watch")
    if query.watch and query.match == "Exact":
        raise invalid("resourceVersionMatch: Forbidden: resourceVersionMatch Exact is forbidden for watch")
    if not query.watch and query.match and not query.version:
        raise invalid("resourceVersionMatch: Forbidden: it is forbidden unless resourceVersion is provided")
    if query.token and query.match:
        raise invalid("resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided")


def _integer(given: Mapping[str, str], name: str) -> int:
    text = given.get(name, "")
    if not text:
        return 0
    if not _INTEGER.fullmatch(text):
        raise bad_request(f'{name}: Invalid value: "{text[:80]}": must be an integer')
    return int(text)


def _flag(given: Mapping[str, str], name: str) -> bool:
    text = given.get(name, "")
    if text in _TRUE:
        return True
    # Kubernetes takes a name without a value, as in `?watch`, for true.
    if name in given and not text:
        return True
    if text and text not in _FALSE:
        raise bad_request(f'{name}: Invalid value: "{text[:80]}": must be true or false')
    return False


def versions_of(text: str) -> dict[str, int] | None:
    """The versions in an aggregate `R0:RV0,R1:RV1` (R-INST-9); None for "" and "0", which stand for any version.

    StatusError (400) when it is none.
    """
    if text in ("", "0"):
        return None
    parts = [part.partition(":") for part in text.split(",")]
    named = {name: value for name, _, value in parts}
    if len(parts) != len(TRACKED) or set(named) != set(TRACKED) or not all(map(_is_version, named.values())):
        shape = ",".join(f"{name}:<version>" for name in TRACKED)
        raise bad_request(f'resourceVersion: Invalid value: "{text[:80]}": it has the form {shape}')
    return {name: int(named[name]) for name in TRACKED}


def _is_version(text: str) -> bool:
    return re.fullmatch("[0-9]{1,19}", text) is not None


_CONTINUE = "The provided continue parameter is too old; list again from the beginning."
_EXACT = "The resourceVersion for the provided list is too old."
# Shown for a package without an icon (R-CAT-805).
NO_ICON = (
    b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64"><path d="M32 6 56 19v26L32 58 8 45V19z" '
    b'fill="none" stroke="#5f6b7a" stroke-width="4" stroke-linejoin="round"/><path d="M8 19l24 13 24-13M32 32v26" '
    b'fill="none" stroke="#5f6b7a" stroke-width="4" stroke-linejoin="round"/></svg>'
)


def page_for(store: Store, resource: Resource, namespace: str | None, query: Query) -> ListPage:
    """The part of a list that a query asks for.

    StatusError: 400 for a continue token or a version that can't be read, 410 for one that is too old, 504 for a
    version that is still to come.
    """
    place = place_of(query.token) if query.token else None
    if resource is INSTALLED:
        snapshot = _snapshot(store, query, place.version if place else "")
        items: Sequence[Listed] = tuple(snapshot.in_namespace(namespace).values())
        version = snapshot.version
    else:
        version = f"packages:{store.packages.generation}"
        # Packages have no history: a list that changed halfway has to begin anew.
        if place is not None and place.version != version:
            raise expired(_CONTINUE)
        items = _items(store.packages, resource, namespace)
    selected = [item for item in items if query.selection.selects(item)]
    return page_of(selected, version, place.offset if place else 0, query.limit)


def _snapshot(store: Store, query: Query, continued: str) -> InstalledSnapshot:
    if continued:
        snapshot = store.at(continued)
        if snapshot is None:
            raise expired(_CONTINUE)
        return snapshot
    requested = versions_of(query.version)
    if requested is None:
        return store.current
    if any(requested[name] > version for name, version in store.current.versions.items()):
        raise too_large_version(query.version, store.current.version)
    # Any other match, and none, asks for a state at least as new, and the present one is the newest.
    if query.match != "Exact":
        return store.current
    snapshot = store.at(query.version)
    if snapshot is None:
        raise expired(_EXACT)
    return snapshot


def packages_in(packages: Packages, namespace: str | None) -> tuple[PackageOffer, ...]:
    """The packages that a namespace sees, or all of them (None) (R-CAT-801)."""
    return offers_in(packages.offers, namespace, packages.global_namespace)


def _item(packages: Packages, resource: Resource, name: NamespacedName) -> Listed | None:
    if resource.group != GROUP:
        return next((each for each in _items(packages, resource, name.namespace) if each.name == name.name), None)
    offer = first_called(packages_in(packages, name.namespace), name.name)
    return offer.listed if offer is not None else None


def _items(packages: Packages, resource: Resource, namespace: str | None) -> Sequence[Listed]:
    """The objects of a resource that has no history."""
    if resource.group != GROUP:
        return stored_in(packages.stored, resource, namespace)
    return [offer.listed for offer in packages_in(packages, namespace)]


def item_for(store: Store, resource: Resource, name: NamespacedName) -> Listed:
    """The object with a namespace and name; StatusError (404)."""
    if resource is INSTALLED:
        item = store.current.in_namespace(name.namespace).get(name)
    else:
        item = _item(store.packages, resource, name)
    if item is None:
        raise not_found(resource, name.name)
    return item


def icon_for(store: Store, name: NamespacedName) -> tuple[bytes, Mapping[str, str]]:
    """The icon of a package and its headers, a drawing when it has none; StatusError (404) without the package."""
    offer = first_called(packages_in(store.packages, name.namespace), name.name)
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
