"""Answers to reading requests: lists in parts, objects, icons, by the parameters of a request."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, Literal

from olmc.compiler.model.cluster import NamespacedName
from olmc.integrations.serve.store import InstalledSnapshot, Packages, Store
from olmc.k8s.api.selectors import FieldTerm, Requirement, SelectorError, parse_field_selector, parse_label_selector
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.objects import KubernetesObject
from olmc.k8s.yaml import dump_one
from olmc.targets.proposed.installed.resources import (
    GROUP,
    INSTALLED,
    PACKAGE_MANIFESTS,
    Listed,
    PackageOffer,
    Resource,
    as_list,
    first_called,
    icon_of,
    offers_in,
    stored_in,
)
from olmc.targets.proposed.installed.view import TRACKED

# Objects, tables, metadata and Status in the form that a client accepts.

NOT_ALLOWED = "the server does not allow this method on the requested resource"

_REASONS = {
    400: "BadRequest",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    406: "NotAcceptable",
    410: "Expired",
    413: "RequestEntityTooLarge",
    415: "UnsupportedMediaType",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


class StatusError(Exception):
    """A request that fails; `status` is what the client gets, `headers` go with it."""

    def __init__(self, status: KubernetesObject, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status["message"])
        self.status = status
        self.code = int(status["code"])
        self.headers = dict(headers or {})


def status(code: int, message: str, details: Mapping[str, Any] | None = None) -> KubernetesObject:
    """The Status of a failure; the reason is that of the HTTP code."""
    obj: KubernetesObject = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
    }
    if code in _REASONS:
        obj["reason"] = _REASONS[code]
    if details:
        obj["details"] = dict(details)
    return {**obj, "code": code}


def bad_request(message: str) -> StatusError:
    return StatusError(status(400, message))


def no_such_path() -> StatusError:
    return StatusError(status(404, "the server could not find the requested resource"))


def not_found(resource: Resource, name: str) -> StatusError:
    details = {"name": name, "group": resource.group, "kind": resource.plural}
    return StatusError(status(404, f'{resource.qualified} "{name}" not found', details))


def not_allowed(resource: Resource | None = None, name: str = "") -> StatusError:
    """For every write (R-INST-8)."""
    details = {"name": name, "group": resource.group, "kind": resource.plural} if resource is not None else {}
    shown = {key: value for key, value in details.items() if value}
    return StatusError(status(405, NOT_ALLOWED, shown), {"Allow": "GET"})


def not_watched(resource: Resource) -> StatusError:
    text = f'watch is not supported on resources of kind "{resource.qualified}"'
    return StatusError(status(405, text, {"group": resource.group, "kind": resource.plural}), {"Allow": "GET"})


def not_acceptable(known: tuple[str, ...]) -> StatusError:
    text = f"only the following media types are accepted: {', '.join(known)}"
    return StatusError(status(406, text))


def expired(message: str) -> StatusError:
    return StatusError(status(410, message))


def too_large_version(requested: str, current: str) -> StatusError:
    """The client has seen a later state than the server; clients list the objects again."""
    text = f"Too large resource version: {requested}, current: {current}"
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    return StatusError(status(504, text, {"causes": [cause], "retryAfterSeconds": 1}), {"Retry-After": "1"})


def invalid(message: str) -> StatusError:
    return StatusError(status(422, message))


def too_many(message: str) -> StatusError:
    return StatusError(status(429, message, {"retryAfterSeconds": 1}), {"Retry-After": "1"})


Shape = Literal["object", "table", "metadata"]
JSON, YAML = "application/json", "application/yaml"
META = "meta.k8s.io"
META_VERSIONS = ("v1", "v1beta1")

_SHAPES: dict[str, Shape] = {
    "": "object",
    "Table": "table",
    "PartialObjectMetadata": "metadata",
    "PartialObjectMetadataList": "metadata",
}
_PLAIN = frozenset({"*/*", "application/*", JSON})


class Accepted(NamedTuple):
    """The form that is sent: `version` is that of meta.k8s.io."""

    shape: Shape = "object"
    version: str = "v1"
    media: str = JSON


class _Clause(NamedTuple):
    media: str
    parameters: dict[str, str]
    quality: float


def negotiate(header: str) -> Accepted:
    """The best form that an Accept header names; StatusError (406) when there is none."""
    for clause in _clauses(header or "*/*"):
        form = _form(clause)
        if form is not None:
            return form
    raise not_acceptable((JSON, YAML))


def accepts(header: str, media: str, **parameters: str) -> bool:
    """Return whether the header names a media type with these parameters, and nothing that is served before it."""
    for clause in _clauses(header):
        if clause.media == media and all(clause.parameters.get(key) == value for key, value in parameters.items()):
            return True
        if clause.media in _PLAIN and "as" not in clause.parameters:
            return False
    return False


def _form(clause: _Clause) -> Accepted | None:
    media = JSON if clause.media in _PLAIN else clause.media
    shape = _SHAPES.get(clause.parameters.get("as", ""))
    if media not in (JSON, YAML) or shape is None:
        return None
    if shape == "object":
        return Accepted(media=media)
    version = clause.parameters.get("v", "")
    if clause.parameters.get("g") != META or version not in META_VERSIONS:
        return None
    return Accepted(shape, version, media)


def _clauses(header: str) -> list[_Clause]:
    """The clauses of an Accept header, best first; those with a quality of 0 are left out."""
    clauses = []
    for text in header.split(","):
        media, *rest = (part.strip() for part in text.split(";"))
        parameters = {key.strip(): value.strip() for key, _, value in (part.partition("=") for part in rest)}
        clauses.append(_Clause(media.lower(), parameters, _quality(parameters.get("q", "1"))))
    # `sorted` is stable: of clauses with one quality the first stays first.
    return sorted((clause for clause in clauses if clause.quality > 0), key=lambda clause: -clause.quality)


def _quality(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


_INCLUDED = ("", "Metadata", "Object", "None")


class Form(NamedTuple):
    """The form in which objects of a resource are sent: `included` is the part of an object in the rows of a table."""

    resource: Resource
    accepted: Accepted
    included: str = "Metadata"


class ListPage(NamedTuple):
    """A part of a list: the version of the list, where it goes on ("" for nowhere), and how many come then."""

    items: Sequence[Listed]
    version: str
    token: str = ""
    remaining: int = 0


def form_of(resource: Resource, accepted: Accepted, included: str) -> Form:
    """The form for the parameter `includeObject` of a query; StatusError (400) for a value that is none."""
    if included not in _INCLUDED:
        raise bad_request(f'unrecognized includeObject value: "{included[:80]}"')
    return Form(resource, accepted, included or "Metadata")


def whole_list(form: Form, page: ListPage) -> KubernetesObject:
    """A list in its form."""
    more: dict[str, Any] = {"continue": page.token, "remainingItemCount": page.remaining} if page.token else {}
    metadata = {"resourceVersion": page.version, **more}
    if form.accepted.shape == "table":
        return _table(form, page.items, metadata, with_columns=True)
    if form.accepted.shape == "metadata":
        items = [_metadata(form, item.object) for item in page.items]
        kind = "PartialObjectMetadataList"
        return {"kind": kind, "apiVersion": f"{META}/{form.accepted.version}", "metadata": metadata, "items": items}
    return {**as_list(form.resource, (item.object for item in page.items), page.version), "metadata": metadata}


def whole_item(form: Form, item: Listed, *, with_columns: bool = True) -> KubernetesObject:
    """An object in its form; events of a watch name the columns of a table only once."""
    if form.accepted.shape == "table":
        version = {"resourceVersion": item.object["metadata"].get("resourceVersion", "")}
        return _table(form, [item], version, with_columns=with_columns)
    if form.accepted.shape == "metadata":
        return _metadata(form, item.object)
    return item.object


def bookmark(form: Form, obj: KubernetesObject) -> KubernetesObject:
    """The object of a bookmark in its form: a table without rows, or nothing but the metadata."""
    if form.accepted.shape == "table":
        return _table(form, [], obj["metadata"], with_columns=False)
    return _metadata(form, obj) if form.accepted.shape == "metadata" else obj


def _metadata(form: Form, obj: KubernetesObject) -> KubernetesObject:
    version = f"{META}/{form.accepted.version}"
    return {"kind": "PartialObjectMetadata", "apiVersion": version, "metadata": obj["metadata"]}


def _table(form: Form, items: Sequence[Listed], metadata: KubernetesObject, *, with_columns: bool) -> KubernetesObject:
    columns = [
        {
            "name": column.name,
            "type": "string",
            "format": "name" if index == 0 else "",
            "description": column.description,
            "priority": column.priority,
        }
        for index, column in enumerate(form.resource.columns)
    ]
    return {
        "kind": "Table",
        "apiVersion": f"{META}/{form.accepted.version}",
        "metadata": metadata,
        "columnDefinitions": columns if with_columns else [],
        "rows": [{"cells": list(item.cells), **_included(form, item)} for item in items],
    }


def _included(form: Form, item: Listed) -> dict[str, Any]:
    if form.included == "None":
        return {}
    return {"object": item.object if form.included == "Object" else _metadata(form, item.object)}


def encode(obj: Any, media: str, *, pretty: bool = False) -> bytes:
    """An object as the bytes of a response."""
    if media == YAML:
        return dump_one(obj).encode(errors="replace")
    separators = None if pretty else (",", ":")
    text = json.dumps(obj, ensure_ascii=False, indent=2 if pretty else None, separators=separators) + "\n"
    return text.encode(errors="replace")  # half a surrogate pair, which YAML can hold, is no character


_LONGEST = 4096


class ListPosition(NamedTuple):
    """The position at which a list continues: in the state of a version, behind so many of its objects."""

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
"""The duration of a watch unless the client asks for less."""

_INTEGER = regex(r"-?[0-9]{1,18}")
_TRUE = frozenset({"true", "1", "t", "T", "TRUE", "True"})
_FALSE = frozenset({"false", "0", "f", "F", "FALSE", "False"})
_MATCHES = ("", "Exact", "NotOlderThan")


class SelectedObjects(NamedTuple):
    """The selection of a request: by labels, and by fields."""

    labels: tuple[Requirement, ...] = ()
    fields: tuple[FieldTerm, ...] = ()

    def selects(self, item: Listed) -> bool:
        """Return whether an object is selected."""
        labels = item.object["metadata"].get("labels") or {}
        values = {"metadata.name": item.name, "metadata.namespace": item.namespace}
        return all(requirement.holds(labels) for requirement in self.labels) and all(
            (values[term.field] == term.value) == term.equal for term in self.fields
        )


class Query(NamedTuple):
    """The query of a client for a list: the fields of Kubernetes' ListOptions."""

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
    """The selectors of a query; StatusError (400) when one can't be read or names an unsupported field (R-CAT-809).

    Each is compared with every object, so neither of them may be longer than MAX_SELECTOR or have more than MAX_TERMS.
    """
    for name, text in (("labelSelector", labels), ("fieldSelector", fields)):
        if len(text) > MAX_SELECTOR:
            raise bad_request(f"{name}: Too long: may not be more than {MAX_SELECTOR:,} characters")
    try:
        terms = []
        requirements = tuple(islice(parse_label_selector(labels), MAX_TERMS + 1))
        for term in islice(parse_field_selector(fields), MAX_TERMS + 1):
            if term.field not in resource.fields:
                raise bad_request(f"field label not supported: {term.field}")
            terms.append(term)
    except SelectorError as error:
        raise bad_request(str(error)) from error
    for name, found in (("labelSelector", requirements), ("fieldSelector", terms)):
        if len(found) > MAX_TERMS:
            raise bad_request(f"{name}: Too many: may not have more than {MAX_TERMS} terms")
    return SelectedObjects(requirements, tuple(terms))


MAX_SELECTOR = 4 * 1024
MAX_TERMS = 64


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
        # Packages have no history: a list that changed halfway has to begin again.
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
    # A browser must not take the icon of a catalog for a page or run it, for any content.
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
