"""The parameters of a request for a list or a watch, and the version that a client has seen."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from olmc.proposed.installed import TRACKED
from olmc.proposed.resources import Resource
from olmc.serve.selectors import Selection, selection
from olmc.serve.status import bad_request, invalid

WATCH_SECONDS = 1800
"""How long a watch lasts unless the client says so, and at most."""

_INTEGER = re.compile(r"-?[0-9]{1,18}")
_TRUE = frozenset({"true", "1", "t", "T", "TRUE", "True"})
_FALSE = frozenset({"false", "0", "f", "F", "FALSE", "False"})
_MATCHES = ("", "Exact", "NotOlderThan")


class Query(NamedTuple):
    """What a client asks of a list: the fields of Kubernetes' ListOptions."""

    selection: Selection
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


def _check(query: Query) -> None:
    if query.limit < 0:
        raise bad_request("limit: Invalid value: must not be negative")
    if query.match not in _MATCHES:
        raise invalid('resourceVersionMatch: Unsupported value: supported values: "Exact", "NotOlderThan"')
    if query.initial is not None and not query.watch:
        raise invalid("sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list")
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
